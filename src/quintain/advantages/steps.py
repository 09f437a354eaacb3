"""Rewards of steps: shared out by an estimator, scaled by the outcome, graded against an expert, kept if they helped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from quintain.advantages.rows import Rows, Unit, bad_reward
from quintain.advantages.units import node_rewards, sampled_nodes, turn
from quintain.parts import Advantage, Groups, PartError, stateless
from quintain.registry import register
from quintain.types import Group, Trajectory

GRADES = "grades"  # tag of a trajectory: per turn {format, type, exact}, each 0 or 1, against an expert's action
TERMS = ("format", "type", "exact")


def last_nodes(trajectory: Trajectory) -> dict[int, int]:
    """Turn -> the last node with sampled tokens of that turn."""
    return {trajectory.nodes[i].turn: i for i in sampled_nodes(trajectory, range(len(trajectory.nodes)))}


def charges(trajectory: Trajectory) -> Sequence[Sequence[float]]:
    """The stream `token_reward`, node by node; zeros where there is none yet."""
    return trajectory.streams.get("token_reward") or [(0.0,) * len(n.tokens) for n in trajectory.nodes]


def charge_turns(trajectory: Trajectory, earned: Mapping[int, float]) -> Trajectory:
    """Add `earned` [turn] to the stream `token_reward`, on the last sampled token of each turn."""
    rows = [list(row) for row in charges(trajectory)]
    for at, i in last_nodes(trajectory).items():
        mask = trajectory.nodes[i].mask
        rows[i][max(j for j, drawn in enumerate(mask) if drawn)] += earned.get(at, 0.0)
    return trajectory.with_stream("token_reward", tuple(map(tuple, rows)))


def _each(function: Callable[[Trajectory], Trajectory]) -> Callable[[Groups], Groups]:
    def one(group: Group, t: Trajectory) -> Trajectory:
        if not np.isfinite((t.reward, *t.turn_rewards)).all():
            raise bad_reward(group, t)
        return function(t)

    return lambda groups: tuple(replace(g, trajectories=tuple(one(g, t) for t in g.trajectories)) for g in groups)


@register(
    "advantage",
    "scale_dense",
    paper="2510.01132",
    status="paper",
    confidence="code",
    writes="token_reward",
    example={"maximum": 5.0},
)
def scale_dense(maximum: float, win: str = "") -> Advantage:
    """Scale the rewards along the way so that a win earns 1 in all, and a loss its share of what there was to earn.

    When to use: dense turn rewards of tasks of unlike length, before an advantage of turns.

    Maths: turn rewards `r_t <- r_t / n`, n the number of positive ones if the episode was won, else `maximum`; by the stream `token_reward`
    on the last sampled token of the turn.

    Args:
        maximum: the most that can be earned along the way, in units of reward, > 0.
        win: the named reward that is positive in a won episode; empty takes the sum of all.

    Returns: A link that writes the stream `token_reward`.
    Special cases: a won episode without positive turn rewards keeps them; what the rewards hold beyond the turns stays.

    Example:
        >>> scale_dense(maximum=5).apply((), None)
        ((), None)

    Reference: A practitioner's guide to multi-turn agentic RL, 2025, arXiv 2510.01132. Differs from the paper: nothing.
    """
    if not maximum > 0:
        raise PartError(f"scale_dense: maximum is {maximum}; it must be > 0")

    def one(t: Trajectory) -> Trajectory:
        won = (t.rewards.get(win, 0.0) if win else t.reward) > 0
        by = (sum(r > 0 for r in t.turn_rewards) or 1) if won else maximum
        return charge_turns(t, {k: r / by - r for k, r in enumerate(t.turn_rewards)})

    return stateless(_each(one), apart=True)


@register("advantage", "redistribute", paper="2505.20732", status="paper", confidence="code", writes="token_reward")
def redistribute(alpha: float = 1.0, beta: float = 0.5, close: bool = True) -> Advantage:
    """Pay each turn what an estimator says that it contributed to the outcome, and that its action could be carried out.

    When to use: before an advantage of turns, with a value head that `fit_progress` trains to add up to the outcome.

    Maths: `r_t = alpha c_t + beta g_t`, c_t the sum of the stream `value` over the turn's tokens, g_t 1 if the turn has an action; the
    stream `return` is the outcome R on every sampled token.

    Args:
        alpha: weight of the contributions; the paper's is not known, 1 is a guess.
        beta: reward of an action that was carried out.
        close: pay what the contributions leave of R to the last turn, so that an untrained estimator does no harm.

    Returns: A link that writes the streams `token_reward` and `return`; it needs `values`.
    Special cases: nothing bounds a single contribution. Applied twice it pays twice the grounding.
    Example: `redistribute()`
    Reference: SPA-RL, 2025, arXiv 2505.20732. Differs from the paper: `close`; a value head over tokens, trained beside the policy.
    """

    def one(t: Trajectory) -> Trajectory:
        if "value" not in t.streams:
            raise PartError(f"redistribute: trajectory {t.id!r} has no stream 'value'; train with a value head")
        nodes = sampled_nodes(t, range(len(t.nodes)))
        parts: dict[int, float] = {}
        owed: dict[int, float] = {}
        for i, old in zip(nodes, node_rewards(t, nodes, charged=False), strict=True):
            at, kept = t.nodes[i].turn, zip(t.streams["value"][i], t.nodes[i].mask, strict=True)
            parts[at] = parts.get(at, 0.0) + sum(v for v, drawn in kept if drawn)
            owed[at] = owed.get(at, 0.0) - old
        if parts and close:
            parts[max(parts)] += t.reward - sum(parts.values())
        acted = {k for k, action in enumerate(t.actions) if action}
        paid = {at: owed[at] + alpha * c + beta * (at in acted) for at, c in parts.items()}
        return charge_turns(t, paid).with_value("return", t.reward)

    return stateless(_each(one), needs=("values",), apart=True)


def match_reward(format: float, type: float, exact: float) -> float:
    """The reward of a step against an expert's: 0.1 for its format, 0.4 for the kind of action, 0.5 for the action.

    Each counts only if those before it hold (UI-S1, arXiv 2509.11543).

    Example:
        >>> match_reward(1, 1, 0)
        0.5
    """
    return 0.1 * format + 0.4 * type * (format > 0) + 0.5 * exact * (format > 0 and type > 0)


@register("advantage", "grade_steps", paper="2509.11543", status="paper", confidence="paper", writes="token_reward")
def grade_steps() -> Advantage:
    """Reward each turn by how well it matches an expert's action, as the tag `grades` of a trajectory tells.

    When to use: rollouts on recorded episodes (UI-S1).

    Maths: `r_t = match_reward(format, type, exact)` is added to the stream `token_reward` on the turn's last token.

    Returns: A link that writes the stream `token_reward`.
    Special cases: a trajectory without the tag earns nothing here.

    Example:
        >>> grade_steps().apply((), None)
        ((), None)

    Reference: UI-S1, 2025, arXiv 2509.11543. Differs from the paper: nothing.
    """

    def one(t: Trajectory) -> Trajectory:
        grades: Sequence[Mapping[str, float]] = t.tags.get(GRADES, ())
        for at, grade in enumerate(grades):
            if missing := [name for name in TERMS if name not in grade]:
                raise PartError(f"grade_steps: turn {at} of trajectory {t.id!r} has no grade {missing[0]!r}")
        return charge_turns(t, {k: match_reward(*(float(g[n]) for n in TERMS)) for k, g in enumerate(grades)})

    return stateless(_each(one), apart=True)


@register("unit", "segment", paper="2509.11543", status="paper", confidence="paper")
def segment(gamma: float = 0.5, closed: bool = True) -> Unit:
    """One row per turn, judged by the discounted reward up to the first turn that left the expert's path.

    Maths: `value_t = sum_(k = t)^e gamma^(k - t) r_k`, e the first turn at or after t whose grade is not exact. [R]

    Args:
        gamma: discount per turn, in [0, 1].
        closed: count the turn e itself, as the paper does; the release leaves it out, but where e = t.

    Special cases: without the tag `grades` no turn left the path, and this is `turn`.

    Example:
        >>> segment().read(()).value.tolist()
        []
    """
    base = turn(gamma)

    def read(groups: Groups) -> Rows:
        rows = base.read(groups)
        found: dict[tuple[int, int], dict[int, float]] = {}
        for g, group in enumerate(groups):
            for m, t in enumerate(group.trajectories):
                if GRADES in t.tags:
                    found[g, m] = broken_returns(t, gamma, closed)
        places = zip(rows.group.tolist(), rows.member.tolist(), rows.node.tolist(), rows.value.tolist(), strict=True)
        return replace(rows, value=np.array([found.get((g, m), {}).get(i, v) for g, m, i, v in places], np.float64))

    return Unit(read, base.write, apart=True)


def broken_returns(trajectory: Trajectory, gamma: float, closed: bool) -> dict[int, float]:
    """Node -> the discounted reward from it on, up to the first turn whose grade is not exact."""
    nodes = sampled_nodes(trajectory, range(len(trajectory.nodes)))
    exact = [bool(g.get("exact")) for g in trajectory.tags[GRADES]]
    out: dict[int, float] = {}
    ahead = 0.0
    for i, reward in zip(reversed(nodes), reversed(node_rewards(trajectory, nodes)), strict=True):
        at = trajectory.nodes[i].turn
        on_path = at >= len(exact) or exact[at]
        out[i] = reward + gamma * ahead * on_path
        ahead = out[i] if on_path or closed else 0.0
    return out


def matched(trajectory: Trajectory, length: float = 0) -> tuple[float, float]:
    """How many turns matched the expert before one did not, and how many there were; `length` where the recording was longer.

    Example:
        >>> from quintain.types import Stop
        >>> grades = [{"exact": 1}, {"exact": 0}, {"exact": 1}]
        >>> matched(Trajectory(id="a", nodes=(), stop=Stop.done, tags={"grades": grades}), length=5)
        (1, 5)
    """
    exact = [bool(g.get("exact")) for g in trajectory.tags.get(GRADES, ())]
    return [*exact, False].index(False), max(len(exact), length, 1)


def semi_online_scores(done: Sequence[float], length: Sequence[float]) -> dict[str, float]:
    """How a policy fares on recorded episodes: mean progress, share that it completed, and the mean of both.

    Example:
        >>> semi_online_scores([2], [4])
        {'progress': 0.5, 'success': 0.0, 'score': 0.25}
    """
    progress = float(np.mean([d / n for d, n in zip(done, length, strict=True)])) if len(done) else 0.0
    success = float(np.mean([d >= n for d, n in zip(done, length, strict=True)])) if len(done) else 0.0
    return {"progress": progress, "success": success, "score": (progress + success) / 2}
