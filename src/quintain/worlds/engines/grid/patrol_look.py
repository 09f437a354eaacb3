"""Tiles of maps on which things move: tracks, cells in sight, guards and blocks."""

from __future__ import annotations

from quintain.worlds.art import tiles
from quintain.worlds.engines.grid.board import FLOOR, GOAL, WALL
from quintain.worlds.engines.grid.maps import ARROWS
from quintain.worlds.engines.grid.patrol import LINES, LIT, LIT_LINES
from quintain.worlds.engines.grid.sights import turned
from quintain.worlds.scene import Box, Disc, Polygon, Shape


def _guard(way: int) -> tuple[Shape, ...]:
    """Seen from above: shoulders, a cap, and its peak in the way it looks."""
    shoulders = turned(((0.32, 0.12), (0.56, 0.12), (0.62, 0.5), (0.56, 0.88), (0.32, 0.88)), way)
    peak = turned(((0.56, 0.24), (0.98, 0.5), (0.56, 0.76)), way)
    return (
        Polygon(points=shoulders, fill="navy", line="ink", thick=0.04),
        Polygon(points=peak, fill="gold", line="ink", thick=0.04),
        Disc(x=0.5, y=0.5, radius=0.25, fill="blue", line="ink", thick=0.04),
    )


def _block(way: int) -> tuple[Shape, ...]:
    arrow = turned(((0.22, 0.38), (0.5, 0.38), (0.5, 0.2), (0.82, 0.5), (0.5, 0.8), (0.5, 0.62), (0.22, 0.62)), way)
    return (
        Box(x=0.05, y=0.05, width=0.9, height=0.9, fill="plum", line="wine", thick=0.07, radius=0.1),
        Polygon(points=arrow, fill="white", line="wine", thick=0.04),
    )


def _line(upright: bool) -> tuple[Shape, ...]:
    dots = (0.12, 0.37, 0.63, 0.88)
    return tuple(Disc(x=0.5 if upright else d, y=d if upright else 0.5, radius=0.065, fill="cloud") for d in dots)


tiles(
    {
        "lit": (
            Box(x=0, y=0, width=1, height=1, fill="sand"),
            Box(x=0.03, y=0.03, width=0.94, height=0.94, fill="gold", radius=0.05),
        ),
        "track-0": _line(True),
        "track-1": _line(False),
        **{f"guard-{way}": _guard(way) for way in range(4)},
        **{f"block-{way}": _block(way) for way in range(4)},
    }
)
_UP, _ALONG = LINES[True], LINES[False]
_GROUND = {FLOOR: "floor", WALL: "wall", GOAL: "floor+goal", _UP: "floor+track-0", _ALONG: "floor+track-1"}
_TURNED = {sign: (way, f"floor+track-{way // 2}") for way, sign in enumerate(ARROWS)}
_LIGHT = {LIT: "lit", LIT_LINES[_UP]: "lit+track-0", LIT_LINES[_ALONG]: "lit+track-1"}
BLOCKS = {**_GROUND, **{sign: f"{under}+block-{way}" for sign, (way, under) in _TURNED.items()}}
GUARDS = {**_GROUND, **_LIGHT, **{sign: f"{under}+guard-{way}" for sign, (way, under) in _TURNED.items()}}
