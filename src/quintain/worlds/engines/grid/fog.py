"""Maps in fog: the walker sees the cells around it and remembers what it has seen."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quintain.worlds.art import tiles
from quintain.worlds.cells import bits_of
from quintain.worlds.directions import CHOICES
from quintain.worlds.engines.grid.board import FLOOR, GOAL, WALL, Board, open_steps
from quintain.worlds.engines.grid.floorplan import begun, divided
from quintain.worlds.engines.grid.maps import steps
from quintain.worlds.engines.grid.waves import grown, inner, lowest, waves
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import Answer, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc
from quintain.worlds.splits import Draft

UNKNOWN = "?"
FAR = -1
_LINE = re.compile(r"You see (\d+) cells? far; \d+ cells? (?:is|are) unknown\.")
_INDEX = {move: i for i, move in enumerate(CHOICES.moves)}
tiles(
    {
        "fog": (
            Box(x=0, y=0, width=1, height=1, fill="cloud"),
            *(
                Disc(x=x, y=y, radius=r, fill="seam")
                for x, y, r in ((0.34, 0.58, 0.17), (0.56, 0.46, 0.2), (0.72, 0.6, 0.14))
            ),
        )
    }
)


@dataclass(frozen=True, slots=True)
class Fog:
    """The state: where the walker is, and the map as far as it has been seen."""

    board: Board
    at: int
    known: str
    radius: int = 1


@functools.lru_cache(maxsize=64)
def windows(width: int, height: int, radius: int) -> tuple[tuple[int, ...], ...]:
    """For each cell those that are seen from it, itself included."""
    out = []
    for y in range(height):
        rows = range(max(0, y - radius), min(height, y + radius + 1))
        for x in range(width):
            columns = range(max(0, x - radius), min(width, x + radius + 1))
            out.append(tuple(r * width + c for r in rows for c in columns))
    return tuple(out)


@functools.lru_cache(maxsize=64)
def _shown(width: int, height: int, radius: int) -> tuple[tuple[int, ...], int]:
    """`windows` as bits, and the most cells that any has."""
    every = windows(width, height, radius)
    return tuple(sum(1 << c for c in window) for window in every), max(map(len, every))


def looked(board: Board, known: str, at: int, radius: int) -> str:
    """The known map after a look around from `at`."""
    window = windows(board.width, board.height, radius)[at]
    if all(known[c] != UNKNOWN for c in window):
        return known
    out = list(known)
    for cell in window:
        out[cell] = board.cells[cell]
    return "".join(out)


def onward(state: Fog) -> int:
    """The way (0 to 3) that an explorer takes who knows no more than the walker; `FAR` if there is nowhere to go.

    If the goal has been seen: along the shortest way on which nothing known stands. If not: to the cell that shows the most
    unknown cells for each step of the way to it, over known floor.
    """
    known, width = state.known, state.board.width
    height, start, ahead = len(known) // width, 1 << state.at, []
    for to in open_steps(width, height):
        ahead.append(1 << to[state.at] if to[state.at] >= 0 else 0)
    goal, beside = known.find(GOAL), sum(ahead)
    if goal >= 0:
        found = waves(1 << goal, bits_of(known, FLOOR + GOAL + UNKNOWN), width, height)
        hit = next((wave for wave in found if wave & beside), 0)
        return next((way for way, to in enumerate(ahead) if to & hit), FAR)
    every = list(waves(start, bits_of(known, FLOOR), width, height))
    cell, steps = _outlook(every, bits_of(known, UNKNOWN), *_shown(width, height, state.radius))
    if cell < 0:
        return FAR
    back, within = 1 << cell, inner(width, height)
    for wave in every[steps - 1 : 0 : -1]:
        back = grown(back, width, within) & wave
    return next(way for way, to in enumerate(ahead) if to & back)


def _outlook(every: Sequence[int], unseen: int, masks: Sequence[int], most: int) -> tuple[int, int]:
    """Of cells so many steps away the one that shows the most unseen ones for each step, and its steps; (-1, 0) if none shows any.

    `masks` are what cells show, `most` cells at most.
    """
    best, found = 0.0, (-1, 0)
    for far, wave in enumerate(every[1:], 1):
        if most / far < best:
            break
        while wave:
            cell = lowest(wave)
            worth = (masks[cell] & unseen).bit_count() / far
            if worth > best or (worth == best and best and cell < found[0]):
                best, found = worth, (cell, far)
            wave &= wave - 1
    return found


@dataclass(frozen=True)
class FogRules:
    """The rules of such maps."""

    choices = CHOICES

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Fog] | None:
        """Rooms with gaps and loose walls, where an explorer has to look about; the budget is a quarter more than it takes."""
        side, radius = knobs["size"], knobs["radius"]
        plan = divided(rng, side, knobs["across"], knobs["across"])
        if plan is None:
            return None
        cells = plan.cells
        for gate in plan.gates.values():
            if rng.uniform() < knobs["open"]:
                cells[rng.pick(gate)] = FLOOR
        floor = [c for c, sign in enumerate(cells) if sign == FLOOR]
        for cell in rng.sample(floor, knobs["walls"]):
            cells[cell] = WALL
        cells[rng.pick(floor)] = GOAL
        begin = begun(rng, Board(side, side, "".join(cells)), {**knobs, "high": side * side}, floor)
        if begin is None:
            return None
        state = self._begin(begin.board, begin.at, radius)
        return Draft(state, lambda: self._explored(state, knobs))

    def _explored(self, state: Fog, knobs: Mapping[str, Any]) -> Fog | None:
        limit, turns, at = knobs["high"], 0, state
        while at.board.cells[at.at] != GOAL:
            turns += 1
            if turns > limit:
                return None
            at = self._walked(at, onward(at))
        if turns < knobs["low"] + knobs["extra"]:
            return None
        return replace(state, board=replace(state.board, budget=turns * 5 // 4 + 2))

    def _begin(self, board: Board, at: int, radius: int) -> Fog:
        return Fog(board, at, looked(board, UNKNOWN * len(board.cells), at, radius), radius)

    def _walked(self, state: Fog, way: int) -> Fog:
        to = steps(state.board)[state.at][way]
        return Fog(state.board, to, looked(state.board, state.known, to, state.radius), state.radius)

    def over(self, state: Fog) -> bool:
        return state.board.cells[state.at] == GOAL

    def legal(self, state: Fog) -> tuple[Move, ...]:
        return tuple([m for m, to in zip(CHOICES.moves, steps(state.board)[state.at], strict=True) if to >= 0])

    def play(self, state: Fog, move: Move) -> After[Fog]:
        after = self._walked(state, _INDEX[move])
        return After(after, (WON,), True) if self.over(after) else After(after)

    def advise(self, state: Fog) -> Answer:
        way = onward(state)
        if way < 0:
            return Unsolvable("all that can be reached has been seen, and the goal is not there")
        return Plan((CHOICES.moves[way],), "policy", value=1.0)

    def signs(self, state: Fog) -> Sequence[str]:
        return state.known

    def lines(self, state: Fog) -> tuple[str, ...]:
        far, many = state.radius, state.known.count(UNKNOWN)
        return (f"You see {far} cell{'s' * (far > 1)} far; {many} cell{'s are' if many != 1 else ' is'} unknown.",)

    def parse(self, signs: str, width: int, at: int, lines: Sequence[str]) -> Fog:
        told = _LINE.fullmatch(lines[0]) if lines else None
        board = Board(width, len(signs) // width, signs.replace(UNKNOWN, FLOOR))
        return Fog(board, at, signs, int(told[1]) if told else 1)
