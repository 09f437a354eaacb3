"""How moves of games with cards and dice may be written, and what is not taken for one."""

from __future__ import annotations

import pytest
from tests.spelled import key_of

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.worlds.engines.cards.deck import NAMES


@pytest.mark.parametrize(
    "name, texts, key",
    [
        ("Hanabi2", ("play my third card", "Play the third card", "play card at position 3", "play card 3"), "play 3"),
        ("Hanabi2", ("discard the second card", "discard my second card"), "discard 2"),
        ("Hanabi2", ("clue ones", "clue 1s", "tell partner ones", "clue ones to my partner"), "clue 1"),
        (
            "Hanabi2",
            ("tell partner red", "Tell the partner about red", "clue red cards", "clue red to partner"),
            "clue red",
        ),
        ("GinRummy", ("draw from discard pile", "take from discard pile", "take a card from the pile"), "pile"),
        ("GinRummy", ("draw from the deck", "take from stock pile", "draw the hidden card", "draw a card"), "stock"),
        ("GinRummy", ("discard seven of clubs", "discard the seven of clubs", "throw 7C"), "discard 7C"),
        ("GinRummy", ("take AH", "take the ace of hearts"), "take AH"),
        ("FreeCell", ("seven of clubs to eight of hearts",), "7C to 8H"),
        (
            "LiarsDuel",
            ("quantity 1, face 3", "one die with face 3", "bid 1 die showing 3", "at least one 3", "1 three"),
            "1x3",
        ),
        ("LiarsDuel", ('{"quantity": 2, "face": 3}', "two dice showing 3", "Bid two threes"), "2x3"),
        ("LiarsDuel", ("I doubt that", "I call your bluff", "call the bluff", "challenge that bid"), "doubt"),
        (
            "HoldemFree",
            ("raise 10 total", "raise total 10", "raise to ten", "raise to a total of 10 chips"),
            "raise 10",
        ),
        ("HoldemFree", ("bet 10 total",), "raise 10"),
        ("HoldemFree", ("min raise", "min-raise", "raise the minimum", "raise to the minimum"), "raise min"),
    ],
)
def test_moves_are_read_as_sentences(name: str, texts: tuple[str, ...], key: str) -> None:
    assert {text: key_of(name, text) for text in texts} == dict.fromkeys(texts, key)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Hanabi2", "clue one card"),  # of that rank, or so many
        ("Hanabi2", "play my 1 card"),
        ("Hanabi2", "play index 1"),  # which may count from 0
        ("GinRummy", "discard pile"),
        ("GinRummy", "take a card"),
        ("LiarsDuel", "at most one 3"),
        ("HoldemFree", "raise by 10 total"),
        ("HoldemFree", "raise all-in to 48"),  # which may not be all
    ],
)
def test_what_could_be_meant_otherwise_is_not_read(name: str, text: str) -> None:
    assert key_of(name, text) is None


@pytest.mark.parametrize("seed", range(3))
def test_the_open_card_is_the_pile_and_any_other_is_none(seed: int) -> None:
    world = world_of("GinRummy")
    state = world.start(seed, 5)
    for card in (state.pile[-1], state.mine[0]):
        after = world.step(state, {SOLO: world.read(f"take {NAMES[card]}", SOLO)})
        assert (after == world.step(state, {SOLO: world.read("pile", SOLO)})) == (card == state.pile[-1])
        assert (after.state == state) == (card != state.pile[-1])


@pytest.mark.parametrize("name", ["HoldemFreeDuel", "HoldemLimitDuel"])
def test_the_least_raise_is_the_first_that_is_legal(name: str) -> None:
    world = world_of(name)
    state = world.start(1, 5)
    seat = next(seat for seat in world.facts.seats if world.legal(state, seat))
    least = next(move for move in world.legal(state, seat) if move.key.startswith("raise"))
    after = world.step(state, {seat: world.read("min raise", seat)})
    assert after == world.step(state, {seat: least}) and after.state != state
