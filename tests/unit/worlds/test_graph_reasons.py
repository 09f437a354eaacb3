"""What the oracle says about answers on drawn graphs: every claim is read out of the line and checked against networkx or by hand."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import networkx as nx
import pytest
from tests.reasons import explained, told

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.registry import entries
from quintain.worlds.engines.graph.page import Graph
from quintain.worlds.engines.graph.sheet import GraphWorld

PAGES = [e.name for e in entries("world") if e.tags["engine"] == "graph" and isinstance(world_of(e.name), GraphWorld)]
# level, seed and knobs of pages that tell what few do: no walk, no clique as large as the colouring, no short bound, nothing left out
RARE = {
    "HamPath": [(9, 46), (9, 78), (9, 60), (8, 33), (0, 503395, {"split": "validation", "n": 8})],
    "EulerTour": [(9, 3), (9, 21), (1, 1007)], "ArboMin": [(3, 1091, {"split": "validation"})], "FlowRead": [(9, 8), (9, 11)],
    "ColourMin": [(9, 21), (9, 27), (9, 84)], "AchromMax": [(8, 52), (7, 7), (6, 84)],
    "CliqueMax": [(8, 10)], "IndepGrid": [(6, 2932, {"n": 3, "holes": 7})],
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_every_claim_of_a_reason_is_true_and_leads_to_the_answer(name: str) -> None:
    world = world_of(name)
    for level, seed, *more in [*itertools.product(range(10), range(6)), *RARE.get(name, [])]:
        caption, why, answer = explained(name, seed, level, **(more[0] if more else {}))
        again = world.rebuild(caption, SOLO)
        assert world.solve(again, SOLO).because == why
        globals()[name.lower()](again.graph, why, answer)


def roads(g: Graph) -> dict[tuple[str, str], int]:
    """(from, to) -> weight, from the words of the page alone."""
    out = {}
    for line, (_, _, label) in zip(g.lines, g.edges, strict=True):
        a, sign, b = re.fullmatch(r"(\w+)([->])(\w+)", line).groups()
        out[a, b] = int(label) if label.isdecimal() else 1
        if sign == "-":
            out[b, a] = out[a, b]
    return out


def nx_of(g: Graph) -> nx.Graph:
    out = nx.DiGraph() if ">" in g.arrows else nx.Graph()
    out.add_nodes_from(g.names)
    out.add_weighted_edges_from((a, b, w) for (a, b), w in roads(g).items())
    return out


def pairs_in(text: str) -> list[tuple[str, str]]:
    return [(a, b) for a, b in re.findall(r"(\w+)[->](\w+)", text)]


def added(text: str) -> int:
    """The value of a sum such as 3+4=7, which must be right."""
    total = sum(map(int, text.partition("=")[0].split("+")))
    assert text.partition("=")[2] in ("", str(total)), text
    return total


def shortestwalk(g: Graph, why: str, said: str) -> None:
    far, road, last, before = nx.single_source_dijkstra_path_length(nx_of(g), g.ask["from"]), roads(g), 0, {}
    for v, one, two, total, u in re.findall(r"(\w) (\d+)\+(\d+)=(\d+) after (\w)", why):
        assert int(one) == far[u] and int(two) == road[u, v] and int(total) == far[v] == far[u] + road[u, v] >= last
        last, before[v] = far[v], u
    assert {v for v in far if far[v] < last} <= {*before, g.ask["from"]} and last == far[g.ask["to"]]
    ends = rf"from {g.ask['from']}, near.*Back from {g.ask['to']}: "
    back = told(rf"{ends}([\w ]+), length {last}\.$", why).split()
    assert [before[v] for v in back[:-1]] == back[1:] and back[::-1] == said.split()


def reaches(road: dict[tuple[str, str], int], at: str, goal: str, seen: set[str]) -> int | None:
    """The longest way on without a vertex twice."""
    if at == goal:
        return 0
    ahead = [(b, w) for (a, b), w in road.items() if a == at and b not in seen]
    return max((w + r for b, w in ahead if (r := reaches(road, b, goal, seen | {b})) is not None), default=None)


def longestwalk(g: Graph, why: str, said: str) -> None:
    road, walk, goal = roads(g), said.split(), g.ask["to"]
    parts = re.findall(r"(\w): ((?:\w \d+\+\d+=\d+(?:, )?)+)", why)
    assert [v for v, _ in parts] == walk[:-1]
    for i, (v, options) in enumerate(parts):
        seen = set(walk[: i + 1])
        listed = re.findall(r"(\w) (\d+)\+(\d+)=(\d+)", options)
        on = {b: reaches(road, b, goal, seen | {b}) for a, b in road if a == v and b not in seen}
        assert {u: int(rest) for u, _, rest, _ in listed} == {b: r for b, r in on.items() if r is not None}
        assert all(int(own) == road[v, u] and int(own) + int(rest) == int(all_) for u, own, rest, all_ in listed)
        assert listed[0][0] == walk[i + 1] and int(listed[0][3]) == max(int(o[3]) for o in listed)
    assert told(r"\. ([\w ]+) is [\d+=]+\.$", why) == said
    assert added(told(r"is ([\d+=]+)\.$", why)) == sum(road[s] for s in itertools.pairwise(walk))


def matchmax(g: Graph, why: str, said: str) -> None:
    graph, road, left, taken = nx_of(g), roads(g), set(g.names), []

    def most(names: set[str]) -> int:
        inside = graph.subgraph(names)
        return sum(inside.edges[e]["weight"] for e in nx.max_weight_matching(inside))

    for v, options in re.findall(r"(\w): ((?:(?:\w-\w|alone) \d+\+\d+=\d+(?:, )?)+)", why):
        listed = re.findall(r"(\w-\w|alone) (\d+)\+(\d+)=(\d+)", options)
        assert len(listed) == 1 + sum((v, u) in road for u in left)
        for what, own, rest, total in listed:
            ends = {v} if what == "alone" else set(what.split("-"))
            assert v in ends and ends <= left and int(own) == (0 if what == "alone" else road[tuple(what.split("-"))])
            assert int(rest) == most(left - {n for n in left if n < v} - ends) and int(own) + int(rest) == int(total)
        assert int(listed[0][3]) == max(int(o[3]) for o in listed)
        taken += [listed[0][0]] if listed[0][0] != "alone" else []
        left -= {v, *listed[0][0].split("-")}
    assert told(r"\. ([\w -]+): [\d+=]+\.$", why) == " ".join(sorted(taken)) == said
    assert added(told(r": ([\d+=]+)\.$", why)) == most(set(g.names))


def farthest(graph: nx.Graph, v: str, seen: frozenset[str]) -> int:
    return 1 + max((farthest(graph, u, seen | {u}) for u in graph[v] if u not in seen), default=0)


def hampath(g: Graph, why: str, said: str) -> None:
    graph, n = nx_of(g), len(g.names)
    if said != "none":
        steps = re.findall(r"(\w)(?: \(or ([\w ]+)\))?", told(rf"was open: (.*)\. All {n} are", why))
        assert " ".join(v for v, _ in steps) == said and len({v for v, _ in steps}) == n
        for i, (v, others) in enumerate(steps[1:], 1):
            assert {v, *others.split()} == set(graph[steps[i - 1][0]]) - {u for u, _ in steps[:i]}
        ends = re.search(r"one edge: ([\w ]+)\.", why)
        assert set(ends[1].split() if ends else ()) == {v for v in graph if len(graph[v]) == 1}
    elif " pieces: " in why:
        out = told(r"Without ([\w ]+?) it is in", why).split() if why.startswith("Without") else []
        pieces = {frozenset(p.split()) for p in told(r"pieces: ([\w |]+)\.", why).split(" | ")}
        assert pieces == set(map(frozenset, nx.connected_components(graph.subgraph(set(graph) - set(out)))))
        assert int(told(r"in (\d+) pieces", why)) == len(pieces) > len(out) + 1
        assert f"joins {len(out) + 1} at most through" in why if out else why.startswith("The drawing is in")
    else:
        found = {v: int(k) for v, k in re.findall(r"(\w) (\d+)", told(r"first: (.*)\. None", why))}
        assert found == {v: farthest(graph, v, frozenset(v)) for v in graph} and max(found.values()) < n


def eulertour(g: Graph, why: str, said: str) -> None:
    if said == "none":
        group = set(told(r"lead out of ([\w ]+)\.", why).split())
        rim = {line for line in g.lines if (line[0] in group) != (line[2] in group)}
        away = {line for line in rim if line[1] == ">" and line[0] in group}
        assert set(told(r"arrows (.*?) lead", why).split()) == away
        assert set(told(r"come back: (.*?)\.", why).split()) - {"none"} == rim - away and len(away) > len(rim - away)
        assert why.endswith(f" {len(away)} out and {len(rim - away)} back at most: none.")
        return
    turned = pairs_in(told(r"go (.*?): then", why))
    assert Counter(map(frozenset, turned)) == Counter(frozenset((x[0], x[2])) for x in g.lines if x[1] == "-")
    way = Counter([*turned, *((x[0], x[2]) for x in g.lines if x[1] == ">")])
    counts = re.findall(r"(\w) (\d+)", told(r"as out, (.*?)\. (?:Loops|One loop)", why))
    assert counts == [(v, str(sum(a == v for a, _ in way))) for v in g.names]
    assert all(sum(a == v for a, _ in way) == sum(b == v for _, b in way) for v in g.names)
    loops = [loop.split() for loop in told(r"(?:Loops|One loop takes them all): (.*?)\.", why).split(", ")]
    assert why.count("One put into the other") == (len(loops) > 1)
    assert Counter(step for loop in loops for step in itertools.pairwise(loop)) == way
    assert all(loop[0] == loop[-1] and (not i or loop[0] in set().union(*loops[:i])) for i, loop in enumerate(loops))
    assert told(r": ([\w ]+)\.$", why) == said and Counter(itertools.pairwise(said.split())) == way


def streams(g: Graph, why: str) -> tuple[int, Counter[tuple[str, str]]]:
    """The sum of the walks that are told, and what goes over each road."""
    total, load = 0, Counter()
    for amount, along in re.findall(r"(\d+) along ([\w ]+)", why):
        walk = along.split()
        assert (walk[0], walk[-1]) == (g.ask["from"], g.ask["to"])
        total += int(amount)
        for step in itertools.pairwise(walk):
            load[step] += int(amount)
    return total, load


def flowmax(g: Graph, why: str, said: str) -> None:
    side, road = set(told(r"lead out of ([\w ]+):", why).split()), roads(g)
    assert g.ask["from"] in side and g.ask["to"] not in side
    rim = {(a, b): int(w) for a, b, w in re.findall(r"(\w)>(\w) (\d+)", told(r": (.*?); more", why))}
    assert rim == {(a, b): w for (a, b), w in road.items() if a in side and b not in side}
    total, load = streams(g, why)
    assert total == added(told(r"than ([\d+=]+) cannot", why)) == sum(rim.values())
    assert all(amount <= road[arc] for arc, amount in load.items())
    assert load == {(a, b): int(n) for a, b, n in re.findall(r"(\w)>(\w) (\d+)", said)}


def cutmin(g: Graph, why: str, said: str) -> None:
    road = roads(g)
    total, load = streams(g, why)
    assert all(amount + load.get(arc[::-1], 0) <= road[arc] for arc, amount in load.items())
    side = set(told(r"between ([\w ]+) and the rest", why).split())
    rim = re.findall(r"(\w-\w) (\d+)", told(r"the rest: (.*?);", why))
    true = {line: w for line, w in zip(g.lines, g.weights, strict=True) if (line[0] in side) != (line[2] in side)}
    assert {line: int(w) for line, w in rim} == true and " ".join(sorted(true)) == said
    assert g.ask["from"] in side and g.ask["to"] not in side and total == sum(true.values())
    assert total == added(told(r"; ([\d+=]+)\.$", why)) == int(told(r": (\d+) in all", why))


def flowread(g: Graph, why: str, said: str) -> None:
    room: dict[tuple[str, str], tuple[int, str]] = {}
    for line, (_, _, label) in zip(g.lines, g.edges, strict=True):
        f, top = map(int, label.split("/"))
        room[line[0], line[2]] = top - f, f"{top}-{f}={top - f}"
        room[line[2], line[0]] = f, f"{f} back"
    best, before = {g.ask["from"]: 99}, {}
    for v, most, u, text in re.findall(r"(\w) (\d+) after (\w) \((.*?)\)", why):
        assert room[u, v][1] == text and int(most) == min(best[u], room[u, v][0])
        wide = nx.DiGraph([arc for arc, (r, _) in room.items() if r > int(most)])
        assert v not in wide or g.ask["from"] not in wide or not nx.has_path(wide, g.ask["from"], v)
        best[v], before[v] = int(most), u
    back = told(rf"first from {g.ask['from']}: .*Back from {g.ask['to']}: ([\w ]+), with", why).split()
    assert [before[v] for v in back[:-1]] == back[1:]
    assert said == f"{' '.join(back[::-1])} ; {told(r'room for (.+)[.]$', why)}" and said.endswith(f" {best[back[0]]}")


def spanmin(g: Graph, why: str, said: str) -> None:
    listed = re.findall(r"(\w)-(\w) (\d+)( no)?", told(r"first: (.*?)\. Sum", why))
    forest, road = nx.empty_graph(g.names), roads(g)
    for a, b, w, no in listed:
        assert road[a, b] == int(w) and nx.has_path(forest, a, b) == bool(no)
        if not no:
            forest.add_edge(a, b)
    order = [int(w) for _, _, w, _ in listed]
    assert order == sorted(order) and sum(w < order[-1] for w in g.weights) == sum(w < order[-1] for w in order)
    assert nx.is_tree(forest) and " ".join(sorted(f"{a}-{b}" for a, b, _, no in listed if not no)) == said
    assert added(told(r"Sum ([\d+=]+)\.", why)) == nx.minimum_spanning_tree(nx_of(g)).size("weight")


def spancount(g: Graph, why: str, said: str) -> None:
    index, n, one, all_ = {v: i for i, v in enumerate(g.names)}, len(g.names), 1, said.split()[0]
    matrix = [[Fraction(0)] * n for _ in g.names]
    for a, b in roads(g):
        matrix[index[a]][index[a]] += 1
        matrix[index[a]][index[b]] -= 1
    left = set(g.names)
    steps = told(r"added to the weight\. (.*)", why)
    for v, s, new in re.findall(r"([A-R]) ([\d/]+)(?: \(([^)]+)\))?(?=[;.] )", steps):
        k = index[v]
        assert matrix[k][k] == Fraction(s)
        left.remove(v)
        one *= matrix[k][k]
        for i, j in itertools.product((index[u] for u in left), repeat=2):
            matrix[i][j] -= matrix[i][k] * matrix[k][j] / matrix[k][k]
        for a, b, w in re.findall(r"(\w)-(\w) ([\d/]+)", new):
            assert -matrix[index[a]][index[b]] == Fraction(w)
    a, b = g.ask["edge"].split("-")
    assert left == {a, b} and math.prod(map(Fraction, told(rf" ([\dx/]+)={one} trees", why).split("x"))) == one
    weight = Fraction(told(r"it weighs ([\d/]+) now", why))
    assert weight == -matrix[index[a]][index[b]] and weight * one == int(all_) and said.split()[1] == str(one)
    assert f"trees with {a}-{b};" in why and why.endswith(f" {one}x{weight}={all_} in all.")
    if n < 7:
        every = itertools.combinations(g.lines, n - 1)
        trees = [c for c in every if nx.is_tree(nx.Graph(pairs_in(" ".join(c))))]
        assert said == f"{len(trees)} {sum(g.ask['edge'] in c for c in trees)}"


def spancountmin(g: Graph, why: str, said: str) -> None:
    low, total, ways, always = [], 0, 1, []

    def parts(edges: list[tuple[str, str]]) -> int:
        graph = nx.empty_graph(g.names)
        graph.add_edges_from(edges)
        return nx.number_connected_components(graph)

    for weight, what in re.findall(r"weight (\d+): (.*?)(?=; weight|\. Sum)", why):
        every = pairs_in(told(r"all of ([\w -]+?)(?: and|$)", what)) if "all of" in what else []
        many, some, count = re.search(r"(?:(\d+) of ([\w -]+) in (\d+) ways)?$", what).groups("")
        chosen, need, low = pairs_in(some), int(many or 0), low + every
        assert {roads(g)[p] for p in every + chosen} == {int(weight)} and parts(low + chosen) == parts(low) - need
        good = [c for c in itertools.combinations(chosen, need) if parts([*low, *c]) == parts(low) - need]
        assert len(good) == int(count or 1)
        ways, total = ways * len(good), total + (len(every) + need) * int(weight)
        low, always = low + chosen, always + every
    assert parts(low) == 1 and total == nx.minimum_spanning_tree(nx_of(g)).size("weight")
    shared = " ".join(sorted(f"{a}-{b}" for a, b in always))
    assert said == f"{total} {ways} ; {shared}" and told(r"all of them: ([\w -]+)\.$", why) == shared
    assert sum(math.prod(map(int, t.split("x"))) for t in told(rf"Sum ([\dx+]+)={total}\.", why).split("+")) == total
    assert math.prod(map(int, told(rf"Trees: ([\dx]+)(?:={ways})?\. ", why).split("x"))) == ways


def arbomin(g: Graph, why: str, said: str) -> None:
    road, paid, total = roads(g), dict.fromkeys(g.names, 0), 0
    sets = []
    for part in told(r"(?:has paid|each vertex): (.*?)\. Sum", why).split(", "):
        circle, a, b, w, less = re.fullmatch(r"(?:circle ([\w ]+) by )?(\w)>(\w) (\d+)(?:-(.*))?", part).groups()
        group, cost = set((circle or b).split()), road[a, b] - paid[b]
        assert road[a, b] == int(w) and less == (f"{paid[b]}={cost}" if circle else None)
        into = [w - paid[y] for (x, y), w in road.items() if y in group and x not in group]
        assert not {g.ask["root"], a} & group and b in group and cost == min(into) >= 0
        total += cost
        sets.append((group, f"{a}>{b}", w))
        for v in group:
            paid[v] += cost
    assert total == int(told(r"Sum (\d+),", why))  # each set is entered, so no tree is lighter
    tree: list[tuple[str, str]] = []
    for group, arc, w in reversed(sets):
        if not any(old[2] in group for old, _ in tree):
            tree.append((arc, w))
    if "circle" in why:
        assert sorted(tree) == re.findall(r"(\w>\w) (\d+)", told(r"one that was taken: (.*), as much", why))
    assert " ".join(sorted(arc for arc, _ in tree)) == said and sum(int(w) for _, w in tree) == total
    assert nx.is_arborescence(nx.DiGraph(pairs_in(said))) and {x for x in said if x.isalpha()} == set(g.names)


def side(graph: nx.Graph, v: str, u: str) -> nx.Graph:
    """What is left at a vertex of a tree without its edge to another."""
    return graph.subgraph({w for w in graph if u not in nx.shortest_path(graph, v, w)})


def branch(graph: nx.Graph, v: str, root: str) -> nx.Graph:
    """What hangs at a vertex as seen from the root."""
    return graph if v == root else side(graph, v, nx.shortest_path(graph, v, root)[1])


def treecentre(g: Graph, why: str, said: str) -> None:
    graph = nx_of(g)
    large = {v: max(map(len, nx.connected_components(graph.subgraph(set(graph) - {v})))) for v in graph}
    rows = re.findall(r": ((?:\w \d+(?:, )?)+); least at ([\w ]+)\.", why)
    for (row, least), true in zip(rows, (nx.eccentricity(graph), large), strict=True):
        assert {v: int(k) for v, k in re.findall(r"(\w) (\d+)", row)} == true
        assert least.split() == [v for v in g.names if true[v] == min(true.values())]
    assert said == " ; ".join(least for _, least in rows)


def treediameter(g: Graph, why: str, said: str) -> None:
    graph, found = nx_of(g), {}
    for a, b, one, two, p, q, r in re.findall(r"(\w)-(\w) (\d+),(\d+),(\d+)\+(\d+)\+1: (\d+)", why):
        parts = [side(graph, a, b), side(graph, b, a)]
        assert [int(one), int(two)] == [nx.diameter(part) for part in parts]
        assert [int(p), int(q)] == [nx.radius(part) for part in parts]
        assert int(r) == max(int(one), int(two), int(p) + int(q) + 1)
        found[f"{a}-{b}"] = int(r)
        if len(graph) < 9:
            joins = (nx.Graph([*parts[0].edges, *parts[1].edges, pair]) for pair in itertools.product(*parts))
            assert int(r) == min(nx.diameter(tree) for tree in joins)
    least = min(found.values())
    assert len(found) == len(g.edges) and told(r"Least (\d+)", why) == str(least)
    shown = " ".join(sorted(line for line, r in found.items() if r == least))
    assert told(r"Least \d+: ([\w -]+)\.$", why) == shown and said == f"{least} ; {shown}"


def treesplit(g: Graph, why: str, said: str) -> None:
    graph, n = nx_of(g), len(g.names)
    size = int(told(rf"{n}/{g.ask['parts']}=(\d+)\.", why))
    many = dict(re.findall(r"(\w-\w) (\d+)", told(rf"seen from {g.names[0]}: (.*?)\. Multiples", why)))
    assert set(many) == set(g.lines)
    for line, count in many.items():
        a, b = line.split("-")
        assert int(count) == min(len(part) for part in (side(graph, a, b), side(graph, b, a)) if g.names[0] not in part)
    assert " ".join(sorted(line for line, count in many.items() if int(count) % size == 0)) == said
    assert sorted(told(rf"Multiples of {size}: ([\w -]+)\.$", why).split()) == said.split()


def treecolours(g: Graph, why: str, said: str) -> None:
    graph, root, hues = nx_of(g), g.ask["marked"], int(g.ask["hues"])
    shut = dict(zip(g.names, g.notes, strict=True)) if g.notes else dict.fromkeys(g.names, "")
    rows = re.findall(r"(\w)(?: (no\d+))?: ((?:\d+ ?)+)[;.]", told(r"forbidden\. (.*)", why))
    assert {v for v, _, _ in rows} == set(graph) and rows[-1][0] == root and rows[-1][2] == said
    ways = {v: [int(k) for k in row.split()] for v, _, row in rows}
    for v, note, _ in rows:
        assert note == shut[v]
        inside = branch(graph, v, root)
        product = [math.prod(sum(ways[u]) - ways[u][h] for u in inside[v]) for h in range(hues)]
        assert ways[v] == [0 if str(h + 1) in note[2:] else product[h] for h in range(hues)]
        if len(inside) < 6:
            names = list(inside)
            every = (dict(zip(names, c, strict=True)) for c in itertools.product(range(hues), repeat=len(names)))
            good = [c for c in every if all(c[a] != c[b] for a, b in inside.edges)]
            good = [c for c in good if all(str(c[u] + 1) not in shut[u][2:] for u in names)]
            assert ways[v] == [sum(c[v] == h for c in good) for h in range(hues)]


def triadlist(g: Graph, why: str, said: str) -> None:
    graph, far, triples = nx_of(g), int(g.ask["distance"]), set()
    half = int(told(r"at distance (\d+) from", why))
    distance = dict(nx.all_pairs_shortest_path_length(graph))
    for v, row in re.findall(r"from (\w): ([\w |]+)", why):
        groups = [part.split() for part in row.split(" | ")]
        for part in nx.connected_components(graph.subgraph(set(graph) - {v})):
            there = [u for u in g.names if u in part and distance[u][v] == half]
            assert there in groups or not there
        for three in itertools.combinations(groups, 3):
            triples |= {tuple(sorted(t)) for t in itertools.product(*three)}
    assert half * 2 == far and int(told(r": (\d+) triples", why)) == len(triples)
    assert said == " / ".join(sorted(" ".join(t) for t in triples))
    for t in itertools.combinations(g.names, 3):
        assert (t in triples) == all(distance[a][b] == far for a, b in itertools.combinations(t, 2))


def heaviest(graph: nx.Graph, weight: dict[str, int], names: set[str]) -> int:
    """The heaviest set of these vertices without joined ones."""
    other = nx.complement(graph.subgraph(names))
    nx.set_node_attributes(other, weight, "weight")
    return nx.max_weight_clique(other, "weight")[1] if names else 0


def indeptree(g: Graph, why: str, said: str) -> None:
    graph, weight = nx_of(g), dict(zip(g.names, g.values, strict=True))
    rows = re.findall(r"(\w) (\d+)\|(\d+)", why)
    assert {v for v, _, _ in rows} == set(graph) and why.startswith(f"Seen from {g.names[0]},")
    for v, with_, without in rows:
        inside = set(branch(graph, v, g.names[0]))
        assert int(with_) == weight[v] + heaviest(graph, weight, inside - {v, *graph[v]})
        assert int(without) == heaviest(graph, weight, inside - {v})
    assert told(r"\. ([\w ]+): [\d+=]+\.$", why) == said
    assert added(told(r": ([\d+=]+)\.$", why)) == max(map(int, rows[-1][1:])) == sum(weight[v] for v in said.split())


def indepgrid(g: Graph, why: str, said: str) -> None:
    graph, digit = nx_of(g), dict(zip(g.names, g.values, strict=True))
    chosen = {v: int(k) for v, k in re.findall(r"(\w\d) (\d+)", told(r"Chosen: (.*), sum", why))}
    assert set(chosen) == set(said.split()) and all(digit[v] == k for v, k in chosen.items())
    gives: Counter[str] = Counter()
    rows = re.findall(r"(\w\d) by ((?:\w\d \d+(?:, )?)+)", why)
    for v, row in rows:
        paid = {u: int(k) for u, k in re.findall(r"(\w\d) (\d+)", row)}
        assert v not in chosen and set(paid) <= set(graph[v]) & set(chosen) and sum(paid.values()) == digit[v]
        gives.update(paid)
    assert all(gives[v] <= digit[v] for v in gives) and {v for v, _ in rows} | set(chosen) == set(graph)
    assert int(told(r"sum (\d+)", why)) == sum(chosen.values()) == heaviest(graph, digit, set(graph))


def gridislands(g: Graph, why: str, said: str) -> None:
    parts = [(int(k), set(cells.split())) for k, cells in re.findall(r"(\d+): ((?:\w\d ?)+)[;.]", why)]
    assert all(k == len(cells) for k, cells in parts) and parts[0][0] > max(k for k, _ in parts[1:])
    assert sorted(map(sorted, nx.connected_components(nx_of(g)))) == sorted(sorted(cells) for _, cells in parts)
    assert told(r"(\d+) islands", why) == str(len(parts)) and said == f"{len(parts)} ; {' '.join(sorted(parts[0][1]))}"


def topocount(g: Graph, why: str, said: str) -> None:
    graph, n, (every, first) = nx_of(g), len(g.names), said.split()
    size = {v: 1 + len(nx.descendants(graph, v)) for v in graph}
    listed = {v: int(k) for v, k in re.findall(r"(\w) (\d+)", told(r"itself: (.*?), all others", why))}
    assert listed == {v: k for v, k in size.items() if k > 1}
    factors, top, over, result = re.search(rf"{n}!/\(([\dx]+)\)=(\d+)/(\d+)=(\d+)\.", why).groups()
    assert int(top) == math.factorial(n) == int(over) * int(every) and result == every
    assert int(over) == math.prod(map(int, factors.split("x"))) == math.prod(size.values())
    holds, rest = re.search(rf"{g.ask['first']} holds (\d+) of the (\d+) jobs after {g.ask['root']} ", why).groups()
    assert int(holds) == size[g.ask["first"]] and int(rest) == n - 1
    assert why.endswith(f"{every}x{holds}/{rest}={first}.") and int(every) * int(holds) == int(first) * int(rest)
    if n < 8:
        found = list(nx.all_topological_sorts(graph))
        assert (len(found), sum(o[1] == g.ask["first"] for o in found)) == (int(every), int(first))


def colourable(graph: nx.Graph, hues: int) -> bool:
    def go(left: list[str], got: dict[str, int]) -> bool:
        free = set(range(hues)) - {got[u] for u in graph[left[0]] if u in got} if left else {0}
        return not left or any(go(left[1:], {**got, left[0]: h}) for h in free)

    return go(list(graph), {})


def colourmin(g: Graph, why: str, said: str) -> None:
    graph, got, degree = nx_of(g), {}, []
    steps = told(r"neighbour: (.*)", why)
    for v, h, shut, trial in re.findall(r"([A-R]) (\d)(?: \(not ([\d ]+)\))?( by trial)?(?=[,.])", steps):
        near = {got[u] for u in graph[v] if u in got}
        free = min(set(range(1, 9)) - near)
        assert set(map(int, shut.split())) == near and int(h) not in near and bool(trial) == (int(h) != free)
        got[v], degree = int(h), [*degree, len(graph[v])]
    k = max(got.values())
    groups = [" ".join(v for v in g.names if got[v] == h) for h in range(1, k + 1)]
    assert said == " / ".join(sorted(groups)) and degree == sorted(degree, reverse=True)
    if "each with each" in why:
        clique = told(rf"\. ([\w ]+) are joined each with each, so it takes {k}\.$", why).split()
        assert len(clique) == k and all(graph.has_edge(*p) for p in itertools.combinations(clique, 2))
    elif "circle" in why:
        *rim, hub = [*told(r"circle ([\w ]+) takes", why).split(), told(r"and (\w), joined", why)]
        assert k == 4 and len(rim) % 2 and all(v in graph[hub] for v in rim)
        assert all(graph.has_edge(a, b) for a, b in itertools.pairwise([*rim, rim[0]]))
    else:
        assert f"{k - 1} groups were tried in vain" in why and not colourable(graph, k - 1)


def achrommax(g: Graph, why: str, said: str) -> None:
    graph = nx_of(g)
    groups = dict(re.findall(r"(\d) ([A-R](?: [A-R])*)", told(r"groups (.*?)\. They", why)))
    assert said == " / ".join(sorted(groups.values()))
    assert not any(graph.has_edge(*p) for row in groups.values() for p in itertools.combinations(row.split(), 2))
    meet = re.findall(r"(\d)-(\d) (\w)-(\w)", told(r"They meet: (.*?)\. ", why))
    assert [(i, j) for i, j, _, _ in meet] == list(itertools.combinations(groups, 2))
    for i, j, a, b in meet:
        assert graph.has_edge(a, b) and all(len({a, b} & set(groups[k].split())) == 1 for k in (i, j))
    k, n = len(groups) + 1, len(graph)
    if "would need" in why:
        need = int(told(rf" {k} groups would need (\d+) edges, there are {len(g.edges)}\.$", why))
        assert need == k * (k - 1) // 2 > len(g.edges)
    elif "it takes" in why:
        rich = [v for v in g.names if len(graph[v]) >= k - 1]
        alone = f"only {' '.join(rich)}" if rich else "none"
        assert f"In {k} groups a vertex alone needs {k - 1} edges, {alone} has them" in why
        assert f"takes {2 * k - len(rich)} vertices, there are {n}." in why and 2 * k - len(rich) > n
    else:
        assert why.endswith(f" {k} groups were tried in vain.")


def cliquemax(g: Graph, why: str, said: str) -> None:
    graph, best = nx_of(g), said.split()
    k = len(best)
    assert told(r"\. ([\w ]+): [\w -]+\.$", why) == said
    assert pairs_in(told(r": ([\w -]+)\.$", why)) == list(itertools.combinations(best, 2))
    assert all(graph.has_edge(*p) for p in itertools.combinations(best, 2))
    assert why.startswith(f"For {k + 1}, the last in the alphabet needs {k} before it") and f"So {k} at most" in why
    listed = {v: (before.split(), most.split()) for v, before, most in re.findall(r"(\w) \(([\w ]+): ([\w ]+)\)", why)}
    for v in g.names:
        before = [u for u in g.names if u < v and graph.has_edge(u, v)]
        assert (v in listed) == (len(before) >= k)
        if v in listed:
            most = sorted(map(sorted, nx.find_cliques(graph.subgraph(before))))
            assert listed[v][0] == before and listed[v][1] in most and len(listed[v][1]) == max(map(len, most)) < k


def topoorder(g: Graph, why: str, said: str) -> None:
    graph = nx_of(g)
    free = set(told(r"leads into ([\w ]+)\.", why).split())
    assert free == {v for v in graph if not graph.in_degree(v)}
    done: list[str] = []
    for v, new in re.findall(r"(\w)(?: \(frees ([\w ]+)\))?(?=[,.])", told(r"each time: (.*)", why)):
        assert v == min(free)
        done.append(v)
        opened = {u for u in graph[v] if set(graph.predecessors(u)) <= set(done)}
        assert set(new.split()) == opened
        free = free - {v} | opened
    assert " ".join(done) == said and len(done) == len(graph)


def adjacencyread(g: Graph, why: str, said: str) -> None:
    near = {v: set(row.split()) - {"none"} for v, row in re.findall(r"(\w) to ((?:[A-R] ?)+|none)[;.]", why)}
    assert said == " / ".join(" ".join(str(int(b in near[a])) for b in g.names) for a in g.names)
    assert all((b in near[a]) == ((a, b) in roads(g)) for a in g.names for b in g.names)


def isomatch(g: Graph, why: str, said: str) -> None:
    graph, place = nx_of(g), {}
    alike = sum(v.isdecimal() for v in g.names) * 2 == len(g.names)
    step = r"(\d) \((\d+)(?: beside ([\w ]+))?\) ([A-R])(?: \(or ([\w ]+)\))?"
    for v, many, beside, u, others in re.findall(step, why):
        old = [place[w] for w in graph[v] if w in place]
        assert int(many) == len(graph[v]) and beside.split() == sorted(old)
        free = [x for x in g.names if x.isalpha() and x not in place.values() and set(old) <= set(graph[x])]
        fit = [x for x in free if len(graph[x]) == int(many) or (not alike and len(graph[x]) > int(many))]
        assert sorted([u, *others.split()]) == fit and u in fit
        place[v] = u
    edges = re.findall(r"(\d)-(\d) ([A-R])-([A-R])", told(r"Edges: (.*)", why))
    assert len(edges) == sum(line[0].isdecimal() for line in g.lines)
    assert all({place[a], place[b]} == {c, d} and graph.has_edge(c, d) and graph.has_edge(a, b) for a, b, c, d in edges)
    assert said == " ".join(sorted(f"{u}={v}" for v, u in place.items()))


subpattern = isomatch


def sortnetwork(g: Graph, why: str, said: str) -> None:
    now, steps = dict(zip(g.names, g.values, strict=True)), re.findall(r"(\w)>(\w) (\d+) (\d+)", why)
    assert [f"{a}>{b}" for a, b, _, _ in steps] == list(g.lines)
    for a, b, low, high in steps:
        assert sorted((now[a], now[b])) == [int(low), int(high)]
        now[a], now[b] = int(low), int(high)
    last = dict(re.findall(r"(\w) (\d+)", told(r"At the right: (.*)", why)))
    assert {v: int(k) for v, k in last.items()} == now and " ".join(last.values()) == said


def circuitread(g: Graph, why: str, said: str) -> None:
    note = dict(zip(g.names, g.notes, strict=True))
    now = {v: int(k) for v, k in note.items() if k.isdecimal()}
    table = {"and": "0001", "or": "0111", "xor": "0110", "nand": "1110", "nor": "1000"}
    for v, a, x, kind, b, y, out in re.findall(r"(\w): (?:(\w) (\d) )?(\w+) (\w) (\d) is (\d)", why):
        assert kind == note[v] and {u for u, w in roads(g) if w == v} == {a, b} - {""}
        assert int(y) == now[b] and (not a or int(x) == now[a])
        now[v] = 1 - int(y) if kind == "not" else int(table[kind][2 * int(x) + int(y)])
        assert now[v] == int(out)
    assert said == " ".join(str(now[v]) for v in g.names if not note[v].isdecimal())


def treewalk(g: Graph, why: str, said: str) -> None:
    sides = {(line[0], side): line[2] for line, (_, _, side) in zip(g.lines, g.edges, strict=True)}

    def parts(v: str) -> Iterator[str]:
        left, right = (" ".join(parts(sides[v, s])) if (v, s) in sides else "" for s in "LR")
        order = {"preorder": (v, left, right), "inorder": (left, v, right), "postorder": (left, right, v)}
        yield from filter(None, order[g.ask["order"]])

    if g.ask["order"] == "levelorder":
        found = told(r"by row: ([\w |]+)\.", why).split(" | ")
        deep = nx.single_source_shortest_path_length(nx_of(g), g.ask["root"])
        assert all({deep[v] for v in row.split()} == {i} for i, row in enumerate(found))
        assert " ".join(found) == said and len(said.split()) == len(g.names)
    else:
        rows = re.findall(r"(\w): ([\w |]+)", told(r"from below: (.*)", why))
        assert all(list(parts(v)) == row.split(" | ") for v, row in rows)
        assert {v for v, _ in rows} == {v for v, _ in sides} and rows[-1][1].replace(" | ", " ") == said
