"""What stands in the cells: boxes, balls and cones in six colours, each colour with a mark of its own, signs and hearts."""

from __future__ import annotations

import re
from typing import NamedTuple

from quintain.worlds.art import tiles
from quintain.worlds.scene import Box, Disc, Polygon, Shape

SHAPES = ("box", "ball", "cone")
COLOURS = ("blue", "green", "yellow", "orange", "purple", "white")
_INKS = (
    ("blue", "navy"),
    ("green", "forest"),
    ("gold", "rust"),
    ("brick", "rust"),
    ("wine", "ink"),
    ("white", "stone"),
)
MANY = len(SHAPES) * len(COLOURS)
HEART, SIGN = MANY, MANY + 1  # kinds above `SIGN` are signs that show kind - SIGN - 1; `SIGN` is one too far to be read
NAMES = (*(f"{c} {s}" for s in SHAPES for c in COLOURS), "heart", "sign")
KINDS = {name: i for i, name in enumerate(NAMES)}


_HANDLED = re.compile(
    r"(?:(take|pick up|grab)|(drop|put down|lay down)) (?:the |that |a )?((?:[a-z]+ )?(?:box|ball|cone|key)|heart|sign)"
)


class Handled(NamedTuple):
    """A move that names what it takes or drops."""

    verb: str
    thing: str

    def fits(self, name: str) -> bool:
        """Whether a thing with that name is the one: `key`, or which."""
        return self.thing in (name, name.rpartition(" ")[2])


def handling(text: str) -> Handled | None:
    """What a text takes or drops, if it names that.

    Example:
        >>> handling("pick up the blue key"), handling("take it")
        (Handled(verb='take', thing='blue key'), None)
    """
    said = _HANDLED.fullmatch(text)
    return Handled("take" if said[1] else "drop", said[3]) if said else None


def named(kind: int) -> str:
    """The name of a kind.

    Example:
        >>> named(1), named(SIGN), named(SIGN + 2), named(SIGN + 4)
        ('green box', 'sign', 'sign that shows a green box', 'sign that shows an orange box')
    """
    if kind <= SIGN:
        return NAMES[kind]
    name = NAMES[kind - SIGN - 1]
    return f"sign that shows a{'n' * name.startswith('o')} {name}"


def kind_of(name: str) -> int:
    """The kind that `named` calls so.

    Example:
        >>> kind_of("sign that shows a green box") == SIGN + 2
        True
    """
    sign, _, shown = name.partition(" that shows ")
    return SIGN + 1 + KINDS[shown.partition(" ")[2]] if shown else KINDS[sign]


def word(kind: int) -> str:
    """The name as one word."""
    return NAMES[kind].replace(" ", "-") if kind <= SIGN else f"sign:{word(kind - SIGN - 1)}"


def _mark(colour: int, y: float) -> tuple[Shape, ...]:
    ink = "ink" if colour in (2, 5) else "white"
    if colour == 0:
        return (Disc(x=0.5, y=y, radius=0.1, fill=ink),)
    if colour == 1:
        return (Box(x=0.36, y=y - 0.05, width=0.28, height=0.1, fill=ink),)
    if colour == 2:
        return (Polygon(points=((0.5, y - 0.13), (0.63, y + 0.1), (0.37, y + 0.1)), fill=ink),)
    if colour == 3:
        bars = ((0.46, y - 0.14, 0.08, 0.28), (0.36, y - 0.04, 0.28, 0.08))
        return tuple(Box(x=x, y=top, width=w, height=h, fill=ink) for x, top, w, h in bars)
    if colour == 4:
        return tuple(Box(x=x, y=y - 0.13, width=0.08, height=0.26, fill=ink) for x in (0.38, 0.54))
    return (Disc(x=0.5, y=y, radius=0.11, line=ink, thick=0.05),)


def _thing(kind: int) -> tuple[Shape, ...]:
    shape, colour = divmod(kind, len(COLOURS))
    fill, line = _INKS[colour]
    edge = (0.04, 0.2, 0.12)[shape]
    shadow = (Polygon(points=((edge, 1.0), (edge + 0.1, 0.93), (0.9 - edge, 0.93), (1 - edge, 1.0)), fill="bark"),)
    if shape == 0:
        top = Polygon(points=((0.1, 0.36), (0.22, 0.2), (0.78, 0.2), (0.9, 0.36)), fill=line, line=line, thick=0.02)
        front = Box(x=0.1, y=0.35, width=0.8, height=0.63, fill=fill, line=line, thick=0.05)
        return (*shadow, top, front, *_mark(colour, 0.66))
    if shape == 1:
        return (*shadow, Disc(x=0.5, y=0.6, radius=0.38, fill=fill, line=line, thick=0.05), *_mark(colour, 0.6))
    body = Polygon(points=((0.5, 0.08), (0.82, 0.96), (0.18, 0.96)), fill=fill, line=line, thick=0.05)
    return (*shadow, body, *_mark(colour, 0.74))


_HEART = (
    Disc(x=0.34, y=0.42, radius=0.21, fill="brick"),
    Disc(x=0.66, y=0.42, radius=0.21, fill="brick"),
    Polygon(points=((0.15, 0.51), (0.85, 0.51), (0.5, 0.94)), fill="brick"),
    Box(x=0.46, y=0.34, width=0.08, height=0.3, fill="white"),
    Box(x=0.35, y=0.45, width=0.3, height=0.08, fill="white"),
)
_POST = (
    Box(x=0.45, y=0.6, width=0.1, height=0.4, fill="bark"),
    Box(x=0.08, y=0.0, width=0.84, height=0.64, fill="paper", line="bark", thick=0.06, radius=0.05),
)


def tile_of(kind: int) -> str:
    """The tile of a kind; a sign's has no face."""
    return f"thing-{min(kind, SIGN)}"


tiles({tile_of(kind): _thing(kind) for kind in range(MANY)} | {tile_of(HEART): _HEART, tile_of(SIGN): _POST})
