"""Tiles of maps with lava, belts, portals, doors, guards, sliding blocks and fog."""

from __future__ import annotations

from quintain.worlds.art import tiles
from quintain.worlds.engines.grid import art
from quintain.worlds.engines.grid.maps import ARROWS
from quintain.worlds.scene import Box, Disc, Point, Polygon, Run, Shape

art.add()
RINGS = (
    *(("blue", "white"), ("brick", "white"), ("forest", "white"), ("gold", "ink"), ("wine", "white")),
    *(("sky", "ink"), ("slate", "white"), ("plum", "ink"), ("mint", "ink"), ("rust", "white")),
)


def turned(points: tuple[Point, ...], way: int) -> tuple[Point, ...]:
    """Points that are drawn for the way right, turned about the middle of the unit square to `way` (up, down, left, right).

    Example:
        >>> turned(((1.0, 0.5),), 0), turned(((1.0, 0.5),), 2)
        (((0.5, 0.0),), ((0.0, 0.5),))
    """
    along = ((0, -1), (0, 1), (-1, 0), (1, 0))[way]
    return tuple(
        (0.5 + (x - 0.5) * along[0] - (y - 0.5) * along[1], 0.5 + (x - 0.5) * along[1] + (y - 0.5) * along[0])
        for x, y in points
    )


def _belt(way: int) -> tuple[Shape, ...]:
    marks = [turned(((x, 0.26), (x + 0.22, 0.5), (x, 0.74)), way) for x in (0.2, 0.5)]
    rails = [turned(((0.0, y), (1.0, y)), way) for y in (0.07, 0.93)]
    return (
        Box(x=0, y=0, width=1, height=1, fill="cloud"),
        *(Polygon(points=p, line="slate", thick=0.1, closed=False) for p in rails),
        *(Polygon(points=p, line="white", thick=0.1, closed=False) for p in marks),
    )


def _portal(i: int) -> tuple[Shape, ...]:
    fill, ink = RINGS[i % len(RINGS)]
    return (
        Disc(x=0.5, y=0.5, radius=0.44, fill=fill, line="slate", thick=0.05),
        Run(text="abcdefghijklmnop"[i], x=0.5, y=0.44, size=0.68, color=ink),
    )


TILES: dict[str, tuple[Shape, ...]] = {
    "lava": (
        Box(x=0, y=0, width=1, height=1, fill="brick"),
        *(
            Polygon(
                points=tuple((x / 8, y + (0.06 if x % 4 == 1 else -0.06 if x % 4 == 3 else 0)) for x in range(9)),
                line="gold",
                thick=0.07,
                closed=False,
            )
            for y in (0.22, 0.52, 0.82)
        ),
        *(Disc(x=x, y=y, radius=0.05, fill="rust") for x, y in ((0.3, 0.37), (0.72, 0.67))),
    ),
    "shut": (
        Box(x=0, y=0, width=1, height=1, fill="slate"),
        Box(x=0.1, y=0.06, width=0.8, height=0.94, fill="wood", line="bark", thick=0.05, radius=0.05),
        *(Box(x=x, y=0.1, width=0.03, height=0.86, fill="bark") for x in (0.34, 0.62)),
        Disc(x=0.76, y=0.54, radius=0.07, fill="gold", line="bark", thick=0.03),
    ),
    **{f"belt-{way}": _belt(way) for way in range(4)},
    **{f"portal-{i}": _portal(i) for i in range(16)},
}
tiles(TILES)
BELTS = {sign: f"belt-{way}" for way, sign in enumerate(ARROWS)}
