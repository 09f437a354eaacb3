"""A world from one game that is played move by move, by one side or by two: what the engines of cards and of words share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from quintain.worlds.kernel import WON as WON
from quintain.worlds.kernel import Answer, Facts, Move, Outcome, Plan, Unsolvable, View, check_level
from quintain.worlds.knobs import check_knobs, overridable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene
from quintain.worlds.seats import seated
from quintain.worlds.splits import Draft, drawn

S = TypeVar("S")
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER = re.compile(rf"\b(?:{'|'.join(NUMBERS)})(?=\b|e?s\b)")


class After(NamedTuple, Generic[S]):
    """What a move did: the new state; rewards and events by side; whether the episode is over."""

    state: S
    rewards: tuple[Mapping[str, float], ...] = ()
    done: bool = False
    events: tuple[tuple[str, ...], ...] = ()


class Game(Protocol[S]):
    """One game. Sides are 0 and 1, in the order of the seats; a game against a built-in opponent has the side 0."""

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> S | Draft[S] | None:
        """A first state or a draft of it, or None to draw again."""
        ...

    def layout(self, state: S) -> str:
        """What splits keep apart."""
        ...

    def turns(self, state: S) -> int:
        """See `World.turns`."""
        ...

    def mover(self, state: S) -> int:
        """The side that is to move, -1 when the episode is over."""
        ...

    def legal(self, state: S) -> tuple[Move, ...]:
        """The moves of the side that is to move, or () where they cannot be listed."""
        ...

    def guess(self, state: S, rng: Rng) -> Move:
        """A random well-formed move, where moves cannot be listed or nobody is to move."""
        ...

    def read(self, text: str) -> Move | None:
        """See `World.read`; the text is short, stripped and in lower case."""
        ...

    def play(self, state: S, move: Move) -> After[S] | None:
        """What a move does, or None if the rules forbid it; where moves can be listed, it is one of them."""
        ...

    def advise(self, state: S) -> Answer:
        """The oracle of the side that is to move."""
        ...

    def caption(self, state: S, side: int, level: int) -> str:
        """See `Lens.caption`."""
        ...

    def rebuild(self, caption: str, side: int) -> S:
        """See `World.rebuild`."""
        ...

    def scene(self, state: S, side: int) -> Scene:
        """See `Lens.scene`."""
        ...

    def static(self, state: S, side: int) -> tuple[str, ...]:
        """See `Lens.static`."""
        ...

    def moving(self, state: S, side: int) -> tuple[str, ...]:
        """See `Lens.moving`."""
        ...

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        """See `World.words`."""
        ...


@seated
@dataclass(frozen=True, kw_only=True)
class TurnWorld(Generic[S]):
    """A world of one game: what a declaration gives.

    Args:
        facts: rules, seats and ceilings.
        levels: ten mappings of the game's knobs.
        game: the game.
        schema: the dataclass of its states.
        longest: characters after which a text is no action.
        meant: which of the legal moves of a state a well-formed one stands for, or that one itself.
    """

    facts: Facts
    levels: Sequence[Mapping[str, Any]]
    game: Game[S]
    schema: type[S]
    longest: int = 64
    meant: Callable[[S, Move], Move] | None = None

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> S:
        """See `World.start`."""
        chosen = check_knobs(knobs, self.levels, level)
        rng = Rng(self.facts.name, seed, level, split)
        return drawn(lambda r: self.game.deal(r, chosen), self.game.layout, rng, split)

    def _side(self, seat: str) -> int:
        return self.facts.seats.index(seat)

    def view(self, state: S, seat: str) -> View[S]:
        return View(self, state, seat, len(self.facts.seats) == 1 or self._side(seat) == self.game.mover(state))

    def read(self, text: str, seat: str) -> Move | None:
        text = text[: self.longest * 4].strip().lower()
        return self.game.read(text) if 0 < len(text) <= self.longest else None

    def turns(self, state: S) -> int:
        return self.game.turns(state)

    def words(self, level: int) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.game.words(self.levels[check_level(level)])))

    def step(self, state: S, moves: Mapping[str, Move]) -> Outcome[S]:
        seats, side = self.facts.seats, self.game.mover(state)
        seat = seats[max(side, 0)]
        move = moves[seat]
        legal = self.game.legal(state)
        move = self.meant(state, move) if self.meant else move
        after = self.game.play(state, move) if side >= 0 and (not legal or move in legal) else None
        if after is None:
            return Outcome(state, events={seat: ("illegal",)})
        rewards = dict(zip(seats, after.rewards, strict=False))
        events = {name: said for name, said in zip(seats, after.events, strict=False) if said}
        return Outcome(after.state, rewards, after.done, events)

    def solve(self, state: S, seat: str) -> Answer:
        """The oracle; a seat that is not to move has an empty plan."""
        side = self.game.mover(state)
        if side < 0:
            return Unsolvable("the episode is over")
        return self.game.advise(state) if side == self._side(seat) else Plan((), "policy", value=0.5)

    def legal(self, state: S, seat: str) -> tuple[Move, ...]:
        return self.game.legal(state) if self._side(seat) == self.game.mover(state) else ()

    def sample(self, state: S, seat: str, rng: Rng) -> Move:
        legal = self.legal(state, seat)
        return rng.pick(legal) if legal else self.game.guess(state, rng)

    def caption(self, state: S, seat: str, level: int) -> str:
        return self.game.caption(state, self._side(seat), level)

    def rebuild(self, caption: str, seat: str) -> S:
        """See `World.rebuild`."""
        return self.game.rebuild(caption, self._side(seat))

    def static(self, state: S, seat: str) -> tuple[str, ...]:
        return self.game.static(state, self._side(seat))

    def moving(self, state: S, seat: str) -> tuple[str, ...]:
        return self.game.moving(state, self._side(seat))

    def scene(self, state: S, seat: str) -> Scene:
        return self.game.scene(state, self._side(seat))


def counted(text: str) -> str:
    """A text in small letters whose words for numbers are digits.

    Example:
        >>> counted("two fives")
        '2 5s'
    """
    return _NUMBER.sub(lambda found: str(NUMBERS.index(found[0]) + 1), text)


def digits(prefix: str, number: int) -> tuple[str, ...]:
    """A number as one word per digit, with a word for a minus sign, so that lexicons stay small.

    Example:
        >>> digits("score", -30)
        ('score-', 'score:1:3', 'score:0:0')
    """
    text = str(abs(number))
    sign = (f"{prefix}-",) if number < 0 else ()
    return (*sign, *(f"{prefix}:{len(text) - 1 - i}:{d}" for i, d in enumerate(text)))


def digit_words(prefix: str, places: int) -> tuple[str, ...]:
    """Every word that `digits` makes of numbers with so many digits."""
    return (f"{prefix}-", *(f"{prefix}:{place}:{d}" for place in range(places) for d in range(10)))
