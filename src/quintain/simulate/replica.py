"""One modelled engine replica: continuous batching in a limited number of slots, as a fluid.

All running requests advance at the same pace, one token in `token_s + n * token_active_s` seconds, so that only arrivals and
departures are events: a request that needs k tokens is done when the common count of tokens has grown by k.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from heapq import heapify, heappop, heappush

from quintain.simulate.meter import Gauge, Meter
from quintain.simulate.settings import EnginePart, EnginesPart
from quintain.types import QuintainError

CLOSE = 1e-4  # of a token: nearer than that is done


class Lost(QuintainError):
    """A replica fell, or was taken away, under a request; `tokens` were said before."""

    def __init__(self, tokens: float) -> None:
        super().__init__(f"the replica was lost after {tokens:.0f} tokens of the request")
        self.tokens = tokens


class Job:
    """One request: tokens to say after a context, of which `fresh` tokens are not in the replica's cache."""

    __slots__ = ("at_v", "context", "done", "fresh", "order", "stage", "tokens", "version")

    def __init__(self, tokens: float, context: float, fresh: float, order: int, version: int | None) -> None:
        self.tokens, self.context, self.fresh, self.order = tokens, context, fresh, order
        self.version = version  # the one it is pinned to, or that of its first token
        self.stage = "queue"  # queue, prefill, decode, over
        self.at_v = 0.0
        self.done: asyncio.Future[None]


class Replica:
    """A replica of one kind; `speed` < 1 makes it silently slow.

    Args:
        spec: its kind.
        options: what all engines do.
        meter: where to count.
        number: its place in the fleet.
        speed: share of the normal pace.
    """

    def __init__(self, spec: EnginesPart, options: EnginePart, meter: Meter, number: int, speed: float = 1.0) -> None:
        self.spec, self.options, self.meter, self.number, self.speed = spec, options, meter, number, speed
        self.loop = meter.loop
        self.version = 0
        self.holds: set[str] = set()  # why it stands still
        self.draining = False
        self.running = 0  # requests that decode
        self.filling = 0  # requests in prefill
        self.queue: list[tuple[float, int, Job]] = []
        self.busy, self.slots = Gauge(self.loop), Gauge(self.loop, meter.trace)
        self.said = 0.0  # tokens, also those lost later
        self._decoding: list[tuple[float, int, Job]] = []
        self._prefilling: dict[Job, None] = {}
        self._kv = 0.0
        self._v, self._rate, self._since = 0.0, 0.0, self.loop.time()
        self._filled_at = 0.0  # when the last prefill ends
        self._timer: asyncio.TimerHandle | None = None
        self._count = 0
        self._live: Counter[int] = Counter()  # pinned versions among the running
        self._idle: asyncio.Future[None] | None = None

    @property
    def load(self) -> float:
        """Requests for each slot."""
        return (self.running + self.filling + len(self.queue)) / self.spec.slots

    def submit(self, job: Job) -> asyncio.Future[None]:
        """Queue a request; the future is done when its last token is, or fails with `Lost`."""
        self._count += 1
        self.meter.sums.events += 1
        job.done = self.loop.create_future()
        first = job.order if self.options.queue == "oldest" else self._count
        heappush(self.queue, (first, self._count, job))
        self._admit()
        return job.done

    def drop(self, job: Job) -> float:
        """Take a request back; gives the tokens that it had said."""
        said = self._leave(job)
        self._admit()
        self._touch()
        return said

    def fall(self, hold: str | None = None) -> None:
        """Lose every request; with `hold` the replica stays down until `release(hold)`."""
        if hold:
            self.holds.add(hold)
        lost = [j for _, _, j in [*self._decoding, *self.queue]] + list(self._prefilling)
        self.queue.clear()
        for job in lost:
            if job.stage != "over":
                said = self._leave(job)
                if not job.done.done():
                    job.done.set_exception(Lost(said))
        self._decoding.clear()
        self._touch()

    def hold(self, why: str) -> None:
        """Stand still from now on, for this reason among others."""
        self.holds.add(why)
        self._touch()

    def release(self, why: str) -> None:
        """One reason to stand still is gone."""
        self.holds.discard(why)
        self._admit()
        self._touch()

    async def update(self, version: int, still: bool) -> None:
        """Take new weights in the way that `engine.update` says; `still` when the replica stands still anyway."""
        if "down" in self.holds:
            self.version = version  # it loads them when it comes back
            return
        if self.options.update == "in_flight" or still:
            await self._swap(version)
        elif self.options.update == "drain":
            self.draining = True
            if self.running + self.filling:
                self._idle = self.loop.create_future()
                await self._idle
            await self._swap(version)
            self.draining = False
            self._admit()
        else:  # pinned: the new version arrives beside the old ones
            await asyncio.sleep(self.options.sync_s)
            self.version = version

    async def _swap(self, version: int) -> None:
        self.hold("update")
        await asyncio.sleep(self.options.sync_s)
        self.version = version
        if self.options.recompute and self.spec.prefill_tokens_s:  # the learner does not wait for it
            self.hold("recompute")
            seconds = self.context / self.spec.prefill_tokens_s / self.speed
            self.loop.call_later(seconds, self.release, "recompute")
        self.release("update")

    @property
    def context(self) -> float:
        """Tokens that the running requests have behind them."""
        self._advance()
        jobs = [job for _, _, job in self._decoding if job.stage == "decode"]
        return sum(job.context + self._v - job.at_v for job in jobs)

    # -- the fluid -------------------------------------------------------------------------------------------------

    def _admit(self) -> None:
        if self.holds or self.draining or not self.queue:
            return
        spec = self.spec
        while self.queue and self.running + self.filling < spec.slots:
            job = self.queue[0][2]
            room = job.context + job.tokens
            if spec.kv_tokens and self._kv + room > spec.kv_tokens and self.running + self.filling:
                break
            heappop(self.queue)
            self._kv += room
            self._fill(job)
        self._touch()

    def _fill(self, job: Job) -> None:
        if not (self.spec.prefill_tokens_s and job.fresh > 0):
            self._start(job)
            return
        job.stage = "prefill"
        self.filling += 1
        self._prefilling[job] = None
        begin = max(self.loop.time(), self._filled_at)
        self._filled_at = begin + job.fresh / (self.spec.prefill_tokens_s * self.speed)
        self.loop.call_at(self._filled_at, self._filled, job)

    def _filled(self, job: Job) -> None:
        if job.stage == "prefill":
            self.meter.sums.events += 1
            self.filling -= 1
            del self._prefilling[job]
            self._start(job)
        self._touch()

    def _start(self, job: Job) -> None:
        self._advance()
        job.stage = "decode"
        if job.version is None:
            job.version = self.version
        if self.options.update == "pinned":
            self._live[job.version] += 1
        job.at_v = self._v
        self.running += 1
        self._count += 1
        heappush(self._decoding, (self._v + job.tokens, self._count, job))

    def _leave(self, job: Job) -> float:
        """Take a job out of whatever stage it is in; gives the tokens that it had said."""
        self._advance()
        said = 0.0
        if job.stage == "decode":
            said = min(job.tokens, self._v - job.at_v)
            self.running -= 1
            if self.options.update == "pinned" and job.version is not None:
                self._live[job.version] -= 1
                if not self._live[job.version]:
                    del self._live[job.version]
        elif job.stage == "prefill":
            self.filling -= 1
            del self._prefilling[job]
        if job.stage in ("decode", "prefill"):
            self._kv -= job.context + job.tokens
        if job.stage == "queue":
            self.queue = [entry for entry in self.queue if entry[2] is not job]
            heapify(self.queue)
        job.stage = "over"
        if self._idle is not None and not self.running + self.filling:
            self._idle.set_result(None)
            self._idle = None
        return said

    def _advance(self) -> None:
        now = self.loop.time()
        if self._rate:
            grown = self._rate * (now - self._since)
            self._v += grown
            self.said += grown * self.running
        self._since = now

    def _touch(self) -> None:
        """Set pace and timer anew after a change."""
        self._advance()
        n, spec = self.running, self.spec
        still = bool(self.holds)
        filling = self._filled_at > self._since
        if still or not n:
            self._rate = 0.0
        else:
            live = len(self._live) or 1
            self._rate = self.speed / (spec.token_s * live + spec.token_active_s * n)
            if filling:
                self._rate *= 1.0 - spec.interference
        self.busy.set(0.0 if still or not (n or self.filling) else 1.0)
        self.slots.set(0.0 if still else n + self.filling)
        decoding = self._decoding
        while decoding and decoding[0][2].stage == "over":
            heappop(decoding)
        if not self._rate:
            return  # whatever changes that comes here
        when = self._since + max(0.0, decoding[0][0] - self._v) / self._rate
        timer = self._timer
        if timer is not None:
            if timer.when() <= when:
                return  # it looks again when it fires
            timer.cancel()
        self._timer = self.loop.call_at(when, self._fire)

    def _fire(self) -> None:
        self._timer = None
        self._advance()
        decoding, finished = self._decoding, False
        while decoding and (decoding[0][2].stage == "over" or decoding[0][0] <= self._v + CLOSE):
            job = heappop(decoding)[2]
            if job.stage == "over":
                continue
            self._leave(job)
            self.meter.sums.events += 1
            finished = True
            if not job.done.done():
                job.done.set_result(None)
        if finished:
            self._admit()
        self._touch()
