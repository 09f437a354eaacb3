"""Draws scenes as raw pixels: a cached atlas of tiles, and only what changed since the last picture is painted anew."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image

from quintain.worlds.art import shapes_of
from quintain.worlds.brush import Reach, draw, reach
from quintain.worlds.palette import rgb
from quintain.worlds.scene import Scene, Shape

FINE = 4  # tiles are drawn this many times larger, then averaged down
TWICE = 2  # shapes over tiles are drawn this many times larger
MOST = 24  # places that changed; if there are more, the whole picture is painted
TESTS = 2000  # of a place that changed against a shape; if there were more, the whole picture is painted
CALL = 8000  # painting an area costs as much as this many pixels, however small it is

Area = tuple[int, int, int, int]  # left, top, right, bottom in pixels
WORTH = 8  # shapes that are drawn in less time than it takes to keep a picture of them
HEAVY, ENTRY = 1 << 23, 1000  # bytes that a thread remembers of pictures, and what each takes besides
SMALL = 1 << 14  # pixels of a part of a picture that is remembered
_scratch = threading.local()


class Backdrop(NamedTuple):
    """The shapes that the last whole picture of a thread began with and, if that one before did too, how they look."""

    frame: tuple[object, ...]
    shapes: tuple[Shape, ...]
    image: Image.Image | None


NO_BACKDROP = Backdrop((), (), None)


class Painter:
    """Paints the scenes of one episode after another, each as a read-only array [side, side, 3] uint8.

    Use one for each sequence of scenes: it keeps the last picture and repaints what differs. What a scene looks like
    does not depend on what was painted before.

    Args:
        side: width and height of the picture in pixels; a scene that is not square is centred on its background.
    """

    def __init__(self, side: int = 256) -> None:
        self.side = side
        self.frame: tuple[object, ...] = ()
        self.cells: tuple[str, ...] = ()
        self.shapes: tuple[Shape, ...] = ()
        self.reaches: list[Reach | None] = []  # of the shapes, where they were needed
        self.ground = self.picture = np.empty(0, np.uint8)
        self.corners: list[tuple[int, int]] = []
        self.unit = 0

    def paint(self, scene: Scene) -> np.ndarray:
        """The picture of a scene."""
        try:
            return self._paint(scene)
        except BaseException:  # what was painted is not known any more, so the next picture begins anew
            self.frame = ()
            raise

    def _paint(self, scene: Scene) -> np.ndarray:
        frame = (scene.width, scene.height, scene.columns, scene.left, scene.top, scene.background, len(scene.cells))
        fresh = frame != self.frame
        if fresh:
            self._fit(scene)
            self.frame = frame
        dirty = self._tiles(scene.cells)
        if fresh or not scene.shapes:
            self.picture, dirty = self.ground, []
        key = None if self.cells or not scene.shapes else (self.side, frame, *map(id, scene.shapes))
        known = kept().get(key) if key else None
        if known is not None:
            self.picture = known
            self.reaches = [None for _ in scene.shapes]
        else:
            dirty += [area for area in map(self.within, self._changed(scene.shapes)) if area]
            if dirty and scene.shapes:
                self._shapes(scene.shapes, dirty)
        if key:
            kept().put(key, self.picture, scene.shapes)
        self.shapes = scene.shapes
        return self.picture

    def within(self, place: Reach) -> Area | None:
        """The whole pixels of the picture that hold a place."""
        left, top = max(math.floor(place[0]), 0), max(math.floor(place[1]), 0)
        right, bottom = min(math.ceil(place[2]), self.side), min(math.ceil(place[3]), self.side)
        return (left, top, right, bottom) if left < right and top < bottom else None

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
        self.ground = plain(self.side, scene.background)
        self.background = scene.background
        self.cells = ("",) * len(scene.cells)
        self.shapes, self.reaches = (), []

    def _tiles(self, cells: tuple[str, ...]) -> list[Area]:
        """Bring the ground up to date; the areas where it changed."""
        old = self.cells
        if cells == old:
            return []
        pixels = self.ground.copy()
        unit, background = self.unit, self.background
        dirty: list[Area] = []
        for name, before, (y, x) in zip(cells, old, self.corners, strict=True):
            if name != before:
                pixels[y : y + unit, x : x + unit] = tile(name, unit, background)
                dirty.append((x, y, x + unit, y + unit))
        pixels.flags.writeable = False
        self.ground, self.cells = pixels, cells
        return dirty

    def _changed(self, shapes: tuple[Shape, ...]) -> list[Reach]:
        """The places where shapes came, went or changed."""
        old, n, start, end = self.shapes, min(len(shapes), len(self.shapes)), 0, 0
        while start < n and old[start] == shapes[start]:
            start += 1
        while end < n - start and old[-1 - end] == shapes[-1 - end]:
            end += 1
        gone, came = range(start, len(old) - end), range(start, len(shapes) - end)
        if gone == came:  # a change of one shape leaves those after it where they were
            gone = came = [i for i in came if old[i] != shapes[i]]
        before = self.reaches
        self.reaches = [*before[:start], *[None] * (len(shapes) - start - end), *before[len(old) - end :]]
        if len(gone) + len(came) > MOST:
            return [(0, 0, self.side, self.side)]
        places = [before[i] or self._reach(old[i]) for i in gone]
        for i in came:
            place = self.reaches[i] = self._reach(shapes[i])
            places.append(place)
        return places

    def _reach(self, shape: Shape) -> Reach:
        """Where a shape is, in pixels."""
        fine = reach(shape, self.unit * TWICE, (self.origin[0] * TWICE, self.origin[1] * TWICE))
        return fine[0] / TWICE, fine[1] / TWICE, fine[2] / TWICE, fine[3] / TWICE

    def _shapes(self, shapes: tuple[Shape, ...], dirty: list[Area]) -> None:
        """Paint the dirty places from the ground up, or all if they are many; those under no shape are the ground."""
        found = self._split(shapes, dirty)
        if found is None:
            self.picture = self._painted((0, 0, self.side, self.side), shapes)
            return
        bare, covered = found
        pixels = self.picture.copy()
        for left, top, right, bottom in bare:
            pixels[top:bottom, left:right] = self.ground[top:bottom, left:right]
        for area in covered:
            near = [shapes[i] for i in _meeting(area, self.reaches)]
            pixels[area[1] : area[3], area[0] : area[2]] = self._part(area, near)
        pixels.flags.writeable = False
        self.picture = pixels

    def _split(self, shapes: tuple[Shape, ...], areas: list[Area]) -> tuple[list[Area], list[Area]] | None:
        """Areas under no shape, and areas that cover the others; None if painting all is as cheap."""
        if len(areas) * len(shapes) > TESTS or (len(shapes) > MOST and self._most(merged(areas))):
            return None
        reaches = [of or self._reach(shape) for of, shape in zip(self.reaches, shapes, strict=True)]
        self.reaches = [*reaches]
        bare: list[Area] = []
        covered: list[Area] = []
        for area in areas:
            (covered if _meeting(area, reaches) else bare).append(area)
        if len(covered) > MOST or self._most(covered := merged(covered)):
            return None
        return bare, covered

    def _most(self, areas: list[Area]) -> bool:
        """Whether areas are so large that painting the whole picture is as cheap."""
        return sum(map(_size, areas)) > 0.6 * self.side**2

    def _part(self, area: Area, shapes: Sequence[Shape]) -> np.ndarray:
        """The pixels of one area, painted or, as captions and counters return, remembered."""
        if _size(area) > SMALL:
            return self._painted(area, shapes)
        ground = self.ground[area[1] : area[3], area[0] : area[2]].tobytes()
        key = (self.side, self.frame, area, ground, *shapes)
        known = kept().get(key)
        if known is None:
            known = self._painted(area, shapes)
        kept().put(key, known, ground=ground)
        return known

    def _painted(self, area: Area, shapes: Sequence[Shape]) -> np.ndarray:
        """The pixels of one area: the ground, and over it shapes. Around it the canvas is left with scraps of them."""
        canvas = canvas_of(self.side * TWICE)
        left, top, right, bottom = (edge * TWICE for edge in area)
        box = (left, top, right, bottom)
        if self.cells:
            ground = Image.fromarray(self.ground[area[1] : area[3], area[0] : area[2]])
            canvas.paste(ground.resize((right - left, bottom - top), Image.Resampling.NEAREST), (left, top))
        elif right - left < canvas.width or bottom - top < canvas.height:
            canvas.paste(rgb(self.background), box)
        else:
            shapes = shapes[self._backdrop(canvas, shapes) :]
        draw(canvas, shapes, self.unit * TWICE, (self.origin[0] * TWICE, self.origin[1] * TWICE))
        return pixels_of(canvas.reduce(TWICE, box))

    def _backdrop(self, canvas: Image.Image, shapes: Sequence[Shape]) -> int:
        """Put the background on a canvas, and the first shapes where whole pictures before began with the same objects.

        First-person views all begin with the same ground and sky, which are most of their shapes.

        Returns:
            How many shapes are drawn.
        """
        frame = (canvas.size, self.background, self.unit, self.origin)
        known: Backdrop = getattr(_scratch, "backdrop", NO_BACKDROP)
        old, same = known.shapes if known.frame == frame else (), 0
        while same < min(len(old), len(shapes)) and old[same] is shapes[same]:
            same += 1
        if known.image and same and same == len(old):
            canvas.paste(known.image)
            return same
        canvas.paste(rgb(self.background), (0, 0, *canvas.size))
        if same < WORTH:
            _scratch.backdrop = Backdrop(frame, tuple(shapes), None)
            return 0
        draw(canvas, shapes[:same], self.unit * TWICE, (self.origin[0] * TWICE, self.origin[1] * TWICE))
        _scratch.backdrop = Backdrop(frame, tuple(shapes[:same]), canvas.copy())
        return same


def painted(scene: Scene, side: int) -> np.ndarray:
    """The picture [side, side, 3] of a scene that belongs to no sequence, by this thread's own painter."""
    painter = getattr(_scratch, "painter", None)
    if painter is None or painter.side != side:
        painter = _scratch.painter = Painter(side)
    return painter.paint(scene)


def pixels_of(image: Image.Image) -> np.ndarray:
    """An image as a read-only array [height, width, 3]."""
    return np.frombuffer(image.tobytes("raw", "RGB"), np.uint8).reshape(image.height, image.width, 3)


@functools.lru_cache(maxsize=64)
def plain(side: int, background: str) -> np.ndarray:
    """A picture of nothing."""
    pixels = np.empty((side, side, 3), np.uint8)
    pixels[:] = rgb(background)
    pixels.flags.writeable = False
    return pixels


@functools.lru_cache(maxsize=4096)
def tile(name: str, unit: int, background: str) -> np.ndarray:
    """The pixels [unit, unit, 3] of a cell: its layers, joined by `+`, over the background."""
    image = Image.new("RGBA", (unit, unit), rgb(background))
    for layer in name.split("+") if name else ():
        image = Image.alpha_composite(image, _layer(layer, unit))
    return pixels_of(image)


@functools.lru_cache(maxsize=4096)
def _layer(name: str, unit: int) -> Image.Image:
    """One layer of a cell. Cells have few layers in many mixtures, so drawing each mixture anew would take far longer."""
    image = Image.new("RGBA", (unit * FINE, unit * FINE))
    draw(image, shapes_of(name), unit * FINE, (0.0, 0.0))
    return image.reduce(FINE)


class Kept:
    """A thread's last pictures and parts of pictures: who looks about sees the same again and again.

    Whole pictures of shapes over a plain background are found by which objects the shapes are, as comparing these takes long.
    Each lies beside its shapes, so that no other object takes their place in memory while it is kept.
    """

    def __init__(self) -> None:
        self.found: dict[Hashable, tuple[np.ndarray, tuple[Shape, ...], int]] = {}  # with the bytes that each takes
        self.size = 0

    def get(self, key: Hashable) -> np.ndarray | None:
        """The picture with this key."""
        known = self.found.get(key)
        return known[0] if known else None

    def put(self, key: Hashable, picture: np.ndarray, shapes: tuple[Shape, ...] = (), ground: bytes = b"") -> None:
        """Keep a picture with the objects and the ground that its key is made of, and of the others those asked for last."""
        if key in self.found:
            self.size -= self.found.pop(key)[2]
        weight = picture.nbytes + len(ground) + ENTRY
        self.found[key] = (picture, shapes, weight)
        self.size += weight
        while self.size > HEAVY:
            self.size -= self.found.pop(next(iter(self.found)))[2]


def kept() -> Kept:
    """What this thread remembers."""
    if not hasattr(_scratch, "kept"):
        _scratch.kept = Kept()
    return _scratch.kept


def canvas_of(side: int) -> Image.Image:
    """This thread's canvas, on which whatever was painted before is still to be seen."""
    canvas = getattr(_scratch, "canvas", None)
    if canvas is None or canvas.width != side:
        canvas = _scratch.canvas = Image.new("RGB", (side, side))
    return canvas


def merged(areas: Iterable[Area]) -> list[Area]:
    """Areas that cover those given; two whose common area is little larger are joined."""
    out: list[Area] = []
    for area in areas:
        i = 0
        while i < len(out):
            other = out[i]
            both = (*map(min, area[:2], other[:2]), *map(max, area[2:], other[2:]))
            if _size(both) <= _size(area) + _size(other) + CALL:
                area, i = both, 0
                out.remove(other)
            else:
                i += 1
        out.append(area)
    return out


def _meeting(area: Area, places: Sequence[Reach | None]) -> list[int]:
    """Which of the places that are known have pixels in common with an area."""
    left, top, right, bottom = area
    return [
        i for i, of in enumerate(places) if of and of[0] < right and of[2] > left and of[1] < bottom and of[3] > top
    ]


def _size(area: Area) -> int:
    return (area[2] - area[0]) * (area[3] - area[1])
