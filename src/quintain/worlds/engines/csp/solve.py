"""The solver of all csp worlds: narrow domains by the rules until nothing changes, then try values of one variable."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from quintain.types import Ints
from quintain.worlds.engines.csp.rules import VALUES, Rule
from quintain.worlds.kernel import GenerationError
from quintain.worlds.noise import Rng

NODES = 20_000  # guesses after which a search gives up
WIDE = 10  # cells from which on a rule is applied last


class Found(NamedTuple):
    """What a search found: solutions, the guesses it took, and whether it saw all there is up to its limit."""

    solutions: tuple[Ints, ...]
    nodes: int
    complete: bool

    @property
    def one(self) -> Ints:
        """The first solution.

        Raises:
            GenerationError: there is none.
        """
        if not self.solutions:
            raise GenerationError("a page of this size cannot be filled by the rules")
        return self.solutions[0]


class Solver:
    """Solves one set of rules over variables 0..count-1.

    Args:
        rules: what binds the variables.
        count: number of variables.
    """

    def __init__(self, rules: Sequence[Rule], count: int) -> None:
        self.rules: tuple[Rule, ...] = tuple(rules)
        self.count = count
        at: list[list[int]] = [[] for _ in range(count)]
        for i, rule in enumerate(self.rules):
            for cell in rule.cells:
                at[cell].append(i)
        self.at: tuple[Ints, ...] = tuple(tuple(a) for a in at)
        self.wide: tuple[bool, ...] = tuple(len(rule.cells) > WIDE for rule in self.rules)
        self.deaf: Ints = tuple(~getattr(rule, "wakes", -1) for rule in self.rules)  # bits that keep a rule asleep

    def narrow(self, domains: list[int], cells: Iterable[int] | None = None) -> bool:
        """Apply the rules to `domains`, in place, until none changes anything; False if they contradict each other.

        Args:
            domains: bits of the possible values of each variable.
            cells: variables that changed since the last call; None for all.
        """
        rules, at, wide, deaf = self.rules, self.at, self.wide, self.deaf
        soon: deque[int] = deque()
        late: deque[int] = deque()  # wide rules cost much and say little: they wait until all others are done
        waits = bytearray(len(rules))
        fresh = range(len(rules)) if cells is None else [i for c in cells for i in at[c] if not domains[c] & deaf[i]]
        for i in fresh:
            if not waits[i]:
                waits[i] = 1
                (late if wide[i] else soon).append(i)
        while soon or late:
            rule = soon.popleft() if soon else late.popleft()
            changed = rules[rule].narrow(domains)
            if changed is None:
                return False
            for cell in changed:
                now = domains[cell]
                for other in at[cell]:
                    if not waits[other] and not now & deaf[other]:
                        waits[other] = 1
                        (late if wide[other] else soon).append(other)
            waits[rule] = 0
        return True

    def search(
        self,
        domains: Sequence[int],
        limit: int = 1,
        nodes: int = NODES,
        first: Ints = (),
        rng: Rng | None = None,
        changed: Ints | None = None,
    ) -> Found:
        """Up to `limit` solutions within `domains`.

        Args:
            domains: bits of the possible values of each variable.
            limit: solutions after which the search ends; 2 tells whether there is just one.
            nodes: guesses after which it gives up.
            first: variables to guess in this order; then, and without it, the smallest domain comes first.
            rng: tries values in random order; without it the smallest comes first.
            changed: the variables whose rules may not be kept yet; None for all.
        """
        found: list[Ints] = []
        stack: list[tuple[list[int], Ints | None, int]] = [(list(domains), changed, 0)]
        spent = -1
        while stack:
            current, fresh, at = stack.pop()
            spent += 1
            if spent > nodes:
                return Found(tuple(found), spent, False)
            if not self.narrow(current, fresh):
                continue
            while at < len(first) and not current[first[at]] & (current[first[at]] - 1):
                at += 1
            cell = first[at] if at < len(first) else _smallest(current)
            if cell < 0:
                found.append(tuple([d.bit_length() - 1 for d in current]))
                if len(found) >= limit:
                    break
                continue
            for value in reversed(_values(current[cell], rng)):
                guess = current.copy()
                guess[cell] = value
                stack.append((guess, (cell,), at))
        return Found(tuple(found), spent, True)


def _smallest(domains: Sequence[int]) -> int:
    best, size = -1, 1 << 30
    for cell, d in enumerate(domains):
        if d & (d - 1):
            n = d.bit_count()
            if n < size:
                best, size = cell, n
                if n == 2:
                    break
    return best


def _values(domain: int, rng: Rng | None) -> list[int]:
    out = [*VALUES[domain]]
    if rng is not None:
        rng.shuffle(out)
    return out


class Model(NamedTuple):
    """A page as the solver takes it.

    Attributes:
        rules: between variables.
        domains: bits of the possible values of each variable.
        first: variables to guess first.
        cells: values of the variables -> values of the cells; the first variables are the cells unless given.
        values: values of the cells -> values of the variables, or None where there are none.
        tells: how the solution, which it is given, comes about; see `Plan.because`.
    """

    rules: tuple[Rule, ...]
    domains: Ints
    first: Ints = ()
    cells: Callable[[Ints], Ints] | None = None
    values: Callable[[Ints], Ints | None] | None = None
    tells: Callable[[Ints], str] | None = None


def search(model: Model, limit: int = 1, rng: Rng | None = None, nodes: int = NODES) -> Found:
    """Up to `limit` solutions of a model, as values of its variables."""
    return Solver(model.rules, len(model.domains)).search(model.domains, limit, nodes, model.first, rng)
