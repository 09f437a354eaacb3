"""What a world of one's own lacks, or gives where something else belongs: errors that name the world, its method and what it gave."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np

from quintain.registry import unknown
from quintain.types import QuintainError
from quintain.worlds.kernel import LEVELS, NOTHING, Answer, Move, Outcome, Plan, Unknown, Unsolvable, View, quoted
from quintain.worlds.palette import COLORS
from quintain.worlds.scene import Scene

PARTS = ("facts", "schema", "start", "view", "step", "read", "turns")  # what a world cannot do without


class BadWorld(QuintainError):
    """A world lacks a method that is needed, or one of its methods gave what it may not give."""


def checked(world: Any, name: str) -> Any:
    """A world as it was built, once it has what every verb asks it for.

    Args:
        world: what was built.
        name: that it is registered by.

    Raises:
        BadWorld: it lacks something, or its states could be changed under those who share them.
    """
    if world is None or isinstance(world, type):
        raise BadWorld(
            f"{name}: what is registered gave {quoted(world)}; it should return a world, such as `return {name}()`"
        )
    if lacks := [f"`{part}`" for part in PARTS if not hasattr(world, part)]:
        raise BadWorld(f"{name} has no {' and no '.join(lacks)}, which every world has (in a checkout: docs/own.md)")
    seats, levels, schema = world.facts.seats, getattr(world, "levels", None), world.schema
    if not isinstance(seats, tuple) or not seats or not all(isinstance(seat, str) for seat in seats):
        raise _wrong(world, "facts", seats, "a tuple of names as `seats`, such as ('agent',)")
    if len(set(seats)) < len(seats):
        raise _wrong(world, "facts", seats, "each of its `seats` a name of its own")
    if world.facts.name != name:
        raise _wrong(world, "facts", world.facts.name, f"the registered name, {name!r}, as `name`")
    for event, said in world.facts.sayings.items():
        if not isinstance(said, str):
            raise _wrong(world, "facts", said, f"a sentence for {event!r} in its `sayings`")
    try:
        inspect.signature(world.start).bind(0, 0, split="train")
    except TypeError as error:
        raise BadWorld(
            f"{name}: `start` takes {inspect.signature(world.start)}; it is called as start(seed, level, split='train'): {error}"
        ) from None
    if levels is not None and len(levels) != LEVELS:
        raise BadWorld(f"{name}: `levels` has {len(levels)} rows; it should have {LEVELS}, a row for each level from 0")
    if not is_dataclass(schema) or not schema.__dataclass_params__.frozen:
        raise BadWorld(
            f"{name}: `schema` is {quoted(schema)}, no frozen dataclass; the episodes of a group share their start, and a step would "
            "change it for all: write @dataclass(frozen=True) and let `step` give replace(state, ...)"
        )
    return world


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
            "(in a checkout: docs/own.md), or do without: evaluate `random` or a policy, train with warm_start.steps=0"
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


def check_gifts(world: Any, state: Any, moves: Mapping[str, Move | None] = NOTHING) -> None:
    """Look, once something failed, whether a method of a world gave what it may not; worlds are pure, so it gives the same again.

    Args:
        world: which.
        state: of an episode of its, before what failed.
        moves: what it read from what the seats said, if anything.

    Raises:
        BadWorld: one did.
    """
    try:
        _check_gifts(world, state, moves)
    except BadWorld:
        raise
    except SystemExit as error:
        raise _ended(world, error) from error
    except Exception:
        return  # a method that raises tells of itself


def of_ones_own(world: Any) -> bool:
    """Whether a world is none of those that Quintain ships, whose outcomes tests have looked at."""
    return not type(world).__module__.startswith("quintain.")


def check_start(world: Any, state: Any, first: bool = True) -> None:
    """Look at what the `start` of a world gave: the members of a group share it, and what one changed would change for all.

    Args:
        world: which.
        state: what it gave.
        first: whether it is the first one that is looked at, of which all that methods give is.

    Raises:
        BadWorld: it holds what can be changed in place, or a method gives of it what it may not, such as words without an order.
    """
    for f in fields(state) if is_dataclass(state) else ():
        if (found := _changeable(getattr(state, f.name, None))) is not None:
            told = " ".join(quoted(found).split())
            raise BadWorld(
                f"{_name(world)}: `start` gave a state whose `{f.name}` holds a {type(found).__name__}, {told}; the episodes "
                "of a group share their start, and a step could change it for all: hold tuples, frozensets, bytes or arrays with "
                "setflags(write=False), and let `step` give replace(state, ...)"
            )
    if first:
        check_gifts(world, state)
    if first and not any(world.view(state, seat).acts for seat in world.facts.seats):
        raise BadWorld(
            f"{_name(world)}: `view` of the first state says of no seat that it `acts`, so that nobody could move"
        )


def _changeable(value: object) -> object:
    """The first thing in a value that can be changed in place; None where there is none."""
    if isinstance(value, list | dict | set | bytearray) or (isinstance(value, np.ndarray) and value.flags.writeable):
        return value
    inside: Any = value if isinstance(value, tuple | frozenset) else ()
    if is_dataclass(value) and not isinstance(value, type):
        inside = (getattr(value, f.name, None) for f in fields(value))
    return next((found for each in inside if (found := _changeable(each)) is not None), None)


def check_outcome(world: Any, outcome: object) -> None:
    """Look at what the `step` of a world gave; much of it, such as a reward of no seat, would be lost without a word.

    Raises:
        BadWorld: it is none of what it may give.
    """
    if not isinstance(outcome, Outcome):
        raise _wrong(world, "step", outcome, "an Outcome")
    _, rewards, done, events = outcome
    for gave in (rewards, events):
        if not isinstance(gave, Mapping):
            raise _wrong(world, "step", gave, "{seat: {name: number}} as rewards and {seat: (text,)} as events")
    if not isinstance(done, int | np.bool_):
        raise _wrong(world, "step", done, "True or False as `done`")
    for seat in (*rewards, *events):
        if seat not in world.facts.seats:
            raise BadWorld(
                f"{_name(world)}: `step` gave rewards or events of {unknown('seat', seat, world.facts.seats)}"
            )
    for gave in rewards.values():
        if not isinstance(gave, Mapping) or not all(isinstance(number, Real | np.bool_) for number in gave.values()):
            raise _wrong(world, "step", gave, "{name: number} as the rewards of a seat")
        if not all(math.isfinite(number) for number in gave.values()):
            raise _wrong(world, "step", gave, "finite numbers as the rewards of a seat")
    for gave in events.values():
        if not isinstance(gave, tuple) or not all(isinstance(event, str) for event in gave):
            raise _wrong(world, "step", gave, "(text,) as the events of a seat")


def stepped(world: Any, state: Any, moves: Mapping[str, Move]) -> Outcome[Any]:
    """The outcome of a step, looked at where the world is one's own.

    Raises:
        BadWorld: as `check_outcome`, or it would have ended the process.
    """
    try:
        outcome = world.step(state, moves)
    except SystemExit as error:
        raise _ended(world, error) from error
    if of_ones_own(world):
        check_outcome(world, outcome)
    return outcome


def check_moves(lens: Any, method: str, gave: object) -> None:
    """Look at what `legal` or `sample` of a world gave, once it does not look like moves.

    Raises:
        BadWorld: it is no tuple of moves, or no move.
    """
    if method == "sample" and not isinstance(gave, Move):
        raise _wrong(lens, method, gave, "a Move")
    if method == "legal" and not (isinstance(gave, tuple | list) and all(isinstance(move, Move) for move in gave)):
        raise _wrong(lens, method, gave, "a tuple of Moves")


def _check_gifts(world: Any, state: Any, moves: Mapping[str, Move | None]) -> None:
    if not isinstance(turns := world.turns(state), int) or turns < 1:
        raise _wrong(world, "turns", turns, "a whole number of at least 1")
    example = world.read(world.facts.example, world.facts.seats[0])
    for move in (example, *moves.values()):
        if not isinstance(move, Move | None):
            raise _wrong(world, "read", move, "a Move or None")
    if moves and None not in moves.values():
        outcome = world.step(state, moves)
        check_outcome(world, outcome)
        state = outcome.state
    for seat in world.facts.seats:
        view = world.view(state, seat)
        if not isinstance(view, View):
            raise _wrong(world, "view", view, "a View")
        if not isinstance(caption := view.caption(), str):
            raise _wrong(world, "caption", caption, "a text")
        for words, method in ((view.static, "static"), (view.moving, "moving")):
            if not isinstance(gave := words(), tuple) or not all(isinstance(word, str) for word in gave):
                raise _wrong(world, method, gave, "a tuple of words")
        _check_scene(world, view.scene())


def _check_scene(world: Any, scene: object) -> None:
    if not isinstance(scene, Scene):
        raise _wrong(world, "scene", scene, "a Scene")
    known = [name for name in COLORS if not name[-1].isdigit()]  # the others are shades
    for shape in (scene, *scene.shapes):
        for option in ("fill", "line", "color", "background"):
            color = getattr(shape, option, "")
            if color and color not in COLORS:
                raise BadWorld(f"{_name(world)}: `scene` gave {unknown(f'colour as {option}', color, known)}")
        given = [getattr(shape, option, 0.0) for option in ("x", "y", "width", "height", "radius", "size", "thick")]
        for number in (*given, *chain.from_iterable(getattr(shape, "points", ()))):
            if not isinstance(number, Real) or not math.isfinite(number):
                raise _wrong(world, "scene", number, f"finite numbers in a {type(shape).__name__}")


def _ended(world: Any, error: SystemExit) -> BadWorld:
    return BadWorld(
        f"{_name(world)}: a method called sys.exit({error.code!r}), which would end the run; raise an error instead"
    )


def _wrong(world: Any, method: str, gave: object, wants: str) -> BadWorld:
    told = " ".join(quoted(gave).split())  # arrays are written in lines
    return BadWorld(f"{_name(world)}: `{method}` gave {told}, a {type(gave).__name__}; it should give {wants}")


def _name(world: Any) -> str:
    facts = getattr(world, "facts", None)
    return facts.name if facts else type(world).__name__
