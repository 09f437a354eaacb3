"""Forced mates: their proof, and positions that have one."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from quintain.types import Ints
from quintain.worlds.engines.board.chess import (
    ALIGNED,
    BISHOP,
    KING,
    LEAPS,
    LINES,
    NOBODY,
    PAWN,
    QUEEN,
    ROOK,
    STRIKES,
    after,
    attacked,
    checked,
    moves,
    reach,
    safe,
)
from quintain.worlds.engines.board.chess_look import GAMES, plain, scattered
from quintain.worlds.engines.board.forced import Forced
from quintain.worlds.noise import Rng

EDGE = frozenset([c for c in range(64) if c // 8 in (0, 7) or c % 8 in (0, 7)])
ROOM = 1  # steps of a king that is soon mated
# for each kind of man and each cell of a king: where it may check from; pawns of the last row may become something that does
GIVES = (
    (frozenset(),) * 64,
    tuple([frozenset((*STRIKES[1][k], *range(8))) for k in range(64)]),
    tuple([frozenset(LEAPS[k]) for k in range(64)]),
    *[
        tuple([frozenset([c for line in LINES[kind][k] for c in line]) for k in range(64)])
        for kind in (BISHOP, ROOK, QUEEN)
    ],
    (frozenset(),) * 64,
)
LAST = (range(8), range(56, 64))


def _paths(position: Ints) -> list[Ints]:
    pawn, last = PAWN + 6 * position[-1], LAST[position[-1]]
    return [
        path
        for at, to in moves(position)
        for path in ([(at, to, 64 + i) for i in range(4)] if position[at] == pawn and to in last else [(at, to)])
    ]


def _checks(board: Ints) -> list[Ints]:
    """White's moves that may give check: a man goes where it checks from, or leaves a line of the king's."""
    if board[64] & 3 or board[65] >= 0:
        return _paths((*board, 0))
    king, mine, cells = board.index(KING + 6), board.index(KING), list(board[:64])
    near, beside = ALIGNED[king], ALIGNED[mine]
    free = not attacked(cells, mine, 1)
    found: list[Ints] = []
    for at, code in enumerate(board[:64]):
        if not 0 < code <= KING:
            continue
        sure, gives = free and at != mine and at not in beside, GIVES[code][king]
        for to in reach(cells, at):
            if (to in gives or at in near) and (sure or safe(cells, at, to, mine, 0)):
                found += [(at, to, 64 + i) for i in range(4)] if code == PAWN and to < 8 else [(at, to)]
    return found


@functools.lru_cache(maxsize=1 << 15)
def forced(board: Ints, n: int) -> tuple[Ints, ...]:
    """White's moves that mate in `n` of its moves at most, whatever Black replies; those of the quickest mate.

    Args:
        board: codes and own numbers, White to move.
        n: moves of White.
    """
    white, king = (*board, 0), board.index(KING + 6)
    found = []
    for path in _checks(board):
        then = after(white, path)
        if attacked(then, king, 0) and next(moves((*then, 1)), None) is None:
            found.append(path)
    for k in range(1, n):
        if found:
            break
        refuting: Ints = ()
        for path in _paths(white):
            then = (*after(white, path), 1)
            replies = _paths(then)
            replies.sort(key=lambda reply: reply != refuting)  # what refuted one try often refutes the next
            reply = next((r for r in replies if not forced(after(then, r), k)), None)
            if reply is not None:
                refuting = reply
            elif replies:
                found.append(path)
    return tuple(found)


def defence(position: Ints) -> Ints:
    """Black's reply that puts off the mate the longest."""
    replies = [(path, after(position, path)) for path in _paths(position)]
    for k in range(position[-2] // 2, 0, -1):
        held = [path for path, board in replies if not forced(board, k)]
        if held:
            return held[0]
    return replies[0][0]


def winning(position: Ints) -> tuple[Ints, ...]:
    """White's moves that mate before the moves run out."""
    return forced(position[:-2], (position[-2] + 1) // 2)


def pose(rng: Rng, knobs: Mapping[str, Any]) -> Ints | None:
    """A position with a mate in exactly `moves`, by no more than `keys` first moves.

    Knobs: `white` and `black` are the fewest and the most men that each side has beside the king.
    """
    n = knobs["moves"]
    low, high = knobs["white"]
    men = "K" + "".join([rng.pick("QQRRBNP") for _ in range(low + rng.below(high - low + 1))])
    low, high = knobs["black"]
    men += "".join([rng.pick("qrbnpppp") for _ in range(low + rng.below(high - low + 1))])
    board = (*scattered(rng, "k" + men), 0, NOBODY, 1)
    king = board.index(KING + 6)
    if n > 1 and (king not in EDGE or sum(1 for _ in moves((*board, 1), king)) > ROOM):
        return None  # such kings are seldom mated soon
    if checked((*board, 0), 1) or checked((*board, 0), 0) or (n > 1 and forced(board, 1)):
        return None
    keys = forced(board, n)
    return (*board, 2 * n - 1, 0) if 0 < len(keys) <= knobs["keys"] else None


GAME = Forced(GAMES, pose, winning, defence, plain)
