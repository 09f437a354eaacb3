"""Boards for walkers: rooms behind doors, open rooms, mazes and lakes, each with a way to the goal."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from quintain.worlds.engines.grid.board import FLOOR, GOAL, HOLE, LYING, WALL, Board, Walk, neighbours
from quintain.worlds.kernel import GenerationError
from quintain.worlds.noise import Noise, Rng, at_most
from quintain.worlds.splits import symmetries

Knobs = Mapping[str, Any]
TRIES = 400


def rooms(rng: Rng, knobs: Knobs) -> Walk | None:
    """Strips of rooms, a locked door between each two, every key on the near side of its door.

    The length of the shortest plan is drawn evenly from `low`..`high`, give or take `slack`. All but a share `straight`
    of the boards ask for a detour: the shortest plan is longer than the straight ways from thing to thing. The others
    have any length up to `high`.
    """
    wanted = knobs["low"] + rng.below(knobs["high"] - knobs["low"] + 1)
    straight = rng.uniform() < knobs["straight"]
    if straight and not _detours(tuple(knobs.items())):
        raise GenerationError(
            f"no board of side {knobs['size']} was found that takes {knobs['low']} moves; lower `low`"
        )
    for _ in range(TRIES):
        built = _strips(rng, knobs)
        if built is None:
            continue
        board, near, stops = built
        lying = (LYING,) * len(board.keys)
        left = board.routes[lying]
        if straight:
            fits = [c for c in near if left[c] == _crow(board.width, c, stops) <= knobs["high"]]
        else:
            fits = [c for c in near if left[c] > 0 and abs(left[c] - wanted) <= knobs["slack"]]
            fits = [c for c in fits if left[c] > _crow(board.width, c, stops)]
        if fits:
            return Walk(board, rng.pick(fits), lying)
    return None


@functools.lru_cache(maxsize=256)
def _detours(knobs: tuple[tuple[str, Any], ...]) -> bool:
    """Whether boards with these knobs ask for detours of `low` moves: else those without one, which may be short, would be all."""
    wanted = dict(knobs)
    least = wanted["low"] - wanted["slack"]
    with at_most(TRIES * wanted["size"] ** 2 * 9):  # of its own: what is remembered takes nothing from those who ask
        rng = Rng("detours", *knobs)
        built = (_strips(rng, wanted) for _ in range(TRIES))
        routes = (
            (board.routes[(LYING,) * len(board.keys)], board.width, *rest) for board, *rest in filter(None, built)
        )
        return any(_crow(width, c, stops) < left[c] >= least for left, width, near, stops in routes for c in near)


def _strips(rng: Rng, knobs: Knobs) -> tuple[Board, list[int], list[int]] | None:
    """A board, the floor of its first room, and the cells to visit in order (keys, goal); None if the draw failed."""
    side, doors = knobs["size"], knobs["doors"]
    edge = 2 if side > 4 else 1
    lines = sorted(rng.sample(range(edge, side - edge), doors))
    if any(b - a < 3 for a, b in itertools.pairwise(lines)):
        return None
    turn = rng.pick(symmetries(side, side))
    place = [0] * len(turn)
    for new, old in enumerate(turn):
        place[old] = new
    cells = [FLOOR] * (side * side)
    gates = [rng.below(side) * side + x for x in lines]
    for x in lines:
        for y in range(side):
            cells[place[y * side + x]] = WALL
    for gate in gates:
        cells[place[gate]] = FLOOR
    spans = [range(a + 1, b) for a, b in zip([-1, *lines], [*lines, side], strict=True)]
    free = [[y * side + x for x in span for y in range(side)] for span in spans]
    for cell in rng.sample([c for room in free for c in room], knobs["walls"]):
        cells[place[cell]] = WALL
    free = [[c for c in room if cells[place[c]] == FLOOR] for room in free]
    taken: set[int] = set()
    keys = []
    for i in range(doors):
        choice = [c for room in free[: i + 1] for c in room if c not in taken]
        if not choice:
            return None
        keys.append(rng.pick(choice))
        taken.add(keys[-1])
    if not free[-1]:
        return None
    goal = place[rng.pick(free[-1])]
    if not _joined(cells, side, goal, [place[c] for c in (*keys, *gates)]):
        return None
    cells[goal] = GOAL
    names = list(range(doors))  # which key opens which door does not tell the order in which they are needed
    rng.shuffle(names)
    board = Board(
        side,
        side,
        "".join(cells),
        tuple(place[keys[i]] for i in names),
        tuple(place[gates[i]] for i in names),
        budget=knobs["turns"],
    )
    near = [place[c] for c in free[0] if c not in taken]
    return board, near, [*(place[k] for k in keys), goal]


def _joined(cells: Sequence[str], side: int, start: int, others: Sequence[int]) -> bool:
    """Whether floor joins `start` to all `others`."""
    near = neighbours(side, side)
    seen, waiting = {start}, [start]
    while waiting:
        for to in near[waiting.pop()]:
            if to not in seen and cells[to] != WALL:
                seen.add(to)
                waiting.append(to)
    return seen.issuperset(others)


def _crow(width: int, start: int, stops: Sequence[int]) -> int:
    """Steps of the straight ways from `start` over `stops`, as if nothing stood between."""
    total, at = 0, start
    for stop in stops:
        total += abs(stop // width - at // width) + abs(stop % width - at % width)
        at = stop
    return total


def empty_room(rng: Rng, knobs: Knobs) -> Walk | None:
    """An open room; the goal is at least half a side away."""
    side = knobs["size"]
    at, goal = rng.sample(range(side * side), 2)
    far = _crow(side, at, [goal])
    if far < side // 2:
        return None
    cells = [FLOOR] * (side * side)
    cells[goal] = GOAL
    return Walk(Board(side, side, "".join(cells), budget=far * 5 // 4 + 1), at)


def maze(rng: Rng, knobs: Knobs) -> Walk | None:
    """A maze carved by a random depth-first walk over the cells with even row and column, then opened at `loops` walls.

    The walker starts where the way to the goal is among the longest third.
    """
    side = knobs["size"]
    if not side % 2:
        raise GenerationError(f"a maze of side {side}; sides must be odd")
    cells, hops = [WALL] * (side * side), _hops(side)
    at = 2 * rng.below(side // 2 + 1) * side + 2 * rng.below(side // 2 + 1)
    cells[at] = FLOOR
    trail = [at]
    while trail:
        at = trail[-1]
        ways = [way for way in hops[at] if cells[way[1]] == WALL]
        if not ways:
            trail.pop()
            continue
        between, at = rng.pick(ways)
        cells[between] = cells[at] = FLOOR
        trail.append(at)
    walls = [c for c in range(side * side) if cells[c] == WALL and (c // side + c % side) % 2]
    for cell in rng.sample(walls, min(knobs["loops"], len(walls))):
        cells[cell] = FLOOR
    floor = [c for c in range(side * side) if cells[c] == FLOOR]
    cells[rng.pick(floor)] = GOAL
    board = Board(side, side, "".join(cells))
    left = board.routes[()]
    far = sorted((left[c], c) for c in floor if left[c] > 0)
    steps, start = rng.pick(far[-max(len(far) // 3, 1) :])
    return Walk(Board(side, side, "".join(cells), budget=steps * 3 // 2), start)


@functools.lru_cache(maxsize=32)
def _hops(side: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    """For each cell the one beside it and the one beyond that, up, down, left and right."""
    out = []
    for cell in range(side * side):
        y, x = divmod(cell, side)
        inside = ((y > 1, -side), (y < side - 2, side), (x > 1, -1), (x < side - 2, 1))
        out.append(tuple([(cell + step, cell + 2 * step) for ok, step in inside if ok]))
    return tuple(out)


def lake(rng: Rng, knobs: Knobs) -> Walk | None:
    """Ice with `holes` holes; kept if the best walker gets over with a chance of at least `chance`."""
    side = knobs["size"]
    at, goal, *holes = rng.sample(range(side * side), 2 + knobs["holes"])
    if _crow(side, at, [goal]) < side - 1:
        return None
    cells = [FLOOR] * (side * side)
    cells[goal] = GOAL
    for hole in holes:
        cells[hole] = HOLE
    budget = 4 * side
    board = Board(side, side, "".join(cells), slip=knobs["slip"], budget=budget)
    if not knobs["slip"]:
        return Walk(board, at) if board.routes[()][at] > 0 else None
    if board.odds[budget][at] < knobs["chance"]:
        return None
    return Walk(board, at, (), Noise(int(rng.uniform() * 2**53)))
