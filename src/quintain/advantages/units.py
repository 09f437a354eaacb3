"""Units of credit: what gets one advantage, and which scalar it is judged by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from quintain.advantages.rows import Rows, Unit, make_rows, sampled, write_nodes
from quintain.parts import Groups, PartError
from quintain.registry import register, unknown
from quintain.types import Trajectory


@register("unit", "trajectory", status="paper", confidence="code")
def trajectory(column: str = "") -> Unit:
    """One row per trajectory, judged by its reward; the advantage goes to every token that it sampled.

    When to use: outcome rewards; the unit of GRPO, RLOO and their kin. Long episodes count no more than short ones.

    Maths: `value_i = sum_k reward_ik` over the named rewards k plus the stream `token_reward`, or the one named `column`. [R] =
    trajectories of the step.

    Args:
        column: name of a single reward; empty takes the sum of all. A trajectory without it counts 0.

    Example:
        >>> from quintain.types import Group, Stop, Task, Trajectory
        >>> one = Trajectory(id="a", nodes=(), stop=Stop.done, rewards={"win": 1.0, "cost": -0.5})
        >>> trajectory().read((Group(task=Task(key="t", env="e"), trajectories=(one,)),)).value.tolist()
        [0.5]
    """

    def read(groups: Groups) -> Rows:
        all_ = [(g, m, -1, -1) for g, group in enumerate(groups) for m in range(len(group.trajectories))]
        each = (t for group in groups for t in group.trajectories)
        return make_rows(groups, all_, [t.rewards.get(column, 0.0) if column else total_reward(t) for t in each])

    def write(rows: Rows, advantage: np.ndarray) -> Groups:
        given = iter(advantage.tolist())
        return tuple(
            replace(g, trajectories=tuple(_everywhere(t, next(given)) for t in g.trajectories)) for g in rows.groups
        )

    return Unit(read, write, apart=True)


def total_reward(trajectory: Trajectory) -> float:
    """The trajectory's reward, and what the stream `token_reward` adds to it."""
    charges = trajectory.streams.get("token_reward")
    return trajectory.reward if charges is None else trajectory.reward + sum(map(sum, charges))


def _everywhere(trajectory: Trajectory, value: float) -> Trajectory:
    return write_nodes(trajectory, dict.fromkeys(range(len(trajectory.nodes)), value))


@register("unit", "turn", status="paper", confidence="code")
def turn(gamma: float = 1.0, outcome: bool = False) -> Unit:
    """One row per turn, judged by the discounted reward from that turn on; the advantage goes to the turn's tokens.

    When to use: rewards along the way. Long episodes have more rows, and so count more in the statistics.

    Maths: `value_t = sum_(k >= t) gamma^(k - t) r_k`, `r` [turns] the turn rewards of the trajectory. What they leave of the trajectory's
    reward is added to the last turn. [R] = sampled nodes of the step.

    Args:
        gamma: discount per turn, in [0, 1].
        outcome: judge every turn by the whole reward of its trajectory instead (statistics over rows, as several releases take them).

    Special cases: without turn rewards and with `gamma = 1` every turn is judged by the trajectory's reward. In a tree each node takes its
    value from the path that trains it.

    Example:
        >>> turn(gamma=0.95).read(()).value.tolist()
        []
    """
    if not 0 <= gamma <= 1:
        raise PartError(f"unit turn: gamma is {gamma}; it must lie in [0, 1]")

    def read(groups: Groups) -> Rows:
        places, values = [], []
        for g, group in enumerate(groups):
            for m, t in enumerate(group.trajectories):
                for path, fresh in t.paths():
                    nodes = sampled_nodes(t, path)
                    value = [total_reward(t)] * len(nodes) if outcome else turn_returns(t, nodes, gamma)
                    earned = zip(nodes, value, strict=True)
                    found = [(i, worth) for i, worth in earned if i in fresh]
                    places += [(g, m, t.nodes[i].turn, i) for i, _ in found]
                    values += [worth for _, worth in found]
        return make_rows(groups, places, values)

    def write(rows: Rows, advantage: np.ndarray) -> Groups:
        given: dict[tuple[int, int], dict[int, float]] = {}
        for g, m, i, value in zip(*(c.tolist() for c in (rows.group, rows.member, rows.node, advantage)), strict=True):
            given.setdefault((g, m), {})[i] = value
        return tuple(
            replace(
                group,
                trajectories=tuple(write_nodes(t, given.get((g, m), {})) for m, t in enumerate(group.trajectories)),
            )
            for g, group in enumerate(rows.groups)
        )

    return Unit(read, write, apart=True)


@register("unit", "credited", after="normalise")
def credited(of: str = "trajectory") -> Unit:
    """Rows that are judged by the advantage they have already: for a second rule after a first one.

    Args:
        of: `trajectory` (its first sampled token counts) or `turn`.

    Example:
        >>> credited().read(()).value.tolist()
        []
    """
    if of not in ("trajectory", "turn"):
        raise PartError(unknown("unit of credited", of, ["trajectory", "turn"]))
    base = trajectory() if of == "trajectory" else turn()

    def read(groups: Groups) -> Rows:
        rows = base.read(groups)
        each = zip(rows.trajectories, rows.node.tolist(), strict=True)
        return replace(rows, value=np.array([first_value(t, i) for t, i in each], np.float64))

    return Unit(read, base.write, apart=True)


def first_value(trajectory: Trajectory, node: int = -1, name: str = "advantage") -> float:
    """The stream `name` at the first sampled token of `node`, or of the whole trajectory; 0 where there is none.

    Raises:
        PartError: the trajectory has no such stream.
    """
    if name not in trajectory.streams:
        raise PartError(f"trajectory {trajectory.id!r} has no stream {name!r}; put the part that writes it before")
    for i in range(len(trajectory.nodes)) if node < 0 else [node]:
        for value, drawn in zip(trajectory.streams[name][i], trajectory.nodes[i].mask, strict=True):
            if drawn:
                return value
    return 0.0


def turn_returns(trajectory: Trajectory, nodes: Sequence[int], gamma: float) -> list[float]:
    """The discounted reward from each sampled node on, for `nodes` in order of play."""
    rewards = node_rewards(trajectory, nodes)
    total = 0.0
    for at in reversed(range(len(rewards))):
        total = rewards[at] = rewards[at] + gamma * total
    return rewards


def node_rewards(trajectory: Trajectory, nodes: Sequence[int], *, charged: bool = True) -> list[float]:
    """What each sampled node earned: its turn's reward (on the turn's last node), and the rest on the last one.

    With `charged` the stream `token_reward` of the node's tokens is added.
    """
    rewards = [0.0] * len(nodes)
    if not nodes:
        return rewards
    last = {trajectory.nodes[i].turn: at for at, i in enumerate(nodes)}
    for at_turn, reward in enumerate(trajectory.turn_rewards):
        if at_turn in last:
            rewards[last[at_turn]] = reward
    rewards[-1] += trajectory.reward - sum(rewards)
    charges = trajectory.streams.get("token_reward") if charged else None
    return rewards if charges is None else [r + sum(charges[i]) for r, i in zip(rewards, nodes, strict=True)]


def sampled_nodes(trajectory: Trajectory, path: Iterable[int]) -> list[int]:
    """The nodes of `path` that hold sampled tokens."""
    return [i for i in path if sampled(trajectory.nodes[i]) and any(trajectory.nodes[i].mask)]
