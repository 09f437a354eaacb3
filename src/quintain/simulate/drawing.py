"""A small canvas that becomes an SVG or a PNG: rectangles, lines and words, in the colours of the project."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quintain.types import QuintainError

INK, SOFT, LINE, PAPER, CARD = "#1d2430", "#667085", "#e4e4de", "#fbfbf9", "#ffffff"
BLUE, BRICK, GREEN, PLUM, AMBER, SKY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"
SCALE = 2  # pixels of a PNG for each unit


class PictureError(QuintainError):
    """A picture was asked for under a name that is neither `.svg` nor `.png`."""


@dataclass(frozen=True, slots=True)
class Rect:
    """A filled rectangle, with rounded corners if `round` is above 0."""

    x: float
    y: float
    wide: float
    high: float
    colour: str
    round: float = 0.0


@dataclass(frozen=True, slots=True)
class Stroke:
    """A line through points."""

    points: tuple[tuple[float, float], ...]
    colour: str
    wide: float = 1.0


@dataclass(frozen=True, slots=True)
class Words:
    """A line of text; `anchor` is start, middle or end, and y its baseline."""

    x: float
    y: float
    text: str
    colour: str = INK
    size: float = 12.0
    anchor: str = "start"
    bold: bool = False


Shape = Rect | Stroke | Words


def blend(colour: str, share: float, ground: str = CARD) -> str:
    """`share` of a colour on a ground.

    Example:
        >>> blend("#000000", 0.5)
        '#808080'
    """
    one = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    two = [int(ground[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in zip(one, two, strict=True))


def write(path: str | Path, wide: float, high: float, shapes: Sequence[Shape], title: str) -> None:
    """Write a picture; the end of the name says what it becomes.

    Raises:
        PictureError: the name ends neither in `.svg` nor in `.png`.
    """
    target = Path(path)
    if target.suffix == ".svg":
        target.write_text(svg(wide, high, shapes, title))
    elif target.suffix == ".png":
        _png(target, wide, high, shapes)
    else:
        raise PictureError(f"{target} is no picture that can be written: end its name in .svg or .png")


def svg(wide: float, high: float, shapes: Sequence[Shape], title: str) -> str:
    """The picture as SVG text."""
    body = [f'<rect width="{wide:g}" height="{high:g}" fill="{CARD}"/>']
    for shape in shapes:
        if isinstance(shape, Rect):
            corner = f' rx="{shape.round:g}"' if shape.round else ""
            box = f'x="{shape.x:.2f}" y="{shape.y:.2f}" width="{shape.wide:.2f}" height="{shape.high:.2f}"'
            body.append(f'<rect {box} fill="{shape.colour}"{corner}/>')
        elif isinstance(shape, Stroke):
            points = " ".join(f"{x:.2f},{y:.2f}" for x, y in shape.points)
            body.append(
                f'<polyline points="{points}" fill="none" stroke="{shape.colour}" stroke-width="{shape.wide:g}"/>'
            )
        else:
            weight = ' font-weight="600"' if shape.bold else ""
            at = f'x="{shape.x:.2f}" y="{shape.y:.2f}" font-size="{shape.size:g}" text-anchor="{shape.anchor}"'
            body.append(f'<text {at} fill="{shape.colour}"{weight}>{html.escape(shape.text)}</text>')
    head = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" width="{wide:g}" height="{high:g}"'
    inner = "\n".join(body)
    return f'<svg {head} role="img" font-family="system-ui, sans-serif">\n<title>{html.escape(title)}</title>\n{inner}\n</svg>\n'


def _png(target: Path, wide: float, high: float, shapes: Sequence[Shape]) -> None:
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("RGB", (round(wide * SCALE), round(high * SCALE)), CARD)
    pen = ImageDraw.Draw(picture)
    for shape in shapes:
        if isinstance(shape, Rect):
            x, y = shape.x * SCALE, shape.y * SCALE
            box = (x, y, max(x, x + shape.wide * SCALE - 1), max(y, y + shape.high * SCALE - 1))
            if shape.round:
                pen.rounded_rectangle(box, shape.round * SCALE, fill=shape.colour)
            else:
                pen.rectangle(box, fill=shape.colour)
        elif isinstance(shape, Stroke):
            points = [(x * SCALE, y * SCALE) for x, y in shape.points]
            pen.line(points, fill=shape.colour, width=max(1, round(shape.wide * SCALE)))
        else:
            font = ImageFont.load_default(shape.size * SCALE)
            anchor = {"start": "ls", "middle": "ms", "end": "rs"}[shape.anchor]
            weight = 0.35 * SCALE if shape.bold else 0
            at = (shape.x * SCALE, shape.y * SCALE)
            pen.text(at, shape.text, fill=shape.colour, font=font, anchor=anchor, stroke_width=weight)
    picture.save(target)


def width_of(text: str, size: float) -> float:
    """About how wide a text is drawn."""
    return len(text) * size * 0.56
