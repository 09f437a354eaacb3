"""Gin rummy and the duel of liar's dice: melds and chances by trying all."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.worlds.engines.cards.deck import names
from quintain.worlds.engines.cards.dice import Match
from quintain.worlds.engines.cards.dice_duel import raises, values
from quintain.worlds.engines.cards.rummy import Gin, count
from quintain.worlds.noise import Rng


def is_meld(cards: tuple[int, ...]) -> bool:
    ranks, suits = sorted(c // 4 for c in cards), {c % 4 for c in cards}
    rising = [b - a for a, b in itertools.pairwise(ranks)]
    return len(cards) > 2 and (set(rising) == {0} or (len(suits) == 1 and set(rising) == {1}))


def outside(cards: tuple[int, ...]) -> int:
    """The least points outside melds: of all sets of melds that share no card."""
    melds = [frozenset(m) for k in range(3, len(cards) + 1) for m in itertools.combinations(cards, k) if is_meld(m)]
    best, points = 0, {c: min(c // 4 + 1, 10) for c in cards}
    for k in (1, 2):
        for some in itertools.combinations(melds, k):
            if len(frozenset().union(*some)) == sum(map(len, some)):
                best = max(best, sum(points[c] for m in some for c in m))
    return sum(points.values()) - best


def test_counts_are_the_least_of_all_ways_to_meld() -> None:
    rng, seen = Rng("rummy"), set()
    for _ in range(300):
        cards = tuple(sorted(rng.sample(range(28), 8)))
        assert count(cards) == outside(cards), cards
        seen.add(outside(cards))
    assert len(seen) > 20


def test_points_of_a_hand_are_what_is_told() -> None:
    world = world_of("GinRummy")
    state, rng, scored, seen = world.start(3, 4), Rng("play"), 0, set[str]()
    for _ in range(400):
        moves = [m for m in world.legal(state, SOLO) if "knock" in m.key] or world.legal(state, SOLO)
        if not moves:
            break
        before, after = state, world.step(state, {SOLO: rng.pick(moves)})
        state = after.state
        seen |= {e.partition(":")[0] for e in after.events.get(SOLO, ())}
        told = [e.partition(":") for e in after.events.get(SOLO, ()) if e.startswith(("scored", "lost:"))]
        gained = [int(n.split()[0]) * (1 if kind == "scored" else -1) for kind, _, n in told]
        assert (state.points[0] - before.points[0]) - (state.points[1] - before.points[1]) == sum(gained)
        scored += len(gained)
    assert scored >= 2 and seen >= {"knock", "mine"}


def tiles_of(state: Gin) -> list[str]:
    """The tiles of the picture that are not empty, row by row."""
    return [tile for tile in world_of("GinRummy").view(state, SOLO).scene().cells if tile]


@pytest.mark.parametrize("many", [1, 6, 23, 24, 25, 30])
def test_the_open_card_is_the_last_of_the_pile_that_is_shown(many: int) -> None:
    state = world_of("GinRummy").start(1, 0, ranks=10, size=5)
    state = replace(state, pile=tuple(c for c in range(40) if c not in state.mine)[:many])
    shown = tiles_of(state)
    pile = shown[shown.index("tag-pile") + 1 : shown.index("tag-you")]
    assert pile == [f"card-{name}" for name in names(state.pile).split()[-24:]]


@pytest.mark.parametrize("level", [0, 5, 9])
def test_after_the_end_the_last_hand_is_told(level: int) -> None:
    world = world_of("GinRummy")
    state, rng, done = world.start(1, level), Rng("play"), False
    while not done:
        before = state
        state, _, done, _ = world.step(state, {SOLO: rng.pick(world.legal(state, SOLO))})
    hands = state.match.hands
    assert world.caption(before, SOLO, 2).startswith(f"Hand {hands} of {hands}. ")
    assert world.caption(state, SOLO, 2).startswith(f"Hand {hands} of {hands}, over. ")
    again = world.rebuild(world.caption(state, SOLO, 2), SOLO)
    assert again.hand == state.hand and not world.legal(again, SOLO)
    told = " ".join(tiles_of(state))
    assert f"tag-hand n-{hands} mark-of n-{hands}" in told


@pytest.mark.parametrize("level", [0, 5, 9])
def test_pictures_tell_the_ranks_of_the_deck(level: int) -> None:
    state = world_of("GinRummy").start(1, level)
    assert f"tag-ranks n-{state.match.ranks}" in " ".join(tiles_of(state))


@pytest.mark.parametrize(("dice", "faces"), [(1, 4), (2, 3)])
def test_doubts_are_right_as_often_as_all_throws_say(dice: int, faces: int) -> None:
    match = Match(dice, faces, 3)
    throws = list(itertools.product(range(1, faces + 1), repeat=dice))
    for mine, bid in itertools.product(throws, (11, 12, 21, 23, 2 * dice * 10 + faces)):
        false = sum(mine.count(bid % 10) + other.count(bid % 10) < bid // 10 for other in throws)
        assert dict(values(match, tuple(sorted(mine)), 0, (bid,)))[0] == pytest.approx(false / len(throws))
        assert all(bid < move.value <= bid + 10 for move in raises(match, bid)[:-1])
    assert [move.key for move in raises(match, 0)] == [f"1x{n + 1}" for n in range(faces)]
