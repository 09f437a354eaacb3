"""Life and death in Go: a group is shut in, and the next stone decides whether it can be taken.

A position is a code for each point (3: no point of the board), then the point where a ko forbids to take back (-1 without one),
and whether side 0 is to take (1) or to live (0).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from quintain.types import Ints
from quintain.worlds.art import tiles
from quintain.worlds.cells import names_of
from quintain.worlds.engines.board.fight import Fight, fight_on, sets_of
from quintain.worlds.engines.board.forced import Forced
from quintain.worlds.engines.board.game import Match
from quintain.worlds.engines.board.go import ART, FREE, beside, ground, in_colours, points, put
from quintain.worlds.engines.board.match import SPARE
from quintain.worlds.engines.board.men import DIAGONAL, Board, rays
from quintain.worlds.engines.board.men_look import MenLook
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box
from quintain.worlds.splits import canonical

GOALS = ("X must live", "X must take all O")
_NOTE = re.compile(r"(X must live|X must take all O)(?:, ko at ([a-z]\d+))?")

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


def _fight(position: Ints) -> tuple[Fight, int, int, int]:
    """What is fought on, the stones of side 0 and side 1, and the point that a ko forbids."""
    size = round((len(position) - 4) ** 0.5)
    free, mine, yours, _ = sets_of(position[: size * size], size)
    ko = position[-4]
    return fight_on(size, free | mine | yours), mine, yours, 1 << ko + ko // size if ko >= 0 else 0


def winning(position: Ints) -> tuple[Ints, ...]:
    """The moves of side 0 that win for certain before the moves run out."""
    (fight, mine, yours, ko), n, take = _fight(position), position[-2], position[-3]
    after = [(0, mine, yours, 0), *fight.puts(mine, yours, ko)]
    if take:
        n = (n + 1) // 2
        won = [
            bit for bit, own, rest, barred in after if not rest or (n > 1 and not fight.saves(rest, own, barred, n - 1))
        ]
    else:
        won = [bit for bit, own, rest, barred in after if not fight.takes(rest, own, barred, n // 2)]
    return tuple([(fight.number(bit),) for bit in won])


def defence(position: Ints) -> Ints:
    """The reply of side 1: one that wins, or puts off the end the longest, or threatens most."""
    (fight, yours, mine, ko), take = _fight(position), position[-3]
    after = [*fight.puts(mine, yours, ko), (0, mine, yours, 0)]
    left = position[-2] // 2 if take else (position[-2] + 1) // 2
    if take:
        held = (
            bit for n in range(left, 0, -1) for bit, own, rest, barred in after if not fight.takes(rest, own, barred, n)
        )
        return (fight.number(next(held, after[0][0])),)
    for n in range(1, left + 1):
        for bit, own, rest, barred in after:
            if not rest or (n > 1 and not fight.saves(rest, own, barred, n - 1)):
                return (fight.number(bit),)
    threats = (bit for n in range(1, left) for bit, own, rest, _ in after if fight.takes(own, rest, 0, n))
    return (fight.number(next(threats, 0)),)


def _room(rng: Rng, size: int, space: int) -> tuple[set[int], set[int]]:
    """A connected room of free points, perhaps one outside it, and the stones that shut it in."""
    near, room = beside(size), {rng.below(size * size)}
    while len(room) < space:
        room.add(rng.pick(near[rng.pick(sorted(room))]))
    ring = {c for cell in room for c in near[cell]} - room
    if rng.below(3):  # corners as well, so that the stones hang together
        corners = rays(size, size, DIAGONAL)
        ring |= {line[0] for cell in room for line in corners[cell] if line} - room
    if rng.below(2):  # a point outside that has to be filled first
        outside = {c for cell in ring for c in near[cell]} - room - ring
        room |= {rng.pick(sorted(outside))} if outside else set()
    return room, ring


def pose(rng: Rng, knobs: Mapping[str, Any]) -> Ints | None:
    """A shut-in group whose life may hang on the next stone; see `kept`.

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
    fight, own, other, _ = _fight((*cells, FREE, take, 0, 0))
    free = fight.area & ~(own | other)
    if fight.dead(own, free) or fight.dead(other, free):
        return None
    return (*cells, FREE, take, 2 * n - take, 0)


def kept(position: Ints, knobs: Mapping[str, Any]) -> bool:
    """Whether the life of the group hangs on the next stone."""
    n, take, (fight, own, other, _) = knobs["moves"], position[-3], _fight(position)
    takes, lives = (own, other) if take else (other, own)
    if take and n > 1 and fight.takes(takes, lives, 0, n - 1):
        return False
    if not fight.takes(takes, lives, 0, n) or not fight.saves(lives, takes, 0, n):
        return False
    return 0 < len(winning(position)) <= knobs["keys"]


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
GAME = Forced(LOOK, pose, kept, winning, defence, shape=shape, spare=SPARE)
