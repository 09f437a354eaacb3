"""Ways over a map: a step may end elsewhere than beside its start, by a portal or on a belt; lava ends it; shut doors take a turn."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.worlds.directions import CHOICES
from quintain.worlds.engines.grid.board import FAR, FLOOR, GOAL, OPEN, SOLID, WALL, Board, neighbours
from quintain.worlds.engines.grid.maps import ARROWS, BOARDS, goal_of, steps
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import Answer, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng

LAVA, SHUT = "L", "D"
PORTALS = "abcdefghijklmnop"
CARRYING = frozenset(PORTALS + ARROWS)  # signs of cells that carry who steps on them elsewhere
LAST = (LAVA, WALL, GOAL)  # signs of cells that nobody leaves
INDEX = {move: i for i, move in enumerate(CHOICES.moves)}


@dataclass(frozen=True, slots=True)
class Way:
    """The state: where the walker is, and which doors stand open (bit i: the door on `board.doors[i]`)."""

    board: Board
    at: int
    opened: int = 0


@functools.lru_cache(maxsize=BOARDS)
def landings(board: Board) -> tuple[tuple[int, ...], ...]:
    """[cell][direction]: the cell on which a step ends, or -1 where it cannot be made or leads back to its start."""
    if CARRYING.isdisjoint(board.cells):
        return steps(board)
    twins = _twins(board)
    flow = tuple(zip(*board.next, strict=True))

    def ends(cell: int) -> int:
        while (belt := ARROWS.find(board.cells[cell])) >= 0 and flow[cell][belt] >= 0:
            cell = flow[cell][belt]
        return twins.get(cell, cell)

    out = []
    for cell, row in enumerate(steps(board)):
        ahead = [ends(to) if to >= 0 else -1 for to in row]
        out.append(tuple(to if to != cell else -1 for to in ahead))
    return tuple(out)


def _twins(board: Board) -> dict[int, int]:
    pairs = [[c for c, s in enumerate(board.cells) if s == sign] for sign in PORTALS if sign in board.cells]
    return {a: b for one, two in pairs for a, b in ((one, two), (two, one))}


def circles(board: Board) -> bool:
    """Whether some belt carries round and round."""
    flow = board.next
    for cell, sign in enumerate(board.cells):
        slow = cell
        for _ in range(len(board.cells) if sign in ARROWS else 0):
            belt = ARROWS.find(board.cells[slow])
            if belt < 0 or flow[belt][slow] < 0:
                break
            slow = flow[belt][slow]
        else:
            if sign in ARROWS:
                return True
    return False


@functools.lru_cache(maxsize=512)
def distances(board: Board, opened: int) -> tuple[int, ...]:
    """For each cell the fewest turns to the goal, below 0 where there is no way; to open a door takes one more than to walk on."""
    shut = {c for i, c in enumerate(board.doors) if not opened >> i & 1}
    best = [SOLID if sign in LAST else FAR for sign in board.cells]
    near = neighbours(board.width, board.height) if CARRYING.isdisjoint(board.cells) else _sources(board)
    ready, behind, turns = [], [], 0
    if (goal := goal_of(board)) >= 0:
        ready, best[goal] = [goal], 0
    while ready or behind:
        turns += 1
        ahead, behind = behind, []
        for cell in ready:
            for other in near[cell]:
                if best[other] == FAR:
                    best[other] = turns
                    (behind if other in shut else ahead).append(other)
        ready = ahead
    return tuple(best)


@functools.lru_cache(maxsize=BOARDS)
def _sources(board: Board) -> tuple[tuple[int, ...], ...]:
    """For each cell those from which one step ends on it."""
    out: list[list[int]] = [[] for _ in board.cells]
    for cell, row in enumerate(landings(board)):
        for to in row:
            if to >= 0:
                out[to].append(cell)
    return tuple(map(tuple, out))


@dataclass(frozen=True)
class WayRules:
    """The rules of such maps; `make` draws one."""

    make: Callable[[Rng, Mapping[str, Any]], Way | None]
    choices = CHOICES

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Way | None:
        return self.make(rng, knobs)

    def over(self, state: Way) -> bool:
        return state.board.cells[state.at] in (GOAL, LAVA) or max(landings(state.board)[state.at]) < 0

    def legal(self, state: Way) -> tuple[Move, ...]:
        return tuple([m for m, to in zip(CHOICES.moves, landings(state.board)[state.at], strict=True) if to >= 0])

    def play(self, state: Way, move: Move) -> After[Way]:
        board = state.board
        way = INDEX[move]
        to = landings(board)[state.at][way]
        if to < 0:
            return After(state, events=(("illegal",),))
        if to in board.doors and not state.opened >> (door := board.doors.index(to)) & 1:
            return After(Way(board, state.at, state.opened | 1 << door), events=(("opened",),))
        after = Way(board, to, state.opened)
        sign = board.cells[to]
        if sign == GOAL:
            return After(after, (WON,), True)
        if sign == LAVA:
            return After(after, done=True, events=(("burned",),))
        if max(landings(board)[to]) < 0:
            return After(after, done=True, events=(("stuck",),))
        return After(after, events=() if to == board.next[way][state.at] else (("carried",),))

    def advise(self, state: Way) -> Answer:
        """Go down the exact distances; every move of a plan lowers them by one."""
        left = distances(state.board, state.opened)[state.at]
        if left < 0:
            return Unsolvable("the goal cannot be reached")
        moves, firsts = [], ()
        while left > 0:
            left -= 1
            good = [(m, a) for m in self.legal(state) if self._left(a := self.play(state, m).state) == left]
            firsts = firsts or tuple(move for move, _ in good)
            move, state = good[0]
            moves.append(move)
        return Plan(tuple(moves), "solver", firsts)

    def _left(self, state: Way) -> int:
        return distances(state.board, state.opened)[state.at]

    def signs(self, state: Way) -> Sequence[str]:
        board = state.board
        if not board.doors:
            return board.cells
        out = list(board.cells)
        for i, cell in enumerate(board.doors):
            out[cell] = OPEN if state.opened >> i & 1 else SHUT
        return out

    def lines(self, state: Way) -> tuple[str, ...]:
        return ()

    def parse(self, signs: str, width: int, at: int, lines: Sequence[str]) -> Way:
        doors = tuple(c for c, sign in enumerate(signs) if sign in (OPEN, SHUT))
        opened = sum(1 << i for i, c in enumerate(doors) if signs[c] == OPEN)
        cells = signs.replace(OPEN, FLOOR).replace(SHUT, FLOOR)
        return Way(Board(width, len(signs) // width, cells, doors=doors), at, opened)
