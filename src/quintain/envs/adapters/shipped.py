"""The names of the shipped worlds, read from the text of their declarations: importing all of them takes seconds."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import quintain.worlds

WORLD = re.compile(r'^@register\("world", "(\w+)"', re.MULTILINE)
SEATED = re.compile(r"\bseats=|two seats")  # what the declaration of a world of several seats has and no other


@functools.cache
def shipped(seated: bool = True) -> tuple[str, ...]:
    """The shipped worlds, sorted; without those of several seats unless `seated`.

    Example:
        >>> "NimDuel" in shipped(), "NimDuel" in shipped(seated=False), "KeyDoor" in shipped(seated=False)
        (True, False, True)
    """
    found: list[str] = []
    for path in (Path(quintain.worlds.__file__).parent / "suite").rglob("*.py"):
        parts = WORLD.split(path.read_text())
        found += [name for name, text in zip(parts[1::2], parts[2::2]) if seated or not SEATED.search(text)]
    return tuple(sorted(found))
