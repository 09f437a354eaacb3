"""Problems of games of men: side 0 must win before the moves run out, against the best defence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from quintain.types import Ints
from quintain.worlds.engines.board.game import Match, Setup
from quintain.worlds.engines.board.match import signed
from quintain.worlds.engines.board.men import MenGame
from quintain.worlds.engines.board.men_look import MenLook
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import Answer, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene
from quintain.worlds.splits import Draft


@dataclass(frozen=True, eq=False)
class Forced:
    """A problem as `turns.Game`; the other side replies within a turn, always the same way.

    Args:
        look: the game.
        pose: a position for the knobs, or None to draw again.
        kept: whether side 0 wins a position as the knobs ask; otherwise it is drawn again.
        winning: the moves of side 0 that win for certain; none in a position that is lost.
        defence: the reply of side 1.
        reads: the move that a text names, if `look` does not read all of them.
        shape: what splits keep apart, if it is not the whole board.
        why: what a winning move does; see `Plan.because`.
        spare: turns beyond the moves of side 0, for moves that are refused.
    """

    look: MenLook
    pose: Callable[[Rng, Mapping[str, Any]], Ints | None]
    kept: Callable[[Ints, Mapping[str, Any]], bool]
    winning: Callable[[Ints], tuple[Ints, ...]]
    defence: Callable[[Ints], Ints]
    reads: Callable[[str], Move | None] | None = None
    shape: Callable[[Match], str] | None = None
    why: Callable[[Ints, Ints], str] | None = None
    spare: int = 0

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Match] | None:
        position = self.pose(rng, knobs)
        if position is None:
            return None
        options = tuple([knobs[name] for name in self.look.numbers])
        match = Match(Setup(options, "perfect", (position[-2] + 1) // 2), position)
        return Draft(match, lambda: match if self.kept(position, knobs) else None)

    def layout(self, state: Match) -> str:
        return self.shape(state) if self.shape else self.look.layout(state)

    def turns(self, state: Match) -> int:
        return state.setup.budget + self.spare

    def _game(self, state: Match) -> MenGame:
        return self.look.game(state.setup.options)

    def mover(self, state: Match) -> int:
        return -1 if state.position[-1] or self._game(state).worth(state.position) is not None else 0

    def legal(self, state: Match) -> tuple[Move, ...]:
        game = self._game(state)
        return (
            tuple([self.look.move(m, state.setup.options) for m in game.legal(state.position)])
            if not self.mover(state)
            else ()
        )

    def guess(self, state: Match, rng: Rng) -> Move:
        game = self._game(state)
        return self.look.move(game.pack((rng.below(game.cells),)), state.setup.options)

    def read(self, text: str) -> Move | None:
        return (self.reads or self.look.read)(text)

    def play(self, state: Match, move: Move) -> After[Match]:
        game = self._game(state)
        position = game.play(state.position, self.look.index(move, state.setup.options))
        worth, said = game.worth(position), ()
        if worth is None:
            reply = game.pack(self.defence(position))
            position, said = game.play(position, reply), (f"reply:{game.spell(reply)}",)
            worth = game.worth(position)
            worth = None if worth is None else -worth
        after = replace(state, position=position)
        if worth is None:
            return After(after, events=(said,))
        return (
            After(after, (WON,), True, ((*said, "won"),)) if worth == -1 else After(after, (), True, ((*said, "lost"),))
        )

    def advise(self, state: Match) -> Answer:
        game = self._game(state)
        paths = self.winning(state.position)
        first = tuple([self.look.move(game.pack(path), state.setup.options) for path in paths])
        because = self.why(state.position, paths[0]) if self.why and paths else ""
        return Plan(first[:1], "policy", first, because=because) if first else Unsolvable("the defence holds")

    def caption(self, state: Match, side: int, level: int) -> str:
        return self.look.caption(state, 0, level)

    def rebuild(self, caption: str, side: int) -> Match:
        return self.look.rebuild(caption)

    def scene(self, state: Match, side: int) -> Scene:
        return signed(self.look.scene(state, 0), self.look, state, 0)

    def static(self, state: Match, side: int) -> tuple[str, ...]:
        return self.look.static(state, 0)

    def moving(self, state: Match, side: int) -> tuple[str, ...]:
        return self.look.moving(state)

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        return self.look.words({"limit": 1, **knobs}, 1)
