"""How a page is solved by logic: what each rule leaves for a variable, and which values turn out wrong when they are tried."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from quintain.types import Ints
from quintain.worlds.engines.csp.page import WALL, Page, called, columns_of, neighbours, rows_of
from quintain.worlds.engines.csp.rules import LEAST, VALUES, Distinct, Rule
from quintain.worlds.engines.csp.solve import WIDE
from quintain.worlds.engines.csp.tables import Count

SHORT = "in short, only what is settled. "  # goes before steps that leave out what narrows
NO = "no"  # is left out, too, where there are many cells
TRIALS = 400  # of single values, after which the rest is left open
LONGEST = 1150  # characters of a page's reason
TREE = "T"  # on the ground of a page
WHOLE = {  # rules about a whole page that are not about its lines
    "Fleet": "fleet",
    "Islands": "islands",
    "Joined": "one piece",
    "Links": "paths",
    "Matched": "one each",
    "Parity": "all clues",
}


class Fall(NamedTuple):
    """A value that was tried, as a bit; the steps that it led to; the number of the rule that is broken then."""

    value: int
    steps: tuple[Step, ...]
    rule: int


class Step(NamedTuple):
    """What is left for a variable, by which rule, and the numbers of the steps it rests on; the rule is -1 after a trial."""

    cell: int
    left: int
    rule: int
    needs: Ints
    fall: Fall | None = None

    @property
    def sure(self) -> bool:
        """Whether one value is left."""
        return not self.left & (self.left - 1)


class Deduction:
    """The `steps` to what trials of single values settle, those alone on which it rests, and the variables that are `open` after them.

    Args:
        rules: between variables.
        domains: bits of the possible values of each variable.
    """

    def __init__(self, rules: Sequence[Rule], domains: Ints) -> None:
        self.rules = rules
        self.at: list[list[int]] = [[] for _ in domains]
        for i, rule in enumerate(rules):
            for cell in rule.cells:
                self.at[cell].append(i)
        self.wide = [len(rule.cells) > WIDE for rule in rules]
        self.all: list[Step] = []
        now, last = list(domains), dict[int, int]()
        self.trials = TRIALS
        self._spread(now, last, range(len(rules)))
        while self._tried(now, last):
            pass
        self.now, self.last = now, last
        self.open = [cell for cell, d in enumerate(now) if d & (d - 1)]
        self.steps = self.way(cell for cell in last if cell not in self.open)

    def way(self, cells: Iterable[int]) -> list[Step]:
        """The steps on which what is left for some variables rests."""
        return [self.all[i] for i in self._used(self.last[cell] for cell in cells if cell in self.last)]

    def _spread(self, now: list[int], last: dict[int, int], rules: Iterable[int]) -> tuple[int, Ints] | None:
        """Apply rules until nothing changes; a broken rule and the steps it rests on, if there is one."""
        soon, late, waits = (
            deque[int](),
            deque[int](),
            set[int](),
        )  # wide rules cost much: they wait until others are done

        def wake(woken: Iterable[int]) -> None:
            for rule in woken:
                if rule not in waits:
                    waits.add(rule)
                    (late if self.wide[rule] else soon).append(rule)

        wake(rules)
        while soon or late:
            rule = soon.popleft() if soon else late.popleft()
            waits.discard(rule)
            needs = tuple([last[cell] for cell in self.rules[rule].cells if cell in last])
            changed = self.rules[rule].narrow(now)
            if changed is None:
                return rule, needs
            for cell in changed:
                last[cell] = len(self.all)
                self.all.append(Step(cell, now[cell], rule, needs))
                wake(self.at[cell])
        return None

    def _tried(self, now: list[int], last: dict[int, int]) -> bool:
        """Try values of open variables until one turns out wrong."""
        begun = len(self.all)
        for cell in sorted([c for c, d in enumerate(now) if d & (d - 1)], key=lambda c: now[c].bit_count()):
            for value in VALUES[now[cell]] if self.trials else ():
                self.trials -= 1
                trial, seen = now.copy(), {**last, cell: begun}
                trial[cell] = value
                self.all.append(Step(cell, value, -1, ()))
                broken = self._spread(trial, seen, self.at[cell])
                used = self._used(broken[1]) if broken else []
                inner = tuple([self.all[i] for i in used if i > begun])
                del self.all[begun:]
                if broken:
                    needs = tuple([i for i in (*used, last.get(cell, begun)) if i < begun])
                    now[cell] ^= value
                    self.all.append(Step(cell, now[cell], -1, needs, Fall(value, inner, broken[0])))
                    last[cell] = begun
                    return self._spread(now, last, self.at[cell]) is None
        return False

    def _used(self, needs: Iterable[int]) -> list[int]:
        """These steps and all that they rest on, in order."""
        used, ahead = set[int](), list(needs)
        while ahead:
            step = ahead.pop()
            if step not in used:
                used.add(step)
                ahead += self.all[step].needs
        return sorted(used)


class Words(NamedTuple):
    """How variables, their values and the rules between them are called; the values of the variable `count` are numbers."""

    things: Sequence[str]
    values: Sequence[str]
    rules: Sequence[str]
    count: int = -1

    def left(self, cell: int, domain: int) -> str:
        """A variable and the values left for it."""
        part = "" if max(map(len, self.values)) == 1 else "/"
        values = [str(LEAST[bit]) if cell == self.count else self.values[LEAST[bit]] for bit in VALUES[domain]]
        return f"{self.things[cell]} {part.join(values)}"


def told(steps: Iterable[Step], words: Words, part: str = ". ") -> str:
    """The steps in words."""
    out = []
    for rule, group in itertools.groupby(steps, key=lambda step: step.rule):
        for step in group if rule < 0 else ():
            if fall := step.fall:
                then = f"{told(fall.steps, words, '; ')}; then" if fall.steps else "then"
                out.append(f"Try {words.left(step.cell, fall.value)}: {then} {words.rules[fall.rule]} fails")
                out.append(f"So {words.left(step.cell, step.left)}")
        if rule >= 0:
            left = {step.cell: words.left(step.cell, step.left) for step in group}
            out.append(f"{words.rules[rule]}: {', '.join(left.values())}")
    return part.join(out)


def decisive(steps: Iterable[Step], deep: bool) -> list[Step]:
    """The steps that settle a variable, and trials; of these, where not `deep`, only how they end."""
    kept = [step for step in steps if step.sure or step.fall]
    return [
        s._replace(fall=s.fall and s.fall._replace(steps=(*decisive(s.fall.steps if deep else (), deep),)))
        for s in kept
    ]


def reasoned(rules: Sequence[Rule], domains: Ints, words: Words, most: int) -> str:
    """How rules are solved: all steps, or the decisive ones where that is longer than `most`; else nothing."""
    found = Deduction(rules, domains)
    return "" if found.open else _fitting(found.steps, words, most)


def _fitting(steps: Sequence[Step], words: Words, most: int) -> str:
    """The fullest way to tell steps in up to `most` characters, or nothing."""
    ends = decisive(steps, False)
    marks = [step for step in ends if step.fall or words.values[0] != NO or step.left > 1]
    ways = (("", steps), (SHORT, decisive(steps, True)), (SHORT, ends), (SHORT, marks))
    return next((head + text for head, kept in ways if 0 < len(text := told(kept, words)) <= most), "")


def easiest(rules: Sequence[Rule], domains: Ints, words: Words, wanted: Mapping[int, int]) -> tuple[Ints, str]:
    """The `wanted` variables, with the bits to be left for them, one that follows in few steps first; and these steps.

    What a rule tells by itself comes before what several tell one after the other, and trials count for each of their steps.
    """
    found = Deduction(rules, domains)
    ways = [[step] for step in _at_once(rules, domains, wanted)]
    ways += [] if ways else [way for c, bits in wanted.items() if found.now[c] == bits and (way := found.way((c,)))]
    way = _needed(rules, domains, min(ways, key=_weight, default=[]))
    first = way[-1].cell if way else -1
    order = sorted(wanted, key=lambda c: (c != first, found.last.get(c, len(found.all)), c))
    if first < 0:
        return tuple(order), ""
    return tuple(order), f"{_fitting(way, words, LONGEST // 2) or words.left(first, wanted[first])}."


def _at_once(rules: Sequence[Rule], domains: Ints, wanted: Mapping[int, int]) -> Iterator[Step]:
    """What a rule alone leaves for variables that are wanted."""
    for number, rule in enumerate(rules):
        if not wanted.keys().isdisjoint(rule.cells):
            now = list(domains)
            for cell in rule.narrow(now) or ():
                if wanted.get(cell) == now[cell]:
                    yield Step(cell, now[cell], number, ())


def _weight(steps: Sequence[Step]) -> int:
    return sum(1 + (len(step.fall.steps) + 2 if step.fall else 0) for step in steps)


def _needed(rules: Sequence[Rule], domains: Ints, way: Sequence[Step]) -> list[Step]:
    """A way without the steps that its end does not need; one with trials as it is."""
    kept = list(way)
    for step in [] if any(step.fall for step in way) else way[-2::-1]:
        less = [other for other in kept if other is not step]
        now = list(domains)
        for other in less:
            after = list(now)
            rules[other.rule].narrow(after)
            now[other.cell] &= after[other.cell]
        if now[way[-1].cell] == way[-1].left:
            kept = less
    now, out = list(domains), []
    for step in kept:  # with less before it a step may leave more
        if step.fall:
            return kept
        after = list(now)
        rules[step.rule].narrow(after)
        now[step.cell] &= after[step.cell]
        out.append(step._replace(left=now[step.cell]))
    return out


def without(cells: Sequence[int], names: Sequence[str], why: str) -> str:
    """A reason that says first which cells were written wrong and do not count.

    Example:
        >>> without([1], ["a1", "b1"], "row 1: a1 2.")
        'Without b1: row 1: a1 2.'
    """
    return f"Without {', '.join([names[c] for c in cells])}: {why}" if cells and why else why


def page_words(page: Page, rules: Sequence[Rule], domains: Ints, signs: Sequence[str]) -> Words:
    """How the cells of a page, their values (numbers without `signs`) and the rules between them are called."""
    numbers = [str(n) for n in range(max(domains).bit_length())]
    return Words(called(page.width, page.height), signs or numbers, places(rules, page))


def page_reason(rules: Sequence[Rule], domains: Ints, words: Words, solution: Ints) -> str:
    """How the blank cells of a page come about, where they are the variables: by which rule each, and what is left to be tried."""
    found = Deduction(rules, domains)
    open_cells = ", ".join([words.left(cell, 1 << solution[cell]) for cell in found.open])
    text = _fitting(found.steps, words, LONGEST - len(open_cells))
    bare = "" if text else ", ".join([words.left(step.cell, step.left) for step in found.steps if step.sure])
    parts = (("Left by each rule", text), ("One after the other", bare), ("By trial", open_cells))
    return " ".join([f"{how}: {told}." for how, told in parts if told])


def places(rules: Sequence[Rule], page: Page) -> list[str]:
    """What each rule is about: a line, a region, two cells and the sign between them, the cells from one to another, beside or around one.

    Where two rules are about the same, the later one says what it asks for.

    Example:
        >>> page = Page(width=3, height=3, given=(-1,) * 9, pairs=((0, 1, "<"),), labels=((8, "1"),))
        >>> places([Distinct(cells) for cells in ((0, 1, 2), (0, 1), (1, 4), (5, 7), (0, 4, 8), (4, 1, 3, 5, 7))], page)
        ['row 1', 'a1<b1', 'b1 b2', 'beside c3', 'diagonal a1-c3', 'around b2']
    """
    names, width, near = called(page.width, page.height), page.width, neighbours(page.width, page.height)
    known = {tuple([n for n in near[c] if page.given[n] != WALL]): f"beside {names[c]}" for c, _ in page.labels}
    trees = [c for c, sign in enumerate(page.ground) if sign == TREE] if not page.ground.isalpha() else []
    known |= {tuple([n for n in near[c] if n not in trees]): f"beside {names[c]}" for c in trees}
    known |= {(a, b): f"{names[a]}{sign}{names[b]}" for a, b, sign in page.pairs}
    for sign in {*page.ground} if page.ground.isalpha() else ():
        known[tuple([c for c, other in enumerate(page.ground) if other == sign])] = f"area {sign}"
    known |= {cells: f"row {y + 1}" for y, cells in enumerate(rows_of(width, page.height))}
    known |= {cells: f"column {names[x][0]}" for x, cells in enumerate(columns_of(width, page.height))}
    seen, out = set[str](), []
    for rule in rules:
        cells = tuple(sorted(rule.cells))
        place = WHOLE.get(type(rule).__name__) or known.get(cells) or _place(rule.cells, cells, page)
        if place in seen and not isinstance(rule, Distinct):
            place = _asked(rule, place)
        seen.add(place)
        out.append(place)
    return out


def _asked(rule: Rule, place: str) -> str:
    """A rule by what it asks for."""
    if isinstance(rule, Count):
        return f"at least {rule.low} of {place}" if rule.high >= len(rule.cells) else f"at most {rule.high} of {place}"
    return f"outside in {place}" if place == WHOLE["Joined"] else f"clue of {place}"


def _place(cells: Ints, order: Ints, page: Page) -> str:
    """See `places`; `order` are the `cells` in order, which are neither a line nor a clue."""
    names, width = called(page.width, page.height), page.width
    rows, columns = sorted({c // width for c in cells}), sorted({c % width for c in cells})
    count, (y, x) = len(cells), divmod(cells[0], width)
    if count == len(names):
        return "all cells"
    if count < 3:
        return f"{names[cells[0]]} alone" if count == 1 else " ".join([names[c] for c in order])
    if count == len(rows) * width:
        return f"rows {' '.join([str(row + 1) for row in rows])}"
    if count == len(columns) * page.height:
        return f"columns {' '.join([names[column][0] for column in columns])}"
    span = f"{names[order[0]]}-{names[order[-1]]}"
    if count == len(range(rows[0], rows[-1] + 1)) * len(range(columns[0], columns[-1] + 1)):
        return span
    if len({b - a for a, b in itertools.pairwise(order)}) == 1:
        return f"diagonal {span}"
    if all(c // width == y or c % width == x for c in cells):
        return f"around {names[cells[0]]}"
    return " ".join([names[c] for c in order]) if count < 5 else f"with {names[order[0]]}"
