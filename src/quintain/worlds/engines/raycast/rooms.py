"""Rooms and flats of first-person worlds, and what stands in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quintain.worlds.engines.grid.board import FLOOR, WALL
from quintain.worlds.engines.raycast.floor import Floor, Place, Stand
from quintain.worlds.engines.raycast.rules import BESIDE, CHOOSE, COLLECT, REACH, SURVIVE
from quintain.worlds.engines.raycast.things import HEART, SIGN
from quintain.worlds.noise import Rng

Knobs = Mapping[str, Any]


def _room(rng: Rng, knobs: Knobs) -> Floor:
    """A room of about `size` cells a side with `pillars` pillars of one cell."""
    width, height = knobs["size"], knobs["size"] - rng.below(2)
    cells = [FLOOR] * (width * height)
    for cell in rng.sample(range(len(cells)), knobs["pillars"]):
        cells[cell] = WALL
    return Floor(width, height, "".join(cells))


def _spots(rng: Rng, floor: Floor, count: int) -> list[int]:
    """So many different cells of the floor."""
    return rng.sample([c for c, sign in enumerate(floor.cells) if sign == FLOOR], count)


def _kinds(rng: Rng, knobs: Knobs) -> list[int]:
    """The wanted kind, and kinds of `others` other things, all different."""
    return rng.sample(range(knobs["kinds"]), knobs["others"] + 1)


def room(rng: Rng, knobs: Knobs) -> Stand | None:
    """One wanted thing among others in a room."""
    return _stand(rng, REACH, _room(rng, knobs), _kinds(rng, knobs))


def _stand(rng: Rng, task: str, floor: Floor, kinds: Sequence[int], **rest: Any) -> Stand:
    """The seat and the things anywhere; the first kind is the wanted one."""
    at, *where = _spots(rng, floor, len(kinds) + 1)
    return Stand(Place(task, floor, tuple(kinds), kinds[0], **rest), at, rng.below(4), tuple(where))


def flat(rng: Rng, knobs: Knobs) -> Stand | None:
    """A row of `rooms` rooms with a doorway between each two; the wanted thing is in another room than the seat."""
    tall = knobs["size"] - rng.below(2)
    wide = [knobs["size"] - rng.below(2) for _ in range(knobs["rooms"])]
    doors = [rng.below(tall) for _ in wide[1:]]
    rows = []
    for y in range(tall):
        row = FLOOR * wide[0]
        for width, door in zip(wide[1:], doors, strict=True):
            row += (FLOOR if y == door else WALL) + FLOOR * width
        rows.append(row)
    floor = Floor(len(rows[0]), tall, "".join(rows))
    state = _stand(rng, REACH, floor, _kinds(rng, knobs))
    one, two = (_number(c % floor.width, wide) for c in (state.at, state.where[0]))
    blocked = {y * floor.width + sum(wide[: i + 1]) + i for i, y in enumerate(doors)}
    return None if one == two or blocked & set(state.where) else state


def _number(x: int, wide: Sequence[int]) -> int:
    """The room in column `x`."""
    for i, width in enumerate(wide):
        if x <= width:
            return i
        x -= width + 1
    return len(wide)


def signpost(rng: Rng, knobs: Knobs) -> Stand | None:
    """A room with a sign that shows one of the things in it; any other ends the episode."""
    kinds = _kinds(rng, knobs)
    return _stand(rng, CHOOSE, _room(rng, knobs), (*kinds, SIGN + 1 + kinds[0]), shown=False)


def fetch(rng: Rng, knobs: Knobs) -> Stand | None:
    """`count` things of the wanted kind among others."""
    kinds = _kinds(rng, knobs)
    return _stand(rng, COLLECT, _room(rng, knobs), [kinds[0]] * (knobs["count"] - 1) + kinds)


def pair(rng: Rng, knobs: Knobs) -> Stand | None:
    """Two things to be brought side by side among others; there is none of them at first."""
    kinds = _kinds(rng, knobs)
    return _stand(rng, BESIDE, _room(rng, knobs), kinds, other=kinds[1])


def hearts(rng: Rng, knobs: Knobs) -> Stand | None:
    """A room with hearts; health lasts for a part of the `turns` only."""
    floor = _room(rng, knobs)
    at, *where = _spots(rng, floor, knobs["hearts"] + 1)
    place = Place(SURVIVE, floor, (HEART,) * knobs["hearts"], gain=knobs["gain"])
    return Stand(place, at, rng.below(4), tuple(where), health=knobs["health"], clock=knobs["turns"])
