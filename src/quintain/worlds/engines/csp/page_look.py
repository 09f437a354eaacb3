"""How a puzzle page looks: cells, borders of regions, clues in cells, between cells and beside the grid."""

from __future__ import annotations

import functools
import itertools
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from quintain.worlds.art import tiles
from quintain.worlds.cells import LETTERS
from quintain.worlds.engines.csp.page import BLANK, NONE, WALL, Lines, Page, Work, sign_of
from quintain.worlds.scene import Box, Disc, Polygon, Run, Scene, Shape

HUES = ("sky", "gold", "green", "brick", "plum", "blue", "rust", "forest", "amber", "wine", "cloud", "navy")
NOTE_LENGTHS = (20, 28, 40)  # letters after which a note is broken
WIDE_INK = ("white", "ink", "ink", "white", "ink", "white", "white", "white", "ink", "white", "ink", "white")


def _mark(name: str, shapes: Callable[[str], tuple[Shape, ...]]) -> None:
    tiles({f"printed-{name}": shapes("ink"), f"written-{name}": shapes("blue")})


def _star(color: str) -> tuple[Shape, ...]:
    outer = ((0.5, 0.14), (0.85, 0.4), (0.72, 0.82), (0.28, 0.82), (0.15, 0.4))
    inner = ((0.59, 0.4), (0.66, 0.57), (0.5, 0.67), (0.34, 0.57), (0.41, 0.4))
    points = tuple(p for pair in zip(outer, inner, strict=True) for p in pair)
    return (Polygon(points=points, fill=color),)


def _tent(color: str) -> tuple[Shape, ...]:
    return (
        Polygon(points=((0.5, 0.18), (0.88, 0.82), (0.12, 0.82)), fill=color),
        Polygon(points=((0.5, 0.45), (0.64, 0.82), (0.36, 0.82)), fill="white"),
    )


def _lamp(color: str) -> tuple[Shape, ...]:
    return (
        Disc(x=0.5, y=0.44, radius=0.27, fill="gold", line=color, thick=0.06),
        Box(x=0.4, y=0.7, width=0.2, height=0.16, fill=color),
    )


def _queen(color: str) -> tuple[Shape, ...]:
    points = ((0.16, 0.3), (0.34, 0.5), (0.5, 0.2), (0.66, 0.5), (0.84, 0.3), (0.76, 0.72), (0.24, 0.72))
    return Polygon(points=points, fill=color), Box(x=0.24, y=0.76, width=0.52, height=0.1, fill=color)


_mark("star", _star)
_mark("tent", _tent)
_mark("lamp", _lamp)
_mark("queen", _queen)
_mark("fill", lambda color: (Box(x=0.06, y=0.06, width=0.88, height=0.88, fill="stone" if color == "ink" else color),))
_mark("tint", lambda color: (Box(x=0.04, y=0.04, width=0.92, height=0.92, fill="frost" if color == "ink" else "sky"),))
_mark("disc", lambda color: (Disc(x=0.5, y=0.5, radius=0.34, fill=color),))
_mark(
    "none",
    lambda color: (
        Polygon(points=((0.38, 0.38), (0.62, 0.62)), line="cloud", thick=0.07, closed=False),
        Polygon(points=((0.62, 0.38), (0.38, 0.62)), line="cloud", thick=0.07, closed=False),
    ),
)
tiles(
    {
        "page": (
            Box(x=0, y=0, width=1, height=1, fill="cloud"),
            Box(x=0.015, y=0.015, width=0.97, height=0.97, fill="white"),
        ),
        "page-given": (
            Box(x=0, y=0, width=1, height=1, fill="cloud"),
            Box(x=0.015, y=0.015, width=0.97, height=0.97, fill="floor"),
        ),
        "page-wall": (Box(x=0, y=0, width=1, height=1, fill="slate"),),
        "page-tree": (
            Box(x=0.43, y=0.6, width=0.14, height=0.28, fill="bark"),
            Disc(x=0.5, y=0.42, radius=0.29, fill="forest"),
        ),
        "part-names": (Box(x=0.96, y=0, width=0.04, height=1, fill="cloud"),),
        "part-letters": (Box(x=0, y=0.96, width=1, height=0.04, fill="cloud"),),
        "rim-top": (Box(x=0, y=0, width=1, height=0.045, fill="ink"),),
        "rim-bottom": (Box(x=0, y=0.955, width=1, height=0.045, fill="ink"),),
        "rim-left": (Box(x=0, y=0, width=0.045, height=1, fill="ink"),),
        "rim-right": (Box(x=0.955, y=0, width=0.045, height=1, fill="ink"),),
        **{
            f"hue-{i}": (Box(x=0.015, y=0.015, width=0.97, height=0.97, fill=hue),)
            for i, hue in enumerate(("white", "ice", "sand", "mint", "seam", "paper"))
        },
    }
)


@functools.lru_cache(maxsize=8192)
def text_tile(kind: str, text: str) -> str:
    """The name of a tile with a text: `printed`, `written`, `corner` (small), `wall` (white), `beside`, `label` or `name`."""
    size, ink = {
        "printed": (0.66, "ink"),
        "written": (0.62, "blue"),
        "printed-low": (0.56, "ink"),
        "written-low": (0.56, "blue"),
        "corner": (0.31, "ink"),
        "wall": (0.6, "white"),
        "beside": (0.56, "ink"),
        "label": (0.5, "stone"),
        "name": (0.62, "stone"),
    }[kind]
    size = (
        size
        if kind == "corner" or (kind == "label" and len(text) < 3)
        else size * (1.0, 1.0, 0.82, 0.62, 0.5)[min(len(text), 4)]
    )
    x = 0.07 + 0.095 * len(text) if kind == "corner" else 0.5
    name = f"{kind}:{text.replace('+', 'p')}"
    tiles(
        {
            name: (
                Run(
                    text=text,
                    x=x,
                    y=0.21 if kind == "corner" else 0.62 if kind.endswith("low") else 0.51,
                    size=size,
                    color=ink,
                ),
            )
        }
    )
    return name


@functools.lru_cache(maxsize=2048)
def split_tile(label: str) -> str:
    """The name of a tile with the two sums of a wall: below its diagonal for down, above it for across."""
    down, _, across = label.partition("\\")
    name = f"split:{down}|{across}"
    shapes: list[Shape] = [Polygon(points=((0.04, 0.04), (0.96, 0.96)), line="cloud", thick=0.03, closed=False)]
    for text, x, y in ((down, 0.3, 0.72), (across, 0.7, 0.31)):
        if text:
            shapes.append(Run(text=text, x=x, y=y, size=0.42, color="white"))
    tiles({name: tuple(shapes)})
    return name


@functools.lru_cache(maxsize=256)
def pair_tile(sign: str, side: str) -> str:
    """The name of a tile with one half of a clue that lies on the `side` border of a cell."""
    x, y = {"right": (1.0, 0.5), "left": (0.0, 0.5), "bottom": (0.5, 1.0), "top": (0.5, 0.0)}[side]
    if sign == "~":
        shapes: tuple[Shape, ...] = (Disc(x=x, y=y, radius=0.13, fill="ink"),)
    else:
        along, way = side in ("left", "right"), 0.11 if sign == "<" else -0.11
        tip, wing = (way, 0.17) if along else (0.17, way)
        points = (
            ((x + tip, y - wing), (x - tip, y), (x + tip, y + wing))
            if along
            else ((x - tip, y + wing), (x, y - wing), (x + tip, y + wing))
        )
        shapes = (Polygon(points=points, line="brick", thick=0.08, closed=False),)
    name = f"pair-{side}:{sign}"
    tiles({name: shapes})
    return name


@dataclass(frozen=True, kw_only=True)
class Look:
    """How a kind of page is drawn.

    Attributes:
        mark: the tile of a marked cell, where answers name cells.
        regions: page -> a sign for each cell; thick lines part different ones.
        ground: sign of the ground -> layers.
        label: how clues in cells are written: `corner`, `printed`, `wall` or `split`; empty: not at all.
        layers: page -> further layers of each cell, below what is written.
        hued: values are colours, and cells with the same one look joined.
        bare: printed zeros in cells with something on the ground are not drawn.
        zeros: cells without a mark get a small cross.
        named: the letters of columns and the numbers of rows are large, as notes speak of them.
        notes: how notes are drawn, over the grid's lower margin or beside it: page -> (cells of room below, shapes).
    """

    mark: str = ""
    regions: Callable[[Page], str] | None = None
    ground: Mapping[str, str] = field(default_factory=dict)
    label: str = "corner"
    layers: Callable[[Page], Lines] | None = None
    hued: bool = False
    bare: bool = False
    zeros: bool = True
    named: bool = False
    notes: Callable[[Page], tuple[float, float, tuple[Shape, ...]]] | None = None


@dataclass(frozen=True, slots=True)
class Plate:
    """What of a picture does not change: tiles around and below, where the cells start, and shapes over them."""

    columns: int
    rows: int
    tiles: Lines
    places: tuple[int, ...]
    width: float
    height: float
    shapes: tuple[Shape, ...]
    tops: Lines


def scene_of(work: Work, look: Look, signs: Lines, plate: Plate) -> Scene:
    """The picture of a page as it is now."""
    out, given, low = list(plate.tiles), work.page.given, bool(work.page.labels) and look.label == "corner"
    ground = work.page.ground if look.bare else ""
    ends = dict(work.page.labels)  # of a hued page: a printed cell that is none looks like one that is written
    for c, (at, value, printed) in enumerate(zip(plate.places, work.cells, given, strict=True)):
        if value < 0 or (value == 0 and not look.zeros) or (ground and printed == 0 and ground[c] in look.ground):
            out[at] += plate.tops[c]
            continue
        out[at] = (
            f"{out[at]}+{_value_tile(look, value, signs, c in ends if look.hued else printed != BLANK, low)}{plate.tops[c]}"
        )
    return Scene(
        width=plate.width,
        height=plate.height,
        cells=tuple(out),
        columns=plate.columns,
        left=(plate.width - plate.columns) / 2,
        shapes=plate.shapes,
    )


def _value_tile(look: Look, value: int, signs: Lines, printed: bool, low: bool) -> str:
    if look.hued:
        return _hue_tile(value, signs[value] if signs else str(value), printed)
    kind = "printed" if printed else "written"
    if not look.mark:
        return text_tile(f"{kind}-low" if low else kind, sign_of(value, signs))
    return f"{kind}-{look.mark if value else 'none'}"


@functools.lru_cache(maxsize=256)
def _hue_tile(value: int, text: str, printed: bool) -> str:
    hue, ink = HUES[value % len(HUES)], WIDE_INK[value % len(HUES)]
    name = f"hue-{'end' if printed else 'way'}:{text}"
    if printed:
        shapes: tuple[Shape, ...] = (
            Disc(x=0.5, y=0.5, radius=0.38, fill=hue),
            Run(text=text, x=0.5, y=0.51, size=0.46, color=ink),
        )
    else:
        shapes = (
            Box(x=0.1, y=0.1, width=0.8, height=0.8, fill=hue, radius=0.2),
            Run(text=text, x=0.5, y=0.51, size=0.4, color=ink),
        )
    tiles({name: shapes})
    return name


def plate_of(page: Page, look: Look, signs: Lines) -> Plate:
    """The picture without what is written."""
    before, after = _depths(page)
    left, top = 1 + before[0], (page.height > 1) * 1 + before[1]
    top = top or 1
    columns, rows = left + page.width + after[0], top + page.height + after[1]
    out = [""] * (columns * rows)
    kind = "name" if look.named else "label"
    for x in range(page.width):
        out[(top - 1 - before[1]) * columns + left + x] = text_tile(kind, LETTERS[x]) + "+part-letters" * (
            before[1] > 0
        )
    for y in range(page.height if page.height > 1 else 0):
        out[(top + y) * columns] = text_tile(kind, str(y + 1)) + "+part-names" * (before[0] > 0)
    _place_sides(page, out, columns, (left, top))
    extra = look.layers(page) if look.layers else ("",) * len(page.given)
    regions = look.regions(page) if look.regions else ""
    labels = dict(page.labels)
    pairs: dict[int, str] = {}
    for a, b, sign in page.pairs:
        near, far = ("right", "left") if b == a + 1 else ("bottom", "top")
        pairs[a] = f"{pairs.get(a, '')}+{pair_tile(sign, near)}"
        pairs[b] = f"{pairs.get(b, '')}+{pair_tile(sign, far)}"
    tops: list[str] = []
    places = tuple((top + c // page.width) * columns + left + c % page.width for c in range(len(page.given)))
    for c, at in enumerate(places):
        out[at] = _cell(page, look, c) + "".join([f"+rim-{side}" for side in bounds(page, regions, c)]) + extra[c]
        tops.append(_label(look, labels.get(c, "")) + pairs.get(c, ""))
    wide, high, shapes = look.notes(page) if look.notes else (0.0, 0.0, ())
    return Plate(columns, rows, tuple(out), places, max(columns, wide), rows + high, shapes, tuple(tops))


def _depths(page: Page) -> tuple[tuple[int, int], tuple[int, int]]:
    """How many tiles clues take: (left, top), (right, bottom)."""
    deep = [max((line.count(",") + 1 for line in lines if line), default=0) for lines in page.sides] or [0] * 4
    return (deep[1], deep[0]), (deep[2], deep[3])


def _place_sides(page: Page, out: list[str], columns: int, corner: tuple[int, int]) -> None:
    left, top = corner
    for side, lines in zip("tlrb", page.sides, strict=False):
        for i, line in enumerate(lines):
            parts = line.split(",") if line else []
            for k, part in enumerate(parts):
                back = len(parts) - k
                x, y = {
                    "t": (left + i, top - back),
                    "l": (left - back, top + i),
                    "r": (left + page.width + k, top + i),
                    "b": (left + i, top + page.height + k),
                }[side]
                out[y * columns + x] = text_tile("beside", part)


def _label(look: Look, label: str) -> str:
    """The layer of a clue in a cell."""
    if not label or label == NONE or not look.label:
        return ""
    return f"+{split_tile(label) if look.label == 'split' else text_tile(look.label, label)}"


def _cell(page: Page, look: Look, c: int) -> str:
    ground = page.ground
    if page.given[c] == WALL:
        name = "page-wall"
    else:
        plain = look.hued or (look.bare and page.ground[c] in look.ground)
        name = "page-given" if page.given[c] != BLANK and not plain else "page"
    if ground and not look.regions:
        name += look.ground.get(ground[c], "")
    return name


def bounds(page: Page, regions: str, c: int) -> list[str]:
    """The sides of a cell at which the page ends or, where there are regions, another one begins."""
    width, (row, column) = page.width, divmod(c, page.width)
    sides = [("top", row > 0, -width), ("bottom", row < page.height - 1, width)]
    sides += [("left", column > 0, -1), ("right", column < width - 1, 1)]
    return [side for side, inside, step in sides if not inside or (regions and regions[c + step] != regions[c])]


def text_notes(page: Page) -> tuple[float, float, tuple[Shape, ...]]:
    """Notes as lines of text below the grid, in the columns, breaks and size in which they come out largest."""
    least, head = page.width + 1.5, page.height + 1.0
    best, found = 0.0, (least, 0.0, (["-"], 1, 0.5))
    broken = [[part for note in page.notes for part in textwrap.wrap(note, most)] for most in NOTE_LENGTHS]
    for columns, lines, tenths in itertools.product((1, 2), broken, range(4, 10)):
        size = tenths / 10
        rows = (len(lines) + columns - 1) // columns
        wide = max(least, (max(map(len, lines)) * 0.54 * size + 0.3) * columns)
        high = 1.24 * size * rows + 0.3
        seen = size / max(wide, head + high) * (1.0 if len(lines) == len(page.notes) else 0.85)
        if seen > best:
            best, found = seen, (wide, high, (lines, columns, size))
    wide, high, (lines, columns, size) = found
    rows, shapes = (len(lines) + columns - 1) // columns, []
    for i, line in enumerate(lines):
        column, row = divmod(i, rows)
        y = head + 0.1 + size * (0.8 + 1.24 * row)
        shapes.append(Run(text=line, x=wide * (column + 0.5) / columns, y=y, size=size))
    return wide, high, tuple(shapes)
