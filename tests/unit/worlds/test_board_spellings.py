"""How moves of board games may be written, and what is not taken for one."""

from __future__ import annotations

import time

import pytest
from tests.spelled import key_of

from quintain.envs.world import world_of


@pytest.mark.parametrize(
    "name, texts, key",
    [
        (
            "Alquerque",
            ("b5 leaps to b3 and then d3", "Move my man from b5 to b3, then to d3", "jump b5 b3 d3"),
            "b5 b3 d3",
        ),
        ("Checkers", ("king f3 to d1", "f3 jumps to d1", "the man at f3 moves to d1"), "f3 d1"),
        ("Checkers", ("from column f, row 3 to column d, row 1", "row 3, column f -> row 1, column d"), "f3 d1"),
        ("Santorini", ("move column b, row 2 to column b, row 3 and build on column a, row 2",), "b2 b3 a2"),
        ("WildTTT", ("column c, row 3: O", "place an O at row 3, column c"), "c3 o"),
        (
            "ChessGame",
            ("the knight on g1 goes to f3", "Move my knight from g1 to f3", "N g1 f3", "knight g1 f3"),
            "g1 f3",
        ),
        ("ChessGame", ("e7 to e8, promote to queen", "e7 e8 promotes to queen"), "e7 e8 queen"),
        ("ChessGame", ("g5 e3 checkmate", "Qg5 to e3 mate", "to e3 from g5"), "g5 e3"),
        ("CrusadeKnights", ("c2 jumps to a1", "Knight c2 jumps to a1", "jump from c2 to a1"), "c2 a1"),
        ("DotsBoxes", ("I pass", "say pass", "I must pass"), "pass"),
        (
            "GoBoard",
            ("Place a stone at e2", "I place my stone at e2", "point e2", "column e, row 2", "Row 2, column E"),
            "e2",
        ),
        ("Gomoku", ("Place a stone at c1", "put X on c1", "mark c1", "stone at c1", "column c, row 1"), "c1"),
        ("HeapDuel", ("a1 & b1", "a1+b1"), "a1 b1"),
        (
            "Isolation",
            ("King to c3, remove c1", "Step to c3 and take away c1.", "move from b2 to c3, remove c1"),
            "c3 c1",
        ),
        ("Mancala", ("2c", "pit 2C", "sow c2", "empty pit c2", "Sow the seeds of c2"), "c2"),
        ("NimGame", ("heap A: remove 2", "Heap A: take 2 counters", "heap A, 2 counters", "remove A-2"), "A-2"),
        ("NimGame", ("take two from A", "take 2 counters from the pile A", "two off a", "take away 2 from A"), "A-2"),
        ("NimGame", ("take all from C", "take all counters of heap C"), "C to 0"),
        ("Othello", ("Place a disc at f4", "disc at f4"), "f4"),
        ("QuantumTTT", ("X1: a1 c1", "put X1 in a1 and c1", "mark a1 and c1", "cells a1 and c1", "a1+c1"), "a1 c1"),
        (
            "QuantumTTT",
            ("O2 settles in b2, a1 c1", "settle b2, then mark a1 and c1", "X3 in b2; O4 in a1 and c1"),
            "b2 a1 c1",
        ),
        ("Santorini", ("Move b2 to b3 and build on a2", "builder b2 -> b3, builds a2", "b2 b3 +a2"), "b2 b3 a2"),
        ("TakLite", ("Place a wall on b2", "Build a wall at b2", "Wall: b2"), "b2 wall"),
        ("TakLite", ("Place a flat stone on b2",), "b2"),
        ("WildTTT", ("Place an O at c3", "mark c3 with O", "o: c3", "cell c3, mark O", "c3 as o"), "c3 o"),
        ("ConnectK", ("drop a disc in column c", "drop disc in column c"), "c"),
        ("Mancala", ("c", "pit c", "column c", "Sow pit c", "I empty my pit c"), "c"),
        ("Breakthrough", ("the piece at d7 moves to d6", "my piece d7 to d6"), "d7 d6"),
        ("DotsBoxes", ("a1 a3", "draw a1 a3", "a1a3", "a1-a3"), "a2"),
        ("ChessGame", ('{"from":"d1","to":"d8"}', '{"from": "d1", "to": "d8"}'), "d1 d8"),
        ("PaddleMatch", ("move the paddle left", "shift left", "shift the paddle left"), "left"),
        ("PaddleMatch", ("stay put", "hold"), "wait"),
        ("Battleship", ("target c3", "Shot: c3", "I shoot at c3", "attack c3"), "c3"),
        ("TakLite", ("W b2", "b2w", "b2 w"), "b2 wall"),
        ("GoBoard", ("1b", "row 1, column 2", "r1c2", '{"column":"b","row":1}', '{"row": 1, "column": 2}'), "b1"),
        ("HexBoard", ("row 2, column 1", "column 1, row 2", "r2c1", "2a", '{"column":"a","row":2}'), "a2"),
        ("Othello", ("row 2, column 3", "R2C3", "put a disc at row 2, column 3", "2c"), "c2"),
        (
            "Gomoku",
            ("row 2, column 3", "2c", "place X at 2c", "c2 (row 2, column 3)", '{"column":"c","row":2}', "(2,3)"),
            "c2",
        ),
        ("Breakthrough", ("r2c1 to r3c1", "row 2, column 1 to row 3, column 1"), "a2 a3"),
        ("Tsumego", ("1b",), "b1"),
    ],
)
def test_moves_are_read_as_sentences(name: str, texts: tuple[str, ...], key: str) -> None:
    assert {key_of(name, text) for text in texts} == {key}


@pytest.mark.parametrize(
    "name, text",
    [
        ("Isolation", "take c1, move to c3"),
        ("Isolation", "remove c1, step to c3"),
        ("Santorini", "build a2, b2 to b3"),
        ("Santorini", "to b3 from b2, build a2"),
        ("QuantumTTT", "a1 and c1, settle b2"),
        ("TakLite", "flat wall b2"),
        ("TakLite", "b2 wall flat"),
        ("Checkers", "f3 over e2 to d1"),
        ("GoBoard", "not e2"),
        ("GoBoard", "do not place a stone at e2"),
        ("NimGame", "leave 2 in A"),
        ("Othello", "(2,3)"),  # which is the row?
        ("HexBoard", "2 1"),
        ("Gomoku", "c2 (row 3, column 2)"),
        ("Mancala", "sow a pit"),
        ("Mancala", "choose a pit"),
        ("NimGame", "A=2"),  # taken or left
        ("TakLite", "a5 a5"),
        ("TakLiteDuel", "slide a5 to a5"),
    ],
)
def test_what_is_told_in_another_order_or_denied_is_not_read(name: str, text: str) -> None:
    assert key_of(name, text) is None


@pytest.mark.parametrize("letter", "abcdef")
def test_a_column_of_pits_is_the_own_pit_in_it(letter: str) -> None:
    world = world_of("MancalaDuel")
    state = world.start(1, 7)
    for seat, row in (("X", 2), ("O", 1)):
        short, whole = (world.step(state, {seat: world.read(text, seat)}) for text in (letter, f"{letter}{row}"))
        assert short.state == whole.state
        state = world.step(state, {seat: world.legal(state, seat)[0]}).state


@pytest.mark.parametrize("name", ["Santorini", "Isolation", "QuantumTTT", "ChessGame", "Gomoku", "NimGame", "WildTTT"])
@pytest.mark.parametrize("part", ["a1 ", "build 1 ", "the ", " ", "take ", "x1", "o"])
def test_long_texts_take_no_time(name: str, part: str) -> None:
    world, begun = world_of(name), time.process_time()
    world.read((part * 20_000)[:20_000] + "!", world.facts.seats[0])
    assert time.process_time() - begun < 1
