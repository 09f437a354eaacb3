"""Puzzle pages to solve: rules and clues leave one way to fill or mark the cells, answered at once or step by step."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quintain.ports import SOLO
from quintain.types import Ints
from quintain.worlds.cells import read_cell
from quintain.worlds.engines.csp.marks import marked, read_marks
from quintain.worlds.engines.csp.page import (
    BLANK,
    BRICK,
    DOT,
    NONE,
    ONLY,
    Lines,
    Page,
    Truth,
    Work,
    brief_caption,
    called,
    entry_of,
    full_caption,
    layout_of,
    moving_words,
    packed_rows,
    parse_caption,
    row_lengths,
    sign_of,
    static_words,
    unlabelled,
    words_in,
)
from quintain.worlds.engines.csp.page_look import Look, Plate, plate_of, scene_of
from quintain.worlds.engines.csp.reasons import NO, easiest, page_reason, page_words, without
from quintain.worlds.engines.csp.rules import holds
from quintain.worlds.engines.csp.solve import Found, Model, search
from quintain.worlds.engines.csp.spelled import filled_in, numbered, paired, pairs, values_of, walled
from quintain.worlds.kernel import (
    Answer,
    Events,
    Facts,
    GenerationError,
    Move,
    Outcome,
    Plan,
    Unknown,
    Unsolvable,
    View,
    check_level,
)
from quintain.worlds.knobs import check_knobs, overridable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene
from quintain.worlds.seats import seated
from quintain.worlds.splits import drawn

TRIES = 400
WON = {SOLO: {"success": 1.0}}
WRONG: Events = {SOLO: ("wrong",)}
ILLEGAL: Events = {SOLO: ("illegal",)}
SAYINGS = {"wrong": "That breaks a rule or a clue."}
CEILINGS = {"random": 0.01, "constant": 0.01, "first": 0.01, "blind": 0.03}
LONGEST = 1200  # characters of an answer
_MARKING = re.compile(r"(paint|fill|clear|cross(?:\s+out)?|leave)\s+(?:the\s+)?(?:cell\s+)?")
_BARE = re.compile(r"\s+(?:is\s+)?(?:blank|empty|white|clear)$")
_LETTERS = re.compile(r"(?<=[a-z])(?=[a-z])")
_BASE = (ONLY, "Top", "Left", "Right", "Bottom", "Clues", "Between", *"/=:,.-#*<>~!+x\\", NONE, BRICK, DOT)


def whole(cells: Sequence[int], width: int, signs: Lines) -> Move:
    """The answer that fills the grid; its key parts the rows by `/`."""
    words = [sign_of(v, signs) for v in cells]
    return Move(" / ".join(" ".join(words[i : i + width]) for i in range(0, len(words), width)), tuple(cells))


@functools.lru_cache(maxsize=8192)
def entry(cell: tuple[int, int], value: int) -> Move:
    """Write one cell."""
    return Move(f"{chr(97 + cell[1])}{cell[0] + 1}={value}", (*cell, value))


@functools.lru_cache(maxsize=1024)
def toggle(cell: tuple[int, int]) -> Move:
    """Mark one cell, or take its mark away."""
    return Move(f"{chr(97 + cell[1])}{cell[0] + 1}", cell)


@seated
@dataclass(frozen=True, kw_only=True)
class DeskWorld:
    """A world of puzzle pages: what a declaration gives.

    Args:
        facts: rules and ceilings.
        levels: ten mappings of knobs.
        plant: a random solution for the knobs, or None.
        clue: the page that a solution makes, or None where its clues leave several ways.
        model: the page's rules.
        values: the values that a cell of a page may take.
        look: how it is drawn.
        marks: an answer names the cells with value 1; otherwise it fills the whole grid.
        tells: what the letters that are named are, and what the others; of a grid, what its rows are.
        ranges: marked cells may be told by the first and the last of a row, column or rectangle, as in `a1 to c1`.
        spans: a dash or a colon between two cells of a line means such a range, too.
        stepwise: an action writes or marks one cell.
        signs: how values are written; numbers unless given.
        extra: further words of observations.
        layout: what of a solution decides on its split.
        printed: what of a finished page does, where a page may come of several layouts; those are then drawn of any split.
        size: knobs -> (width, height) of the page.
    """

    facts: Facts
    levels: Sequence[Mapping[str, Any]]
    plant: Callable[[Rng, Mapping[str, Any]], Truth | None]
    clue: Callable[[Rng, Truth, Mapping[str, Any]], Page | None]
    model: Callable[[Page], Model]
    values: Callable[[Page], Sequence[int]] = lambda page: range(1, page.width + 1)
    look: Look = field(default_factory=Look)
    marks: bool = False
    tells: Lines = ()
    ranges: bool = True
    spans: bool = False
    stepwise: bool = False
    signs: Lines = ()
    extra: Lines = ()
    layout: Callable[[Truth], str] = layout_of
    printed: Callable[[Page], str] | None = None
    size: Callable[[Mapping[str, Any]], tuple[int, int]] = lambda knobs: (knobs["size"], knobs["size"])
    schema: type[Work] = Work

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Work:
        """See `World.start`."""
        chosen = check_knobs(knobs, self.levels, level)
        rng = Rng(self.facts.name, seed, level, split)
        if self.printed:
            page = drawn(lambda r: self._page(r, chosen), self.printed, rng, split)
            return Work(page, page.given)
        for _ in range(TRIES):
            truth = drawn(lambda r: self.plant(r, chosen), self.layout, rng, split)
            page = self.clue(rng, truth, chosen)
            if page is not None and page.blanks:
                return Work(page, page.given)
        raise GenerationError(f"{self.facts.name} level {level}: no page in {TRIES} draws with the knobs {chosen}")

    def _page(self, rng: Rng, knobs: Mapping[str, Any]) -> Page | None:
        truth = self.plant(rng, knobs)
        page = None if truth is None else self.clue(rng, truth, knobs)
        return page if page is not None and page.blanks else None

    def view(self, state: Work, seat: str) -> View[Work]:
        return View(self, state, seat)

    def turns(self, state: Work) -> int:
        return state.page.budget

    def words(self, level: int) -> tuple[str, ...]:
        width, height = self.size(self.levels[check_level(level)])
        names = called(width, height)
        numbers = [str(n) for n in range(400)]
        steps = [f"{n}={v}" for n in names for v in range(1, 10)] if self.stepwise and not self.marks else []
        letters = [chr(65 + i) for i in range(26)] + [chr(97 + i) for i in range(26)]
        return tuple(dict.fromkeys((*names, *numbers, *_BASE, *letters, *self.signs, *self.extra, *steps)))

    def read(self, text: str, seat: str) -> Move | None:
        text = text.strip().lower()
        if not text or len(text) > LONGEST:
            return None
        if self.stepwise:
            return self._read_step(text)
        if self.marks:
            return read_marks(text, self.size(self.levels[0])[1] == 1, self.tells, self.ranges, self.spans)
        if told := paired(text):
            return (
                pairs(zip(told, values, strict=True), self.signs)
                if (values := values_of(told.values(), self.signs))
                else None
            )
        text = unlabelled(text, self.tells)
        if self.signs and len(row_lengths(apart := _LETTERS.sub(" ", text))) > 1:
            text = apart  # without rows it may be a word
        words, rows = words_in(text), row_lengths(text)
        words = words if self.signs else walled(words, rows)
        if not self.signs and (packed := packed_rows(words, rows, text)):
            rows, words = [len(packed)] * len(packed), list("".join(packed))
        if self.signs and "|" not in text and len(rows) > 1 and len({*rows}) == 1 and numbered(words[:: rows[0]]):
            words, rows = [w for i, w in enumerate(words) if i % rows[0]], [n - 1 for n in rows]
        out = values_of(words, self.signs)
        if len(out) < 4 or BLANK in out or len(set(rows)) > 1:
            return None
        return whole(out, rows[0] if len(rows) > 1 else _widths(self).get(len(out), len(out)), self.signs)

    def _read_step(self, text: str) -> Move | None:
        if self.marks:
            verb, bare = _MARKING.match(text), _BARE.search(text)
            cell = read_cell(text[verb.end() if verb else 0 : bare.start() if bare else len(text)])
            if not cell or cell[0] >= 26:
                return None
            move = toggle(cell)
            on = not bare and verb is not None and verb[1] in ("paint", "fill")
            return (
                Move(f"{'paint' if on else 'clear'} {move.key}", (*cell, 1 if on else BLANK)) if verb or bare else move
            )
        found = entry_of(text)
        return entry(*found) if found else None

    def step(self, state: Work, moves: Mapping[str, Move]) -> Outcome[Work]:
        value, page = moves[SOLO].value, state.page
        if state.done:
            return Outcome(state, events=ILLEGAL)
        if self.stepwise:
            return self._one(state, value)
        if self.marks:
            filled = [0 if v == BLANK else v for v in page.given]
            for y, x in value:
                if y >= page.height or x >= page.width or page.given[y * page.width + x] not in (BLANK, 1):
                    return Outcome(state, events=ILLEGAL)
                filled[y * page.width + x] = 1
        else:
            found = filled_in(page, moves[SOLO])
            if found is None:
                return Outcome(state, events=ILLEGAL)
            filled = found
        after = Work(page, tuple(filled), True)
        solved = self.right(page, after.cells)
        return Outcome(after, WON if solved else {}, True, {} if solved else WRONG)

    def _one(self, state: Work, value: Any) -> Outcome[Work]:
        page, (row, column) = state.page, value[:2]
        cell = row * page.width + column
        if row >= page.height or column >= page.width or page.given[cell] != BLANK:
            return Outcome(state, events=ILLEGAL)
        if self.marks:
            new = BLANK if state.cells[cell] == 1 else 1
            if value[2:] and value[2] != new:
                return Outcome(state, events=ILLEGAL)
        else:
            new = value[2]
            if new not in self.values(page):
                return Outcome(state, events=ILLEGAL)
        cells = (*state.cells[:cell], new, *state.cells[cell + 1 :])
        if not self.marks and BLANK in cells:
            return Outcome(Work(page, cells))
        if self.right(page, self.filled(cells)):
            return Outcome(Work(page, cells, True), WON, True)
        return Outcome(Work(page, cells), events={} if self.marks else WRONG)

    def filled(self, cells: Ints) -> Ints:
        """The cells with those that are not marked as zeros."""
        return tuple([0 if v == BLANK else v for v in cells]) if self.marks else cells

    def right(self, page: Page, cells: Ints) -> bool:
        """Whether the cells keep what is printed, all rules and all clues."""
        if any(g not in (BLANK, v) for g, v in zip(page.given, cells, strict=True)):
            return False
        possible = self.values(page)
        if any(v not in possible and g == BLANK for g, v in zip(page.given, cells, strict=True)):
            return False
        model = _model(self.model, page)
        values = model.values(cells) if model.values else tuple([max(v, 0) for v in cells])
        if values is None or any(not d >> v & 1 for v, d in zip(values, model.domains, strict=True)):
            return False
        return holds(model.rules, values)

    def solve(self, state: Work, seat: str) -> Answer:
        if state.done:
            return Unsolvable("the episode is over")
        page = state.page
        found = _solution(self.model, page)
        if not found.solutions:
            return Unsolvable("no way to fill the blanks keeps the rules") if found.complete else Unknown(found.nodes)
        model = _model(self.model, page)
        answer = model.cells(found.solutions[0]) if model.cells else found.solutions[0]
        cells = tuple([v if g == BLANK else g for g, v in zip(page.given, answer, strict=True)])
        signs = (NO, "yes") if self.marks else self.signs
        if not self.stepwise:
            on = [divmod(c, page.width) for c in page.blanks if cells[c] == 1]
            move = marked(on, page.height == 1) if self.marks else whole(cells, page.width, self.signs)
            return Plan((move,), because=_reason(self.model, page, signs, found.solutions[0]))
        now = self.filled(state.cells)
        wrong = {c: 1 << cells[c] for c in page.blanks if now[c] != cells[c]}
        right = enumerate(zip(model.domains, state.cells, strict=True))
        known = tuple([d if v == BLANK or c in wrong else 1 << v for c, (d, v) in right])
        order, why = easiest(model.rules, known, page_words(page, model.rules, model.domains, signs), wrong)
        places = [(c, divmod(c, page.width)) for c in order]
        moves = [toggle(place) if self.marks else entry(place, cells[c]) for c, place in places]
        wrote = [c for c in page.blanks if c in wrong and state.cells[c] != BLANK]
        return Plan(tuple(moves), first=tuple(moves), because=without(wrote, called(page.width, page.height), why))

    def legal(self, state: Work, seat: str) -> tuple[Move, ...]:
        if not self.stepwise or state.done:
            return ()
        page = state.page
        places = [(c, divmod(c, page.width)) for c in page.blanks]
        if self.marks:
            return tuple([toggle(p) for _, p in places])
        return tuple([entry(p, v) for c, p in places for v in self.values(page) if state.cells[c] != v])

    def sample(self, state: Work, seat: str, rng: Rng) -> Move:
        page = state.page
        values = self.values(page)
        if self.stepwise:
            place = divmod(rng.pick(page.blanks), page.width)
            return toggle(place) if self.marks else entry(place, rng.pick(values))
        if self.marks:
            share = 0.1 + 0.5 * rng.uniform()
            on = [c for c in page.blanks if rng.uniform() < share] or [rng.pick(page.blanks)]
            return marked([divmod(c, page.width) for c in on], page.height == 1)
        return whole([rng.pick(values) if v == BLANK else v for v in page.given], page.width, self.signs)

    def caption(self, state: Work, seat: str, level: int) -> str:
        return full_caption(state, self.signs) if level == 2 else brief_caption(state)

    def rebuild(self, caption: str, seat: str) -> Work:
        """See `World.rebuild`."""
        return parse_caption(caption, self.signs)

    def static(self, state: Work, seat: str) -> tuple[str, ...]:
        return _static(state.page, self.signs)

    def moving(self, state: Work, seat: str) -> tuple[str, ...]:
        return moving_words(state, self.signs)

    def scene(self, state: Work, seat: str) -> Scene:
        return scene_of(state, self.look, self.signs, _plate(self, state.page))

    def __hash__(self) -> int:
        return id(self)


@functools.lru_cache(maxsize=256)
def _widths(world: DeskWorld) -> Mapping[int, int]:
    """The width of a page with so many cells, for squares and where the levels have one such page."""
    found = {n * n: {n} for n in range(2, 20)}
    for width, height in map(world.size, world.levels):
        found.setdefault(width * height, set()).add(width)
    return {cells: next(iter(widths)) for cells, widths in found.items() if len(widths) == 1}


@functools.lru_cache(maxsize=256)
def _plate(world: DeskWorld, page: Page) -> Plate:
    return plate_of(page, world.look, world.signs)


@functools.lru_cache(maxsize=256)
def _static(page: Page, signs: Lines) -> tuple[str, ...]:
    return static_words(page, signs)


@functools.lru_cache(maxsize=512)
def _model(model: Callable[[Page], Model], page: Page) -> Model:
    return model(page)


@functools.lru_cache(maxsize=1024)
def _solution(model: Callable[[Page], Model], page: Page) -> Found:
    return search(_model(model, page))


@functools.lru_cache(maxsize=1024)
def _reason(model: Callable[[Page], Model], page: Page, signs: Lines, solution: Ints) -> str:
    """How a solution comes about."""
    made = _model(model, page)
    if made.tells:
        return made.tells(solution)
    return page_reason(made.rules, made.domains, page_words(page, made.rules, made.domains, signs), solution)
