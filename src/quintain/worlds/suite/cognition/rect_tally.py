"""RectTally: count the rectangles, and the squares among them, in a drawing of lines."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import Canvas
from quintain.worlds.engines.geometry.figure import Things, Words, grid_words, number_words, of, spot, word
from quintain.worlds.engines.geometry.reasons import added
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Disc

RULES = """Upright and level lines are drawn on a lattice; x runs to the right, y upward. Count the rectangles of any size whose four
sides lie wholly on drawn lines (other lines may run through them), and how many of those are squares, and the area of the largest of
all. A line `line (0,3) (5,3)` joins two points."""
SIDE = 12
LEVELS = [
    {"lines": n, "least": k}
    for n, k in ((5, 2), (6, 3), (7, 4), (8, 5), (9, 6), (10, 8), (11, 10), (12, 12), (13, 14), (15, 16))
]


def _runs(things: Things, axis: int) -> dict[int, list[tuple[int, int]]]:
    """Of the level (axis 0) or upright (1) lines: how far off -> from where to where."""
    out: dict[int, list[tuple[int, int]]] = {}
    for a, b in of(things, "line"):
        p, q = spot(a), spot(b)
        if p[1 - axis] == q[1 - axis]:
            out.setdefault(p[1 - axis], []).append((p[axis], q[axis]))
    return out


def _found(things: Things) -> list[tuple[int, int, int, int]]:
    """Left, right, lower and upper side of every rectangle."""
    level, upright = _runs(things, 0), _runs(things, 1)
    out = []
    for y0, y1 in itertools.combinations(sorted(level), 2):
        sides = [x for x, runs in upright.items() if any(a <= y0 and y1 <= b for a, b in runs)]
        for x0, x1 in itertools.combinations(sorted(sides), 2):
            if all(any(a <= x0 and x1 <= b for a, b in level[y]) for y in (y0, y1)):
                out.append((x0, x1, y0, y1))
    return out


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    count = knobs["lines"]
    level = count // 2 + rng.below(2) * (count % 2)
    rows, columns = rng.sample(range(1, SIDE), min(level, 9)), rng.sample(range(1, SIDE), min(count - level, 9))
    lines = []
    for axis, places, others in ((0, rows, columns), (1, columns, rows)):
        stops = sorted(others)
        for at in places:
            i = rng.below(max(len(stops) // 2, 1))
            j = len(stops) - 1 - rng.below(max((len(stops) - 1) // 2, 1))
            ends = (
                (max(stops[i] - rng.below(2), 0), min(stops[j] + rng.below(2), SIDE))
                if i < j
                else (stops[0], stops[-1])
            )
            lines.append(
                ("line", word(ends[0], at), word(ends[1], at))
                if not axis
                else ("line", word(at, ends[0]), word(at, ends[1]))
            )
    if len(lines) != count or any(a == b for _, a, b in lines):
        return None
    return tuple(sorted(lines)) if len(_found(tuple(lines))) >= knobs["least"] else None


def _truth(things: Things) -> Words:
    found = _found(things)
    return (
        str(len(found)),
        str(sum(b - a == d - c for a, b, c, d in found)),
        str(max((b - a) * (d - c) for a, b, c, d in found)),
    )


def _why(things: Things) -> str:
    found, out, counts, squares = _found(things), [], [], []
    for (low, high), group in itertools.groupby(found, key=lambda sides: sides[2:]):
        spans = [sides[:2] for sides in group]
        counts.append(len(spans))
        squares.append(sum(b - a == high - low for a, b in spans))
        xs = ",".join([str(x) for x in sorted({x for span in spans for x in span})])
        out.append(f"y={low},{high} x={xs}: {counts[-1]}{f' ({squares[-1]})' if squares[-1] else ''}")
    a, b, c, d = max(found, key=lambda sides: (sides[1] - sides[0]) * (sides[3] - sides[2]))
    return (
        f"Two level lines and the upright ones that join them; any two of these make a rectangle (squares in brackets): "
        f"{'; '.join(out)}. {added(counts)} = {len(found)}, {sum(squares)} of them squares. "
        f"The largest has x={a},{b} y={c},{d}: {b - a} * {d - c} = {(b - a) * (d - c)}."
    )


def _paint(things: Things) -> Canvas:
    canvas = Canvas(SIDE, axes=False)
    for a, b in of(things, "line"):
        canvas.line(spot(a), spot(b), "navy", 0.09)
    for x, y in itertools.product(range(SIDE + 1), repeat=2):
        px, py = canvas.at(x, y)
        canvas.shapes.insert(0, Disc(x=px, y=py, radius=0.035, fill="frost"))
    canvas.foot("rectangles, squares, largest area")
    return canvas


def _guess(things: Things, rng: Rng) -> Words:
    return str(2 + rng.below(3 * len(things))), str(rng.below(len(things))), str(10 + rng.below(70))


@register("world", "RectTally", domain="cognition", engine="geometry")
def rect_tally() -> AskWorld:
    """Count the rectangles and the squares among 5 to 15 crossing lines."""
    facts = Facts(
        name="RectTally",
        rules=RULES,
        answer="Write three integers: all rectangles, the squares among them, the largest area.",
        example="9 2 40",
        ceilings={"random": 0.01, "constant": 0.02, "first": 0.02, "blind": 0.04},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="number", low=3, high=3),
        lexicon=("line", *number_words(999), *grid_words(SIDE)),
        paint=_paint,
        guess=_guess,
        side=SIDE,
    )
