"""Sliding blocks in a walled yard: cars that keep to their lines, or blocks that go either way; one of them must get out."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quintain.types import QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.directions import named_first
from quintain.worlds.engines.slide.blocks_make import (
    Node,
    Yard,
    block,
    corner,
    exit_of,
    near_of,
    packed,
    parked,
    size_of,
    slides,
)
from quintain.worlds.engines.slide.pose import Pose, along, budget, spread, trail
from quintain.worlds.kernel import Answer, Unknown, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Polygon, Run, Scene, Shape
from quintain.worlds.splits import canonical

NAMES = "abcdefghijklmnopq"
SIZES = ("1x1", "2x1", "1x2", "2x2", "3x1", "1x3")
HUES = ("sky", "gold", "green", "plum", "sand", "cloud", "mint", "amber", "frost", "wood")
ORACLE_NODES = 30_000
_WAY = r"[ ,:-]*(up|down|left|right|u|d|l|r)(?:wards?)?"
_UNIT = r"(?:cell|space|step|square)s?"
_COUNTS = {"one": "1", "two": "2", "three": "3", "four": "4"}
_TEXT = re.compile(
    rf"(?:move |slide )?(?:the )?(?:block |car )?([a-q])(?: moves)?(?: ([1-9])(?: {_UNIT})? )?{_WAY}"
    rf"(?:[ ,:]*(?:by )?([1-9]))?(?: {_UNIT})?",
    re.ASCII,
)
WAYS = {"u": "up", "d": "down", "l": "left", "r": "right"}


@functools.lru_cache(maxsize=1 << 13)
def yard_of(now: str) -> Yard:
    """What a position says: rows joined by `/`, the letter of a block on each of its cells, `a` the one to free."""
    rows = now.split("/")
    width, height, stride = len(rows[0]), len(rows), len(rows[0]) + 1
    spots: dict[str, list[tuple[int, int]]] = {}
    for y, row in enumerate(rows):
        for x, sign in enumerate(row):
            if sign != ".":
                spots.setdefault(sign, []).append((x, y))
    names = "".join(sorted(spots))
    masks = []
    for name in names:
        (x, y), (right, low) = spots[name][0], spots[name][-1]
        masks.append(block(x, y, right - x + 1, low - y + 1, stride, name == "a"))
    return Yard(width, height, names, tuple(masks))


def text_of(yard: Yard, masks: Node) -> str:
    """The position of these blocks, in the order of `yard.names`."""
    cells = ["."] * (yard.width * yard.height)
    for name, mask in zip(yard.names, masks, strict=True):
        (x, y), (wide, high) = corner(mask, yard.stride), size_of(mask)
        for at in range(y * yard.width + x, (y + high) * yard.width + x, yard.width):
            cells[at : at + wide] = name * wide
    signs = "".join(cells)
    return "/".join(signs[i : i + yard.width] for i in range(0, len(signs), yard.width))


def _lines(now: str) -> str:
    """The lengths of the cars in each row and each column, in their order."""
    yard = yard_of(now)
    cars = [(*corner(mask, yard.stride), *size_of(mask)) for mask in yard.masks]
    lines = sorted(("row", y, x, w) if w > h else ("column", x, y, h) for x, y, w, h in cars)
    return " ".join(f"{kind}{line}:{length}" for kind, line, _, length in lines)


@dataclass(frozen=True)
class Blocks:
    """Sliding blocks as `pose.Rules`.

    Knobs: `width`, `height`, `low` and `high` (moves of the shortest plan); `cars` (besides the one to free) and `nodes` (positions
    that they may reach, at most), or `singles` and `doubles` (blocks of one cell and of two).

    With `cars` a block is one cell wide, keeps to its line and leaves by the right end of its row; else a block of 2 x 2 cells
    leaves downwards, by the columns from `board` on.
    """

    cars: bool

    def _node(self, now: str) -> Node:
        """A position without names: blocks of one size may change places."""
        masks = yard_of(now).masks
        return masks if self.cars else tuple(sorted(masks))

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Pose | None:
        wide, high = knobs["width"], knobs["height"]
        at = (high - 1) // 2 if self.cars else rng.below(wide - 1)
        made = parked(rng, knobs, at) if self.cars else packed(rng, knobs, at)
        if made is None:
            return None
        main = 0 if self.cars else -1
        others = list(made[0][1:] if self.cars else made[0][:-1])
        rng.shuffle(others)
        yard = Yard(wide, high, NAMES[: len(others) + 1], (made[0][main], *others))
        return Pose(str(at), text_of(yard, yard.masks), budget(made[1]))

    def layout(self, pose: Pose) -> str:
        """Cars: what lies in each line, which no slide can change, or that upside down. Others: the board without names."""
        yard = yard_of(pose.now)
        if self.cars:
            return min(_lines(pose.now), _lines("/".join(reversed(pose.now.split("/")))))
        signs = ["."] * (yard.width * yard.height)
        for mask in yard.masks:
            (x, y), (w, h) = corner(mask, yard.stride), size_of(mask)
            for k in range(w * h):
                signs[(y + k // w) * yard.width + x + k % w] = str(w * 3 + h)
        return canonical(signs, yard.width, yard.height)

    def solved(self, board: str, now: str) -> bool:
        yard = yard_of(now)
        return yard.masks[0] == exit_of(yard[:2], int(board), self.cars)

    def options(self, board: str, now: str) -> list[tuple[str, str]]:
        yard = yard_of(now)
        out = []
        for i, new in slides(yard.masks, yard[:2], self.cars):
            (x, y), (right, low) = corner(yard.masks[i], yard.stride), corner(new, yard.stride)
            way = ("up" if low < y else "down") if right == x else "left" if right < x else "right"
            key = f"{yard.names[i]} {way} {abs(right - x) + abs(low - y)}"
            out.append((key, text_of(yard, (*yard.masks[:i], new, *yard.masks[i + 1 :]))))
        return out

    def answer(self, board: str, now: str) -> Answer:
        """A shortest plan, breadth first."""
        yard = yard_of(now)
        last, main = exit_of(yard[:2], int(board), self.cars), 0 if self.cars else -1
        near = near_of(yard[:2], self.cars)
        came, there, whole = spread([self._node(now)], near, ORACLE_NODES, lambda node: node[main] == last)
        if there is None:
            return Unsolvable("every position was seen") if whole else Unknown(len(came))
        return along(self, board, now, trail(came, there), self._node)

    def spell(self, text: str) -> str:
        told = " ".join([_COUNTS.get(word, word) for word in text.split(" ")])
        found = _TEXT.fullmatch(named_first(told))
        if not found or (found[2] and found[4]):
            return ""
        return f"{found[1]} {WAYS[found[3][0]]} {found[2] or found[4] or 1}"

    def caption(self, board: str, now: str, level: int) -> str:
        yard = yard_of(now)
        x, y = corner(yard.masks[0], yard.stride)
        if level == 1:
            what = f"{len(yard.names) - 1} other blocks; a is at row {y + 1}, column {x + 1}"
            return f"{what} of {yard.height} rows and {yard.width} columns."
        rows = [" ".join(row) for row in now.split("/")]
        if self.cars:
            rows[int(board)] += " >"
            return "\n".join(rows)
        marks = ["v" if int(board) <= c <= int(board) + 1 else "#" for c in range(yard.width)]
        return "\n".join([*rows, " ".join(marks)])

    def parse(self, caption: str) -> Pose:
        rows = [line.split(" ") for line in caption.split("\n")]
        if self.cars:
            marked = [y for y, row in enumerate(rows) if row[-1] == ">"]
            board = str(marked[0]) if marked else ""
            rows = [row[:-1] if row[-1] == ">" else row for row in rows]
        else:
            last = rows.pop()
            board = str(last.index("v")) if "v" in last else ""
        if not board or not rows or len({len(row) for row in rows}) != 1 or not any("a" in row for row in rows):
            raise QuintainError(f"this is no full caption of blocks: {caption[:60]!r}")
        return Pose(board, "/".join("".join(row) for row in rows))

    def static(self, board: str, now: str) -> tuple[str, ...]:
        yard = yard_of(now)
        sizes = [size_of(mask) for mask in yard.masks]
        return (f"exit:{board}", *[f"{n}:{w}x{h}" for n, (w, h) in zip(yard.names, sizes, strict=True)])

    def moving(self, board: str, now: str) -> tuple[str, ...]:
        yard = yard_of(now)
        at = [corner(mask, yard.stride) for mask in yard.masks]
        return tuple([f"{n}@{y}{x}" for n, (x, y) in zip(yard.names, at, strict=True)])

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        wide, high = knobs["width"], knobs["height"]
        names = NAMES[: 1 + (knobs["cars"] if self.cars else knobs["singles"] + knobs["doubles"])]
        places = [f"@{y}{x}" for y in range(high) for x in range(wide)]
        counts = [str(n) for n in range(1, max(wide, high))]
        kept = [*(f"exit:{n}" for n in range(max(wide, high))), *(f"{n}:{s}" for n in names for s in SIZES)]
        return (*names, *WAYS.values(), *counts, *kept, *(n + p for n in names for p in places))

    def scene(self, board: str, now: str) -> Scene:
        yard = yard_of(now)
        wide, high = yard.width, yard.height
        shapes = list(_walls(wide, high, int(board), self.cars))
        for i, (name, mask) in enumerate(zip(yard.names, yard.masks, strict=True)):
            (x, y), (w, h) = corner(mask, yard.stride), size_of(mask)
            x, y = x + (max(wide, high) + 1 - wide) / 2, y + (max(wide, high) + 1 - high) / 2
            shapes += _block(name, x, y, w, h, HUES[i % len(HUES)] if i else "brick")
        side = max(wide, high) + 1
        return Scene(
            width=side,
            height=side,
            left=(side - wide) / 2,
            top=(side - high) / 2,
            cells=("yard",) * (wide * high),
            columns=wide,
            shapes=tuple(shapes),
        )


@functools.lru_cache(maxsize=64)
def _walls(wide: int, high: int, exit_at: int, cars: bool) -> tuple[Shape, ...]:
    """The rim of the yard with its exit."""
    side = max(wide, high) + 1
    left, top = (side - wide) / 2, (side - high) / 2
    rim = Box(x=left - 0.2, y=top - 0.2, width=wide + 0.4, height=high + 0.4, line="slate", thick=0.2, radius=0.1)
    if cars:
        x, y = left + wide, top + exit_at
        gap = Box(x=x + 0.02, y=y, width=0.4, height=1, fill="paper")
        return rim, gap, Polygon(points=((x + 0.08, y + 0.25), (x + 0.38, y + 0.5), (x + 0.08, y + 0.75)), fill="brick")
    x, y = left + exit_at, top + high
    gap = Box(x=x, y=y + 0.02, width=2, height=0.4, fill="paper")
    return rim, gap, Polygon(points=((x + 0.6, y + 0.08), (x + 1.4, y + 0.08), (x + 1, y + 0.4)), fill="brick")


@functools.lru_cache(maxsize=4096)
def _block(name: str, x: float, y: float, wide: int, high: int, fill: str) -> tuple[Shape, ...]:
    return (
        Box(x=x + 0.05, y=y + 0.09, width=wide - 0.1, height=high - 0.12, fill="stone", radius=0.16),
        Box(
            x=x + 0.05,
            y=y + 0.04,
            width=wide - 0.1,
            height=high - 0.12,
            fill=fill,
            line="slate",
            thick=0.04,
            radius=0.16,
        ),
        Run(text=name, x=x + wide / 2, y=y + high / 2, size=0.55, color="white" if name == "a" else "ink"),
    )


tiles(
    {
        "yard": (
            Box(x=0, y=0, width=1, height=1, fill="seam"),
            Box(x=0.01, y=0.01, width=0.98, height=0.98, fill="floor"),
        )
    }
)
