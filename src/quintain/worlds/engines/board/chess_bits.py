"""Chess by sets of cells, an integer with a bit for each: what men attack, and moves that leave a king no cell to go to.

Men of a side are pairs of code and cell, the king first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from quintain.types import Ints
from quintain.worlds.engines.board.chess import KING, KNIGHT, LEAPS, LINES, PAWN, PROMOTED, STEPS, STRIKES

Men = Sequence[tuple[int, int]]
KEPT = 64  # sets that are remembered for each man and cell


class Gaze(dict[int, int]):
    """What a man attacks from its cell, for whatever cells of its lines are held: on each line up to the first of these."""

    def __init__(self, lines: Sequence[Ints]) -> None:
        self.lines = [(bits(line), line[0] < line[-1]) for line in lines if line]
        self.far: int = bits(cell for line in lines for cell in line)
        self.span: int = bits(
            cell for line in lines for cell in line[:-1]
        )  # nothing lies behind the last cell of a line

    def __missing__(self, held: int) -> int:
        seen = 0
        for line, up in self.lines:
            stops = held & line
            seen |= line & ((stops & -stops) * 2 - 1 if up else -(1 << stops.bit_length() >> 1)) if stops else line
        if len(self) >= KEPT:
            self.clear()
        self[held] = seen
        return seen


def bits(cells: Iterable[int]) -> int:
    """A set of cells."""
    found = 0
    for cell in cells:
        found |= 1 << cell
    return found


def cells_of(found: int) -> Iterator[int]:
    """The cells of a set, in order."""
    while found:
        low = found & -found
        found ^= low
        yield low.bit_length() - 1


def _lines(kind: int, cell: int, side: int) -> Sequence[Ints]:
    if kind in LINES:
        return LINES[kind][cell]
    return [(c,) for c in (STRIKES[side] if kind == PAWN else LEAPS if kind == KNIGHT else STEPS)[cell]]


def _gazes(kind: int, side: int = 0) -> list[Gaze]:
    return [Gaze(_lines(kind, cell, side)) for cell in range(64)]


_KINDS = [_gazes(kind) for kind in range(PAWN, KING + 1)]
# for each code and cell; only pawns differ by side
GAZES: Sequence[Sequence[Gaze]] = [[], *_KINDS, _gazes(PAWN, 1), *_KINDS[1:]]
NEAR = tuple([bits(cells) for cells in STEPS])


def attacks(men: Men, held: int) -> int:
    """The cells that men attack where these cells are held."""
    found = 0
    for code, at in men:
        gaze = GAZES[code][at]
        found |= gaze[held & gaze.span]
    return found


def attacked(men: Men, cell: int, held: int) -> bool:
    """Whether men attack a cell where these cells are held."""
    for code, at in men:
        gaze = GAZES[code][at]
        if gaze.far >> cell & 1 and gaze[held & gaze.span] >> cell & 1:
            return True
    return False


def outs(mine: Men, yours: Men) -> int:
    """The cells that the king of `mine` may go to."""
    own, (_, king) = bits([at for _, at in mine]), mine[0]
    thin = (own | bits([at for _, at in yours])) ^ 1 << king  # lines go on behind a king that leaves
    return NEAR[king] & ~own & ~attacks(yours, thin)


def goals(code: int, at: int, own: int, other: int) -> int:
    """The cells that a white man may go to, whatever becomes of its king; without castling and passing."""
    gaze, held = GAZES[code][at], own | other
    found = gaze[held & gaze.span] & ~own
    if code == PAWN:
        push = 1 << at >> 8 & ~held
        far = push >> 8 & ~held if at >= 48 else 0
        found = found & other | push | far
    return found


def nets(white: Men, black: Men) -> Iterator[tuple[int, int, int]]:
    """White's moves after which the black king is attacked and has nowhere to go: number of the man, what it is then, its new cell.

    Of what endangers the white king only the black king is heeded; callers look at the rest.
    """
    king = black[0][1]
    own, other, near = bits([at for _, at in white]), bits([at for _, at in black]), NEAR[king]
    thin = (own | other) ^ 1 << king
    seen = [gaze[thin & gaze.span] for gaze in [GAZES[code][at] for code, at in white]]
    once = twice = 0
    for some in seen:
        twice |= once & some
        once |= some
    for i, (code, at) in enumerate(white):
        bit, rest, shown = 1 << at, twice | once & ~seen[i], 0
        if rest & bit:  # lines may open behind it
            rest = attacks([man for man in white if man[1] != at], thin ^ bit)
            shown = rest >> king & 1
        bare = near & ~other & ~rest  # what it has to attack itself
        found = goals(code, at, own, other) & ~bare
        if code == KING:
            found &= ~near if shown else 0
        elif code != PAWN and not shown:
            gaze = GAZES[code][king]
            found &= gaze[(thin ^ bit) & gaze.span]
        for to in cells_of(found):
            then, free = (thin ^ bit) | 1 << to, near & ~(other & ~(1 << to))
            for kind in PROMOTED if code == PAWN and to < 8 else (code,):
                gaze = GAZES[kind][to]
                mine = gaze[then & gaze.span]
                if bare & ~mine:
                    continue
                mine |= attacks([man for man in white if man[1] != at], then)
                if mine >> king & 1 and not free & ~mine:
                    yield i, kind, to
