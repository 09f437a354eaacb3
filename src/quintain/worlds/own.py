"""What a world of one's own lacks, or gives where something else belongs: errors that name the world, its method and what it gave."""

from __future__ import annotations

from typing import Any

from quintain.types import QuintainError
from quintain.worlds.kernel import Answer, Move, Plan, Unknown, Unsolvable, quoted


class BadWorld(QuintainError):
    """A world lacks a method that is needed, or one of its methods gave what it may not give."""


def solved(world: Any, state: Any, seat: str) -> Answer:
    """What the oracle of a world says of a state.

    Raises:
        BadWorld: the world has no oracle, or it says what is no answer.

    Example:
        >>> class Coin:
        ...     def solve(self, state, seat):
        ...         return ["heads"]
        >>> solved(Coin(), 0, "agent")
        Traceback (most recent call last):
        quintain.worlds.own.BadWorld: Coin: `solve` gave ['heads'], a list; it should give a Plan of Moves, an Unsolvable or an Unknown
    """
    if not hasattr(world, "solve"):
        raise BadWorld(
            f"{_name(world)} has no `solve`, which the player `oracle`, demonstrations and the warm start ask for moves: write it "
            "(docs/own.md), or do without: evaluate `random` or a policy, train with warm_start.steps=0"
        )
    answer = world.solve(state, seat)
    if isinstance(answer, Unsolvable | Unknown):
        return answer
    wants = "a Plan of Moves, an Unsolvable or an Unknown"
    if not isinstance(answer, Plan):
        raise _wrong(world, "solve", answer, wants)
    for moves in (answer.moves, answer.first):
        if not isinstance(moves, tuple) or not all(isinstance(move, Move) for move in moves):
            raise _wrong(world, "solve", answer, wants)
    return answer


def _wrong(world: Any, method: str, gave: object, wants: str) -> BadWorld:
    return BadWorld(f"{_name(world)}: `{method}` gave {quoted(gave)}, a {type(gave).__name__}; it should give {wants}")


def _name(world: Any) -> str:
    facts = getattr(world, "facts", None)
    return facts.name if facts else type(world).__name__
