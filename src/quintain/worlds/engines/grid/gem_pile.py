"""Piles of gems that a few swaps clear altogether: the swaps are said at once and played one after the other."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.types import QuintainError
from quintain.worlds.cells import framed, labelled, name_of, names_of, read_cell, unframed
from quintain.worlds.engines.grid.gems import Cell, cleared, exchanged, fallen, marked, matching
from quintain.worlds.engines.grid.hues import EMPTY, HUES
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import Answer, Move, Plan, Unknown, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Run, Scene, Shape
from quintain.worlds.splits import symmetries

NEAR = 0.2  # what an answer may earn that leaves gems
SAYINGS = {
    "illegal": "These are more swaps than are allowed; none was made.",
    "remain": "{} gems remain.",
    "dud": "Swap {} exchanges nothing, or lies off the board.",
}
PROVEN = 3  # swaps up to which no fewer would do
LAYERS = 30  # tries to put one more match into a pile
_HELD = {EMPTY: "gap"}
_SAID, _LIMIT = "You said: ", "Swaps: at most "
_BETWEEN = re.compile(r"(?:[\s,;/()\[\]]|(?<!<)->|(?<!-)>|(?<=\s)-(?=\s)|\bthen\b)+")
_SWAPPED = re.compile(r"\s*(?:<->|↔|\bwith\b)\s*")
_BOTH = re.compile(r"\(\s*([a-z])(\d)\s*,\s*([a-z])(\d)\s*\)", re.ASCII)
_ONE = re.compile(r"\bswap\b(?=\s*[a-z]\d\s*(?:$|[,;]|then\b|<))", re.ASCII)
_TWO = re.compile(r"\bswap\s+([a-z])(\d)\s*(?:and\b|with\b|,|\s)\s*([a-z])(\d)\b", re.ASCII)
_ARROW = re.compile(r"(?<![>→])(?<![>→]\s)\b([a-z])(\d)\s*(?:->|→)\s*([a-z])(\d)\b(?!\s*(?:->|→))", re.ASCII)
_DIGITS = re.compile(r"[1-9][1-9]", re.ASCII)  # row and column
Columns = list[str]  # the gems of each column from the ground up


def _beside(two: re.Match[str]) -> str:
    """Two cells in a bracket or with an arrow between them as one swap, if they lie beside each other in a row."""
    one, row, other, same = two.groups()
    return f" {one}{row}<->{other}{same} " if row == same and abs(ord(one) - ord(other)) == 1 else two[0]


@dataclass(frozen=True, slots=True)
class Pile:
    """The state: a board row by row; how many swaps are allowed; the answer, once given; and swaps that clear it, unseen."""

    width: int
    cells: str
    limit: int
    said: str = ""
    way: tuple[Cell, ...] = ()


def board_of(columns: Columns, height: int) -> str:
    """The board row by row."""
    flat = "".join([column[:height].ljust(height, EMPTY) for column in columns])
    return "".join([flat[y::height] for y in reversed(range(height))])


@functools.lru_cache(maxsize=4096)
def _answer(swaps: tuple[Cell, ...]) -> Move:
    return Move(" ".join([name_of(*cell) for cell in swaps]), swaps)


def after(cells: str, width: int, cell: Cell) -> str | None:
    """The board when what a cell holds is exchanged with its right neighbour, and all has settled; None if that does nothing."""
    y, x = cell
    at = y * width + x
    if x >= width - 1 or at >= len(cells) or cells[at] == cells[at + 1]:
        return None
    return cleared(fallen(exchanged(cells, at, at + 1), width), width)


def played(cells: str, width: int, swaps: Sequence[Cell]) -> tuple[str, int]:
    """The board after some swaps, and the number of the first that does nothing, 0 if all do something."""
    for number, cell in enumerate(swaps, 1):
        new = after(cells, width, cell)
        if new is None:
            return cells, number
        cells = new
    return cells, 0


def explained(cells: str, width: int, swaps: Sequence[Cell]) -> str:
    """What vanishes after each swap, wave by wave, and how many gems are left then."""
    height, out = len(cells) // width, []
    for number, (y, x) in enumerate(swaps, 1):
        at, waves = y * width + x, list[str]()
        cells, one, other = fallen(exchanged(cells, at, at + 1), width), cells[at], cells[at + 1]
        while gone := matching(cells, width):
            lost = [c for c in range(len(cells)) if gone >> 3 * (len(cells) - 1 - c) & 1]
            signs = "".join(dict.fromkeys(cells[c] for c in lost))
            groups = [f"{s} {' '.join([names_of(width, height)[c] for c in lost if cells[c] == s])}" for s in signs]
            waves.append(f"{' and '.join(groups)} vanish")
            cells = fallen("".join([EMPTY if c in lost else sign for c, sign in enumerate(cells)]), width)
        swapped = f"{number}. {_HELD.get(one, one)} {name_of(y, x)} with {_HELD.get(other, other)} {name_of(y, x + 1)}"
        out.append(f"{swapped}: {', then '.join(waves) or 'nothing vanishes'}; {len(cells) - cells.count(EMPTY)} left.")
    return " ".join(out)


def clearing(cells: str, width: int, swaps: int) -> tuple[Cell, ...] | None:
    """So many swaps, at most, that clear the board, or None; looks at every way."""
    if not cells.strip(EMPTY):
        return ()
    if not swaps or any(0 < cells.count(sign) < 3 for sign in HUES):
        return None
    for at in range(len(cells)):
        new = after(cells, width, divmod(at, width))
        rest = None if new is None else clearing(new, width, swaps - 1)
        if rest is not None:
            return divmod(at, width), *rest
    return None


def _inserted(rng: Rng, columns: Columns, sign: str) -> tuple[Columns, list[Cell]]:
    """The columns with three gems more in a line, and where those are: (column, height)."""
    new = list(columns)
    if rng.below(3):
        x = rng.below(len(columns) - 2)
        y = rng.below(min(len(c) for c in columns[x : x + 3]) + 1)
        for column in (x, x + 1, x + 2):
            new[column] = new[column][:y] + sign + new[column][y:]
        return new, [(x + i, y) for i in range(3)]
    x = rng.below(len(columns))
    y = rng.below(len(columns[x]) + 1)
    new[x] = new[x][:y] + sign * 3 + new[x][y:]
    return new, [(x, y + i) for i in range(3)]


def _parted(rng: Rng, columns: Columns, match: Sequence[Cell]) -> Columns | None:
    """The columns with one gem of a match exchanged with, or set on top of, the column beside it."""
    x, y = rng.pick(match)
    to = x + rng.pick((-1, 1))
    if not 0 <= to < len(columns):
        return None
    new, sign = list(columns), columns[x][y]
    if y < len(columns[to]):
        new[x] = columns[x][:y] + columns[to][y] + columns[x][y + 1 :]
        new[to] = columns[to][:y] + sign + columns[to][y + 1 :]
    elif y == len(columns[x]) - 1:
        new[x], new[to] = columns[x][:-1], columns[to] + sign
    else:
        return None
    return new


def _numbers(swaps: Sequence[Cell], top: float) -> list[Shape]:
    """The numbers of swaps on a labelled board; those of the same two cells stand together."""
    out: list[Shape] = []
    for y, x in dict.fromkeys(swaps):
        text = ",".join([str(n) for n, cell in enumerate(swaps, 1) if cell == (y, x)])
        size = min(0.5, 1.2 / len(text))
        wide = 0.06 + 0.5 * size * len(text)
        out.append(Box(x=x + 2 - wide / 2, y=y + top + 1.26, width=wide, height=0.5, fill="white", radius=0.1))
        out.append(Run(text=text, x=x + 2, y=y + top + 1.53, size=size))
    return out


class PileGame:
    """The game of one pile; knobs: `width`, `height`, `colours`, `swaps`, and how many of their matches come as `chains`."""

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Pile | None:
        columns: Columns = [""] * knobs["width"]
        way: list[Cell] = []
        for layer in range(knobs["swaps"]):
            found = None
            for _ in range(LAYERS):
                found = self._layer(rng, columns, knobs, layer < knobs["chains"])
                if found:
                    break
            if not found:
                return None
            columns = found[0]
            way.insert(0, found[1])
        cells = board_of(columns, knobs["height"])
        if knobs["swaps"] <= PROVEN and clearing(cells, knobs["width"], knobs["swaps"] - 1) is not None:
            return None
        return Pile(knobs["width"], cells, knobs["swaps"], "", tuple(way))

    @staticmethod
    def _layer(rng: Rng, columns: Columns, knobs: Mapping[str, Any], chain: bool) -> tuple[Columns, Cell] | None:
        """Columns that one swap turns into the given ones, and that swap, or None: matches are put in, one is then parted."""
        width, height, before = knobs["width"], knobs["height"], board_of(columns, knobs["height"])
        match: list[Cell] = []
        for _ in range(1 + chain):
            columns, match = _inserted(rng, columns, rng.pick(HUES[: knobs["colours"]]))
        if chain and matching(board_of(columns, height), width).bit_count() > 3:
            return None  # the first match would go at once, not as a chain
        parted = _parted(rng, columns, match)
        if parted is None or max(map(len, parted)) >= height:
            return None
        cells = board_of(parted, height)
        if matching(cells, width):
            return None
        for x, y in [(x + d, y) for x, y in match for d in (0, -1)]:
            rows = {height - 1 - y, *[height - len(parted[c]) for c in (x, x + 1) if 0 <= c < width and parted[c]]}
            for row in sorted(rows):
                if x >= 0 and row < height and after(cells, width, (row, x)) == before:
                    return parted, (row, x)
        return None

    def layout(self, state: Pile) -> str:
        height, images = len(state.cells) // state.width, []
        for order in symmetries(state.width, height)[:2]:  # gems fall down: only the mirror image plays alike
            names = {EMPTY: EMPTY}
            images.append("".join([names.setdefault(state.cells[i], HUES[(len(names) - 1) % 6]) for i in order]))
        return f"{state.width} {min(images)}"

    def turns(self, state: Pile) -> int:
        return 1

    def mover(self, state: Pile) -> int:
        return -1 if state.said else 0

    def legal(self, state: Pile) -> tuple[Move, ...]:
        return ()

    def guess(self, state: Pile, rng: Rng) -> Move:
        cells, width = state.cells, state.width
        swaps = [divmod(i, width) for i in range(len(cells)) if (i + 1) % width and cells[i] != cells[i + 1]]
        return _answer(tuple([rng.pick(swaps) for _ in range(state.limit)]))

    def read(self, text: str) -> Move | None:
        out = []
        text = _ARROW.sub(
            _beside,
            _BOTH.sub(lambda two: two[0] if two[0] == text else _beside(two), _ONE.sub(" ", _TWO.sub(_beside, text))),
        )
        for part in _BETWEEN.split(_SWAPPED.sub("<->", text.strip(" ,;()[]"))):
            names = re.split(r"<?->?", part)
            cells = [(int(n[0]) - 1, int(n[1]) - 1) if _DIGITS.fullmatch(n) else read_cell(n) for n in names]
            if None in cells or len(cells) > 2:
                return None
            ends = sorted([c for c in cells if c])
            if len(ends) == 2 and ends[1] != (ends[0][0], ends[0][1] + 1):
                return None
            out.append(ends[0])
        return _answer(tuple(out)) if out else None

    def play(self, state: Pile, move: Move) -> After[Pile] | None:
        if len(move.value) > state.limit:
            return None
        cells, dud = played(state.cells, state.width, move.value)
        said = Pile(state.width, state.cells, state.limit, move.key, state.way)
        rest, gems = len(cells) - cells.count(EMPTY), len(cells) - state.cells.count(EMPTY)
        if dud:
            return After(said, (), True, ((f"dud:{dud}",),))
        if not rest:
            return After(said, (WON,), True)
        return After(said, ({"near": NEAR * (1 - rest / gems)},), True, ((f"remain:{rest}",),))

    def advise(self, state: Pile) -> Answer:
        if state.said:
            return Unsolvable("the episode is over")
        searched = clearing(state.cells, state.width, state.limit) if state.limit <= PROVEN and not state.way else ()
        way = state.way or searched  # what is made from a caption has none
        if not way:
            return Unsolvable("no swaps clear the board") if searched is None else Unknown(0)
        return Plan((_answer(way),), "construction", because=explained(state.cells, state.width, way))

    def caption(self, state: Pile, side: int, level: int) -> str:
        limit = f"{_LIMIT}{state.limit}"
        if level == 1:
            counts = {sign: state.cells.count(sign) for sign in HUES if sign in state.cells}
            return f"Gems: {', '.join(f'{n} {sign}' for sign, n in counts.items())}. {limit}."
        lines = [framed(state.cells, state.width), limit]
        return "\n".join([*lines, _SAID + state.said] if state.said else lines)

    def rebuild(self, caption: str, side: int) -> Pile:
        """See `World.rebuild`."""
        board, _, limit = caption.partition(f"\n{_LIMIT}")
        found = unframed(board.split("\n"))
        if found is None:
            raise QuintainError(f"this is no full caption of a pile: {caption[:60]!r}")
        limit, _, said = limit.partition(f"\n{_SAID}")
        return Pile(found[1], found[0], int(limit), said)

    def scene(self, state: Pile, side: int) -> Scene:
        board = labelled(["bed" if sign == EMPTY else f"bed+gem-{sign}" for sign in state.cells], state.width)
        top = board.width * 0.1
        text = f"at most {state.limit} swap{'s' if state.limit > 1 else ''}"
        shapes = [Run(text=text, x=board.width / 2, y=top * 0.55, size=top * 0.7, color="ink")]
        move = self.read(state.said) if state.said else None
        swaps = move.value if move else ()
        marks = [marked(0, y + top, x)[0] for y, x in dict.fromkeys(swaps)] + _numbers(swaps, top)
        return Scene(
            width=board.width,
            height=board.height + top,
            cells=board.cells,
            columns=board.columns,
            top=top,
            shapes=(*shapes, *marks),
        )

    def static(self, state: Pile, side: int) -> tuple[str, ...]:
        names = names_of(state.width, len(state.cells) // state.width)
        gems = [f"{sign}@{name}" for sign, name in zip(state.cells, names, strict=True) if sign != EMPTY]
        return (f"limit{state.limit}", *gems)

    def moving(self, state: Pile, side: int) -> tuple[str, ...]:
        return ("said", *state.said.split()) if state.said else ()

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        names = names_of(knobs["width"], knobs["height"])
        gems = [f"{sign}@{name}" for sign in HUES[: knobs["colours"]] for name in names]
        return ("said", f"limit{knobs['swaps']}", *names, *gems)
