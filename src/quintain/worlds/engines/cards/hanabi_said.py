"""What moves of Hanabi are called, and what else they may be called."""

from __future__ import annotations

import functools
import re

from quintain.worlds.engines.turns import counted
from quintain.worlds.kernel import Move

NAMES = {"R": "red", "G": "green", "B": "blue", "Y": "yellow", "W": "white"}
_PLACES = ("first", "second", "third", "fourth", "fifth")
_OWN = re.compile(
    r"(play|discard):? (?:my |the )?(?:(?:card (?:number |at position )?|slot |position )?#?([1-5])"
    rf"|({'|'.join(_PLACES)}) card)",
    re.ASCII,
)
_PARTNER = r"(?:(?:my|the) )?partner"
_CLUE = re.compile(
    rf"(?:clue|hint|tell):? (?:{_PARTNER} (?:about )?)?(?:(?:colou?r|rank|number):? )?"
    rf"(red|green|blue|yellow|white|[rgbyw]|[1-5])(?:s|(?:(?<=[a-z])|s) cards?)?(?: to {_PARTNER})?",
    re.ASCII,
)
_GIVE = re.compile(r"(?:give (?:a )?)?(red|green|blue|yellow|white) (?:clue|hint)", re.ASCII)


@functools.lru_cache(maxsize=128)
def own_card(what: str, i: int) -> Move:
    """To play or discard an own card."""
    return Move(f"{what} {i + 1}", i)


@functools.lru_cache(maxsize=64)
def clue(sign: str) -> Move:
    """To tell the partner a colour or a rank."""
    return Move(f"clue {NAMES.get(sign, sign)}", sign)


def read(text: str) -> Move | None:
    """The move that a short text in small letters names, or None.

    Example:
        >>> read("play my third card").key, read("tell the partner about red").key, read("clue one card")
        ('play 3', 'clue red', None)
    """
    if found := _OWN.fullmatch(text):
        return own_card(found[1], int(found[2]) - 1 if found[2] else _PLACES.index(found[3]))
    found = _CLUE.fullmatch(counted(text)) or _GIVE.fullmatch(text)
    return clue(found[1][0].upper()) if found else None
