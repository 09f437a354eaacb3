"""Off-policy weights: constants that scale the policy term, and not the regularisers after it."""

from __future__ import annotations

from dataclasses import replace

from quintain.objectives._rows import column, held, note, rows_of
from quintain.parts import Objective, PartError, stateless
from quintain.registry import register
from quintain.types import Terms


@register(
    "objective", "truncate_mismatch", paper="2505.24298", status="paper", confidence="code", on_policy="reinforce"
)
def truncate_mismatch(cap: float = 2.0) -> Objective:
    """Weigh each token by how much likelier the learner found it than the engine that sampled it, up to a cap.

    When to use: after a surrogate anchored at `old`, when engine and learner differ or data are stale: truncated
    importance sampling (TIS), and the weight of decoupled PPO.

    Maths: `weight_t *= min(exp(old_t - rollout_t), cap)` [N], a constant. Coefficient: the surrogate's, times it.

    Args:
        cap: the largest weight, > 0; 2 is common, 1.5 to 5 in use.

    Returns:
        A part of place `weight` that sets `weight` [N] and notes `mismatch_capped`, the share of tokens whose cap acts.

    Raises:
        PartError: the cap is not positive.

    Special cases: masked rows have weight 1; where engine and learner agree this changes nothing.

    Example:
        >>> truncate_mismatch(cap=2.0).needs
        frozenset({'old'})

    Reference: Fu et al., 2025, arXiv 2505.24298. Differs from the paper: a cap where the release can also mask.
    """
    if not cap > 0:
        raise PartError(f"truncate_mismatch: cap is {cap}; it must be > 0")

    def apply(terms: Terms) -> Terms:
        gap = held(rows_of(terms), column(terms, "old", "truncate_mismatch") - terms.rollout).detach()
        raw = gap.exp()
        weight = raw.clamp(max=cap) if terms.weight is None else terms.weight * raw.clamp(max=cap)
        return note(replace(terms, weight=weight), mismatch_capped=raw > cap)

    return stateless(apply, needs=("old",), place="weight")
