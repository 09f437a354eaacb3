"""What worlds of drawn graphs read of answers that are spelled otherwise than they ask for."""

from __future__ import annotations

import pytest
from tests.spelled import key_of


@pytest.mark.parametrize(
    ("name", "texts", "key"),
    [
        ("PileIntervals", ("Player 1 gets 41, player 2 gets 37",), "41 37"),
        ("ClockDial", ("1) 32 2) 40 3) 10:20", "1. 32\n2. 40\n3. 10:20"), "32 40 10:20"),
        ("HullPoints", ("A convex hull: B C D", "A hull: B C D"), "B C D"),
        ("HullPoints", ("A corner, B corner, C corner",), "A B C"),
        ("CliqueMax", ("a clique is B C D", "A clique: B C D"), "B C D"),
        ("StoneGarden", ("I from A C D E", "to I from A C D E"), "A C D E I"),  # who speaks is not a name
        ("SpanMin", ("C-I from A-C", "A-C C-I"), "A-C C-I"),
        ("ShortestWalk", ("BC CD DA", "BC, CD, DA", "Path: BC; CD; DA"), "B C D A"),
        ("ShortestWalk", ("BC DE",), "B C D E"),  # no edges that join
        ("FlowRead", ("BC CD ; 3",), "B C D ; 3"),
        ("TopoOrder", ("BA AD",), "B A A D"),
        ("IsoMatch", ("A1 B4 C12", "a1, b4, c12", "1A 4B 12C"), "A=1 B=4 C=12"),
        ("SubPattern", ("B1 D2 A3", "B1, D2 and A3"), "A=3 B=1 D=2"),
        ("ShortestWalk", ("B/C/D/A", "Path: B / C / D / A", "B-C/C-D/D-A", "BC/CD/DA"), "B C D A"),
        ("MatchMax", ("A-B/C-E", "AB / CE"), "A-B C-E"),
        ("CircuitRead", ("0/1/0/0/1",), "0 1 0 0 1"),
        ("TreeColours", ("4/8/12",), "4 8 12"),
        ("SpanCount", ("11/8",), "11 8"),
        ("ShortestWalk", ("B, C, D, A (7)", "B-C-D-A (7)", "length 7: B C D A", "Total length 7: B C D A"), "B C D A"),
        ("MatchMax", ("weight 7: A-B C-E", "A-B (4), C-E (3)"), "A-B C-E"),
        ("TopoOrder", ("F < B < A", "f<b<a"), "F B A"),
        ("TreeDiameter", ("4 D-F E-F", "4, D-F, E-F"), "4 ; D-F E-F"),
        ("SpanCountMin", ("9 ; 3 ; A-C B-E D-E", "9 3 A-C B-E D-E", "9, 3, A-C, B-E, D-E"), "9 3 ; A-C B-E D-E"),
        ("FlowRead", ("F B D 2", "F-B-D 2", "F B D (2)", "FBD 2"), "F B D ; 2"),
        ("GridIslands", ("4 c2 d3",), "4 ; c2 d3"),
        ("TreeWalk", ("preorder C A B", "Level-order CAB", "preorder traversal C A B", "preorder: C A B"), "C A B"),
        ("MetroTrip", ("L2 F", "l2 to F", "F via line 2", "to F by line 2", "F on L2"), "2 F"),
    ],
)
def test_an_answer_about_a_graph_has_many_spellings(name: str, texts: tuple[str, ...], key: str) -> None:
    assert {text: key_of(name, text) for text in texts} == dict.fromkeys(texts, key)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("CliqueMax", "ABC/DEF"),  # two answers
        ("CliqueMax", "A B / C D"),
        ("ShortestWalk", "BCD/BAD"),
        ("FlowMax", "A>B 3/5 B>C 3/4"),
        ("ShortestWalk", "A (0), B (4), C (7)"),
        ("TopoOrder", "F < B, A < C"),
        ("TreeDiameter", "4 5 D-F"),
        ("SpanCountMin", "9 A-C"),
        ("FlowRead", "F B D 2 3"),
    ],
)
def test_what_a_graph_world_could_take_otherwise_is_not_read(name: str, text: str) -> None:
    assert key_of(name, text) is None
