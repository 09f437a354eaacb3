"""The oracle of discs on pegs: recursion on three pegs, exact from anywhere to anywhere; with more pegs, a search."""

from __future__ import annotations

import functools
import itertools

SEARCH_NODES = 60_000
Moves = tuple[str, ...]


def plan_of(at: str, goal: str, pegs: str) -> tuple[Moves, Moves]:
    """(plan, best first moves) from one arrangement to another, both given as the peg of each disc, smallest first.

    On three pegs the plan is the shortest. With more it is the shortest unless the search met its limit; then it is a
    plan that uses three pegs at a time, and no first moves are named.

    Example:
        >>> plan_of("aa", "cc", "abc")
        (('ab', 'ac', 'bc'), ('ab',))
    """
    if at == goal:
        return (), ()
    if len(pegs) > 3:
        found = _met(at, goal, pegs)
        return (found, ()) if found else (_by_largest(at, goal, pegs)[0], ())
    plans = _by_largest(at, goal, pegs)
    least = min(map(len, plans))
    best = [plan for plan in plans if len(plan) == least]
    return best[0], tuple(dict.fromkeys(plan[0] for plan in best))


def _by_largest(at: str, goal: str, pegs: str) -> list[Moves]:
    """The candidates, by how often the largest misplaced disc moves: once, or (on three pegs) twice.

    Once: clear the way by gathering the smaller discs on another peg, move it, bring the smaller ones to their goals.
    Twice: by way of the third peg, with the smaller discs gathered first on the goal's peg and then on its old one.
    """
    n = len(at)
    while at[n - 1] == goal[n - 1]:
        n -= 1
    small, ends, source, target = at[: n - 1], goal[: n - 1], at[n - 1], goal[n - 1]
    spares = [peg for peg in pegs if peg not in (source, target)]
    once = []
    for spare in spares:
        once.append((*_gather(small, spare, pegs), source + target, *_back(_gather(ends, spare, pegs))))
    if len(pegs) > 3:
        return [min(once, key=len)]
    spare = spares[0]
    across = _gather(target * (n - 1), source, pegs)
    twice = (*_gather(small, target, pegs), source + spare, *across, spare + target)
    return [*once, (*twice, *_back(_gather(ends, source, pegs)))]


@functools.lru_cache(maxsize=4096)
def _gather(at: str, peg: str, pegs: str) -> Moves:
    """The shortest way (on three pegs) to bring all discs onto one peg."""
    if not at:
        return ()
    if at[-1] == peg:
        return _gather(at[:-1], peg, pegs)
    spare = next(p for p in pegs if p not in (peg, at[-1]))
    return (*_gather(at[:-1], spare, pegs), at[-1] + peg, *_gather(spare * (len(at) - 1), peg, pegs))


def _back(moves: Moves) -> Moves:
    """The same moves undone, the last first."""
    return tuple(move[::-1] for move in reversed(moves))


def _met(at: str, goal: str, pegs: str) -> Moves:
    """The shortest plan by two breadth-first waves that meet, or () if they looked at too many arrangements."""
    came: tuple[dict[str, tuple[str, str]], dict[str, tuple[str, str]]] = ({at: ("", "")}, {goal: ("", "")})
    waves = [[at], [goal]]
    while all(waves) and len(came[0]) + len(came[1]) < SEARCH_NODES:
        side = len(waves[0]) > len(waves[1])
        mine, other, after = came[side], came[not side], []
        for here in waves[side]:
            for move in itertools.permutations(pegs, 2):
                disc, top = here.find(move[0]), here.find(move[1])
                if disc < 0 or -1 < top < disc:
                    continue
                there = here[:disc] + move[1] + here[disc + 1 :]
                if there in mine:
                    continue
                mine[there] = (here, "".join(move))
                if there in other:
                    return (*reversed(_trail(came[0], there)), *_back(tuple(reversed(_trail(came[1], there)))))
                after.append(there)
        waves[side] = after
    return ()


def _trail(came: dict[str, tuple[str, str]], here: str) -> list[str]:
    """The moves that led to `here`, the last first."""
    out = []
    while came[here][1]:
        here, move = came[here]
        out.append(move)
    return out
