"""The harness is tested too: every seeded defect of the production code is caught by its layer, and the code itself passes."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import quintain

pytestmark = pytest.mark.chaos
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_spec = importlib.util.spec_from_file_location("mutants", HERE / "mutants.py")
assert _spec is not None and _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
MUTANTS = _module.MUTANTS

TESTS = [
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-x",
    "-m",
    "chaos",
    "-p",
    "no:cacheprovider",
    "-o",
    "addopts=--import-mode=importlib",
]
LAYERS = {
    "clock": [sys.executable, "tools/chaos.py", "--first", "0", "--count", "600", "--quick"],
    "power": [*TESTS, "tests/chaos/test_ledger_power.py::test_every_prefix_survives_a_power_cut"],
    "tail": [*TESTS, "tests/chaos/test_ledger_kill.py::test_a_kill_at_every_single_change_to_the_disk[half]"],
    "faults": [*TESTS, "tests/chaos/test_run_faults.py", "-k", "ledger or checkpoint or record"],
}  # fmt: skip


def passes(layer: str, source: Path) -> subprocess.CompletedProcess[str]:
    """Run a layer against the package under `source`."""
    env = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    env.pop("QUINTAIN_FAULTS", None)
    return subprocess.run(LAYERS[layer], cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A copy of the package, to be changed."""
    source = tmp_path_factory.mktemp("copy")
    shutil.copytree(Path(quintain.__file__).parent, source / "quintain", ignore=shutil.ignore_patterns("__pycache__"))
    return source


def test_there_are_enough_mutants_of_every_layer():
    assert len(MUTANTS) >= 12 and {m.seen for m in MUTANTS} == set(LAYERS)
    assert len({m.name for m in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("layer", ["clock", "faults"])  # the others are tests of this folder, and slow
def test_the_code_as_it_is_passes(copy, layer):
    done = passes(layer, copy)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name.replace(" ", "-"))
def test_a_mutant_is_caught(copy, mutant):
    path = copy / "quintain" / mutant.file
    text = path.read_text()
    assert text.count(mutant.old) == 1, f"{mutant.file} no longer holds once what this mutant changes; mend the mutant"
    path.write_text(text.replace(mutant.old, mutant.new))
    try:
        done = passes(mutant.seen, copy)
    finally:
        path.write_text(text)
    said = (done.stdout + done.stderr)[-3000:]
    assert done.returncode == 1, f"{mutant.name}: the layer {mutant.seen} sees nothing wrong\n{said}"
    assert ('"failed": ["' if mutant.seen == "clock" else "1 failed") in said, said
    assert "SyntaxError" not in said and "ModuleNotFoundError" not in said and "no tests ran" not in said, said
