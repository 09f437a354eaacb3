"""What somebody else's environment has to say to be an env of ours: a `Game` is all that an adapter writes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from quintain.envs.grammar import GRAMMARS
from quintain.registry import UnknownName, unknown
from quintain.types import QuintainError, Stop, Task

ILLEGAL = object()  # what `Game.read` gives for an action that can be read and is forbidden now


class PeerError(QuintainError):
    """An environment of somebody else's cannot be played; the message says what it lacks and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a game says after a start or a move: by seat texts, pictures, rewards and named rewards; who moves; why it is over."""

    texts: Mapping[str, str]
    movers: tuple[str, ...] = ()
    images: Mapping[str, np.ndarray] = field(default_factory=dict)
    rewards: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    events: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    stop: Stop | None = None


class Game(Protocol):
    """One environment of a peer: `PeerEnv` calls it, one call at a time, with random states of its own."""

    seats: tuple[str, ...]

    @property
    def ask(self) -> str | Mapping[str, str]:
        """How an action is written, one sentence, or one for each seat."""
        ...

    def start(self, task: Task) -> Shown:
        """Begin the episode of a task."""
        ...

    def read(self, text: str, seat: str) -> Any:
        """The action that `text` spells as a JSON value, None if it spells none, `ILLEGAL` if it may not be taken now."""
        ...

    def play(self, moves: Mapping[str, Any]) -> Shown:
        """Take actions that `read` gave."""
        ...

    def close(self) -> None:
        """Free what the peer holds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How an environment of a peer is played.

    Attributes:
        grammar: how an action is written: `free`, `tagged`, `json`, `word`, `tool`.
        turns: most turns of an episode, >= 1.
        penalty: taken from the reward, as the component `malformed`, for each action that is unreadable or forbidden, >= 0.
        win: total reward of an episode from which on it is a success, None where 1 is. With it the component `success` is 1 or 0 at
            the end, and `reward` holds the rest, so that their sum is what the peer gave.
    """

    grammar: str = "tagged"
    turns: int = 100
    penalty: float = 0.0
    win: float | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any] | Manner | None) -> Manner:
        """A manner from its options.

        Raises:
            UnknownName: there is no such option or grammar.
            PeerError: one is out of range.
        """
        if isinstance(options, Manner):
            return options
        for name in options or {}:
            if name not in cls.__slots__:
                raise UnknownName(unknown("manner option", name, cls.__slots__))
        return cls(**(options or {}))

    def __post_init__(self) -> None:
        if self.grammar not in GRAMMARS:
            raise UnknownName(unknown("grammar", self.grammar, GRAMMARS))
        whole = isinstance(self.turns, int) and not isinstance(self.turns, bool)
        if not whole or self.turns < 1 or not (number(self.penalty) and self.penalty >= 0):
            raise PeerError(f"turns is {self.turns!r}, at least 1; penalty is {self.penalty!r}, at least 0")
        if self.win is not None and not number(self.win):
            raise PeerError(f"win is {self.win!r}; it is the total reward from which on an episode is a success")


def number(value: Any) -> bool:
    """Whether a value is a finite number.

    Example:
        >>> number(0.5), number(True), number(10**400)
        (True, False, False)
    """
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number that is larger than any float
        return False


def _words(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)


FORMS: dict[str, Callable[[Any], bool]] = {
    "true or false": lambda value: isinstance(value, bool),
    "a finite number": number,
    "a whole number": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "a text": lambda value: isinstance(value, str),
    "a list of words": _words,
    "a URL or a list of words": lambda value: isinstance(value, str) or _words(value),
}


def are(form: str, **options: Any) -> None:
    """Check that options are of one of `FORMS`: a file and a command line can say anything.

    Raises:
        PeerError: one is not.

    Example:
        >>> are("true or false", image="yes")
        Traceback (most recent call last):
        quintain.envs.adapters.game.PeerError: image is 'yes'; it is true or false
    """
    for name, value in options.items():
        if not FORMS[form](value):
            raise PeerError(f"{name} is {value!r:.80}; it is {form}")


def by_level(ids: Any, task: Task, of: type | tuple[type, ...] = str) -> Any:
    """What a task plays where each level has an environment of its own: item `task.level` of a list, or the only one there is.

    Raises:
        PeerError: the list has no such level, or what stands there is no `of`.
    """
    found = ids
    if isinstance(ids, list | tuple):
        if not 0 <= task.level < len(ids):
            there = f"env.levels to 0..{len(ids) - 1}" if ids else "at least one"
            raise PeerError(f"level {task.level} is asked for, and there are {len(ids)} environments; set {there}")
        found = ids[task.level]
    if not isinstance(found, of):
        raise PeerError(
            f"an environment of a peer is named by {found!r:.80}; give its name, or a list of them by level"
        )
    return found


def options_of(given: Any, *ours: str) -> dict[str, Any]:
    """The options of a peer's own constructor, by name.

    Raises:
        PeerError: they are no mapping, or one of them is `ours` to set.
    """
    if not isinstance(given, Mapping | None):
        raise PeerError(f"the options of an environment are {given!r:.80}; give them by name")
    if taken := [name for name in ours if name in (given or {})]:
        raise PeerError(f"the option {taken[0]} is set by the task; leave it out")
    return dict(given or {})
