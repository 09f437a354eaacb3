"""Numbers on a board whose blocks of 2 x 2 cells are turned, until the numbers stand in order."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quintain.types import QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.cells import frame, labelled, names_of, read_cell
from quintain.worlds.engines.slide import art
from quintain.worlds.engines.slide.pose import Pose, along, budget, meet, spread, trail
from quintain.worlds.kernel import Answer, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Run, Scene
from quintain.worlds.splits import Draft, symmetries

art.add()
tiles({"number-16": (*art.NUMBERS["number-2"][:-1], Run(text="16", x=0.5, y=0.48, size=0.5))})
LARGEST = 4  # side of a board
MEET_NODES = 20_000  # looked at for a shortest plan on a board larger than 3 x 3
WAYS = {
    "cw": "right",
    "ccw": "left",
    "right": "right",
    "left": "left",
    "r": "right",
    "l": "left",
    "clockwise": "right",
    "anticlockwise": "left",
    "counterclockwise": "left",
}
_TEXT = re.compile(
    r"(?:turn |rotate |twist )?(?:the )?(?:block )?(?:at )?([a-d] ?\d)[ ,:=-]*(?:to the )?"
    r"(right|left|r|l|cw|ccw|clockwise|anti-?clockwise|counter-?clockwise)",
    re.ASCII,
)

_AHEAD = re.compile(
    r"(?:(turn |rotate |twist ))?(right|left|cw|ccw|clockwise|anti-?clockwise|counter-?clockwise) ([a-d] ?\d)", re.ASCII
)


def turned(now: str, corner: int, width: int, right: bool) -> str:
    """The board after the block with its upper left cell on `corner` was turned by a quarter.

    Example:
        >>> turned("ABCDEF", 0, 3, True)
        'DACEBF'
    """
    low = corner + width
    one, two, three, four = now[corner], now[corner + 1], now[low], now[low + 1]
    new = (three, one, four, two) if right else (two, four, one, three)
    return f"{now[:corner]}{new[0]}{new[1]}{now[corner + 2 : low]}{new[2]}{new[3]}{now[low + 2 :]}"


@functools.lru_cache(maxsize=64)
def corners(width: int, height: int, kept: frozenset[int] = frozenset()) -> tuple[int, ...]:
    """The upper left cells of all blocks without a cell that is `kept`."""
    every = (y * width + x for y in range(height - 1) for x in range(width - 1))
    return tuple(c for c in every if not kept & {c, c + 1, c + width, c + width + 1})


def goal_of(count: int) -> str:
    """The numbers in order; 1 is `A`."""
    return "".join(chr(65 + i) for i in range(count))


def _near(width: int, blocks: tuple[int, ...], now: str) -> list[str]:
    return [turned(now, corner, width, right) for corner in blocks for right in (True, False)]


def way(now: str, width: int) -> list[str]:
    """The boards on a way to the goal: a shortest one if the board is small or the goal near, else one that brings home the upper
    rows and the left columns first, as far as more than 3 x 3 cells are left.
    """
    height, goal = len(now) // width, goal_of(len(now))
    small = width * height <= 9
    near = functools.partial(_near, width, corners(width, height))
    path, _ = meet(now, goal, near, 1 << 30 if small else MEET_NODES)
    if path:
        return path
    path, kept = [now], frozenset[int]()
    for group in _groups(width, height):
        path += _brought(path[-1], width, group, corners(width, height, kept))[1:]
        kept |= set(group)
    near = functools.partial(_near, width, corners(width, height, kept))
    return path + meet(path[-1], goal, near, 1 << 30)[0][1:]


def _groups(width: int, height: int) -> list[tuple[int, ...]]:
    """The cells that are filled one after the other, the last two of a row or column at once, until 3 x 3 are left."""
    out: list[tuple[int, ...]] = []
    top, left = max(height - 3, 0), max(width - 3, 0)
    lines = [[y * width + x for x in range(width)] for y in range(top)]
    lines += [[y * width + x for y in range(top, height)] for x in range(left)]
    for line in lines:
        out += [*((cell,) for cell in line[:-2]), tuple(line[-2:])]
    return out


def _brought(now: str, width: int, group: tuple[int, ...], blocks: tuple[int, ...]) -> list[str]:
    """The boards on a shortest way that brings the numbers of some cells home."""
    signs = goal_of(len(now))
    others = {sign for cell, sign in enumerate(signs) if cell not in group}
    blank = "".join("." if sign in others else sign for sign in now)
    end = "".join(sign if cell in group else "." for cell, sign in enumerate(signs))
    came, there, _ = spread([blank], functools.partial(_near, width, blocks), 1 << 30, lambda node: node == end)
    path, out = trail(came, there), [now]
    for node in path[1:]:
        steps = _near(width, blocks, out[-1])
        out.append(next(b for b in steps if "".join("." if sign in others else sign for sign in b) == node))
    return out


@dataclass(frozen=True)
class Twiddle:
    """Turned blocks as `pose.Rules`: `board` is the width, `now` the numbers row by row, 1 as `A`.

    Knobs: `width`, `height` (2 to 4), `turns` (random turns from the goal, none undoing the last), `low` (moves of the plan at least).
    """

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Pose]:
        width, height = knobs["width"], knobs["height"]
        now, last = goal_of(width * height), (-1, True)
        moves = [(corner, right) for corner in corners(width, height) for right in (True, False)]
        for _ in range(knobs["turns"]):
            last = rng.pick([move for move in moves if move != (last[0], not last[1])])
            now = turned(now, last[0], width, last[1])

        def finish() -> Pose | None:
            length = len(way(now, width)) - 1
            return Pose(str(width), now, budget(length)) if length >= knobs["low"] else None

        return Draft(Pose(str(width), now), finish)

    def layout(self, pose: Pose) -> str:
        """The least text among the images of the board that leave the goal as it is: numbers turn with their cells."""
        out = []
        for order in symmetries(int(pose.board), len(pose.now) // int(pose.board)):
            place = {cell: i for i, cell in enumerate(order)}
            out.append("".join([chr(65 + place[ord(pose.now[cell]) - 65]) for cell in order]))
        return min(out)

    def solved(self, board: str, now: str) -> bool:
        return now == goal_of(len(now))

    def options(self, board: str, now: str) -> list[tuple[str, str]]:
        width = int(board)
        names, out = names_of(width, len(now) // width), []
        for corner in corners(width, len(now) // width):
            for side in ("right", "left"):
                out.append((f"{names[corner]} {side}", turned(now, corner, width, side == "right")))
        return out

    def answer(self, board: str, now: str) -> Answer:
        """A shortest plan on boards up to 3 x 3, and on larger ones if the goal is near."""
        path = way(now, int(board))
        if path[-1] != goal_of(len(now)):  # as for most orders of 3 x 2 numbers
            return Unsolvable("the numbers cannot be brought in order")
        return along(self, board, now, path, str)

    def spell(self, text: str) -> str:
        found = _TEXT.fullmatch(_AHEAD.sub(r"\3 \2", text))
        cell = read_cell(found[1]) if found else None
        if not found or not cell or max(cell) >= LARGEST:
            return ""
        way = WAYS[found[2].replace("-", "")]
        return f"{names_of(LARGEST, LARGEST)[cell[0] * LARGEST + cell[1]]} {way}"

    def caption(self, board: str, now: str, level: int) -> str:
        width, goal = int(board), goal_of(len(now))
        if level == 1:
            return f"{sum(a == b for a, b in zip(now, goal, strict=True))} of {len(now)} numbers are in place."
        numbers = [f"{ord(sign) - 64:2}" for sign in now]
        rows = [" ".join(numbers[i : i + width]) for i in range(0, len(now), width)]
        head = "    " + "  ".join(frame(width).split())
        return "\n".join([head, *(f"{y:2} {row}" for y, row in enumerate(rows, 1))])

    def parse(self, caption: str) -> Pose:
        head, *rows = (line.split() for line in caption.split("\n"))
        numbers = [int(part) for row in rows for part in row[1:] if part.isdecimal()]
        if (
            not rows
            or {len(row) - 1 for row in rows} != {len(head)}
            or sorted(numbers) != list(range(1, len(head) * len(rows) + 1))
        ):
            raise QuintainError(f"this is no full caption of numbers: {caption[:60]!r}")
        return Pose(str(len(head)), "".join(chr(64 + n) for n in numbers))

    def static(self, board: str, now: str) -> tuple[str, ...]:
        return ()

    def moving(self, board: str, now: str) -> tuple[str, ...]:
        names = names_of(int(board), len(now) // int(board))
        return tuple([f"{ord(sign) - 64}:{name}" for sign, name in zip(now, names, strict=True)])

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        names = names_of(knobs["width"], knobs["height"])
        return ("right", "left", *names, *(f"{n}:{name}" for n in range(1, len(names) + 1) for name in names))

    def scene(self, board: str, now: str) -> Scene:
        return labelled([f"number-{ord(sign) - 64}" for sign in now], int(board))
