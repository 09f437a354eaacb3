"""Pursuit on graphs: in how few turns cops catch a robber who sees them come, by sets of places that are lost for him."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

from quintain.worlds.engines.graph.page import Graph

Cops = tuple[int, ...]


@functools.lru_cache(maxsize=512)
def reach(graph: Graph) -> tuple[tuple[int, ...], ...]:
    """Where one move, or staying, leads from each vertex."""
    return tuple((v, *row) for v, row in enumerate(graph.near))


@functools.lru_cache(maxsize=512)
def steps(graph: Graph, cops: int) -> dict[Cops, tuple[Cops, ...]]:
    """Where so many cops can be after one turn, for every place where they can be, in order of their places."""
    near = reach(graph)
    every = itertools.combinations_with_replacement(range(len(graph.names)), cops)
    return {at: tuple(sorted({tuple(sorted(to)) for to in itertools.product(*(near[v] for v in at))})) for at in every}


@functools.lru_cache(maxsize=512)
def lost(graph: Graph, cops: int) -> list[dict[Cops, int]]:
    """[k][cops]: the places, as a bit set, from which a robber is caught within k turns of the cops, who are to move."""
    moves = steps(graph, cops)
    closed = [graph.masks[v] | 1 << v for v in range(len(graph.names))]
    own = {at: sum(1 << v for v in set(at)) for at in moves}
    out = [own]
    while True:
        before = out[-1]
        # places that the robber cannot leave but to be caught later, once the cops stand so
        held = {at: own[at] | sum(1 << v for v, m in enumerate(closed) if not m & ~before[at]) for at in moves}
        now = {at: functools.reduce(lambda m, to: m | held[to], ahead, own[at]) for at, ahead in moves.items()}
        if now == before:
            return out
        out.append(now)


def turns_left(graph: Graph, cops: Cops, robber: int) -> int | None:
    """In how many turns the robber is caught when all play well; None if he never is."""
    at = tuple(sorted(cops))
    return next((k for k, table in enumerate(lost(graph, len(at))) if table[at] >> robber & 1), None)


def flees(graph: Graph, cops: Cops, robber: int) -> int:
    """Where the robber goes: to where he lasts longest, the first name first; he does not walk into a cop if he can help it."""
    best, where = -1, robber
    for to in sorted(reach(graph)[robber]):
        last = turns_left(graph, cops, to)
        last = 1 << 20 if last is None else last
        if last > best:
            best, where = last, to
    return where


def best_turns(graph: Graph, cops: Cops, robber: int, moves: Sequence[Cops]) -> list[Cops]:
    """Which moves of the cops lead to the quickest catch."""
    worth: dict[Cops, int] = {}
    for to in moves:
        if robber in to:
            worth[to] = 0
        else:
            left = turns_left(graph, to, flees(graph, to, robber))
            worth[to] = 1 << 20 if left is None else left
    least = min(worth.values())
    return [to for to, w in worth.items() if w == least] if least < 1 << 20 else []
