"""The tiles of the grid engine, as shapes in the unit square."""

from __future__ import annotations

from quintain.worlds.art import tiles
from quintain.worlds.scene import Box, Disc, Polygon, Run, Shape, Sprite

METALS = (("gold", "amber"), ("sky", "blue"), ("plum", "wine"))  # fill and line of keys a, b, c


def emblem(kind: int, x: float, y: float, r: float) -> tuple[Shape, ...]:
    """The mark of a key and its door: a circle, a square or a triangle, so that hue is never the only difference."""
    fill, line = METALS[kind]
    if kind == 0:
        return (Disc(x=x, y=y, radius=r, fill=fill, line=line, thick=0.05),)
    if kind == 1:
        return (Box(x=x - r, y=y - r, width=2 * r, height=2 * r, fill=fill, line=line, thick=0.05, radius=0.02),)
    points = ((x, y - 1.2 * r), (x + 1.15 * r, y + 0.8 * r), (x - 1.15 * r, y + 0.8 * r))
    return (Polygon(points=points, fill=fill, line=line, thick=0.05),)


def key(kind: int) -> tuple[Shape, ...]:
    """A key that lies flat, its bow in the shape of the emblem."""
    fill, line = METALS[kind]
    shaft = Box(x=0.38, y=0.46, width=0.46, height=0.09, fill=fill, line=line, thick=0.025)
    bits = tuple(Box(x=x, y=0.53, width=0.07, height=0.15, fill=fill, line=line, thick=0.025) for x in (0.62, 0.76))
    return (shaft, *bits, *emblem(kind, 0.29, 0.5, 0.17), Disc(x=0.29, y=0.51, radius=0.06, fill="floor", line=line))


def door(kind: int) -> tuple[Shape, ...]:
    """A shut door with the emblem of its key."""
    planks = tuple(Box(x=x, y=0.06, width=0.02, height=0.94, fill="bark") for x in (0.33, 0.65))
    return (
        Box(x=0, y=0, width=1, height=1, fill="slate"),
        Box(x=0.1, y=0.06, width=0.8, height=0.94, fill="wood", line="bark", thick=0.04, radius=0.05),
        *planks,
        *emblem(kind, 0.5, 0.46, 0.19),
        Disc(x=0.5, y=0.43, radius=0.05, fill="slate"),
        Polygon(points=((0.47, 0.44), (0.53, 0.44), (0.55, 0.57), (0.45, 0.57)), fill="slate"),
    )


def _walls() -> tuple[Shape, ...]:
    stones = ((0.0, 0.0, 0.56), (0.58, 0.0, 0.42), (0.0, 0.34, 0.28), (0.3, 0.34, 0.44), (0.76, 0.34, 0.24))
    stones += ((0.0, 0.68, 0.44), (0.46, 0.68, 0.54))
    blocks = tuple(Box(x=x, y=y, width=w, height=0.32, fill="stone", radius=0.03) for x, y, w in stones)
    lights = tuple(Box(x=x + 0.03, y=y + 0.03, width=w - 0.06, height=0.035, fill="cloud") for x, y, w in stones)
    return (Box(x=0, y=0, width=1, height=1, fill="slate"), *blocks, *lights)


WALKER: dict[str, tuple[Shape, ...]] = {
    "floor": (
        Box(x=0, y=0, width=1, height=1, fill="sand"),
        Box(x=0, y=0, width=0.96, height=0.96, fill="floor"),  # a line on two sides only, so that two do not meet
    ),
    "wall": _walls(),
    "player": (
        Disc(x=0.5, y=0.86, radius=0.2, fill="seam"),
        Polygon(
            points=((0.28, 0.88), (0.33, 0.6), (0.42, 0.5), (0.58, 0.5), (0.67, 0.6), (0.72, 0.88)),
            fill="brick",
            line="rust",
            thick=0.04,
        ),
        Disc(x=0.5, y=0.32, radius=0.19, fill="sand", line="rust", thick=0.04),
        Disc(x=0.43, y=0.31, radius=0.032, fill="ink"),
        Disc(x=0.57, y=0.31, radius=0.032, fill="ink"),
    ),
    "player-corner": (  # beside the letter that it stands on
        Disc(x=0.77, y=0.77, radius=0.23, fill="white", line="ink", thick=0.03),
        Sprite(tile="player", x=0.54, y=0.53, size=0.46),
    ),
    "goal": (
        Box(x=0.18, y=0.82, width=0.5, height=0.09, fill="forest", radius=0.04),
        Box(x=0.29, y=0.12, width=0.07, height=0.74, fill="ink", radius=0.03),
        Polygon(points=((0.36, 0.14), (0.84, 0.3), (0.36, 0.47)), fill="green", line="forest", thick=0.035),
    ),
    "ice": (
        Box(x=0, y=0, width=1, height=1, fill="frost"),
        Box(x=0.015, y=0.015, width=0.97, height=0.97, fill="ice", radius=0.05),
        Polygon(points=((0.14, 0.34), (0.34, 0.14)), line="white", thick=0.04, closed=False),
        Polygon(points=((0.62, 0.86), (0.86, 0.62)), line="white", thick=0.04, closed=False),
        Polygon(points=((0.74, 0.9), (0.9, 0.74)), line="white", thick=0.025, closed=False),
    ),
    "hole": (
        Disc(x=0.5, y=0.5, radius=0.39, fill="sky", line="white", thick=0.05),
        Disc(x=0.5, y=0.53, radius=0.33, fill="deep"),
    ),
    "door-open": (
        Box(x=0, y=0, width=0.12, height=1, fill="bark"),
        Box(x=0.88, y=0, width=0.12, height=1, fill="bark"),
        Box(x=0, y=0, width=1, height=0.09, fill="bark"),
    ),
    "tray": (
        Box(x=0, y=0, width=1, height=1, fill="paper"),
        Box(x=0.02, y=0.08, width=0.96, height=0.84, fill="white", line="seam", thick=0.03, radius=0.1),
    ),
    **{f"key-{kind}": key(kind) for kind in range(3)},
    **{f"door-{kind}": door(kind) for kind in range(3)},
}


def add() -> None:
    """Make the tiles known to painters."""
    tiles(WALKER)


def add_numbers() -> None:
    """Make the tiles of sliding numbers known to painters."""
    tiles(NUMBERS)


def _number(exponent: int, fill: str, ink: str) -> tuple[Shape, ...]:
    text = str(2**exponent)
    size = 0.5 if len(text) < 3 else 0.38 if len(text) == 3 else 0.3
    return (
        Box(x=0.05, y=0.05, width=0.9, height=0.9, fill=fill, radius=0.1),
        Run(text=text, x=0.5, y=0.5, size=size, color=ink),
    )


# pale to dark, so that the order of the numbers can be seen without reading them and without hue
SHADES = (
    *(("white", "ink"), ("sand", "ink"), ("gold", "ink"), ("amber", "ink"), ("brick", "white"), ("rust", "white")),
    *(("plum", "ink"), ("wine", "white"), ("sky", "ink"), ("blue", "white"), ("navy", "white"), ("slate", "white")),
)
NUMBERS: dict[str, tuple[Shape, ...]] = {
    "blank": (),
    "slot": (
        Box(x=0, y=0, width=1, height=1, fill="cloud"),
        Box(x=0.05, y=0.05, width=0.9, height=0.9, fill="seam", radius=0.1),
    ),
    **{f"num-{e}": _number(e, *SHADES[(e - 1) % len(SHADES)]) for e in range(1, 18)},
    **{
        f"goal-{e}": (
            Run(text="goal", x=0.5, y=0.2, size=0.2, color="stone"),
            Run(text=str(2**e), x=0.5, y=0.62, size=min(0.36, 1.6 / len(str(2**e))), color="ink"),
        )
        for e in range(1, 18)
    },
}
