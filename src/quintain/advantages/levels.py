"""Steps that belong to several groups at once, by how much of their history they share."""

from __future__ import annotations

from typing import Any

import numpy as np

from quintain.advantages.keys import history, prompt
from quintain.advantages.rows import key_rows
from quintain.advantages.units import turn
from quintain.parts import Advantage, Groups, PartError, stateless
from quintain.registry import register, resolve

ALIKE = 1e-12  # gaps up to this share of the value are none


@register("advantage", "compare_histories", paper="2602.22817", status="paper", confidence="code")
def compare_histories(
    length: int = 2, alpha: float = 1.0, gamma: float = 0.95, scale: Any = None, eps: float = 1e-6
) -> Advantage:
    """Compare each step with those that share its last states, and trust a comparison more the more they share.

    When to use: long episodes whose states come back, where a state alone does not say what was known (HGPO).

    Maths: for `k = 1 .. length + 1`, `a_k = (G_t - mean) / scale` among the steps of the same prompt whose last k states agree, `G_t` the
    discounted reward from t on; `A_t = sum_k w_k a_k`, `w_k = (k + 1)^alpha / (sum_k' (k' + 1)^alpha + eps)` over the levels with `a_k !=
    0`.

    Args:
        length: states beyond the present one that are compared, >= 0.
        alpha: how much more a longer history counts; 0 weighs all alike.
        gamma: discount per turn, in [0, 1].
        scale: a part of kind `scale`; None is the population's deviation plus `eps`.
        eps: added to the deviation and to the sum of the weights, > 0.

    Returns: An advantage that needs digests of states.
    Special cases: levels on which a step is alone, or does not differ from its peers, are left out; a step without any has advantage 0. A
    level that comes in or drops out moves the advantage at once.
    Example: `compare_histories()`
    Reference: HGPO, 2026, arXiv 2602.22817. Differs from the paper: gaps below 1e-12 of the value count as none.
    """
    if length < 0 or not eps > 0:
        raise PartError(f"compare_histories: length {length}, eps {eps}; length must be >= 0 and eps > 0")
    units = turn(gamma)
    scaling = resolve("scale", {"name": "std", "ddof": 0, "eps": eps} if scale is None else scale)

    def apply(groups: Groups) -> Groups:
        rows = units.read(groups)
        credit, weights = np.zeros(len(rows)), np.zeros(len(rows))
        for k in range(1, length + 2):
            level = key_rows(rows, [prompt(), history(k)])
            level, _ = scaling.apply(level, scaling.init())
            gap = level.value - level.mean
            found = (level.size > 1) & (np.abs(gap) > ALIKE * np.maximum(1.0, np.abs(level.value)))
            weight = np.where(found, float(k + 1) ** alpha, 0.0)
            credit += weight * gap / np.where(level.scale == 0, 1.0, level.scale)
            weights += weight
        return units.write(rows, credit / (weights + eps))

    return stateless(apply, needs=("digests",))
