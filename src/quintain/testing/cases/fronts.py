"""Cases of several objectives."""

from __future__ import annotations

import math
from typing import Any

from quintain.rewards.fronts import barrier, best, crowding, front, hypervolume, sparsity
from quintain.testing.cases.columns import array
from quintain.testing.cases.table import Case, runs

WEIGHTS = ((0.75, 0.25), (0.5, 0.5), (0.25, 0.75))  # where a case names none


@runs("morl_front", method="c-morl / morl-d")
def morl_front(case: Case) -> dict[str, Any]:
    """The front, its measures, and the choice of each scalariser."""
    given = case["inputs"]
    points = array(given["points"]).tolist()
    kept = front(points)
    held = [points[i] for i in kept]
    weights = given.get("weights", case.get("params", {}).get("weights", WEIGHTS))
    return {
        "front": kept,
        "hypervolume": hypervolume(held, array(given["ref"]).tolist()),
        "crowding": [None if math.isinf(room) else room for room in crowding(held)],
        "sparsity": sparsity(held),
        "linear_best": [best(points, w) for w in weights],
        "tchebycheff_best": [best(points, w, "tchebycheff") for w in weights],
    }


@runs("cmorl_barrier", method="c-morl")
def cmorl_barrier(case: Case) -> dict[str, Any]:
    """One objective under bounds on the others."""
    given, p = case["inputs"], case["params"]
    values = array(given["G"]).tolist(), array(given["G_old"]).tolist()
    return {"objective": barrier(*values, given["target"], p["beta"], p["t"])}
