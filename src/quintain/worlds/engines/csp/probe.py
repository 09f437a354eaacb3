"""Fields to probe: open every cell without a mine, guided by the numbers; never a guess is needed."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quintain.ports import SOLO
from quintain.types import Ints, QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.cells import framed, labelled, name_of, names_of, read_cell, unframed
from quintain.worlds.engines.csp.field import CLOSED, MINE, Clues, Field, around, certain, explained, show, unravel
from quintain.worlds.engines.csp.solve import NODES
from quintain.worlds.kernel import (
    Answer,
    Events,
    Facts,
    GenerationError,
    Move,
    Outcome,
    Plan,
    Unknown,
    Unsolvable,
    View,
    check_level,
)
from quintain.worlds.knobs import check_knobs, overridable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Polygon, Run, Scene
from quintain.worlds.seats import seated
from quintain.worlds.splits import canonical, drawn

WON = {SOLO: {"success": 1.0}}
ILLEGAL: Events = {SOLO: ("illegal",)}
HIT: Events = {SOLO: ("hit",)}
SAYINGS = {"hit": "That was a mine."}
SPARE = 3  # turns beyond one for each safe cell
TRIES = 5000
HELP = 2  # cells that are open at the start to spare a guess
OUTSIDE = (99, 99)  # no cell of a field
_MINED = re.compile(  # a cell that is said to be one, which nobody wants opened
    r"(?:flag|mark|mines?:|unsafe:|mines? (?:is )?(?:in|at)) *(?:cell )?(.+?)(?: as (?:a )?(?:mine|unsafe))?"
    r"|(?:cell )?(.+?) (?:is|has|holds|contains|must be|may be) (?:a |the )?(?:mine|bomb|unsafe)\.?"
)
_COUNT = re.compile(r"(\d+) mines?\. ?(?:\d+ safe cells? (?:is|are) still closed\.)?", re.ASCII)
_INK = ("", "blue", "forest", "brick", "navy", "rust", "wine", "plum", "ink")

tiles(
    {
        "closed": (
            Box(x=0, y=0, width=1, height=1, fill="seam"),
            Box(x=0.03, y=0.03, width=0.94, height=0.94, fill="cloud", radius=0.1),
            Polygon(points=((0.1, 0.86), (0.1, 0.1), (0.86, 0.1)), line="frost", thick=0.05, closed=False),
        ),
        "open": (
            Box(x=0, y=0, width=1, height=1, fill="seam"),
            Box(x=0.015, y=0.015, width=0.97, height=0.97, fill="white"),
        ),
        "mine": (
            Box(x=0.02, y=0.02, width=0.96, height=0.96, fill="brick"),
            *(
                Polygon(points=((0.5 - a, 0.5 - b), (0.5 + a, 0.5 + b)), line="ink", thick=0.09, closed=False)
                for a, b in ((0.36, 0), (0, 0.36), (0.25, 0.25), (0.25, -0.25))
            ),
            Disc(x=0.5, y=0.5, radius=0.25, fill="ink"),
            Disc(x=0.42, y=0.42, radius=0.06, fill="white"),
        ),
        **{f"near-{n}": (Run(text=str(n), x=0.5, y=0.51, size=0.72, color=_INK[n]),) for n in range(1, 9)},
    }
)
tiles(
    {
        f"mines-{n}": (
            Disc(x=0.2, y=0.52, radius=0.13, fill="ink"),
            Run(text=str(n), x=0.63, y=0.52, size=0.5, color="brick"),
        )
        for n in range(1, 100)
    }
)
TILES = {CLOSED: "closed", MINE: "mine", "0": "open", **{str(n): f"open+near-{n}" for n in range(1, 9)}}


@functools.lru_cache(maxsize=4096)
def _open(cell: tuple[int, int]) -> Move:
    return Move(name_of(*cell), cell)


@seated
@dataclass(frozen=True, kw_only=True)
class ProbeWorld:
    """A world of mine fields: what a declaration gives.

    Args:
        facts: rules and ceilings.
        levels: ten mappings of the knobs `size`, `mines` and `hard` (at least so many times no single number, taken by
            itself, makes a cell certain, and several must be thought of together).
    """

    facts: Facts
    levels: Sequence[Mapping[str, Any]]
    schema: type[Field] = Field

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Field:
        """See `World.start`."""
        chosen = check_knobs(knobs, self.levels, level)
        side, rng = chosen["size"], Rng(self.facts.name, seed, level, split)
        if not 0 < chosen["mines"] < side * side:
            raise GenerationError(
                f"{chosen['mines']} mines on {side * side} cells: there must be 1 to {side * side - 1}"
            )
        for _ in range(TRIES):
            mines = drawn(
                lambda r: r.sample(range(side * side), chosen["mines"]), lambda m: _layout(m, side), rng, split
            )
            field = _opened(rng, tuple(sorted(mines)), side, chosen["hard"])
            if field is not None:
                return field
        raise GenerationError(f"{self.facts.name} level {level}: no field in {TRIES} draws with the knobs {chosen}")

    def view(self, state: Field, seat: str) -> View[Field]:
        return View(self, state, seat)

    def read(self, text: str, seat: str) -> Move | None:
        text = text.strip()
        if len(text) > 48:
            return None
        if mined := _MINED.fullmatch(text.lower()):
            cell = read_cell(mined[1] or mined[2])
            return Move(f"flag {name_of(*cell)}", OUTSIDE) if cell else None
        head, _, rest = text.partition(" ")
        cell = read_cell(rest if head.lower() in ("open", "probe", "click", "reveal", "uncover") else text)
        return _open(cell) if cell else None

    def turns(self, state: Field) -> int:
        return state.budget

    def words(self, level: int) -> tuple[str, ...]:
        knobs = self.levels[check_level(level)]
        names = names_of(knobs["size"], knobs["size"])
        return (*names, f"{knobs['mines']}{MINE}", *(sign + name for name in names for sign in f"012345678{MINE}"))

    def step(self, state: Field, moves: Mapping[str, Move]) -> Outcome[Field]:
        row, column = moves[SOLO].value
        cell = row * state.width + column
        out = row >= state.height or column >= state.width or state.seen[cell] != CLOSED
        if out or MINE in state.seen or state.seen.count(CLOSED) == len(state.mines):
            return Outcome(state, events=ILLEGAL)
        after = show(state, cell)
        if after.seen[cell] == MINE:
            return Outcome(after, done=True, events=HIT)
        if after.seen.count(CLOSED) == len(state.mines):
            return Outcome(after, WON, True)
        return Outcome(after)

    def solve(self, state: Field, seat: str) -> Answer:
        """Cells that the numbers prove safe, in the order in which they do; the mines themselves are not looked at."""
        if not self.legal(state, seat):
            return Unsolvable("the episode is over")
        known = certain(state.width, state.height, state.seen, len(state.mines))
        first, why = explained(state.width, state.height, state.seen, len(state.mines), known.safe)
        trail = unravel(show(state, first[0])) if first else unravel(state)
        if not trail.cleared:
            return Unknown(NODES)
        return Plan(_moves((*first, *trail.cells), state.width), first=_moves(known.safe, state.width), because=why)

    def legal(self, state: Field, seat: str) -> tuple[Move, ...]:
        seen = state.seen
        if MINE in seen or seen.count(CLOSED) == len(state.mines):
            return ()
        return _moves([c for c, sign in enumerate(seen) if sign == CLOSED], state.width)

    def sample(self, state: Field, seat: str, rng: Rng) -> Move:
        return rng.pick(self.legal(state, seat) or (_open((0, 0)),))

    def caption(self, state: Field, seat: str, level: int) -> str:
        mines, left = len(state.mines), _left(state)
        head = f"{mines} mine{'s' * (mines != 1)}. {left} safe cell{'s are' if left != 1 else ' is'} still closed."
        if level == 2:
            return f"{head}\n{framed(state.seen, state.width)}"
        near, names = around(state.width, state.height), names_of(state.width, state.height)
        useful = [
            c for c, sign in enumerate(state.seen) if sign > "0" and any(state.seen[o] == CLOSED for o in near[c])
        ]
        shown = [f"{names[c]} shows {state.seen[c]}" for c in useful if state.seen[c].isdigit()]
        return f"{head} Numbers beside closed cells: {', '.join(shown) or 'none'}."

    def rebuild(self, caption: str, seat: str) -> Field:
        """See `World.rebuild`; the mines are some that fit the numbers."""
        head, *lines = caption.split("\n")
        count, grid = _COUNT.fullmatch(head), unframed(lines)
        if not count or not grid or set(grid[0]) - set(TILES):
            raise QuintainError(f"this is no full caption of a mine field: {caption[:60]!r}")
        seen, width = grid
        height = len(seen) // width
        struck = tuple(c for c, sign in enumerate(seen) if sign == MINE)
        closed = Clues(width, height, seen, int(count[1])).placement()
        if closed is None:
            raise QuintainError(f"no placement of {count[1]} mines fits the numbers of {caption[:60]!r}")
        return Field(width, height, tuple(sorted(struck + closed)), seen)

    def static(self, state: Field, seat: str) -> tuple[str, ...]:
        return (f"{len(state.mines)}{MINE}",)

    def moving(self, state: Field, seat: str) -> tuple[str, ...]:
        names = names_of(state.width, state.height)
        return tuple([sign + name for sign, name in zip(state.seen, names, strict=True) if sign != CLOSED])

    def scene(self, state: Field, seat: str) -> Scene:
        return labelled([TILES[sign] for sign in state.seen], state.width, f"mines-{len(state.mines)}")


def _opened(rng: Rng, mines: Ints, side: int, hard: int) -> Field | None:
    """The field with one cell opened, a cell that touches no mine where there is one; None if logic clears it too easily.

    Wherever only a guess would help, one more cell is open from the start; None if that is not enough `HELP` times.
    """
    cells, near = range(side * side), around(side, side)
    safe = [c for c in cells if c not in mines]
    calm = [c for c in safe if not any(o in mines for o in near[c])]
    field = show(Field(side, side, mines, CLOSED * len(cells)), rng.pick(calm or safe))
    end = field
    for _ in range(HELP + 1):
        trail = unravel(end)
        if trail.cleared:
            break
        closed = [c for c in safe if trail.end.seen[c] == CLOSED]
        beside = [c for c in closed if any(trail.end.seen[o] != CLOSED for o in near[c])]
        given = rng.pick(beside or closed)
        field, end = show(field, given), show(trail.end, given)
    else:
        return None
    if not _left(field) or (hard and unravel(field).puzzles < hard):
        return None
    return replace(field, budget=_left(field) + SPARE)


def _left(field: Field) -> int:
    return field.seen.count(CLOSED) + field.seen.count(MINE) - len(field.mines)


def _layout(mines: Sequence[int], side: int) -> str:
    return canonical([MINE if c in mines else "." for c in range(side * side)], side, side)


def _moves(cells: Sequence[int], width: int) -> tuple[Move, ...]:
    return tuple([_open(divmod(cell, width)) for cell in cells])
