"""Pictures of claims: published against simulated, and what a simulated figure hangs on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from quintain.evals.chart import brief, ticks
from quintain.simulate import drawing
from quintain.simulate.claims import Row, Swing
from quintain.simulate.drawing import BLUE, BRICK, GREEN, INK, LINE, SOFT, Rect, Shape, Stroke, Words, blend

WIDE, LEFT, RIGHT, TOP, ROW = 760.0, 190.0, 40.0, 84.0, 22.0


def tornado(path: str | Path, row: Row, base: float, swings: Sequence[Swing], most: int = 10) -> None:
    """Draw how far each lever moves the ratio of a claim when its numbers are halved (orange) and doubled (blue).

    Args:
        path: where to write, `.svg` or `.png`.
        row: the claim, whose published range is drawn as a band with its tolerance.
        base: the ratio with nothing changed.
        swings: from `claims.tornado`.
        most: levers shown.
    """
    shown = [s for s in swings if s.width > 0.005 or s.halved != base][:most]
    slack = row.paper.tolerance
    band = (row.claim.low * (1 - slack), row.claim.high * (1 + slack))
    values = [base, *band, *(v for s in shown for v in (s.halved, s.doubled))]
    low, high = min(values), max(values)
    pad = 0.05 * (high - low)
    span = (low - pad, high + pad)
    bottom = TOP + ROW * len(shown)
    shapes: list[Shape] = [Words(24, 34, f"{row.paper.name}: {row.claim.name}", INK, 15, bold=True)]
    shapes.append(
        Words(24, 54, "ratio when the numbers of one thing are halved or doubled, in both runs alike", SOFT, 11.5)
    )
    x0, x1 = _x(band[0], span), _x(band[1], span)
    shapes.append(Rect(x0, TOP - 8, x1 - x0, bottom - TOP + 12, blend(GREEN, 0.16)))
    if row.claim.low == row.claim.high:
        at = _x(row.claim.low, span)
        shapes.append(Stroke(((at, TOP - 8), (at, bottom + 4)), GREEN, 1.2))
    for v in ticks(*span, 6):
        shapes.append(Stroke(((_x(v, span), TOP - 8), (_x(v, span), bottom + 4)), LINE, 0.6))
        shapes.append(Words(_x(v, span), bottom + 20, brief(v), SOFT, 10.5, "middle"))
    for i, swing in enumerate(shown):
        y = TOP + i * ROW
        shapes.append(Words(LEFT - 10, y + 13, swing.lever, INK, 11.5, "end"))
        both = [(swing.halved, BRICK), (swing.doubled, BLUE)]
        for value, colour in sorted(both, key=lambda pair: -abs(pair[0] - base)):  # the shorter one on top
            a, b = sorted((_x(base, span), _x(value, span)))
            shapes.append(Rect(a, y + 3, max(0.8, b - a), ROW - 8, colour, 1.5))
    at = _x(base, span)
    shapes.append(Stroke(((at, TOP - 8), (at, bottom + 4)), INK, 1.2))
    entries = [
        ("halved", BRICK),
        ("doubled", BLUE),
        ("as in the file", INK),
        (f"published, within {slack:.0%}", blend(GREEN, 0.4)),
    ]
    _finish(path, shapes, bottom + 44, entries, f"What the figure of {row.paper.name} hangs on")


def scorecard(path: str | Path, rows: Sequence[Row]) -> None:
    """Draw every claim's published figure with its tolerance, and the simulated one as a dot: green inside, orange outside."""
    top = max(max(r.simulated, r.claim.high * (1 + r.paper.tolerance)) for r in rows)
    span = (0.0, min(top, 8.0) * 1.04)
    left = 396.0  # the longest name fits
    bottom = TOP + ROW * len(rows)
    shapes: list[Shape] = [Words(24, 34, "Published and simulated", INK, 15, bold=True)]
    shapes.append(Words(24, 54, "times faster, or better used, than the paper's baseline", SOFT, 11.5))
    for v in ticks(*span, 8):
        at = _x(v, span, left)
        shapes.append(Stroke(((at, TOP - 8), (at, bottom + 4)), LINE, 0.6))
        shapes.append(Words(at, bottom + 20, brief(v), SOFT, 10.5, "middle"))
    for i, row in enumerate(rows):
        y, slack = TOP + i * ROW, row.paper.tolerance
        name = row.claim.name.split(" (")[0]
        shapes.append(Words(left - 12, y + 13, f"{row.paper.name}: {_cut(name, 58)}", INK, 10.5, "end"))
        a, b = _x(row.claim.low * (1 - slack), span, left), _x(row.claim.high * (1 + slack), span, left)
        shapes.append(Rect(a, y + 3, b - a, ROW - 8, blend(GREEN, 0.22), 3))
        c, d = _x(row.claim.low, span, left), _x(row.claim.high, span, left)
        shapes.append(Rect(c - 1, y + 3, d - c + 2, ROW - 8, blend(GREEN, 0.75)))
        beyond = row.simulated > span[1]
        at = _x(min(row.simulated, span[1]), span, left)
        shapes.append(Rect(at - 6, y + 4, 12, 12, GREEN if row.hit else BRICK, 6))
        if beyond:
            shapes.append(Words(at - 9, y + 13, f"{row.simulated:.1f}", BRICK, 10.5, "end", bold=True))
    entries = [
        ("published, within its tolerance", blend(GREEN, 0.4)),
        ("simulated: hit", GREEN),
        ("simulated: miss", BRICK),
    ]
    _finish(path, shapes, bottom + 44, entries, "Published and simulated figures")


def _x(value: float, span: tuple[float, float], left: float = LEFT) -> float:
    return left + (value - span[0]) / ((span[1] - span[0]) or 1.0) * (WIDE - left - RIGHT)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip(" ,") + "…"


def _finish(path: str | Path, shapes: list[Shape], y: float, entries: Sequence[tuple[str, str]], title: str) -> None:
    x = 24.0
    for name, colour in entries:
        shapes.append(Rect(x, y - 9, 10, 10, colour, 2))
        shapes.append(Words(x + 15, y, name, SOFT, 11))
        x += 15 + drawing.width_of(name, 11) + 18
    drawing.write(path, WIDE, y + 20, shapes, title)
