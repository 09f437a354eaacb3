"""The audit of what a step trains on: a few rows a step, held against what was recorded, the renderer and the learner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import NoReturn

import numpy as np

from quintain.gates.context import SEEN
from quintain.learn.canary import Reading
from quintain.parts import Cast
from quintain.runtime import recorded, verdict
from quintain.runtime.bench import EXACT, FLOORS, Bench, Limit, Want
from quintain.runtime.recorded import Pick, Row
from quintain.types import REPLAYED, Batch, Group, Ints, QuintainError

FIRST = 24  # tokens of the canaries before anything was played
AGED = 8.0  # times what the canaries moved by since, that tokens of older versions may be apart
FEWEST = 16  # tokens of older versions that are judged together
WHOLE_BATCH = 10.0  # times the limit of a few rows that the widest of all sequences may show
TOUCHY = 200.0  # and the widest of all tokens: at some, rounding moves a model a hundred times as far as at others

Canaries = tuple[
    Sequence[Ints], Sequence[Ints], Sequence[np.ndarray]
]  # paths, openings, plain logprobs of the version before


class BatchRefused(QuintainError):
    """What the step would train on is not what was sampled or rendered; the message names the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is checked: `count` canaries and rows (0 is off), the `limit` in nats (0: as rounding explains), and how.

    `beside` lets engines answer while the next step is prepared. `lag` is the run's `max_lag`, `context` the tokens of the longest
    path, `rendered` whether openings are the renderer's own work (the plain rollout of episodes).
    """

    count: int = 4
    limit: float = 0.0
    seed: int = 0
    beside: bool = False
    lag: int = 0
    context: int = 0
    rendered: bool = True


class Audit:
    """Looks at the rows of each step.

    Args:
        bench: asks the learner.
        cast: renderers and sampling of the run.
        plan: how many rows.
        refuse: is given what is refused, the cause and the type of the error, and raises it.
    """

    def __init__(
        self, bench: Bench, cast: Cast, plan: Plan, refuse: Callable[[str, str, type[QuintainError]], NoReturn]
    ) -> None:
        self.bench, self.cast, self.plan, self.refuse = bench, cast, plan, refuse
        self.version = 0  # the newest that was published
        self.canaries: Canaries | None = None  # the rows of this step
        self.metrics: dict[str, float] = {}
        self.moved: dict[int, float] = {}  # mean |change| of the canaries' logprobs from each version to the next
        self._groups: Sequence[Group] = ()
        self._rows: Sequence[Row] = ()
        self._rewritten = (
            False  # some rows are trained behind other words than they were said behind, or are of an earlier step
        )

    def first(self) -> Canaries:
        """Canaries before anything was played: ids of the vocabulary, drawn by the run's seed."""
        dice = np.random.default_rng([self.plan.seed, 7])
        size = self.cast.renderer("policy").size
        length = max(2, min([FIRST, self.plan.context or FIRST]))
        paths = [tuple(dice.integers(0, size, length).tolist()) for _ in range(self.plan.count)]
        return paths, [p[: length // 2] for p in paths], ()

    def training(self, groups: Sequence[Group]) -> None:
        """The groups that the next batch is made of."""
        self._groups = groups

    def look(self, batch: Batch) -> None:
        """Hold a few rows of the batch against what was recorded and the renderer; `judged` holds them against the learner.

        Raises:
            BatchRefused: a fault, by name.
        """
        groups, self._groups = self._groups, ()
        self.canaries, self._rows = None, []
        self._rewritten = any({SEEN, REPLAYED} & t.tags.keys() for g in groups for t in g.trajectories)
        self.bench.forget()
        if not self.plan.count or not groups:
            return
        begin = perf_counter()
        picks = recorded.choose(groups, self.plan.count, (self.plan.seed, self.version))
        self._check(
            recorded.of_groups(groups, self.version)
            or recorded.of_versions(picks, self.version)
            or recorded.of_mask(picks, batch)
            or recorded.of_images(groups, batch)
            or self._of_rendering(picks)
        )
        self._rows = [row for pick in picks if (row := recorded.row_of(pick, self.version)) is not None]
        self.metrics["proof_seconds"] = self.metrics.get("proof_seconds", 0.0) + perf_counter() - begin

    def _check(self, cause: str) -> None:
        if cause:
            self.refuse("batch", f"the batch of version {self.version} is refused: {cause}", BatchRefused)

    def wants(self) -> list[Want]:
        """What `judged` will have the learner read."""
        slack = self.bench.fixed or EXACT
        parts = [[self._rows[i] for i in members] for members in self._alike()]
        return [Want(paths=tuple(r.tokens for r in p), sampling=p[0].sampling, slack=slack) for p in parts]

    def _alike(self) -> list[list[int]]:
        """The numbers of the rows, those of one sampling together."""
        alike: dict[tuple[float, ...], list[int]] = {}
        for i, row in enumerate(self._rows):
            s = row.sampling
            alike.setdefault((s.temperature, s.top_p, s.top_k, s.min_p), []).append(i)
        return list(alike.values())

    async def judged(self) -> None:
        """Hold the logprobs of the rows against the learner, before it changes the weights; they become the canaries of the next sync.

        Raises:
            BatchRefused: they are not those of the recorded tokens.
        """
        plain: dict[int, np.ndarray] = {}
        for members in self._alike():
            cause, readings = await self._of_alike([self._rows[i] for i in members])
            self._check(cause)
            plain.update(zip(members, [r.plain for r in readings], strict=True))
        rows, self._rows = self._rows, []
        if rows:
            paths, openings = [row.tokens for row in rows], [row.opening for row in rows]
            self.canaries = paths, openings, [plain[i] for i in range(len(rows))]

    def _of_rendering(self, picks: Sequence[Pick]) -> str:
        causes = (
            recorded.of_rendering(p, self.cast.renderer(p.trajectory.role or "policy"), self.version + p.number)
            for p in (picks if self.plan.rendered else ())
        )
        return next((c for c in causes if c), "")

    async def _of_alike(self, rows: Sequence[Row]) -> tuple[str, list[Reading]]:
        sampling, paths = rows[0].sampling, [row.tokens for row in rows]
        limit = Limit(value=self.bench.fixed or EXACT, noise=0.0)
        for _ in range(2):
            readings = await self.bench.read(paths, sampling, limit.value)
            off = [
                verdict.outside(row.logprobs, r.low, r.high)[row.fresh] for row, r in zip(rows, readings, strict=True)
            ]
            gap = max(float(x.max(initial=0.0)) for x in off)
            if gap <= limit.value:
                break
            limit = await self.bench.limit(gap, paths, sampling)
        stale = [_stale(row, r) for row, r in zip(rows, readings, strict=True)]
        self._note(gap, off, [x for x, _ in stale])
        if gap <= limit.value:
            return await self._of_aged(rows, stale, limit.value), readings
        much = f" (recorded logprobs differ by up to {gap:.2g} from the learner's, rounding explains {limit.value:.2g})"
        return await self._why(rows, readings, limit.value) + much, readings

    def step(self, before: Sequence[np.ndarray], now: Sequence[np.ndarray]) -> None:
        """Note how far the canaries moved from the version before to the newest, given their plain logprobs under both."""
        if before and [len(x) for x in before] == [len(x) for x in now]:
            sizes = [np.abs(a - b)[1:] for a, b in zip(before, now, strict=True)]
            self.moved[self.version - 1] = float(np.concatenate(sizes).mean())
        self.moved = {v: x for v, x in self.moved.items() if v >= self.version - self.plan.lag - 1}

    async def _of_aged(self, rows: Sequence[Row], stale: Sequence[tuple[np.ndarray, np.ndarray]], limit: float) -> str:
        """The cause that tokens of older versions show, or "": they may be no further from the learner than it has moved since."""
        sampling = rows[0].sampling
        steepness = 1 / min(1.0, sampling.temperature or 1.0)
        may, gaps, said, at, paths = 0.0, 0.0, [], [], []
        for row, (apart, where) in zip(rows, stale, strict=True):
            moves = [self.moved.get(v, np.inf) for v in range(row.since, self.version)]
            if not len(apart) or not np.isfinite(sum(moves)):
                continue  # nobody knows how far it moved before the run was taken up again
            may += len(apart) * (AGED * steepness * sum(moves) + limit)
            gaps += float(apart.sum())
            paths.append(row.tokens)
            at.append(where)
            said.append(row.logprobs[where])
        count = sum(map(len, said))
        if count < FEWEST or gaps <= may:
            return ""
        much = (
            f" (recorded logprobs of {count} tokens of older versions differ by {gaps / count:.2g} on average from the learner's; "
            f"by what the canaries moved since, {may / count:.2g} is the most)"
        )
        cause = await self.bench.sampled(paths, at, said, sampling, limit)
        return (cause or "tokens of older versions were not sampled by the versions that they are stamped with") + much

    async def trained(self, metrics: Mapping[str, float]) -> None:
        """Hold the sequence of the first minibatch that lies apart most against what the audited rows allow.

        A token may be far further apart than a sequence: what rounding explains depends on the token and the weights, and
        those weights are gone by now.

        Special cases: none is held where a gate changed what rows are trained behind, or took rows of an earlier step: they differ as
        they ought to.

        Raises:
            BatchRefused: rows that were not audited do not have the logprobs of the version that they are stamped with.
        """
        s = self.cast.sampling
        found = {"a sequence": metrics.get("mismatch_sequence", 0.0), "a token": metrics.get("mismatch_max", 0.0)}
        widest = max(found["a sequence"] / WHOLE_BATCH, found["a token"] / TOUCHY)
        cut = s.top_p < 1 or s.top_k or s.min_p > 0 or s.temperature == 0
        if self.canaries is None or self._rewritten or self.plan.lag or cut or widest <= FLOORS[4]:
            return
        limit = await self.bench.limit(widest, self.canaries[0], s)
        if widest > limit.value:
            told = " and ".join(f"{gap:.2g} over {what}" for what, gap in found.items())
            most = f"{WHOLE_BATCH * limit.value:.2g} over a sequence, {TOUCHY * limit.value:.2g} over a token"
            self.refuse(
                "batch",
                f"the batch of version {self.version} is refused: recorded logprobs of some of its rows differ from the learner's by "
                f"{told}, and rounding explains {most}: a part of the engines or of the records is at fault, the rows that were looked "
                "at in full are not among them",
                BatchRefused,
            )

    async def _why(self, rows: Sequence[Row], readings: Sequence[Reading], limit: float) -> str:
        sampling, paths = rows[0].sampling, [row.tokens for row in rows]
        if by := recorded.shift_of(rows, readings, limit):
            return f"recorded logprobs are shifted by {by:+d} token against the sampled tokens"
        said = [row.logprobs[row.fresh] for row in rows]
        cause = await self.bench.sampled(paths, [row.fresh for row in rows], said, sampling, limit)
        return cause or recorded.of_turns(rows, readings, limit)

    def _note(self, gap: float, off: Sequence[np.ndarray], stale: Sequence[np.ndarray]) -> None:
        self.metrics["audit_gap_max"] = max(self.metrics.get("audit_gap_max", 0.0), gap)
        fresh, aged = np.concatenate(off), np.concatenate(stale)
        if len(fresh):
            self.metrics["audit_gap_mean"] = float(fresh.mean())
        if len(aged):
            self.metrics["audit_stale_mean"] = float(aged.mean())


def _stale(row: Row, reading: Reading) -> tuple[np.ndarray, np.ndarray]:
    """|difference| of tokens of older versions, whose engines may rightly say something else, and where they are."""
    old = np.isfinite(row.logprobs) & ~row.fresh
    old[:1] = False
    if row.sampling.temperature == 0:  # certain or impossible: which token is the likeliest changes at once
        old[:] = False
    return np.abs(row.logprobs[old] - reading.low[old]), np.flatnonzero(old)
