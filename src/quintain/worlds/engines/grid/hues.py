"""Six colours that games of gems, bubbles and floods share: a letter, a name, and a mark so that hue is never the only difference."""

from __future__ import annotations

import math

from quintain.worlds.art import tiles
from quintain.worlds.scene import Box, Disc, Polygon, Shape, Sprite

NAMES = {"R": "red", "B": "blue", "Y": "yellow", "G": "green", "P": "pink", "C": "cyan"}
HUES = "".join(NAMES)
EMPTY = "."
LEGEND = "R red, B blue, Y yellow, G green, P pink, C cyan"
_SPELT = {**{sign.lower(): sign for sign in HUES}, **{name: sign for sign, name in NAMES.items()}}
_INKS = {  # fill, line
    "R": ("brick", "rust"),
    "B": ("blue", "navy"),
    "Y": ("gold", "bark"),
    "G": ("green", "forest"),
    "P": ("plum", "wine"),
    "C": ("sky", "deep"),
}


def read_hue(text: str) -> str | None:
    """The letter of the colour that `text` names, or None.

    Example:
        >>> read_hue("red"), read_hue("R"), read_hue("mauve")
        ('R', 'R', None)
    """
    return _SPELT.get(text.strip().lower())


def _round(corners: int, radius: float, turn: float = 0.0, inner: float = 0.0) -> tuple[tuple[float, float], ...]:
    """The corners of a regular outline around (0.5, 0.5), the first at the top; a star where there is an inner radius."""
    many = corners * 2 if inner else corners
    out = []
    for i in range(many):
        far = inner if inner and i % 2 else radius
        angle = 2 * math.pi * i / many + turn
        out.append((round(0.5 + far * math.sin(angle), 4), round(0.5 - far * math.cos(angle), 4)))
    return tuple(out)


def _outline(sign: str, radius: float, fill: str, line: str, thick: float) -> Shape:
    """The shape that stands for a colour: disc, square, star, triangle, diamond or hexagon."""
    if sign == "R":
        return Disc(x=0.5, y=0.5, radius=radius * 0.92, fill=fill, line=line, thick=thick)
    if sign == "B":
        half = radius * 0.82
        return Box(
            x=0.5 - half, y=0.5 - half, width=2 * half, height=2 * half, fill=fill, line=line, thick=thick, radius=0.05
        )
    corners = {"Y": (5, 1.12, 0.0, 0.56), "G": (3, 1.1, 0.0, 0.0), "P": (4, 1.1, 0.0, 0.0), "C": (6, 1.0, 0.0, 0.0)}
    count, far, turn, inner = corners[sign]
    points = _round(count, radius * far, turn, radius * inner)
    if sign in "GY":  # their middle lies below the top corner's: centred by eye
        points = tuple([(x, y + radius * (0.18 if sign == "G" else 0.05)) for x, y in points])
    return Polygon(points=points, fill=fill, line=line, thick=thick)


def _field(sign: str) -> tuple[Shape, ...]:
    fill, line = _INKS[sign]
    return (
        Box(x=0, y=0, width=1, height=1, fill=fill),
        _outline(sign, 0.15, line, "", 0.0),
    )


def _ball(sign: str) -> tuple[Shape, ...]:
    fill, line = _INKS[sign]
    return (
        Disc(x=0.5, y=0.5, radius=0.46, fill=fill, line=line, thick=0.05),
        Disc(x=0.33, y=0.3, radius=0.07, fill="white"),
        _outline(sign, 0.17, line, "", 0.0),
    )


def _gem(sign: str) -> tuple[Shape, ...]:
    fill, line = _INKS[sign]
    return (_outline(sign, 0.36, fill, line, 0.05),)


def mark(sign: str, x: float, y: float, size: float) -> Sprite:
    """The mark of a colour around (x, y), two fifths of `size` wide."""
    return Sprite(tile=f"mark-{sign.upper()}", x=x - size / 2, y=y - size / 2, size=size)


tiles({f"field-{sign}": _field(sign) for sign in HUES})
tiles({f"mark-{sign}": (_outline(sign, 0.2, _INKS[sign][1], "", 0.0),) for sign in HUES})
tiles({f"ball-{sign}": _ball(sign) for sign in HUES})
tiles({f"gem-{sign}": _gem(sign) for sign in HUES})
tiles(
    {
        "bed": (
            Box(x=0, y=0, width=1, height=1, fill="seam"),
            Box(x=0.02, y=0.02, width=0.96, height=0.96, fill="white", radius=0.08),
        ),
        "spring": (Box(x=0.09, y=0.09, width=0.82, height=0.82, line="white", thick=0.09, radius=0.1),),
    }
)
