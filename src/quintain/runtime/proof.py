"""The proof of a weight sync: a run never goes on with an engine that does not hold what was published.

After every sync each engine says what it holds and scores canaries, token paths of the run itself. What a step trains on is
looked at in `runtime.audit`, whose rows are the canaries of the next sync.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NoReturn

import numpy as np

from quintain.learn.canary import Reading
from quintain.parts import Cast
from quintain.ports import Engine
from quintain.runtime import verdict
from quintain.runtime.audit import Audit, BatchRefused, Plan
from quintain.runtime.bench import EXACT, Bench, Examined, Limit, Want
from quintain.runtime.draws import ROUNDS, Draws
from quintain.runtime.testimony import Answer, Ask, Questions, alone, spoken
from quintain.runtime.together import Together
from quintain.types import Batch, Ints, QuintainError, Sampling, Weights

SPOKEN = 4  # tokens that each canary is continued by
FIRST_DRAWS, DRAWS = 16, 4  # continuations of each canary, at the first sync and at later ones
SHARED_EVERY = 16  # versions between proofs of an engine that runs the learner's own module
KEPT = 8  # versions whose fingerprints are remembered


class SyncRefused(QuintainError):
    """An engine does not hold, or does not compute, the version that was published; the message names the cause."""


@dataclass(slots=True, kw_only=True, eq=False)
class Sync:
    """One sync as engines are judged by it: the version, its weights and fingerprints, canaries and their readings.

    `now` and `before` are the learner's readings of the canaries under this version and the one before; `now` is None until
    they are read, which is before the learner leaves the version.
    """

    weights: Weights
    prints: Mapping[str, str]
    asked: Questions
    before: Sequence[np.ndarray]
    now: Sequence[np.ndarray] | None = None


class Proof:
    """Proves syncs and audits batches; raises at the first fault.

    With `plan.beside` engines answer while the run goes on with its next step; `settled` waits for their verdict, which the learner
    does before it changes the weights.

    Args:
        learner: whose word counts.
        cast: engines, renderers and sampling of the run.
        plan: what to check.
        tell: takes the facts of a refusal, for the ledger.
    """

    def __init__(
        self, learner: Examined, cast: Cast, plan: Plan, tell: Callable[[Mapping[str, Any]], None] = lambda fact: None
    ) -> None:
        self.cast, self.plan, self.tell = cast, plan, tell
        one: Any = learner
        self._waits = hasattr(learner, "before_step")  # it asks before it changes a weight; else all is judged before
        if self._waits:
            one.before_step = self.before_step
        kinds = SyncRefused, BatchRefused
        self._together = Together(one, kinds) if getattr(learner, "copy", None) is not None else None
        self.bench = Bench(learner, plan.limit, self._together)
        self.draws = Draws()
        self.audit = Audit(self.bench, cast, plan, self._refuse)
        self.sync: Sync | None = None  # the newest, for engines that join later
        self._asking: asyncio.Task[list[Answer]] | None = None  # engines that have not been judged yet
        self._history: dict[int, Mapping[str, str]] = {}
        self._kept: dict[str, Sequence[Ints]] = {}  # paths that sessions of an engine hold
        self._row: dict[str, float] = {}
        self._began = False
        self._one = asyncio.Lock()  # one sync or newcomer at a time: both are judged by the newest sync

    # -- the sync --------------------------------------------------------------------------------------------------

    async def synced(self, weights: Weights) -> None:
        """Have every engine that was given `weights` show that it holds and computes them; at once, or by the next `settled`.

        Raises:
            SyncRefused: one does not, or did not after the sync before.
        """
        await self._agreed(self._synced(weights))

    async def _agreed(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work; where ranks share the layers they do theirs at the same time, and end together."""
        await (work if self._together is None or not self.plan.count else self._together.agreed(work))

    async def look(self, batch: Batch) -> None:
        """See `Audit.look`, before the gradients of a batch."""

        async def look() -> None:
            self.audit.look(batch)
            if not self._waits:
                await self.audit.judged()

        await self._agreed(look())

    async def trained(self, metrics: Mapping[str, float]) -> None:
        """See `Audit.trained`, after the update."""

        async def trained() -> None:
            await self.settled()  # where no step was taken nobody has waited, and the next version is about to come
            await self.audit.judged()
            await self.audit.trained(metrics)

        await self._agreed(trained())

    async def _synced(self, weights: Weights) -> None:
        await self.settled()
        begin = perf_counter()
        async with self._one:
            engines = {r: e for r, e in self.cast.engines.items() if r not in self.cast.frozen}
            shared = {
                r for r, e in engines.items() if getattr(e, "model", None) is not None and e.model is weights.source
            }
            self.audit.version = weights.version
            self.bench.forget()
            if self._together is not None:
                shared = set()  # they run a copy of the model
            due = shared != set(engines) or weights.version % SHARED_EVERY == 0 or not self._began
            self._began = True
            if self.plan.count and due:
                await self._prepare(weights)
                self._asking = asyncio.create_task(self._ask_all(self._sync, engines, shared))
                self._asking.add_done_callback(
                    lambda done: done.cancelled() or done.exception()
                )  # a run may end before
        self._book(begin)
        if shared or not (self.plan.beside and self._waits):
            await self.settled()

    async def before_step(self) -> None:
        """Wait for the verdict on the newest sync, and judge the rows of the batch: the learner is about to change the weights.

        Raises:
            SyncRefused: an engine does not hold, or does not compute, what was published.
            BatchRefused: recorded logprobs of the batch are not those of its tokens.
        """

        async def judged() -> None:
            await self._settle(self.audit.wants())
            begin = perf_counter()
            await self.audit.judged()
            self._book(begin)

        await self._agreed(judged())

    async def settled(self) -> None:
        """Wait for the verdict on the newest sync; nothing to wait for once there is one.

        Raises:
            SyncRefused: an engine does not hold, or does not compute, what was published.
        """
        await self._settle(())

    async def _settle(self, more: Sequence[Want]) -> None:
        """The verdict; `more` is read in the same pass as what it takes."""
        if self._asking is None:
            return
        begin = perf_counter()
        async with self._one:
            asking, self._asking = self._asking, None
            answers = await asking if asking is not None else []
            await self._read(answers, more)
            for answer in answers:
                for name, told in answer.told.items():
                    await self.judge(name, told, answer.ask, shared=answer.shared)
                    said = zip(answer.asked.prompts[: len(answer.asked.paths)], told["said"], strict=False)
                    self._kept[answer.role] = [(*p, *s["tokens"]) for p, s in said]
        self._book(begin)

    def _book(self, begin: float) -> None:
        self._row["proof_seconds"] = self._row.get("proof_seconds", 0.0) + perf_counter() - begin

    async def _ask_all(self, sync: Sync, engines: Mapping[str, Engine], shared: Collection[str]) -> list[Answer]:
        answers = []
        for role, engine in engines.items():
            ask: Ask = getattr(engine, "testimonies", None) or alone(role, engine)
            asked = replace(sync.asked, again=self._kept.get(role, ()))
            answers.append(Answer(role=role, ask=ask, asked=asked, told=await ask(asked), shared=role in shared))
        return answers

    @property
    def _sync(self) -> Sync:
        assert self.sync is not None
        return self.sync

    async def _prepare(self, weights: Weights) -> None:
        paths, openings, before = self.audit.canaries or self.audit.first()
        sampling = replace(self.cast.sampling, max_tokens=SPOKEN, stop=())
        given = {"seed": self.cast.seed, "turn": weights.version * (ROUNDS + 1)}
        prompts = [*openings] * (DRAWS if self.sync else FIRST_DRAWS)
        asked = Questions(paths=paths, prompts=prompts, sampling=sampling, **given)
        prints = await self.bench.prints(weights)
        self.sync = Sync(weights=weights, prints=prints, asked=asked, before=before)
        self._history = {v: p for v, p in self._history.items() if weights.version - KEPT < v < weights.version}

    async def _read(self, answers: Sequence[Answer] = (), more: Sequence[Want] = ()) -> None:
        """Have the learner read the canaries, what engines said after them, and `more`, in one pass where samplings agree."""
        sync = self._sync
        if sync.now is not None:
            return
        slack = self.bench.fixed or EXACT
        words = [pair for answer in answers for told in answer.told.values() for pair in self._words_of(told)]
        said = [
            Want(paths=tuple(paths), sampling=sync.asked.sampling, slack=slack, drawn=tuple(first))
            for paths, first, _ in (spoken(*pair) for pair in words)
        ]
        # logprobs at temperature 1 come with any reading
        plain = Want(paths=tuple(sync.asked.paths), sampling=sync.asked.sampling, slack=slack)
        await self.bench.read_all([plain, *said, *more])
        sync.now = [r.plain for r in await self.bench.read(plain.paths, plain.sampling, slack)]
        self.audit.step(sync.before, sync.now)

    async def newcomer(self, weights: Weights, ask: Ask) -> None:
        """Judge engines that came up between two syncs, before they play.

        Raises:
            SyncRefused: one does not hold `weights`.

        Special cases: engines that were given another version than the newest are not asked; a sync that begins meanwhile
        waits, so that nobody is judged by a version that was not yet given to them. They are asked for scores alone, as the
        learner may be at its next step already and cannot read again what they would say.
        """
        sync = self.sync
        if not self.plan.count or sync is None or sync.weights is not weights:
            return
        async with self._one:
            if self.sync is sync:  # else it is given a newer version, by which it is judged
                await self._read()
                for name, told in (await ask(replace(sync.asked, prompts=()))).items():
                    await self.judge(name, told, ask)

    async def judge(self, name: str, told: Mapping[str, Any], ask: Ask | None = None, *, shared: bool = False) -> None:
        """Hold what an engine said against the newest sync.

        Args:
            name: of the engine, for the message.
            told: what `answers_of` gave.
            ask: asks it again, with detail.
            shared: whether it runs the learner's own module, so that there is nothing to compare.

        Raises:
            SyncRefused: a fault, by name.
        """
        sync, says = self._sync, told.get("version")
        version = sync.weights.version

        async def detail() -> Mapping[str, Any]:
            more = {} if ask is None else await ask(Questions(sampling=sync.asked.sampling, detail=True))
            return more.get(name, {})

        cause = ""
        if "prints" in told and not shared:
            cause, wrong = verdict.of_prints(told["prints"], sync.prints, self._history, says)
            if wrong and not cause:
                tensors = (await detail()).get("tensors", {})
                cause = await self.bench.differing(tensors, sync.weights) if tensors else ""
                cause = cause or f"the fingerprints of {', '.join(wrong[:3])} are not the learner's"
        if not cause and says is not None and says != version:
            cause = verdict.of_version(says, version)
        cause = cause or await self._of_scores(told, detail)
        cause = cause or await self._of_words(name, told)
        cause = cause or await self.draws.more(name, told, sync.asked, ask, self.bench)
        stamped = sorted({v for s in told["said"] for v in s["versions"]})
        if not cause and stamped not in ([], [version]):
            cause = verdict.of_stamps(stamped, version)
        if cause:
            self._refuse("version", f"version {version} is refused: engine {name}: {cause}", SyncRefused)
        self._history[version] = sync.prints

    async def _of_scores(self, told: Mapping[str, Any], detail: Callable[[], Awaitable[Mapping[str, Any]]]) -> str:
        """The cause that the scores of canaries show, or ""."""
        sync = self._sync
        assert sync.now is not None
        paths = sync.asked.paths
        said = [np.array(row, float) for row in told["scores"]]
        gap = verdict.widest(said, sync.now)
        self._note(gap, [a - b for a, b in zip(said, sync.now, strict=False) if len(a) == len(b)])
        limit = await self.bench.limit(gap, paths, Sampling(), self._dtype(told))
        version = sync.weights.version
        if "prints" not in told and verdict.nearer(said, sync.now, sync.before):
            return f"the sync changed nothing: its scores are still those of version {version - 1}"
        if gap <= limit.value:
            return ""
        much = f" (logprobs differ by up to {gap:.2g}, rounding explains {limit.value:.2g})"
        if any(len(a) != len(p) for a, p in zip(said, paths, strict=False)) or len(said) != len(paths):
            return "it scores another number of tokens than it was given"
        if not all(np.isfinite(a).all() for a in said):
            return "its scores are not finite"
        if verdict.nearer(said, sync.now, sync.before):
            return f"the sync changed nothing: its scores are still those of version {version - 1}{much}"
        if by := verdict.shifted(said, sync.now, limit.value):
            return f"its scores are shifted by {by:+d} token{much}"
        if heat := await self.bench.temperature(paths, [slice(None)] * len(paths), said, Sampling()):
            return f"its scores are at temperature {heat:g} and the port asks for temperature 1{much}"
        cause = await self.bench.suspect(paths, said, sync.now)
        config = {} if cause else (await detail()).get("config", {})
        cause = cause or (await self.bench.config(config) if config else "")
        return (cause or verdict.of_shape(said, sync.now, limit.value)) + much

    def _dtype(self, told: Mapping[str, Any]) -> str:
        """The dtype that an engine declares; where it shows fingerprints, these judge its numbers."""
        return "" if "prints" in told else str(told.get("dtype", ""))

    async def _of_words(self, name: str, told: Mapping[str, Any]) -> str:
        """The cause that sampled canaries show, or ""."""
        for (prompts, answers), kept in zip(self._words_of(told), (False, True), strict=True):
            paths, first, said = spoken(prompts, answers)
            if not paths:
                continue
            gap, limit, readings = await self._words(paths, first, said, self._dtype(told))
            self._note(gap, [])
            if gap > limit.value:
                cause = await self._why_words(paths, first, said, readings, limit.value, kept)
                return f"{cause} (sampled logprobs differ by up to {gap:.2g}, rounding explains {limit.value:.2g})"
            tokens = 0 if kept else sum(map(len, said))  # a kept session goes on as it began
            if cause := self.draws.heard(name, readings, tokens, self._sync.asked.sampling):
                return cause
        return ""

    def _words_of(self, told: Mapping[str, Any]) -> list[tuple[Sequence[Ints], Sequence[Mapping[str, Any]]]]:
        """Prompts and answers: those of this sync, and those of the sessions that were kept since the one before."""
        kept = next((p for p in self._kept.values() if len(p) == len(told["again"])), ())
        return [(self._sync.asked.prompts, told["said"]), (kept, told["again"])]

    async def _words(
        self, paths: Sequence[Ints], first: Sequence[int], said: Sequence[np.ndarray], dtype: str
    ) -> tuple[float, Limit, list[Reading]]:
        """The widest gap of sampled tokens; what lies on a cut by rounding is read again with the slack of the limit."""
        sampling = self._sync.asked.sampling
        limit = Limit(value=self.bench.fixed or EXACT, noise=0.0)
        for _ in range(2):
            readings = await self.bench.read(paths, sampling, limit.value, first)
            rows = zip(said, readings, first, strict=True)
            gap = max(float(verdict.outside(a, r.low[n:], r.high[n:]).max(initial=0.0)) for a, r, n in rows)
            if gap <= limit.value:
                break
            limit = await self.bench.limit(gap, paths, sampling, dtype)
        return gap, limit, readings

    async def _why_words(
        self,
        paths: Sequence[Ints],
        first: Sequence[int],
        said: Sequence[np.ndarray],
        readings: Sequence[Reading],
        limit: float,
        kept: bool,
    ) -> str:
        if kept:
            return (
                f"a session that it keeps over a sync still uses keys and values of version {self.audit.version - 1}, although the "
                "engine promises to compute them again (refresh)"
            )
        sampling = self._sync.asked.sampling
        cause = await self.bench.sampled(paths, [slice(n, None) for n in first], said, sampling, limit)
        if cause:
            return cause
        heated, ahead = (
            [r.heated[n:] for r, n in zip(part, first, strict=True)]
            for part in (readings, await self.bench.ahead(paths, first, sampling))
        )
        if verdict.nearer(said, heated, ahead):
            return "position ids of sampled tokens are off by one: the learner says the same with them one too high"
        return (
            "its scores are right and the logprobs of what it samples are not: it still uses keys and values of before the "
            "sync (empty its prefix cache at every load), or decodes otherwise than it scores"
        )

    # -- what is told ----------------------------------------------------------------------------------------------

    def row(self) -> dict[str, float]:
        """The metrics since the last call: gaps of the canaries and of the audit, and the seconds that they took."""
        rows = self._row, self.audit.metrics
        self._row, self.audit.metrics = {}, {}
        return {name: sum(r.get(name, 0.0) for r in rows) for name in rows[0] | rows[1]}

    def _note(self, gap: float, differences: Sequence[np.ndarray]) -> None:
        self._row["canary_gap_max"] = max(self._row.get("canary_gap_max", 0.0), gap)
        if sizes := [np.abs(x) for x in differences if len(x)]:
            mean = float(np.concatenate(sizes).mean())
            self._row["canary_gap_mean"] = max(self._row.get("canary_gap_mean", 0.0), mean)

    def _refuse(self, what: str, cause: str, kind: type[QuintainError]) -> NoReturn:
        self.tell({"what": what, "version": self.audit.version, "cause": cause})
        raise kind(cause)
