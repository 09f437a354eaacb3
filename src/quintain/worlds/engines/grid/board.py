"""What a walker's board is made of: the fixed cells, the state, and tables that follow from them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from quintain.worlds.noise import Noise

FLOOR, WALL, GOAL, HOLE, OPEN = ".", "#", "G", "O", "'"
PLAYER = "P"
STANDING = {FLOOR: PLAYER, GOAL: "*", HOLE: "X", OPEN: "p"}  # how the walker is shown, by what it stands on
LYING, HELD, USED = 0, 1, 2  # what a key may be; a used key has opened its door
SIDES = ((2, 3), (2, 3), (0, 1), (0, 1))  # the two directions that a slip may take instead
KEYS, DOORS = "abc", "ABC"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


SOLID, FAR = -2, -1  # in tables of distances: cannot be stood on, cannot get to the goal


@functools.cache
def open_steps(width: int, height: int) -> tuple[tuple[int, ...], ...]:
    """[direction][cell]: where a step leads on a board without walls, or -1 at its edges.

    Example:
        >>> open_steps(2, 1)
        ((-1, -1), (-1, -1), (-1, 0), (1, -1))
    """
    cells = range(width * height)
    up = tuple(c - width for c in cells)
    down = tuple(c + width if c + width < width * height else -1 for c in cells)
    left = tuple(c - 1 if c % width else -1 for c in cells)
    right = tuple(c + 1 if (c + 1) % width else -1 for c in cells)
    return tuple(c if c >= 0 else -1 for c in up), down, left, right


@functools.cache
def neighbours(width: int, height: int) -> tuple[tuple[int, ...], ...]:
    """For each cell the cells beside it on a board without walls."""
    steps = open_steps(width, height)
    return tuple(tuple(to[c] for to in steps if to[c] >= 0) for c in range(width * height))


def slip_words(slip: float) -> tuple[str, ...]:
    """The word for a chance of a slip, if there is one."""
    return (f"slip{100 * slip:g}",) if slip else ()


@dataclass(frozen=True)
class Board:
    """The part of a walker's world that never changes; all states of an episode share one.

    `cells` is row-major: floor `.`, wall `#`, goal `G`, hole `O`. Key i lies at first on cell `keys[i]` and opens the
    door on cell `doors[i]`. `slip` is the chance that a step goes sideways. `budget` is the turn budget of an episode.
    """

    width: int
    height: int
    cells: str
    keys: tuple[int, ...] = ()
    doors: tuple[int, ...] = ()
    slip: float = 0.0
    budget: int = 0

    @cached_property
    def next(self) -> tuple[tuple[int, ...], ...]:
        """[direction][cell]: the cell that a step leads to, or -1 at walls and edges."""
        cells = self.cells
        to_all = open_steps(self.width, self.height)
        if WALL not in cells:
            return to_all
        return tuple(tuple([to if to >= 0 and cells[to] != WALL else -1 for to in row]) for row in to_all)

    @cached_property
    def special(self) -> dict[int, tuple[str, int]]:
        """Cell -> what happens there: ("key", i), ("door", i), ("goal", 0) or ("hole", 0)."""
        out = {c: ("key", i) for i, c in enumerate(self.keys)}
        out.update({c: ("door", i) for i, c in enumerate(self.doors)})
        out.update({c: ("goal" if s == GOAL else "hole", 0) for c, s in enumerate(self.cells) if s in (GOAL, HOLE)})
        return out

    @cached_property
    def icy(self) -> bool:
        """Whether the ground is ice, where any step may go sideways: the boards with holes."""
        return HOLE in self.cells

    @cached_property
    def text(self) -> bytes:
        """The fixed cells as text: cell c stands at offset 2c, separated by spaces and newlines."""
        rows = (self.cells[i : i + self.width] for i in range(0, len(self.cells), self.width))
        return "\n".join(" ".join(r) for r in rows).encode()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Two digits for each cell: its row and its column, counted from 0."""
        return tuple(DIGITS[c // self.width] + DIGITS[c % self.width] for c in range(len(self.cells)))

    @cached_property
    def fixed_words(self) -> tuple[str, ...]:
        """One word per wall, goal and hole, and one for the chance of a slip."""
        placed = zip(self.cells, self.names, strict=True)
        return (*(sign + name for sign, name in placed if sign != FLOOR), *slip_words(self.slip))

    @cached_property
    def routes(self) -> dict[tuple[int, ...], tuple[int, ...]]:
        """Key status -> for each cell the steps to the goal; below 0 where there is no way."""
        return distances(self)

    @cached_property
    def odds(self) -> np.ndarray:
        """[steps left, cell]: the chance to reach the goal, playing best, on a board without keys."""
        return chances(self)


@dataclass(frozen=True, slots=True)
class Walk:
    """The state of a walker: where it is, what became of each key, and the noise of the next slip."""

    board: Board
    at: int
    keys: tuple[int, ...] = ()
    noise: Noise | None = None


def layout_of(state: Walk, player: bool = False) -> str:
    """The board with keys and doors, and the player where asked, one character per cell: what splits compare."""
    cells = list(state.board.cells)
    for i, (key, door) in enumerate(zip(state.board.keys, state.board.doors, strict=True)):
        cells[key], cells[door] = KEYS[i], DOORS[i]
    if player:
        cells[state.at] = PLAYER
    return "".join(cells)


def distances(board: Board) -> dict[tuple[int, ...], tuple[int, ...]]:
    """For each status of the keys, the least number of steps from each cell to the goal; below 0 where there is no way.

    A status only ever grows (lying -> held -> used), so statuses are solved from the last to the first: within one, a
    breadth-first wave starts at the goal and at the cells whose entry leads to a status already solved.
    """
    solved: dict[tuple[int, ...], tuple[int, ...]] = {}
    floor = [SOLID if sign in (WALL, HOLE) else FAR for sign in board.cells]
    goals = [cell for cell, sign in enumerate(board.cells) if sign == GOAL]
    near = neighbours(board.width, board.height)
    for status in sorted(itertools.product((LYING, HELD, USED), repeat=len(board.keys)), key=sum, reverse=True):
        best = floor.copy()
        worth = dict.fromkeys(goals, 0)  # cell -> steps left once it has been entered
        for i, (key, door) in enumerate(zip(board.keys, board.doors, strict=True)):
            if status[i] == LYING:
                worth[key] = solved[(*status[:i], HELD, *status[i + 1 :])][key]
                best[door] = SOLID
            elif status[i] == HELD:
                worth[door] = solved[(*status[:i], USED, *status[i + 1 :])][door]
        solved[status] = _wave(best, worth, near)
    return solved


def _wave(best: list[int], worth: Mapping[int, int], near: Sequence[Sequence[int]]) -> tuple[int, ...]:
    waiting: dict[int, list[int]] = {}
    for cell, steps in worth.items():
        best[cell] = SOLID
        if steps >= 0:
            waiting.setdefault(steps, []).append(cell)
    steps = 0
    while waiting:
        ready = waiting.pop(steps, None)
        steps += 1
        if ready:
            ahead = []
            for cell in ready:
                for other in near[cell]:
                    if best[other] == FAR:
                        best[other] = steps
                        ahead.append(other)
            if ahead:
                waiting.setdefault(steps, []).extend(ahead)
    return tuple(best)


def chances(board: Board) -> np.ndarray:
    """[t, cell]: the chance to reach the goal within t steps, t = 0..budget, by finite-horizon value iteration.

    V_t(c) = max_a sum_d P(d | a) V_{t-1}(next_d(c)), where d = a with chance 1 - slip and each side with slip / 2.
    """
    here = np.arange(len(board.cells))
    goal = np.array([sign == GOAL for sign in board.cells])
    over = goal | np.array([sign == HOLE for sign in board.cells])
    to = [np.where(np.array(t) < 0, here, t) for t in board.next]
    value = np.zeros((board.budget + 1, len(here)))
    value[:] = goal
    for t in range(1, board.budget + 1):
        ahead = [value[t - 1][d] for d in to]
        best = np.max([mixed(ahead, a, board.slip) for a in range(4)], axis=0)
        value[t] = np.where(over, goal, best)
    return value


def mixed(ahead: Sequence[Any], action: int, slip: float) -> Any:
    """The value of an action whose direction is kept with chance 1 - slip, from the values `ahead` by direction."""
    one, two = SIDES[action]
    return (1 - slip) * ahead[action] + slip / 2 * (ahead[one] + ahead[two])
