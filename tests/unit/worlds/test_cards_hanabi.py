"""Fireworks with a partner: no card is lost or made, clues are true, and chances are those of all deals."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.worlds.engines.cards.hanabi import MISTAKES, chance, told
from quintain.worlds.noise import Rng


def test_cards_are_kept_and_clues_are_true() -> None:
    world, rng, ends = world_of("Hanabi2"), Rng("hanabi"), set()
    for seed in range(12):
        state, total = world.start(seed, 2 + seed % 7), 0.0
        for _ in range(world.turns(state)):
            moves = world.legal(state, SOLO)
            plan = world.solve(state, SOLO)
            move = rng.pick(moves) if rng.below(3) == 0 else plan.moves[0]
            assert move in moves
            after = world.step(state, {SOLO: move})
            state, total = after.state, total + sum(after.rewards.get(SOLO, {}).values())
            built = [c * 10 + r for c, top in enumerate(state.tops) for r in range(1, top + 1)]
            assert Counter([*state.deck, *state.gone, *built, *state.hands[0], *state.hands[1]]) == Counter(
                state.rules.deck
            )
            for hand, marks in zip(state.hands, state.marks, strict=True):
                assert all(
                    hues >> c // 10 & 1 and ranks >> c % 10 & 1 for c, (hues, ranks) in zip(hand, marks, strict=True)
                )
            if after.done:
                points = 0 if state.wrong == MISTAKES else sum(state.tops)
                assert total == pytest.approx(min(max(2 * points / state.rules.par - 1, 0), 1))
                ends.add(total)
                break
        else:
            raise AssertionError("the episode did not end")
    assert len(ends) > 2


def test_chances_are_shares_of_the_cards_that_fit_the_clues() -> None:
    unseen = (1, 1, 2, 11, 12, 12, 13, 21)
    assert chance((0, 1, 0), unseen, (0b011, 0b1110)) == (pytest.approx(4 / 7), pytest.approx(1 / 7))
    assert chance((0, 1, 0), unseen, (0b010, 0b0100)) == (1.0, 0.0)
    assert told((1, 12), ((7, 14), (7, 14)), "G") == ((5, 14), (2, 14))
    assert told((1, 12), ((7, 14), (7, 14)), "1") == ((7, 2), (7, 12))


def test_the_picture_shows_every_discarded_card_of_a_long_game() -> None:
    world, rng = world_of("Hanabi2"), Rng("gone")
    state = world.start(0, 9)
    while len(state.gone) < 30:
        state = replace(state, clues=3)  # there is always a card to discard
        moves = [m for m in world.legal(state, SOLO) if m.key.startswith("discard")]
        after = world.step(state, {SOLO: rng.pick(moves)})
        assert not after.done
        state = after.state
    scenes = set()
    for i, card in enumerate(state.gone):
        rank = card % 10
        other = (*state.gone[:i], card - rank + rank % 4 + 1, *state.gone[i + 1 :])
        scenes.add(world.view(replace(state, gone=tuple(sorted(other))), SOLO).scene().shapes)
    assert world.view(state, SOLO).scene().shapes not in scenes and len(scenes) > 15
