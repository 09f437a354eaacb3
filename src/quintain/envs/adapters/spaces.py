"""What a seat of a world sees and does, as spaces of Gymnasium and their values."""

from __future__ import annotations

import functools
import operator
import string
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.play import AdapterError, Heard, Play

# what captions are written with: ASCII, Latin-1, arrows, and the lines, blocks and shapes that maps are drawn with
CHARS = frozenset(string.printable) | {
    chr(code) for first, last in ((0xA1, 0xFF), (0x2190, 0x21FF), (0x2500, 0x25FF)) for code in range(first, last + 1)
}
SHOWN, SAID = 1 << 14, 1 << 12  # most characters of an observation, of an action
KINDS = ("text", "words")


def charset(play: Play) -> frozenset[str]:
    """The characters of a world's texts: `CHARS`, and what its rules, its answers and its sentences are written with beside them."""
    facts = play.env.facts
    texts: Iterable[str] = (facts.rules, facts.answer, facts.example, *facts.sayings.values())
    return CHARS.union(*texts)


class Shared:
    """The texts of a vector of envs in the memory that they share, as they are whenever somebody looks; a copy is a tuple that stays."""

    def __init__(self, space: Any, memory: Any, count: int) -> None:
        self.signs = np.array(space.character_list)
        self.codes = np.frombuffer(memory.get_obj(), np.int32).reshape(count, space.max_length)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, at: Any) -> Any:
        return tuple(self)[at]

    def __iter__(self) -> Iterator[str]:
        filled = len(self.signs)  # what the rest of a row holds
        return ("".join(self.signs[row[row < filled]]) for row in self.codes)

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)


def text_space(most: int, signs: frozenset[str]) -> Any:
    """A `Text` of up to so many characters that also comes out of shared memory as it was written there.

    Gymnasium's `AsyncVectorEnv` reads its shared memory once, before the first reset, and shows arrays, which follow the memory: a tuple of
    texts would be that of an empty memory for ever.
    """
    return _text(peer("gymnasium").spaces.Text)(most, min_length=0, charset=signs)


@functools.cache
def _text(base: type) -> type:
    class WorldText(base):
        def __reduce__(self) -> tuple[Any, ...]:  # pickle does not find a class that is made in a function
            return text_space, (self.max_length, self.character_set), self.__dict__

    def read(space: Any, memory: Any, n: int = 1) -> Any:
        return Shared(space, memory, n)

    peer("gymnasium.vector.utils").read_from_shared_memory.register(WorldText, read)
    return WorldText


def observation_space(play: Play, masked: int = 0) -> Any:
    """The space of what a seat is shown, with an `action_mask` where there are `masked` numbered actions."""
    spaces = peer("gymnasium").spaces
    shown = {"text": text_space(SHOWN, charset(play))}
    if side := play.env.scaffold.image:
        shown["image"] = spaces.Box(0, 255, (side, side, 3), np.uint8)
    if masked:
        shown["action_mask"] = spaces.Box(0, 1, (masked,), np.int8)
    return spaces.Dict(shown)


def action_space(play: Play, actions: str) -> tuple[Any, tuple[str, ...]]:
    """The space of actions, and their words where they are numbered.

    Raises:
        AdapterError: there is no such kind, or the world has no fixed list.
    """
    spaces = peer("gymnasium").spaces
    if actions not in KINDS:
        raise AdapterError(f"actions is {actions!r}; it is one of {', '.join(KINDS)}")
    if actions == KINDS[0]:
        return spaces.Text(SAID, min_length=0, charset=charset(play)), ()
    words = play.words()
    return spaces.Discrete(len(words)), words


def written(play: Play, action: Any, words: tuple[str, ...]) -> str:
    """An action of the space as the grammar of the scaffold writes it; what is no action of it is a text that nobody can read."""
    if not words:
        return action if isinstance(action, str) else ""
    try:
        number = operator.index(action)
    except TypeError:  # no number, or one with a fraction
        return ""
    return play.env.reader.grammar.write(words[number]).text if 0 <= number < len(words) else ""


def mask(heard: Heard, words: tuple[str, ...]) -> np.ndarray:
    """1 for each of the numbered actions that is legal now."""
    return np.array([word in heard.info["legal"] for word in words], np.int8)


def shown(heard: Heard) -> dict[str, Any]:
    """What is in an observation."""
    return {"text": heard.text} if heard.image is None else {"text": heard.text, "image": heard.image}
