"""Moves that name what they move: each is the plain move of that thing, and nothing where it cannot be moved so."""

from __future__ import annotations

from typing import Any

import pytest

from quintain.envs.adapters.play import Play
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.messages import Message
from quintain.ports import SOLO
from quintain.worlds.engines.cards.deck import NAMES
from quintain.worlds.engines.cards.piles import CELL, HOME, STOCK, WASTE
from quintain.worlds.engines.grid.mission import DOOR, HELD, KINDS
from quintain.worlds.engines.raycast.things import named
from quintain.worlds.engines.slide.tower import Discs, Rack
from quintain.worlds.kernel import Move, Plan, World
from quintain.worlds.noise import Rng

ILLEGAL = {SOLO: ("illegal",)}


def said(world: World[Any], state: Any, text: str) -> Any:
    """What a text does."""
    move = world.read(text, SOLO)
    assert move is not None and world.read(move.key, SOLO) == move
    return world.step(state, {SOLO: move})


def walked(world: World[Any], seed: int, level: int, turns: int) -> list[Any]:
    """The states of a game that is played at random."""
    states, rng = [world.start(seed, level)], Rng("walked", seed)
    for _ in range(turns):
        legal = world.legal(states[-1], SOLO)
        outcome = world.step(states[-1], {SOLO: rng.pick(legal)}) if legal else None
        if outcome is None or outcome.done:
            break
        states.append(outcome.state)
    return states


def names_of(state: Any, move: Move) -> list[tuple[str, bool]]:
    """Texts for a step of patience, and whether each can stand for it alone."""
    source, count, target = move.value
    pile = state.piles[source] if source < CELL else (state.cells[source - CELL],) if source < WASTE else state.waste
    card = pile[-count]
    twice = sum(p.count(card) for p in state.piles) > 1
    place = (
        f"column {source + 1}" if source < CELL else f"cell {'abcd'[source - CELL]}" if source < WASTE else "the waste"
    )
    if target == HOME:
        ends = ["home", "the foundation"]
    elif target >= CELL:
        ends = [f"cell {'abcd'[target - CELL]}"]
        ends += ["a free cell"] * (state.cells.index(-1) == target - CELL)
    else:
        under = state.piles[target][-1:]
        ends = [f"column {target + 1}", *(NAMES[c] for c in under)]
    out = [(f"{NAMES[card]} from {place} to {end}", False) for end in ends]
    return out + [(f"{NAMES[card]} to {end}", twice) for end in ends]


@pytest.mark.parametrize("name", ["Klondike", "FreeCell", "SpiderDeal"])
@pytest.mark.parametrize("seed", range(3))
def test_a_card_that_is_named_moves_as_by_its_place(name: str, seed: int) -> None:
    world, told = world_of(name), 0
    for state in walked(world, seed, 6, 20):
        for move in world.legal(state, SOLO):
            if move.value[0] == STOCK:
                continue
            plain = world.step(state, {SOLO: move})
            ends = [p[-1] for p in state.piles if p]
            for text, twice in names_of(state, move):
                on = text.rpartition(" ")[2]
                if twice or (on in NAMES and ends.count(NAMES.index(on)) > 1):
                    assert said(world, state, text).events in (ILLEGAL, plain.events)
                else:
                    assert said(world, state, text) == plain
                    told += 1
    assert told > 20


@pytest.mark.parametrize("text", ["KS to AH", "KS to home", "KS from column 1 to column 1"])
def test_a_card_that_cannot_move_so_stays(text: str) -> None:
    world = world_of("FreeCell")
    state = world.start(3, 9)
    assert said(world, state, text).events == ILLEGAL and said(world, state, text).state == state


def test_a_disc_that_is_named_is_the_top_one() -> None:
    world = world_of("Hanoi")
    for state in walked(world, 4, 5, 30):
        for move in world.legal(state, SOLO):
            disc = state.at.index(move.key[0]) + 1
            for text in (f"disc {disc} to {move.key[1]}", f"move disc {disc} from {move.key[0]} to {move.key[1]}"):
                assert said(world, state, text) == world.step(state, {SOLO: move})
    state = Discs(Rack(3, "ccc"), "aab")
    for text in (
        "disc 2 to c",
        "disc 1 to a",
        "disc 3 to a",
        "disc 4 to c",
        "disc 1 to d",
        "disc 2 from a to c",
        "disc 1 from b to c",
    ):
        assert said(world, state, text).events == ILLEGAL


def test_a_tile_that_is_named_slides_into_the_gap() -> None:
    world = world_of("FifteenTiles")
    for state in walked(world, 4, 5, 20):
        near = {}
        for move in world.legal(state, SOLO):
            plain = world.step(state, {SOLO: move})
            tile = plain.state.tiles[state.tiles.index(0)]
            near[tile] = move.key
            assert said(world, state, f"tile {tile}") == said(world, state, f"slide {tile} {move.key}") == plain
        for tile in {*state.tiles, 0, 99} - near.keys():
            assert said(world, state, f"tile {tile}").events == ILLEGAL
        for tile, way in near.items():
            other = {"up": "down", "down": "up", "left": "right", "right": "left"}[way]
            assert said(world, state, f"tile {tile} {other}").events == ILLEGAL


@pytest.mark.parametrize("name", ["MissionRoom", "UnlockPick"])
def test_what_is_named_is_what_lies_there_or_is_held(name: str) -> None:
    world, told = world_of(name), {"take": 0, "drop": 0}
    states = [state for seed in range(6) for state in walked(world, seed, 6, 60)]
    for state in states:
        for verb, place in (("take", state.at), ("drop", HELD)):
            plain = world.step(state, {SOLO: world.read(verb, SOLO)})
            here = {KINDS[k] for k, p in zip(state.house.things, state.places, strict=True) if p == place}
            for kind in KINDS[:DOOR]:
                outcome = said(world, state, f"{verb} the {kind}")
                assert outcome == plain if kind in here else outcome.events == ILLEGAL
                told[verb] += kind in here
            for thing in here:
                assert said(world, state, f"{verb} the {thing.split()[-1]}") == plain
    assert min(told.values()) > 5


@pytest.mark.parametrize(
    ("name", "text", "key"),
    [
        ("ChessGame", "I resign, e4 is lost", None),
        ("ChessGame", "The king should go to e3", None),
        ("ChessGame", "I think of the centre.\ne4", "e4"),
        ("ChessGame", "Knights first.\nNf3", "Nf3"),
        ("FifteenTiles", "I will slide tile 4 up", "tile 4 up"),
        ("FifteenTiles", "We need to move tile 7 left", "left"),
        ("FifteenTiles", "The gap is small.\ntile 4", "tile 4"),
        ("MissionRoom", "The next step: take key", "take"),
        ("UnlockPick", "drop ball now", "drop"),
        ("MissionRoom", "There it lies.\ntake the key", "take key"),
        ("Hanoi", "The disc 1 to c seems best", None),
        ("Klondike", "Then 7h to 8s, maybe", None),
        ("UnlockPick", "I want to be at u now", None),  # the letter of a thing
        ("UnlockPick", "Up we go.", "up"),
        ("WordleBox", "A crane is likely", None),
        ("WordleBox", "Many vowels are left.\ncrane", "try crane"),
        ("KnightsKnaves", "c seems to lie", None),
    ],
)
def test_among_other_words_a_name_is_no_move(name: str, text: str, key: str | None) -> None:
    env = WorldEnv(world_of(name), Scaffold(grammar="free"))
    move = env.reader.read(Message.of("assistant", text), env.facts.seats[0])
    assert (move and move.key) == key


@pytest.mark.parametrize("seed", range(4))
def test_what_is_taken_by_its_name_lies_ahead(seed: int) -> None:
    world = world_of("PlaceNext3D")
    state, done = world.start(seed, 3), set()
    while (plan := world.solve(state, SOLO)) and isinstance(plan, Plan):
        move, wanted = plan.moves[0], named(state.place.wanted)
        if move.key in ("take", "drop"):
            for text in (wanted, f"the {wanted}", f"that {wanted.split()[1]}"):
                assert said(world, state, f"{move.key} {text}") == world.step(state, {SOLO: move})
            other = next(name for name in KINDS[:12] if name.split()[1] != wanted.split()[1])
            missed = {SOLO: ("missed" if move.key == "take" else "empty",)}
            assert said(world, state, f"{move.key} {other}")[::3] == (state, missed)
            done.add(move.key)
        state = world.step(state, {SOLO: move}).state
    assert said(world, state, f"take {wanted}") == world.step(state, {SOLO: Move("take")})  # it is over
    assert done == {"take", "drop"}


def test_who_goes_along_an_edge_stands_at_its_beginning() -> None:
    world = world_of("CopsRobber")
    state = world.start(5, 4)
    assert state.now[0] == ("cops", "D")
    to = next(move.key for move in world.legal(state, SOLO) if move.key != "D")
    for text in (f"D-{to}", f"from D to {to}", f"{to} (from D)", f"D -> {to}"):
        assert said(world, state, text) == world.step(state, {SOLO: Move(to)})
    for text in (f"{to}-D", f"from {to} to D", f"{to}-{to}", f"D-{to}, D-{to}"):
        assert said(world, state, text).events == ILLEGAL


def test_a_bet_that_opens_a_round_names_its_own_chips() -> None:
    play = Play("HoldemFree", level=0)
    play.begin(3)
    play.say({SOLO: "call"})
    state = play.env.state
    assert said(play.env.world, state, "bet 4") == said(play.env.world, state, "raise 6")
    assert said(play.env.world, state, "bet 1").events == ILLEGAL
    assert said(play.env.world, state, "raise 4") != said(play.env.world, state, "bet 4")


@pytest.mark.parametrize(
    ("name", "level", "seed", "moves"), [("SpiderDeal", 3, 235, ["draw"]), ("FreeCell", 2, 174, ["3-b", "2-1", "2-a"])]
)
def test_patience_ends_where_no_card_can_be_moved(name: str, level: int, seed: int, moves: list[str]) -> None:
    play = Play(name, level=level)
    play.begin(seed)
    heard = [play.say({SOLO: move})[SOLO] for move in moves]
    assert [h.terminated for h in heard] == [False] * (len(moves) - 1) + [True]
    assert heard[-1].info["events"] == ("stuck",) and heard[-1].reward == 0
