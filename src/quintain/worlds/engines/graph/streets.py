"""Written directions followed on a street map, block by block; who is there says so."""

from __future__ import annotations

import functools
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quintain.types import Ints, QuintainError
from quintain.worlds.cells import LETTERS, name_of, names_of, read_cell
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import Answer, Choices, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Disc, Polygon, Run, Scene, Shape
from quintain.worlds.splits import canonical

SAYINGS = {"wrong": "That is not where the directions lead.", "there": "You have arrived."}
WAYS = ("north", "east", "south", "west")
TURNS = (*WAYS, "left", "right")
CHOICES = Choices(
    *(*WAYS, "stop"),
    synonyms={
        "n": "north",
        "e": "east",
        "s": "south",
        "w": "west",
        "up": "north",
        "down": "south",
    }  # left and right are sides of the walker, as in the directions
    | {f"go {way}": way for way in WAYS}
    | dict(zip("↑→↓←⬆➡⬇⬅", WAYS * 2, strict=True))
    | dict.fromkeys(("here", "arrived", "done", "arrive"), "stop"),
)
ORDERS = ("", "first", "second", "third", "fourth", "fifth", "sixth")
PLACES = "ABCDEFGH"
END = "the end of the street"
_LEG = re.compile(
    rf"(?:Go|Turn) ({'|'.join(TURNS)}), to (?:the ({'|'.join(ORDERS[1:])}) crossing|place ([A-H])|{END})\."
)
_HEAD = re.compile(r"Start: ([a-z]\d+)\. You are at ([a-z]\d+)( and have stopped)?\.")


@dataclass(frozen=True)
class Town:
    """What never changes.

    Attributes:
        width: columns of corners.
        streets: the blocks of street and the corners, row by row, 2 * width - 1 signs in a row: `+` a corner, or a place's letter, `-`
            and `|` a block of street, `.` nothing.
        start: the corner where directions begin.
        legs: (turn, goal) of each leg: turns as in `TURNS`; goals 1.. count crossings, 0 is the end of the street, -1.. are places.
        budget: turns.
    """

    width: int
    streets: str
    start: int
    legs: tuple[tuple[int, int], ...]
    budget: int = 0

    @functools.cached_property
    def to(self) -> tuple[Ints, ...]:
        """[corner][way]: the corner at the other end of the block, or -1."""
        wide, out = 2 * self.width - 1, []
        for row in range(0, len(self.streets) // wide, 2):
            for column in range(0, wide, 2):
                ends = []
                for dy, dx in ((-1, 0), (0, 1), (1, 0), (0, -1)):
                    y, x = row + dy, column + dx
                    there = 0 <= x < wide and 0 <= y < len(self.streets) // wide and self.streets[y * wide + x] in "-|"
                    ends.append((row // 2 + dy) * self.width + column // 2 + dx if there else -1)
                out.append(tuple(ends))
        return tuple(out)

    @functools.cached_property
    def places(self) -> dict[int, str]:
        """Corner -> the letter of the place there."""
        wide = 2 * self.width - 1
        signs = [self.streets[y + x] for y in range(0, len(self.streets), 2 * wide) for x in range(0, wide, 2)]
        return {i: sign for i, sign in enumerate(signs) if sign in PLACES}

    def ahead(self, at: int, way: int) -> list[int]:
        """The corners straight ahead, near to far."""
        out = []
        while (at := self.to[at][way]) >= 0:
            out.append(at)
        return out

    def crossing(self, at: int, way: int) -> bool:
        """Whether a street leaves to the left or the right of somebody who comes along."""
        return self.to[at][(way + 1) % 4] >= 0 or self.to[at][(way + 3) % 4] >= 0

    @functools.cached_property
    def goal(self) -> int:
        """The corner where the directions end; -1 if they cannot be followed."""
        at, way = self.start, 0
        for turn, goal in self.legs:
            way = turn if turn < 4 else (way + (3 if turn == 4 else 1)) % 4
            run = self.ahead(at, way)
            if goal > 0:
                run = [v for v in run if self.crossing(v, way)][goal - 1 : goal]
            elif goal < 0:
                run = [v for v in run if self.places.get(v) == PLACES[-goal - 1]]
            if not run:
                return -1
            at = run[-1]
        return at


@dataclass(frozen=True, slots=True)
class Walker:
    """The state: the town, the corner, and 1 once it was said that this is the place."""

    town: Town
    at: int
    stopped: int = 0


@functools.lru_cache(maxsize=2048)
def _ways(town: Town) -> dict[int, tuple[int, int]]:
    """Of each corner: blocks to the goal and the first way."""
    best, waiting = {town.goal: (0, 0)}, deque([town.goal])
    while waiting:
        at = waiting.popleft()
        for way, other in enumerate(town.to[at]):
            if other >= 0 and other not in best:
                best[other] = (best[at][0] + 1, (way + 2) % 4)
                waiting.append(other)
    return best


def _streets(rng: Rng, width: int, height: int, gone: int, places: int) -> str:
    """A lattice of streets without some blocks, and all still joined; with letters at some corners."""
    wide, tall = 2 * width - 1, 2 * height - 1
    signs = [
        ["+" if not (x % 2 or y % 2) else "." if x % 2 and y % 2 else "-" if x % 2 else "|" for x in range(wide)]
        for y in range(tall)
    ]
    blocks = [(y, x) for y in range(tall) for x in range(wide) if signs[y][x] in "-|"]
    rng.shuffle(blocks)
    for y, x in blocks[:gone]:
        old, signs[y][x] = signs[y][x], "."
        town = Town(width, "".join(map("".join, signs)), 0, ())
        if len(_ways(Town(width, town.streets, 0, ()))) < width * height:
            signs[y][x] = old
    for letter, i in zip(PLACES, rng.sample(range(width * height), places), strict=False):
        signs[i // width * 2][i % width * 2] = letter
    return "".join(map("".join, signs))


@dataclass(frozen=True)
class StreetGame:
    """Directions as `turns.Game`. Knobs: `width`, `height` (corners), `gone` (blocks taken out at most), `places`, `legs`, `turned` (1:
    left and right instead of points of the compass, after the first leg).
    """

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Walker | None:
        width = knobs["width"]
        streets = _streets(rng, width, knobs["height"], knobs["gone"], knobs["places"])
        town = Town(width, streets, rng.below(width * knobs["height"]), ())
        at, way, legs, seen, walk = town.start, -1, [], {town.start}, 0
        for _ in range(knobs["legs"]):
            turns = [w for w in range(4) if town.to[at][w] >= 0 and (way < 0 or (w - way) % 2)]
            if not turns:
                return None
            new = rng.pick(turns)
            run = town.ahead(at, new)
            goals = [(v, 0) for v in run[-1:]]
            goals += [(v, n) for n, v in enumerate([v for v in run if town.crossing(v, new)], 1)]
            goals += [(v, -PLACES.index(town.places[v]) - 1) for v in run if v in town.places]
            at, goal = rng.pick(goals)
            walk += run.index(at) + 1
            turn = new if way < 0 or not knobs["turned"] else 4 if (new - way) % 4 == 3 else 5
            legs.append((turn, goal))
            if at in seen:
                return None
            seen.add(at)
            way = new
        length = _ways(Town(width, streets, town.start, tuple(legs)))[town.start][0]
        if length < knobs["legs"]:
            return None
        budget = max(length * 3 // 2, walk) + 4  # enough for all that is told, which may lead round
        return Walker(Town(width, streets, town.start, tuple(legs), budget), town.start)

    def layout(self, state: Walker) -> str:
        """The streets with start and goal, however they are turned or mirrored."""
        town, wide = state.town, 2 * state.town.width - 1
        signs = ["." if s == "." else "+" for s in town.streets]
        for corner, sign in ((town.start, "s"), (town.goal, "g")):
            signs[corner // town.width * 2 * wide + corner % town.width * 2] = sign
        return canonical(signs, wide, len(signs) // wide)

    def turns(self, state: Walker) -> int:
        return state.town.budget

    def mover(self, state: Walker) -> int:
        return -1 if state.stopped else 0

    def legal(self, state: Walker) -> tuple[Move, ...]:
        if state.stopped:
            return ()
        ways = [CHOICES[WAYS[w]] for w, to in enumerate(state.town.to[state.at]) if to >= 0]
        return (*ways, CHOICES["stop"])

    def guess(self, state: Walker, rng: Rng) -> Move:
        return rng.pick(CHOICES.moves)

    def read(self, text: str) -> Move | None:
        return CHOICES.read(text)

    def play(self, state: Walker, move: Move) -> After[Walker]:
        if move.key == "stop":
            right = state.at == state.town.goal
            after = Walker(state.town, state.at, 1)
            return After(after, (WON if right else {},), True, (("there" if right else "wrong",),))
        return After(Walker(state.town, state.town.to[state.at][WAYS.index(move.key)]))

    def advise(self, state: Walker) -> Answer:
        if state.town.goal < 0:
            return Unsolvable("the directions cannot be followed")
        best, at, moves = _ways(state.town), state.at, []
        while at != state.town.goal:
            moves.append(CHOICES[WAYS[best[at][1]]])
            at = state.town.to[at][best[at][1]]
        return Plan((*moves, CHOICES["stop"]))

    def caption(self, state: Walker, side: int, level: int) -> str:
        town = state.town
        name = functools.partial(_name, town.width)
        told = " ".join([_said(turn, goal) for turn, goal in town.legs])
        end = " and have stopped" if state.stopped else ""
        head = f"Start: {name(town.start)}. You are at {name(state.at)}{end}.\nDirections: {told}"
        if level == 1:
            ways = [WAYS[w] for w, to in enumerate(town.to[state.at]) if to >= 0]
            return f"{head}\nStreets lead {', '.join(ways)}."
        wide = 2 * town.width - 1
        rows = [" ".join(town.streets[i : i + wide]) for i in range(0, len(town.streets), wide)]
        labels = [f"{i // 2 + 1} " if i % 2 == 0 else "  " for i in range(len(rows))]
        top = "  " + "   ".join(LETTERS[: town.width])
        return "\n".join([head, top, *(a + b for a, b in zip(labels, rows, strict=True))])

    def rebuild(self, caption: str, side: int) -> Walker:
        """See `World.rebuild`."""
        head, told, top, *rows = caption.split("\n")
        found, width = _HEAD.fullmatch(head), len(top.split())
        if not found:
            raise QuintainError(f"this is no full caption of a street map: {caption[:60]!r}")
        legs = []
        for turn, order, place in _LEG.findall(told):
            goal = ORDERS.index(order) if order else -PLACES.index(place) - 1 if place else 0
            legs.append((TURNS.index(turn), goal))
        cells = [read_cell(found[i]) for i in (1, 2)]
        start, at = (row * width + column for row, column in [c for c in cells if c])
        streets = "".join([row[2:].replace(" ", "") for row in rows])
        return Walker(Town(width, streets, start, tuple(legs)), at, int(bool(found[3])))

    def static(self, state: Walker, side: int) -> tuple[str, ...]:
        town = state.town
        name = functools.partial(_name, town.width)
        out = [f"start:{name(town.start)}"]
        for at, to in enumerate(town.to):
            out += [f"{name(at)}-{name(b)}" for b in to[1:3] if b >= 0]
        out += [f"{name(at)}:{place}" for at, place in town.places.items()]
        return (*out, *(f"{TURNS[turn]}:{_short(goal)}" for turn, goal in town.legs))

    def moving(self, state: Walker, side: int) -> tuple[str, ...]:
        return (f"at:{_name(state.town.width, state.at)}", *(("stopped",) if state.stopped else ()))

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        width, height = knobs["width"], knobs["height"]
        names = names_of(width, height)
        out = [m.key for m in CHOICES.moves] + ["stopped"]
        out += [f"{what}:{name}" for what in ("start", "at") for name in names]
        out += [f"{a}-{names[i + step]}" for i, a in enumerate(names) for step in (1, width) if i + step < len(names)]
        out += [f"{name}:{place}" for name in names for place in PLACES]
        return (*out, *(f"{turn}:{_short(goal)}" for turn in TURNS for goal in range(-len(PLACES), len(ORDERS))))

    def scene(self, state: Walker, side: int) -> Scene:
        return _drawn(state)


def _name(width: int, corner: int) -> str:
    return name_of(*divmod(corner, width))


def _said(turn: int, goal: int) -> str:
    where = f"the {ORDERS[goal]} crossing" if goal > 0 else f"place {PLACES[-goal - 1]}" if goal else END
    return f"{'Go' if turn < 4 else 'Turn'} {TURNS[turn]}, to {where}."


def _short(goal: int) -> str:
    return str(goal) if goal > 0 else PLACES[-goal - 1] if goal else "end"


def _drawn(state: Walker) -> Scene:
    """Streets between blocks of houses, places with their letters, and below the directions in short."""
    town = state.town
    height = len(town.to) // town.width
    step = min(12.0 / (town.width - 1), 10.6 / (height - 1), 3.2)
    left, top = 8.6 - step * (town.width - 1) / 2, 7.2 - step * (height - 1) / 2
    at = [
        (round(left + step * (i % town.width), 3), round(top + step * (i // town.width), 3))
        for i in range(len(town.to))
    ]
    shapes: list[Shape] = []
    pieces = [(at[a], at[b]) for a, to in enumerate(town.to) for b in to[1:3] if b >= 0]
    for thick, color in ((0.26 * step, "cloud"), (0.2 * step, "white")):
        shapes += [Polygon(points=piece, line=color, thick=round(thick, 3), closed=False) for piece in pieces]
        radius = round(thick / 2, 3)
        shapes += [Disc(x=x, y=y, radius=radius, fill=color) for x, y in at]
    for i in range(town.width):
        shapes.append(Run(text=LETTERS[i], x=at[i][0], y=top - 1.3, size=0.66, color="stone"))
    for i in range(height):
        shapes.append(Run(text=str(i + 1), x=left - 1.3, y=at[i * town.width][1], size=0.66, color="stone"))
    radius = min(0.24 * step, 0.52)
    for i, place in town.places.items():
        shapes.append(Disc(x=at[i][0], y=at[i][1], radius=radius, fill="sand", line="bark", thick=0.08))
        shapes.append(Run(text=place, x=at[i][0], y=at[i][1] + 0.02, size=1.3 * radius))
    x, y = at[town.start]
    shapes.append(Disc(x=x, y=y, radius=radius + 0.14, line="green", thick=0.14))
    x, y = at[state.at]
    off = radius * 1.1
    shapes.append(
        Disc(
            x=x + off,
            y=y + off,
            radius=0.6 * radius,
            fill="ink" if state.stopped else "blue",
            line="white",
            thick=0.07,
        )
    )
    legs = [f"{TURNS[turn][0].upper() if turn < 4 else TURNS[turn]} {_short(goal)}" for turn, goal in town.legs]
    rows = [legs] if len(legs) < 5 else [legs[: (len(legs) + 1) // 2], legs[(len(legs) + 1) // 2 :]]
    for k, row in enumerate(rows):
        text = " · ".join(row)
        y = 15.3 if len(rows) == 1 else 14.3 + 1.05 * k
        shapes.append(Run(text=text, x=8, y=y, size=min(0.9, 28 / len(text)), color="ink"))
    return Scene(width=16, height=16, shapes=tuple(shapes), background="floor")
