"""Games of building, joining, sowing and closing: their rules against plain second versions, along random games."""

from __future__ import annotations

import itertools

import networkx as nx

from quintain.envs.world import world_of
from quintain.types import Ints
from quintain.worlds.engines.board.boxes import Boxes
from quintain.worlds.engines.board.builders import Builders
from quintain.worlds.engines.board.hexes import NEAR, Hex
from quintain.worlds.engines.board.knights import Knights
from quintain.worlds.engines.board.men import MenGame, Rules
from quintain.worlds.engines.board.quantum import Quantum
from quintain.worlds.engines.board.roads import Roads
from quintain.worlds.engines.board.sowing import Sowing
from quintain.worlds.noise import Rng


def positions(rules: Rules, games: int = 6) -> list[Ints]:
    """Positions of random games that are not over, and the last of each."""
    game, found = MenGame(rules), []
    for seed in range(games):
        rng, position = Rng("game", seed), (*rules.begin(), 90, 0)
        found.append(position)
        while game.worth(position) is None:
            position = game.play(position, rng.pick(game.legal(position)))
            found.append(position)
    return found


def test_builders_climb_one_floor_and_build_beside() -> None:
    rules = Builders(4, 4)
    for position in positions(rules, 12):
        grid = {divmod(i, 4): position[i] for i in range(16)}
        high = {at: code if code < 5 else (code - 5) % 4 for at, code in grid.items()}
        own = range(9, 13) if position[-1] else range(5, 9)
        expected = set()
        for at, to in itertools.permutations(grid, 2):
            if grid[at] not in own or grid[to] >= 4 or high[to] > high[at] + 1 or not beside(at, to):
                continue
            sites = [s for s in grid if beside(to, s) and (grid[s] < 4 or s == at)]
            expected |= {(at, to)} if high[to] == 3 else {(at, to, s) for s in sites}
        assert {tuple(divmod(i, 4) for i in path) for path in rules.paths(position)} == expected
        won = any(code in (8, 12) for code in position[:16])
        assert (rules.ended(position) == -1) == (won or not expected)


def beside(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether two cells touch, also by a corner."""
    return a != b and abs(a[0] - b[0]) <= 1 and abs(a[1] - b[1]) <= 1


def test_an_opening_in_which_the_other_side_could_not_move_can_be_judged() -> None:
    assert world_of("Santorini").start(1226, 0, split="test").position


def test_knights_jump_take_and_burn() -> None:
    rules = Knights(5)
    for position in positions(rules):
        mine, paths = position[-1] + 1, set(rules.paths(position))
        for i, j in itertools.product(range(25), repeat=2):
            leap = {abs(i % 5 - j % 5), abs(i // 5 - j // 5)} == {1, 2}
            assert ((i, j) in paths) == (leap and position[i] == mine and position[j] in (0, 3 - mine))
        assert (rules.ended(position) == -1) == (not paths)
        for i, j in paths:
            after = rules.moved(position, (i, j))
            assert after[i] == 3 and after[j] == mine and len([k for k in range(25) if after[k] != position[k]]) == 2


def test_seeds_are_sown_and_captured_as_by_hand() -> None:
    rules = Sowing(4)
    ring = [4, 5, 6, 7, 3, 2, 1, 0]
    for position in positions(rules):
        if rules.ended(position) is not None:
            continue
        side = position[-1]
        for (pit,) in rules.paths(position):
            cells, got = list(position[:8]), list(position[8:10])
            hand, at = cells[pit], ring.index(pit)
            cells[pit] = 0
            while hand:
                at = (at + 1) % 8
                if ring[at] != pit:
                    cells[ring[at]] += 1
                    hand -= 1
            other = {0: range(4), 1: range(4, 8)}[side]
            kept, won = list(cells), 0
            while ring[at] in other and cells[ring[at]] in (2, 3):
                won += cells[ring[at]]
                cells[ring[at]] = 0
                at -= 1
            if not any(cells[i] for i in other):
                cells, won = kept, 0
            got[side] += won
            assert rules.moved(position, (pit,)) == (*cells, *got)
            assert sum(cells) + sum(got) == 24 and any(cells[i] for i in other)


def test_gaps_are_shortest_paths_and_one_side_joins_a_full_board() -> None:
    rules = Hex(4)
    for position in positions(rules):
        for side in (0, 1):
            graph = nx.DiGraph()
            for i in range(16):
                row, column = divmod(i, 4)
                cost = {0: 1, side + 1: 0}.get(position[i])
                if cost is None:
                    continue
                for right, down in NEAR:
                    if 0 <= column + right < 4 and 0 <= row + down < 4:
                        graph.add_edge((row + down) * 4 + column + right, i, weight=cost)
                graph.add_edge("begin", i, weight=cost) if (row if side else column) == 0 else None
                graph.add_edge(i, "end", weight=0) if (row if side else column) == 3 else None
            mask = [sum(1 << i for i in range(16) if position[i] == code) for code in (side + 1, 0)]
            there = graph.has_node("begin") and graph.has_node("end") and nx.has_path(graph, "begin", "end")
            length = nx.dijkstra_path_length(graph, "begin", "end") if there else 17
            assert rules.gap(mask[0], mask[1], side)[0] == length
    rng = Rng("full")
    for _ in range(50):
        cells = [1] * 8 + [2] * 8
        rng.shuffle(cells)
        joined = [rules.gap(sum(1 << i for i in range(16) if cells[i] == s + 1), 0, s)[0] == 0 for s in (0, 1)]
        assert sum(joined) == 1


def test_boxes_are_those_with_four_lines_and_whoever_closes_moves_again() -> None:
    rules = Boxes(5, 7)
    seen = positions(rules)
    for before, position in itertools.pairwise(seen):
        closed = {b for b in rules.boxes if all(position[b + d] for d in (-5, -1, 1, 5))}
        assert {b for b in rules.boxes if position[b] > 4} == closed
        new = [b for b in closed if before[b] < 5]
        if position[-2] == 90:
            continue
        assert position[35] == bool(new) and all(position[b] == 5 + before[-1] for b in new)
        assert not new or rules.ended(position) is not None or list(rules.paths(position)) == [(35,)]


def test_roads_are_chains_of_flat_tops() -> None:
    rules, top = Roads(3), {"X": 0, "A": 0, "B": 0, "O": 1, "C": 1, "D": 1}
    won = 0
    for position in positions(rules, 40):
        signs = ["" if not c else rules.board.signs[c] for c in position[:9]]
        roads = [False, False]
        for side in (0, 1):
            graph = nx.grid_2d_graph(3, 3)
            graph.remove_nodes_from([divmod(i, 3) for i in range(9) if top.get(signs[i]) != side])
            for group in nx.connected_components(graph):
                roads[side] |= any({0, 2} <= {cell[way] for cell in group} for way in (0, 1))
        won += any(roads)
        mover = 1 - position[-1]
        expected = -1 if roads[mover] else 1 if roads[1 - mover] else None
        assert rules.ended(position) == expected or "" not in signs
        stacks = sum({"X": 1, "O": 1, "V": 1, "W": 1, "": 0}.get(sign, 2) for sign in signs)
        for path in rules.paths(position):
            after = rules.moved(position, path)
            count = sum({0: 0, 1: 1, 2: 1, 7: 1, 8: 1}.get(code, 2) for code in after)
            assert count == stacks + (len(path) == 1 or path[-1] == 9)
    assert won > 3


def test_loops_settle_every_mark_that_hangs_on_them() -> None:
    """Against all ways of giving each mark of the loop's component one of its cells, none twice."""
    rules, loops = Quantum(3, 3), 0
    for position in positions(rules, 20):
        marks = rules.open(position)
        graph = nx.MultiGraph([(*pair, mark) for mark, pair in marks.items()])
        loop = [part for part in nx.connected_components(graph) if graph.subgraph(part).size() >= len(part)]
        assert bool(loop) == bool(rules.waiting(position)) and len(loop) < 2
        for choice in rules.waiting(position)[1:]:
            inside = sorted(mark for *_, mark in graph.subgraph(loop[0]).edges(keys=True))
            ways = [w for w in itertools.product(*(marks[m] for m in inside)) if len(set(w)) == len(w)]
            (way,) = [w for w in ways if w[-1] == choice and len(set(w)) == len(inside)]
            after, loops = rules.settled(position, choice), loops + 1
            expected = {**{m: i for i, m in enumerate(position[:9]) if m}, **dict(zip(inside, way, strict=True))}
            assert {m: i for i, m in enumerate(after[:9]) if m} == expected
            assert sorted(rules.open(after)) == sorted(set(marks) - set(inside))
    assert loops > 20
