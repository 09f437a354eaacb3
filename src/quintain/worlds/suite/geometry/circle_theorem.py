"""CircleTheorem: arcs and angles on a circle, each from others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from quintain.registry import register
from quintain.types import Ints
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import SAYINGS, AskWorld
from quintain.worlds.engines.geometry.canvas import Canvas
from quintain.worlds.engines.geometry.figure import LETTERS, Things, Words, number_words, of
from quintain.worlds.engines.geometry.labels import ALONG, Angle, Labels, Place, Spot
from quintain.worlds.engines.geometry.reasons import ONE, added
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Disc

RULES = """Points lie on a circle in the order of their letters, against the clock. The drawing is not to scale. Some sizes in degrees
are given, and one is asked for (`ask`, a question mark in the picture):
`arc A B` is the arc from A against the clock to B; `centre A B` the angle at the centre over that arc; `inscribed A B V` the angle at V
between V-A and V-B; `tangent V B` the angle at V between the chord V-B and the tangent, on the side of the arc from V to B;
`chords A B C D` the angle at which A-C and B-D cross, the one that faces the arc from A to B."""
LEVELS = [
    {"points": n, "steps": k}
    for n, k in ((3, 1), (4, 2), (4, 2), (5, 2), (5, 3), (6, 3), (6, 3), (7, 4), (7, 4), (8, 4))
]
KINDS = ("arc", "arc", "centre", "inscribed", "inscribed", "inscribed", "tangent", "chords")
PRIME = 1_000_003  # sizes are worked out modulo this; they are integers below it
HALF = (PRIME + 1) // 2
RADIUS, MIDDLE = 2.8, (4.0, 3.75)  # of the circle on the sheet
Sum = Ints


def _span(a: str, b: str, count: int) -> list[int]:
    """The arcs between neighbours that lie between two points."""
    i, j = LETTERS.index(a), LETTERS.index(b)
    return [(i + k) % count for k in range((j - i) % count)]


def _parts(kind: str, points: Words, count: int) -> Sum:
    """A size as a sum of the arcs between neighbours."""
    if kind in ("arc", "centre", "tangent"):
        arcs, share = _span(points[0], points[1], count), HALF if kind == "tangent" else 1
    elif kind == "chords":
        arcs, share = _span(points[0], points[1], count) + _span(points[2], points[3], count), HALF
    else:
        arcs, share = _span(points[0], points[1], count), HALF
        at = LETTERS.index(points[2])
        if any(LETTERS.index(points[0]) != at == i for i in arcs):
            arcs = _span(points[1], points[0], count)
    return tuple(share if i in arcs else 0 for i in range(count))


def _combine(rows: Sequence[Sum], wanted: Sum) -> list[int] | None:
    """The factors, modulo PRIME, with which `rows` add up to `wanted`, by elimination; None if they cannot."""
    width = len(rows)
    table = [[*(row[i] for row in rows), wanted[i]] for i in range(len(wanted))]
    at, pivots = 0, []
    for column in range(width):
        found = next((i for i in range(at, len(table)) if table[i][column]), -1)
        if found < 0:
            continue
        table[at], table[found] = table[found], table[at]
        inverse = pow(table[at][column], -1, PRIME)
        lead = table[at] = [v * inverse % PRIME for v in table[at]]
        for i, row in enumerate(table):
            if i != at and row[column]:
                factor = row[column]
                table[i] = [(v - factor * w) % PRIME for v, w in zip(row, lead, strict=True)]
        pivots.append(column)
        at += 1
    if any(row[-1] for row in table[at:]):
        return None
    out = [0] * width
    for row, column in zip(table, pivots, strict=False):
        out[column] = row[-1]
    return out


def _widen(basis: list[tuple[int, list[int]]], row: Sum) -> bool:
    """Add what is new in a row to a basis of (pivot, row with 1 there); False if nothing is."""
    rest = list(row)
    for pivot, lead in basis:
        if rest[pivot]:
            factor = rest[pivot]
            rest = [(v - factor * w) % PRIME for v, w in zip(rest, lead, strict=True)]
    found = next((i for i, v in enumerate(rest) if v), -1)
    if found < 0:
        return False
    inverse = pow(rest[found], -1, PRIME)
    basis.append((found, [v * inverse % PRIME for v in rest]))
    return True


def _total(row: Sum, arcs: Sequence[int]) -> int:
    """The size that a sum of arcs has; more than 360 if it is no integer."""
    return sum(p * a for p, a in zip(row, arcs, strict=True)) % PRIME


def _size(rng: Rng, count: int) -> tuple[str, Words]:
    """A random size on the circle."""
    kind = rng.pick(KINDS)
    order = [LETTERS[i] for i in sorted(rng.sample(range(count), min(count, 4)))]
    turn = rng.below(len(order))
    order = order[turn:] + order[:turn]
    if kind == "arc":
        i = rng.below(count)
        return kind, (LETTERS[i], LETTERS[(i + 1) % count])
    if kind == "chords":
        return (kind, tuple(order)) if count > 3 else ("centre", tuple(order[:2]))
    return kind, tuple(order[:3] if kind == "inscribed" else order[:2])


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    count = knobs["points"]
    cuts = sorted(2 * n for n in rng.sample(range(180), count))
    arcs = [(b - a) % 360 for a, b in zip(cuts, cuts[1:] + cuts[:1], strict=True)]
    if min(arcs) < 18:
        return None
    basis = [(0, [1] * count)]
    picked: list[tuple[str, Words, Sum]] = []
    used: set[str] = set()
    for _ in range(8 * count):
        kind, points = _size(rng, count)
        row = _parts(kind, points, count)
        place = "".join(points) if kind == "arc" else points[-1] if kind == "inscribed" else kind
        if kind == "tangent":
            place = points[0]
        size = _total(row, arcs)
        if place in used or size >= 170 or not _widen(basis, row):
            continue
        used.add(place)
        picked.append((kind, points, row))
        if len(picked) == count:
            break
    if len(picked) < count - 1:
        return None
    return _asked(rng, picked[: count - 1], arcs, used, knobs["steps"])


def _asked(
    rng: Rng, picked: list[tuple[str, Words, Sum]], arcs: list[int], used: set[str], steps: int
) -> Things | None:
    """The question: a further size, which needs at least so many of the given ones; those that it does not need are left out."""
    count = len(arcs)
    for _ in range(8):
        kind, points = _size(rng, count)
        row = _parts(kind, points, count)
        place = (
            "".join(points)
            if kind == "arc"
            else points[0]
            if kind == "tangent"
            else points[-1]
            if kind == "inscribed"
            else kind
        )
        size = _total(row, arcs)
        factors = _combine([(1,) * count, *(r for *_, r in picked)], row)
        if place in used or size >= 170 or factors is None:
            continue
        needed = [known for known, factor in zip(picked, factors[1:], strict=True) if factor]
        if len(needed) >= steps:
            rng.shuffle(needed)
            given = [(k, *p, str(_total(r, arcs))) for k, p, r in needed]
            return *(("point", name) for name in LETTERS[:count]), *given, ("ask", kind, *points)
    return None


def _read(things: Things) -> tuple[list[Words], Words, list[Sum], Sum]:
    """The sizes given, the one asked for, and all of them as sums of arcs; the whole circle is the first sum."""
    count = len(of(things, "point"))
    given, asked = [t for t in things if t[0] not in ("point", "ask")], of(things, "ask")[0]
    rows = [(1,) * count, *(_parts(t[0], t[1:-1], count) for t in given)]
    return given, asked, rows, _parts(asked[0], asked[1:], count)


def _truth(things: Things) -> Words:
    given, _, rows, wanted = _read(things)
    factors = _combine(rows, wanted) or []
    return (str(sum(f * int(n) for f, n in zip(factors, ("360", *(t[-1] for t in given)), strict=False)) % PRIME),)


def _arcs(row: Sum) -> str:
    """The arcs that a size is made of, each as long as it goes."""
    count = len(row)
    starts = [i for i in range(count) if row[i] and not row[i - 1]]
    ends = [next(j % count for j in range(i, i + count) if not row[j % count]) for i in starts]
    return " + ".join([f"arc {LETTERS[i]} {LETTERS[j]}" for i, j in zip(starts, ends, strict=True)])


def _ratio(factor: int) -> Fraction:
    """The small fraction that a factor modulo PRIME stands for."""
    tried = ((n, n * factor % PRIME) for n in range(1, PRIME))
    return next(Fraction(up if up < HALF else up - PRIME, n) for n, up in tried if min(up, PRIME - up) < 100)


def _why(things: Things) -> str:
    given, asked, rows, wanted = _read(things)
    out, values, names = [], [360], ["360"]
    for thing, row in zip(given, rows[1:], strict=True):
        half, arcs = HALF in row, _arcs(row)
        values.append(int(thing[-1]) * (2 if half else 1))
        names.append(f"({arcs})" if "+" in arcs else arcs)
        if thing[0] != "arc":
            out.append(f"{' '.join(thing)} is {'half of ' if half else ''}{arcs}, {values[-1]}.")
    found = _combine([tuple(map(bool, row)) for row in rows], tuple(map(bool, wanted))) or []
    terms = sorted((-_ratio(n), name, value) for n, name, value in zip(found, names, values, strict=True) if n)
    words, numbers = (added(f"{ONE.get(-n, f'{-n} * ')}{part[i]}" for n, *part in terms) for i in (0, 1))
    total = -sum(n * value for n, _, value in terms)
    out.append(f"{_arcs(wanted)} = {words} = {numbers} = {total}.")
    if asked[0] != "arc":
        out.append(f"{' '.join(asked)} is {'half of ' if HALF in wanted else ''}that.")
    return " ".join(out)


def _turn(place: float, count: int) -> float:
    """The direction, on the sheet, of a point by its number: they are all drawn as far apart."""
    return -2 * math.pi * place / count - 0.3


def _place(name: str, count: int, radius: float = RADIUS) -> tuple[float, float]:
    """Where a point of the circle is drawn, in cells."""
    turn = _turn(LETTERS.index(name), count)
    return MIDDLE[0] + radius * math.cos(turn), MIDDLE[1] + radius * math.sin(turn)


def _angle(at: Place, ends: Sequence[Place], text: str) -> Angle:
    """The corner between two directions."""
    a, b = (math.atan2(y - at[1], x - at[0]) for x, y in ends)
    wide = (b - a + math.pi) % (2 * math.pi) - math.pi
    return Angle(at, (a,), wide, text, "brick" if text == "?" else "blue")


def _outside(points: Words, count: int) -> Iterator[Spot]:
    """Where the number of an arc may stand: by its middle, outside the circle."""
    for far in (0.26, 0.32, 0.4, 0.5):
        for part in ALONG:
            turn = _turn(LETTERS.index(points[0]) + part, count)
            x, y = RADIUS + far + 0.06 * abs(math.cos(turn)), RADIUS + far
            yield Spot(MIDDLE[0] + x * math.cos(turn), MIDDLE[1] + y * math.sin(turn))


def _lines(canvas: Canvas, kind: str, points: Words, text: str, count: int) -> Angle | None:
    """Draw the lines of one size; the angle that it is, if it is no arc."""
    places = [_place(p, count) for p in points]
    if kind == "arc":
        return None
    if kind == "inscribed":
        for p in places[:2]:
            canvas.stroke(places[2], p, "cloud", 0.05)
        return _angle(places[2], places[:2], text)
    if kind == "centre":
        for p in places:
            canvas.stroke(MIDDLE, p, "plum", 0.05)
        return _angle(MIDDLE, places, text)
    if kind == "tangent":
        (x, y), dx, dy = places[0], places[0][0] - MIDDLE[0], places[0][1] - MIDDLE[1]
        tip = x + dy * 0.4, y - dx * 0.4
        canvas.stroke((x - dy * 0.4, y + dx * 0.4), tip, "amber", 0.06)
        canvas.stroke(places[0], places[1], "cloud", 0.05)
        return _angle(places[0], (tip, places[1]), text)
    a, b, c, d = places
    canvas.stroke(a, c, "cloud", 0.05)
    canvas.stroke(b, d, "cloud", 0.05)
    t = ((b[0] - a[0]) * (d[1] - b[1]) - (b[1] - a[1]) * (d[0] - b[0])) / (
        (c[0] - a[0]) * (d[1] - b[1]) - (c[1] - a[1]) * (d[0] - b[0])
    )
    return _angle((a[0] + t * (c[0] - a[0]), a[1] + t * (c[1] - a[1])), (a, b), text)


def _paint(things: Things) -> Canvas:
    canvas, count = Canvas(28, axes=False), len(of(things, "point"))
    canvas.circle((14, 14), RADIUS / canvas.scale, line="slate", thick=0.07)
    kind, *points = of(things, "ask")[0]
    sizes = [(t[0], t[1:-1], t[-1]) for t in things if t[0] not in ("point", "ask")]
    sizes.append((kind, tuple(points), "?"))
    found = [_lines(canvas, *size, count) for size in sizes]
    if "centre" in {kind, *(t[0] for t in things)}:
        canvas.dot((14, 14), "plum", 0.08)
    for (name,) in of(things, "point"):
        x, y = _place(name, count)
        canvas.shapes.append(Disc(x=round(x, 3), y=round(y, 3), radius=0.1, fill="slate"))
        canvas.put(name, *_place(name, count, RADIUS + 0.38), 0.42)
    labels = Labels(canvas)
    for what, on, text in sizes:
        if what == "arc":
            labels.place(text, "brick" if text == "?" else "green", _outside(on, count))
    labels.angles([angle for angle in found if angle])
    canvas.foot(f"? = {kind} {' '.join(points)}", "brick")
    return canvas


def _guess(things: Things, rng: Rng) -> Words:
    return (str(5 + rng.below(160)),)


@register("world", "CircleTheorem", domain="geometry", engine="geometry")
def circle_theorem() -> AskWorld:
    """Find an arc or an angle on a circle by inscribed angles, tangents and crossing chords."""
    facts = Facts(
        name="CircleTheorem",
        rules=RULES,
        answer="Write the size in degrees as an integer.",
        example="50",
        ceilings={"random": 0.03, "constant": 0.04, "first": 0.04, "blind": 0.05},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="number", low=1, high=1, least=3),
        lexicon=("point", "ask", *KINDS, *LETTERS, *number_words(360)),
        paint=_paint,
        guess=_guess,
    )
