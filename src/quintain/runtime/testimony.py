"""What an engine says about its weights: asked through the port alone, in whichever process the engine lives."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from quintain import codec
from quintain.ports import Engine
from quintain.types import Completion, Ints, Request, Sampling

KEY = -1  # where noise keys of episodes hold a ticket: canaries share no noise with any of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """What engines are asked after a sync.

    Args:
        paths: to score at temperature 1.
        prompts: to continue under `sampling`.
        sampling: of the run; `max_tokens` of the canaries, no stop tokens.
        seed: of the noise.
        turn: of the noise too, so that no two syncs draw alike.
        again: paths that a session of the same number, kept since the last sync, is asked to continue.
        detail: whether to describe every tensor too.
    """

    paths: Sequence[Ints] = ()
    prompts: Sequence[Ints] = ()
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 0
    turn: int = 0
    again: Sequence[Ints] = ()
    detail: bool = False

    def plain(self) -> dict[str, Any]:
        """As JSON values, for another process."""
        lists = {name: [list(p) for p in getattr(self, name)] for name in ("paths", "prompts", "again")}
        return {
            **lists,
            "sampling": codec.encode(self.sampling),
            "seed": self.seed,
            "turn": self.turn,
            "detail": self.detail,
        }

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Questions:
        """What `plain` gave."""
        lists = {name: tuple(tuple(p) for p in plain[name]) for name in ("paths", "prompts", "again")}
        sampling = codec.decode(Sampling, plain["sampling"])
        return cls(**lists, sampling=sampling, seed=plain["seed"], turn=plain["turn"], detail=plain["detail"])


Ask = Callable[[Questions], Awaitable[Mapping[str, Mapping[str, Any]]]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """What the engines of one role said, by name, what they were asked, and how they are asked again.

    `shared` says that they run the learner's own module.
    """

    role: str
    ask: Ask
    asked: Questions
    told: Mapping[str, Mapping[str, Any]]
    shared: bool


def alone(name: str, engine: Engine) -> Ask:
    """Asks one engine."""

    async def ask(asked: Questions) -> Mapping[str, Mapping[str, Any]]:
        return {name: await answers_of(engine, asked)}

    return ask


def spoken(
    prompts: Sequence[Ints], answers: Sequence[Mapping[str, Any]]
) -> tuple[list[Ints], list[int], list[np.ndarray]]:
    """Paths, where each was continued, and the logprobs that were said of it; what was answered with no token is left out."""
    rows = [(tuple(p), a) for p, a in zip(prompts, answers, strict=False) if a["tokens"]]
    said = [np.array(a["logprobs"], float) for _, a in rows]
    return [(*p, *a["tokens"]) for p, a in rows], [len(p) for p, _ in rows], said


async def answers_of(engine: Engine, asked: Questions) -> dict[str, Any]:
    """The answers of one engine, as JSON values.

    Returns:
        `scores` per path, `said` per prompt and `again` per kept session (tokens, logprobs, versions of the spans),
        `refresh`, and where the engine can say it `version`, `dtype`, `prints`; with detail `tensors` and `config`.

    Special cases: an engine without a method `holds` is judged by its canaries alone. Sessions are kept only where the
    engine promises to compute them again after a load (`refresh`).
    """
    refresh = bool(getattr(engine, "refresh", False))
    again = await _speak(engine, asked, asked.again, len(asked.again)) if refresh else []
    for number in range(len(asked.again) if refresh else 0):
        await engine.abort(_session(number))
    kept = len(asked.paths) if refresh else 0  # of the first prompts, one for each path
    questions = _held(engine, asked.detail), _scored(engine, asked.paths), _speak(engine, asked, asked.prompts, kept)
    held, scores, said = await asyncio.gather(*questions)  # an engine that plays meanwhile answers between its steps
    return {**held, "refresh": refresh, "scores": scores, "said": said, "again": again}


async def _held(engine: Engine, detail: bool) -> dict[str, Any]:
    holds: Any = getattr(engine, "holds", None)
    return {} if holds is None else dict(await holds(detail))


async def _scored(engine: Engine, paths: Sequence[Ints]) -> list[list[float]]:
    return [list(row) for row in await engine.score(paths)] if paths else []


def _session(number: int) -> str:
    return f"canary.{number}"


async def _speak(engine: Engine, asked: Questions, prompts: Sequence[Ints], kept: int) -> list[dict[str, Any]]:
    requests = [
        Request(
            session=_session(i) if i < kept else "",
            prompt=tuple(prompt),
            sampling=replace(asked.sampling, top_logprobs=0),
            key=(asked.seed, KEY, i, asked.turn),
        )
        for i, prompt in enumerate(prompts)
    ]
    return [_told(done) for done in await asyncio.gather(*[engine.generate(r) for r in requests])]


def _told(done: Completion) -> dict[str, Any]:
    versions = sorted({span.version for span in done.spans})
    return {"tokens": list(done.tokens), "logprobs": list(done.logprobs), "versions": versions}
