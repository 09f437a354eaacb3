"""ClockDial: read clocks, gauges and rulers."""

from __future__ import annotations

import math
from collections.abc import Mapping

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import PARTIAL, SAYINGS, AskWorld
from quintain.worlds.engines.geometry.figure import LETTERS, Things, Words, number_words
from quintain.worlds.kernel import Facts, levels_of
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Polygon, Run, Scene, Shape

RULES = (
    """Read each instrument, in the order of the letters. A clock may be turned: its mark for twelve is the red one. Hands are told
by their angle in degrees from straight up, clockwise: `clock A top 30 short 120 long 210` has twelve at 30 degrees, the hour hand
(short) at 120, the minute hand (long) at 210. `gauge B from 0 to 60 start 225 sweep 270 hand 300` has its scale from 0, at 225
degrees, clockwise over 270 degrees to 60. `ruler C from 10 to 30 end 40` runs from left to right, and its bar ends after 40 hundredths
of the way. Every hand and bar is exactly at a whole minute or a whole number."""
    + PARTIAL
)
TABLE = (
    *((2, 0, 30, 10), (2, 0, 15, 10), (2, 0, 5, 20), (3, 0, 5, 20), (3, 90, 5, 20), (4, 90, 1, 40)),
    *((4, 30, 1, 40), (5, 30, 1, 40), (6, 30, 1, 50), (6, 6, 1, 50)),
)
LEVELS = levels_of("dials tilt minutes marks", TABLE)
MIDDLES = { 2: ((2.2, 4), (5.8, 4)), 3: ((2.2, 2.2), (5.8, 2.2), (4, 5.6)), 4: ((2.2, 2.2), (5.8, 2.2), (2.2, 5.6), (5.8, 5.6)),
    5: ((1.5, 2.2), (4, 2.2), (6.5, 2.2), (2.5, 5.4), (5.5, 5.4)), 6: ((1.5, 2.2), (4, 2.2), (6.5, 2.2), (1.5, 5.4), (4, 5.4), (6.5, 5.4)),
}  # fmt: skip


def _clock(rng: Rng, knobs: Mapping[str, int]) -> Words:
    hour, minute = rng.below(12), rng.below(60 // knobs["minutes"]) * knobs["minutes"]
    top = rng.below(360 // knobs["tilt"]) * knobs["tilt"] if knobs["tilt"] else 0
    minute -= minute % 2  # the short hand must not stand on half a degree
    return "top", str(top), "short", str((top + (60 * hour + minute) // 2) % 360), "long", str((top + 6 * minute) % 360)


def _gauge(rng: Rng, knobs: Mapping[str, int]) -> Words:
    marks, start = knobs["marks"], 180 + 15 * rng.below(5)
    sweep = marks * round(245 / marks)  # marks at whole degrees
    low = rng.pick((0, 0, 10, 20))
    value = 1 + rng.below(marks - 1)
    hand = (start + value * sweep // marks) % 360
    return "from", str(low), "to", str(low + marks), "start", str(start), "sweep", str(sweep), "hand", str(hand)


def _ruler(rng: Rng, knobs: Mapping[str, int]) -> Words:
    marks, low = max(n for n in (10, 20, 25) if n <= knobs["marks"]), rng.pick((0, 0, 10, 30))
    value = 1 + rng.below(marks - 1)
    return "from", str(low), "to", str(low + marks), "end", str(value * 100 // marks)


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    makers = {"clock": _clock, "gauge": _gauge, "ruler": _ruler}
    kinds = [rng.pick(("clock", "gauge", "clock", "gauge", "ruler")) for _ in range(knobs["dials"])]
    if knobs["dials"] > 1 and len(set(kinds)) < 2:
        return None
    return tuple((kind, LETTERS[i], *makers[kind](rng, knobs)) for i, kind in enumerate(kinds))


def _numbers(thing: Words) -> list[int]:
    return [int(w) for w in thing[2:] if w.isdigit()]


def _reading(thing: Words) -> tuple[str, str]:
    """What an instrument shows, and how that is read."""
    if thing[0] == "clock":
        top, short, long = _numbers(thing)
        hour, rest = divmod((short - top) % 360, 30)
        read, turn = f"{hour or 12}:{2 * rest:02d}", (long - top) % 360
        past = f"short is {30 * hour + rest} degrees past the top, {hour} * 30 + {rest}"
        return read, f"{past}; long is {turn}, {turn // 6} * 6; {read}"
    if thing[0] == "gauge":
        low, high, start, whole, hand = _numbers(thing)
        far, told = (hand - start) % 360, f"hand is {(hand - start) % 360} of {whole} degrees past the start"
    else:
        low, high, far = _numbers(thing)
        whole, told = 100, f"bar is {far} hundredths long"
    read = str(low + far * (high - low) // whole)
    return read, f"{told}, {low} + {far} * {high - low} / {whole} = {read}"


def _truth(things: Things) -> Words:
    return tuple(_reading(thing)[0] for thing in things)


def _why(things: Things) -> str:
    return " ".join([f"{thing[1]}: {why}." for thing in things for _, why in [_reading(thing)]])


def _tip(middle: tuple[float, float], degrees: float, far: float) -> tuple[float, float]:
    turn = math.radians(degrees)
    return round(middle[0] + far * math.sin(turn), 3), round(middle[1] - far * math.cos(turn), 3)


def _stroke(shapes: list[Shape], a: tuple[float, float], b: tuple[float, float], color: str, thick: float) -> None:
    shapes.append(Polygon(points=(a, b), line=color, thick=thick, closed=False))


def _face(shapes: list[Shape], thing: Words, at: tuple[float, float], r: float) -> None:
    """A clock."""
    top, short, long = _numbers(thing)
    shapes.append(Disc(x=at[0], y=at[1], radius=r, fill="white", line="slate", thick=0.06))
    for k in range(60):
        near = 0.8 if k % 5 == 0 else 0.92
        _stroke(
            shapes,
            _tip(at, top + 6 * k, near * r),
            _tip(at, top + 6 * k, 0.97 * r),
            "slate" if k else "brick",
            0.05 if k % 5 == 0 else 0.02,
        )
    _stroke(shapes, _tip(at, top, 0.62 * r), _tip(at, top, 0.97 * r), "brick", 0.1)
    _stroke(shapes, at, _tip(at, short, 0.52 * r), "ink", 0.13)
    _stroke(shapes, at, _tip(at, long, 0.86 * r), "blue", 0.07)
    shapes.append(Disc(x=at[0], y=at[1], radius=0.1, fill="ink"))


def _scale(shapes: list[Shape], thing: Words, at: tuple[float, float], r: float) -> None:
    """A gauge."""
    low, high, start, sweep, hand = _numbers(thing)
    shapes.append(Disc(x=at[0], y=at[1], radius=r, fill="ice", line="slate", thick=0.06))
    marks, size = high - low, 0.3 if r > 1.3 else 0.24
    for k in range(marks + 1):
        near = 0.82 if k % 5 == 0 else 0.92
        _stroke(
            shapes,
            _tip(at, start + sweep * k / marks, near * r),
            _tip(at, start + sweep * k / marks, 0.97 * r),
            "slate",
            0.05 if k % 5 == 0 else 0.02,
        )
        if k % 10 == 0:
            x, y = _tip(at, start + sweep * k / marks, 0.66 * r)
            shapes.append(Run(text=str(low + k), x=x, y=y, size=size, color="ink"))
    for near, far in ((0.0, 0.48), (0.82, 0.97)):  # it leaves out where numbers stand, so that it hides none
        _stroke(shapes, _tip(at, hand, near * r), _tip(at, hand, far * r), "brick", 0.07)
    shapes.append(Disc(x=at[0], y=at[1], radius=0.1, fill="brick"))


def _bar(shapes: list[Shape], thing: Words, at: tuple[float, float], r: float) -> None:
    """A ruler with a bar above it."""
    low, high, end = _numbers(thing)
    left, wide = at[0] - r + 0.15, 2 * r - 0.3  # the first and the last number keep off the rim
    shapes.append(Box(x=left - 0.25, y=at[1], width=wide + 0.5, height=0.75, fill="sand", line="bark", thick=0.04))
    for k in range(high - low + 1):
        x = round(left + wide * k / (high - low), 3)
        _stroke(
            shapes, (x, at[1] + 0.03), (x, at[1] + (0.3 if k % 5 == 0 else 0.17)), "bark", 0.04 if k % 5 == 0 else 0.02
        )
        if k % 10 == 0:
            shapes.append(Run(text=str(low + k), x=x, y=at[1] + 0.52, size=0.26, color="ink"))
    shapes.append(Box(x=left, y=at[1] - 0.45, width=round(wide * end / 100, 3), height=0.36, fill="green"))


def _paint(things: Things) -> Scene:
    shapes: list[Shape] = []
    r = {2: 1.65, 3: 1.5, 4: 1.5}.get(len(things), 1.12)
    for thing, at in zip(things, MIDDLES[len(things)], strict=True):
        {"clock": _face, "gauge": _scale, "ruler": _bar}[thing[0]](shapes, thing, at, r)
        shapes.append(Run(text=thing[1], x=at[0] - 0.85 * r, y=at[1] - 1.02 * r, size=0.4, color="ink"))
    return Scene(width=8, height=8, shapes=tuple(shapes))


def _guess(things: Things, rng: Rng) -> Words:
    return tuple(
        f"{1 + rng.below(12)}:{5 * rng.below(12):02d}" if t[0] == "clock" else str(rng.below(40)) for t in things
    )


@register("world", "ClockDial", domain="cognition", engine="geometry")
def clock_dial() -> AskWorld:
    """Read 2 to 6 clocks, gauges and rulers."""
    facts = Facts(
        name="ClockDial",
        rules=RULES,
        answer="Write the readings in the order of the letters: a clock as h:mm with hours 1 to 12, others as integers.",
        example="3:25 17",
        ceilings={"random": 0.03, "constant": 0.03, "first": 0.03, "blind": 0.04},
        sayings=SAYINGS,
    )
    times = tuple(f"{h}:{m:02d}" for h in range(1, 13) for m in range(60))
    kinds = ("clock", "gauge", "ruler", "top", "short", "long", "from", "to", "start", "sweep", "hand", "end")
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="time"),
        lexicon=(*kinds, *LETTERS, *number_words(360), *times),
        paint=_paint,
        guess=_guess,
        near=True,
    )
