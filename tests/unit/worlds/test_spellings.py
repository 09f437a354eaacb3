"""The ways in which a policy may write one and the same move."""

from __future__ import annotations

import itertools
import re

import pytest
from tests.spelled import key_of

from quintain.envs.grammar import GRAMMARS
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.messages import Message
from quintain.registry import entries
from quintain.worlds.kernel import Plan

FROM_TO = [
    ("JugMeasure", ("pour into b from c", "pour b from c", "pour from c into b"), "pour c b"),
    ("WaterSort", ("into 4 from 2", "4 from 2", "pour from 2 to 4"), "2 4"),
    ("Hanoi", ("to c from a", "c from a", "take from a to c", "from 1 to 3"), "ac"),
    ("Klondike", ("move to 5 from 3", "5 from 3"), "3-5"),
    ("FreeCell", ("a from 3", "from 3 to a"), "3-a"),
    ("ChessGame", ("to e4 from e2", "e4 from e2"), "e2 e4"),
    ("NimGame", ("3 from A", "take 3 from heap A"), "A-3"),
]
SURVO = "7 2 11 8 / 5 9 12 3 / 1 10 4 6"


@pytest.mark.parametrize(
    "name, texts, key",
    [
        ("MirrorPlace", ("b3 /", "B3/", "put b3 slash", "b3: /", "(3, 2) /"), "b3 /"),
        ("MirrorPlace", ("b3 \\", "b3 backslash", "b3=\\"), "b3 \\"),
        ("CircuitSat", ("only c", "c only", "c on", "Only C", "on: c"), "only c"),
        ("HueOrder", ("c2 a1", "c2/a1", "swap A1 and C2", "a1, c2", "a1-c2", "a1->c2", "a1c2"), "a1 c2"),
        ("MentalMap", ("blue box −1 2", "blue box at (-1, 2)"), "blue-box -1 2"),
        ("NimGame", ("A2", "a 2", "take 2 from a"), "A-2"),
        ("JigsawSwap", ("turn b2", " TURN B2 "), "turn b2"),
        ("BeatTap", ("tap134", "tap 431", "tap3,1,4", "tap 3+4+1", "tap314"), "tap134"),
        ("TakLite", ("b2 wall", "wall b2", "Wall B2"), "b2 wall"),
        ("TakLite", ("b2", "b2 flat", "flat b2", "flat stone at b2"), "b2"),
        ("HoldemFree", ("raise 8", "raise to 8 chips", "bet to 8 chips"), "raise 8"),
        ("HoldemFree", ("bet 8", "I bet 8 chips"), "bet 8"),
        ("LiarsDice", ("2x5", "2×5", "2 times 5s"), "2x5"),
        ("MaxRectangle", ("C E F H", "c e f h h", "h f e c, c", "HFEC"), "C E F H"),
        ("ColourMix", ("D F E H", "DF, EH", "d+f e+h", "f d h e"), "D F E H"),
        ("ColourMix", ("1: D F, 2: E H", "1: D+F; 2: E+H", "1. D F\n2. E H"), "D F E H"),
        ("DotTally", ("20, 8", "1. 20\n2. 8", "1) 20 2) 8", "1: 20, 2: 8"), "20 8"),
        (
            "DotTally",
            (
                "green any: 3, gold disc: 2",
                "green any 3; gold disc 2",
                "- green = 3\n- gold discs = 2",
                "1. **Green any**: 3\n2. **Disc gold**: 2",
            ),
            "green: 3 disc gold: 2",
        ),
        (
            "BlockCount",
            (
                "red: 2, green: 5",
                "red 2, green 5",
                "- Red 2\n- Green 5",
                "r=2 g=5",
                "- **Red**: 2\n- **Green**: 5",
                "1. red: 2\n2. green: 5",
            ),
            "r: 2 g: 5",
        ),
        (
            "CircuitRead",
            (
                "D=0 E=1 F=1",
                "D: 0, E: 1, F: 1",
                "F is 1, E is 1, D is 0",
                "- **D**: 0\n- **E**: 1\n- **F**: 1",
                "D0 E1 F1",
            ),
            "D=0 E=1 F=1",
        ),
        ("CircuitRead", ("011", "0 | 1 | 1", "outputs: 0, 1 and 1"), "0 1 1"),
        (
            "TreeCentre",
            (
                "A B; B",
                "centre: A and B; centroid: B",
                "Center A, B\nCentroid B",
                "The centre is {A, B}, the centroid is {B}.",
            ),
            "A B ; B",
        ),
        (
            "TreeCentre",
            ("node A and node B; node B", "| A B | B |", "A, B | B", "- **Centre**: A, B\n- **Centroid**: B"),
            "A B ; B",
        ),
        ("FlowRead", ("| C F A | 2 |", "C F A | 2"), "C F A ; 2"),
        ("TopoOrder", ("| C | A | B |", "C | A | B"), "C A B"),
        ("IsoMatch", ("| A | 3 |\n| B | 4 |", "A=3 | B=4"), "A=3 B=4"),
        ("ColourMin", ("| A | C |\n| B | D |", "| A C | B D |"), "A C / B D"),
        ("BlockCount", ("2 5", "counts: 2, 5", "2 patches and 5 patches"), "2 5"),
        (
            "DotTally",
            ("count green any: 3; count gold disc: 2", "counts: green: 3, gold discs: 2"),
            "green: 3 disc gold: 2",
        ),
        ("MinCircle", ("15 9 25", "center (15, 9), radius^2 = 25", "centre (15,9), r² = 25"), "15 9 25"),
        ("TopoCount", ("1120 420", "1,120, 420", "1. 1120\n2. 420"), "1120 420"),
        ("TopoCount", ("120,420", "120, 420"), "120 420"),
        ("IndepGrid", ("a1 a3", "- a1\n- a3", "Set: a1, a3"), "a1 a3"),
        ("CutMin", ("A-B C-D", "- A-B\n- C-D", "1. A-B\n2. C-D", "Edges: A-B, C-D"), "A-B C-D"),
        ("ShortestWalk", ("A B C", "Path: A -> B -> C", "1. A\n2. B\n3. C"), "A B C"),
        ("FlowMax", ("A>B 3 B>C 3", "A>B (3), B>C (3)", "1. A>B 3\n2. B>C 3", "Flow: A>B: 3, B>C: 3"), "A>B 3 B>C 3"),
        ("TreeWalk", ("BACD", "B, A, C and D", "b;a;c;d", '["B", "A", "C", "D"]'), "B A C D"),
        ("SpanMin", ("AB CD", "[[B, A], [D, C]]", "{a b} {c d}", "A-B; C-D"), "A-B C-D"),
        ("TriadList", ("A B C / D E F", "1. A B C\n2. D E F", "Groups: A B C / D E F"), "A B C / D E F"),
        ("ColourMin", ("1: A C\n2: B D", "1: A C; 2: B D"), "A C / B D"),
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


@pytest.mark.parametrize(
    ("name", "text"),
    [("ColourMix", "1: A, 2: C"), ("CutMin", "2. A-B\n3. C-D"), ("TriangleSum", "- 14")]
    + [("FlowRead", "B A D ; 1 wrong"), ("FlowRead", "B A D ; 1 less")]
    + [
        ("DotTally", text)
        for text in ("gold disc 3, any 2", "gold: 3, 2", "gold: 3, any: 2", "gold: -3, sky: 2", "ink: 3, sky: 2")
    ]
    + [
        ("BlockCount", text)
        for text in ("red 2 green 5", "red: 2, 5", "black: 2, green: 5", "red: 2 5", "red: g: 5, 2")
    ],
)
def test_what_could_be_meant_otherwise_is_not_read(name: str, text: str) -> None:
    assert world_of(name).read(text, "agent") is None


@pytest.mark.parametrize("level", [1, 5, 9])
def test_outputs_of_gates_count_behind_their_names_alone(level: int) -> None:
    world = world_of("CircuitRead")
    state = world.start(3, level)
    bits = world.solve(state, "agent").moves[0].key.split()
    names = state.graph.names[-len(bits) :]

    def reward(pairs: list[tuple[str, str]]) -> float:
        move = world.read(", ".join(f"{name}: {bit}" for name, bit in pairs), "agent")
        return world.step(state, {"agent": move}).rewards.get("agent", {}).get("success", 0.0) if move else 0.0

    right = list(zip(names, bits, strict=True))
    assert reward(right) == reward(right[::-1]) == 1.0
    others = list(zip(state.graph.names, bits, strict=False))  # as if the inputs were gates
    assert reward(others) == reward(right[:-1]) == 0.0
    carried = [("A", state.graph.notes[0]), *right]
    assert reward(carried) == 1.0 and reward(carried[:-1]) == 0.0
    assert reward([("A", "10"[int(state.graph.notes[0])]), *right]) == 0.0


@pytest.mark.parametrize(("name", "level"), [("DotTally", 8), ("BlockCount", 8), ("DotTally", 1)])
def test_counts_with_their_labels_count_in_any_order_and_under_no_other(name: str, level: int) -> None:
    world = world_of(name)
    for seed in range(9):
        state = world.start(seed, level)
        labels, right = world.labels(state.things), world.solve(state, "agent").moves[0].value
        told = [f"{label}: {count}" for label, count in zip(labels, right, strict=True)]
        rewards = [
            world.step(state, {"agent": world.read(", ".join(parts), "agent")}).rewards.get("agent")
            for parts in (told, told[::-1], told[1:] + told[:1])
        ]
        assert rewards == [{"success": 1.0}] * 3
        others = [f"{label}: {count}" for label, count in zip(labels[1:] + labels[:1], right, strict=True)]
        for parts in (told[:-1], [*told, told[0]], [*told[:-1], told[0]], others):
            move = world.read(", ".join(parts), "agent") if len(parts) > 1 else None
            won = move and world.step(state, {"agent": move}).rewards.get("agent", {}).get("success")
            assert not won or (
                parts is others and dict(zip(labels[1:] + labels[:1], right)) == dict(zip(labels, right))
            )


@pytest.mark.parametrize("name, texts, key", FROM_TO)
def test_where_from_comes_first_in_whatever_order_it_is_told(name: str, texts: tuple[str, ...], key: str) -> None:
    env = WorldEnv(world_of(name), Scaffold())
    for text in texts:
        move = env.reader.read(GRAMMARS["tagged"].write(text), env.facts.seats[0])
        assert move is not None and move.key == key, text


@pytest.mark.parametrize(
    "name, texts, key",
    [
        (
            "WordSearch",
            ("b2 e2", "b2, e2", "(b2, e2)", "[b2, e2]", "b2->e2", "b2 → e2", "b2–e2", "from b2 to e2"),
            "b2-e2",
        ),
        (
            "Mastermind",
            ("try a b c a", "guess ABCA", "code: a b c a", '["A","B","C","A"]', "A/B/C/A", "a->b->c->a"),
            "a b c a",
        ),
        (
            "WordleBox",
            ("guess stone", 'try "stone"', "try s t o n e", "Try **stone**.", "word stone", "Word: Stone"),
            "try stone",
        ),
        ("WordLadder", ("go to warm", 'to "warm"', "to **warm**", "Move to warm."), "to warm"),
        ("CrossFill", ('2="stone"', "2 -> stone", "2-stone", "2. stone", "place 2 = stone"), "2=stone"),
        ("KnightSwap", ("a1b3", "from a1 to b3", "knight a1 to b3", "['a1','b3']", "a1 → b3", "a1–b3"), "a1 b3"),
        ("PegJump", ("a1c1", "jump from a1 to c1", "(a1) -> (c1)"), "a1 c1"),
        ("MentalMap", ("go forward", "move forward", "step ahead", "fwd"), "forward"),
        ("MentalMap", ("right turn", "turn right"), "right"),
        (
            "MentalMap",
            ("blue box [1, 2]", '{"blue box": [1, 2]}', "blue box is at 1 2", "blue_box +1 +2", "- blue box 1 2"),
            "blue-box 1 2",
        ),
        (
            "MentalMap",
            ("blue box 1 2 and green ball 0 3", "- blue box 1 2\n- green ball 0 3"),
            "blue-box 1 2 green-ball 0 3",
        ),
        (
            "MazeEye",
            ("ff lf", "ff, lf", '["f","f","l","f"]', "forward forward, turn left, forward", "f→f→l→f", "f f\nl f"),
            "f f l f",
        ),
        (
            "SokobanPlan",
            ("uu\nrd", "u\nu\nr\nd", "u->u->r->d", '["u","u","r","d"]', "Up. Up. Right. Down.", "u/u/r/d"),
            "u u r d",
        ),
        ("JugMeasure", ("pour from a into b", "pour(a, b)", "pour a → b"), "pour a b"),
        ("JugMeasure", ("fill up a", "fill the jug a"), "fill a"),
        ("WaterSort", ("pour tube 2 into tube 4", "from 2 to 4", "move 2 to 4", "2 → 4"), "2 4"),
        ("Klotski", ("move b 2 left", "b left 2 spaces", "block b left 2", "b left 2 steps"), "b left 2"),
        ("Hanoi", ("a > c", "a-c", "from a to c", "a → c"), "ac"),
        ("LightsOut", ("(3, 2)", "lamp b3", "toggle b3", "press (b3)"), "b3"),
        ("PipeTurn", ("b3=2", "b3 -> 2", "b3 2 quarters"), "b3 2"),
        ("TwiddleTiles", ("b2 cw", "b2: clockwise"), "b2 right"),
        ("FifteenTiles", ("move up", "go up", "slide up", "Up."), "up"),
        ("Sokoban", ("push up", "walk up", "I go up"), "up"),
        ("PlaceNext3D", ("take it", "pick it up"), "take"),
        (
            "EmptyRoom",
            ("go left", "move left", "go west", "left!", "←", "- left", "1. left", "**Left.**", "to the left"),
            "left",
        ),
        ("PelletMaze", ("stop",), "wait"),
        ("ColourFlood", ("colour red", "color red"), "red"),
        ("LaneCross", ("pass", "do nothing", "no-op", "skip", "stand still"), "wait"),
        ("JumpRunner", ("jump_left", "jump to the left", "jump left", "jumpleft"), "jump-left"),
        ("BlockFall", ("rotate clockwise", "clockwise", "cw"), "turn"),
        ("BeatTap", ("tap 1 and 3", "tap [1,3]", "tap (1, 3)"), "tap13"),
        ("ChainMarbles", ("shoot at 3", "shoot-3", "shoot(3)", "shoot: 3", "fire 3"), "shoot3"),
        ("GemSwap", ("b2->b3", "b2 → b3", "b2 to b3", "b2–b3", '["b2","b3"]', "swap(b2, b3)"), "b2-b3"),
        ("SwapAttack", ('["b5","c6"]', "b5 → c6", "b5 and c6", "b5 - c6"), "b5 c6"),
        ("SwapAttack", ("b5<->c5, c6<->d6", "b5 <-> c5; c6 <-> d6", "b5 with c5, c6 with d6", "b5, then c6"), "b5 c6"),
        ("MazePlan", ('["u","u","r","d"]', "['up', 'up', 'right', 'down']", "↑ ↑ → ↓"), "u u r d"),
        ("GridDistance", ("#01/212/3#3", "#01\n212\n3#3", "# 0 1\n2 1 2\n3 # 3"), "# 0 1 / 2 1 2 / 3 # 3"),
        ("FlowLinks", ("aab/acb/ccb", "AAB\nACB\nCCB"), "A A B / A C B / C C B"),
        ("ZebraHouses", ("RBGY/CFDH/JTKL", "RBGY\nCFDH\nJTKL"), "R B G Y / C F D H / J T K L"),
        ("Tents", ("(a,1) (c,1) (d,3)", "a1 and c1 & d3", "cells: a1 c1, d3"), "a1 c1 d3"),
        ("FlowRead", ("A E D: 1", "AED ; 1", "A E D; 1 unit", "A E D ; 1 units"), "A E D ; 1"),
        ("Gomoku", ("c 3", "(c,3)", "cell c3", "play C3!"), "c3"),
        ("Othello", ("c 3", "(c, 3)", "square c3"), "c3"),
        ("Mancala", ("pit b2", "b 2"), "b2"),
        ("ConnectK", ("column: c", "col c", "drop in column c"), "c"),
        ("ChessGame", ("Ng1f3", "Ng1-f3", "knight g1 to f3", "1. g1 f3", "move g1 to f3"), "g1 f3"),
        ("ChessGame", ("pawn e5xd6 e.p.", "e5xd6"), "e5 d6"),
        ("ChessGame", ("e7 e8 (queen)", "e7e8q", "e7-e8=Q+"), "e7 e8 queen"),
        ("HoldemFree", ("all in", "All-in!", "shove"), "all in"),
        ("HoldemFree", ("raise: 8", "raise $8", "re-raise to 8", "raise it to 8", "bet it to 8"), "raise 8"),
        ("HoldemFree", ("call 2", "call."), "call"),
        ("GinRummy", ("draw from stock", "draw from the stock"), "stock"),
        ("GinRummy", ("take the pile", "draw from the pile"), "pile"),
        ("GinRummy", ("discard the 7H", "discard: 7H", "discard 7♥", "discard 7 of hearts"), "discard 7H"),
        ("GinRummy", ("knock, discard 7H", "knock with 7h"), "knock 7H"),
        ("LiarsDice", ("2-5", "bid 2-5", "2–5"), "2x5"),
        ("LiarsDice", ("two fives", "2 fives", "bid: 2x5", "I bid two fives"), "2x5"),
        ("LiarsDice", ("call liar", "I doubt"), "doubt"),
        ("Hanabi2", ("clue: red", "give clue red", "clue colour red", "clue color red"), "clue red"),
        ("Hanabi2", ("play: 2", "play slot 2"), "play 2"),
        ("FreeCell", ("3→5", "3–5", "3 -> 5"), "3-5"),
        ("NimGame", ("A−2", "A–2"), "A-2"),
        ("PlaceNext3D", ("drop it", "put it down"), "drop"),
        ("Game2048", ("sweep left", "Swipe left"), "left"),
        ("DotsBoxes", ("draw b1", "line b1", "draw the line b1"), "b1"),
        ("Battleship", ("shoot b2", "fire at b2"), "b2"),
        ("CrusadeKnights", ("Nc3 a2", "Nc3xa2", "knight c3 to a2"), "c3 a2"),
        ("ChessLegal", ("Kf2 Ke1", "f2, Ke1", "e2f2 e2e1", "e2-f2, e2-e1", "Ke2xf2, Ke2-e1", "Kxf2 Ke1"), "f2 e1"),
        ("ChessLegal", ("exf2 e1", "e2xf2, e2-e1"), "f2 e1"),
        ("Breakthrough", ("d3 takes c2", "d3xc2", "d3/c2", "d3=c2", "(d3) (c2)", "X d3 c2", "X: d3 c2"), "d3 c2"),
        ("TopoOrder", ("[C], [A], [B]", "[[C], [A], [B]]"), "C A B"),
        ("MazeEye", ("[f], [l], [f]", "[forward], [left], [forward]"), "f l f"),
        ("ColourMin", ("[A], [C]", "A / C"), "A / C"),
        ("NimGame", ("heap A 2", "Heap A-2", "A/2", "take 2 from heap A"), "A-2"),
        ("TicTacToe", ("X b3", "x: b3", "X at b3"), "b3"),
        ("Gomoku", ("o b3", "O at b3"), "b3"),
        ("GoBoard", ("X b3", "black b3"), "b3"),
        ("Alquerque", ("f1 d3, d3 b5", "f1xd3xb5", "f1 to d3, then d3 to b5"), "f1 d3 b5"),
        ("CrossFill", ("2 down: stone", "2-across = stone", "put stone in 2", "stone at place 2"), "2=stone"),
        ("WordSearch", ("date: c1-f1", "DATE c1 to f1", "date from c1 to f1", "date (c1-f1)"), "c1-f1"),
        ("MentalMap", ("blue box: 1 west, 2 north", "blue box 2 north, 1 west", "blue box: 1W 2N"), "blue-box -1 2"),
        (
            "MentalMap",
            ("1. blue box: 2, -1\n2. green ball: 0, 3", "blue box 2 east 1 south; green ball 0 east 3 north"),
            "blue-box 2 -1 green-ball 0 3",
        ),
        ("Maze3D", ("turn left 90 degrees", "rotate left"), "left"),
        ("MazeEye", ("moves: f f l", "f f / l", "Moves: f, f, l"), "f f l"),
        ("FreeCell", ("move 2 cards from column 3 to column 5", "two cards from 3 to 5", "3×2-5"), "3x2-5"),
        ("FreeCell", ("column 3 to free cell a", "3 to the free cell a"), "3-a"),
        ("Klondike", ("play the waste card to column 4", "waste card to 4"), "w-4"),
        ("Klondike", ("draw a card", "draw from the stock"), "draw"),
        ("GinRummy", ("discard the queen of hearts", "discard Q of hearts", "discard hq", "discard ♥Q"), "discard QH"),
        (
            "BlockCount",
            ("2 pink, 1 yellow, 2 blue", "There are 2 pink, 1 yellow and 2 blue patches."),
            "p: 2 y: 1 b: 2",
        ),
        (
            "DotTally",
            ("1 sky disc, 3 green marks", "There are 1 sky disc and 3 green marks", "sky disc: 1, green: 3"),
            "disc sky: 1 green: 3",
        ),
        ("ColourMix", ("1: B D", "target 1: B and D", "1. D B"), "B D"),
        ("GinRummy", ("knock, discarding 10H", "knock with ten of hearts"), "knock TH"),
        ("Hanabi2", ("clue colour: red", "give a red clue", "red clue"), "clue red"),
        ("Hanabi2", ("clue rank: 3", "clue number 3"), "clue 3"),
        ("Hanabi2", ("play my card 2", "play card number 2"), "play 2"),
        ("QuantumTTT", ("settle b3, a2 c2", "settle in b3; a2 c2", "b3: a2/c2"), "b3 a2 c2"),
        ("HeapDuel", ("pin a2", "take a2"), "a2"),
        ("WildTTT", ("X at b2", "b2/x", "b2 = X"), "b2 x"),
        ("Santorini", ("b3/b2/c2", "b3 to b2, build c2"), "b3 b2 c2"),
        ("WordLadder", ("kid -> rid", "from kid to rid", "change kid to rid"), "to rid"),
        ("WordleBox", ("I guess stolen", "my guess is stolen"), "try stolen"),
        ("BeatTap", ("tap lanes 2 and 4", "press lanes 2, 4", "tap 2 and 4"), "tap24"),
        ("BeatTap", ("press 2", "press lane 2"), "tap2"),
        ("BeatTap", ("tap lanes 1, 2 and 4",), "tap124"),
        ("MissionRoom", ("take it", "pick it up"), "take"),
        ("UnlockPick", ("drop it", "put it down"), "drop"),
        ("MissionRoom", ("take the blue key", "pick up blue key", "Grab the blue key."), "take blue key"),
        ("UnlockPick", ("drop the key", "put down the key"), "drop key"),
        ("Hanoi", ("disc 1 to c", "Move disc 1 to peg C.", "move disk 1 to peg 3", "disc 1 -> c"), "disc 1 to c"),
        ("FifteenTiles", ("tile 4 up", "slide tile 4 up", "Slide 4 up.", "move the tile 4 to the up"), "tile 4 up"),
        ("FifteenTiles", ("tile 4", "slide 4", "move tile 4", "slide the tile 4 into the gap"), "tile 4"),
        ("Klondike", ("7h to 8s", "7H -> 8S", "move the 7 of hearts onto the 8 of spades", "♥7 on ♠8"), "7H to 8S"),
        ("Klondike", ("AC home", "ac to the foundation", "ace of clubs to home"), "AC to home"),
        ("FreeCell", ("10D to a free cell", "move TD to free cell"), "TD to free cell"),
        (
            "SpiderDeal",
            ("5S from column 2 to column 3", "5s from column 2 -> column 3"),
            "5S from column 2 to column 3",
        ),
        ("WaterSort", ("pour the water from 1 into 4", "Pour the top layer from tube 1 into tube 4"), "1 4"),
        ("TreeDiameter", ("4; D-F; E-F", "4; DF; EF"), "4 ; D-F E-F"),
        ("PlaceNext3D", ("grab", "grab it", "take (the cell ahead)", "take ahead"), "take"),
        ("PlaceNext3D", ("left (turn a quarter)", "turn 90 degrees left", "turn left by 90°", "I turn left."), "left"),
        (
            "KeyDoor",
            ("I will move down.", "The best action is down.", '{"action": "down"}'),
            "down",
        ),
        ("Blackjack", ("I hit.", "I will hit", "so I hit"), "hit"),
        ("Hanabi2", ("I play card 2", "I'd play card 2"), "play 2"),
        ("KeyDoor", ("The answer is u", "u", "The best action: u"), "up"),
        ("KnightsKnaves", ("Only c is a knave", "the only knave is c", "c is the only knave", "just c", "c"), "only c"),
        ("WordLadder", ("oat", "Oat.", "to oat"), "to oat"),
        ("WordleBox", ("crane", "I will try crane", "Answer: crane"), "try crane"),
        (
            "Battleships",
            ("c1-c3, d5–e5, a2", "c1 to c3, d5, e5, a2", "R1C3 r2c3 r3c3 r5c4 r5c5 r2c1"),
            "c1 a2 c2 c3 d5 e5",
        ),
        ("SwapAttack", ("c7 with d7", "c7 -> d7", "swap c7 and d7", "swap c7 with d7", "swap c7"), "c7"),
        ("SwapAttack", ("c7->d7, a1->b1", "(c7, d7), (a1, b1)", "swap c7 and d7, then swap a1 and b1"), "c7 a1"),
        ("PegJump", ("a4 over b4 to c4", "a4 jumps over b4 to c4"), "a4 c4"),
        ("JugMeasure", ("fill b to the brim", "fill b completely"), "fill b"),
        ("ConnectK", ("put a disc in d", "I drop a disc into column d"), "d"),
        ("Tangram", ("C a1 turned to the right by 90 degrees", "C a1 rotated by 90 clockwise", "c a1 90"), "C a1 90"),
        ("Tangram", ("E a1 not turned", "E a1"), "E a1"),
        ("CliqueMax", ("A group: B D", "A clique: B D"), "B D"),
        ("AchromMax", ("The groups are A / B C / D E",), "A / B C / D E"),
        ("ShortestWalk", ("H-G-E-B = 18",), "H G E B"),
        ("DotsBoxes", ("e1-g1", "draw a line from e1 to g1", "f1"), "f1"),
        ("Isolation", ("b5-a4, c1", "b5->a4, remove c1", "a4 c1"), "a4 c1"),
        ("PlaceNext3D", ("take the orange box", "pick up that orange box"), "take orange box"),
        ("RouteMap", ("east", "e", "go east", "→"), "east"),
        ("RouteMap", ("north", "up", "↑"), "north"),
    ],
)
def test_what_stands_beside_a_move_is_read_over(name: str, texts: tuple[str, ...], key: str) -> None:
    env = WorldEnv(world_of(name), Scaffold(grammar="word"))
    found = {text: env.reader.read(GRAMMARS["word"].write(text), env.facts.seats[0]) for text in texts}
    assert {text: move and move.key for text, move in found.items()} == dict.fromkeys(texts, key)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("WordSearch", "never c1-f1"),
        ("MentalMap", "blue box: -1 west, 2 north"),  # is that east?
        ("MentalMap", "blue box: 2 east, green ball: 1 north"),
        ("CrossFill", "2 down"),
        ("RouteMap", "left"),
        ("RouteMap", "go right"),
        ("WordLadder", "kid -> rid -> rib"),
        ("WordLadder", "kid -> bad"),
        ("WordLadder", "I am sure"),
        ("BeatTap", "tap lanes 2 and 5"),
        ("MissionRoom", "take the red box"),  # there is no such thing
        ("MissionRoom", "take the blue door"),
        ("Hanoi", "move disc 1 to 2"),  # a disc or a peg
        ("FifteenTiles", "4"),
        ("FifteenTiles", "4 up"),  # or one step up, as `move 1 up` is
        ("Klondike", "kings to column 3"),
        ("Klondike", "aces home"),
        ("WaterSort", "pour never from 1 to 4"),
        ("WaterSort", "pour the red from 1 into 4"),  # which may not be red
        ("MetroTrip", "take a 2"),
        ("MissionRoom", "get to the box"),
        ("Hanoi", "disc 1 is on c"),
        ("Klondike", "7H"),
        ("TreeDiameter", "4; 3; D-F"),
    ],
)
def test_what_is_not_said_clearly_is_not_read(name: str, text: str) -> None:
    env = WorldEnv(world_of(name), Scaffold(grammar="word"))
    assert env.reader.read(GRAMMARS["word"].write(text), env.facts.seats[0]) is None


@pytest.mark.parametrize(
    ("name", "level"), [("MiniSudoku", 5), ("Survo", 5), ("ZebraHouses", 9), ("Binairo", 5), ("MagicSquare", 5)]
)
def test_a_grid_in_rows_of_another_length_is_not_that_grid(name: str, level: int) -> None:
    world = world_of(name)
    seat, state = world.facts.seats[0], world.start(5, level)
    env = WorldEnv(world, Scaffold(grammar="word"))
    plan = world.solve(state, seat)
    assert isinstance(plan, Plan)
    rows = [row.split() for row in plan.moves[0].key.split(" / ")]
    signs = [sign for row in rows for sign in row]
    assert world.step(state, {seat: world.read(" ".join(signs), seat)}).rewards
    others = {n for n in range(2, len(signs)) if len(signs) % n == 0} - {len(rows[0])}
    for n, gap in itertools.product(others, (" / ", "\n", " | ", ";")):
        parts = [" ".join(signs[i : i + n]) for i in range(0, len(signs), n)]
        move = world.read(gap.join(parts), seat)
        assert move != plan.moves[0] and (move is None or not world.step(state, {seat: move}).rewards)
        lists = f"[{', '.join(f'[{part}]' for part in parts)}]"
        for text in (gap.join(parts), lists, lists.replace(", ", ",\n")):
            move = env.reader.read(GRAMMARS["word"].write(text), seat)
            assert move != plan.moves[0] and (move is None or not world.step(state, {seat: move}).rewards)
    assert others and world.read(" / ".join((" ".join(signs[:3]), " ".join(signs[3:]))), seat) is None


@pytest.mark.parametrize("grammar", ["word", "free"])
@pytest.mark.parametrize("name", [e.name for e in entries("world")])
def test_a_number_with_a_minus_is_another_number(name: str, grammar: str) -> None:
    env = WorldEnv(world_of(name), Scaffold(grammar=grammar))
    seat = env.facts.seats[0]
    plan = env.world.solve(env.world.start(5, 1), seat)
    for move in plan.moves[:1] if isinstance(plan, Plan) else ():
        for sign, count in itertools.product("-−", (0, 1)):
            text = re.sub(r"(?<![a-z0-9-])(?=\d)", sign, move.key, count=count, flags=re.IGNORECASE)
            assert text == move.key or env.reader.read(Message.of("assistant", text), seat) != move


def tables(rows: list[list[str]]) -> list[str]:
    """Rows of one length as Markdown has them: the first is the heading, or there is one of words."""
    if len({len(row) for row in rows}) > 1:
        return []
    rule = (["---", ":--:"] * len(rows[0]))[: len(rows[0])]
    found = ([rows[0], rule, *rows[1:]], [["column"] * len(rows[0]), rule, *rows])
    return ["\n".join(f"| {' | '.join(row)} |" for row in table) for table in found]


@pytest.mark.parametrize(
    ("name", "text", "key"),
    [
        ("IsoMatch", "Answer:\n\n| left | right |\n|---|---|\n| A | 3 |\n| B | 4 |", "A=3 B=4"),
        ("IsoMatch", "left | right\n--- | ---\nA | 3\nB | 4\n", "A=3 B=4"),
        ("DotTally", "| blue | red |\n|---|---|\n| 2 | 3 |", None),  # whose number is the first?
        ("AdjacencyRead", "| A | B |\n|---|---|\n| 0 | 1 |\n| 0 | 0 |", "0 1 / 0 0"),
        ("AdjacencyRead", "| B | A |\n|---|---|\n| 0 | 1 |\n| 0 | 0 |", None),
    ],
)
def test_a_heading_of_a_table_is_no_part_of_the_answer(name: str, text: str, key: str | None) -> None:
    """But where it says what stands where."""
    env = WorldEnv(world_of(name), Scaffold(grammar="word"))
    move = env.reader.read(Message.of("assistant", text), env.facts.seats[0])
    assert (move and move.key) == key


@pytest.mark.parametrize("name", [e.name for e in entries("world")])
def test_what_every_world_reads_over(name: str) -> None:
    """A word that names the answer, an exclamation mark, bold type, a box of LaTeX; and rows written as lists of strings or a table."""
    env = WorldEnv(world_of(name), Scaffold(grammar="word"))
    seat = env.facts.seats[0]
    plan = env.world.solve(env.world.start(5, 1), seat)
    for move in plan.moves[:1] if isinstance(plan, Plan) else ():
        forms = [
            "answer: {}",
            "The answer is {}",
            "Final answer = {}",
            "**{}**",
            "{}!",
            "\\boxed{{{}}}",
            "$\\boxed{{\\text{{{}}}}}$",
        ]
        texts = [form.format(move.key) for form in forms]
        if " / " in move.key:
            rows = [", ".join(f"'{sign}'" for sign in row.split()) for row in move.key.split(" / ")]
            texts.append(f"[{', '.join(f'[{row}]' for row in rows)}]")
            texts += tables([row.split() for row in move.key.split(" / ")])
        said = {text: env.reader.read(Message.of("assistant", text), seat) for text in texts}
        assert said == dict.fromkeys(texts, move)


CELLS = re.compile(r"[a-z]\d(?: [a-z]\d)*")


@pytest.mark.parametrize("name", [e.name for e in entries("world") if CELLS.fullmatch(world_of(e.name).facts.example)])
@pytest.mark.parametrize("form", ["column {}, row {}", "Row {1}, Column {0}", "col {} and row {}"])
def test_a_cell_may_be_told_by_its_column_and_its_row(name: str, form: str) -> None:
    example = world_of(name).facts.example
    assert key_of(name, " to ".join(form.format(cell[0], cell[1:]) for cell in example.split())) == key_of(
        name, example
    )


@pytest.mark.parametrize(
    "name, texts, key",
    [
        ("CutMin", ("cut A-C", "Remove A-C", "take out A-C", "edge A-C", "the edge A-C", "A C", "a to c"), "A-C"),
        ("CutMin", ("Cut A-C and B-D", "A to C, B to D", "CUT AC BD", "A-C B-D (4)"), "A-C B-D"),
        ("ArboMin", ("arrows D>B B>C", "[D to B, B to C]", "D>B B>C (12)", "D to B\nB to C = 12"), "B>C D>B"),
        ("FlowMax", ("A to C: 1, A to E: 6", "A>C 1 A>E 6 total 7", "A>C 1, A>E 6; total flow: 7"), "A>C 1 A>E 6"),
        ("IndepGrid", ("cells b1 a2 c2", "Choose b1 a2 c2", "b1 a2 c2 (24)"), "a2 b1 c2"),
        ("CliqueMax", ("A clique: B E F", "B E F (3)", "B E F 3"), "B E F"),
        ("IndepTree", ("B D F 44", "B, D, F = 44"), "B D F"),
        ("ColourMin", ("A D / B C E / F /",), "A D / B C E / F"),
        (
            "GridIslands",
            ("There are 3 islands; the largest: a1 a2", "There are 3 islands. The largest is a1, a2"),
            "3 ; a1 a2",
        ),
        *((name, ("impossible", "Impossible."), "none") for name in ("HamPath", "EulerTour")),
    ],
)
def test_answers_about_graphs_may_say_what_is_done_or_what_it_comes_to(
    name: str, texts: tuple[str, ...], key: str
) -> None:
    assert {text: key_of(name, text) for text in texts} == dict.fromkeys(texts, key)


@pytest.mark.parametrize(
    "name, texts, key",
    [
        ("CoordinateRead", ("(4.0,5.0) (0.0,12.0)", "A (4.0, 5.0), B (0, 12.0)"), "(4,5) (0,12)"),
        ("CutPolygon", ("(4.0,5.0) (0.0,12.0)",), "(0,12) (4,5)"),
        ("AngleChase", ("B A 58", "B-A = 58", "B, A: 58"), "58"),
        ("TriangleSum", ("ABC = 30",), "30"),
        ("PolygonArea", ("A = 12; I = 11", "A=12, I=11", "a: 12 and i: 11"), "12 11"),
        ("MaxRectangle", ("A rectangle with corners C D G E", "a rectangle: C D G E"), "C D E G"),
        ("StoneGarden", ("a circle through A, E, F, G", "The circle through A, E, F, G"), "A E F G"),
    ],
)
def test_answers_about_figures_may_say_what_they_are(name: str, texts: tuple[str, ...], key: str) -> None:
    assert {text: key_of(name, text) for text in texts} == dict.fromkeys(texts, key)


@pytest.mark.parametrize(
    "name, text",
    [
        ("CoordinateRead", "(4.5,5.0) (0.0,12.0)"),
        ("CoordinateRead", "(4.05,3) (1,2)"),
        ("AngleChase", "no 50"),
        ("AngleChase", "x = 2"),
        *(
            (name, "1") for name in ("AngleChase", "CircleTheorem", "TriangleSum", "UnionArea")
        ),  # it may number something
        ("PolygonArea", "I = 11; A = 12"),
        ("HullPoints", "A through F"),
        ("ArboMin", "A to B, B to C; A to C, C to B"),
        ("ColourMin", "A D / / F"),
    ],
)
def test_what_only_looks_like_an_answer_is_not_read(name: str, text: str) -> None:
    assert key_of(name, text) is None
