"""Boards of crates: rooms with loose walls, and starts that are found by playing backwards from the filled targets."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from quintain.worlds.engines.slide.push_board import LETTERS, TARGET, Board, bits, reach, waves, way_back
from quintain.worlds.noise import Rng

Knobs = Mapping[str, Any]
STAY = 0.85  # the chance to go on pulling the same box, so that plans are made of long pushes
AWAY = 0.95  # the chance to pull away from the targets, so that few pulls lead far
_SIGNS = {48: "#", 49: "."}


@functools.lru_cache(maxsize=64)
def _room(size: int) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """The cells inside the rim of a square board as bits and as a list, and the pieces that walls are made of."""
    inside = [y * size + x for y in range(1, size - 1) for x in range(1, size - 1)]
    pairs, bends = [(0, 1), (0, size)], [(0, 1, size), (0, 1, size + 1), (0, size, size + 1), (1, size, size + 1)]
    lines = [(0, 1, 2), (0, size, 2 * size)]
    pieces = tuple(sum(1 << c for c in piece) for piece in (*pairs, *bends, *lines))
    return sum(1 << c for c in inside), tuple(inside), pieces


def room(rng: Rng, knobs: Knobs) -> Board | None:
    """A connected room with `walls`..`walls + more` loose walls and `boxes` targets off which a box can be pulled."""
    size, most = knobs["size"], knobs["walls"] + knobs["more"]
    inside, cells, pieces = _room(size)
    count = knobs["walls"] + rng.below(knobs["more"] + 1)
    blocked = 0
    while (missing := count - blocked.bit_count()) > 0:
        piece = rng.pick(pieces) if missing > 2 else 1
        blocked |= piece << rng.pick(cells) & inside
    floor = inside ^ blocked
    if floor:
        floor = reach(1 << rng.pick(bits(floor)), floor, size)
    if (inside ^ floor).bit_count() > most:
        return None
    spaces = 0
    for step in (1, size):
        spaces |= floor & (floor >> step & floor >> 2 * step | floor << step & floor << 2 * step)
    places = bits(spaces)
    if len(places) < knobs["boxes"]:
        return None
    signs = list(format(floor, f"0{size * size}b")[::-1].translate(_SIGNS))
    for cell in rng.sample(places, knobs["boxes"]):
        signs[cell] = TARGET
    return Board(size, size, "".join(signs))


def played(board: Board, rng: Rng, knobs: Knobs) -> Board | None:
    """The board with a start, its plan and its turn budget, or None if the draw gave none of `low`..`high` moves."""
    begin, plan = one_box(board, rng, knobs) if knobs["boxes"] == 1 else pulled(board, rng, knobs)
    if not knobs["low"] <= len(plan) <= knobs["high"]:
        return None
    return replace(board, begin=begin, plan=plan, budget=knobs["turns"] or len(plan) * 3 // 2 + 4)


def pulled(board: Board, rng: Rng, knobs: Knobs) -> tuple[tuple[int, ...], str]:
    """Pull boxes off the targets at random, mostly away from them, never into an arrangement that was there before.

    Returns the start (player, *boxes) and the way back, or ((), "") if fewer than `pulls` pulls were possible or a box
    is still on a target.
    """
    width, floor = board.width, board.floor
    targets = boxes = sum(1 << c for c in board.targets)
    player = rng.pick(bits(floor ^ boxes))
    letter = {-width: "u", width: "d", -1: "l", 1: "r"}
    far = _distances(floor, targets, width)
    seen, plan, last, pulls = {boxes}, [], 0, knobs["pulls"]
    for count in range(2 * pulls):
        if count >= pulls and not boxes & targets:
            break
        free = floor ^ boxes
        walk = waves(1 << player, free, width)
        options = _pulls(boxes, free, sum(walk), width)
        options = [o for o in options if boxes ^ o[0] ^ o[1] not in seen]
        if not options:
            break
        if rng.uniform() < AWAY:
            options = [o for o in options if far[o[1]] > far[o[0]]] or options
        if rng.uniform() < STAY:
            options = [o for o in options if o[0] == last] or options
        old, new, step = rng.pick(options)
        boxes ^= old ^ new
        seen.add(boxes)
        last = new
        path = way_back(walk, new.bit_length() - 1, width)
        plan.extend(letter[b - a] for a, b in reversed(tuple(itertools.pairwise(path))))
        plan.append(letter[-step].upper())
        player = path[0] + step
    else:
        count = 2 * pulls
    if count < pulls or boxes & targets:
        return (), ""
    return (player, *bits(boxes)), "".join(reversed(plan)).rstrip(LETTERS)  # the last push ends it


def _distances(floor: int, targets: int, width: int) -> dict[int, int]:
    """Bit of a cell -> pulls that bring a lone box there from the nearest target."""
    wave, rest, out, pulls = targets, floor, {}, 0
    while wave:
        rest ^= wave
        ahead = back = 0
        for step in (1, width):
            ahead |= wave << step & rest & floor >> step
            back |= wave >> step & rest & floor << step
        while wave:
            low = wave & -wave
            out[low] = pulls
            wave ^= low
        wave, pulls = ahead | back, pulls + 1
    return out


def _pulls(boxes: int, free: int, area: int, width: int) -> list[tuple[int, int, int]]:
    """(old place, new place, step) of each pull that a player somewhere in `area` can make; places are bits."""
    out = []
    for step in (1, width):
        ahead = boxes & area >> step & free >> 2 * step
        while ahead:
            low = ahead & -ahead
            ahead ^= low
            out.append((low, low << step, step))
        behind = boxes & area << step & free << 2 * step
        while behind:
            low = behind & -behind
            behind ^= low
            out.append((low, low >> step, -step))
    return out


def one_box(board: Board, rng: Rng, knobs: Knobs) -> tuple[tuple[int, ...], str]:
    """One of all the starts (player, box) from which the shortest plan has `low`..`high` moves."""
    (target,), floor = board.targets, board.floor
    steps = (-board.width, board.width, -1, 1)
    wave = [(player, target) for player in bits(floor & ~(1 << target))]
    ahead: dict[tuple[int, int], tuple[tuple[int, int], str]] = {state: (state, "") for state in wave}
    layers = []
    while wave and len(layers) <= knobs["high"]:
        layers.append(wave)
        wave = []
        for state in layers[-1]:
            player, box = state
            for step, letter in zip(steps, LETTERS, strict=True):
                before = player - step
                if not floor >> before & 1 or before == box:
                    continue
                if (before, box) not in ahead:
                    ahead[before, box] = (state, letter)
                    wave.append((before, box))
                if box == player + step and (before, player) not in ahead:
                    ahead[before, player] = (state, letter.upper())
                    wave.append((before, player))
    begins = [start for layer in layers[max(knobs["low"], 1) :] for start in layer]
    if not begins:
        return (), ""
    begin = state = rng.pick(begins)
    plan = []
    while ahead[state][1]:
        state, letter = ahead[state]
        plan.append(letter)
    return begin, "".join(plan)
