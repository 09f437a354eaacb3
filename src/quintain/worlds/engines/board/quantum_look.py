"""What marks in two cells at once look like, and how their moves are written."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from quintain.types import Ints, QuintainError
from quintain.worlds.cells import LETTERS, sized
from quintain.worlds.engines.board.game import Match, Setup, next_side
from quintain.worlds.engines.board.men import MenGame
from quintain.worlds.engines.board.men_look import MenLook
from quintain.worlds.engines.board.quantum import Quantum
from quintain.worlds.engines.turns import digit_words, digits
from quintain.worlds.kernel import Move
from quintain.worlds.scene import Box, Disc, Run, Scene, Shape
from quintain.worlds.splits import symmetries

_HEAD = re.compile(
    r"You play (\w); (\w|nobody) is to move; (\d+) moves? (?:are|is) left\.( The latest mark closes a loop\.)?"
)
_SIZE = re.compile(r"The board has columns a-([a-z]) and rows 1-(\d+)\.")
_NUMBERED, _SETTLED = re.compile(r"\b[xo]\d{1,2}\b\s*[:~]?"), re.compile(r"[a-z]\d.*\bsettle")
_MARK = re.compile(r"[XO](\d+) (in|in one of) (\S+)(?: (\S+))?\.")


def _fits(game: MenGame, position: Ints, knobs: Mapping[str, Any]) -> bool:
    return game.peak(position) < 1


class QuantumLook:
    """Quantum tic-tac-toe as `board.game.Look`; openings and words of moves are those of other games of men."""

    def __init__(self) -> None:
        inner = MenLook(Quantum, ("columns", "rows"), {}, fits=_fits)
        self.game, self.options, self.opening, self.suits = inner.game, inner.options, inner.opening, inner.suits
        self.varied, self.longest, self.static = inner.varied, inner.longest, inner.static
        self.move, self.index, self._read = inner.move, inner.index, inner.read

    def _marks(self, match: Match) -> dict[int, Ints]:
        """Mark -> the one cell where it is settled, or its two cells, by number."""
        rules = Quantum(*match.setup.options)
        settled = {mark: (i,) for i, mark in enumerate(match.position[: rules.cells]) if mark}
        return dict(sorted({**settled, **rules.open(match.position)}.items()))

    def layout(self, match: Match) -> str:
        marks, images = self._marks(match), []
        for turn in symmetries(*match.setup.options):
            to = {old: new for new, old in enumerate(turn)}
            images.append(str([sorted([to[i] for i in cells]) for cells in marks.values()]))
        return min(images) + str(match.setup.options)

    def caption(self, match: Match, me: int, level: int) -> str:
        (columns, rows), left = match.setup.options, match.position[-2]
        names = self.game(match.setup.options).names
        mover = "XO"[match.mover] if self.game(match.setup.options).worth(match.position) is None else "nobody"
        head = f"You play {'XO'[me]}; {mover} is to move; {left} {'move is' if left == 1 else 'moves are'} left."
        head += " The latest mark closes a loop." if match.position[2 * columns * rows] else ""
        told = []
        for mark, cells in self._marks(match).items():
            where = f"{'in one of' if len(cells) > 1 else 'in'} {' '.join([names[i] for i in cells])}"
            told.append(f"{'OX'[mark & 1]}{mark} {where}.")
        return ("\n" if level == 2 else " ").join([head, sized(columns, rows), *told])

    def rebuild(self, caption: str) -> Match:
        head, _, rest = caption.partition("\n")
        first, *lines = rest.split("\n")
        said, size = _HEAD.fullmatch(head), _SIZE.fullmatch(first)
        found = [_MARK.fullmatch(line) for line in lines if line]
        if not said or not size or None in found:
            raise QuintainError(f"this is no full caption of this game: {caption[:60]!r}")
        options = (LETTERS.index(size[1]) + 1, int(size[2]))
        names = self.game(options).names
        cells, pairs = [0] * len(names), [0] * len(names)
        for mark in found:
            if mark and mark[4]:
                pairs[int(mark[1]) - 1] = names.index(mark[3]) * len(names) + names.index(mark[4]) + 1
            elif mark:
                cells[names.index(mark[3])] = int(mark[1])
        told = (*cells, *pairs, int(bool(said[4])), int(said[3]))
        side = "XO".index(said[2]) if len(said[2]) == 1 else next_side(self.game(options), (*told, 0), (*told, 1))
        return Match(Setup(options), (*told, side), side)

    def scene(self, match: Match, me: int) -> Scene:
        """Settled marks fill their cell; open ones are small, in the order of their numbers."""
        columns, rows = match.setup.options
        cells = [f"men-{'XO'[me]}-{match.position[-2]}", *(f"label-{sign}" for sign in LETTERS[:columns])]
        for row in range(1, rows + 1):
            cells += [f"label-{row}", *["plain"] * columns]
        marks, shapes = self._marks(match), list[Shape]()
        latest = max(marks, default=0) if match.position[2 * columns * rows] else 0
        for i in range(columns * rows):
            here = [mark for mark, where in marks.items() if i in where]
            linked = len(here) > 1 or any(len(marks[mark]) > 1 for mark in here)
            across = max(2, math.isqrt(len(here) - 1) + 1) if linked else 1
            for k, mark in enumerate(here):
                x = 1 + i % columns + (k % across + 0.5) / across
                y = 1 + i // columns + (k // across + 0.5) / across
                shapes += _mark(mark, round(x, 3), round(y, 3), 0.42 / across, mark == latest)
        return Scene(width=columns + 1, height=rows + 1, cells=tuple(cells), columns=columns + 1, shapes=tuple(shapes))

    def moving(self, match: Match) -> tuple[str, ...]:
        names = self.game(match.setup.options).names
        loop = ("loop",) if match.position[2 * len(names)] else ()
        marks = self._marks(match).items()
        return (
            *digits("left", match.position[-2]),
            *loop,
            *[f"{mark}{'~' if len(cells) > 1 else '='}{names[i]}" for mark, cells in marks for i in cells],
        )

    def words(self, knobs: Mapping[str, Any], sides: int) -> tuple[str, ...]:
        options = self.options(knobs)
        names = self.game(options).names
        marks = [f"{m}{sign}{name}" for m in range(1, len(names) + 1) for sign in "~=" for name in names]
        fixed = [*(f"play-{side}" for side in "XO"[:sides]), f"columns{options[0]}", f"rows{options[1]}", "loop"]
        return (*names, *fixed, *digit_words("left", 3), *marks)

    def read(self, text: str) -> Move | None:
        """The move with the two cells of a new mark, its last ones, in their order."""
        text = _NUMBERED.sub(" ", text[:400].lower())
        move = None if _SETTLED.search(text) else self._read(text)
        if move is None or " " not in move.key:
            return move
        *first, one, two = move.key.split()
        return Move(" ".join([*first, *sorted((one, two), key=lambda name: (int(name[1:]), name[0]))]))


def _mark(mark: int, x: float, y: float, size: float, ringed: bool) -> tuple[Shape, ...]:
    """A blue square of X or a golden disc of O with its number; ringed if it closes a loop."""
    thick = round((0.34 if ringed else 0.14) * size, 3)
    number = Run(text=str(mark), x=x, y=y, size=round(1.25 * size, 3), color="white" if mark & 1 else "ink")
    if mark & 1:
        line = "plum" if ringed else "navy"
        side = 2 * size - thick
        box = Box(x=x - side / 2, y=y - side / 2, width=side, height=side, fill="blue", line=line, thick=thick)
        return (box, number)
    line = "plum" if ringed else "rust"
    return (Disc(x=x, y=y, radius=size - thick / 2, fill="gold", line=line, thick=thick), number)
