"""Credit between agents: what a main agent's outcome pays its helpers, and how one seat's gains weigh another's."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from quintain.advantages.rows import write_nodes
from quintain.advantages.units import first_value, sampled_nodes
from quintain.parts import Advantage, PartError, stateless
from quintain.registry import register
from quintain.types import Group, Trajectory


@register("advantage", "pay_calls", paper="2511.13288", status="paper", confidence="code", writes="rewards")
def pay_calls(column: str = "call", low: float = 0.1, bad: str = "malformed") -> Advantage:
    """Pay an agent that was called by what came of the episode that called it.

    When to use: a main agent that calls helpers, whose own answers nobody can judge (M-GRPO).

    Maths: the reward of a called trajectory is 0 if its format was bad, `low` if the caller earned 0 or `low`, else 1; under the name
    `column`, beside 0 for its other named rewards.

    Args:
        column: the name of the reward.
        low: what a helper earns when the whole failed, in [0, 1].
        bad: the event that marks a bad format.

    Returns: A link that rewrites the rewards of the trajectories with a `call_parent`.
    Special cases: a helper of a helper is paid by what its own caller is paid; callers keep their rewards.

    Example:
        >>> pay_calls().apply((), None)
        ((), None)

    Reference: M-GRPO, 2025, arXiv 2511.13288. Differs from the paper: the rule is the release's; it was not read there.
    """
    if not 0 <= low <= 1:
        raise PartError(f"pay_calls: low is {low}; it must lie in [0, 1]")

    def one(group: Group) -> Group:
        known = {t.id: t for t in group.trajectories}

        def worth(t: Trajectory) -> float:
            if not t.call_parent:
                return t.reward
            if t.call_parent not in known:
                raise PartError(
                    f"pay_calls: trajectory {t.id!r} was called by {t.call_parent!r}, which is not in its group"
                )
            above = worth(known[t.call_parent])
            return 0.0 if bad in t.events else low if above in (0.0, low) else 1.0

        def paid(t: Trajectory) -> Trajectory:
            return replace(t, rewards={**dict.fromkeys(t.rewards, 0.0), column: worth(t)}) if t.call_parent else t

        return replace(group, trajectories=tuple(map(paid, group.trajectories)))

    return stateless(lambda groups: tuple(map(one, groups)), apart=True)


@register("advantage", "align_calls", status="experimental", confidence="guess", after="normalise")
def align_calls(count: int = 4) -> Advantage:
    """Let the calls of every main trajectory weigh as `count` calls: drop some where there are more, repeat where fewer.

    When to use: after the advantages, where some episodes call their helpers far more often than others. Our reading of M-GRPO's fixed-size
    batches.

    Maths: of k calls of one trajectory, `weight.rl` is 1 on `count` of them, drawn by their ids, and 0 on the others; if `k < count` each
    weighs `count // k`, and `count % k` of them one more.

    Args:
        count: calls per main trajectory, >= 1.

    Returns: An advantage that writes `weight.rl`.
    Special cases: no call, no weight: nothing is filled up. Statistics that were taken before see every call once.

    Example:
        >>> align_calls().apply((), None)
        ((), None)
    """
    if count < 1:
        raise PartError(f"align_calls: count is {count}; it must be >= 1")

    def one(group: Group) -> Group:
        calls: dict[str, list[str]] = {}
        for t in group.trajectories:
            if t.call_parent:
                calls.setdefault(t.call_parent, []).append(t.id)
        weights = {name: w for ids in calls.values() for name, w in share_places(ids, count).items()}
        each = (t.with_value("weight.rl", float(weights.get(t.id, 1))) for t in group.trajectories)
        return replace(group, trajectories=tuple(each))

    return stateless(lambda groups: tuple(map(one, groups)), apart=True)


def share_places(names: Sequence[str], count: int) -> dict[str, int]:
    """How many of `count` places each name gets, as evenly as it goes; who gets one more is drawn by the names alone.

    Example:
        >>> share_places(["a"], 3)
        {'a': 3}
    """
    drawn = sorted(names, key=lambda name: hashlib.blake2b(name.encode()).digest())
    return {name: count // len(drawn) + (at < count % len(drawn)) for at, name in enumerate(drawn)}


def opponent_weights(own: Sequence[float], gamma: float, inclusive: bool = False, mean: bool = False) -> list[float]:
    """The discounted sum of one's own advantages up to each round: how much the other's advantage there counts.

    Example:
        >>> opponent_weights([1.0, -0.5, 0.25], 0.5)
        [0.0, 0.5, 0.0]
    """
    out, past = [], 0.0
    for t, value in enumerate(own):
        weight = past + (value if inclusive else 0.0)
        out.append(weight / (t + 1) if mean else weight)
        past = gamma * (past + value)
    return out


@register("advantage", "align_opponents", paper="2511.19405", status="paper", confidence="code", after="normalise")
def align_opponents(
    beta: float = 1.0,
    gamma: float = 0.9,
    inclusive: bool = False,
    mean: bool = False,
    discount: bool = False,
    limit: float = 0.0,
) -> Advantage:
    """Reward a seat for making the other's gains go with its own: opponent shaping by products of advantages.

    When to use: after the advantages of turns, in games where plain self-play ends in mutual defection.

    Maths: `A*_t = A1_t + beta w_t A2_t`, `w_t = sum_(k < t) gamma^(t - k) A1_k` [rounds], A2 the advantage of the other seat of the episode
    in the same round (the sum over the others).

    Args:
        beta: strength; negative turns the sign.
        gamma: discount per round, in [0, 1].
        inclusive: count round t itself, for simultaneous moves that the other has not seen.
        mean: divide w_t by t + 1.
        discount: multiply A*_t by gamma^t.
        limit: hold `beta w_t A2_t` within +-limit; 0 does not.

    Returns: An advantage that rewrites the stream `advantage` turn by turn.
    Special cases: a round that the other did not play adds nothing; a seat that plays alone keeps its advantages. The credit can dwarf A1:
    bound it.

    Example:
        >>> align_opponents().apply((), None)
        ((), None)

    Reference: Learning robust social strategies with LLMs, 2025, arXiv 2511.19405. Differs from the paper: rounds are turns.
    """
    if not (0 <= gamma <= 1 and limit >= 0):
        raise PartError(f"align_opponents: gamma {gamma}, limit {limit}; gamma must lie in [0, 1], limit be >= 0")

    def one(group: Group) -> Group:
        gains = [_rounds(t) for t in group.trajectories]
        out = []
        for t, own in zip(group.trajectories, gains, strict=True):
            rivals = [
                theirs
                for other, theirs in zip(group.trajectories, gains, strict=True)
                if other.episode == t.episode and other.agent != t.agent
            ]
            weights = opponent_weights(list(own.values()), gamma, inclusive, mean)
            values = {}
            for k, ((turn, value), weight) in enumerate(zip(own.items(), weights, strict=True)):
                extra = beta * weight * sum(theirs.get(turn, 0.0) for theirs in rivals)
                extra = max(-limit, min(limit, extra)) if limit else extra
                values[turn] = (value + extra) * (gamma**k if discount else 1.0)
            nodes = {i: values[n.turn] for i, n in enumerate(t.nodes) if n.turn in values}
            out.append(write_nodes(t, nodes))
        return replace(group, trajectories=tuple(out))

    return stateless(lambda groups: tuple(map(one, groups)), apart=True)


def _rounds(t: Trajectory) -> dict[int, float]:
    """The advantage of each turn of a trajectory, in order."""
    return {t.nodes[i].turn: first_value(t, i) for i in sampled_nodes(t, range(len(t.nodes)))}
