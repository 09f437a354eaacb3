"""What a sheet to fill in is made of: the printed cells, what was written into the others, and how both look."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from quintain.types import QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.cells import framed, labelled, names_of, unframed
from quintain.worlds.scene import Box, Run, Scene
from quintain.worlds.splits import symmetries

BLANK = "."
WROTE = "You wrote: "
DIGITS = "123456789"

tiles(
    {
        "sheet": (
            Box(x=0, y=0, width=1, height=1, fill="cloud"),
            Box(x=0.015, y=0.015, width=0.97, height=0.97, fill="white"),
        ),
        "sheet-given": (
            Box(x=0, y=0, width=1, height=1, fill="cloud"),
            Box(x=0.015, y=0.015, width=0.97, height=0.97, fill="floor"),
        ),
        "edge-top": (Box(x=0, y=0, width=1, height=0.045, fill="ink"),),
        "edge-bottom": (Box(x=0, y=0.955, width=1, height=0.045, fill="ink"),),
        "edge-left": (Box(x=0, y=0, width=0.045, height=1, fill="ink"),),
        "edge-right": (Box(x=0.955, y=0, width=0.045, height=1, fill="ink"),),
        **{f"given-{d}": (Run(text=d, x=0.5, y=0.51, size=0.72, color="ink"),) for d in DIGITS},
        **{f"entry-{d}": (Run(text=d, x=0.5, y=0.51, size=0.66, color="blue"),) for d in DIGITS},
    }
)


@dataclass(frozen=True)
class Form:
    """What is printed: a square of `size` x `size` cells, row by row, digits or `.` for a blank; and the turn budget."""

    size: int
    given: str
    budget: int = 1


@dataclass(frozen=True, slots=True)
class Sheet:
    """The state of a sheet: the form, and the cells as they are now, printed or written; `.` is still blank."""

    form: Form
    cells: str


def layout_of(sheet: Sheet) -> str:
    """The least text of the printed cells when turned, mirrored, and with digits renamed by first appearance."""
    size, given = sheet.form.size, sheet.form.given
    images = []
    for order in symmetries(size, size):
        names: dict[str, str] = {BLANK: BLANK}
        images.append("".join([names.setdefault(given[i], DIGITS[len(names) - 1]) for i in order]))
    return min(images)


def entries(sheet: Sheet) -> list[int]:
    """The cells that were written into, in order."""
    printed = sheet.form.given
    return [i for i, sign in enumerate(sheet.cells) if sign != BLANK and printed[i] == BLANK]


def full_caption(sheet: Sheet) -> str:
    """The grid with the names of rows and columns, and which cells were written."""
    grid = framed(sheet.cells, sheet.form.size)
    names = names_of(sheet.form.size, sheet.form.size)
    wrote = [f"{names[i]}={sheet.cells[i]}" for i in entries(sheet)]
    return f"{grid}\n{WROTE}{', '.join(wrote)}." if wrote else grid


def brief_caption(sheet: Sheet) -> str:
    """The size of the grid, and the names of its blank cells."""
    size = sheet.form.size
    blank = [name for name, sign in zip(names_of(size, size), sheet.cells, strict=True) if sign == BLANK]
    return f"A {size}x{size} grid. Blank cells: {', '.join(blank) or 'none'}."


def parse_caption(caption: str) -> Sheet:
    """The sheet with the given full caption.

    Raises:
        QuintainError: this is no such caption.
    """
    grid, _, wrote = caption.partition("\n" + WROTE)
    found = unframed(grid.split("\n"))
    if found is None or len(found[0]) != found[1] ** 2 or set(found[0]) - set(DIGITS[: found[1]] + BLANK):
        raise QuintainError(f"this is no full caption of a sheet: {caption[:60]!r}")
    cells, size = found
    names = names_of(size, size)
    written = {names.index(entry.partition("=")[0]) for entry in wrote.rstrip(".").split(", ") if entry}
    given = "".join(BLANK if i in written else sign for i, sign in enumerate(cells))
    return Sheet(Form(size, given), cells)


@functools.lru_cache(maxsize=32)
def _edges(regions: str, size: int) -> tuple[str, ...]:
    """For each cell the layers that draw a thick line where its region ends."""
    out = []
    for i, region in enumerate(regions):
        row, column = divmod(i, size)
        sides = (("top", row > 0, -size), ("bottom", row < size - 1, size), ("left", column > 0, -1))
        sides += (("right", column < size - 1, 1),)
        out.append("".join(f"+edge-{n}" for n, inside, step in sides if not inside or regions[i + step] != region))
    return tuple(out)


def scene_of(sheet: Sheet, regions: str) -> Scene:
    """The grid as tiles: printed digits dark on grey, written ones blue on white, thick lines round the regions."""
    size, printed = sheet.form.size, sheet.form.given
    cells = []
    for i, (sign, edge) in enumerate(zip(sheet.cells, _edges(regions, size), strict=True)):
        if sign == BLANK:
            cells.append(f"sheet{edge}")
        elif printed[i] == BLANK:
            cells.append(f"sheet{edge}+entry-{sign}")
        else:
            cells.append(f"sheet-given{edge}+given-{sign}")
    return labelled(cells, size)
