"""What worlds say of seats that they do not have."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from quintain.registry import unknown
from quintain.worlds.kernel import Move, Outcome, UnknownSeat

Class = TypeVar("Class", bound=type)


def seated(world: Class) -> Class:
    """Makes a class of worlds name its seats where it is asked to show, solve, rebuild or step for others.

    Example:
        >>> from quintain.registry import build
        >>> try:
        ...     build("world", "KuhnDuel").view(None, "nobody")
        ... except UnknownSeat as error:
        ...     print(error)
        KuhnDuel: unknown seat 'nobody'; there are: first, second
    """
    parts = {"view": _of_a_seat, "solve": _of_a_seat, "rebuild": _of_a_seat, "step": _of_those_that_move}
    for name, made in parts.items():
        setattr(world, name, made(getattr(world, name)))
    return world


def _of_a_seat(method: Callable[[Any, Any, str], Any]) -> Callable[[Any, Any, str], Any]:
    @functools.wraps(method)
    def asked(self: Any, of: Any, seat: str) -> Any:
        if seat in self.facts.seats:
            return method(self, of, seat)
        raise UnknownSeat(f"{self.facts.name}: {unknown('seat', seat, self.facts.seats)}")

    return asked


def _of_those_that_move(step: Callable[..., Outcome[Any]]) -> Callable[..., Outcome[Any]]:
    @functools.wraps(step)
    def stepped(self: Any, state: Any, moves: Mapping[str, Move]) -> Outcome[Any]:
        try:
            return step(self, state, moves)
        except KeyError as error:  # asking first would take time in every step
            seat, seats = error.args[0] if error.args else None, self.facts.seats
            if seat not in seats or seat in moves:
                raise
            raise UnknownSeat(
                f"{self.facts.name}: seat {seat!r} is to move, and the moves are of {sorted(moves)}; its seats: {', '.join(seats)}"
            ) from error

    return stepped
