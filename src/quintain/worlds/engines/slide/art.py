"""The tiles of the slide engine, as shapes in the unit square; ground, walls and player are the grid engine's."""

from __future__ import annotations

from quintain.worlds.art import tiles
from quintain.worlds.engines.grid.art import WALKER
from quintain.worlds.scene import Box, Disc, Polygon, Shape


def _box(fill: str, line: str) -> tuple[Shape, ...]:
    """A wooden crate seen from above: a frame, boards and a brace."""
    boards = tuple(Box(x=0.2, y=y, width=0.6, height=0.022, fill=line) for y in (0.385, 0.595))
    brace = Polygon(points=((0.22, 0.7), (0.3, 0.78), (0.78, 0.3), (0.7, 0.22)), fill=fill, line=line, thick=0.03)
    frame = Box(x=0.1, y=0.1, width=0.8, height=0.8, line=line, thick=0.05, radius=0.06)
    inner = Box(x=0.2, y=0.2, width=0.6, height=0.6, line=line, thick=0.03)
    return (Box(x=0.1, y=0.1, width=0.8, height=0.8, fill=fill, radius=0.06), *boards, brace, inner, frame)


CRATES: dict[str, tuple[Shape, ...]] = {
    "target": (
        Disc(x=0.5, y=0.5, radius=0.3, line="brick", thick=0.06),
        Disc(x=0.5, y=0.5, radius=0.12, fill="brick"),
    ),
    "box": _box("wood", "bark"),
    "box-home": (
        *_box("green", "forest"),
        Disc(x=0.5, y=0.5, radius=0.24, fill="white", line="forest", thick=0.04),
        Polygon(points=((0.38, 0.51), (0.47, 0.6), (0.63, 0.41)), line="forest", thick=0.07, closed=False),
    ),
}


def add() -> None:
    """Make the tiles known to painters."""
    tiles({name: WALKER[name] for name in ("floor", "wall", "player")})
    tiles(CRATES)
