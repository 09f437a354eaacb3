"""Rides on a drawn transit map: lines with waits and speeds of their own; arrive before the minutes are used up."""

from __future__ import annotations

import functools
import heapq
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quintain.types import Ints, QuintainError
from quintain.worlds.engines.graph.page import NAMES, Point
from quintain.worlds.engines.turns import WON, After, digit_words, digits
from quintain.worlds.kernel import Answer, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Polygon, Run, Scene, Shape

SAYINGS = {"late": "The minutes are used up before you arrive.", "there": "You have arrived."}
COLORS = ("brick", "blue", "green", "amber", "wine", "slate")
STEPS = ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1))
_MOVE = re.compile(
    r"(?:(?:take|ride) )?(?:the )?(?:line |l)?([1-6])(?:[,:-]? ?)(?:from [a-r] )?(?:(?:and )?(?:get off at|to) )?(?:stop )?([a-r])",
    re.ASCII,
)
_VIA = re.compile(r"(?:(?:ride )?to )?(?:stop )?([a-r]) (?:via|by|on|with) (?:the )?(?:line |l)([1-6])", re.ASCII)
_LINE = re.compile(r"line (\d): ([A-R ]+), wait (\d+), ride (\d+)\.")
_NOW = re.compile(r"You are at ([A-R]); go to ([A-R]) in (\d+) minutes?\.")


@dataclass(frozen=True)
class Metro:
    """What never changes: the place of each stop on a lattice, the stops of each line in order, (wait, minutes from stop to stop)
    of each line, the goal, and the turn budget.
    """

    at: tuple[Point, ...]
    lines: tuple[Ints, ...]
    pace: tuple[tuple[int, int], ...]
    goal: int = 0
    budget: int = 0

    @functools.cached_property
    def rides(self) -> tuple[dict[tuple[int, int], int], ...]:
        """Of each stop: (line, stop to get off) -> minutes."""
        out: list[dict[tuple[int, int], int]] = [{} for _ in self.at]
        for k, (line, (wait, ride)) in enumerate(zip(self.lines, self.pace, strict=True)):
            for i, a in enumerate(line):
                for j, b in enumerate(line):
                    if i != j:
                        out[a][k, b] = wait + ride * abs(i - j)
        return tuple(out)


@dataclass(frozen=True, slots=True)
class Rider:
    """The state: the map, the stop, and the minutes that are left; none once it is too late."""

    metro: Metro
    at: int
    left: int


@functools.lru_cache(maxsize=512)
def _ride(line: int, stop: int) -> Move:
    return Move(f"{line + 1} {NAMES[stop]}", (line, stop))


@functools.lru_cache(maxsize=4096)
def quickest(metro: Metro, goal: int) -> dict[int, tuple[int, int, tuple[int, int]]]:
    """Of each stop: the fewest minutes to the goal, the fewest rides within them, and the first ride."""
    best: dict[int, tuple[int, int, tuple[int, int]]] = {}
    heap = [(0, 0, goal, (0, goal))]
    while heap:
        minutes, rides, stop, first = heapq.heappop(heap)
        if stop in best:
            continue
        best[stop] = (minutes, rides, first)
        for (line, other), cost in metro.rides[stop].items():  # lines run both ways at the same pace
            if other not in best:
                heapq.heappush(heap, (minutes + cost, rides + 1, other, (line, stop)))
    return best


def _line(rng: Rng, knobs: Mapping[str, Any], stops: list[Point], used: set[Point]) -> list[Point] | None:
    """A line of so many stops with no sharp bends and no piece that another line has or crosses, from a stop that is there.

    A piece is told by the sum of its ends: twice its middle, which pieces that cross share.
    """
    wide, high, length = knobs["columns"], knobs["rows"], knobs["length"]
    for _ in range(12):
        x, y = rng.pick(stops) if stops else (rng.below(wide), rng.below(high))
        way, line, mine = rng.below(8), [(x, y)], set[Point]()
        while len(line) < length:
            turns = [0, 0, 1, -1]
            rng.shuffle(turns)
            for turn in turns:
                dx, dy = STEPS[(way + turn) % 8]
                i, j = to = x + dx, y + dy
                if 0 <= i < wide and 0 <= j < high and to not in line:
                    piece = (x + i, y + j)
                    if piece not in used and piece not in mine:
                        break
            else:
                break
            way = (way + turn) % 8
            mine.add(piece)
            x, y = to
            line.append(to)
        if len(line) == length:
            used |= mine
            return line[:: 1 if rng.below(2) else -1]
    return None


def far(metro: Metro, least: int) -> list[tuple[int, int, int, int]]:
    """(goal, minutes, rides, stop) of each two stops between which the quickest way has so many rides at least, in order."""
    never = 1 << 20
    ride = np.full((len(metro.at),) * 2, never)
    np.fill_diagonal(ride, 0)
    for line, (wait, pace) in zip(metro.lines, metro.pace, strict=True):
        stops, steps = np.array(line), np.arange(len(line))
        cost = wait + pace * abs(steps[:, None] - steps)
        np.fill_diagonal(cost, 0)
        both = np.ix_(stops, stops)
        ride[both] = np.minimum(ride[both], cost)
    minutes, rides, count = ride, np.where((ride > 0) & (ride < never), 1, 0), 1
    while True:
        shorter = (minutes[:, :, None] + ride).min(axis=1)
        better = shorter < minutes
        if not better.any():
            break
        minutes, count = shorter, count + 1
        rides[better] = count
    pairs = np.argwhere((rides >= least).T).tolist()
    return sorted([(goal, int(minutes[at, goal]), int(rides[at, goal]), at) for goal, at in pairs])


@dataclass(frozen=True)
class MetroGame:
    """A transit map as `turns.Game`. Knobs: `columns`, `rows`, `lines`, `length` (stops of a line), `rides` (of the quickest way at
    least), `slack` (minutes to spare).
    """

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Rider | None:
        lines: list[list[Point]] = []
        used: set[Point] = set()
        for _ in range(knobs["lines"]):
            line = _line(rng, knobs, sorted({p for one in lines for p in one}), used)
            if line is None:
                return None
            lines.append(line)
        stops = sorted({p for one in lines for p in one})
        if len(stops) > len(NAMES):
            return None
        order = rng.sample(stops, len(stops))
        index = {p: i for i, p in enumerate(order)}
        pace = [(1 + rng.below(8), 1 + rng.below(4)) for _ in lines]
        metro = Metro(tuple(order), tuple([tuple([index[p] for p in line]) for line in lines]), tuple(pace))
        pairs = far(metro, knobs["rides"])
        if not pairs:
            return None
        goal, minutes, rides, start = rng.pick(pairs)
        return Rider(replace(metro, goal=goal, budget=rides + 3), start, minutes + knobs["slack"])

    def layout(self, state: Rider) -> str:
        """The lines as they lie, however the map is turned or mirrored, with their pace."""
        images = []
        for k in range(8):
            spots = [((-x if k & 1 else x), (-y if k & 2 else y)) for x, y in state.metro.at]
            spots = [(y, x) if k & 4 else (x, y) for x, y in spots]
            left, top = min(x for x, _ in spots), min(y for _, y in spots)
            told = [
                (min(way, way[::-1]), pace)
                for line, pace in zip(state.metro.lines, state.metro.pace, strict=True)
                for way in [tuple([(spots[s][0] - left, spots[s][1] - top) for s in line])]
            ]
            images.append(str(sorted(told)))
        return min(images)

    def turns(self, state: Rider) -> int:
        return state.metro.budget

    def mover(self, state: Rider) -> int:
        return -1 if state.at == state.metro.goal or state.left <= 0 else 0

    def legal(self, state: Rider) -> tuple[Move, ...]:
        return () if self.mover(state) < 0 else tuple([_ride(*ride) for ride in state.metro.rides[state.at]])

    def guess(self, state: Rider, rng: Rng) -> Move:
        return _ride(rng.below(len(state.metro.lines)), rng.below(len(state.metro.at)))

    def read(self, text: str) -> Move | None:
        found = _MOVE.fullmatch(_VIA.sub(r"\2 \1", text))
        return _ride(int(found[1]) - 1, NAMES.index(found[2].upper())) if found else None

    def play(self, state: Rider, move: Move) -> After[Rider]:
        left = state.left - state.metro.rides[state.at][move.value]
        if left < 0:
            return After(Rider(state.metro, state.at, 0), done=True, events=(("late",),))  # they end on the way
        after = Rider(state.metro, move.value[1], left)
        if after.at == state.metro.goal:
            return After(after, (WON,), True, (("there",),))
        return After(after, done=not left, events=((() if left else ("late",)),))

    def advise(self, state: Rider) -> Answer:
        best = quickest(state.metro, state.metro.goal)
        if best[state.at][0] > state.left:
            return Unsolvable("the minutes left do not suffice")
        at, moves = state.at, []
        while at != state.metro.goal:
            moves.append(_ride(*best[at][2]))
            at = best[at][2][1]
        return Plan(tuple(moves))

    def caption(self, state: Rider, side: int, level: int) -> str:
        metro = state.metro
        now = (
            f"You are at {NAMES[state.at]}; go to {NAMES[metro.goal]} in {state.left} minute{'s' * (state.left != 1)}."
        )
        if level == 1:
            here = [str(k + 1) for k, line in enumerate(metro.lines) if state.at in line]
            return f"{now} Lines that stop here: {', '.join(here)}."
        stops = [f"{name} ({x},{y})" for name, (x, y) in zip(NAMES, metro.at, strict=False)]
        lines = [
            f"line {k}: {' '.join([NAMES[s] for s in line])}, wait {wait}, ride {ride}."
            for k, (line, (wait, ride)) in enumerate(zip(metro.lines, metro.pace, strict=True), 1)
        ]
        return "\n".join([f"stops: {'; '.join(stops)}", *lines, now])

    def rebuild(self, caption: str, side: int) -> Rider:
        """See `World.rebuild`."""
        head, *lines, now = caption.split("\n")
        found, told = _NOW.fullmatch(now), [_LINE.fullmatch(line) for line in lines]
        if not found or None in told:
            raise QuintainError(f"this is no full caption of a transit map: {caption[:60]!r}")
        at = tuple([(int(x), int(y)) for x, y in re.findall(r"\((\d+),(\d+)\)", head)])
        stops = tuple([tuple(map(NAMES.index, line[2].split())) for line in told if line])
        pace = tuple([(int(line[3]), int(line[4])) for line in told if line])
        return Rider(Metro(at, stops, pace, NAMES.index(found[2])), NAMES.index(found[1]), int(found[3]))

    def static(self, state: Rider, side: int) -> tuple[str, ...]:
        metro, out = state.metro, [f"to:{NAMES[state.metro.goal]}"]
        for k, (line, (wait, ride)) in enumerate(zip(metro.lines, metro.pace, strict=True), 1):
            out += [f"line:{k}", f"wait:{wait}", f"ride:{ride}", *(NAMES[s] for s in line)]
        return tuple(out)

    def moving(self, state: Rider, side: int) -> tuple[str, ...]:
        return (f"at:{NAMES[state.at]}", *digits("left", state.left))

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        numbers = [str(k + 1) for k in range(knobs["lines"])]
        out = [*NAMES, *numbers, *(f"line:{k}" for k in numbers), *(f"wait:{n}" for n in range(1, 9))]
        out += [f"ride:{n}" for n in range(1, 5)] + [f"{what}:{name}" for what in ("to", "at") for name in NAMES]
        return (*out, *digit_words("left", 3))

    def scene(self, state: Rider, side: int) -> Scene:
        metro = state.metro
        shapes = [*_map(metro), *_stops(state)]
        told = f"{NAMES[state.at]} to {NAMES[metro.goal]} in {state.left}"
        shapes.append(Run(text=told, x=8, y=15.35, size=0.95, color="stone"))
        return Scene(width=16, height=16, shapes=tuple(shapes))


def _spots(metro: Metro) -> list[tuple[float, float]]:
    """Where stops are drawn."""
    xs, ys = [x for x, _ in metro.at], [y for _, y in metro.at]
    step = min(13.6 / max(max(xs) - min(xs), 1), 10.6 / max(max(ys) - min(ys), 1), 3.6)
    left, top = 8 - step * (max(xs) + min(xs)) / 2, 6.5 - step * (max(ys) + min(ys)) / 2
    return [(round(left + x * step, 3), round(top + y * step, 3)) for x, y in metro.at]


def _badge(text: str, x: float, y: float, color: str) -> tuple[Shape, ...]:
    body = Box(x=x - 0.36, y=y - 0.42, width=0.72, height=0.84, fill=color, line="white", thick=0.06, radius=0.2)
    return (body, Run(text=text, x=x, y=y + 0.03, size=0.68, color="white"))


@functools.lru_cache(maxsize=128)
def _map(metro: Metro) -> tuple[Shape, ...]:
    """The lines with their numbers, and below them the wait and the minutes from stop to stop of each."""
    spots = _spots(metro)
    shapes: list[Shape] = []
    for line, color in zip(metro.lines, COLORS, strict=False):
        shapes.append(Polygon(points=tuple([spots[s] for s in line]), line=color, thick=0.42, closed=False))
    for k, line in enumerate(metro.lines):
        for a, b in itertools.pairwise(line):
            x, y = (spots[a][0] + spots[b][0]) / 2, (spots[a][1] + spots[b][1]) / 2
            shapes += _badge(str(k + 1), x, y, COLORS[k])
    for k, (wait, ride) in enumerate(metro.pace):
        x, y = 0.9 + 5.2 * (k % 3), 13.25 + 1.02 * (k // 3)
        shapes += _badge(str(k + 1), x, y, COLORS[k])
        shapes.append(Run(text=f"wait {wait} ride {ride}", x=x + 2.45, y=y + 0.03, size=0.62, color="ink"))
    return tuple(shapes)


def _stops(state: Rider) -> list[Shape]:
    shapes: list[Shape] = []
    for i, (x, y) in enumerate(_spots(state.metro)):
        fill = "sky" if i == state.at else "sand" if i == state.metro.goal else "white"
        shapes.append(Disc(x=x, y=y, radius=0.66, fill=fill, line="ink", thick=0.12))
        if i == state.metro.goal:
            shapes.append(Disc(x=x, y=y, radius=0.5, line="rust", thick=0.06))
        shapes.append(Run(text=NAMES[i], x=x, y=y + 0.03, size=0.74))
    return shapes
