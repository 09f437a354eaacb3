"""Forced mates: their proof, and positions that have one."""

from __future__ import annotations

import functools
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from quintain.types import Ints
from quintain.worlds.engines.board.chess import (
    KING,
    NAMES,
    NOBODY,
    PAWN,
    PROMOTED,
    SPECIALS,
    STEPS,
    after,
    checked,
    moves,
)
from quintain.worlds.engines.board.chess_bits import NEAR, Men, attacked, bits, cells_of, goals, nets, outs
from quintain.worlds.engines.board.chess_legal import men_on, threats
from quintain.worlds.engines.board.chess_look import GAMES, read_small, scattered
from quintain.worlds.engines.board.forced import Forced
from quintain.worlds.noise import Rng

EDGE = frozenset([c for c in range(64) if c // 8 in (0, 7) or c % 8 in (0, 7)])
ROOM = 1  # steps of a king that is soon mated
LAST = (range(8), range(56, 64))
Step = tuple[int, int, int]  # a white man's number, what it is then, its new cell


def _paths(position: Ints, only: int = NOBODY) -> list[Ints]:
    pawn, last = PAWN + 6 * position[-1], LAST[position[-1]]
    return [
        path
        for at, to in moves(position, only)
        for path in ([(at, to, 64 + i) for i in range(4)] if position[at] == pawn and to in last else [(at, to)])
    ]


def _men(board: Sequence[int]) -> tuple[Men, Men]:
    """White's men and Black's; kings, whose codes are 6 and 12, come first."""
    men = [(code, at) for at, code in enumerate(board[:64]) if code]
    men.sort(reverse=True)
    return [man for man in men if man[0] <= KING], [man for man in men if man[0] > KING]


def _after(white: Men, black: Men, step: Step) -> tuple[Men, Men]:
    i, kind, to = step
    return [*white[:i], (kind, to), *white[i + 1 :]], [man for man in black if man[1] != to]


def _position(white: Men, black: Men, step: Step) -> Ints:
    """The position after a step, Black to move."""
    cells = [0] * 64
    for code, at in (*white, *black):
        cells[at] = code
    return (*after((*cells, 0, NOBODY, 0, 0), _path(white, step)), 1)


def _path(white: Men, step: Step) -> Ints:
    i, kind, to = step
    code, at = white[i]
    return (at, to) if code == kind else (at, to, 64 + PROMOTED.index(kind))


def _legal(white: Men, black: Men, step: Step) -> bool:
    """Whether the white king is safe after a step, if not from the black king."""
    if len(black) == 1:
        return True
    mine, yours = _after(white, black, step)
    return not attacked(yours, mine[0][1], bits([at for _, at in (*mine, *yours)]))


def _steps(white: Men, black: Men) -> Iterator[Step]:
    """White's legal moves."""
    own, other, shut = bits([at for _, at in white]), bits([at for _, at in black]), NEAR[black[0][1]]
    for i, (code, at) in enumerate(white):
        for to in cells_of(goals(code, at, own, other) & ~(shut if code == KING else 0)):
            for kind in PROMOTED if code == PAWN and to < 8 else (code,):
                if _legal(white, black, (i, kind, to)):
                    yield i, kind, to


def _mates(white: Men, black: Men) -> Iterator[Step]:
    """White's moves that mate."""
    for step in nets(white, black):
        if len(black) == 1 or (_legal(white, black, step) and next(moves(_position(white, black, step)), None) is None):
            yield step


def _solved(white: Men, black: Men, n: int, most: int | None = None) -> list[Step]:
    """What `forced` finds, of it no more than `most`."""
    found = list(islice(_mates(white, black), most))
    for k in range(1, n):
        if not found:
            found = list(islice((step for step in _steps(white, black) if _wins(white, black, step, k)), most))
    return found


def _wins(white: Men, black: Men, step: Step, k: int) -> bool:
    """Whether Black has replies to a step, and White mates after each within `k` moves."""
    mine, yours = _after(white, black, step)
    king, *rest = yours
    away = outs(yours, mine)
    for to in cells_of(away):
        if not _solved([man for man in mine if man[1] != to], [(king[0], to), *rest], k, 1):
            return False
    if not rest:
        return away > 0
    then = _position(white, black, step)
    replies = [path for _, at in rest for path in _paths(then, at)]
    return bool(away or replies) and all(forced(after(then, path), k) for path in replies)


def _answered(then: Ints, k: int) -> bool:
    """Whether Black, which is to move, is mated, or with `k` has replies and is mated after each within `k` moves."""
    replies = _paths(then)
    if not k:
        return not replies and checked(then, 1)
    return bool(replies) and all(forced(after(then, path), k) for path in replies)


@functools.lru_cache(maxsize=1 << 12)
def forced(board: Ints, n: int) -> tuple[Ints, ...]:
    """White's moves that mate in `n` of its moves at most, whatever Black replies; those of the quickest mate.

    Args:
        board: codes and own numbers, White to move.
        n: moves of White.
    """
    start = (*board, 0)
    if board[64] or board[65] >= 0:  # castling and passing
        found: Container[Ints] = ()
        for k in range(n):
            found = found or [path for path in _paths(start) if _answered((*after(start, path), 1), k)]
    else:
        white, black = _men(board)
        found = [_path(white, step) for step in _solved(white, black, n)]
    return tuple([path for path in _paths(start) if path in found]) if found else ()


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


def _mated(board: Ints) -> str:
    """Why Black, whose king is attacked, has no move."""
    king, men = board.index(KING + 6), [c for c in range(64) if KING < board[c] < KING + 6]
    lost: dict[str, list[str]] = {}
    for to in STEPS[king]:
        lost.setdefault("held" if board[to] > KING else threats(after((*board, 1), (king, to)), 1), []).append(
            NAMES[to]
        )
    cells = ", ".join([f"{' '.join(cells)} ({by})" for by, cells in lost.items()])
    other = " and no man can take or step between" if men else ""
    return f"{men_on(board, [king])} is attacked by {threats(board, 1)} and cannot go to {cells}{other}: mate"


def explained(position: Ints, path: Ints) -> str:
    """Why a move of White mates, or how White mates after each reply."""
    board, left = after(position, path), position[-2] // 2
    ways: dict[Ints, list[Ints]] = {}
    for reply in _paths((*board, 1)):
        ways.setdefault(forced(after((*board, 1), reply), left)[0], []).append(reply)
    if not ways:
        return f"{_named(path)}: {_mated(board)}."
    met = "; ".join([f"{', '.join(map(_named, replies))} by {_named(then)}" for then, replies in ways.items()])
    then, (reply, *_) = next(iter(ways.items()))
    end = f" So after {_named(reply)}: {_mated(after((*after((*board, 1), reply), 0), then))}." if left == 1 else ""
    return f"After {_named(path)} each reply is met on the way to mate: {met}.{end}"


def _named(path: Ints) -> str:
    return " ".join([(*NAMES, *SPECIALS)[step] for step in path])


def pose(rng: Rng, knobs: Mapping[str, Any]) -> Ints | None:
    """A position that may have a mate in `moves`; see `kept`.

    Knobs: `white` and `black` are the fewest and the most men that each side has beside the king.
    """
    n = knobs["moves"]
    low, high = knobs["white"]
    men = "K" + "".join([rng.pick("QQRRBNP") for _ in range(low + rng.below(high - low + 1))])
    low, high = knobs["black"]
    men += "".join([rng.pick("qrbnpppp") for _ in range(low + rng.below(high - low + 1))])
    cells = scattered(rng, "k" + men)
    if n > 1 and cells.index(KING + 6) not in EDGE:
        return None  # such kings are seldom mated soon
    white, black = _men(cells)
    if n > 1 and outs(black, white).bit_count() > ROOM:
        return None
    held = bits([at for _, at in (*white, *black)])
    if attacked(white, black[0][1], held) or attacked(black, white[0][1], held):
        return None
    return (*cells, 0, NOBODY, 1, 2 * n - 1, 0)


def kept(position: Ints, knobs: Mapping[str, Any]) -> bool:
    """Whether there is a mate in exactly `moves`, by no more than `keys` first moves."""
    n, (white, black) = knobs["moves"], _men(position)
    if n > 1 and next(_mates(white, black), None):
        return False
    return 0 < len(_solved(white, black, n, knobs["keys"] + 1)) <= knobs["keys"]


GAME = Forced(GAMES, pose, kept, winning, defence, read_small, why=explained)
