"""Jugs without marks: fill, empty and pour until one holds the amount that is asked."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quintain.types import QuintainError
from quintain.worlds.engines.slide.pose import Pose, spread, trail
from quintain.worlds.kernel import Answer, Move, Plan, Unknown, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Polygon, Run, Scene, Shape

NAMES = "abcde"
NODES = 60_000
SPARE = 2  # turns more than the shortest plan has: to pour on and on round the jugs is no plan
_TEXT = re.compile(
    r"(?:(fill|empty)(?: up| out)?(?: the)?(?: jug)? ([a-e])(?: to the brim| up| out| completely)?|"
    r"(?:pour |transfer )(?:from )?(?:jug )?([a-e])(?: ?(?:,|->|>) ?| (?:in)?to (?:jug )?| )([a-e]))",
    re.ASCII,
)
_LINE = re.compile(r"([a-e]): (\d+) of (\d+)", re.ASCII)
_GOAL = re.compile(r"goal: (\d+) in ([a-e])", re.ASCII)
Amounts = tuple[int, ...]


@functools.lru_cache(maxsize=1 << 13)
def numbers(text: str) -> Amounts:
    """The numbers of a text, in order."""
    return tuple(int(part) for part in text.split())


def changes(caps: Amounts, now: Amounts, tap: int) -> list[tuple[str, Amounts]]:
    """Each move that changes something, with the amounts after it."""
    out = []

    def put(key: str, *new: tuple[int, int]) -> None:
        after = list(now)
        for jug, amount in new:
            after[jug] = amount
        out.append((key, tuple(after)))

    for i, (cap, held) in enumerate(zip(caps, now, strict=True)):
        for j, other in enumerate(now):
            flow = min(held, caps[j] - other)
            if i != j and flow:
                put(f"pour {NAMES[i]} {NAMES[j]}", (i, held - flow), (j, other + flow))
        if tap and held < cap:
            put(f"fill {NAMES[i]}", (i, cap))
        if tap and held:
            put(f"empty {NAMES[i]}", (i, 0))
    return out


@dataclass(frozen=True)
class Jugs:
    """Jugs as `pose.Rules`: `board` has the goal's jug, the goal, whether there is a tap, and what each jug holds; `now` the amounts.

    Knobs: `jugs`, `most` (the largest jug at most), `tap` (1: jugs can be filled and emptied), `low` and `high` (moves of the
    shortest plan).
    """

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Pose | None:
        """Draw jugs and amounts, look at all that can be reached, and ask for what is first met after so many moves."""
        caps = tuple(rng.sample(range(3, knobs["most"] + 1), knobs["jugs"]))
        now = tuple(rng.below(cap + 1) for cap in caps)
        came, _, _ = spread([now], lambda at: [after for _, after in changes(caps, at, knobs["tap"])], NODES)
        far: dict[Amounts, int] = {}
        met: dict[tuple[int, int], int] = {}
        for node, before in came.items():
            far[node] = 0 if before is None else far[before] + 1
            for held in enumerate(node):
                met.setdefault(held, far[node])
        fit = [held for held, moves in met.items() if knobs["low"] <= moves <= knobs["high"] and held[1]]
        if not fit:
            return None
        goal = rng.pick(fit)
        return Pose(" ".join(map(str, (*goal, knobs["tap"], *caps))), " ".join(map(str, now)), met[goal] + SPARE)

    def layout(self, pose: Pose) -> str:
        """What is drawn, jugs in order of size, the asked one first of all."""
        jug, goal, tap, *caps = numbers(pose.board)
        jugs = sorted((i != jug, cap, held) for i, (cap, held) in enumerate(zip(caps, numbers(pose.now), strict=True)))
        return f"{goal} {tap} {jugs}"

    def solved(self, board: str, now: str) -> bool:
        jug, goal, *_ = numbers(board)
        return numbers(now)[jug] == goal

    def options(self, board: str, now: str) -> list[tuple[str, str]]:
        _, _, tap, *caps = numbers(board)
        return [(key, " ".join(map(str, after))) for key, after in changes(tuple(caps), numbers(now), tap)]

    def answer(self, board: str, now: str) -> Answer:
        """A shortest plan, breadth first."""
        jug, goal, tap, *rest = numbers(board)
        caps = tuple(rest)
        came, there, whole = spread(
            [numbers(now)], lambda at: [after for _, after in changes(caps, at, tap)], NODES, lambda at: at[jug] == goal
        )
        if there is None:
            return Unsolvable("every way to pour was tried") if whole else Unknown(len(came))
        path = trail(came, there)
        keys = [{after: key for key, after in changes(caps, a, tap)}[b] for a, b in itertools.pairwise(path)]
        return Plan(tuple(Move(key) for key in keys))

    def spell(self, text: str) -> str:
        found = _TEXT.fullmatch(text)
        if not found:
            return ""
        return f"{found[1]} {found[2]}" if found[1] else f"pour {found[3]} {found[4]}"

    def caption(self, board: str, now: str, level: int) -> str:
        jug, goal, tap, *caps = numbers(board)
        held = numbers(now)
        if level == 1:
            return f"Goal: {goal} in {NAMES[jug]}. Now: {', '.join(f'{n} {h}' for n, h in zip(NAMES, held, strict=False))}."
        lines = [f"{n}: {h} of {c}" for n, h, c in zip(NAMES, held, caps, strict=False)]
        return "\n".join([*lines, f"goal: {goal} in {NAMES[jug]}", f"tap: {'yes' if tap else 'no'}"])

    def parse(self, caption: str) -> Pose:
        *lines, goal, tap = caption.split("\n")
        jugs, wanted = [_LINE.fullmatch(line) for line in lines], _GOAL.fullmatch(goal)
        if not jugs or None in jugs or wanted is None:
            raise QuintainError(f"this is no full caption of jugs: {caption[:60]!r}")
        found = [jug for jug in jugs if jug]
        caps, held = " ".join(jug[3] for jug in found), " ".join(jug[2] for jug in found)
        return Pose(f"{NAMES.index(wanted[2])} {wanted[1]} {int(tap == 'tap: yes')} {caps}", held)

    def static(self, board: str, now: str) -> tuple[str, ...]:
        jug, goal, tap, *caps = numbers(board)
        return (
            f"goal:{NAMES[jug]}",
            f"goal:{goal}",
            f"tap:{tap}",
            *[f"{n}/{c}" for n, c in zip(NAMES, caps, strict=False)],
        )

    def moving(self, board: str, now: str) -> tuple[str, ...]:
        return tuple([f"{n}:{h}" for n, h in zip(NAMES, numbers(now), strict=False)])

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        names, amounts = NAMES[: knobs["jugs"]], range(knobs["most"] + 1)
        kept = (*(f"goal:{n}" for n in (*names, *amounts)), "tap:0", "tap:1")
        return (
            "fill",
            "empty",
            "pour",
            *names,
            *kept,
            *(f"{n}{sign}{a}" for n in names for sign in ":/" for a in amounts),
        )

    def scene(self, board: str, now: str) -> Scene:
        jug, goal, tap, *caps = numbers(board)
        side = 8.0
        unit, share = 4.6 / max(caps), side / len(caps)
        shapes: list[Shape] = [
            Run(text=f"goal: {goal} in {NAMES[jug]}", x=4.6 if tap else 4.0, y=0.75, size=0.62, color="forest")
        ]
        shapes += TAP if tap else ()
        for i, (cap, held) in enumerate(zip(caps, numbers(now), strict=True)):
            shapes += _jug(
                (NAMES[i], cap, held, goal if i == jug else 0), (i + 0.5) * share, unit, min(share * 0.36, 0.8)
            )
        return Scene(width=side, height=side, shapes=tuple(shapes))


TAP: tuple[Shape, ...] = (
    Box(x=0.25, y=0.55, width=1.1, height=0.3, fill="cloud", line="slate", thick=0.05),
    Box(x=0.72, y=0.28, width=0.2, height=0.3, fill="slate"),
    Box(x=0.5, y=0.2, width=0.64, height=0.14, fill="slate", radius=0.05),
    Box(x=1.05, y=0.55, width=0.3, height=0.55, fill="cloud", line="slate", thick=0.05),
    Polygon(points=((1.2, 1.16), (1.32, 1.42), (1.2, 1.5), (1.08, 1.42)), fill="sky"),
)


@functools.lru_cache(maxsize=4096)
def _jug(said: tuple[str, int, int, int], x: float, unit: float, half: float) -> tuple[Shape, ...]:
    """A jug with its water, a mark of the goal at its side, what it holds and its name below."""
    name, cap, held, goal = said
    low = 6.5
    top, water = low - cap * unit, low - held * unit
    out: list[Shape] = [Box(x=x - half, y=top, width=2 * half, height=low - top, fill="white")]
    if held:
        out.append(Box(x=x - half, y=water, width=2 * half, height=low - water, fill="sky"))
        out.append(Box(x=x - half, y=water, width=2 * half, height=0.08, fill="blue"))
    walls = ((x - half - 0.12, top - 0.12), (x - half, top), (x - half, low), (x + half, low), (x + half, top))
    out.append(Polygon(points=walls, line="slate", thick=0.12, closed=False))
    if goal:
        y = low - goal * unit
        out.append(Polygon(points=((x - half, y), (x + half, y)), line="forest", thick=0.08, closed=False))
        out.append(
            Polygon(
                points=((x + half + 0.06, y), (x + half + 0.3, y - 0.16), (x + half + 0.3, y + 0.16)), fill="forest"
            )
        )
    out.append(Run(text=f"{held}/{cap}", x=x, y=6.95, size=0.56, color="ink"))
    out.append(Run(text=name, x=x, y=7.55, size=0.6, color="stone"))
    return tuple(out)
