"""UltimateTTT: nine small boards in a large one, against an opponent or between two seats."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.board.match import SAYINGS, BoardWorld
from quintain.worlds.engines.board.men_look import OPENING, MenLook
from quintain.worlds.engines.board.nested import UltimateTTT, small_boards
from quintain.worlds.kernel import Facts, levels_of

RULES = """Two players, X (blue crosses) and O (orange rings), put one mark in turn on a free cell of a 9x9 board, which is made
of nine small boards of 3x3 cells. Three own marks in a row, across, down or diagonal, win a small board, and nobody plays there
any more. The place of a mark in its small board names the small board, at the same place in the large one, where the next mark
must go; if that board is won or full, the next mark goes to any board that is neither. The line above the board (in a picture
beside or below it) says where. Three small boards in a row, won by the same side, win the game. If that cannot happen any more
because all boards are won or full, or when no moves are left, the game is a draw (half a win). In pictures the boards where you may play
are green, those that X won are blue, those that O won are sand-coloured, and full ones that nobody won are grey. Columns have
letters, rows have numbers from the top; . is a free cell. The corner of a picture says which side you have and how many moves of
both sides are left."""
ANSWER = "Name a free cell: its column letter and row number."
KNOBS = OPENING
# random rounds at the start, so many more, moves; opponent, lead of the side to move
TABLE = (
    ((22, 2, 30), "random", -1),
    ((20, 2, 36), "greedy", 0),
    ((18, 2, 40), "depth1", 0),
    ((16, 2, 44), "depth1", 0),
    ((14, 2, 48), "depth1", 0),
    ((12, 2, 52), "depth1", 0),
    ((10, 2, 56), "depth1", 0),
    ((8, 2, 61), "depth1", 0.1),
    ((6, 2, 65), "depth2", 0.15),
    ((5, 2, 69), "depth2", 0.15),
)
LOOK = MenLook(UltimateTTT, (), {"X": "stone-X", "O": "stone-O"}, ground=small_boards)


@register("world", "UltimateTTT", domain="games", engine="board")
def ultimate_ttt() -> BoardWorld:
    """Win three small boards of tic-tac-toe in a row, where every move sends the opponent to a board."""
    facts = Facts(
        name="UltimateTTT",
        rules=RULES,
        answer=ANSWER,
        example="e5",
        proof="policy",
        floor=0.8,
        ceilings={"random": 0.3, "constant": 0.1, "first": 0.3, "blind": 0.3},
        sayings=SAYINGS,
    )
    table = [(*row, *rest) for row, *rest in TABLE]
    return BoardWorld(facts=facts, levels=levels_of((*KNOBS, "opponent", "lead"), table), look=LOOK)


@register("world", "UltimateTTTDuel", domain="games", engine="board")
def ultimate_ttt_duel() -> BoardWorld:
    """Win three small boards of tic-tac-toe in a row, where every move sends the other seat to a board."""
    facts = Facts(
        name="UltimateTTTDuel",
        rules=RULES,
        answer=ANSWER,
        example="e5",
        seats=("X", "O"),
        proof="policy",
        floor=0.85,
        ceilings={"random": 0.6, "constant": 0.1, "first": 0.6, "blind": 0.6},
        sayings=SAYINGS,
    )
    return BoardWorld(facts=facts, levels=levels_of(KNOBS, [row for row, *_ in TABLE]), look=LOOK)
