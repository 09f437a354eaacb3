"""Every numeric case, run through the public parts: float64, 1e-9, garbage behind the mask, with and without holes in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quintain.testing.cases import NoRunner, find, run_case
from quintain.testing.cases.columns import SHARED

HERE = Path(__file__).parent
CASES = {
    case.get("id") or case["name"]: case
    for name in ("objectives", "credit", "rollout")
    for case in json.loads((HERE / f"{name}.json").read_text())
}
GAPS = (0, 2, 4)  # where masked columns are put in between


def runnable(case: Mapping[str, Any]) -> bool:
    try:
        find(case)
    except NoRunner:
        return False
    return True


RUN = [i for i, case in CASES.items() if runnable(case)]


def agree(got: Any, want: Any, where: str, mask: np.ndarray | None = None) -> None:
    if isinstance(want, Mapping):
        assert set(want) <= {str(k) for k in got}, f"{where}: {sorted(want)} against {sorted(map(str, got))}"
        for key, value in want.items():
            agree({str(k): v for k, v in got.items()}[key], value, f"{where}.{key}", mask)
        return
    if isinstance(want, list) and (_ragged(want) or any(w is None or isinstance(w, Mapping | str) for w in join(want))):
        assert len(got) == len(want), where
        for i, value in enumerate(want):
            agree(got[i], value, f"{where}[{i}]")
        return
    if want is None or isinstance(want, str):
        assert got == (want if want not in ("inf", "-inf", "nan") else float(want)), where
        return
    one, two = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert one.shape == two.shape, f"{where}: {one.shape} against {two.shape}"
    if mask is not None and one.shape == mask.shape:
        one, two = one[mask], two[mask]
    near = np.isclose(one, two, rtol=0, atol=1e-9 * np.maximum(1, np.abs(two)), equal_nan=True)
    assert near.all(), f"{where}: {got} against {want}"


def join(values: list[Any]) -> list[Any]:
    """The values, and those of lists among them."""
    return [inner for value in values for inner in (value if isinstance(value, list) else [value])]


def _ragged(values: list[Any]) -> bool:
    return len({len(v) if isinstance(v, list) else -1 for v in values}) > 1


@pytest.mark.parametrize("name", RUN)
def test_a_case_is_its_equation(name: str) -> None:
    case = CASES[name]
    mask = case["inputs"].get("mask") or (SHARED["mask"] if "batch" in case["inputs"] else None)
    mask = None if mask is None else np.asarray(mask, bool)
    agree(run_case(case), case["expected"], name, mask)


def widened(values: Any, fill: float) -> Any:
    """A [B, T] array with masked columns in between."""
    return np.insert(np.asarray(values, np.float64), GAPS, fill, axis=1).tolist()


@pytest.mark.parametrize("name", [i for i in RUN if CASES[i]["inputs"].get("batch") == "shared_batch"])
def test_holes_in_the_mask_change_nothing(name: str) -> None:
    case, shape = CASES[name], np.shape(SHARED["mask"])

    def wide(value: Any, fill: float) -> Any:
        return widened(value, fill) if np.shape(value) == shape else value

    batch = {k: wide(v, 0.0 if k in ("mask", "logp_ref_minus_logp_new") else 0.31) for k, v in SHARED.items()}
    inputs = {k: wide(v, 7.0) for k, v in case["inputs"].items() if k != "batch"} | {"batch": batch}
    expected = {
        k: wide(v, 0.0) if not isinstance(v, Mapping | str) and not (isinstance(v, list) and _ragged(v)) else v
        for k, v in case["expected"].items()
    }
    expected |= {k: moved(v, shape[1]) for k, v in expected.items() if k in ("candidates", "chosen", "selected_flat")}
    agree(run_case({**case, "inputs": inputs}), expected, name, np.asarray(batch["mask"], bool))


def moved(places: list[Any], width: int) -> list[Any]:
    """Places of tokens, by row and column or counted through all rows, where masked columns stand in between."""
    at = [column + sum(gap <= column for gap in GAPS) for column in range(width)]
    wide = width + len(GAPS)
    return [[p[0], at[p[1]]] if isinstance(p, list) else p // width * wide + at[p % width] for p in places]


def test_an_unknown_case_is_refused() -> None:
    with pytest.raises(NoRunner, match="'nothing'"):
        run_case({"id": "nothing", "method": "none", "inputs": {}, "params": {}})
