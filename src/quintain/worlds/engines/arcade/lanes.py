"""Traffic: a player crosses lanes of cars that drive round and round, each lane at its own speed."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quintain.worlds.art import tiles
from quintain.worlds.directions import WAITS
from quintain.worlds.engines.arcade.loop import (
    BLANK,
    HIT,
    Frame,
    Ints,
    Look,
    Node,
    Stage,
    ending,
    left,
    planned,
    search,
)
from quintain.worlds.engines.grid.art import WALKER
from quintain.worlds.kernel import Answer, Choices, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Polygon, Shape
from quintain.worlds.splits import Draft

PLAYER, HOME, HEDGE, EAST, WEST, WRECK = "P", "H", "#", ">", "<", "X"
STEPS = {"wait": (0, 0), "up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
ACTIONS = Choices(
    *STEPS,
    synonyms=WAITS
    | {"u": "up", "d": "down", "l": "left", "r": "right"}
    | {"north": "up", "south": "down", "west": "left", "east": "right"},
)
BANK = "bank"


def note_of(lane: Ints) -> str:
    """How a lane is told: its direction and its cells per turn."""
    return BANK if not lane[1] else f"{'right' if lane[0] > 0 else 'left'} {lane[1]}"


def shifted(bits: int, by: int, width: int) -> int:
    """Cars of a lane, `by` cells further right; who leaves at one end comes in at the other.

    Example:
        >>> bin(shifted(0b0011, 3, 4)), bin(shifted(0b0011, -1, 4))
        ('0b1001', '0b1001')
    """
    by %= width
    return (bits << by | bits >> (width - by)) & (1 << width) - 1


@functools.lru_cache(maxsize=65_536)
def swept(lane: Ints, turn: int, width: int) -> int:
    """The cells of a lane on which a car is at some tick of a turn, from where the cars stand to where they stop."""
    way, speed, bits = lane
    out = 0
    for tick in range(speed + 1):
        out |= shifted(bits, way * (turn * speed + tick), width)
    return out


class Lanes:
    """The rules of the traffic game.

    `Stage.data` holds (direction, cells per turn, cars at turn 0 as bits) of each row, speed 0 for a bank; `Frame.at` is
    the player's row and column. Row 0 has the homes, the last row is where the player starts.
    """

    actions = ACTIONS
    sprites: Mapping[str, str] = {
        PLAYER: "player",
        HOME: "lane-home",
        HEDGE: "lane-hedge",
        EAST: "lane-car-right",
        WEST: "lane-car-left",
        WRECK: "lane-wreck",
    }

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Frame]:
        width, lanes = knobs["width"], knobs["lanes"]
        rows: list[Ints] = [(0, 0, 0)]
        for i in range(lanes):
            if knobs["middle"] and i and i % knobs["middle"] == 0:
                rows.append((0, 0, 0))
            way, speed = rng.pick((-1, 1)), 1 + rng.below(knobs["speed"])
            many = width * knobs["cars"] // (6 * (1 + speed))  # a fast car takes as much of a lane as two slow ones
            cars = rng.sample(range(width), max(1, many + rng.below(2)))
            rows.append((way, speed, sum(1 << c for c in cars)))
        rows.append((0, 0, 0))
        homes = rng.sample(range(width), knobs["homes"])
        top = "".join(HOME if c in homes else HEDGE for c in range(width))
        cells = top + BLANK * (width * (len(rows) - 1))
        stage = Stage(width, len(rows), knobs["high"], cells=cells, data=tuple(rows))
        frame = Frame(stage, 0, (len(rows) - 1, rng.below(width)))
        return planned(frame, lambda: self.plan(frame), lambda moves: moves + knobs["slack"], knobs["low"])

    def advance(self, frame: Frame, action: str) -> Frame:
        at = _stepped(frame.stage, frame.at, STEPS[action])
        over = ending(frame, at[0] == 0, _hit(frame.stage, at, frame.turn))
        return Frame(frame.stage, frame.turn + 1, at, over=over)

    def plan(self, frame: Frame) -> Answer:
        if frame.over:
            return Unsolvable("the episode is over")
        stage = frame.stage
        data, width = stage.data, stage.width
        ways: dict[Node, list[tuple[int, int]]] = {}

        def options(node: Node, turn: int) -> Iterator[tuple[int, Node, bool]]:
            near = ways.get(node)
            if near is None:
                near = ways[node] = [_stepped(stage, node, step) for step in STEPS.values()]
            for i, at in enumerate(near):
                lane = data[at[0]]
                if not lane[1] or not swept(lane, turn, width) >> at[1] & 1:
                    yield i, at, at[0] == 0

        return search(ACTIONS, frame.at, frame.turn, stage.turns, options)

    def look(self, frame: Frame) -> Look:
        stage = frame.stage
        signs = [*stage.cells]
        for y, (way, speed, bits) in enumerate(stage.data):
            if speed:
                cars = shifted(bits, way * speed * frame.turn, stage.width)
                sign = EAST if way > 0 else WEST
                for x in range(stage.width):
                    if cars >> x & 1:
                        signs[y * stage.width + x] = sign
        signs[frame.at[0] * stage.width + frame.at[1]] = WRECK if frame.over == HIT else PLAYER
        return Look(stage.width, "".join(signs), (left(frame),), _notes(stage.data), frame.over)

    def restore(self, look: Look) -> Frame:
        width, rows = look.width, []
        for y, note in enumerate(look.notes):
            signs = look.signs[y * width : (y + 1) * width]
            if note == BANK:
                rows.append((0, 0, 0))
            else:
                way, speed = note.split(" ")
                cars = sum(1 << x for x, s in enumerate(signs) if s in (EAST, WEST))
                rows.append((1 if way == "right" else -1, int(speed), cars))
        spot = max(look.signs.find(PLAYER), look.signs.find(WRECK))
        top = look.signs[:width].replace(PLAYER, HOME)
        cells = top + BLANK * (len(look.signs) - width)
        stage = Stage(width, len(rows), int(dict(look.counters)["turns"]), cells=cells, data=tuple(rows))
        return Frame(stage, 0, divmod(spot, width), over=look.over)

    def brief(self, frame: Frame) -> str:
        stage, (row, column) = frame.stage, frame.at
        homes = ", ".join(str(x + 1) for x in range(stage.width) if stage.cells[x] == HOME)
        where = f"You are in row {row + 1} of {stage.height}, column {column + 1} of {stage.width}. Columns of homes in row 1: {homes}."
        return f"{where} Turns left: {left(frame)[1]}."

    def ground(self, frame: Frame) -> tuple[str, ...]:
        return _ground(frame.stage.data, frame.stage.width)

    def lexicon(self, knobs: Mapping[str, Any]) -> tuple[int, int, Sequence[str], Sequence[str]]:
        rows = 2 + knobs["lanes"] + ((knobs["lanes"] - 1) // knobs["middle"] if knobs["middle"] else 0)
        notes = [f"{way} {speed}" for way in ("left", "right") for speed in range(1, knobs["speed"] + 1)]
        return knobs["width"], rows, ("turns",), (BANK, *notes)


def _stepped(stage: Stage, at: Sequence[int], step: Sequence[int]) -> tuple[int, int]:
    """Where a step leads; hedges and the edge of the board stop it."""
    row, column = at[0] + step[0], at[1] + step[1]
    if not (0 <= row < stage.height and 0 <= column < stage.width) or stage.cells[row * stage.width + column] == HEDGE:
        return at[0], at[1]
    return row, column


def _hit(stage: Stage, at: Sequence[int], turn: int) -> bool:
    lane = stage.data[at[0]]
    return bool(lane[1] and swept(lane, turn, stage.width) >> at[1] & 1)


@functools.lru_cache(maxsize=1024)
def _notes(data: tuple[Ints, ...]) -> tuple[str, ...]:
    return tuple(note_of(lane) for lane in data)


@functools.lru_cache(maxsize=1024)
def _ground(data: tuple[Ints, ...], width: int) -> tuple[str, ...]:
    return tuple("lane-road" if lane[1] else "lane-grass" for lane in data for _ in range(width))


def _car(flip: bool) -> tuple[Shape, ...]:
    """A car seen from above."""

    def at(x: float, width: float) -> float:
        return 1 - x - width if flip else x

    fill, line = ("sky", "navy") if flip else ("gold", "rust")
    wheels = tuple(
        Box(x=at(x, 0.2), y=y, width=0.2, height=0.12, fill="ink", radius=0.04)
        for x in (0.16, 0.62)
        for y in (0.14, 0.74)
    )
    lamps = tuple(Box(x=at(0.87, 0.06), y=y, width=0.06, height=0.12, fill="white") for y in (0.28, 0.6))
    return (
        *wheels,
        Box(x=at(0.06, 0.88), y=0.2, width=0.88, height=0.6, fill=fill, line=line, thick=0.05, radius=0.16),
        *lamps,
        Box(x=at(0.56, 0.16), y=0.28, width=0.16, height=0.44, fill="slate", radius=0.05),
        Box(x=at(0.2, 0.1), y=0.3, width=0.1, height=0.4, fill="slate", radius=0.04),
    )


def _note(way: int, speed: int) -> tuple[Shape, ...]:
    """Chevrons in the direction of a lane, one for each cell per turn."""
    tips = [0.5 + (i - (speed - 1) / 2) * 0.26 for i in range(speed)]
    return (
        Box(x=0, y=0, width=1, height=1, fill="slate"),
        *(
            Polygon(
                points=((x - 0.1 * way, 0.28), (x + 0.1 * way, 0.5), (x - 0.1 * way, 0.72)),
                line="white",
                thick=0.09,
                closed=False,
            )
            for x in tips
        ),
    )


BURST = ((0.5, 0.04), (0.62, 0.32), (0.94, 0.24), (0.72, 0.5), (0.94, 0.78), (0.6, 0.68))
BURST += ((0.5, 0.96), (0.4, 0.68), (0.06, 0.78), (0.28, 0.5), (0.06, 0.24), (0.38, 0.32))
ART: dict[str, tuple[Shape, ...]] = {
    "lane-road": (
        Box(x=0, y=0, width=1, height=1, fill="stone"),
        Box(x=0, y=0, width=1, height=0.03, fill="cloud"),
        Box(x=0, y=0.97, width=1, height=0.03, fill="cloud"),
    ),
    "lane-grass": (
        Box(x=0, y=0, width=1, height=1, fill="mint"),
        *(
            Polygon(points=((x, y), (x + 0.05, y - 0.12), (x + 0.1, y)), fill="green")
            for x, y in ((0.2, 0.36), (0.66, 0.8))
        ),
    ),
    "lane-hedge": (
        Box(x=0, y=0.02, width=1, height=0.96, fill="forest", radius=0.12),
        *(Disc(x=x, y=y, radius=0.14, fill="green") for x, y in ((0.24, 0.28), (0.7, 0.34), (0.42, 0.7), (0.84, 0.76))),
    ),
    "lane-home": (
        Box(x=0.16, y=0.44, width=0.68, height=0.48, fill="paper", line="rust", thick=0.05),
        Polygon(points=((0.04, 0.48), (0.5, 0.08), (0.96, 0.48)), fill="brick", line="rust", thick=0.05),
        Box(x=0.4, y=0.6, width=0.2, height=0.32, fill="bark"),
    ),
    "lane-car-right": _car(False),
    "lane-car-left": _car(True),
    "lane-wreck": (
        Polygon(
            points=BURST,
            fill="brick",
            line="rust",
            thick=0.04,
        ),
    ),
    "note-bank": (Box(x=0, y=0, width=1, height=1, fill="green"),),
    **{f"note-{name}-{s}": _note(way, s) for name, way in (("left", -1), ("right", 1)) for s in (1, 2, 3)},
}
tiles({"player": WALKER["player"], **ART})
