"""With which moves given frames can have been seen, in whatever maze.

Nothing is known of the maze at first. A frame says of the cells in sight which are floor and which wall, and a move forward that there
is floor. Moves show the frames if none of this contradicts itself: then the maze with walls wherever nothing is known shows them.
What a seat sees depends on the cells in sight alone, so whoever knows nothing but the frames can rule out no more than that.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quintain.worlds.engines.raycast.floor import RIM, Sight


class Known(NamedTuple):
    """A place on a plane of cells, and the cells that are known to be floor and to be wall, as bits."""

    at: int
    heading: int
    floor: int
    walls: int


class Film(NamedTuple):
    """Frames, moves from each to the next, and how wide a plane has room for all that they can show."""

    frames: Sequence[Sight]
    every: int
    wide: int


def tracks(frames: Sequence[Sight], every: int, most: int) -> tuple[str, ...]:
    """The lists of moves, `every` from a frame to the next, that show the frames; at most so many.

    Example:
        >>> from quintain.worlds.engines.raycast.floor import Floor
        >>> bend = Floor(3, 3, "..." + ".##" + ".##")
        >>> tracks([bend.sight(*pose) for pose in ((6, 0), (3, 0), (0, 0), (0, 1))], 1, 2)
        ('ffr',)
    """
    film, known = _opened(frames, every)
    return tuple(itertools.islice(_ways(film, known, ""), most))


def shows(frames: Sequence[Sight], every: int, signs: str) -> bool:
    """Whether these moves show the frames."""
    film, begun = _opened(frames, every)
    known: Known | None = begun if len(signs) == (len(frames) - 1) * every else None
    for i, sign in enumerate(signs, 1):
        known = known and _after(film, known, sign, i)
    return known is not None


def _opened(frames: Sequence[Sight], every: int) -> tuple[Film, Known]:
    """The frames, and what the first one tells, in the middle of the plane."""
    reach = (len(frames) - 1) * every + RIM
    film = Film(frames, every, 2 * reach + 1)
    known = _stamped(film, Known(reach * film.wide + reach, 0, 0, 0), frames[0])
    assert known is not None, "no frame contradicts itself"
    return film, known


def _ways(film: Film, known: Known, signs: str) -> Iterator[str]:
    """The lists that begin with these moves, after which so much is known, and show the frames."""
    if len(signs) == (len(film.frames) - 1) * film.every:
        yield signs
        return
    for sign in "flr":
        after = _after(film, known, sign, len(signs) + 1)
        if after:
            yield from _ways(film, after, signs + sign)


def _after(film: Film, known: Known, sign: str, count: int) -> Known | None:
    """What is known after the move that is the `count`-th of its list; None if it contradicts what was."""
    at, heading, floor, walls = known
    if sign == "f":
        at += (-film.wide, 1, film.wide, -1)[heading]
        floor |= 1 << at
    else:
        heading = (heading + (1 if sign == "r" else 3)) % 4
    after = Known(at, heading, floor, walls)
    if count % film.every:
        return None if floor & walls else after
    return _stamped(film, after, film.frames[count // film.every])


def _stamped(film: Film, known: Known, frame: Sight) -> Known | None:
    """What is known once the frame is seen from here; None if it contradicts what was."""
    at, heading, floor, walls = known
    open_, solid, first = _stamp(frame, heading, film.wide)
    floor, walls = floor | open_ << at + first, walls | solid << at + first
    return None if floor & walls else Known(at, heading, floor, walls)


@functools.lru_cache(maxsize=2048)
def _stamp(frame: Sight, heading: int, wide: int) -> tuple[int, int, int]:
    """The floor and the walls of a frame for a seat that looks to `heading`, as bits, and how far from its cell they begin."""
    down, right = ((-1, 0), (0, 1), (1, 0), (0, -1))[heading]
    first = -RIM * wide - RIM
    open_, solid = (
        sum([1 << (down * d + right * o) * wide + right * d - down * o - first for d, o in cells])
        for cells in (frame.open, frame.walls)
    )
    return open_, solid, first
