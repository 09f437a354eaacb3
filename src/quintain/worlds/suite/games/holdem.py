"""Hold'em for two, with fixed raises and without a limit, against a player with a leak or between two seats."""

from __future__ import annotations

from quintain.ports import SOLO
from quintain.registry import register
from quintain.worlds.engines.cards.betting import SAYINGS, Betting, Table
from quintain.worlds.engines.cards.poker import DUEL, LIMIT, MATCH, OPPONENT, free
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """Hold'em poker for two. Each player has two cards; three, then one, then one more are laid open for both. The best five of a
player's seven cards count. Who acts first puts in 1 chip, the other 2; after the first round the other acts first. There are at most
three raises in a round."""
FIXED = """ A raise is 2 chips in the first two rounds and 4 in the last two."""
FREE = """ A raise names the chips that you will have put into the pot in all, at most your stack. A raise adds at least
2 chips to the highest bet, and at least as much as the raise before it in the round; to put in your whole stack is always enough.
Stacks are full again in each hand."""
LEAP = ", by three chips more than it must or by all it may,"
KNOBS = ("hands", "par", "leak", "share", "stack")
# hands, score for a full win (fixed raises, no limit), leak of the opponent, how often it shows, chips without a limit
TABLE = (
    (4, 20, 40, "calls", 100, 20),
    (6, 24, 60, "raises", 100, 24),
    (6, 24, 60, "calls", 90, 28),
    (8, 28, 80, "raises", 80, 32),
    (8, 28, 90, "calls", 80, 40),
    (10, 32, 100, "raises", 70, 48),
    (10, 32, 120, "calls", 60, 60),
    (12, 36, 140, "raises", 60, 72),
    (12, 36, 160, "calls", 50, 86),
    (14, 40, 180, "raises", 50, 100),
)


def _world(name: str, limit: bool, numbers: tuple[float, float, float, float, float]) -> TurnWorld[Table]:
    """One game; `numbers` are the floor and the ceilings."""
    duel = name.endswith("Duel")
    facts = Facts(
        name=name,
        rules=RULES
        + (FIXED if limit else FREE)
        + (DUEL if duel else OPPONENT.format("soundly", "" if limit else LEAP))
        + MATCH,
        answer="Say check, call, raise or fold."
        if limit
        else "Say check, call, fold, or raise and a number of chips, as in raise 8.",
        example="call",
        seats=("first", "second") if duel else (SOLO,),
        proof="policy",
        floor=numbers[0],
        ceilings=dict(zip(("random", "constant", "first", "blind"), numbers[1:], strict=True)),
        sayings=SAYINGS,
    )
    rows = [
        (hands, par if limit else wide, "" if duel else leak, 0 if duel else share, 0 if limit else stack)
        for hands, par, wide, leak, share, stack in TABLE
    ]
    game = Betting((lambda stack: LIMIT) if limit else free, duel)
    return TurnWorld(facts=facts, levels=levels_of(KNOBS, rows), game=game, schema=Table, meant=game.meant)


@register("world", "HoldemLimit", domain="games", engine="cards")
def holdem_limit() -> TurnWorld[Table]:
    """Hold'em with fixed raises against a sound player with a leak; the oracle weighs the hands that the opponent may hold."""
    return _world("HoldemLimit", True, (0.6, 0.45, 0.4, 0.5, 0.55))


@register("world", "HoldemLimitDuel", domain="games", engine="cards")
def holdem_limit_duel() -> TurnWorld[Table]:
    """Hold'em with fixed raises between two seats."""
    return _world("HoldemLimitDuel", True, (0.63, 0.55, 0.4, 0.47, 0.6))


@register("world", "HoldemFree", domain="games", engine="cards")
def holdem_free() -> TurnWorld[Table]:
    """Hold'em without a limit, stacks of 20 to 100 chips, against a sound player with a leak."""
    return _world("HoldemFree", False, (0.6, 0.45, 0.4, 0.5, 0.55))


@register("world", "HoldemFreeDuel", domain="games", engine="cards")
def holdem_free_duel() -> TurnWorld[Table]:
    """Hold'em without a limit between two seats."""
    return _world("HoldemFreeDuel", False, (0.6, 0.55, 0.44, 0.47, 0.58))
