"""Pipes on a board, each of which can be turned in place, until all hang together and nothing leaks."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quintain.types import QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.cells import framed, labelled, name_of, names_of, read_cell, unframed
from quintain.worlds.engines.slide.pose import Pose, budget
from quintain.worlds.kernel import Answer, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Polygon, Scene, Shape
from quintain.worlds.splits import canonical

LARGEST = 9  # side of a board
SIGNS = " ╵╶└╷│┌├╴┘─┴┐┤┬┼"  # by openings: 1 up, 2 right, 4 down, 8 left
HEX = "0123456789abcdef"
KINDS = ".eelesltelstlttx"  # of the same order: the same for all turns of a pipe
BRANCH = 0.35  # the chance that the next pipe grows from any place, not from the last
_WAY = r"(?:[ ,:=]*(?:to the )?(?:right|clockwise|cw|(?P<{}>left|ccw|(?:counter|anti)-?clockwise))(?: turn)?)?"
_TEXT = re.compile(
    rf"(?:turn |rotate )?(?P<cell>[a-i] ?\d){_WAY.format('left')}"
    r"(?:[ ,:=]*(?:by )?(?:[x×] ?|a |(?<=[ :=])(?P<minus>-)(?=\d))?(?P<count>[1-3]|once|twice|one|two|three|quarter|half|90|180|270)"
    r"(?: ?[x×]| times?| quarters?)?(?: turns?)?(?: ?°| degrees?)?)?"
    f"{_WAY.format('back')}",
    re.ASCII,
)
COUNTS = {
    None: 1,
    "once": 1,
    "one": 1,
    "quarter": 1,
    "90": 1,
    "twice": 2,
    "two": 2,
    "half": 2,
    "180": 2,
    "three": 3,
    "270": 3,
}


def turn(sign: str, count: int) -> str:
    """A pipe after so many quarter turns to the right.

    Example:
        >>> turn("3", 1), turn("8", 1), turn("5", 2)
        ('6', '1', '5')
    """
    mask = int(sign, 16) << count
    return HEX[(mask | mask >> 4) & 15]


@functools.lru_cache(maxsize=64)
def around(width: int, height: int) -> tuple[tuple[int, ...], ...]:
    """For each cell its neighbours up, right, down and left, -1 beyond the rim."""
    out = []
    for cell in range(width * height):
        y, x = divmod(cell, width)
        up, down = cell - width if y else -1, cell + width if y < height - 1 else -1
        out.append((up, cell + 1 if x < width - 1 else -1, down, cell - 1 if x else -1))
    return tuple(out)


@functools.lru_cache(maxsize=1 << 13)
def reached(now: str, width: int, source: int) -> tuple[frozenset[int], int]:
    """(the pipes that hang together with the source, how many openings of all pipes lead nowhere)."""
    near, masks = around(width, len(now) // width), [int(sign, 16) for sign in now]
    leaks, joined = 0, []
    for cell, mask in enumerate(masks):
        ways = []
        for side, other in enumerate(near[cell]):
            if mask >> side & 1:
                if other >= 0 and masks[other] >> (side ^ 2) & 1:
                    ways.append(other)
                else:
                    leaks += 1
        joined.append(ways)
    seen, waiting = {source}, [source]
    while waiting:
        for other in joined[waiting.pop()]:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return frozenset(seen), leaks


@dataclass(frozen=True)
class Pipes:
    """Pipes as `pose.Rules`: `now` has the openings of each pipe as a hexadecimal digit; `board` the width, the cell of the source, and,
    hidden, one way to lay the pipes.

    Knobs: `width`, `height`, `turned` (pipes that do not lie as they were made).
    """

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Pose | None:
        """Grow a tree over all cells from the source, then turn some of its pipes."""
        width, height = knobs["width"], knobs["height"]
        near, count = around(width, height), width * height
        source = rng.below(count)
        masks, grown = [0] * count, [source]
        while len(grown) < count:
            cell = rng.pick(grown) if rng.uniform() < BRANCH else grown[-1]
            sides = [
                side for side, other in enumerate(near[cell]) if other >= 0 and not masks[other] and other != source
            ]
            if not sides:
                open_cells = [c for c in grown if any(o >= 0 and not masks[o] and o != source for o in near[c])]
                cell = rng.pick(open_cells)
                sides = [
                    side for side, other in enumerate(near[cell]) if other >= 0 and not masks[other] and other != source
                ]
            side = rng.pick(sides)
            masks[cell] |= 1 << side
            masks[near[cell][side]] |= 1 << (side ^ 2)
            grown.append(near[cell][side])
        goal = "".join(HEX[mask] for mask in masks)
        now: list[str] = list(goal)
        free = [c for c in range(count) if masks[c] != 15]
        if len(free) < knobs["turned"]:
            return None
        for cell in rng.sample(free, knobs["turned"]):
            now[cell] = rng.pick(sorted({turn(goal[cell], n) for n in (1, 2, 3)} - {goal[cell]}))
        board = f"{width} {source} {goal}"
        return None if self.solved(board, "".join(now)) else Pose(board, "".join(now), budget(knobs["turned"]))

    def layout(self, pose: Pose) -> str:
        """Which kind of pipe lies in each cell, however it is turned."""
        width = int(pose.board.split(" ")[0])
        return canonical([KINDS[int(sign, 16)] for sign in pose.now], width, len(pose.now) // width)

    def solved(self, board: str, now: str) -> bool:
        width, source, *_ = board.split(" ")
        wet, leaks = reached(now, int(width), int(source))
        return not leaks and len(wet) == len(now)

    def options(self, board: str, now: str) -> list[tuple[str, str]]:
        width = int(board.split(" ")[0])
        out = []
        for cell, (name, sign) in enumerate(zip(names_of(width, len(now) // width), now, strict=True)):
            for count in (1, 2, 3):
                new = turn(sign, count)
                if new != sign:
                    out.append((f"{name} {count}", now[:cell] + new + now[cell + 1 :]))
        return out

    def answer(self, board: str, now: str) -> Answer:
        """Lay each pipe as it was made."""
        width, _, *goal = board.split(" ")
        if not goal:
            return Unsolvable("how the pipes should lie was not kept")
        out = []
        for name, sign, wanted in zip(names_of(int(width), len(now) // int(width)), now, goal[0], strict=True):
            if sign != wanted:
                out.append(Move(f"{name} {next(n for n in (1, 2, 3) if turn(sign, n) == wanted)}"))
        return Plan(tuple(out), "construction")

    def spell(self, text: str) -> str:
        found = _TEXT.fullmatch(text)
        cell = read_cell(found["cell"]) if found else None
        if not found or not cell or max(cell) >= LARGEST:
            return ""
        count = COUNTS.get(found["count"]) or int(found["count"])
        back = found["minus"] or found["left"] or found["back"]
        return f"{name_of(*cell)} {4 - count if back else count}"

    def caption(self, board: str, now: str, level: int) -> str:
        width, source = (int(part) for part in board.split(" ")[:2])
        name = names_of(width, len(now) // width)[source]
        if level == 1:
            wet, leaks = reached(now, width, source)
            return f"{len(wet)} of {len(now)} pipes hang together with the source at {name}; {leaks} openings lead nowhere."
        return f"{framed(''.join([SIGNS[int(sign, 16)] for sign in now]), width)}\nsource: {name}"

    def parse(self, caption: str) -> Pose:
        *lines, last = caption.split("\n")
        found, source = unframed(lines), read_cell(last.removeprefix("source: "))
        if found is None or source is None or set(found[0]) - set(SIGNS):
            raise QuintainError(f"this is no full caption of pipes: {caption[:60]!r}")
        signs, width = found
        return Pose(f"{width} {source[0] * width + source[1]}", "".join(HEX[SIGNS.index(sign)] for sign in signs))

    def static(self, board: str, now: str) -> tuple[str, ...]:
        width, source = (int(part) for part in board.split(" ")[:2])
        return (f"source:{names_of(width, len(now) // width)[source]}",)

    def moving(self, board: str, now: str) -> tuple[str, ...]:
        width = int(board.split(" ")[0])
        return tuple([f"{name}:{sign}" for name, sign in zip(names_of(width, len(now) // width), now, strict=True)])

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        names = names_of(knobs["width"], knobs["height"])
        return (
            *names,
            "1",
            "2",
            "3",
            *(f"source:{name}" for name in names),
            *(f"{name}:{s}" for name in names for s in HEX),
        )

    def scene(self, board: str, now: str) -> Scene:
        width, source = (int(part) for part in board.split(" ")[:2])
        wet, _ = reached(now, width, source)
        cells = [f"pipe-{'wet' if c in wet else 'dry'}-{sign}" for c, sign in enumerate(now)]
        cells[source] += "+pipe-source"
        return labelled(cells, width)


ENDS = ((0.5, 0.0), (1.0, 0.5), (0.5, 1.0), (0.0, 0.5))


def _pipe(mask: int, fill: str, line: str) -> tuple[Shape, ...]:
    """A pipe from the middle of its cell to each side that is open; a pipe with one opening ends in a bulb."""
    ends = [end for side, end in enumerate(ENDS) if mask >> side & 1]
    out: list[Shape] = [
        Box(x=0, y=0, width=1, height=1, fill="seam"),
        Box(x=0.015, y=0.015, width=0.97, height=0.97, fill="floor"),
    ]
    bulb = 0.26 if len(ends) == 1 else 0.17
    out += [Polygon(points=((0.5, 0.5), end), line=line, thick=0.34, closed=False) for end in ends]
    out.append(Disc(x=0.5, y=0.5, radius=bulb, fill=line))
    out += [Polygon(points=((0.5, 0.5), end), line=fill, thick=0.22, closed=False) for end in ends]
    out.append(Disc(x=0.5, y=0.5, radius=bulb - 0.06, fill=fill))
    return tuple(out)


tiles({f"pipe-wet-{sign}": _pipe(mask, "sky", "navy") for mask, sign in enumerate(HEX)})
tiles({f"pipe-dry-{sign}": _pipe(mask, "white", "stone") for mask, sign in enumerate(HEX)})
tiles(
    {
        "pipe-source": (
            Disc(x=0.5, y=0.5, radius=0.3, fill="gold", line="rust", thick=0.06),
            Disc(x=0.5, y=0.5, radius=0.12, fill="rust"),
        )
    }
)
