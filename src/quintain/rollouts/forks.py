"""Where a rollout is worth forking, by the entropy of what the engine returned; and the rollout that forks there (ARPO)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp, inf, log
from typing import Any, NamedTuple

from quintain.parts import Cast, Rollout
from quintain.registry import register
from quintain.rollouts.episode import together
from quintain.rollouts.episodes import PlanError
from quintain.rollouts.members import draw, joined, lone, member
from quintain.types import Completion, Group, Ints, Request, Task

Said = Mapping[int, tuple[Ints, Completion]]  # turn -> what the engine was asked, and what it answered
LOOK = 20  # tokens of a turn whose mean entropy stands for it


def returned_entropy(logprobs: Sequence[float], vocabulary: int = 0) -> float:
    """The entropy of the best tokens that an engine returned, in nats, or as a share of a vocabulary's largest.

    Example:
        >>> returned_entropy([0.0])
        0.0
    """
    entropy = -sum(exp(p) * p for p in logprobs if p > -inf) + 0.0
    return entropy / log(vocabulary) if vocabulary else entropy


def branch_probability(now: float, start: float, base: float = 0.5, weight: float = 0.2) -> float:
    """How likely a rollout forks after a tool's answer: more where the policy became unsure (ARPO, arXiv 2507.19849).

    Maths: `clip(base + weight (now - start), 0, 1)`, both entropies as shares of the vocabulary's.

    Args:
        now: entropy after the answer.
        start: entropy at the first turn.
        base: what it is where they are equal.
        weight: what a rise by 1 adds.

    Example:
        >>> branch_probability(0.3, 0.3)
        0.5
    """
    return min(1.0, max(0.0, base + weight * (now - start)))


class Tape:
    """An engine that says again what another member said, as long as it is asked the same, and then goes on by itself.

    An env that does not come back to the same place is asked anew from there on, so that nothing is said that the policy would not
    have been asked for.
    """

    def __init__(self, inner: Any, before: Said) -> None:
        self.inner, self.before = inner, before
        self.said: dict[int, tuple[Ints, Completion]] = {}
        self.score, self.fork, self.abort = inner.score, inner.fork, inner.abort
        self.load, self.pause, self.resume = inner.load, inner.pause, inner.resume

    async def generate(self, request: Request) -> Completion:
        """What was said in this turn, or a continuation by the engine itself."""
        turn = request.key[3]
        if not turn:
            self.said = {}  # also where an episode whose env failed is played once more
        asked, completion = self.before.get(turn, (None, None))
        if completion is None or asked != request.prompt:
            completion = await self.inner.generate(request)
        self.said[turn] = (request.prompt, completion)
        return completion

    @property
    def repeated(self) -> int:
        """How many leading turns were said again."""
        own = (turn for turn, said in self.said.items() if self.before.get(turn, (None, None))[1] is not said[1])
        return next(own, len(self.said))


class _Branch(NamedTuple):
    """A member that was played, and the turn from which on it is its own."""

    group: Group
    said: Said
    number: int
    start: int


async def _grown(
    one: Rollout, task: Task, cast: Cast, place: tuple[int, int], origin: tuple[_Branch | None, int]
) -> _Branch:
    """A member that forks from a turn of another one, or is played whole."""
    parent, turn = origin
    engine = cast.engines["policy"]
    tape = Tape(engine, {k: said for k, said in parent.said.items() if k < turn} if parent else {})
    if not hasattr(engine, "converse"):  # what is said in messages has no logprobs
        cast = replace(cast, engines={**cast.engines, "policy": tape})
    group = await member(one, task, cast, place)
    start = tape.repeated
    if parent is not None and start:
        fork = (parent.group.trajectories[0].id, start, 0)
        group = replace(group, trajectories=tuple(replace(t, fork=fork) for t in group.trajectories))
    return _Branch(group, tape.said, place[1], start)


def _forks(branch: _Branch, size: int, chance: tuple[float, float], seed: int) -> Iterator[int]:
    """The turns of a member at which it forks; `size` tokens are all that there are."""
    if len(branch.group.trajectories) != 1 or size < 2:
        return
    turns = {turn: completion.top_logprobs[:LOOK] for turn, (_, completion) in branch.said.items()}
    unsure = {k: sum(returned_entropy(row, size) for row in rows) / len(rows) for k, rows in turns.items() if rows}
    for turn, now in unsure.items():
        if turn > branch.start and 0 in unsure:
            dice = draw("fork", seed, branch.group.ticket, branch.number, turn) / 2**48
            if dice < branch_probability(now, unsure[0], *chance):
                yield turn


@register("rollout", "branching", paper="2507.19849", status="paper", confidence="code")
def branching(
    group_size: int = 16, first: int = 0, base: float = 0.5, weight: float = 0.2, top: int = 10, **kwargs: Any
) -> Rollout:
    """Play some episodes whole, and fork the others from their turns, more where the policy became unsure (ARPO).

    Use it with the algorithm `arpo` for tool use and long episodes: what a branch shares with its parent is not sampled again. It takes an
    env that answers the same moves the same way, and an engine that returns logprobs of alternatives (torch, vllm).

    After an answer of the env a member forks with the chance `branch_probability`, by the mean entropy of the first tokens of the turn
    that follows it. A branch plays the moves of its parent up to that turn without sampling them, and may fork in its turn.

    Args:
        group_size: episodes of a group with all its branches, >= 1.
        first: episodes that are played whole before any forks, at most `group_size`; 0 takes half of them.
        base: chance of a fork where the entropy is that of the first turn, in [0, 1].
        weight: what a rise of the entropy by the whole of its range adds.
        top: alternatives of a token that the engine is asked for, >= 1.
        **kwargs: options of `episodes` but `redundancy` and `hint`.

    Returns:
        A rollout. Branches have a `fork` (trajectory, turn, token); the tag `forks` counts them. Who is left when nobody forks any more
        plays whole episodes.

    Raises:
        PlanError: a number is out of range, redundant members, or hints.

    Special cases: groups of one, as evaluations play them, games of several seats and engines without alternatives never fork; an env
    that answers otherwise than before moves the fork to that turn.

    Reference: ARPO, 2025, arXiv 2507.19849. Differs from the paper: a turn of the env stands for a call of a tool; branches are played
    when their parents are over.
    """
    if not 0 <= first <= group_size or min(group_size, top) < 1 or not 0 <= base <= 1 or not -inf < weight < inf:
        told = f"group_size {group_size}, first {first}, top {top}, base {base}, weight {weight}"
        raise PlanError(
            f"branching: {told}; it needs 0 <= first <= group_size, top >= 1 and base in [0, 1], and a weight that is finite"
        )
    one = lone("branching", kwargs)

    async def play(task: Task, cast: Cast, ticket: int) -> Group:
        if group_size == 1:
            return await one(task, cast, ticket)
        cast = replace(cast, sampling=replace(cast.sampling, top_logprobs=max(top, cast.sampling.top_logprobs)))
        size = cast.renderers["policy"].size if cast.renderers else 0

        async def grow(number: int, parent: _Branch | None = None, turn: int = 0) -> _Branch:
            return await _grown(one, task, cast, (ticket, number), (parent, turn))

        fresh = members = await together([grow(k) for k in range(first or (group_size + 1) // 2)])
        while left := group_size - len(members):
            places = sorted((turn, b.number) for b in fresh for turn in _forks(b, size, (base, weight), cast.seed))[
                :left
            ]
            jobs = [grow(len(members) + i, members[k], turn) for i, (turn, k) in enumerate(places)]
            fresh = await together(jobs or [grow(len(members) + i) for i in range(left)])
            members = [*members, *fresh]
        group = joined(task, ticket, [m.group for m in members])
        forks = sum(t.fork is not None for t in group.trajectories)
        return replace(group, tags={**group.tags, "forks": forks})

    return play
