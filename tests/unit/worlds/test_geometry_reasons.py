"""What the worlds of questions say of how an answer comes about: every claim of it against shapely, networkx or plain trying."""

from __future__ import annotations

import cmath
import functools
import itertools
import math
import re
from collections.abc import Callable
from fractions import Fraction

import networkx
import pytest
import shapely

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.registry import entries
from quintain.worlds.engines.geometry.ask import AskWorld
from quintain.worlds.engines.geometry.figure import Things, Words, named, of, spot
from quintain.worlds.engines.geometry.mirrors import entry
from quintain.worlds.kernel import Plan

ASKS = [e.name for e in entries("world") if e.tags["engine"] == "geometry" and isinstance(world_of(e.name), AskWorld)]
Check = Callable[[Things, Words, str], None]
Spot = tuple[int, int]
CHECKS: dict[str, Check] = {}


def reads(name: str) -> Callable[[Check], Check]:
    """Registers what reads the reasons of one world."""
    return lambda check: CHECKS.setdefault(name, check)


def valued(text: str) -> Fraction:
    """The value of a sum of integers, products and fractions."""
    flat = re.sub(r"\(([^()]*)\)", lambda m: str(valued(m[1])), text)
    total = Fraction(0)
    for sign, term in re.findall(r"([-+]?) ?((?:-?\d+)(?: ?[*/] ?-?\d+)*)", flat):
        value = Fraction(1)
        for by, n in re.findall(r"([*/]?) ?(-?\d+)", term):
            value = value / int(n) if by == "/" else value * int(n)
        total += -value if sign == "-" else value
    return total


def valued_at(text: str, x: object, y: object) -> Fraction:
    """The value of a sum with x and y in it, at a place."""
    return valued(re.sub(r"(\d)(?=[xy])", r"\1*", text).replace("x", f"({x})").replace("y", f"({y})"))


def sums(text: str, least: int) -> None:
    """Every sum in a text comes out as it says."""
    found = re.findall(r"(?<![\w=|])([-(]?\(?\d+(?:\)?/\d+)?(?: ?[-+*/] ?\(?-?\d+\)?)+) ?= ?(-?\d+)", text)
    assert len(found) >= least and all(valued(left) == int(right) for left, right in found), (found, text)


def numbers(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"-?\d+", text)]


def shoelaces(text: str, ring: dict[str, Spot]) -> None:
    """The sides of a ring, each with its products, and twice the area."""
    sides = re.findall(r"([A-Z]|\(\d+,\d+\))-([A-Z]|\(\d+,\d+\)) (\d+)\*(\d+)-(\d+)\*(\d+)=(-?\d+)", text)
    names = list(ring)
    assert [side[:2] for side in sides] == list(zip(names, names[1:] + names[:1], strict=True))
    for m, n, *values in sides:
        a, b, c, d, area = map(int, values)
        assert ((a, d), (c, b)) == (ring[m], ring[n]) and a * b - c * d == area
    assert shapely.Polygon(ring.values()).area * 2 == sum(int(side[-1]) for side in sides)
    assert f"together {sum(int(side[-1]) for side in sides)}" in text


@reads("AngleChase")
def _angles(things: Things, truth: Words, why: str) -> None:
    steps = re.findall(r"([A-Z]) to ([A-Z]) ([+-]\d+)", why)
    start, end = of(things, "ask")[0]
    assert [a for a, _, _ in steps] == [start, *(b for _, b, _ in steps[:-1])] and steps[-1][1] == end
    given = {(a, b): int(size) for a, b, size in of(things, "angle")}
    assert all(given.get((a, b), -given.get((b, a), 0)) == int(n) for a, b, n in steps)
    assert numbers(why.split(". ")[1].split(" = ")[0].replace("- ", "-")) == [int(n) for _, _, n in steps]
    sums(why, 1)
    assert (sum(int(n) for _, _, n in steps) - int(truth[0])) % 180 == 0 and f"= {truth[0]}" in why


@reads("BlockCount")
def _patches(things: Things, truth: Words, why: str) -> None:
    grid = [t[2:] for t in things if t[0] == "row"]
    told = dict(re.findall(r"\b([gbryp]): ([^.]*)\.", why))
    assert tuple(told) == of(things, "count")[0]
    for (color, text), count in zip(told.items(), truth, strict=True):
        cells = [(y, x) for y, row in enumerate(grid) for x, c in enumerate(row) if c == color]
        parts = networkx.connected_components(networkx.grid_2d_graph(len(grid), len(grid)).subgraph(cells))
        want = sorted((min(part)[0] + 1, min(part)[1] + 1, len(part)) for part in parts)
        assert sorted(tuple(numbers(p)) for p in text.split(", ") if p != "none") == want and len(want) == int(count)


@reads("CircleTheorem")
def _circle(things: Things, truth: Words, why: str) -> None:
    names = [t[0] for t in of(things, "point")]
    turns = dict(zip(names, itertools.accumulate((17, 31, 43, 29, 53, 37, 61, 41)), strict=False))  # any circle

    def size(kind: str, *points: str) -> set[float]:
        z = [cmath.rect(1, math.radians(turns[p])) for p in points]
        if kind in ("arc", "centre"):
            ways = [z[1] / z[0]]
        elif kind == "inscribed":
            return {round(abs(math.degrees(cmath.phase((z[0] - z[2]) / (z[1] - z[2])))), 6)}
        else:
            ways = [(z[1] - z[0]) / (z[0] * 1j)] if kind == "tangent" else [(z[0] - z[2]) / (z[3] - z[1])] * 2
        turn = math.degrees(cmath.phase(ways[0])) % 360
        return {round(turn, 6), *({round(abs(turn - 180), 6), round(360 - turn, 6)} if len(ways) > 1 else ())}

    def arcs(text: str) -> int:
        measured = re.sub(r"arc ([A-Z]) ([A-Z])", lambda m: str((turns[m[2]] - turns[m[1]]) % 360), text)
        assert "arc" not in measured
        return int(valued(measured))

    *given, chain = re.split(r"\. (?=arc)|(?<=\d)\. ", why.split(" So ")[0])[: 1 + why.count(", ")]
    known = {f"arc {a} {b}": n for a, b, n in of(things, "arc")}
    for text in given:
        kind, *points, n, half, sum_of, twice = re.fullmatch(
            r"(\w+) ([A-Z]) ([A-Z]) (?:([A-Z]) )?(?:([A-Z]) )?(\d+) is (half of )?(arc [^,]*), (\d+)", text
        ).groups()  # pyrefly: ignore
        points = [p for p in points if p]
        assert (kind, *points, n) in things and int(twice) == int(n) * (2 if half else 1)
        assert arcs(sum_of) / (2 if half else 1) in size(kind, *points)
        known[f"({sum_of})" if "+" in sum_of else sum_of] = twice
    wanted, words, values, total = chain.rstrip(".").split(" = ")
    assert arcs(wanted) == arcs(words) and valued(values) == int(total)
    for name in sorted(known, key=len, reverse=True):
        words = words.replace(name, known[name])
    assert words == values
    kind, *points = of(things, "ask")[0]
    half = f"{kind} {' '.join(points)} is half of that." in why
    assert half or kind == "arc" or f"{kind} {' '.join(points)} is that." in why
    assert arcs(wanted) / (1 + half) in size(kind, *points) and int(total) == int(truth[0]) * (1 + half)


@reads("ClockDial")
def _dials(things: Things, truth: Words, why: str) -> None:
    told = re.findall(r"([A-Z]): (\w+) is (.*?)\.(?= )", why)
    for (name, what, text), thing, read in zip(told, things, truth, strict=True):
        n, given = numbers(text), [int(w) for w in thing[2:] if w.isdigit()]
        assert name == thing[1]
        if what == "short":
            (top, short, long), (past, hour, thirty, rest, turn, minute, six) = given, n[:7]
            assert (top + past - short) % 360 == 0 == (top + turn - long) % 360
            assert (thirty, six) == (30, 6) and past == 30 * hour + rest and turn == 6 * minute and minute == 2 * rest
            assert text.endswith(f"; {read}") and read == f"{hour or 12}:{minute:02d}"
        else:
            sums(text, 1)
            assert text.endswith(f" = {read}") and n[0] == (given[-1] - given[2] if what == "hand" else given[-1]) % 360
            share = Fraction(n[0], given[3] if what == "hand" else 100)
            assert what == "bar" or n[1] == given[3]
            assert int(read) == given[0] + share * (given[1] - given[0])


@reads("CoinStrip")
def _coins(things: Things, truth: Words, why: str) -> None:
    rows = [list(row) for row in of(things, "strip")]

    def gaps() -> dict[str, int]:
        out = {}
        for row in rows:
            for coin in [w for w in row if w != "-"][::-2]:
                at = row.index(coin)
                out[coin] = next((k for k in range(at) if row[at - 1 - k] != "-"), at)
        return out

    told = {coin: int(n) for coin, n in re.findall(r"coin (\d+) has (\d+)", why)}
    total = functools.reduce(lambda a, b: a ^ b, told.values())
    old, coin, again, mask, new, moved, by = re.findall(
        r"The (\d+) of coin (\d+) must become (\d+) xor (\d+) = (\d+): coin (\d+) slides by (\d+)\.", why
    )[0]
    assert told == gaps() and f"exclusive or is {total};" in why and (moved, by) == truth
    assert told[coin] == int(old) == int(again) and int(mask) == total and int(new) == int(old) ^ total
    row = next(row for row in rows if moved in row)
    at = row.index(moved)
    assert set(row[at - int(by) : at]) == {"-"}
    row[at - int(by)], row[at] = moved, "-"
    assert gaps() == {**told, coin: int(new)} and not functools.reduce(lambda a, b: a ^ b, gaps().values())


@reads("ColourMix")
def _paints(things: Things, truth: Words, why: str) -> None:
    paints = {n: [int(v) for v in mix] for n, *mix in of(things, "paint")}
    for i, (number, *mix) in enumerate(of(things, "target")):
        text = re.findall(rf"Target {number} twice: (.*?)\.(?= )", why)[0]
        twice, *tried = text.split("; ")
        assert numbers(twice) == [2 * int(v) for v in mix]
        for k, step in enumerate(tried):
            name, rest, other = re.fullmatch(r"less ([A-Z]) leaves (.*), (.*)", step).groups()  # pyrefly: ignore
            assert name == list(paints)[k]
            assert [a + b for a, b in zip(paints[name], numbers(rest), strict=True)] == numbers(twice)
            assert (other == "no paint") == (numbers(rest) not in paints.values()) == (k < len(tried) - 1)
        assert numbers(rest) == paints[other] and (name, other) == truth[2 * i : 2 * i + 2]


@reads("CoordinateRead")
def _moves(things: Things, truth: Words, why: str) -> None:
    points = [complex(*p) for p in named(things).values()]
    told = re.findall(r"Step (\d+) takes \(x,y\) to \(([^,]*),([^)]*)\): (.*?)\.", why)
    for (number, kind, what, *rest), (said, one, two, text) in zip(of(things, "step"), told, strict=True):
        before, centre = points, complex(*spot(rest[1])) if rest else 0
        if kind == "mirror":
            at = int(what[2:])
            points = [2 * at - p.conjugate() if what[0] == "x" else p.conjugate() + 2j * at for p in points]
            points = [complex(p.real, p.imag) for p in points]
        elif kind == "shift":
            points = [p + centre - complex(*spot(what)) for p in points]
        else:
            factor = 2 if kind == "stretch" else 1j ** (int(what) // 90)
            points = [centre + factor * (p - centre) for p in points]
        want = [(round(p.real), round(p.imag)) for p in points]
        assert said == number and [spot(w) for w in text.split()] == want
        for p, q in zip(before, want, strict=True):
            for rule, value in zip((one, two), q, strict=True):
                assert valued_at(rule, round(p.real), round(p.imag)) == value
    assert tuple(told[-1][-1].split()) == truth


@reads("CutPolygon")
def _cut(things: Things, truth: Words, why: str) -> None:
    whole, part = why.split(" One part of the cut ")
    corners = named(things, "corner")
    if not shapely.LinearRing(corners.values()).is_ccw:
        corners = {name: corners[name] for name in list(corners)[::-1]}
    shoelaces(whole, corners)
    cut, sides = part.split(": ", 1)
    assert sorted(re.findall(r"\(\d+,\d+\)", cut)) == sorted(truth)
    labels = re.findall(r"([A-Z]|\(\d+,\d+\))-(?:[A-Z]|\(\d+,\d+\)) \d", sides)
    ring = {n: corners.get(n) or spot(n) for n in labels}
    shoelaces(sides, ring)
    assert {spot(w) for w in truth} <= set(ring.values()) and set(ring.values()) <= {
        *corners.values(),
        *map(spot, truth),
    }
    polygon, piece = shapely.Polygon(corners.values()), shapely.Polygon(ring.values())
    assert polygon.covers(piece) and piece.area * 2 == polygon.area


@reads("DotTally")
def _dots(things: Things, truth: Words, why: str) -> None:
    told = re.findall(r"(\w+) (\w+): (.*?), (\d+)\.", why)
    for (color, shape, at, count), kind, said in zip(told, of(things, "count"), truth, strict=True):
        marks = [t for t in things if t[0] in (("disc", "square", "triangle") if shape == "any" else (shape,))]
        places = [t[2] for t in marks if color in ("any", t[1])]
        assert (color, shape, count) == (*kind, said) and int(count) == len(places)
        assert at == (" ".join(places) or "none")


@reads("HullPoints")
def _band(things: Things, truth: Words, why: str) -> None:
    points, found = named(things), set[str]()
    for side, off, lefts in (("Below, to the right", "above", 1), ("Above, to the left", "under", -1)):
        run, text = re.findall(rf"{side}, the band runs ([A-Z ]+): (.*?)\.", why)[0]
        kept = run.split()
        order = sorted(points, key=lambda n: points[n])[::lefts]
        told = re.findall(r"([A-Z]) is (\w+) ([A-Z])-([A-Z])", text)
        assert sorted([*kept, *(q for q, *_ in told)]) == sorted(points)
        assert kept == [n for n in order if n in kept]
        for q, how, a, b in told:
            assert order.index(a) < order.index(q) < order.index(b)
            area = shapely.Polygon((points[a], points[b], points[q]))
            assert how == (off if area.area else "on") and (how == "on" or area.exterior.is_ccw)
        found |= set(kept)
    ring = shapely.MultiPoint(list(points.values())).convex_hull.exterior.coords
    assert found == set(truth) == {n for n, p in points.items() if p in [(int(x), int(y)) for x, y in ring]}


@reads("MaxRectangle")
def _rectangles(things: Things, truth: Words, why: str) -> None:
    points, every = named(things), {}
    at = {p: n for n, p in points.items()}
    for a, b, d in itertools.permutations(points.values(), 3):
        c = (b[0] + d[0] - a[0], b[1] + d[1] - a[1])
        if c in at and (b[0] - a[0]) * (d[0] - a[0]) + (b[1] - a[1]) * (d[1] - a[1]) == 0:
            every[frozenset(at[p] for p in (a, b, c, d))] = math.dist(a, b) * math.dist(a, d)
    told = re.findall(r"(.)-(.) and (.)-(.) round \(([\d.]+),([\d.]+)\), (\d+) by (\d+), (\d+)\.", why)
    assert {frozenset(t[:4]): pytest.approx(int(t[-1])) for t in told} == every and len(told) == len(every)
    for a, b, c, d, x, y, one, two, area in told:
        for p, q in ((a, b), (c, d)):
            assert (points[p][0] + points[q][0], points[p][1] + points[q][1]) == (2 * float(x), 2 * float(y))
        sides = math.dist(points[a], points[c]) ** 2, math.dist(points[a], points[d]) ** 2
        assert sorted(sides) == pytest.approx(sorted((int(one), int(two)))) and int(one) * int(two) == int(area) ** 2
    areas = [int(t[-1]) for t in told]
    assert set(told[0][:4]) == set(truth) and areas == sorted(areas, reverse=True) and areas[:1] != areas[1:2]


@reads("MinCircle")
def _smallest(things: Things, truth: Words, why: str) -> None:
    points = named(things)
    x, y, square = map(int, truth)
    told = dict(re.findall(r"([A-Z]) (\d+)[,;]", why.split("Squared distances from it:")[1]))
    assert {n: int(far) for n, far in told.items()} == {n: (a - x) ** 2 + (b - y) ** 2 for n, (a, b) in points.items()}
    assert max(map(int, told.values())) == square and f"none is more than {square}." in why and f"({x},{y})" in why
    assert shapely.minimum_bounding_radius(shapely.MultiPoint(list(points.values()))) ** 2 == pytest.approx(square)
    pair = re.findall(r"([A-Z]) and ([A-Z]) are furthest apart, squared (\d+), so", why)
    if pair:
        far = {frozenset(p): math.dist(*(points[n] for n in p)) ** 2 for p in itertools.combinations(points, 2)}
        assert far[frozenset(pair[0][:2])] == pytest.approx(max(far.values())) == int(pair[0][2]) == 4 * square
        return
    a, b, one, c, two = re.findall(r"As far from (.) as from (.): (.*?); as from (.): (.*?); both", why)[0]
    for other, line in ((b, one), (c, two)):
        left, right = line.split(" = ")
        middle = [Fraction(points[a][i] + points[other][i], 2) for i in (0, 1)]
        for px, py in ((x, y), middle):
            assert valued_at(left, px, py) == int(right)
    sides = [int(n) for n in re.findall(rf"{a}-{b}-{c}: (\d+) \+ (\d+) > (\d+),", why)[0]]
    assert sorted(round(math.dist(points[p], points[q]) ** 2) for p, q in (a + b, b + c, c + a)) == sides
    assert sides[0] + sides[1] > sides[2] and {told[n] for n in (a, b, c)} == {str(square)}


@reads("Occluded")
def _covers(things: Things, truth: Words, why: str) -> None:
    told = re.findall(r"([A-Z]) covers (nothing|[A-Z](?: [A-Z])*)(?=[,.])", why)
    graph = networkx.DiGraph((low, up) for up, low in of(things, "cover"))
    assert [name for name, _ in told] == list(truth)
    for i, (name, lows) in enumerate(told):
        under = set() if lows == "nothing" else set(lows.split())
        assert under == set(graph.predecessors(name)) <= set(truth[:i]) and (not i or truth[i - 1] in under)
    assert list(networkx.all_topological_sorts(graph)) == [list(truth)]


@reads("PileIntervals")
def _piles(things: Things, truth: Words, why: str) -> None:
    piles, most = [int(n) for (n,) in of(things, "pile")], int(of(things, "most")[0][0])

    @functools.cache
    def first(low: int, high: int) -> int:
        ends = range(1, min(most, high - low) + 1)
        whole = sum(piles[low:high])
        return max([whole - min(first(low + k, high), first(low, high - k)) for k in ends], default=0)

    rows = {int(n): numbers(row) for n, row in re.findall(r"of (\d+): ([-\d ]+)", why)}
    n = len(piles)
    assert rows == {k: [2 * first(i, i + k) - sum(piles[i : i + k]) for i in range(n - k + 1)] for k in range(1, n + 1)}
    sums(why, 2)
    assert f"All have {sum(piles)}:" in why and f"({sum(piles)} " in why and re.findall(r" = (\d+)", why) == [*truth]


@reads("PolygonArea")
def _inside(things: Things, truth: Words, why: str) -> None:
    corners = named(things, "corner")
    twice, rest = why.split("; half is ")
    shoelaces(twice, corners)
    names = list(corners)
    steps = re.findall(r"([A-Z])-([A-Z]) (\d+)(?=,)", rest)
    assert [s[:2] for s in steps] == list(zip(names, names[1:] + names[:1], strict=True))
    ring = shapely.LinearRing(corners.values())
    for a, b, count in steps:
        side = shapely.LineString((corners[a], corners[b]))
        on = [p for p in itertools.product(range(20), repeat=2) if side.distance(shapely.Point(p)) < 1e-9]
        assert len(on) == int(count) + 1
    edge = sum(int(s[2]) for s in steps)
    assert f"together {edge}." in rest and rest.startswith(f"{truth[0]}.")
    assert f"{truth[0]} - {edge}/2 + 1 = {truth[1]}." in rest and edge % 2 == 0
    sums(rest, 1)
    polygon = shapely.Polygon(ring)
    inner = [p for p in itertools.product(range(20), repeat=2) if polygon.contains(shapely.Point(p))]
    assert (polygon.area, len(inner)) == tuple(map(int, truth))


@reads("RectTally")
def _rows(things: Things, truth: Words, why: str) -> None:
    steps: set[tuple[int, int, bool]] = set()  # a step of the lattice from (x, y), level or upright
    for a, b in of(things, "line"):
        (x, y), (u, v) = spot(a), spot(b)
        steps |= {(i, y, True) for i in range(x, u)} | {(x, j, False) for j in range(y, v)}
    every: dict[Spot, list[Spot]] = {}
    for (x, u), (y, v) in itertools.product(itertools.combinations(range(13), 2), repeat=2):
        level = {(i, j, True) for i in range(x, u) for j in (y, v)}
        if level | {(i, j, False) for j in range(y, v) for i in (x, u)} <= steps:
            every.setdefault((y, v), []).append((x, u))
    told = re.findall(r"y=(\d+),(\d+) x=([\d,]+): (\d+)(?: \((\d+)\))?", why)
    assert [(int(t[0]), int(t[1])) for t in told] == sorted(every)
    for low, high, xs, count, squares in told:
        spans = every[int(low), int(high)]
        assert spans == list(itertools.combinations(numbers(xs), 2)) and len(spans) == int(count)
        assert sum(u - x == int(high) - int(low) for x, u in spans) == int(squares or 0)
    if len(told) > 1:
        sums(why, 1)
    assert f"= {truth[0]}, {truth[1]} of them squares." in why and int(truth[0]) == sum(int(t[3]) for t in told)
    assert int(truth[1]) == sum(int(t[4] or 0) for t in told)
    x, u, y, v, wide, high, area = numbers(why.split("The largest has")[1])[:7]
    assert (x, u) in every[y, v] and (wide, high, area) == (u - x, v - y, (u - x) * (v - y)) and str(area) == truth[2]
    assert area == max((b - a) * (d - c) for (c, d), spans in every.items() for a, b in spans)


@reads("ReflectRay")
def _rays(things: Things, truth: Words, why: str) -> None:
    grid = [t[2:] for t in things if t[0] == "row"]
    ways = {1j: "up", 1: "right", -1j: "down", -1: "left"}
    told = re.findall(r"Ray (\d+) goes (\w+): (.*?); out of (\w+) (\d+) by (\d+)\.", why)
    for (gate, start, text, line, number, out), (asked,), said in zip(told, of(things, "ray"), truth, strict=True):
        row, column, way = entry(int(gate), len(grid))
        going, turns = (1j, 1, -1j, -1)[way], []
        assert (gate, start, out) == (asked, ways[going], said)
        while 0 <= row < len(grid) > column >= 0:
            sign = grid[row][column]
            if sign != ".":
                going = complex(*((going.imag, going.real) if sign == "/" else (-going.imag, -going.real)))
                turns.append(f"{sign} ({row + 1},{column + 1}) {ways[going]}")
            at, row, column = (row, column), row - int(going.imag), column + int(going.real)
        assert text == (", ".join(turns) or "no mirror")
        assert (line, int(number)) == (("row", at[0] + 1) if going.real else ("column", at[1] + 1))
        assert entry(int(out), len(grid))[:2] == at


@reads("StoneGarden")
def _stones(things: Things, truth: Words, why: str) -> None:
    stones = named(things, "stone")
    told = {n: Fraction(v) for n, v in re.findall(r"([A-Z]) (-?[\d/]+)[,.]", why)}
    circle = re.findall(r"circle round \(([\d/-]+),([\d/-]+)\) with the squared radius ([\d/]+) holds (\d+)", why)
    if circle:
        x, y, value, count = map(Fraction, circle[0])
        want = {n: (a - x) ** 2 + (b - y) ** 2 for n, (a, b) in stones.items()}
    else:
        left, value, count = re.findall(r"The line (.*) = (-?\d+) holds (\d+)", why)[0]
        want = {n: valued_at(left, *p) for n, p in stones.items()}
    assert told == want and {n for n, v in told.items() if v == Fraction(value)} == set(truth)
    assert int(count) == len(truth)
    every = set()
    z = {n: complex(*p) for n, p in stones.items()}
    for a, b, c in itertools.combinations(z, 3):
        ratios = {d: (z[a] - z[c]) * (z[b] - z[d]) * ((z[a] - z[d]) * (z[b] - z[c])).conjugate() for d in z}
        every.add(frozenset(d for d, ratio in ratios.items() if abs(ratio.imag) < 1e-9))
    assert f"No other line or circle holds more than {max(len(e) for e in every if e != set(truth))}." in why


@reads("TriangleSum")
def _triangles(things: Things, truth: Words, why: str) -> None:
    points = named(things)
    told = re.findall(r"([A-Z])([A-Z])([A-Z]) \|(-?\d+)([+-]\d+)\|=(\d+)", why)
    assert [t[:3] for t in told] == list(itertools.combinations(points, 3))
    for a, b, c, one, two, twice in told:
        assert abs(int(one) + int(two)) == int(twice)
        assert shapely.Polygon([points[n] for n in (a, b, c)]).area * 2 == int(twice)
        assert int(one) == (points[b][0] - points[a][0]) * (points[c][1] - points[a][1])
    total = sum(int(t[-1]) for t in told)
    assert f"Together {total}, half is {truth[0]}." in why and total == 2 * int(truth[0])


@reads("UnionArea")
def _strips(things: Things, truth: Words, why: str) -> None:
    whole = shapely.unary_union([shapely.Polygon([spot(w) for w in ring]) for ring in of(things, "shape")])
    told = re.findall(r"y (\d+)-(\d+): x (.*?) is ([\d.]+)(?: \* (\d+))?(?=[;.])", why)
    areas = []
    for low, high, text, wide, times in told:
        parts = [re.fullmatch(r"(?:(\d)/4 of )?(\d+)-(\d+)", p).groups() for p in text.split(", ")]  # pyrefly: ignore
        for y in range(int(low), int(high)):
            cells = {x: int(n or 4) / 4 for n, a, b in parts for x in range(int(a), int(b))}
            for x in range(16):
                assert whole.intersection(shapely.box(x, y, x + 1, y + 1)).area == pytest.approx(cells.get(x, 0))
            assert sum(cells.values()) == float(wide)
        assert int(times or 1) == int(high) - int(low)
        areas.append(float(wide) * int(times or 1))
    shares = why.split("Together ")[1].split(". ")[0].split(" + ")
    assert [float(s) for s in shares] == areas and sum(areas) == float(truth[0]) == pytest.approx(whole.area)


@reads("VisibleLines")
def _envelope(things: Things, truth: Words, why: str) -> None:
    lines = {n: (spot(a)[1], spot(b)[1]) for n, a, b in of(things, "line")}
    assert f"At x=0 {max(lines, key=lambda n: lines[n][0])} is uppermost" in why
    told, at = re.findall(r"([A-Z]) is crossed by (.*?)\.(?= )", why), Fraction(0)
    assert [name for name, _ in told] == list(truth)
    for (name, text), after in zip(told, (*truth[1:], None), strict=True):
        a, b = lines[name]
        rise = {n: Fraction(20 * (a - c), a - c + d - b) for n, (c, d) in lines.items() if c < a and d > b}
        want = sorted((x, n) for n, x in rise.items() if x >= at)
        marks = re.findall(r"([A-Z]) at ([\d.]+)", text)
        assert [n for n, _ in marks] == [n for _, n in want] and bool(want) == (text != "none")
        assert all(abs(float(x) - y) <= 0.0051 for (_, x), (y, _) in zip(marks, want, strict=True))
        if after:
            at = want[0][0]
            assert want[0][1] == after


@reads("VoronoiAsk")
def _nearest(things: Things, truth: Words, why: str) -> None:
    sites = named(things, "site")
    told = re.findall(r"Mark (\d+): (.*?); least (\d+), ([A-Z])\.", why)
    for (number, text, least, near), (name, p), said in zip(told, named(things, "mark").items(), truth, strict=True):
        far = {n: int(v) for n, v in re.findall(r"([A-Z]) (\d+)", text)}
        assert far == {n: (q[0] - p[0]) ** 2 + (q[1] - p[1]) ** 2 for n, q in sites.items()}
        assert (number, near, int(least)) == (name, said, far[said]) and min(far.values()) == far[said]


@pytest.mark.parametrize("name", ASKS)
def test_every_claim_of_a_reason_is_true_and_leads_to_the_answer(name: str):
    world = world_of(name)
    for level, seed in itertools.product(range(10), range(80, 85)):
        state = world.start(seed, level)
        plan = world.solve(state, SOLO)
        assert isinstance(plan, Plan)
        try:
            CHECKS[name](state.things, plan.moves[0].value, plan.because)
        except Exception as error:
            raise AssertionError(f"{name}, seed {seed}, level {level}: {plan.because}") from error


@pytest.mark.parametrize("name", ASKS)
def test_a_reason_is_one_short_line_that_follows_from_the_page(name: str):
    world = world_of(name)
    for level, seed in itertools.product(range(10), range(40, 48)):
        state = world.start(seed, level)
        plan = world.solve(state, SOLO)
        assert plan.because.endswith(f". So {plan.moves[0].key}.") and "\n" not in plan.because
        assert 20 < len(plan.because) <= 1200
        page = world.rebuild(world.view(state, SOLO).caption(2), SOLO)
        assert world.why(page.things) == world.why(state.things)


def test_no_world_of_questions_is_without_a_reader_of_its_reasons():
    assert sorted(CHECKS) == sorted(ASKS)
