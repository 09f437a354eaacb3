"""Battleship: chances against counting all fleets, ships that do not touch, and what is hidden stays hidden."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from quintain.worlds.engines.board.fleet import FleetGame, Sea, chances, fleet
from quintain.worlds.kernel import Move, Plan
from quintain.worlds.noise import Rng

SIZE = 5


def ships(length: int) -> list[set[tuple[int, int]]]:
    """All places of a ship."""
    out = []
    for row, column, down in product(range(SIZE), range(SIZE), (0, 1)):
        cells = {(row + down * i, column + (1 - down) * i) for i in range(length)}
        if max(max(cell) for cell in cells) < SIZE:
            out.append(cells)
    return out


def fits(fleet_: tuple[set[tuple[int, int]], ...], seen: str) -> bool:
    """Whether a fleet would look like this, by the rules alone."""
    for i, one in enumerate(fleet_):
        for other in fleet_[i + 1 :]:
            if any(abs(a - c) < 2 and abs(b - d) < 2 for a, b in one for c, d in other):
                return False
    for i, sign in enumerate(seen):
        cell = divmod(i, SIZE)
        mine = [ship for ship in fleet_ if cell in ship]
        whole = mine and all(seen[r * SIZE + c] != "." for r, c in mine[0])
        if sign != "." and sign != ("o" if not mine else "#" if whole else "x"):
            return False
    return True


def shot(rng: Rng, lengths: tuple[int, ...], shots: int) -> Sea:
    """A sea after random shots that sank nothing."""
    while True:
        state = FleetGame().deal(rng, {"size": SIZE, "ships": lengths, "shots": 25})
        assert state is not None
        for _ in range(shots):
            state = FleetGame().play(state, rng.pick(FleetGame().legal(state))).state
        if len(state.afloat) == len(lengths):
            return state


def test_chances_of_one_ship_are_counted_exactly() -> None:
    rng, seen_hit = Rng("one"), 0
    for _ in range(60):
        state = shot(rng, (3,), rng.below(9))
        possible = [ship for ship in ships(3) if fits((ship,), state.seen)]
        exact = [sum(divmod(i, SIZE) in ship for ship in possible) * (state.seen[i] == ".") for i in range(SIZE**2)]
        told = chances(state.seen, SIZE, state.afloat)
        seen_hit += "x" in state.seen
        assert [round(c * sum(exact) / sum(told), 6) for c in told] == exact
    assert seen_hit > 5


def test_no_cell_that_may_hold_a_ship_is_called_impossible() -> None:
    rng = Rng("two")
    for _ in range(25):
        state = shot(rng, (3, 2), 1 + rng.below(9))
        both = [pair for pair in product(ships(3), ships(2)) if fits(pair, state.seen)]
        may = {cell for pair in both for ship in pair for cell in ship}
        told = chances(state.seen, SIZE, state.afloat)
        assert both and all(told[r * SIZE + c] > 0 for r, c in may if state.seen[r * SIZE + c] == ".")


def test_fleets_do_not_touch_and_hide_well() -> None:
    rng, game = Rng("fleets"), FleetGame()
    for _ in range(100):
        found = fleet(rng, SIZE, (3, 2))
        assert found and fits(tuple([{divmod(c, SIZE) for c in ship} for ship in found]), "." * SIZE**2)
    state = shot(rng, (3, 2), 8)
    blank = replace(state, ships=())
    assert game.caption(state, 0, 2) == game.caption(blank, 0, 2) and game.scene(state, 0) == game.scene(blank, 0)
    assert game.advise(state) == game.advise(blank) and isinstance(game.advise(state), Plan)


def test_a_sunk_fleet_wins_and_hits_are_worth_their_share() -> None:
    game = FleetGame()
    state = Sea(SIZE, "." * 25, (2, 1), 3, 5, ((0, 1), (24,)))
    one = game.play(state, Move("a1"))
    two = game.play(one.state, Move("e5"))
    assert one.events == (("hit",),) and two.events == (("sunk:1",),) and two.state.afloat == (2,)
    assert game.play(two.state, Move("b1")).rewards == ({"success": 1.0},)
    lost = game.play(two.state, Move("c1"))
    assert lost.done and abs(lost.rewards[0]["hits"] - 0.2 * 2 / 3) < 1e-9
