"""What a first-person state looks like: captions, the way back from a caption, words and the picture."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import cast

from quintain.types import QuintainError
from quintain.worlds.engines.grid.board import FLOOR, WALL
from quintain.worlds.engines.raycast.fan import BACK, CELLS, DEPTH
from quintain.worlds.engines.raycast.floor import EDGE, HELD, Cell, Floor, Place, Stand, placed
from quintain.worlds.engines.raycast.things import SIGN, kind_of, named, tile_of, word
from quintain.worlds.engines.raycast.walls import BAR, FOOT, GROUND, SIDE, across, down
from quintain.worlds.engines.turns import digits
from quintain.worlds.scene import Disc, Run, Scene, Shape, Sprite

READ = 3  # cells from which a sign can be read
SIZE = 0.6  # of a thing, in cells
HIDES = 0.3  # how much of a thing, from its middle on, must be behind a nearer one
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@functools.lru_cache(maxsize=1024)
def behind(cell: Cell) -> frozenset[Cell]:
    """The cells farther ahead whose things a thing in `cell` hides, all of them but a rim.

    Example:
        >>> sorted(behind((2, 0)))[:2], (3, 1) in behind((2, 0))
        ([(3, 0), (4, 0)], False)
    """
    z = cell[0] + BACK
    middle, half = cell[1] / z, SIZE / 2 / z
    return frozenset(
        (d, o) for d, o in CELLS if d > cell[0] and abs(o / (d + BACK) - middle) + HIDES * SIZE / 2 / (d + BACK) <= half
    )


@functools.lru_cache(maxsize=4096)
def _behind_all(cells: tuple[Cell, ...]) -> frozenset[Cell]:
    out: frozenset[Cell] = frozenset()
    for cell in sorted(cells):  # near to far: what is hidden itself hides nothing, or the picture would not tell all
        if cell not in out:
            out |= behind(cell)
    return out


def hidden(place: Place, where: Sequence[int], at: int, heading: int) -> frozenset[Cell]:
    """The cells that things in sight hide from a seat, whatever lies there."""
    middles = place.floor.sight(at, heading).middles
    return _behind_all(tuple([middles[cell] for cell in where if cell in middles and cell != at]))


def in_sight(state: Stand) -> list[tuple[Cell, int]]:
    """Relative cell and kind of the things in sight, left to right in rows, near to far; a far sign has no face."""
    place, at = state.place, state.at
    middles = place.floor.sight(at, state.heading).middles
    near = [(middles[c], kind) for kind, c in zip(place.kinds, state.where, strict=True) if c in middles and c != at]
    out = _behind_all(tuple([cell for cell, _ in near])) if len(near) > 1 else ()
    return sorted([(c, SIGN if kind > SIGN and c[0] > READ else kind) for c, kind in near if c not in out])


def task_line(state: Stand) -> str:
    """What is told beside the view, as a sentence."""
    place = state.place
    if place.task == "survive":
        return f"Health: {state.health}. Turns to go: {state.clock}."
    if not place.shown:
        return "Find: not told."
    if place.other >= 0:
        held = HELD in state.where
        return f"Put: {named(place.wanted)} beside {named(place.other)}. You hold: {'it' if held else 'nothing'}."
    left = sum(kind == place.wanted and cell >= 0 for kind, cell in zip(place.kinds, state.where, strict=True))
    return (
        f"Collect: {named(place.wanted)}. Left: {left}." if place.task == "collect" else f"Find: {named(place.wanted)}."
    )


def here(state: Stand) -> int:
    """The kind of the thing in whose cell the seat stands, at the end of a search, or -1."""
    return state.place.kinds[state.where.index(state.at)] if state.at in state.where else -1


def full_caption(state: Stand) -> str:
    """The map of what is in sight, the things in it, and what is told."""
    sight = state.place.floor.sight(state.at, state.heading)
    signs, width = sight.told
    signs, names = signs.copy(), []
    deep = len(signs) // width - 1
    out = hidden(state.place, state.where, state.at, state.heading)
    for d, o in out.intersection(sight.middles.values()) if out else ():
        signs[(deep - d) * width + o + width // 2] = EDGE
    for letter, ((d, o), kind) in zip(LETTERS, in_sight(state), strict=False):
        signs[(deep - d) * width + o + width // 2] = letter
        names.append(f"{letter}: {named(kind)}")
    names += [f"^: {named(here(state))}"] * (here(state) >= 0)
    rows = [" ".join(signs[i : i + width]) for i in range(0, len(signs), width)]
    return "\n".join([*rows, *names, task_line(state)])


def brief_caption(state: Stand) -> str:
    """How far the way ahead is free, the things in sight, and what is told."""
    free = frozenset(state.place.floor.sight(state.at, state.heading).open)
    steps = next((d - 1 for d in range(1, DEPTH + 1) if (d, 0) not in free), DEPTH)
    lines = [
        f"The wall ahead is {steps + 1} step{'s' if steps else ''} away."
        if steps < DEPTH
        else "No wall is in sight ahead."
    ]
    lines += [f"In sight: {named(kind)}, {_told(cell)}." for cell, kind in in_sight(state)]
    lines += [f"You stand at: {named(here(state))}."] * (here(state) >= 0)
    return "\n".join([*lines, task_line(state)])


def _told(cell: Cell) -> str:
    d, o = cell
    side = f", {abs(o)} to the {'left' if o < 0 else 'right'}" if o else ""
    return f"{d} ahead{side}"


_TASKS = re.compile(
    r"Health: (?P<health>-?\d+)\. Turns to go: (?P<clock>\d+)\.|Find: (?P<hidden>not told)\.|Find: (?P<find>[a-z ]+)\.|"
    r"Collect: (?P<all>[a-z ]+)\. Left: (?P<left>\d+)\.|Put: (?P<put>[a-z ]+) beside (?P<by>[a-z ]+)\. You hold: (?P<held>it|nothing)\."
)


def parse_caption(caption: str, task: str) -> Stand:
    """A state with the given full caption: a board of what is in sight, with wall wherever nothing is."""
    *lines, last = caption.split("\n")
    told = _TASKS.fullmatch(last)
    named_at = next((i for i, line in enumerate(lines) if ": " in line), len(lines))
    rows = [line.split(" ") for line in lines[:named_at]]
    if not told or not rows or len({len(row) for row in rows}) != 1 or rows[-1][len(rows[0]) // 2] != "^":
        raise QuintainError(f"this is no full caption of a first-person view: {caption[:60]!r}")
    width, flat = len(rows[0]), [sign for row in rows for sign in row]
    names = dict(line.split(": ") for line in lines[named_at:])
    kinds = [kind_of(name) for name in names.values()]
    where = [flat.index(letter) for letter in names]
    cells = "".join(WALL if sign in "#?" else FLOOR for sign in flat)
    found = told.groupdict()
    wanted = kind_of(found["find"] or found["all"] or found["put"]) if not (found["health"] or found["hidden"]) else -1
    if found["left"]:
        extra = int(found["left"]) - kinds.count(wanted)
        kinds, where = kinds + [wanted] * extra, where + [len(cells)] * extra  # somewhere out of sight
    if found["held"] == "it":
        kinds, where = [*kinds, wanted], [*where, HELD]
    place = Place(
        task,
        Floor(width, len(rows), cells),
        tuple(kinds),
        wanted,
        not found["hidden"],
        kind_of(found["by"]) if found["by"] else -1,
    )
    at = (len(rows) - 1) * width + width // 2
    return Stand(place, at, 0, tuple(where), health=int(found["health"] or 0), clock=int(found["clock"] or 0))


def fixed_words(state: Stand) -> tuple[str, ...]:
    """What is told for the whole episode."""
    place = state.place
    if not place.shown or place.wanted < 0:
        return ()
    return (f"find:{word(place.wanted)}", *((f"by:{word(place.other)}",) if place.other >= 0 else ()))


def moving_words(state: Stand) -> tuple[str, ...]:
    """The floor and the things in sight."""
    out = hidden(state.place, state.where, state.at, state.heading)
    floor = state.place.floor.sight(state.at, state.heading).told_words(out)
    things = [((0, 0), here(state))] * (here(state) >= 0) + in_sight(state)
    return (*floor, *[placed(word(kind), cell) for cell, kind in things], *_told_words(state))


def _told_words(state: Stand) -> tuple[str, ...]:
    if state.place.task == "survive":
        return (*digits("health", state.health), *digits("clock", state.clock))
    if state.place.other >= 0:
        return ("held",) if HELD in state.where else ()
    return ()


def lexicon(kinds: Sequence[int]) -> tuple[str, ...]:
    """Every word for floor and things of these kinds in sight."""
    return tuple(placed(sign, cell) for sign in (".", EDGE, *(word(k) for k in kinds)) for cell in CELLS)


def scene_of(state: Stand) -> Scene:
    """The view, and below it a bar with what is told."""
    sight = state.place.floor.sight(state.at, state.heading)
    things = in_sight(state)
    shapes: list[Shape] = [*GROUND]
    if not things:
        for _, faces in sight.drawn:
            shapes += faces
    else:
        parts = [*sight.drawn, *[(cell, _standing(cell, kind)) for cell, kind in things]]
        for _, part in sorted(parts, key=lambda p: (-p[0][0], -abs(p[0][1]))):
            shapes += part
    shapes += [*FOOT, *_bar(task_line(state))]
    if here(state) >= 0:
        shapes += [Run(text="here", x=5.6, y=BAR + 0.54, size=0.6)]
        shapes += [Sprite(tile=tile_of(here(state)), x=6.4, y=BAR + 0.1, size=0.85)]
    return Scene(width=SIDE, height=SIDE, shapes=tuple(shapes))


@functools.lru_cache(maxsize=1024)
def _standing(cell: Cell, kind: int) -> tuple[Shape, ...]:
    d, o = cell
    z = d + BACK
    size = SIZE * SIDE / 2 / z
    x, y = across(o, z) - size / 2, down(0.5, z) - size
    post = Sprite(tile=tile_of(kind), x=x, y=y, size=size)
    if kind <= SIGN:
        return (post,)
    return (post, Sprite(tile=tile_of(kind - SIGN - 1), x=x + 0.23 * size, y=y + 0.05 * size, size=0.54 * size))


@functools.lru_cache(maxsize=256)
def _bar(told: str) -> tuple[Shape, ...]:
    """The bar: a word and the thing that is asked for, from the line that tells it."""
    found, y = cast(re.Match[str], _TASKS.fullmatch(told)).groupdict(), BAR + 0.54
    if found["health"]:
        texts = ((f"health {found['health']}", 2.0), (f"to go {found['clock']}", 6.0))
        return tuple(Run(text=text, x=x, y=y, size=0.6) for text, x in texts)
    if found["hidden"]:
        return (Run(text="find ?", x=4.0, y=y, size=0.6),)
    icon = Sprite(tile=tile_of(kind_of(found["find"] or found["all"] or found["put"])), x=2.6, y=BAR + 0.1, size=0.85)
    if found["put"]:
        other = Sprite(tile=tile_of(kind_of(found["by"])), x=6.2, y=BAR + 0.1, size=0.85)
        texts = (("put", 1.6), ("beside", 4.8))
        ring = (Disc(x=3.02, y=BAR + 0.54, radius=0.44, line="brick", thick=0.06),) if found["held"] == "it" else ()
        return (*[Run(text=text, x=x, y=y, size=0.55) for text, x in texts], icon, other, *ring)
    said = [("find", 1.6), *([(f"{found['left']} left", 5.5)] if found["left"] else [])]
    return (*[Run(text=text, x=x, y=y, size=0.6) for text, x in said], icon)
