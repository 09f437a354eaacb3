"""A walker's map as a game: the sign that each cell shows gives captions, the way back, words and the picture."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from quintain.types import QuintainError
from quintain.worlds.engines.grid.board import DIGITS, FLOOR, GOAL, PLAYER, Board
from quintain.worlds.engines.turns import After, Game, TurnWorld
from quintain.worlds.kernel import Answer, Choices, Facts, Move
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene, Shape
from quintain.worlds.splits import Draft, canonical

UNDER = "You stand on "
BOARDS = 128  # whose tables of a tuple for each cell are kept: many more make the garbage collector stop for long
ARROWS = "^v<>"
_UNTURNED = str.maketrans(ARROWS + "|!", ">>>>-=")  # what points somewhere points elsewhere on a turned board
SAYINGS = {"illegal": "Something is in the way."}


class Placed(Protocol):
    """What every state of a map has."""

    @property
    def board(self) -> Board:
        """What never changes."""
        ...

    @property
    def at(self) -> int:
        """The cell of the walker."""
        ...


S = TypeVar("S", bound=Placed)


class Rules(Protocol[S]):
    """What moves do on one kind of map, and what its cells show."""

    choices: Choices

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> S | Draft[S] | None:
        """See `Game.deal`."""
        ...

    def over(self, state: S) -> bool:
        """Whether the episode has ended."""
        ...

    def legal(self, state: S) -> tuple[Move, ...]:
        """The moves that change the state."""
        ...

    def play(self, state: S, move: Move) -> After[S]:
        """What a legal move does."""
        ...

    def advise(self, state: S) -> Answer:
        """The oracle of a state that is not over."""
        ...

    def signs(self, state: S) -> Sequence[str]:
        """What each cell shows, as if the walker were not there."""
        ...

    def lines(self, state: S) -> tuple[str, ...]:
        """What the map does not say, in sentences."""
        ...

    def parse(self, signs: str, width: int, at: int, lines: Sequence[str]) -> S:
        """A state that shows these signs and says these lines."""
        ...


Frame = tuple[float, float, tuple[Shape, ...]]


def nothing(state: Any) -> tuple[str, ...]:
    """No words beside those of the cells."""
    return ()


def bare(state: Any) -> Frame:
    """Nothing around the map."""
    return 0.0, 0.0, ()


@dataclass(frozen=True, kw_only=True)
class MapGame(Generic[S]):
    """A `Game` from the rules of one kind of map.

    Args:
        rules: what moves do.
        tiles: sign -> layers of its tile; the keys are all signs that cells may show.
        nouns: sign -> what the brief caption calls it; walls and the like have none.
        frame: columns left free on both sides of the map, rows left free above it, and shapes drawn over the picture.
        aside: the tile of the walker where it stands on something.
        fixed: words that cannot change, beside those of the board's cells.
        more: words that can change, beside those of the cells.
        lexicon: all words that these two may give.
        veiled: the board's cells are not known from the start, so that none of them makes a fixed word.
        reads: the moves that texts name beside the choices of the rules.
    """

    rules: Rules[S]
    tiles: Mapping[str, str]
    nouns: Mapping[str, str]
    frame: Callable[[S], Frame] = bare
    aside: str = "player"
    fixed: Callable[[S], tuple[str, ...]] = nothing
    more: Callable[[S], tuple[str, ...]] = nothing
    lexicon: Sequence[str] = ()
    veiled: bool = False
    reads: Callable[[str], Move | None] | None = None

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> S | Draft[S] | None:
        return self.rules.deal(rng, knobs)

    def layout(self, state: S) -> str:
        signs = list(state.board.cells if self.veiled else self.rules.signs(state))
        signs[state.at] = PLAYER
        return canonical("".join(signs).translate(_UNTURNED), state.board.width, state.board.height)

    def turns(self, state: S) -> int:
        return state.board.budget

    def mover(self, state: S) -> int:
        return -1 if self.rules.over(state) else 0

    def legal(self, state: S) -> tuple[Move, ...]:
        return self.rules.legal(state)

    def guess(self, state: S, rng: Rng) -> Move:
        return rng.pick(self.rules.choices.moves)

    def read(self, text: str) -> Move | None:
        return self.rules.choices.read(text) or (self.reads(text) if self.reads else None)

    def play(self, state: S, move: Move) -> After[S] | None:
        return self.rules.play(state, move)

    def advise(self, state: S) -> Answer:
        return self.rules.advise(state)

    def caption(self, state: S, side: int, level: int) -> str:
        signs, board = list(self.rules.signs(state)), state.board
        under = signs[state.at]
        if level == 1:
            return "\n".join(self._brief(state, signs, under))
        signs[state.at] = PLAYER
        rows = [" ".join(signs[i : i + board.width]) for i in range(0, len(signs), board.width)]
        stand = () if under == FLOOR else (f"{UNDER}{under}",)
        return "\n".join([*rows, *stand, *self.rules.lines(state)])

    def _brief(self, state: S, signs: Sequence[str], under: str) -> list[str]:
        board = state.board
        where = f"You are at {place(board, state.at)} of a board with {board.height} rows and {board.width} columns"
        out = [f"{where}, on {self.nouns[under]}." if under in self.nouns else f"{where}."]
        for sign, noun in self.nouns.items():
            cells = [place(board, c) for c, s in enumerate(signs) if s == sign and c != state.at]
            if cells:
                out.append(f"{noun[0].upper()}{noun[1:]}: {'; '.join(cells)}.")
        return out + list(self.rules.lines(state))

    def rebuild(self, caption: str, side: int) -> S:
        """See `World.rebuild`."""
        lines = caption.split("\n")
        height = next((i for i, line in enumerate(lines) if any(len(part) > 1 for part in line.split(" "))), len(lines))
        rows = [line.split(" ") for line in lines[:height]]
        flat, rest = [sign for row in rows for sign in row], lines[height:]
        if flat.count(PLAYER) != 1 or len({len(row) for row in rows}) != 1:
            unread(caption)
        at = flat.index(PLAYER)
        stand = bool(rest) and rest[0].startswith(UNDER)
        flat[at] = rest[0][-1] if stand else FLOOR
        return self.rules.parse("".join(flat), len(rows[0]), at, rest[stand:])

    def scene(self, state: S, side: int) -> Scene:
        board, signs = state.board, self.rules.signs(state)
        cells = [self.tiles[sign] for sign in signs]
        cells[state.at] += "+player" if signs[state.at] == FLOOR else f"+{self.aside}"
        gap, head, shapes = self.frame(state)
        return Scene(
            width=board.width + 2 * gap,
            height=board.height + head,
            cells=tuple(cells),
            columns=board.width,
            left=gap,
            top=head,
            shapes=shapes,
        )

    def static(self, state: S, side: int) -> tuple[str, ...]:
        return (() if self.veiled else state.board.fixed_words) + self.fixed(state)

    def moving(self, state: S, side: int) -> tuple[str, ...]:
        names, signs = state.board.names, self.rules.signs(state)
        known = FLOOR * len(names) if self.veiled else state.board.cells
        changed = [s + n for s, k, n in zip(signs, known, names, strict=True) if s != k]
        return (PLAYER + names[state.at], *changed, *self.more(state))

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        side = knobs["size"]
        signs = f"{PLAYER}{FLOOR}{''.join(self.tiles)}"
        cells = [DIGITS[y] + DIGITS[x] for y in range(side) for x in range(side)]
        return (*(m.key for m in self.rules.choices.moves), *(s + c for s in signs for c in cells), *self.lexicon)


def place(board: Board, cell: int) -> str:
    """A cell in words.

    Example:
        >>> place(Board(4, 2, "........"), 5)
        'row 2, column 2'
    """
    return f"row {cell // board.width + 1}, column {cell % board.width + 1}"


def unread(caption: str) -> NoReturn:
    """Say that a caption cannot be read back.

    Raises:
        QuintainError: always.
    """
    raise QuintainError(f"this is no full caption of a walker's map: {caption[:60]!r}")


@functools.lru_cache(maxsize=BOARDS)
def steps(board: Board) -> tuple[tuple[int, ...], ...]:
    """[cell][direction]: where a step leads, or -1 at walls and edges."""
    return tuple(zip(*board.next, strict=True))


@functools.lru_cache(maxsize=512)
def goal_of(board: Board) -> int:
    """The cell of the goal, -1 where there is none."""
    return board.cells.find(GOAL)


def world(
    facts: Facts,
    levels: Sequence[Mapping[str, Any]],
    game: Game[S],
    schema: type[S],
    meant: Callable[[S, Move], Move] | None = None,
) -> TurnWorld[S]:
    """A world of one kind of map; `meant` as `TurnWorld` has it."""
    return TurnWorld(facts=facts, levels=levels, game=game, schema=schema, meant=meant)
