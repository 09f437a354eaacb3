"""Groups that were sampled at another temperature: what is right among them is imitated (AEPO)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from quintain.advantages.rows import bad_reward
from quintain.advantages.units import total_reward
from quintain.parts import Advantage, Groups, PartError, Transform
from quintain.registry import register
from quintain.types import Trajectory


def pick_temperature(entropy: float, target: float = 0.5, high: float = 1.2, low: float = 0.8) -> float:
    """`high` while the entropy is at or below the target, `low` above it.

    Example:
        >>> pick_temperature(0.5), pick_temperature(0.7)
        (1.2, 0.8)
    """
    return high if entropy <= target else low


def heat_of(t: Trajectory) -> float:
    """The temperature that a trajectory's first answer was sampled at; 1 where it was not recorded."""
    return next((n.sampling.temperature for n in t.nodes if n.sampling and any(n.mask)), 1.0)


@register("advantage", "imitate_hot", paper="2510.08141", status="experimental", confidence="guess", after="normalise")
def imitate_hot(coef: float = 1.0, target: float = 0.5, high: float = 1.2, low: float = 0.8) -> Advantage:
    """Imitate what was rewarded at another temperature, and train the rest as it is.

    When to use: with the rollout `hot` and the objective part `ce`: AEPO.

    Maths: where a trajectory was sampled at T != 1, `weight.rl = 0` and `weight.ce = coef R` if T is the chosen one, else 0; chosen is
    `high` if `H <= target`, else `low`, H the mean of `-log p` at T = 1 in the step before.

    Args:
        coef: strength, >= 0.
        target: nats of entropy.
        high: temperature at or below the target.
        low: temperature above it.

    Returns: An advantage that writes `weight.rl` and `weight.ce`; its state is the entropy.
    Special cases: the first step chooses `high`; negative rewards imitate nothing.

    Example:
        >>> imitate_hot().init()
        {'entropy': 0.0}

    Reference: AEPO, arXiv 2510.08141 (README and code). Differs from the paper: both temperatures are sampled and one is used; entropy is
    estimated from sampled tokens; samples stand beside the batch instead of replacing some of it.
    """
    if not coef >= 0:
        raise PartError(f"imitate_hot: coef is {coef}; it must be >= 0")

    def apply(groups: Groups, state: Any) -> tuple[Groups, Any]:
        chosen, surprise, count, out = pick_temperature(state["entropy"], target, high, low), 0.0, 0, []
        for group in groups:
            made = []
            for t in group.trajectories:
                reward, heat = total_reward(t), heat_of(t)
                if not abs(reward) < float("inf"):
                    raise bad_reward(group, t)
                before = t if "weight.rl" in t.streams else t.with_value("weight.rl", 1.0)
                if heat == 1.0:
                    drawn = [p for n in t.nodes for p, m in zip(n.logprobs, n.mask, strict=True) if m]
                    surprise, count = surprise - sum(drawn), count + len(drawn)
                    made.append(before.with_value("weight.ce", 0.0))
                else:
                    worth = coef * max(reward, 0.0) if heat == chosen else 0.0
                    made.append(t.with_value("weight.rl", 0.0).with_value("weight.ce", worth))
            out.append(replace(group, trajectories=tuple(made)))
        return tuple(out), {"entropy": surprise / count} if count else state

    return Transform(lambda: {"entropy": 0.0}, apply)
