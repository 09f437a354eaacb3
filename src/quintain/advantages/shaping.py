"""Shaping: what is added to rewards before they are compared. First links of an advantage chain."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from quintain.advantages.rows import bad_reward
from quintain.advantages.steps import charge_turns, charges, last_nodes
from quintain.parts import Advantage, Groups, PartError, State, Transform, stateless
from quintain.registry import register, unknown
from quintain.types import Trajectory


@register(
    "advantage",
    "shape_overlong",
    methods={
        "Overlong shaping": {
            "recipe": ("algorithm=dapo",),
            "cases": ("dapo_overlong",),
            "shown": "tests/unit/rewards/test_env.py::test_overlong_punishment_is_the_published_curve",
        }
    },
    paper="2503.14476",
    status="paper",
    confidence="code",
    writes="rewards",
    example={"limit": 8, "buffer": 4},
)
def shape_overlong(limit: float, buffer: float, factor: float = 1.0, floor: bool = True) -> Advantage:
    """Charge trajectories that come near the length limit, softly, instead of judging them by where they were cut off.

    When to use: long answers with a hard token limit (DAPO).

    Maths: with `y` the sampled tokens of a trajectory, the named reward `overlong` is `factor * max(-1, min(0, (limit - buffer - y) /
    buffer))`: 0 up to `limit - buffer`, then falling linearly to `-factor` at `limit`.

    Args:
        limit: the length limit, in sampled tokens of the whole trajectory, > 0.
        buffer: how many tokens before the limit the charge begins, in (0, limit].
        factor: the largest charge, in units of reward, >= 0.
        floor: stop falling at the limit, as the paper does; one release falls on.

    Returns: A link that adds the named reward `overlong` to every trajectory.
    Special cases: applied twice it charges once.

    Example:
        >>> from quintain.types import Group, Stop, Task, Trajectory
        >>> group = Group(task=Task(key="t", env="e"), trajectories=(Trajectory(id="a", nodes=(), stop=Stop.done),))
        >>> shape_overlong(limit=20, buffer=4).apply((group,), None)[0][0].trajectories[0].rewards
        {'overlong': 0.0}

    Reference: Yu et al., 2025, arXiv 2503.14476. Differs from the paper: counts the tokens of all turns.
    """
    if not (0 < buffer <= limit and factor >= 0):
        raise PartError(f"shape_overlong: limit {limit}, buffer {buffer}, factor {factor}; 0 < buffer <= limit needed")

    def one(trajectory: Trajectory) -> Trajectory:
        charge = min(0.0, (limit - buffer - trajectory.length) / buffer)
        charge = max(-1.0, charge) if floor else charge
        return replace(trajectory, rewards={**trajectory.rewards, "overlong": factor * charge})

    return stateless(lambda groups: _each(groups, one), apart=True)


@register(
    "advantage",
    "charge_kl",
    methods={
        "KL in the reward": {
            "recipe": ("algorithm=reinforce_pp", "algorithm.options.kl=0.01"),
            "cases": ("adv_reinforce_pp",),
            "shown": "tests/unit/advantages/test_advantages.py::test_a_charge_for_leaving_the_reference_reaches_every_kind_of_credit",
        }
    },
    paper="1909.08593",
    status="paper",
    confidence="code",
    writes="token_reward",
)
def charge_kl(coef: float = 0.001, anchor: str = "old") -> Advantage:
    """Charge each token for leaving the reference policy, in the reward rather than in the loss.

    When to use: PPO, RLOO and REINFORCE++ as published; the penalty then passes through returns and baselines.

    Maths: stream `token_reward_t -= coef (anchor_t - ref_t)` on sampled tokens, logprobs in nats.

    Args:
        coef: strength per nat, >= 0; 0.001 to 0.1 in papers.
        anchor: whose logprobs: `old`, the learner's before the step, or `rollout`, the engine's at sampling.

    Returns: A link that writes the stream `token_reward`, which every unit and return adds to the rewards.
    Special cases: tokens that the policy did not sample are charged nothing; with `coef = 0` nobody is.
    Example: `charge_kl()`
    Reference: Ziegler et al., 2019, arXiv 1909.08593. Differs from the paper: a fixed strength.
    """
    if anchor not in ("old", "rollout"):
        raise PartError(unknown("anchor of charge_kl", anchor, ["old", "rollout"]))
    if not coef >= 0:
        raise PartError(f"charge_kl: coef is {coef}; it must be >= 0")

    def one(trajectory: Trajectory) -> Trajectory:
        for name in ("old", "ref")[anchor == "rollout" :]:
            if name not in trajectory.streams:
                raise PartError(f"charge_kl: trajectory {trajectory.id!r} has no stream {name!r}; score it first")
        rows, before = [], charges(trajectory)
        for i, node in enumerate(trajectory.nodes):
            given = trajectory.streams["old"][i] if anchor == "old" else node.logprobs
            four = zip(before[i], given, trajectory.streams["ref"][i], node.mask, strict=True)
            rows.append(tuple(r - coef * (p - q) if m else r for r, p, q, m in four))
        return trajectory.with_stream("token_reward", tuple(rows))

    return stateless(
        lambda groups: _each(groups, one), needs=("ref", *(["old"] if anchor == "old" else [])), apart=True
    )


@register(
    "advantage",
    "scale_rewards",
    paper="2307.04964",
    status="paper",
    confidence="code",
    writes="token_reward",
)
def scale_rewards(limit: float = 0.0, centre: bool = False) -> Advantage:
    """Divide rewards by how much they have varied in the run so far, and hold them within a limit.

    When to use: rewards of a model, whose scale is arbitrary and drifts, before a critic (PPO-max).

    Maths: `R <- clip((R - [centre] mean) / std, -limit, limit)`, mean and deviation (of a sample) over all trajectories of this and of
    earlier steps.

    Args:
        limit: of the scaled reward, >= 0; 0 holds nothing back.
        centre: take the mean off too, which changes what a group without spread earns.

    Returns: A link that adds to the stream `token_reward` what makes the reward, and those of turns in proportion, what they shall be; its
    state is `{"count", "mean", "square"}`. It stands behind `charge_kl`.
    Special cases: rewards that never varied are left as they are but for the limit.

    Example:
        >>> scale_rewards().init()
        {'count': 0, 'mean': 0.0, 'square': 0.0}

    Reference: Secrets of RLHF I (PPO-max), 2023, arXiv 2307.04964, read in the authors' code. Differs from the paper: its text centres and
    clips, its published runs do neither; that is the default here.
    """
    if not limit >= 0:
        raise PartError(f"scale_rewards: limit is {limit}; it must be >= 0")

    def apply(groups: Groups, state: State) -> tuple[Groups, State]:
        for group, t in ((g, t) for g in groups for t in g.trajectories if not math.isfinite(t.reward)):
            raise bad_reward(group, t)
        paid = [t.reward for g in groups for t in g.trajectories]
        state = _pooled(state, paid)
        std = math.sqrt(state["square"] / (state["count"] - 1)) if state["count"] > 1 else 0.0
        by, off = 1 / (std or 1.0), -state["mean"] if centre else 0.0

        def one(t: Trajectory) -> Trajectory:
            goal = by * (t.reward + off)
            factor = by * limit / abs(goal) if 0 < limit < abs(goal) else by
            nodes = last_nodes(t)
            owed = {k: (factor - 1) * r for k, r in enumerate(t.turn_rewards) if k in nodes}
            for last in list(nodes)[-1:]:  # what turns leave of the reward sits on the last one
                owed[last] = owed.get(last, 0.0) + factor * (t.reward + off) - t.reward - sum(owed.values())
            return charge_turns(t, owed)

        return _each(groups, one), state

    return Transform(lambda: {"count": 0, "mean": 0.0, "square": 0.0}, apply)


def _pooled(state: State, values: Sequence[float]) -> State:
    """Count, mean and sum of squared distances from it, of what was seen and of more values."""
    if not values:
        return state
    seen, more = state["count"], len(values)
    mean = math.fsum(values) / more
    move = mean - state["mean"]
    square = state["square"] + math.fsum((v - mean) ** 2 for v in values) + move * move * seen * more / (seen + more)
    return {"count": seen + more, "mean": state["mean"] + move * more / (seen + more), "square": square}


def _each(groups: Groups, function: Callable[[Trajectory], Trajectory]) -> Groups:
    return tuple(replace(g, trajectories=tuple(map(function, g.trajectories))) for g in groups)
