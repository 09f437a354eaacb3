"""Word search: words stand in a square of letters in eight directions; each move marks one by its first and last cell."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quintain.types import Ints, QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.cells import framed, labelled, name_of, names_of, read_cell, unframed
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.engines.words.lexicon import LETTERS, words_of
from quintain.worlds.kernel import Answer, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Scene

SAYINGS = {
    "found": "You found {}.",
    "nothing": "No word that is still to be found stands there.",
    "won": "That was the last word.",
}
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (-1, 1), (0, -1), (-1, 0), (-1, -1), (1, -1))
SPARE = 2  # wrong marks that a turn budget allows
_WORD = re.compile(
    r"^(?!not\b|never\b|avoid\b|without\b|cannot\b)[a-z]{3,15}(?:\s*[:=]|\s+(?:at|from)|(?=\s*\()|(?=\s+[a-z]\d))\s*",
    re.ASCII,
)  # that is found there
_MARK = re.compile(r"(.+?)\s*(?:->|-|\bto\b|:|>)\s*(.+)|([a-z] ?\d+),? *([a-z] ?\d+)", re.ASCII)

tiles(
    {
        "miss-first": (Box(x=0.06, y=0.06, width=0.88, height=0.88, line="brick", thick=0.1, radius=0.3),),
        "miss-last": (Box(x=0.06, y=0.06, width=0.88, height=0.88, line="wine", thick=0.06, radius=0.3),),
    }
)


@dataclass(frozen=True, slots=True)
class Search:
    """The state: the letters row by row, the side, the words to find, the cells of those found, one tuple each, the turn budget, and
    the ends of the mark before, if it was a miss.
    """

    letters: str
    side: int
    words: tuple[str, ...]
    found: tuple[Ints, ...] = ()
    budget: int = 0
    miss: Ints = ()


@functools.lru_cache(maxsize=1 << 14)
def line(side: int, first: int, last: int) -> Ints:
    """The cells from one to another in a straight line, or () if there is none."""
    (y, x), (v, u) = divmod(first, side), divmod(last, side)
    dy, dx = v - y, u - x
    steps = max(abs(dy), abs(dx))
    if not steps or (dy and dx and abs(dy) != abs(dx)):
        return ()
    return tuple([(y + i * dy // steps) * side + x + i * dx // steps for i in range(steps + 1)])


@functools.lru_cache(maxsize=256)
def where(letters: str, side: int, word: str) -> Ints:
    """The cells of the first place at which a word stands, or ()."""
    for start, sign in enumerate(letters):
        if sign != word[0]:
            continue
        y, x = divmod(start, side)
        for dy, dx in DIRECTIONS:
            v, u = y + dy * (len(word) - 1), x + dx * (len(word) - 1)
            if 0 <= v < side and 0 <= u < side:
                cells = line(side, start, v * side + u)
                if all(letters[c] == s for c, s in zip(cells, word, strict=True)):
                    return cells
    return ()


@dataclass(frozen=True)
class SearchGame:
    """Word search as `turns.Game`. Knobs: `side`, `count` of words, `ways` (2, 4 or 8 directions)."""

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Search | None:
        side, cells = knobs["side"], {}
        pool = [w for n in range(3, min(side, 6) + 1) for w in words_of(n) if n > 3 or side < 6]
        chosen: list[str] = []
        for _ in range(60 * knobs["count"]):
            if len(chosen) == knobs["count"]:
                break
            word = rng.pick(pool)
            if any(word in w or w in word or word[::-1] in w or w[::-1] in word for w in chosen):
                continue
            dy, dx = DIRECTIONS[rng.below(knobs["ways"])]
            y, x = rng.below(side), rng.below(side)
            spots = [(y + i * dy, x + i * dx) for i in range(len(word))]
            if all(0 <= v < side and 0 <= u < side for v, u in (spots[0], spots[-1])) and all(
                cells.get(spot, sign) == sign for spot, sign in zip(spots, word, strict=True)
            ):
                cells.update(zip(spots, word, strict=True))
                chosen.append(word)
        if len(chosen) < knobs["count"]:
            return None
        common = "".join(chosen)
        letters = "".join([cells.get(divmod(i, side)) or rng.pick(common) for i in range(side * side)])
        return Search(letters, side, tuple(sorted(chosen)), (), knobs["count"] + SPARE)

    def layout(self, state: Search) -> str:
        return state.letters

    def turns(self, state: Search) -> int:
        return state.budget

    def mover(self, state: Search) -> int:
        return 0 if len(state.found) < len(state.words) else -1

    def legal(self, state: Search) -> tuple[Move, ...]:
        return ()

    def guess(self, state: Search, rng: Rng) -> Move:
        cells = range(state.side**2)
        return _move(divmod(rng.pick(cells), state.side), divmod(rng.pick(cells), state.side))

    def read(self, text: str) -> Move | None:
        parts = _MARK.fullmatch(_WORD.sub("", text))
        if not parts:
            return None
        first, last = read_cell(parts[1] or parts[3]), read_cell(parts[2] or parts[4])
        return _move(first, last) if first and last and max(*first, *last) < 20 else None

    def play(self, state: Search, move: Move) -> After[Search] | None:
        (y, x), (v, u) = move.value
        if max(y, x, v, u) >= state.side:
            return None
        cells = line(state.side, y * state.side + x, v * state.side + u)
        text = "".join([state.letters[c] for c in cells])
        left = self._left(state)
        word = text if text in left else text[::-1] if text[::-1] in left else ""
        if not word:
            ends = (y * state.side + x, v * state.side + u)
            missed = Search(state.letters, state.side, state.words, state.found, state.budget, ends)
            return After(missed, events=(("nothing",),))
        after = Search(state.letters, state.side, state.words, (*state.found, cells), state.budget)
        if len(left) == 1:
            return After(after, (WON,), True, ((f"found:{word}", "won"),))
        return After(after, events=((f"found:{word}",),))

    def _left(self, state: Search) -> tuple[str, ...]:
        read = {"".join([state.letters[c] for c in cells]) for cells in state.found}
        return tuple([w for w in state.words if w not in read and w[::-1] not in read])

    def advise(self, state: Search) -> Answer:
        """A place of each word that is left."""
        moves = []
        for word in self._left(state):
            cells = where(state.letters, state.side, word)
            if not cells:
                return Unsolvable(f"{word} stands nowhere")
            moves.append(_move(divmod(cells[0], state.side), divmod(cells[-1], state.side)))
        return Plan(tuple(moves), first=tuple(moves))

    def caption(self, state: Search, side: int, level: int) -> str:
        lines = [f"Words to find: {', '.join(self._left(state))}"]
        if level == 2:
            lines.append(f"All words: {', '.join(state.words)}")
            names = names_of(state.side, state.side)
            lines.append(f"Marked: {', '.join(f'{names[c[0]]}-{names[c[-1]]}' for c in state.found) or 'none'}")
            lines.append(f"Last miss: {'-'.join(names[c] for c in state.miss) or 'none'}")
        return "\n".join([*lines, framed(state.letters, state.side)])

    def rebuild(self, caption: str, side: int) -> Search:
        """See `World.rebuild`."""
        lines = caption.split("\n")
        grid = unframed(lines[4:])
        if not grid or not lines[2].startswith("Marked: "):
            raise QuintainError(f"this is no full caption of a word search: {caption[:60]!r}")
        letters, wide = grid
        names, said = names_of(wide, wide), lines[2].partition(": ")[2]
        ends = [one.split("-") for one in said.split(", ")] if "-" in said else []
        found = tuple([line(wide, names.index(a), names.index(b)) for a, b in ends])
        missed = lines[3].partition(": ")[2]
        miss = tuple([names.index(c) for c in missed.split("-")]) if "-" in missed else ()
        return Search(letters, wide, tuple(lines[1].partition(": ")[2].split(", ")), found, 0, miss)

    def static(self, state: Search, side: int) -> tuple[str, ...]:
        return (
            *(f"{sign}@{name}" for sign, name in zip(state.letters, names_of(state.side, state.side), strict=True)),
            *state.words,
        )

    def moving(self, state: Search, side: int) -> tuple[str, ...]:
        names = names_of(state.side, state.side)
        marked = [f"{names[c[0]]}-{names[c[-1]]}" for c in state.found]
        return (*marked, "miss", "-".join([names[c] for c in state.miss])) if state.miss else tuple(marked)

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        side = knobs["side"]
        names = names_of(side, side)
        out = [f"{sign}@{name}" for name in names for sign in LETTERS]
        out += [word for n in range(3, 7) for word in words_of(n)]
        return (*out, "miss", *(f"{a}-{b}" for a in names for b in names))

    def scene(self, state: Search, side: int) -> Scene:
        """The letters, gold where a word was marked, ringed at the ends of a miss; below, the words, struck out when found."""
        marked = {c for cells in state.found for c in cells}
        ends = ("first", "last") if state.miss and state.miss[0] != state.miss[1] else ("last", "last")
        missed = dict(zip(state.miss, ends, strict=False))
        cells = [f"{'found' if i in marked else 'letter'}-{sign}" for i, sign in enumerate(state.letters)]
        cells = [f"{cell}+miss-{missed[i]}" if i in missed else cell for i, cell in enumerate(cells)]
        board = labelled(cells, state.side)
        left, wide = set(self._left(state)), state.side + 1
        rows: list[list[str]] = [[], [""]]  # a gap first
        for word in state.words:
            if len(rows[-1]) + len(word) > wide:
                rows.append([""])
            rows[-1] += [f"{'plain' if word in left else 'done'}-{sign}" for sign in word] + [""]
        below = [name for row in rows for name in (row + [""] * wide)[:wide]]
        return Scene(width=wide, height=board.height + len(rows), cells=(*board.cells, *below), columns=wide)


@functools.lru_cache(maxsize=1 << 14)
def _move(first: tuple[int, int], last: tuple[int, int]) -> Move:
    return Move(f"{name_of(*first)}-{name_of(*last)}", (first, last))
