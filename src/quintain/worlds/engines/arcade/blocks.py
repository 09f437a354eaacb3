"""Falling blocks: each piece is steered while it falls, full rows vanish, and the next pieces are shown beside the well."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quintain.worlds.art import tiles
from quintain.worlds.directions import WAITS
from quintain.worlds.engines.arcade.loop import BLANK, Frame, Ints, Look, Stage, ending, left, planned
from quintain.worlds.engines.arcade.quest import Leg, answered
from quintain.worlds.kernel import Answer, Choices, GenerationError
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Polygon, Shape
from quintain.worlds.splits import Draft

FIXED, WALL = "#", "|"
SIDE = 5  # columns right of the well: a wall and a panel for the next pieces
APART = 3  # rows of the panel for each of the next pieces
QUEUE = 24  # pieces in the order in which they come; after the last comes the first again
ACTIONS = Choices(
    *("wait", "left", "right", "turn", "drop"),
    synonyms=WAITS
    | {"l": "left", "r": "right", "d": "drop", "hard drop": "drop"}
    | dict.fromkeys(("t", "rotate", "rotate clockwise", "turn clockwise", "clockwise", "cw"), "turn"),
)
# the rows of each piece as it enters; the first three are for beginners
PIECES = {
    "A": ("##",),
    "B": ("###",),
    "C": ("#.", "##"),
    "I": ("####",),
    "O": ("##", "##"),
    "T": (".#.", "###"),
    "S": (".##", "##."),
    "Z": ("##.", ".##"),
    "J": ("#..", "###"),
    "L": ("..#", "###"),
}
KINDS = "".join(PIECES)
Form = tuple[int, ...]  # rows as bits, bit 0 at the left


def _turns(rows: Sequence[str]) -> tuple[tuple[int, Form], ...]:
    """Width and rows of a piece after 0, 1, 2 and 3 quarter turns clockwise, without repeats."""
    out: dict[tuple[int, Form], None] = {}
    for _ in range(4):
        out[len(rows[0]), tuple(sum(1 << x for x, s in enumerate(row) if s == "#") for row in rows)] = None
        rows = ["".join(column) for column in zip(*rows[::-1], strict=True)]
    return tuple(out)


FORMS = tuple(_turns(rows) for rows in PIECES.values())


def fits(rows: Ints, form: tuple[int, Form], x: int, y: int, well: int) -> bool:
    """Whether a form lies inside the well and on free cells only."""
    wide, bits = form
    if x < 0 or x + wide > well or y + len(bits) > len(rows):
        return False
    for b in bits:
        if rows[y] & b << x:
            return False
        y += 1
    return True


def settled(rows: Ints, form: tuple[int, Form], x: int, y: int, well: int) -> tuple[Ints, int]:
    """The rows after a piece has come to rest, without the full ones, and how many these were."""
    out, full = [*rows], (1 << well) - 1
    for j, bits in enumerate(form[1]):
        out[y + j] |= bits << x
    kept = [row for row in out if row != full]
    gone = len(out) - len(kept)
    return (*[0] * gone, *kept), gone


def cost(rows: Ints, well: int) -> float:
    """How bad a heap is: covered holes, steps between columns, height."""
    holes = steps = squares = above = 0
    tops, high = [0] * well, len(rows)
    for row in rows:
        if row or above:
            holes += (above & ~row).bit_count()
            fresh = row & ~above
            above |= row
            while fresh:
                low = fresh & -fresh
                tops[low.bit_length() - 1] = high
                fresh ^= low
        high -= 1
    before = tops[0]
    for top in tops:
        steps += abs(top - before)
        squares += top * top
        before = top
    return 4.0 * holes + 0.5 * steps + 0.06 * squares


class Blocks:
    """The rules of the blocks.

    `Stage.data` is (the queue of pieces,), `Frame.at` (number of the piece, quarter turns, column, row), `Frame.things` the
    rows of the heap as bits, `Frame.score` the rows that have vanished. The board is wider than the well by `SIDE`.
    """

    actions = ACTIONS
    sprites: Mapping[str, str] = {FIXED: "block-fixed", WALL: "block-wall", **{s: f"block-{s}" for s in KINDS}}

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Frame]:
        well, height, junk, goal = knobs["well"], knobs["height"], knobs["junk"], knobs["goal"]
        if height < APART * knobs["shown"]:
            raise GenerationError(
                f"{knobs['shown']} pieces to come do not fit beside {height} rows; they take {APART} each"
            )
        queue: list[int] = []
        while len(queue) < QUEUE:
            bag = [KINDS.index(kind) for kind in knobs["kinds"]]
            rng.shuffle(bag)
            queue += bag
        rows = [0] * (height - junk)
        for _ in range(junk):
            rows.append((1 << well) - 1 - sum(1 << x for x in rng.sample(range(well), 1 + rng.below(well // 2))))
        cells = (BLANK * well + WALL + BLANK * (SIDE - 1)) * height
        stage = Stage(well + SIDE, height, 999, goal, cells, (tuple(queue[:QUEUE]), (knobs["shown"],)))
        frame = _entered(stage, 0, 0, tuple(rows), 0)
        found = functools.partial(answered, self, frame, self._legs, _worth, 12 * goal, 1)
        return planned(frame, found, lambda moves: moves * 5 // 4 + 5)

    def advance(self, frame: Frame, action: str) -> Frame:
        stage, (number, spin, x, y), rows = frame.stage, frame.at, frame.things[0]
        well, forms = stage.width - SIDE, FORMS[stage.data[0][number % len(stage.data[0])]]
        if action == "turn":
            to = (spin + 1) % len(forms)
            spin = to if fits(rows, forms[to], x, y, well) else spin
        elif action in ("left", "right"):
            to = x + (1 if action == "right" else -1)
            x = to if fits(rows, forms[spin], to, y, well) else x
        form = forms[spin]
        while (falls := fits(rows, form, x, y + 1, well)) and action == "drop":
            y += 1
        if falls:
            over = ending(frame, False, False)
            return Frame(stage, frame.turn + 1, (number, spin, x, y + 1), frame.things, frame.score, over)
        rows, gone = settled(rows, form, x, y, well)
        return _entered(stage, frame.turn + 1, number + 1, rows, frame.score + gone)

    def _legs(self, frame: Frame) -> Iterator[Leg]:
        """Every quarter turn and column that the piece reaches in the free, dropped from there."""
        stage, (number, spin, *_) = frame.stage, frame.at
        well, forms = stage.width - SIDE, FORMS[stage.data[0][number % len(stage.data[0])]]
        words: list[str] = []
        for turns in range(len(forms)):
            last = well - forms[(spin + turns) % len(forms)][0]
            lefts = self._pushed(frame, "left", number)
            rights = self._pushed(frame, "right", number)
            ahead = [(["left"] * n, after) for n, after in enumerate(lefts)][:0:-1]
            for side, after in (*ahead, *((["right"] * n, after) for n, after in enumerate(rights))):
                if after.at[2] <= last:
                    yield (*words, *side, "drop"), self.advance(after, "drop")
            words.append("turn")
            frame = self.advance(frame, "turn")
            if frame.over or frame.at[0] != number:
                return

    def _pushed(self, frame: Frame, side: str, number: int) -> list[Frame]:
        """The frames of a piece that is pushed to one side, as far as that goes while it falls; the first is as it was."""
        out = []
        while not frame.over and frame.at[0] == number and (not out or frame.at[2] != out[-1].at[2]):
            out.append(frame)
            frame = self.advance(frame, side)
        return out

    def plan(self, frame: Frame) -> Answer:
        return answered(self, frame, self._legs, _worth, 150)

    def look(self, frame: Frame) -> Look:
        stage, (number, spin, x, y), rows = frame.stage, frame.at, frame.things[0]
        width, (queue, (shown,)) = stage.width, stage.data
        well, signs = width - SIDE, [*stage.cells]
        for j, row in enumerate(rows):
            for i in range(well):
                if row >> i & 1:
                    signs[j * width + i] = FIXED
        kind = queue[number % len(queue)]
        _draw(signs, width, FORMS[kind][spin], (x, y, KINDS[kind]))
        for n in range(shown):
            kind = queue[(number + 1 + n) % len(queue)]
            _draw(signs, width, FORMS[kind][0], (well + 1, APART * n, KINDS[kind]))
        counters = (left(frame), ("lines", str(max(stage.goal - frame.score, 0))))
        return Look(width, "".join(signs), counters, (), frame.over)

    def restore(self, look: Look) -> Frame:
        counters, width = {name: int(value) for name, value in look.counters}, look.width
        well, lines = width - SIDE, [look.signs[i : i + width] for i in range(0, len(look.signs), width)]
        rows = tuple(sum(1 << x for x in range(well) if line[x] == FIXED) for line in lines)
        spots = [(x, y) for y, line in enumerate(lines) for x in range(well) if line[x] in KINDS]
        x, y = min(s[0] for s in spots), spots[0][1]
        kind = KINDS.index(lines[spots[0][1]][spots[0][0]])
        forms = [{(i, j) for j, bits in enumerate(f[1]) for i in range(f[0]) if bits >> i & 1} for f in FORMS[kind]]
        spin = forms.index({(i - x, j - y) for i, j in spots})
        ahead = ["".join(line[well + 1 :]).replace(BLANK, "") for line in lines[::APART]]
        queue = (kind, *(KINDS.index(signs[0]) for signs in ahead if signs))
        cells = (BLANK * well + WALL + BLANK * (SIDE - 1)) * len(lines)
        data = (queue, (len(queue) - 1,))
        stage = Stage(width, len(lines), counters["turns"], counters["lines"], cells, data)
        return Frame(stage, 0, (0, spin, x, y), (rows,), over=look.over)

    def brief(self, frame: Frame) -> str:
        stage, (number, _, x, y) = frame.stage, frame.at
        queue = stage.data[0]
        kinds = [KINDS[queue[(number + n) % len(queue)]] for n in range(stage.data[1][0] + 1)]
        where = f"The left edge of piece {kinds[0]} is in column {x + 1} of {stage.width - SIDE}, its top in row {y + 1} of {stage.height}."
        need = f"Lines still to be filled: {max(stage.goal - frame.score, 0)}. Turns left: {left(frame)[1]}."
        return f"{where} Then come {' '.join(kinds[1:])}. {need}"

    def ground(self, frame: Frame) -> tuple[str, ...]:
        return _ground(frame.stage.width, frame.stage.height)

    def lexicon(self, knobs: Mapping[str, Any]) -> tuple[int, int, Sequence[str], Sequence[str]]:
        return knobs["well"] + SIDE, knobs["height"], ("turns", "lines"), ()


def _entered(stage: Stage, turn: int, number: int, rows: Ints, score: int) -> Frame:
    """The frame in which a piece enters at the top, in the middle; the game is lost if it has no room there."""
    well = stage.width - SIDE
    form = FORMS[stage.data[0][number % len(stage.data[0])]][0]
    at = (number, 0, (well - form[0]) // 2, 0)
    won, hit = score >= stage.goal, not fits(rows, form, at[2], 0, well)
    over = ending(Frame(stage, turn - 1, at), won, hit and not won)
    return Frame(stage, turn, at, (rows,), score, over)


def _worth(frame: Frame) -> float:
    return cost(frame.things[0], frame.stage.width - SIDE) - 8.0 * frame.score - 2.0 * frame.at[0]


def _draw(signs: list[str], width: int, form: tuple[int, Form], put: tuple[int, int, str]) -> None:
    x, y, sign = put
    for j, bits in enumerate(form[1]):
        for i in range(form[0]):
            if bits >> i & 1:
                signs[(y + j) * width + x + i] = sign


@functools.lru_cache(maxsize=64)
def _ground(width: int, height: int) -> tuple[str, ...]:
    row = ("block-well",) * (width - SIDE) + ("block-panel",) * SIDE
    return row * height


def _block(fill: str, line: str, shine: str = "white") -> tuple[Shape, ...]:
    return (
        Box(x=0.02, y=0.02, width=0.96, height=0.96, fill=line, radius=0.08),
        Polygon(points=((0.1, 0.9), (0.1, 0.1), (0.9, 0.1)), line=shine, thick=0.06, closed=False),
        Box(x=0.16, y=0.16, width=0.68, height=0.68, fill=fill, radius=0.05),
    )


HUES = (("mint", "green"), ("sand", "bark"), ("frost", "blue"), ("sky", "blue"), ("gold", "amber"))
HUES += (("plum", "wine"), ("green", "forest"), ("brick", "rust"), ("blue", "navy"), ("amber", "rust"))
ART: dict[str, tuple[Shape, ...]] = {
    "block-well": (
        Box(x=0, y=0, width=1, height=1, fill="ink"),
        Box(x=0.02, y=0.02, width=0.96, height=0.96, fill="slate"),
    ),
    "block-panel": (),
    "block-wall": (Box(x=0, y=0, width=0.3, height=1, fill="stone"),),
    "block-fixed": _block("cloud", "stone", "seam"),
    **{f"block-{kind}": _block(*hues) for kind, hues in zip(KINDS, HUES, strict=True)},
    "icon-lines": tuple(
        Box(x=x, y=y, width=0.2, height=0.22, fill=fill, radius=0.03)
        for y, fill in ((0.26, "stone"), (0.54, "gold"))
        for x in (0.16, 0.4, 0.64)
        if fill == "gold" or x != 0.4
    ),
}
tiles(ART)
