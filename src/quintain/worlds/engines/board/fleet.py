"""Battleship: a hidden fleet is to be found with few shots."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from quintain.types import Ints, QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.cells import framed, labelled, name_of, names_of, read_cell, unframed
from quintain.worlds.engines.turns import WON, After, digit_words, digits
from quintain.worlds.kernel import Answer, GenerationError, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Polygon, Run, Scene, Shape
from quintain.worlds.splits import canonical

SAYINGS = {
    "miss": "Water.",
    "hit": "A hit.",
    "sunk": "A hit: a ship of {} cells is sunk.",
    "won": "The whole fleet is sunk.",
    "lost": "No shots are left.",
}
HITS = 0.2  # what the hits on all cells but none would earn short of success
SPARE = 2  # refused shots that a turn budget allows
SURER = 50  # how much likelier a place is with each hit that it explains
_SHOT = re.compile(r"(?:i\s+)?(?:shoot|shot|fire|target|attack|aim|hit|guess)[\s:]+(?:at\s+)?", re.IGNORECASE)
_HEAD = re.compile(r"(\d+) shots? left\. Afloat: (none|(?:\d+ ?)*)\.")


def _cross(color: str) -> tuple[Shape, ...]:
    ends = (((0.3, 0.3), (0.7, 0.7)), ((0.3, 0.7), (0.7, 0.3)))
    return tuple([Polygon(points=line, line=color, thick=0.1, closed=False) for line in ends])


_SEA = (Box(x=0, y=0, width=1, height=1, fill="frost", line="ice", thick=0.04),)
_HULL = Box(x=0.06, y=0.06, width=0.88, height=0.88, fill="slate", line="ink", radius=0.16)
ART = {".": "fleet-sea", "o": "fleet-miss", "x": "fleet-hit", "#": "fleet-sunk"}
tiles(
    {
        "fleet-sea": _SEA,
        "fleet-miss": (*_SEA, Disc(x=0.5, y=0.5, radius=0.17, fill="white", line="blue", thick=0.06)),
        "fleet-hit": (*_SEA, Disc(x=0.5, y=0.5, radius=0.36, fill="brick", line="rust", thick=0.06), *_cross("white")),
        "fleet-sunk": (*_SEA, _HULL, *_cross("amber")),
    }
)


@dataclass(frozen=True, slots=True)
class Sea:
    """The state: the cells on a side, what is seen of each (`.` nothing, `o` water, `x` a hit, `#` sunk), the lengths of the ships
    afloat, the shots left, the turn budget, and the hidden cells of each ship.
    """

    size: int
    seen: str
    afloat: Ints
    left: int
    budget: int = 0
    ships: tuple[Ints, ...] = ()


@functools.lru_cache(maxsize=64)
def places(size: int, length: int) -> tuple[tuple[Ints, int, int], ...]:
    """Where a ship may lie: its cells, the same as bits, and the bits of the cells around it."""
    out = []
    for down in (0, 1) if length > 1 else (0,):
        for row in range(size - down * (length - 1)):
            for column in range(size - (1 - down) * (length - 1)):
                cells = tuple([(row + down * i) * size + column + (1 - down) * i for i in range(length)])
                bits = sum([1 << c for c in cells])
                halo = {(c // size + a, c % size + b) for c in cells for a in (-1, 0, 1) for b in (-1, 0, 1)}
                wide = sum([1 << r * size + c for r, c in halo if 0 <= r < size and 0 <= c < size])
                out.append((cells, bits, wide & ~bits))
    return tuple(out)


@functools.lru_cache(maxsize=1 << 13)
def chances(seen: str, size: int, afloat: Ints) -> tuple[float, ...]:
    """How likely a ship afloat lies on each cell that was not shot at, by counting the places that are still possible."""
    hits = sum([1 << i for i, sign in enumerate(seen) if sign == "x"])
    shut = sum([1 << i for i, sign in enumerate(seen) if sign in "o#"])
    sunk = [i for i, sign in enumerate(seen) if sign == "#"]
    for cell in sunk:
        shut |= places(size, 1)[cell][2]
    must = hits if len(afloat) == 1 else 0  # the last ship explains all hits
    weights = [0.0] * (size * size)
    for length in afloat:
        for cells, bits, halo in places(size, length):
            if not bits & shut and not halo & hits and bits & ~hits and not must & ~bits:
                weight = float(SURER ** (bits & hits).bit_count())
                for cell in cells:
                    weights[cell] += weight
    return tuple([w if sign == "." else 0.0 for w, sign in zip(weights, seen, strict=True)])


def fleet(rng: Rng, size: int, lengths: Ints) -> tuple[Ints, ...] | None:
    """Ships on random cells that do not touch each other, or None where they found no room."""
    ships, shut = [], 0
    for length in lengths:
        free = [place for place in places(size, length) if not place[1] & shut]
        if not free:
            return None
        cells, bits, halo = rng.pick(free)
        ships.append(cells)
        shut |= bits | halo
    return tuple(ships)


@dataclass(frozen=True)
class FleetGame:
    """Battleship as `turns.Game`. Knobs: `size`, the lengths of the `ships`, longest first, and `shots`."""

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Sea | None:
        size, lengths, shots = knobs["size"], tuple(knobs["ships"]), knobs["shots"]
        if shots < sum(lengths):
            raise GenerationError(f"{shots} shots cannot hit the {sum(lengths)} cells of the ships {lengths}")
        ships = fleet(rng, size, lengths)
        return None if ships is None else Sea(size, "." * size**2, lengths, shots, shots + SPARE, ships)

    def layout(self, state: Sea) -> str:
        taken = {cell for ship in state.ships for cell in ship}
        return canonical(["x" if i in taken else "." for i in range(state.size**2)], state.size, state.size)

    def turns(self, state: Sea) -> int:
        return state.budget

    def mover(self, state: Sea) -> int:
        return 0 if state.left and state.afloat else -1

    def legal(self, state: Sea) -> tuple[Move, ...]:
        names = names_of(state.size, state.size)
        free = [name for name, sign in zip(names, state.seen, strict=True) if sign == "."]
        return tuple([_move(name) for name in free]) if not self.mover(state) else ()

    def guess(self, state: Sea, rng: Rng) -> Move:
        return _move(rng.pick(names_of(state.size, state.size)))

    def read(self, text: str) -> Move | None:
        at = read_cell(_SHOT.sub("", text))
        return _move(name_of(*at)) if at else None

    def play(self, state: Sea, move: Move) -> After[Sea]:
        cell = names_of(state.size, state.size).index(move.key)
        seen, afloat, said = list(state.seen), list(state.afloat), "miss"
        seen[cell] = "o"
        for ship in state.ships:
            if cell in ship:
                seen[cell], said = "x", "hit"
                if all(seen[c] == "x" for c in ship):
                    for c in ship:
                        seen[c] = "#"
                    afloat.remove(len(ship))
                    said = f"sunk:{len(ship)}"
        after = replace(state, seen="".join(seen), afloat=tuple(afloat), left=state.left - 1)
        if not afloat:
            return After(after, (WON,), True, ((said, "won"),))
        if after.left:
            return After(after, events=((said,),))
        total = sum([len(ship) for ship in state.ships])
        share = (seen.count("x") + seen.count("#")) / total if total else 0.0
        return After(after, ({"hits": HITS * share},) if share else (), True, ((said, "lost"),))

    def advise(self, state: Sea) -> Answer:
        known = chances(state.seen, state.size, state.afloat)
        best = max(known)
        if best <= 0:
            return Unsolvable("no ship can be anywhere")
        names = names_of(state.size, state.size)
        first = tuple([_move(name) for name, c in zip(names, known, strict=True) if c >= best * (1 - 1e-9)])
        rest = sum(state.afloat) - state.seen.count("x")
        return Plan(first[:1], "policy", first, 1.0 if state.left >= rest else HITS)

    def caption(self, state: Sea, side: int, level: int) -> str:
        head = f"{state.left} shot{'s' * (state.left != 1)} left. Afloat: {' '.join(map(str, state.afloat)) or 'none'}."
        if level == 2:
            return f"{head}\n{framed(state.seen, state.size)}"
        names = names_of(state.size, state.size)
        told = [
            f"{word}: {' '.join([n for n, s in zip(names, state.seen, strict=True) if s == sign]) or 'none'}."
            for word, sign in (("Water", "o"), ("Hits", "x"), ("Sunk", "#"))
        ]
        return " ".join([head, f"The sea is {state.size} by {state.size}.", *told])

    def rebuild(self, caption: str, side: int) -> Sea:
        head, *lines = caption.split("\n")
        told, board = _HEAD.fullmatch(head), unframed(lines)
        if not told or not board or set(board[0]) - set(ART):
            raise QuintainError(f"this is no full caption of a sea: {caption[:60]!r}")
        return Sea(board[1], board[0], tuple([int(n) for n in told[2].split() if n.isdigit()]), int(told[1]))

    def scene(self, state: Sea, side: int) -> Scene:
        scene = labelled([ART[sign] for sign in state.seen], state.size)
        afloat = " ".join(map(str, state.afloat)) or "none"
        middle, size = scene.width / 2, 0.055 * scene.width
        shown = (
            Run(text=f"shots {state.left}", x=scene.width * 0.27, y=scene.height + 0.45, size=size, color="brick"),
            Run(text=f"afloat {afloat}", x=middle * 1.4, y=scene.height + 0.45, size=size),
        )
        return replace(scene, height=scene.height + 0.9, shapes=shown)

    def static(self, state: Sea, side: int) -> tuple[str, ...]:
        return (f"size{state.size}",)

    def moving(self, state: Sea, side: int) -> tuple[str, ...]:
        names = names_of(state.size, state.size)
        told = [sign + name for sign, name in zip(state.seen, names, strict=True) if sign != "."]
        return (*digits("left", state.left), *[f"afloat{i}:{n}" for i, n in enumerate(state.afloat)], *told)

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        names, lengths = names_of(knobs["size"], knobs["size"]), sorted(set(knobs["ships"]))
        afloat = [f"afloat{i}:{n}" for i in range(len(knobs["ships"])) for n in lengths]
        told = [sign + name for sign in "ox#" for name in names]
        return (*names, f"size{knobs['size']}", *digit_words("left", 2), *afloat, *told)


@functools.lru_cache(maxsize=1024)
def _move(name: str) -> Move:
    return Move(name)
