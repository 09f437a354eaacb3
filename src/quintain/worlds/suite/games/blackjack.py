"""Blackjack: hands against a dealer, judged by what each decision was worth and not by luck."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.cards.blackjack import SAYINGS, Blackjack, Deal
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """Blackjack against a dealer. Number cards count their number, an ace 1 or 11, whichever is better without passing 21; a hand
with an ace that counts 11 is soft. You have two cards, the dealer one. Hit takes a card, stand takes none; with 21 or more your hand
ends by itself. Double, with two cards only, takes one last card and doubles the bet of 1 chip. Surrender, with two cards only, gives up
half a chip and ends the hand. Past 21 you lose; otherwise the dealer draws up to 17 or more (and once more with a soft 17 where the
house says so), and who is nearer to 21 wins the bet; a dealer past 21 loses; equal counts are a draw. A deal that gives you 21 at
once is dealt again; the dealer's 21 with two cards is an ordinary 21.
The shoe is told: A an ace, T a ten, 4x7 seven fours. Every card is drawn from the whole shoe and goes back at once; suits mean nothing.
Luck is not scored. Each decision costs what its expectation is below that of the best one; the whole of it at the end is set against
the allowance (in hundredths of a chip): reward falls from 1 at no loss to 0 at the allowance, and up to 2 hundredths count as none.
Nothing is earned before the last hand is played.
In a picture: the dealer's card, house rules (S17 the dealer stands on soft 17, H17 hits; DBL double, SUR surrender), your cards with
their count, the shoe, hands played, chips, allowance."""
# hands, allowance, how odd the shoe is, the dealer hits soft 17, double, surrender
TABLE = (
    (4, 40, 1, 0, 0, 0),
    (5, 40, 1, 1, 0, 0),
    (6, 40, 2, 0, 1, 0),
    (7, 40, 2, 1, 1, 0),
    (8, 40, 2, 0, 1, 1),
    (9, 45, 3, 1, 1, 1),
    (10, 45, 3, 0, 1, 1),
    (12, 50, 4, 1, 1, 1),
    (14, 50, 4, 0, 1, 1),
    (16, 50, 4, 1, 1, 1),
)


@register("world", "Blackjack", domain="games", engine="cards")
def blackjack() -> TurnWorld[Deal]:
    """Play 4 to 16 hands of blackjack from a shoe with odd numbers of cards; the score is what decisions lose in expectation."""
    facts = Facts(
        name="Blackjack",
        rules=RULES,
        answer="One of: hit, stand, double, surrender.",
        example="stand",
        proof="policy",
        floor=0.99,
        ceilings={"random": 0.03, "constant": 0.08, "first": 0.02, "blind": 0.1},
        sayings=SAYINGS,
    )
    levels = levels_of(("hands", "allow", "odd", "soft", "double", "surrender"), TABLE)
    return TurnWorld(facts=facts, levels=levels, game=Blackjack(), schema=Deal)
