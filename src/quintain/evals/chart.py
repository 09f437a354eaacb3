"""Line charts, stacked areas and radars as inline SVG: small, self-contained, legible in light and dark."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDE, HIGH = 460, 220
ROUND, RINGS = 330, (0.25, 0.5, 0.75, 1.0)  # height of a radar, and its rings
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 10, 30
COLOURS = ("var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The plane of a chart: data ranges mapped on pixels."""

    x: tuple[float, float]
    y: tuple[float, float]

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Pixels of a data point."""
        across = (x - self.x[0]) / ((self.x[1] - self.x[0]) or 1.0)
        up = (y - self.y[0]) / ((self.y[1] - self.y[0]) or 1.0)
        return LEFT + across * (WIDE - LEFT - RIGHT), HIGH - BOTTOM - up * (HIGH - TOP - BOTTOM)


def smooth(values: Sequence[float], window: int) -> tuple[list[float], list[float]]:
    """Centred running mean and standard deviation over `window` points.

    Example:
        >>> smooth([0.0, 1.0, 2.0], 3)[0]
        [0.5, 1.0, 1.5]
    """
    half, means, spreads = window // 2, [], []
    for i in range(len(values)):
        cut = values[max(0, i - half) : i + half + 1]
        mean = sum(cut) / len(cut)
        means.append(mean)
        spreads.append(math.sqrt(sum((v - mean) ** 2 for v in cut) / len(cut)))
    return means, spreads


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between `low` and `high`.

    Example:
        >>> ticks(0.0, 1.0)
        [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    span = (high - low) or 1.0
    step = 10 ** math.floor(math.log10(span / most))
    step = next((step * m for m in (1, 2, 5, 10) if span / (step * m) <= most + 0.01), step * 10)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def brief(value: float) -> str:
    """A number for an axis.

    Example:
        >>> brief(12000.0), brief(5e-4), brief(3e-6)
        ('12k', '0.0005', '3e-06')
    """
    if value and abs(value) < 1e-4:  # the ticks of an axis are written alike where that is short
        return f"{value:.0e}"
    return f"{value / 1000:g}k" if abs(value) >= 10000 else f"{value:g}"


def _axes(frame: Frame, unit: str = "step") -> list[str]:
    out = []
    for v in ticks(*frame.y):
        _, y = frame.at(frame.x[0], v)
        out.append(f'<line class="grid" x1="{LEFT}" x2="{WIDE - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text class="tick" x="{LEFT - 6}" y="{y + 3.5:.1f}" text-anchor="end">{brief(v)}</text>')
    for v in filter(float.is_integer, map(float, ticks(*frame.x))):
        x, _ = frame.at(v, frame.y[0])
        out.append(f'<text class="tick" x="{x:.1f}" y="{HIGH - BOTTOM + 14}" text-anchor="middle">{brief(v)}</text>')
    out.append(f'<text class="tick" x="{WIDE - RIGHT}" y="{HIGH - 4}" text-anchor="end">{unit}</text>')
    return out


def _path(frame: Frame, xs: Sequence[float], ys: Sequence[float]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in (frame.at(a, b) for a, b in zip(xs, ys, strict=True)))


def lines(
    title: str,
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    marks: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    floor: float | None = None,
    unit: str = "step",
) -> str:
    """A chart of series (name -> xs, ys) as running means inside bands of one standard deviation, and marks as dots.

    A band ends at the lowest and the highest value of its series: no share below 0 is shown.

    Args:
        title: heading.
        series: one value a step.
        marks: few points, drawn as dots joined by a line.
        floor: the axis reaches down to it at least.
        unit: what the horizontal axis counts; whole numbers.
    """
    marks = marks or {}
    every = [v for xs, ys in (*series.values(), *marks.values()) for v in ys if math.isfinite(v)]
    across = [v for xs, _ in (*series.values(), *marks.values()) for v in xs]
    if not every:
        return ""
    low, high = min([*every, *([] if floor is None else [floor])]), max(every)
    pad = (high - low or abs(high)) * 0.06 or 1.0  # of nothing but 0
    frame = Frame(x=(min(across), max(across)), y=(low if low == floor else low - pad, high + pad))
    body = _axes(frame, unit)
    for colour, (xs, ys) in zip(COLOURS, series.values(), strict=False):
        mean, spread = smooth(ys, max(1, len(ys) // 15))
        upper = _path(frame, xs, [min(m + s, max(ys)) for m, s in zip(mean, spread, strict=True)])
        lower = _path(frame, xs[::-1], [max(m - s, min(ys)) for m, s in zip(mean, spread, strict=True)][::-1])
        body.append(f'<polygon fill="{colour}" opacity=".16" points="{upper} {lower}"/>')
        body.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{_path(frame, xs, mean)}"/>')
    for colour, (xs, ys) in zip(COLOURS[len(series) :], marks.values(), strict=False):
        body.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" stroke-dasharray="4 3" points="{_path(frame, xs, ys)}"/>'
        )
        body += [
            f'<circle r="3.5" fill="{colour}" cx="{x:.1f}" cy="{y:.1f}"/>'
            for x, y in (frame.at(a, b) for a, b in zip(xs, ys, strict=True))
        ]
    return _card(title, body, [*series, *marks])


def areas(title: str, xs: Sequence[float], series: Mapping[str, Sequence[float]]) -> str:
    """A stack of shares or durations over steps."""
    if not xs or not series:
        return ""
    smoothed = {k: smooth(v, max(1, len(xs) // 15))[0] for k, v in series.items()}
    total = [sum(v[i] for v in smoothed.values()) for i in range(len(xs))]
    frame = Frame(x=(min(xs), max(xs)), y=(0.0, max(total) or 1.0))
    body, below = [], [0.0] * len(xs)
    for colour, values in zip(COLOURS, smoothed.values(), strict=False):
        above = [b + v for b, v in zip(below, values, strict=True)]
        points = f"{_path(frame, xs, above)} {_path(frame, list(xs)[::-1], below[::-1])}"
        body.append(f'<polygon fill="{colour}" opacity=".8" points="{points}"/>')
        below = above
    return _card(title, [*body, *_axes(frame)], list(series))


def radar(title: str, axes: Sequence[str], series: Mapping[str, Sequence[float]]) -> str:
    """A star with one ray for each of `axes` (at least three), and a closed line for each of the series, values in [0, 1]."""
    if len(axes) < 3 or not series:
        return ""
    middle, height, reach = (WIDE / 2, ROUND / 2), ROUND, ROUND / 2 - 34

    def at(number: int, value: float) -> tuple[float, float]:
        turn = 2 * math.pi * number / len(axes)
        return middle[0] + reach * value * math.sin(turn), middle[1] - reach * value * math.cos(turn)

    def ring(values: Sequence[float]) -> str:
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(i, v) for i, v in enumerate(values)))

    body = [f'<polygon class="grid" fill="none" points="{ring([level] * len(axes))}"/>' for level in RINGS]
    for number, name in enumerate(axes):
        (x, y), (far, high) = at(number, 1.0), at(number, 1.12)
        side = "middle" if abs(far - middle[0]) < 8 else "start" if far > middle[0] else "end"
        body.append(f'<line class="grid" x1="{middle[0]}" y1="{middle[1]}" x2="{x:.1f}" y2="{y:.1f}"/>')
        body.append(
            f'<text class="tick" x="{far:.1f}" y="{high + 4:.1f}" text-anchor="{side}">{html.escape(name)}</text>'
        )
    for level in RINGS[:-1]:
        x, y = at(0, level)
        body.append(f'<text class="tick" x="{x + 4:.1f}" y="{y - 3:.1f}">{brief(level)}</text>')
    for colour, values in zip(COLOURS, series.values(), strict=False):
        body.append(
            f'<polygon fill="{colour}" fill-opacity=".12" stroke="{colour}" stroke-width="2" points="{ring(values)}"/>'
        )
        body += [
            f'<circle r="3" fill="{colour}" cx="{x:.1f}" cy="{y:.1f}"/>' for x, y in map(at, range(len(axes)), values)
        ]
    return _card(title, body, list(series), height)


def _card(title: str, body: Sequence[str], names: Sequence[str], height: float = HIGH) -> str:
    keys = "".join(
        f'<span><i style="background:{c}"></i>{html.escape(n)}</span>' for c, n in zip(COLOURS, names, strict=False)
    )
    svg = f'<svg viewBox="0 0 {WIDE} {height:g}" role="img" aria-label="{html.escape(title)}">{"".join(body)}</svg>'
    return f'<figure class="chart"><figcaption>{html.escape(title)}</figcaption>{svg}<div class="keys">{keys}</div></figure>'
