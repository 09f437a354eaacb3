"""A figure as words: what is drawn, one line of words per thing, and the answer once it is given.

Captions, words of a lexicon, rebuilding and splits of all such worlds follow from this one form.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from quintain.types import QuintainError

Words = tuple[str, ...]
Things = tuple[Words, ...]
Spot = tuple[int, int]

SAID = "answer"
LETTERS: Words = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_POINT = re.compile(r"\((\d+),(\d+)\)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Figure:
    """The state of a question: `things` are drawn, the first word of each says what it is; `said` is the answer given."""

    things: Things
    said: Words = ()


@functools.lru_cache(maxsize=8192)
def spot(word: str) -> Spot:
    """The lattice point that a word names.

    Example:
        >>> spot("(3,12)")
        (3, 12)
    """
    x, y = word[1:-1].split(",")
    return int(x), int(y)


@functools.lru_cache(maxsize=8192)
def word(x: int, y: int) -> str:
    """The word for a lattice point.

    Example:
        >>> word(3, 12)
        '(3,12)'
    """
    return f"({x},{y})"


def grid_words(side: int) -> Words:
    """The words of all lattice points with coordinates 0 to `side`."""
    return tuple(word(x, y) for x in range(side + 1) for y in range(side + 1))


def number_words(last: int, first: int = 0) -> Words:
    """The words of the integers from `first` to `last`."""
    return tuple(str(n) for n in range(first, last + 1))


def named(things: Things, kind: str = "point") -> dict[str, Spot]:
    """Name -> lattice point of the things of one kind, which read `kind NAME (x,y)`."""
    return {t[1]: spot(t[2]) for t in things if t[0] == kind}


def of(things: Things, kind: str) -> list[Words]:
    """The words after the first of all things of one kind."""
    return [t[1:] for t in things if t[0] == kind]


@functools.lru_cache(maxsize=4096)
def full_text(things: Things) -> str:
    """All things, a line each."""
    return "\n".join([f"{' '.join(thing)}." for thing in things])


@functools.lru_cache(maxsize=4096)
def brief_text(things: Things) -> str:
    """How many things of each kind there are."""
    kinds = Counter(thing[0] for thing in things)
    return f"The figure has {', '.join(f'{kind} x{n}' if n > 1 else kind for kind, n in kinds.items())}."


def parse(caption: str) -> Figure:
    """The figure with the given full caption.

    Raises:
        QuintainError: this is no such caption.
    """
    lines = caption.split("\n")
    if not all(line.endswith(".") and line[:-1].split() for line in lines):
        raise QuintainError(f"this is no full caption of a figure: {caption[:60]!r}")
    things = [tuple(line[:-1].split()) for line in lines]
    said = things.pop()[1:] if things[-1][0] == SAID else ()
    return Figure(tuple(things), said)


def layout(things: Things, side: int) -> str:
    """The figure without names, the same for all turned and mirrored images within the square 0..`side`; least text of them.

    Example:
        >>> layout((("point", "A", "(0,1)"),), 4) == layout((("point", "B", "(3,0)"),), 4)
        True
    """
    rows = [[_POINT.fullmatch(w) or w for w in t if not (len(w) == 1 and w.isupper())] for t in things]
    flat = [[w if isinstance(w, str) else (int(w[1]), int(w[2])) for w in row] for row in rows]
    images = []
    for turn in range(8 if side else 1):
        image = []
        for row in flat:
            parts = []
            for w in row:
                if isinstance(w, str):
                    parts.append(w)
                else:
                    x, y = (w[1], w[0]) if turn & 4 else w
                    parts.append(f"{side - x if turn & 1 else x},{side - y if turn & 2 else y}")
            image.append(" ".join(parts))
        images.append("|".join(sorted(image)))
    return min(images)


def lettered(spots: Sequence[Spot], kind: str = "point") -> Things:
    """Things `kind NAME (x,y)`, named A, B, C and so on.

    Raises:
        ValueError: there are more than 26.

    Example:
        >>> lettered([(1, 2)])
        (('point', 'A', '(1,2)'),)
    """
    if len(spots) > len(LETTERS):
        raise ValueError(f"{len(spots)} things; there are {len(LETTERS)} names")
    return tuple((kind, name, word(*p)) for name, p in zip(LETTERS, spots, strict=False))
