"""What a seat of a world sees and does, as spaces of Gymnasium and their values."""

from __future__ import annotations

import operator
import string
from collections.abc import Iterable
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


def observation_space(play: Play, masked: int = 0) -> Any:
    """The space of what a seat is shown, with an `action_mask` where there are `masked` numbered actions."""
    spaces = peer("gymnasium").spaces
    shown = {"text": spaces.Text(SHOWN, min_length=0, charset=charset(play))}
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
