"""LiarsDuel: liar's dice between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.cards.dice import SAYINGS, DiceGame, Liars
from quintain.worlds.engines.cards.dice_duel import raises, values
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players throw their dice and see only their own. In turn each makes a higher bid, or doubts the last one. The bid
3x5 says that among all dice of both players at least three show a five; a bid is higher if its quantity is, or with the same
quantity its face. A quantity is at most the number of all dice. A bid may be at most as many bids higher as a die has
faces: the same quantity with a higher face, or one more with no higher face; the first bid of a round has the quantity 1. When a
bid is doubted all dice are shown: if it is true its bidder wins the round, else the doubter does. Who lost bids first in the next
round, with new dice; the first player bids first in the first round. Who wins as many rounds as are told wins the match. In a
picture your bids are blue; `of` is how many rounds win the match."""
# dice of a player, faces, rounds to win
TABLE = ((2, 3, 2), (3, 3, 2), (3, 3, 2), (2, 4, 3), (2, 5, 3), (3, 4, 3), (3, 5, 3), (3, 6, 4), (3, 6, 5), (3, 6, 6))


@register("world", "LiarsDuel", domain="games", engine="cards")
def liars_duel() -> TurnWorld[Liars]:
    """Liar's dice between two seats with one to three dice each; the oracle weighs what the other seat may hold by how it bid."""
    facts = Facts(
        name="LiarsDuel",
        rules=RULES,
        answer="Say doubt, or bid a quantity and a face, as in 1x3.",
        example="1x3",
        seats=("first", "second"),
        proof="policy",
        floor=0.85,
        ceilings={"random": 0.58, "constant": 0.05, "first": 0.32, "blind": 0.69},
        sayings=SAYINGS,
    )
    levels = levels_of(("dice", "faces", "goal", "bluff"), [(*row, 0) for row in TABLE])
    return TurnWorld(facts=facts, levels=levels, game=DiceGame(True, raises, values), schema=Liars)
