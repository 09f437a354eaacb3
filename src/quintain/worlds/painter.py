"""Draws scenes as raw pixels: a cached atlas of tiles, and only the tiles that changed since the last picture."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from quintain.worlds.art import shapes_of
from quintain.worlds.palette import rgb
from quintain.worlds.scene import Box, Disc, Polygon, Run, Scene, Shape, Sprite

FINE = 4  # shapes are drawn this many times larger, then averaged down


class Painter:
    """Paints the scenes of one episode after another, each as a read-only array [side, side, 3] uint8.

    Use one for each sequence of scenes: it keeps the last picture and repaints the cells that differ.

    Args:
        side: width and height of the picture in pixels; a scene that is not square is centred on its background.
    """

    def __init__(self, side: int = 256) -> None:
        self.side = side
        self.frame: tuple[object, ...] = ()
        self.cells: tuple[str, ...] = ()
        self.ground: np.ndarray | None = None
        self.corners: list[tuple[int, int]] = []
        self.unit = 0

    def paint(self, scene: Scene) -> np.ndarray:
        """The picture of a scene."""
        frame = (scene.width, scene.height, scene.columns, scene.left, scene.top, scene.background, len(scene.cells))
        if frame != self.frame or self.ground is None:
            self._fit(scene)
            self.frame = frame
        pixels = self._tiles(scene.cells)
        if not scene.shapes:
            return pixels
        return self._over(pixels, scene)

    def _fit(self, scene: Scene) -> None:
        self.unit = max(int(self.side / max(scene.width, scene.height)), 1)
        x0 = (self.side - int(scene.width * self.unit)) // 2
        y0 = (self.side - int(scene.height * self.unit)) // 2
        self.origin = (x0, y0)
        left, top = x0 + round(scene.left * self.unit), y0 + round(scene.top * self.unit)
        self.corners = [
            (top + i // scene.columns * self.unit, left + i % scene.columns * self.unit)
            for i in range(len(scene.cells))
        ]
        self.ground = np.empty((self.side, self.side, 3), np.uint8)
        self.ground[:] = rgb(scene.background)
        self.ground.flags.writeable = False
        self.background = scene.background
        self.cells = ("",) * len(scene.cells)

    def _tiles(self, cells: tuple[str, ...]) -> np.ndarray:
        old = self.cells
        if cells == old and self.ground is not None:
            return self.ground
        pixels = self.ground.copy()  # pyrefly: ignore
        unit, corners, background = self.unit, self.corners, self.background
        for i, name in enumerate(cells):
            if name != old[i]:
                y, x = corners[i]
                pixels[y : y + unit, x : x + unit] = tile(name, unit, background)
        pixels.flags.writeable = False
        self.ground, self.cells = pixels, cells
        return pixels

    def _over(self, pixels: np.ndarray, scene: Scene) -> np.ndarray:
        paint, cover = overlay(scene.shapes, self.side, self.unit, self.origin)
        out = (pixels + ((paint - pixels) * cover + 127) // 255).astype(np.uint8)
        out.flags.writeable = False
        return out


@functools.lru_cache(maxsize=4096)
def tile(name: str, unit: int, background: str) -> np.ndarray:
    """The pixels [unit, unit, 3] of a cell: its layers, joined by `+`, over the background."""
    size = unit * FINE
    image = Image.new("RGB", (size, size), rgb(background))
    pen = ImageDraw.Draw(image)
    for layer in name.split("+") if name else ():
        draw(pen, shapes_of(layer), size, (0.0, 0.0))
    return np.asarray(image.resize((unit, unit), Image.Resampling.BOX))


@functools.lru_cache(maxsize=64)
def overlay(shapes: tuple[Shape, ...], side: int, unit: int, origin: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Colours [side, side, 3] and cover [side, side, 1] in 0..255 of shapes that lie over the tiles."""
    fine = 2
    image = Image.new("RGBA", (side * fine, side * fine), (0, 0, 0, 0))
    draw(ImageDraw.Draw(image), shapes, unit * fine, (origin[0] * fine, origin[1] * fine))
    flat = np.asarray(image.resize((side, side), Image.Resampling.BOX))
    return flat[..., :3].astype(np.int32), flat[..., 3:].astype(np.int32)


def draw(pen: ImageDraw.ImageDraw, shapes: Sequence[Shape], unit: float, origin: tuple[float, float]) -> None:
    """Draw shapes with one cell `unit` pixels wide and the point (0, 0) at `origin`."""
    x0, y0 = origin
    for shape in shapes:
        if isinstance(shape, Box):
            _box(pen, shape, unit, origin)
        elif isinstance(shape, Disc):
            x, y, r = x0 + shape.x * unit, y0 + shape.y * unit, shape.radius * unit
            pen.ellipse((x - r, y - r, x + r, y + r), _color(shape.fill), _color(shape.line), _thick(shape, unit))
        elif isinstance(shape, Polygon):
            _polygon(pen, shape, unit, origin)
        elif isinstance(shape, Run):
            at = (x0 + shape.x * unit, y0 + shape.y * unit)
            pen.text(at, shape.text, rgb(shape.color), font(max(round(shape.size * unit), 1)), anchor="mm")
        elif isinstance(shape, Sprite):
            draw(pen, shapes_of(shape.tile), unit * shape.size, (x0 + shape.x * unit, y0 + shape.y * unit))


def _box(pen: ImageDraw.ImageDraw, box: Box, unit: float, origin: tuple[float, float]) -> None:
    x, y = origin[0] + box.x * unit, origin[1] + box.y * unit
    edges = (x, y, max(x + box.width * unit - 1, x), max(y + box.height * unit - 1, y))
    pen.rounded_rectangle(edges, box.radius * unit, _color(box.fill), _color(box.line), _thick(box, unit))


def _polygon(pen: ImageDraw.ImageDraw, polygon: Polygon, unit: float, origin: tuple[float, float]) -> None:
    points = [(origin[0] + x * unit, origin[1] + y * unit) for x, y in polygon.points]
    if polygon.fill:
        pen.polygon(points, rgb(polygon.fill))
    if polygon.line:
        ring = [*points, points[0], points[1]] if polygon.closed and len(points) > 2 else points
        pen.line(ring, rgb(polygon.line), max(_thick(polygon, unit), 1), joint="curve")


def _color(name: str) -> tuple[int, int, int] | None:
    return rgb(name) if name else None


def _thick(shape: Box | Disc | Polygon, unit: float) -> int:
    return max(round(shape.thick * unit), 1) if shape.line else 0


@functools.lru_cache(maxsize=64)
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The typeface of all pictures, the one that comes with Pillow, with letters `size` pixels high."""
    return ImageFont.load_default(size)
