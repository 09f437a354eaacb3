"""Things that go to and fro on straight tracks while the walker is under way: guards who look ahead, and blocks that hit."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.worlds.directions import CHOICES as FOUR
from quintain.worlds.directions import DIRECTIONS, WAITS
from quintain.worlds.engines.grid.board import FLOOR, GOAL, WALL, Board, open_steps
from quintain.worlds.engines.grid.maps import ARROWS, goal_of, steps
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import Answer, Choices, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng

LENGTHS = (3, 4, 7)  # cells of a track: all are back where they were after 4, 6 or 12 turns
PERIOD = 12
LINES = {True: "|", False: "-"}  # a track that runs up and down, or left and right
LIT, LIT_LINES = "+", {"|": "!", "-": "="}  # cells in sight, and tracks in sight
UNLIT = {lit: line for line, lit in LIT_LINES.items()} | {LIT: FLOOR}
WAIT = "wait"
CHOICES = Choices(
    *DIRECTIONS,
    WAIT,
    synonyms={t: m.key for m in FOUR.moves for t in (m.key[0],)}
    | dict(zip(("north", "south", "west", "east"), DIRECTIONS, strict=True))
    | WAITS,
)
ANSWER = "One of: up, down, left, right, wait."


@dataclass(frozen=True, slots=True)
class Patrol:
    """The state: each of `tracks` lists the cells of one round, to and fro, from where it is at phase 0."""

    board: Board
    tracks: tuple[tuple[int, ...], ...]
    at: int
    phase: int = 0


@dataclass(frozen=True)
class Timetable:
    """By phase: the cells on which things stand, those where the walker is caught (both as bit masks), and the signs of all cells."""

    solid: tuple[int, ...]
    danger: tuple[int, ...]
    signs: tuple[str, ...]


@functools.lru_cache(maxsize=512)
def timetable(board: Board, tracks: tuple[tuple[int, ...], ...], sight: int) -> Timetable:
    """What is where at each phase; things look `sight` cells ahead, to the first wall."""
    solid, danger, signs = [], [], []
    for phase in range(PERIOD):
        shown, stand, seen = list(board.cells), 0, 0
        for track in tracks:
            here, ahead = track[phase % len(track)], track[(phase + 1) % len(track)]
            stand |= 1 << here
            seen |= _looks(board, here, ahead, sight)
            for cell in track:
                shown[cell] = LINES[abs(track[0] - track[1]) != 1]
        for cell, sign in enumerate(shown):
            if seen >> cell & 1 and sign != GOAL:
                shown[cell] = LIT_LINES.get(sign, LIT)
        for track in tracks:
            here, ahead = track[phase % len(track)], track[(phase + 1) % len(track)]
            shown[here] = ARROWS[steps(board)[here].index(ahead)]
        solid.append(stand)
        danger.append(stand | seen)
        signs.append("".join(shown))
    return Timetable(tuple(solid), tuple(danger), tuple(signs))


def _looks(board: Board, here: int, ahead: int, sight: int) -> int:
    way, seen = steps(board)[here].index(ahead), 0
    for _ in range(sight):
        here = board.next[way][here]
        if here < 0:
            break
        seen |= 1 << here
    return seen


@functools.lru_cache(maxsize=512)
def waves(board: Board, tracks: tuple[tuple[int, ...], ...], sight: int) -> tuple[tuple[int, ...], ...]:
    """[turns - 1][phase]: the cells, as a bit mask, from which the goal is reached in so many turns and no fewer.

    A breadth-first search backwards in time, over cells and phases at once.
    """
    table = timetable(board, tracks, sight)
    full = (1 << len(board.cells)) - 1
    walls = sum(1 << c for c, sign in enumerate(board.cells) if sign == WALL)
    goal = 1 << goal_of(board)
    free = full & ~walls & ~goal
    left = [free & ~table.danger[phase] for phase in range(PERIOD)]
    into = [goal] * PERIOD  # cells whose entry at the next phase is good
    out = []
    while True:
        wave = []
        for phase in range(PERIOD):
            target = into[(phase + 1) % PERIOD]
            wave.append((_beside(board, target & ~table.solid[phase]) | target & ~goal) & left[phase])
            left[phase] &= ~wave[phase]
        if not any(wave):
            return tuple(out)
        out.append(tuple(wave))
        into = wave


def _beside(board: Board, mask: int) -> int:
    """The cells next to those of a mask; walls are not looked at."""
    width, full = board.width, (1 << len(board.cells)) - 1
    first = full // ((1 << width) - 1)  # the bit of the first cell of each row
    return (mask >> width | mask << width | mask >> 1 & ~(first << (width - 1)) | mask << 1 & ~first) & full


@dataclass(frozen=True)
class PatrolRules:
    """The rules of such maps; things look `sight` cells ahead."""

    sight: int = 0
    choices = CHOICES

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Patrol | None:
        """Loose walls and tracks that do not touch; the way to the goal takes longer than it would if nothing moved."""
        side = knobs["size"]
        cells = [FLOOR] * (side * side)
        goal, *walls = rng.sample(range(side * side), 1 + knobs["walls"])
        cells[goal] = GOAL
        for cell in walls:
            cells[cell] = WALL
        tracks, taken = [], {goal}
        for _ in range(8 * knobs["movers"]):
            track = _track(rng, cells, side, taken)
            if track and len(tracks) < knobs["movers"]:
                tracks.append(track)
                taken.update(track, *([to for to in row if to >= 0] for row in _around(side, track)))
        if len(tracks) < knobs["movers"]:
            return None
        board, found = Board(side, side, "".join(cells)), tuple(tracks)
        fits = []
        quick = waves(board, (), 0)
        for turns, wave in enumerate(waves(board, found, self.sight)[: knobs["high"]], 1):
            if turns >= knobs["low"]:
                at_once = quick[turns - 1][0] if turns <= len(quick) else 0
                mask = wave[0] & ~at_once
                fits += [(c, turns) for c in range(side * side) if mask >> c & 1]
        if not fits:
            return None
        at, turns = rng.pick(fits)
        return Patrol(Board(side, side, board.cells, budget=turns * 3 // 2 + 2), found, at)

    def over(self, state: Patrol) -> bool:
        table = timetable(state.board, state.tracks, self.sight)
        return state.board.cells[state.at] == GOAL or bool(table.danger[state.phase] >> state.at & 1)

    def legal(self, state: Patrol) -> tuple[Move, ...]:
        solid = timetable(state.board, state.tracks, self.sight).solid[state.phase]
        row = steps(state.board)[state.at]
        moves = [m for m, to in zip(CHOICES.moves, row, strict=False) if to >= 0 and not solid >> to & 1]
        return (*moves, CHOICES[WAIT])

    def play(self, state: Patrol, move: Move) -> After[Patrol]:
        board, phase = state.board, (state.phase + 1) % PERIOD
        to = state.at if move.key == WAIT else steps(board)[state.at][DIRECTIONS.index(move.key)]
        after = Patrol(board, state.tracks, to, phase)
        if board.cells[to] == GOAL:
            return After(after, (WON,), True)
        if timetable(board, state.tracks, self.sight).danger[phase] >> to & 1:
            return After(after, done=True, events=(("caught",),))
        return After(after)

    def advise(self, state: Patrol) -> Answer:
        table = waves(state.board, state.tracks, self.sight)
        left = next((i for i, wave in enumerate(table) if wave[state.phase] >> state.at & 1), -1)
        if left < 0:
            return Unsolvable("the goal cannot be reached any more")
        moves, firsts = [], ()
        for turns in range(left, -1, -1):
            good = []
            for move in self.legal(state):
                after = self.play(state, move)
                if after.done and after.rewards if not turns else self._fits(after.state, table[turns - 1]):
                    good.append((move, after.state))
            firsts = firsts or tuple(move for move, _ in good)
            move, state = good[0]
            moves.append(move)
        return Plan(tuple(moves), "solver", firsts)

    def _fits(self, state: Patrol, wave: tuple[int, ...]) -> bool:
        return bool(wave[state.phase] >> state.at & 1)

    def signs(self, state: Patrol) -> Sequence[str]:
        return timetable(state.board, state.tracks, self.sight).signs[state.phase]

    def lines(self, state: Patrol) -> tuple[str, ...]:
        return ()

    def parse(self, signs: str, width: int, at: int, lines: Sequence[str]) -> Patrol:
        height = len(signs) // width
        plain = "".join(UNLIT.get(sign, sign) for sign in signs)
        cells = "".join(sign if sign in (WALL, GOAL) else FLOOR for sign in plain)
        ways, tracks = open_steps(width, height), []
        for cell, sign in enumerate(signs):
            way = ARROWS.find(sign)
            if way < 0:
                continue
            ends = [_along(plain, cell, ways[w], LINES[way < 2]) for w in (way, way ^ 1)]
            tracks.append(
                (cell, *ends[0], *ends[0][-2::-1], *([cell] if ends[0] and ends[1] else []), *ends[1], *ends[1][-2::-1])
            )
        return Patrol(Board(width, height, cells), tuple(tracks), at)


def _along(plain: str, cell: int, to: Sequence[int], line: str) -> list[int]:
    """The cells of a track from `cell` on in one way."""
    out = []
    while (cell := to[cell]) >= 0 and plain[cell] == line:
        out.append(cell)
    return out


def _around(side: int, track: Sequence[int]) -> list[list[int]]:
    return [[to[c] for to in open_steps(side, side)] for c in track]


def _track(rng: Rng, cells: Sequence[str], side: int, taken: set[int]) -> tuple[int, ...]:
    """The round of a straight track over free floor, from a random place of it; nothing if the draw failed."""
    way, cell, length = rng.below(4), rng.below(side * side), rng.pick(LENGTHS)
    line = [cell]
    while len(line) < length and (cell := open_steps(side, side)[way][cell]) >= 0:
        line.append(cell)
    if len(line) < length or any(cells[c] == WALL or c in taken for c in line):
        return ()
    ring = line + line[-2:0:-1]
    begin = rng.below(len(ring))
    return tuple(ring[begin:] + ring[:begin])
