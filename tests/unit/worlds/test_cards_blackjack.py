"""Blackjack: what decisions are worth, worked out anew with whole hands and fractions."""

from __future__ import annotations

import functools
import re
from fractions import Fraction

import pytest

from quintain.envs.world import world_of
from quintain.testing.worlds import oracle_player, play, task_of
from quintain.worlds.engines.cards.blackjack import MILLION, House, count_of, worths
from quintain.worlds.engines.cards.deck import CARDS

SHOE = {1: 2, 5: 3, 6: 1, 10: 4}  # value -> cards


def total_of(hand: tuple[int, ...]) -> tuple[int, bool]:
    """The best count of values, and whether an ace counts 11 in it."""
    low = sum(hand)
    return (low + 10, True) if 1 in hand and low + 10 <= 21 else (low, False)


def drawn(hand: tuple[int, ...]) -> list[tuple[Fraction, tuple[int, ...]]]:
    return [(Fraction(n, sum(SHOE.values())), tuple(sorted((*hand, value)))) for value, n in SHOE.items()]


@functools.cache
def against(mine: int, theirs: tuple[int, ...], hits_soft: bool) -> Fraction:
    total, soft = total_of(theirs)
    if total > 21:
        return Fraction(1)
    if total >= 17 and not (total == 17 and soft and hits_soft):
        return Fraction((mine > total) - (mine < total))
    return sum((p * against(mine, hand, hits_soft) for p, hand in drawn(theirs)), Fraction(0))


def stood(mine: tuple[int, ...], theirs: int, hits_soft: bool) -> Fraction:
    total, _ = total_of(mine)
    return Fraction(-1) if total > 21 else against(total, (theirs,), hits_soft)


@functools.cache
def valued(mine: tuple[int, ...], theirs: int, hits_soft: bool) -> dict[str, Fraction]:
    later = []
    for p, hand in drawn(mine):
        over = total_of(hand)[0] >= 21
        worth = (
            stood(hand, theirs, hits_soft)
            if over
            else max(valued(hand, theirs, hits_soft)[k] for k in ("hit", "stand"))
        )
        later.append(p * worth)
    double = sum((2 * p * stood(hand, theirs, hits_soft) for p, hand in drawn(mine)), Fraction(0))
    return {
        "hit": sum(later, Fraction(0)),
        "stand": stood(mine, theirs, hits_soft),
        "double": double,
        "surrender": Fraction(-1, 2),
    }


@pytest.mark.parametrize("hits_soft", [False, True])
@pytest.mark.parametrize("mine", [(5, 6), (10, 6), (1, 6), (10, 10), (10, 5)])
def test_decisions_are_worth_what_whole_hands_say(mine: tuple[int, ...], hits_soft: bool) -> None:
    house = House(tuple(SHOE.get(value, 0) for value in range(1, 11)), 1, MILLION, int(hits_soft), 1, 1)
    for up in (1, 5, 10):
        told = worths(house, up - 1, *count_of([4 * (value - 1) for value in mine]), True)
        assert told == pytest.approx({k: float(v) for k, v in valued(mine, up, hits_soft).items()})


def test_the_card_that_ends_a_hand_is_told() -> None:
    world = world_of("Blackjack")
    state, told = world.start(1, 3), []
    for _ in range(20):
        before = state
        state, _, done, events = world.step(state, {"agent": world.read("hit", "agent")})
        drew, *rest = [event for event in events["agent"] if not event.startswith("cost")]
        card, total = re.fullmatch(r"drew:(\w\w) and have (\d+)", drew).groups()
        assert count_of((*before.mine, CARDS[card]))[0] == int(total)
        told += [int(total)] * ("hand:-1 chip" in rest)
        if done:
            break
    assert max(told) > 21


def test_a_cost_that_rounds_to_no_chips_is_not_told_but_counts() -> None:
    world, untold = world_of("Blackjack"), 0
    for seed in range(40):
        state, done = world.start(seed, 5), False
        while not done:
            before = state
            state, _, done, events = world.step(state, {"agent": world.read("stand", "agent")})
            told = [event.removeprefix("cost:") for event in events["agent"] if event.startswith("cost")]
            lost = state.lost - before.lost
            assert told == ([f"{lost / MILLION:.2f}"] if lost >= MILLION // 200 else [])
            untold += 0 < lost < MILLION // 200
    assert untold


def test_the_oracle_loses_nothing_and_always_standing_does() -> None:
    for seed in range(5):
        assert play(task_of("Blackjack", seed, 6), oracle_player()).states[-1].lost == 0
        world = world_of("Blackjack")
        stand = world.read("stay", world.facts.seats[0])
        assert stand is not None and stand.key == "stand"
        assert play(task_of("Blackjack", seed, 6), lambda w, v, move=stand: move).states[-1].lost > MILLION // 20
