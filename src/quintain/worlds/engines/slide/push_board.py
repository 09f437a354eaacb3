"""What a board of crates is made of: the fixed cells, the state, and tables that follow from them.

Sets of cells are bits of one integer, cell c the bit 1 << c. The rim of a board is wall, so a shift never wraps round.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from quintain.worlds.directions import DIRECTIONS

FLOOR, WALL, TARGET = ".", "#", "T"
PLAYER, BOX = "P", "B"
LETTERS = "udlr"  # directions in a kept plan; a capital letter is a push
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Board:
    """The part of an instance that never changes; all states of an episode share one.

    `cells` is row-major: floor `.`, wall `#`, target `T`; the rim is wall. An episode starts with the player on
    `begin[0]` and the boxes on `begin[1:]`; `plan` solves it from there. `budget` is the turn budget of an episode.
    """

    width: int
    height: int
    cells: str
    begin: tuple[int, ...] = ()
    plan: str = ""
    budget: int = 0

    @cached_property
    def steps(self) -> dict[str, int]:
        """Direction -> what it adds to a cell."""
        return dict(zip(DIRECTIONS, (-self.width, self.width, -1, 1), strict=True))

    @cached_property
    def targets(self) -> tuple[int, ...]:
        """The cells to fill, in order."""
        return tuple(c for c, sign in enumerate(self.cells) if sign == TARGET)

    @cached_property
    def floor(self) -> int:
        """The cells that are no wall, as bits."""
        return sum(1 << c for c, sign in enumerate(self.cells) if sign != WALL)

    @cached_property
    def text(self) -> bytes:
        """The fixed cells as text: cell c stands at offset 2c, separated by spaces and newlines."""
        rows = (self.cells[i : i + self.width] for i in range(0, len(self.cells), self.width))
        return "\n".join(" ".join(r) for r in rows).encode()

    @cached_property
    def tiles(self) -> tuple[str, ...]:
        """The fixed cells as tiles of a scene."""
        names = {FLOOR: "floor", WALL: "wall", TARGET: "floor+target"}
        return tuple(names[sign] for sign in self.cells)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Two digits for each cell: its row and its column inside the rim, counted from 0; empty on the rim."""
        w, h = self.width, self.height
        inside = [(c // w, c % w) for c in range(w * h)]
        return tuple(DIGITS[y - 1] + DIGITS[x - 1] if 0 < y < h - 1 and 0 < x < w - 1 else "" for y, x in inside)

    @cached_property
    def fixed_words(self) -> tuple[str, ...]:
        """One word per wall inside the rim and per target."""
        return tuple(s + n for s, n in zip(self.cells, self.names, strict=True) if s != FLOOR and n)

    @cached_property
    def kept(self) -> dict[tuple[int, ...], int]:
        """(player, *boxes) -> how many moves of `plan` lead there."""
        player, boxes = self.begin[0] if self.begin else 0, set(self.begin[1:])
        out = {self.begin: 0}
        for count, letter in enumerate(self.plan, 1):
            step = (-self.width, self.width, -1, 1)[LETTERS.index(letter.lower())]
            player += step
            if letter.isupper():
                boxes.remove(player)
                boxes.add(player + step)
            out[player, *sorted(boxes)] = count
        return out


@dataclass(frozen=True, slots=True)
class Crates:
    """The state of a board with crates: where the player is, and where the boxes are, in order."""

    board: Board
    player: int
    boxes: tuple[int, ...]


def layout_of(board: Board) -> str:
    """Walls and targets inside the rim, one character per cell: what splits compare."""
    w = board.width
    return "".join([board.cells[i + 1 : i + w - 1] for i in range(w, len(board.cells) - w, w)])


def waves(start: int, free: int, width: int) -> list[int]:
    """The cells that a walk over `free` reaches from the bit `start`, as one set of bits per number of steps.

    Example:
        >>> waves(0b001, 0b111, 8)
        [1, 2, 4]
    """
    wave, rest, out = start, free & ~start, []
    while wave:
        out.append(wave)
        wave = (wave << 1 | wave >> 1 | wave << width | wave >> width) & rest
        rest ^= wave
    return out


def reach(start: int, free: int, width: int) -> int:
    """All cells that a walk over `free` reaches from the bits `start`, in one set of bits."""
    seen, wave, rest = start, start, free & ~start
    while wave:
        wave = (wave << 1 | wave >> 1 | wave << width | wave >> width) & rest
        rest ^= wave
        seen |= wave
    return seen


def way_back(wave_list: list[int], cell: int, width: int) -> list[int]:
    """The cells of a shortest walk from `cell` back to the start of the waves, both included; [] if there is none."""
    level = next((i for i, wave in enumerate(wave_list) if wave >> cell & 1), -1)
    if level < 0:
        return []
    path = [cell]
    for wave in reversed(wave_list[:level]):
        for step in (-width, width, -1, 1):
            if wave >> (cell + step) & 1:
                cell += step
                break
        path.append(cell)
    return path


def bits(mask: int) -> list[int]:
    """The cells of a set of bits, in order.

    Example:
        >>> bits(0b1010)
        [1, 3]
    """
    out = []
    while mask:
        low = mask & -mask
        out.append(low.bit_length() - 1)
        mask ^= low
    return out
