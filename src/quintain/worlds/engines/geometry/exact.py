"""Plane geometry on the integer lattice, without rounding."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from math import gcd

from quintain.worlds.engines.geometry.figure import Spot
from quintain.worlds.noise import Rng


def cross(o: Spot, a: Spot, b: Spot) -> int:
    """Twice the signed area of the triangle o, a, b; positive if it turns left.

    Example:
        >>> cross((0, 0), (2, 0), (0, 3))
        6
    """
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


def apart2(a: Spot, b: Spot) -> int:
    """The squared distance of two points."""
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2


def twice_area(ring: Sequence[Spot]) -> int:
    """Twice the signed area within a ring of points; positive if it runs to the left.

    Example:
        >>> twice_area(((0, 0), (4, 0), (4, 3), (0, 3)))
        24
    """
    return sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(ring, (*ring[1:], ring[0]), strict=True))


def hull(points: Sequence[Spot]) -> list[Spot]:
    """The corners of the convex hull, to the left from the least point on; points on an edge are no corners."""
    order = sorted(set(points))
    return order if len(order) < 3 else chain(order)[0][:-1] + chain(order[::-1])[0][:-1]


def chain(order: Sequence[Spot]) -> tuple[list[Spot], list[tuple[Spot, Spot, Spot]]]:
    """The points of a sorted row that a band round its right side bends at, and those left out, each with the two points
    between which it lies on the band or to the left of it.

    Example:
        >>> chain(((0, 0), (1, 1), (2, 0)))
        ([(0, 0), (2, 0)], [((1, 1), (0, 0), (2, 0))])
    """
    kept: list[Spot] = []
    out: list[tuple[Spot, Spot, Spot]] = []
    for p in order:
        while len(kept) >= 2 and cross(kept[-2], kept[-1], p) <= 0:
            last = kept.pop()
            out.append((last, kept[-1], p))
        kept.append(p)
    return kept, out


def border(ring: Sequence[Spot]) -> list[Spot]:
    """All lattice points on a ring, in its order."""
    out = []
    for (ax, ay), (bx, by) in zip(ring, (*ring[1:], ring[0]), strict=True):
        n = gcd(bx - ax, by - ay)
        out += [(ax + (bx - ax) // n * i, ay + (by - ay) // n * i) for i in range(n)]
    return out


def crosses(a: Spot, b: Spot, c: Spot, d: Spot) -> bool:
    """Whether the closed segments ab and cd meet."""
    one, two, three, four = cross(a, b, c), cross(a, b, d), cross(c, d, a), cross(c, d, b)
    if ((one > 0) != (two > 0) or not one or not two) and ((three > 0) != (four > 0) or not three or not four):
        if one == two == three == four == 0:
            return all(max(a[i], b[i]) >= min(c[i], d[i]) and max(c[i], d[i]) >= min(a[i], b[i]) for i in (0, 1))
        return not (one and two and (one > 0) == (two > 0)) and not (three and four and (three > 0) == (four > 0))
    return False


def simple(ring: Sequence[Spot]) -> bool:
    """Whether a ring is an outline: no two edges meet but in the corner they share, and each corner is one."""
    n = len(ring)
    for i in range(n):
        a, b, c = ring[i - 1], ring[i], ring[(i + 1) % n]
        if cross(a, b, c) == 0:
            return False
    return not any(
        crosses(ring[i], ring[i + 1], ring[j], ring[(j + 1) % n])
        for i, j in itertools.combinations(range(n), 2)
        if j - i > 1 and (i or j < n - 1) and i + 1 < n
    )


def scattered(rng: Rng, count: int, side: int, gap: int, edge: int = 0) -> list[Spot] | None:
    """Random lattice points of the square edge..side-edge, no two nearer than the root of `gap`; None if they find no room."""
    out: list[Spot] = []
    span = side - 2 * edge + 1
    for _ in range(count * 12):
        p = edge + rng.below(span), edge + rng.below(span)
        if all(apart2(p, q) >= gap for q in out):
            out.append(p)
            if len(out) == count:
                return out
    return None


def circumcentre(a: Spot, b: Spot, c: Spot) -> tuple[int, int, int]:
    """(x, y, d): the circle through three points not on a line has its centre at (x / d, y / d).

    Example:
        >>> circumcentre((0, 0), (4, 0), (0, 2))
        (32, 16, 16)
    """
    bx, by, cx, cy = b[0] - a[0], b[1] - a[1], c[0] - a[0], c[1] - a[1]
    d = 2 * (bx * cy - by * cx)
    bb, cc = bx * bx + by * by, cx * cx + cy * cy
    return a[0] * d + cy * bb - by * cc, a[1] * d + bx * cc - cx * bb, d


def outline(rng: Rng, count: int, side: int, gap: int = 5, edge: int = 1) -> list[Spot] | None:
    """A random simple polygon with `count` corners, seen whole from its middle; None if the points do not give one."""
    spots = scattered(rng, count, side, gap, edge)
    if not spots:
        return None
    x, y = sum(p[0] for p in spots), sum(p[1] for p in spots)
    middle = x, y  # all points times `count`, so that the middle lies on the lattice too
    large = [(p[0] * count, p[1] * count) for p in spots]
    order = sorted(large, key=functools.cmp_to_key(lambda a, b: _round(middle, a, b)))
    ring = [(p[0] // count, p[1] // count) for p in order]
    turns = [cross(middle, p, q) for p, q in zip(order, (*order[1:], order[0]), strict=True)]
    return ring if min(turns) > 0 and simple(ring) else None


def _round(middle: Spot, a: Spot, b: Spot) -> int:
    """Negative if `a` comes before `b` on the way round the middle."""
    upper = [p[1] > middle[1] or (p[1] == middle[1] and p[0] > middle[0]) for p in (a, b)]
    return (upper[1] > upper[0]) - (upper[1] < upper[0]) or -cross(middle, a, b)
