"""The table that the keyed normaliser works on: a row per unit of credit (trajectory, turn), in cells that share a key.

Dims: R rows; every column is a numpy array [R].
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from quintain.parts import BadReward, Groups, Transform, stateless
from quintain.types import Group, Kind, Node, Trajectory


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """Units of credit of one step: where each stands (group, member, turn), its `value`, and its `cell`.

    `group` and `member` index `groups[g].trajectories[m]`; `turn` is the node's turn and `node` its index, -1 for a whole trajectory.
    Baselines set `centre`, scales set `scale`; the advantage is `(value - centre) / scale`.
    """

    groups: Groups
    group: np.ndarray
    member: np.ndarray
    turn: np.ndarray
    node: np.ndarray
    value: np.ndarray
    cell: np.ndarray
    centre: np.ndarray
    scale: np.ndarray

    def __len__(self) -> int:
        return len(self.value)

    @property
    def trajectories(self) -> list[Trajectory]:
        """The trajectory of each row."""
        return [self.groups[g].trajectories[m] for g, m in zip(self.group.tolist(), self.member.tolist(), strict=True)]

    @property
    def size(self) -> np.ndarray:
        """How many rows share the cell of each row."""
        return np.bincount(self.cell)[self.cell] if len(self) else self.value

    def sum(self, column: np.ndarray) -> np.ndarray:
        """The sum of `column` over each row's cell."""
        return np.bincount(self.cell, column)[self.cell] if len(self) else column

    @property
    def lowest(self) -> np.ndarray:
        """The smallest value of each row's cell."""
        return self.each(np.min)

    @property
    def mean(self) -> np.ndarray:
        """The mean value of each row's cell; where all are equal it is exactly that value."""
        return self.lowest + self.sum(self.value - self.lowest) / np.maximum(self.size, 1)

    def each(self, statistic: Callable[[np.ndarray], float], column: np.ndarray | None = None) -> np.ndarray:
        """`statistic` of the values (or of `column`) of each cell, on every row of the cell."""
        values = self.value if column is None else column
        out = np.zeros(len(self))
        order = np.argsort(self.cell, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(self.cell[order])) + 1):
            if len(rows):
                out[rows] = statistic(values[rows])
        return out


class Unit(NamedTuple):
    """What gets one advantage: `read` makes the rows, `write` puts the advantage of each row on its unit's tokens."""

    read: Callable[[Groups], Rows]
    write: Callable[[Rows, np.ndarray], Groups]
    apart: bool = False  # whether rows are worth the same whatever other groups there are


class Key(NamedTuple):
    """Which rows are peers: `labels` gives one label per row, `needs` what must have been recorded for it."""

    labels: Callable[[Rows], Sequence[Hashable]]
    needs: frozenset[str] = frozenset()
    apart: bool = False  # whether rows of two groups are never peers


def make_rows(groups: Groups, places: Sequence[tuple[int, int, int, int]], values: Sequence[float]) -> Rows:
    """Rows from (group, member, turn, node) and a value each.

    Raises:
        BadReward: a value is NaN or infinite; the message names the task and trajectory.
    """
    table = np.array(places, np.int64).reshape(-1, 4)
    value = np.array(values, np.float64)
    if not np.isfinite(value).all():
        g, m = table[np.flatnonzero(~np.isfinite(value))[0], :2]
        raise bad_reward(groups[g], groups[g].trajectories[m])
    zero, one = np.zeros(len(value)), np.ones(len(value))
    group, member, turn, node = table.T
    cell = np.zeros(len(value), np.int64)
    return Rows(
        groups=groups, group=group, member=member, turn=turn, node=node, value=value, cell=cell, centre=zero, scale=one
    )


def bad_reward(group: Group, trajectory: Trajectory) -> BadReward:
    """The error for a trajectory whose reward is not a finite number."""
    named = {k: v for k, v in trajectory.rewards.items() if not np.isfinite(v)}
    what = named or {"turn_rewards": trajectory.turn_rewards}
    return BadReward(
        f"task {group.task.key!r}, trajectory {trajectory.id!r}: reward {dict(what)} is not finite; "
        "mend the reward, or drop the trajectory with a gate"
    )


def number(labels: Sequence[Hashable]) -> np.ndarray:
    """Labels to cell numbers [R], 0, 1, 2... in order of first appearance."""
    seen: dict[Hashable, int] = {}
    return np.fromiter((seen.setdefault(label, len(seen)) for label in labels), np.int64, count=len(labels))


def key_rows(rows: Rows, keys: Sequence[Key]) -> Rows:
    """Put rows into the same cell when all `keys` agree; without keys there is one cell."""
    columns = [key.labels(rows) for key in keys]
    if not columns:
        return replace(rows, cell=np.zeros(len(rows), np.int64))
    labels = list(columns[0]) if len(columns) == 1 else list(zip(*columns, strict=True))
    return replace(rows, cell=number(labels))


def centred(statistic: Callable[[Rows], np.ndarray], *, apart: bool = False) -> Transform[Rows]:
    """A baseline from a function of the rows; `apart` says that it looks at each cell by itself."""
    return stateless(lambda rows: replace(rows, centre=statistic(rows)), apart=apart)


def scaled(statistic: Callable[[Rows], np.ndarray], *, apart: bool = False) -> Transform[Rows]:
    """A scale from a function of the rows; see `centred`."""
    return stateless(lambda rows: replace(rows, scale=statistic(rows)), apart=apart)


def sampled(node: Node) -> bool:
    """Whether the policy drew the tokens of `node`."""
    return node.kind is Kind.sampled


def write_nodes(trajectory: Trajectory, values: dict[int, float], name: str = "advantage") -> Trajectory:
    """The trajectory with the stream `name` at `values[i]` on the sampled tokens of node i and 0 everywhere else."""
    rows = []
    for i, node in enumerate(trajectory.nodes):
        value = values.get(i, 0.0)
        if value == 0.0 or not sampled(node):
            rows.append((0.0,) * len(node.tokens))
        elif all(node.mask):
            rows.append((value,) * len(node.tokens))
        else:
            rows.append(tuple(value if m else 0.0 for m in node.mask))
    return trajectory.with_stream(name, tuple(rows))
