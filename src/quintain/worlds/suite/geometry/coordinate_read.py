"""CoordinateRead: where points lie after a chain of moves of the plane."""

from __future__ import annotations

from collections.abc import Mapping

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import PARTIAL, SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import Canvas
from quintain.worlds.engines.geometry.exact import scattered
from quintain.worlds.engines.geometry.figure import (
    LETTERS,
    Spot,
    Things,
    Words,
    grid_words,
    lettered,
    named,
    number_words,
    of,
    spot,
    word,
)
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Run

RULES = (
    """Points lie on a lattice; x runs to the right, y upward. Steps move all of them, one after the other.
Say where they lie after the last.
`shift (2,0) to (5,1)` carries everything by what carries (2,0) to (5,1); `turn 90 about (4,4)` turns left, against the clock;
`mirror x=7` mirrors in that upright line, `mirror y=7` in that level one; `stretch 2 from (4,4)` doubles all distances from that point.
A line `point A (3,5)` says that point A lies at x=3, y=5."""
    + PARTIAL
)
SIDE = 16
LEVELS = [
    {"points": n, "steps": k}
    for n, k in ((2, 1), (2, 2), (3, 2), (3, 3), (3, 4), (3, 5), (4, 5), (4, 6), (5, 6), (5, 7))
]
TURNS = {"90": (0, -1, 1, 0), "180": (-1, 0, 0, -1), "270": (0, 1, -1, 0)}


def _moved(p: Spot, step: Words) -> Spot:
    """Where a step carries a point."""
    kind, what = step[0], step[1]
    if kind == "shift":
        (ax, ay), (bx, by) = spot(what), spot(step[3])
        return p[0] + bx - ax, p[1] + by - ay
    if kind == "mirror":
        line = 2 * int(what[2:])
        return (line - p[0], p[1]) if what[0] == "x" else (p[0], line - p[1])
    cx, cy = spot(step[3])
    a, b, c, d = TURNS[what] if kind == "turn" else (2, 0, 0, 2)
    x, y = p[0] - cx, p[1] - cy
    return cx + a * x + b * y, cy + c * x + d * y


def _step(rng: Rng) -> Words:
    one, two = (word(rng.below(SIDE + 1), rng.below(SIDE + 1)) for _ in range(2))
    kind = rng.pick(("shift", "turn", "turn", "mirror", "mirror", "stretch"))
    if kind == "shift":
        return kind, one, "to", two
    if kind == "turn":
        return kind, rng.pick(tuple(TURNS)), "about", one
    return (kind, f"{rng.pick('xy')}={2 + rng.below(SIDE - 3)}") if kind == "mirror" else (kind, "2", "from", one)


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    spots = scattered(rng, knobs["points"], SIDE, 5, 1)
    if not spots:
        return None
    things, steps = lettered(spots), list[Words]()
    for _ in range(knobs["steps"] * 30):
        step = _step(rng)
        after = [_moved(p, step) for p in spots]
        if after != spots and all(0 <= c <= SIDE for p in after for c in p) and (not steps or step[0] != steps[-1][0]):
            steps.append(step)
            spots = after
            if len(steps) == knobs["steps"]:
                return *things, *(("step", str(i), *s) for i, s in enumerate(steps, 1))
    return None


def _truth(things: Things) -> Words:
    spots = list(named(things).values())
    for _, *step in of(things, "step"):
        spots = [_moved(p, tuple(step)) for p in spots]
    return tuple(word(*p) for p in spots)


def _rule(step: Words) -> str:
    """Where a step carries (x,y)."""
    (kx, ky), (ax, ay), (bx, by) = (_moved(p, step) for p in ((0, 0), (1, 0), (0, 1)))
    signs = {1: "x", -1: "-x", 2: "2x", 0: ""}
    rows = ((ax - kx, bx - kx, kx), (ay - ky, by - ky, ky))
    return ",".join([f"{signs[a]}{signs[b].replace('x', 'y')}{f'{k:+d}' if k else ''}" for a, b, k in rows])


def _why(things: Things) -> str:
    spots, out = list(named(things).values()), []
    for number, *step in of(things, "step"):
        spots = [_moved(p, tuple(step)) for p in spots]
        out.append(f"Step {number} takes (x,y) to ({_rule(tuple(step))}): {' '.join(word(*p) for p in spots)}.")
    return " ".join(out)


def _paint(things: Things) -> Canvas:
    steps, points = [f"{s[0]}: {' '.join(s[1:])}" for s in of(things, "step")], named(things)
    canvas = Canvas(SIDE, top=0.45 + 0.42 * ((len(steps) + 1) // 2))
    for i, text in enumerate(steps):
        canvas.shapes.append(Run(text=text, x=2.1 + 3.9 * (i % 2), y=0.34 + 0.42 * (i // 2), size=0.32, color="slate"))
    if len(points) == 3:
        canvas.polygon(points.values(), fill="sand", line="bark", thick=0.05)
    for p in points.values():
        canvas.dot(p, "rust")
    canvas.names(points.items(), size=0.36)
    return canvas


def _guess(things: Things, rng: Rng) -> Words:
    return tuple(word(rng.below(SIDE + 1), rng.below(SIDE + 1)) for _ in named(things))


@register("world", "CoordinateRead", domain="geometry", engine="geometry")
def coordinate_read() -> AskWorld:
    """Say where 2 to 5 points lie after 1 to 7 shifts, turns, mirrorings and stretchings."""
    facts = Facts(
        name="CoordinateRead",
        rules=RULES,
        answer="Write the points after the last step, in the order of their letters.",
        example="(3,5) (8,2) (4,4)",
        ceilings={"random": 0.02, "constant": 0.02, "first": 0.02, "blind": 0.03},
        sayings=SAYINGS,
    )
    kinds = ("point", "step", "shift", "to", "turn", "about", "mirror", "stretch", "from", *TURNS)
    axes = tuple(f"{axis}={n}" for axis in "xy" for n in range(SIDE + 1))
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="point"),
        lexicon=(*kinds, *axes, *LETTERS, *number_words(9), *grid_words(SIDE)),
        paint=_paint,
        guess=_guess,
        side=SIDE,
        near=True,
    )
