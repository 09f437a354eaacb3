"""What is asked of charts: the whole route through one, when and where a spread ends, all distances."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.worlds.cells import labelled, name_of, names_of, read_cell
from quintain.worlds.directions import planned
from quintain.worlds.engines.csp.page import unlabelled
from quintain.worlds.engines.grid.charts import (
    FLOOR,
    GOAL,
    NEAR,
    SOURCE,
    START,
    WALL,
    Chart,
    Verdict,
    scattered,
    sources_of,
    waves,
)
from quintain.worlds.engines.grid.near import beside
from quintain.worlds.engines.turns import WON
from quintain.worlds.kernel import Move
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Disc, Polygon, Run, Scene, Shape

SAYINGS = {
    "wrong": "That is not right.",
    "hit": "Step {} leads into a wall or off the map.",
    "ends": "Your route ends at {}, not on G.",
}
_BETWEEN = re.compile(r"[\s,;/|\[\](){}]+")
_STEP = re.compile(r"(\d{0,3})(up|down|left|right|north|south|east|west|[udlrnsew])(\d{0,3})", re.ASCII)
_RUNS = re.compile(r"(?:[udlr]\d{0,3})+|(?:[nsew]\d{0,3})+", re.ASCII)  # letters, each with a count or none
_TURN = {"n": "u", "s": "d", "w": "l", "e": "r"}
STEPS = {"u": (-1, 0), "d": (1, 0), "l": (0, -1), "r": (0, 1)}


def _chart_cells(chart: Chart, source: str) -> list[str]:
    looks = {WALL: "rock", FLOOR: "ground", SOURCE: f"ground+{source}"}
    return [looks[sign] for sign in chart.cells]


@functools.lru_cache(maxsize=4096)
def _route(steps: str) -> Move:
    return Move(" ".join(steps), steps)


@dataclass(frozen=True)
class Route:
    """The whole way from P to G as a list of steps; `make` draws a map of `side` x `side` cells with both."""

    make: Callable[[Rng, Mapping[str, Any]], tuple[int, str] | None]

    def draw(self, rng: Rng, knobs: Mapping[str, Any]) -> Chart | None:
        made = self.make(rng, knobs)
        if made is None:
            return None
        chart = Chart(*made)
        shortest = waves(chart, chart.cells.index(START))[chart.cells.index(GOAL)]
        return Chart(*made, limit=shortest + knobs["spare"])

    def read(self, text: str) -> Move | None:
        out = []
        for part in _BETWEEN.split(planned(text).replace("->", " ").strip(" ,;[](){}")):
            found = _STEP.fullmatch(part)
            if found:
                if found[1] and found[3]:
                    return None
                out.append(found[2][0] * int(found[1] or found[3] or 1))
            elif _RUNS.fullmatch(part):
                out += [sign * int(count or 1) for sign, count in re.findall(r"([a-z])(\d*)", part)]
            else:
                return None
        steps = "".join([_TURN.get(sign, sign) for one in out for sign in one[:1000]])
        return _route(steps) if 0 < len(steps) <= 1000 else None

    def truth(self, chart: Chart) -> Move:
        return _route(shortest_way(chart))

    def because(self, chart: Chart) -> str:
        """The steps left to G at the cells next to each fork of the way."""
        left, near = waves(chart, chart.cells.index(GOAL)), beside(chart.width, len(chart.cells) // chart.width)
        way, forks = walked(chart, shortest_way(chart)), list[str]()
        names = names_of(chart.width, len(chart.cells) // chart.width)
        for before, cell in zip([-1, *way], way[:-1], strict=False):
            tos = [to for to in near[cell] if left[to] >= 0 and to != before]
            counts = ", ".join([f"{_spelt((cell, to), chart.width)} {left[to]}" for to in tos])
            forks += [f"at {names[cell]} {counts}"] if len(tos) > 1 else []
        told = f"Where the way forks the least count leads on: {'; '.join(forks)}. Else" if forks else "All along"
        head = f"Steps to G at {names[way[-1]]}, counted back from it: {left[way[0]]} at P on {names[way[0]]}."
        return f"{head} {told} there is one way on. So G is reached in {left[way[0]]} steps; no way is shorter."

    def judge(self, chart: Chart, value: str) -> Verdict | None:
        if len(value) > chart.limit:
            return None
        passed = walked(chart, value)
        if len(passed) <= len(value):
            return Verdict({}, f"hit:{len(passed)}")
        end = passed[-1]
        return Verdict(WON) if chart.cells[end] == GOAL else Verdict({}, f"ends:{name_of(*divmod(end, chart.width))}")

    def guess(self, chart: Chart, rng: Rng) -> Move:
        return _route("".join([rng.pick("udlr") for _ in range(chart.limit)]))

    def scene(self, chart: Chart, value: str | None) -> Scene:
        width, height = chart.width, len(chart.cells) // chart.width
        looks = {WALL: "wall", FLOOR: "floor", START: "floor+player", GOAL: "floor+goal"}
        text = f"at most {chart.limit} steps"
        shapes: list[Shape] = [Run(text=text, x=width / 2, y=width * 0.055, size=width * 0.07, color="ink")]
        if value is not None:
            way = [(c % width + 0.5, c // width + 0.5 + width * 0.11) for c in walked(chart, value)]
            if len(way) <= len(value):  # and into a wall
                (x, y), (dx, dy) = way[-1], {"u": (0, -1), "d": (0, 1), "l": (-1, 0), "r": (1, 0)}[value[len(way) - 1]]
                wall = ((x, y), (x + 0.6 * dx, y + 0.6 * dy))
                shapes.append(Polygon(points=wall, line="brick", thick=0.2, closed=False))
            shapes.append(Polygon(points=(*way, way[-1]), line="blue", thick=0.14, closed=False))
            shapes.append(Disc(x=way[-1][0], y=way[-1][1], radius=0.24, fill="blue", line="white", thick=0.07))
        cells = tuple([looks[sign] for sign in chart.cells])
        return Scene(
            width=width,
            height=height + width * 0.11,
            cells=cells,
            columns=width,
            top=width * 0.11,
            shapes=tuple(shapes),
        )

    def tokens(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        return (*STEPS, *[f"limit{n}" for n in range(1, knobs["side"] ** 2 + knobs["spare"])])


def _spelt(way: Sequence[int], width: int) -> str:
    letters = {-width: "u", width: "d", -1: "l", 1: "r"}
    return "".join([letters[b - a] for a, b in itertools.pairwise(way)])


@functools.lru_cache(maxsize=4096)
def shortest_way(chart: Chart) -> str:
    """The letters of a shortest way from P to G."""
    near = beside(chart.width, len(chart.cells) // chart.width)
    left = waves(chart, chart.cells.index(GOAL))
    way = [chart.cells.index(START)]
    while left[way[-1]]:
        way.append(next(c for c in near[way[-1]] if left[c] == left[way[-1]] - 1))
    return _spelt(way, chart.width)


def walked(chart: Chart, steps: str) -> list[int]:
    """The cells of a walk from P, up to the first step into a wall or off the map."""
    width, height = chart.width, len(chart.cells) // chart.width
    way = [chart.cells.index(START)]
    for step in steps:
        down, right = STEPS[step]
        y, x = way[-1] // width + down, way[-1] % width + right
        if not (0 <= y < height and 0 <= x < width) or chart.cells[y * width + x] == WALL:
            break
        way.append(y * width + x)
    return way


def _by_wave(chart: Chart) -> str:
    """The names of the cells at each number of steps from the sources."""
    steps, names = waves(chart, *sources_of(chart)), names_of(chart.width, len(chart.cells) // chart.width)
    found: list[list[str]] = [[] for _ in range(max(steps) + 2)]  # walls, which no steps lead to, come last
    for name, wave in zip(names, steps, strict=True):
        found[wave].append(name)
    return "; ".join([f"{wave}: {' '.join(cells)}" for wave, cells in enumerate(found[:-1])])


@functools.lru_cache(maxsize=1 << 14)
def _spread(minutes: int, cells: tuple[str, ...]) -> Move:
    return Move(f"{minutes} ; {' '.join(cells)}", (minutes, cells))


class Spread:
    """When a spread has reached all floor, and which cells it reaches last."""

    _TEXT = re.compile(
        r"(?:(?:minutes|time)[\s:=]+)?(\d{1,2})\s*(?:min|mins|minutes)?\s*[;:,/|]?\s+(?:at\s+|(?:last\s+)?cells?[\s:=]+)?"
        r"([a-z0-9 ,;(){}\[\]]+)",
        re.ASCII,
    )

    def draw(self, rng: Rng, knobs: Mapping[str, Any]) -> Chart | None:
        chart = scattered(rng, knobs)
        return chart if chart and self._last(chart)[0] >= 3 and len(self._last(chart)[1]) <= 4 else None

    def read(self, text: str) -> Move | None:
        found = self._TEXT.fullmatch(text.replace(";", " ; ").replace(":", " : "))
        if not found:
            return None
        told = re.sub(r"\b(\d{1,2})([a-z])\b", r"\2\1", found[2].replace("and", " "))  # with the row first
        cells = [read_cell(part) for part in _BETWEEN.split(told) if part]
        if not cells or None in cells:
            return None
        return _spread(int(found[1]), tuple([name_of(*cell) for cell in sorted({c for c in cells if c})]))

    @staticmethod
    def _last(chart: Chart) -> tuple[int, tuple[str, ...]]:
        steps = waves(chart, *sources_of(chart))
        names = names_of(chart.width, len(chart.cells) // chart.width)
        return max(steps), tuple([names[i] for i, n in enumerate(steps) if n == max(steps)])

    def truth(self, chart: Chart) -> Move:
        return _spread(*self._last(chart))

    def because(self, chart: Chart) -> str:
        """The cells that catch fire in each minute."""
        minutes, cells = self._last(chart)
        return f"Cells that catch fire, minute by minute: {_by_wave(chart)}. The last minute is {minutes}: {' '.join(cells)}."

    def judge(self, chart: Chart, value: tuple[int, tuple[str, ...]]) -> Verdict | None:
        names = names_of(chart.width, len(chart.cells) // chart.width)
        if not set(value[1]) <= set(names):
            return None
        minutes, cells = self._last(chart)
        if value == (minutes, cells):
            return Verdict(WON)
        return Verdict({"near": NEAR} if value[1] == cells else {}, "wrong")

    def guess(self, chart: Chart, rng: Rng) -> Move:
        names = names_of(chart.width, len(chart.cells) // chart.width)
        return _spread(
            2 + rng.below(chart.width), (rng.pick([n for n, s in zip(names, chart.cells, strict=True) if s == FLOOR]),)
        )

    def scene(self, chart: Chart, value: tuple[int, tuple[str, ...]] | None) -> Scene:
        cells, names = _chart_cells(chart, "blaze"), names_of(chart.width, len(chart.cells) // chart.width)
        if value is None:
            return labelled(cells, chart.width)
        marked = [look + "+ringed" if name in value[1] else look for look, name in zip(cells, names, strict=True)]
        return labelled(marked, chart.width, f"far-{value[0]}")

    def tokens(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        return (";", *map(str, range(knobs["side"] ** 2)), *names_of(knobs["side"], knobs["side"]))


class Distances:
    """The distance of every floor cell to its nearest source, as a matrix."""

    def draw(self, rng: Rng, knobs: Mapping[str, Any]) -> Chart | None:
        return scattered(rng, knobs)

    def read(self, text: str) -> Move | None:
        signs = [part for part in _BETWEEN.split(unlabelled(text)) if part]
        if len(signs) > 2 and all(len(row) == len(signs) for row in signs):
            signs = list("".join(signs))  # rows without gaps
        side = math.isqrt(len(signs))
        if side < 3 or side * side != len(signs):
            return None
        if not all(s == WALL or (s.isascii() and s.isdecimal() and len(s) <= 2) for s in signs):
            return None
        return self._move([s if s == WALL else str(int(s)) for s in signs])

    @staticmethod
    def _move(signs: Sequence[str]) -> Move:
        side = math.isqrt(len(signs))
        return Move(" / ".join([" ".join(signs[i : i + side]) for i in range(0, len(signs), side)]), tuple(signs))

    def because(self, chart: Chart) -> str:
        """The cells at each distance."""
        return f"Steps to the nearest S, each from cells one step nearer: {_by_wave(chart)}. All else is wall."

    def truth(self, chart: Chart) -> Move:
        return self._move([WALL if n < 0 else str(n) for n in waves(chart, *sources_of(chart))])

    def judge(self, chart: Chart, value: tuple[str, ...]) -> Verdict | None:
        if len(value) != len(chart.cells):
            return None
        right = self.truth(chart).value
        if value == right:
            return Verdict(WON)
        asked = [a == b for a, b, sign in zip(value, right, chart.cells, strict=True) if sign == FLOOR]
        return Verdict({"near": NEAR * sum(asked) / len(asked)}, "wrong")

    def guess(self, chart: Chart, rng: Rng) -> Move:
        signs = {WALL: WALL, SOURCE: "0"}
        return self._move([signs.get(sign) or str(1 + rng.below(chart.width)) for sign in chart.cells])

    def scene(self, chart: Chart, value: tuple[str, ...] | None) -> Scene:
        cells = _chart_cells(chart, "beacon")
        if value is not None:
            cells = [look if sign == WALL else f"{look}+far-{sign}" for look, sign in zip(cells, value, strict=True)]
        return labelled(cells, chart.width)

    def tokens(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        return (WALL, "/", *map(str, range(knobs["side"] ** 2)))
