"""Who says which answers are right, from the caption alone: for worlds whose questions have several right answers.

A judge takes the caption, what was said and the oracle's answer; it knows nothing of a world's own code. An answer to a question for
the best is right where it keeps the rules and is worth what the oracle's is worth, which other tests hold to be the most.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction

Judge = Callable[[str, str, str], bool]
Worth = Callable[["Drawing", str], int | None]
STEPS = {"u": (-1, 0), "d": (1, 0), "l": (0, -1), "r": (0, 1)}


class Drawing:
    """A graph as its caption tells it: edges with labels, in both directions where they have no arrow; notes; what is asked."""

    def __init__(self, caption: str) -> None:
        self.asks = dict(re.findall(r"^(\w+): (.*)$", caption, re.MULTILINE))
        self.notes = dict(re.findall(r"(\w+)(?: (\S+))? \(\d+,\d+\)", self.asks.get("vertices", "")))
        found = re.findall(r"(\w+)([->])(\w+)(?: (\S+))?\.(?: |$)", self.asks.get("edges", ""))
        if "board" in self.asks:
            board = cells_of(caption)
            self.notes = {f"{'abcdefghi'[x]}{y + 1}": sign for (y, x), sign in board.items() if sign != "."}
            found = [(a, "-", b, "") for a, b in itertools.combinations(self.notes, 2) if _beside(a, b)]
        self.edges = [(a, b, sign == ">", label) for a, sign, b, label in found]
        self.label = {(a, b): label for a, b, _, label in self.edges}
        self.label |= {(b, a): label for a, b, arrow, label in self.edges if not arrow}

    def joined(self, names: Iterable[str]) -> bool:
        """Whether every two of these are."""
        return all(pair in self.label for pair in itertools.combinations(names, 2))

    def apart(self, names: Iterable[str]) -> bool:
        """Whether no two of these are joined, either way."""
        return not any(pair in self.label for pair in itertools.permutations(names, 2))

    def reached(self, start: str, pairs: Iterable[tuple[str, str]]) -> set[str]:
        """What can be reached from a vertex along these edges."""
        known, pairs = {start}, list(pairs)
        while new := {b for a, b in pairs if a in known} - known:
            known |= new
        return known


def _beside(a: str, b: str) -> bool:
    return abs(ord(a[0]) - ord(b[0])) + abs(int(a[1:]) - int(b[1:])) == 1


def cells_of(caption: str) -> dict[tuple[int, int], str]:
    """The signs of a map with named rows, or of a bare one, by row and column."""
    rows = [re.sub(r"^\s*\d+ ", "", line).split() for line in caption.split("\n")]
    rows = [row for row in rows if len(row) > 1 and all(len(sign) == 1 for sign in row)]
    rows = rows[1:] if rows[0] == list("abcdefghijklmnop")[: len(rows[0])] else rows
    return {(y, x): sign for y, row in enumerate(rows) for x, sign in enumerate(row)}


def best(worth: Worth) -> Judge:
    """Right is what keeps the rules and is worth as much as the oracle's answer."""

    def judge(caption: str, said: str, known: str) -> bool:
        if "none" in (said, known):
            return said == known
        drawing = Drawing(caption)
        value = worth(drawing, said)
        return value is not None and value == worth(drawing, known)

    return judge


def walked(g: Drawing, said: str) -> int | None:
    """The length of a walk from `from` to `to`."""
    walk = said.split()
    steps = list(itertools.pairwise(walk))
    if walk[0] != g.asks["from"] or walk[-1] != g.asks["to"] or not all(s in g.label for s in steps):
        return None
    return sum(int(g.label[s]) for s in steps)


def longest(g: Drawing, said: str) -> int | None:
    return walked(g, said) if len(set(said.split())) == len(said.split()) else None


def hamilton(g: Drawing, said: str) -> int | None:
    walk = said.split()
    return 1 if sorted(walk) == sorted(g.notes) and all(s in g.label for s in itertools.pairwise(walk)) else None


def euler(g: Drawing, said: str) -> int | None:
    walk = said.split()
    used = Counter(frozenset(s) for s in itertools.pairwise(walk) if s in g.label)
    whole = used == Counter(frozenset(e[:2]) for e in g.edges) and len(walk) == len(g.edges) + 1
    return 1 if whole and walk[0] == walk[-1] else None


def clique(g: Drawing, said: str) -> int | None:
    names = said.split()
    return len(names) if set(names) <= set(g.notes) and g.joined(names) else None


def apart(g: Drawing, said: str) -> int | None:
    names = said.split()
    return sum(int(g.notes[v]) for v in names) if set(names) <= set(g.notes) and g.apart(names) else None


def groups(g: Drawing, said: str, meet: bool = False) -> int | None:
    """How many groups there are; where they must `meet`, an edge joins every two."""
    parts = [part.split() for part in said.split("/")]
    if sorted(said.replace("/", " ").split()) != sorted(g.notes) or not all(map(g.apart, parts)):
        return None
    pairs = itertools.combinations(parts, 2)
    return None if meet and not all(_between(g, a, b) for a, b in pairs) else len(parts)


def _between(g: Drawing, one: Iterable[str], other: Iterable[str]) -> bool:
    return any((a, b) in g.label for a in one for b in other)


def chosen(g: Drawing, said: str) -> list[tuple[str, str]] | None:
    """The edges that are named, or None where one is not drawn."""
    pairs = [(a, b) for a, b in (re.split("[->]", word) for word in said.split())]
    return pairs if all(p in g.label for p in pairs) else None


def cut(g: Drawing, said: str) -> int | None:
    pairs = chosen(g, said)
    if pairs is None:
        return None
    gone = {*pairs, *((b, a) for a, b in pairs)}
    left = g.asks["to"] in g.reached(g.asks["from"], set(g.label) - gone)
    return None if left else sum(int(g.label[p]) for p in pairs)


def matching(g: Drawing, said: str) -> int | None:
    pairs = chosen(g, said)
    if pairs is None or len({v for p in pairs for v in p}) != 2 * len(pairs):
        return None
    return sum(int(g.label[p]) for p in pairs)


def spanning(g: Drawing, said: str) -> int | None:
    pairs = chosen(g, said)
    if pairs is None or len(pairs) != len(g.notes) - 1:
        return None
    both = [*pairs, *((b, a) for a, b in pairs)] if "root" not in g.asks else pairs
    whole = g.reached(g.asks.get("root", pairs[0][0]), both) == set(g.notes)
    return sum(int(g.label[p]) for p in pairs) if whole else None


def flow(g: Drawing, said: str) -> int | None:
    words, rest = said.split(), Counter[str]()
    for arrow, amount in zip(words[::2], map(int, words[1::2]), strict=True):
        a, b = arrow.split(">")
        if (a, b) not in g.label or amount > int(g.label[a, b]):
            return None
        rest.update({a: -amount, b: amount})
    inner = [v for v in rest if v not in (g.asks["from"], g.asks["to"])]
    return None if any(rest[v] for v in inner) else rest[g.asks["to"]]


def wider(g: Drawing, said: str) -> int | None:
    """By how much a drawn flow can grow along a walk, where it is said rightly."""
    names, _, amount = said.partition(" ; ")
    walk, room = names.split(), []
    for a, b in itertools.pairwise(walk):
        along = [int(n) for n in g.label.get((a, b), "0/0").split("/")]
        against = [int(n) for n in g.label.get((b, a), "0/0").split("/")]
        room.append(max(along[1] - along[0], against[0]))
    fits = walk[0] == g.asks["from"] and walk[-1] == g.asks["to"] and len(set(walk)) == len(walk)
    return min(room) if fits and room and min(room) == int(amount) > 0 else None


def placed(g: Drawing, said: str, same: bool) -> int | None:
    """Letters for numbers: joined where the numbers are, and only there where both drawings are the `same`."""
    place = dict(reversed(word.split("=")) for word in said.split())
    numbers = [name for name in g.notes if name.isdecimal()]
    if (
        sorted(place) != sorted(numbers)
        or len(set(place.values())) < len(numbers)
        or not set(place.values()) < set(g.notes)
    ):
        return None
    if len(said.split()) != len(numbers):
        return None
    for pair in itertools.combinations(numbers, 2):
        there = tuple(place[n] for n in pair) in g.label
        if (pair in g.label and not there) or (same and there and pair not in g.label):
            return None
    return 1


def ordered(g: Drawing, said: str) -> int | None:
    at = {v: i for i, v in enumerate(said.split())}
    whole = sorted(said.split()) == sorted(g.notes)
    return 1 if whole and all(at[a] < at[b] for a, b, _, _ in g.edges) else None


def in_rows(caption: str, said: str, known: str) -> bool:
    """The same signs one after the other, wherever rows are said to end; cells that are printed as marked may be named or not."""
    rows = [line.split() for line in caption.split("\n") if re.match(r" ?\d+ ", line)]
    printed = {f"{chr(97 + x)}{row[0]}" for row in rows for x, sign in enumerate(row[1:]) if sign == "1"}
    one, two = ([word for word in text.replace("/", "").split() if word not in printed] for text in (said, known))
    return one == two


def mixed(caption: str, said: str, known: str) -> bool:
    """Each target is the mean of its two paints."""
    told = re.findall(r"^(paint|target) (\w+) (\d+) (\d+) (\d+)", caption, re.MULTILINE)
    paints = {name: tuple(map(int, rgb)) for kind, name, *rgb in told if kind == "paint"}
    goals = [tuple(map(int, rgb)) for kind, _, *rgb in told if kind == "target"]
    names = said.split()
    if len(names) != 2 * len(goals) or not set(names) <= set(paints):
        return False
    made = [(paints[a], paints[b]) for a, b in zip(names[::2], names[1::2], strict=True) if a != b]
    return len(made) == len(goals) and all(
        2 * c == a + b for pair, goal in zip(made, goals, strict=True) for a, b, c in zip(*pair, goal, strict=True)
    )


def halved(caption: str, said: str, known: str) -> bool:
    """The line between two points of the outline leaves half of the polygon on each side."""
    ring = [(int(x), int(y)) for x, y in re.findall(r"corner \w+ \((\d+),(\d+)\)", caption)]
    ends = [(int(x), int(y)) for x, y in re.findall(r"\((\d+),(\d+)\)", said)]
    if len(set(ends)) != 2 or len(ends) != 2:
        return False
    outline: list[tuple[int, int]] = []
    for a, b in zip(ring, (*ring[1:], ring[0]), strict=True):
        inside = [p for p in ends if p not in (a, b) and _on(p, a, b)]
        outline += [a, *sorted(inside, key=lambda p: abs(p[0] - a[0]) + abs(p[1] - a[1]))]
    if not set(ends) <= set(outline):
        return False
    first, last = sorted(map(outline.index, ends))
    return Fraction(_area(outline[first : last + 1]), _area(ring)) == Fraction(1, 2)


def _on(p: tuple[int, int], a: tuple[int, int], b: tuple[int, int]) -> bool:
    cross = (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
    return not cross and all(min(u, v) <= w <= max(u, v) for u, v, w in zip(a, b, p, strict=True))


def _area(ring: list[tuple[int, int]]) -> int:
    return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(ring, (*ring[1:], ring[0]), strict=True)))


def routed(caption: str, said: str, known: str) -> bool:
    """A walk over free cells that ends on G, of no more steps than are allowed."""
    board = cells_of(caption)
    most = int(re.findall(r"at most (\d+)", caption)[0])
    (y, x), steps = next(p for p, sign in board.items() if sign == "P"), said.split()
    for step in steps:
        y, x = y + STEPS[step][0], x + STEPS[step][1]
        if board.get((y, x), "#") == "#":
            return False
    return board[y, x] == "G" and len(steps) <= most


def pushed(caption: str, said: str, known: str) -> bool:
    """Boxes are pushed by steps until each is on a target; a step that cannot be made before that is the end."""
    board = cells_of(caption)
    (y, x) = next(p for p, sign in board.items() if sign in "Pp")
    boxes = {p for p, sign in board.items() if sign in "Bb"}
    targets = {p for p, sign in board.items() if sign in "Tbp"}
    for step in said.split():
        dy, dx = STEPS[step]
        ahead, behind = (y + dy, x + dx), (y + 2 * dy, x + 2 * dx)
        if board[ahead] == "#" or (ahead in boxes and (board[behind] == "#" or behind in boxes)):
            return False
        boxes = boxes - {ahead} | {behind} if ahead in boxes else boxes
        (y, x) = ahead
        if boxes == targets:
            return True
    return False


def cleared(caption: str, said: str, known: str) -> bool:
    """Swaps after each of which gems fall, and lines of three vanish, until none is left."""
    board = cells_of(caption.partition("\nSwaps")[0])
    if len(said.split()) > int(re.findall(r"at most (\d+)", caption)[0]):
        return False
    for swap in said.split():
        a = (int(swap[1:]) - 1, ord(swap[0]) - ord("a"))
        b = (a[0], a[1] + 1)
        if b not in board or board[a] == board[b]:
            return False
        board = _settled({**board, a: board[b], b: board[a]})
    return set(board.values()) == {"."}


def _settled(board: dict[tuple[int, int], str]) -> dict[tuple[int, int], str]:
    height, width = max(y for y, _ in board) + 1, max(x for _, x in board) + 1
    while True:
        for x in range(width):
            column = [board[y, x] for y in range(height) if board[y, x] != "."]
            column = ["."] * (height - len(column)) + column
            board = {**board, **{(y, x): sign for y, sign in enumerate(column)}}
        gone = set()
        for y, x in board:
            for dy, dx in ((0, 1), (1, 0)):
                three = [(y + i * dy, x + i * dx) for i in range(3)]
                if len({board.get(p, "?") for p in three}) == 1 and board[y, x] != ".":
                    gone |= set(three)
        if not gone:
            return board
        board = {p: "." if p in gone else sign for p, sign in board.items()}


# Pages of the engine csp have one answer each, and are judged by `in_rows`.
JUDGES: dict[str, Judge] = {
    **{
        name: best(worth)
        for name, worth in {
            "AchromMax": functools.partial(groups, meet=True),
            "ArboMin": spanning,
            "CliqueMax": clique,
            "ColourMin": groups,
            "CutMin": cut,
            "EulerTour": euler,
            "FlowMax": flow,
            "FlowRead": wider,
            "HamPath": hamilton,
            "IndepGrid": apart,
            "IndepTree": apart,
            "IsoMatch": functools.partial(placed, same=True),
            "LongestWalk": longest,
            "MatchMax": matching,
            "ShortestWalk": walked,
            "SpanMin": spanning,
            "SubPattern": functools.partial(placed, same=False),
            "TopoOrder": ordered,
        }.items()
    },
    "ColourMix": mixed,
    "CutPolygon": halved,
    "MazePlan": routed,
    "SokobanPlan": pushed,
    "SwapAttack": cleared,
}
