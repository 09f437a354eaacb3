"""What is told of puzzle pages, step by step: each must follow from the rule that is named and from what was told before."""

from __future__ import annotations

import itertools
import re

import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.registry import entries
from quintain.worlds.cells import names_of
from quintain.worlds.engines.csp.desk import DeskWorld
from quintain.worlds.engines.csp.field import Field, around
from quintain.worlds.engines.csp.fill import FillWorld
from quintain.worlds.engines.csp.page import BLANK, Page
from quintain.worlds.engines.csp.reasons import SHORT, Deduction, Words, easiest, page_reason, page_words
from quintain.worlds.engines.csp.rules import Distinct, Rule, Total
from quintain.worlds.engines.csp.solve import Solver
from quintain.worlds.kernel import Plan
from quintain.worlds.noise import Rng

HEAD = re.compile(r"(?:Left by each rule: (.*?)\.)? ?(?:By trial: ([^.:]*)\.)?")
Known = list[int]


class Reader:
    """Reads steps. Where all were told, a rule alone must lead to what is left; where only what is settled was, the rules together must."""

    def __init__(self, words: Words, rules: tuple[Rule, ...], domains: Known, short: bool) -> None:
        self.words, self.rules, self.now, self.short = words, rules, list(domains), short
        self.solver = Solver(rules, len(domains))
        self.tried: tuple[int, int] | None = None

    def value(self, text: str) -> tuple[int, int]:
        """A variable, and the bits of the values left for it."""
        cell = next(
            i for i in sorted(range(len(self.now)), key=lambda i: -len(self.words.things[i])) if self.of(text, i)
        )
        rest = text.removeprefix(f"{self.words.things[cell]} ")
        signs = rest.split("/") if "/" in rest else [rest] if rest in self.words.values else list(rest)
        return cell, sum(1 << self.words.values.index(sign) for sign in signs)

    def of(self, text: str, cell: int) -> bool:
        return text.startswith(f"{self.words.things[cell]} ")

    def use(self, rule: str, told: str, now: Known) -> None:
        """Each claim follows from a rule of that name."""
        ways = []
        for named in [r for r, name in zip(self.rules, self.words.rules, strict=True) if name == rule]:
            way = list(now)
            while named.narrow(way):  # some find more when they are asked again
                pass
            ways.append(way)
        assert ways, f"no rule {rule!r}"
        if self.short:
            assert self.solver.narrow(now)
            ways = [now]
        left = [self.value(part) for part in told.split(", ")]
        assert any(all(way[cell] == bits for cell, bits in left) for way in ways), (rule, told)
        for cell, bits in left:
            now[cell] = bits

    def fails(self, rule: str, now: Known) -> bool:
        if self.short:
            return not self.solver.narrow(now)
        named = [r for r, name in zip(self.rules, self.words.rules, strict=True) if name == rule]
        return any(r.narrow(list(now)) is None for r in named)

    def read(self, sentence: str) -> None:
        if sentence.startswith("Try "):
            tried, _, rest = sentence.removeprefix("Try ").partition(": ")
            *inner, end = rest.split("; ")
            cell, bits = self.tried = self.value(tried)
            trial = [bits if i == cell else d for i, d in enumerate(self.now)]
            if not self.short:
                for step in inner:
                    self.use(*step.split(": "), trial)
            assert self.fails(end.removeprefix("then ").removesuffix(" fails"), trial), sentence
        elif sentence.startswith("So "):
            cell, bits = self.value(sentence.removeprefix("So "))
            assert self.tried == (cell, self.now[cell] & ~bits), sentence
            self.now[cell] = bits
            if self.short:
                assert self.solver.narrow(self.now)
        else:
            self.use(*sentence.split(": "), self.now)


def followed(reason: str, words: Words, rules: tuple[Rule, ...], domains: Known, solution: tuple[int, ...]) -> int:
    """Read a reason to its end; how many variables had to be tried."""
    head = HEAD.fullmatch(reason)
    assert head and any(head.groups()), reason
    steps, rest = head.groups()
    reader = Reader(words, rules, domains, bool(steps) and steps.startswith(SHORT))
    for sentence in (steps or "").removeprefix(SHORT).split(". ") if steps else ():
        reader.read(sentence)
    left = [reader.value(part) for part in rest.split(", ")] if rest else []
    assert all(bits == 1 << solution[cell] for cell, bits in left)
    opened = {cell for cell, _ in left}
    if reader.short:
        assert reader.solver.narrow(reader.now)  # cells without a mark may be left out
    for cell, d in enumerate(reader.now):
        assert (d == 1 << solution[cell]) != (cell in opened), (words.things[cell], reason)
    return len(left)


PAGES = [
    e.name
    for e in entries("world")
    if isinstance(world := world_of(e.name), DeskWorld)
    and not world.stepwise
    and e.name not in {"CircuitSat", "ZebraHouses", "Hidato", "Numbrix"}  # see test_reasons and test_csp
]


@pytest.mark.parametrize("name", PAGES)
def test_each_step_told_of_a_page_follows_from_the_rule_that_is_named(name: str) -> None:
    world = world_of(name)
    for level, seed in itertools.product((0, 2, 4, 6, 8), range(4)):
        state = world.start(seed, level)
        plan, made = world.solve(state, SOLO), world.model(state.page)
        signs = ("no", "yes") if world.marks else world.signs
        words = page_words(state.page, made.rules, made.domains, signs)
        if name == "KnightsKnaves":
            words = words._replace(values=("is a knight", "is a knave"), rules=state.page.notes)
        solution = Solver(made.rules, len(made.domains)).search(made.domains).one
        followed(plan.because, words, made.rules, list(made.domains), solution)
        again = world.solve(world.rebuild(world.view(state, SOLO).caption(2), SOLO), SOLO)
        assert again.because == plan.because


def test_each_step_told_of_a_sheet_follows_too() -> None:
    world = world_of("MiniSudoku")
    assert isinstance(world, FillWorld)
    for level, seed in itertools.product(range(0, 10, 3), range(3)):
        state = world.start(seed, level)
        size, plan = state.form.size, world.solve(state, SOLO)
        rules = world.rules(size)
        domains = [(1 << size) - 1 << 1 if sign == "." else 1 << int(sign) for sign in state.cells]
        words = page_words(Page(width=size, height=size, given=()), rules, domains, ())
        followed(plan.because, words, rules, domains, plan.moves[0].value)


def test_what_trials_of_single_values_do_not_settle_is_said_to_be_tried() -> None:
    """Two cells of which one holds 1: nothing follows before something is tried, and no value fails at once."""
    page = Page(width=2, height=2, given=(BLANK,) * 4)
    rules: list[Rule] = [Distinct((0, 1)), Distinct((2, 3)), Total((0, 2), 1)]
    words = page_words(page, rules, (3,), ("no", "yes"))
    assert words.rules == ["row 1", "row 2", "column a"]
    assert page_reason(rules, (3, 3, 3, 3), words, (1, 0, 0, 1)) == "By trial: a1 yes, b1 no, a2 no, b2 yes."
    assert Deduction(rules, (3, 3, 3, 3)).open == [0, 1, 2, 3]
    reason = page_reason(rules, (3, 1, 3, 3), words, (1, 0, 0, 1))
    assert reason == "Left by each rule: row 1: a1 yes. column a: a2 no. row 2: b2 yes."


def test_a_count_beyond_the_names_of_values_is_told_as_a_number() -> None:
    words = Words(["a1", "others"], ["safe", "mine"], ["all"], 1)
    rules: list[Rule] = [Total((0, 1), 5)]
    order, why = easiest(rules, (1, 0b111111), words, {1: 1 << 5})
    assert order == (1,) and why == "all: others 5."


def test_a_page_too_large_for_its_rules_names_the_cells_in_order() -> None:
    size = 20
    page = Page(width=size, height=size, given=(BLANK,) * size * size)
    rules = [Total((c,), c % 2) for c in range(size * size)]
    words, domains = page_words(page, rules, (3,), ()), (3,) * len(rules)
    reason = page_reason(rules, domains, words, tuple(c % 2 for c in range(len(rules))))
    assert reason.startswith("One after the other: a1 0, b1 1, c1 0") and reason.count(", ") == len(rules) - 1


def told_at_once(rules: tuple[Rule, ...], domains: Known, solution: tuple[int, ...], marks: bool) -> bool:
    """Whether some rule alone leaves one value for a cell that is still to write (or to mark)."""
    for rule in rules:
        now = list(domains)
        for cell in rule.narrow(now) or ():
            if now[cell] == 1 << solution[cell] and (not marks or solution[cell]):
                return True
    return False


@pytest.mark.parametrize("name", ["SudokuStep", "MiniSudokuSteps", "Nonogram"])
def test_each_step_told_of_the_next_cell_follows(name: str) -> None:
    """From what is printed and what was written right, and a rule alone comes first; what was written wrong is named."""
    world, slips, at_once = world_of(name), 0, 0
    for level, seed in itertools.product((1, 5, 8), range(2)):
        state, rng = world.start(seed, level), Rng("slips", seed)
        for turn in range(12):
            plan = world.solve(state, SOLO)
            if not isinstance(plan, Plan):
                break
            if isinstance(world, FillWorld):
                size, rules = state.form.size, world.rules(state.form.size)
                page = Page(width=size, height=size, given=())
                start = [(1 << size) - 1 << 1 if sign == "." else 1 << int(sign) for sign in state.form.given]
            else:
                page, made = state.page, world.model(state.page)
                rules, start = made.rules, list(made.domains)
            solution = Solver(rules, len(start)).search(start).one
            words = page_words(page, rules, start, ("no", "yes") if name == "Nonogram" else ())
            domains = list(start)
            for cell, now in enumerate(state.cells):
                value = -1 if now in (BLANK, ".") else int(now)
                if value == solution[cell]:
                    domains[cell] = 1 << value
            wrong = [n for n, value in zip(words.things, state.cells, strict=True) if value not in (BLANK, ".")]
            wrong = [n for n in wrong if domains[words.things.index(n)] & (domains[words.things.index(n)] - 1)]
            reason = plan.because.removeprefix(f"Without {', '.join(wrong)}: ") if wrong else plan.because
            assert "Without" not in reason and (not wrong or reason != plan.because)
            slips += bool(wrong)
            reader = Reader(words, rules, domains, reason.startswith(SHORT))
            for sentence in reason.removeprefix(SHORT).removesuffix(".").split(". "):
                reader.read(sentence)
            if told_at_once(rules, domains, solution, name == "Nonogram"):
                at_once += 1
                assert ". " not in reason, f"one rule alone tells a cell: {reason}"
            row, column = plan.moves[0].value[:2]
            cell = row * page.width + column
            assert reader.now[cell] == 1 << solution[cell]
            move = world.sample(state, SOLO, rng) if turn in (2, 5) else plan.moves[0]
            state = world.step(state, {SOLO: move}).state
    assert slips and at_once


def test_each_step_told_of_a_mine_field_follows_from_the_number_that_is_named() -> None:
    """By placing mines in the cells around that number in every way; the count of all mines likewise."""
    world, explained = world_of("Mastermines"), 0
    for level, seed in (*itertools.product((0, 3, 5, 8), range(4)), (6, 1006)):  # the last has cells beside no number
        state = world.start(seed, level)
        while isinstance(plan := world.solve(state, SOLO), Plan):
            if plan.because:
                explained += 1
                assert read_field(state, plan.because)[plan.moves[0].key] == {"safe"}
            state = world.step(state, {SOLO: plan.moves[0]}).state
    assert explained > 100


ELSEWHERE = "mines beside no number"
Left = dict[str, set[str]]


class Numbers:
    """What the numbers of a field leave, by counting mines: the fewest and the most that the other cells can have."""

    def __init__(self, field: Field) -> None:
        names = names_of(field.width, field.height)
        self.mines = len(field.mines)
        self.near = {n: [names[c] for c in around(field.width, field.height)[i]] for i, n in enumerate(names)}
        self.shown = dict(zip(names, field.seen, strict=True))
        numbers = [n for n, sign in self.shown.items() if sign in "12345678"]
        self.touched = {c for n in numbers for c in self.near[n] if self.shown[c] == "?"}
        inner = sum(sign == "?" for sign in self.shown.values()) - len(self.touched)
        self.start: Left = {c: {"safe", "mine"} for c in self.touched}
        self.start[ELSEWHERE] = {str(n) for n in range(inner + 1)}

    def leave(self, rule: str, now: Left) -> Left:
        name, _, count = rule.rpartition(" shows ")
        cells = [c for c in self.near[name] if c in self.touched] if name else [*self.touched, ELSEWHERE]
        total = int(count) if name else int(rule.removeprefix("all mines are "))
        assert self.shown[name] == count if name else total == self.mines
        span = {c: [int(v) if v.isdigit() else int(v == "mine") for v in now[c]] for c in cells}
        low, high = sum(map(min, span.values())), sum(map(max, span.values()))
        out = dict(now)
        for c in cells:
            rest = (total - high + max(span[c]), total - low + min(span[c]))
            out[c] = {v for v in now[c] if rest[0] <= (int(v) if v.isdigit() else int(v == "mine")) <= rest[1]}
        return out

    def use(self, told: str, now: Left) -> None:
        """What a number is said to leave is what it leaves, and it is news."""
        rule, _, claims = told.partition(": ")
        after = self.leave(rule, now)
        while after != (more := self.leave(rule, after)):
            after = more
        for claim in claims.split(", "):
            thing, _, values = claim.rpartition(" ")
            assert after[thing] == {*values.split("/")} != now[thing], (rule, claim)
            now[thing] = {*values.split("/")}


def read_field(field: Field, reason: str) -> Left:
    """What is left for each closed cell, and for the mines beside no number, after all claims were checked."""
    numbers, tried = Numbers(field), ("", "")
    known = dict(numbers.start)
    for sentence in reason.removesuffix(".").split(". "):
        if sentence.startswith("Try "):
            value, _, rest = sentence.removeprefix("Try ").partition(": ")
            *inner_steps, end = rest.split("; ")
            thing, _, what = value.rpartition(" ")
            tried, trial = (thing, what), known | {thing: {what}}
            for step in inner_steps:
                numbers.use(step, trial)
            assert not all(numbers.leave(end.removeprefix("then ").removesuffix(" fails"), trial).values()), sentence
        elif sentence.startswith("So "):
            thing, _, values = sentence.removeprefix("So ").rpartition(" ")
            if thing in known:
                assert tried[0] == thing and known[thing] - {tried[1]} == {*values.split("/")}
            else:  # beside no number
                assert numbers.shown[thing] == "?" and values == "safe" and known[ELSEWHERE] == {"0"}
            known[thing] = {*values.split("/")}
        else:
            numbers.use(sentence, known)
    return known
