"""The way that an oracle goes through an episode, and what may be said of it: nothing that has not been shown."""

from __future__ import annotations

import functools
from collections import deque
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from quintain.envs.world import WorldEnv
from quintain.ports import SOLO
from quintain.registry import entries
from quintain.types import QuintainError
from quintain.worlds.kernel import Answer, Move, Plan, World
from quintain.worlds.noise import Rng
from quintain.worlds.own import solved, stepped

AHEAD = 4  # moves of a plan that a reason names
PROBED = [(level, seed) for level in (2, 5) for seed in range(4)]  # instances that tell whether captions tell all
DEEP = 4  # states of each
_open: dict[str, bool] = {}


class NoDemonstration(QuintainError):
    """The oracle has no plan for a task, or its plan did not earn the reward."""


class Way:
    """The oracle of a world, asked move by move: a plan that is certain, in a world of one seat, is gone on with as states follow it.

    The plans of one state and of the next need not lead on from each other.

    Example:
        >>> from quintain.envs.world import world_of
        >>> world = world_of("Hanoi")
        >>> state, way = world.start(3, 4), Way(world)
        >>> plan = way.ask(state, SOLO)
        >>> way.ask(world.step(state, {SOLO: plan.moves[0]}).state, SOLO).moves == plan.moves[1:]
        True
    """

    def __init__(self, world: World[Any]) -> None:
        self.world = world
        self.rest: Plan | None = None  # of the last plan, from the state that its first move leads to
        self.due: Any = None  # that state

    def ask(self, state: Any, seat: str) -> Answer:
        """What it says of a state.

        Raises:
            BadWorld: the world has no oracle, or it says what is no answer.
        """
        plan: Answer = self.rest if self.rest and same(self.due, state) else solved(self.world, state, seat)
        self.rest = None
        if isinstance(plan, Plan) and plan.exact and len(plan.moves) > 1 and len(self.world.facts.seats) == 1:
            self.rest = replace(plan, moves=plan.moves[1:], first=())
            self.due = stepped(self.world, state, {seat: plan.moves[0]}).state
        return plan


class Course:
    """The oracle's way through one episode, drawn evenly among equally good moves.

    A plan that was announced is gone on with as long as the state follows it. What `go_on` says of a move is, where the world shows all
    that its oracle stands on, how many moves are to go and the next of them; else only the next move, and that it is an estimate where
    it is one. Of an episode of one turn, and of moves that the solver explains, it says how they come about.

    Args:
        env: at the start of an episode; whoever has the course steps it.
        rng: chooses among equally good moves.
        seat: whose way it is; where there are others it is asked about move by move, as they do what they like.
    """

    def __init__(self, env: WorldEnv, rng: Rng, seat: str = SOLO) -> None:
        self.env, self.rng, self.seat = env, rng, seat
        self.plan: Plan | None = None  # how it goes on from where the last drawn move leads
        self.because = ""  # of the last plan
        self.drawn: deque[tuple[Move, Any]] = deque()  # moves and where they lead
        self.due: Any = None

    def go_on(self) -> tuple[Move, str]:
        """The next move, and a line about it.

        Raises:
            NoDemonstration: the oracle has no plan from here.
        """
        if self.due is None or not same(self.due, self.env.state):
            self.plan = None
            self.drawn.clear()
        move, reason = self._announced() if shows_all(self.env.world) else self._guessed()
        return move, self.because if self.env.limit == 1 else reason

    def _announced(self) -> tuple[Move, str]:
        """One move of a plan that is certain: it is drawn some moves ahead, as what is announced will be done."""
        if not self.drawn:
            self.due, self.plan = self.env.state, self.plan or self._asked()
            if self.plan.because and self.env.limit > 1:
                (move, *rest), because, self.due = self.plan.moves, self.plan.because, None
                return move, f"{_to_go(len(rest) + 1)}. {because}"
        while self.plan is not None and len(self.drawn) < AHEAD:
            self._draw(self.plan)
        keys = [move.key for move, _ in self.drawn]
        left = len(keys) + (len(self.plan.moves) if self.plan else 0)
        move, self.due = self.drawn.popleft()
        told = ", ".join(keys) + (", ..." if left > len(keys) else "")
        return move, f"{_to_go(left)}: {told}"

    def _draw(self, plan: Plan) -> None:
        """One more move; another first move counts as equally good only if as few moves follow it."""
        world, state = self.env.world, self.drawn[-1][1] if self.drawn else self.due
        move: Move = plan.moves[0]
        rest: Answer | None = replace(plan, moves=plan.moves[1:], first=())
        if plan.first:
            other = self.rng.pick(plan.first)
            outcome = stepped(world, state, {SOLO: other})
            found = None if outcome.done else solved(world, outcome.state, SOLO)
            if outcome.done or (isinstance(found, Plan) and len(found.moves) == len(plan.moves) - 1):
                move, rest = other, found
        outcome = stepped(world, state, {SOLO: move})
        self.drawn.append((move, outcome.state))
        self.plan = rest if isinstance(rest, Plan) and rest.moves and not outcome.done else None

    def _guessed(self) -> tuple[Move, str]:
        """One move of a plan that rests on what was not shown, or on luck: only this move may be told."""
        plan = self.plan or self._asked()
        if plan.because:
            return plan.moves[0], plan.because
        facts = self.env.facts
        blind = foresees(facts.name)  # what comes next may change its plan
        move = self.rng.pick(plan.first) if plan.first and not blind else plan.moves[0]
        kept = plan.moves[1:] if not plan.first and not blind and facts.seats == (SOLO,) else ()
        self.plan = replace(plan, moves=kept) if kept else None
        self.due = stepped(self.env.world, self.env.state, {SOLO: move}).state if kept else None
        return move, f"Next: {move.key}." if plan.exact else f"By estimate: {move.key}."

    def _asked(self) -> Plan:
        plan = solved(self.env.world, asked(self.env, self.seat), self.seat)
        if not isinstance(plan, Plan) or not plan.moves:
            raise NoDemonstration(f"{self.env.facts.name}: no plan from here: {plan}")
        self.because = plan.because
        return plan


def _to_go(moves: int) -> str:
    return f"{moves} move{'s' if moves != 1 else ''} to go"


def asked(env: WorldEnv, seat: str = SOLO) -> Any:
    """The state that the oracle of a seat is asked about: the present one, or that of its full caption where the oracle would foresee."""
    if not foresees(env.facts.name):
        return env.state
    return env.world.rebuild(env.world.view(env.state, seat).caption(2), seat)


def same(one: Any, other: Any) -> bool:
    """Whether two states are equal; those of a world of one's own may hold arrays, which `==` compares entry by entry.

    Example:
        >>> same((1, np.array([2, 3])), (1, np.array([2, 3]))), same(np.array([2, 3]), np.array([2, 4]))
        (True, False)
    """
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if type(one) is type(other) and is_dataclass(one):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one) if f.compare)
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return all(map(same, one, other))
    return bool(one == other)


def foresees(name: str) -> bool:
    """Whether the oracle of a registered world knows what is still to come."""
    return tagged(name, "foresees")


@functools.lru_cache(maxsize=1024)
def tagged(name: str, tag: str) -> bool:
    """Whether a registered world has a tag that is set."""
    return any(e.tags.get(tag) for e in entries("world") if e.name == name)


def shows_all(world: World[Any]) -> bool:
    """Whether a certain plan may be told: from the full caption alone the oracle of a single seat makes the same plans.

    It is found out by asking, on a few instances, and remembered by the name of the world. False for estimates, for oracles that foresee,
    for several seats, and for a world that cannot be rebuilt from its caption.
    """
    name = world.facts.name
    if name not in _open:
        sure = world.facts.exact and world.facts.seats == (SOLO,) and not foresees(name)
        _open[name] = sure and all(_tells(world, level, seed) for level, seed in PROBED)
    return _open[name]


def plan_shown(world: World[Any], state: Any) -> Answer | None:
    """What the oracle of a single seat says of a state, if it says the same of the one that the full caption rebuilds; else None."""
    plan = solved(world, state, SOLO)
    try:
        told = solved(world, world.rebuild(world.view(state, SOLO).caption(2), SOLO), SOLO)
    except (LookupError, ValueError, TypeError, AttributeError, QuintainError):
        return None  # a rebuilt state may lack what an oracle stands on, and a world of one's own may not rebuild
    return plan if told == plan else None


def _tells(world: World[Any], level: int, seed: int) -> bool:
    """Whether the captions along a plan of one instance lead to the same plans."""
    try:
        state = world.start(seed, level)
    except QuintainError:
        return True  # a level that cannot be begun tells nothing; who plays it hears of it
    for _ in range(DEEP):
        plan = plan_shown(world, state)
        if plan is None:
            return False
        if not isinstance(plan, Plan) or not plan.moves:
            return True
        outcome = stepped(world, state, {SOLO: plan.moves[0]})
        if outcome.done:
            return True
        state = outcome.state
    return True
