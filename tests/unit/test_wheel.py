"""What a checkout has beside the package travels in the wheel, to where an installed package looks for it."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import quintain
from quintain import config
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
