"""Knobs that override those of a level: which values they take, and starts that end in good time where no instance has them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from operator import index
from typing import Any, TypeVar

from quintain.registry import unknown
from quintain.types import QuintainError
from quintain.worlds.kernel import (
    SEED_BITS,
    BadSeed,
    GenerationError,
    Plan,
    UnknownLevel,
    Unsolvable,
    check_level,
    quoted,
)
from quintain.worlds.noise import at_most, seed_of
from quintain.worlds.splits import ALL, check_split

S = TypeVar("S")

# random numbers that an instance with knobs of its own may take; of those that levels set the rarest seen took 443,480
DRAWS = 1_000_000
AGAIN = 20  # instances that are made of knobs of its own before they are said to allow none that can be won in time
BOUNDS = (("low", "high"), ("least", "most"))  # knobs that bound one number
RARE = 5  # times as many, at most, for a split that has a tenth of the layouts
OFTEN = 100  # times as many as one among all layouts took, and no more, for one of such a split


class BadKnob(QuintainError):
    """A knob that a world does not have, or with a value that it does not take."""


def check_knobs(given: Mapping[str, Any], levels: Sequence[Mapping[str, Any]], level: int) -> dict[str, Any]:
    """The knobs of a level, overridden by those that are `given`.

    A knob takes what some level sets, a number also all between, a switch 0 and 1: those are known to be made in good time.
    A list stands for a tuple, which files and command lines cannot write.

    Raises:
        UnknownLevel: there is no such level.
        BadKnob: there is no such knob, or it does not take such a value; the message says what it takes. Or a lower bound is above
            the upper one.

    Example:
        >>> check_knobs({"size": 6, "men": [1, 2]}, [{"size": 5, "men": (1, 2)}, {"size": 8, "men": (3,)}], 1)
        {'size': 6, 'men': (1, 2)}
    """
    chosen = dict(levels[check_level(level)])
    for name, value in given.items():
        if name not in chosen:
            raise BadKnob(unknown("knob", name, chosen))
        chosen[name] = _taken(name, value, [knobs[name] for knobs in levels if name in knobs])
    for low, high in BOUNDS:
        if low in chosen and high in chosen and chosen[low] > chosen[high]:
            raise BadKnob(f"knobs {low}={chosen[low]} and {high}={chosen[high]}: {low} is at most {high}")
    return chosen


def _taken(name: str, value: Any, values: list[Any]) -> Any:
    """The value, as levels have it."""
    kinds = {type(v) for v in values}
    if kinds == {bool}:
        values = [False, True]
    if kinds <= {int, float}:
        switch = kinds == {int} and set(values) <= {0, 1}
        low, high = (0, 1) if switch else (min(values), max(values))
        if type(value) in kinds | {int} and low <= value <= high:
            return value
        if switch and isinstance(value, bool):
            return int(value)
        takes = (
            f"{'a number' if float in kinds else 'an integer'} from {low} to {high}" if low < high else f"{low} alone"
        )
    else:
        there = [v for v in values if _plain(v) == _plain(value)]
        if there:
            return there[0]
        takes = ", ".join(dict.fromkeys([repr(_listed(v)) for v in values]))
    raise BadKnob(f"knob {name}={quoted(value)}: it takes {takes}")


def _plain(value: Any) -> Any:
    """What is equal only for equal values of the same types, be they in lists or tuples."""
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else (type(value), value)


def _lost(world: Any, state: Any) -> str:
    """Why an exact oracle of a world of one seat cannot win from here, "" where it can or nobody knows."""
    facts = world.facts
    if not facts.exact or len(facts.seats) > 1:
        return ""
    answer, turns = world.solve(state, facts.seats[0]), world.turns(state)
    if isinstance(answer, Plan) and len(answer.moves) > turns:
        return f"a way to win takes {len(answer.moves)} moves and there are {turns} turns"
    return f"it cannot be won: {answer.reason}" if isinstance(answer, Unsolvable) else ""


def started(world: Any, seed: int, level: int, split: str, knobs: Mapping[str, Any]) -> Any:
    """A start with knobs that somebody gives by name.

    Raises:
        BadKnob: one has the name of what is no knob, or they are no names with values; and all that the world's `start` raises.
    """
    if not isinstance(knobs, Mapping):
        raise BadKnob(
            f"{world.facts.name}: the knobs are {quoted(knobs)}, a {type(knobs).__name__}; give a mapping of their names to values"
        )
    if strange := [name for name in knobs if not isinstance(name, str)]:
        raise BadKnob(
            f"{world.facts.name}: the knob {quoted(strange[0])} is of the type {type(strange[0]).__name__}; the name of a knob is a text"
        )
    for name in ("seed", "level", "split", "self"):
        if name in knobs:
            raise BadKnob(
                f"{world.facts.name}: {name}={quoted(knobs[name])} is no knob; give the {name} beside the knobs"
            )
    return world.start(seed, level, split=split, **knobs)


def lexicon(world: Any, levels: Sequence[int], knobs: Mapping[str, Any]) -> list[str]:
    """The words of some levels, with knobs of one's own if there are such.

    Raises:
        UnknownLevel, BadKnob: see `check_knobs`.
    """
    if knobs:
        own = {level: check_knobs(knobs, world.levels, level) for level in levels}
        world = copy(world)
        object.__setattr__(
            world, "levels", [own.get(level, usual) for level, usual in enumerate(world.levels)]
        )  # worlds are frozen
    return list(dict.fromkeys([word for level in levels for word in world.words(level)]))


def _listed(value: Any) -> Any:
    """A list for a tuple, as it is to be written."""
    return list(map(_listed, value)) if isinstance(value, tuple) else value


def overridable(start: Callable[..., S]) -> Callable[..., S]:
    """Makes a world's `start` end in good time, with a `GenerationError`, where no instance has the knobs that it is given.

    What a level sets is known to be possible; knobs that override it may contradict the rest. Of `AGAIN` instances the first is taken that
    an exact oracle wins within its turns. Seeds are integers, or a `BadSeed`.
    """

    @functools.wraps(start)
    def begun(self: Any, seed: int, level: int, *, split: str = "train", **knobs: Any) -> S:
        if isinstance(seed, bool) or not hasattr(seed, "__index__") or index(seed).bit_length() > SEED_BITS:
            raise BadSeed(f"{self.facts.name}: seed {quoted(seed)} is no integer of at most {SEED_BITS} bits")
        seed, level = index(seed), check_level(level)
        asked = check_knobs(knobs, self.levels, level) if knobs else {}
        own = {name: value for name, value in asked.items() if value != self.levels[level][name]}
        if not own:
            return start(self, seed, level, split=split)
        check_split(split)
        try:
            draws = DRAWS
            if split not in (
                "train",
                ALL,
            ):  # what is rare among all layouts, or not there, is not looked for long in a tenth of them
                with at_most(DRAWS) as left:
                    start(self, seed, level, split=ALL, **own)
                    draws = max(DRAWS, min(RARE * DRAWS, OFTEN * (DRAWS - left())))
            with at_most(draws):
                why = ""
                for one in (seed, *(seed_of("again", seed, k) for k in range(1, AGAIN))):
                    state = start(self, one, level, split=split, **own)
                    why = _lost(self, state)
                    if not why:
                        return state
                raise GenerationError(why)
        except (BadKnob, UnknownLevel):
            raise
        except Exception as error:
            given, usual = [", ".join([f"{k}={v!r}" for k, v in of.items()]) for of in (own, self.levels[level])]
            why = (
                str(error)
                if isinstance(error, QuintainError)
                else f"its generator stops with {type(error).__name__}: {error}"
            )
            raise GenerationError(
                f"{self.facts.name}: no instance of level {level} in the split {split!r} has {given} ({why}); take values nearer to those "
                f"of the level: {usual}"
            ) from error

    return begun
