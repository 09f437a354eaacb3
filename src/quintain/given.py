"""What a part of one's own takes and gives, looked at where it enters the run."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from quintain.codec import encode, kept
from quintain.parts import PartError, Reward, Rollout, Sampler, State, told
from quintain.registry import entry, provenance
from quintain.types import Group, Task


async def given_by(part: Rollout | Reward, made: Any, ticket: int) -> Group:
    """What a rollout or a reward gives, awaited and looked at: a group of the ticket that was asked for.

    Raises:
        PartError: it gives something else, or a group that has one id twice or a tag that is no JSON.
    """
    if not inspect.isawaitable(made):
        raise PartError(
            f"{told(inspect.unwrap(part))} gave {_shown(made)}, at once; a run awaits it: write `async def`, and `await` in it"
        )
    made = await made
    if isinstance(made, Group) and made.ticket == ticket:
        _look_at(part, made)
        return made
    gave = f"a group of ticket {made.ticket}" if isinstance(made, Group) else _shown(made)
    raise PartError(f"{told(inspect.unwrap(part))} gave {gave}; it should give a Group with ticket={ticket}")


def _look_at(part: Rollout | Reward, group: Group) -> None:
    ids = [t.id for t in group.trajectories]
    if len({*ids}) < len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise PartError(
            f"{told(inspect.unwrap(part))} gave a group with {ids.count(twice)} trajectories of the id {twice!r}, by which the books "
            "and advantages tell them apart; give each one of its own: replace(trajectory, id=...)"
        )
    for holder in (group, *group.trajectories):
        try:
            encode(holder.tags)
        except TypeError as error:
            raise PartError(
                f"{told(inspect.unwrap(part))} gave a tag that the books cannot keep: {holder.tags!r:.120}: {error}"
            ) from error


def whole(sampler: Any) -> Sampler:
    """A sampler as it is, which has all that a run calls.

    Raises:
        PartError: it lacks a method.
    """
    for method in ("init()", "draw(state)", "observe(state, group)"):
        if not callable(getattr(sampler, method.split("(")[0], None)):
            plain = "; one that learns nothing from groups returns its state" if "group" in method else ""
            raise PartError(f"{told(sampler)} has no method {method}, which every run calls{plain}")
    return sampler


def next_of(sampler: Sampler, state: State) -> tuple[Task | None, State]:
    """What a sampler draws, looked at: a task or None, and the state after it.

    Raises:
        PartError: it gives something else.
    """
    made = sampler.draw(state)
    if isinstance(made, tuple) and len(made) == 2 and (made[0] is None or isinstance(made[0], Task)):
        return made
    raise PartError(
        f"{told(sampler)}: draw(state) gave {_shown(made)}; it should give a pair: a Task, or None where there are no more, and the "
        "state after it"
    )


def seen_by(sampler: Sampler, state: State, group: Group) -> State:
    """The state of a sampler that saw a group, which is not forgotten.

    Raises:
        PartError: it is None, where there was one.
    """
    after = sampler.observe(state, group)
    if after is None and state is not None:
        raise PartError(f"{told(sampler)}: observe(state, group) gave None; it should give the state after it")
    return after


def spread_out(sampler: Sampler) -> Sampler:
    """The sampler, or, where what it draws follows what it saw, one that draws from all its places alike: for who shows it nothing."""
    spread = getattr(sampler, "spread", None)
    return spread() if callable(spread) else sampler


def numbers_of(sampler: Sampler, state: State) -> dict[str, float]:
    """What a sampler adds to the metrics of a step, such as the level that it has come to; nothing of most."""
    numbers = getattr(sampler, "numbers", None)
    return numbers(state) if callable(numbers) else {}


def written(part: Any, state: State) -> State:
    """The state of a part as a checkpoint keeps it.

    Raises:
        PartError: it holds what is no JSON; the part is named, of a chain the one whose state does.
    """
    try:
        return kept(state)
    except TypeError as error:
        made = _holder(provenance(part), state)
        which = f"the {made['kind']} {made['name']!r}" if made else "a part without a name"
        raise PartError(f"{which}: its state is kept in checkpoints, and holds what cannot be: {error}") from error


def _holder(made: Any, state: State) -> Any:
    """Which part of a chain has a state that is no JSON."""
    for inner, own in zip(made.get("parts", ()), state) if made and isinstance(state, list) else ():
        try:
            kept(own)
        except TypeError:
            return _holder(inner, own)
    return made


def lacks(kind: str, name: str, handed: Iterable[str]) -> list[str]:
    """The options that a run hands over and the part of this name cannot take."""
    taken = inspect.signature(inspect.unwrap(entry(kind, name).make)).parameters
    every = any(p.kind is p.VAR_KEYWORD for p in taken.values())
    return [] if every else [key for key in handed if key not in taken]


def _shown(made: Any) -> str:
    return f"{repr(made)[:80]}, a {type(made).__name__}"
