"""Houses for errands: rooms joined by doors in the form of a tree, things in the rooms, and tasks that can be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from quintain.worlds.engines.grid.board import FLOOR, Board
from quintain.worlds.engines.grid.floorplan import divided
from quintain.worlds.engines.grid.mission import (
    DOOR,
    FETCH,
    GO,
    KEY,
    LOCKED,
    OPEN,
    PUT,
    SHUT,
    Errand,
    House,
    Task,
    met,
)
from quintain.worlds.engines.grid.mission_plan import plan
from quintain.worlds.engines.raycast.things import COLOURS
from quintain.worlds.kernel import GenerationError, Plan
from quintain.worlds.noise import Rng
from quintain.worlds.splits import Draft


def errands(rng: Rng, knobs: Mapping[str, Any]) -> Draft[Errand] | None:
    """A house whose tasks take `low`..`high` moves of the plan; the budget is half as much again, and four."""
    side = knobs["size"]
    if not knobs["tasks"]:
        raise GenerationError("a mission has a task at least")
    drawn = divided(rng, side, knobs["across"], knobs["down"])
    if drawn is None:
        return None
    joins = _tree(rng, len(drawn.rooms), list(drawn.gates))
    colours = sorted(rng.sample(range(len(COLOURS)), len(joins)))
    doors = tuple(rng.pick(drawn.gates[pair]) for pair in joins)
    for door in doors:
        drawn.cells[door] = FLOOR
    locked = sorted(rng.sample(range(len(joins)), min(knobs["locked"], len(joins))))
    things = sorted([*rng.sample(range(KEY), knobs["things"]), *(KEY + colours[i] for i in locked)])
    home = rng.below(len(drawn.rooms))
    at = rng.pick(drawn.rooms[home])
    free = [c for room in drawn.rooms for c in room if c != at]
    places = tuple(rng.sample(free, len(things)))
    tasks = _tasks(rng, knobs, things, colours)
    if tasks is None:
        return None
    status = tuple(LOCKED if i in locked else SHUT for i in range(len(joins)))
    board = Board(side, side, "".join(drawn.cells), doors=doors)
    state = Errand(House(board, tuple(things), tuple(colours), tasks), at, places, status)
    first = tasks[0][1]
    if len(drawn.rooms) > 1 and first < DOOR and state.place(first) in drawn.rooms[home]:
        return None
    if any(met(state, task) for task in tasks):
        return None
    if not knobs["verbs"]:
        parts = _parts(len(drawn.rooms), [pair for i, pair in enumerate(joins) if i not in locked])
        if any(parts[home] == parts[i] and state.place(first) in room for i, room in enumerate(drawn.rooms)):
            return None  # no key is needed
    return Draft(state, lambda: _planned(state, knobs))


def _planned(state: Errand, knobs: Mapping[str, Any]) -> Errand | None:
    answer, house = plan(state), state.house
    if not isinstance(answer, Plan) or not knobs["low"] <= len(answer.moves) <= knobs["high"]:
        return None
    board = replace(house.board, budget=len(answer.moves) * 3 // 2 + 4)
    return replace(state, house=replace(house, board=board))


def _tree(rng: Rng, rooms: int, gates: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Gates that join all rooms without a ring."""
    rng.shuffle(gates)
    out: list[tuple[int, int]] = []
    for a, b in gates:
        group = _parts(rooms, out)
        if group[a] != group[b]:
            out.append((a, b))
    return out


def _parts(rooms: int, joins: Sequence[tuple[int, int]]) -> list[int]:
    """A number for each room, the same for those that the joins connect."""
    group = list(range(rooms))
    for a, b in joins:
        group = [group[b] if g == group[a] else g for g in group]
    return group


def _tasks(
    rng: Rng, knobs: Mapping[str, Any], things: Sequence[int], colours: Sequence[int]
) -> tuple[Task, ...] | None:
    """Tasks of the kinds in `verbs`, each about another thing; keys are not asked for."""
    kinds = [k for k in things if k < KEY]
    rng.shuffle(kinds)
    doors = [DOOR + c for c in colours]
    rng.shuffle(doors)
    out: list[Task] = []
    for _ in range(knobs["tasks"]):
        what = rng.pick([GO, FETCH, OPEN, PUT][: knobs["verbs"]]) if knobs["verbs"] else FETCH
        if (what == OPEN and not doors) or (what != OPEN and len(kinds) < (2 if what == PUT else 1)):
            return None
        one = doors.pop() if what == OPEN else kinds.pop()
        out.append((what, one, kinds.pop() if what == PUT else -1))
    return tuple(out)
