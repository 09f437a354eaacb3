"""Go: stones surround points and each other; area scoring, a simple ko.

A position is a code for each point, then the point where a ko forbids to take back (-1 without one), how many passes came last,
and the komi: so many points and a half are White's.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from quintain.types import Ints
from quintain.worlds.art import tiles
from quintain.worlds.cells import names_of
from quintain.worlds.engines.board.game import Match
from quintain.worlds.engines.board.men import ORTHOGONAL, Board, MenGame, rays
from quintain.worlds.engines.board.men_look import LONGEST, MenLook
from quintain.worlds.engines.board.posed import Posed
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Polygon, Run, Shape

FREE = -1  # no point is forbidden by a ko
WALL = 3  # the code of a point that is none, on boards with walls
ATARI, SHORT, LIBERTY, NEAR = 0.8, 0.15, 0.05, (0.4, 0.3)  # weights of the guess
_BITS = (bytes.maketrans(b"\0\1\2", b"010"), bytes.maketrans(b"\0\1\2", b"001"))
_NOTE = re.compile(r"komi (\d+)\.5(?:, ko at ([a-z]\d+))?(?:, (\d) pass)?")
_ENDS = {"n": (0.5, 0.0), "e": (1.0, 0.5), "s": (0.5, 1.0), "w": (0.0, 0.5)}


def _point(ways: Iterable[str]) -> tuple[Shape, ...]:
    """A point with lines to its neighbours."""
    lines = [
        Polygon(points=tuple(sorted(((0.5, 0.5), _ENDS[way]))), line="bark", thick=0.03, closed=False) for way in ways
    ]
    return (Box(x=0, y=0, width=1, height=1, fill="sand"), *lines)


def _stone(fill: str, line: str, ink: str, text: str = "") -> tuple[Shape, ...]:
    stone = Disc(x=0.5, y=0.5, radius=0.44, fill=fill, line=line)
    return (stone, Run(text=text, x=0.5, y=0.51, size=0.42, color=ink)) if text else (stone,)


_BLACK, _WHITE = ("ink", "slate", "white"), ("white", "stone", "ink")
tiles(
    {
        **{
            f"go-{''.join(ways) or 'lone'}": _point(ways)
            for n in range(5)
            for ways in itertools.combinations("nesw", n)
        },
        "go-black": _stone(*_BLACK),
        "go-white": _stone(*_WHITE),
        **{f"go-X-{left}": _stone(*_BLACK, str(left)) for left in range(LONGEST + 1)},
        **{f"go-O-{left}": _stone(*_WHITE, str(left)) for left in range(LONGEST + 1)},
    }
)


class Groups(NamedTuple):
    """The groups of stones: the group of each point (-1: none), the stones of each and its liberties."""

    of: list[int]
    stones: list[list[int]]
    free: list[set[int]]


@functools.lru_cache(maxsize=32)
def beside(size: int) -> tuple[Ints, ...]:
    """The neighbours of each point of a square board."""
    return tuple([tuple([line[0] for line in lines if line]) for lines in rays(size, size, ORTHOGONAL)])


@functools.lru_cache(maxsize=1 << 8)
def groups(cells: Ints, size: int) -> Groups:
    """The groups on a board; codes above 2 are neither stones nor liberties."""
    of, stones, free, near = [-1] * len(cells), [], [], beside(size)
    for start, code in enumerate(cells):
        if code not in (1, 2) or of[start] >= 0:
            continue
        number, mine, open_ = len(stones), [start], set[int]()
        of[start] = number
        for cell in mine:  # grows while it is read
            for c in near[cell]:
                there = cells[c]
                if not there:
                    open_.add(c)
                elif there == code and of[c] < 0:
                    of[c] = number
                    mine.append(c)
        stones.append(mine)
        free.append(open_)
    return Groups(of, stones, free)


def points(position: Ints, size: int) -> list[int]:
    """Where the side to move may put a stone."""
    count, near = size * size, beside(size)
    cells, mine, ko = position[:count], position[-1] + 1, position[count]
    of, _, free = groups(cells, size)
    out = []
    for cell, code in enumerate(cells):
        if code or cell == ko:
            continue
        for c in near[cell]:
            there = cells[c]
            # an empty neighbour, a friend with another liberty, or an enemy without one
            if not there or (there < 3 and (len(free[of[c]]) > 1) == (there == mine)):
                out.append(cell)
                break
    return out


def put(position: Ints, at: int, size: int) -> tuple[list[int], int]:
    """The points after a stone was put, and where a ko then forbids."""
    mine, near, board = position[-1] + 1, beside(size), position[: size * size]
    of, stones, free = groups(board, size)
    cells = list(board)
    cells[at] = mine
    taken: list[int] = []
    for number in {of[c] for c in near[at] if cells[c] == 3 - mine}:
        if len(free[number]) == 1:
            taken += stones[number]
    for c in taken:
        cells[c] = 0
    alone = len(taken) == 1 and not any(cells[c] == mine or (not cells[c] and c != taken[0]) for c in near[at])
    return cells, taken[0] if alone else FREE


class Go:
    """Go as `men.Rules`. Side 0 (X) is Black.

    Args:
        size: points on a side.
    """

    def __init__(self, size: int) -> None:
        self.size, self.cells = size, size * size
        self.full = (1 << size * size) - 1
        first = int(("1" + "0" * (size - 1)) * size, 2)  # the first column
        self.inner = self.full & ~first
        self._groups = functools.lru_cache(maxsize=256)(self._grouped)  # of the side that does not move they stay
        self.names = names_of(size, size)
        words = ("komi", "ko", "at", "1", "2", "pass", *[f"{n}.5{end}" for n in range(10) for end in ("", ",")])
        self.board = Board(
            columns=size,
            rows=size,
            specials=("pass",),
            breadth=6,
            deep=1,
            note=self.note,
            noted=self.noted,
            vocabulary=(*[w for w in words if w != "pass"], *[f"{name}," for name in self.names]),
            spent=self.spent,
        )

    def note(self, position: Ints) -> str:
        """What the board does not show."""
        ko, passes, komi = position[self.cells : self.cells + 3]
        return f"komi {komi}.5" + (f", ko at {self.names[ko]}" if ko >= 0 else "") + f", {passes} pass" * bool(passes)

    def noted(self, said: str) -> Ints | None:
        """The own numbers that a note tells, or None."""
        found = _NOTE.fullmatch(said)
        if not found or (found[2] or "a1") not in self.names:
            return None
        return self.names.index(found[2]) if found[2] else FREE, int(found[3] or 0), int(found[1])

    def begin(self) -> Ints:
        return (*(0,) * self.cells, FREE, 0, 0)

    def paths(self, position: Ints) -> Iterable[Ints]:
        return [(self.cells,), *[(cell,) for cell in points(position, self.size)]]

    def moved(self, position: Ints, path: Ints) -> Ints:
        if path[0] == self.cells:
            return (*position[: self.cells], FREE, position[self.cells + 1] + 1, position[self.cells + 2])
        cells, ko = put(position, path[0], self.size)
        return (*cells, ko, 0, position[self.cells + 2])

    def ended(self, position: Ints) -> int | None:
        return self.spent(position) if position[self.cells + 1] > 1 else None

    def spent(self, position: Ints) -> int:
        """Who has more points, for the side to move; the komi leaves no draws."""
        black, white = counted(position[: self.cells], self.size)
        ahead = 1 if black - white > position[self.cells + 2] else -1
        return -ahead if position[-1] else ahead

    def value(self, position: Ints) -> float:
        raw, mover = bytes(position[: self.cells]), position[-1]
        black, white = (int(raw.translate(table), 2) for table in _BITS)
        empty, wide = self.full & ~(black | white), self.wide
        total = black.bit_count() - white.bit_count() - position[self.cells + 2] - 0.5
        ours, theirs = black, white
        for weight in NEAR:
            ours, theirs = wide(ours), wide(theirs)
            total += weight * ((ours & ~theirs & empty).bit_count() - (theirs & ~ours & empty).bit_count())
        for side, stones in enumerate((black, white)):
            safe = 0.0
            for around, size in self._groups(stones):
                count = (around & empty).bit_count()
                safe += LIBERTY * count
                if count < 3:
                    safe -= size * (SHORT if count == 2 else ATARI if side == mover else 2 * ATARI)
            total += safe if side == 0 else -safe
        good = total / (abs(total) + self.size)
        return -good if mover else good

    def _grouped(self, stones: int) -> tuple[tuple[int, int], ...]:
        """Of the groups of a side: the points of each and around it, and how many stones it has."""
        found, rest, wide = [], stones, self.wide
        while rest:
            group, around, more = 0, 0, rest & -rest
            while more != group:
                group, around = more, wide(more)
                more = around & stones
            rest &= ~group
            found.append((around, group.bit_count()))
        return tuple(found)

    def wide(self, bits: int) -> int:
        """Points and their neighbours, a bit each, the first one highest."""
        return (
            bits
            | (bits & self.inner) << 1
            | (bits >> 1) & self.inner
            | (bits << self.size & self.full)
            | bits >> self.size
        )


def counted(cells: Sequence[int], size: int) -> tuple[int, int]:
    """Points of Black and of White: stones, and empty points that reach one colour alone."""
    total, seen, near = [0, cells.count(1), cells.count(2)], set[int](), beside(size)
    for start, code in enumerate(cells):
        if code or start in seen:
            continue
        region, met = [start], set[int]()
        seen.add(start)
        for cell in region:  # grows while it is read
            for c in near[cell]:
                if cells[c]:
                    met.add(cells[c])
                elif c not in seen:
                    seen.add(c)
                    region.append(c)
        if len(met) == 1:
            total[met.pop()] += len(region)
    return total[1], total[2]


def why(match: Match) -> str:
    """How a match that is over was counted."""
    size = match.setup.options[0]
    black, white = counted(match.position[: size * size], size)
    return f"X has {black} points, O has {white + match.position[size * size + 2]}.5 with the komi"


def pose(rng: Rng, knobs: Mapping[str, Any]) -> Ints | None:
    """A board with `rounds` random stones of each side, and up to `more` besides, none of them in danger."""
    game: MenGame = GO.game((knobs["size"],))
    cells = [0] * knobs["size"] ** 2
    each = knobs["rounds"] + rng.below(knobs["more"] + 1)
    for i, at in enumerate(rng.sample(range(len(cells)), 2 * each)):
        cells[at] = 1 + i % 2
    if any(len(free) < 2 for free in groups(tuple(cells), knobs["size"]).free):
        return None
    position = (*cells, FREE, 0, knobs["komi"], knobs["limit"], 0)
    return position if game.rules.value(position) > LEVEL else None


def ground(game: MenGame, position: Ints) -> tuple[str, ...]:
    """The tile of each point, whose lines end at the edge and at walls."""
    return _grounds(tuple([code == WALL for code in position[: game.cells]]), game.board.columns)


@functools.lru_cache(maxsize=256)
def _grounds(walls: tuple[bool, ...], size: int) -> tuple[str, ...]:
    out = []
    for at, wall in enumerate(walls):
        row, column = divmod(at, size)
        near = (("n", row > 0, -size), ("e", column < size - 1, 1), ("s", row < size - 1, size), ("w", column > 0, -1))
        ways = [way for way, inside, step in near if inside and not walls[at + step]]
        out.append("go-wall" if wall else f"go-{''.join(ways) or 'lone'}")
    return tuple(out)


def in_colours(note: str) -> str:
    """A note with the colours of stones for their signs.

    Example:
        >>> in_colours("X must take all O, ko at c3")
        'Black must take all White, ko at c3'
    """
    return re.sub(r"\b[XO]\b", lambda sign: "Black" if sign[0] == "X" else "White", note)


LEVEL = 0.05  # how far ahead, by the guess, a board is to begin with
ART = {"X": "go-black", "O": "go-white"}
GO = MenLook(Go, ("size",), ART, specials=("pass",), ground=ground, badge="go")
LOOK = Posed(GO, pose)
