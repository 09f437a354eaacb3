"""Floods: the region of the upper left corner takes a colour and swallows what of it lies beside, until one colour is left."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from quintain.types import QuintainError
from quintain.worlds.engines.grid.hues import HUES, NAMES, read_hue
from quintain.worlds.engines.grid.near import beside, region
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import Answer, Move, Plan, Unknown, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Run, Scene
from quintain.worlds.splits import Draft, symmetries

SAYINGS = {"dry": "No moves are left."}
BEAM = 40  # floods kept at each depth
NODES = 20_000  # floods looked at to prove that there is no way
_LEFT = "Moves left: "
_VERBS = re.compile(r"\A(?:(?:flood|pick|paint|fill|switch|change|name|colou?r:?|the|it|with|to) +)+")
_MOVES = {sign: Move(NAMES[sign], sign) for sign in HUES}


@dataclass(frozen=True, slots=True)
class Flood:
    """The state: a square board row by row, a letter per cell; how many colours there are; moves that are left."""

    side: int
    colours: int
    cells: str
    left: int


class Map(NamedTuple):
    """A board as regions of one colour, of which the first holds the corner: sets of regions are bits of an integer."""

    sizes: tuple[int, ...]
    near: tuple[int, ...]
    hues: tuple[tuple[str, int], ...]


@functools.lru_cache(maxsize=1 << 14)
def poured(side: int, cells: str, sign: str) -> str:
    """The board after the flood takes a colour."""
    out = list(cells)
    for cell in region(cells, 0, beside(side, side)):
        out[cell] = sign
    return "".join(out)


def mapped(side: int, cells: str) -> Map:
    """The regions of a board."""
    near, owner, found = beside(side, side), [-1] * len(cells), list[list[int]]()
    for cell in range(len(cells)):
        if owner[cell] < 0:
            found.append(region(cells, cell, near))
            for one in found[-1]:
                owner[one] = len(found) - 1
    touching, hues = [0] * len(found), dict[str, int]()
    for i, members in enumerate(found):
        hues[cells[members[0]]] = hues.get(cells[members[0]], 0) | 1 << i
        for cell in members:
            for to in near[cell]:
                touching[i] |= 1 << owner[to]
    return Map(tuple(map(len, found)), tuple(touching), tuple(sorted(hues.items())))


def _grown(board: Map, wet: int, shore: int, more: int) -> tuple[int, int, int]:
    """What is wet, the shore beyond it and the cells gained when the regions `more` are swallowed."""
    gained, wet = 0, wet | more
    while more:
        low = more & -more
        i = low.bit_length() - 1
        gained += board.sizes[i]
        shore |= board.near[i]
        more ^= low
    return wet, shore & ~wet, gained


@functools.lru_cache(maxsize=4096)
def beam(side: int, cells: str) -> str:
    """Colours that flood the board, by a search that keeps the `BEAM` largest floods of each depth."""
    board = mapped(side, cells)
    every = (1 << len(board.sizes)) - 1
    wet, shore, size = _grown(board, 0, 0, 1)
    wave = [(size, wet, shore, "")]
    while wave[0][1] != every:
        after: dict[int, tuple[int, int, int, str]] = {}
        for had, old, edge, path in wave:
            for sign, members in board.hues:
                more = edge & members
                if more and old | more not in after:
                    wet, shore, gained = _grown(board, old, edge, more)
                    after[wet] = (had + gained, wet, shore, path + sign)
        wave = sorted(after.values(), key=lambda f: (-f[0], f[3]))[:BEAM]
    return wave[0][3]


@functools.lru_cache(maxsize=4096)
def proven(side: int, cells: str, left: int) -> tuple[str | None, int]:
    """Colours that flood the board in at most `left` moves, or None; and the floods looked at, over `NODES` if it gave up."""
    board = mapped(side, cells)
    every = (1 << len(board.sizes)) - 1
    seen: dict[int, int] = {}
    nodes = 0

    def search(wet: int, shore: int, moves: int) -> str | None:
        nonlocal nodes
        if wet == every:
            return ""
        nodes += 1
        lacking = sum([1 for _, members in board.hues if members & ~wet])
        if lacking > moves or seen.get(wet, -1) >= moves or nodes > NODES:
            return None
        seen[wet] = moves
        for sign, members in board.hues:
            if more := shore & members:
                after, edge, _ = _grown(board, wet, shore, more)
                rest = search(after, edge, moves - 1)
                if rest is not None:
                    return sign + rest
        return None

    wet, shore, _ = _grown(board, 0, 0, 1)
    return search(wet, shore, left), nodes


class FloodGame:
    """The game of one board; knobs: `side`, `colours`, `low` (fewest moves of the search) and `spare` (moves beyond those)."""

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Flood] | None:
        side, colours = knobs["side"], knobs["colours"]
        cells = "".join([HUES[rng.below(colours)] for _ in range(side * side)])
        if len(set(cells)) < colours:
            return None

        def finish() -> Flood | None:
            moves = len(beam(side, cells))
            return Flood(side, colours, cells, moves + knobs["spare"]) if moves >= knobs["low"] else None

        return Draft(Flood(side, colours, cells, 0), finish)

    def layout(self, state: Flood) -> str:
        images = []
        for order in symmetries(state.side, state.side):
            names: dict[str, str] = {}
            images.append("".join([names.setdefault(state.cells[i], HUES[len(names) % 6]) for i in order]))
        return min(images)

    def turns(self, state: Flood) -> int:
        return state.left + 2

    def mover(self, state: Flood) -> int:
        return 0 if state.left and len(set(state.cells)) > 1 else -1

    def legal(self, state: Flood) -> tuple[Move, ...]:
        if self.mover(state) < 0:
            return ()
        return tuple([_MOVES[sign] for sign in HUES[: state.colours] if sign != state.cells[0]])

    def guess(self, state: Flood, rng: Rng) -> Move:
        return _MOVES[rng.pick(HUES[: state.colours])]

    def read(self, text: str) -> Move | None:
        sign = read_hue(_VERBS.sub("", text))
        return _MOVES[sign] if sign else None

    def play(self, state: Flood, move: Move) -> After[Flood] | None:
        cells = poured(state.side, state.cells, move.value)
        after = Flood(state.side, state.colours, cells, state.left - 1)
        if len(set(cells)) == 1:
            return After(after, (WON,), True)
        return After(after, (), not after.left, (() if after.left else ("dry",),))

    def advise(self, state: Flood) -> Answer:
        if self.mover(state) < 0:
            return Unsolvable("the episode is over")
        path: str | None = beam(state.side, state.cells)
        if path is not None and len(path) > state.left:
            path, nodes = proven(state.side, state.cells, state.left)
            if path is None:
                return Unknown(nodes) if nodes > NODES else Unsolvable("too few moves are left")
        return Plan(tuple([_MOVES[sign] for sign in path or ""]))

    def caption(self, state: Flood, side: int, level: int) -> str:
        left = f"{_LEFT}{state.left}"
        if level == 1:
            size = len(region(state.cells, 0, beside(state.side, state.side)))
            return f"The flood is {NAMES[state.cells[0]]} and covers {size} of {len(state.cells)} cells. {left}."
        rows = [" ".join(state.cells[i : i + state.side]) for i in range(0, len(state.cells), state.side)]
        return "\n".join([f"Colours: {' '.join(HUES[: state.colours])}", left, *rows])

    def rebuild(self, caption: str, side: int) -> Flood:
        """See `World.rebuild`."""
        hues, left, *rows = caption.split("\n")
        if not left.startswith(_LEFT):
            raise QuintainError(f"this is no full caption of a flood: {caption[:60]!r}")
        cells = "".join(rows).replace(" ", "")
        return Flood(len(rows), len(hues.split()) - 1, cells, int(left.removeprefix(_LEFT)))

    def scene(self, state: Flood, side: int) -> Scene:
        n = state.side
        cells = tuple([f"field-{sign}" for sign in state.cells])
        head = Run(text=f"{state.left} moves left", x=n / 2, y=n * 0.06, size=n * 0.075, color="ink")
        shown = (f"{cells[0]}+spring", *cells[1:])
        return Scene(width=n, height=n * 1.12, cells=shown, columns=n, top=n * 0.12, shapes=(head,))

    def static(self, state: Flood, side: int) -> tuple[str, ...]:
        return tuple([f"has-{NAMES[sign]}" for sign in HUES[: state.colours]])

    def moving(self, state: Flood, side: int) -> tuple[str, ...]:
        return (f"left{state.left}", *[f"{sign}{i}" for i, sign in enumerate(state.cells)])

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        hues, count = HUES[: knobs["colours"]], knobs["side"] ** 2
        left = [f"left{n}" for n in range(count + knobs["spare"] + 1)]
        cells = [f"{sign}{i}" for sign in hues for i in range(count)]
        return (*[NAMES[sign] for sign in hues], *[f"has-{NAMES[sign]}" for sign in hues], *left, *cells)
