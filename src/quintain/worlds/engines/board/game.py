"""What a two-player game with nothing hidden is, to the search and to the world around it.

A position is always seen from the side to move, so one search serves both sides; a worth of 1 is a win for that side,
-1 a loss, 0 a draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from quintain.types import Ints
from quintain.worlds.kernel import Move
from quintain.worlds.noise import Noise, Rng
from quintain.worlds.scene import Scene

CALM = Noise(0)  # the noise of matches without chance


class Verdict(NamedTuple):
    """The worth of a position under best play, and every move that keeps it (wins: those that are quickest, if known)."""

    worth: int
    moves: Ints


class Game(Protocol):
    """Rules of one game. Equal games are interchangeable, positions are tuples of integers, moves are integers."""

    def __hash__(self) -> int: ...

    def legal(self, position: Ints) -> Sequence[int]:
        """The moves of the side to move, in order."""
        ...

    def tempting(self, position: Ints) -> Sequence[int]:
        """The few moves that deserve a deeper look, best first."""
        ...

    def play(self, position: Ints, move: int) -> Ints:
        """The position after a legal move, seen from the other side."""
        ...

    def worth(self, position: Ints) -> int | None:
        """The worth of a position in which the game is over, or None."""
        ...

    def ahead(self, position: Ints) -> Mapping[int, float]:
        """What each legal move is worth, judged one move ahead: 1, -1 or 0 if it ends the game, else a guess between."""
        ...

    def peak(self, position: Ints) -> float:
        """The greatest of the values that `ahead` gives."""
        ...

    def guess(self, position: Ints) -> float:
        """A guess at the chance of the side to move, in [0, 1], in a position that is not over."""
        ...

    def brief(self, position: Ints) -> bool:
        """Whether so little is left to play that every line can be followed to the end."""
        ...

    def judge(self, position: Ints) -> Verdict | None:
        """The truth about a position that is not over, or None if it takes too long to find."""
        ...


def next_side(game: Game, *seen: Ints) -> int:
    """The side that would be next in a game that is over: the first that its position, `seen` from either side, ends for."""
    return next((side for side, position in enumerate(seen) if game.worth(position) is not None), 0)


@dataclass(frozen=True)
class Setup:
    """What never changes during a match: the numbers that make the game, who plays against the policy, the turn budget.

    `opponent` is a name of the ladder, or empty when both sides are seats.
    """

    options: Ints
    opponent: str = ""
    budget: int = 0


@dataclass(frozen=True, slots=True)
class Match:
    """The state of a match: the position seen from the side to move, who that is (0 or 1), and the opponent's noise.

    When the game is over, the position is seen from the side that would be next.
    """

    setup: Setup
    position: Ints
    mover: int = 0
    noise: Noise = CALM


class Look(Protocol):
    """One game for `BoardWorld`: its rules by number, how matches begin, what they look like, how moves are written.

    `me` is 0 or 1, the side that looks.
    """

    def game(self, options: Ints) -> Game:
        """The rules that the numbers of a setup stand for."""
        ...

    def options(self, knobs: Mapping[str, Any]) -> Ints:
        """The numbers that make the game."""
        ...

    def opening(self, rng: Rng, knobs: Mapping[str, Any]) -> Ints | None:
        """A position to begin with, or None to draw again."""
        ...

    def suits(self, position: Ints, knobs: Mapping[str, Any]) -> bool:
        """Whether an opening is as hard as the knobs ask for."""
        ...

    def varied(self, knobs: Mapping[str, Any]) -> bool:
        """Whether matches begin in different ways, so that splits can be kept apart."""
        ...

    def layout(self, match: Match) -> str:
        """What splits keep apart."""
        ...

    def longest(self, match: Match) -> int:
        """The most moves, of both sides, that a match from here can take."""
        ...

    def caption(self, match: Match, me: int, level: int) -> str:
        """See `Lens.caption`."""
        ...

    def rebuild(self, caption: str) -> Match:
        """See `World.rebuild`."""
        ...

    def scene(self, match: Match, me: int) -> Scene:
        """See `Lens.scene`."""
        ...

    def static(self, match: Match, me: int) -> tuple[str, ...]:
        """See `Lens.static`."""
        ...

    def moving(self, match: Match) -> tuple[str, ...]:
        """See `Lens.moving`."""
        ...

    def words(self, knobs: Mapping[str, Any], sides: int) -> tuple[str, ...]:
        """See `World.words`."""
        ...

    def read(self, text: str) -> Move | None:
        """See `World.read`."""
        ...

    def move(self, index: int, options: Ints) -> Move:
        """How the move with that number is written."""
        ...

    def index(self, move: Move, options: Ints) -> int:
        """The number of a move that was read, or -1 if the game has no such move."""
        ...
