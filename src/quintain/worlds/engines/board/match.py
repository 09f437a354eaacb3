"""Matches: a board game as a world, against an opponent of the ladder or between two seats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quintain.ports import SOLO
from quintain.worlds.engines.board.game import CALM, Look, Match, Setup
from quintain.worlds.engines.board.search import check_opponent, choices, replies
from quintain.worlds.kernel import (
    NOTHING,
    WON,
    Answer,
    Facts,
    GenerationError,
    Move,
    Outcome,
    Plan,
    Unsolvable,
    View,
    check_level,
)
from quintain.worlds.knobs import check_knobs, overridable
from quintain.worlds.noise import Noise, Rng
from quintain.worlds.scene import Box, Scene
from quintain.worlds.seats import seated
from quintain.worlds.splits import ALL, drawn

DRAWN = {"draw": 0.5}
SPARE = 2  # turns beyond the longest match against a built-in opponent, for moves that are refused
TRIES = 20_000
SALT = "board "  # chosen so that the splits of small boards, which have few layouts, are not too uneven
SAYINGS = {
    "reply": "The opponent plays {}.",
    "end": "{}.",
    "won": "You won.",
    "lost": "The opponent won.",
    "draw": "The game is a draw, which is worth half a win.",
}


@seated
@dataclass(frozen=True, kw_only=True)
class BoardWorld:
    """A world of the board engine: what a declaration gives.

    With one seat the policy moves first and the opponent of the level answers inside the step; with two seats they take
    turns. A win is worth 1, a draw 1/2.

    Args:
        facts: rules, seats and ceilings.
        levels: ten mappings of the game's knobs, and of `opponent` where there is one seat.
        look: the game.
        meant: the move that one stands for which the game writes otherwise, or that one itself.
        why: how a match that is over has come to its end, where that is to be said.
    """

    facts: Facts
    levels: Sequence[Mapping[str, Any]]
    look: Look
    schema: type[Match] = Match
    meant: Callable[[Match, Move], Move] = lambda match, move: move
    why: Callable[[Match], str] = lambda match: ""

    @property
    def two(self) -> bool:
        """Whether both sides are seats."""
        return len(self.facts.seats) == 2

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Match:
        """See `World.start`."""
        chosen = check_knobs(knobs, self.levels, level)
        opponent = "" if self.two else check_opponent(chosen["opponent"])
        options, rng = self.look.options(chosen), Rng(self.facts.name, seed, level, split)

        def make(r: Rng) -> Match | None:
            position = self.look.opening(r, chosen)
            return None if position is None else Match(Setup(options, opponent), position)

        for _ in range(TRIES):
            first = drawn(make, self._layout, rng, split if self.look.varied(chosen) else ALL)
            if self.look.suits(first.position, chosen):
                break
        else:
            raise GenerationError(
                f"{self.facts.name} level {level}: no opening in {TRIES} draws with the knobs {chosen}"
            )
        moves = self.look.longest(first)
        budget = moves if self.two else (moves + 1) // 2 + SPARE
        noise = CALM if self.two else Noise(int(rng.uniform() * 2**53))
        return Match(Setup(options, opponent, budget), first.position, 0, noise)

    def _layout(self, match: Match) -> str:
        return SALT + self.look.layout(match)

    def view(self, state: Match, seat: str) -> View[Match]:
        over = self.two and self.look.game(state.setup.options).worth(state.position) is not None
        return View(self, state, seat, not self.two or (self._side(seat) == state.mover and not over))

    def _side(self, seat: str) -> int:
        return self.facts.seats.index(seat) if self.two else 0

    def read(self, text: str, seat: str) -> Move | None:
        return self.look.read(text)

    def turns(self, state: Match) -> int:
        return state.setup.budget

    def words(self, level: int) -> tuple[str, ...]:
        return self.look.words(self.levels[check_level(level)], len(self.facts.seats))

    def step(self, state: Match, moves: Mapping[str, Move]) -> Outcome[Match]:
        setup = state.setup
        game = self.look.game(setup.options)
        seat = self.facts.seats[state.mover] if self.two else SOLO
        move = self.meant(state, moves[seat])
        index = self.look.index(move, setup.options)
        if index < 0 or index not in game.legal(state.position) or game.worth(state.position) is not None:
            return Outcome(state, events={seat: ("illegal",)})
        position = game.play(state.position, index)
        after = Match(setup, position, 1 - state.mover, state.noise)
        worth, said = game.worth(position), f"reply:{move.key}"
        if worth is not None:
            return self._over(after, worth, said)
        if self.two:
            return Outcome(after, events={self.facts.seats[after.mover]: (said,)})
        answers = choices(game, position, setup.opponent)
        answer = answers[state.noise.below(len(answers))]
        position = game.play(position, answer)
        after = Match(setup, position, 0, state.noise.after())
        said = f"reply:{self.look.move(answer, setup.options).key}"
        worth = game.worth(position)
        return Outcome(after, events={SOLO: (said,)}) if worth is None else self._over(after, worth, said)

    def _over(self, after: Match, worth: int, said: str) -> Outcome[Match]:
        """The end: `worth` is that of the side which would be next, and it alone has not `said` the last move itself."""
        rewards, events, why = {}, {}, self.why(after)
        for seat in self.facts.seats:
            mine, heard = (worth, (said,)) if self._side(seat) == after.mover else (-worth, ())
            rewards[seat] = (DRAWN, WON, NOTHING)[mine]
            events[seat] = (*heard, *([f"end:{why}"] * bool(why)), ("draw", "won", "lost")[mine])
        return Outcome(after, rewards, True, events)

    def solve(self, state: Match, seat: str) -> Answer:
        """The best next moves, by proof or, where none is found in time, by looking ahead: ask again after each move.

        `value` is what best play earns for certain where that is proved, and an estimate against this opponent elsewhere.
        """
        game, position, opponent = self.look.game(state.setup.options), state.position, state.setup.opponent
        if game.worth(position) is not None:
            return Unsolvable("the game is over")
        verdict = game.judge(position)
        if self._side(seat) != state.mover:
            return Plan((), "policy", value=0.5 if verdict is None else (1 - verdict.worth) / 2)
        if verdict is not None and (verdict.worth == 1 or opponent in ("", "perfect")):
            if verdict.worth == -1 and opponent:
                return Unsolvable("the opponent wins against any play")
            value, moves = (1 + verdict.worth) / 2, verdict.moves
        else:
            value, moves = replies(game, position, opponent or "depth2")
        first = tuple([self.look.move(m, state.setup.options) for m in moves])
        return Plan(first[:1], "policy", first, value)

    def legal(self, state: Match, seat: str) -> tuple[Move, ...]:
        options = state.setup.options
        game = self.look.game(options)
        if game.worth(state.position) is not None or self._side(seat) != state.mover:
            return ()
        return tuple([self.look.move(m, options) for m in game.legal(state.position)])

    def sample(self, state: Match, seat: str, rng: Rng) -> Move:
        legal = self.legal(state, seat)
        return rng.pick(legal) if legal else self.read(self.facts.example, seat) or Move(self.facts.example)

    def caption(self, state: Match, seat: str, level: int) -> str:
        return self.look.caption(state, self._side(seat), level)

    def rebuild(self, caption: str, seat: str) -> Match:
        """See `World.rebuild`."""
        return self.look.rebuild(caption)

    def static(self, state: Match, seat: str) -> tuple[str, ...]:
        return self.look.static(state, self._side(seat))

    def moving(self, state: Match, seat: str) -> tuple[str, ...]:
        return self.look.moving(state)

    def scene(self, state: Match, seat: str) -> Scene:
        return signed(self.look.scene(state, self._side(seat)), self.look, state, self._side(seat))


def signed(scene: Scene, look: Look, match: Match, me: int) -> Scene:
    """A picture with a sign in its corner where its viewer is not to move: a square if the game is over, else two bars."""
    if look.game(match.setup.options).worth(match.position) is not None:
        sign = (Box(x=0.7, y=0, width=0.3, height=0.3, fill="brick"),)
    elif match.mover != me:
        sign = tuple([Box(x=x, y=0, width=0.11, height=0.3, fill="brick") for x in (0.7, 0.89)])
    else:
        return scene
    return replace(scene, shapes=(*scene.shapes, *sign))
