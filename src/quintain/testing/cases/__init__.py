"""Numeric cases: inputs and parameters of a method, run through the public parts, to be compared with its equation."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from quintain.testing.cases.table import NoRunner, Runner, runner_of

FAMILIES = (
    "policy",
    "credit",
    "baselines",
    "states",
    "steps",
    "agents",
    "region",
    "control",
    "guarded",
    "likelihood",
    "rewards",
    "gates",
    "progress",
    "fronts",
)  # modules of this package; each fills the table when it is imported


def run_case(case: Mapping[str, Any]) -> dict[str, Any]:
    """What the public parts give for the inputs and parameters of a case, under the names of its expected values.

    When to use: to see that a method still is its equation, with numbers of your own. A case is found by its `id`, the longest
    known beginning of it, or else by its `method`.

    Args:
        case: `id`, `method`, `inputs`, `params`; `expected` is not read. Arrays are nested lists; "inf", "-inf" and "nan" are
            numbers. A batch is "shared_batch" or its columns.

    Returns:
        Plain numbers, booleans and nested lists, in float64; `coef` is d loss / d logp_new [B, T], 0 outside the mask.

    Raises:
        NoRunner: no part that is known to this version is behind the case.

    Example:
        >>> case = {"id": "rloo", "method": "RLOO", "inputs": {"rewards": [1, 0]}, "params": {}}
        >>> run_case(case)["adv"]
        [1.0, -1.0]
    """
    return find(case)(case)


def find(case: Mapping[str, Any]) -> Runner:
    """The function that runs a case.

    Raises:
        NoRunner: see `run_case`.
    """
    for family in FAMILIES:
        import_module(f"quintain.testing.cases.{family}")
    return runner_of(case)


__all__ = ["NoRunner", "find", "run_case"]
