"""Pieces that hop from hole to hole: pegs that jump over one another, and knights of two colours that change places."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from quintain.types import QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.cells import bits_of, framed, labelled, name_of, names_of, read_cell, unframed
from quintain.worlds.engines.grid.gems import AWAY
from quintain.worlds.engines.slide.pose import Pose, along, budget, meet
from quintain.worlds.kernel import Answer, Unknown, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Polygon, Scene, Shape
from quintain.worlds.splits import Draft, canonical, symmetries

PEG_NODES, KNIGHT_NODES = 150_000, 80_000
SPARE = 2  # turns for jumps that the rules refuse
LARGEST = 7  # side of a board
_BETWEEN = re.compile(r"\s*(?:->|>|-|,|\bto\b|\s)\s*")
_WORDS = re.compile(
    r"\b(?:the|my|move|white|black|knight|peg|jumps?|moves|goes|lands|on|at)\b:?|\b[nwb](?=\s?[a-z]\d)|(?<=\d)\s*x\s*(?=[a-z]\d)"
)
_JOINED = re.compile(r"^([a-z]\d)([a-z]\d)$")
_OVER = re.compile(
    r"(?:(?:move|jump) )?([a-z]\d) (?:jumps )?over ([a-z]\d)(?: to|,? lands on|,? onto| into| ->) ([a-z]\d)", re.ASCII
)
Jump = tuple[int, int, int]  # from, over, to


def _midway(one: str, middle: str, other: str) -> bool:
    return all(ord(a) + ord(c) == 2 * ord(b) for a, b, c in zip(one, middle, other, strict=True))


def spell(text: str) -> str:
    """`b3 d3`, however it was written; nothing if it is no pair of cells."""
    if over := _OVER.fullmatch(text):
        text = f"{over[1]} {over[3]}" if _midway(over[1], over[2], over[3]) else ""
    text = _JOINED.sub(r"\1 \2", _WORDS.sub(" ", text).strip())
    ends = [read_cell(part) for part in _BETWEEN.split(text)]
    cells = [name_of(*cell) for cell in ends if cell]
    return " ".join(cells) if len(ends) == len(cells) == 2 else ""


def signs_words(knobs: Mapping[str, Any], signs: tuple[str, ...]) -> tuple[str, ...]:
    """The cells of a board, and each sign on each of them."""
    names = names_of(knobs["width"], knobs["height"])
    return (*names, *(f"{sign}:{name}" for sign in signs for name in names))


@functools.lru_cache(maxsize=64)
def jumps(holes: int, width: int, height: int) -> tuple[Jump, ...]:
    """(from, over, to) of each jump between holes, which are bits; in the order of the cells."""
    out = []
    for cell in range(width * height):
        y, x = divmod(cell, width)
        for dy, dx in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            if 0 <= y + 2 * dy < height and 0 <= x + 2 * dx < width:
                step = dy * width + dx
                jump = (1 << cell, 1 << cell + step, 1 << cell + 2 * step)
                if sum(jump) & holes == sum(jump):
                    out.append(jump)
    return tuple(out)


def last_peg(pegs: int, moves: tuple[Jump, ...], limit: int) -> tuple[list[int] | None, int]:
    """(the positions on a way to one peg, or None; how many were looked at), depth first; no position is tried twice."""
    failed: set[int] = set()

    def way(at: int) -> list[int] | None:
        if not at & at - 1:
            return [at]
        if at in failed or len(failed) > limit:
            return None
        for start, over, to in moves:
            if at & start and at & over and not at & to:
                rest = way(at ^ start ^ over ^ to)
                if rest:
                    return [at, *rest]
        failed.add(at)
        return None

    return way(pegs), len(failed)


@dataclass(frozen=True)
class Pegs:
    """Pegs as `pose.Rules`: `board` is the width, `now` the cells row by row, `o` a peg, `.` a hole, `#` none.

    Knobs: `width`, `height`, `cut` (cells without a hole in each corner: 0, or 1 for the corner itself), `jumps`.
    """

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Pose | None:
        """Take jumps back from one peg."""
        width, height = knobs["width"], knobs["height"]
        count, cut = width * height, (0, width - 1, width * height - width, width * height - 1) if knobs["cut"] else ()
        holes = ((1 << count) - 1) & ~sum(1 << c for c in cut)
        pegs = 1 << rng.pick([c for c in range(count) if holes >> c & 1])
        for _ in range(knobs["jumps"]):
            back = [j for j in jumps(holes, width, height) if pegs & j[2] and not pegs & (j[0] | j[1])]
            if not back:
                return None
            pegs ^= sum(rng.pick(back))
        now = "".join("o" if pegs >> c & 1 else "." if holes >> c & 1 else "#" for c in range(count))
        return Pose(str(width), now, knobs["jumps"] + SPARE)

    def layout(self, pose: Pose) -> str:
        return canonical(pose.now, int(pose.board), len(pose.now) // int(pose.board))

    def solved(self, board: str, now: str) -> bool:
        return now.count("o") == 1

    def _moves(self, board: str, now: str) -> tuple[Jump, ...]:
        return jumps(bits_of(now, "o."), int(board), len(now) // int(board))

    def options(self, board: str, now: str) -> list[tuple[str, str]]:
        names, pegs, out = names_of(int(board), len(now) // int(board)), bits_of(now, "o"), []
        for start, over, to in self._moves(board, now):
            if pegs & start and pegs & over and not pegs & to:
                one, gone, two = (bit.bit_length() - 1 for bit in (start, over, to))
                signs = list(now)
                signs[one], signs[gone], signs[two] = "..o"
                out.append((f"{names[one]} {names[two]}", "".join(signs)))
        return out

    def answer(self, board: str, now: str) -> Answer:
        """Any way to one peg: all have as many jumps."""
        path, count = last_peg(bits_of(now, "o"), self._moves(board, now), PEG_NODES)
        if path is None:
            return Unknown(count) if count > PEG_NODES else Unsolvable("every way to jump was tried")
        return along(self, board, now, path, lambda text: bits_of(text, "o"))

    def spell(self, text: str) -> str:
        cell, _, way = text.removeprefix("jump ").rpartition(" ")
        one = read_cell(cell) if way in AWAY else None
        if one and max(one) < LARGEST:
            text = f"{cell} {name_of(one[0] + 2 * AWAY[way][0], one[1] + 2 * AWAY[way][1])}"
        return spell(text)

    def caption(self, board: str, now: str, level: int) -> str:
        if level == 1:
            return f"Holes: {now.count('o') + now.count('.')}. Pegs: {now.count('o')}."
        return framed(now, int(board))

    def parse(self, caption: str) -> Pose:
        found = unframed(caption.split("\n"))
        if found is None or set(found[0]) - set("o.#"):
            raise QuintainError(f"this is no full caption of pegs: {caption[:60]!r}")
        return Pose(str(found[1]), found[0])

    def static(self, board: str, now: str) -> tuple[str, ...]:
        names = names_of(int(board), len(now) // int(board))
        return tuple([f"hole:{name}" for name, sign in zip(names, now, strict=True) if sign != "#"])

    def moving(self, board: str, now: str) -> tuple[str, ...]:
        names = names_of(int(board), len(now) // int(board))
        return tuple([f"o:{name}" for name, sign in zip(names, now, strict=True) if sign == "o"])

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        return signs_words(knobs, ("hole", "o"))

    def scene(self, board: str, now: str) -> Scene:
        looks = {"#": "", ".": "peg-board", "o": "peg-board+peg"}
        return labelled([looks[sign] for sign in now], int(board))


@functools.lru_cache(maxsize=4096)
def hops(holes: int, width: int, height: int) -> tuple[tuple[int, int], ...]:
    """(from, to) of each knight's move between holes, which are bits; in the order of the cells."""
    out = []
    for cell in range(width * height):
        y, x = divmod(cell, width)
        for dy, dx in ((-2, -1), (-2, 1), (-1, -2), (-1, 2), (1, -2), (1, 2), (2, -1), (2, 1)):
            if 0 <= y + dy < height and 0 <= x + dx < width:
                to = (y + dy) * width + x + dx
                if holes >> cell & 1 and holes >> to & 1:
                    out.append((1 << cell, 1 << to))
    return tuple(out)


def swaps(at: tuple[int, int], moves: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """The (white, black) knights after each move."""
    white, black = at
    both, out = white | black, []
    for start, to in moves:
        if both & start and not both & to:
            out.append((white ^ start ^ to, black) if white & start else (white, black ^ start ^ to))
    return out


def exchange(at: tuple[int, int], moves: tuple[tuple[int, int], ...], limit: int) -> int:
    """How many moves it takes at least to exchange the colours; -1 if that cannot be, or takes a look at more than `limit` positions.

    Two waves meet, from the start and from the goal; they are alike but for the colours, so that one of them is made.
    """
    # a position is one number, the black knights above the white ones
    up = max([to for _, to in moves], default=0).bit_length()
    low = (1 << up) - 1
    # by what is taken, the knight that may move and the bits that turn over
    turns: dict[int, list[tuple[int, int]]] = {}
    waves, seen, reached, total = [[at[0] | at[1] << up]], {at[0] | at[1] << up}, [0, 0], 2
    while True:
        side = len(waves[reached[0]]) > len(waves[reached[1]])
        reached[side] += 1
        if reached[side] == len(waves):
            wave = []
            for here in waves[-1]:
                taken = (here | here >> up) & low
                if taken not in turns:
                    turns[taken] = [(start, start ^ to) for start, to in moves if taken & start and not taken & to]
                for start, turned in turns[taken]:
                    there = here ^ (turned if here & start else turned << up)
                    if there not in seen:
                        seen.add(there)
                        wave.append(there)
            waves.append(wave)
        new, other = waves[reached[side]], waves[reached[not side]]
        total += len(new)
        if not {node >> up | (node & low) << up for node in new}.isdisjoint(other):
            return sum(reached)
        if not new or total > limit:
            return -1


def _sides(now: str) -> tuple[int, int]:
    return bits_of(now, "W"), bits_of(now, "B")


@dataclass(frozen=True)
class Knights:
    """Knights as `pose.Rules`: `now` has the cells row by row, `W` and `B` the knights, `.` a free cell, `#` none; `board` the width
    and, after a space, the goal.

    Knobs: `width`, `height`, `cells`, `knights` (of each colour), `low` and `high` (moves of the shortest plan).
    """

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Pose] | None:
        """Cells that hang together by knights' moves, with knights anywhere on them."""
        width, height, count = knobs["width"], knobs["height"], knobs["knights"]
        every = hops((1 << width * height) - 1, width, height)
        cells = {1 << rng.below(width * height)}
        while len(cells) < knobs["cells"]:
            more = sorted({to for start, to in every if start in cells and to not in cells})
            if not more:
                return None
            cells.add(rng.pick(more))
        held = rng.sample(sorted(cells), 2 * count)
        white, black = sum(held[:count]), sum(held[count:])
        moves = hops(sum(cells), width, height)
        now = "".join(
            "W" if white >> c & 1 else "B" if black >> c & 1 else "." if sum(cells) >> c & 1 else "#"
            for c in range(width * height)
        )
        pose = Pose(f"{width} {now.translate(OTHER)}", now)

        def finish() -> Pose | None:
            length = exchange((white, black), moves, knobs["nodes"])
            return replace(pose, budget=budget(length)) if knobs["low"] <= length <= knobs["high"] else None

        return Draft(pose, finish)

    def layout(self, pose: Pose) -> str:
        """The least text among the images of the board, also with the colours exchanged."""
        width = int(pose.board.split(" ")[0])
        one, two = pose.now, pose.now.translate(OTHER)
        return min(
            "".join([text[i] for i in order]) for order in symmetries(width, len(one) // width) for text in (one, two)
        )

    def solved(self, board: str, now: str) -> bool:
        return board.endswith(now)

    def options(self, board: str, now: str) -> list[tuple[str, str]]:
        width, out = int(board.split(" ")[0]), []
        height = len(now) // width
        names, both = names_of(width, height), bits_of(now, "WB")
        for start, to in hops(bits_of(now, "WB."), width, height):
            if both & start and not both & to:
                one, two = start.bit_length() - 1, to.bit_length() - 1
                signs = list(now)
                signs[one], signs[two] = ".", now[one]
                out.append((f"{names[one]} {names[two]}", "".join(signs)))
        return out

    def answer(self, board: str, now: str) -> Answer:
        """A shortest plan, by two waves that meet."""
        width, goal = int(board.split(" ")[0]), board.split(" ")[1]
        moves = hops(bits_of(now, "WB."), width, len(now) // width)
        path, ended = meet(_sides(now), _sides(goal), lambda at: swaps(at, moves), KNIGHT_NODES)
        if not path:
            return Unsolvable("the knights cannot get there") if ended else Unknown(KNIGHT_NODES)
        return along(self, board, now, path, _sides)

    def spell(self, text: str) -> str:
        return spell(text)

    def caption(self, board: str, now: str, level: int) -> str:
        width, goal = int(board.split(" ")[0]), board.split(" ")[1]
        if level == 1:
            home = sum(a == b and a in "WB" for a, b in zip(now, goal, strict=True))
            return f"{home} of {now.count('W') + now.count('B')} knights are where they should be; {len(now) - now.count('#')} cells."
        return f"{framed(now, width)}\ngoal:\n{framed(goal, width)}"

    def parse(self, caption: str) -> Pose:
        now, _, goal = caption.partition("\ngoal:\n")
        found, wanted = unframed(now.split("\n")), unframed(goal.split("\n"))
        if found is None or wanted is None or set(found[0]) - set("WB.#") or len(found[0]) != len(wanted[0]):
            raise QuintainError(f"this is no full caption of knights: {caption[:60]!r}")
        return Pose(f"{found[1]} {wanted[0]}", found[0])

    def static(self, board: str, now: str) -> tuple[str, ...]:
        width, goal = int(board.split(" ")[0]), board.split(" ")[1]
        names = names_of(width, len(now) // width)
        return tuple([f"{GOALS[sign]}:{name}" for name, sign in zip(names, goal, strict=True) if sign != "#"])

    def moving(self, board: str, now: str) -> tuple[str, ...]:
        names = names_of(int(board.split(" ")[0]), len(now) // int(board.split(" ")[0]))
        return tuple([f"{sign}:{name}" for name, sign in zip(names, now, strict=True) if sign in "WB"])

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        return signs_words(knobs, ("W", "B", *GOALS.values()))

    def scene(self, board: str, now: str) -> Scene:
        width, goal = int(board.split(" ")[0]), board.split(" ")[1]
        cells = [
            "" if a == "#" else f"knight-cell+{GOALS[b]}" + (f"+knight-{a}" if a in "WB" else "")
            for a, b in zip(now, goal, strict=True)
        ]
        return labelled(cells, width)


OTHER = str.maketrans("WB", "BW")
GOALS = {"W": "goal-W", "B": "goal-B", ".": "goal-none"}
COLORS = {"W": ("white", "slate"), "B": ("slate", "ink")}
_HEAD = (
    (0.3, 0.8),
    (0.34, 0.62),
    (0.47, 0.5),
    (0.36, 0.53),
    (0.26, 0.6),
    (0.2, 0.52),
    (0.34, 0.3),
    (0.44, 0.24),
    (0.46, 0.14),
)
_NECK = ((0.55, 0.24), (0.68, 0.36), (0.74, 0.55), (0.74, 0.8))


def _knight(fill: str, line: str) -> tuple[Shape, ...]:
    """The head of a horse on its foot."""
    return (
        Polygon(points=(*_HEAD, *_NECK), fill=fill, line=line, thick=0.05),
        Disc(x=0.43, y=0.35, radius=0.035, fill="ink" if fill == "white" else "white"),
        Box(x=0.24, y=0.77, width=0.56, height=0.1, fill=fill, line=line, thick=0.05, radius=0.04),
    )


def _goal(sign: str) -> tuple[Shape, ...]:
    """A corner in the colour of the knight that should stand here."""
    fill, line = COLORS[sign]
    return (Polygon(points=((0.04, 0.04), (0.32, 0.04), (0.04, 0.32)), fill=fill, line=line, thick=0.035),)


tiles(
    {
        "peg-board": (
            Box(x=0, y=0, width=1, height=1, fill="wood"),
            Box(x=0.02, y=0.02, width=0.96, height=0.96, fill="sand", radius=0.06),
            Disc(x=0.5, y=0.5, radius=0.19, fill="bark"),
        ),
        "peg": (
            Disc(x=0.52, y=0.55, radius=0.33, fill="bark"),
            Disc(x=0.5, y=0.5, radius=0.33, fill="blue", line="navy", thick=0.05),
            Disc(x=0.41, y=0.4, radius=0.1, fill="sky"),
        ),
        "knight-cell": (
            Box(x=0, y=0, width=1, height=1, fill="wood"),
            Box(x=0.02, y=0.02, width=0.96, height=0.96, fill="sand", radius=0.04),
        ),
        "goal-none": (),
        **{f"goal-{sign}": _goal(sign) for sign in "WB"},
        **{f"knight-{sign}": _knight(*COLORS[sign]) for sign in "WB"},
    }
)
