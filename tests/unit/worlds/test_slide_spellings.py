"""How moves of sliding puzzles and on grids may be written, and what is not taken for one."""

from __future__ import annotations

import time

import pytest
from tests.spelled import key_of

from quintain.envs.world import world_of

DISTANCES = ("3 2 1 1", "# 1 0 0", "3 2 # 1", "4 # 3 2")


@pytest.mark.parametrize(
    "name, texts, key",
    [
        (
            "KnightSwap",
            ("the knight on a2 goes to b4", "Na2-b4", "White: a2-b4", "a2xb4", "knight from a2 to b4"),
            "a2 b4",
        ),
        (
            "PegJump",
            ("peg e3 jumps to c3", "Peg at e3 jumps to c3", "move the peg from e3 to c3", "e3 lands on c3"),
            "e3 c3",
        ),
        (
            "Hanoi",
            ("Move the top disc from a to b", "take the top disc from a and put it on b"),
            "ab",
        ),
        ("Hanoi", ("move disc to b from a", "Move disc from peg A to peg B"), "ab"),
        (
            "Hanoi",
            ("move disc 1 to b from a", "disc 1 from a to b", "Move disc 1 from peg A to peg B"),
            "disc 1 from a to b",
        ),
        *(
            (
                name,
                ("slide d 2 cells up", "Slide car d two cells up", "d moves up 2", "slide d upwards by 2 cells"),
                "d up 2",
            )
            for name in ("Klotski", "RushHour")
        ),
        ("RushHour", ("d up one", "move d up by one cell"), "d up 1"),
        ("LightsOut", ("press lamp b2", "Press the lamp at b2", "Lamp: b2", "flip b2"), "b2"),
        (
            "TwiddleTiles",
            ("turn the block b2 to the right", "rotate the block at b2 clockwise", "b2-right"),
            "b2 right",
        ),
        ("TwiddleTiles", ("b2 counter-clockwise", "rotate b2 anti-clockwise"), "b2 left"),
        (
            "SokobanPlan",
            ("Steps: d l u d d", "1. down\n2. left\n3. up\n4. down\n5. down", "down, left, up, down x2"),
            "d l u d d",
        ),
        (
            "MazePlan",
            ("up 3, left 2, down 1", "3 up, 2 left, 1 down", "Path: u u u l l d", "1. up 3\n2. left 2\n3. down"),
            "u u u l l d",
        ),
        ("ColourFlood", ("flood with blue", "Colour: blue", "change the colour to blue", "fill blue"), "blue"),
        ("GemSwap", ("exchange d5 and e5", "Swap the gems at d5 and e5", "d5/e5", "d5 ↔ e5"), "d5-e5"),
        ("BubbleShot", ("c: left", "fire c left"), "c left"),
        ("ChainMarbles", ("shoot at place 3", "shoot place 3"), "shoot3"),
        (
            "GridDistance",
            (
                "Distances:\n" + "\n".join(DISTANCES),
                "\n".join(f"Row {i}: {row}" for i, row in enumerate(DISTANCES, 1)),
                "\n".join(["   a b c d", *(f" {i} {row}" for i, row in enumerate(DISTANCES, 1))]),
            ),
            " / ".join(DISTANCES),
        ),
        ("SokobanPlan", ("u 3l 3d r", "u, 3l, 3d, r", "1u 3l 3d 1r"), "u l l l d d d r"),
        ("SokobanPlan", ("u3l", "u 3 l", "u3 l"), "u u u l"),
        ("TwiddleTiles", ("right a1", "turn right a1", "clockwise a1"), "a1 right"),
        ("JigsawSwap", ("a1 turn", "turn a1"), "turn a1"),
        ("ChainMarbles", ("shoot in front of 3", "shoot #3"), "shoot3"),
        ("MirrorPlace", ("b1 none", "b1 off"), "b1 off"),
        ("PegJump", ("c1 x e1", "c1xe1"), "c1 e1"),
        (
            "PipeTurn",
            (
                "b2 anticlockwise",
                "b2 left",
                "b2 3",
                "b2 -1",
                "b2 ccw",
                "b2 270°",
                "b2 three quarters",
                "b2 90 degrees left",
            ),
            "b2 3",
        ),
        (
            "PipeTurn",
            ("b2 180", "b2 (a half turn)", "rotate b2 twice", "b2 x2", "b2 2x", "turn b2 clockwise 2"),
            "b2 2",
        ),
        ("FifteenTiles", ("move the blank up", "The gap moves up.", "the empty space should go up"), "down"),
        ("Mastermind", ("aabc", "code: aabc", "a, a, b, c", "AAB-C", "I choose aabc"), "a a b c"),
    ],
)
def test_moves_are_read_as_sentences(name: str, texts: tuple[str, ...], key: str) -> None:
    assert {key_of(name, text) for text in texts} == {key}


@pytest.mark.parametrize(
    "name, text",
    [
        ("UnlockPick", "take u"),  # the letter of a thing
        ("UnlockPick", "go to u"),
        ("UnlockPick", "put up"),
        ("TeleportHall", "go to d"),
        ("PlaceNext3D", "take f"),
        ("KeyDoor", "up (not down)"),
        ("KeyDoor", "up (no, left)"),
        ("KnightsKnaves", "c (is a knight)"),
        ("KnightsKnaves", "only knight c is a knave"),
        ("KeyDoor", "give up"),
        ("KeyDoor", "Pick it up"),
        ("FifteenTiles", "move the tile above the gap down"),
        ("FifteenTiles", "the gap is left"),
        ("Mastermind", "a a a a is bad"),
        ("Mastermind", "e.g. a a a a"),
        ("PipeTurn", "a1-1"),
        ("WordleBox", "I will think"),
        ("WordleBox", "done"),
        ("WordLadder", "from cord"),
        ("WordleBox", "I agree"),
        ("CliqueMax", "A B C (except C)"),
        ("Hanoi", "2 to 3"),  # discs or pegs
        ("MinCircle", "Centre (12,13), radius 5"),  # and not its square
        ("RectTally", "1 square, 9 rectangles, area 24"),
        ("RectTally", "9 squares, 1 rectangle, area 24"),
        ("RectTally", "9 rectangles, 24 area, 1 square"),
        ("CoinStrip", "Slide by 3 coin 4"),
        ("SpanCount", "20/40"),
        ("KnightsKnaves", "the only knight is c"),
        ("PegJump", "e3 over c3 to d3"),
        ("RushHour", "d up 2 or 1"),
        ("MazePlan", "up 3 left 2 down"),
        ("MazePlan", "2 up 3, left"),
        ("SokobanPlan", "Steps: not d l"),
        ("ColourFlood", "from red to blue"),
        ("GridDistance", "\n".join(f"Row {5 - i}: {row}" for i, row in enumerate(DISTANCES, 1))),
        ("SokobanPlan", "u 3l d3"),
        ("SokobanPlan", "u3l 3d"),
        ("JigsawSwap", "turn a1 left"),
    ],
)
def test_what_could_be_meant_otherwise_is_not_read(name: str, text: str) -> None:
    assert key_of(name, text) is None


@pytest.mark.parametrize(
    "name", ["KnightSwap", "Hanoi", "RushHour", "LightsOut", "TwiddleTiles", "MazePlan", "ColourFlood"]
)
@pytest.mark.parametrize("part", ["the ", "1. ", "up 3, ", "\n", " ", "a2", "move "])
def test_long_texts_take_no_time(name: str, part: str) -> None:
    begun = time.process_time()
    world_of(name).read((part * 20_000)[:20_000] + "!", "agent")
    assert time.process_time() - begun < 1
