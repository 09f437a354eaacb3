"""Where may the marked piece go? A question about a chess position, answered at once with a set of cells."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quintain.types import Ints, QuintainError
from quintain.worlds.engines.board.chess import (
    CASTLES,
    KING,
    NAMES,
    NOBODY,
    PAWN,
    ROOK,
    SIGNS,
    STRIKES,
    Chess,
    after,
    checked,
    moves,
    note,
    noted,
    reach,
)
from quintain.worlds.engines.board.chess_look import ART, GAMES, scattered
from quintain.worlds.engines.board.game import Match, Setup
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import Answer, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Scene
from quintain.worlds.splits import canonical

SAYINGS = {"wrong": "These are not exactly the cells.", "illegal": "That was answered already."}
CELLS = NAMES
ARMY = "QRRBBNNPPPPPPPP"
ODD = 5  # one in so many twisted positions has a castling or a passed pawn
_TOKEN = re.compile(r"(?:[kqrbn]?x?|[a-h]x)([a-h][1-8])", re.ASCII)
_BETWEEN = re.compile(r"(?:[\s,;:/|\[\](){}=>.-]|\band\b|\bto\b|\bcells?\b|\bsquares?\b|\banswer\b|\bis\b)*")
_LINE = re.compile(r"([WB]) ([A-Za-z]) ([a-h][1-8])\.")
_HEAD = re.compile(r"([WB]) is to move, ([a-h][1-8]) is marked: (.+?)(?:; said (.+))?")


@dataclass(frozen=True, slots=True)
class Marked:
    """The state: a position of chess, the cell of the marked piece, and the cells that were answered."""

    position: Ints
    marked: int
    said: Ints = ()


@functools.lru_cache(maxsize=4096)
def goals(position: Ints, marked: int) -> Ints:
    """The cells to which the piece on `marked` may go, in order."""
    return tuple(sorted({to for _, to in moves(position, marked)}))


def men_on(board: Sequence[int], cells: Iterable[int]) -> str:
    """The men on some cells."""
    return " and ".join([f"{SIGNS[board[c]]} {CELLS[c]}" for c in cells])


def threats(board: Ints, side: int) -> str:
    """The men that attack the king of a side."""
    king, others = board.index(6 * side + KING), [c for c in range(64) if board[c] and (board[c] > 6) != bool(side)]
    return men_on(board, [c for c in others if king in reach(board, c)])


def explained(position: Ints, marked: int) -> str:
    """What the marked piece reaches, which men would attack its king then, and whether it may castle."""
    side, piece = position[-1], men_on(position, [marked])
    king, check, shut = position.index(6 * side + KING), threats(position, side), dict[str, list[str]]()
    passing = [position[65]] if position[marked] % 6 == PAWN and position[65] in STRIKES[side][marked] else []
    reached = [*reach(position, marked), *passing]
    for to in reached:
        shut.setdefault(threats(after(position, (marked, to)), side), []).append(CELLS[to])
    taken = [f"{CELLS[to]}{f' (takes {SIGNS[position[to]]})' * (position[to] > 0)}" for to in reached]
    out = [f"{men_on(position, [king])} is {f'in check by {check}' if check else 'not in check'}."]
    out.append(f"{piece} reaches {', '.join(taken) or 'nothing'}{' (passing)' * len(passing)}.")
    shut.pop("", None)
    out += [f"Not {' '.join(cells)}: {men} would attack the king." for men, cells in shut.items()]
    for right, mine, way, _, free in CASTLES if marked == king else ():
        if mine == side and position[64] & right:
            held = men_on(position, [c for c in free if position[c]])
            risks = dict.fromkeys(threats(after(position, (king, to)), side) for to in (sum(way) // 2, way[1]))
            risk = " and ".join(filter(None, risks))
            why = f"{risk} would attack the king" if risk else ""
            why = "the king is in check" if check else f"{held} in between" if held else why
            out.append(
                f"{'No castling' if why else 'Castling'} to {CELLS[way[1]]}: {why or 'the way is free and safe'}."
            )
    return f"{' '.join(out)} That leaves {' '.join([CELLS[c] for c in goals(position, marked)])}."


def _move(cells: Ints) -> Move:
    return Move(" ".join([CELLS[c] for c in cells]), cells)


class LegalGame:
    """The question as `turns.Game`.

    Knobs: `men` are the most men that a side has beside its king, `twist` is the percentage of positions in which a check, a pin,
    castling or a passed pawn matters to the answer.
    """

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Marked | None:
        side, twist = rng.below(2), rng.below(100) < knobs["twist"]
        army, fixed, rights, passed = list(ARMY), dict[int, int](), 0, NOBODY
        odd = rng.below(2 * ODD) if twist else 9
        turn, men = 56 * side, 6 * side
        if odd == 0:
            rook = rng.pick((63, 56))
            fixed = {60 ^ turn: KING + men, rook ^ turn: ROOK + men}
            rights = (1 if rook == 63 else 2) << 2 * side
        elif odd == 1:
            column = 1 + rng.below(6)
            passed = (16 + column) ^ turn
            fixed = {(24 + column) ^ turn: PAWN + 6 - men, (24 + column + rng.pick((1, -1))) ^ turn: PAWN + men}
        low = max(2, knobs["men"] - 2)
        kept = ["".join(rng.sample(army, low + rng.below(knobs["men"] - low + 1))) for _ in range(2)]
        kings = "k" if rights and not side else "K" if rights else "Kk"
        cells = scattered(rng, kings + kept[0] + kept[1].lower(), fixed)
        if passed != NOBODY and (cells[passed] or cells[passed ^ 24]):
            return None
        position = (*cells, rights, passed, 0, 1, side)
        if checked(position, 1 - side):
            return None
        ways: dict[int, set[int]] = {}
        for at, to in moves(position):
            ways.setdefault(at, set()).add(to)
        mine = [at for at, to in ways.items() if len(to) > 1 and (not twist or {*reach(cells, at)} != to)]
        return Marked(position, rng.pick(mine)) if mine else None

    def layout(self, state: Marked) -> str:
        signs = [SIGNS[code] for code in state.position[:64]]
        signs[state.marked] += "*"
        return canonical(signs, 8, 8)

    def turns(self, state: Marked) -> int:
        return 1

    def mover(self, state: Marked) -> int:
        return -1 if state.said else 0

    def legal(self, state: Marked) -> tuple[Move, ...]:
        return ()

    def guess(self, state: Marked, rng: Rng) -> Move:
        return _move(tuple(sorted(rng.sample(range(64), 2 + rng.below(6)))))

    def read(self, text: str) -> Move | None:
        found = _TOKEN.findall(text)
        if not found or not _BETWEEN.fullmatch(_TOKEN.sub(" ", text)):
            return None
        if len(found) > 2 and len(found) % 2 == 0 and len(set(found[::2])) == 1:
            found = found[1::2]  # of moves, each with the cell that is left
        return _move(tuple(sorted({CELLS.index(name) for name in found})))

    def play(self, state: Marked, move: Move) -> After[Marked]:
        after = replace(state, said=move.value)
        if move.value == goals(state.position, state.marked):
            return After(after, (WON,), True)
        return After(after, done=True, events=(("wrong",),))

    def advise(self, state: Marked) -> Answer:
        cells = goals(state.position, state.marked)
        if not cells:
            return Unsolvable("the piece cannot move")
        return Plan((_move(cells),), because=explained(state.position, state.marked))

    def caption(self, state: Marked, side: int, level: int) -> str:
        head = f"{'WB'[state.position[-1]]} is to move, {CELLS[state.marked]} is marked: {note(state.position)}"
        head += f"; said {_move(state.said).key}" if state.said else ""
        men = [f"{'BW'[SIGNS[c].isupper()]} {SIGNS[c]} {CELLS[i]}." for i, c in enumerate(state.position[:64]) if c]
        return "\n".join([head, *sorted(men, reverse=True)]) if level == 2 else " ".join([f"{head}.", *men])

    def rebuild(self, caption: str, side: int) -> Marked:
        first, *rest = caption.split("\n")
        head, lines = _HEAD.fullmatch(first), [_LINE.fullmatch(line) for line in rest]
        own = noted(head[3]) if head else None
        if not head or own is None:
            raise QuintainError(f"this is no full caption of a marked piece: {caption[:60]!r}")
        cells = [0] * 64
        for line in lines:
            if line:
                cells[CELLS.index(line[3])] = SIGNS.index(line[2])
        said = tuple([CELLS.index(name) for name in (head[4] or "").split()])
        return Marked((*cells, *own, 1, "WB".index(head[1])), CELLS.index(head[2]), said)

    def scene(self, state: Marked, side: int) -> Scene:
        mover = state.position[-1]
        scene = GAMES.scene(Match(Setup(()), state.position, mover), mover)
        row, column = divmod(state.marked, 8)
        mark = Box(x=column + 1.04, y=row + 1.04, width=0.92, height=0.92, line="brick", thick=0.09, radius=0.1)
        said = [Disc(x=c % 8 + 1.5, y=c // 8 + 1.5, radius=0.2, fill="blue", line="white") for c in state.said]
        corner = (ART["K"], ART["k"])[mover]
        return replace(scene, cells=(corner, *scene.cells[1:]), shapes=(*scene.shapes, mark, *said))

    def static(self, state: Marked, side: int) -> tuple[str, ...]:
        men = [SIGNS[c] + name for c, name in zip(state.position, CELLS, strict=False) if c]
        return (
            f"move-{'WB'[state.position[-1]]}",
            f"marked-{CELLS[state.marked]}",
            *note(state.position).split(),
            *men,
        )

    def moving(self, state: Marked, side: int) -> tuple[str, ...]:
        return tuple([f"said-{CELLS[c]}" for c in state.said])

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        told = [f"{kind}-{name}" for kind in ("marked", "said") for name in CELLS]
        men = [sign + name for sign in SIGNS[1:] for name in CELLS]
        return ("move-W", "move-B", *told, *men, *CELLS, *Chess().board.vocabulary)
