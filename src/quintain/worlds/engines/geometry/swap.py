"""Pieces on a board that change places two by two, and may be turned, until they lie as a rule wants them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.cells import name_of, names_of, read_cell
from quintain.worlds.kernel import Answer, Events, Facts, Move, Outcome, Plan, Unsolvable, View, check_level
from quintain.worlds.knobs import check_knobs, overridable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene
from quintain.worlds.seats import seated
from quintain.worlds.splits import drawn, symmetries

LARGEST = 6  # side of a board
LOCKED = "fixed"
WON = {SOLO: {"success": 1.0}}
ILLEGAL: Events = {SOLO: ("illegal",)}
Pieces = tuple[str, ...]
Cell = tuple[int, int]
_BETWEEN = re.compile(r"\s*(?:,|/|and|with|<->|->|↔|-|\s)\s*")
_SWAP = re.compile(r"^(?:swap|exchange|switch)\s+(?:the\s+)?(?:(?:tiles?|pieces?)\s+)?(?:at\s+)?")
_TURN = re.compile(
    r"(?:turn|rotate):?\s+(?:the\s+)?(?:piece\s+)?(?:at\s+)?(.+?)(?:\s+(?:(?:to the )?right|clockwise|by a quarter|90(?: degrees)?))?"
)
_RUN = re.compile(r"(?<=\d)(?=[a-z])", re.ASCII)  # between two cells in one, as in b1c2


@dataclass(frozen=True)
class Board:
    """What stays: the sides, which places are fixed (their numbers, row by row), the pieces as they should lie, the turn budget.

    `goal` is hidden.
    """

    width: int
    height: int
    fixed: tuple[int, ...]
    goal: Pieces = ()
    budget: int = 0


@dataclass(frozen=True, slots=True)
class Tiles:
    """The state: the board, and its pieces row by row."""

    board: Board
    pieces: Pieces


def swap(one: Cell, two: Cell) -> Move:
    """The move that makes two pieces change places."""
    return _swap(*sorted((one, two)))


@functools.lru_cache(maxsize=4096)
def _swap(one: Cell, two: Cell) -> Move:
    return Move(f"{name_of(*one)} {name_of(*two)}", (one, two))


@functools.lru_cache(maxsize=64)
def turn(cell: Cell) -> Move:
    """The move that turns a piece to the right by a quarter."""
    return Move(f"turn {name_of(*cell)}", (cell,))


def read(text: str, turns: bool) -> Move | None:
    """The move that `text` spells.

    Example:
        >>> read("Swap C2 and a1", False).key, read("turn b2", True).key, read("turn b2", False)
        ('a1 c2', 'turn b2', None)
    """
    low = _SWAP.sub("", text[:64].strip().lower())
    low = re.sub(r"^(.+?):?\s+(?:turn|rotate)$", r"turn \1", low)
    if asked := _TURN.fullmatch(low):
        cell = read_cell(asked[1]) if turns else None
        return turn(cell) if cell and max(cell) < LARGEST else None
    parts = _BETWEEN.split(_RUN.sub(" ", low))
    cells = [read_cell(part) for part in parts] if len(parts) == 2 else []
    if len(cells) != 2 or None in cells or cells[0] == cells[1]:
        return None
    one, two = (cell for cell in cells if cell)
    return swap(one, two) if max(*one, *two) < LARGEST else None


@seated
@dataclass(frozen=True, kw_only=True)
class SwapWorld:
    """A world of pieces to swap: what a declaration gives.

    Args:
        facts: rules and ceilings.
        levels: ten mappings of knobs: `width`, `height`, `swaps` (how many part the start from the goal), and its own.
        make: draws a board that is laid right, or None.
        right: whether a board is laid as it should be.
        paint: the picture.
        lexicon: the words of all pieces.
        turned: a piece after a quarter turn to the right; None if pieces cannot be turned.
    """

    facts: Facts
    levels: Sequence[Mapping[str, Any]]
    make: Callable[[Rng, Mapping[str, Any]], Board | None]
    right: Callable[[Tiles], bool]
    paint: Callable[[Tiles], Scene]
    lexicon: Sequence[str]
    turned: Callable[[str], str] | None = None
    schema: type[Tiles] = Tiles

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Tiles:
        """See `World.start`."""
        chosen = check_knobs(knobs, self.levels, level)
        rng = Rng(self.facts.name, seed, level, split)
        return drawn(lambda r: self._mixed(r, chosen), _layout, rng, split)

    def _mixed(self, rng: Rng, knobs: Mapping[str, Any]) -> Tiles | None:
        """A board with one cycle of pieces out of place, which so many swaps bring home; and turned ones where pieces turn."""
        board = self.make(rng, knobs)
        if board is None:
            return None
        pieces, free = list(board.goal), [i for i in range(len(board.goal)) if i not in board.fixed]
        count = knobs["swaps"]
        if count >= len(free):
            return None
        cycle = rng.sample(free, count + 1)
        for i, j in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            pieces[j] = board.goal[i]
        spun = rng.sample(free, min(knobs.get("turned", 0), len(free)))
        for i in spun if self.turned else ():
            for _ in range(1 + rng.below(3)):
                pieces[i] = self.turned(pieces[i])  # pyrefly: ignore
        state = Tiles(Board(board.width, board.height, board.fixed, board.goal), tuple(pieces))
        plan = self._plan(state)
        if len(plan) < count or self.right(state):
            return None
        return replace(state, board=replace(state.board, budget=len(plan) * 3 // 2 + 2))

    def view(self, state: Tiles, seat: str) -> View[Tiles]:
        return View(self, state, seat)

    def read(self, text: str, seat: str) -> Move | None:
        return read(text, self.turned is not None)

    def turns(self, state: Tiles) -> int:
        return state.board.budget

    def words(self, level: int) -> tuple[str, ...]:
        knobs = self.levels[check_level(level)]
        names = names_of(knobs["width"], knobs["height"])
        return tuple(dict.fromkeys(("turn", LOCKED, *names, *self.lexicon)))

    def step(self, state: Tiles, moves: Mapping[str, Move]) -> Outcome[Tiles]:
        board, cells = state.board, moves[SOLO].value
        places = [row * board.width + column for row, column in cells]
        out = any(r >= board.height or c >= board.width for r, c in cells) or any(i in board.fixed for i in places)
        if out or self.right(state):
            return Outcome(state, events=ILLEGAL)
        pieces = list(state.pieces)
        if len(places) == 2:
            i, j = places
            pieces[i], pieces[j] = pieces[j], pieces[i]
        elif self.turned:
            pieces[places[0]] = self.turned(pieces[places[0]])
        after = Tiles(board, tuple(pieces))
        return Outcome(after, WON, True) if self.right(after) else Outcome(after)

    def _turns(self, piece: str, wanted: str) -> int | None:
        """How many quarter turns make one piece the other; None if none do."""
        for n in range(4 if self.turned else 1):
            if piece == wanted:
                return n
            piece = self.turned(piece) if self.turned else piece
        return None

    def _plan(self, state: Tiles) -> list[Move]:
        """Bring home the piece that each place wants, one after the other, then turn what must be turned."""
        board, now, out = state.board, list(state.pieces), []
        open_places = [i for i in range(len(now)) if self._turns(now[i], board.goal[i]) is None]
        for i in open_places:
            if self._turns(now[i], board.goal[i]) is not None:
                continue
            fit = [j for j in open_places if j != i and self._turns(now[j], board.goal[i]) is not None]
            fit = [j for j in fit if self._turns(now[j], board.goal[j]) is None]
            j = next((j for j in fit if self._turns(now[i], board.goal[j]) is not None), fit[0])
            out.append(swap(divmod(i, board.width), divmod(j, board.width)))
            now[i], now[j] = now[j], now[i]
        for i, piece in enumerate(now):
            out += [turn(divmod(i, board.width))] * (self._turns(piece, board.goal[i]) or 0)
        return out

    def solve(self, state: Tiles, seat: str) -> Answer:
        if self.right(state):
            return Unsolvable("the episode is over")
        if not state.board.goal:
            return Unsolvable("how the pieces should lie was not kept")
        return Plan(tuple(self._plan(state)), self.facts.proof)

    def legal(self, state: Tiles, seat: str) -> tuple[Move, ...]:
        return () if self.right(state) else self._moves(state)

    def _moves(self, state: Tiles) -> tuple[Move, ...]:
        return _legal(state.board.width, state.board.height, state.board.fixed, self.turned is not None)

    def sample(self, state: Tiles, seat: str, rng: Rng) -> Move:
        return rng.pick(self._moves(state))

    def caption(self, state: Tiles, seat: str, level: int) -> str:
        board, wide = state.board, state.board.width
        names = names_of(wide, board.height)
        if level == 1:
            return f"{wide} x {board.height} pieces; fixed: {', '.join(names[i] for i in board.fixed) or 'none'}."
        pieces = zip(names, state.pieces, strict=True)
        cells = [f"{n} {p} {LOCKED}" if i in board.fixed else f"{n} {p}" for i, (n, p) in enumerate(pieces)]
        return "\n".join("; ".join(cells[i : i + wide]) for i in range(0, len(cells), wide))

    def rebuild(self, caption: str, seat: str) -> Tiles:
        """See `World.rebuild`."""
        rows = [[cell.split() for cell in line.split("; ")] for line in caption.split("\n")]
        if len({len(row) for row in rows}) != 1 or any(not 2 <= len(cell) <= 3 for row in rows for cell in row):
            raise QuintainError(f"this is no full caption of pieces: {caption[:60]!r}")
        cells = [cell for row in rows for cell in row]
        fixed = tuple(i for i, cell in enumerate(cells) if len(cell) == 3)
        return Tiles(Board(len(rows[0]), len(rows), fixed), tuple(cell[1] for cell in cells))

    def static(self, state: Tiles, seat: str) -> tuple[str, ...]:
        names = names_of(state.board.width, state.board.height)
        return (LOCKED, *(names[i] for i in state.board.fixed))

    def moving(self, state: Tiles, seat: str) -> tuple[str, ...]:
        return state.pieces

    def scene(self, state: Tiles, seat: str) -> Scene:
        return self.paint(state)


@functools.lru_cache(maxsize=256)
def _legal(width: int, height: int, fixed: tuple[int, ...], turns: bool) -> tuple[Move, ...]:
    free = [divmod(i, width) for i in range(width * height) if i not in fixed]
    swaps = [swap(one, two) for k, one in enumerate(free) for two in free[k + 1 :]]
    return (*swaps, *(turn(cell) for cell in free)) if turns else tuple(swaps)


def _layout(state: Tiles) -> str:
    """The least text of the solved board when turned or mirrored; pieces by name, so few are taken for equal that are not."""
    board = state.board
    return min(" ".join(board.goal[i] for i in order) for order in symmetries(board.width, board.height))
