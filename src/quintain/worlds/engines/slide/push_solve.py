"""The oracle of crate boards: best-first search over pushes, with proofs that a position is lost."""

from __future__ import annotations

import functools
import heapq
import itertools
from dataclasses import dataclass
from typing import NamedTuple

from quintain.worlds.engines.slide.push_board import LETTERS, TARGET, WALL, bits, reach, waves, way_back

SHORTEST_NODES = 2_000  # expansions spent on the shortest plan
ANY_NODES = 20_000  # expansions spent on any plan, or on the proof that there is none
HASTE = 4  # weight of the estimate while any plan will do


@dataclass(frozen=True)
class Ground:
    """Tables of the fixed cells.

    `rows[c]` lists (target as a bit, pushes) of each target that a lone box on c could reach if the player could be
    anywhere; `hope[c]` are the cells from which the player can bring a lone box on c to some target; `alive` are the
    cells with hope.
    """

    width: int
    floor: int
    targets: int
    alive: int
    rows: tuple[tuple[tuple[int, int], ...], ...]
    hope: tuple[int, ...]


class Search(NamedTuple):
    """What a search found: the plan as letters or None, the nodes expanded, and whether it ended before its limit."""

    plan: str | None
    nodes: int
    complete: bool


@functools.lru_cache(maxsize=1024)
def ground(width: int, cells: str) -> Ground:
    """The tables of a board."""
    floor = sum(1 << c for c, sign in enumerate(cells) if sign != WALL)
    rows: list[list[tuple[int, int]]] = [[] for _ in cells]
    targets = [c for c, sign in enumerate(cells) if sign == TARGET]
    for i, target in enumerate(targets):
        wave, rest, pushes = 1 << target, floor, 0
        while wave:
            rest &= ~wave
            for cell in bits(wave):
                rows[cell].append((1 << i, pushes))
            back = 0
            for step in (1, width):
                back |= wave >> step & floor & floor << step  # pushed forward from there, the player behind
                back |= wave << step & floor & floor >> step
            wave = back & rest
            pushes += 1
    hope = _hope(width, floor, targets)
    alive = sum(1 << c for c, players in enumerate(hope) if players)
    return Ground(width, floor, sum(1 << c for c in targets), alive, tuple(map(tuple, rows)), hope)


def _hope(width: int, floor: int, targets: list[int]) -> tuple[int, ...]:
    """For each cell of a lone box, the cells of a player who can bring it to a target: by pulls back from the targets."""
    hope = [0] * (floor.bit_length() + width)
    waiting = [(cell, floor & ~(1 << cell)) for cell in targets]
    for cell, area in waiting:
        hope[cell] = area
    while waiting:
        cell, area = waiting.pop()
        for step in (-width, width, -1, 1):
            behind, before = cell - step, cell - 2 * step
            if area >> behind & 1 and floor >> before & 1 and not hope[behind] >> before & 1:
                zone = reach(1 << before, floor & ~(1 << behind), width)
                hope[behind] |= zone
                waiting.append((behind, zone))
    return tuple(hope)


def pushes_left(on: Ground, boxes: int) -> int:
    """The fewest pushes that bring every box to a target of its own, as if each were alone; -1 if that cannot be.

    Example:
        >>> pushes_left(ground(5, "#####" "#..T#" "#####"), 1 << 7)
        1
    """
    costs = {0: 0}
    for cell in bits(boxes):
        after: dict[int, int] = {}
        for used, cost in costs.items():
            for target, pushes in on.rows[cell]:
                if not used & target:
                    key, total = used | target, cost + pushes
                    if total < after.get(key, 1 << 30):
                        after[key] = total
        costs = after
    return min(costs.values(), default=-1)


def frozen(on: Ground, boxes: int) -> int:
    """The boxes that no sequence of pushes to living cells can ever move.

    All boxes are taken as stuck at first; those that could be pushed if the stuck ones were walls are set free, until
    there are none.
    """
    width, open_cells = on.width, on.floor
    stuck = boxes
    while stuck:
        space = open_cells & ~stuck
        good = space & on.alive
        across = space << 1 & space >> 1 & (good << 1 | good >> 1)
        along = space << width & space >> width & (good << width | good >> width)
        free = stuck & (across | along)
        if not free:
            break
        stuck ^= free
    return stuck


def lost(on: Ground, player: int, boxes: int) -> str:
    """Why these boxes can never all be on targets, or the empty text if no such reason is seen."""
    if not all(on.hope[box] >> player & 1 for box in bits(boxes)):
        return "a box is where it can never be brought to a target"
    if frozen(on, boxes) & ~on.targets:
        return "boxes off the targets block one another for good"
    return "" if pushes_left(on, boxes) >= 0 else "two boxes can only reach the same target"


def search(on: Ground, player: int, boxes: int, limit: int, haste: int = 1) -> Search:
    """Best-first search over pushes, each with the walk to it; f = moves so far + `haste` x pushes still needed.

    With `haste` = 1 the plan is the shortest in moves: the estimate never exceeds the moves left, and positions are
    told apart by the player's cell. With more, positions that differ only by a walk are one, and any plan will do.
    """
    width, floor = on.width, on.floor
    made: list[tuple[int, int, int, int]] = [(-1, player, boxes, 0)]  # parent, player, boxes, moves so far
    heap = [(0, 0, 0)]
    best = {(player, boxes): 0}
    closed: set[tuple[int, int]] = set()
    estimates: dict[int, int] = {}
    nodes = 0
    while heap:
        index = heapq.heappop(heap)[2]
        _, player, boxes, spent = made[index]
        if boxes == on.targets:
            return Search(_letters(made, index, floor, width), nodes, True)
        walk = waves(1 << player, floor ^ boxes, width)
        area = sum(walk)
        key = (boxes, player if haste == 1 else area & -area)
        if key in closed:
            continue
        closed.add(key)
        if nodes >= limit:
            return Search(None, nodes, False)
        nodes += 1
        for box, step in _pushes(on, boxes, area):
            if not on.hope[box + step] >> box & 1:
                continue
            behind, after = box - step, boxes ^ 1 << box ^ 1 << box + step
            steps = next(i for i, wave in enumerate(walk) if wave >> behind & 1)
            total = spent + steps + 1
            if best.get((box, after), 1 << 30) <= total:
                continue
            if after not in estimates:
                estimates[after] = -1 if frozen(on, after) & ~on.targets else pushes_left(on, after)
            left = estimates[after]
            if left >= 0:
                best[box, after] = total
                made.append((index, box, after, total))
                heapq.heappush(heap, (total + haste * left, left, len(made) - 1))
    return Search(None, nodes, True)


def _pushes(on: Ground, boxes: int, area: int) -> list[tuple[int, int]]:
    """(box, step) of each push to a living free cell that a player somewhere in `area` can make."""
    open_cells, out = on.alive & ~boxes, []
    for step in (1, on.width):
        out += [(box, step) for box in bits(boxes & area << step & open_cells >> step)]
        out += [(box, -step) for box in bits(boxes & area >> step & open_cells << step)]
    return out


def _letters(made: list[tuple[int, int, int, int]], index: int, floor: int, width: int) -> str:
    """The moves to a node of a search: walks in small letters, pushes in capitals."""
    letter = dict(zip((-width, width, -1, 1), LETTERS, strict=True))
    pieces = []
    while made[index][0] >= 0:
        parent, player, after, _ = made[index]
        _, start, boxes, _ = made[parent]
        step = (after & ~boxes).bit_length() - 1 - player
        path = way_back(waves(1 << start, floor ^ boxes, width), player - step, width)
        walk = "".join(letter[a - b] for a, b in itertools.pairwise(path))
        pieces.append(walk[::-1] + letter[step].upper())
        index = parent
    return "".join(reversed(pieces))
