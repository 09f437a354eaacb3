"""Life and death in Go: a group is shut in, and the next stone decides whether it can be taken.

A position is a code for each point (3: no point of the board), then the point where a ko forbids to take back (-1 without one),
and whether side 0 is to take (1) or to live (0).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from quintain.types import Ints
from quintain.worlds.art import tiles
from quintain.worlds.cells import names_of
from quintain.worlds.engines.board.forced import Forced
from quintain.worlds.engines.board.game import Match
from quintain.worlds.engines.board.go import ART, FREE, beside, ground, groups, in_colours, points, put
from quintain.worlds.engines.board.men import Board
from quintain.worlds.engines.board.men_look import MenLook
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box
from quintain.worlds.splits import canonical

GOALS = ("X must live", "X must take all O")
_NOTE = re.compile(r"(X must live|X must take all O)(?:, ko at ([a-z]\d+))?")
Fight = tuple[Ints, int]  # codes of all points, and the point that a ko forbids

tiles({"go-wall": (Box(x=0, y=0, width=1, height=1, fill="stone"),)})


class Tsumego:
    """Go on a board with walls, as `men.Rules`: side 0 takes all stones of side 1, or keeps one of its own.

    Args:
        size: points on a side.
    """

    def __init__(self, size: int) -> None:
        self.size, self.cells = size, size * size
        self.names = names_of(size, size)
        self.board = Board(
            columns=size,
            rows=size,
            signs=".XO#",
            specials=("pass",),
            note=self.note,
            noted=self.noted,
            vocabulary=("X", "O", "O,", "must", "take", "all", "live", "live,", "ko", "at"),
            spent=self.spent,
        )

    def note(self, position: Ints) -> str:
        """What the board does not show."""
        ko, take = position[self.cells : self.cells + 2]
        return GOALS[take] + (f", ko at {self.names[ko]}" if ko >= 0 else "")

    def noted(self, said: str) -> Ints | None:
        """The own numbers that a note tells, or None."""
        found = _NOTE.fullmatch(said)
        if not found or (found[2] or "a1") not in self.names:
            return None
        return self.names.index(found[2]) if found[2] else FREE, GOALS.index(found[1])

    def begin(self) -> Ints:
        return (*(0,) * self.cells, FREE, 0)

    def paths(self, position: Ints) -> Iterable[Ints]:
        return [(self.cells,), *[(cell,) for cell in points(position, self.size)]]

    def moved(self, position: Ints, path: Ints) -> Ints:
        if path[0] == self.cells:
            return (*position[: self.cells], FREE, position[self.cells + 1])
        cells, ko = put(position, path[0], self.size)
        return (*cells, ko, position[self.cells + 1])

    def ended(self, position: Ints) -> int | None:
        take = position[self.cells + 1]
        if (2 if take else 1) in position[: self.cells]:
            return None
        return -1 if take == position[-1] else 1

    def spent(self, position: Ints) -> int:
        """The group lives when no moves are left."""
        return 1 if position[self.cells + 1] == position[-1] else -1

    def value(self, position: Ints) -> float:
        ahead = (position.count(1) - position.count(2)) / self.cells
        return -ahead if position[-1] else ahead


def _after(fight: Fight, side: int, size: int) -> Iterator[tuple[int, Fight]]:
    """The stones that a side may put, and what is then."""
    seen = (*fight[0], fight[1], side)
    for at in points(seen, size):
        cells, ko = put(seen, at, size)
        yield at, (tuple(cells), ko)


@functools.lru_cache(maxsize=1 << 16)
def takes(fight: Fight, side: int, n: int, size: int) -> bool:
    """Whether a side, which is to move, can take all stones of the other with `n` stones at most."""
    other = 2 - side
    _, stones, free = groups(fight[0], size)
    need = {c for mine, open_ in zip(stones, free, strict=True) if fight[0][mine[0]] == other for c in open_}
    if len(need) > n:  # against passes each of these points has to be filled
        return False
    # passes help only against a ko: without one the other side may pass as well
    tries = [after for _, after in _after(fight, side, size)] + ([(fight[0], FREE)] if fight[1] >= 0 else [])
    if any(other not in cells for cells, _ in tries):
        return True
    return n > 1 and any(not saves(after, 1 - side, n - 1, size) for after in tries)


@functools.lru_cache(maxsize=1 << 16)
def saves(fight: Fight, side: int, n: int, size: int) -> bool:
    """Whether a side, which is to move, keeps a stone if the other puts `n` stones at most."""
    return not takes((fight[0], FREE), 1 - side, n, size) or any(
        not takes(after, 1 - side, n, size) for _, after in _after(fight, side, size)
    )


def _fight(position: Ints) -> tuple[Fight, int, int]:
    """What is fought over, the points on a side, and whether side 0 takes."""
    size = round((len(position) - 4) ** 0.5)
    return (position[: size * size], position[-4]), size, position[-3]


def winning(position: Ints) -> tuple[Ints, ...]:
    """The moves of side 0 that win for certain before the moves run out."""
    fight, size, take = _fight(position)
    n, way = position[-2], size * size
    after = [(way, (fight[0], FREE)), *_after(fight, 0, size)]
    if take:
        n = (n + 1) // 2
        return tuple([(at,) for at, then in after if 2 not in then[0] or (n > 1 and not saves(then, 1, n - 1, size))])
    return tuple([(at,) for at, then in after if not takes(then, 1, n // 2, size)])


def defence(position: Ints) -> Ints:
    """The reply of side 1: one that wins, or puts off the end the longest, or threatens most."""
    fight, size, take = _fight(position)
    after = [*_after(fight, 1, size), (size * size, (fight[0], FREE))]
    left = position[-2] // 2 if take else (position[-2] + 1) // 2
    if take:
        for n in range(left, 0, -1):
            held = [at for at, then in after if 2 in then[0] and not takes(then, 0, n, size)]
            if held:
                return (held[0],)
        return (after[0][0],)
    for n in range(1, left + 1):
        for at, then in after:
            if 1 not in then[0] or (n > 1 and not saves(then, 0, n - 1, size)):
                return (at,)
    for n in range(1, left):
        for at, then in after:
            if takes((then[0], FREE), 1, n, size):
                return (at,)
    return (size * size,)


def _room(rng: Rng, size: int, space: int) -> tuple[set[int], set[int]]:
    """A connected room of free points, perhaps one outside it, and the stones that shut it in."""
    near, room = beside(size), {rng.below(size * size)}
    while len(room) < space:
        room.add(rng.pick(near[rng.pick(sorted(room))]))
    ring = {c for cell in room for c in near[cell]} - room
    if rng.below(3):  # corners as well, so that the stones hang together
        ring |= {c for cell in room for c in range(size * size) if _touch(cell, c, size)} - room
    if rng.below(2):  # a point outside that has to be filled first
        outside = {c for cell in ring for c in near[cell]} - room - ring
        room |= {rng.pick(sorted(outside))} if outside else set()
    return room, ring


def _touch(a: int, b: int, size: int) -> bool:
    return abs(a // size - b // size) == 1 == abs(a % size - b % size)


def pose(rng: Rng, knobs: Mapping[str, Any]) -> Ints | None:
    """A shut-in group whose life hangs on the next stone.

    Knobs: `size` of the board, `space` of free points and stones within the group, `moves` of side 0.
    """
    size, n = knobs["size"], knobs["moves"]
    take = int(rng.below(3) > 0)  # groups that live are found more easily
    room, ring = _room(rng, size, knobs["space"])
    inside = sorted(room)
    rng.shuffle(inside)
    mine = 2 if take else 1
    cells = [0 if c in room else mine if c in ring else 3 for c in range(size * size)]
    for cell in inside[: rng.below(3)]:
        cells[cell] = 3 - mine
    for cell in inside[3 : 3 + rng.below(2)]:
        cells[cell] = mine
    fight = (tuple(cells), FREE)
    if not all(groups(fight[0], size).free):
        return None
    if take:
        if (n > 1 and takes(fight, 0, n - 1, size)) or not takes(fight, 0, n, size) or not saves(fight, 1, n, size):
            return None
        position = (*cells, FREE, 1, 2 * n - 1, 0)
    else:
        if not takes(fight, 1, n, size) or not saves(fight, 0, n, size):
            return None
        position = (*cells, FREE, 0, 2 * n, 0)
    return position if 0 < len(winning(position)) <= knobs["keys"] else None


def shape(match: Match) -> str:
    """The points within the walls, wherever they lie: walls are like the edge."""
    size = round((len(match.position) - 4) ** 0.5)
    signs = [".XO#"[code] for code in match.position[: size * size]]
    rows = [r for r in range(size) if set(signs[r * size : (r + 1) * size]) != {"#"}]
    columns = [c for c in range(size) if set(signs[c::size]) != {"#"}]
    tall, wide = range(rows[0], rows[-1] + 1), range(columns[0], columns[-1] + 1)
    inner = [signs[r * size + c] for r in tall for c in wide]
    turned = [signs[r * size + c] for c in wide for r in tall]
    least = min(canonical(inner, len(wide), len(tall)), canonical(turned, len(tall), len(wide)))
    return f"{least} {match.position[-3]}"


LOOK = MenLook(Tsumego, ("size",), ART, specials=("pass",), ground=ground, badge="go", shown=in_colours)
GAME = Forced(LOOK, pose, winning, defence, shape=shape)
