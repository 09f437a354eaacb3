"""Several objectives at once: scalarisers, fronts and what measures them. Everything is maximised.

Dims: P points of K objectives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from quintain.parts import Reward
from quintain.registry import register, unknown
from quintain.rewards.env import RewardError, Wanted, checked, rewarded
from quintain.types import Group, Trajectory

Point = Sequence[float]
Points = Sequence[Point]


def linear(point: Point, weights: Point, ideal: Point = ()) -> float:
    """`sum_k w_k f_k`.

    Example:
        >>> linear([1.0, 2.0], [0.5, 0.5])
        1.5
    """
    return sum(w * f for w, f in zip(weights, point, strict=True))


def tchebycheff(point: Point, weights: Point, ideal: Point) -> float:
    """`-max_k w_k (ideal_k - f_k)`: reaches points in dents of the front, which no linear weights do.

    Example:
        >>> tchebycheff([1.0, 2.0], [0.5, 0.5], [3.0, 2.0])
        -1.0
    """
    return -max((w * (u - f) for w, u, f in zip(weights, ideal, point, strict=True)), default=0.0)


SCALARISERS: dict[str, Callable[[Point, Point, Point], float]] = {"linear": linear, "tchebycheff": tchebycheff}


def utopia(points: Points) -> list[float]:
    """The best value of each objective."""
    return [max(column) for column in zip(*points, strict=True)]


def best(points: Points, weights: Point, form: str = "linear") -> int:
    """The index of the point that a scalariser prefers; of equal ones the first.

    Raises:
        RewardError: an unknown form, or no point.

    Example:
        >>> best([[0.0, 3.0], [2.0, 2.0], [3.0, 0.0]], [0.5, 0.5], "tchebycheff")
        1
    """
    if form not in SCALARISERS:
        raise RewardError(unknown("scalariser", form, SCALARISERS))
    if not points:
        raise RewardError("best: there is no point to choose from")
    ideal = utopia(points)
    return max(range(len(points)), key=lambda i: SCALARISERS[form](points[i], weights, ideal))


def front(points: Points) -> list[int]:
    """The indices of the points that no other dominates; equal points all stay.

    Example:
        >>> front([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]])
        [0, 1]
    """

    def beats(a: Point, b: Point) -> bool:
        return all(x >= y for x, y in zip(a, b, strict=True)) and any(x > y for x, y in zip(a, b, strict=True))

    return [i for i, p in enumerate(points) if not any(beats(q, p) for q in points)]


def hypervolume(points: Points, reference: Point) -> float:
    """The volume between the points and a reference that is worse than all; points that are not better add nothing.

    Example:
        >>> hypervolume([[1.0, 2.0], [2.0, 1.0]], [0.0, 0.0])
        3.0
    """
    above = [p for p in points if all(x > r for x, r in zip(p, reference, strict=True))]
    if not above or not reference:
        return 0.0
    if len(reference) == 1:
        return max(p[0] for p in above) - reference[0]
    levels = sorted({p[-1] for p in above} | {reference[-1]})
    slabs = ((low, high, [p[:-1] for p in above if p[-1] >= high]) for low, high in pairwise(levels))
    return sum((high - low) * hypervolume(inner, reference[:-1]) for low, high, inner in slabs)


def crowding(points: Points) -> list[float]:
    """How much room each point of a front has: the gap between its neighbours, over the range, summed over objectives.

    Special cases: the ends of any objective are infinite; an objective in which all are equal counts for nothing more.

    Example:
        >>> crowding([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]])
        [inf, 2.0, inf]
    """
    room = [0.0] * len(points)
    for values in zip(*points, strict=True):
        order = sorted(range(len(points)), key=lambda i: values[i])
        room[order[0]] = room[order[-1]] = math.inf
        width = values[order[-1]] - values[order[0]]
        for before, i, after in zip(order, order[1:], order[2:], strict=False):
            room[i] += (values[after] - values[before]) / width if width > 0 else 0.0
    return room


def sparsity(points: Points) -> float:
    """The mean squared gap between neighbours, `sum_k sum_i (f_(i+1)k - f_ik)^2 / (P - 1)`; 0 for one point.

    Example:
        >>> sparsity([[0.0, 2.0], [2.0, 0.0]])
        8.0
    """
    columns = [sorted(column) for column in zip(*points, strict=True)]
    gaps = sum((b - a) ** 2 for column in columns for a, b in pairwise(column))
    return gaps / (len(points) - 1) if len(points) > 1 else 0.0


def barrier(point: Point, before: Point, target: int, keep: float = 0.9, sharp: float = 20.0) -> float:
    """C-MORL's step: one objective, with log barriers that keep the others at `keep` of what they were.

    Maths: `G_l + 1/sharp sum_(j != l) log(G_j - keep G_j(before))`; -inf where a bound is broken.

    Example:
        >>> barrier([2.0, 1.9], [1.0, 1.0], target=0)
        2.0
    """
    slack = [g - keep * old for j, (g, old) in enumerate(zip(point, before, strict=True)) if j != target]
    return point[target] + sum(math.log(s) if s > 0 else -math.inf for s in slack) / sharp


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """The policies that no other dominates, by what they reach: `points` [P][K] and any `items` beside them.

    When to use: several runs of one model with different weights (MORL/D, C-MORL); an item may be a path of weights.

    Example:
        >>> archive = Archive().add([1.0, 2.0], "a").add([2.0, 1.0], "b").add([1.0, 1.0], "c")
        >>> archive.items, archive.hypervolume([0.0, 0.0]), archive.loneliest(1)
        (('a', 'b'), 3.0, ['a'])
    """

    points: tuple[tuple[float, ...], ...] = ()
    items: tuple[Any, ...] = ()

    def add(self, point: Point, item: Any = None) -> Archive:
        """The archive with one more, without what is dominated now.

        Raises:
            RewardError: the point is not finite, or of another number of objectives than the others.
        """
        widths = {len(p) for p in self.points} | {len(point)}
        if len(widths) > 1 or not all(map(math.isfinite, point)):
            raise RewardError(
                f"archive: point {list(point)}; it must be finite and have {sorted(widths)[0]} objectives"
            )
        points, items = (*self.points, tuple(map(float, point))), (*self.items, item)
        kept = front(points)
        return Archive(points=tuple(points[i] for i in kept), items=tuple(items[i] for i in kept))

    def hypervolume(self, reference: Point) -> float:
        """The volume between the front and `reference`."""
        return hypervolume(self.points, reference)

    def loneliest(self, count: int) -> list[Any]:
        """The items with the most room around them: where C-MORL goes on."""
        room = crowding(self.points)
        return [self.items[i] for i in sorted(range(len(room)), key=lambda i: -room[i])[:count]]


@register(
    "reward",
    "scalarise",
    methods={
        "MORL/D": {
            "wants": "a world with several named rewards",
            "paper": "2311.12495",
            "cases": ("morl_front",),
            "shown": "tests/unit/rewards/test_fronts.py::test_objectives_become_one_reward_and_stay_in_a_tag",
        },
        "C-MORL": {
            "wants": "a world with several named rewards",
            "paper": "2410.02236",
            "confidence": "note",
            "cases": ("morl_front", "cmorl_barrier"),
            "shown": "tests/unit/rewards/test_fronts.py::test_an_archive_forgets_what_is_dominated_and_refuses_what_does_not_fit",
        },
    },
    status="paper",
    confidence="paper",
    example={"weights": {"score": 1.0}},
)
def scalarise(
    weights: Mapping[str, float] | None = None,
    form: str = "linear",
    ideal: Mapping[str, float] | None = None,
    column: str = "weights",
    label: str = "objective",
) -> Reward:
    """Make one reward of several objectives: a weighted sum, or the worst shortfall from an ideal.

    When to use: objectives in conflict; with weights in the tasks (and their prompts) one policy learns the whole front.

    Maths: `sum_k w_k r_k`, or `-max_k w_k (ideal_k - r_k)`.

    Args:
        weights: of the named rewards; without them each task holds a mapping of its own in its column `column`.
        form: `linear` or `tchebycheff`.
        ideal: the best value of each named reward, for `tchebycheff`; 1 where none is given.
        column: where a task holds its weights.
        label: name of the one reward.

    Raises:
        RewardError: an unknown form; or (when scoring) no weights.
        BadReward: (when scoring) a reward is not finite.

    Special cases: the objectives leave the rewards and stand in the tag `objectives`, beside their `weights`, from which
    `quintain eval` and the report draw the front; other rewards stay; one that a trajectory lacks counts 0, and is warned of
    where all so far lack it but have others. Turn rewards are dropped: what is scalarised is the whole episode.

    Example:
        >>> linear([1.0, 0.0], [0.7, 0.3]), tchebycheff([1.0, 0.0], [0.7, 0.3], [1.0, 1.0])
        (0.7, -0.3)
    """
    if form not in SCALARISERS:
        raise RewardError(unknown("form of scalarise", form, SCALARISERS))

    wanted = Wanted("scalarise")

    def one(group: Group, t: Trajectory, given: Mapping[str, float]) -> Trajectory:
        point = {n: checked(t.rewards.get(n, 0.0), n, group, t) for n in given}
        top = [(ideal or {}).get(n, 1.0) for n in given]
        value = SCALARISERS[form](list(point.values()), list(given.values()), top)
        rest = {n: v for n, v in t.rewards.items() if n not in point}
        told = {"objectives": point, "weights": {n: float(w) for n, w in given.items()}}
        bare = replace(t, rewards=rest, turn_rewards=(), tags={**t.tags, **told})
        return rewarded(group, bare, {label: value})

    async def score(group: Group) -> Group:
        given = weights if weights is not None else group.task.params.get(column)
        if not isinstance(given, Mapping) or not given:
            raise RewardError(f"scalarise: task {group.task.key} has no mapping {column!r} of weights; give `weights`")
        wanted.see(group, given)
        return replace(group, trajectories=tuple(one(group, t, given) for t in group.trajectories))

    return score
