"""Bubbles that are shot along slanted lines into a hexagonal heap, stick where they are stopped, and burst in groups of three."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quintain.types import QuintainError
from quintain.worlds.cells import LETTERS, framed, unframed
from quintain.worlds.directions import named_first
from quintain.worlds.engines.grid.hues import EMPTY, HUES
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import Answer, Move, Plan, Unknown, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Polygon, Run, Scene, Shape, Sprite
from quintain.worlds.splits import symmetries

SAYINGS = {
    "burst": "{} bubbles are gone.",
    "spent": "No bubbles are left to shoot.",
    "full": "No shot is possible any more.",
}
BEAM = 8  # heaps kept at each depth
NODES = 3_000  # heaps looked at to prove that there is no way
_QUEUE = "Bubbles: "
_SHOT = re.compile(
    r"(?:(?:shoot|fire)\s+)?(?:the bubble\s+)?(?:from\s+)?([a-z])[\s,:-]*(?:to\s+the\s+)?(left|right|l|r|<|>)", re.ASCII
)
_WAYS = {"left": -1, "l": -1, "<": -1, "right": 1, "r": 1, ">": 1}
_BITS = {ord(sign): "1" for sign in HUES} | {ord(EMPTY): "0"}
_ONLY = {sign: _BITS | {ord(other): "0" for other in HUES if other != sign} for sign in HUES}
_MOVES = {
    (x, way): Move(f"{LETTERS[x]} {'left' if way < 0 else 'right'}", (x, way)) for x in range(26) for way in (-1, 1)
}


@dataclass(frozen=True, slots=True)
class Bubbles:
    """The state: the heap row by row from the ceiling, the lowest row always free; and the bubbles to come, first to last."""

    width: int
    cells: str
    queue: str


@functools.lru_cache(maxsize=128)
def touching(width: int, height: int) -> tuple[tuple[int, ...], ...]:
    """For each cell the cells that touch it; every second row is set half a cell to the right."""
    out = []
    for i in range(width * height):
        y, x = divmod(i, width)
        side = x + y % 2  # columns side - 1 and side of the rows above and below touch it
        spots = ((y, x - 1), (y, x + 1), (y - 1, side - 1), (y - 1, side), (y + 1, side - 1), (y + 1, side))
        out.append(tuple([a * width + b for a, b in spots if 0 <= a < height and 0 <= b < width]))
    return tuple(out)


@functools.lru_cache(maxsize=512)
def line_of(width: int, height: int, column: int, way: int) -> tuple[int, ...]:
    """The cells that a shot passes, from the lowest row up: half a column sideways with each row, turned back by the walls."""
    half, cells = 2 * column + (height - 1) % 2, []  # in half columns
    for y in reversed(range(height)):
        cells.append(y * width + (half - y % 2) // 2)
        if not 0 <= half + way < 2 * width:
            way = -way
        half += way
    return tuple(cells)


@functools.lru_cache(maxsize=64)
def _landings(width: int, height: int) -> tuple[tuple[Move, int, dict[int, int]], ...]:
    """Each shot with the bits of its line, and by the first of these that is taken the cell where it comes to rest, or -1."""
    out = []
    for at, move in _MOVES.items():
        if at[0] < width:
            line = line_of(width, height, *at)
            bits = [1 << width * height - 1 - cell for cell in line]
            rest = dict(zip((*bits, 0), (-1, -1, *line[1:]), strict=True))
            out.append((move, sum(bits), rest))
    return tuple(out)


def _taken(cells: str) -> int:
    """The bubbles as bits, the last cell lowest."""
    return int(cells.translate(_BITS), 2)


def lands(cells: str, width: int, column: int, way: int) -> int:
    """The cell in which a shot comes to rest: the last free one on its line; -1 if the next cell already stops it."""
    return {move.value: cell for move, cell in _rests(cells, width)}[column, way]


def _rests(cells: str, width: int) -> list[tuple[Move, int]]:
    taken = _taken(cells)
    every = _landings(width, len(cells) // width)
    return [(move, rest[(met := taken & line) & -met]) for move, line, rest in every]


@functools.lru_cache(maxsize=64)
def _halves(width: int, height: int) -> tuple[int, int, int, int, int]:
    """The bits of the ceiling, of all cells but the first ones and but the last ones of rows, and of these the rows that are not
    set to the right, and those that are.
    """
    rows = [((1 << width) - 1) << y * width for y in reversed(range(height))]
    firsts, lasts = (sum(1 << y * width + x for y in range(height)) for x in (width - 1, 0))
    every = sum(rows)
    return rows[0], every ^ firsts, every ^ lasts, sum(rows[::2]) & ~firsts, sum(rows[1::2]) & ~lasts


def _hanging(taken: int, width: int, height: int) -> int:
    """The bubbles that others join to the ceiling; as bits."""
    return _joined(taken & _halves(width, height)[0], taken, width, height)


def _joined(wave: int, taken: int, width: int, height: int) -> int:
    """Some of the bubbles, and those that others join to them; as bits."""
    found = wave
    while wave:
        wave = _near(wave, width, height) & taken & ~found
        found |= wave
    return found


def _near(wave: int, width: int, height: int) -> int:
    """The cells that touch some cells; as bits."""
    _, later, sooner, even, odd = _halves(width, height)
    both = wave | (wave & even) << 1 | (wave & odd) >> 1
    return (wave & later) << 1 | (wave & sooner) >> 1 | both << width | both >> width


@functools.lru_cache(maxsize=1 << 15)
def stuck(cells: str, width: int, at: int, sign: str) -> str:
    """The heap after a bubble has stuck in a cell: a group of three or more bursts, and what then hangs on nothing falls."""
    height = len(cells) // width
    near = touching(width, height)
    group = [at]
    for cell in group:
        for to in near[cell]:
            if cells[to] == sign and to not in group:
                group.append(to)
    if len(group) < 3:
        return f"{cells[:at]}{sign}{cells[at + 1 :]}"
    out, last = list(cells), len(cells) - 1
    for cell in group:
        out[cell] = EMPTY
    left = _taken(cells) & ~sum(1 << last - cell for cell in group)
    falling = left ^ _hanging(left, width, height)
    while falling:
        out[last + 1 - falling.bit_length()] = EMPTY
        falling ^= 1 << falling.bit_length() - 1
    return "".join(out)


@functools.lru_cache(maxsize=1 << 12)
def shots(cells: str, width: int) -> tuple[tuple[Move, int], ...]:
    """The possible shots and where each comes to rest."""
    return tuple([(move, cell) for move, cell in _rests(cells, width) if cell >= 0])


def _worth(cells: str) -> tuple[int, int, str]:
    """Heaps to keep first: fewest bubbles; then those in which colours are few."""
    return len(cells) - cells.count(EMPTY), len(set(cells)), cells


@functools.lru_cache(maxsize=4096)
def beam(cells: str, width: int, queue: str) -> tuple[Move, ...] | None:
    """Shots that clear the heap, by a search that keeps the `BEAM` best heaps of each depth; None if it finds none."""
    wave: dict[str, tuple[Move, ...]] = {cells: ()}
    for sign in queue:
        after: dict[str, tuple[Move, ...]] = {}
        for old, path in wave.items():
            for move, cell in _distinct(old, width):
                new = stuck(old, width, cell, sign)
                if not new.strip(EMPTY):
                    return (*path, move)
                after.setdefault(new, (*path, move))
        wave = {heap: after[heap] for heap in sorted(after, key=_worth)[:BEAM]}
    return None


def _distinct(cells: str, width: int) -> list[tuple[Move, int]]:
    """One shot for each cell in which any may come to rest."""
    found: dict[int, Move] = {}
    for move, cell in _rests(cells, width):
        if cell >= 0:
            found.setdefault(cell, move)
    return [(move, cell) for cell, move in found.items()]


def _lost(cells: str, width: int, queue: str) -> bool:
    """Whether bubbles at the ceiling, which never fall, have too few of their colour to come: each group of theirs must be touched by one
    of these, and one alone needs two bubbles that it touches.
    """
    height, colours = len(cells) // width, set(cells[:width]) - {EMPTY}
    if not colours <= set(queue):
        return True
    for sign in colours:
        every = int(cells.translate(_ONLY[sign]), 2)
        left = top = _hanging(every, width, height)
        count = once = twice = thrice = 0
        while left:  # group by group
            group = _joined(left & -left, left, width, height)
            left ^= group
            near = _near(group, width, height)
            thrice, twice, once, count = thrice | twice & near, twice | once & near, once | near, count + 1
        to_come, most = queue.count(sign), 3 if thrice else 2 if twice else 1  # groups that touch one cell
        if count > most * to_come:
            return True
        if to_come == 1 and top & (top - 1) == 0 and not once & _near(every ^ top, width, height):
            return True
    return False


@functools.lru_cache(maxsize=4096)
def proven(cells: str, width: int, queue: str) -> tuple[tuple[Move, ...] | None, int]:
    """Shots that clear the heap, or None; and the heaps looked at, over `NODES` if it gave up."""
    seen: set[tuple[str, int]] = set()
    nodes = 0

    def search(heap: str, shot: int) -> tuple[Move, ...] | None:
        nonlocal nodes
        if not heap.strip(EMPTY):
            return ()
        nodes += 1
        if shot == len(queue) or (heap, shot) in seen or nodes > NODES or _lost(heap, width, queue[shot:]):
            return None
        seen.add((heap, shot))
        ahead = [(stuck(heap, width, cell, queue[shot]), move) for move, cell in _distinct(heap, width)]
        for new, move in sorted(ahead, key=lambda a: _worth(a[0])):
            rest = search(new, shot + 1)
            if rest is not None:
                return (move, *rest)
        return None

    return search(cells, 0), nodes


def _supply(rng: Rng, cells: str, width: int, most: int) -> str | None:
    """Colours of bubbles, `most` at most, with which good shots clear the heap: each is the one with which its shot does best."""
    queue = ""
    while cells.strip(EMPTY) and len(queue) < most:
        near = touching(width, len(cells) // width)
        hues = [
            (cell, sign) for _, cell in _distinct(cells, width) for sign in {cells[to] for to in near[cell]} - {EMPTY}
        ]
        after = [(stuck(cells, width, cell, sign), sign) for cell, sign in sorted(hues)]
        after.sort(key=lambda a: _worth(a[0]))
        if not after:
            return None
        cells, sign = after[min(rng.below(3), len(after) - 1)] if rng.below(2) else after[0]
        queue += sign
    return None if cells.strip(EMPTY) else queue


class BubbleGame:
    """The game of one heap; knobs: `width`, `rows` of bubbles, `room` below, `colours`; the search takes `low` to `high` shots."""

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Bubbles | None:
        width, rows, hues = knobs["width"], knobs["rows"], HUES[: knobs["colours"]]
        signs: list[str] = []
        for i in range(width * rows):  # half of the bubbles are like one that they touch, so that groups form
            beside = [signs[j] for j in touching(width, rows)[i] if j < i and signs[j] != EMPTY]
            signs.append(rng.pick(beside) if beside and rng.below(2) else rng.pick(hues))
        for i in range(width * (rows - 1), width * rows):
            signs[i] = rng.pick((signs[i], EMPTY))
        heap = "".join(signs)
        bits = f"{_hanging(_taken(heap), width, rows):0{width * rows}b}"
        heap = "".join([sign if bit == "1" else EMPTY for bit, sign in zip(bits, signs, strict=True)])
        if len(set(heap)) <= len(hues):
            return None
        cells = heap + EMPTY * (width * knobs["room"])
        queue = _supply(rng, cells, width, knobs["high"])
        way = beam(cells, width, queue) if queue and len(queue) >= knobs["low"] else None
        return Bubbles(width, cells, queue[: len(way)]) if queue and way and len(way) >= knobs["low"] else None

    def layout(self, state: Bubbles) -> str:
        height = len(state.cells) // state.width
        names = {EMPTY: EMPTY}  # no mirror images: every second row is set to the right
        order = symmetries(state.width, height)[0]
        return "".join([names.setdefault(s, HUES[(len(names) - 1) % 6]) for s in [state.cells[i] for i in order]])

    def turns(self, state: Bubbles) -> int:
        return len(state.queue) + 3

    def mover(self, state: Bubbles) -> int:
        return 0 if state.queue and state.cells.strip(EMPTY) and shots(state.cells, state.width) else -1

    def legal(self, state: Bubbles) -> tuple[Move, ...]:
        return tuple([move for move, _ in shots(state.cells, state.width)]) if self.mover(state) == 0 else ()

    def guess(self, state: Bubbles, rng: Rng) -> Move:
        return _MOVES[rng.below(state.width), rng.pick((-1, 1))]

    def read(self, text: str) -> Move | None:
        found = _SHOT.fullmatch(named_first(text.removeprefix("shoot ")))
        return _MOVES[LETTERS.index(found[1]), _WAYS[found[2]]] if found else None

    def play(self, state: Bubbles, move: Move) -> After[Bubbles] | None:
        width = state.width
        cells = stuck(state.cells, width, lands(state.cells, width, *move.value), state.queue[0])
        after = Bubbles(width, cells, state.queue[1:])
        gone = cells.count(EMPTY) - state.cells.count(EMPTY) + 1
        said = (f"burst:{gone}",) if gone else ()
        if not cells.strip(EMPTY):
            return After(after, (WON,), True, (said,))
        if self.mover(after) == 0:
            return After(after, (), False, (said,))
        return After(after, (), True, ((*said, "full" if after.queue else "spent"),))

    def advise(self, state: Bubbles) -> Answer:
        if self.mover(state) < 0:
            return Unsolvable("the episode is over")
        way = beam(state.cells, state.width, state.queue)
        if way is None:
            way, nodes = proven(state.cells, state.width, state.queue)
            if way is None:
                return Unknown(nodes) if nodes > NODES else Unsolvable("the bubbles do not suffice")
        return Plan(way)

    def caption(self, state: Bubbles, side: int, level: int) -> str:
        queue = f"{_QUEUE}{' '.join(state.queue) or 'none'}"
        if level == 1:
            return f"Bubbles that hang: {len(state.cells) - state.cells.count(EMPTY)}.\n{queue}"
        return f"{queue}\n{framed(state.cells, state.width)}"

    def rebuild(self, caption: str, side: int) -> Bubbles:
        """See `World.rebuild`."""
        queue, _, board = caption.partition("\n")
        found = unframed(board.split("\n"))
        if found is None or not queue.startswith(_QUEUE):
            raise QuintainError(f"this is no full caption of bubbles: {caption[:60]!r}")
        return Bubbles(found[1], found[0], queue.removeprefix(_QUEUE).replace("none", "").replace(" ", ""))

    def scene(self, state: Bubbles, side: int) -> Scene:
        """The heap under its ceiling, the shooting row with its column letters, and the bubbles to come below it."""
        width, height = state.width, len(state.cells) // state.width
        wide, tall = width + 0.5, height * 0.87 + 0.13
        shapes: list[Shape] = [
            Box(x=0.7, y=0, width=wide, height=tall + 0.3, fill="white"),
            Box(x=0.7, y=0, width=wide, height=0.3, fill="stone"),
            Box(x=0.55, y=0, width=0.15, height=tall + 0.3, fill="stone"),
            Box(x=0.7 + wide, y=0, width=0.15, height=tall + 0.3, fill="stone"),
        ]
        for i, sign in enumerate(state.cells):
            y, x = divmod(i, width)
            left, top = 0.7 + x + 0.5 * (y % 2), 0.3 + 0.87 * y
            if sign != EMPTY:
                shapes.append(Sprite(tile=f"ball-{sign}", x=left, y=top))
            if y == height - 1:
                shapes.append(Run(text=LETTERS[x], x=left + 0.5, y=top + 0.52, size=0.5, color="stone"))
            if not x:
                shapes.append(Run(text=str(y + 1), x=0.28, y=top + 0.52, size=0.4, color="stone"))
        return Scene(width=wide + 0.85, height=tall + 1.5, shapes=(*shapes, *_next(state.queue, tall + 0.45, wide)))

    def static(self, state: Bubbles, side: int) -> tuple[str, ...]:
        return ()

    def moving(self, state: Bubbles, side: int) -> tuple[str, ...]:
        heap = [f"{sign}{i}" for i, sign in enumerate(state.cells) if sign != EMPTY]
        return (*[f"next{n}-{sign}" for n, sign in enumerate(state.queue)], *heap)

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        count, hues = knobs["width"] * (knobs["rows"] + knobs["room"]), HUES[: knobs["colours"]]
        shown = [f"{sign}{i}" for sign in hues for i in range(count)]
        queue = [f"next{n}-{sign}" for n in range(knobs["high"]) for sign in hues]
        return (*LETTERS[: knobs["width"]], "left", "right", *queue, *shown)


def _next(queue: str, top: float, wide: float) -> list[Shape]:
    """The bubbles to come in a row, the first one larger and pointed at."""
    size = min(0.7, (wide - 1.5) / max(len(queue), 1))
    shapes: list[Shape] = [Sprite(tile=f"ball-{sign}", x=0.7, y=top, size=1.0) for sign in queue[:1]]
    if queue:
        shapes.append(Polygon(points=((1.94, top + 0.34), (1.94, top + 0.66), (1.74, top + 0.5)), fill="ink"))
    return shapes + [
        Sprite(tile=f"ball-{sign}", x=2.1 + i * size, y=top + (1 - size) / 2, size=size)
        for i, sign in enumerate(queue[1:])
    ]
