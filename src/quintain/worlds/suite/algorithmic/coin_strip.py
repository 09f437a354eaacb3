"""CoinStrip: find the one winning move of a game in which coins slide to the left without jumping."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import FOOT, SHEET
from quintain.worlds.engines.geometry.figure import Things, Words, number_words, of
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Polygon, Run, Scene, Shape

RULES = """Coins with numbers lie on strips of cells, at most one in a cell. Two players move in turn: a move slides one coin to the
left along its strip by one or more cells; it may not jump over a coin, land on one, or leave the strip. Who cannot move loses. You
are to move, and exactly one move wins against any play: find it. A line `strip - 1 - - 2` gives the cells of a strip from the left,
with the number of the coin or - for a free cell."""
LEVELS = [
    {"strips": s, "length": n, "coins": c}
    for s, n, c in (
        (2, 6, 2),
        (2, 7, 2),
        (2, 8, 3),
        (3, 8, 3),
        (3, 9, 3),
        (3, 10, 3),
        (4, 10, 3),
        (4, 11, 4),
        (5, 11, 4),
        (5, 12, 4),
    )
]
FREE = "-"
Coins = Sequence[int]  # the cells of the coins of one strip, from the left


def _gaps(coins: Coins) -> list[int]:
    """The free cells to the left of every second coin, counted from the right."""
    return [coins[i] - (coins[i - 1] + 1 if i else 0) for i in range(len(coins) - 1, -1, -2)]


def nimber(coins: Coins) -> int:
    """The exclusive or of every second gap, counted from the right; an odd coin out has its gap to the end of the strip.

    A slide of the left coin of a pair widens its gap, which a slide of the right one takes back.
    """
    return functools.reduce(operator.xor, _gaps(coins), 0)


def slides(strips: Sequence[Coins]) -> Iterator[tuple[int, int, list[Coins]]]:
    """Number of the coin, by how many cells, and the strips after it: every legal move."""
    number = 0
    for s, coins in enumerate(strips):
        for i, cell in enumerate(coins):
            number += 1
            for by in range(1, cell - (coins[i - 1] if i else -1)):
                yield number, by, [*strips[:s], (*coins[:i], cell - by, *coins[i + 1 :]), *strips[s + 1 :]]


def _won(strips: Sequence[Coins]) -> list[Words]:
    """The moves after which the exclusive or of all strips is nothing, so that whoever is next loses."""
    found: list[Words] = []
    for number, by, after in slides(strips):
        total = 0
        for coins in after:
            total ^= nimber(coins)
        if not total:
            found.append((str(number), str(by)))
    return found


def _strips(things: Things) -> list[Coins]:
    return [tuple(i for i, word in enumerate(row) if word != FREE) for row in of(things, "strip")]


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    length, numbers = knobs["length"], itertools.count(1)
    strips = sorted(
        tuple(sorted(rng.sample(range(length), knobs["coins"] - rng.below(2)))) for _ in range(knobs["strips"])
    )
    if len(_won(strips)) != 1:
        return None
    return tuple(("strip", *(str(next(numbers)) if i in coins else FREE for i in range(length))) for coins in strips)


def _why(things: Things) -> str:
    strips, (number, by) = _strips(things), _won(_strips(things))[0]
    after = next(then for n, k, then in slides(strips) if (str(n), str(k)) == (number, by))
    ends = itertools.accumulate(len(coins) for coins in strips)
    old, new = ([n for coins in some for n in _gaps(coins)] for some in (strips, after))
    names = [n for end, coins in zip(ends, strips, strict=True) for n in range(end, end - len(coins), -2)]
    told = ", ".join([f"coin {name} has {n}" for name, n in zip(names, old, strict=True)])
    total = functools.reduce(operator.xor, old)
    changed = next(i for i, n in enumerate(old) if n != new[i])
    return (
        f"Free cells to the left of every second coin of a strip from its right end: {told}. Their exclusive or is {total}; "
        f"whoever makes it 0 wins. The {old[changed]} of coin {names[changed]} must become {old[changed]} xor {total} = {new[changed]}: "
        f"coin {number} slides by {by}."
    )


def _guess(things: Things, rng: Rng) -> Words:
    number, by, _ = rng.pick(list(slides(_strips(things))))
    return str(number), str(by)


def _paint(things: Things) -> Scene:
    rows = of(things, "strip")
    scale = min((SHEET - 0.8) / len(rows[0]), 1.1)
    left, step = (SHEET - scale * len(rows[0])) / 2, 6.8 / len(rows)
    shapes: list[Shape] = [Run(text="coin and cells to the left?", x=SHEET / 2, y=FOOT, size=0.36, color="slate")]
    for r, row in enumerate(rows):
        y = 0.3 + step * (r + 0.5)
        wide = scale * len(row)
        shapes.append(
            Box(x=left, y=y - scale / 2, width=wide, height=scale, fill="floor", line="stone", thick=0.05, radius=0.05)
        )
        for i, word in enumerate(row):
            x = round(left + scale * (i + 0.5), 3)
            if i:
                ends = (x - scale / 2, y - scale / 2), (x - scale / 2, y + scale / 2)
                shapes.append(Polygon(points=ends, line="seam", thick=0.03, closed=False))
            if word != FREE:
                shapes.append(Disc(x=x, y=y, radius=scale * 0.42, fill="gold", line="rust", thick=0.05))
                shapes.append(Run(text=word, x=x, y=y, size=scale * 0.52))
    return Scene(width=SHEET, height=SHEET, shapes=tuple(shapes))


@register("world", "CoinStrip", domain="algorithmic", engine="geometry")
def coin_strip() -> AskWorld:
    """Find the one winning slide on 2 to 5 strips of coins that move left without jumping."""
    facts = Facts(
        name="CoinStrip",
        rules=RULES,
        answer="Write the number of the coin, then by how many cells it slides to the left.",
        example="3 2",
        ceilings={"random": 0.1, "constant": 0.14, "first": 0.08, "blind": 0.12},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=lambda things: _won(_strips(things))[0],
        why=_why,
        form=Form(of="number", high=2, least=1),
        lexicon=("strip", FREE, *number_words(20)),
        paint=_paint,
        guess=_guess,
    )
