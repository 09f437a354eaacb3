"""Shaping: potentials over states, progress beyond the best so far, and reflections that foresaw the outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from quintain.parts import Advantage, BadReward, Groups, PartError, Reward, State, Transform
from quintain.registry import register
from quintain.rewards.env import RewardError, checked, function_of, per_trajectory
from quintain.rewards.roles import side_of
from quintain.types import Group, Stop, Trajectory

TRUNCATED = frozenset({Stop.truncated_turns, Stop.truncated_tokens, Stop.timeout, Stop.cancelled, Stop.aborted})


def shaping(potential: Sequence[float], gamma: float = 1.0) -> list[float]:
    """`F_t = gamma phi_(t+1) - phi_t` [T] from potentials [T + 1]; their discounted sum is `gamma^T phi_T - phi_0`.

    Example:
        >>> shaping([0.0, 0.5, 0.0])
        [0.5, -0.5]
    """
    return [gamma * after - before for before, after in pairwise(potential)]


def discounted(rewards: Sequence[float], gamma: float) -> float:
    """`sum_t gamma^t r_t`.

    Example:
        >>> discounted([1.0, 1.0], 0.5)
        1.5
    """
    return sum(r * gamma**t for t, r in enumerate(rewards))


@register(
    "reward",
    "shape_potential",
    methods={
        "Potential-based shaping": {
            "wants": "a potential of the states: reward.path=FILE.py:function",
            "cases": ("potential_shaping",),
            "shown": "tests/unit/rewards/test_progress.py::test_potentials_telescope_and_end_at_zero",
        }
    },
    status="paper",
    confidence="paper",
    example={"gamma": 0.9},
)
def shape_potential(
    gamma: float = 1.0, path: str | Callable[[Any], float] = "", end_at_zero: bool = True, label: str = "potential"
) -> Reward:
    """Pay every turn for what it added to a potential: hints on the way that leave the best policy what it was.

    When to use: long tasks for whose states a heuristic value is known; with the same gamma as the returns.

    Maths: turn reward `r_t + gamma phi(s_(t+1)) - phi(s_t)` [turns], phi of the last state 0; the reward `label` is their
    sum.

    Args:
        gamma: the discount of the returns, in [0, 1].
        path: `FILE.py:name`, `package.module:name`, or the function from the private state of a turn to its potential;
            empty reads the trajectory's tag `potential`, turns + 1 numbers.
        end_at_zero: count the potential of a terminal state as 0, without which the best policy may change; an episode
            that was cut keeps its own.
        label: name of the reward.

    Raises:
        RewardError: gamma outside [0, 1], a function that does not take one state; or (when scoring) another number of
            potentials than turns + 1.
        BadReward: (when scoring) a potential is not finite.

    Special cases: a trajectory without turns, states and tag gets 0; where an env failed before the last state, that of
    the state before stands for it.

    Example:
        >>> shaping([0.0, 0.3, 0.0], gamma=1.0)
        [0.3, -0.3]

    Reference: Ng et al., 1999. Differs from the paper: nothing.
    """
    if not 0 <= gamma <= 1:
        raise RewardError(f"shape_potential: gamma is {gamma}; it must lie in [0, 1]")
    value = function_of(path, "shape_potential", "state") if path else None

    def one(group: Group, t: Trajectory) -> Trajectory:
        phi = [float(v) for v in (map(value, t.states) if value else t.tags.get("potential", ()))]
        if phi and len(phi) == t.turns and t.stop is not Stop.done:
            phi.append(phi[-1])  # the state after the last turn never came
        if len(phi) != t.turns + 1 and (phi or t.turns):
            raise RewardError(
                f"shape_potential: trajectory {t.id} has {len(phi)} potentials for {t.turns} turns; one more than turns "
                "is needed: tag the episode with `potential`, or give the function of a state as `path`"
            )
        if phi and end_at_zero and t.stop not in TRUNCATED:
            phi[-1] = 0.0
        paid = [checked(f, label, group, t) for f in shaping(phi, gamma)]
        before = (*t.turn_rewards, *[0.0] * len(paid))[: len(paid)]
        turns = tuple(a + b for a, b in zip(before, paid, strict=True))
        return replace(t, turn_rewards=turns, rewards={**t.rewards, label: sum(paid)})

    async def score(group: Group) -> Group:
        return replace(group, trajectories=tuple(one(group, t) for t in group.trajectories))

    return score


def gains(progress: Sequence[float], best: float, centred: bool = False) -> list[float]:
    """`max(0, phi_i - best)`, less their mean when `centred`.

    Example:
        >>> gains([0.5, 0.25], 0.25)
        [0.25, 0.0]
    """
    gained = [max(0.0, phi - best) for phi in progress]
    mean = sum(gained) / len(gained) if centred and gained else 0.0
    return [g - mean for g in gained]


def fade(progress: float, rate: float = 5.0) -> float:
    """`exp(-rate progress)`, progress of the training in [0, 1].

    Example:
        >>> fade(0.0)
        1.0
    """
    return math.exp(-rate * progress)


@register(
    "advantage",
    "pay_progress",
    paper="2603.08561",
    methods={
        "RetroAgent": {
            "recipe": ('\'algorithm.advantage=["pay_progress","normalise"]\'',),
            "cases": ("retro_capability", "retro_return", "retroagent_utility"),
            "shown": "tests/unit/rewards/test_progress.py::test_progress_is_paid_beyond_the_best_of_earlier_steps_and_fades",
        }
    },
    status="paper",
    confidence="code",
    writes="rewards",
)
def pay_progress(
    tag: str = "progress", column: str = "", coef: float = 1.0, centred: bool = False, steps: int = 0
) -> Advantage:
    """Pay for getting further with a task than the policy ever did on average (RetroAgent's numeric feedback).

    When to use: first in the chain, where success is rare and a judge or the env says how much of a task was done.

    Maths: `r_i = coef max(0, phi_i - Phi_x)`, phi the share of sub-tasks done, 1 on success; after the step `Phi_x <-
    max(Phi_x, mean success of the group)`, 0 at first.

    Args:
        tag: the trajectory's tag that holds phi; where there is none it is 0.
        column: the named reward that says success (> 0); empty takes the sum.
        coef: strength.
        centred: subtract the group's mean.
        steps: fade the strength by `exp(-5 step / steps)`; 0 keeps it.

    Returns:
        A link that adds the named reward `progress`; its state is Phi by task key, and the number of steps.

    Raises:
        PartError: a negative strength or number of steps.
        BadReward: (when applied) phi is NaN or infinite.

    Special cases: phi is held in [0, 1]; groups of one task in one step see the same Phi.

    Example:
        >>> pay_progress().apply((), {"step": 0, "best": {}})
        ((), {'step': 1, 'best': {}})

    Reference: RetroAgent, arXiv 2603.08561. Differs from the paper: tasks are told apart by key, not by their
    wording.
    """
    if coef < 0 or steps < 0:
        raise PartError(f"pay_progress: coef is {coef}, steps {steps}; both must be >= 0")

    def phi_of(group: Group, t: Trajectory) -> float:
        phi = float(t.tags.get(tag, 0.0))
        if not math.isfinite(phi):
            raise BadReward(
                f"task {group.task.key!r}: the tag {tag!r} of trajectory {t.id} is {phi}; mend what writes it"
            )
        return 1.0 if won(t) else min(1.0, max(0.0, phi))

    def won(t: Trajectory) -> bool:
        return (t.rewards.get(column, 0.0) if column else t.reward) > 0

    def paid(group: Group, best: float, factor: float) -> Group:
        each = zip(
            group.trajectories, gains([phi_of(group, t) for t in group.trajectories], best, centred), strict=True
        )
        return replace(
            group, trajectories=tuple(replace(t, rewards={**t.rewards, "progress": factor * g}) for t, g in each)
        )

    def apply(groups: Groups, state: State) -> tuple[Groups, State]:
        factor = coef * (fade(min(1.0, state["step"] / steps)) if steps else 1.0)
        best = dict(state["best"])
        for group in groups:
            if group.trajectories:
                rate = sum(map(won, group.trajectories)) / len(group.trajectories)
                best[group.task.key] = max(best.get(group.task.key, 0.0), rate)
        out = tuple(paid(g, state["best"].get(g.task.key, 0.0), factor) for g in groups)
        return out, {"step": state["step"] + 1, "best": best}

    return Transform(lambda: {"step": 0, "best": {}}, apply)


def foresight(predicted: bool, actual: bool, worth: float) -> float:
    """`worth` if the outcome was foreseen, else 0.

    Example:
        >>> foresight(True, True, 10.0), foresight(True, False, 10.0)
        (10.0, 0.0)
    """
    return worth if predicted == actual else 0.0


@register(
    "reward",
    "reflect",
    paper="2603.08561",
    methods={
        "RetroAgent reflection": {
            "wants": "a seat that reflects on the episode and foretells its end",
            "cases": ("retro_reflection",),
            "shown": "tests/unit/rewards/test_progress.py::test_foresight_is_paid_by_what_was_reflected_on",
        }
    },
    status="paper",
    confidence="code",
    example={"role": "reflector"},
)
def reflect(role: str = "reflector", scale: float = 0.0, column: str = "", label: str = "reflect") -> Reward:
    """Pay those who reflect on an episode for having foreseen how it ended (RetroAgent).

    When to use: a role that reads an episode and tags its own trajectory with `predicted`.

    Maths: `R_ext 1[c = outcome]` with R_ext the reward of the episode; with `scale` it is `scale 1[c = outcome]`.

    Args:
        role: the role that is paid, or the seat where one policy plays all.
        scale: the reward of every right prediction, as released (10); 0 pays what the episode earned, as in the paper.
        column: the named reward of the episode that counts; empty takes the sum.
        label: name of the reward.

    Raises:
        RewardError: (when scoring) the trajectory that is reflected on is not in the group.

    Special cases: without the tag `predicted` the reward is 0; in the paper's form foreseen failures earn nothing. The
    episode is that of `call_parent`, else the first trajectory of another role in the same episode.

    Example:
        >>> foresight(False, False, 10.0)
        10.0

    Reference: RetroAgent, arXiv 2603.08561. Differs from the paper: nothing that was read.
    """

    def value(group: Group, t: Trajectory) -> dict[str, float]:
        if not side_of(t, (role,)):
            return {}
        same = [o for o in group.trajectories if o.id == t.call_parent] or [
            o for o in group.trajectories if o.episode == t.episode and not side_of(o, (role,))
        ]
        if not same:
            raise RewardError(f"reflect: trajectory {t.id} reflects on {t.call_parent!r}, which is not in its group")
        if "predicted" not in t.tags:
            return {label: 0.0}
        earned = same[0].rewards.get(column, 0.0) if column else same[0].reward
        return {label: foresight(bool(t.tags["predicted"]), earned > 0, scale or earned)}

    return per_trajectory(value)
