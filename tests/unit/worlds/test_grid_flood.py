"""Floods against searches that know nothing of regions: every board that can be reached is poured out cell by cell."""

from __future__ import annotations

import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.worlds.engines.grid.flood import Flood, FloodGame, beam, mapped, poured, proven
from quintain.worlds.kernel import Plan, Unsolvable
from quintain.worlds.noise import Rng


def fill(side: int, cells: str, sign: str) -> str:
    """A flood fill by repainting until nothing changes."""
    wet = {0}
    while True:
        more = {
            c
            for c in range(side * side)
            for w in wet
            if cells[c] == cells[0] and abs(c // side - w // side) + abs(c % side - w % side) == 1
        } - wet
        if not more:
            return "".join(sign if c in wet else old for c, old in enumerate(cells))
        wet |= more


def fewest(side: int, cells: str) -> int:
    """Moves of the shortest flood, by breadth-first search over boards."""
    wave, seen, moves = {cells}, {cells}, 0
    while not any(len(set(board)) == 1 for board in wave):
        wave = {fill(side, board, sign) for board in wave for sign in set(cells)} - seen
        seen |= wave
        moves += 1
    return moves


def random_board(seed: int, side: int, colours: str) -> str:
    rng = Rng("flood test", seed)
    return "".join(rng.pick(colours) for _ in range(side * side))


@pytest.mark.parametrize("seed", range(25))
def test_proofs_agree_with_a_search_over_boards(seed: int) -> None:
    side, cells = 4, random_board(seed, 4, "RBY")
    least = fewest(side, cells)
    assert len(beam(side, cells)) >= least
    found, _ = proven(side, cells, least)
    assert found is not None and len(found) == least
    assert least == 0 or proven(side, cells, least - 1)[0] is None
    for sign in found:
        cells = poured(side, cells, sign)
    assert len(set(cells)) == 1


def test_a_pour_is_a_flood_fill() -> None:
    for seed in range(40):
        cells = random_board(seed, 5, "RBG")
        assert poured(5, cells, "P") == fill(5, cells, "P")


def test_regions_hold_every_cell_once() -> None:
    board = mapped(6, random_board(1, 6, "RBYG"))
    assert sum(board.sizes) == 36
    assert sum(members for _, members in board.hues) == (1 << len(board.sizes)) - 1


def test_too_few_moves_are_known_to_be_too_few() -> None:
    game = FloodGame()
    assert isinstance(game.advise(Flood(3, 3, "RBYRBYRBY", 2)), Plan)
    assert isinstance(game.advise(Flood(3, 3, "RBYRBYRBY", 1)), Unsolvable)


def test_a_colour_is_read_by_letter_or_name() -> None:
    world = world_of("ColourFlood")
    said = {world.read(text, SOLO) for text in ("b", "Blue", " flood blue ", "pick b")}
    assert len(said) == 1 and None not in said
    assert world.read("mauve", SOLO) is None
