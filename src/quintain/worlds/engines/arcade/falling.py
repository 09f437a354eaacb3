"""Things that fall: each in its column, at its speed, from the turn on which it enters at the top to that on which it lands.

A thing is (column, turn of entry, cells per turn, kind); at turn n it is in row speed * (n - entry). It lands in the turn
in which it reaches or passes the last row, and is gone then.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from quintain.worlds.engines.arcade.loop import BLANK, Ints, Look, Stage
from quintain.worlds.noise import Rng

SIGNS = ("123", "abc")  # of the kinds 0 and 1, by speed


def lands(thing: Ints, height: int) -> int:
    """The turn in which a thing lands.

    Example:
        >>> lands((0, 0, 1, 0), 5), lands((0, 0, 2, 0), 5), lands((0, 1, 3, 0), 5)
        (3, 1, 2)
    """
    return thing[1] - 1 - (1 - height) // thing[2]


@functools.lru_cache(maxsize=1024)
def landings(things: tuple[Ints, ...], height: int) -> Mapping[int, tuple[int, int]]:
    """Turn -> the columns in which things of kind 0 and of kind 1 land, as bits."""
    out: dict[int, tuple[int, int]] = {}
    for thing in things:
        turn = lands(thing, height)
        none, one = out.get(turn, (0, 0))
        bit = 1 << thing[0]
        out[turn] = (none, one | bit) if thing[3] else (none | bit, one)
    return out


def shower(rng: Rng, knobs: Mapping[str, Any], turns: int) -> tuple[Ints, ...]:
    """Things for so many turns that never share a cell, at most one per column and landing.

    Knobs: `width`, `height`, `speed` (the highest), `dense` (things per 100 columns and turns), `stars` (of 100 things).
    """
    width, height = knobs["width"], knobs["height"]
    taken: set[Ints] = set()
    out: list[Ints] = []
    for turn in range(2 - height, turns):
        for column in range(width):
            if rng.below(100) >= knobs["dense"]:
                continue
            thing = (column, turn, 1 + rng.below(knobs["speed"]), int(rng.below(100) < knobs["stars"]))
            last = lands(thing, height)
            cells = {(column, n, thing[2] * (n - turn)) for n in range(turn, last + 1)} | {(column, last, height)}
            if last >= 1 and not cells & taken:
                taken |= cells
                out.append(thing)
    return tuple(out)


def falling(stage: Stage, turn: int, ground: str) -> str:
    """The board at a turn: things over `ground`, which holds a sign per cell."""
    out, width, bottom = [*ground], stage.width, stage.height - 1
    for column, entry, speed, kind in stage.data:
        row = speed * (turn - entry)
        if 0 <= row < bottom:
            out[row * width + column] = SIGNS[kind][speed - 1]
    return "".join(out)


def seen(look: Look) -> tuple[Ints, ...]:
    """The things that are to be seen, as they are at turn 0."""
    out = []
    for i, sign in enumerate(look.signs):
        kind = next((k for k, signs in enumerate(SIGNS) if sign in signs), -1)
        if kind >= 0:
            speed = SIGNS[kind].index(sign) + 1
            row, column = divmod(i, look.width)
            out.append((column, -(row // speed), speed, kind))
    return tuple(out)


def empty(width: int, height: int) -> str:
    """A board without a sign."""
    return BLANK * (width * height)
