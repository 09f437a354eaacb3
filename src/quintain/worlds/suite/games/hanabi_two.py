"""Hanabi2: fireworks built by two players who see only each other's cards."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.cards.hanabi import SAYINGS, Fireworks, Hanabi
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """You and a partner build fireworks together: in each colour cards are to be played in the order 1, 2, 3 and so on. Each sees
the other's cards and not its own. In turn each plays a card of its own, discards one, or gives a clue. A card that is played and does
not fit is lost and a mistake; with three mistakes all is over and worth nothing. A discard gives back a clue, up to the most there are.
A clue names a colour or a rank of which the other has a card, and tells which of its cards have it and which have not. Who plays or
discards draws a new card, which is its last one; after the last card of the deck is drawn there are two more turns, yours or the
partner's, and with all fireworks whole all is over. Of each colour there are three 1, and two each of 2, 3 and 4, as far as it goes.
Reward rises from 0 at half of full marks, which may be fewer than there are to make, to 1 at full marks, and is given only when
the game is over.
Last turns 9 means not yet. The partner plays what surely fits; else it gives the clue that tells you most about what fits; else it
plays what probably fits, but risks no third mistake, or discards what it is least likely to need.
R12 stands for a card that after all clues may be red and 1 or 2; R red, G green, B blue, Y yellow, W white. In a picture: fireworks, how
far they go, mistakes, the partner's cards over what it knows of them, what you know of yours, the ranks discarded of each colour, points
and clues of the most there are, cards of the deck."""
# colours, ranks, cards of a hand, clues, full marks
TABLE = (
    (2, 2, 3, 3, 4),
    (2, 3, 3, 3, 5),
    (3, 2, 3, 4, 6),
    (2, 4, 3, 4, 6),
    (3, 3, 3, 4, 7),
    (3, 3, 4, 5, 7),
    (3, 4, 4, 5, 8),
    (4, 3, 4, 6, 9),
    (4, 4, 4, 6, 10),
    (5, 4, 4, 7, 12),
)


@register("world", "Hanabi2", domain="games", engine="cards")
def hanabi_two() -> TurnWorld[Fireworks]:
    """Build two to five fireworks with a partner by clues; each of the two sees the other's cards and not its own."""
    facts = Facts(
        name="Hanabi2",
        rules=RULES,
        answer="One of: play 2, discard 1 (a card of your own), clue red, clue 3.",
        example="play 1",
        proof="policy",
        floor=0.85,
        ceilings={"random": 0.12, "constant": 0.03, "first": 0.25, "blind": 0.4},
        sayings=SAYINGS,
    )
    levels = levels_of(("colours", "ranks", "size", "clues", "par"), TABLE)
    return TurnWorld(facts=facts, levels=levels, game=Hanabi(), schema=Fireworks)
