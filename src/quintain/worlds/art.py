"""Tile art as data: name -> shapes in the unit square. Engines add their tiles beside their code.

Use `tiles` at the top of an engine's art module; names are global, so the painter and the browser need nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping

from quintain.registry import UnknownName, unknown
from quintain.types import QuintainError
from quintain.worlds.scene import Shape

_tiles: dict[str, tuple[Shape, ...]] = {}


def tiles(art: Mapping[str, tuple[Shape, ...]]) -> None:
    """Add tiles by name.

    Raises:
        QuintainError: a name is taken by other shapes, or contains the layer sign `+`.
    """
    for name, shapes in art.items():
        if "+" in name or not name:
            raise QuintainError(f"tile name {name!r} is empty or contains '+', which separates layers; rename it")
        if _tiles.setdefault(name, shapes) != shapes:
            raise QuintainError(f"tile {name!r} is drawn twice, differently; rename one")


def shapes_of(name: str) -> tuple[Shape, ...]:
    """The shapes of a tile in the unit square, bottom first.

    Raises:
        UnknownName: no engine has added that tile.
    """
    if name not in _tiles:
        raise UnknownName(unknown("tile", name, _tiles))
    return _tiles[name]
