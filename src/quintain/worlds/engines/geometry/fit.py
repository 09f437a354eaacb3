"""Pieces of squares and half squares that are turned and placed, or taken back, until they fill a silhouette exactly."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from quintain.types import Ints, QuintainError
from quintain.worlds.cells import framed, name_of, names_of, read_cell, unframed
from quintain.worlds.engines.geometry.fit_look import NAMES, scene_of
from quintain.worlds.engines.geometry.pieces import (
    NODES,
    PARTS,
    SIGNS,
    Cells,
    Fit,
    Kit,
    Place,
    cells_of,
    cover,
    fits,
    mirrored,
    place_of,
    plan,
    rest_of,
    rows_of,
    turned,
)
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import Answer, Move, Plan, Unknown, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene
from quintain.worlds.splits import Draft

SAYINGS = {
    "full": "All pieces are in place.",
    "illegal": "It does not fit there so, or lies there already; take a piece back before you put it elsewhere. The turn is spent.",
}
QUICK = 2_000  # nodes of the search while an instance is chosen
WORDS = {15: "full", 9: "nw", 3: "ne", 6: "se", 12: "sw"}
TURN = (0, 90, 180, 270)
_RIGHT = "(?:clockwise|to the right)"
_TURNED = rf"(?:turned |turn |rotated )?(?:{_RIGHT} )?(?:by )?(0|90|180|270)(?:°| degrees)?(?: {_RIGHT})?"
_MOVE = re.compile(
    r"(?:put |place )?(?:the )?(?:piece |rectangle )?([a-l])[\s,:]+(?:(?:at|on|to|in) )?([a-z]\s?\d{1,2})"
    rf"(?:[\s,]+{_TURNED}|[\s,]+(?:not turned|unturned))?",
    re.ASCII,
)
_EARLY = re.compile(
    rf"[\s,]+{_TURNED}[\s,]+(?:(?:at|on|to|in) )?([a-z]\s?\d{{1,2}})$",
    re.ASCII,
)
_TAKE = re.compile(r"(?:take|remove)(?: back| out)? (?:the )?(?:piece )?([a-l])(?: back| out)?", re.ASCII)


@functools.lru_cache(maxsize=1 << 15)
def put(piece: int, place: Place) -> Move:
    """The move that puts a piece at a place."""
    x, y, spin = place
    return Move(f"{NAMES[piece]} {name_of(y, x)}{f' {TURN[spin]}' if spin else ''}", (piece, place))


@functools.lru_cache(maxsize=16)
def take(piece: int) -> Move:
    """The move that takes a piece back."""
    return Move(f"take {NAMES[piece]}", (piece, ()))


@functools.lru_cache(maxsize=1 << 11)
def _legal(kit: Kit, places: tuple[Ints, ...]) -> tuple[Move, ...]:
    off = [i for i, place in enumerate(places) if not place]
    puts = [put(i, place) for i, _, place in fits(kit, rest_of(kit, places), off)]
    return (*(take(i) for i, place in enumerate(places) if place), *puts)


@dataclass(frozen=True)
class FitGame:
    """Filling a silhouette as `turns.Game`.

    Args:
        make: draws a silhouette and the pieces that it was cut into, or None. Knobs: `pieces` and its own; `side` is the longest side
            of the board.
        spins: 4, or 2 where a half turn changes nothing.
        task: the first words of the caption, which names what is to be filled.
    """

    make: Callable[[Rng, Mapping[str, Any]], list[Cells] | None]
    spins: int
    task: str

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Fit] | None:
        parts = self.make(rng, knobs)
        if parts is None:
            return None
        goal: dict[tuple[int, int], int] = {}
        for x, y, part in itertools.chain(*parts):
            goal[x, y] = goal.get((x, y), 0) | part
        pieces = []
        for part in rng.sample(parts, len(parts)):
            cells = part
            for _ in range(rng.below(self.spins)):
                cells = turned(cells)
            pieces.append(rows_of(cells))
        kit = Kit(rows_of([(x, y, p) for (x, y), p in goal.items()]), tuple(pieces), self.spins, 3 * len(pieces) + 3)
        fit = Fit(kit, ((),) * len(pieces))
        return Draft(fit, lambda: fit if cover(kit, kit.bits, frozenset(range(len(pieces))), QUICK)[0] else None)

    def layout(self, state: Fit) -> str:
        """The silhouette and its pieces, however they are turned or mirrored."""
        return " ".join([_canonical(state.kit.goal), *sorted(map(_canonical, state.kit.pieces))])

    def turns(self, state: Fit) -> int:
        return state.kit.budget

    def mover(self, state: Fit) -> int:
        return -1 if all(state.places) else 0

    def legal(self, state: Fit) -> tuple[Move, ...]:
        return () if all(state.places) else _legal(state.kit, state.places)

    def guess(self, state: Fit, rng: Rng) -> Move:
        return take(0)

    def read(self, text: str) -> Move | None:
        found = _TAKE.fullmatch(text)
        if found:
            return take(NAMES.lower().index(found[1]))
        found = _MOVE.fullmatch(_EARLY.sub(r" \2 \1", text))
        cell = read_cell(found[2]) if found else None
        if not found or cell is None:
            return None
        return put(NAMES.lower().index(found[1]), (cell[1], cell[0], int(found[3] or 0) // 90))

    def play(self, state: Fit, move: Move) -> After[Fit]:
        piece, place = move.value
        if place:  # a turn that changes nothing is none
            *at, spin = place
            shapes = [state.kit.shapes[piece, i] for i in range(spin + 1)]
            place = (*at, shapes.index(shapes[spin]))
        after = Fit(state.kit, (*state.places[:piece], place, *state.places[piece + 1 :]))
        return After(after, (WON,), True, (("full",),)) if all(after.places) else After(after)

    def advise(self, state: Fit) -> Answer:
        found = plan(state.kit, state.places)
        if found is None:
            whole = cover(state.kit, state.kit.bits, frozenset(range(len(state.places))), NODES)
            return Unknown(whole[1]) if whole[1] > NODES else Unsolvable("the pieces do not fill it")
        return Plan((*map(take, found[0]), *(put(*one) for one in found[1])))

    def caption(self, state: Fit, side: int, level: int) -> str:
        kit, rest = state.kit, rest_rows(state)
        off = [i for i, place in enumerate(state.places) if not place]
        if level == 1:
            count = len(cells_of(kit.goal))
            return f"{self.task} of {count} cells; pieces left: {' '.join(NAMES[i] for i in off) or 'none'}."
        pieces = [f"{NAMES[i]}: {' / '.join(' '.join(row) for row in rows)}" for i, rows in enumerate(kit.pieces)]
        placed = [put(i, place_of(p)).key for i, p in enumerate(state.places) if p]
        return "\n".join(
            [
                f"{self.task}, what is still to be filled:",
                framed("".join(rest), kit.width),
                *pieces,
                f"Placed: {', '.join(placed) or 'none'}",
            ]
        )

    def rebuild(self, caption: str, side: int) -> Fit:
        """See `World.rebuild`."""
        head, *lines, last = caption.split("\n")
        cut = next((i for i, line in enumerate(lines) if ": " in line), 0)
        found = unframed(lines[:cut])
        if not head.startswith(self.task) or found is None:
            raise QuintainError(f"this is no full caption of pieces to place: {caption[:60]!r}")
        signs, width = found
        pieces = tuple([tuple([row.replace(" ", "") for row in line[3:].split(" / ")]) for line in lines[cut:]])
        places: list[Ints] = [()] * len(pieces)
        told = last.partition(": ")[2]
        goal = {(i % width, i // width): PARTS[sign] for i, sign in enumerate(signs)}
        for text in told.split(", ") if told != "none" else ():
            move = self.read(text.lower())
            if move is None:
                raise QuintainError(f"{text!r} in this caption places no piece")
            piece, place = move.value
            places[piece] = place
            cells = cells_of(pieces[piece])
            for _ in range(place[2]):
                cells = turned(cells)
            for x, y, part in cells:
                goal[x + place[0], y + place[1]] |= part
        rows = ["".join([SIGNS[goal[x, y]] for x in range(width)]) for y in range(len(signs) // width)]
        return Fit(Kit(tuple(rows), pieces, self.spins), tuple(places))

    def static(self, state: Fit, side: int) -> tuple[str, ...]:
        return _things(state.kit)

    def moving(self, state: Fit, side: int) -> tuple[str, ...]:
        return tuple([put(i, place_of(p)).key.replace(" ", "@") for i, p in enumerate(state.places) if p])

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        side, count = knobs["side"], knobs["pieces"]
        cells, spins = names_of(side, side), TURN[1 : self.spins]
        out = ["take", *NAMES[:count], *cells, *map(str, spins)]
        out += [f"{c}:{w}" for c in cells for w in WORDS.values()]
        out += [f"{n}:{x + 1}x{y + 1}" for n in NAMES[:count] for x in range(side) for y in range(side)]
        out += [
            f"{n}:{x},{y}:{w}" for n in NAMES[:count] for x in range(side) for y in range(side) for w in WORDS.values()
        ]
        return (*out, *(f"{n}@{c}{t}" for n in NAMES[:count] for c in cells for t in ("", *(f"@{s}" for s in spins))))

    def scene(self, state: Fit, side: int) -> Scene:
        return scene_of(state)


def rest_rows(state: Fit) -> tuple[str, ...]:
    """What is still to be filled, as rows of signs."""
    kit, rest = state.kit, rest_of(state.kit, state.places)
    wide = range(kit.width)
    return tuple(["".join([SIGNS[rest >> 4 * (y * kit.width + x) & 15] for x in wide]) for y in range(len(kit.goal))])


@functools.lru_cache(maxsize=256)
def _canonical(rows: tuple[str, ...]) -> str:
    images, cells = [], cells_of(rows)
    for _ in range(4):
        images += ["/".join(rows_of(cells)), "/".join(rows_of(mirrored(cells)))]
        cells = turned(cells)
    return min(images)


@functools.lru_cache(maxsize=256)
def _things(kit: Kit) -> tuple[str, ...]:
    out = [f"{name_of(y, x)}:{WORDS[part]}" for x, y, part in cells_of(kit.goal)]
    for name, rows in zip(NAMES, kit.pieces, strict=False):
        if set("".join(rows)) == {"#"}:
            out.append(f"{name}:{len(rows[0])}x{len(rows)}")
        else:
            out += [f"{name}:{x},{y}:{WORDS[part]}" for x, y, part in cells_of(rows)]
    return tuple(out)
