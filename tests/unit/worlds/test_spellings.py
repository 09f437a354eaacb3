"""The ways in which a policy may write one and the same move."""

from __future__ import annotations

import itertools

import pytest

from quintain.envs.world import world_of
from quintain.worlds.kernel import Plan

SURVO = "7 2 11 8 / 5 9 12 3 / 1 10 4 6"


@pytest.mark.parametrize(
    "name, texts, key",
    [
        ("MirrorPlace", ("b3 /", "B3/", "put b3 slash", "b3: /", "(3, 2) /"), "b3 /"),
        ("MirrorPlace", ("b3 \\", "b3 backslash", "b3=\\"), "b3 \\"),
        ("HueOrder", ("c2 a1", "swap A1 and C2", "a1, c2", "a1-c2", "a1->c2", "a1c2"), "a1 c2"),
        ("MentalMap", ("blue box −1 2", "blue box at (-1, 2)"), "blue-box -1 2"),
        ("NimGame", ("A2", "a 2", "take 2 from a"), "A-2"),
        ("JigsawSwap", ("turn b2", " TURN B2 "), "turn b2"),
        ("BeatTap", ("tap134", "tap 431", "tap3,1,4", "tap 3+4+1", "tap314"), "tap134"),
        ("TakLite", ("b2 wall", "wall b2", "Wall B2"), "b2 wall"),
        ("HoldemFree", ("raise 8", "raise to 8 chips", "bet 8 chips"), "raise 8"),
        ("LiarsDice", ("2x5", "2×5", "2 times 5s"), "2x5"),
        ("MaxRectangle", ("C E F H", "c e f h h", "h f e c, c", "HFEC"), "C E F H"),
        ("ColourMix", ("D F E H", "DF, EH", "d+f e+h", "f d h e"), "D F E H"),
        ("TreeWalk", ("BACD", "B, A, C and D", "b;a;c;d", '["B", "A", "C", "D"]'), "B A C D"),
        ("SpanMin", ("AB CD", "[[B, A], [D, C]]", "{a b} {c d}", "A-B; C-D"), "A-B C-D"),
        ("ColourMin", ("AC / BD", "A C; B D", "[['A', 'C'], ['B', 'D']]"), "A C / B D"),
        (
            "Survo",
            ("7 2 11 8/5 9 12 3/1 10 4 6", "7 2 11 8 | 5 9 12 3 | 1 10 4 6", "7 2 11 8 5 9 12 3 1 10 4 6"),
            SURVO,
        ),
    ],
)
def test_a_move_has_many_spellings(name: str, texts: tuple[str, ...], key: str):
    world = world_of(name)
    assert {world.read(text, world.facts.seats[0]).key for text in texts} == {key}


@pytest.mark.parametrize(("name", "level"), [("Survo", 5), ("ZebraHouses", 9), ("Binairo", 5), ("MagicSquare", 5)])
def test_a_grid_in_rows_of_another_length_is_not_that_grid(name: str, level: int) -> None:
    world = world_of(name)
    seat, state = world.facts.seats[0], world.start(5, level)
    plan = world.solve(state, seat)
    assert isinstance(plan, Plan)
    rows = [row.split() for row in plan.moves[0].key.split(" / ")]
    signs = [sign for row in rows for sign in row]
    assert world.step(state, {seat: world.read(" ".join(signs), seat)}).rewards
    others = {n for n in range(2, len(signs)) if len(signs) % n == 0} - {len(rows[0])}
    for n, gap in itertools.product(others, (" / ", "\n", " | ", ";")):
        move = world.read(gap.join(" ".join(signs[i : i + n]) for i in range(0, len(signs), n)), seat)
        assert move != plan.moves[0] and not world.step(state, {seat: move}).rewards
    assert others and world.read(" / ".join((" ".join(signs[:3]), " ".join(signs[3:]))), seat) is None
