"""Poker with three cards, and with six: small enough to be solved, against a player with a leak or between two seats."""

from __future__ import annotations

from quintain.ports import SOLO
from quintain.registry import register
from quintain.worlds.engines.cards.betting import SAYINGS, Betting, Table
from quintain.worlds.engines.cards.poker import DUEL, KUHN, LEDUC, MATCH, OPPONENT, Poker
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

THREE = """Poker for two with three cards: a jack, a queen, a king. Each player puts in 1 chip and gets one card. The player who acts first
checks or raises by 1 chip; facing a raise one folds or calls. There is one raise in a hand. The higher card takes the pot."""
SIX = """Poker for two with six cards: two jacks, two queens, two kings. Each player puts in 1 chip and gets one card. After a
first round of betting one card is laid open, and a second round follows; who acts first does so in both. A raise is 2 chips in the
first round and 4 in the second, two raises a round at most. A pair with the open card wins, otherwise the higher card; equal cards
share the pot."""
KNOBS = ("hands", "par", "leak", "share", "stack")
# hands, score for a full win in the two games and between seats, leak of the opponent, how often it shows
TABLE = (
    (6, 3, 10, "calls", 100),
    (8, 3, 12, "raises", 100),
    (10, 4, 14, "calls", 90),
    (12, 4, 16, "raises", 80),
    (14, 4, 16, "calls", 80),
    (16, 4, 18, "raises", 70),
    (20, 5, 20, "calls", 70),
    (24, 5, 22, "raises", 60),
    (28, 5, 24, "calls", 60),
    (32, 5, 24, "raises", 50),
)


def _world(
    name: str, rules: str, poker: Poker, par: int, numbers: tuple[float, float, float, float, float]
) -> TurnWorld[Table]:
    """One game; `par` is the column of the score for a full win (0: between two seats), `numbers` the floor and the ceilings."""
    duel = name.endswith("Duel")
    facts = Facts(
        name=name,
        rules=rules + (DUEL if duel else OPPONENT.format("an equilibrium", "")) + MATCH,
        answer="Say check, raise, call or fold.",
        example="check",
        seats=("first", "second") if duel else (SOLO,),
        proof="policy",
        floor=numbers[0],
        ceilings=dict(zip(("random", "constant", "first", "blind"), numbers[1:], strict=True)),
        sayings=SAYINGS,
    )
    rows = [(row[0], row[par], "" if duel else row[3], 0 if duel else row[4], 0) for row in TABLE]
    game = Betting(lambda stack: poker, duel)
    return TurnWorld(facts=facts, levels=levels_of(KNOBS, rows), game=game, schema=Table, meant=game.meant)


@register("world", "KuhnPoker", domain="games", engine="cards")
def kuhn_poker() -> TurnWorld[Table]:
    """Poker with three cards against an equilibrium player with a leak; the oracle is the exact best reply."""
    return _world("KuhnPoker", THREE, KUHN, 1, (0.7, 0.33, 0.15, 0.25, 0.5))


@register("world", "KuhnDuel", domain="games", engine="cards")
def kuhn_duel() -> TurnWorld[Table]:
    """Poker with three cards between two seats; the oracle plays an exact equilibrium."""
    return _world("KuhnDuel", THREE, KUHN, 1, (0.6, 0.55, 0.03, 0.05, 0.47))


@register("world", "LeducPoker", domain="games", engine="cards")
def leduc_poker() -> TurnWorld[Table]:
    """Poker with six cards and two rounds against an equilibrium player with a leak; the oracle is the exact best reply."""
    return _world("LeducPoker", SIX, LEDUC, 2, (0.7, 0.33, 0.06, 0.44, 0.42))


@register("world", "LeducDuel", domain="games", engine="cards")
def leduc_duel() -> TurnWorld[Table]:
    """Poker with six cards between two seats; the oracle plays an equilibrium that regret minimisation found."""
    return _world("LeducDuel", SIX, LEDUC, 2, (0.65, 0.56, 0.02, 0.18, 0.53))
