"""Worlds of drawn graphs against networkx and plain enumeration, and what their pictures promise."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace

import networkx as nx
import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.registry import entries
from quintain.types import QuintainError
from quintain.worlds.engines.graph import flows, sets, spans, walks
from quintain.worlds.engines.graph.answer import Form
from quintain.worlds.engines.graph.chase import turns_left
from quintain.worlds.engines.graph.figures import signals, sorted_by
from quintain.worlds.engines.graph.look import WIDE, spots
from quintain.worlds.engines.graph.page import Graph, Page, canonical, parse_caption
from quintain.worlds.engines.graph.place import apart, built, cross, crossings
from quintain.worlds.engines.graph.sheet import GraphWorld
from quintain.worlds.engines.graph.trip import Trip
from quintain.worlds.kernel import Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.painter import Painter
from quintain.worlds.scene import Polygon

PAGES = [e.name for e in entries("world") if e.tags["engine"] == "graph" and isinstance(world_of(e.name), GraphWorld)]
CASES = [(level, seed) for level in (0, 2, 4, 6) for seed in range(5)]


def drawings(name: str) -> list[Graph]:
    return [world_of(name).start(seed, level).graph for level, seed in CASES]


def nx_of(graph: Graph, weight: str = "weight") -> nx.Graph:
    out = nx.DiGraph() if ">" in graph.arrows else nx.Graph()
    out.add_nodes_from(range(len(graph.names)))
    for (a, b), i in graph.pairs.items():
        out.add_edge(a, b, **{weight: graph.weights[i]})
    return out


def edges_of(graph: Graph, chosen: tuple[int, ...]) -> nx.Graph:
    out = nx.Graph()
    out.add_nodes_from(range(len(graph.names)))
    out.add_edges_from(graph.edges[i][:2] for i in chosen)
    return out


def said(name: str, graph: Graph) -> tuple:
    """The values of the oracle's answer, in vertex numbers."""
    world = world_of(name)
    return world.answer(graph, world.truth(graph))


def reward(name: str, graph: Graph, text: str) -> float:
    move = world_of(name).read(text, SOLO)
    assert move is not None, text
    return world_of(name).step(Page(graph), {SOLO: move}).rewards.get(SOLO, {}).get("success", 0.0)


def test_shortest_and_longest_walks() -> None:
    for graph in drawings("ShortestWalk"):
        start, goal = graph.vertex("from"), graph.vertex("to")
        assert walks.shortest(graph, start, goal)[0] == nx.dijkstra_path_length(nx_of(graph), start, goal)
    for graph in drawings("LongestWalk"):
        start, goal = graph.vertex("from"), graph.vertex("to")
        every = nx.all_simple_paths(nx_of(graph), start, goal)
        assert walks.longest(graph, start, goal)[0] == max(walks.length(graph, p) for p in every)


def test_walks_through_all_vertices() -> None:
    found = Counter()
    for seed in range(40):
        graph = world_of("HamPath").start(seed, 1 + seed % 2).graph
        every = itertools.permutations(range(len(graph.names)))
        there = any(all(s in graph.pairs for s in itertools.pairwise(order)) for order in every)
        found[there] += 1
        assert (said("HamPath", graph) is not None) == there
        assert reward("HamPath", graph, "none") == float(not there)
    assert found[True] > found[False] > 0


def test_tours_of_mixed_graphs() -> None:
    """Against all ways to turn the free edges: a tour is there if networkx finds one for some of them."""
    found = Counter()
    for seed in range(60):
        graph = world_of("EulerTour").start(seed, seed % 4).graph
        free = [i for i, sign in enumerate(graph.arrows) if sign == "-"]
        there = False
        for turns in itertools.product((0, 1), repeat=len(free)):
            turned = nx.MultiDiGraph()
            back = {i for i, t in zip(free, turns, strict=True) if t}
            turned.add_edges_from((b, a) if i in back else (a, b) for i, (a, b, _) in enumerate(graph.edges))
            there = there or nx.is_eulerian(turned)
        found[there] += 1
        assert (walks.over_all(graph) is not None) == there
    assert found[True] > found[False] > 0


def test_spanning_trees() -> None:
    for graph in drawings("SpanMin"):
        tree = nx.minimum_spanning_tree(nx_of(graph))
        assert spans.lightest(graph)[0] == tree.size("weight")
    for graph in drawings("SpanCount"):
        n, mark = len(graph.names), graph.lines.index(graph.ask["edge"])
        found = [c for c in itertools.combinations(range(len(graph.edges)), n - 1) if nx.is_tree(edges_of(graph, c))]
        assert said("SpanCount", graph)[0] == (len(found), sum(mark in c for c in found))


def test_counts_of_lightest_trees() -> None:
    for seed in range(12):
        graph = world_of("SpanCountMin").start(seed, 1 + seed % 3).graph
        n, ends = len(graph.names), [(a, b) for a, b, _ in graph.edges]
        found = [
            (sum(graph.weights[i] for i in chosen), {ends[i] for i in chosen})
            for chosen in itertools.combinations(range(len(ends)), n - 1)
            if nx.is_tree(edges_of(graph, chosen))
        ]
        least = min(weight for weight, _ in found)
        best = [tree for weight, tree in found if weight == least]
        counts, shared = said("SpanCountMin", graph)
        assert counts == (least, len(best)) and set(shared) == set.intersection(*best)


def test_lightest_trees_from_a_root() -> None:
    for graph in drawings("ArboMin"):
        digraph, root = nx_of(graph), graph.vertex("root")
        digraph.remove_edges_from(list(digraph.in_edges(root)))
        best = nx.minimum_spanning_arborescence(digraph)
        assert world_of("ArboMin").truth(graph)[0] == best.size("weight")


def test_flows_cuts_and_matchings() -> None:
    for name in ("FlowMax", "CutMin"):
        for graph in drawings(name):
            value = nx.maximum_flow_value(nx_of(graph), graph.vertex("from"), graph.vertex("to"), capacity="weight")
            assert world_of(name).truth(graph)[0] == value
    for graph in drawings("MatchMax"):
        best = nx.max_weight_matching(nx_of(graph))
        assert flows.heaviest_matching(graph)[0] == sum(graph.weights[graph.pairs[pair]] for pair in best)


def test_the_widest_walk_through_a_drawn_flow() -> None:
    for graph in drawings("FlowRead"):
        room, rest = nx.DiGraph(), Counter()
        for a, b, label in graph.edges:
            flow, most = map(int, label.split("/"))
            rest.update({a: -flow, b: flow})
            room.add_edges_from([(a, b, {"w": most - flow})] * (most > flow) + [(b, a, {"w": flow})] * (flow > 0))
        start, goal = graph.vertex("from"), graph.vertex("to")
        assert not any(r for v, r in rest.items() if v not in (start, goal)), "the drawn flow is none"
        every = nx.all_simple_paths(room, start, goal)
        assert flows.widest(graph, start, goal)[0] == max(
            min(room.edges[s]["w"] for s in itertools.pairwise(p)) for p in every
        )


def test_cliques_and_sets_without_edges() -> None:
    for graph in drawings("CliqueMax"):
        assert len(said("CliqueMax", graph)[0]) == max(map(len, nx.find_cliques(nx_of(graph))))
    for name in ("IndepTree", "IndepGrid"):
        for seed in range(8):
            graph = world_of(name).start(seed, 2 + seed % 2).graph
            every = nx.find_cliques(nx.complement(nx_of(graph)))
            assert world_of(name).truth(graph)[0] == max(sum(graph.values[v] for v in c) for c in every)


def partitions(n: int) -> list[list[int]]:
    """Every way to part n things, as a group number for each."""
    out = [[0]]
    for _ in range(n - 1):
        out = [[*p, g] for p in out for g in range(max(p) + 2)]
    return out


@pytest.mark.parametrize("name", ["ColourMin", "AchromMax"])
def test_colourings(name: str) -> None:
    for seed in range(6):
        graph = world_of(name).start(seed, 1 + seed % 2).graph
        counts = []
        for part in partitions(len(graph.names)):
            groups = max(part) + 1
            met = {frozenset((part[a], part[b])) for a, b, _ in graph.edges}
            if all(len(m) == 2 for m in met) and (name == "ColourMin" or len(met) == math.comb(groups, 2)):
                counts.append(groups)
        assert len(said(name, graph)[0]) == (min if name == "ColourMin" else max)(counts)


def test_middles_of_trees() -> None:
    for graph in drawings("TreeCentre"):
        tree = nx_of(graph)
        centre, centroid = said("TreeCentre", graph)
        assert set(centre) == set(nx.center(tree))
        pieces = {v: max(map(len, nx.connected_components(nx.restricted_view(tree, [v], [])))) for v in tree}
        assert set(centroid) == {v for v in tree if pieces[v] == min(pieces.values())}


def test_edges_hung_elsewhere() -> None:
    for graph in drawings("TreeDiameter")[:10]:
        tree, best = nx_of(graph), {}
        for a, b, _ in graph.edges:
            left = tree.copy()
            left.remove_edge(a, b)
            joined = (nx.compose(left, nx.Graph([p])) for p in itertools.product(*nx.connected_components(left)))
            best[a, b] = min(map(nx.diameter, joined))
        least = min(best.values())
        assert said("TreeDiameter", graph) == (least, tuple(edge for edge, far in best.items() if far == least))


def test_parts_orders_and_colourings_of_trees() -> None:
    for graph in drawings("TreeSplit"):
        left = nx_of(graph)
        left.remove_edges_from(said("TreeSplit", graph)[0])
        sizes = [len(c) for c in nx.connected_components(left)]
        assert len(set(sizes)) == 1 and len(sizes) == int(graph.ask["parts"])
    for seed in range(8):
        graph = world_of("TopoCount").start(seed, 1 + seed % 3).graph
        every = list(nx.all_topological_sorts(nx_of(graph)))
        assert said("TopoCount", graph)[0] == (len(every), sum(o[1] == graph.vertex("first") for o in every))
        graph = world_of("TreeColours").start(seed, seed % 3).graph
        hues, counts = int(graph.ask["hues"]), Counter()
        for chosen in itertools.product(range(1, hues + 1), repeat=len(graph.names)):
            barred = any(str(h) in note for h, note in zip(chosen, graph.notes or [""] * 99, strict=False))
            if not barred and all(chosen[a] != chosen[b] for a, b, _ in graph.edges):
                counts[chosen[graph.vertex("marked")]] += 1
        assert said("TreeColours", graph)[0] == tuple(counts[h] for h in range(1, hues + 1))


def test_triples_and_islands() -> None:
    for graph in drawings("TriadList"):
        far, d = dict(nx.all_pairs_shortest_path_length(nx_of(graph))), int(graph.ask["distance"])
        every = itertools.combinations(range(len(graph.names)), 3)
        assert set(said("TriadList", graph)[0]) == {
            t for t in every if far[t[0]][t[1]] == far[t[0]][t[2]] == far[t[1]][t[2]] == d
        }
    for graph in drawings("GridIslands"):
        parts = list(nx.connected_components(nx_of(graph)))
        count, cells = said("GridIslands", graph)
        assert count == len(parts) and set(cells) == max(parts, key=len)


@pytest.mark.parametrize("name", ["IsoMatch", "SubPattern"])
def test_one_drawing_lies_in_another(name: str) -> None:
    for graph in drawings(name):
        whole, n = nx_of(graph), sum(c.isalpha() for c in graph.names)
        large, small = whole.subgraph(range(n)), whole.subgraph(range(n, len(graph.names)))
        if name == "IsoMatch":
            assert nx.is_isomorphic(large, small)
        place = {v: u for u, v in said(name, graph)[0]}
        assert len(set(place.values())) == len(small)
        assert all(large.has_edge(place[a], place[b]) for a, b in small.edges)


def test_orders_matrices_networks_and_circuits() -> None:
    for graph in drawings("TopoOrder"):
        order = said("TopoOrder", graph)[0]
        assert sorted(order) == list(range(len(order))) and all(
            order.index(a) < order.index(b) for a, b in nx_of(graph).edges
        )
    for graph in drawings("AdjacencyRead"):
        rows = nx.to_numpy_array(nx_of(graph), nodelist=range(len(graph.names)))
        assert rows.astype(int).tolist() == [list(row) for row in said("AdjacencyRead", graph)[0]]
    line = Graph(
        ("A", "B", "C"), ((0, 0), (0, 9), (0, 18)), ((0, 1, ""), (2, 1, ""), (0, 2, "")), ">>>", ("7", "3", "5")
    )
    assert sorted_by(line) == (3, 7, 5)
    inputs = (("0", "1"), ("1", "0"), ("1", "1"), ("0", "0"))
    table = {"and": "0010", "or": "1110", "xor": "1100", "nand": "1101", "nor": "0001"}
    for kind, out in table.items():
        for pair, bit in zip(inputs, out, strict=True):
            gate = Graph(("A", "B", "C"), ((0, 0),) * 3, ((0, 2, ""), (1, 2, "")), ">>", (*pair, kind))
            assert signals(gate)[2] == int(bit), (kind, pair)
    assert signals(Graph(("A", "B"), ((0, 0),) * 2, ((0, 1, ""),), ">", ("1", "not")))[1] == 0


def test_walks_of_binary_trees() -> None:
    edges = ((0, 1, "L"), (0, 2, "R"), (1, 3, "R"), (2, 4, "L"))
    for kind, order in {"preorder": "ABDCE", "inorder": "BDAEC", "postorder": "DBECA", "levelorder": "ABCDE"}.items():
        graph = Graph(tuple("ABCDE"), ((0, 0),) * 5, edges, ">" * 5, (), (("root", "A"), ("order", kind)))
        assert reward("TreeWalk", graph, ", ".join(order)) == 1 and reward("TreeWalk", graph, " ".join("EDCBA")) == 0


@pytest.mark.parametrize("name", PAGES)
def test_a_second_right_answer_is_as_good_and_an_answered_page_is_closed(name: str) -> None:
    world = world_of(name)
    page = world.start(1, 3)
    plan = world.solve(page, SOLO)
    assert isinstance(plan, Plan)
    outcome = world.step(page, {SOLO: plan.moves[0]})
    assert outcome.rewards == {SOLO: {"success": 1.0}} and outcome.done
    again = world.step(outcome.state, {SOLO: plan.moves[0]})
    assert not again.rewards and isinstance(world.solve(outcome.state, SOLO), Unsolvable)
    assert parse_caption(world.view(page, SOLO).caption(2)).graph.things == page.graph.things


def test_any_right_answer_is_accepted() -> None:
    square = built(
        Rng("square"),
        ((20, 20), (120, 20), (120, 120), (20, 120)),
        [(0, 1, "2"), (1, 2, "2"), (2, 3, "2"), (0, 3, "2")],
    )
    square = Graph(
        ("A", "B", "C", "D"),
        square.at,
        ((0, 1, "2"), (0, 3, "2"), (1, 2, "2"), (2, 3, "2")),
        "----",
        (),
        (("from", "A"), ("to", "C")),
    )
    assert reward("ShortestWalk", square, "A B C") == reward("ShortestWalk", square, "a -> d -> c") == 1
    assert reward("ShortestWalk", square, "A C") == reward("ShortestWalk", square, "A R C") == 0
    for tree in ("A-B B-C C-D", "(D,C), (C,B), (A,D)", "b-a d-a d-c"):
        assert reward("SpanMin", square, tree) == 1
    assert reward("SpanMin", square, "A-B C-D") == reward("SpanMin", square, "A-B B-C C-D A-D") == 0
    assert reward("MatchMax", square, "A-B C-D") == reward("MatchMax", square, "d-a, c-b") == 1
    assert reward("CutMin", square, "A-B A-D") == reward("CutMin", square, "B-C, C-D") == 1
    assert reward("HamPath", square, "D A B C") == 1 and reward("HamPath", square, "none") == 0
    assert reward("CliqueMax", square, "{B, A}") == 1 and reward("CliqueMax", square, "A C") == 0


def test_answers_have_one_normal_form() -> None:
    edges = Form(("number", "edges"), none=True)
    assert (
        edges.read(" 7 ;c - a,B–D")
        == edges.read("7; (D,B) (A,C)")
        == Move("7 ; A-C B-D", (7, (("A", "C"), ("B", "D"))))
    )
    assert edges.read("None") == Move("none") and edges.read("7") is None and edges.read("7; A-") is None
    assert Form(("flow",)).read("A->B = 3, B>C: 2").key == "A>B 3 B>C 2" and Form(("flow",)).read("A>B") is None
    assert Form(("groups",)).read("{B, A}, {C}").key == Form(("groups",)).read("c | a b").key == "A B / C"
    for text in ("a b\nc", "B A /\nC", " A B \n\n C\n"):
        assert Form(("groups",)).read(text).key == "A B / C"
    assert Form(("rows",)).read("[[0, 1], [1, 0]]").key == Form(("rows",)).read("01/10").key == "0 1 / 1 0"
    assert Form(("map",)).read("1:B a=2").key == "A=2 B=1" and Form(("bits",)).read("0110").value == ((0, 1, 1, 0),)
    assert Form(("numbers",)).read("5") is None
    assert not any(Form(("path",)).read(text) for text in ("A" * 2000, "edge", "a", "NONE"))
    assert Form(("set",), vertex="[a-i][1-9]").read("B2, A1").key == "a1 b2"


@pytest.mark.parametrize(
    "name, texts, key",
    [
        ("FlowMax", ("B>A 3. C>B 3", "B>A 3. C>B 3."), "B>A 3 C>B 3"),
        ("SpanMin", ("A-B. C-D.", "A-B 1 C-D 5", "A-B 1. C-D 5.", "A-B: 1, C-D: 5"), "A-B C-D"),
        ("SpanCountMin", ("6 5; A-E. B-C.", "6 5\nA-E B-C", "6 5: A-E B-C"), "6 5 ; A-E B-C"),
        ("TreeColours", ("1:8 2:16 3:0", "1=8, 2=16, 3=0", "1. 8\n2. 16\n3. 0"), "8 16 0"),
        ("TriadList", ("A B D, C E G", "ABD CEG", "ABD, CEG", "A,B,D C,E,G", "a b d and c e g"), "A B D / C E G"),
        ("AchromMax", ("A B D, C E", "ABD CE", "A B D. C E.", "(A, B, D), (C, E)"), "A B D / C E"),
        ("AchromMax", ("A, B, D", "ABD", "A B D"), "A B D"),
        ("GridIslands", ("4 islands; c2 d3", "4\nc2 d3", "4: c2 d3", "4; (c,2) (d,3)"), "4 ; c2 d3"),
        ("TreeCentre", ("F / E F", "F\nE F", "F: E F"), "F ; E F"),
        ("IsoMatch", ("A 3, B 1", "A-3 B-1", "(A,3) (B,1)", "3 A 1 B", "1=B A=3"), "A=3 B=1"),
        ("CliqueMax", ("A-D-E", "A-D-E-A", "ADE", "Clique: A, D, E", "Maximum clique: ADE"), "A D E"),
        ("TreeWalk", ("Postorder: B A C", "level-order: B, A, C", "inorder traversal: BAC"), "B A C"),
        ("TopoOrder", ("Topological order: B A C",), "B A C"),
        ("HamPath", ("Hamiltonian path: B -> A -> C",), "B A C"),
        ("SpanMin", ("MST: A-B C-D", "Minimum spanning tree: AB CD"), "A-B C-D"),
        ("MatchMax", ("Matching: A-B, C-D", "Maximum matching: AB CD"), "A-B C-D"),
        ("IndepTree", ("Independent set: A, C",), "A C"),
        ("ArboMin", ("Arrows: A>B, A>C",), "A>B A>C"),
        ("ArboMin", ("A>B A>C\nB>D B>E", "A>B, A>C and B>D, B>E"), "A>B A>C B>D B>E"),
        ("IsoMatch", ("Mapping: A=2 B=1",), "A=2 B=1"),
        ("IndepGrid", ("Cells: a1, b2",), "a1 b2"),
        ("TriadList", ("Triples: A B C / D E F",), "A B C / D E F"),
        ("HamPath", ("no", "None.", "No."), "none"),
        ("CopsRobber", ("stay", " Stay"), "stay"),
        ("CopsRobber", ("E", "cop: E", "Cop 1: E", "stay at E", "stay on E"), "E"),
        ("CopsRobber", ("D to E", "D->E", "D>E", "E (from D)", "move cop from D to E", "D-E"), "D-E"),
        ("CopsRobber", ("E F", "cop 1: E, cop 2: F", "E, F"), "E F"),
        ("CopsRobber", ("D->E, G->F", "from D to E and from G to F"), "D-E, G-F"),
        (
            "MetroTrip",
            (
                "2F",
                "2: F",
                "2, to F",
                "line 2 to F",
                "line 2, get off at F",
                "line 2 from A to F",
                "2-F",
                "take line 2 and get off at F",
            ),
            "2 F",
        ),
        (
            "AchromMax",
            ("Group 1: A, B; Group 2: C", "{1: [A, B], 2: [C]}", "Red: A B\nBlue: C", "2 groups: AB / C"),
            "A B / C",
        ),
        (
            "AdjacencyRead",
            ("A: 0 1\nB: 1 0", "  A B\nA 0 1\nB 1 0", "Row A: 0 1; Row B: 1 0", "{'A': [0,1], 'B': [1,0]}"),
            "0 1 / 1 0",
        ),
        (
            "CircuitRead",
            ("D (xor): 1, E (or): 0", "D outputs 1, E outputs 0", "D, E = 1, 0", "Gate D: 1, Gate E: 0"),
            "D=1 E=0",
        ),
        (
            "CutMin",
            ("Edges to take out: A-D, A-E", "Cut edges: A-D 1, A-E 2; total 3", "A-D, A-E (total weight 3)"),
            "A-D A-E",
        ),
        (
            "EulerTour",
            ("A>B, B-C, C-A", "Euler circuit: A B C A", "Closed walk: A-B-C-A", "(A,B), (B,C), (C,A)"),
            "A B C A",
        ),
        ("ShortestWalk", ("A-B (4), B-C (12)", "Walk from A to C: A B C", "A-B-C; length 16"), "A B C"),
        ("HamPath", ("No such walk", "There is no Hamiltonian path.", "No walk exists"), "none"),
        ("FlowRead", ("Path: D-A-G; increase: 3", "D A G; the flow can grow by 3", "D A G; by 3"), "D A G ; 3"),
        ("GridIslands", ("Islands: 4; largest: c2 d3", "4 islands; the largest is c2, d3"), "4 ; c2 d3"),
        ("IndepTree", ("A (15), C (2)", "A 15, C 2", "A, C (total 17)", "A: 15, C: 2"), "A C"),
        ("MatchMax", ("A↔B, C↔D", "Chosen edges: A<->B, C<->D"), "A-B C-D"),
        ("IsoMatch", ("A↔3, B↔1", "(A→3), (B→1)"), "A=3 B=1"),
        ("SortNetwork", ("A: 32, B: 5", "Wire A: 32; Wire B: 5", "A 32\nB 5"), "32 5"),
        (
            "SpanCount",
            ("98 spanning trees, 55 with A-D", "Total: 98; with the thick edge: 55", "98 (55 with A-D)"),
            "98 55",
        ),
        ("SpanCountMin", ("Sum: 6, trees: 5; edges: A-E B-C",), "6 5 ; A-E B-C"),
        ("TopoCount", ("210 orders, 30 with A right after D", "total: 210, first: 30"), "210 30"),
        (
            "TreeColours",
            ("colour 1: 8, colour 2: 16", "1 -> 8, 2 -> 16", "Color 1 = 8; color 2 = 16", "1) 8 2) 16"),
            "8 16",
        ),
        *(
            (
                name,
                (
                    "| 1 | 4 |\n| 2 | 0 |\n| 3 | 6 |",
                    "Colour | Ways\n1 | 4\n2 | 0\n3 | 6",
                    "| 1 | 2 | 3 |\n| 4 | 0 | 6 |",
                ),
                "4 0 6",
            )
            for name in ("TreeColours", "SortNetwork")
        ),
        ("TreeColours", ("| Colour 1 | 4 |\n| Colour 2 | 0 |", "| | 1 | 2 |\n| Ways | 4 | 0 |"), "4 0"),
        (
            "ColourMin",
            ("A=1, B=2, C=1", "A: red\nB: blue\nC: red", "A | 1\nB | 2\nC | 1", "1 | A, C\n2 | B"),
            "A C / B",
        ),
        ("FlowRead", ("D A G E, 3", "D, A, G, E, 3", "D-A-G-E, 3 units"), "D A G E ; 3"),
        ("TreeCentre", ("Centers: B and C; centroid: D", "centre B C; centroid D"), "B C ; D"),
        ("TopoOrder", ("Topological sort: A C B", "Ordering: A, C, B"), "A C B"),
        ("Tangram", ("A 180 a2", "put A turned 180 at a2"), "A a2 180"),
    ],
)
def test_an_answer_has_many_spellings(name: str, texts: tuple[str, ...], key: str) -> None:
    moves = {text: world_of(name).read(text, SOLO) for text in texts}
    assert {text: move and move.key for text, move in moves.items()} == dict.fromkeys(texts, key)


@pytest.mark.parametrize(
    "name, text",
    [
        ("SpanCount", "edge: 55; total: 98"),  # labels in another order
        ("TopoCount", "first: 30; total: 210"),
        ("HamPath", "A-B, D-C"),  # edges that do not hang together
        ("AchromMax", "1=A, 2=B, 1=C"),
        ("AchromMax", "A=1, B=2, A=2"),
        ("AchromMax", "A=1, B=2, C"),
        ("AchromMax", "A is not 1, B=2"),
        ("AdjacencyRead", "B: 0 1\nA: 1 0"),
        ("CircuitRead", "D is not 1, E is 0"),
        ("SortNetwork", "B: 5, A: 32"),
        ("TreeColours", "| A | 1 |\n| B | 2 |"),
        ("TreeColours", "A: 1, B: 2, C: 1"),
        ("TreeColours", "| 2 | 0 |\n| 1 | 4 |\n| 3 | 6 |"),
        ("TreeCentre", "centroid: D; centre: B"),
        ("CopsRobber", "cop 2: F, cop 1: E"),
    ],
)
def test_labels_that_say_something_else_are_heeded(name: str, text: str) -> None:
    assert world_of(name).read(text, SOLO) is None


@pytest.mark.parametrize(
    "name, text",
    [
        ("TriadList", "A B / C D E"),
        ("ShortestWalk", "no"),
        ("SpanMin", "A-B 1 C-D"),
        ("TreeColours", "1:8 16 2:0"),
        ("IsoMatch", "A=-3 B=1"),
        ("IndepGrid", "a1-a4"),
        ("CliqueMax", "A B C, A C D"),  # two answers
        ("FlowRead", "D A G E, 2, 3"),
        ("FlowRead", "D A G E, 3 wrong"),
        ("CliqueMax", "ABC; BCD"),
        ("CliqueMax", "A, B, C | A, C, D"),
        ("IndepGrid", "a1 c1\na1 b2"),
        ("CutMin", "A-B C-D; A-B E-F"),
        ("ArboMin", "A>B B>C; A>C C>B"),
        ("ArboMin", "A>B, B>C and A>C, C>B"),
    ],
)
def test_what_is_no_answer_is_not_read(name: str, text: str) -> None:
    assert world_of(name).read(text, SOLO) is None


def test_the_form_that_decides_the_split_does_not_know_names_or_places() -> None:
    for seed in range(5):
        graph = world_of("SpanMin").start(seed, 5).graph
        edges = [(a, b, label) for a, b, label in graph.edges]
        twin = built(Rng("twin", seed), [(y, x) for x, y in graph.at], edges)
        assert twin.edges != graph.edges and canonical(twin) == canonical(graph)
        other = built(Rng("twin", seed), graph.at, [(*edges[0][:2], "77"), *edges[1:]])
        assert canonical(other) != canonical(graph)


@pytest.mark.parametrize("cops", [1, 2])
def test_chases_against_all_ways_to_play(cops: int) -> None:
    """Turns to the catch by plain rounds over all positions: the cops choose the least, the robber the greatest."""
    for seed in range(4):
        graph = world_of("CopsRobber").start(seed, 1).graph
        near = [[v, *row] for v, row in enumerate(graph.near)]
        places = list(itertools.product(range(len(near)), repeat=cops))
        turns = {(at, r): 0.0 if r in at else math.inf for at in places for r in range(len(near))}
        for _ in range(len(near) * 2):
            for (at, robber), known in list(turns.items()):
                if known:
                    ahead = itertools.product(*(near[v] for v in at))
                    replies = ([0] if robber in to else [turns[to, r] for r in near[robber]] for to in ahead)
                    turns[at, robber] = 1 + min(map(max, replies))
        for (at, robber), known in turns.items():
            assert turns_left(graph, at, robber) == (None if known == math.inf else known)


def test_the_robber_flees_and_is_caught() -> None:
    line = Graph(tuple("ABCD"), ((10, 10), (50, 10), (90, 10), (130, 10)), ((0, 1, ""), (1, 2, ""), (2, 3, "")), "---")
    world, here = world_of("CopsRobber"), Trip(line, (("cops", "A"), ("robber", "C")))
    after = world.step(here, {SOLO: Move("B")}).state
    assert after.now == (("cops", "B"), ("robber", "D"))
    assert world.step(here, {SOLO: Move("C")}).events and world.step(here, {SOLO: Move("C")}).state is here
    assert [m.key for m in world.solve(here, SOLO).moves] == ["B", "C", "D"]
    caught = world.step(Trip(line, (("cops", "C"), ("robber", "D"))), {SOLO: Move("D")})
    assert caught.done and caught.rewards == {SOLO: {"success": 1.0}} and caught.events == {SOLO: ("won",)}
    assert world.facts.sayings["won"] and world.step(here, {SOLO: Move("stay")}) == world.step(here, {SOLO: Move("A")})
    assert isinstance(world.solve(caught.state, SOLO), Unsolvable) and not world.view(caught.state, SOLO).legal()


def test_a_caption_of_something_else_is_refused() -> None:
    for text in ("", "a map", "vertices: A\nedges: A-B."):
        with pytest.raises(QuintainError, match="no full caption"):
            parse_caption(text)


@pytest.mark.parametrize(
    "name", [n for n in PAGES if n not in ("SortNetwork", "CircuitRead", "IndepGrid", "GridIslands")]
)
def test_drawings_are_legible(name: str) -> None:
    """Vertices lie apart and on the sheet, no edge touches a third vertex, numbers touch nothing but their edge."""
    for level in (0, 5, 9):
        for seed in range(6):
            graph = world_of(name).start(seed, level).graph
            assert all(8 <= x <= WIDE * 10 - 8 and 8 <= y <= 140 for x, y in graph.at)
            for p, q in itertools.combinations(graph.at, 2):
                assert math.dist(p, q) >= 16
            for a, b, _ in graph.edges:
                near = [apart(p, graph.at[a], graph.at[b]) for v, p in enumerate(graph.at) if v not in (a, b)]
                assert min(near, default=99) > world_of(name).style.radius * 10 + 0.6, f"level {level} seed {seed}"
            if any(label for _, _, label in graph.edges) and name != "TreeWalk":
                assert crossings(graph.at, [(a, b) for a, b, _ in graph.edges]) == 0
                for i, (x, y) in enumerate(spots(graph, world_of(name).style.radius)):
                    for j, (c, d, _) in enumerate(graph.edges):
                        assert i == j or apart((round(x * 10), round(y * 10)), graph.at[c], graph.at[d]) >= 3.5


@pytest.mark.parametrize("name", ["ArboMin", "FlowMax", "FlowRead"])
def test_no_label_hides_the_head_of_an_arrow(name: str) -> None:
    """At 256 pixels more than half of each head (some 70) is in sight."""
    world, painter = world_of(name), Painter(256)
    for seed in range(6):
        scene = world.view(world.start(seed, 9), world.facts.seats[0]).scene()
        whole = painter.paint(scene).astype(int)
        heads = [i for i, s in enumerate(scene.shapes) if isinstance(s, Polygon) and len(s.points) == 3 and s.fill]
        for i in heads:
            without = painter.paint(replace(scene, shapes=scene.shapes[:i] + scene.shapes[i + 1 :]))
            assert (abs(without - whole).max(axis=2) > 40).sum() > 35, f"seed {seed}: {scene.shapes[i]}"


def test_segments_cross_where_they_should() -> None:
    assert cross((0, 0), (10, 10), (0, 10), (10, 0)) and not cross((0, 0), (10, 10), (20, 0), (30, 10))
    assert apart((5, 5), (0, 0), (10, 0)) == 5 and apart((13, 4), (0, 0), (10, 0)) == 5
    assert sets.members(0b1010) == (1, 3)
