"""Crossings: put listed words into a crossword so that all crossing letters agree."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.types import Ints, QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.engines.cards.deck import Sheet
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.engines.words.lexicon import words_of
from quintain.worlds.kernel import Answer, Move, Plan, Unknown, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Run, Scene

SAYINGS = {
    "won": "All words stand.",
    "wrong": "Every place is filled, but crossing letters differ or a word is used twice.",
}
SPARE = 2  # turns beyond one for each word
NODES = 20_000
_FILL = re.compile(
    r"(\d{1,2})(?:[ -]?(?:across|down))?\s*(?:=|:|->|-|\.|\s)\s*([a-z]{3,6})"
    r"|(?:(?:put|write|place) )?([a-z]{3,6}) (?:in|into|at) (?:place )?(\d{1,2})(?:[ -](?:across|down))?",
    re.ASCII,
)
_WAY = re.compile(r"\d{1,2}\s*[:.-]?\s*(?:across|down)", re.ASCII)  # a place and no word, though `down` is one too
UNFILLED = "unfilled"  # longer than any listed word, so none reads like a place that holds nothing
_PLACE = re.compile(r"(\d+): (across|down) from row (\d+) column (\d+), (\d) letters, (\w+)")
tiles({f"slot-{n}": (Run(text=str(n), x=0.5, y=0.52, size=0.62, color="blue"),) for n in range(1, 31)})


@dataclass(frozen=True)
class Plan2d:
    """What never changes: the places of words (row, column, 1 if downwards, letters), the words, the turn budget."""

    places: tuple[Ints, ...]
    words: tuple[str, ...]
    budget: int = 0


@dataclass(frozen=True, slots=True)
class Crossing:
    """The state: the plan, and the word in each place, empty where there is none."""

    plan: Plan2d
    filled: tuple[str, ...]


@functools.lru_cache(maxsize=512)
def cells_of(places: tuple[Ints, ...]) -> tuple[tuple[tuple[int, int], ...], ...]:
    """The cells (row, column) of each place."""
    return tuple(tuple([(y + i * down, x + i * (1 - down)) for i in range(n)]) for y, x, down, n in places)


def stands(plan: Plan2d, filled: Sequence[str]) -> bool:
    """Whether each listed word is in one place and all crossing letters agree."""
    signs: dict[tuple[int, int], str] = {}
    for word, cells in zip(filled, cells_of(plan.places), strict=True):
        if len(word) != len(cells) or any(signs.setdefault(c, s) != s for c, s in zip(cells, word, strict=True)):
            return False
    return sorted(filled) == sorted(plan.words)


@functools.lru_cache(maxsize=512)
def solution(plan: Plan2d, kept: tuple[str, ...] = ()) -> tuple[tuple[str, ...] | None, int]:
    """A way to place all words that keeps those of `kept` where they can stay, or None, and the search nodes."""
    places = cells_of(plan.places)
    count = 0

    def search(filled: list[str], signs: dict[tuple[int, int], str], left: list[str]) -> list[str] | None:
        nonlocal count
        count += 1
        if not left or count > NODES:
            return filled if not left else None
        best: tuple[int, list[str]] | None = None
        for i, cells in enumerate(places):
            if filled[i]:
                continue
            fits = [
                w
                for w in left
                if len(w) == len(cells) and all(signs.get(c, s) == s for c, s in zip(cells, w, strict=True))
            ]
            if best is None or len(fits) < len(best[1]):
                best = i, fits
        if best is None:
            return None
        at, fits = best
        for word in sorted(fits, key=lambda w: (not kept or w != kept[at], w)):
            now = [*filled[:at], word, *filled[at + 1 :]]
            found = search(now, {**signs, **dict(zip(places[at], word, strict=True))}, [w for w in left if w != word])
            if found:
                return found
        return None

    found = search([""] * len(places), {}, list(plan.words))
    return (tuple(found) if found else None), count


@dataclass(frozen=True)
class CrossGame:
    """Crossings as `turns.Game`. Knobs: `side` of the square that holds them, `count` of words, `longest` word."""

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Crossing | None:
        side, longest = knobs["side"], knobs["longest"]
        grid: dict[tuple[int, int], str] = {}
        first = rng.pick(words_of(longest))
        placed = [(side // 2, (side - len(first)) // 2, 0, first)]
        self._write(grid, placed[0])
        cells = list(grid)
        for _ in range(300):
            if len(placed) == knobs["count"]:
                break
            y, x = rng.pick(cells)
            down = int((y, x - 1) in grid or (y, x + 1) in grid)
            word, at = rng.pick(_having(grid[y, x], longest))
            place = (y - at * down, x - at * (1 - down), down, word)
            if all(word != p[3] for p in placed) and self._fits(grid, place, side):
                placed.append(place)
                self._write(grid, place)
                cells = list(grid)
        if len(placed) < knobs["count"]:
            return None
        placed.sort()
        if len({(y - down, x - 1 + down) for y, x, down, _ in placed}) < len(placed):
            return None  # two numbers would stand in one cell of the picture
        places = tuple([(y, x, down, len(word)) for y, x, down, word in placed])
        plan = Plan2d(places, tuple(sorted([p[3] for p in placed])), len(placed) + SPARE)
        return Crossing(plan, ("",) * len(placed))

    def _write(self, grid: dict[tuple[int, int], str], place: tuple[int, int, int, str]) -> None:
        y, x, down, word = place
        grid.update({(y + i * down, x + i * (1 - down)): sign for i, sign in enumerate(word)})

    def _fits(self, grid: Mapping[tuple[int, int], str], place: tuple[int, int, int, str], side: int) -> bool:
        """Whether a word crosses others with equal letters and touches none besides."""
        y, x, down, word = place
        right = 1 - down
        if y < 0 or x < 0 or y + down * (len(word) - 1) >= side or x + right * (len(word) - 1) >= side:
            return False
        if (y - down, x - right) in grid or (y + down * len(word), x + right * len(word)) in grid:
            return False
        for i, sign in enumerate(word):
            cell = (y + i * down, x + i * right)
            beside = ((cell[0] + right, cell[1] + down), (cell[0] - right, cell[1] - down))
            if cell in grid:
                if grid[cell] != sign:
                    return False
            elif any(b in grid for b in beside):
                return False
        return True

    def layout(self, state: Crossing) -> str:
        return f"{state.plan.places} {state.plan.words}"

    def turns(self, state: Crossing) -> int:
        return state.plan.budget

    def mover(self, state: Crossing) -> int:
        return -1 if stands(state.plan, state.filled) else 0

    def legal(self, state: Crossing) -> tuple[Move, ...]:
        return () if stands(state.plan, state.filled) else _legal(state.plan, state.filled)

    def guess(self, state: Crossing, rng: Rng) -> Move:
        return _move(1 + rng.below(len(state.filled)), rng.pick(state.plan.words))

    def read(self, text: str) -> Move | None:
        found = None if _WAY.fullmatch(text) else _FILL.fullmatch(text)
        number, word = (found[1] or found[4], found[2] or found[3]) if found else ("0", "")
        return _move(int(number), word) if int(number) else None

    def play(self, state: Crossing, move: Move) -> After[Crossing] | None:
        number, word = move.value
        filled = (*state.filled[: number - 1], word, *state.filled[number:])
        after = Crossing(state.plan, filled)
        if stands(state.plan, filled):
            return After(after, (WON,), True, (("won",),))
        return After(after, events=((("wrong",),) if all(filled) else ()))

    def advise(self, state: Crossing) -> Answer:
        """A word for each place where another or none stands."""
        found, nodes = solution(state.plan, state.filled)
        if found is None:
            return Unknown(nodes) if nodes > NODES else Unsolvable("the words do not fit")
        wrong = [(i + 1, w) for i, (w, old) in enumerate(zip(found, state.filled, strict=True)) if w != old]
        return Plan(tuple([_move(n, w) for n, w in wrong]))

    def caption(self, state: Crossing, side: int, level: int) -> str:
        lines = [f"Words: {', '.join(state.plan.words)}"]
        if level == 1:
            return f"{lines[0]}\nEmpty places: {', '.join(str(i + 1) for i, w in enumerate(state.filled) if not w) or 'none'}"
        for i, ((y, x, down, n), word) in enumerate(zip(state.plan.places, state.filled, strict=True)):
            way = "down" if down else "across"
            lines.append(f"{i + 1}: {way} from row {y + 1} column {x + 1}, {n} letters, {word or UNFILLED}")
        return "\n".join(lines)

    def rebuild(self, caption: str, side: int) -> Crossing:
        """See `World.rebuild`."""
        head, *lines = caption.split("\n")
        found = [_PLACE.fullmatch(one) for one in lines]
        if not head.startswith("Words: ") or not all(found):
            raise QuintainError(f"this is no full caption of crossings: {caption[:60]!r}")
        places = tuple([(int(f[3]) - 1, int(f[4]) - 1, int(f[2] == "down"), int(f[5])) for f in found if f])
        filled = tuple(["" if f[6] == UNFILLED else f[6] for f in found if f])
        return Crossing(Plan2d(places, tuple(head.partition(": ")[2].split(", "))), filled)

    def static(self, state: Crossing, side: int) -> tuple[str, ...]:
        marks = [f"{'down' if d else 'across'}-{i + 1}-{y}-{x}-{n}" for i, (y, x, d, n) in enumerate(state.plan.places)]
        return (*marks, *state.plan.words)

    def moving(self, state: Crossing, side: int) -> tuple[str, ...]:
        return tuple([f"{i + 1}={word}" for i, word in enumerate(state.filled) if word])

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        every = [w for n in range(3, knobs["longest"] + 1) for w in words_of(n)]
        numbers, side = range(1, knobs["count"] + 1), range(knobs["side"])
        out = [f"{n}={w}" for n in numbers for w in every] + every
        marks = [
            f"{n}-{y}-{x}-{k}" for n in numbers for y in side for x in side for k in range(3, knobs["longest"] + 1)
        ]
        return (*out, *(f"{way}-{mark}" for way in ("across", "down") for mark in marks))

    def scene(self, state: Crossing, side: int) -> Scene:
        """The places with their numbers before them, what was written, and the words below, struck out when used.

        Where crossing words differ, both letters are in the caption and the later one is in the picture, in grey.
        """
        plan = state.plan
        tall = 2 + max(y + d * (n - 1) for y, x, d, n in plan.places)
        wide = max(2 + max(x + (1 - d) * (n - 1) for y, x, d, n in plan.places), 12)
        rows: list[list[str]] = [[]]
        for number, word in sorted(
            [(state.filled.index(w) + 1 if w in state.filled else 0, w) for w in plan.words], key=lambda p: p[1]
        ):
            if len(rows[-1]) + len(word) + 2 > wide:
                rows.append([])
            rows[-1] += ["", f"slot-{number}" if number else ""][not rows[-1] :] + [
                f"{'done' if number else 'plain'}-{sign}" for sign in word
            ]
        sheet = Sheet(wide, tall + len(rows))
        signs: dict[tuple[int, int], str] = {}
        for word, cells in zip(state.filled, cells_of(plan.places), strict=True):
            for i, cell in enumerate(cells):
                sign = word[i] if word else ""
                old = signs.get(cell, "")
                signs[cell] = f"miss-{sign}" if sign and old and old[-1] != sign else f"letter-{sign}" if sign else old
        for i, (y, x, down, _) in enumerate(plan.places):
            sheet.put(y + 1 - down, x + down, [f"slot-{i + 1}"])
        for (y, x), tile in signs.items():
            sheet.put(y + 1, x + 1, [tile or "letter-open"])
        for i, row in enumerate(rows):
            sheet.put(tall + i, 0, row)
        return sheet.scene()


@functools.lru_cache(maxsize=1 << 14)
def _move(number: int, word: str) -> Move:
    return Move(f"{number}={word}", (number, word))


@functools.cache
def _having(sign: str, longest: int) -> tuple[tuple[str, int], ...]:
    """The words with a letter, and where it stands in them."""
    every = [w for n in range(3, longest + 1) for w in words_of(n)]
    return tuple([(word, i) for word in every for i, s in enumerate(word) if s == sign])


@functools.lru_cache(maxsize=4096)
def _legal(plan: Plan2d, filled: tuple[str, ...]) -> tuple[Move, ...]:
    places = enumerate(zip(plan.places, filled, strict=True), 1)
    return tuple([_move(i, w) for i, (place, old) in places for w in plan.words if len(w) == place[3] and w != old])
