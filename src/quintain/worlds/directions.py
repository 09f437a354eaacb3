"""The four directions of a board as actions, with the words that may say them."""

from __future__ import annotations

import re

from quintain.worlds.kernel import Choices

WAITS = dict.fromkeys(
    ("stay", "stop", "noop", "no-op", "pass", "skip", "none", "do nothing", "stand still", "stay still"), "wait"
)
DIRECTIONS = ("up", "down", "left", "right")
CHOICES = Choices(
    *DIRECTIONS,
    synonyms={"u": "up", "d": "down", "l": "left", "r": "right"}
    | {"north": "up", "south": "down", "west": "left", "east": "right"},
)
_AHEAD = re.compile(r"^(up|down|left|right) ([a-z]\d?)\b", re.ASCII)


def named_first(text: str) -> str:
    """A move with what moves before where it goes.

    Example:
        >>> named_first("left c 2"), named_first("c left")
        ('c left 2', 'c left')
    """
    return _AHEAD.sub(r"\2 \1", text)
