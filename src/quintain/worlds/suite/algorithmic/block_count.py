"""BlockCount: count the patches of each colour that are seen of stacked sheets."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import PARTIAL, SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import FOOT, SHEET, Canvas
from quintain.worlds.engines.geometry.figure import Things, Words, number_words, of
from quintain.worlds.engines.grid.hues import NAMES, mark
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Sprite

RULES = (
    """Sheets of coloured paper lie on a table, one over the other. One sees a grid of cells; a patch is a set of cells of one
colour that hang together by their sides. Count the patches of each colour, in the order of the colours asked for; the bare table (.)
does not count. A line `row 1 . g g b.` gives a row from the top, the full stop at its end aside, with g green, b blue, r red, y yellow,
p pink; `count g b` asks for green, then blue."""
    + PARTIAL
)
COLORS = {"g": "green", "b": "blue", "r": "brick", "y": "gold", "p": "plum"}
LEVELS = [
    {"size": n, "sheets": k, "colors": c}
    for n, k, c in (
        (5, 3, 2),
        (6, 5, 2),
        (7, 7, 3),
        (8, 9, 3),
        (9, 11, 3),
        (10, 14, 4),
        (11, 17, 4),
        (12, 20, 4),
        (13, 24, 5),
        (14, 28, 5),
    )
]


def _grid(things: Things) -> list[Words]:
    return [row[1:] for row in of(things, "row")]


def _patches(grid: Sequence[Sequence[str]]) -> dict[str, dict[int, int]]:
    """Patches of each colour, by first cell, and their sizes: every cell first stands alone; like ones side by side are joined."""
    size, wide = len(grid), len(grid[0])
    root = list(range(size * wide))

    def top(i: int) -> int:
        while root[i] != i:
            root[i] = i = root[root[i]]
        return i

    for y, x in itertools.product(range(size), range(wide)):
        for v, u in ((y, x + 1), (y + 1, x)):
            if v < size and u < wide and grid[v][u] == grid[y][x]:
                one, two = top(y * wide + x), top(v * wide + u)
                root[max(one, two)] = min(one, two)
    out: dict[str, dict[int, int]] = {}
    for i in range(size * wide):
        root[i] = first = root[root[i]]  # roots come first, so this one's is known
        if first == i:
            out.setdefault(grid[i // wide][i % wide], {})[i] = 0
        out[grid[i // wide][i % wide]][first] += 1
    return out


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    size, colors = knobs["size"], rng.sample(tuple(COLORS), knobs["colors"])
    grid = [["."] * size for _ in range(size)]
    for i in range(knobs["sheets"]):
        high, wide = (1 + rng.below(max(size // 2, 2)) for _ in range(2))
        y, x = rng.below(size - high + 1), rng.below(size - wide + 1)
        for row in grid[y : y + high]:
            row[x : x + wide] = [colors[i % len(colors)]] * wide
    found = _patches(grid)
    if any(c not in found for c in colors):
        return None
    return *(("row", str(y), *row) for y, row in enumerate(grid, 1)), ("count", *colors)


def _truth(things: Things) -> Words:
    found = _patches(_grid(things))
    return tuple(str(len(found.get(c, ()))) for c in of(things, "count")[0])


def _why(things: Things) -> str:
    grid = _grid(things)
    found, wide, out = _patches(grid), len(grid[0]), []
    for color in of(things, "count")[0]:
        patches = [f"({i // wide + 1},{i % wide + 1}) {n}" for i, n in found.get(color, {}).items()]
        out.append(f"{color}: {', '.join(patches) or 'none'}.")
    return f"Each patch by its first cell as (row,column), read line by line, and its number of cells. {' '.join(out)}"


def _paint(things: Things) -> Canvas:
    grid, colors = _grid(things), of(things, "count")[0]
    size = len(grid)
    canvas = Canvas(size, axes=False)
    for y, x in itertools.product(range(size), range(size)):
        px, py = canvas.at(x, size - y)
        fill, wide = COLORS.get(grid[y][x], "floor"), canvas.scale
        canvas.shapes.append(Box(x=px, y=py, width=wide + 0.04, height=wide + 0.04, fill=fill))
        if grid[y][x] in COLORS:
            canvas.shapes.append(mark(grid[y][x], px + wide / 2, py + wide / 2, wide))
        for here, there, box in (
            (grid[y][x], grid[y][x - 1] if x else "", Box(x=px - 0.03, y=py, width=0.06, height=wide, fill="ink")),
            (grid[y][x], grid[y - 1][x] if y else "", Box(x=px, y=py - 0.03, width=wide, height=0.06, fill="ink")),
        ):
            if there and here != there:
                canvas.shapes.append(box)
    _legend(canvas, colors)
    return canvas


def _legend(canvas: Canvas, colors: Words) -> None:
    """The question in the line at the bottom, each colour with its mark."""
    words = ["patches:", *(NAMES[c.upper()] for c in colors)]
    widths = [1.45, *(0.2 * len(word) + 0.5 for word in words[1:])]
    scale = min(1.0, (SHEET - 0.3) / sum(widths))
    x = SHEET / 2 - sum(widths) * scale / 2
    for word, wide, color in zip(words, widths, ("", *colors), strict=True):
        if color:
            canvas.shapes.append(Sprite(tile=f"field-{color.upper()}", x=x, y=FOOT - 0.17, size=0.34))
        canvas.put(word, x + scale * (wide / 2 + (0.15 if color else -0.1)), FOOT, 0.34 * scale, "slate")
        x += wide * scale


def _guess(things: Things, rng: Rng) -> Words:
    return tuple(str(1 + rng.below(5)) for _ in of(things, "count")[0])


@register("world", "BlockCount", domain="algorithmic", engine="geometry")
def block_count() -> AskWorld:
    """Count the patches of 2 to 5 colours that are seen of 3 to 28 stacked sheets."""
    facts = Facts(
        name="BlockCount",
        rules=RULES,
        answer="Write the counts in the order of the colours asked for.",
        example="3 2 4",
        ceilings={"random": 0.08, "constant": 0.1, "first": 0.1, "blind": 0.15},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="number", heads={head: head[0] for c in COLORS for head in (NAMES[c.upper()], c)}),
        labels=lambda things: of(things, "count")[0],
        lexicon=("row", "count", ".", *COLORS, *number_words(99)),
        paint=_paint,
        guess=_guess,
        near=True,
    )
