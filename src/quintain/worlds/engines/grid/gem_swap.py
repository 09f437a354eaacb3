"""Swaps of gems move by move: three in a line vanish, what is above falls, nothing new comes; clear enough within some swaps."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quintain.types import QuintainError
from quintain.worlds.cells import framed, labelled, names_of, unframed
from quintain.worlds.engines.grid.gems import cleared, exchanged, exchanges, read_swap, swap
from quintain.worlds.engines.grid.hues import EMPTY, HUES
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import Answer, Move, Plan, Unknown, Unsolvable
from quintain.worlds.noise import Rng, spend
from quintain.worlds.scene import Run, Scene
from quintain.worlds.splits import Draft, symmetries

SAYINGS = {"cleared": "{} gems vanish.", "spent": "No swaps are left.", "stuck": "No swap makes a match any more."}
BEAM = 6  # boards kept at each depth
LOOK = 100  # draws that a depth of that search counts for, where they are counted
NODES = 3_000  # boards looked at to prove that there is no way
_HEAD = "Cleared: "


@dataclass(frozen=True, slots=True)
class Gems:
    """The state: a board row by row, `.` where a gem has gone; how many must go in all; swaps that are left."""

    width: int
    cells: str
    target: int
    left: int


@functools.lru_cache(maxsize=1 << 14)
def _ahead(cells: str, width: int) -> tuple[tuple[str, tuple[int, int]], ...]:
    """The boards that a swap leads to, and the swap."""
    return tuple([(cleared(exchanged(cells, a, b), width), (a, b)) for a, b in exchanges(cells, width)])


@functools.lru_cache(maxsize=4096)
def beam(cells: str, width: int, swaps: int) -> tuple[tuple[int, int], ...]:
    """Swaps, `swaps` at most, that clear as much as a search finds that keeps the `BEAM` emptiest boards of each depth."""
    best, way = cells.count(EMPTY), ()
    wave: list[tuple[str, tuple[tuple[int, int], ...]]] = [(cells, ())]
    for _ in range(swaps):
        after: dict[str, tuple[tuple[int, int], ...]] = {}
        for old, path in wave:
            for new, pair in _ahead(old, width):
                after.setdefault(new, (*path, pair))
        wave = sorted(after.items(), key=lambda b: (-b[0].count(EMPTY), b[0]))[:BEAM]
        if wave and wave[0][0].count(EMPTY) > best:
            best, way = wave[0][0].count(EMPTY), wave[0][1]
    return way


@functools.lru_cache(maxsize=4096)
def proven(cells: str, width: int, target: int, left: int) -> tuple[tuple[tuple[int, int], ...] | None, int]:
    """Swaps that clear `target` gems in all, or None; and the boards looked at, over `NODES` if it gave up."""
    seen: dict[str, int] = {}
    nodes = 0

    def search(board: str, swaps: int) -> tuple[tuple[int, int], ...] | None:
        nonlocal nodes
        if board.count(EMPTY) >= target:
            return ()
        nodes += 1
        lost = sum([n for n in map(board.count, HUES) if n < 3])  # too few of a colour to ever match
        if not swaps or nodes > NODES or len(board) - lost < target or seen.get(board, 0) >= swaps:
            return None
        seen[board] = swaps
        for new, pair in sorted(_ahead(board, width), key=lambda b: -b[0].count(EMPTY)):
            rest = search(new, swaps - 1)
            if rest is not None:
                return (pair, *rest)
        return None

    return search(cells, left), nodes


class GemGame:
    """The game of one board; knobs: `side`, `colours`, `swaps`, and `spare` gems that need not go of those a search clears."""

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Gems]:
        side, cells = knobs["side"], ""
        hues = HUES[: knobs["colours"]]
        for i in range(side * side):
            taken = {cells[i - 1] if i % side > 1 and cells[i - 1] == cells[i - 2] else ""}
            taken.add(cells[i - side] if i >= 2 * side and cells[i - side] == cells[i - 2 * side] else "")
            cells += rng.pick([sign for sign in hues if sign not in taken])
        spend(LOOK * knobs["swaps"])

        def finish() -> Gems | None:
            way, board = beam(cells, side, knobs["swaps"]), cells
            if len(way) < knobs["swaps"]:
                return None
            for a, b in way:
                board = cleared(exchanged(board, a, b), side)
            return Gems(side, cells, board.count(EMPTY) - knobs["spare"], knobs["swaps"])

        return Draft(Gems(side, cells, 0, knobs["swaps"]), finish)

    def layout(self, state: Gems) -> str:
        images = []
        for order in symmetries(state.width, state.width)[:2]:  # gems fall down: only the mirror image plays alike
            names: dict[str, str] = {}
            images.append("".join([names.setdefault(state.cells[i], HUES[len(names) % 6]) for i in order]))
        return min(images)

    def turns(self, state: Gems) -> int:
        return state.left + 3

    def mover(self, state: Gems) -> int:
        return (
            0 if state.left and state.cells.count(EMPTY) < state.target and exchanges(state.cells, state.width) else -1
        )

    def legal(self, state: Gems) -> tuple[Move, ...]:
        if self.mover(state) < 0:
            return ()
        return tuple([self._swap(pair, state.width) for pair in exchanges(state.cells, state.width)])

    @staticmethod
    def _swap(pair: tuple[int, int], width: int) -> Move:
        return swap(divmod(pair[0], width), divmod(pair[1], width))

    def guess(self, state: Gems, rng: Rng) -> Move:
        row, column = rng.below(state.width), rng.below(state.width - 1)
        return swap((row, column), (row, column + 1))

    def read(self, text: str) -> Move | None:
        return read_swap(text)

    def play(self, state: Gems, move: Move) -> After[Gems] | None:
        width = state.width
        y, x, down, right = move.value
        cells = cleared(exchanged(state.cells, y * width + x, down * width + right), width)
        after = Gems(width, cells, state.target, state.left - 1)
        gone = cells.count(EMPTY)
        said = f"cleared:{gone - state.cells.count(EMPTY)}"
        if gone >= state.target:
            return After(after, (WON,), True, ((said,),))
        if self.mover(after) == 0:
            return After(after, (), False, ((said,),))
        return After(after, (), True, ((said, "stuck" if after.left else "spent"),))

    def advise(self, state: Gems) -> Answer:
        if self.mover(state) < 0:
            return Unsolvable("the episode is over")
        way: tuple[tuple[int, int], ...] | None = beam(state.cells, state.width, state.left)
        board, short = state.cells, list[tuple[int, int]]()
        for a, b in way or ():
            if board.count(EMPTY) < state.target:
                board = cleared(exchanged(board, a, b), state.width)
                short.append((a, b))
        if board.count(EMPTY) < state.target:
            way, nodes = proven(state.cells, state.width, state.target, state.left)
            if way is None:
                return Unknown(nodes) if nodes > NODES else Unsolvable("too few swaps are left")
            short = list(way)
        return Plan(tuple([self._swap(pair, state.width) for pair in short]))

    def caption(self, state: Gems, side: int, level: int) -> str:
        head = f"{_HEAD}{state.cells.count(EMPTY)} of {state.target}, swaps left: {state.left}"
        return head if level == 1 else f"{head}\n{framed(state.cells, state.width)}"

    def rebuild(self, caption: str, side: int) -> Gems:
        """See `World.rebuild`."""
        head, _, board = caption.partition("\n")
        found = unframed(board.split("\n"))
        if found is None or not head.startswith(_HEAD):
            raise QuintainError(f"this is no full caption of gems: {caption[:60]!r}")
        target, left = head.partition(" of ")[2].split(", swaps left: ")
        return Gems(found[1], found[0], int(target), int(left))

    def scene(self, state: Gems, side: int) -> Scene:
        board = labelled(["bed" if sign == EMPTY else f"bed+gem-{sign}" for sign in state.cells], state.width)
        size = board.width
        text = f"cleared {state.cells.count(EMPTY)} of {state.target}, swaps left: {state.left}"
        head = Run(text=text, x=size / 2, y=size * 0.055, size=size * 0.065, color="ink")
        return Scene(
            width=size, height=size * 1.1, cells=board.cells, columns=board.columns, top=size * 0.1, shapes=(head,)
        )

    def static(self, state: Gems, side: int) -> tuple[str, ...]:
        return (f"target{state.target}",)

    def moving(self, state: Gems, side: int) -> tuple[str, ...]:
        names = names_of(state.width, state.width)
        gems = [f"{sign}@{name}" for sign, name in zip(state.cells, names, strict=True) if sign != EMPTY]
        return (f"left{state.left}", *gems)

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        side = range(knobs["side"])
        across = [swap((y, x), (y, x + 1)).key for y in side for x in side[:-1]]
        down = [swap((y, x), (y + 1, x)).key for y in side[:-1] for x in side]
        gems = [f"{sign}@{n}" for sign in HUES[: knobs["colours"]] for n in names_of(len(side), len(side))]
        left = [f"left{n}" for n in range(knobs["swaps"] + 1)]
        return (*across, *down, *gems, *left, *[f"target{n}" for n in range(len(side) ** 2 + 1)])
