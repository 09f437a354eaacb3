"""Sheets to fill in: a grid of digits in which rules leave one way to fill the blanks, answered whole or cell by cell."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.ports import SOLO
from quintain.types import Ints
from quintain.worlds.cells import NESTED, names_of
from quintain.worlds.engines.csp.page import Page, entry_of, unlabelled
from quintain.worlds.engines.csp.reasons import Words, easiest, page_reason, page_words, without
from quintain.worlds.engines.csp.rules import Rule, holds
from quintain.worlds.engines.csp.sheet import (
    BLANK,
    DIGITS,
    Form,
    Sheet,
    brief_caption,
    entries,
    full_caption,
    layout_of,
    parse_caption,
    scene_of,
)
from quintain.worlds.engines.csp.solve import NODES, Found, Solver
from quintain.worlds.engines.csp.spelled import numbered, paired, pairs, placed
from quintain.worlds.kernel import Answer, Events, Facts, Move, Outcome, Plan, Unknown, Unsolvable, View, check_level
from quintain.worlds.knobs import check_knobs, overridable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene
from quintain.worlds.seats import seated
from quintain.worlds.splits import drawn

TRIES = 400  # full grids after which it gives up leaving so many blanks
WON = {SOLO: {"success": 1.0}}
WRONG: Events = {SOLO: ("wrong",)}
ILLEGAL: Events = {SOLO: ("illegal",)}
SAYINGS = {"wrong": "The grid is full, but it breaks a rule or changes a given digit."}
STEPS = {"wrong": "The grid is full, but it breaks a rule."}  # as given digits cannot be changed
_ROW, _LINE = re.compile(r"[|;]|" + NESTED), re.compile(r"[/\n]")
_BETWEEN = re.compile(r"[\s,;/|\[\](){}_-]+")


@functools.lru_cache(maxsize=4096)
def _entry(cell: tuple[int, int], digit: int) -> Move:
    return Move(f"{names_of(cell[1] + 1, cell[0] + 1)[-1]}={digit}", (*cell, digit))


def whole(digits: Sequence[int], size: int) -> Move:
    """The answer with these digits, row by row; its key parts the rows by `/`."""
    signs = [str(d) for d in digits]
    rows = (" ".join(signs[i : i + size]) for i in range(0, len(signs), size))
    return Move(" / ".join(rows), tuple(digits))


def read_whole(text: str) -> Move | None:
    """The answer that `text` spells: all digits of a square grid row by row, with or without separators.

    Example:
        >>> read_whole("[[1, 2], [2, 1]]") == read_whole("12/21") == read_whole("1 2 2 1")
        True
    """
    if len(text) > 1000 or re.search(r"(?<![\w-])-\d", text, re.ASCII):  # below 0
        return None
    text = text.lower()
    if told := paired(text):
        return pairs((c, int(d)) for c, d in told.items()) if {*told.values()} <= {*DIGITS} else None
    text = _unnumbered(unlabelled(text))
    signs = _BETWEEN.sub("", text)
    size = next((s for s in range(2, 10) if s * s == len(signs)), 0)
    parts = lines if len(lines := _LINE.split(text.strip())) > 1 else _ROW.split(text)
    rows = {len(row) for part in parts if (row := _BETWEEN.sub("", part))}
    if not size or set(signs) - set(DIGITS[:size]) or not (rows <= {1} or rows in ({size}, {size * size})):
        return None
    return whole([int(sign) for sign in signs], size)


def _unnumbered(text: str) -> str:
    """The rows without their numbers, where each has one of these and one digit more than there are rows."""
    lines = [row.split() for row in _LINE.split(text.strip())]
    square = all(len(row) == len(lines) + 1 for row in lines)
    return " / ".join(" ".join(row[1:]) for row in lines) if square and numbered([row[0] for row in lines]) else text


def read_entry(text: str) -> Move | None:
    """The entry that `text` spells: a cell and a digit.

    Example:
        >>> read_entry("B3 = 4").key, read_entry("write 4 into b3").key, read_entry("row 3, column 2: 4").key
        ('b3=4', 'b3=4', 'b3=4')
    """
    found = entry_of(text.strip().lower())
    return _entry(*found) if found else None


@seated
@dataclass(frozen=True, kw_only=True)
class FillWorld:
    """A world of sheets: what a declaration gives.

    Args:
        facts: rules and ceilings.
        levels: ten mappings of the knobs `size` and `blanks` (how many cells are left to fill, exactly).
        rules: size -> the rules between the cells, counted row by row.
        regions: size -> one sign per cell; the picture draws a thick line between different ones.
        stepwise: an action fills one cell; otherwise it is the whole grid, and the only one.
    """

    facts: Facts
    levels: Sequence[Mapping[str, Any]]
    rules: Callable[[int], tuple[Rule, ...]]
    regions: Callable[[int], str]
    stepwise: bool = False
    schema: type[Sheet] = Sheet

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Sheet:
        """See `World.start`."""
        chosen = check_knobs(knobs, self.levels, level)
        rng = Rng("sheet", seed, level, split)
        return drawn(lambda r: self._make(r, chosen), layout_of, rng, split, TRIES)

    def _make(self, rng: Rng, knobs: Mapping[str, Any]) -> Sheet | None:
        """A full grid, then blanks in random cells as long as one way to fill them is left."""
        size, blanks = knobs["size"], knobs["blanks"]
        solver, any_digit = _solver(self.rules, size), (1 << size) - 1 << 1
        count = size * size
        digits = solver.search([any_digit] * count, rng=rng).one
        domains = [1 << d for d in digits]
        order = list(range(count))
        rng.shuffle(order)
        left, loose = blanks, []
        for tried, cell in enumerate(order):
            if not left or count - tried < left:
                break
            known, domains[cell] = domains[cell], any_digit
            if len(solver.search(domains, 2, changed=(*loose, cell)).solutions) > 1:
                domains[cell] = known
            else:
                loose.append(cell)
                left -= 1
        if left:
            return None
        given = "".join(BLANK if d == any_digit else str(d.bit_length() - 1) for d in domains)
        return Sheet(Form(size, given, blanks * 3 // 2 if self.stepwise else 1), given)

    def view(self, state: Sheet, seat: str) -> View[Sheet]:
        return View(self, state, seat)

    def read(self, text: str, seat: str) -> Move | None:
        return read_entry(text) if self.stepwise else read_whole(text)

    def turns(self, state: Sheet) -> int:
        return state.form.budget

    def words(self, level: int) -> tuple[str, ...]:
        size = self.levels[check_level(level)]["size"]
        digits = DIGITS[:size]
        things = [d + name for name in names_of(size, size) for d in digits]
        if not self.stepwise:
            return (*digits, "/", *things)
        return (*[f"{name}={d}" for name in names_of(size, size) for d in digits], *things)

    def step(self, state: Sheet, moves: Mapping[str, Move]) -> Outcome[Sheet]:
        form, value = state.form, moves[SOLO].value
        size = form.size
        if not self.stepwise:
            digits = _digits(form, moves[SOLO])
            if len(digits) != size * size or not 0 < min(digits) <= max(digits) <= size or BLANK not in state.cells:
                return Outcome(state, events=ILLEGAL)
            after = Sheet(form, "".join([DIGITS[d - 1] for d in digits]))
            solved = self._solved(after)
            return Outcome(after, WON if solved else {}, True, {} if solved else WRONG)
        row, column, digit = value
        cell = row * size + column
        out = max(row, column) >= size or digit > size or form.given[cell] != BLANK
        if out or (BLANK not in state.cells and self._solved(state)):
            return Outcome(state, events=ILLEGAL)
        after = Sheet(form, f"{state.cells[:cell]}{digit}{state.cells[cell + 1 :]}")
        if BLANK in after.cells:
            return Outcome(after)
        return Outcome(after, WON, True) if self._solved(after) else Outcome(after, events=WRONG)

    def _solved(self, state: Sheet) -> bool:
        """Whether every cell is filled, every printed digit stands, and every rule holds."""
        form = state.form
        if BLANK in state.cells or any(g not in (BLANK, s) for g, s in zip(form.given, state.cells, strict=True)):
            return False
        return holds(_solver(self.rules, form.size).rules, tuple([int(sign) for sign in state.cells]))

    def solve(self, state: Sheet, seat: str) -> Answer:
        if self._solved(state) or not (self.stepwise or BLANK in state.cells):
            return Unsolvable("the episode is over")
        form = state.form
        found = _solution(self.rules, form.size, form.given)
        if not found.solutions:
            return Unsolvable("no way to fill the blanks keeps the rules") if found.complete else Unknown(found.nodes)
        solution = found.solutions[0]
        right = [sign == str(d) for sign, d in zip(state.cells, solution, strict=True)]
        known = [1 << d if ok else (1 << form.size) - 1 << 1 for ok, d in zip(right, solution, strict=True)]
        if not self.stepwise:
            return Plan(
                (whole(solution, form.size),),
                because=page_reason(self.rules(form.size), tuple(known), _words(self.rules, form.size), solution),
            )
        rest = {cell: 1 << solution[cell] for cell, ok in enumerate(right) if not ok}
        cells, why = easiest(self.rules(form.size), tuple(known), _words(self.rules, form.size), rest)
        moves = [_entry(divmod(cell, form.size), solution[cell]) for cell in cells]
        wrong = [cell for cell in rest if state.cells[cell] != BLANK]
        return Plan(tuple(moves), first=tuple(moves), because=without(wrong, names_of(form.size, form.size), why))

    def legal(self, state: Sheet, seat: str) -> tuple[Move, ...]:
        if not self.stepwise or self._solved(state):
            return ()
        form = state.form
        digits = range(1, form.size + 1)
        open_cells = [i for i, sign in enumerate(form.given) if sign == BLANK]
        return tuple([_entry(divmod(i, form.size), d) for i in open_cells for d in digits if state.cells[i] != str(d)])

    def sample(self, state: Sheet, seat: str, rng: Rng) -> Move:
        size = state.form.size
        if self.stepwise:
            blank = [i for i, sign in enumerate(state.form.given) if sign == BLANK]
            return _entry(divmod(rng.pick(blank), size), 1 + rng.below(size)) if blank else _entry((0, 0), 1)
        return whole([1 + rng.below(size) if s == BLANK else int(s) for s in state.form.given], size)

    def caption(self, state: Sheet, seat: str, level: int) -> str:
        return full_caption(state) if level == 2 else brief_caption(state)

    def rebuild(self, caption: str, seat: str) -> Sheet:
        """See `World.rebuild`."""
        return parse_caption(caption)

    def static(self, state: Sheet, seat: str) -> tuple[str, ...]:
        names = names_of(state.form.size, state.form.size)
        return tuple([sign + name for name, sign in zip(names, state.form.given, strict=True) if sign != BLANK])

    def moving(self, state: Sheet, seat: str) -> tuple[str, ...]:
        names = names_of(state.form.size, state.form.size)
        return tuple([state.cells[i] + names[i] for i in entries(state)])

    def scene(self, state: Sheet, seat: str) -> Scene:
        return scene_of(state, self.regions(state.form.size))


def _digits(form: Form, move: Move) -> Ints:
    """The digits of an answer, row by row; 0 where it leaves a blank."""
    if "=" not in move.key:
        return move.value
    given = tuple([0 if sign == BLANK else int(sign) for sign in form.given])
    return tuple(placed(move.value, given, form.size) or ())


@functools.lru_cache(maxsize=64)
def _solver(rules: Callable[[int], tuple[Rule, ...]], size: int) -> Solver:
    return Solver(rules(size), size * size)


@functools.lru_cache(maxsize=4096)
def _solution(rules: Callable[[int], tuple[Rule, ...]], size: int, given: str) -> Found:
    any_digit: int = (1 << size) - 1 << 1
    domains: Ints = tuple(any_digit if sign == BLANK else 1 << int(sign) for sign in given)
    return _solver(rules, size).search(domains, 1, NODES)


@functools.lru_cache(maxsize=64)
def _words(rules: Callable[[int], tuple[Rule, ...]], size: int) -> Words:
    return page_words(Page(width=size, height=size, given=()), rules(size), (1 << size,), ())
