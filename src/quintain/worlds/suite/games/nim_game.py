"""NimGame: take counters from heaps, against an opponent or between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.heaps_look import KNOBS, HeapLook, taken
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players take counters in turn: in a move one takes one or more counters from one heap. Whether the player who takes
the very last counter wins or loses, and whether a move has a limit, is said with the heaps. In a picture every fifth
counter is golden; the signs below say that the last counter wins (L+) or loses (L-), whether you move first or second,
and how many counters a move may take if that is limited."""
ANSWER = "Name a heap and how many counters to take from it, as in A-2."

# heaps, largest heap, limit of a move, whether the last counter loses, opponent
TABLE = (
    (3, 7, 0, 0, "random"),
    (3, 8, 0, 0, "greedy"),
    (3, 9, 0, 0, "depth2"),
    (3, 11, 0, 0, "perfect"),
    (4, 9, 0, 0, "perfect"),
    (4, 11, 0, 0, "perfect"),
    (5, 10, 0, 0, "perfect"),
    (5, 12, 0, 0, "perfect"),
    (6, 12, 5, 0, "perfect"),
    (6, 15, 6, 1, "perfect"),
)
# between two seats: the same without an opponent
DUEL = tuple(row[:-1] for row in TABLE)


@register("world", "NimGame", domain="games", engine="board")
def nim_game() -> BoardWorld:
    """Take the last counter; every start can be won, and from level 3 on one slip loses."""
    facts = Facts(
        name="NimGame",
        rules=RULES + "\nYou can win from the start, whatever the opponent does.",
        answer=ANSWER,
        example="A-2",
        proof="policy",
        floor=1.0,
        ceilings={"random": 0.05, "constant": 0.02, "first": 0.06, "blind": 0.13},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of((*KNOBS, "opponent"), TABLE), look=HeapLook(), meant=taken)


@register("world", "NimDuel", domain="games", engine="board")
def nim_duel() -> BoardWorld:
    """The game of heaps between two seats; the first can win from the start if it plays without a slip."""
    facts = Facts(
        name="NimDuel",
        rules=RULES,
        answer=ANSWER,
        example="A-2",
        seats=("first", "second"),
        proof="policy",
        floor=0.97,
        ceilings={"random": 0.6, "constant": 0.03, "first": 0.5, "blind": 0.13},
        variety=6_000,
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, DUEL), look=HeapLook(), meant=taken)
