"""Games of taking away: theory against plain minimax on small positions."""

from __future__ import annotations

import functools
import itertools

from quintain.ports import SOLO
from quintain.worlds.engines.board.pins import Pins
from quintain.worlds.kernel import Plan
from quintain.worlds.suite.algorithmic.coin_strip import coin_strip, nimber, slides
from quintain.worlds.suite.algorithmic.heap_duel import heap_duel
from quintain.worlds.suite.algorithmic.pile_intervals import pile_intervals, shares


@functools.cache
def slider_wins(strips: tuple[tuple[int, ...], ...]) -> bool:
    """By trying every slide."""
    return any(not slider_wins(tuple(after)) for _, _, after in slides(strips))


def test_every_second_gap_tells_who_wins_a_game_of_coins() -> None:
    strips = [c for n in (1, 2, 3) for c in itertools.combinations(range(6), n)]
    for one in strips:
        assert slider_wins((one,)) == bool(nimber(one))
    for two in itertools.product(strips[::3], strips[1::4]):
        assert slider_wins(two) == (nimber(two[0]) != nimber(two[1]))
    assert list(slides([(1, 4)])) == [(1, 1, [(0, 4)]), (2, 1, [(1, 3)]), (2, 2, [(1, 2)])]


def test_exactly_one_slide_wins() -> None:
    world = coin_strip()
    for seed in range(12):
        state = world.start(seed, 2)
        rows = [t[1:] for t in state.things]
        strips = [tuple(i for i, sign in enumerate(row) if sign != "-") for row in rows]
        winning = [(str(n), str(by)) for n, by, after in slides(strips) if not slider_wins(tuple(after))]
        plan = world.solve(state, SOLO)
        assert isinstance(plan, Plan) and [plan.moves[0].value] == winning
    assert world.read("coin 3 by 2 cells", SOLO) == world.read("(3, 2)", SOLO) == world.read("3 2", SOLO) is not None
    assert world.read("2 cells, coin 3", SOLO) is None


def test_shares_of_piles_are_those_of_plain_minimax() -> None:
    def lead(piles: tuple[int, ...], most: int) -> int:
        ks = range(1, min(most, len(piles)) + 1)
        options = [(piles[:k], piles[k:]) for k in ks] + [(piles[-k:], piles[:-k]) for k in ks]
        return max((sum(taken) - lead(rest, most) for taken, rest in options), default=0)

    world = pile_intervals()
    for level, seed in itertools.product((0, 2, 4), range(6)):
        things = world.start(seed, level).things
        most, *piles = (int(t[1]) for t in things)
        first, second = shares(tuple(piles), most)
        assert first + second == sum(piles) and first - second == lead(tuple(piles), most)
    assert shares((3, 9, 1, 2), 1) == (11, 4) and shares((3, 9, 1, 2), 4) == (15, 0)


def test_nim_values_of_pins_agree_with_minimax() -> None:
    rules = Pins(4, 2)

    @functools.cache
    def wins(cells: tuple[int, ...]) -> bool:
        position = (*cells, 8, 0)
        return rules.ended(position) is None and any(not wins(rules.moved(position, p)) for p in rules.paths(position))

    for cells in itertools.product((0, 1), repeat=8):
        assert wins(cells) == (rules.value((*cells, 8, 0)) > 0)
    state = heap_duel().start(1, 3)
    rest = heap_duel().step(state, {SOLO: heap_duel().read("a1, f3", SOLO)})
    assert rest.state is state and rest.events == {SOLO: ("illegal",)}
    assert {heap_duel().read(text, SOLO).key for text in ("b3 c3", "c3 b3", "c3, b3", "c3b3", "c3 and b3")} == {"b3 c3"}
