"""Arcade games with long searches: each is played beside a second, naive account of its rules, and its plans are played out."""

from __future__ import annotations

import itertools
from collections import deque
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.testing.worlds import shortest
from quintain.worlds.engines.arcade.blocks import FORMS, PIECES, SIDE
from quintain.worlds.engines.arcade.duel import AWAY, Duel
from quintain.worlds.engines.arcade.loop import GOAL, HIT, Frame, read_back
from quintain.worlds.engines.arcade.marbles import wound
from quintain.worlds.engines.arcade.pellets import PACE
from quintain.worlds.kernel import Plan, Unknown, Unsolvable
from quintain.worlds.noise import Rng

NAMES = ("SnakeRun", "BlockFall", "PelletMaze", "InvaderRow", "PaddleDuel", "ChainMarbles", "JumpRunner")


def wandered(name: str, seed: int, level: int) -> list[tuple[Frame, str, Frame]]:
    """Turns of a random player: frame, action, frame after it."""
    world, rng, out = world_of(name), Rng("wander", name, seed), []
    state = world.start(seed, level)
    while not state.over:
        move = rng.pick(world.view(state, SOLO).legal())
        after = world.step(state, {SOLO: move}).state
        out.append((state, move.key, after))
        state = after
    return out


@pytest.mark.parametrize("seed", range(12))
def test_a_snake_moves_cell_by_cell(seed: int):
    for before, action, after in wandered("SnakeRun", seed, seed % 10):
        width, height, rocks = before.stage.width, before.stage.height, before.stage.cells
        body = deque((c % width, c // width) for c in before.things[0])
        dx, dy = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}[action]
        head = (body[0][0] + dx, body[0][1] + dy)
        ate = head[1] * width + head[0] == before.things[1][0]
        if not ate:
            body.pop()
        inside = 0 <= head[0] < width and 0 <= head[1] < height
        lost = not inside or head in body or rocks[head[1] * width + head[0]] == "#"
        assert (after.over == HIT) is lost and after.score == before.score + (ate and not lost)
        if not lost:
            assert after.things[0] == tuple(y * width + x for x, y in (head, *body))


def test_pieces_turn_clockwise():
    for forms, rows in zip(FORMS, PIECES.values(), strict=True):
        now = np.array([[s == "#" for s in row] for row in rows])
        for number in range(4):
            wide, bits = forms[number % len(forms)]
            assert np.array_equal([[b >> x & 1 for x in range(wide)] for b in bits], now)
            now = np.rot90(now, -1)


@pytest.mark.parametrize("seed", range(12))
def test_full_lines_vanish_and_the_rest_moves_down(seed: int):
    for before, action, after in wandered("BlockFall", seed, seed % 10):
        well = before.stage.width - SIDE
        heap = np.array([[row >> x & 1 for x in range(well)] for row in before.things[0]])
        number, spin, x, y = before.at
        forms = FORMS[before.stage.data[0][number % 24]]

        def free(spin: int, x: int, y: int, forms: Any = forms, heap: np.ndarray = heap) -> bool:
            wide, bits = forms[spin]
            cells = [(y + j, x + i) for j, b in enumerate(bits) for i in range(wide) if b >> i & 1]
            return all(0 <= c < heap.shape[1] and r < heap.shape[0] and not heap[r, c] for r, c in cells)

        to = {"left": (spin, x - 1), "right": (spin, x + 1), "turn": ((spin + 1) % len(forms), x)}.get(
            action, (spin, x)
        )
        spin, x = to if free(*to, y) else (spin, x)
        for _ in range(heap.shape[0] if action == "drop" else 0):
            y += free(spin, x, y + 1)
        if free(spin, x, y + 1):
            assert after.at == (number, spin, x, y + 1) and after.things == before.things
            continue
        for j, bits in enumerate(forms[spin][1]):
            for i in range(forms[spin][0]):
                heap[y + j, x + i] |= bits >> i & 1
        rest = heap[~heap.all(axis=1)]
        heap = np.vstack([np.zeros((len(heap) - len(rest), well), int), rest])
        assert after.things[0] == tuple(int(sum(1 << i for i in range(well) if row[i])) for row in heap)
        assert after.score - before.score == len(heap) - len(rest) and after.at[0] == number + 1


@pytest.mark.parametrize("seed", range(12))
def test_ghosts_walk_as_the_rules_say(seed: int):
    assert "A patrol goes straight on, else back." in world_of("PelletMaze").facts.rules  # in the same turn
    for before, _, after in wandered("PelletMaze", seed, seed % 10):
        width, cells = before.stage.width, before.stage.cells
        maze = nx.Graph(
            [
                (i, i + d)
                for i, s in enumerate(cells)
                for d in (1, width)
                if s == cells[min(i + d, len(cells) - 1)] == "."
            ]
        )
        ghosts, here = [list(g) for g in before.things[1:]], after.at[0]
        if any(g[0] == here for g in ghosts):
            assert after.over == HIT
            continue
        compass = [-width, width, -1, 1]
        for ghost in ghosts:
            others = {g[0] for g in ghosts if g is not ghost}
            cell, heading, kind = ghost
            to = [cell + d if cell + d in maze and cell + d not in others else None for d in compass]
            clockwise = [0, 3, 1, 2]  # up, right, down, left
            if kind == 2:
                if (before.stage.turns - before.turn) % PACE == 0:
                    far = nx.shortest_path_length(maze, cell, here)
                    near = [t for t in to if t is not None and nx.shortest_path_length(maze, t, here) < far]
                    ghost[0] = near[0] if near else cell
                continue
            at = clockwise.index(heading)
            turns = [clockwise[(at + k) % 4] for k in ((-1, 0, 1, 2) if kind else (0, 2))]
            way = next((w for w in turns if to[w] is not None), None)
            if way is not None:
                ghost[:2] = [to[way], way]
        assert sorted(tuple(g) for g in ghosts) == list(after.things[1:])
        assert (after.over == HIT) is any(g[0] == here for g in ghosts)


@pytest.mark.parametrize("seed", range(12))
def test_invaders_march_and_are_hit(seed: int):
    for before, action, after in wandered("InvaderRow", seed, seed % 10):
        width, (x, way, wait, shots) = before.stage.width, before.at
        block = {(i, y) for y, row in enumerate(before.things[0]) for i in range(width) if row >> i & 1}
        shot = before.things[1] if before.things[1][0] >= 0 else None
        x = min(max(x + {"left": -1, "right": 1}.get(action, 0), 0), width - 1)
        if action == "shoot" and shot is None and shots:
            shot, shots = (x, before.stage.height - 1), shots - 1
        for _ in range(3):
            if shot is not None:
                shot = (shot[0], shot[1] - 1)
                if shot in block or shot[1] < 0:
                    block, shot = block - {shot}, None
        if wait == 1:
            by = 1 if way else -1
            if all(0 <= i + by < width for i, _ in block):
                block = {(i + by, y) for i, y in block}
            else:
                block, way = {(i, y + 1) for i, y in block}, 1 - way
            if shot in block:
                block, shot = block - {shot}, None
        assert block == {(i, y) for y, row in enumerate(after.things[0]) for i in range(width) if row >> i & 1}
        assert after.at == (x, way, wait - 1 or before.stage.data[0][0], shots) and after.things[1] == (
            shot or (-1, -1)
        )


@pytest.mark.parametrize("seed", range(12))
def test_a_ball_between_two_paddles(seed: int):
    for before, action, after in wandered("PaddleDuel", seed, seed % 10):
        width, bottom, (x, y, dx, dy) = before.stage.width, before.stage.height - 1, before.things[0]
        mine, other = before.at
        mine = min(max(mine + {"left": -1, "right": 1}.get(action, 0), 1), width - 2)
        other += np.sign((x if dy < 0 else width // 2) - other)
        other, point = min(max(other, 1), width - 2), 0
        for _ in range(before.stage.data[0][0]):
            to = x + dx if 0 <= x + dx < width else x - dx
            if y + dy in (0, bottom):
                off = to - (mine if dy > 0 else other)
                if abs(off) > 1:
                    point = -dy
                    break
                dx, dy = off, -dy
            else:
                x, y, dx = to, y + dy, to - x
        assert (
            after.at == (mine, other)
            and (after.over == HIT) is (point < 0)
            and after.score - before.score == (point > 0)
        )
        assert point or after.things[0] == (x, y, dx, dy)


@pytest.mark.parametrize("level", [8, 9])
@pytest.mark.parametrize("seed", range(5))
def test_who_cannot_foretell_where_a_ball_enters_can_win_too(level: int, seed: int):
    """It goes by what is shown, a few points ahead at most, and waits in the middle while the ball makes its point."""
    world, rules = world_of("PaddleDuel"), Duel()
    state = world.start(seed, level)
    while not state.over:
        shown = ball = world.rebuild(world.view(state, SOLO).caption(2), SOLO)
        while not ball.over:
            ball = rules._flown(ball, AWAY)
        goals = [goal for goal in (3, 2, 1) if goal <= shown.stage.goal and ball.over == HIT]
        near = (rules.plan(replace(shown, stage=replace(shown.stage, goal=goal, turns=90))) for goal in goals)
        plan = next((plan.moves[0].key for plan in near if isinstance(plan, Plan)), None)
        aim = ball.things[0][0] if ball.over == HIT else state.stage.width // 2
        state = rules.advance(state, plan or ("left", "wait", "right")[int(np.sign(aim - state.at[0])) + 1])
    assert state.over == GOAL


def test_every_ball_that_nobody_can_foretell_can_be_met_from_the_middle():
    world, rules = world_of("PaddleDuel"), Duel()
    for stage in (world.start(seed, level).stage for level in (8, 9) for seed in range(40)):
        column, sides = stage.data[1][2:-2:2], stage.data[1][3:-2:2]
        for ball in zip(column, itertools.repeat(1), sides, itertools.repeat(1)):
            turns, frame = 0, Frame(stage, 0, (AWAY, AWAY), (ball,))
            while not frame.over:
                frame, turns = rules._flown(frame, AWAY), turns + 1
            assert abs(frame.things[0][0] - stage.width // 2) - 1 <= turns


def test_every_place_of_the_longest_chain_can_be_named():
    world, frame = world_of("ChainMarbles"), world_of("ChainMarbles").start(0, 9)
    track = len(wound(frame.stage.width, frame.stage.height, False))
    full = replace(frame, at=(track - 2, *frame.at[1:]), things=(tuple([0, 1] * track)[: track - 1], frame.things[1]))
    assert [m.key for m in world.view(full, SOLO).legal()] == ["swap", *(f"shoot{n}" for n in range(1, track + 1))]
    assert world.read(f"shoot {track}", SOLO).key == f"shoot{track}"


def popped(chain: list[int], at: int) -> list[int]:
    """The chain after all groups have vanished, by cutting it into runs again and again."""
    runs = [list(run) for _, run in itertools.groupby(enumerate(chain), lambda pair: pair[1])]
    run = next(run for run in runs if any(i == at for i, _ in run))
    if len(run) < 3:
        return chain
    first, last = run[0][0], run[-1][0]
    rest = chain[:first] + chain[last + 1 :]
    meet = first > 0 and first < len(rest) and rest[first - 1] == rest[first]
    return popped(rest, first) if meet else rest


@pytest.mark.parametrize("seed", range(16))
def test_groups_of_marbles_vanish_and_the_front_falls_back(seed: int):
    for before, action, after in wandered("ChainMarbles", seed, seed % 10):
        (front, wait, gun, then), chain = before.at, [*before.things[0]]
        rear = front - len(chain) + 1  # the rear only moves when the whole chain steps
        if action == "swap":
            assert after.at[2:] == (then, gun)
        else:
            place = min(int(action[5:]) - 1, len(chain))
            chain = popped([*chain[:place], gun, *chain[place:]], place)
        rear += wait == 1
        beyond = max(rear + len(chain) - sum(s != "." for s in before.stage.cells), 0)
        assert after.things[0] == tuple(chain[beyond:])
        if chain:
            assert after.at[0] == rear + len(chain) - 1 - beyond and set(after.at[2:]) <= set(before.at[2:]) | set(
                chain
            )
            assert (after.over == HIT) is (after.at[0] == sum(s != "." for s in before.stage.cells) - 1)
        else:
            assert after.over == GOAL


@pytest.mark.parametrize("width, height", [*itertools.product(range(5, 10), repeat=2)])
def test_tracks_touch_themselves_nowhere(width: int, height: int):
    for spiral in (False, True):
        track = wound(width, height, spiral)
        board = nx.grid_2d_graph(width, height).subgraph(track)
        assert len(track) > width * height // 2 and nx.is_isomorphic(board, nx.path_graph(len(track)))
        assert all(b in board[a] for a, b in itertools.pairwise(track))


@pytest.mark.parametrize("seed", range(16))
def test_a_runner_jumps_and_falls(seed: int):
    for before, action, after in wandered("JumpRunner", seed, seed % 10):
        width, height, (row, x, rise) = before.stage.width, before.stage.height, before.at
        ground = {(i % width, i // width) for i, s in enumerate(before.stage.cells) if s == "#"}
        if "jump" in action and (x, row + 1) in ground:
            rise = 2
        to = x + ("right" in action) - ("left" in action)
        x = to if 0 <= to < width and (to, row) not in ground else x
        if rise and row and (x, row - 1) not in ground:
            row, rise = row - 1, rise - 1
        else:
            row, rise = row + ((x, row + 1) not in ground), 0
        assert after.at == (row, x, rise)
        assert after.score - before.score == before.things[0][0] >> (row * width + x) & 1
        met = False
        for level, first, last, phase in before.stage.data:
            lap = [*range(first, last), *range(last, first, -1)]
            both = {lap[(before.turn + phase + k) % len(lap)] for k in (0, 1)}
            met |= level == row and x in both
        assert (after.over == HIT) is (met or row == height - 1)


@pytest.mark.parametrize("seed", range(6))
def test_a_match_is_the_duel_seen_from_both_ends(seed: int):
    """The second seat, its view turned upside down, sees what the first sees, and points are told apart."""
    world, rng = world_of("PaddleMatch"), Rng("match", seed)
    state, points, outcome = world.start(seed, seed), [0, 0], None
    while not state.over:
        mine, theirs = (read_back(world.view(state, seat).caption(2)) for seat in world.facts.seats)
        rows = [mine.signs[i : i + mine.width] for i in range(0, len(mine.signs), mine.width)]
        swapped = "".join(reversed(rows)).translate(str.maketrans("[=](-)", "(-)[=]"))
        assert swapped == theirs.signs and dict(mine.counters)["points"] == dict(theirs.counters)["rival"]
        seat = world.facts.seats[state.at[2]]
        outcome = world.step(state, {seat: rng.pick(world.view(state, seat).legal())})
        scored = (outcome.state.score - state.score, outcome.state.things[1][0] - state.things[1][0])
        assert sum(scored) <= 1 and (not sum(scored) or state.things[0][3] == scored[1] - scored[0])
        points = [a + b for a, b in zip(points, scored, strict=True)]
        state = outcome.state
    assert (outcome is not None and max(points) == state.stage.goal) or state.turn == state.stage.turns
    won = [float(p == state.stage.goal) for p in points]
    assert [sum(outcome.rewards[seat].values()) for seat in world.facts.seats] == (won if any(won) else [0.5, 0.5])


@pytest.mark.parametrize("name", NAMES)
def test_plans_win_and_what_has_no_plan_has_no_way(name: str):
    """From where a random player strays: a plan that is told wins, and where none is told the search through `step` finds none."""
    world, told = world_of(name), set()
    for seed in range(5):
        for frame, _, _ in wandered(name, seed, seed % 2)[::3]:
            plan = world.solve(frame, SOLO)
            told.add(type(plan))
            if isinstance(plan, Plan):
                for move in plan.moves:
                    frame = world.step(frame, {SOLO: move}).state
                assert frame.over == GOAL
            elif isinstance(plan, Unsolvable):
                assert shortest(world, frame, SOLO, 1500) in (-1, None)
    assert Plan in told and (Unknown not in told or name == "ChainMarbles")  # of its shots there are too many
