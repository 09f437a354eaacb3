"""Wrong answers: the right one with elements added, dropped, exchanged, or replaced by what else the world could say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from quintain.worlds.kernel import Move, World
from quintain.worlds.noise import Rng

FAR = 40  # texts tried for each mutant that is wanted
OTHER = 16  # one of so many is a random answer, changed
STEPS = (1, 1, 1, 2, 3)  # changes of one text
NEAR = (1, 1, 1, 2, 3, 5, 10, 20)  # how far a wrong number is from the right one
_ATOM = re.compile(r"[a-z]+|\d+", re.IGNORECASE)
_WORD = re.compile(r"[a-z\d]+", re.IGNORECASE)


def elements(world: World[Any], state: Any, text: str) -> dict[str, list[str]]:
    """What could stand in an answer, by shape: the words and the atoms of the caption, of the world's example and of the answer itself.

    The shape of a word has `a` for each letter and `9` for each number.
    """
    seat = world.facts.seats[0]
    found: dict[str, dict[str, None]] = {shape_of(w): {} for w in (*_WORD.findall(text), *_ATOM.findall(text))}
    for source in (world.view(state, seat).caption(2), text, world.facts.example):
        for word in (*_WORD.findall(source), *_ATOM.findall(source)):
            for one in (word, word.upper(), word.lower()):
                if (shape := shape_of(one)) in found:
                    found[shape].setdefault(one)
    return {shape: list(words) for shape, words in found.items()}


def shape_of(word: str) -> str:
    """The kind of a word: letters are `a` or `A`, a number is `9`."""
    return re.sub(r"\d+", "9", re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", word)))


def mutants(world: World[Any], state: Any, answer: Move, count: int, rng: Rng) -> Iterator[Move]:
    """Different answers that the world can read, none of them `answer`, until there are `count` or no more are met."""
    view, seen = world.view(state, world.facts.seats[0]), {answer.key}
    tries = count * FAR
    for tried in range(tries):
        near = rng.below(OTHER) and 2 * tried < tries  # a short answer has few neighbours
        text = answer.key if near else view.sample(rng).key
        pool = elements(world, state, text)
        for _ in range(rng.pick(STEPS)):
            text = _changed(text, pool, rng)
        move = world.read(text, view.seat)
        if move is not None and move.key not in seen:
            seen.add(move.key)
            yield move
            if len(seen) > count:
                return


def _changed(text: str, pool: dict[str, list[str]], rng: Rng) -> str:
    """One element added, dropped, replaced or exchanged with another."""
    kind = rng.below(4)
    pattern = rng.pick((_WORD, _ATOM, re.compile(r"\S+")))
    spots = [m.span() for m in pattern.finditer(text)]
    if not spots:
        return text
    at = rng.below(len(spots))
    begin, end = spots[at]
    old = text[begin:end]
    if kind == 0:
        return (
            f"{text[:begin]}{_other(old, pool, rng)} {text[begin:]}"
            if rng.below(2)
            else f"{text[:end]} {_other(old, pool, rng)}{text[end:]}"
        )
    if kind == 1:
        return text[:begin] + text[end:]
    if kind == 2:
        return text[:begin] + _other(old, pool, rng) + text[end:]
    low, high = sorted((spots[at], rng.pick(spots)))
    if low == high:
        return text
    return text[: low[0]] + text[slice(*high)] + text[low[1] : high[0]] + text[slice(*low)] + text[high[1] :]


def _other(old: str, pool: dict[str, list[str]], rng: Rng) -> str:
    """Another element of the same shape; a number is often one near it. What is made of several gets one of them changed."""
    if not old.isalnum():
        inner = [m.span() for m in _WORD.finditer(old)]
        if not inner:
            return old
        begin, end = rng.pick(inner)
        return old[:begin] + _other(old[begin:end], pool, rng) + old[end:]
    if old.isdigit() and rng.below(2):
        return str(max(0, int(old) + rng.pick(NEAR) * rng.pick((-1, 1))))
    return rng.pick(pool.get(shape_of(old)) or [old])
