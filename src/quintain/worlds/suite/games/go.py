"""Go on small boards, against an opponent or between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.go import LOOK, why
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = """Go: X (black) and O (white) put a stone on a free point in turn, or pass. Stones of a colour that are joined by lines form a
group; a group whose last free neighbour is filled is taken off. A stone that takes nothing and whose group would be left
without a free neighbour is forbidden. `ko at c3` means that it is forbidden to take back at once at c3. The game ends after two
passes one after the other (`1 pass`: the last move was one; `2 pass`: the game is over), or when no moves are left. Then each
side counts its stones on the board, all of them as alive, and every free area (free points joined along the lines) that borders
its colour alone; an area that borders both colours, or none, counts for nobody; O has the komi besides. More points win.
Columns have letters, rows have numbers from the top. The corner of a picture says which side you have and how many moves of
both sides are left."""
ANSWER = "Name a free point, or say pass."
KNOBS = ("size", "komi", "rounds", "more", "limit", "opponent")
TABLE = (
    (5, 0, 2, 1, 16, "random"),
    (5, 1, 2, 1, 18, "random"),
    (5, 0, 2, 2, 20, "depth1"),
    (5, 1, 2, 2, 24, "depth1"),
    (6, 0, 2, 2, 30, "depth1"),
    (6, 1, 2, 3, 34, "depth1"),
    (7, 2, 2, 3, 40, "depth1"),
    (7, 3, 3, 3, 44, "depth1"),
    (8, 3, 3, 3, 52, "depth1"),
    (9, 3, 3, 4, 60, "depth1"),
)


@register("world", "GoBoard", domain="games", engine="board")
def go_board() -> BoardWorld:
    """Surround more points than the opponent on a Go board of 5x5 to 9x9."""
    facts = Facts(
        name="GoBoard",
        rules=RULES,
        answer=ANSWER,
        example="c3",
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.3, "constant": 0.1, "first": 0.3, "blind": 0.3},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, TABLE), look=LOOK, why=why)


@register("world", "GoDuel", domain="games", engine="board")
def go_duel() -> BoardWorld:
    """Surround more points than the other seat on a Go board of 5x5 to 9x9."""
    facts = Facts(
        name="GoDuel",
        rules=RULES,
        answer=ANSWER,
        example="c3",
        seats=("X", "O"),
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.6, "constant": 0.2, "first": 0.3, "blind": 0.5},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS[:-1], [row[:-1] for row in TABLE]), look=LOOK, why=why)
