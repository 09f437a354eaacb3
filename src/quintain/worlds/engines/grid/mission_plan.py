"""Plans for errands: shortest ways between what has to be touched, keys first where a locked door bars the way."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping

from quintain.worlds.cells import bits_of
from quintain.worlds.engines.grid.board import FLOOR, Board, neighbours
from quintain.worlds.engines.grid.maps import steps
from quintain.worlds.engines.grid.mission import (
    CHOICES,
    DOOR,
    FETCH,
    GO,
    HELD,
    KEY,
    LOCKED,
    OPEN,
    OPENED,
    Errand,
    Task,
    acted,
)
from quintain.worlds.engines.grid.waves import grown, inner, lowest
from quintain.worlds.kernel import Answer, Move, Plan, Unknown, Unsolvable

BARRED = 10_000  # cost of a locked door without its key: such ways are taken only where there is no other
LEGS, DEPTH = 60, 8


@functools.lru_cache(maxsize=2048)
def plan(state: Errand) -> Answer:
    """Task after task, each by what it takes next; a way to the end, not always the shortest."""
    moves: list[Move] = []
    seen: set[Errand] = set()
    for leg in range(LEGS):
        if state in seen:
            break  # and so round and round
        seen.add(state)
        if state.done == len(state.house.tasks):
            return Plan(tuple(moves), "solver") if moves else Unsolvable("the episode is over")
        todo = _leg(state, state.house.tasks[state.done], DEPTH)
        if todo is None:
            return Unknown(leg)
        for move in todo:
            after = acted(state, move)
            if after is None:
                return Unknown(leg)
            moves.append(move)
            fresh, state = after.done > state.done, after
            if fresh:
                break
    return Unknown(LEGS)


def _leg(state: Errand, task: Task, depth: int) -> list[Move] | None:
    """The next stretch towards a task; None if keys lie behind one another's doors."""
    what, one, two = task
    held = state.held()
    kind = state.house.things[held] if held >= 0 else -1
    if depth == 0:
        return None
    if what == OPEN:
        return _open(state, state.door(one), depth)
    if what == GO:
        if kind == one:
            return _walk(state, _free(state), depth, "drop")
        return _walk(state, [state.place(one)], depth)
    if what == FETCH:
        return _walk(state, [state.place(one)], depth, "take")
    if kind == two:
        return _walk(state, _free(state), depth, "drop")
    if kind != one:
        return _walk(state, [state.place(one)], depth, "take")
    board = state.board
    beside = [c for c in neighbours(board.width, board.height)[state.place(two)] if c not in board.doors]
    bare = [c for c in beside if c not in state.places]
    found = _walk(state, bare, depth, "drop") if bare else None
    return found or _walk(state, beside, depth, "take")  # to take what lies there lays down what is held


def _free(state: Errand) -> list[int]:
    taken = {*state.places, *state.board.doors}
    return [c for c, sign in enumerate(state.board.cells) if sign == "." and c not in taken]


def _open(state: Errand, door: int, depth: int) -> list[Move] | None:
    """To a door and into it, with its key if it is locked."""
    key = KEY + state.house.colours[door]
    if state.doors[door] == LOCKED and state.place(key) != HELD:
        return _walk(state, [state.place(key)], depth, "take")
    return _walk(state, [state.board.doors[door]], depth, arrive=False)


def _walk(state: Errand, targets: Iterable[int], depth: int, then: str = "", arrive: bool = True) -> list[Move] | None:
    """To the nearest of some cells, and then one move more; `arrive=False` ends with the step that opens the door there."""
    found = _route(state, targets)
    if found is None:
        return None
    ways, crossed = found
    held = state.held()
    for door in crossed:
        key = KEY + state.house.colours[door]
        if state.doors[door] == LOCKED and (held < 0 or state.house.things[held] != key):
            return _leg(state, (OPEN, DOOR + state.house.colours[door], -1), depth - 1)
    moves, at = [], state.at
    opened = {cell for cell, status in zip(state.board.doors, state.doors, strict=True) if status == OPENED}
    for way in ways:
        at = steps(state.board)[at][way]
        shut = at in state.board.doors and at not in opened
        moves += [CHOICES.moves[way]] * (1 + shut)
    if not arrive:
        return moves[:-1]
    return [*moves, CHOICES[then]] if then else moves


def _route(state: Errand, targets: Iterable[int]) -> tuple[list[int], list[int]] | None:
    """Directions of the cheapest way to one of the targets, and the shut doors on it in their order."""
    board, held = state.board, state.held()
    mine = state.house.things[held] - KEY if held >= 0 else -1
    cost, gates = {}, 0
    for cell, colour, status in zip(board.doors, state.house.colours, state.doors, strict=True):
        if status != OPENED:
            cost[cell] = 2 if status != LOCKED or colour == mine else BARRED
            gates |= 1 << cell
    wanted, within = sum(1 << cell for cell in {*targets} if cell >= 0), inner(board.width, board.height)
    waves, left = {0: 1 << state.at}, _floor(board) & ~(1 << state.at)  # the cells so far away, those not met yet
    for away in _counted(waves):
        wave = waves[away]
        if wave & wanted:
            return _back(state, cost, waves, (away, lowest(wave & wanted)))
        after = grown(wave, board.width, within) & left
        left ^= after
        for cell in cost if after & gates else ():
            if after >> cell & 1:
                waves[away + cost[cell]] = waves.get(away + cost[cell], 0) | 1 << cell
        if after := after & ~gates:
            waves[away + 1] = waves.get(away + 1, 0) | after
    return None


def _counted(waves: Mapping[int, int]) -> Iterator[int]:
    """The keys of a mapping that grows, from 0 on."""
    away = 0
    while True:
        yield away
        more = [key for key in waves if key > away] if away + 1 not in waves else [away + 1]
        if not more:
            return
        away = min(more)


@functools.lru_cache(maxsize=512)
def _floor(board: Board) -> int:
    return bits_of(board.cells, FLOOR)


def _back(
    state: Errand, cost: Mapping[int, int], waves: Mapping[int, int], end: tuple[int, int]
) -> tuple[list[int], list[int]]:
    """The directions that lead to a cell so far away, and the shut doors on the way; of ways as good those over first cells."""
    (away, cell), ways, crossed = end, [], []
    ahead = steps(state.board)
    while away:
        if cell in cost:
            crossed.append(state.board.doors.index(cell))
        away -= cost.get(cell, 1)
        wave = waves[away]
        for way in (0, 2, 3, 1):
            before = ahead[cell][way]
            if before >= 0 and wave >> before & 1:
                break
        cell = before
        ways.append(way ^ 1)
    return ways[::-1], crossed[::-1]
