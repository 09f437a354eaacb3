"""How a page is solved by logic: what each rule leaves for a variable, and which values turn out wrong when they are tried."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from quintain.types import Ints
from quintain.worlds.engines.csp.rules import LEAST, VALUES, Rule
from quintain.worlds.engines.csp.solve import WIDE

SHORT = "in short, only what is settled. "  # goes before steps that leave out what narrows


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
    """The `steps` to the solution, those alone on which it rests; none where trials of single values do not lead to it.

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
        self._spread(now, last, range(len(rules)))
        while self._tried(now, last):
            pass
        self.steps = [] if any(d & (d - 1) for d in now) else [self.all[i] for i in self._used(last.values())]

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
            for value in VALUES[now[cell]]:
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
    """How variables, their values and the rules between them are called."""

    things: Sequence[str]
    values: Sequence[str]
    rules: Sequence[str]

    def left(self, cell: int, domain: int) -> str:
        """A variable and the values left for it."""
        return f"{self.things[cell]} {''.join([self.values[LEAST[bit]] for bit in VALUES[domain]])}"


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
    steps = Deduction(rules, domains).steps
    ways = (("", steps), (SHORT, decisive(steps, True)), (SHORT, decisive(steps, False)))
    return next((head + text for head, kept in ways if 0 < len(text := told(kept, words)) <= most), "")
