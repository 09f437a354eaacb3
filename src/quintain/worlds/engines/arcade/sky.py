"""A shower of rocks and stars: dodge the rocks, catch the stars."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quintain.worlds.art import tiles
from quintain.worlds.directions import WAITS
from quintain.worlds.engines.arcade.falling import empty, falling, landings, seen, shower
from quintain.worlds.engines.arcade.loop import HIT, Frame, Look, Node, Stage, ending, left, planned, search
from quintain.worlds.kernel import Answer, Choices, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Point, Polygon, Shape
from quintain.worlds.splits import Draft

SHIP, WRECK = "P", "X"
STEPS = {"wait": 0, "left": -1, "right": 1}
ACTIONS = Choices(*STEPS, synonyms=WAITS | {"l": "left", "r": "right", "west": "left", "east": "right"})


class Sky:
    """The rules of the shower: `Stage.data` holds the things that fall, rocks (kind 0) and stars; `Frame.at` the ship's column."""

    actions = ACTIONS
    sprites: Mapping[str, str] = {
        SHIP: "sky-ship",
        WRECK: "sky-wreck",
        **{str(s): f"sky-rock-{s}" for s in (1, 2, 3)},
        **{"abc"[s - 1]: f"sky-star-{s}" for s in (1, 2, 3)},
    }

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Frame]:
        width, height, goal = knobs["width"], knobs["height"], knobs["goal"]
        things = shower(rng, knobs, knobs["high"] * 3 // 2 + 4)
        stage = Stage(width, height, knobs["high"], goal, data=things)
        frame = Frame(stage, 0, (rng.below(width),))
        return planned(frame, lambda: self.plan(frame), lambda moves: moves * 3 // 2 + 4, knobs["low"])

    def advance(self, frame: Frame, action: str) -> Frame:
        stage = frame.stage
        column = min(max(frame.at[0] + STEPS[action], 0), stage.width - 1)
        rocks, stars = landings(stage.data, stage.height).get(frame.turn, (0, 0))
        score = frame.score + (stars >> column & 1)
        over = ending(frame, score >= stage.goal, bool(rocks >> column & 1))
        return Frame(stage, frame.turn + 1, (column,), (), score, over)

    def plan(self, frame: Frame) -> Answer:
        if frame.over:
            return Unsolvable("the episode is over")
        stage, table = frame.stage, landings(frame.stage.data, frame.stage.height)

        columns, goal = _columns(stage.width), stage.goal

        def options(node: Node, turn: int) -> Iterator[tuple[int, Node, bool]]:
            rocks, stars = table.get(turn, (0, 0))
            for i, column in columns[node[0]]:
                if not rocks >> column & 1:
                    score = node[1] + (stars >> column & 1)
                    yield i, (column, score), score >= goal

        return search(ACTIONS, (frame.at[0], frame.score), frame.turn, stage.turns, options)

    def look(self, frame: Frame) -> Look:
        stage = frame.stage
        signs = falling(stage, frame.turn, empty(stage.width, stage.height))
        at = (stage.height - 1) * stage.width + frame.at[0]
        signs = signs[:at] + (WRECK if frame.over == HIT else SHIP) + signs[at + 1 :]
        return Look(stage.width, signs, (left(frame), ("stars", str(stage.goal - frame.score))), (), frame.over)

    def restore(self, look: Look) -> Frame:
        """What is not in sight yet is taken to be good: a star every other turn, here and there, so that there is a way to hope for."""
        counters = {name: int(value) for name, value in look.counters}
        hoped = tuple((3 * turn % look.width, turn, 1, 1) for turn in range(1, counters["turns"], 2))
        height = len(look.signs) // look.width
        stage = Stage(look.width, height, counters["turns"], counters["stars"], data=seen(look) + hoped)
        spot = max(look.signs.find(SHIP), look.signs.find(WRECK))
        return Frame(stage, 0, (spot % look.width,), over=look.over)

    def brief(self, frame: Frame) -> str:
        missing, turns = frame.stage.goal - frame.score, left(frame)[1]
        where = f"Your ship is in column {frame.at[0] + 1} of {frame.stage.width}."
        return f"{where} Stars still to be caught: {missing}. Turns left: {turns}."

    def ground(self, frame: Frame) -> tuple[str, ...]:
        return _ground(frame.stage.width, frame.stage.height)

    def lexicon(self, knobs: Mapping[str, Any]) -> tuple[int, int, Sequence[str], Sequence[str]]:
        return knobs["width"], knobs["height"], ("turns", "stars"), ()


@functools.lru_cache(maxsize=64)
def _columns(width: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    """For each column: the numbers of the actions, and the columns they lead to."""
    ways = [*enumerate(STEPS.values())]
    return tuple(tuple([(i, min(max(column + step, 0), width - 1)) for i, step in ways]) for column in range(width))


@functools.lru_cache(maxsize=64)
def _ground(width: int, height: int) -> tuple[str, ...]:
    """Night, with a few far stars, over the ground."""
    cells = [f"sky-night-{(x * 5 + y * 7 + x * y) % 4}" for y in range(height - 1) for x in range(width)]
    return (*cells, *["sky-land"] * width)


def _trail(speed: int) -> tuple[Shape, ...]:
    """Strokes above a thing that falls, as many as the cells it falls per turn."""
    xs = {1: (0.5,), 2: (0.36, 0.64), 3: (0.26, 0.5, 0.74)}[speed]
    return tuple(Box(x=x - 0.035, y=0.1, width=0.07, height=0.28, fill="frost", radius=0.03) for x in xs)


def _rock(speed: int) -> tuple[Shape, ...]:
    points = ((0.3, 0.38), (0.56, 0.3), (0.8, 0.46), (0.84, 0.7), (0.64, 0.92), (0.36, 0.9), (0.17, 0.68))
    return (
        *_trail(speed),
        Polygon(points=points, fill="brick", line="rust", thick=0.06),
        *(Disc(x=x, y=y, radius=r, fill="rust") for x, y, r in ((0.42, 0.56, 0.08), (0.64, 0.7, 0.07))),
    )


def _star(speed: int) -> tuple[Shape, ...]:
    return (*_trail(speed), Polygon(points=_rays(0.0), fill="gold", line="white", thick=0.03))


def _rays(up: float) -> tuple[Point, ...]:
    points = ((0.5, 0.3), (0.58, 0.53), (0.83, 0.54), (0.63, 0.68), (0.7, 0.92))
    points += ((0.5, 0.78), (0.3, 0.92), (0.37, 0.68), (0.17, 0.54), (0.42, 0.53))
    return tuple([(x, y - up) for x, y in points])


FAR = (((0.2, 0.3),), ((0.7, 0.62),), ((0.36, 0.8), (0.84, 0.16)), ())
SHIP_ART: tuple[Shape, ...] = (
    Polygon(points=((0.06, 0.82), (0.36, 0.5), (0.64, 0.5), (0.94, 0.82)), fill="blue", line="frost", thick=0.04),
    Polygon(
        points=((0.5, 0.06), (0.66, 0.36), (0.66, 0.84), (0.34, 0.84), (0.34, 0.36)),
        fill="white",
        line="sky",
        thick=0.04,
    ),
    Disc(x=0.5, y=0.42, radius=0.1, fill="sky", line="navy", thick=0.03),
    Polygon(points=((0.4, 0.86), (0.6, 0.86), (0.5, 0.99)), fill="gold"),
)
CROSS = tuple(Polygon(points=((0.1, y), (0.9, 1 - y)), line="brick", thick=0.14, closed=False) for y in (0.1, 0.9))
ART: dict[str, tuple[Shape, ...]] = {
    **{
        f"sky-night-{i}": (
            Box(x=0, y=0, width=1, height=1, fill="deep"),
            *(Disc(x=x, y=y, radius=0.03, fill="frost") for x, y in far),
        )
        for i, far in enumerate(FAR)
    },
    "sky-land": (Box(x=0, y=0, width=1, height=1, fill="navy"), Box(x=0, y=0.86, width=1, height=0.14, fill="stone")),
    "sky-ship": SHIP_ART,
    "sky-wreck": (*SHIP_ART, *CROSS),
    **{f"sky-rock-{s}": _rock(s) for s in (1, 2, 3)},
    **{f"sky-star-{s}": _star(s) for s in (1, 2, 3)},
    "icon-stars": (Polygon(points=_rays(0.1), fill="gold", line="amber", thick=0.03),),
}
tiles(ART)
