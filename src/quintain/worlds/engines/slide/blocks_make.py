"""Blocks as sets of bits, their slides, and yards whose shortest plan is as long as wanted."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from quintain.worlds.engines.slide.pose import spread
from quintain.worlds.noise import Rng, spend

PLACES = 80  # tries to put a car down
BLOCKERS = 2  # cars across the way out
LOW = (1 << 80) - 1
WAVE = 100_000  # positions of blocks that are looked at; no level has a tenth of them
Node = tuple[int, ...]
Size = tuple[int, int]


class Yard(NamedTuple):
    """Blocks as sets of bits, cell (x, y) the bit (y + 1) * stride + x; those of one size are told apart only by name.

    `masks` has the kind of each block above the 80th bit: its width times 8 plus its height, and 64 more for the one to free.
    """

    width: int
    height: int
    names: str
    masks: Node

    @property
    def stride(self) -> int:
        """What one row adds to a bit."""
        return self.width + 1


def corner(mask: int, stride: int) -> tuple[int, int]:
    """(column, row) of the upper left cell of a block."""
    low = (mask & LOW & -mask).bit_length() - 1
    return low % stride, low // stride - 1


def size_of(mask: int) -> tuple[int, int]:
    """(width, height) of a block."""
    kind = mask >> 80 & 63
    return kind >> 3, kind & 7


def block(x: int, y: int, width: int, height: int, stride: int, main: bool = False) -> int:
    """A block with its upper left cell at (x, y)."""
    row = ((1 << width) - 1) << x
    kind = width * 8 + height + 64 * main
    return sum(row << (y + 1 + i) * stride for i in range(height)) | kind << 80


@functools.lru_cache(maxsize=64)
def rim(width: int, height: int) -> int:
    """The bits around the cells of a yard."""
    inside = sum(((1 << width) - 1) << (y + 1) * (width + 1) for y in range(height))
    return ((1 << (width + 1) * (height + 3)) - 1) ^ inside


def slides(masks: Node, yard: tuple[int, int], cars: bool) -> list[tuple[int, int]]:
    """(block, the block there) of each slide in a yard of so many columns and rows; `cars` keep to their lines."""
    stride, blocked = yard[0] + 1, rim(*yard)
    both, out = (1, stride), []
    for mask in masks:
        blocked |= mask
    blocked &= LOW
    for i, mask in enumerate(masks):
        here = mask & LOW
        kind, bad = mask ^ here, blocked ^ here
        for step in ((1,) if kind >> 84 & 1 else (stride,)) if cars else both:
            there = here >> step
            while not there & bad:
                out.append((i, there | kind))
                there >>= step
            there = here << step
            while not there & bad:
                out.append((i, there | kind))
                there <<= step
    return out


def near_of(yard: Size, cars: bool) -> Callable[[Node], list[Node]]:
    """The nodes one slide away. A node is a position without names: other blocks than cars change places if they are alike."""
    if cars:
        return lambda m: [(*m[:i], new, *m[i + 1 :]) for i, new in slides(m, yard, True)]
    return lambda m: [tuple(sorted((*m[:i], new, *m[i + 1 :]))) for i, new in slides(m, yard, False)]


def exit_of(yard: Size, at: int, cars: bool) -> int:
    """The block to free where it leaves: at the right end of row `at`, or in the lowest rows from column `at` on."""
    wide, high = yard
    return block(wide - 2, at, 2, 1, wide + 1, True) if cars else block(at, high - 2, 2, 2, wide + 1, True)


def _lengths(came: Mapping[Any, Any]) -> dict[Any, int]:
    """How far each node of a wave is from where it came from."""
    far: dict[Any, int] = {}
    for node, before in came.items():
        far[node] = 0 if before is None else far[before] + 1
    return far


class _Lane(dict[int, tuple[int, ...]]):
    """What may change on the line of one car, by what stands there: for each of its slides the bits that turn over.

    A position of cars is one number: the bits of all cells that are taken, and above them three bits for each car, which tell how
    far along its line it is.
    """

    def __init__(self, first: int, length: int, step: int, field: int) -> None:
        """For the car whose bits are `first` at the beginning of its line, which has room for it at `length` places."""
        super().__init__()
        self.cars = [first << step * i for i in range(length)]
        self.field = field
        self.seen = functools.reduce(int.__or__, self.cars) | 7 << field

    def __missing__(self, key: int) -> tuple[int, ...]:
        at = key >> self.field & 7
        here, out = self.cars[at], []
        for ways in (range(at - 1, -1, -1), range(at + 1, len(self.cars))):
            for to in ways:
                if self.cars[to] & ~here & key:
                    break
                out.append(self.cars[to] ^ here | (to ^ at) << self.field)
        self[key] = tuple(out)
        return self[key]


def parked(rng: Rng, knobs: Mapping[str, Any], row: int) -> tuple[Node, int] | None:
    """Cars at random, some of them across the way out; of all positions that they can reach one that is as far from the nearest
    end as wanted, and how far that is. None if there are too many or no such positions.
    """
    yard, nodes = (knobs["width"], knobs["height"]), knobs["nodes"]
    masks = _laid(rng, knobs, row)
    if not masks:
        return None
    start, lanes = _as_number(masks, yard)
    seen = [(lane.seen, lane) for lane in lanes]
    near = functools.cache(lambda at: [at ^ turned for line, lane in seen for turned in lane[at & line]])
    came, _, whole = spread([start], near, nodes)
    ends = [at for at in came if at >> lanes[0].field & 7 == yard[0] - 2] if whole else []
    far = _lengths(spread(ends, near, nodes)[0])
    fit = [at for at, moves in far.items() if knobs["low"] <= moves <= knobs["high"]]
    if not fit:
        return None
    at = rng.pick(fit)
    cars = [lane.cars[at >> lane.field & 7] for lane in lanes]
    return tuple([car | mask & ~LOW for car, mask in zip(cars, masks, strict=True)]), far[at]


def _as_number(masks: Node, yard: Size) -> tuple[int, list[_Lane]]:
    """A position of cars as a number, and their lanes."""
    start, lanes = 0, []
    for i, mask in enumerate(masks):
        (x, y), (wide, high) = corner(mask, yard[0] + 1), size_of(mask)
        at, room, step = (x, yard[0] - wide, 1) if wide > 1 else (y, yard[1] - high, yard[0] + 1)
        lanes.append(_Lane((mask & LOW) >> step * at, room + 1, step, 80 + 3 * i))
        start |= mask & LOW | at << 80 + 3 * i
    return start, lanes


def _laid(rng: Rng, knobs: Mapping[str, Any], row: int) -> Node:
    """The car to free at the left end of its row, and others anywhere; () if there was no room."""
    wide, high = knobs["width"], knobs["height"]
    masks, longs = [block(0, row, 2, 1, wide + 1, True)], (2, 2, 3) if wide > 4 else (2,)
    across = rng.sample(range(2, wide), BLOCKERS if wide > 4 else 1)
    blocked = rim(wide, high) | masks[0] & LOW
    for _ in range(PLACES):
        if len(masks) > knobs["cars"]:
            return tuple(masks)
        long = rng.pick(longs)
        w, h = (long, 1) if rng.below(2) and not across else (1, min(long, high // 2))
        x, y = (across.pop(), row - rng.below(h)) if across else (rng.below(wide - w + 1), rng.below(high - h + 1))
        new = block(x, y, w, h, wide + 1)
        if y >= 0 and not new & blocked and (w == 1 or y != row):
            masks.append(new)
            blocked |= new & LOW
    return ()


def packed(rng: Rng, knobs: Mapping[str, Any], column: int) -> tuple[Node, int] | None:
    """The large block and others, and how many moves the shortest plan has; any such position is as likely as any other."""
    flat, yard = rng.below(knobs["doubles"] + 1), (knobs["width"], knobs["height"])
    kinds = ((1, 1, knobs["singles"]), (2, 1, flat), (1, 2, knobs["doubles"] - flat))
    fit, whole = _far(yard, column, kinds, (knobs["low"], knobs["high"]))
    if not fit:
        spend(0 if whole else WAVE)  # also where the answer was known, so that errors depend on the knobs alone
        return None
    at, moves = rng.pick(fit)
    masks = [piece.mask for bit, piece in _pieces(yard).items() if at & bit]
    return tuple(masks), moves


class _Piece(dict[int, tuple[int, ...]]):
    """Where a block at one place can slide, by what lies on the cells that it passes: the bits that turn over with each slide.

    A position of such blocks is one number: the bits of all cells that are taken, and above them one bit for each place of each
    kind of blocks, in the order of their masks.
    """

    def __init__(self, mask: int, bit: int) -> None:
        super().__init__()
        self.mask, self.bits = mask, bit | mask & LOW
        self.ways: list[list[int]] = []  # the bits of the block one cell on, two cells on... to each side
        self.seen = 0

    def __missing__(self, key: int) -> tuple[int, ...]:
        out = []
        for way in self.ways:
            for there in way:
                if there & key:
                    break
                out.append(self.bits ^ there)
        self[key] = tuple(out)
        return self[key]


@functools.lru_cache(maxsize=32)
def _pieces(yard: Size) -> dict[int, _Piece]:
    """Each block at each place by its bit, in their order."""
    out: dict[int, _Piece] = {}
    kinds = ((1, 1, False), (1, 2, False), (2, 1, False), (2, 2, True))
    for mask in sorted([mask for w, h, main in kinds for mask in _spots(w, h, yard, main)]):
        out[1 << 80 + len(out)] = _Piece(mask, 1 << 80 + len(out))
    known = {piece.mask: piece for piece in out.values()}
    for mask, piece in known.items():
        for step in (1, yard[0] + 1):
            for shift in (int.__rshift__, int.__lshift__):
                way, there = [], shift(mask & LOW, step) | mask & ~LOW
                while there in known:
                    way.append(known[there].bits)
                    there = shift(there & LOW, step) | mask & ~LOW
                piece.ways.append(way)
        piece.seen = functools.reduce(int.__or__, itertools.chain(*piece.ways), 0) & LOW & ~mask
    return out


@functools.lru_cache(maxsize=256)
def _far(
    yard: Size, column: int, kinds: tuple[tuple[int, int, int], ...], bounds: Size
) -> tuple[tuple[tuple[int, int], ...], bool]:
    """The positions of these blocks whose shortest plan has so many moves, by a wave from all the ends; whether it went everywhere."""
    pieces = _pieces(yard)
    bits = {piece.mask: piece.bits for piece in pieces.values()}
    last = bits[exit_of(yard, column, False)]
    places = [([bits[mask] for mask in _spots(w, h, yard)], count) for w, h, count in kinds if count]

    def near(at: int) -> list[int]:
        out, rest = [], at >> 80 << 80
        while rest:
            bit = rest & -rest
            rest ^= bit
            piece = pieces[bit]
            for turned in piece[at & piece.seen]:
                out.append(at ^ turned)
        return out

    came, _, whole = spread(_layouts(places, last), near, WAVE)
    return tuple((at, n) for at, n in _lengths(came).items() if bounds[0] <= n <= bounds[1]), whole


def _layouts(places: Sequence[tuple[Sequence[int], int]], taken: int) -> list[int]:
    """Every way to lay so many blocks on the places of each kind, beside what is taken."""
    if not places:
        return [taken]
    (spots, count), rest, cells = places[0], places[1:], taken & LOW
    out = []
    for i, new in enumerate(spots):
        if not new & cells:
            left = [(spots[i + 1 :], count - 1), *rest] if count > 1 else rest
            out += _layouts(left, taken | new)
    return out


@functools.lru_cache(maxsize=64)
def _spots(w: int, h: int, yard: Size, main: bool = False) -> tuple[int, ...]:
    """A block of that size at every place of a yard."""
    wide, high = yard
    return tuple(block(x, y, w, h, wide + 1, main) for y in range(high - h + 1) for x in range(wide - w + 1))
