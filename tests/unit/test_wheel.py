"""What a checkout has beside the package travels in the wheel, to where an installed package looks for it."""

from __future__ import annotations

import ast
import importlib.util
import re
import tomllib
from pathlib import Path

import quintain
from quintain import config
from quintain.cli import doctor
from quintain.simulate import claims

ROOT = Path(__file__).parents[2]
PACKAGE = Path(quintain.__file__).parent


def test_recipes_and_parameter_files_are_in_the_wheel():
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    sent = {ROOT / source: PACKAGE.parent / target for source, target in wheel["force-include"].items()}
    for installed, checkout in (config.RECIPES, claims.FOLDERS):
        assert sent[checkout] == installed and list(checkout.glob("*.toml"))


def test_those_who_read_types_find_the_public_names_where_they_load_from():
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    told = {
        name.asname: node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names
    }
    assert {name: f"quintain.{module}" for name, module in quintain._WHERE.items()}.items() <= told.items()
    assert (PACKAGE / "py.typed").exists()


def test_a_config_of_nothing_is_whole_for_those_who_read_types():
    """A field whose default stands first, without `default=`, is to mypy one that must be given."""
    tree = ast.parse((PACKAGE / "config" / "sections.py").read_text())
    section = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Config")
    fields = [node.value for node in section.body if isinstance(node, ast.AnnAssign)]
    assert len(fields) > 10 and not [ast.unparse(field) for field in fields if field.args]


def test_doctor_tells_of_each_extra_and_how_it_is_had(monkeypatch):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "math_verify" else found(name))
    told = doctor.machine()["extras"]
    for_a_checkout = {"peers", "test", "bench", "dev"}
    assert {line.split(":")[0] for line in told} == project["optional-dependencies"].keys() - for_a_checkout
    assert "math: missing; pip install 'quintain[math]'" in told


def test_what_the_package_tells_of_a_checkout_it_says_so():
    for path in PACKAGE.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        prose = {
            id(node.value) for node in nodes if isinstance(node, ast.Expr)
        }  # docstrings, for those who read the source
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
                sends = re.search(r"`make [a-z]|examples/|benchmarks/", node.value)
                assert not sends or "in a checkout: " in node.value, f"{path}:{node.lineno}"
