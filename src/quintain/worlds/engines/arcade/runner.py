"""A platform course: run, jump gaps and steps, gather coins on the way, and keep away from walkers who pace up and down."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quintain.worlds.art import tiles
from quintain.worlds.directions import WAITS
from quintain.worlds.engines.arcade.loop import BLANK, HIT, Frame, Ints, Look, Stage, ending, left, planned
from quintain.worlds.engines.arcade.quest import Leg, Path, answered, words_of
from quintain.worlds.kernel import Answer, Choices
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Polygon, Shape
from quintain.worlds.splits import Draft

PLAYER, WRECK, GROUND, WATER, FLAG, COIN, EAST, WEST = "P", "X", "#", "~", "F", "o", ">", "<"
RISE = 2  # cells that a jump rises, one per turn
VISITS = 2  # of a place in the search for the next coin
STEPS = {"wait": (0, 0), "left": (-1, 0), "right": (1, 0), "jump": (0, 1), "jump-left": (-1, 1), "jump-right": (1, 1)}
ACTIONS = Choices(
    *STEPS,
    synonyms=WAITS
    | {"l": "left", "r": "right", "j": "jump", "up": "jump"}
    | {f"{how} {side}": f"jump-{side}" for side in ("left", "right") for how in ("jump", "jump to the", "up")}
    | {f"jump{side}": f"jump-{side}" for side in ("left", "right")},
)


def paced(walker: Ints, turn: int) -> tuple[int, int]:
    """Column of a walker (row, first column, last column, phase) at a turn, and its next step.

    Example:
        >>> [paced((0, 2, 4, 0), turn) for turn in range(5)]
        [(2, 1), (3, 1), (4, -1), (3, -1), (2, 1)]
    """
    _, first, last, phase = walker
    at = (turn + phase) % (2 * (last - first))
    return (first + at, 1) if at < last - first else (2 * last - first - at, -1)


@functools.lru_cache(maxsize=65_536)
def stepped(cells: str, width: int, at: tuple[int, int, int], action: str) -> tuple[int, int, int]:
    """Row, column and cells still to rise after a turn: first sideways if nothing is in the way, then up or down by one."""
    (row, column, rise), (side, jump) = at, STEPS[action]
    if jump and cells[(row + 1) * width + column] == GROUND:
        rise = RISE
    to = column + side
    if 0 <= to < width and cells[row * width + to] != GROUND:
        column = to
    if rise and row and cells[(row - 1) * width + column] != GROUND:
        return row - 1, column, rise - 1
    if cells[(row + 1) * width + column] != GROUND:
        return row + 1, column, 0
    return row, column, 0


@functools.lru_cache(maxsize=8192)
def ways(cells: str, width: int, at: tuple[int, int, int]) -> tuple[tuple[str, tuple[int, int, int], int], ...]:
    """Each action, where it leads from a place, and the cell of that as a bit."""
    places = [(action, stepped(cells, width, at, action)) for action in STEPS]
    return tuple([(action, to, 1 << to[0] * width + to[1]) for action, to in places])


def perils(stage: Stage, turn: int) -> int:
    """The cells, as bits, on which a turn ends badly: in the water, and where a walker is before or after it steps."""
    out = (1 << stage.width) - 1 << stage.width * (stage.height - 1)
    for walker in stage.data:
        for now in (turn, turn + 1):
            out |= 1 << walker[0] * stage.width + paced(walker, now)[0]
    return out


class Runner:
    """The rules of the course.

    `Stage.data` holds the walkers, `Frame.at` row, column and the cells still to rise, `Frame.things` (coins as bits of cells,).
    """

    actions = ACTIONS
    sprites: Mapping[str, str] = {
        PLAYER: "run-player",
        WRECK: "run-player+run-splash",
        GROUND: "run-solid",
        WATER: "run-water",
        FLAG: "run-flag",
        COIN: "run-coin",
        EAST: "run-walker-right",
        WEST: "run-walker-left",
    }

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Frame] | None:
        width, height, goal = knobs["width"], knobs["height"], knobs["coins"]
        rises = profile(rng, knobs)
        cells = course(rng, rises, knobs)
        walkers = pacers(rng, cells, width, knobs["walkers"])
        spots = coin_spots(cells, rises, width, walkers)
        if len(walkers) < knobs["walkers"] or len(spots) < goal:
            return None
        coins = sum(1 << rng.pick(column) for column in rng.sample(spots, goal))
        stage = Stage(width, height, 10 * width, goal, cells, walkers)
        frame = Frame(stage, 0, (height - 3 - rises[0], 0, 0), ((coins,),))
        found = functools.partial(answered, self, frame, self._legs, _worth, 4 * goal + 4, 1, _least)
        return planned(frame, found, lambda moves: moves * 9 // 8 + knobs["slack"])

    def advance(self, frame: Frame, action: str) -> Frame:
        stage, (coins,) = frame.stage, frame.things[0]
        at = stepped(stage.cells, stage.width, (frame.at[0], frame.at[1], frame.at[2]), action)
        cell = at[0] * stage.width + at[1]
        found = coins >> cell & 1
        score = frame.score + found
        won = score >= stage.goal and stage.cells[cell] == FLAG
        over = ending(frame, won, bool(perils(stage, frame.turn) >> cell & 1))
        return Frame(stage, frame.turn + 1, at, ((coins & ~(found << cell),),), score, over)

    def _legs(self, frame: Frame) -> Iterator[Leg]:
        """Ways to the nearest coins, and to the flag when all are gathered, that come to no place more than `VISITS` times."""
        stage, (coins,), turn = frame.stage, frame.things[0], frame.turn
        wave: list[tuple[tuple[int, int, int], Path]] = [((frame.at[0], frame.at[1], frame.at[2]), None)]
        visits: dict[tuple[int, int, int], int] = {}
        ends = coins or 1 << stage.cells.index(FLAG)
        found = 0
        while wave and found < 3 and turn < stage.turns:
            after: list[tuple[tuple[int, int, int], Path]] = []
            shut = perils(stage, turn)
            for at, path in wave:
                for action, to, bit in ways(stage.cells, stage.width, at):
                    if bit & shut or (seen := visits.get(to, 0)) >= VISITS:
                        continue
                    visits[to] = seen + 1
                    if ends & bit:
                        found += 1
                        here = Frame(stage, turn, at, frame.things, frame.score)
                        yield words_of((path, action)), self.advance(here, action)
                    else:
                        after.append((to, (path, action)))
            wave, turn = after, turn + 1

    def plan(self, frame: Frame) -> Answer:
        return answered(self, frame, self._legs, _worth, 150, least=_least)

    def look(self, frame: Frame) -> Look:
        stage, signs = frame.stage, [*frame.stage.cells]
        for walker in stage.data:
            x, step = paced(walker, frame.turn)
            signs[walker[0] * stage.width + x] = EAST if step > 0 else WEST
        for i in range(len(signs)):
            if frame.things[0][0] >> i & 1:
                signs[i] = COIN
        row, column, rise = frame.at
        signs[row * stage.width + column] = WRECK if frame.over == HIT else PLAYER
        coins = ("coins", str(stage.goal - frame.score))
        return Look(stage.width, "".join(signs), (left(frame), coins, ("rise", str(rise))), (), frame.over)

    def restore(self, look: Look) -> Frame:
        width, counters = look.width, {name: int(value) for name, value in look.counters}
        height, at = len(look.signs) // width, max(look.signs.find(PLAYER), look.signs.find(WRECK))
        under = FLAG if FLAG not in look.signs else WATER if at // width == height - 1 else BLANK
        cells = "".join(
            under if i == at else sign if sign in (GROUND, WATER, FLAG) else BLANK for i, sign in enumerate(look.signs)
        )
        walkers = []
        for i, sign in enumerate(look.signs):
            if sign in (EAST, WEST):
                row, first, last = next(
                    s for s in stretches(cells, width) if s[0] == i // width and s[1] <= i % width <= s[2]
                )
                walkers.append((row, first, last, i % width - first if sign == EAST else 2 * last - first - i % width))
        coins = sum(1 << i for i, sign in enumerate(look.signs) if sign == COIN)
        stage = Stage(width, height, counters["turns"], counters["coins"], cells, tuple(walkers))
        return Frame(stage, 0, (at // width, at % width, counters["rise"]), ((coins,),), over=look.over)

    def brief(self, frame: Frame) -> str:
        stage, (row, column, rise) = frame.stage, frame.at
        flag = stage.cells.find(FLAG) % stage.width
        where = (
            f"You are in row {row + 1} of {stage.height}, column {column + 1} of {stage.width}. Cells to rise: {rise}."
        )
        need = f"Coins still to be gathered: {stage.goal - frame.score}."
        return f"{where} The flag is in column {flag + 1}. {need} Turns left: {left(frame)[1]}."

    def ground(self, frame: Frame) -> tuple[str, ...]:
        return _ground(frame.stage.cells, frame.stage.width)

    def lexicon(self, knobs: Mapping[str, Any]) -> tuple[int, int, Sequence[str], Sequence[str]]:
        return knobs["width"], knobs["height"], ("turns", "coins", "rise"), ()


def _worth(frame: Frame) -> tuple[int, int]:
    return -frame.score, frame.turn


def _least(frame: Frame) -> int:
    """A leg ends on the first coin, and the last one on the flag."""
    return frame.stage.goal - frame.score + 1


def profile(rng: Rng, knobs: Mapping[str, Any]) -> list[int]:
    """How high the ground is in each column, -1 in a gap; neighbours differ by what a jump can climb."""
    out = [0, 0]
    while len(out) < knobs["width"] - 2:
        high = max(out[-1], 0)
        if rng.below(100) < knobs["gaps"]:
            out += [-1] * (1 + rng.below(knobs["gap"]))
        if rng.below(100) < 60:
            high = rng.below(knobs["high"] + 1)
        out += [high] * (1 + rng.below(3))
    out = out[: knobs["width"] - 2]
    end = max(out[-1], 0)
    return [*out, end, end]


def course(rng: Rng, rises: Sequence[int], knobs: Mapping[str, Any]) -> str:
    """The fixed cells: ground, water below the gaps, some blocks in the air, and the flag on the last column."""
    width, height = knobs["width"], knobs["height"]
    floor, blocks, x = height - 2, set(), 2
    while x < width - 2:
        wide = 1 + rng.below(2)
        if rng.below(100) < knobs["blocks"]:
            row = floor - max(*rises[x : x + wide], 0) - 2
            blocks |= {(row, x + i) for i in range(wide)}
            x += wide + 1
        x += 1
    out = []
    for y in range(height):
        for x, rise in enumerate(rises):
            flag = x == width - 1 and y == floor - rise - 1
            solid = (rise >= 0 and y >= floor - rise) or (y, x) in blocks
            out.append(FLAG if flag else GROUND if solid else WATER if y == height - 1 else BLANK)
    return "".join(out)


def coin_spots(cells: str, rises: Sequence[int], width: int, walkers: Sequence[Ints]) -> list[list[int]]:
    """The cells of each column in which a coin may hang: free, up to three cells above the ground, and where nobody walks."""
    floor = len(cells) // width - 2
    paced_on = {row * width + x for row, first, last, _ in walkers for x in range(first, last + 1)}
    out = []
    for x in range(2, width - 1):
        rows = range(floor - max(rises[x], 0) - 3, floor - max(rises[x], 0))
        free = [y * width + x for y in rows if cells[y * width + x] == BLANK and y * width + x not in paced_on]
        out += [free] if free else []
    return out


@functools.lru_cache(maxsize=1024)
def stretches(cells: str, width: int) -> tuple[Ints, ...]:
    """Row, first and last column of each level stretch on which a walker may pace: not at the start, nor below the flag."""
    out: list[Ints] = []
    for row in range(1, len(cells) // width - 1):
        first = -1
        for x in range(2, width):
            i = row * width + x
            level = x < width - 1 and cells[i] == BLANK and cells[i + width] == GROUND
            if level and first < 0:
                first = x
            elif not level and first >= 0:
                if x - first >= 2:
                    out.append((row, first, x - 1))
                first = -1
    return tuple(out)


def pacers(rng: Rng, cells: str, width: int, count: int) -> tuple[Ints, ...]:
    """Walkers, each on a stretch of its own, which it paces from end to end."""
    wide = [s for s in stretches(cells, width) if s[2] - s[1] >= 2]
    chosen = rng.sample(wide, min(count, len(wide)))
    return tuple((row, a, b, rng.below(2 * (b - a))) for row, a, b in chosen)


@functools.lru_cache(maxsize=1024)
def _ground(cells: str, width: int) -> tuple[str, ...]:
    """Sky, and ground with grass where the sky is above it."""
    return tuple(
        "run-sky" if sign != GROUND else "run-soil" if cells[max(i - width, 0)] == GROUND else "run-turf"
        for i, sign in enumerate(cells)
    )


@functools.cache
def _walker(flip: bool) -> tuple[Shape, ...]:
    """A round creature that looks where it goes."""
    eye = 0.34 if flip else 0.66
    feet = tuple(Box(x=x, y=0.86, width=0.22, height=0.12, fill="ink", radius=0.05) for x in (0.22, 0.56))
    return (
        *feet,
        Disc(x=0.5, y=0.58, radius=0.34, fill="plum", line="wine", thick=0.06),
        Disc(x=eye, y=0.5, radius=0.13, fill="white"),
        Disc(x=eye + (-0.05 if flip else 0.05), y=0.5, radius=0.06, fill="ink"),
    )


SOIL: tuple[Shape, ...] = (
    Box(x=0, y=0, width=1, height=1, fill="wood"),
    Box(x=0.14, y=0.44, width=0.2, height=0.1, fill="bark", radius=0.04),
    Box(x=0.58, y=0.7, width=0.24, height=0.1, fill="bark", radius=0.04),
)
ART: dict[str, tuple[Shape, ...]] = {
    "run-sky": (Box(x=0, y=0, width=1, height=1, fill="ice"),),
    "run-solid": (),
    "run-soil": SOIL,
    "run-turf": (*SOIL, Box(x=0, y=0, width=1, height=0.24, fill="green")),
    "run-water": (
        Box(x=0, y=0.2, width=1, height=0.8, fill="blue"),
        Polygon(
            points=((0, 0.32), (0.25, 0.2), (0.5, 0.32), (0.75, 0.2), (1, 0.32)), line="white", thick=0.07, closed=False
        ),
    ),
    "run-flag": (
        Box(x=0.3, y=0.08, width=0.08, height=0.92, fill="ink"),
        Polygon(points=((0.38, 0.1), (0.92, 0.28), (0.38, 0.48)), fill="brick", line="rust", thick=0.04),
    ),
    "run-player": (
        Box(x=0.3, y=0.5, width=0.4, height=0.36, fill="blue", line="navy", thick=0.05, radius=0.1),
        *(Box(x=x, y=0.82, width=0.14, height=0.16, fill="navy") for x in (0.32, 0.54)),
        Disc(x=0.5, y=0.32, radius=0.22, fill="sand", line="bark", thick=0.05),
        Polygon(points=((0.24, 0.28), (0.5, 0.02), (0.76, 0.28)), fill="brick", line="rust", thick=0.04),
    ),
    "run-splash": tuple(
        Polygon(points=((0.08, y), (0.92, 1 - y)), line="brick", thick=0.14, closed=False) for y in (0.08, 0.92)
    ),
    "run-walker-right": _walker(False),
    "run-walker-left": _walker(True),
    "run-coin": (
        Disc(x=0.5, y=0.5, radius=0.28, fill="gold", line="amber", thick=0.08),
        Box(x=0.46, y=0.36, width=0.08, height=0.28, fill="amber", radius=0.03),
    ),
    "icon-coins": (
        Disc(x=0.52, y=0.52, radius=0.32, fill="gold", line="amber", thick=0.08),
        Box(x=0.47, y=0.36, width=0.1, height=0.32, fill="amber", radius=0.03),
    ),
    "icon-rise": (
        Polygon(
            points=((0.5, 0.14), (0.84, 0.5), (0.62, 0.5), (0.62, 0.86), (0.38, 0.86), (0.38, 0.5), (0.16, 0.5)),
            fill="gold",
        ),
    ),
}
tiles(ART)
