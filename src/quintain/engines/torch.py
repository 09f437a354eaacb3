"""The local engine: a PyTorch model in this process, token in, token out, with its keys and values kept over turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from torch import nn

from quintain.engines.torch_jobs import Job, Jobs, Stats
from quintain.engines.torch_run import EngineError, Runner
from quintain.models import load_model
from quintain.registry import register
from quintain.types import Completion, Floats, Ints, Request, Weights

__all__ = ["EngineError", "Stats", "TorchEngine", "torch_engine"]

INLINE_PARAMETERS = 1_000_000  # below this a step is so short that a hop to another thread shows
QUIET_PASSES = 3  # passes of the event loop without a new request before a step begins

Result = TypeVar("Result")


class TorchEngine:
    """Matches the `Engine` port with a PyTorch model in this process.

    Requests join and leave a running batch at every step. A session keeps its slot between the turns of an episode,
    so each turn computes new tokens only; the session that was idle longest is evicted when slots are short, and
    computed again when it returns. Batches form in the order of `Request.key` among the requests that arrive
    together, and sampling noise depends on the key and on the index of the token alone: a synchronous run repeats bit
    for bit.

    The model may be shared with a learner in the same process, which then must not change weights while requests run.

    Args:
        model: of `build_model` or `load_model`, self-tested.
        slots: sequences whose keys and values are held at once, >= 1; memory grows with those in use.
        context: tokens of the longest path; the model's own limit when 0.
        refresh: whether the next turn of a session computes again what older weights computed.
        inline: run steps in the event loop's thread instead of a thread of the engine's; None chooses by the model's
            size.
    """

    def __init__(
        self, model: nn.Module, *, slots: int = 256, context: int = 0, refresh: bool = False, inline: bool | None = None
    ) -> None:
        self._runner = Runner(model, slots, context)
        self._jobs = Jobs(self._runner, slots, refresh)
        tiny = self._runner.parameters < INLINE_PARAMETERS and self._runner.device.type == "cpu"
        self._thread = None if (tiny if inline is None else inline) else ThreadPoolExecutor(1, "quintain-engine")
        self._driver: asyncio.Task[None] | None = None
        self._stepping = False
        self._paused = False
        self._unnamed = 0

    @property
    def model(self) -> nn.Module:
        """The model that runs."""
        return self._runner.model

    @property
    def version(self) -> int:
        """The policy version that the next token is sampled from."""
        return self._runner.version

    @property
    def context(self) -> int:
        """Tokens of the longest path."""
        return self._runner.context

    @property
    def stats(self) -> Stats:
        """A copy of the engine's counters."""
        jobs = self._jobs
        return replace(
            jobs.stats,
            evicted=jobs.seats.evicted,
            waiting=len(jobs.fresh) + len(jobs.waiting),
            running=len(jobs.running),
            sessions=len(jobs.seats.sessions),
        )

    async def generate(self, request: Request) -> Completion:
        """Sample a continuation of `request.prompt`; what its session holds of it is not computed again.

        Returns:
            At most `max_tokens` tokens; finish is `length` also when the path reaches the engine's context (with no
            token at all if the prompt fills it), `abort` after `abort(session)`.

        Raises:
            EngineError: the prompt is empty or holds an id outside the vocabulary, or the request has images.

        Special cases: an empty session name keeps nothing. A second request of a session waits for the first.
        """
        if not request.prompt or request.images:
            what = "images, but this engine takes tokens only" if request.images else "an empty prompt"
            raise EngineError(f"the request of session {request.session!r} has {what}")
        session = request.session
        if not session:
            self._unnamed += 1
            session = f"\0{self._unnamed}"
        loop = asyncio.get_running_loop()
        job = Job(request, session, loop.create_future())
        self._jobs.fresh.append(job)
        if self._driver is None:
            self._drive_on(loop)
        return await job.future

    async def score(self, paths: Sequence[Ints]) -> Sequence[Floats]:
        """The logprobs [T] of the tokens of each path [T] at temperature 1 under the loaded weights; the first is 0.

        Raises:
            EngineError: a path is above the context or holds an id outside the vocabulary.
        """
        return await self._between_steps(lambda: self._runner.score(paths))

    async def fork(self, session: str, at: int, into: str) -> None:
        """Give `into` a copy of the keys and values of the first `at` tokens of `session`, as far as they are held.

        Raises:
            EngineError: `into` is `session` or has a request in flight, or `at` is negative.

        Special cases: nothing is copied when `session` holds nothing any more or no slot is free; the next request of
        `into` computes its prompt then.
        """
        seats = self._jobs.seats
        old, source = seats.sessions.get(into), seats.sessions.get(session)
        if into == session or at < 0 or (old is not None and old.job is not None):
            raise EngineError(f"cannot fork {session!r} at {at} into {into!r}: it must be another session that is idle")
        if old is not None:
            seats.release(old)
        held = () if source is None else source.job.held() if source.job is not None else source.held
        count = min(at, len(held))
        seat = seats.claim(into, keep=source) if count else None
        if seat is None or source is None:
            return
        seat.held, seat.version = held[:count], source.version
        seat.prefix = source.prefix if count == len(held) else seats.prefixes.new()
        sources, targets = [source.slot], [seat.slot]
        await self._between_steps(lambda: self._runner.copy(sources, targets, count))

    async def abort(self, session: str) -> None:
        """End a session and free its slot; its requests return what they have. Unknown sessions are ignored."""
        self._jobs.abort(session, now=not self._stepping)

    async def load(self, weights: Weights) -> None:
        """Generate with `weights` from the next token on; requests in flight go on with their prefix.

        Raises:
            WeightsError: they do not fit this model, which goes on with the old ones.
        """
        await self._between_steps(lambda: self._runner.load(weights))

    async def pause(self) -> None:
        """Stop emitting tokens once the running step is over; requests wait."""
        self._paused = True
        await self._between_steps(lambda: None)

    async def resume(self) -> None:
        """Go on after `pause`."""
        self._paused = False
        if self._driver is None and self._jobs:
            self._drive_on(asyncio.get_running_loop())

    async def _between_steps(self, action: Callable[[], Result]) -> Result:
        """Do something with tensors in the thread of the steps, where it cannot meet one."""
        if self._thread is None:
            return action()
        return await asyncio.get_running_loop().run_in_executor(self._thread, action)

    def _drive_on(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._paused:
            self._driver = loop.create_task(self._drive(), name="quintain-engine")

    async def _drive(self) -> None:
        """Run steps while there are requests. Lives only as long, so an event loop ends with nothing left behind."""
        jobs = self._jobs
        try:
            while not self._paused:
                await self._arrivals()
                jobs.reap()
                jobs.admit()
                if not jobs.running or self._paused:
                    break
                await self._step()
        except BaseException as error:  # cancelled with its loop, or broken: nobody may wait for ever
            for job in [*jobs.fresh, *jobs.waiting]:
                job.fail(error)
            jobs.fresh, jobs.waiting = [], []
            jobs.drop(jobs.running, error)
            if not isinstance(error, Exception):
                raise
        finally:
            self._driver = None

    async def _arrivals(self) -> None:
        """Wait until callers who just got a completion have asked again, so that batches form the same way."""
        quiet = 0
        while quiet < QUIET_PASSES:
            before = len(self._jobs.fresh)
            await asyncio.sleep(0)
            quiet = quiet + 1 if len(self._jobs.fresh) == before else 0

    async def _step(self) -> None:
        members, work = self._jobs.plan()
        self._stepping = True
        try:
            done = await self._between_steps(lambda: self._runner.step(work))
        except Exception as error:
            self._jobs.drop(members, error)
        else:
            self._jobs.deliver(members, work, done)
        finally:
            self._stepping = False


@register("engine", "torch")
def torch_engine(
    model: nn.Module | str | Path, *, slots: int = 256, context: int = 0, refresh: bool = False
) -> TorchEngine:
    """A local engine for a model, or for the model of a folder.

    Args:
        model: a model of `build_model` or `load_model`, or a folder for `load_model`.
        slots: sequences whose keys and values are held at once, >= 1.
        context: tokens of the longest path; the model's own limit when 0.
        refresh: whether the next turn of a session computes again what older weights computed.
    """
    loaded = model if isinstance(model, nn.Module) else load_model(model)
    return TorchEngine(loaded, slots=slots, context=context, refresh=refresh)
