"""LiarsDice: bid on dice of which half are hidden, against a player that bluffs now and then."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.cards.dice import SAYINGS, DiceGame, Liars
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players throw their dice and see only their own. In turn each makes a higher bid, or doubts the last one. The bid 3x5
says that among all dice of both players at least three show a five; a bid is higher if its quantity is, or with the same quantity its
face. A quantity is at most the number of all dice. When a bid is doubted all dice are shown: if it is true its bidder wins the round,
else the doubter does. Who lost bids first in the next round, with new dice. In a picture your bids are blue; `of` is how many rounds
win the match."""
OPPONENT = """
The opponent's best bid is the higher bid that is likeliest to be true given its own dice, the lowest of equals. Where no bid is higher,
or your bid is likelier to be false than its best bid to be true, it doubts. Else it makes its best bid, or, in the told share of its
bids, any of the next F higher bids at random, where F is the number of faces. In a picture that share is called bluff."""
# dice of a player, faces, rounds to win, bluffs in per cent
TABLE = (
    (1, 4, 2, 40),
    (1, 5, 3, 40),
    (1, 6, 3, 30),
    (2, 4, 3, 40),
    (2, 5, 3, 30),
    (2, 6, 3, 30),
    (2, 6, 4, 20),
    (3, 5, 4, 30),
    (3, 6, 4, 20),
    (3, 6, 5, 10),
)


@register("world", "LiarsDice", domain="games", engine="cards")
def liars_dice() -> TurnWorld[Liars]:
    """Liar's dice with one to three dice each; the oracle weighs the hands with which the opponent would have bid as it did."""
    facts = Facts(
        name="LiarsDice",
        rules=RULES + OPPONENT,
        answer="Say doubt, or bid a quantity and a face, as in 2x5.",
        example="2x3",
        proof="policy",
        floor=0.65,
        ceilings={"random": 0.03, "constant": 0.04, "first": 0.1, "blind": 0.16},
        sayings=SAYINGS,
    )
    levels = levels_of(("dice", "faces", "goal", "bluff"), TABLE)
    return TurnWorld(facts=facts, levels=levels, game=DiceGame(), schema=Liars)
