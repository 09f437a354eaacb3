"""What a walker's board is made of: the fixed cells, the state, and tables that follow from them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from quintain.worlds.noise import Noise

FLOOR, WALL, GOAL, HOLE, OPEN = ".", "#", "G", "O", "'"
PLAYER = "P"
STANDING = {FLOOR: PLAYER, GOAL: "*", HOLE: "X", OPEN: "p"}  # how the walker is shown, by what it stands on
LYING, HELD, USED = 0, 1, 2  # what a key may be; a used key has opened its door
DIRECTIONS = ("up", "down", "left", "right")
SIDES = ((2, 3), (2, 3), (0, 1), (0, 1))  # the two directions that a slip may take instead
KEYS, DOORS = "abc", "ABC"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


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
        w, h, cells = self.width, self.height, self.cells

        def to(x: int, y: int) -> int:
            return y * w + x if 0 <= x < w and 0 <= y < h and cells[y * w + x] != WALL else -1

        steps = ((0, -1), (0, 1), (-1, 0), (1, 0))
        return tuple(tuple(to(c % w + dx, c // w + dy) for c in range(w * h)) for dx, dy in steps)

    @cached_property
    def before(self) -> tuple[tuple[int, ...], ...]:
        """For each cell, the cells from which a step can lead to it."""
        out: list[list[int]] = [[] for _ in self.cells]
        for targets in self.next:
            for cell, to in enumerate(targets):
                if to >= 0:
                    out[to].append(cell)
        return tuple(tuple(o) for o in out)

    @cached_property
    def special(self) -> dict[int, tuple[str, int]]:
        """Cell -> what happens there: ("key", i), ("door", i), ("goal", 0) or ("hole", 0)."""
        out = {c: ("key", i) for i, c in enumerate(self.keys)}
        out.update({c: ("door", i) for i, c in enumerate(self.doors)})
        out.update({c: ("goal" if s == GOAL else "hole", 0) for c, s in enumerate(self.cells) if s in (GOAL, HOLE)})
        return out

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
        """One word per wall, goal and hole."""
        return tuple(sign + name for sign, name in zip(self.cells, self.names, strict=True) if sign != FLOOR)

    @cached_property
    def routes(self) -> dict[tuple[int, ...], tuple[int, ...]]:
        """Key status -> for each cell the steps to the goal, or -1."""
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
    """For each status of the keys, the least number of steps from each cell to the goal, or -1.

    A status only ever grows (lying -> held -> used), so statuses are solved from the last to the first: within one, a
    breadth-first wave starts at the goal and at the cells whose entry leads to a status already solved.
    """
    solved: dict[tuple[int, ...], tuple[int, ...]] = {}
    for status in sorted(itertools.product((LYING, HELD, USED), repeat=len(board.keys)), key=sum, reverse=True):
        worth = {c: 0 for c, sign in enumerate(board.cells) if sign == GOAL}  # cell -> steps left once it is entered
        shut = {c for c, sign in enumerate(board.cells) if sign == HOLE}
        for i, (key, door) in enumerate(zip(board.keys, board.doors, strict=True)):
            if status[i] == LYING:
                worth[key] = solved[(*status[:i], HELD, *status[i + 1 :])][key]
                shut.add(door)
            elif status[i] == HELD:
                worth[door] = solved[(*status[:i], USED, *status[i + 1 :])][door]
        solved[status] = _wave(board, worth, shut)
    return solved


def _wave(board: Board, worth: dict[int, int], shut: set[int]) -> tuple[int, ...]:
    best = [-1] * len(board.cells)
    waiting: dict[int, list[int]] = {}
    for cell, steps in worth.items():
        if steps >= 0:
            waiting.setdefault(steps, []).append(cell)
    steps = 0
    while waiting:
        for cell in waiting.pop(steps, ()):
            for other in board.before[cell]:
                if best[other] < 0 and other not in worth and other not in shut:
                    best[other] = steps + 1
                    waiting.setdefault(steps + 1, []).append(other)
        steps += 1
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
