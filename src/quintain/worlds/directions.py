"""The four directions of a board as actions, with the words that may say them."""

from __future__ import annotations

import re

from quintain.worlds.kernel import Choices

WAITS = dict.fromkeys(
    (
        "stay",
        "stop",
        "noop",
        "no-op",
        "pass",
        "skip",
        "none",
        "do nothing",
        "stand still",
        "stay still",
        "stay put",
        "wait here",
        "stay here",
    ),
    "wait",
)
DIRECTIONS = ("up", "down", "left", "right")
CHOICES = Choices(
    *DIRECTIONS,
    synonyms={"u": "up", "d": "down", "l": "left", "r": "right"}
    | {"north": "up", "south": "down", "west": "left", "east": "right"},
)
_PLANNED = re.compile(
    r"\A\s*(?:the )?(?:steps|plan|path|route|moves)(?: are)?\s*:?\s+|^[ \t]*\d+[.)][ \t]+", re.MULTILINE
)
_PART = re.compile(
    r"(?:(\d{1,2})[x×*]?[ ]?)?(up|down|left|right|[udlr])(?:[ ]?[x×*(]?[ ]?(\d{1,2})\)?)?(?: steps?)?", re.ASCII
)
_AHEAD = re.compile(r"^(up|down|left|right) ([a-z]\d?)\b", re.ASCII)


def named_first(text: str) -> str:
    """A move with what moves before where it goes.

    Example:
        >>> named_first("left c 2"), named_first("c left")
        ('c left 2', 'c left')
    """
    return _AHEAD.sub(r"\2 \1", text)


def planned(text: str) -> str:
    """A list of steps without a title, and with counts right behind each, as in `up3 left`, where commas or lines part the steps.

    Example:
        >>> planned("Steps: up 3, 2 left, d"), planned("1. up\\n2. left x2"), planned("up 3 left")
        ('up3 left2 d', 'up left2', 'up 3 left')
    """
    text = _PLANNED.sub("", text.lower())
    parts = [_PART.fullmatch(part) for part in re.split(r"[ ]*(?:->|[,;\n])[ ]*", text.strip())]
    found = [part for part in parts if part and not (part[1] and part[3])]
    return " ".join([f"{p[2]}{p[1] or p[3] or ''}" for p in found]) if len(found) == len(parts) else text
