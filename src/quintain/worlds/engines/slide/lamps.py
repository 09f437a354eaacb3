"""Lamps: pressing one switches it and its neighbours, until all are dark."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.engines.slide import art
from quintain.worlds.kernel import (
    Answer,
    Choices,
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
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Run, Scene, Shape
from quintain.worlds.seats import seated
from quintain.worlds.splits import canonical, drawn

art.add()
LARGEST = 9  # side of a board
LETTERS = "abcdefghi"
LIT, DARK = "o", "."
WON = {SOLO: {"success": 1.0}}
ILLEGAL: Events = {SOLO: ("illegal",)}
ANSWER = "The lamp to press: the letter of its column, then the number of its row."
SAYINGS = {"illegal": "There is no such lamp on this board; nothing changed."}


def name_of(row: int, column: int) -> str:
    """The name of a lamp.

    Example:
        >>> name_of(2, 1)
        'b3'
    """
    return f"{LETTERS[column]}{row + 1}"


def _synonyms() -> dict[str, str]:
    out = {}
    for r in range(LARGEST):
        for c in range(LARGEST):
            name, letter, row, column = name_of(r, c), LETTERS[c], r + 1, c + 1
            for other in (
                *(f"{verb} {name}" for verb in ("press", "toggle", "switch", "lamp")),
                f"{row} {column}",
                f"({row}, {column})",
                f"{letter} {row}",
                f"{row}{letter}",
                f"{row} {letter}",
                f"({letter}, {row})",
            ):
                out[other] = name
            for other in (f"row {row}, column {column}", f"row {row} column {column}", f"column {letter}, row {row}"):
                out[other] = name
    return out


_PRESS = re.compile(r"\A\s*(?:press|push|toggle|flip|click|tap|switch)?\s*(?:the )?(?:lamp\b:?)?\s*(?:at )?(?=\S)")
CHOICES = Choices(*(name_of(r, c) for r in range(LARGEST) for c in range(LARGEST)), synonyms=_synonyms())


@dataclass(frozen=True)
class Panel:
    """What stays the same: the sides of the board and the turn budget."""

    width: int
    height: int
    budget: int = 0


@dataclass(frozen=True, slots=True)
class Lamps:
    """The state of a panel: one character per lamp, row by row, `o` lit and `.` dark."""

    panel: Panel
    lamps: str


class Wiring(NamedTuple):
    """What follows from the sides of a board; sets of lamps are bits of one integer.

    A press of lamp i switches the lamps `switched[i]`. Lit lamps can be darkened if each set of `checks` holds an even
    number of them; then one way is to press each lamp i for which `solution[i]` holds an odd number of them, and every
    other way differs from it by a set of `silent`, the presses that switch nothing. `moves` is name -> lamp.
    """

    switched: tuple[tuple[int, ...], ...]
    solution: tuple[int, ...]
    checks: tuple[int, ...]
    silent: tuple[int, ...]
    moves: Mapping[str, int]


@functools.lru_cache(maxsize=64)
def wiring(width: int, height: int) -> Wiring:
    """The tables of a board, by Gauss-Jordan elimination."""
    n = width * height
    switched = []
    for cell in range(n):
        y, x = divmod(cell, width)
        near = ((y, x), (y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1))
        switched.append(tuple(r * width + c for r, c in near if 0 <= r < height and 0 <= c < width))
    rows = [sum(1 << c for c in cells) | 1 << n + i for i, cells in enumerate(switched)]  # [A | identity]
    pivots: list[int] = []
    for column in range(n):
        rank = len(pivots)
        found = next((i for i in range(rank, n) if rows[i] >> column & 1), -1)
        if found < 0:
            continue
        rows[rank], rows[found] = rows[found], rows[rank]
        for i in range(n):
            if i != rank and rows[i] >> column & 1:
                rows[i] ^= rows[rank]
        pivots.append(column)
    solution = [0] * n
    for row, column in zip(rows, pivots, strict=False):
        solution[column] = row >> n
    silent = [0]
    for free in set(range(n)) - set(pivots):
        press = 1 << free | sum(1 << column for row, column in zip(rows, pivots, strict=False) if row >> free & 1)
        silent += [other ^ press for other in silent]
    names = {name_of(c // width, c % width): c for c in range(n)}
    return Wiring(
        tuple(switched), tuple(solution), tuple(row >> n for row in rows[len(pivots) :]), tuple(silent), names
    )


def bits_of(lamps: str) -> int:
    """The lit lamps as bits."""
    return sum(1 << c for c, sign in enumerate(lamps) if sign == LIT)


def fewest(panel: Panel, lamps: str) -> tuple[int, int] | None:
    """(presses, useful): the fewest presses that darken all lamps, and all that are part of some such set; or None."""
    wires, lit = wiring(panel.width, panel.height), bits_of(lamps)
    if any((lit & check).bit_count() % 2 for check in wires.checks):
        return None
    one = sum(((lit & rows).bit_count() & 1) << c for c, rows in enumerate(wires.solution))
    every = [one ^ silent for silent in wires.silent]
    least = min(presses.bit_count() for presses in every)
    best = [presses for presses in every if presses.bit_count() == least]
    return best[0], functools.reduce(int.__or__, best)


@seated
@dataclass(frozen=True, kw_only=True)
class LampWorld:
    """A world of lamps: what a declaration gives.

    Args:
        facts: rules and ceilings.
        levels: ten mappings of the knobs `width` and `height` (2 to 9), `low` and `high` (presses of the shortest
            plan). The turn budget is half as many again as those, and two.
    """

    facts: Facts
    levels: Sequence[Mapping[str, Any]]
    schema: type[Lamps] = Lamps

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Lamps:
        """See `World.start`."""
        chosen = check_knobs(knobs, self.levels, level)
        for side in (chosen["width"], chosen["height"]):
            if not 2 <= side <= LARGEST:
                raise GenerationError(f"a board of lamps with side {side}; sides must be 2 to {LARGEST}")
        return drawn(lambda r: pressed(r, chosen), _canonical, Rng(self.facts.name, seed, level, split), split)

    def view(self, state: Lamps, seat: str) -> View[Lamps]:
        return View(self, state, seat)

    def read(self, text: str, seat: str) -> Move | None:
        return CHOICES.read(_PRESS.sub("", text[:64].lower()))

    def turns(self, state: Lamps) -> int:
        return state.panel.budget

    def words(self, level: int) -> tuple[str, ...]:
        knobs = self.levels[check_level(level)]
        names = wiring(knobs["width"], knobs["height"]).moves
        return (*names, *(LIT + name for name in names), *(DARK + name for name in names))

    def step(self, state: Lamps, moves: Mapping[str, Move]) -> Outcome[Lamps]:
        panel = state.panel
        wires = wiring(panel.width, panel.height)
        cell = wires.moves.get(moves[SOLO].key)
        if cell is None or LIT not in state.lamps:
            return Outcome(state, events=ILLEGAL)
        lamps = switch(state.lamps, wires.switched[cell])
        return Outcome(Lamps(panel, lamps)) if LIT in lamps else Outcome(Lamps(panel, lamps), WON, True)

    def solve(self, state: Lamps, seat: str) -> Answer:
        panel = state.panel
        if LIT not in state.lamps:
            return Unsolvable("the episode is over")
        found = fewest(panel, state.lamps)
        if found is None:
            return Unsolvable("no set of presses darkens these lamps")
        moves = [CHOICES[name] for name in wiring(panel.width, panel.height).moves]
        plan, useful = (tuple(m for c, m in enumerate(moves) if presses >> c & 1) for presses in found)
        return Plan(plan, first=useful)

    def legal(self, state: Lamps, seat: str) -> tuple[Move, ...]:
        names = wiring(state.panel.width, state.panel.height).moves if LIT in state.lamps else ()
        return tuple([CHOICES[name] for name in names])

    def sample(self, state: Lamps, seat: str, rng: Rng) -> Move:
        return rng.pick(self.legal(state, seat) or CHOICES.moves)

    def caption(self, state: Lamps, seat: str, level: int) -> str:
        width, lamps = state.panel.width, state.lamps
        if level == 1:
            return f"{lamps.count(LIT)} of {len(lamps)} lamps are lit."
        rows = [" ".join(lamps[i : i + width]) for i in range(0, len(lamps), width)]
        return "\n".join(["  " + " ".join(LETTERS[:width]), *(f"{y} {row}" for y, row in enumerate(rows, 1))])

    def rebuild(self, caption: str, seat: str) -> Lamps:
        """See `World.rebuild`."""
        head, *rows = (line.split() for line in caption.split("\n"))
        lamps = "".join(sign for row in rows for sign in row[1:])
        if not rows or {len(row) - 1 for row in rows} != {len(head)} or set(lamps) - {LIT, DARK}:
            raise QuintainError(f"this is no full caption of a board of lamps: {caption[:60]!r}")
        return Lamps(Panel(len(head), len(rows)), lamps)

    def static(self, state: Lamps, seat: str) -> tuple[str, ...]:
        return ()

    def moving(self, state: Lamps, seat: str) -> tuple[str, ...]:
        names = wiring(state.panel.width, state.panel.height).moves
        return tuple([sign + name for sign, name in zip(state.lamps, names, strict=True)])

    def scene(self, state: Lamps, seat: str) -> Scene:
        w, h = state.panel.width, state.panel.height
        cells = tuple(["panel+lamp-lit" if sign == LIT else "panel+lamp-dark" for sign in state.lamps])
        return Scene(width=w + 0.6, height=h + 0.6, cells=cells, columns=w, left=0.6, top=0.6, shapes=_labels(w, h))


def switch(lamps: str, cells: Sequence[int]) -> str:
    """The lamps after those on `cells` were switched.

    Example:
        >>> switch("o..", (0, 1))
        '.o.'
    """
    after = list(lamps)
    for cell in cells:
        after[cell] = DARK if after[cell] == LIT else LIT
    return "".join(after)


def pressed(rng: Rng, knobs: Mapping[str, Any]) -> Lamps | None:
    """A board that random presses lit, or None if fewer than `low` presses darken it."""
    count = knobs["low"] + rng.below(knobs["high"] - knobs["low"] + 1)
    panel = Panel(knobs["width"], knobs["height"], count * 3 // 2 + 2)
    wires, lamps = wiring(panel.width, panel.height), DARK * (panel.width * panel.height)
    for cell in rng.sample(range(len(lamps)), count):
        lamps = switch(lamps, wires.switched[cell])
    found = fewest(panel, lamps)
    return Lamps(panel, lamps) if found and found[0].bit_count() >= knobs["low"] else None


def _canonical(state: Lamps) -> str:
    return canonical(state.lamps, state.panel.width, state.panel.height)


@functools.cache
def _labels(width: int, height: int) -> tuple[Shape, ...]:
    columns = tuple(Run(text=LETTERS[x], x=x + 1.1, y=0.32, size=0.4, color="stone") for x in range(width))
    return columns + tuple(Run(text=str(y + 1), x=0.32, y=y + 1.1, size=0.4, color="stone") for y in range(height))
