"""Requests on their way through the local engine: who runs, who waits, what the next forward holds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from quintain.engines.torch_pins import Pin, Pins
from quintain.engines.torch_run import STEP_TOKENS, Done, Work
from quintain.engines.torch_sample import noise_key
from quintain.engines.torch_seats import Seat, Seats, shared_prefix
from quintain.types import Completion, Floats, Ints, QuintainError, Request, Span, Weights


@dataclass(slots=True, kw_only=True)
class Stats:
    """Counts since the engine was made, and how many requests wait, run, and sessions are held now.

    `prefilled` tokens of prompts were computed, `reused` ones were not; `generated` were sampled in `steps` forwards.
    `interrupted` requests were taken off for new weights, with `carried` tokens that they went on from; `discarded` tokens were
    sampled for callers who are gone. `drained_s` seconds went to waiting for running requests before new weights; `moved` sessions
    could not keep their version, and `versions` are held now.
    """

    prefilled: int = 0
    reused: int = 0
    generated: int = 0
    steps: int = 0
    evicted: int = 0
    forward_s: float = 0.0
    sample_s: float = 0.0
    waiting: int = 0
    running: int = 0
    sessions: int = 0
    interrupted: int = 0
    carried: int = 0
    discarded: int = 0
    drained_s: float = 0.0
    moved: int = 0
    versions: int = 1


class Machine(Protocol):
    """What requests run on: `Runner`, or a model of one. Methods may return awaitables; none runs beside another."""

    version: int
    context: int
    device: Any
    parameters: int
    older: Any

    def step(self, work: Work) -> Any:
        """Run a forward and draw; gives `Done`."""
        ...

    def load(self, weights: Weights, keep: bool = False) -> Any:
        """Run with `weights` from now on; with `keep`, those so far stay for work that asks for their version."""
        ...

    def forget(self, version: int) -> None:
        """Nothing asks for an older version any more."""
        ...

    def copy(self, sources: list[int], targets: list[int], tokens: int) -> Any:
        """Copy slots."""
        ...

    def score(self, paths: Sequence[Ints]) -> Any:
        """Logprobs of paths."""
        ...

    def check_ids(self, ids: Ints) -> None:
        """Raise where an id lies outside the vocabulary."""
        ...


class Job:
    """A request on its way: `fed` tokens of its path have keys and values, `out` are the tokens sampled so far.

    `behind` says that it was interrupted and that more than the token drawn last is to be fed.
    """

    __slots__ = (
        "aborted", "behind", "computed", "fed", "future", "logprobs", "noise", "out", "pin", "rank", "request", "reused", "seat",
        "session", "spans", "top_ids", "top_logprobs",
    )  # fmt: skip

    def __init__(self, request: Request, session: str, future: asyncio.Future[Completion]) -> None:
        self.request = request
        self.session = session
        self.future = future
        self.seat: Seat | None = None
        self.fed = 0
        self.reused = 0
        self.noise = 0
        self.out: list[int] = []
        self.logprobs: list[float] = []
        self.spans: list[tuple[int, int]] = []  # (index of the first token, version)
        self.top_ids: list[Ints] = []
        self.top_logprobs: list[Floats] = []
        self.aborted = False
        self.behind = False
        self.computed = 0
        self.pin: Pin | None = None
        key = request.key
        ticket, turn = key[1] if len(key) > 1 else 0, key[3] if len(key) > 3 else 0
        self.rank = (1, ticket, turn == 0, key)

    def held(self) -> Ints:
        """The tokens of the path that have keys and values."""
        prompt = self.request.prompt
        if self.fed <= len(prompt):
            return prompt if self.fed == len(prompt) else prompt[: self.fed]
        return (*prompt, *self.out[: self.fed - len(prompt)])

    def todo(self) -> Ints | list[int]:
        """The tokens to feed before the next one can be drawn: the rest of the prompt, then the token drawn last."""
        prompt = self.request.prompt
        if self.behind:
            return (*prompt, *self.out)[self.fed :]
        return prompt[self.fed :] if self.fed < len(prompt) else self.out[-1:]

    def answer(self, finish: str) -> int:
        """Give the caller what there is; the number of tokens that nobody gets, because the caller is gone."""
        if self.future.done():
            return len(self.out)
        ends = [*(start for start, _ in self.spans[1:]), len(self.out)]
        spans = tuple(Span(start=a, stop=b, version=v) for (a, v), b in zip(self.spans, ends, strict=False))
        self.future.set_result(
            Completion(
                tokens=tuple(self.out),
                logprobs=tuple(self.logprobs),
                finish=finish,
                spans=spans,
                top_ids=tuple(self.top_ids),
                top_logprobs=tuple(self.top_logprobs),
                usage={"reused": self.reused, "computed": self.computed, "generated": len(self.out)},
            )
        )
        return 0

    def fail(self, error: BaseException) -> None:
        """Raise `error` at the caller."""
        if isinstance(error, asyncio.CancelledError):
            self.future.cancel()
        elif not self.future.done():
            self.future.set_exception(error)


class Jobs:
    """All requests of an engine. Its methods run in the event loop's thread and touch no tensor.

    A request whose session holds a seat runs at once; the others take free slots, then those of idle sessions: first those that
    were interrupted, then those of the oldest ticket, in which episodes that have begun come before new ones.
    """

    def __init__(self, runner: Machine, slots: int, refresh: bool, pins: Pins | None = None) -> None:
        self.runner = runner
        self.refresh = refresh  # whether what older weights computed is computed again
        self.pins = pins  # where sessions keep the version that they began with
        self.closed = False  # nothing is admitted for now
        self.seats = Seats(slots)
        self.fresh: list[Job] = []
        self.waiting: list[Job] = []
        self.running: list[Job] = []
        self.stats = Stats()

    def __bool__(self) -> bool:
        return bool(self.fresh or self.waiting or self.running)

    def admit(self) -> None:
        """Give seats to requests that wait."""
        if self.closed:
            return
        if self.fresh:
            self.waiting += self.fresh
            self.waiting.sort(key=lambda job: job.rank)
            self.fresh = []
        rest, seatless = [], []
        for job in self.waiting:
            seat = self.seats.sessions.get(job.session)
            if seat is None:
                seatless.append(job)
            elif seat.job is None:
                self._begin(job, seat)
            else:
                rest.append(job)
        for job in seatless:
            free = None if job.session in self.seats.sessions else self.seats.claim(job.session)
            if free is None:
                rest.append(job)
            else:
                self._begin(job, free)
        self.waiting = rest

    def _begin(self, job: Job, seat: Seat) -> None:
        prompt = (*job.request.prompt, *job.out) if job.out else job.request.prompt
        if self.pins is not None and job.pin is None:
            job.pin = self.pins.of(job.session, self.runner.version)
        version = job.pin.version if job.pin else self.runner.version
        if self.refresh and seat.version != version:
            seat.held = ()
        if not seat.held:
            seat.version, seat.prefix = version, self.seats.prefixes.empty
        shared = shared_prefix(seat.held, prompt)
        if shared < len(seat.held):
            seat.prefix = self.seats.prefixes.new() if shared else self.seats.prefixes.empty
        try:
            self.runner.check_ids(prompt[shared:])
        except QuintainError as error:
            job.fail(error)
        else:
            if len(prompt) >= self.runner.context:
                job.answer("length")
        if job.future.done():
            self.stats.discarded += len(job.out)
            if not seat.held:
                self.seats.release(seat)
            if job.session.startswith("\0"):
                self.unpin(job.session)
            return
        job.seat = seat
        job.fed = shared
        job.behind = bool(job.out) and shared < len(prompt) - 1
        if not job.out:
            job.reused = shared
            job.noise = noise_key(job.request.key)
        self.seats.start(seat, job)
        self.running.append(job)

    def versions(self) -> list[int]:
        """The versions that running requests ask for, the oldest first; -1 for whatever is the newest."""
        if self.pins is None:
            return [-1]
        return sorted({job.pin.version for job in self.running if job.pin})

    def plan(self, version: int = -1) -> tuple[list[Job], Work]:
        """The next forward of a version: who runs, as far as the rows of one forward reach; single tokens go first."""
        jobs = self.running
        if version >= 0:
            jobs = [job for job in jobs if job.pin and job.pin.version == version]
        decoding = len(jobs) == len(self.running) and all(job.out and not job.behind for job in jobs)
        sources, targets = self.seats.compact([job.seat for job in jobs]) if decoding else ([], [])  # pyrefly: ignore
        moved = max((self.seats.length(slot) for slot in targets), default=0)
        jobs.sort(key=lambda job: job.seat.slot)  # pyrefly: ignore
        spans = [job.todo() for job in jobs]
        lengths = [len(span) for span in spans]
        last = list(range(len(jobs)))
        if sum(lengths) > STEP_TOKENS:
            jobs, spans, last = _cut(jobs, spans)
            lengths = [len(span) for span in spans]
        drawing = jobs if len(last) == len(jobs) else [jobs[i] for i in last]
        return jobs, Work(
            ids=[token for span in spans for token in span],
            lengths=lengths,
            starts=[job.fed for job in jobs],
            slots=[job.seat.slot for job in jobs],  # pyrefly: ignore
            prefixes=[job.seat.prefix.number for job in jobs],  # pyrefly: ignore
            last=last,
            samplings=[job.request.sampling for job in drawing],
            noise=[job.noise for job in drawing],
            indices=[job.request.drawn + len(job.out) for job in drawing],
            sources=sources,
            targets=targets,
            moved=moved,
            version=version,
        )

    def deliver(self, jobs: list[Job], work: Work, done: Done) -> None:
        """Take in what a forward gave; requests that are over are answered."""
        stats, context = self.stats, self.runner.context
        stats.steps += 1
        stats.forward_s += done.forward_s
        stats.sample_s += done.sample_s
        stats.generated += len(work.last)
        at = 0
        for job, length in zip(jobs, work.lengths, strict=True):
            seat = job.seat
            assert seat is not None
            seat.prefix = self.seats.prefixes.after(seat.prefix, done.version, tuple(work.ids[at : at + length]))
            at += length
            job.fed += length
            job.computed += length
            if not job.out or job.behind:
                stats.prefilled += length
        over = False
        for i, token, logprob, ids, best in zip(work.last, *done.drawn, strict=True):
            job = jobs[i]
            job.behind = False
            out, sampling = job.out, job.request.sampling
            if not job.spans or job.spans[-1][1] != done.version:
                job.spans.append((len(out), done.version))
            out.append(token)
            job.logprobs.append(logprob)
            if sampling.top_logprobs:
                job.top_ids.append(ids)
                job.top_logprobs.append(best)
            if token in sampling.stop:
                self._finish(job, "stop")
            elif len(out) >= sampling.max_tokens or len(job.request.prompt) + len(out) >= context:
                self._finish(job, "length")
            else:
                continue
            over = True
        if over:
            self.running = [job for job in self.running if job.seat is not None]
        self.reap()

    def reap(self) -> None:
        """Let go of running requests that were aborted, or whose caller is gone."""
        gone = [job for job in self.running if job.aborted or job.future.done()]
        for job in gone:
            self._finish(job, "abort")
        if gone:
            self.running = [job for job in self.running if job.seat is not None]

    def _finish(self, job: Job, how: str) -> None:
        seat = job.seat
        assert seat is not None
        job.seat = None
        self.stats.reused += job.reused
        self.seats.finish(seat, job.held())
        if job.aborted or job.session.startswith("\0"):
            self.seats.release(seat)
            self.unpin(job.session)
        self.stats.discarded += job.answer(how)

    def interrupt(self) -> None:
        """Take running requests off; they are the first to go on, with what they have. Their seats keep keys and values."""
        taken = sorted(self.running, key=lambda job: job.rank)
        for job in taken:
            assert job.seat is not None
            self.seats.finish(job.seat, job.held())
            job.seat = None
            job.rank = (0, *job.rank[1:])
            self.stats.carried += len(job.out)
        self.stats.interrupted += len(taken)
        self.running, self.waiting = [], [*taken, *self.waiting]

    def unpin(self, session: str) -> None:
        """A session is over."""
        left = self.pins.end(session) if self.pins is not None else None
        if left is not None:
            self.runner.forget(left)

    def drop(self, jobs: list[Job], error: BaseException) -> None:
        """Fail some running requests; what their slots hold is unknown and is forgotten."""
        for job in jobs:
            if job.seat is not None:
                self.seats.finish(job.seat, ())
                self.seats.release(job.seat)
                job.seat = None
            self.stats.discarded += len(job.out)
            self.unpin(job.session)
            job.fail(error)
        self.running = [job for job in self.running if job.seat is not None]

    def abort(self, session: str, now: bool) -> None:
        """End a session: requests that wait return nothing, the running one what it has (at once if `now`)."""
        for queue in (self.fresh, self.waiting):
            for job in [job for job in queue if job.session == session]:
                queue.remove(job)
                self.stats.discarded += job.answer("abort")  # with what it has, if it was interrupted
        seat = self.seats.sessions.get(session)
        if seat is None or seat.job is None:
            self.unpin(session)
            if seat is not None:
                self.seats.release(seat)
            return
        seat.job.aborted = True
        if now:
            self.reap()


def _cut(jobs: list[Job], spans: list[Ints | list[int]]) -> tuple[list[Job], list[Ints | list[int]], list[int]]:
    """Spans of at most `STEP_TOKENS` rows in all: those of one token first, then what fits of the others, in order."""
    left = STEP_TOKENS - sum(len(span) == 1 for span in spans)
    kept: list[tuple[Job, Ints | list[int]]] = []
    last: list[int] = []
    for job, span in zip(jobs, spans, strict=True):
        take = 1 if len(span) == 1 else min(len(span), max(left, 0))
        if take:
            if take == len(span):
                last.append(len(kept))
            kept.append((job, span[:take]))
            left -= take if len(span) > 1 else 0
    return [job for job, _ in kept], [span for _, span in kept], last
