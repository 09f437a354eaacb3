"""Games of cards against OpenSpiel's rules and solvers, where it is installed (`make test-peers`)."""

from __future__ import annotations

import pytest

from quintain.types import Ints
from quintain.worlds.engines.cards.players import chances
from quintain.worlds.engines.cards.poker import KUHN, LEDUC, Poker, actions_of, outcome

pyspiel = pytest.importorskip("pyspiel")


@pytest.mark.parametrize(
    ("rules", "game", "gain", "value"),
    [(KUHN, "kuhn_poker", 1e-9, -1 / 18), (LEDUC, "leduc_poker", 0.01, -0.0856)],
)
def test_their_best_replies_gain_nothing_against_our_equilibria(
    rules: Poker, game: str, gain: float, value: float
) -> None:
    """Each history of theirs is one of ours, with as many moves and the same chips; their solver finds no better reply to our play."""
    from open_spiel.python import policy
    from open_spiel.python.algorithms import expected_game_score, exploitability

    theirs = pyspiel.load_game(game)
    table, suits = policy.TabularPolicy(theirs), len(rules.deck) // 3
    nothing: Ints = ()
    waiting = [(theirs.new_initial_state(), nothing, nothing)]
    while waiting:
        state, cards, said = waiting.pop()
        if state.is_chance_node():
            dealt = [(a, (10 + a // suits) * 4 + 3 - a % suits) for a, _ in state.chance_outcomes()]
            waiting += [(state.child(a), (*cards, card), said) for a, card in dealt]
            continue
        holes, board = cards[:2], cards[2:]
        if state.is_terminal():
            assert outcome(rules, ((holes[0],), (holes[1],)), board, said) == state.returns()[0]
            continue
        same = list(zip(actions_of(rules, said), state.legal_actions(), strict=True))  # both name the boldest last
        ours = dict(chances(rules, "", 0, (holes[state.current_player()],), board, said))
        row = table.policy_for_key(state.information_state_string())
        row[:] = 0
        for mine, other in same:
            row[other] = ours.get(mine, 0.0)
            waiting.append((state.child(other), cards, (*said, mine)))
    assert exploitability.exploitability(theirs, table) < gain
    scores = expected_game_score.policy_value(theirs.new_initial_state(), [table, table])
    assert scores[0] == pytest.approx(value, abs=0.004)
