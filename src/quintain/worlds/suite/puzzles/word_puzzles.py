"""WordSearch, CrossFill and WordLadder: puzzles over a small list of common words."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.engines.words import cross, find, ladder
from quintain.worlds.kernel import Facts, levels_of

SEARCH = """Find the listed words in a square of letters. A word stands in a straight line: across, down or diagonal, forwards or
backwards. Columns have letters, rows have numbers from the top. All words are those found and those to find; the last miss is
your mark before, if no word to find stood there. In a picture marked letters are golden, words that are found are struck out, and the
ends of the last miss are ringed, the first one thickly."""
CROSS = """Put each listed word into one place of a crossword, so that crossing words have the same letter where they cross. Places are
numbered; rows and columns count from 1 at the upper left. You may write another word over one; only how the words stand at the end
counts. In a picture a blue number stands left of a place across, above a place that goes down, and before a word where it was put."""
LADDER = """Go from the first word to the last over listed words. Each step changes one letter and keeps the others where they are. In a
picture the golden word is where you are, the green one is the goal, and the way so far stands below."""


@register("world", "WordSearch", domain="puzzles", engine="words")
def word_search() -> TurnWorld[find.Search]:
    """Mark words in a square of letters; what was not meant to stand there counts as well."""
    facts = Facts(
        name="WordSearch",
        rules=SEARCH,
        answer="Name the first and the last cell of a word, as in b2-e2.",
        example="b2-e2",
        ceilings={"random": 0.01, "constant": 0.01, "first": 0.01, "blind": 0.01},
        sayings=find.SAYINGS,
    )
    table = (
        (5, 2, 2),
        (6, 3, 2),
        (6, 4, 2),
        (7, 4, 4),
        (7, 5, 4),
        (8, 6, 8),
        (8, 7, 8),
        (9, 8, 8),
        (10, 9, 8),
        (10, 10, 8),
    )
    levels = levels_of(("side", "count", "ways"), table)
    return TurnWorld(facts=facts, levels=levels, game=find.SearchGame(), schema=find.Search)


@register("world", "CrossFill", domain="puzzles", engine="words")
def cross_fill() -> TurnWorld[cross.Crossing]:
    """Fit words into a crossword; any way to place them all counts."""
    facts = Facts(
        name="CrossFill",
        rules=CROSS,
        answer="Name a place and a word, as in 2=stone.",
        example="2=stone",
        ceilings={"random": 0.03, "constant": 0.01, "first": 0.02, "blind": 0.01},
        sayings=cross.SAYINGS,
    )
    table = (
        (6, 3, 4),
        (6, 4, 4),
        (7, 5, 5),
        (7, 6, 5),
        (8, 7, 5),
        (8, 8, 5),
        (9, 9, 6),
        (9, 10, 6),
        (10, 11, 6),
        (10, 12, 6),
    )
    levels = levels_of(("side", "count", "longest"), table)
    return TurnWorld(facts=facts, levels=levels, game=cross.CrossGame(), schema=cross.Crossing)


@register("world", "WordLadder", domain="puzzles", engine="words")
def word_ladder() -> TurnWorld[ladder.Ladder]:
    """Change one letter at a time; the oracle knows a shortest way from anywhere."""
    facts = Facts(
        name="WordLadder",
        rules=LADDER,
        answer="Write to and the next word, as in to warm.",
        example="to warm",
        ceilings={"random": 0.03, "constant": 0.01, "first": 0.05, "blind": 0.01},
        sayings=ladder.SAYINGS,
    )
    table = (
        *((3, 2, 8, 1), (3, 3, 10, 1), (3, 3, 14, 1), (4, 4, 14, 1), (4, 4, 18, 1)),
        *((4, 5, 20, 1), (4, 6, 22, 1), (4, 6, 26, 1), (4, 7, 28, 1), (4, 8, 32, 1)),
    )
    levels = levels_of(("length", "steps", "words", "spare"), table)
    return TurnWorld(facts=facts, levels=levels, game=ladder.LadderGame(), schema=ladder.Ladder)
