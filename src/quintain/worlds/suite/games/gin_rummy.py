"""GinRummy: melds from a small deck, against a built-in player."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.cards.rummy import SAYINGS, Gin, Rummy
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """Gin rummy for two. The deck has four suits of the ranks that are told, from ace (low) up; an ace counts 1, other cards their
number, ten (T), jack, queen and king 10. A meld is three or four cards of a rank, or three or more in a row of one suit; no card is in
two melds.
In a turn you first draw: stock (the next hidden card) or pile (the open card). Then you discard a card, or knock with it, which lays it
down and ends the hand; you may knock only if your other cards count no more outside melds than is told. Then the counts of both are
compared: the lower scores the difference; with equal counts who did not knock scores. There are 5 points more for a knock with a count
of 0, and for who did not knock and scores. Cards cannot be laid to the other's melds. A hand with 2 cards left in the stock after a
discard ends without points. Hands begin in turn, you with the first. The match is won with more points than the opponent after all hands.
The opponent takes the open card where that, with the best discard after it, lowers its count by more than the card counts; it keeps
the lowest count and knocks as soon as it may; in the share that is told it discards any card. Cards
it took from the pile stay known while it holds them.
In a picture: its cards, those known face up; cards of the stock; the pile, its last 24 cards at most, of which the last is the open
card; your cards and, below them, what they count outside melds, the most with which you may knock, the share of any discards, as slips,
and how many ranks the deck has; last the hands and the points of both."""
# ranks of the deck, cards of a hand, highest count for a knock, hands, discards at random in per cent
TABLE = (
    (7, 5, 4, 3, 80),
    (7, 5, 4, 3, 75),
    (7, 6, 4, 3, 75),
    (7, 6, 5, 4, 70),
    (8, 6, 5, 4, 70),
    (8, 7, 6, 5, 65),
    (9, 7, 6, 5, 65),
    (9, 7, 6, 6, 60),
    (10, 8, 8, 6, 60),
    (10, 8, 8, 7, 55),
)


@register("world", "GinRummy", domain="games", engine="cards")
def gin_rummy() -> TurnWorld[Gin]:
    """Gin rummy with 28 to 40 cards over 3 to 7 hands; the oracle keeps what the cards not seen are most likely to complete."""
    facts = Facts(
        name="GinRummy",
        rules=RULES,
        answer="To draw: stock or pile. Then discard or knock and a card, as in discard 7H.",
        example="stock",
        proof="policy",
        floor=0.72,
        ceilings={"random": 0.1, "constant": 0.02, "first": 0.05, "blind": 0.15},
        sayings=SAYINGS,
    )
    levels = levels_of(("ranks", "size", "limit", "hands", "slips"), TABLE)
    game = Rummy()
    return TurnWorld(facts=facts, levels=levels, game=game, schema=Gin, meant=game.meant)
