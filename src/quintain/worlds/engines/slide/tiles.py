"""Sliding tiles: a tile next to the gap slides into it, until the numbers stand in order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.directions import CHOICES, DIRECTIONS
from quintain.worlds.engines.slide import art
from quintain.worlds.engines.slide.tiles_solve import any_plan, shortest_plan
from quintain.worlds.kernel import (
    Answer,
    Events,
    Facts,
    GenerationError,
    Move,
    Outcome,
    Plan,
    Unknown,
    Unsolvable,
    View,
    check_level,
)
from quintain.worlds.knobs import check_knobs, overridable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene
from quintain.worlds.seats import seated
from quintain.worlds.splits import canonical, drawn

art.add()
INDEX = {name: i for i, name in enumerate(DIRECTIONS)}
WON = {SOLO: {"success": 1.0}}
ILLEGAL: Events = {SOLO: ("illegal",)}
ANSWER = "Where a tile slides to: one of up, down, left, right."
SAYINGS = {"illegal": "No tile can slide that way; nothing moved."}
SIDES = range(2, 5)
_TILE = re.compile(
    r"(?:(?:(?:slide|move|push) )?(?:the )?tile|slide|push(?: the)?) (\d{1,2})(?: into the gap|(?: to the)? (up|down|left|right))?",
    re.ASCII,
)
_HOLE = r"(?:the )?(?:blank|gap|hole|empty (?:space|cell|tile|square|spot|slot))(?: tile| space| cell| square)?"
_BLANK = re.compile(  # which goes where a tile comes from
    r"(?:(?:so|now|then|i|we|let's|should|will|can|to|must) )*"
    rf"(?:(?:move|slide|push|shift|swap) {_HOLE}(?: (?:to|by|one|step|cell))*|{_HOLE}(?: (?:should|must|will|can|to|be))*"
    r" (?:moved?|moves|go|goes|slides?|shifts?)(?: (?:to|by|one|step|cell))*)"
    r" (up|down|left|right)(?:wards?)?[.!]?(?:[,;]? (?:and|so|because|as|since|to|which)\b.*)?"
)
GAP = "."


class Tile(NamedTuple):
    """A move that names the tile, and maybe where it slides."""

    number: int
    way: str


@dataclass(frozen=True)
class Frame:
    """What stays the same: the sides of the board and the turn budget."""

    width: int
    height: int
    budget: int = 0

    @cached_property
    def sources(self) -> tuple[tuple[int, ...], ...]:
        """[direction][gap]: the cell of the tile that slides that way, or -1."""
        w, h = self.width, self.height

        def at(x: int, y: int) -> int:
            return y * w + x if 0 <= x < w and 0 <= y < h else -1

        steps = ((0, 1), (0, -1), (1, 0), (-1, 0))
        return tuple(tuple(at(c % w + dx, c // w + dy) for c in range(w * h)) for dx, dy in steps)

    @cached_property
    def goal(self) -> tuple[int, ...]:
        """The numbers in order, the gap last."""
        return (*range(1, self.width * self.height), 0)


@dataclass(frozen=True, slots=True)
class Slid:
    """The state of sliding tiles: the number on each cell, row by row, 0 for the gap."""

    frame: Frame
    tiles: tuple[int, ...]


@seated
@dataclass(frozen=True, kw_only=True)
class TileWorld:
    """A world of sliding tiles: what a declaration gives.

    Args:
        facts: rules and ceilings.
        levels: ten mappings of the knobs `width` and `height` (2 to 4), `low` and `high` (random slides, none undoing
            the last, that lead from the goal to the start), `far` (least sum of the tiles' distances from home). The
            turn budget is half as many again as the slides, and six.
    """

    facts: Facts
    levels: Sequence[Mapping[str, Any]]
    schema: type[Slid] = Slid

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Slid:
        """See `World.start`."""
        chosen = check_knobs(knobs, self.levels, level)
        if chosen["width"] not in SIDES or chosen["height"] not in SIDES:
            raise GenerationError(f"{chosen['width']} x {chosen['height']} tiles; both sides must be 2, 3 or 4")
        return drawn(lambda r: scrambled(r, chosen), layout_of, Rng(self.facts.name, seed, level, split), split)

    def view(self, state: Slid, seat: str) -> View[Slid]:
        return View(self, state, seat)

    def read(self, text: str, seat: str) -> Move | None:
        if gap := _BLANK.fullmatch(text[:100].strip().lower()):
            return CHOICES[{"up": "down", "down": "up", "left": "right", "right": "left"}[gap[1]]]
        if not (said := _TILE.fullmatch(text[:64].strip().lower())):
            return CHOICES.read(text)
        tile = Tile(int(said[1]), said[2] or "")
        return Move(f"tile {tile.number} {tile.way}".rstrip(), tile, True)

    def turns(self, state: Slid) -> int:
        return state.frame.budget

    def words(self, level: int) -> tuple[str, ...]:
        knobs = self.levels[check_level(level)]
        cells = [f"{y}{x}" for y in range(knobs["height"]) for x in range(knobs["width"])]
        return (*DIRECTIONS, *(f"{tile}:{cell}" for tile in range(len(cells)) for cell in cells))

    def step(self, state: Slid, moves: Mapping[str, Move]) -> Outcome[Slid]:
        frame, tiles = state.frame, state.tiles
        gap = tiles.index(0)
        move = moves[SOLO]
        if move.value is None:
            source = frame.sources[INDEX[move.key]][gap]
        else:
            tile, way = move.value
            near = [frame.sources[INDEX[name]][gap] for name in ([way] if way else DIRECTIONS)]
            source = next((cell for cell in near if cell >= 0 and tiles[cell] == tile), -1)
        if source < 0 or tiles == frame.goal:
            return Outcome(state, events=ILLEGAL)
        after = slid(tiles, gap, source)
        return Outcome(Slid(frame, after), WON, True) if after == frame.goal else Outcome(Slid(frame, after))

    def solve(self, state: Slid, seat: str) -> Answer:
        frame = state.frame
        if state.tiles == frame.goal:
            return Unsolvable("the episode is over")
        if not solvable(state):
            return Unsolvable("the numbers are an odd permutation of the goal")
        best = shortest_plan(state.tiles, frame.width, frame.height)
        nodes = best.nodes
        if best.plan is None:
            best = any_plan(state.tiles, frame.width, frame.height)
        if best.plan is None:
            return Unknown(nodes + best.nodes)
        return Plan(tuple(CHOICES.moves[d] for d in best.plan))

    def legal(self, state: Slid, seat: str) -> tuple[Move, ...]:
        gap = state.tiles.index(0)
        if state.tiles == state.frame.goal:
            return ()
        return tuple(m for m, sources in zip(CHOICES.moves, state.frame.sources, strict=True) if sources[gap] >= 0)

    def sample(self, state: Slid, seat: str, rng: Rng) -> Move:
        return rng.pick(self.legal(state, seat) or CHOICES.moves)

    def caption(self, state: Slid, seat: str, level: int) -> str:
        width, tiles = state.frame.width, state.tiles
        if level == 1:
            gap = tiles.index(0)
            home = sum(a == b != 0 for a, b in zip(tiles, state.frame.goal, strict=True))
            place = f"row {gap // width + 1}, column {gap % width + 1}"
            return f"{home} of {len(tiles) - 1} tiles are in place. The gap is at {place}."
        signs = [f"{tile:2}" if tile else " " + GAP for tile in tiles]
        return "\n".join(" ".join(signs[i : i + width]) for i in range(0, len(signs), width))

    def rebuild(self, caption: str, seat: str) -> Slid:
        """See `World.rebuild`."""
        rows = [line.split() for line in caption.split("\n")]
        signs = ["0" if sign == GAP else sign for row in rows for sign in row]
        tiles = tuple(int(sign) for sign in signs if sign.isdecimal())
        if len(signs) < 4 or len({len(row) for row in rows}) != 1 or sorted(tiles) != list(range(len(signs))):
            raise QuintainError(f"this is no full caption of sliding tiles: {caption[:60]!r}")
        return Slid(Frame(len(rows[0]), len(rows)), tiles)

    def static(self, state: Slid, seat: str) -> tuple[str, ...]:
        return ()

    def moving(self, state: Slid, seat: str) -> tuple[str, ...]:
        width = state.frame.width
        return tuple(f"{tile}:{c // width}{c % width}" for c, tile in enumerate(state.tiles))

    def scene(self, state: Slid, seat: str) -> Scene:
        frame = state.frame
        cells = tuple([f"number-{tile}" if tile else "well" for tile in state.tiles])
        return Scene(width=frame.width, height=frame.height, cells=cells, columns=frame.width)


def slid(tiles: tuple[int, ...], gap: int, source: int) -> tuple[int, ...]:
    """The tiles after the one on `source` slid into the gap."""
    after = list(tiles)
    after[gap], after[source] = after[source], 0
    return tuple(after)


def scrambled(rng: Rng, knobs: Mapping[str, Any]) -> Slid | None:
    """`low`..`high` random slides from the goal, none undoing the one before; None if they end too near to it."""
    count = knobs["low"] + rng.below(knobs["high"] - knobs["low"] + 1)
    frame = Frame(knobs["width"], knobs["height"], count * 3 // 2 + 6)
    tiles, gap, last = list(frame.goal), len(frame.goal) - 1, -1
    for _ in range(count):
        sources = [s[gap] for s in frame.sources]
        source = rng.pick([s for s in sources if s >= 0 and s != last])
        tiles[gap], tiles[source] = tiles[source], 0
        gap, last = source, gap
    w, away = frame.width, 0
    for cell, tile in enumerate(tiles):
        if tile:
            away += abs(cell // w - (tile - 1) // w) + abs(cell % w - (tile - 1) % w)
    return Slid(frame, tuple(tiles)) if away >= knobs["far"] else None


def solvable(state: Slid) -> bool:
    """Whether the goal can be reached: the permutation and the gap's way home are both even or both odd."""
    frame, tiles = state.frame, state.tiles
    gap = tiles.index(0)
    odd = frame.width - 1 - gap % frame.width + frame.height - 1 - gap // frame.width
    seen = [False] * len(tiles)
    for start in range(len(tiles)):
        length, at = 0, start
        while not seen[at]:
            seen[at] = True
            at = (tiles[at] or len(tiles)) - 1
            length += 1
        odd += max(length - 1, 0)
    return odd % 2 == 0


def layout_of(state: Slid) -> str:
    """The least text among the images of a board, turned or mirrored, also with its numbers mirrored likewise.

    Mirroring a board and its numbers along the diagonal leaves the goal as it is, so such boards are one puzzle.
    """
    frame = state.frame
    w, h = frame.width, frame.height
    plain = "".join([chr(97 + tile) for tile in state.tiles])
    if w != h:
        return canonical(plain, w, h)
    partner = [0, *((t - 1) % w * w + (t - 1) // w + 1 for t in range(1, w * h))]
    return min(canonical(plain, w, h), canonical("".join([chr(97 + partner[t]) for t in state.tiles]), w, h))
