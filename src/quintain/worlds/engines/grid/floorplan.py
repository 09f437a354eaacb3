"""Boards divided into rooms, and ways over them: gaps, chains of doors, portals, belts and lava."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quintain.worlds.engines.grid.board import FLOOR, GOAL, WALL, Board, open_steps
from quintain.worlds.engines.grid.maps import ARROWS
from quintain.worlds.engines.grid.ways import LAVA, PORTALS, Way, circles, distances
from quintain.worlds.noise import Rng
from quintain.worlds.splits import symmetries

Knobs = Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """A square board in rows of rooms: its cells, the floor of each room, and between two rooms the cells where a gate may be."""

    cells: list[str]
    rooms: list[list[int]]
    gates: dict[tuple[int, int], list[int]]


def divided(rng: Rng, side: int, across: int, down: int) -> Plan | None:
    """Rooms of at least two cells by two, with walls between and none around; None if the draw failed."""
    spans = []
    for count in (across, down):
        lines = sorted(rng.sample(range(2, side - 2), count - 1))
        if any(b - a < 3 for a, b in itertools.pairwise(lines)):
            return None
        spans.append([range(a + 1, b) for a, b in zip([-1, *lines], [*lines, side], strict=True)])
    cells = [WALL] * (side * side)
    rooms = [[y * side + x for y in ys for x in xs] for ys in spans[1] for xs in spans[0]]
    for cell in itertools.chain(*rooms):
        cells[cell] = FLOOR
    gates: dict[tuple[int, int], list[int]] = {}
    for i, room in enumerate(rooms):
        right, below = max(c % side for c in room) + 1, max(c // side for c in room) + 1
        if right < side:
            gates[i, i + 1] = sorted({c // side * side + right for c in room})
        if below < side:
            gates[i, i + across] = sorted({below * side + c % side for c in room})
    return Plan(cells, rooms, gates)


def begun(rng: Rng, board: Board, knobs: Knobs, among: list[int]) -> Way | None:
    """A walker on one of the cells `among` whose way to the goal takes `low`..`high` turns; the budget is half as much again."""
    left = distances(board, 0)
    fits = [c for c in among if knobs["low"] <= left[c] <= knobs["high"] and board.cells[c] == FLOOR]
    if not fits:
        return None
    at = rng.pick(fits)
    budget = left[at] * 3 // 2 + 1
    return Way(Board(board.width, board.height, board.cells, doors=board.doors, budget=budget), at)


def four_rooms(rng: Rng, knobs: Knobs) -> Way | None:
    """Four rooms in a ring, a gap in each wall between two; the goal is in another room than the walker."""
    side = knobs["size"]
    plan = divided(rng, side, 2, 2)
    if plan is None:
        return None
    cells = plan.cells
    for gate in plan.gates.values():
        cells[rng.pick(gate)] = FLOOR
    for cell in rng.sample([c for room in plan.rooms for c in room], knobs["walls"]):
        cells[cell] = WALL
    home = rng.pick(plan.rooms)
    cells[rng.pick(home)] = GOAL
    others = [c for room in plan.rooms if room is not home for c in room]
    return begun(rng, Board(side, side, "".join(cells)), knobs, others)


def lava_gap(rng: Rng, knobs: Knobs) -> Way | None:
    """Strips of lava from side to side, one gap in each, and single cells of lava; the goal lies beyond all strips."""
    side, strips = knobs["size"], knobs["strips"]
    lines = sorted(rng.sample(range(1, side - 1), strips))
    if any(b - a < 2 for a, b in itertools.pairwise(lines)):
        return None
    turn = rng.pick(symmetries(side, side))
    cells = [FLOOR] * (side * side)
    for x in lines:
        gap = rng.below(side)
        for y in range(side):
            cells[turn[y * side + x]] = FLOOR if y == gap else LAVA
    near = [turn[y * side + x] for x in range(lines[0]) for y in range(side)]
    beyond = [turn[y * side + x] for x in range(lines[-1] + 1, side) for y in range(side)]
    for cell in rng.sample([c for c, sign in enumerate(cells) if sign == FLOOR], knobs["spots"]):
        cells[cell] = LAVA
    cells[rng.pick(beyond)] = GOAL
    return begun(rng, Board(side, side, "".join(cells)), knobs, near)


def multi_room(rng: Rng, knobs: Knobs) -> Way | None:
    """A chain of rooms that winds over the board, a shut door between each two; where no room is, there is rock."""
    side, across = knobs["size"], knobs["across"]
    plan = divided(rng, side, across, across)
    chain = [rng.below(across * across)]
    while plan is not None and len(chain) < knobs["rooms"]:
        beside = [b if a == chain[-1] else a for a, b in plan.gates if chain[-1] in (a, b)]
        ways = [room for room in beside if room not in chain]
        if not ways:
            return None
        chain.append(rng.pick(ways))
    if plan is None:
        return None
    cells = [WALL] * (side * side)
    for room in chain:
        for cell in plan.rooms[room]:
            cells[cell] = FLOOR
    doors = [rng.pick(plan.gates[min(pair), max(pair)]) for pair in itertools.pairwise(chain)]
    for door in doors:
        cells[door] = FLOOR
    cells[rng.pick(plan.rooms[chain[-1]])] = GOAL
    board = Board(side, side, "".join(cells), doors=tuple(sorted(doors)))
    return begun(rng, board, knobs, plan.rooms[chain[0]])


def teleport_hall(rng: Rng, knobs: Knobs) -> Way | None:
    """Rooms without doors, joined by pairs of portals: a tree of them, and `extra` pairs more."""
    side = knobs["size"]
    plan = divided(rng, side, knobs["across"], knobs["down"])
    if plan is None:
        return None
    order = list(range(len(plan.rooms)))
    rng.shuffle(order)
    joins = [(room, order[rng.below(i)]) for i, room in enumerate(order) if i]
    joins += [(rng.pick(order), rng.pick(order)) for _ in range(knobs["extra"])]
    signs = list(PORTALS[: len(joins)])
    rng.shuffle(signs)
    cells = plan.cells
    for sign, pair in zip(signs, joins, strict=True):
        for room in pair:
            free = [c for c in plan.rooms[room] if cells[c] == FLOOR]
            if not free:
                return None
            cells[rng.pick(free)] = sign
    home = plan.rooms[order[0]]
    free = [c for c in home if cells[c] == FLOOR]
    if not free:
        return None
    cells[rng.pick(free)] = GOAL
    others = [c for room in plan.rooms if room is not home for c in room]
    return begun(rng, Board(side, side, "".join(cells)), knobs, others)


def conveyor_floor(rng: Rng, knobs: Knobs) -> Way | None:
    """Straight belts of two to five cells laid one over another, and loose walls; no belt carries round and round."""
    side = knobs["size"]
    cells = [FLOOR] * (side * side)
    for _ in range(knobs["belts"]):
        way, cell = rng.below(4), rng.below(side * side)
        for _ in range(2 + rng.below(4)):
            if cell >= 0:
                cells[cell] = ARROWS[way]
                cell = open_steps(side, side)[way][cell]
    for cell in rng.sample(range(side * side), knobs["walls"]):
        cells[cell] = WALL
    free = [c for c, sign in enumerate(cells) if sign == FLOOR]
    if not free:
        return None
    cells[rng.pick(free)] = GOAL
    board = Board(side, side, "".join(cells))
    return None if circles(board) else begun(rng, board, knobs, free)
