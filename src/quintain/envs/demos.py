"""Oracle play as demonstrations: what the policy would have seen, and what it should have said, or how a slip is mended."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from quintain.envs.course import Course, NoDemonstration, asked
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.messages import Message, Text
from quintain.ports import SOLO
from quintain.types import QuintainError, Task
from quintain.worlds.kernel import Move, Plan
from quintain.worlds.noise import Rng
from quintain.worlds.own import solved

ROOMY = ("free", "tagged", "json")  # grammars that find an action behind other text


class CannotDemonstrate(QuintainError):
    """No task of this env can be demonstrated in the way that was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of a demonstration: the messages of the env since the last one, and the answer to them.

    `slip`: the answer is a stray move, which is context and not to be imitated. `earned`: the reward from it up to the next one. `seat`:
    who answers.
    """

    messages: tuple[Message, ...]
    answer: Message
    slip: bool = False
    earned: float = 0.0
    seat: str = SOLO

    @property
    def text(self) -> str:
        """The answer as text; empty for a tool call."""
        return self.answer.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How an oracle is to play.

    `seed` chooses among equally good moves: another one, another demonstration. `reward` is the least total reward that counts as a
    demonstration. `slips` is the share of turns, in [0, 1), in which a random other move is made where the oracle still knows a way
    within the turns left, so that the next turns show how to recover. `why` has a line before each answer that says how the oracle's
    plan goes on, as far as what was shown tells (see `course.Course`); slips have none.
    """

    seed: int = 0
    reward: float = 1.0
    slips: float = 0.0
    why: bool = False


PLAIN = Manner()
# what a task gave: the turns of each seat that earned the reward, or why there are none
Attempt = tuple[Task, list[tuple[Turn, ...]] | NoDemonstration]


def demonstrate(env: WorldEnv, task: Task, how: Manner = PLAIN) -> tuple[Turn, ...]:
    """Play a task by its oracle, drawing evenly among equally good moves: use it to warm-start a policy.

    Args:
        env: of one seat; `seated` plays those of several. Its scaffold decides what is seen and how answers are written. It is reset.
        task: what is played.
        how: see `Manner`.

    Returns:
        The turns in order. The oracle sees only the present state, never the noise to come. A world whose oracle knows more than is shown
        is registered with the tag `foresees`; here it is asked, turn by turn, about the state that the full caption tells.

    Raises:
        NoDemonstration: there is no plan, or (on slippery ground, say) luck kept the reward below `how.reward`.
        CannotDemonstrate: the world has several seats (see `seated`), `how` is out of range, or the grammar has no room for a reason.

    Example:
        >>> from quintain.envs.scaffold import Scaffold
        >>> from quintain.envs.world import world_of
        >>> env = WorldEnv(world_of("KeyDoor"), Scaffold.of({"style": "words"}))
        >>> turns = demonstrate(env, Task(key="demo", env="KeyDoor", seed=1, level=2))
        >>> turns[0].text in ("up", "down", "left", "right"), len(turns[1].messages)
        (True, 1)
    """
    if env.facts.seats != (SOLO,):
        raise CannotDemonstrate(
            f"{env.facts.name} has the seats {env.facts.seats}; take `seated`, a demonstration each"
        )
    return _good(env, task, how)[0]


def seated(env: WorldEnv, task: Task, how: Manner = PLAIN) -> dict[str, tuple[Turn, ...]]:
    """Play a task by the oracles of all seats: what each seat was told and said, whatever it earned.

    Args:
        env: see `demonstrate`, as for `task` and `how`, of which the reward says nothing here.

    Returns:
        The turns of each seat that made any, in order.

    Raises:
        NoDemonstration: a seat that is to move has no plan.
        CannotDemonstrate: `how` is out of range, there are several seats to be led astray, or the grammar has no room for a reason.

    Example:
        >>> from quintain.envs.world import world_of
        >>> env = WorldEnv(world_of("NimDuel"))
        >>> turns = seated(env, Task(key="demo", env="NimDuel", seed=1, level=2))
        >>> list(turns), sum(turn.earned for turns in turns.values() for turn in turns)
        (['first', 'second'], 1.0)
    """
    check(env, how)
    rng = Rng("demonstration", task.seed, task.level, how.seed)
    heard = env.begin(task)
    courses = {seat: Course(env, rng, seat) for seat in heard}
    fresh = {seat: said.messages for seat, said in heard.items()}
    turns: dict[str, list[Turn]] = {seat: [] for seat in heard}
    while any(said.acts for said in heard.values()):
        answers = {}
        for seat in [seat for seat, said in heard.items() if said.acts]:
            stray = _stray(env, rng) if how.slips and rng.below(1000) < 1000 * how.slips else None
            move, reason = (stray, "") if stray is not None else courses[seat].go_on()
            answers[seat] = _written(env, move, reason if how.why else "")
            turns[seat].append(Turn(messages=fresh[seat], answer=answers[seat], slip=stray is not None, seat=seat))
            fresh[seat] = ()
        heard = env.advance(answers)
        for seat, said in heard.items():
            fresh[seat] += said.messages
            if said.reward and turns[seat]:
                last = turns[seat][-1]
                turns[seat][-1] = replace(last, earned=last.earned + sum(said.reward.values()))
    return {seat: tuple(made) for seat, made in turns.items() if made}


def _good(env: WorldEnv, task: Task, how: Manner) -> list[tuple[Turn, ...]]:
    """The turns of the seats that earned the reward; an error where none did."""
    played = seated(env, task, how)
    totals = {seat: sum(turn.earned for turn in turns) for seat, turns in played.items()}
    good = [turns for seat, turns in played.items() if totals[seat] >= how.reward]
    if not good:
        most, count = max(totals.values()), max(map(len, played.values()))
        raise NoDemonstration(
            f"{task.key}: the oracle earned {most:g} of {how.reward:g} in {count} turn{'s' * (count != 1)}"
        )
    return good


def _stray(env: WorldEnv, rng: Rng) -> Move | None:
    """A legal move that is not the oracle's and leaves it a way within the turns left; None where three tries found none."""
    state = asked(env)
    plan = solved(env.world, state, SOLO)
    if not isinstance(plan, Plan) or not plan.moves:
        return None
    good, view = {m.key for m in (*plan.first, plan.moves[0])}, env.world.view(env.state, SOLO)
    for _ in range(3):
        move = view.sample(rng)
        if move.key in good:
            continue
        outcome = env.world.step(state, {SOLO: move})
        after = None if outcome.done else solved(env.world, outcome.state, SOLO)
        if not isinstance(after, Plan) or after.value < plan.value or after.exact < plan.exact:
            continue  # no way, a worse one, or one that may rest on what was not seen
        if env.turn + 1 + len(after.moves) <= env.limit:
            return move
    return None


def _written(env: WorldEnv, move: Move, reason: str) -> Message:
    """The message of a move, behind a reason if there is one."""
    answer = env.reader.grammar.write(move.key)
    return Message(answer.role, (Text(text=f"{reason}\n{answer.text}"),)) if reason else answer


def check(env: WorldEnv, how: Manner) -> None:
    """Refuse what can never be demonstrated; see `demonstrate`.

    Raises:
        CannotDemonstrate: as `demonstrate`.
    """
    if not 0 <= how.slips < 1:
        raise CannotDemonstrate(f"slips is {how.slips}; the share of stray moves lies in [0, 1)")
    if not math.isfinite(how.reward):
        raise CannotDemonstrate(
            f"reward is {how.reward}; the least reward of a demonstration is a finite number, 1 for all"
        )
    if how.slips and env.facts.seats != (SOLO,):
        raise CannotDemonstrate(
            f"{env.facts.name} has the seats {env.facts.seats}; slips are for one player: take none (`--slips 0`)"
        )
    if how.why and env.scaffold.grammar not in ROOMY:
        raise CannotDemonstrate(
            f"the grammar {env.scaffold.grammar!r} has no room for a reason before an answer; take {', '.join(ROOMY)}"
        )


def demonstrations(
    env: WorldEnv, tasks: Iterator[Task], count: int, how: Manner = PLAIN
) -> Iterator[tuple[Task, tuple[Turn, ...]]]:
    """The first `count` demonstrations of `tasks`, of each seat that earned the reward; tasks without are passed over.

    Args:
        env: see `demonstrate`, as for `how`; it may have several seats.
        tasks: as many as it takes.
        count: how many.

    Raises:
        NoDemonstration: more than nine in ten tasks have none.
        CannotDemonstrate: as `seated`.
    """
    return chosen(attempts(env, tasks, how), count, how)


def attempt(env: WorldEnv, task: Task, how: Manner = PLAIN) -> list[tuple[Turn, ...]] | NoDemonstration:
    """The turns of the seats that earned the reward, or why there are none; see `demonstrate`.

    A task of another world than that of `env` is played in its own, through the same scaffold.
    """
    try:
        return _good(env if task.env == env.facts.name else _elsewhere(task.env, env.scaffold), task, how)
    except NoDemonstration as error:
        return error


def _elsewhere(name: str, scaffold: Scaffold) -> WorldEnv:
    world = world_of(name)
    if not hasattr(world, "solve"):
        raise NoDemonstration(f"{name} has no oracle")
    return WorldEnv(world, scaffold)


def attempts(env: WorldEnv, tasks: Iterable[Task], how: Manner = PLAIN) -> Iterator[Attempt]:
    """`attempt` at each task.

    Raises:
        CannotDemonstrate: as `seated`.
    """
    check(env, how)
    for task in tasks:
        yield task, attempt(env, task, how)


def chosen(tries: Iterable[Attempt], count: int, how: Manner) -> Iterator[tuple[Task, tuple[Turn, ...]]]:
    """The first `count` demonstrations of what was attempted; see `demonstrations`."""
    made = tried = 0
    for task, found in tries:
        tried += 1
        if isinstance(found, NoDemonstration):
            if tried > 10 * (made + 1):
                fewer = f"fewer slips than {how.slips:g}, " * (how.slips > 0)
                fewer += f"a lower reward than {how.reward:g} or " * (how.reward > 0)
                less = f", or ask for {made}" * (made > 0)
                raise NoDemonstration(
                    f"{made} of {tried} tasks have a demonstration, and {count} are asked for; the last: {found}; "
                    f"take {fewer}other levels{less}"
                ) from found
            continue
        for turns in found[: count - made]:
            made += 1
            yield task, turns
        if made >= count:
            return
