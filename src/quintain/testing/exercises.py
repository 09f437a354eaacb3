"""Tiny tasks on which a right method learns within seconds and a wrong one does not: a language-model policy, no text, no env process.

A context is a token; the right answer to it is a fixed table. Each exercise stresses what one family of methods is for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

CONTEXTS, ANSWERS, BEGIN = 6, 6, 0  # tokens: BEGIN, then contexts, then answers
VOCAB = 1 + CONTEXTS + ANSWERS


def right(context: int, turn: int) -> int:
    """The right answer, of 0 to ANSWERS - 1."""
    return (context * 5 + turn * 2 + 1) % ANSWERS


def as_token(answer: int) -> int:
    """The token of an answer."""
    return 1 + CONTEXTS + answer


def as_answer(token: int) -> int:
    """The answer of a token; negative or too large where it is none."""
    return token - 1 - CONTEXTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """How an episode goes: `turns` of `tokens` answers each, one observation token between, judged by `score`.

    `score(context, turn, answers)` in [0, 1] is a turn's reward; a trajectory's is the mean of its turns'. `seats` play side by side,
    seat k starting from a reward of `offset` k, which a baseline per seat takes out. The engine gets new weights every `lag` steps,
    or after each step the ones of `behind` steps before, and it samples at `temperature`, or group after group at the
    `heats`. The policy must gain `gain` in mean reward over `steps` steps.
    """

    score: Callable[[int, int, tuple[int, ...]], float]
    turns: int = 1
    tokens: int = 1
    seats: int = 1
    offset: float = 0.0
    lag: int = 0
    behind: int = 0
    temperature: float = 1.0
    steps: int = 40
    groups: int = 12
    members: int = 8
    lr: float = 0.01
    gain: float = 0.25
    heats: tuple[float, ...] = ()
    keep: float = 0.0  # each of two right answers must keep this share, where it is above 0

    def first(self, rng: np.random.Generator) -> int:
        """The context of a new task."""
        return int(rng.integers(CONTEXTS))

    def opening(self, context: int, seat: int) -> tuple[int, ...]:
        """The prompt."""
        return (BEGIN, 1 + context, as_token(seat))

    def between(self, context: int, turn: int) -> tuple[int, ...]:
        """The observation after a turn: the context that the next turn is about."""
        return (1 + (context + turn + 1) % CONTEXTS,)


def _match(context: int, turn: int, answers: tuple[int, ...]) -> float:
    return float(np.mean([a == right(context, turn + at) for at, a in enumerate(answers)]))


def _either(context: int, turn: int, answers: tuple[int, ...]) -> float:
    return float(answers[0] in both(context))


def _anyway(context: int, turn: int, answers: tuple[int, ...]) -> float:
    return float(answers[0] in (1, 4))


def both(context: int) -> tuple[int, int]:
    """The two right answers of the exercise `modes`."""
    return right(context, 0), (right(context, 0) + 3) % ANSWERS


EXERCISES: dict[str, Exercise] = {
    "pick": Exercise(score=_match, tokens=2, steps=60),
    "tight": Exercise(score=_match, tokens=2, steps=120),  # for methods that hold the policy near where it was
    "path": Exercise(score=_match, turns=3, groups=8, gain=0.2),
    "stale": Exercise(score=_match, tokens=2, lag=4, temperature=1.15, steps=100, lr=0.02),
    "seats": Exercise(score=_match, seats=2, offset=3.0, groups=8, steps=60, lr=0.015),
    "mistakes": Exercise(score=_match, steps=80, lr=0.015, gain=0.15),
    "anyway": Exercise(score=_anyway, steps=60, lr=0.015, gain=0.15),
    "heats": Exercise(score=_match, tokens=2, steps=60, heats=(1.0, 1.0, 1.0, 1.2, 1.0, 1.0, 1.0, 0.8)),
    "modes": Exercise(score=_either, steps=30, gain=0.2, keep=0.1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What came of an exercise: mean rewards of the first and last steps, and the smaller share of two right answers at the end.

    `trace` has for each step the mean `reward` and what the learner measured in it. `after` is the mean reward of the newest
    weights once all steps are over, where it was asked for, else None.
    """

    first: float
    last: float
    minority: float
    trace: tuple[dict[str, float], ...]
    after: float | None = None

    def passes(self, exercise: Exercise) -> bool:
        """Whether the policy gained what the exercise asks for."""
        return self.last >= self.first + exercise.gain and self.minority >= exercise.keep
