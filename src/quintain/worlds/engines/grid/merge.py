"""Numbers that slide and merge: equal neighbours join when the board is swept to one side, and a new number appears."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.directions import CHOICES, DIRECTIONS
from quintain.worlds.engines.grid import art
from quintain.worlds.engines.grid.board import DIGITS
from quintain.worlds.kernel import (
    Answer,
    Events,
    Facts,
    GenerationError,
    Move,
    Outcome,
    Plan,
    Unsolvable,
    View,
    check_level,
)
from quintain.worlds.knobs import check_knobs, overridable
from quintain.worlds.noise import Noise, Rng
from quintain.worlds.scene import Scene
from quintain.worlds.seats import seated
from quintain.worlds.splits import canonical, drawn

art.add_numbers()
WON = {SOLO: {"success": 1.0}}
BLOCKED: Events = {SOLO: ("blocked",)}
STUCK: Events = {SOLO: ("stuck",)}
SAYINGS = {
    "blocked": "Nothing can slide that way.",
    "stuck": "The board is full and nothing can merge.",
    "merged": "The best number is now {}.",
}
LOST = -1000.0  # the worth of a board that is stuck
FOUR = 0.1  # chance that a 4 appears and not a 2
Line = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """The fixed part: a board of `side` x `side` cells, to reach 2**`goal` within `budget` turns."""

    side: int
    goal: int
    budget: int


@dataclass(frozen=True, slots=True)
class Merge:
    """The state: the exponent of each cell row by row (0 is empty), and the noise of the next number."""

    sheet: Sheet
    cells: Line
    noise: Noise


@functools.lru_cache(maxsize=1 << 16)
def swept(line: Line) -> Line:
    """A line after a sweep towards its start; each number merges at most once.

    Example:
        >>> swept((1, 1, 2, 0)), swept((1, 1, 1, 1)), swept((0, 2, 0, 2))
        ((2, 2, 0, 0), (2, 2, 0, 0), (3, 0, 0, 0))
    """
    out: list[int] = []
    waiting = 0
    for value in line:
        if not value:
            continue
        if value == waiting:
            out[-1] += 1
            waiting = 0
        else:
            out.append(value)
            waiting = value
    return tuple(out) + (0,) * (len(line) - len(out))


def sweep(cells: Line, side: int, direction: int) -> Line:
    """The board after a sweep up, down, left or right (0 to 3), before the new number."""
    lines = [cells[i::side] for i in range(side)] if direction < 2 else []
    lines = lines or [cells[i : i + side] for i in range(0, side * side, side)]
    if direction % 2:
        lines = [swept(line[::-1])[::-1] for line in lines]
    else:
        lines = [swept(line) for line in lines]
    if direction < 2:
        lines = list(zip(*lines, strict=True))
    return tuple([value for line in lines for value in line])


def appeared(cells: Line, noise: Noise) -> Line:
    """The board with one new number on an empty cell: 2, or 4 with chance `FOUR`."""
    empty = [i for i, value in enumerate(cells) if not value]
    at = empty[noise.below(len(empty))]
    return (*cells[:at], 2 if noise.uniform(1) < FOUR else 1, *cells[at + 1 :])


def reach(side: int, turns: int) -> int:
    """A number that no play exceeds: what cells can hold, and all that appears but for one chance in a billion.

    Example:
        >>> reach(3, 10_000), reach(4, 16)
        (1024, 52)
    """
    numbers = turns + 1  # two at the start; the last sweep only merges
    appears = 2 * (1 + FOUR) * numbers + 6 * 2 * math.sqrt(FOUR * (1 - FOUR) * numbers)
    return min(2 ** (side * side + 1), int(appears))


@seated
@dataclass(frozen=True, kw_only=True)
class MergeWorld:
    """A world of sliding numbers; `levels` are ten mappings of the knobs `side`, `goal` (an exponent) and `turns`."""

    facts: Facts
    levels: Sequence[Mapping[str, Any]]
    schema: type[Merge] = Merge

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Merge:
        """See `World.start`."""
        chosen = check_knobs(knobs, self.levels, level)
        sheet = Sheet(chosen["side"], chosen["goal"], chosen["turns"])
        if 2**sheet.goal > reach(sheet.side, sheet.budget):
            raise GenerationError(f"{sheet.budget} turns on {sheet.side}x{sheet.side} cells bring no {2**sheet.goal}")
        rng = Rng(self.facts.name, seed, level, split)

        def make(r: Rng) -> Merge:
            noise = Noise(int(r.uniform() * 2**53))
            cells = appeared((0,) * sheet.side**2, noise)
            return Merge(sheet, appeared(cells, noise.after()), noise.after().after())

        def layout(state: Merge) -> str:
            return canonical([DIGITS[c] for c in state.cells], sheet.side, sheet.side) + f" {state.noise.seed}"

        return drawn(make, layout, rng, split)

    def view(self, state: Merge, seat: str) -> View[Merge]:
        return View(self, state, seat)

    def read(self, text: str, seat: str) -> Move | None:
        return CHOICES.read(text[:64].strip().lower().removeprefix("sweep ").removeprefix("swipe "))

    def turns(self, state: Merge) -> int:
        return state.sheet.budget

    def words(self, level: int) -> tuple[str, ...]:
        knobs = self.levels[check_level(level)]
        cells = [DIGITS[y] + DIGITS[x] for y in range(knobs["side"]) for x in range(knobs["side"])]
        values = [2**e for e in range(1, knobs["goal"] + 1)]
        return (*DIRECTIONS, f"goal{2 ** knobs['goal']}", *(f"{v}@{cell}" for v in values for cell in cells))

    def step(self, state: Merge, moves: Mapping[str, Move]) -> Outcome[Merge]:
        sheet, old = state.sheet, state.cells
        after = sweep(old, sheet.side, DIRECTIONS.index(moves[SOLO].key))
        if after == old or max(old) >= sheet.goal:
            return Outcome(state, events=BLOCKED)
        best = max(after)
        events: Events = {SOLO: (f"merged:{2**best}",)} if best > max(old) else {}
        if best >= sheet.goal:
            return Outcome(Merge(sheet, after, state.noise.after()), WON, True, events)
        cells = appeared(after, state.noise)
        new = Merge(sheet, cells, state.noise.after())
        if 0 in cells or self.legal(new, SOLO):
            return Outcome(new, events=events)
        return Outcome(new, done=True, events=STUCK)

    def solve(self, state: Merge, seat: str) -> Answer:
        legal = self.legal(state, seat)
        if not legal:
            return Unsolvable("the episode is over")
        side, empty = state.sheet.side, state.cells.count(0)
        depth = 2 if empty < 4 and side > 3 else 1
        worth = [expected(sweep(state.cells, side, DIRECTIONS.index(m.key)), side, depth) for m in legal]
        best = tuple(m for m, w in zip(legal, worth, strict=True) if w >= max(worth) - 1e-9)
        return Plan(best[:1], "policy", best, self.facts.floor)

    def legal(self, state: Merge, seat: str) -> tuple[Move, ...]:
        side = state.sheet.side
        if max(state.cells) >= state.sheet.goal:
            return ()
        return tuple(m for d, m in enumerate(CHOICES.moves) if sweep(state.cells, side, d) != state.cells)

    def sample(self, state: Merge, seat: str, rng: Rng) -> Move:
        return rng.pick(self.legal(state, seat) or CHOICES.moves)

    def caption(self, state: Merge, seat: str, level: int) -> str:
        side, goal = state.sheet.side, 2**state.sheet.goal
        if level == 1:
            return (
                f"The best number is {2 ** max(state.cells)}; {state.cells.count(0)} of {side * side} cells are empty."
            )
        numbers = [str(2**c) if c else "." for c in state.cells]
        rows = (" ".join(numbers[i : i + side]) for i in range(0, side * side, side))
        return "\n".join([f"Goal: {goal}", *rows])

    def rebuild(self, caption: str, seat: str) -> Merge:
        """See `World.rebuild`."""
        head, *rows = caption.split("\n")
        cells = [0 if sign == "." else int(sign).bit_length() - 1 for row in rows for sign in row.split(" ")]
        if len(cells) != len(rows) ** 2 or not head.startswith("Goal: "):
            raise QuintainError(f"this is no full caption of sliding numbers: {caption[:60]!r}")
        return Merge(Sheet(len(rows), int(head[6:]).bit_length() - 1, 0), tuple(cells), Noise(0))

    def static(self, state: Merge, seat: str) -> tuple[str, ...]:
        return (f"goal{2**state.sheet.goal}",)

    def moving(self, state: Merge, seat: str) -> tuple[str, ...]:
        side = state.sheet.side
        cells = enumerate(state.cells)
        return tuple(f"{2**value}@{DIGITS[c // side]}{DIGITS[c % side]}" for c, value in cells if value)

    def scene(self, state: Merge, seat: str) -> Scene:
        side = state.sheet.side
        goal = (f"goal-{state.sheet.goal}", *["blank"] * (side - 1))
        cells = (*goal, *(f"slot+num-{c}" if c else "slot" for c in state.cells))
        return Scene(width=side, height=side + 1, cells=cells, columns=side, background="paper")


def expected(cells: Line, side: int, depth: int) -> float:
    """The worth of a swept board: the mean, over the numbers that may appear, of the best board `depth` sweeps on."""
    empty = [i for i, value in enumerate(cells) if not value]
    if not depth or not empty:
        return worth_of(cells, side)
    total = 0.0
    for at in empty:
        before, after = cells[:at], cells[at + 1 :]
        two = _best((*before, 1, *after), side, depth)
        total += (1 - FOUR) * two + FOUR * (_best((*before, 2, *after), side, depth) if depth == 1 else two)
    return total / len(empty)


@functools.lru_cache(maxsize=1 << 16)
def _best(cells: Line, side: int, depth: int) -> float:
    boards = {b for b in [sweep(cells, side, d) for d in range(4)] if b != cells}
    return max((expected(b, side, depth - 1) for b in boards), default=LOST)


def worth_of(cells: Line, side: int) -> float:
    """How promising a board looks: the sum over its rows and columns of what `line_worth` says."""
    rows = sum(line_worth(cells[i : i + side]) for i in range(0, side * side, side))
    return rows + sum(line_worth(cells[i::side]) for i in range(side))


@functools.lru_cache(maxsize=1 << 16)
def line_worth(line: Line) -> float:
    """Room and possible merges are good; big steps between neighbours, and a line that rises and falls, are bad."""
    steps = list(itertools.pairwise(line))
    pairs = sum(a == b != 0 for a, b in steps)
    rough = sum(abs(a - b) for a, b in steps if a and b)
    rises = sum((b - a) * b for a, b in steps if b > a)
    falls = sum((a - b) * a for a, b in steps if a > b)
    return 12.0 * line.count(0) + 4.0 * pairs - 1.5 * rough - 2.0 * min(rises, falls)
