"""Guess what is hidden, a code of pegs or a word, from the marks that each try gets."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.types import QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.engines.cards.deck import Sheet, note, wide_note
from quintain.worlds.engines.turns import WON, After
from quintain.worlds.engines.words.lexicon import LETTERS, alone, words_of
from quintain.worlds.kernel import Answer, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Run, Scene

SAYINGS = {"marks": "Marks: {}.", "won": "That is it.", "lost": "That was the last try."}
PEGS = "abcdefgh"
_FILLS = ("blue", "brick", "gold", "forest", "plum", "ink", "white", "sky")
HIT, NEAR, MISS = "+", "o", "-"
SPARE = 3  # turns for answers that are no tries
AT_ONCE = 60  # words up to which the best next try is worked out

for _sign, _fill in zip(PEGS, _FILLS, strict=True):
    _dark = _fill in ("blue", "brick", "forest", "ink")
    tiles(
        {
            f"peg-{_sign}": (
                Disc(x=0.5, y=0.5, radius=0.43, fill=_fill, line="stone", thick=0.05),
                Run(text=_sign.upper(), x=0.5, y=0.52, size=0.5, color="white" if _dark else "ink"),
            )
        }
    )
tiles(
    {
        "peg-hole": (Disc(x=0.5, y=0.5, radius=0.2, fill="seam"),),
        **wide_note("wide-from", "FROM"),
        **{
            f"hits-{n}": (Box(x=0.05, y=0.15, width=0.9, height=0.7, fill="ink", radius=0.1), *note(str(n), "white"))
            for n in range(9)
        },
        **{
            f"nears-{n}": (Disc(x=0.5, y=0.5, radius=0.42, fill="white", line="stone", thick=0.05), *note(str(n)))
            for n in range(9)
        },
    }
)


@dataclass(frozen=True)
class Form:
    """What never changes: `pegs` or `word`, the length, how many letters may occur, the tries."""

    game: str
    length: int
    letters: int
    tries: int


@dataclass(frozen=True, slots=True)
class Guessing:
    """The state: the form, what is hidden, the tries so far and their marks."""

    form: Form
    hidden: str
    tried: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()


@functools.lru_cache(maxsize=1 << 18)
def marked(hidden: str, tried: str) -> str:
    """The mark of each letter of a try: + in its place, o elsewhere, - nowhere; no letter of the hidden word counts twice.

    Example:
        >>> marked("cheese", "geneve"), marked("abca", "aacc")
        ('-o-+-+', '+o+-')
    """
    left = Counter([h for h, t in zip(hidden, tried, strict=True) if h != t])
    out = []
    for h, t in zip(hidden, tried, strict=True):
        if h == t:
            out.append(HIT)
        elif left[t] > 0:
            left[t] -= 1
            out.append(NEAR)
        else:
            out.append(MISS)
    return "".join(out)


@dataclass(frozen=True)
class GuessGame:
    """Guessing as `turns.Game`. Knobs: `length`, `letters` (pegs: how many colours), `tries`, `given` (tries that are made already).

    Args:
        game: `pegs`, where a try is marked with two counts, or `word`, where each letter is marked.
    """

    game: str

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Guessing | None:
        form = Form(self.game, knobs["length"], knobs["letters"], knobs["tries"])
        state = Guessing(form, self._any(form, rng))
        for _ in range(knobs["given"]):
            state = self._after(state, self._any(form, rng))
        return None if state.hidden in state.tried else state

    def _any(self, form: Form, rng: Rng) -> str:
        if self.game == "word":
            return rng.pick(words_of(form.length))
        return "".join([PEGS[rng.below(form.letters)] for _ in range(form.length)])

    def _after(self, state: Guessing, tried: str) -> Guessing:
        marks = self._seen(marked(state.hidden, tried))
        return Guessing(state.form, state.hidden, (*state.tried, tried), (*state.marks, marks))

    def _seen(self, marks: str) -> str:
        """Marks as they are shown: of pegs only how many."""
        return "".join(sorted(marks)) if self.game == "pegs" else marks

    def layout(self, state: Guessing) -> str:
        return f"{state.form.letters} {state.hidden}" if self.game == "word" else f"{state.hidden} {state.tried}"

    def turns(self, state: Guessing) -> int:
        return state.form.tries - len(state.tried) + SPARE

    def mover(self, state: Guessing) -> int:
        return -1 if state.hidden in state.tried or len(state.tried) >= state.form.tries else 0

    def legal(self, state: Guessing) -> tuple[Move, ...]:
        return ()

    def guess(self, state: Guessing, rng: Rng) -> Move:
        return self._move(self._any(state.form, rng))

    def _move(self, tried: str) -> Move:
        return _move(f"try {tried}" if self.game == "word" else " ".join(tried))

    def read(self, text: str) -> Move | None:
        if self.game == "word":
            found = re.fullmatch(
                r"(?:(?:i )?(?:try|guess)|(?:my )?(?:guess|word)(?: is)?):?\s+([a-z]{3,8}|(?:[a-z] ){2,7}[a-z])", text
            )
            if not found and alone(text):
                return Move(f"try {text}", None, True)
            return _move("try " + found[1].replace(" ", "")) if found else None
        text = re.sub(r"^(?:try|guess|code)\b:?", "", text).strip()
        runs = re.findall("[a-z]+", text)
        if len(runs) > 1 and any(run in words_of(len(run)) for run in runs if 3 <= len(run) <= 6):
            return None  # other words are among the letters
        text = re.sub(r"[\s,;:./>-]+", "", text)
        return _move(" ".join(text)) if 3 <= len(text) <= 8 and not set(text) - set(PEGS) else None

    def play(self, state: Guessing, move: Move) -> After[Guessing] | None:
        form, tried = state.form, move.key.removeprefix("try ").replace(" ", "")
        if len(tried) != form.length or (
            self.game == "pegs" and max(tried) >= PEGS[form.letters : form.letters + 1] > ""
        ):
            return None
        after = self._after(state, tried)
        said = f"marks:{_told(after.marks[-1], self.game)}"
        if tried == state.hidden:
            return After(after, (WON,), True, ((said, "won"),))
        over = len(after.tried) >= form.tries
        return After(after, (), over, ((said, "lost") if over else (said,),))

    def advise(self, state: Guessing) -> Answer:
        """A try that all marks allow; among few words the one that parts the others best."""
        form = state.form
        if self.game == "pegs":
            left = _consistent_pegs(form.letters, form.length, state.tried, state.marks)
        else:
            left = _consistent_words(form.length, state.tried, state.marks)
        if not left:
            return Unsolvable(f"no {'code' if self.game == 'pegs' else 'word'} fits the marks")
        if len(left) == 1:
            return Plan((self._move(left[0]),))
        if self.game == "pegs":
            best = left[0]
        else:
            best = _parting(left) if len(left) <= AT_ONCE else _common(left)
        return Plan((self._move(best),), "policy", (), 0.9)

    def caption(self, state: Guessing, side: int, level: int) -> str:
        form = state.form
        what = (
            f"a code of {form.length} letters from A to {PEGS[form.letters - 1].upper()}" if self.game == "pegs" else ""
        )
        head = f"Hidden: {what or f'a word of {form.length} letters'}. Tries left: {form.tries - len(state.tried)} of {form.tries}."
        rows = [f"{t}: {_told(m, self.game)}" for t, m in zip(state.tried, state.marks, strict=True)]
        return "\n".join([head, *(rows[-1:] if level == 1 else rows)])

    def rebuild(self, caption: str, side: int) -> Guessing:
        """See `World.rebuild`."""
        head, *rows = caption.split("\n")
        found = re.fullmatch(
            r"Hidden: a (?:code|word) of (\d) letters(?: from A to ([A-H]))?\. Tries left: (\d+) of (\d+)\.", head
        )
        if not found:
            raise QuintainError(f"this is no full caption of a guessing game: {caption[:60]!r}")
        letters = PEGS.index(found[2].lower()) + 1 if found[2] else 26
        form = Form(self.game, int(found[1]), letters, int(found[4]))
        tried = tuple([row.partition(": ")[0] for row in rows])
        told = [row.partition(": ")[2] for row in rows]
        if self.game == "pegs":
            counts = [[int(n) for n in re.findall(r"\d+", t)] for t in told]
            marks = [HIT * a + MISS * (form.length - a - b) + NEAR * b for a, b in counts]
        else:
            marks = ["".join(t.split()) for t in told]
        won = next((t for t, m in zip(tried, marks, strict=True) if set(m) == {HIT}), "")
        return Guessing(form, won or "?" * form.length, tried, tuple(marks))

    def static(self, state: Guessing, side: int) -> tuple[str, ...]:
        return (f"length-{state.form.length}", f"letters-{state.form.letters}", f"tries-{state.form.tries}")

    def moving(self, state: Guessing, side: int) -> tuple[str, ...]:
        out = []
        for tried, marks in zip(state.tried, state.marks, strict=True):
            out += [*tried, "=", *(f"{self.game}{mark}" for mark in marks)]
        return tuple(out)

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        fixed = [f"length-{knobs['length']}", f"letters-{knobs['letters']}", f"tries-{knobs['tries']}", "="]
        out = [*fixed, *(f"{self.game}{mark}" for mark in (HIT, NEAR, MISS))]
        if self.game == "word":
            return (*out, "try", *LETTERS, *words_of(knobs["length"]))
        return (*out, *PEGS[: knobs["letters"]])

    def scene(self, state: Guessing, side: int) -> Scene:
        """One row per try. Words: a dark square is in its place, a disc elsewhere, grey nowhere. Pegs: counts of both, colours below."""
        form = state.form
        pegs = self.game == "pegs"
        sheet = (
            Sheet(max(form.length + 3, form.letters + 2), form.tries + 1) if pegs else Sheet(form.length, form.tries)
        )
        if pegs:
            sheet.put(form.tries, 0, ["wide-from", "wide-from-2", *(f"peg-{sign}" for sign in PEGS[: form.letters])])
        for row in range(form.tries):
            if row >= len(state.tried):
                sheet.put(row, 0, ["peg-hole" if pegs else "letter-slot"] * form.length)
                continue
            tried, marks = state.tried[row], state.marks[row]
            if pegs:
                counts = [f"hits-{marks.count(HIT)}", f"nears-{marks.count(NEAR)}"]
                sheet.put(row, 0, [*(f"peg-{sign}" for sign in tried), "", *counts])
            else:
                names = {HIT: "hit", NEAR: "near", MISS: "miss"}
                sheet.put(row, 0, [f"{names[m]}-{sign}" for sign, m in zip(tried, marks, strict=True)])
        return sheet.scene()


@functools.lru_cache(maxsize=1 << 15)
def _move(text: str) -> Move:
    return Move(text)


def _told(marks: str, game: str) -> str:
    if game == "pegs":
        return f"{marks.count(HIT)} in place, {marks.count(NEAR)} elsewhere"
    return " ".join(marks)


@functools.lru_cache(maxsize=1024)
def _consistent_words(length: int, tried: tuple[str, ...], marks: tuple[str, ...]) -> tuple[str, ...]:
    """The words of the list that would have got these marks."""
    return tuple([w for w in words_of(length) if all(marked(w, t) == m for t, m in zip(tried, marks, strict=True))])


@functools.lru_cache(maxsize=256)
def _consistent_pegs(letters: int, length: int, tried: tuple[str, ...], marks: tuple[str, ...]) -> tuple[str, ...]:
    """The first two codes, in an order that the tries decide, that would have got these marks; fewer if there are no more."""
    rng = Rng("codes", tried)
    signs = list(PEGS[:letters])
    rng.shuffle(signs)
    rows = [(t, m.count(HIT), m.count(HIT) + m.count(NEAR)) for t, m in zip(tried, marks, strict=True)]

    def possible(code: str) -> bool:
        """Whether a beginning of a code can still get all marks."""
        left = length - len(code)
        for t, hits, both in rows:
            now = sum(a == b for a, b in zip(code, t, strict=False))
            shared = sum(min(code.count(s), t.count(s)) for s in set(code))
            if now > hits or now + left < hits or shared > both or shared + left < both:
                return False
        return True

    def search(code: str) -> Iterator[str]:
        if len(code) == length:
            yield code
            return
        for sign in signs:
            if possible(code + sign):
                yield from search(code + sign)

    return tuple(itertools.islice(search(""), 2))


def _common(left: Sequence[str]) -> str:
    """The word whose different letters occur in most of the words."""
    counts = Counter(sign for word in left for sign in set(word))
    return max(left, key=lambda word: (sum(counts[s] for s in set(word)), word))


@functools.lru_cache(maxsize=1024)
def _parting(left: tuple[str, ...]) -> str:
    """The word whose marks have the highest entropy over the words that are left."""

    def entropy(word: str) -> float:
        groups = Counter(marked(other, word) for other in left)
        return -sum(n / len(left) * math.log(n / len(left)) for n in groups.values())

    return max(left, key=lambda word: (round(entropy(word), 9), word))
