"""The local engine: a PyTorch model in this process, token in, token out, with its keys and values kept over turns."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from torch import nn

from quintain.engines.torch_jobs import Job, Jobs, Machine, Stats
from quintain.engines.torch_pins import Pins
from quintain.engines.torch_run import EngineError, Runner, Work
from quintain.engines.torch_updates import IN_FLIGHT, Updates
from quintain.models import load_model
from quintain.registry import register
from quintain.types import Completion, Floats, Ints, Request, Weights

__all__ = ["EngineError", "Machine", "Stats", "Updates", "TorchEngine", "torch_engine"]

INLINE_PARAMETERS = 1_000_000  # below this a step is so short that a hop to another thread shows
COUNTED = ("interrupted", "carried", "discarded", "drained_s", "moved")
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
        model: of `build_model` or `load_model`, self-tested; or a `Machine` of yours, such as one that models delays.
        slots: sequences whose keys and values are held at once, >= 1; memory grows with those in use.
        context: tokens of the longest path; the model's own limit when 0.
        refresh: whether the next turn of a session computes again what older weights computed.
        inline: run steps in the event loop's thread instead of a thread of the engine's; None chooses by the model's
            size.
        updates: how new weights meet the requests that run.
    """

    def __init__(
        self,
        model: nn.Module | Machine,
        *,
        slots: int = 256,
        context: int = 0,
        refresh: bool = False,
        inline: bool | None = None,
        updates: Updates = IN_FLIGHT,
    ) -> None:
        self._runner: Any = Runner(model, slots, context) if isinstance(model, nn.Module) else model
        self._updates = updates.checked()
        self._pins = Pins(updates.versions) if updates.pins else None
        self._jobs = Jobs(self._runner, slots, refresh, self._pins)
        tiny = self._runner.parameters < INLINE_PARAMETERS and self._runner.device.type == "cpu"
        self._thread = None if (tiny if inline is None else inline) else ThreadPoolExecutor(1, "quintain-engine")
        self._driver: asyncio.Task[None] | None = None
        self._stepping = False
        self._paused = False
        self._held = False  # by `load`, until new weights are there
        self._loading: asyncio.Future[None] | None = None
        self._acting: asyncio.Future[Any] | None = None
        self._unnamed = 0
        self._counted = Stats()

    @property
    def model(self) -> nn.Module:
        """The model that runs."""
        return self._runner.model

    @property
    def version(self) -> int:
        """The policy version that the next token is sampled from."""
        return self._runner.version

    @property
    def refresh(self) -> bool:
        """Whether the next turn of a session computes again what older weights computed."""
        return self._jobs.refresh

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
            moved=self._pins.moved if self._pins else 0,
            versions=1 + len(self._runner.older),
        )

    def counters(self) -> dict[str, float]:
        """What updates of the weights did since the last call, for the metrics of a step.

        Requests interrupted, tokens that they carried over, tokens sampled for nobody, seconds in which no request could start
        because new weights waited for running ones, sessions that could not keep their version, and versions held now.
        """
        before, now = self._counted, self.stats
        self._counted = now
        since = {f"engine_{k}": getattr(now, k) - getattr(before, k) for k in COUNTED}
        return {**since, "engine_versions": float(now.versions)}

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
        """Give `into` a copy of the keys and values of the first `at` tokens of `session`, and its pinned version.

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
        if self._pins is not None:
            self._pins.inherit(session, into)
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
        """End a session, free its slot and its pin; its requests return what they have. Unknown sessions are ignored."""
        self._jobs.abort(session, now=not self._stepping)

    async def load(self, weights: Weights) -> None:
        """Generate with `weights` as `updates` says: from the next token on, once running requests are over, or for new sessions.

        Requests in flight go on with their prefix, and their spans say which version sampled which token.

        Raises:
            WeightsError: they do not fit this model, which goes on with the old ones.
            EngineError: running requests are to end first, but the engine is paused.
        """
        while self._loading is not None:
            await asyncio.wait([self._loading])
        loop = asyncio.get_running_loop()
        self._loading = loading = loop.create_future()
        try:
            if self._updates.waits:
                await self._ended(weights.version)
            elif self._updates.interrupts or self._pins is not None:
                await self._hold()
            self._make_room(weights.version)
            await self._between_steps(lambda: self._runner.load(weights, self._kept()))
            self._make_room(weights.version)  # sessions may have ended meanwhile
        finally:
            self._jobs.closed = self._held = False
            self._loading = None
            loading.set_result(None)
            if self._driver is None and self._jobs:
                self._drive_on(loop)

    def _kept(self) -> bool:
        return self._pins is not None and self._runner.version in self._pins.versions

    def _make_room(self, coming: int) -> None:
        """Forget the versions that nobody uses, after sessions were moved where there would be too many."""
        if self._pins is None:
            return
        if coming != self._runner.version:
            self._pins.make_room(coming)
        for version in set(self._runner.older) - set(self._pins.versions):
            self._runner.forget(version)

    async def _ended(self, version: int) -> None:
        """Let no request start, and wait until none runs."""
        clock = asyncio.get_running_loop().time
        began = clock()
        self._jobs.closed = True
        while self._jobs.running:
            if self._driver is None:
                raise EngineError(
                    f"version {version} waits for running requests (update is drain), but the engine is paused: resume it first"
                )
            await asyncio.wait([self._driver])
        self._jobs.stats.drained_s += clock() - began

    async def _hold(self) -> None:
        """Let no step begin until the load is over; running requests are taken off if they are to be interrupted."""
        self._held = True
        if self._driver is not None:
            await asyncio.wait([self._driver])
        if self._updates.interrupts:
            self._jobs.interrupt()

    async def holds(self, detail: bool = False) -> dict[str, Any]:
        """What is loaded, as JSON values: `version`, `dtype` and `prints`, the fingerprint of each bucket.

        With `detail` also `tensors` (see `models.sketch`) and `config`, the fields of the model's configuration.
        """
        return await self._between_steps(lambda: self._runner.holds(detail))

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
            while self._acting is not None:
                await asyncio.wait([self._acting])
            done: Any = action()
            if not inspect.isawaitable(done):
                return done
            self._acting = asyncio.ensure_future(done)
            try:
                return await self._acting
            finally:
                self._acting = None
        return await asyncio.get_running_loop().run_in_executor(self._thread, action)

    def _drive_on(self, loop: asyncio.AbstractEventLoop) -> None:
        if not (self._paused or self._held):
            self._driver = loop.create_task(self._drive(), name="quintain-engine")

    async def _drive(self) -> None:
        """Run steps while there are requests. Lives only as long, so an event loop ends with nothing left behind."""
        jobs = self._jobs
        try:
            while not (self._paused or self._held):
                await self._arrivals()
                jobs.reap()
                jobs.admit()
                if not jobs.running or self._paused or self._held:
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
        for version in self._jobs.versions():
            members, work = self._jobs.plan(version)
            if members:  # they may have ended while another version ran
                await self._forward(members, work)

    async def _forward(self, members: list[Job], work: Work) -> None:
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
    model: nn.Module | str | Path,
    *,
    slots: int = 256,
    context: int = 0,
    refresh: bool = False,
    update: str = "in_flight",
    during_update: str = "run",
    versions: int = 2,
) -> TorchEngine:
    """A local engine for a model, or for the model of a folder.

    Args:
        model: a model of `build_model` or `load_model`, or a folder for `load_model`.
        slots: sequences whose keys and values are held at once, >= 1.
        context: tokens of the longest path; the model's own limit when 0.
        refresh: whether the next turn of a session computes again what older weights computed.
        update: `in_flight`, `drain` or `pinned`, see `Updates`.
        during_update: `run`, or `pause` to interrupt running requests for new weights.
        versions: with `pinned`, versions of the weights held at once, >= 1.
    """
    loaded = model if isinstance(model, nn.Module) else load_model(model)
    updates = Updates(update, during_update, versions)
    return TorchEngine(loaded, slots=slots, context=context, refresh=refresh, updates=updates)
