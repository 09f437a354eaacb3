"""Questions about figures: what each world takes for true, against shapely, sympy, networkx or plain trying."""

from __future__ import annotations

import cmath
import itertools
import math
from fractions import Fraction

import networkx
import pytest
import shapely
import sympy

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.registry import entries
from quintain.types import QuintainError
from quintain.worlds.engines.geometry.ask import AskWorld
from quintain.worlds.engines.geometry.figure import LETTERS, Things, Words, named, of, spot
from quintain.worlds.engines.geometry.mirror_look import INKS
from quintain.worlds.engines.geometry.mirrors import entry, trace
from quintain.worlds.kernel import Unsolvable
from quintain.worlds.knobs import BadKnob
from quintain.worlds.noise import Rng
from quintain.worlds.suite.cognition import clock_dial
from quintain.worlds.suite.geometry import circle_theorem

ASKS = [e.name for e in entries("world") if e.tags["engine"] == "geometry" and isinstance(world_of(e.name), AskWorld)]
CASES = [(seed, level) for level in (0, 2, 4, 6, 8, 9) for seed in (70, 71, 72)]


def figures(name: str) -> list[tuple[Things, Words]]:
    """Figures of a world with what it takes for true."""
    world = world_of(name)
    states = [world.start(seed, level) for seed, level in CASES]
    return [(s.things, world.solve(s, SOLO).moves[0].value) for s in states]


def spots(things: Things, kind: str = "point") -> list[tuple[int, int]]:
    return list(named(things, kind).values())


def test_hull_points_are_the_corners_that_shapely_finds():
    for things, truth in figures("HullPoints"):
        ring = shapely.MultiPoint(spots(things)).convex_hull.exterior.coords
        assert {named(things)[n] for n in truth} == {(int(x), int(y)) for x, y in ring}


def test_smallest_circles_are_those_of_shapely():
    for things, (x, y, square) in figures("MinCircle"):
        points = shapely.MultiPoint(spots(things))
        assert shapely.minimum_bounding_radius(points) ** 2 == pytest.approx(int(square), rel=1e-6)
        centre = shapely.minimum_bounding_circle(points).centroid
        assert (centre.x, centre.y) == pytest.approx((int(x), int(y)), abs=0.02)


def test_no_four_points_make_a_larger_rectangle():
    for things, truth in figures("MaxRectangle"):
        areas = {}
        for a, b, c, d in itertools.permutations(spots(things), 4) if len(things) < 10 else ():
            u, v = (b[0] - a[0], b[1] - a[1]), (d[0] - a[0], d[1] - a[1])
            if u[0] * v[0] + u[1] * v[1] == 0 and (a[0] + c[0], a[1] + c[1]) == (b[0] + d[0], b[1] + d[1]):
                areas[frozenset((a, b, c, d))] = math.hypot(*u) * math.hypot(*v)
        if areas:
            assert {named(things)[n] for n in truth} == set(max(areas, key=lambda four: areas[four]))


def test_triangles_have_the_areas_of_shapely():
    for things, (truth,) in figures("TriangleSum"):
        total = sum(shapely.Polygon(three).area for three in itertools.combinations(spots(things), 3))
        assert total == pytest.approx(int(truth))


def test_polygons_have_the_area_and_points_of_shapely():
    for things, (area, inner) in figures("PolygonArea"):
        polygon = shapely.Polygon(spots(things, "corner"))
        assert polygon.is_valid and polygon.area == int(area)
        lattice = itertools.product(range(20), repeat=2)
        assert sum(polygon.contains(shapely.Point(p)) for p in lattice) == int(inner)


def test_unions_have_the_area_of_shapely():
    for things, (truth,) in figures("UnionArea"):
        shapes = [shapely.Polygon([spot(w) for w in ring]) for ring in of(things, "shape")]
        assert shapely.unary_union(shapes).area == pytest.approx(int(truth))


def test_cuts_halve_the_area():
    ops = pytest.importorskip("shapely.ops")
    world = world_of("CutPolygon")
    for things, truth in figures("CutPolygon")[::3]:
        polygon = shapely.Polygon(spots(things, "corner"))
        edge = [p for p in itertools.product(range(20), repeat=2) if polygon.boundary.distance(shapely.Point(p)) < 1e-9]
        halves = set()
        for one, two in itertools.combinations(edge, 2):
            parts = ops.split(polygon, shapely.LineString((one, two))).geoms
            if len(parts) == 2 and abs(parts[0].area - parts[1].area) < 1e-6:
                halves.add((one, two))
        words = {tuple(sorted(f"({x},{y})" for x, y in pair)) for pair in halves}
        assert truth in words and all(world.right(things, said) for said in words)
        assert not any(world.right(things, (truth[0], f"({x},{y})")) for x, y in edge if f"({x},{y})" != truth[1])


def test_lines_seen_from_above_are_those_that_are_highest_somewhere():
    for things, truth in figures("VisibleLines"):
        lines = {n: (spot(a)[1], spot(b)[1]) for n, a, b in of(things, "line")}
        order = []
        for t in range(1001):
            top = max(lines, key=lambda n: lines[n][0] * (1000 - t) + lines[n][1] * t)
            if top not in order:
                order.append(top)
        assert tuple(order) == truth


def test_asked_angles_are_those_of_the_drawing():
    for things, (truth,) in figures("AngleChase"):
        ways = {}
        for name, a, b in of(things, "line"):
            (ax, ay), (bx, by) = spot(a), spot(b)
            ways[name] = math.degrees(math.atan2(by - ay, bx - ax))
        for one, two, size in (*of(things, "angle"), (*of(things, "ask")[0], truth)):
            assert abs((ways[two] - ways[one] - int(size) + 90) % 180 - 90) < 6, (one, two)


def _measured(kind: str, points: Words, place: dict[str, complex]) -> float:
    """A size on a circle round 0, measured at coordinates."""
    z = [place[p] for p in points]
    against = math.degrees(cmath.phase(z[1] / z[0])) % 360
    if kind in ("arc", "centre"):
        return against
    if kind == "inscribed":
        return abs(math.degrees(cmath.phase((z[0] - z[2]) / (z[1] - z[2]))))
    if kind == "tangent":
        return math.degrees(cmath.phase((z[1] - z[0]) / (z[0] * 1j))) % 360
    return abs(math.degrees(cmath.phase((z[2] - z[0]) / (z[3] - z[1])))) if kind == "chords" else math.nan


def test_sizes_on_a_circle_are_what_coordinates_give():
    turns = [10, 52, 130, 171, 250, 318]
    place = {n: cmath.rect(1, math.radians(t)) for n, t in zip(LETTERS, turns, strict=False)}
    arcs = [(b - a) % 360 for a, b in zip(turns, turns[1:] + turns[:1], strict=True)]
    for kind, count in (("arc", 2), ("tangent", 2), ("inscribed", 3), ("chords", 4)):
        for points in itertools.permutations("ABCDEF", count):
            if kind == "chords" and list(points) not in [sorted(points)[i:] + sorted(points)[:i] for i in range(4)]:
                continue
            row = circle_theorem._parts(kind, points, 6)
            total = sum(
                Fraction(1, 2) * a if p == circle_theorem.HALF else p * a for p, a in zip(row, arcs, strict=True)
            )
            want = float(total)
            got = _measured(kind, points, place)
            assert got == pytest.approx(want) or (kind == "chords" and got == pytest.approx(180 - want)), (kind, points)


def test_what_is_asked_of_a_circle_follows_as_sympy_says():
    for things, (truth,) in figures("CircleTheorem")[::3]:
        count = len(of(things, "point"))
        arcs = sympy.symbols(f"a:{count}")
        half = circle_theorem.HALF

        def total(kind: str, points: Words, arcs: tuple = arcs, half: int = half, count: int = count) -> sympy.Expr:
            row = circle_theorem._parts(kind, points, count)
            return sum(a * (sympy.Rational(1, 2) if p == half else p) for p, a in zip(row, arcs, strict=True))

        given = [total(t[0], t[1:-1]) - int(t[-1]) for t in things if t[0] not in ("point", "ask")]
        solved = sympy.solve([sum(arcs) - 360, *given], arcs, dict=True)[0]
        kind, *points = of(things, "ask")[0]
        assert sympy.simplify(total(kind, tuple(points)).subs(solved)) == int(truth)


def test_the_nearest_site_is_nearest():
    for things, truth in figures("VoronoiAsk"):
        sites = named(things, "site")
        for mark, name in zip(spots(things, "mark"), truth, strict=True):
            others = [math.dist(mark, p) for n, p in sites.items() if n != name]
            assert math.dist(mark, sites[name]) < min(others)


def test_moves_of_the_plane_are_those_of_sympy():
    for things, truth in figures("CoordinateRead")[::3]:
        points = [sympy.Point(*p) for p in spots(things)]
        for _, kind, what, *rest in of(things, "step"):
            if kind == "shift":
                (ax, ay), (bx, by) = spot(what), spot(rest[1])
                points = [p.translate(bx - ax, by - ay) for p in points]
            elif kind == "turn":
                points = [p.rotate(sympy.rad(int(what)), sympy.Point(*spot(rest[1]))) for p in points]
            elif kind == "mirror":
                at = int(what[2:])
                line = sympy.Line((at, 0), (at, 1)) if what[0] == "x" else sympy.Line((0, at), (1, at))
                points = [p.reflect(line) for p in points]
            else:
                points = [p.scale(2, 2, sympy.Point(*spot(rest[1]))) for p in points]
        assert tuple(f"({p.x},{p.y})" for p in points) == truth


def test_no_line_or_circle_has_more_stones():
    for things, truth in figures("StoneGarden"):
        stones = spots(things, "stone")
        best: set[frozenset] = set()
        for a, b, c in itertools.combinations(stones, 3):
            za, zb, zc = (complex(*p) for p in (a, b, c))
            on = []
            for d in stones:
                zd = complex(*d)
                # four points lie on one line or circle exactly if their cross ratio is real
                ratio = (za - zc) * (zb - zd) * ((za - zd) * (zb - zc)).conjugate()
                if d in (a, b, c) or abs(ratio.imag) < 1e-9:
                    on.append(d)
            best.add(frozenset(on))
        fullest = max(best, key=len)
        assert {named(things, "stone")[n] for n in truth} == fullest
        assert sum(len(on) == len(fullest) for on in best) == 1


def test_rays_follow_the_mirrors():
    for things, truth in figures("ReflectRay"):
        grid = [t[2:] for t in things if t[0] == "row"]
        size = len(grid)
        for (gate,), out in zip(of(things, "ray"), truth, strict=True):
            row, column, way = entry(int(gate), size)
            going = (1j, 1, -1j, -1)[way]  # up is the imaginary unit
            while 0 <= row < size and 0 <= column < size:
                if grid[row][column] == "/":
                    going = 1j * going.conjugate()
                elif grid[row][column] == "\\":
                    going = -1j * going.conjugate()
                row, column = row - int(going.imag), column + int(going.real)
            there = entry(int(out), size)
            assert (row + int(going.imag), column - int(going.real)) == there[:2]
            cells = "".join(sign for line in grid for sign in line)
            assert trace(cells, size, int(out)).gate == int(gate)


def test_patches_are_the_components_of_networkx():
    for things, truth in figures("BlockCount"):
        grid = [t[2:] for t in things if t[0] == "row"]
        size = len(grid)
        for color, count in zip(of(things, "count")[0], truth, strict=True):
            cells = [p for p in itertools.product(range(size), repeat=2) if grid[p[0]][p[1]] == color]
            graph = networkx.grid_2d_graph(size, size).subgraph(cells)
            assert networkx.number_connected_components(graph) == int(count)


def test_rectangles_have_all_their_sides_drawn():
    for things, (count, squares, largest) in figures("RectTally")[:9]:
        drawn = shapely.unary_union([shapely.LineString((spot(a), spot(b))) for a, b in of(things, "line")])
        xs = sorted({spot(w)[0] for line in of(things, "line") for w in line})
        ys = sorted({spot(w)[1] for line in of(things, "line") for w in line})
        found = []
        for (a, b), (c, d) in itertools.product(itertools.combinations(xs, 2), itertools.combinations(ys, 2)):
            if drawn.covers(shapely.box(a, c, b, d).exterior):
                found.append((b - a, d - c))
        assert (len(found), sum(w == h for w, h in found)) == (int(count), int(squares))
        assert max(w * h for w, h in found) == int(largest)


def test_counts_are_counts():
    for things, truth in figures("DotTally"):
        for (color, shape), count in zip(of(things, "count"), truth, strict=True):
            marks = [t for t in things if t[0] != "count" and color in ("any", t[1]) and shape in ("any", t[0])]
            assert len(marks) == int(count)


def test_shapes_can_be_laid_down_in_one_order_only():
    for things, truth in figures("Occluded"):
        graph = networkx.DiGraph((low, up) for up, low in of(things, "cover"))
        assert list(networkx.all_topological_sorts(graph)) == [list(truth)]


def test_one_pair_of_paints_gives_each_mixture():
    world = world_of("ColourMix")
    for things, truth in figures("ColourMix"):
        paints = {n: [int(v) for v in mix] for n, *mix in of(things, "paint")}
        for i, (_, *mix) in enumerate(of(things, "target")):
            fit = [
                {a, b}
                for a, b in itertools.combinations(paints, 2)
                if all(x + y == 2 * int(v) for x, y, v in zip(paints[a], paints[b], mix, strict=True))
            ]
            assert fit == [set(truth[2 * i : 2 * i + 2])]
        swapped = tuple(name for i in range(0, len(truth), 2) for name in (truth[i + 1], truth[i]))
        assert world.right(things, world.read(" ".join(swapped), SOLO).value)


def test_a_pair_of_paints_earns_its_share_in_either_order():
    world = world_of("ColourMix")
    state = next(
        s for s in (world.start(seed, 5) for seed in range(50)) if len(world.solve(s, SOLO).moves[0].value) == 4
    )
    a, b, c, d = world.solve(state, SOLO).moves[0].value
    other = next(t[0] for t in of(state.things, "paint") if t[0] not in (a, b, c, d))
    earned = [world.step(state, {SOLO: world.read(f"{x} {y} {c} {other}", SOLO)}).rewards for x, y in ((a, b), (b, a))]
    assert earned[0] == earned[1] and 0 < sum(earned[0][SOLO].values()) <= 0.2
    for said in (f"{other} {a} {c} {d}", f"{b} {other} {c} {d}"):
        assert world.step(state, {SOLO: world.read(said, SOLO)}).rewards[SOLO]["near"] == pytest.approx(0.15)
    assert world.step(state, {SOLO: world.read(f"{a} {b} {c} Z", SOLO)}).events == {SOLO: ("illegal",)}


def test_bars_and_hands_stand_at_whole_numbers_on_every_scale():
    for marks in range(10, 51):
        for kind, make in (("gauge", clock_dial._gauge), ("ruler", clock_dial._ruler)):
            for seed in range(12):
                thing = make(Rng("dial", marks, seed), {"marks": marks})
                low, high, *rest = [int(word) for word in thing[1::2]]
                at, whole = ((rest[2] - rest[0]) % 360, rest[1]) if kind == "gauge" else (rest[0], 100)
                (read,) = clock_dial._truth(((kind, "A", *thing),))
                assert 0 < int(read) - low < high - low and (int(read) - low) * whole == at * (high - low)


def test_instruments_read_as_they_do():
    world = world_of("ClockDial")
    things = (
        ("clock", "A", "top", "0", "short", "102", "long", "144"),
        ("clock", "B", "top", "90", "short", "105", "long", "270"),
        ("gauge", "C", "from", "10", "to", "50", "start", "240", "sweep", "240", "hand", "0"),
        ("ruler", "D", "from", "30", "to", "50", "end", "35"),
    )
    assert world.truth(things) == ("3:24", "12:30", "30", "37")


@pytest.mark.parametrize("name", ASKS)
def test_an_answer_ends_it_and_shares_of_it_earn_little(name: str):
    world = world_of(name)
    state = world.start(5, 4)
    move = world.solve(state, SOLO).moves[0]
    outcome = world.step(state, {SOLO: move})
    assert outcome.done and outcome.rewards == {SOLO: {"success": 1.0}}
    assert isinstance(world.solve(outcome.state, SOLO), Unsolvable)
    assert world.step(outcome.state, {SOLO: move}).events == {SOLO: ("illegal",)}
    stray = {"point": "(0,0)", "name": move.value[0]}.get(world.form.of, "0" if move.value[-1] != "0" else "1")
    wrong = world.form.move((*move.value[:-1], stray))
    missed = world.step(state, {SOLO: wrong})
    assert missed.done and missed.events == {SOLO: ("wrong",)}
    assert sum(missed.rewards.get(SOLO, {}).values()) <= 0.2
    assert bool(missed.rewards) == (world.near and len(move.value) > 1)


@pytest.mark.parametrize(
    "name, texts, key",
    [
        ("HullPoints", ("c, a, B", "{A, B, C}", "points A B and C", "A B C A"), "A B C"),
        ("CutPolygon", ("(9,12), (3,4)", "3,4 and 9,12", "[[3, 4], [9, 12]]"), "(3,4) (9,12)"),
        (
            "PolygonArea",
            ("40, 34", "area 40, 34 points", "40.0 34", "area 40, inside 34", "area: 40; inside: 34"),
            "40 34",
        ),
        ("AngleChase", ("50", "50°", "x = 50", "<50>", "=> 50", "∠ABC = 50°", "angle A D = 50", "ask A D: 50"), "50"),
        ("CircleTheorem", ("50 degrees", "arc D E = 50", "arc DE is 50", "ask arc D E: 50"), "50"),
        (
            "UnionArea",
            ("54 units²", "54 units^2", "54 sq units", "54 unit squares", "Total area = 54", "total: 54"),
            "54",
        ),
        ("ClockDial", ("3:05, 17", "3:05 and 17", "A: 3:05, B: 17", "a 3:05 b 17", "A=3:05 B=17"), "3:05 17"),
        ("MinCircle", ("14 13 25", "x=14 y=13 r^2=25", "x = 14, y = 13, r² = 25", "x=14 y=13 r2=25"), "14 13 25"),
        ("PileIntervals", ("32 29", "first 32, second 29", "First: 32; second: 29"), "32 29"),
        ("VisibleLines", ("C -> A -> B", "c, a, b", "C then A then B"), "C A B"),
        ("CoordinateRead", ("A (5,2), B (11,8)", "a: 5,2 b: 11,8", "(5,2) - (11,8)", "(5,2)-(11,8)"), "(5,2) (11,8)"),
        ("VoronoiAsk", ("1 C 2 D", "1=C 2=D", "1: C, 2: D", "1. C\n2. D"), "C D"),
        ("VoronoiAsk", ("x=C, y=D", "P: C, Q: D"), "C D"),
        ("HullPoints", ("S = {A, C, D}", "H = A, C, D"), "A C D"),
        (
            "ReflectRay",
            ("Ray 1 → 17, Ray 2 → 10", "1 -> 17, 2 -> 10", "ray 1 leaves by gate 17, ray 2 leaves by gate 10"),
            "17 10",
        ),
        ("VoronoiAsk", ("mark 1: C, mark 2: D", "Mark 1: site C; mark 2: site D", "mark 1 C\nmark 2 D"), "C D"),
        ("MaxRectangle", ("A(3,5), C(9,5), D (9,7), F=(3,7)", "Corners: A C D F", "Rectangle: a, c, d, f"), "A C D F"),
        ("HullPoints", ("A (3,5), C (9,5), D (9,7)", "Hull: A, C, D"), "A C D"),
        ("CoinStrip", ("3 2", "coin 3, 2 cells", "coin 3 by 2 cells", "Coin 3: 2 cells left"), "3 2"),
        ("AngleChase", ("angle between B and C: 50", "? = 50°", "The marked angle is 50°"), "50"),
        ("TriangleSum", ("Sum of areas: 65",), "65"),
        ("ClockDial", ("ruler A 46, gauge B 5", "Clock A: 46; Ruler B: 5", "A reads 46, B reads 5"), "46 5"),
        (
            "ColourMix",
            ("target 1: A F, target 2: C E", "Target 1: paints A and F; target 2: paints C and E"),
            "A F C E",
        ),
        ("CutPolygon", ("line from (8,2) to (9,15)", "Start: (8, 2); end: (9, 15)", "(8,2), C (9,15)"), "(8,2) (9,15)"),
        ("StoneGarden", ("Stones: B, D, E", "Circle: B D E", "stones on the circle: B, D, E"), "B D E"),
        ("VisibleLines", ("Lines: A C F", "from left to right: A, C, F", "Line A, line C, line F"), "A C F"),
        ("HullPoints", ("corners of the hull: A C D", "Convex hull: A, C, D", "Hull ACD"), "A C D"),
        ("MaxRectangle", ("Rectangle ACDF",), "A C D F"),
        ("Occluded", ("Order: C, B, A", "lowest first: C B A", "bottom to top: C, B, A"), "C B A"),
        ("ReflectRay", ("gates 18 and 1", "Gates: 18, 1"), "18 1"),
        (
            "ReflectRay",
            ("8: 18, 14: 1", "ray 8: gate 18; ray 14: gate 1", "Ray 8 leaves by 18, ray 14 by 1"),
            "8 18 14 1",
        ),
        ("PileIntervals", ("First player: 54; second player: 31", "Player 1: 54, Player 2: 31"), "54 31"),
        ("PolygonArea", ("Area: 95, interior points: 91", "area 95, lattice points strictly inside 91"), "95 91"),
        (
            "RectTally",
            ("17 rectangles, 3 squares, largest area 56", "Rectangles: 17, squares: 3, largest: 56"),
            "17 3 56",
        ),
        ("MinCircle", ("Centre (12, 8), square of the radius 50",), "12 8 50"),
        ("HueOrder", ("swap tiles c1 and b3", "exchange c1 and b3", "c1 ↔ b3"), "c1 b3"),
        ("JigsawSwap", ("turn piece b1", "rotate b1", "turn b1 to the right", "rotate b1 clockwise"), "turn b1"),
        ("MirrorPlace", ("put \\ at b3", "place a \\ mirror in b3", "\\ at b3"), "b3 \\"),
        ("MirrorPlace", ("remove the mirror at b3", "take away b3"), "b3 off"),
        ("PackBoxes", ("C: g1, 90", "C at g1 rotated 90 degrees", "C in g1, turned by 90"), "C g1 90"),
        ("PolygonArea", ("24-21", "24 - 21", "- 24\n- 21", "1: 24, 2: 21"), "24 21"),
    ],
)
def test_an_answer_has_many_spellings(name: str, texts: tuple[str, ...], key: str):
    assert {world_of(name).read(text, SOLO).key for text in texts} == {key}


@pytest.mark.parametrize("text", ["11 15 -25", "11, 15, - 25", "11 −15 25", "-(11) 15 25", "1: 11, 15, 2: 25"])
def test_a_sign_or_a_label_too_few_is_not_read_over(text: str):
    assert world_of("MinCircle").read(text, SOLO) is None


@pytest.mark.parametrize("name", ["AngleChase", "CircleTheorem", "TriangleSum", "UnionArea"])
@pytest.mark.parametrize(
    "text", ["< 50", "x < 50", "50 < x", "x > 50", "angle not 50", "angle isn t 50", "50 is wrong"]
)
def test_a_bound_is_not_the_number(name: str, text: str):
    assert world_of(name).read(text, SOLO) is None


@pytest.mark.parametrize(
    "name, text",
    [
        ("PolygonArea", "inside 34, area 40"),
        ("PolygonArea", "interior points: 91; area: 95"),
        ("PileIntervals", "54 of 85"),
        ("RectTally", "squares: 3, rectangles: 17, area: 56"),
        ("ReflectRay", "gate 18: ray 8, gate 1: ray 14"),
        ("VisibleLines", "right to left: F C A"),
        ("ColourMix", "target 2: C E, target 1: A F"),
        ("StoneGarden", "B, D, E on a circle"),
        ("JigsawSwap", "rotate b1 left"),
        ("ClockDial", "gauge: 5, clock: 3:25"),
        ("PileIntervals", "second 29, first 32"),
        ("CoinStrip", "2 cells, coin 3"),
        ("VoronoiAsk", "mark 2: D, mark 1: C"),
        ("HullPoints", "A, B, C (D is inside)"),
        ("HullPoints", "interior points: A, B, C"),
        ("HullPoints", "TODO"),
        ("Occluded", "C <- D <- A <- B"),
        ("MinCircle", "r^2=25 x=14 y=13"),
        ("MinCircle", "y=13 x=14 r2=25"),
        ("MinCircle", "radius squared 25, center 14 13"),
        ("PolygonArea", "points 34 area 40"),
        ("VisibleLines", "second b, first a"),
        ("CoordinateRead", "second (5,3), first (10,7)"),
        ("ClockDial", "second 7:00, first 27"),
        ("ClockDial", "B: 17, A: 3:05"),
        ("ClockDial", "A: 3:05, B: 17 4"),
    ],
)
def test_what_is_named_in_another_order_or_a_label_too_few_is_not_read(name: str, text: str):
    assert world_of(name).read(text, SOLO) is None


@pytest.mark.parametrize(
    "name, text, key",
    [
        ("VisibleLines", "first b, second a", "B A"),
        ("CoordinateRead", "first (10,7), second (5,3)", "(10,7) (5,3)"),
    ],
)
def test_what_is_named_in_its_order_is_read(name: str, text: str, key: str):
    assert world_of(name).read(text, SOLO).key == key


def test_gates_may_be_told_with_their_rays():
    world = world_of("ReflectRay")
    state = world.start(3, 1)
    told = zip(of(state.things, "ray"), world.truth(state.things), strict=True)
    said = world.read(", ".join(f"{ray}: {gate}" for (ray,), gate in told), SOLO)
    assert world.step(state, {SOLO: said}).rewards == {SOLO: {"success": 1.0}}


@pytest.mark.parametrize("name", ASKS)
def test_what_is_no_caption_is_told(name: str):
    with pytest.raises(QuintainError, match="no full caption"):
        world_of(name).rebuild("three points", SOLO)


def test_knobs_that_leave_no_room_are_told():
    with pytest.raises(BadKnob, match="it takes an integer from 1 to 3"):
        world_of("ColourMix").start(0, 0, targets=30)


def test_rays_may_come_in_another_order_than_they_are_asked_for():
    world = world_of("ReflectRay")
    state = world.start(5, 4)
    rays = [words[0] for kind, *words in state.things if kind == "ray"]
    pairs = list(zip(rays, world.solve(state, SOLO).moves[0].value, strict=True))
    text = ", ".join(f"ray {ray}: gate {gate}" for ray, gate in pairs[1:] + pairs[:1])
    assert world.step(state, {SOLO: world.read(text, SOLO)}).rewards[SOLO]["success"] == 1


def test_the_rules_name_the_colours_of_rays_in_their_order():
    names = {"brick": "orange, then", "green": "green,", "plum": "pink,", "blue": "blue and", "amber": "amber"}
    assert f"the first {' '.join(names[ink] for ink in INKS)}." in world_of("ReflectRay").facts.rules.replace("\n", " ")
