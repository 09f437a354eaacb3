"""Chess: how the pieces move, when a king is mated, and a quick guess at who is ahead.

A position is 64 codes from a8 to h1, then the castling rights (1 white short, 2 white long, 4 and 8 black), the cell of a pawn's
passing, -1 without one, and whether White must mate: then all other ends are Black's.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence

from quintain.types import Ints
from quintain.worlds.engines.board.game import Match
from quintain.worlds.engines.board.men import DIAGONAL, ORTHOGONAL, Board, rays

SIGNS = ".PNBRQKpnbrqk"
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(1, 7)
PROMOTED = (QUEEN, ROOK, BISHOP, KNIGHT)
SPECIALS = ("queen", "rook", "bishop", "knight")
WORTH = (0, 100, 310, 330, 500, 900, 0)
NOBODY = -1  # no pawn has just passed a cell
LEAD = 600  # centipawns of lead that are worth 1/2
FEW = 6  # men up to which kings are driven

_CELLS = range(64)
CODES = range(13)


def _leaps(cell: int, ways: Sequence[tuple[int, int]]) -> Ints:
    row, column = divmod(cell, 8)
    return tuple([r * 8 + c for dr, dc in ways if 0 <= (r := row + dr) < 8 and 0 <= (c := column + dc) < 8])


LEAPS = tuple(
    [_leaps(cell, [(a, b) for a in (-2, -1, 1, 2) for b in (-2, -1, 1, 2) if abs(a) != abs(b)]) for cell in _CELLS]
)
STEPS = tuple([_leaps(cell, (*ORTHOGONAL, *DIAGONAL)) for cell in _CELLS])
STRAIGHT, SLANTED = rays(8, 8, ORTHOGONAL), rays(8, 8, DIAGONAL)
LINES = {
    BISHOP: SLANTED,
    ROOK: STRAIGHT,
    QUEEN: tuple([a + b for a, b in zip(STRAIGHT, SLANTED, strict=True)]),
}
ALIGNED = tuple([frozenset([c for line in LINES[QUEEN][cell] for c in line]) for cell in _CELLS])
# for each side and cell: where a pawn there captures
STRIKES = tuple([tuple([_leaps(cell, ((way, -1), (way, 1))) for cell in _CELLS]) for way in (-1, 1)])
# right -> side, king's way, rook's way, cells that must be free
CASTLES = (
    (1, 0, (60, 62), (63, 61), (61, 62)),
    (2, 0, (60, 58), (56, 59), (57, 58, 59)),
    (4, 1, (4, 6), (7, 5), (5, 6)),
    (8, 1, (4, 2), (0, 3), (1, 2, 3)),
)
_ROOK = {king: rook for _, _, king, rook, _ in CASTLES}
# cell -> rights that end when something moves from or to it
_KEPT = {60: 12, 63: 14, 56: 13, 4: 3, 7: 11, 0: 7}
RIGHTS = tuple(["".join([sign for i, sign in enumerate("KQkq") if r >> i & 1]) or "none" for r in range(16)])


def attacked(cells: Sequence[int], cell: int, by: int) -> bool:
    """Whether side `by` (0 white, 1 black) attacks a cell."""
    men = 6 * by
    pawn, knight, king = men + PAWN, men + KNIGHT, men + KING
    for c in STRIKES[1 - by][cell]:
        if cells[c] == pawn:
            return True
    for c in LEAPS[cell]:
        if cells[c] == knight:
            return True
    for c in STEPS[cell]:
        if cells[c] == king:
            return True
    queen = men + QUEEN
    some = queen in cells
    for lines, piece in ((STRAIGHT, men + ROOK), (SLANTED, men + BISHOP)):
        for line in lines[cell] if some or piece in cells else ():
            for c in line:
                code = cells[c]
                if code:
                    if code in (piece, queen):
                        return True
                    break
    return False


def checked(position: Sequence[int], side: int) -> bool:
    """Whether the king of a side is in check."""
    return attacked(position, position.index(6 * side + KING), 1 - side)


def reach(cells: Sequence[int], at: int) -> Iterator[int]:
    """Cells that the piece on `at` can go to, whatever becomes of the own king; without castling and passing."""
    code = cells[at]
    low, kind, side = (6, code - 6, 1) if code > 6 else (0, code, 0)
    if kind == PAWN:
        way = 8 if side else -8
        if not cells[at + way]:
            yield at + way
            if at // 8 == (1 if side else 6) and not cells[at + 2 * way]:
                yield at + 2 * way
        for to in STRIKES[side][at]:
            if cells[to] and (cells[to] > 6) != bool(side):
                yield to
    elif kind in LINES:
        for line in LINES[kind][at]:
            for to in line:
                there = cells[to]
                if not there:
                    yield to
                    continue
                if (there > 6) != bool(low):
                    yield to
                break
    else:
        for to in (LEAPS if kind == KNIGHT else STEPS)[at]:
            there = cells[to]
            if not there or (there > 6) != bool(low):
                yield to


def moves(position: Ints, only: int = NOBODY) -> Iterator[tuple[int, int]]:
    """The legal moves of the side to move, from and to; promotions once. `only` asks for those of the piece on one cell."""
    side, cells = position[-1], list(position[:64])
    king = cells.index(6 * side + KING)
    check, low = attacked(cells, king, 1 - side), 6 * side
    for at in _CELLS if only < 0 else (only,):
        code = cells[at]
        if not low < code <= low + 6:
            continue
        sure = not check and at != king and at not in ALIGNED[king]
        for to in reach(cells, at):
            if sure or safe(cells, at, to, king, side):
                yield at, to
        if code == low + PAWN and position[65] in STRIKES[side][at] and _passes(cells, at, position[65], king, side):
            yield at, position[65]
        if at == king and position[64] and not check:
            yield from _castles(position, side)


def safe(cells: list[int], at: int, to: int, king: int, side: int) -> bool:
    """Whether a move leaves the own king, on `king` before it, out of check."""
    taken, code = cells[to], cells[at]
    cells[to], cells[at] = code, 0
    fine = not attacked(cells, to if at == king else king, 1 - side)
    cells[at], cells[to] = code, taken
    return fine


def _passes(cells: list[int], at: int, to: int, king: int, side: int) -> bool:
    gone = to + (8 if side == 0 else -8)
    pawn, cells[gone] = cells[gone], 0
    alone = safe(cells, at, to, king, side)
    cells[gone] = pawn
    return alone


def _castles(position: Ints, side: int) -> Iterator[tuple[int, int]]:
    for right, mine, way, _, free in CASTLES:
        if mine == side and position[64] & right and not any(position[c] for c in free):
            passed = (sum(way) // 2, way[1])
            if not any(attacked(position, c, 1 - side) for c in passed):
                yield way


def after(position: Ints, path: Ints) -> Ints:
    """Codes and own numbers after a legal move; the third step of a path is the piece of a promotion."""
    at, to = path[:2]
    cells = list(position[:64])
    code, side = cells[at], position[-1]
    rights, passed = position[64], NOBODY
    cells[to], cells[at] = code, 0
    if code in (PAWN, PAWN + 6):
        if to == position[65]:
            cells[to + (-8 if side else 8)] = 0
        elif abs(to - at) == 16 and any(cells[c] == 7 - 6 * side for c in STRIKES[side][(at + to) // 2]):
            passed = (at + to) // 2
        elif len(path) > 2:
            cells[to] = PROMOTED[path[2] - 64] + 6 * side
    elif code in (KING, KING + 6) and abs(to - at) == 2:
        start, end = _ROOK[at, to]
        cells[end], cells[start] = cells[start], 0
    if rights:
        rights &= _KEPT.get(at, 15) & _KEPT.get(to, 15)
    return (*cells, rights, passed, position[66])


@functools.lru_cache(maxsize=1 << 14)
def over(board: Ints, side: int) -> int | None:
    """-1 if the side to move is mated, 0 if nothing can be won any more or it has no legal move, else None."""
    if next(moves((*board, side)), None) is None:
        return -1 if checked(board, side) else 0
    men = [code for code in board[:64] if code and code % 6]
    return 0 if not men or (len(men) == 1 and men[0] % 6 in (KNIGHT, BISHOP)) else None


def why(match: Match) -> str:
    """How a match that is over has come to its end."""
    position, who = match.position, ("White", "Black")[match.position[-1]]
    found = over(position[:-2], position[-1])
    if found is None:
        told = "White has not mated" if position[66] else f"White's material less Black's is {lead(position)}"
        return f"No moves are left; {told}"
    if found:
        return f"{who} is mated"
    none = next(moves((*position[:-2], position[-1])), None) is None
    return f"{who} has no legal move and is not in check" if none else "Neither side can mate any more"


def _square(code: int, cell: int) -> int:
    """What a man on a cell is worth to White."""
    if not code:
        return 0
    kind, side = (code - 6, 1) if code > 6 else (code, 0)
    row, column = divmod(cell, 8)
    ahead = row - 1 if side else 6 - row  # rows from where the pawns begin
    middle = 7 - abs(2 * column - 7) / 2 - abs(2 * row - 7) / 2
    bonus = {PAWN: 5 * ahead + 2 * middle, KNIGHT: 8 * middle, BISHOP: 4 * middle, KING: -3 * middle}.get(kind, middle)
    return round((1 - 2 * side) * (WORTH[kind] + bonus))


SQUARES = tuple([tuple([_square(code, cell) for code in CODES]) for cell in _CELLS])
MATERIAL = tuple([(1, -1)[code > 6] * (WORTH[(code - 1) % 6 + 1] // 100) if code else 0 for code in CODES])
_FROM_MIDDLE = tuple([abs(2 * (cell // 8) - 7) + abs(2 * (cell % 8) - 7) for cell in _CELLS])


def lead(position: Ints) -> int:
    """White's pawns, knights (3), bishops (3), rooks (5) and queens (9) less Black's."""
    return sum([MATERIAL[code] for code in position[:64]])


def _driven(position: Ints, total: float) -> float:
    """How far the weaker king is driven, for White, where few men are left."""
    strong, weak = (KING, KING + 6) if total > 0 else (KING + 6, KING)
    mine, other = position.index(strong), position.index(weak)
    apart = max(abs(mine // 8 - other // 8), abs(mine % 8 - other % 8))
    room = sum([not attacked(position, c, int(weak == KING)) for c in STEPS[other]]) if weak != KING else 0
    score = 20 * _FROM_MIDDLE[other] - 25 * apart - 12 * room
    return score if total > 0 else -score


class Chess:
    """Chess as `men.Rules`. Side 0 is White."""

    def __init__(self) -> None:
        self.board = Board(
            columns=8,
            rows=8,
            signs=SIGNS,
            sides="WB",
            specials=SPECIALS,
            upward=True,
            breadth=5,
            deep=1,
            nodes=60,
            note=note,
            noted=noted,
            vocabulary=(
                *("castling", "no", "passant", "must", "mate", "W"),
                *RIGHTS,
                *[f"{word}," for word in (*RIGHTS, *NAMES)],
            ),
            spent=spent,
        )

    def begin(self) -> Ints:
        back = (ROOK, KNIGHT, BISHOP, QUEEN, KING, BISHOP, KNIGHT, ROOK)
        white = (*(PAWN,) * 8, *back)
        return (*[c + 6 for c in back], *(PAWN + 6,) * 8, *(0,) * 32, *white, 15, NOBODY, 0)

    def paths(self, position: Ints) -> Iterable[Ints]:
        quiet: list[Ints] = []
        takes: list[Ints] = []
        for at, to in moves(position):
            if position[at] in (PAWN, PAWN + 6) and not 8 <= to < 56:
                takes += [(at, to, 64 + i) for i in (3, 2, 1, 0)]
            else:
                (takes if position[to] else quiet).append((at, to))
        quiet.sort(key=lambda path: position[path[0]] not in (KING, KING + 6))
        return quiet + takes

    def moved(self, position: Ints, path: Ints) -> Ints:
        return after(position, path)

    def ended(self, position: Ints) -> int | None:
        found = over(position[:-2], position[-1])
        return found if found or not position[66] or found is None else (1 if position[-1] else -1)

    def value(self, position: Ints) -> float:
        total = float(sum([of[code] for of, code in zip(SQUARES, position, strict=False)]))
        if 64 - position[:64].count(0) <= FEW and total:
            total += _driven(position, total)
        good = total / (abs(total) + LEAD)
        return -good if position[-1] else good


NAMES = tuple([f"{'abcdefgh'[c % 8]}{8 - c // 8}" for c in _CELLS])
_NOTE = re.compile(r"no castling|(?:castling (K?Q?k?q?))?(?:(?:^|, )passant ([a-h][36]))?(?:(?:^|, )(W must mate))?")


def note(position: Ints) -> str:
    """What the board does not show."""
    told = [f"castling {RIGHTS[position[64]]}"] if position[64] else []
    told += [f"passant {NAMES[position[65]]}"] if position[65] >= 0 else []
    told += ["W must mate"] if position[66] else []
    return ", ".join(told) or "no castling"


def noted(said: str) -> Ints | None:
    """The own numbers that a note tells."""
    found = _NOTE.fullmatch(said)
    if not said or not found:
        return None
    return RIGHTS.index(found[1] or "none"), NAMES.index(found[2]) if found[2] else NOBODY, int(bool(found[3]))


def spent(position: Ints) -> int:
    """When no moves are left, more material wins, or Black where White had to mate."""
    ahead = -1 if position[66] else lead(position)
    ahead = -ahead if position[-1] else ahead
    return (ahead > 0) - (ahead < 0)
