"""Notes that fall in four lanes: press exactly the lanes in which notes reach the line this turn."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

from quintain.worlds.art import tiles
from quintain.worlds.directions import WAITS
from quintain.worlds.engines.arcade.falling import empty, falling, landings, seen, shower
from quintain.worlds.engines.arcade.loop import Frame, Look, Stage, ending, left, planned
from quintain.worlds.kernel import Answer, Choices, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Polygon, Shape
from quintain.worlds.splits import Draft

LANES = 4
SETS = [[lane for lane in range(LANES) if bits >> lane & 1] for bits in range(1 << LANES)]
DIGITS = ["".join(str(lane + 1) for lane in lanes) for lanes in SETS]
NAMES = [f"tap{digits}" if digits else "wait" for digits in DIGITS]
ACTIONS = Choices(
    *NAMES,
    synonyms=WAITS
    | {
        f"{word}{said}": f"tap{digits}"
        for digits in DIGITS[1:]
        for order in permutations(digits)
        for said in (
            *(sign.join(order) for sign in ("", " ", ",", ", ", "+", " and ")),
            ", ".join(order[:-1]) + f" and {order[-1]}",
        )
        for word in ("tap", *(f"{verb} {lanes}" for verb in ("tap", "press") for lanes in ("", "lane ", "lanes ")))
        if f"{word}{said}" != f"tap{digits}"
    },
)
INDEX = {name: bits for bits, name in enumerate(NAMES)}


class Beat:
    """The rules of the notes.

    `Stage.data` holds the notes (kind 0), `Frame.score` the hits, `Frame.at` the misses that are left. A miss is a note
    that lands in a lane that is not pressed, or a pressed lane in which none lands; the game ends with the miss after
    the last.
    """

    actions = ACTIONS
    sprites: Mapping[str, str] = {str(s): f"beat-note-{s}" for s in (1, 2, 3)}

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Frame]:
        height, goal = knobs["height"], knobs["goal"]
        notes = shower(rng, {**knobs, "width": LANES, "stars": 0}, knobs["high"] + 8)
        stage = Stage(LANES, height, knobs["high"], goal, data=notes)
        frame = Frame(stage, 0, (knobs["misses"],))
        return planned(frame, lambda: self.plan(frame), lambda moves: moves + knobs["slack"])

    def advance(self, frame: Frame, action: str) -> Frame:
        stage, pressed = frame.stage, INDEX[action]
        notes = landings(stage.data, stage.height).get(frame.turn, (0, 0))[0]
        score = min(frame.score + (notes & pressed).bit_count(), stage.goal)
        misses = frame.at[0] - (notes ^ pressed).bit_count()
        over = ending(frame, score >= stage.goal, misses < 0)
        return Frame(stage, frame.turn + 1, (max(misses, 0),), (), score, over)

    def plan(self, frame: Frame) -> Answer:
        if frame.over:
            return Unsolvable("the episode is over")
        stage, table = frame.stage, landings(frame.stage.data, frame.stage.height)
        score, moves = frame.score, []
        for turn in range(frame.turn, stage.turns):  # no press hits more than the exact one, and none misses less
            notes = table.get(turn, (0, 0))[0]
            moves.append(ACTIONS.moves[notes])
            score += notes.bit_count()
            if score >= stage.goal:
                return Plan(tuple(moves), first=tuple(moves[:1]))
        return Unsolvable("too few notes land in the turns that are left")

    def look(self, frame: Frame) -> Look:
        stage = frame.stage
        signs = falling(stage, frame.turn, empty(LANES, stage.height))
        counters = (left(frame), ("hits", str(stage.goal - frame.score)), ("misses", str(frame.at[0])))
        return Look(LANES, signs, counters, (), frame.over)

    def restore(self, look: Look) -> Frame:
        counters = {name: int(value) for name, value in look.counters}
        height = len(look.signs) // LANES
        stage = Stage(LANES, height, counters["turns"], counters["hits"], data=seen(look))
        return Frame(stage, 0, (counters["misses"],), over=look.over)

    def brief(self, frame: Frame) -> str:
        need, turns = frame.stage.goal - frame.score, left(frame)[1]
        return f"Hits still to be made: {need}. Misses allowed: {frame.at[0]}. Turns left: {turns}."

    def ground(self, frame: Frame) -> tuple[str, ...]:
        return _ground(frame.stage.height)

    def lexicon(self, knobs: Mapping[str, Any]) -> tuple[int, int, Sequence[str], Sequence[str]]:
        return LANES, knobs["height"], ("turns", "hits", "misses"), ()


@functools.lru_cache(maxsize=16)
def _ground(height: int) -> tuple[str, ...]:
    return (*["beat-lane"] * (LANES * (height - 1)), *[f"beat-key-{lane}" for lane in range(1, LANES + 1)])


def _note(speed: int) -> tuple[Shape, ...]:
    """A note with a chevron for each cell that it falls per turn."""
    fill, line = (("sky", "navy"), ("gold", "rust"), ("plum", "wine"))[speed - 1]
    tops = [0.42 + (i - (speed - 1) / 2) * 0.16 for i in range(speed)]
    marks = tuple(
        Polygon(points=((0.36, y), (0.5, y + 0.12), (0.64, y)), line="ink", thick=0.06, closed=False) for y in tops
    )
    return (Box(x=0.14, y=0.1, width=0.72, height=0.8, fill=fill, line=line, thick=0.05, radius=0.2), *marks)


ART: dict[str, tuple[Shape, ...]] = {
    "beat-lane": (
        Box(x=0, y=0, width=1, height=1, fill="slate"),
        Box(x=0.49, y=0, width=0.02, height=1, fill="stone"),
        Box(x=0, y=0, width=0.02, height=1, fill="cloud"),
        Box(x=0, y=0.985, width=1, height=0.015, fill="stone"),
    ),
    **{
        f"beat-key-{lane}": (
            Box(x=0, y=0, width=1, height=1, fill="ink"),
            Box(x=0, y=0, width=1, height=0.08, fill="white"),
            Disc(x=0.5, y=0.54, radius=0.36, fill="stone", line="white", thick=0.05),
            *(Disc(x=0.5 + (i - (lane - 1) / 2) * 0.16, y=0.54, radius=0.06, fill="white") for i in range(lane)),
        )
        for lane in range(1, LANES + 1)
    },
    **{f"beat-note-{s}": _note(s) for s in (1, 2, 3)},
    "icon-hits": _note(1),
    "icon-misses": tuple(
        Polygon(points=((0.24, y), (0.8, 1.04 - y)), line="brick", thick=0.14, closed=False) for y in (0.26, 0.78)
    ),
}
tiles(ART)
