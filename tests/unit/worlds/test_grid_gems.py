"""Gems against a plain simulation on lists of columns, and searches against every way to play small boards."""

from __future__ import annotations

import pytest

from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.messages import Message
from quintain.ports import SOLO
from quintain.types import Task
from quintain.worlds.engines.grid.gem_pile import Pile, PileGame, clearing
from quintain.worlds.engines.grid.gem_swap import Gems, proven
from quintain.worlds.engines.grid.gems import cleared, exchanged, exchanges, fallen
from quintain.worlds.kernel import Plan
from quintain.worlds.noise import Rng


def lines(cells: str, width: int) -> set[int]:
    """Cells in lines of three or more, found cell by cell."""
    height, found = len(cells) // width, set[int]()
    for y in range(height):
        for x in range(width):
            for down, right in ((0, 1), (1, 0)):
                three = [(y + i * down, x + i * right) for i in range(3)]
                if three[2][0] < height and three[2][1] < width and cells[y * width + x] != ".":
                    at = [a * width + b for a, b in three]
                    if len({cells[i] for i in at}) == 1:
                        found.update(at)
    return found


def rest(cells: str, width: int) -> str:
    """The board at rest, by dropping one gem one cell at a time."""
    board = list(cells)
    while True:
        loose = [i for i in range(len(board) - width) if board[i] != "." and board[i + width] == "."]
        if loose:
            board[loose[-1]], board[loose[-1] + width] = ".", board[loose[-1]]
            continue
        gone = lines("".join(board), width)
        if not gone:
            return "".join(board)
        board = ["." if i in gone else sign for i, sign in enumerate(board)]


@pytest.mark.parametrize("seed", range(60))
def test_boards_come_to_rest_as_gem_by_gem(seed: int) -> None:
    rng = Rng("gems", seed)
    width, height = 3 + rng.below(4), 3 + rng.below(4)
    cells = "".join(rng.pick("RBY.") for _ in range(width * height))
    still = cleared(fallen(cells, width), width)
    assert still == rest(cells, width)
    swaps = set()
    for a in range(len(still)):
        for b in (a + 1, a + width):
            beside = b < len(still) and (b == a + width or b % width)
            if beside and "." != still[a] != still[b] != "." and lines(exchanged(still, a, b), width):
                swaps.add((a, b))
    assert set(exchanges(still, width)) == swaps


def test_the_swaps_of_a_pile_clear_it() -> None:
    for level in (0, 3, 6, 9):
        for seed in range(6):
            pile = world_of("SwapAttack").start(seed, level)
            plan = PileGame().advise(pile)
            assert isinstance(plan, Plan)
            cells, width = pile.cells, pile.width
            assert rest(cells, width) == cells and len(plan.moves[0].value) <= pile.limit
            for y, x in plan.moves[0].value:
                cells = rest(exchanged(cells, y * width + x, y * width + x + 1), width)
            assert not cells.strip(".")


def test_a_pile_is_cleared_by_no_fewer_swaps() -> None:
    assert clearing("....R.RR", 4, 1)
    assert clearing("....R.RR", 4, 0) is None
    assert clearing("RR..", 4, 3) is None
    for seed in range(8):
        pile = world_of("SwapAttack").start(seed, 0)
        assert clearing(pile.cells, pile.width, pile.limit) is not None
        assert clearing(pile.cells, pile.width, pile.limit - 1) is None


def test_answers_to_a_pile_are_judged_by_what_remains() -> None:
    world = world_of("SwapAttack")
    flat = Pile(4, "....R.RR", 1)
    for text in ("a2", "a2-b2", "21"):
        move = world.read(text, SOLO)
        assert move is not None and world.step(flat, {SOLO: move}).rewards == {SOLO: {"success": 1.0}}
    for text, event in (("c2", "dud:1"), ("d2", "dud:1"), ("b2", "remain:3")):
        move = world.read(text, SOLO)
        assert move is not None and world.step(flat, {SOLO: move}).events == {SOLO: (event,)}


def most(cells: str, width: int, swaps: int) -> int:
    """The most empty cells after some swaps, by trying all."""
    after = [rest(exchanged(cells, a, b), width) for a, b in exchanges(cells, width)] if swaps else []
    return max([cells.count("."), *[most(new, width, swaps - 1) for new in after]])


@pytest.mark.parametrize("seed", range(8))
def test_targets_that_are_proven_out_of_reach_are(seed: int) -> None:
    state: Gems = world_of("GemSwap").start(seed, 1)
    best = most(state.cells, state.width, state.left)
    assert best >= state.target
    assert proven(state.cells, state.width, best, state.left)[0] is not None
    assert proven(state.cells, state.width, best + 1, state.left)[0] is None


def test_a_swap_is_read_in_many_spellings() -> None:
    world = world_of("GemSwap")
    said = {
        world.read(text, SOLO)
        for text in ("b2-b3", "B3 b2", "swap b2 and b3", "b2 down", "b3 up", "b2 <-> b3", "b2b3", "b2:b3")
    }
    assert len(said) == 1 and None not in said
    assert world.read("a1 up", SOLO) is None
    assert world.step(world.start(0, 0), {SOLO: world.read("b2-c3", SOLO)}).events == {SOLO: ("illegal",)}


def test_more_swaps_than_are_allowed_are_told_so() -> None:
    env = WorldEnv(world_of("SwapAttack"), Scaffold())
    env.begin(Task(key="0", env="SwapAttack", seed=3, level=2))
    plan = env.world.solve(env.state, SOLO)
    assert isinstance(plan, Plan)
    said = Message.of("assistant", f"<action>{plan.moves[0].key} {plan.moves[0].key}</action>")
    heard = env.advance({SOLO: said})[SOLO]
    assert heard.events == ("illegal",) and "more swaps than are allowed; none was made" in heard.messages[0].text
