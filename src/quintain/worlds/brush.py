"""Draws shapes on an image. Text and rounded boxes are drawn once and stamped from then on."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

from quintain.worlds.art import shapes_of
from quintain.worlds.palette import rgb
from quintain.worlds.scene import Box, Disc, Polygon, Run, Shape, Sprite

Reach = tuple[float, float, float, float]
Stamp = tuple[Image.Image, int, int]


def draw(image: Image.Image, shapes: Sequence[Shape], unit: float, origin: tuple[float, float]) -> None:
    """Draw shapes on an image with one cell `unit` pixels wide and the point (0, 0) at `origin`."""
    x0, y0 = origin
    pen = ImageDraw.Draw(image)
    for shape in shapes:
        if isinstance(shape, Run):
            mask, left, top = text_mask(shape.text, _height(shape, unit))
            image.paste(rgb(shape.color), (round(x0 + shape.x * unit) + left, round(y0 + shape.y * unit) + top), mask)
        elif isinstance(shape, Polygon):
            _polygon(pen, shape, unit, origin)
        elif isinstance(shape, Disc):
            x, y, r = x0 + shape.x * unit, y0 + shape.y * unit, shape.radius * unit
            pen.ellipse((x - r, y - r, x + r, y + r), _color(shape.fill), _color(shape.line), _thick(shape, unit))
        elif isinstance(shape, Box):
            _box(image, pen, shape, unit, origin)
        elif isinstance(shape, Sprite):
            draw(image, shapes_of(shape.tile), unit * shape.size, (x0 + shape.x * unit, y0 + shape.y * unit))


def reach(shape: Shape, unit: float, origin: tuple[float, float]) -> Reach:
    """Left, top, right and bottom of what `draw` may touch, rather too far than too near."""
    x0, y0 = origin
    if isinstance(shape, Run):
        mask, left, top = text_mask(shape.text, _height(shape, unit))
        left, top = x0 + shape.x * unit + left, y0 + shape.y * unit + top
        return left - 2, top - 2, left + mask.width + 2, top + mask.height + 2
    if isinstance(shape, Polygon):
        xs, ys = [x for x, _ in shape.points], [y for _, y in shape.points]
        rim = _thick(shape, unit) + 2
        left, top = x0 + min(xs) * unit - rim, y0 + min(ys) * unit - rim
        return left, top, x0 + max(xs) * unit + rim, y0 + max(ys) * unit + rim
    if isinstance(shape, Disc):
        x, y, r = x0 + shape.x * unit, y0 + shape.y * unit, shape.radius * unit + 2
        return x - r, y - r, x + r, y + r
    left, top = x0 + shape.x * unit, y0 + shape.y * unit
    if isinstance(shape, Box):
        return left - 2, top - 2, left + shape.width * unit + 2, top + shape.height * unit + 2
    parts = [reach(part, unit * shape.size, (left, top)) for part in shapes_of(shape.tile)] or [(left, top, left, top)]
    return min(p[0] for p in parts), min(p[1] for p in parts), max(p[2] for p in parts), max(p[3] for p in parts)


def _box(image: Image.Image, pen: ImageDraw.ImageDraw, box: Box, unit: float, origin: tuple[float, float]) -> None:
    x, y = origin[0] + box.x * unit, origin[1] + box.y * unit
    right, bottom = max(x + box.width * unit - 1, x), max(y + box.height * unit - 1, y)
    thick = min(_thick(box, unit), int(min(right - x, bottom - y) + 2) // 2)  # Pillow draws thicker ones past the box
    if box.radius * unit < 0.5:
        pen.rectangle((x, y, right, bottom), _color(box.fill), _color(box.line), thick)
        return
    left, top = round(x), round(y)
    size = (round(right) - left, round(bottom) - top)
    plate, mask = _plate(image.mode, size, round(box.radius * unit), box.fill, box.line, thick)
    image.paste(plate, (left, top), mask)


@functools.lru_cache(maxsize=1024)
def _plate(
    mode: str, size: tuple[int, int], radius: int, fill: str, line: str, thick: int
) -> tuple[Image.Image, Image.Image]:
    """A box with round corners: its colours, and where they are."""
    right, bottom = size
    plate, mask = (Image.new(m, (right + 1, bottom + 1)) for m in (mode, "1"))
    edges = (0, 0, right, bottom)
    ImageDraw.Draw(plate).rounded_rectangle(edges, radius, _color(fill), _color(line), thick)
    ImageDraw.Draw(mask).rounded_rectangle(edges, radius, 1 if fill else None, 1 if line else None, thick)
    return plate, mask


def _polygon(pen: ImageDraw.ImageDraw, polygon: Polygon, unit: float, origin: tuple[float, float]) -> None:
    x0, y0 = origin
    points = [(x0 + x * unit, y0 + y * unit) for x, y in polygon.points]
    if polygon.fill:
        pen.polygon(points, rgb(polygon.fill))
    if not polygon.line:
        return
    thick = max(round(polygon.thick * unit), 1)
    if len(points) == 2:  # nothing is joined
        pen.line(points, rgb(polygon.line), thick)
        return
    ring = [*points, points[0], points[1]] if polygon.closed and len(points) > 2 else points
    pen.line(ring, rgb(polygon.line), thick, joint="curve")


def _color(name: str) -> tuple[int, int, int] | None:
    return rgb(name) if name else None


def _thick(shape: Box | Disc | Polygon, unit: float) -> int:
    return max(round(shape.thick * unit), 1) if shape.line else 0


def _height(run: Run, unit: float) -> int:
    return max(round(run.size * unit), 1)


@functools.lru_cache(maxsize=64)
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The typeface of all pictures, the one that comes with Pillow, with letters `size` pixels high."""
    return ImageFont.load_default(size)


@functools.lru_cache(maxsize=1024)
def text_mask(text: str, size: int) -> Stamp:
    """How much of each pixel a text covers, and where the image lies from the middle of the text.

    It is put together from words, and these from letters, which are drawn once: rasterizing takes far longer than pasting.
    """
    words = re.findall(r"\s|\S+", text)
    placed, x = [], 0
    for word, after in itertools.zip_longest(words, words[1:], fillvalue=""):
        mask, left, top = _word(word, size)
        placed.append((mask, x + left, top))
        x += _length(word, size) + _step(word[-1], after[:1], size)
    mask, left, top = _joined(placed)
    return mask, left - round(x / 2), top


@functools.lru_cache(maxsize=2048)
def _word(word: str, size: int) -> Stamp:
    """A word and where its image lies from its left end, at half the height of letters."""
    placed = []
    for i, letter in enumerate(word):
        mask, left, top = _letter(letter, size)
        placed.append((mask, _length(word[: i + 1], size) + left, top))
    return placed[0] if len(placed) == 1 else _joined(placed)


def _length(word: str, size: int) -> int:
    """How far the last letter of a word is from the first."""
    return sum([_step(one, two, size) for one, two in itertools.pairwise(word)])


def _joined(placed: Sequence[Stamp]) -> Stamp:
    """Several masks as one."""
    left, top = min((p[1] for p in placed), default=0), min((p[2] for p in placed), default=0)
    right = max((x + mask.width for mask, x, _ in placed), default=left + 1)
    bottom = max((y + mask.height for mask, _, y in placed), default=top + 1)
    out = Image.new("L", (right - left, bottom - top))
    for mask, x, y in placed:
        out.paste(255, (x - left, y - top), mask)  # not over the letter before, whose box may overlap
    return out, left, top


@functools.lru_cache(maxsize=4096)
def _letter(letter: str, size: int) -> Stamp:
    """A letter and where its image lies from the left end of its line, at half the height of letters."""
    box = font(size).getbbox(letter, anchor="lm")
    left, top, right, bottom = (int(edge) for edge in box)
    mask = Image.new("L", (max(right - left, 1), max(bottom - top, 1)))
    ImageDraw.Draw(mask).text((-left, -top), letter, 255, font(size), anchor="lm")
    return mask, left, top


@functools.lru_cache(maxsize=16384)
def _step(letter: str, after: str, size: int) -> int:
    """How far the letter after a letter is from it, in whole pixels, as this typeface is set."""
    face = font(size)
    return round(face.getlength(letter + after) - face.getlength(after))
