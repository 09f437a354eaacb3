"""Clues in words: who lies, who lives where, and what lights a lamp."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quintain.registry import register
from quintain.types import Ints
from quintain.worlds.engines.csp.clues import pick_clues
from quintain.worlds.engines.csp.desk import CEILINGS, SAYINGS, DeskWorld
from quintain.worlds.engines.csp.page import BLANK, Page, Truth, called, rows_of
from quintain.worlds.engines.csp.page_look import Look, text_notes
from quintain.worlds.engines.csp.reasons import Words, page_reason, reasoned
from quintain.worlds.engines.csp.rules import Distinct, Rule
from quintain.worlds.engines.csp.solve import Model
from quintain.worlds.engines.csp.tables import Pair, Patterns, Relation, Table
from quintain.worlds.kernel import Facts, levels_of
from quintain.worlds.noise import Rng
from quintain.worlds.suite.logic.binary import both, marking

Knobs = Mapping[str, Any]
ONE = "There is exactly one solution."


def row_layout(truth: Truth) -> str:
    """The solution and its clues as they are: a row of names has no symmetry."""
    return " ".join(map(str, truth.values)) + "".join(truth.more)


def with_notes(page: Page, clues: Sequence[Any]) -> Page:
    """The page with these notes."""
    return replace(page, notes=tuple(sorted(clues)))


def spoken(note: str) -> tuple[Ints, Callable[[Ints], bool]]:
    """Whom a statement is about, its speaker first, and whether it is true of them (1 is a knave)."""
    speaker, _, said = note.partition(" says ")
    words = said.split()
    people = [ord(w) - 97 for w in words if len(w) == 1 and w.isalpha()]
    who = (ord(speaker) - 97, *people)
    if words[0] == "exactly":
        number = int(words[1])
        return who, lambda v: sum(v[1:]) == number
    if not {"knave", "knight"}.isdisjoint(words):
        return who, lambda v: v[1] == ("knave" in words)
    if words[-1] == "alike":
        return who, lambda v: v[1] == v[2]
    return who, lambda v: v[1] != v[2]


@functools.lru_cache(maxsize=128)
def allowed(fits: tuple[Ints, ...]) -> Patterns:
    """These tuples of zeros and ones; few are to be told."""
    return Patterns(fits, 2)


@functools.lru_cache(maxsize=8192)
def told(note: str) -> Table:
    """A knight's statement is true, a knave's is not."""
    who, true = spoken(note)
    cells = tuple(dict.fromkeys(who))
    at = [cells.index(person) for person in who]
    ways = itertools.product((0, 1), repeat=len(cells))
    return Table(cells, allowed(tuple([v for v in ways if true(tuple([v[i] for i in at])) == (v[at[0]] == 0)])))


def knave_model(page: Page) -> Model:
    """All that is said."""
    rules, domains = tuple([told(note) for note in page.notes]), (3,) * page.width
    words = Words(called(page.width, 1), ("is a knight", "is a knave"), page.notes)
    return Model(rules, domains, tells=lambda solution: page_reason(rules, domains, words, solution))


def knave_plant(rng: Rng, knobs: Knobs) -> Truth | None:
    """Who lies, and what each might say."""
    count = knobs["people"]
    values = tuple(rng.below(2) for _ in range(count))
    if not any(values):
        return None
    names, notes = [chr(97 + i) for i in range(count)], set()
    for _ in range(8 * count):
        speaker = rng.below(count)
        x, y, z = rng.sample([i for i in range(count) if i != speaker], 3)
        kind = rng.below(5)
        if kind == 0:
            said = f"{names[x]} is {rng.pick(('knight', 'knave'))}"
        elif kind < 3:
            x, y = sorted((x, y))
            said = f"{names[x]} and {names[y]} {rng.pick(('are alike', 'differ'))}"
        else:
            three = [names[i] for i in sorted((x, y, z))]
            number = rng.below(4)
            said = f"exactly {number} knave{'s' * (number != 1)} among {' '.join(three)}"
        note = f"{names[speaker]} says {said}"
        who, true = spoken(note)
        if true(tuple(values[i] for i in who)) == (values[speaker] == 0):
            notes.add(note)
    return Truth(count, 1, values, tuple(sorted(notes)))


def knave_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """As many statements as are needed."""
    page = Page(width=truth.width, height=1, given=(BLANK,) * truth.width)
    return pick_clues(rng, page, truth.more, truth.values, with_notes, knave_model, knobs["people"] // 2)


@register("world", "KnightsKnaves", domain="logic", engine="csp")
def knights_knaves() -> DeskWorld:
    """Tell from what people say who of them lies: 5 to 14 people, each a knight or a knave."""
    rules = f"""Each person, named by a letter, is a knight, whose statements are all true, or a knave, whose statements are all false; the
dots below Grid stand for them, later 1 for a knave and 0 for a knight. Lines that begin with * are statements: that one is a knight or a
knave, that two are alike (both knights or both knaves) or differ, or exactly how many knaves are among three. Name the knaves. {ONE}"""
    return DeskWorld(
        facts=marking(
            "KnightsKnaves",
            rules,
            "Name the knaves by their letters, parted by spaces; before a single one write only, as in: only b.",
            "b d",
        ),
        levels=levels_of("people", [(n,) for n in (5, 6, 7, 8, 9, 10, 11, 12, 13, 14)]),
        plant=knave_plant,
        clue=knave_clue,
        model=knave_model,
        values=both,
        marks=True,
        tells=("(?:knave|1)", "(?:knight|0)"),
        look=Look(mark="disc", zeros=True, named=True, notes=text_notes),
        extra=("says", "is", "knight", "knave", "knaves", "and", "are", "alike", "differ", "exactly", "among"),
        printed=lambda page: "\n".join(page.notes),
        size=lambda knobs: (knobs["people"], 1),
    )


THINGS = ("RGBYW", "CDFHM", "TJKLN", "PSVAE")
SIGNS = tuple("".join(THINGS))
SPOTS = {sign: (row, i) for row, signs in enumerate(THINGS) for i, sign in enumerate(signs)}
OKAY: dict[str, Callable[[int, int], bool]] = {
    "with": lambda a, b: a == b,
    "apart from": lambda a, b: a != b,
    "beside": lambda a, b: abs(a - b) == 1,
    "just left of": lambda a, b: a + 1 == b,
    "left of": lambda a, b: a < b,
}
PLACES = {words: Relation(ok, 6) for words, ok in OKAY.items()}


@functools.lru_cache(maxsize=16)
def house_rules(width: int, height: int) -> tuple[Rule, ...]:
    """The things of a row are in different houses."""
    return tuple([Distinct(row, (1 << width) - 1) for row in rows_of(width, height)])


@functools.lru_cache(maxsize=8192)
def house_rule(note: str, width: int) -> Pair | tuple[int, int]:
    """What a clue says of two things, or the variable of one thing and its house as a bit."""
    one, *words, other = note.split(" ")
    if words == ["in", "house"]:
        return SPOTS[one][0] * width + SPOTS[one][1], 1 << ord(other) - 97
    first, second = (SPOTS[thing][0] * width + SPOTS[thing][1] for thing in (one, other))
    return Pair((first, second), PLACES[" ".join(words)])


def house_model(page: Page) -> Model:
    """Variables are the houses (columns) of things, row by row."""
    width, height = page.width, page.height
    domains, rules = [(1 << width) - 1] * (width * height), list(house_rules(width, height))
    for note in page.notes:
        rule = house_rule(note, width)
        if isinstance(rule, Pair):
            rules.append(rule)
        else:
            domains[rule[0]] &= rule[1]

    def cells(values: Ints) -> Ints:
        out = [0] * (width * height)
        for i, house in enumerate(values):
            out[i // width * width + house] = i // width * 5 + i % width
        return tuple(out)

    def values(filled: Ints) -> Ints | None:
        out = [0] * (width * height)
        for c, sign in enumerate(filled):
            if sign // 5 != c // width or sign % 5 >= width:
                return None
            out[c // width * width + sign % 5] = c % width
        return tuple(out) if cells(tuple(out)) == filled else None

    def tells(solution: Ints) -> str:
        things = [THINGS[r][i] for r in range(height) for i in range(width)]
        said = [f"row {y + 1}" for y in range(height)] + [note for note in page.notes if " in house " not in note]
        steps = reasoned(rules, tuple(domains), Words(things, "abcde", said), 1150)
        return f"Houses left: {steps}." if steps else ""

    return Model(tuple(rules), tuple(domains), cells=cells, values=values, tells=tells)


def house_plant(rng: Rng, knobs: Knobs) -> Truth:
    """Things in houses."""
    width, height = knobs["houses"], knobs["kinds"]
    values: list[int] = []
    for _ in range(height):
        values += rng.sample(range(width), width)
    return Truth(width, height, tuple(values))


def house_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """As many clues as are needed, out of all that can be said with the words of the level."""
    width, height, values = truth.width, truth.height, truth.values
    things = [THINGS[r][i] for r in range(height) for i in range(width)]
    notes = []
    spread = tuple(OKAY)[knobs["hard"] :]
    for (i, a), (j, b) in itertools.permutations(enumerate(things), 2):
        for words in spread:
            idle = i // width == j // width and words in ("with", "apart from")  # two of a row are never in one house
            twice = i > j and words in ("with", "apart from", "beside")
            if not idle and not twice and OKAY[words](values[i], values[j]):
                notes.append(f"{a} {words} {b}")
    for i, a in enumerate(things):
        if rng.uniform() < 0.2:
            notes.append(f"{a} in house {chr(97 + values[i])}")
    rng.shuffle(notes)
    page = Page(width=width, height=height, given=(BLANK,) * (width * height))
    return pick_clues(rng, page, notes, values, with_notes, house_model, width)


@register("world", "ZebraHouses", domain="logic", engine="csp")
def zebra_houses() -> DeskWorld:
    """Find out from clues what is in each of up to five houses: colours, pets, drinks, trades."""
    rules = f"""Houses stand in a line from left to right, a column each. Every row of the grid has things of its own,
one of each for every house, the first ones of: row 1 the colours R red, G green, B blue, Y yellow, W white; row 2 the
pets C cat, D dog, F fox, H horse, M mouse; row 3 the drinks T tea, J juice, K kefir, L lemonade, N nectar; row 4 the
trades P painter, S smith, V vet, A author, E engineer. Lines that begin with * are clues: "in house a"; "with", in
the same house; "apart from", in another; "beside", in the next house on either side; "left of", anywhere; "just left
of", in the next house. {ONE}"""
    table = (
        *((3, 3, 0), (3, 3, 1), (4, 3, 0), (4, 3, 0), (4, 3, 1)),
        *((5, 3, 0), (5, 3, 1), (4, 4, 1), (5, 4, 0), (5, 4, 1)),
    )
    return DeskWorld(
        facts=Facts(
            name="ZebraHouses",
            rules=rules,
            answer="Write the whole grid row by row, letters parted by spaces and rows by /.",
            example="R B G / D C F / J T K",
            ceilings=CEILINGS,
            sayings=SAYINGS,
        ),
        levels=levels_of("houses kinds hard", table),
        plant=house_plant,
        clue=house_clue,
        model=house_model,
        values=lambda page: [r * 5 + i for r in range(page.height) for i in range(page.width)],
        look=Look(named=True, notes=text_notes),
        signs=SIGNS,
        tells=("colou?rs?", "pets?", "drinks?", "trades?"),
        extra=("in", "house", "with", "apart", "from", "beside", "just", "left", "of"),
        layout=row_layout,
        size=lambda knobs: (knobs["houses"], knobs["kinds"]),
    )


GATES: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "nand": lambda a, b: 1 - (a & b),
    "nor": lambda a, b: 1 - (a | b),
}
GATE: dict[str, Patterns] = {
    name: Patterns([(a, b, of(a, b)) for a in (0, 1) for b in (0, 1)], 2) for name, of in GATES.items()
}


def wired(page: Page) -> tuple[dict[str, int], list[tuple[str, str, str, str]], list[str]]:
    """The number of each wire, the gates (output, first, kind, second), and the gates that the lamp needs."""
    index = {chr(97 + i): i for i in range(page.width)}
    gates, needs = [], []
    for note in page.notes:
        out, _, rest = note.partition(" = ")
        if out == "lamp":
            needs = rest.split(" and ")
            continue
        index[out] = len(index)
        one, kind, two = rest.split()
        gates.append((out, one, kind, two))
    return index, gates, needs


def circuit_model(page: Page) -> Model:
    """Gates between wires; all that the lamp needs is on."""
    index, gates, needs = wired(page)
    tables = [Table((index[a], index[b], index[out]), GATE[kind]) for out, a, kind, b in gates]
    domains = [3] * len(index)
    for name in needs:
        domains[index[name]] = 2

    def values(cells: Ints) -> Ints:
        state = list(cells)
        for _, a, kind, b in gates:
            state.append(GATES[kind](state[index[a]], state[index[b]]))
        return tuple(state)

    def tells(solution: Ints) -> str:
        words = Words([*index], ("off", "on"), [f"{out} = {a} {kind} {b}" for out, a, kind, b in gates])
        check = [words.left(i, 1 << v) for i, v in enumerate(solution) if i >= page.width]
        steps = reasoned(tables, tuple(domains), words, 950)
        return f"All gates of the lamp must be on. {steps}. Then {', '.join(check)}: the lamp is lit." if steps else ""

    return Model(tuple(tables), tuple(domains), cells=lambda state: state[: page.width], values=values, tells=tells)


def circuit_plant(rng: Rng, knobs: Knobs) -> Truth | None:
    """Inputs and gates in layers, until the lamp, which needs some of them, has one way to be lit."""
    count = knobs["inputs"]
    values = tuple(rng.below(2) for _ in range(count))
    if not any(values):
        return None
    size = 1 << count
    full, right = (1 << size) - 1, sum(v << i for i, v in enumerate(values))
    wires = [(sum(1 << n for n in range(size) if n >> i & 1), "") for i in range(count)]  # truth table, text
    ways, needs = full, []
    for _ in range(12 * count):
        if ways & (ways - 1) == 0:
            break
        deep = len(wires) > count and rng.uniform() < 0.45
        a = count + rng.below(len(wires) - count) if deep else rng.below(count)
        b = rng.below(count)
        kind = rng.pick(tuple(GATES))
        one, two = wires[a][0], wires[b][0]
        table = {
            "and": one & two,
            "or": one | two,
            "xor": one ^ two,
            "nand": full ^ (one & two),
            "nor": full ^ (one | two),
        }[kind]
        used = table >> right & 1 and ways & ~table and (ways & table).bit_count() * 4 >= ways.bit_count()
        if a == b or (not used and (a >= count or len(wires) > 2 * count)):
            continue
        wires.append((table, f"{_wire(a, count)} {kind} {_wire(b, count)}"))
        if used:
            ways &= table
            needs.append(len(wires) - 1)
    if ways != 1 << right:
        return None
    return Truth(count, 1, values, _needed([text for _, text in wires], needs, count))


def _wire(i: int, count: int) -> str:
    return chr(97 + i) if i < count else f"g{i - count + 1}"


def _needed(texts: Sequence[str], needs: Sequence[int], count: int) -> tuple[str, ...]:
    """The notes of those gates on which the lamp depends, numbered anew."""
    keep, waiting = set(needs), list(needs)
    for i in waiting:
        for word in texts[i].split()[::2]:
            if word[0] == "g" and len(word) > 1 and count + int(word[1:]) - 1 not in keep:
                keep.add(count + int(word[1:]) - 1)
                waiting.append(count + int(word[1:]) - 1)
    names = {_wire(i, count): f"g{n}" for n, i in enumerate(sorted(keep), 1)}
    notes = [f"{names[_wire(i, count)]} = {' '.join(names.get(w, w) for w in texts[i].split())}" for i in sorted(keep)]
    return (*notes, "lamp = " + " and ".join(names[_wire(i, count)] for i in needs))


def circuit_clue(rng: Rng, truth: Truth, knobs: Knobs) -> Page | None:
    """The gates."""
    return Page(width=truth.width, height=1, given=(BLANK,) * truth.width, notes=truth.more)


@register("world", "CircuitSat", domain="logic", engine="csp")
def circuit_sat() -> DeskWorld:
    """Find the one setting of 4 to 10 switches that lights the lamp of a circuit."""
    rules = f"""The switches, named by letters, are on or off; the dots below Grid stand for them. Each line that begins with *
g is a gate: its output is on for "x and y" if both are, for "or" if at least one is, for "xor" if exactly one is, for "nand"
unless both are, for "nor" if none is. The lamp is lit if all gates of the last line are on. Name the switches that are on; all
others are off. {ONE}"""
    return DeskWorld(
        facts=marking(
            "CircuitSat",
            rules,
            "Name the switches that are on by their letters, parted by spaces; before a single one write only, as in: only b.",
            "b d",
        ),
        levels=levels_of("inputs", [(n,) for n in (4, 5, 6, 7, 7, 8, 8, 9, 9, 10)]),
        plant=circuit_plant,
        clue=circuit_clue,
        model=circuit_model,
        values=both,
        marks=True,
        tells=("(?:on|1|true)", "(?:off|0|false)"),
        look=Look(mark="disc", zeros=True, named=True, notes=text_notes),
        extra=("and", "or", "xor", "nand", "nor", "lamp", *(f"g{n}" for n in range(1, 60))),
        layout=row_layout,
        size=lambda knobs: (knobs["inputs"], 1),
    )
