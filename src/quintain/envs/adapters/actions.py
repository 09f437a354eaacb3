"""Text to actions of Gymnasium's spaces and back: words for `Discrete`, the text for `Text`, JSON for all others."""

from __future__ import annotations

import enum
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from quintain.envs.adapters.game import ILLEGAL, PeerError, number
from quintain.envs.adapters.packages import peer

LONGEST = 10_000  # characters of a JSON action
SINGLE = (
    "Discrete",
    "MultiDiscrete",
    "MultiBinary",
    "Box",
    "Text",
)  # spaces that can be written, alone and in a Dict or Tuple


class Actions:
    """How actions of one space are written.

    Args:
        space: a `gymnasium.Space`.
        words: names of the actions of a `Discrete` space in their order; () for numbers.

    Raises:
        PeerError: there are more or fewer words than actions, or two are alike, or JSON has no form for actions of the space.
    """

    def __init__(self, space: Any, words: Sequence[str] = ()) -> None:
        spaces = peer("gymnasium").spaces
        _check(space)
        self.space, self.text = space, isinstance(space, spaces.Text)
        self.first: int = int(getattr(space, "start", 0)) if isinstance(space, spaces.Discrete) else 0
        count = int(space.n) if isinstance(space, spaces.Discrete) else 0
        if words and len(words) != count:
            raise PeerError(
                f"there are {len(words)} words for {count} actions of {space}; name each action once, in its order"
            )
        self.words: tuple[str, ...] = tuple(words) or tuple(str(self.first + i) for i in range(count))
        self.known: dict[str, int] = {word.lower(): i for i, word in enumerate(self.words)}
        if len(self.known) < len(self.words):
            raise PeerError(
                f"the words {', '.join(self.words)} are not all different in small letters; name each action apart"
            )

    @property
    def ask(self) -> str:
        """How an action is written, one sentence."""
        if self.words:
            return f"One of: {', '.join(self.words)}."
        form = " (Dict: an object, Tuple: a list)" * (self.space.shape is None)
        return "A text." if self.text else f"A JSON value of the space {self.space}{form}."

    def read(self, text: str) -> Any:
        """The action that a text spells, as a JSON value: a word, the text itself, a list; see `Game.read`."""
        if self.words:
            at = self.known.get(text[:200].strip().lower())
            return None if at is None else self.words[at]
        if self.text:
            return text if self.space.contains(text) else None
        try:
            found = json.loads(text[:LONGEST])
            return found if self.space.contains(_value(self.space, found)) else ILLEGAL
        except ArithmeticError:  # a number that its type cannot hold
            return ILLEGAL
        except (ValueError, RecursionError):
            return None

    def value(self, key: Any) -> Any:
        """What the environment takes for an action that was read."""
        if self.words:
            return self.known[str(key).lower()] + self.first
        return key if self.text else _value(self.space, key)

    def legal(self, mask: Any) -> tuple[str, ...]:
        """The words of the actions that a mask leaves."""
        return tuple(word for word, allowed in zip(self.words, mask) if allowed)


def _check(space: Any) -> None:
    spaces = peer("gymnasium").spaces
    if isinstance(space, spaces.Dict | spaces.Tuple):
        for part in space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces:
            _check(part)
    elif not isinstance(space, tuple(getattr(spaces, kind) for kind in SINGLE)):
        raise PeerError(
            f"actions of the space {space} cannot be written; those of Dict, Tuple, {', '.join(SINGLE)} can: wrap the environment in "
            "gymnasium.wrappers.TransformAction"
        )


def _value(space: Any, said: Any) -> Any:
    """What a JSON value says in a space.

    Raises:
        ValueError: it is of another type or shape.
        ArithmeticError: a number is too large.
    """
    spaces = peer("gymnasium").spaces
    if isinstance(space, spaces.Dict):
        keys = {str(key): key for key in space.spaces}
        if not isinstance(said, dict) or set(said) != set(keys):
            raise ValueError(f"an object of {', '.join(keys)} is expected")
        return {key: _value(space[key], said[name]) for name, key in keys.items()}
    if isinstance(space, spaces.Tuple):
        if not isinstance(said, list) or len(said) != len(space):
            raise ValueError(f"a list of {len(space)} is expected")
        return tuple(_value(space[i], part) for i, part in enumerate(said))
    if isinstance(space, spaces.Text):
        if not isinstance(said, str):
            raise ValueError("a text is expected")
        return said
    array = _array(space, said)
    return int(array) if isinstance(space, spaces.Discrete) else array


def _array(space: Any, said: Any) -> np.ndarray:
    parts = [said]
    for size in space.shape:
        if not all(isinstance(part, list) and len(part) == size for part in parts):
            raise ValueError(f"a list of {size} is expected")
        parts = [inner for part in parts for inner in part]
    whole = space.dtype.kind != "f"
    if not all(number(part) and (not whole or part == int(part)) for part in parts):
        raise ValueError(f"{'whole ' * whole}numbers are expected")
    with np.errstate(over="raise"):
        return np.array([int(part) if whole else part for part in parts], space.dtype).reshape(space.shape)


def words_of(env: Any) -> tuple[str, ...]:
    """What an environment itself calls its actions: an enum `actions` as MiniGrid and MiniWorld have it, ALE's meanings, or ().

    An environment that takes the first actions of its enum only has their names.
    """
    if not isinstance(env.action_space, peer("gymnasium").spaces.Discrete):
        return ()  # ALE has meanings for its continuous actions too
    own = getattr(env.unwrapped, "actions", None)
    if isinstance(own, type) and issubclass(own, enum.Enum):
        count = int(env.action_space.n)
        return tuple(member.name for member in own)[:count] if len(own) >= count else ()
    meanings = getattr(env.unwrapped, "get_action_meanings", None)
    return tuple(word.lower() for word in meanings()) if meanings else ()
