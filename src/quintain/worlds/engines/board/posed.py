"""Games of men that begin from a position made for them: endings, small armies, handicaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from quintain.types import Ints
from quintain.worlds.engines.board.game import Game, Match
from quintain.worlds.engines.board.men_look import MenLook
from quintain.worlds.kernel import Move
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene


@dataclass(frozen=True, eq=False)
class Posed:
    """A `MenLook` whose matches begin as `pose` says.

    Args:
        look: all else.
        pose: a position for the knobs, whole, or None to draw again.
        reads: the move that a text names, if `look` does not read all of them.
    """

    look: MenLook
    pose: Callable[[Rng, Mapping[str, Any]], Ints | None]
    reads: Callable[[str], Move | None] | None = None

    def game(self, options: Ints) -> Game:
        return self.look.game(options)

    def options(self, knobs: Mapping[str, Any]) -> Ints:
        return self.look.options(knobs)

    def varied(self, knobs: Mapping[str, Any]) -> bool:
        return True

    def opening(self, rng: Rng, knobs: Mapping[str, Any]) -> Ints | None:
        position = self.pose(rng, knobs)
        over = position is None or self.look.game(self.options(knobs)).worth(position) is not None
        return None if over else position

    def suits(self, position: Ints, knobs: Mapping[str, Any]) -> bool:
        return True

    def layout(self, match: Match) -> str:
        return self.look.layout(match)

    def longest(self, match: Match) -> int:
        return self.look.longest(match)

    def caption(self, match: Match, me: int, level: int) -> str:
        return self.look.caption(match, me, level)

    def rebuild(self, caption: str) -> Match:
        return self.look.rebuild(caption)

    def scene(self, match: Match, me: int) -> Scene:
        return self.look.scene(match, me)

    def static(self, match: Match, me: int) -> tuple[str, ...]:
        return self.look.static(match, me)

    def moving(self, match: Match) -> tuple[str, ...]:
        return self.look.moving(match)

    def words(self, knobs: Mapping[str, Any], sides: int) -> tuple[str, ...]:
        return self.look.words(knobs, sides)

    def read(self, text: str) -> Move | None:
        return (self.reads or self.look.read)(text)

    def move(self, index: int, options: Ints) -> Move:
        return self.look.move(index, options)

    def index(self, move: Move, options: Ints) -> int:
        return self.look.index(move, options)
