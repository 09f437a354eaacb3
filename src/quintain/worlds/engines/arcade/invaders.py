"""A block of invaders that marches to and fro and comes down: shoot all of them before one lands."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quintain.worlds.art import tiles
from quintain.worlds.directions import WAITS
from quintain.worlds.engines.arcade.loop import (
    BLANK,
    GOAL,
    HIT,
    RUNNING,
    Frame,
    Ints,
    Look,
    Stage,
    ending,
    left,
    planned,
)
from quintain.worlds.engines.arcade.quest import Leg, answered, played
from quintain.worlds.engines.arcade.sky import CROSS, SHIP_ART
from quintain.worlds.kernel import Answer, Choices, GenerationError, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Polygon, Run, Shape
from quintain.worlds.splits import Draft

GUN, LOST, INVADER, SHOT = "P", "X", "M", "'"
STEPS = {"wait": 0, "left": -1, "right": 1, "shoot": 0}
ACTIONS = Choices(
    *STEPS,
    synonyms=WAITS | {"l": "left", "r": "right", "fire": "shoot"},
)
WAYS = ("left", "right")
NONE = -1
SPEED = 3  # cells that a shot flies per turn


@functools.lru_cache(maxsize=65_536)
def marched(rows: Ints, way: int, width: int) -> tuple[Ints, int]:
    """The rows after a step of the block, and the way of its next: at the edge it comes down one row and turns.

    Example:
        >>> marched((0b011, 0), 1, 3), marched((0b110, 0), 1, 3)
        (((6, 0), 1), ((0, 6), 0))
    """
    edge = 1 if way == 0 else 1 << width - 1
    if any(row & edge for row in rows):
        return (0, *rows[:-1]), 1 - way
    return tuple([row << 1 if way else row >> 1 for row in rows]), way


def shot_on(rows: Ints, shot: Ints) -> tuple[Ints, Ints]:
    """The rows and the shot (column, row) after it has flown on for a turn, as far as an invader is in its way."""
    x, y = shot
    for _ in range(SPEED):
        y -= 1
        if y < 0:
            return rows, (NONE, NONE)
        if rows[y] >> x & 1:
            return (*rows[:y], rows[y] & ~(1 << x), *rows[y + 1 :]), (NONE, NONE)
    return rows, (x, y)


class Invaders:
    """The rules of the invaders.

    `Stage.data` is ((turns from march to march,),); `Frame.at` (column of the gun, way of the block, turns to its next step, shots
    left); `Frame.things` the rows of invaders as bits and the shot, `NONE` where there is none.
    """

    actions = ACTIONS
    sprites: Mapping[str, str] = {GUN: "raid-gun", LOST: "raid-lost", INVADER: "raid-invader", SHOT: "raid-shot"}

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Frame]:
        width, height, across, down = (knobs[k] for k in ("width", "height", "across", "down"))
        if across > width:
            raise GenerationError(f"a block of across={across} columns does not fit a board of width={width}")
        spots = rng.sample(range(across * down), knobs["goal"])
        shift = rng.below(width - across + 1)
        rows = [sum(1 << i % across for i in spots if i // across == y) << shift for y in range(down)]
        stage = Stage(width, height, 990, knobs["goal"], data=((knobs["pace"],),))
        at = (rng.below(width), rng.below(2), 1 + rng.below(knobs["pace"]), knobs["goal"] + knobs["spare"])
        things = ((*rows, *[0] * (height - down)), (NONE, NONE))
        frame = Frame(stage, 0, at, things)
        found = functools.partial(answered, self, frame, self._legs, _worth, 2 * knobs["goal"], 1)
        return planned(frame, found, lambda moves: moves * 6 // 5 + 3)

    def advance(self, frame: Frame, action: str) -> Frame:
        stage, (column, way, wait, shots), (rows, shot) = frame.stage, frame.at, frame.things
        pace, bottom = stage.data[0][0], stage.height - 1
        column = min(max(column + STEPS[action], 0), stage.width - 1)
        if action == "shoot" and shot[0] < 0 and shots:
            shot, shots = (column, bottom), shots - 1
        before = rows
        if shot[0] >= 0:
            rows, shot = shot_on(rows, shot)
        wait -= 1
        if not wait:
            (rows, way), wait = marched(rows, way, stage.width), pace
            if shot[0] >= 0 and rows[shot[1]] >> shot[0] & 1:  # an invader has stepped into the shot
                rows = (*rows[: shot[1]], rows[shot[1]] & ~(1 << shot[0]), *rows[shot[1] + 1 :])
                shot = (NONE, NONE)
        score = frame.score + sum(map(int.bit_count, before)) - sum(map(int.bit_count, rows))
        over = ending(frame, score >= stage.goal, bool(rows[bottom]))
        return Frame(stage, frame.turn + 1, (column, way, wait, shots), (rows, shot), score, over)

    def _legs(self, frame: Frame) -> Iterator[Leg]:
        """The shots that hit, from every column that is reached in time, the quickest three."""
        found: list[tuple[int, int, tuple[str, ...], Frame]] = []
        near = sorted((abs(x - frame.at[0]) + pause, x, pause) for x in range(frame.stage.width) for pause in range(3))
        for least, column, pause in near:
            if len(found) > 2 and least >= sorted(found)[2][0]:  # whatever else hits comes later
                break
            side = "right" if column > frame.at[0] else "left"
            words = [side] * (least - pause) + ["wait"] * pause + ["shoot"]
            after = played(self, frame, words)
            while after.things[1][0] >= 0 and not after.over:
                words.append("wait")
                after = self.advance(after, "wait")
            if after.over in (RUNNING, GOAL) and after.score > frame.score:
                found.append((len(words), len(found), tuple(words), after))
        for _, _, words, after in sorted(found)[:3]:
            yield words, after

    def plan(self, frame: Frame) -> Answer:
        if frame.at[3] + (frame.things[1][0] >= 0) < frame.stage.goal - frame.score:
            return Unsolvable("there are more invaders than shots")
        return answered(self, frame, self._legs, _worth, 60)

    def look(self, frame: Frame) -> Look:
        stage, (column, way, wait, shots), (rows, shot) = frame.stage, frame.at, frame.things
        signs = [INVADER if row >> x & 1 else BLANK for row in rows for x in range(stage.width)]
        if shot[0] >= 0:
            signs[shot[1] * stage.width + shot[0]] = SHOT
        signs[(stage.height - 1) * stage.width + column] = LOST if frame.over == HIT else GUN
        march = f"{WAYS[way]}-{wait}-of-{stage.data[0][0]}"
        counters = (left(frame), ("march", march), ("shots", str(shots)))
        return Look(stage.width, "".join(signs), counters, (), frame.over)

    def restore(self, look: Look) -> Frame:
        counters, width = dict(look.counters), look.width
        way, wait, _, pace = counters["march"].split("-")
        lines = [look.signs[i : i + width] for i in range(0, len(look.signs), width)]
        rows = tuple(sum(1 << x for x, sign in enumerate(line) if sign == INVADER) for line in lines)
        at = look.signs.find(SHOT)
        shot = (at % width, at // width) if at >= 0 else (NONE, NONE)
        column = max(lines[-1].find(GUN), lines[-1].find(LOST))
        data = ((int(pace),),)
        goal = sum(map(int.bit_count, rows))
        stage = Stage(width, len(lines), int(counters["turns"]), goal, data=data)
        return Frame(
            stage, 0, (column, WAYS.index(way), int(wait), int(counters["shots"])), (rows, shot), over=look.over
        )

    def brief(self, frame: Frame) -> str:
        stage, (column, way, wait, shots) = frame.stage, frame.at
        *above, last = frame.things[0]
        rows = (*above, last & ~(1 << column))  # where the gun is, nothing else is to be seen
        low = max([y for y, row in enumerate(rows) if row], default=-1)
        where = f"Your gun is in column {column + 1} of {stage.width}. Invaders left: {sum(map(int.bit_count, rows))}"
        march = (
            f", the lowest in row {low + 1} of {stage.height}; they march {WAYS[way]}, next in turn {wait} from now"
            * (low >= 0)
        )
        return f"{where}{march}. Shots left: {shots}. Turns left: {left(frame)[1]}."

    def ground(self, frame: Frame) -> tuple[str, ...]:
        return _ground(frame.stage.width, frame.stage.height)

    def lexicon(self, knobs: Mapping[str, Any]) -> tuple[int, int, Sequence[str], Sequence[str]]:
        pace = knobs["pace"]
        marches = [f"march:{way}-{wait}-of-{pace}" for way in WAYS for wait in range(1, pace + 1)]
        return knobs["width"], knobs["height"], ("turns", "shots", *marches), ()


def _worth(frame: Frame) -> tuple[int, int]:
    return -frame.score, frame.turn


@functools.lru_cache(maxsize=64)
def _ground(width: int, height: int) -> tuple[str, ...]:
    cells = [f"sky-night-{(x * 5 + y * 7 + x * y) % 4}" for y in range(height - 1) for x in range(width)]
    return (*cells, *["sky-land"] * width)


def _march(way: int, wait: int, pace: int) -> tuple[Shape, ...]:
    """A chevron for the way, and beside it a dot for every turn of the beat, those to come filled."""
    tip, back = (0.48, 0.2) if way else (0.2, 0.48)
    dots = tuple(
        Disc(x=0.8, y=0.52 + (i - (pace - 1) / 2) * 0.3, radius=0.12, fill="gold" if i < wait else "stone")
        for i in range(pace)
    )
    return (Polygon(points=((back, 0.22), (tip, 0.52), (back, 0.82)), line="white", thick=0.11, closed=False), *dots)


INVADER_ART: tuple[Shape, ...] = (
    *(Box(x=x, y=0.68, width=0.12, height=0.24, fill="plum") for x in (0.2, 0.68)),
    *(Polygon(points=((0.5, 0.4), (x, 0.08)), line="plum", thick=0.07, closed=False) for x in (0.24, 0.76)),
    Box(x=0.1, y=0.26, width=0.8, height=0.5, fill="plum", line="wine", thick=0.05, radius=0.18),
    *(Disc(x=x, y=0.48, radius=0.11, fill="white") for x in (0.34, 0.66)),
    *(Disc(x=x, y=0.5, radius=0.05, fill="ink") for x in (0.34, 0.66)),
)
ART: dict[str, tuple[Shape, ...]] = {
    "raid-gun": SHIP_ART,
    "raid-lost": (*SHIP_ART, *CROSS),
    "raid-invader": INVADER_ART,
    "raid-shot": (
        Box(x=0.42, y=0.1, width=0.16, height=0.7, fill="gold", radius=0.07),
        Box(x=0.46, y=0.16, width=0.08, height=0.4, fill="white", radius=0.04),
    ),
    "icon-march": (Run(text="step", x=0.48, y=0.52, size=0.44, color="white"),),
    "icon-shots": (
        Box(x=0.44, y=0.3, width=0.16, height=0.6, fill="gold", radius=0.07),
        Polygon(points=((0.28, 0.34), (0.52, 0.1), (0.76, 0.34)), line="gold", thick=0.09, closed=False),
    ),
    **{
        f"value-{way}-{wait}-of-{pace}": _march(w, wait, pace)
        for w, way in enumerate(WAYS)
        for pace in (1, 2, 3)
        for wait in range(1, pace + 1)
    },
}
tiles(ART)
