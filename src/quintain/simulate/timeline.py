"""The timeline of one simulated run: what every role did, second by second, and what broke."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from quintain.evals.chart import brief, ticks
from quintain.simulate import drawing
from quintain.simulate.drawing import (
    AMBER,
    BLUE,
    BRICK,
    GREEN,
    INK,
    LINE,
    PAPER,
    PLUM,
    SKY,
    SOFT,
    Rect,
    Shape,
    Stroke,
    Words,
    blend,
)
from quintain.simulate.meter import Gauge
from quintain.simulate.run import Outcome
from quintain.types import QuintainError

WIDE, LEFT, RIGHT, TOP = 1000.0, 128.0, 24.0, 92.0
ROW, GAP, BINS = 16.0, 3.0, 420
ROWS = 16  # replicas that get a row of their own; more are shown as a sample
PHASES = {
    "update": ("learning", BRICK),
    "sync": ("new weights", PLUM),
    "switch": ("GPUs change hands", AMBER),
    "checkpoint": ("checkpoint", GREEN),
}


class NoTrace(QuintainError):
    """A timeline was asked for of a run that kept no trace of itself."""


def draw(outcome: Outcome, path: str | Path, title: str) -> None:
    """Draw a run that was made with `once(..., trace=True)`.

    Args:
        outcome: the run.
        path: where to write, `.svg` or `.png`.
        title: heading.

    Raises:
        NoTrace: the run kept no trace.
    """
    shapes, high = picture(outcome, title)
    drawing.write(path, WIDE, high, shapes, title)


def picture(outcome: Outcome, title: str) -> tuple[list[Shape], float]:
    """The shapes of a timeline and its height.

    Raises:
        NoTrace: the run kept no trace.
    """
    run = outcome.trace
    if run is None:
        raise NoTrace(f"seed {outcome.seed} kept no trace; run it with trace=True")
    meter, span = run.meter, (0.0, outcome.seconds)
    shapes: list[Shape] = [Words(LEFT, 34, title, INK, 18, bold=True)]
    values = outcome.values
    told = f"{values['throughput']:.3g} trajectories/s, a step in {values['step_s']:.3g} s"
    busy = f"engines busy {values['engine_busy']:.0%} of the time, learner {values['learner_busy']:.0%}"
    shapes.append(Words(LEFT, 54, f"{told}; {busy}", SOFT, 12))
    y = _learner(shapes, meter.spans, TOP, span) + 12
    chosen = _sample(run.fleet.all)
    shapes.append(Words(LEFT - 10, y + ROW - 4, "engines", SOFT, 11, "end"))
    for replica in chosen:
        _heat(shapes, replica.slots, replica.spec.slots, y, span, BLUE)
        y += ROW + GAP
    marks = {r.number: TOP + ROW + GAP + 12 + i * (ROW + GAP) for i, r in enumerate(chosen)}
    if len(chosen) < len(run.fleet.all):
        shapes.append(Words(LEFT - 10, y - GAP - 4, f"{len(chosen)} of {len(run.fleet.all)}", SOFT, 10, "end"))
    y += 12
    for name, gauge, places, colour in _pools(run):
        shapes.append(Words(LEFT - 10, y + ROW - 4, name, SOFT, 11, "end"))
        _heat(shapes, gauge, places, y, span, colour)
        y += ROW + GAP
    bottom = y
    _steps(shapes, meter.spans, bottom, span)
    for _, at, which in meter.marks:
        row = marks.get(which, TOP if which < 0 else None)
        if row is not None:
            shapes.append(Rect(_x(at, span) - 1.5, row - 1, 3, ROW + 2, INK))
    _axis(shapes, bottom + 4, span)
    seen = {phase for phase, _, _ in meter.spans}
    entries = [entry for phase, entry in PHASES.items() if phase in seen]
    high = _legend(shapes, bottom + 44, [*entries, ("slots in use, the darker the more", BLUE)], bool(meter.marks))
    return [Rect(0, 0, WIDE, high, PAPER), Rect(8, 8, WIDE - 16, high - 16, drawing.CARD, 10), *shapes], high


def _x(at: float, span: tuple[float, float]) -> float:
    return LEFT + (at - span[0]) / ((span[1] - span[0]) or 1.0) * (WIDE - LEFT - RIGHT)


def _learner(
    shapes: list[Shape], spans: Sequence[tuple[str, float, float]], y: float, span: tuple[float, float]
) -> float:
    shapes.append(Words(LEFT - 10, y + ROW - 4, "learner", SOFT, 11, "end"))
    shapes.append(Rect(LEFT, y, WIDE - LEFT - RIGHT, ROW, blend(INK, 0.05)))
    for phase, start, stop in spans:
        if phase in PHASES:
            shapes.append(Rect(_x(start, span), y, max(0.6, _x(stop, span) - _x(start, span)), ROW, PHASES[phase][1]))
    return y + ROW + GAP


def _steps(
    shapes: list[Shape], spans: Sequence[tuple[str, float, float]], bottom: float, span: tuple[float, float]
) -> None:
    """A hairline where each update ends."""
    for phase, _, stop in spans:
        if phase == "update":
            x = _x(stop, span)
            shapes.append(Stroke(((x, TOP - 8), (x, bottom + 2)), blend(INK, 0.35), 0.5))


def _heat(shapes: list[Shape], gauge: Gauge, places: float, y: float, span: tuple[float, float], colour: str) -> None:
    """One row: the darker, the more of the places are taken."""
    wide = (WIDE - LEFT - RIGHT) / BINS
    shares = averages(gauge, span, BINS)
    shapes.append(Rect(LEFT, y, WIDE - LEFT - RIGHT, ROW, blend(INK, 0.05)))
    start = 0
    levels = [round(min(1.0, s / (places or 1.0)) * 20) for s in shares]
    for i in range(1, BINS + 1):
        if i == BINS or levels[i] != levels[start]:
            if levels[start]:
                tone = blend(colour, 0.12 + 0.88 * levels[start] / 20)
                shapes.append(Rect(LEFT + start * wide, y, (i - start) * wide, ROW, tone))
            start = i


def averages(gauge: Gauge, span: tuple[float, float], bins: int) -> list[float]:
    """The mean of a gauge in each of `bins` equal parts of a span."""
    changes = gauge.changes or [(span[0], 0.0)]
    times = [t for t, _ in changes]
    areas, total = [0.0], 0.0
    for (t, v), (after, _) in pairwise(changes):
        total += v * (after - t)
        areas.append(total)

    def area(at: float) -> float:
        i = max(0, bisect_right(times, at) - 1)
        return areas[i] + changes[i][1] * max(0.0, at - times[i])

    edges = [span[0] + (span[1] - span[0]) * i / bins for i in range(bins + 1)]
    width = (span[1] - span[0]) / bins or 1.0
    return [(area(b) - area(a)) / width for a, b in pairwise(edges)]


def _sample(replicas: Sequence[Any]) -> list[Any]:
    if len(replicas) <= ROWS:
        return list(replicas)
    return [replicas[i * len(replicas) // ROWS] for i in range(ROWS)]


def _pools(run: Any) -> list[tuple[str, Gauge, float, str]]:
    """The rows below the engines: environments that are held, those that answer, and rewards."""
    meter, env = run.meter, run.scenario.env
    rows = []
    most = max((v for _, v in meter.env_held.changes or ()), default=0.0)
    if most:
        places = float(env.count or most)
        rows += [("env held", meter.env_held, places, SKY), ("env answers", meter.env_busy, places, GREEN)]
    scored = max((v for _, v in meter.rewarding.changes or ()), default=0.0)
    if scored:
        rows.append(("rewards", meter.rewarding, float(run.scenario.reward.workers or scored), AMBER))
    return rows


def _axis(shapes: list[Shape], y: float, span: tuple[float, float]) -> None:
    unit, name = (3600.0, "hours") if span[1] > 7200 else (60.0, "minutes") if span[1] > 300 else (1.0, "seconds")
    shapes.append(Stroke(((LEFT, y), (WIDE - RIGHT, y)), LINE, 1))
    for v in ticks(0.0, span[1] / unit, 10):
        shapes.append(Words(_x(v * unit, span), y + 15, brief(v), SOFT, 10.5, "middle"))
    shapes.append(Words(WIDE - RIGHT, y + 30, name, SOFT, 10.5, "end"))


def _legend(shapes: list[Shape], y: float, entries: Sequence[tuple[str, str]], broken: bool) -> float:
    x = LEFT
    for name, colour in [*entries, *([("failure", INK)] if broken else [])]:
        shapes.append(Rect(x, y - 9, 3 if name == "failure" else 10, 10, colour, 0 if name == "failure" else 2))
        shapes.append(Words(x + 15, y, name, SOFT, 11))
        x += 15 + drawing.width_of(name, 11) + 18
    return y + 26
