"""Credit that knows right and wrong only, demonstrations beside it, and rules that take turns over the training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from typing import Any

from quintain.advantages.rows import bad_reward
from quintain.advantages.units import total_reward
from quintain.parts import Advantage, Groups, PartError, Transform, stateless
from quintain.registry import register, resolve
from quintain.types import Group, Trajectory


@register("advantage", "judge", status="paper", confidence="paper", example={"bar": 0.5})
def judge(right: float = 0.0, wrong: float = -1.0, bar: float = 0.0) -> Advantage:
    """One advantage for right answers, another one for wrong ones.

    When to use: negative samples alone (NSR: 0 and -1), positive ones alone (1 and 0), plain imitation (1 and 1).

    Maths: `A_i = right` if `R_i > bar`, else `wrong`.

    Args:
        right: advantage of an answer above the bar.
        wrong: of the others.
        bar: in units of reward.

    Returns:
        An advantage that writes the stream `advantage`.

    Raises:
        BadReward: (when applied) a reward is NaN or infinite.

    Special cases: likelihoods of wrong answers have no lower bound: keep a clip or few steps.

    Example:
        >>> judge().apply((), None)
        ((), None)

    Reference: negative sample reinforcement, as PreRL uses it (abstract). Differs from the paper: nothing known.
    """

    def one(group: Group, t: Trajectory) -> Trajectory:
        if not isfinite(total_reward(t)):
            raise bad_reward(group, t)
        return t.with_value("advantage", right if total_reward(t) > bar else wrong)

    return stateless(lambda groups: tuple(_each(g, one) for g in groups), apart=True)


@register("advantage", "imitate_demos", status="paper", confidence="note", after="normalise")
def imitate_demos(tag: str = "demo", coef: float = 1.0) -> Advantage:
    """Train tagged trajectories by imitation and the others by reward, in one batch.

    When to use: with the objective part `ce`, to anchor RL in demonstrations (RL-Co).

    Maths: `weight.rl = 0` and `weight.ce = coef` on sampled tokens where the tag holds, `weight.ce = 0` elsewhere.

    Args:
        tag: of the trajectories that are demonstrations.
        coef: strength, >= 0.

    Returns:
        An advantage that writes `weight.rl` and `weight.ce`.

    Raises:
        PartError: a negative strength.
        BadReward: (when applied) a reward is NaN or infinite.

    Special cases: without such trajectories nothing is imitated.

    Example:
        >>> imitate_demos().apply((), None)
        ((), None)

    Reference: RL-Co (notes). Differs from the paper: nothing known.
    """
    if not coef >= 0:
        raise PartError(f"imitate_demos: coef is {coef}; it must be >= 0")

    def one(group: Group, t: Trajectory) -> Trajectory:
        if not isfinite(total_reward(t)):
            raise bad_reward(group, t)
        if t.tags.get(tag):
            return t.with_value("weight.rl", 0.0).with_value("weight.ce", coef)
        kept = t if "weight.rl" in t.streams else t.with_value("weight.rl", 1.0)
        return kept.with_value("weight.ce", 0.0)

    return stateless(lambda groups: tuple(_each(g, one) for g in groups), apart=True)


@register(
    "advantage",
    "take_turns",
    status="paper",
    confidence="paper",
    example={"first": {"name": "judge", "bar": 0.5}, "then": "normalise"},
)
def take_turns(first: Any, then: Any, steps: int = 100) -> Advantage:
    """One rule of credit for the first steps, another one from then on.

    When to use: a stage before reinforcement learning proper: DSRL.

    Maths: `A = first` at step k < steps, else `then`.

    Args:
        first: an advantage, or its name and options.
        then: the other one.
        steps: of the first stage, >= 0.

    Returns:
        An advantage whose state is the step and both states.

    Raises:
        PartError: steps < 0.

    Special cases: `steps = 0` is `then`.

    Example:
        >>> take_turns("judge", "normalise", 5).init()[0]
        0

    Reference: DSRL (abstract). Differs from the paper: nothing known.
    """
    if steps < 0:
        raise PartError(f"take_turns: steps is {steps}; it must be >= 0")
    one, two = (_made(part) for part in (first, then))

    def apply(groups: Groups, state: Any) -> tuple[Groups, Any]:
        step, a, b = state
        if step < steps:
            out, a = one.apply(groups, a)
        else:
            out, b = two.apply(groups, b)
        return out, [step + 1, a, b]

    return Transform(lambda: [0, one.init(), two.init()], apply, one.needs | two.needs)


def _made(part: Any) -> Advantage:
    return resolve("advantage", part) if isinstance(part, str | Mapping) else part


def _each(group: Group, one: Any) -> Group:
    return replace(group, trajectories=tuple(one(group, t) for t in group.trajectories))
