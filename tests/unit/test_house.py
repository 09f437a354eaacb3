"""The tree keeps the house rules, and each rule notices when it is broken."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import house
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "tests", "tools", "benchmarks", "recipes", "examples")


def found(files: dict[str, str]) -> list[str]:
    """Findings over a made-up tree; a module gets a docstring unless it starts with one."""
    texts = {
        name: text if text.startswith(('"""', "#")) else f'"""A module."""\n{text}' for name, text in files.items()
    }
    return house.findings([house.parse(Path(name), text) for name, text in texts.items()])


def in_library(text: str, path: str = "learn/a.py") -> list[str]:
    return found({f"src/quintain/{path}": text})


def test_the_tree_keeps_the_house_rules():
    sources = house.gather(ROOT / name for name in FOLDERS if (ROOT / name).exists())
    assert len(sources) > 5
    problems = [problem.replace(f"{ROOT}/", "") for problem in house.findings(sources)]
    assert not problems, "\n" + "\n".join(problems)


BROKEN = {
    "file length": ("x = 1\n" * 400, "401 lines, at most 400"),
    "function length": ('def f() -> None:\n    """F."""\n' + "    f()\n" * 50, "f has 51 lines, at most 50"),
    "parameters": (
        f'def f({", ".join(f"a{i}: int" for i in range(8))}) -> None:\n    """F."""\n',
        "f has 8 parameters",
    ),
    "keyword-only and star parameters": (
        'def f(*a: int, b: int, c: int, d: int, e: int, f: int, g: int, **h: int) -> None:\n    """F."""\n',
        "f has 8 parameters",
    ),
    "self is free, in methods only": (
        'def f(self: int, a: int, b: int, c: int, d: int, e: int, f: int, g: int) -> None:\n    """F."""\n',
        "f has 8 parameters",
    ),
    "annotated parameter": ('def f(a) -> None:\n    """F."""\n', "f is public; annotate a"),
    "annotated result": ('class A:\n    """A."""\n\n    def f(self):\n        """F."""\n', "annotate its result"),
    "annotated dunder": ('class A:\n    """A."""\n\n    def __init__(self, a) -> None: ...\n', "annotate a"),
    "module docstring": ("# nothing\nx = 1\n", "the module has no docstring"),
    "class docstring": ("class A: ...\n", "A is public and has no docstring"),
    "function docstring": ("async def f() -> None: ...\n", "f is public and has no docstring"),
    "method docstring": (
        'class A:\n    """A."""\n\n    def go(self) -> None: ...\n',
        "go is public and has no docstring",
    ),
    "own base class": ('class A:\n    """A."""\n\n\nclass B(A):\n    """B."""\n', "B inherits 2 deep, at most 1"),
    "own generic base": (
        'class A:\n    """A."""\n\n\nclass B(A[int]):\n    """B."""\n',
        "B inherits 2 deep, at most 1",
    ),
    "third error": (
        "class _A(Exception): ...\n\n\nclass _B(_A): ...\n\n\nclass _C(_B): ...\n",
        "_C inherits 3 deep, at most 2",
    ),
    "pickle": ("import pickle\n", "pickle runs code from files"),
    "pickle inside a function": ("def _f() -> None:\n    from pickle import loads\n", "pickle runs code from files"),
    "torch.load": ("import torch\n\n_x = torch.load('a')\n", "torch.load: use safetensors"),
    "imported torch.load": ("from torch import load\n", "torch.load: use safetensors"),
    "weights_only": ("_x = _load('a', weights_only=False)\n", "weights_only=False: use safetensors"),
    "allow_pickle": ("_x = _load('a', allow_pickle=True)\n", "allow_pickle=True: store plain arrays"),
    "yaml.load": ("import yaml\n\n_x = yaml.load('a')\n", "yaml.load: use yaml.safe_load"),
    "pickling queue": ("from multiprocessing import Queue\n", "multiprocessing.Queue talks pickle"),
    "pickling pool": ("from concurrent.futures import ProcessPoolExecutor\n", "ProcessPoolExecutor: it pickles"),
    "pickling collective": ("_x = _dist.broadcast_object_list\n", "it pickles: send tensors"),
    "pickling checkpoint": ("import torch.distributed.checkpoint as dcp\n", "torch.distributed.checkpoint pickles"),
    "package root": ("from quintain import Env\n", "import Env from the module that defines it"),
}


@pytest.mark.parametrize("text, message", BROKEN.values(), ids=BROKEN.keys())
def test_a_rule_notices_its_breach(text: str, message: str):
    problems = in_library(text)
    assert len(problems) == 1 and message in problems[0], problems


FINE = {
    "long docstring": 'def f() -> None:\n    """F.\n' + "\n    More.\n" * 40 + '    """\n',
    "seven parameters and self": 'class A:\n    """A."""\n\n'
    "    def f(self, a: int, b: int, c: int, d: int, e: int, f: int, g: int) -> None:\n"
    '        """F."""\n',
    "foreign base": 'import json\n\n\nclass A(json.JSONEncoder):\n    """A."""\n',
    "second error": 'class A(Exception):\n    """A."""\n\n\nclass B(A, ValueError):\n    """B."""\n',
    "private names": "def _f(a):\n    return a\n\n\nclass _A:\n    def f(self): ...\n",
    "documented at the port": 'from typing import Protocol\n\n\nclass P(Protocol):\n    """P."""\n\n'
    "    def go(self) -> None:\n"
    '        """Go."""\n\n\nclass A:\n    """A."""\n\n    def go(self) -> None: ...\n',
    "setter": 'class A:\n    """A."""\n\n    @property\n    def x(self) -> int:\n        """X."""\n\n    @x.setter\n'
    "    def x(self, to: int) -> None: ...\n",
    "shared memory": "from multiprocessing import shared_memory\n",
    "safe readers": "import yaml\n\n_x = yaml.safe_load('a')\n_y = _load('b', weights_only=True, allow_pickle=False)\n",
    "sharded state": "from torch.distributed.checkpoint.state_dict import get_model_state_dict\n",
}


@pytest.mark.parametrize("text", FINE.values(), ids=FINE.keys())
def test_what_is_allowed_is_not_found(text: str):
    assert in_library(text) == []


@pytest.mark.parametrize(
    "home", ["objectives/a.py", "models/a.py", "learn/a.py", "engines/torch.py", "engines/torch/a.py"]
)
def test_torch_is_welcome_at_home(home: str):
    assert in_library("import torch.nn\n", home) == []


@pytest.mark.parametrize("place", ["parts.py", "advantages/a.py", "engines/vllm.py", "runtime/a.py", "cli/torch.py"])
def test_torch_is_noticed_elsewhere_but_not_in_annotations(place: str):
    problems = in_library("def _f() -> None:\n    import torch\n", place)
    assert len(problems) == 1 and "torch may be imported in" in problems[0]
    assert in_library("from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import torch\n", place) == []


def test_the_loop_sees_the_contracts_only():
    assert in_library("from quintain.types import Group\nfrom quintain import parts\n", "loop.py") == []
    problems = in_library("from quintain.engines import torch\n", "loop.py")
    assert len(problems) == 1 and "loop.py imports quintain.engines.torch" in problems[0]


def test_a_heavy_library_lives_in_one_file():
    one, two = {"src/quintain/runtime/ray.py": "import ray\n"}, {"src/quintain/runtime/b.py": "from ray import util\n"}
    assert found(one) == []
    assert len(found(one | two)) == 1 and "ray is imported in 2 files" in found(one | two)[0]


def test_base_classes_are_followed_across_files():
    base = {"src/quintain/models/base.py": 'class Base:\n    """A base."""\n'}
    child = 'from quintain.models.base import Base\n\n\nclass Child(Base):\n    """A child."""\n'
    assert "Child inherits 2 deep" in found(base | {"src/quintain/models/child.py": child})[0]
    foreign = child.replace("quintain.models", "elsewhere")
    assert found(base | {"src/quintain/models/child.py": foreign}) == []


def test_a_mode_string_is_decided_once():
    files = {f"src/quintain/learn/a{i}.py": '_x = _mode == "sync"\n' for i in range(5)}
    assert len(found(files)) == 1 and '"sync" is tested in 5 files' in found(files)[0]
    assert found(dict(list(files.items())[:4])) == []


def test_the_median_file_is_short():
    files = {f"src/quintain/learn/a{i}.py": "_x = 1\n" * (200 if i < 6 else 10) for i in range(10)}
    assert found(files) == ["src/quintain: the median file has 201 lines, at most 150"]


def test_the_method_library_stays_small():
    told = '"""One."""\n' + "_x = 1\n" * 380
    files = {f"src/quintain/{home}/a{i}.py": told for home in ("objectives", "advantages") for i in range(6)}
    texts = [text for text in found(files) if "besides docstrings" in text]
    assert texts == [
        "src/quintain: objectives/ and advantages/ have 4560 lines besides docstrings, at most 4000; share or delete"
    ]
    longer = {name: '"""One.\n' + "Two.\n" * 100 + text[3:] for name, text in list(files.items())[:10]}
    assert not [text for text in found(longer) if "besides docstrings" in text]


def test_vague_names_are_refused():
    assert "`utils` says nothing" in in_library("_x = 1\n", "learn/utils.py")[0]
    assert "`legacy` says nothing" in in_library("_x = 1\n", "legacy/a.py")[0]


def test_tests_have_their_own_limits():
    text = "x = 1\n" * 500 + "def test_f(a):\n    import pickle\n"
    assert found({"tests/unit/test_a.py": text}) == []
    assert "601 lines" in found({"tests/unit/test_a.py": "x = 1\n" * 600})[0]


def test_the_program_fails_on_findings_and_on_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "src" / "quintain"
    folder.mkdir(parents=True)
    assert house.main([str(tmp_path)]) == 1
    (folder / "a.py").write_text('"""Fine."""\n')
    assert house.main([str(tmp_path)]) == 0
    (folder / "a.py").write_text('"""Not fine."""\nimport pickle\n')
    assert house.main([str(tmp_path)]) == 1
    assert "a.py:2: pickle runs code" in capsys.readouterr().out


def test_import_is_light():
    code = (
        "import sys, time; t = time.process_time(); import quintain; print(time.process_time() - t);"
        "print(*sorted({'torch', 'numpy', 'pydantic', 'PIL', 'transformers'} & set(sys.modules)))"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    seconds, heavy = zip(*(run.stdout.split("\n")[:2] for run in runs), strict=True)
    assert set(heavy) == {""}
    assert min(map(float, seconds)) <= 0.1
