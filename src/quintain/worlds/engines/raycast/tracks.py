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


def explained(frames: Sequence[Sight], every: int, signs: str) -> str:
    """From frame to frame where moves that show them lead, and which cell any others would make floor and wall alike."""
    film, known = _opened(frames, every)
    out = list[str]()
    for i, frame in enumerate(frames[1:], 1):
        right, before, wrong, late = signs[(i - 1) * every : i * every], known, dict[str, int](), list[str]()
        for moves in map("".join, itertools.product("flr", repeat=every)):
            after = _seen(film, functools.reduce(functools.partial(_stepped, film), moves, before), frame)
            if moves == right:
                known = after
            elif torn := after.floor & after.walls:
                wrong[moves] = torn
            else:
                late.append(f"{moves} shows no frame {_last(film, after, i) + 2}")
        free = sum([o == 0 for _, o in frame.open]) - 1
        where = f"{_place(film, known.at)} {('up', 'right', 'down', 'left')[known.heading]}"
        shut = "; ".join([*_torn(film, wrong), *late])
        out.append(f"{i + 1}. {free} ahead: {' '.join(right)} to {where}, not {shut}.")
    head = "Frame 1 is at (0,0) of a map, looking up. Other moves make the cell told both floor and wall; ahead are free cells."
    return f"{head} {' '.join(out)} All: {' '.join(signs)}."


def _place(film: Film, cell: int) -> str:
    return f"({cell % film.wide - film.wide // 2},{film.wide // 2 - cell // film.wide})"


def _torn(film: Film, wrong: dict[str, int]) -> Iterator[str]:
    """Lists of moves by a cell that they have in common, for each of which cells are told."""
    while wrong:
        common, group = -1, list[str]()
        for moves, cells in wrong.items():
            if common & cells:
                common &= cells
                group.append(moves)
        wrong = {moves: cells for moves, cells in wrong.items() if moves not in group}
        yield f"{' '.join(group)} by {_place(film, (common & -common).bit_length() - 1)}"


def _last(film: Film, known: Known, frame: int) -> int:
    """The last frame that some moves from here show, if this one has just been seen."""
    wave, every = [known], film.every
    while wave and frame + 1 < len(film.frames):
        ahead = wave
        for count in range(frame * every + 1, (frame + 1) * every + 1):
            ahead = [after for k in ahead for sign in "flr" if (after := _after(film, k, sign, count))]
        wave, frame = ahead, frame + bool(ahead)
    return frame


def _opened(frames: Sequence[Sight], every: int) -> tuple[Film, Known]:
    """The frames, and what the first one tells, in the middle of the plane."""
    reach = (len(frames) - 1) * every + RIM
    film = Film(frames, every, 2 * reach + 1)
    return film, _seen(film, Known(reach * film.wide + reach, 0, 0, 0), frames[0])


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
    after = _stepped(film, known, sign)
    if count % film.every == 0:
        after = _seen(film, after, film.frames[count // film.every])
    return None if after.floor & after.walls else after


def _stepped(film: Film, known: Known, sign: str) -> Known:
    """What a move tells, be it possible or not."""
    at, heading, floor, walls = known
    if sign == "f":
        at += (-film.wide, 1, film.wide, -1)[heading]
        return Known(at, heading, floor | 1 << at, walls)
    return Known(at, (heading + (1 if sign == "r" else 3)) % 4, floor, walls)


def _seen(film: Film, known: Known, frame: Sight) -> Known:
    """What a frame tells from here; cells that are floor and wall then show that it is seen from elsewhere."""
    at, heading, floor, walls = known
    open_, solid, first = _stamp(frame, heading, film.wide)
    return Known(at, heading, floor | open_ << at + first, walls | solid << at + first)


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
