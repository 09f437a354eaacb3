"""Oracle play as demonstrations: what the policy would have seen, and what it should have said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from quintain.envs.world import WorldEnv
from quintain.messages import Message
from quintain.ports import SOLO
from quintain.types import QuintainError, Task
from quintain.worlds.kernel import Move, Plan
from quintain.worlds.noise import Rng


class NoDemonstration(QuintainError):
    """The oracle has no plan for a task, or its plan did not earn the reward."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of a demonstration: the messages of the env since the last one, and the answer to them."""

    messages: tuple[Message, ...]
    answer: Message

    @property
    def text(self) -> str:
        """The answer as text; empty for a tool call."""
        return self.answer.text


def demonstrate(env: WorldEnv, task: Task, seed: int = 0, reward: float = 1.0) -> tuple[Turn, ...]:
    """Play a task by its oracle, drawing evenly among equally good moves: use it to warm-start a policy.

    Args:
        env: a single-seat env; its scaffold decides what is seen and how answers are written. It is reset.
        task: what is played.
        seed: chooses among equally good moves; another seed, another demonstration.
        reward: the least total reward that counts as a demonstration.

    Returns:
        The turns in order. The oracle sees only the present state, never the noise to come.

    Raises:
        NoDemonstration: there is no plan, or (on slippery ground, say) luck kept the reward below `reward`.

    Example:
        >>> from quintain.envs.scaffold import Scaffold
        >>> from quintain.envs.world import world_of
        >>> env = WorldEnv(world_of("KeyDoor"), Scaffold.of({"style": "words"}))
        >>> turns = demonstrate(env, Task(key="demo", env="KeyDoor", seed=1, level=2))
        >>> turns[0].text in ("up", "down", "left", "right"), len(turns[1].messages)
        (True, 1)
    """
    if env.facts.seats != (SOLO,):
        raise NoDemonstration(f"{env.facts.name} has the seats {env.facts.seats}; a demonstration has one player")
    rng = Rng("demonstration", task.seed, task.level, seed)
    write = env.reader.grammar.write
    said = env.begin(task)[SOLO]
    turns, total, queue = [], 0.0, ()
    while said.stop is None:
        move, queue = _choose(env, queue, rng)
        answer = write(move.key)
        turns.append(Turn(messages=said.messages, answer=answer))
        said = env.advance({SOLO: answer})[SOLO]
        total += sum(said.reward.values())
    if total < reward:
        raise NoDemonstration(f"{task.key}: the oracle earned {total:g} of {reward:g} in {len(turns)} turns")
    return tuple(turns)


def _choose(env: WorldEnv, queue: tuple[Move, ...], rng: Rng) -> tuple[Move, tuple[Move, ...]]:
    """The next move and the rest of the plan; a plan is made anew where its oracle knows several good moves."""
    if queue:
        return queue[0], queue[1:]
    plan = env.world.solve(env.state, SOLO)
    if not isinstance(plan, Plan) or not plan.moves:
        raise NoDemonstration(f"{env.facts.name}: no plan from here: {plan}")
    if plan.first:
        return rng.pick(plan.first), ()
    return plan.moves[0], plan.moves[1:]


def demonstrations(env: WorldEnv, tasks: Iterator[Task], count: int, seed: int = 0) -> Iterator[tuple[Turn, ...]]:
    """The demonstrations of the first `count` of `tasks` that have one; tasks without are passed over.

    Raises:
        NoDemonstration: more than nine in ten tasks have none.
    """
    made = tried = 0
    for task in tasks:
        if made == count:
            return
        tried += 1
        try:
            turns = demonstrate(env, task, seed)
        except NoDemonstration as error:
            if tried > 10 * (made + 1):
                raise NoDemonstration(f"{made} of {tried} tasks have a demonstration; the last: {error}") from error
            continue
        made += 1
        yield turns
