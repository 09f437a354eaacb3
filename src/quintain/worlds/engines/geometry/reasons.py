"""What reasons for answers are made of: sums, areas by the shoelace formula, equations of straight lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd

from quintain.worlds.engines.geometry.figure import Spot

ONE: dict[object, str] = {1: "", -1: "-"}  # how factors of one are written


def added(parts: Iterable[object]) -> str:
    """A sum; parts may have a minus.

    Example:
        >>> added((-98, 67, -5, "-2x"))
        '-98 + 67 - 5 - 2x'
    """
    return " + ".join([str(part) for part in parts]).replace("+ -", "- ")


def laced(ring: Mapping[str, Spot]) -> str:
    """Twice the signed area within a ring of named points, by the shoelace formula.

    Example:
        >>> laced({"A": (1, 0), "B": (4, 1), "C": (0, 3)})
        'A-B 1*1-4*0=1, B-C 4*3-0*1=12, C-A 0*0-1*3=-3, together 10'
    """
    names, spots = list(ring), list(ring.values())
    sides, total = [], 0
    for m, n, (a, b), (c, d) in zip(names, names[1:] + names[:1], spots, spots[1:] + spots[:1], strict=True):
        sides.append(f"{m}-{n} {a}*{d}-{c}*{b}={a * d - c * b}")
        total += a * d - c * b
    return f"{', '.join(sides)}, together {total}"


def linear(a: int, b: int, c: int) -> str:
    """The line ax + by = c in lowest terms.

    Example:
        >>> linear(4, -2, 6), linear(0, -3, 6)
        ('2x - y = 3', 'y = -2')
    """
    common = gcd(a, b, c) * (1 if (a or b) > 0 else -1)
    terms = [(n // common, name) for n, name in ((a, "x"), (b, "y")) if n]
    return f"{added(f'{ONE.get(n, n)}{name}' for n, name in terms)} = {c // common}"
