"""Mastermind and WordleBox: find a hidden code or word from the marks of one's tries."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.engines.words.guess import SAYINGS, GuessGame, Guessing
from quintain.worlds.kernel import Facts, levels_of

PEGS = """Find a hidden code of coloured pegs. A colour is a letter, and may occur more than once. After each try you learn how many
pegs have the right colour in the right place, and how many more have a right colour in a wrong place. In a picture the dark square
counts the pegs in place and the white disc those elsewhere; tries follow each other downwards, and the last row shows the colours in
use, the first letters of the alphabet. The first try is made for you. What is
no code of that length and those colours is no try, but takes a turn."""
WORD = """Find a hidden common English word. Each try is any letters of that length, and each letter is marked: + stands in its place,
o occurs elsewhere, - does not occur (again). In a picture a dark square is a letter in its place, a disc one that occurs elsewhere.
One or two tries may have been made for you. What has another length is no try, but takes a turn."""
KNOBS = ("length", "letters", "tries", "given")


@register("world", "Mastermind", domain="games", engine="words", decides=True)
def mastermind() -> TurnWorld[Guessing]:
    """Guess a code of 3 pegs in 4 colours up to one of 5 pegs in 8; the oracle tries what the marks still allow."""
    facts = Facts(
        name="Mastermind",
        rules=PEGS,
        answer="Write all letters of a code, as in a b c a for a code of four.",
        example="a b c a",
        proof="policy",
        floor=0.9,
        ceilings={"random": 0.02, "constant": 0.01, "first": 0.01, "blind": 0.1},
        sayings=SAYINGS,
    )
    table = (
        *((3, 4, 6, 1), (3, 5, 7, 1), (3, 6, 8, 1), (4, 5, 9, 1), (4, 6, 9, 1)),
        *((4, 7, 10, 1), (4, 8, 11, 1), (5, 6, 11, 1), (5, 7, 12, 1), (5, 8, 13, 1)),
    )
    return TurnWorld(facts=facts, levels=levels_of(KNOBS, table), game=GuessGame("pegs"), schema=Guessing)


@register("world", "WordleBox", domain="games", engine="words", decides=True)
def wordle_box() -> TurnWorld[Guessing]:
    """Guess a word of 3 to 6 letters after a few tries that chance has made; the oracle parts the words that are left.

    The fewer letters and the fewer tries are given, the more words are left.
    """
    facts = Facts(
        name="WordleBox",
        rules=WORD,
        answer="Write try and one word.",
        example="try stone",
        proof="policy",
        floor=0.85,
        ceilings={"random": 0.04, "constant": 0.02, "first": 0.02, "blind": 0.12},
        sayings=SAYINGS,
    )
    table = (
        *((6, 26, 7, 2), (6, 26, 7, 1), (5, 26, 7, 2), (5, 26, 8, 1), (4, 26, 8, 2)),
        *((4, 26, 8, 1), (5, 26, 9, 0), (3, 26, 9, 2), (3, 26, 9, 1), (4, 26, 9, 0)),
    )
    return TurnWorld(facts=facts, levels=levels_of(KNOBS, table), game=GuessGame("word"), schema=Guessing)
