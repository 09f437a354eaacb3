"""Knobs that override those of a level: which values they take, and starts that end in good time where no instance has them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import Any, TypeVar

from quintain.registry import unknown
from quintain.types import QuintainError
from quintain.worlds.kernel import BadSeed, GenerationError, UnknownLevel, check_level
from quintain.worlds.noise import at_most
from quintain.worlds.splits import ALL

S = TypeVar("S")

DRAWS = 2_000_000  # that an instance with knobs of its own may take; of those that levels set the rarest seen took 443,480
RARE = 10  # as many times more for a split that has a tenth of the layouts


class BadKnob(QuintainError):
    """A knob that a world does not have, or with a value that it does not take."""


def check_knobs(given: Mapping[str, Any], levels: Sequence[Mapping[str, Any]], level: int) -> dict[str, Any]:
    """The knobs of a level, overridden by those that are `given`.

    A knob takes what some level sets, a number also all between, a switch 0 and 1: those are known to be made in good time.
    A list stands for a tuple, which files and command lines cannot write.

    Raises:
        UnknownLevel: there is no such level.
        BadKnob: there is no such knob, or it does not take such a value; the message says what it takes.

    Example:
        >>> check_knobs({"size": 6, "men": [1, 2]}, [{"size": 5, "men": (1, 2)}, {"size": 8, "men": (3,)}], 1)
        {'size': 6, 'men': (1, 2)}
    """
    chosen = dict(levels[check_level(level)])
    for name, value in given.items():
        if name not in chosen:
            raise BadKnob(unknown("knob", name, chosen))
        chosen[name] = _taken(name, value, [knobs[name] for knobs in levels if name in knobs])
    return chosen


def _taken(name: str, value: Any, values: list[Any]) -> Any:
    """The value, as levels have it."""
    kinds = {type(v) for v in values}
    if kinds == {bool}:
        values = [False, True]
    if kinds <= {int, float}:
        low, high = (0, 1) if kinds == {int} and set(values) <= {0, 1} else (min(values), max(values))
        if type(value) in kinds | {int} and low <= value <= high:
            return value
        takes = f"{'a number' if float in kinds else 'an integer'} from {low} to {high}"
    else:
        there = [v for v in values if _plain(v) == _plain(value)]
        if there:
            return there[0]
        takes = ", ".join(dict.fromkeys(map(repr, values)))
    raise BadKnob(f"knob {name}={value!r}: it takes {takes}")


def _plain(value: Any) -> Any:
    """What is equal only for equal values of the same types, be they in lists or tuples."""
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else (type(value), value)


def overridable(start: Callable[..., S]) -> Callable[..., S]:
    """Makes a world's `start` end in good time, with a `GenerationError`, where no instance has the knobs that it is given.

    What a level sets is known to be possible; knobs that override it may contradict the rest. Seeds are integers, or a `BadSeed`.
    """

    @functools.wraps(start)
    def begun(self: Any, seed: int, level: int, *, split: str = "train", **knobs: Any) -> S:
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise BadSeed(f"{self.facts.name}: seed {seed!r} is no integer")
        seed = index(seed)
        asked = check_knobs(knobs, self.levels, level) if knobs else {}
        own = {name: value for name, value in asked.items() if value != self.levels[level][name]}
        if not own:
            return start(self, seed, level, split=split)
        try:
            with at_most(DRAWS if split in ("train", ALL) else RARE * DRAWS):
                return start(self, seed, level, split=split, **own)
        except (BadKnob, UnknownLevel):
            raise
        except Exception as error:
            given, usual = (
                ", ".join(f"{name}={value!r}" for name, value in of.items()) for of in (own, self.levels[level])
            )
            raise GenerationError(
                f"{self.facts.name}: no instance of level {level} has {given} ({error}); take values nearer to those of the level: {usual}"
            ) from error

    return begun
