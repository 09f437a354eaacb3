"""A Scene: a picture as data. One painter draws it for policies, the browser draws the same one for people.

Units are cells: the tile of row 0, column 0 covers (left, top)-(left + 1, top + 1). Colours are names of
`worlds.palette`, never numbers. A tile is a tuple of shapes in the unit square, known by name; engines add theirs with
`worlds.art.tiles`.
"""

from __future__ import annotations

from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle with its upper left corner at (x, y), corners rounded by `radius`; `fill` or `line` may be empty."""

    x: float
    y: float
    width: float
    height: float
    fill: str = ""
    line: str = ""
    thick: float = 0.04
    radius: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Disc:
    """A circle around (x, y); `fill` or `line` may be empty."""

    x: float
    y: float
    radius: float
    fill: str = ""
    line: str = ""
    thick: float = 0.04


@dataclass(frozen=True, slots=True, kw_only=True)
class Polygon:
    """An outline through `points`; `fill` or `line` may be empty; `closed=False` draws an open line."""

    points: tuple[Point, ...]
    fill: str = ""
    line: str = ""
    thick: float = 0.04
    closed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of text with its middle at (x, y) and letters `size` cells high."""

    text: str
    x: float
    y: float
    size: float = 0.5
    color: str = "ink"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sprite:
    """A tile drawn with its upper left corner at (x, y), `size` cells wide."""

    tile: str
    x: float
    y: float
    size: float = 1.0


Shape = Box | Disc | Polygon | Run | Sprite


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A grid of tiles with its upper left corner at (left, top), and shapes drawn over it in order.

    `cells` is row-major, `columns` wide; a cell names its layers from bottom to top, joined by `+`: `floor+key-gold`.
    An empty name leaves the background. The painter redraws only the cells that differ from the picture before, so put
    what moves into cells where it can be.
    """

    width: float
    height: float
    cells: tuple[str, ...] = ()
    columns: int = 0
    left: float = 0.0
    top: float = 0.0
    shapes: tuple[Shape, ...] = ()
    background: str = "paper"
