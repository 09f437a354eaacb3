"""How a game of rows begins, what it looks like, and how its moves are written."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from quintain.types import Ints, QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.cells import framed, labelled, name_of, names_of, read_cell, sized, unframed
from quintain.worlds.engines.board.game import Match, Setup, next_side
from quintain.worlds.engines.board.rows import LARGE, RowGame, row_game
from quintain.worlds.kernel import Move
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Polygon, Run, Scene
from quintain.worlds.splits import canonical

SIGNS = "XO"
WORDS = {3: "Three", 4: "Four", 5: "Five", 6: "Six"}
REACH = 3  # cells from the middle of a large board within which a game begins
LARGEST = 15  # cells on a side
KNOBS = ("size", "line", "stones", "more", "low", "high")
_SIDE = re.compile(
    r"\A\s*(?:i )?(?:(?:place|put|play|mark)(?= ))? ?(?:an? |my |the )?(?:(?:[xo]|stone|mark)\W*)?(?:at |in |on )?(?:cell )?"
    r"(?=[a-z]\s*\d|\d{1,2}[a-z]\b)",
    re.IGNORECASE,
)
_TURNED = re.compile(r"\A\s*(\d{1,2})([a-z])\s*\Z", re.IGNORECASE | re.ASCII)  # a cell with its row first
_HEAD = re.compile(r"You play ([XO]); ([XO]|nobody) is to move\. (\w+) in a row wins\.")


def _cross(line: str, fill: str, margin: float) -> tuple[Polygon, ...]:
    a, b = margin, 1 - margin
    strokes = (((a, a), (b, b)), ((a, b), (b, a)))
    wide = tuple(Polygon(points=p, line=line, thick=0.2, closed=False) for p in strokes)
    return (*wide, *(Polygon(points=p, line=fill, thick=0.13, closed=False) for p in strokes))


tiles(
    {
        "plain": (
            Box(x=0, y=0, width=1, height=1, fill="sand"),
            Box(x=0.02, y=0.02, width=0.96, height=0.96, fill="floor", radius=0.05),
        ),
        "stone-X": _cross("navy", "blue", 0.24),
        "stone-O": (
            Disc(x=0.5, y=0.5, radius=0.33, line="rust", thick=0.19),
            Disc(x=0.5, y=0.5, radius=0.3, line="brick", thick=0.125),
        ),
        **{
            f"play-{sign}-{line}": (
                Box(x=0.06, y=0.06, width=0.88, height=0.88, fill="white", line="seam", thick=0.03, radius=0.15),
                Run(text=sign, x=0.3, y=0.5, size=0.5, color=color),
                Run(text=str(line), x=0.7, y=0.5, size=0.42, color="stone"),
            )
            for sign, color in (("X", "blue"), ("O", "brick"))
            for line in WORDS
        },
    }
)


@functools.lru_cache(maxsize=1024)
def _put(row: int, column: int) -> Move:
    return Move(name_of(row, column), (row, column))


@functools.lru_cache(maxsize=16)
def _middle(size: int) -> Ints:
    """The cells of a large board near its middle."""
    return tuple([c for c in range(size * size) if max(abs(2 * i - size + 1) for i in divmod(c, size)) <= 2 * REACH])


class RowLook:
    """Rows as `board.game.Look`. Knobs: `size`, `line`; `stones` to `stones + more` lie there at the start, on large boards in the
    middle; the side to move wins by threats that must be answered, in `low` to `high` own moves (`high` = 0: any position without
    a win at once, where the side to move is at least `lead` ahead at first sight, if there is such a knob).
    """

    def game(self, options: Ints) -> RowGame:
        return row_game(*options)

    def options(self, knobs: Mapping[str, Any]) -> Ints:
        size, line = knobs["size"], knobs["line"]
        if not 3 <= line <= min(size, 6) or size > LARGEST:
            raise QuintainError(
                f"size {size} and line {line} must be 3 <= line <= size <= {LARGEST}, and line at most 6"
            )
        return (size, line)

    def varied(self, knobs: Mapping[str, Any]) -> bool:
        return knobs["stones"] > 0

    def opening(self, rng: Rng, knobs: Mapping[str, Any]) -> Ints | None:
        game = row_game(knobs["size"], knobs["line"])
        count = knobs["stones"] + rng.below(knobs["more"] + 1)
        cells = rng.sample(range(game.cells) if game.size < LARGE else _middle(game.size), count)
        mine = sum(game.bits[c] for c in cells[: count // 2])
        yours = sum(game.bits[c] for c in cells[count // 2 :])
        if game.has_line(mine) or game.has_line(yours):
            return None
        return (mine, yours)

    def suits(self, position: Ints, knobs: Mapping[str, Any]) -> bool:
        game, (mine, yours) = row_game(knobs["size"], knobs["line"]), position
        low, high = knobs["low"], knobs["high"]
        threats = next((n for n in range(1, (high or 1) + 1) if game.forced(mine, yours, n, False)), 0)
        if not high:
            return not threats and game.peak(position) >= knobs.get("lead", -1)
        sooner = range(1, low)  # perhaps with moves that need no answer
        return threats >= max(low, 1) and not any(game.forced(mine, yours, n, n <= game.deep) for n in sooner)

    def layout(self, match: Match) -> str:
        size, _ = match.setup.options
        return canonical(_signs(match), size, size)

    def longest(self, match: Match) -> int:
        taken = match.position[0] | match.position[1]
        return match.setup.options[0] ** 2 - taken.bit_count()

    def caption(self, match: Match, me: int, level: int) -> str:
        size, line = match.setup.options
        signs = _signs(match)
        mover = SIGNS[match.mover] if row_game(size, line).worth(match.position) is None else "nobody"
        head = f"You play {SIGNS[me]}; {mover} is to move. {WORDS[line]} in a row wins."
        if level == 2:
            return f"{head}\n{framed(signs, size)}"
        stones = [f"{sign}: {', '.join(_where(signs, sign, size)) or 'none'}" for sign in SIGNS]
        return f"{head} {sized(size, size)} {'. '.join(stones)}."

    def rebuild(self, caption: str) -> Match:
        head, *lines = caption.split("\n")
        said, grid = _HEAD.fullmatch(head), unframed(lines)
        line = next((n for n, word in WORDS.items() if said and word == said[3]), 0)
        if not said or not grid or not line or len(grid[0]) != grid[1] ** 2 or set(grid[0]) - set(f"{SIGNS}."):
            raise QuintainError(f"this is no full caption of a game of rows: {caption[:60]!r}")
        signs, size = grid
        game = row_game(size, line)
        x, o = (sum(game.bits[c] for c, sign in enumerate(signs) if sign == side) for side in SIGNS)
        mover = SIGNS.index(said[2]) if len(said[2]) == 1 else next_side(game, (x, o), (o, x))
        return Match(Setup((size, line)), (o, x) if mover else (x, o), mover)

    def scene(self, match: Match, me: int) -> Scene:
        size, line = match.setup.options
        cells = ["plain" if sign == "." else f"plain+stone-{sign}" for sign in _signs(match)]
        return labelled(cells, size, f"play-{SIGNS[me]}-{line}")

    def static(self, match: Match, me: int) -> tuple[str, ...]:
        return (f"play-{SIGNS[me]}", f"line-{match.setup.options[1]}")

    def moving(self, match: Match) -> tuple[str, ...]:
        size = match.setup.options[0]
        names = names_of(size, size)
        return tuple([sign + name for sign, name in zip(_signs(match), names, strict=True) if sign != "."])

    def words(self, knobs: Mapping[str, Any], sides: int) -> tuple[str, ...]:
        names = names_of(knobs["size"], knobs["size"])
        fixed = [f"play-{sign}" for sign in SIGNS[:sides]]
        return (*names, *fixed, f"line-{knobs['line']}", *(sign + name for sign in SIGNS for name in names))

    def read(self, text: str) -> Move | None:
        text = _SIDE.sub("", text[:60], count=1)
        turned = _TURNED.fullmatch(text)
        cell = read_cell(f"{turned[2]}{turned[1]}" if turned else text)
        return replace(_put(*cell), named=True) if cell and turned else _put(*cell) if cell else None

    def move(self, index: int, options: Ints) -> Move:
        return _put(*divmod(index, options[0]))

    def index(self, move: Move, options: Ints) -> int:
        row, column = move.value
        return row * options[0] + column if max(row, column) < options[0] else -1


def _signs(match: Match) -> str:
    """The board row by row: X for the stones of side 0, O for those of side 1."""
    game = row_game(*match.setup.options)
    crosses, rings = match.position if match.mover == 0 else match.position[::-1]
    return "".join(["X" if crosses & bit else "O" if rings & bit else "." for bit in game.bits])


def _where(signs: str, sign: str, size: int) -> list[str]:
    return [name for name, s in zip(names_of(size, size), signs, strict=True) if s == sign]
