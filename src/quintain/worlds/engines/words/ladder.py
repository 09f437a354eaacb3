"""Word ladders: go from one word to another over listed words, one letter at a time."""

from __future__ import annotations

import functools
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quintain.types import QuintainError
from quintain.worlds.engines.cards.deck import Sheet
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.engines.words.lexicon import alone, words_of
from quintain.worlds.kernel import Answer, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene

SAYINGS = {"won": "You have reached the last word."}
_STEP = re.compile(r"(?:(?:from|change|step) )?([a-z]{3,6})(?:\s*(?:[-=]?>|→)\s*| to )([a-z]{3,6})")
_HEAD = re.compile(r"From (\w+) to (\w+)\. Words: ([a-z ]+)\. Way: ([a-z >]+)")
ACROSS = 3  # words in a row of the picture


@dataclass(frozen=True, slots=True)
class Ladder:
    """The state: the words that may be used, the one to reach, the way so far, the turn budget."""

    words: tuple[str, ...]
    goal: str
    way: tuple[str, ...]
    budget: int = 0


@functools.cache
def steps_of(length: int) -> Mapping[str, tuple[str, ...]]:
    """Each word of the list with those that differ from it in one letter."""
    groups: dict[str, list[str]] = {}
    for word in words_of(length):
        for i in range(length):
            groups.setdefault(f"{word[:i]}_{word[i + 1 :]}", []).append(word)
    return {
        word: tuple([o for i in range(length) for o in groups[f"{word[:i]}_{word[i + 1 :]}"] if o != word])
        for word in words_of(length)
    }


@functools.lru_cache(maxsize=4096)
def way_of(words: tuple[str, ...], start: str, goal: str) -> tuple[str, ...] | None:
    """A shortest way over these words, without the start, or None."""
    allowed, near = set(words), steps_of(len(start))
    came = {start: ""}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        if here == goal:
            out = []
            while here != start:
                out.append(here)
                here = came[here]
            return tuple(out[::-1])
        for word in near[here]:
            if word in allowed and word not in came:
                came[word] = here
                queue.append(word)
    return None


@dataclass(frozen=True)
class LadderGame:
    """Ladders as `turns.Game`. Knobs: `length` of the words, `steps` from first to last, `words` listed, `spare` turns."""

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Ladder | None:
        near, every = steps_of(knobs["length"]), words_of(knobs["length"])
        way = [rng.pick(every)]
        for _ in range(knobs["steps"]):
            fresh = [w for w in near[way[-1]] if w not in way and not set(near[w]) & set(way[:-1])]
            if not fresh:
                return None
            way.append(rng.pick(fresh))
        chosen = list(way)
        for _ in range(20 * knobs["words"]):  # other words hang on those that are there, and never make the way shorter
            if len(chosen) == knobs["words"]:
                break
            word = rng.pick(near[rng.pick(chosen)])
            if word not in chosen:
                chosen.append(word)
                if len(_shortest(chosen, way)) < knobs["steps"]:
                    chosen.pop()
        if len(chosen) < knobs["words"]:
            return None
        return Ladder(tuple(sorted(chosen)), way[-1], (way[0],), knobs["steps"] + knobs["spare"])

    def layout(self, state: Ladder) -> str:
        return " ".join(sorted((state.goal, state.way[0])))

    def turns(self, state: Ladder) -> int:
        return state.budget

    def mover(self, state: Ladder) -> int:
        return -1 if state.way[-1] == state.goal else 0

    def legal(self, state: Ladder) -> tuple[Move, ...]:
        return _legal(state.words, state.way[-1]) if state.way[-1] != state.goal else ()

    def guess(self, state: Ladder, rng: Rng) -> Move:
        return _move(rng.pick(state.words))

    def read(self, text: str) -> Move | None:
        found = re.fullmatch(r"(?:(?:go|move|step|change) )?to:?\s+([a-z]{3,6})", text)
        if not found and (step := _STEP.fullmatch(text)) and len(step[1]) == len(step[2]):
            return _move(step[2]) if step[2] in steps_of(len(step[1])).get(step[1], ()) else None
        if not found and alone(text):
            return Move(f"to {text}", text, True)
        return _move(found[1]) if found else None

    def play(self, state: Ladder, move: Move) -> After[Ladder] | None:
        word = move.value
        if word not in state.words or word not in steps_of(len(state.goal))[state.way[-1]]:
            return None
        after = Ladder(state.words, state.goal, (*state.way, word), state.budget)
        return After(after, (WON,), True, (("won",),)) if word == state.goal else After(after)

    def advise(self, state: Ladder) -> Answer:
        """A shortest way."""
        way = way_of(state.words, state.way[-1], state.goal)
        return Unsolvable("there is no way") if way is None else Plan(tuple([_move(w) for w in way]))

    def caption(self, state: Ladder, side: int, level: int) -> str:
        if level == 1:
            return f"You are at {state.way[-1]} and go to {state.goal}; words: {' '.join(state.words)}."
        words, way = " ".join(state.words), " > ".join(state.way)
        return f"From {state.way[0]} to {state.goal}. Words: {words}. Way: {way}"

    def rebuild(self, caption: str, side: int) -> Ladder:
        """See `World.rebuild`."""
        found = _HEAD.fullmatch(caption)
        if not found:
            raise QuintainError(f"this is no full caption of a word ladder: {caption[:60]!r}")
        return Ladder(tuple(found[3].split()), found[2], tuple(found[4].split(" > ")))

    def static(self, state: Ladder, side: int) -> tuple[str, ...]:
        return (*state.words, "goal", state.goal)

    def moving(self, state: Ladder, side: int) -> tuple[str, ...]:
        return ("way", *state.way)

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        return ("to", "goal", "way", *words_of(knobs["length"]))

    def scene(self, state: Ladder, side: int) -> Scene:
        """The listed words: gold where you are, green the goal, struck out where you have been; below the end of the way and
        how many words of it came before."""
        length = len(state.goal)
        rows = -(-len(state.words) // ACROSS)
        room = max(ACROSS * (length + 1) - rows - 1, 2)  # rows below, so that letters stay as large
        way = state.way[-room * ACROSS :]
        below = -(-len(way) // ACROSS)
        sheet = Sheet(ACROSS * (length + 1), max(rows + below + 1, ACROSS * (length + 1) * 2 // 3))
        for i, word in enumerate(state.words):
            mark = (
                "here"
                if word == state.way[-1]
                else "goal"
                if word == state.goal
                else "done"
                if word in state.way
                else "plain"
            )
            sheet.put(i // ACROSS, i % ACROSS * (length + 1), [f"{mark}-{sign}" for sign in word])
        if len(way) < len(state.way):
            sheet.put(rows, 0, [f"n-{len(state.way) - len(way)}"])
        for i, word in enumerate(way):
            sheet.put(rows + 1 + i // ACROSS, i % ACROSS * (length + 1), [f"found-{sign}" for sign in word])
        return sheet.scene()


def _shortest(chosen: list[str], way: list[str]) -> tuple[str, ...]:
    return way_of(tuple(chosen), way[0], way[-1]) or ()


@functools.lru_cache(maxsize=4096)
def _move(word: str) -> Move:
    return Move(f"to {word}", word)


@functools.lru_cache(maxsize=4096)
def _legal(words: tuple[str, ...], here: str) -> tuple[Move, ...]:
    near = steps_of(len(here))[here]
    return tuple([_move(word) for word in words if word in near])
