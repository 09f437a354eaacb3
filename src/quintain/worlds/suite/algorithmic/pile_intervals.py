"""PileIntervals: what two perfect players get who take piles from the ends of a row."""

from __future__ import annotations

from collections.abc import Mapping

from quintain.registry import register
from quintain.types import Ints
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import FOOT, SHEET
from quintain.worlds.engines.geometry.figure import Things, Words, number_words, of
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Polygon, Run, Scene, Shape

RULES = """Piles of counters stand in a row, a line `pile 7` for each from the left. Two players move in turn: a move takes one pile
from either end of the row, or several at once from one end, at most as many as `most` says. When the row is empty, each counts the
counters of his piles; each plays to get as many as he can. How many does the first player get, and how many the second?"""
LEVELS = [
    {"piles": n, "top": t, "most": m}
    for n, t, m in (
        (4, 9, 1),
        (5, 12, 1),
        (6, 15, 1),
        (7, 20, 1),
        (8, 20, 2),
        (9, 25, 2),
        (10, 25, 2),
        (11, 30, 2),
        (12, 30, 3),
        (14, 40, 3),
    )
]


def shares(piles: Ints, most: int) -> tuple[int, int]:
    """What the first and the second player get under best play."""
    total, more = sum(piles), leads(piles, most)[-1][0]
    return (total + more) // 2, (total - more) // 2


def leads(piles: Ints, most: int) -> list[list[int]]:
    """By how much whoever moves ends ahead: for rows of 0, 1 and more neighbours, each from the left."""
    out = [[0] * (len(piles) + 1)]
    for n in range(1, len(piles) + 1):
        out.append(
            [
                max(
                    max(sum(piles[i : i + k]) - out[n - k][i + k], sum(piles[i + n - k : i + n]) - out[n - k][i])
                    for k in range(1, min(most, n) + 1)
                )
                for i in range(len(piles) - n + 1)
            ]
        )
    return out


def _hasty(piles: Ints, most: int) -> int:
    """What the first player gets if both always take what is most at once."""
    got, mover, row = [0, 0], 0, list(piles)
    while row:
        k = min(most, len(row))
        left, right = row[:k], row[-k:]
        end = sum(left) >= sum(right)
        got[mover] += sum(left if end else right)
        row = row[k:] if end else row[:-k]
        mover = 1 - mover
    return got[0]


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    piles = tuple(1 + rng.below(knobs["top"]) for _ in range(knobs["piles"]))
    if shares(piles, knobs["most"])[0] == _hasty(piles, knobs["most"]):
        return None
    return (("most", str(knobs["most"])), *(("pile", str(n)) for n in piles))


def _read(things: Things) -> tuple[Ints, int]:
    return tuple(int(row[0]) for row in of(things, "pile")), int(of(things, "most")[0][0])


def _truth(things: Things) -> Words:
    first, second = shares(*_read(things))
    return str(first), str(second)


def _why(things: Things) -> str:
    piles, most = _read(things)
    rows, total = leads(piles, most), sum(piles)
    more = rows[-1][0]
    first = (total + more) // 2
    told = "; ".join([f"of {n}: {' '.join(map(str, row))}" for n, row in enumerate(rows) if n])
    return (
        f"Whoever moves is ahead at the end by the most of what he takes less the lead of who moves in the row that is left. "
        f"Leads in rows of so many neighbours, from the left: {told}. All have {total}: the first player "
        f"({total} {'-' if more < 0 else '+'} {abs(more)})/2 = {first}, the second {total} - {first} = {total - first}."
    )


def _guess(things: Things, rng: Rng) -> Words:
    total = sum(_read(things)[0])
    first = min(max(total // 2 - 5 + rng.below(21), 0), total)
    return str(first), str(total - first)


def _paint(things: Things) -> Scene:
    piles, most = _read(things)
    step, unit = (SHEET - 0.6) / len(piles), 5.6 / max(piles)
    wide, floor = min(step * 0.8, 0.9), 6.9
    asked = f"at most {most} pile{'s' if most > 1 else ''} a move: first, second?"
    shapes: list[Shape] = [Run(text=asked, x=SHEET / 2, y=FOOT, size=0.36, color="slate")]
    for i, size in enumerate(piles):
        x, high = 0.3 + step * (i + 0.5), unit * size
        shapes.append(
            Box(x=x - wide / 2, y=floor - high, width=wide, height=high, fill="gold", line="rust", thick=0.04)
        )
        shapes.append(Run(text=str(size), x=x, y=floor - high - 0.32, size=0.38))
    shapes.append(Polygon(points=((0.2, floor), (SHEET - 0.2, floor)), line="stone", thick=0.06, closed=False))
    return Scene(width=SHEET, height=SHEET, shapes=tuple(shapes))


@register("world", "PileIntervals", domain="algorithmic", engine="geometry")
def pile_intervals() -> AskWorld:
    """Find what each of two perfect players gets who take piles from the ends of a row of 4 to 14."""
    facts = Facts(
        name="PileIntervals",
        rules=RULES,
        answer="Write what the first player gets, then what the second gets.",
        example="23 19",
        ceilings={"random": 0.1, "constant": 0.04, "first": 0.03, "blind": 0.05},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="number", high=2),
        lexicon=("most", "pile", *number_words(560)),
        paint=_paint,
        guess=_guess,
    )
