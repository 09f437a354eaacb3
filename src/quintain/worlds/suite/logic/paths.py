"""Paths over all cells: numbers in order, over sides or corners too, and links between pairs of ends."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quintain.registry import register
from quintain.types import Ints
from quintain.worlds.cells import name_of
from quintain.worlds.engines.csp.clues import domains_of, settle
from quintain.worlds.engines.csp.desk import CEILINGS, SAYINGS, DeskWorld
from quintain.worlds.engines.csp.nets import Links
from quintain.worlds.engines.csp.page import BLANK, Page, Truth, neighbours
from quintain.worlds.engines.csp.page_look import Look
from quintain.worlds.engines.csp.reasons import Deduction, Step
from quintain.worlds.engines.csp.rules import Distinct
from quintain.worlds.engines.csp.solve import Model
from quintain.worlds.kernel import Facts, levels_of
from quintain.worlds.noise import Rng
from quintain.worlds.splits import canonical
from quintain.worlds.suite.logic.sums import END, all_numbers, facts

Knobs = Mapping[str, Any]
TELLING = """By i-j: on the way from i to j no other free cell is left; alone: no other number reaches the cell; failed tries are out. So"""
MOST = 1060  # characters of what follows it
KEPT = 1 << 14  # sets of places whose neighbours are remembered


@functools.lru_cache(maxsize=64)
def around(size: int, corners: bool) -> tuple[Ints, ...]:
    """For each cell those beside it, over corners too where `corners`."""
    if not corners:
        return neighbours(size, size)
    out = []
    for cell in range(size * size):
        y, x = divmod(cell, size)
        rows, columns = range(max(y - 1, 0), min(y + 2, size)), range(max(x - 1, 0), min(x + 2, size))
        out.append(tuple(r * size + c for r in rows for c in columns if (r, c) != (y, x)))
    return tuple(out)


class Near(dict[int, int]):
    """Places on a square grid -> all places beside some of them, with `corners` also diagonally; a search meets many again."""

    __slots__ = ("corners", "full", "inner", "size")

    def __init__(self, size: int, corners: bool) -> None:
        self.size, self.corners = size, corners
        self.full = (1 << size * size) - 1
        self.inner = sum((1 << size - 1) - 1 << y * size for y in range(size))  # all places but the last column

    def __missing__(self, places: int) -> int:
        size, inner = self.size, self.inner
        east, west = (places & inner) << 1, places >> 1 & inner
        line = places | east | west if self.corners else places
        found = (east | west | line << size | line >> size) & self.full
        if len(self) >= KEPT:
            self.clear()
        self[places] = found
        return found


class Hop:
    """Two variables are places side by side."""

    __slots__ = ("cells", "near")

    def __init__(self, cells: Ints, near: Near) -> None:
        self.cells, self.near = cells, near

    def narrow(self, domains: list[int]) -> list[int] | None:
        a, b = self.cells
        first, second = domains[a], domains[b]
        later = second & self.near[first]
        sooner = first & self.near[later]
        if not later or not sooner:
            return None
        changed = []
        if sooner != first:
            domains[a] = sooner
            changed.append(a)
        if later != second:
            domains[b] = later
            changed.append(b)
        return changed


def walk(rng: Rng, size: int, corners: bool) -> list[int]:
    """A random path over all cells: a snake whose ends bite back again and again."""
    path = [y * size + (x if y % 2 == 0 else size - 1 - x) for y in range(size) for x in range(size)]
    near = around(size, corners)
    for _ in range(6 * size * size):
        if rng.below(2):
            path.reverse()
        bitten = path.index(rng.pick(near[path[0]]))
        path[:bitten] = path[:bitten][::-1]
    return path


@functools.lru_cache(maxsize=32)
def hops(size: int, corners: bool) -> tuple[Hop | Distinct, ...]:
    """Each number lies beside the next, all in different cells."""
    count = size * size
    near = Near(size, corners)
    chain = tuple(Hop((k, k + 1), near) for k in range(count - 1))
    return (*chain, Distinct(tuple(range(count)), (1 << count) - 1))


def path_model(corners: bool, page: Page) -> Model:
    """Variables are the places of the numbers 1, 2, and so on."""
    size = page.width
    free = sum(1 << c for c in page.blanks)
    domains = [free] * (size * size)
    for cell, value in enumerate(page.given):
        if value > 0:
            domains[value - 1] = 1 << cell
    rules = hops(size, corners)

    def tells(places: Ints) -> str:
        ends = domains[0] != free != domains[-1]  # each number lies between two that are printed
        steps = Deduction(rules, tuple(domains)).steps if ends else ()
        tales = (PathTale(Near(size, corners), domains).told(steps, deep) for deep in (True, False) if steps)
        return next((f"{TELLING} {tale}." for tale in tales if len(tale) < MOST), "")

    return Model(rules, tuple(domains), cells=_inverse, values=_places, tells=tells)


class PathTale:
    """Steps of a deduction in words: each number with the known ones between which it has no other cell, or as the only one for its cell.

    Args:
        near: which cells are beside which.
        domains: the places of the numbers that are printed, and all free ones for others, as bits.
    """

    def __init__(self, near: Near, domains: Sequence[int]) -> None:
        self.near, self.left = near, list(domains)
        self.free = functools.reduce(int.__or__, [d for d in domains if d & (d - 1)], 0)

    def _between(self, number: int) -> tuple[int, int, int]:
        """The known numbers before and after, and the cells left for one between them, all from 0."""
        left, low, high = self.left, number - 1, number + 1
        while left[low] & (left[low] - 1):
            low -= 1
        while left[high] & (left[high] - 1):
            high += 1
        before, after = left[low], left[high]
        for k in range(low + 1, number):
            before = self.near[before] & left[k] & self.free
        for k in range(high - 1, number, -1):
            after = self.near[after] & left[k] & self.free
        return low, high, self.near[before] & self.near[after] & left[number] & self.free

    def _cell(self, place: int) -> str:
        return name_of(*divmod(place.bit_length() - 1, self.near.size))

    def _open(self) -> dict[int, int]:
        """The cells left for each number that is not known."""
        return {k: self._between(k)[2] for k, d in enumerate(self.left) if d & (d - 1)}

    def _put(self, number: int, place: int) -> None:
        self.left[number], self.free = place, self.free & ~place

    def _why(self, number: int, place: int) -> str:
        low, high, places = self._between(number)
        if places == place:
            return f"by {low + 1}-{high + 1}"
        return "alone" if places & place and sum([d & place > 0 for d in self._open().values()]) == 1 else ""

    def _puts(self, steps: Iterable[Step]) -> list[str]:
        """The numbers that steps place, in an order in which each is certain."""
        waiting, out = [(s.cell, s.left) for s in steps if s.sure], list[str]()
        while found := next(((n, place, why) for n, place in waiting if (why := self._why(n, place))), None):
            waiting.remove(found[:2])
            self._put(*found[:2])
            out.append(f"{found[0] + 1} {self._cell(found[1])} {found[2]}")
        return out

    def _end(self) -> str:
        """What does not fit any more."""
        open_, known = self._open(), self.left
        for k, places in open_.items():
            if not places:
                return f"no cell for {k + 1}"
        for k in range(len(known) - 1):
            if k not in open_ and k + 1 not in open_ and not self.near[known[k]] & known[k + 1]:
                return f"{k + 1} and {k + 2} apart"
        once = twice = 0
        for places in open_.values():
            twice |= once & places
            once |= places
        if missed := self.free & ~once:
            return f"no number for {self._cell(missed & -missed)}"
        for k, places in open_.items():
            if place := places & once & ~twice or places & -(not places & (places - 1)):
                why = self._why(k, place & -place)
                self._put(k, place & -place)
                return f"{k + 1} {self._cell(place & -place)} {why}, {self._end()}"
        return "nothing fits"

    def told(self, steps: Sequence[Step], deep: bool = True) -> str:
        """All steps; of trials, where not `deep`, only how they end."""
        out, ahead = list[str](), list[Step]()
        for step in steps:
            if fall := step.fall:
                out += self._puts(ahead)
                trial = PathTale(self.near, self.left)
                trial.free = self.free & ~fall.value
                trial.left[step.cell] = fall.value
                then = trial._puts(fall.steps)
                then = [*then, trial._end()] if deep else ["fails"]
                out.append(f"try {step.cell + 1} {self._cell(fall.value)}: {', '.join(then)}")
                self.left[step.cell] &= ~fall.value
                ahead = []
            ahead.append(step)
        out += self._puts(ahead)
        return "; ".join(out)


def _inverse(places: Ints) -> Ints:
    """Places of the numbers -> the number in each cell."""
    out = [0] * len(places)
    for k, place in enumerate(places):
        out[place] = k + 1
    return tuple(out)


def _places(cells: Ints) -> Ints | None:
    """The number in each cell -> places, or None where numbers lack."""
    if sorted(cells) != list(range(1, len(cells) + 1)):
        return None
    out = [0] * len(cells)
    for place, number in enumerate(cells):
        out[number - 1] = place
    return tuple(out)


def path_plant(corners: bool, rng: Rng, knobs: Knobs) -> Truth:
    """A random path."""
    size = knobs["size"]
    return Truth(size, size, _inverse(tuple(walk(rng, size, corners))))


def path_clue(corners: bool, rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """Both ends and some numbers between, then as many as are needed."""
    size, values, count = truth.width, truth.values, truth.width**2
    shown = {1, count, *rng.sample(range(2, count), knobs["shown"])}
    given = tuple(v if v in shown else BLANK for v in values)
    model = functools.partial(path_model, corners)
    return settle(rng, Page(width=size, height=size, given=given), values, model, count // 2)


def _path(name: str, rules: str, corners: bool, table: list[tuple[int, int]]) -> DeskWorld:
    return DeskWorld(
        facts=facts(name, rules, "1 2 3 / 6 5 4 / 7 8 9"),
        levels=levels_of("size shown", table),
        plant=functools.partial(path_plant, corners),
        clue=functools.partial(path_clue, corners),
        model=functools.partial(path_model, corners),
        values=all_numbers,
    )


@register("world", "Numbrix", domain="logic", engine="csp")
def numbrix() -> DeskWorld:
    """Fill a grid with consecutive numbers that form a path over sides, 4x4 to 7x7."""
    rules = """Fill the NxN grid with the numbers 1 to N*N, each once, so that each number and the next share a side."""
    table = [(4, 6), (4, 4), (4, 2), (5, 9), (5, 7), (5, 5), (6, 12), (6, 9), (7, 16), (7, 13)]
    return _path("Numbrix", rules, False, table)


@register("world", "Hidato", domain="logic", engine="csp")
def hidato() -> DeskWorld:
    """Fill a grid with consecutive numbers that form a path over sides and corners, 4x4 to 7x7."""
    rules = """Fill the NxN grid with the numbers 1 to N*N, each once, so that each number and the next touch at a side or a corner."""
    table = [(4, 6), (4, 4), (4, 2), (5, 8), (5, 6), (5, 4), (6, 11), (6, 9), (7, 17), (7, 14)]
    return _path("Hidato", rules, True, table)


COLORS = tuple("ABCDEFGHIJKL")


def flow_model(page: Page) -> Model:
    """Paths of one letter each between the printed ends."""
    count = page.width * page.height
    ends = tuple(c for c, text in page.labels if text == "end")
    used = len({page.given[c] for c in ends})
    return Model(
        (Links(tuple(range(count)), neighbours(page.width, page.height), ends),), domains_of(page, (1 << used) - 1)
    )


def flow_plant(rng: Rng, knobs: Knobs) -> Truth | None:
    """A path over all cells, cut into parts of at least three cells that do not touch themselves."""
    size, near = knobs["size"], neighbours(knobs["size"], knobs["size"])
    path, parts = walk(rng, size, False), [[]]
    for cell in path:
        part = parts[-1]
        if sum(n in part for n in near[cell]) > 1 or (len(part) > 3 and rng.uniform() < knobs["cut"] / 100):
            parts.append([cell])
        else:
            part.append(cell)
    if min(map(len, parts)) < 3 or len(parts) > knobs["most"] or len(parts) < 3:
        return None
    values = [0] * (size * size)
    for i, part in enumerate(parts):
        for cell in part:
            values[cell] = i
    ends = [str(c) for part in parts for c in (part[0], part[-1])]
    return Truth(size, size, tuple(values), tuple(ends))


def flow_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """The ends, and a further cell where they leave two ways; None where that does too."""
    size, values = truth.width, truth.values
    names: dict[int, int] = {}
    for v in values:
        names.setdefault(v, len(names))
    ends = sorted(map(int, truth.more))
    given = [BLANK] * (size * size)
    for end in ends:
        given[end] = names[values[end]]
    page = Page(width=size, height=size, given=tuple(given), labels=tuple((c, "end") for c in ends))
    return settle(rng, page, [names[v] for v in values], flow_model, 1)


def flow_layout(truth: Truth) -> str:
    """The ends in their least image, whatever the letters."""
    signs = ["#" if str(c) in truth.more else "." for c in range(len(truth.values))]
    return canonical(signs, truth.width, truth.height)


@register("world", "FlowLinks", domain="logic", engine="csp")
def flow_links() -> DeskWorld:
    """Link pairs of letters by paths that cover the grid, 5x5 to 8x8."""
    rules = """Fill every cell with a letter so that the cells of each letter form one path, over sides, between its
two printed ends (listed as clues, discs of one colour in the picture). A path does not touch itself: each of its
cells has exactly two neighbours of its letter, each end exactly one. A printed letter that is no end lies on its path."""
    table = [
        (5, 20, 6),
        (5, 18, 6),
        (5, 16, 6),
        (6, 20, 8),
        (6, 17, 8),
        (6, 14, 8),
        (7, 18, 10),
        (7, 16, 10),
        (8, 18, 12),
        (8, 16, 12),
    ]
    return DeskWorld(
        facts=Facts(
            name="FlowLinks",
            rules=f"{rules}\n{END}",
            answer="Write the whole grid row by row, letters parted by spaces and rows by /.",
            example="A A B / A C B / C C B",
            ceilings=CEILINGS,
            sayings=SAYINGS,
        ),
        levels=levels_of("size cut most", table),
        plant=flow_plant,
        clue=flow_clue,
        model=flow_model,
        values=lambda page: range(len({page.given[c] for c, _ in page.labels})),
        look=Look(hued=True, label=""),
        signs=COLORS,
        extra=("end",),
        layout=flow_layout,
    )
