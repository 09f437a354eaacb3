"""One run: the bookkeeping around `loop.train` (tickets, parts' states, ledger, checkpoints, evaluation)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from quintain import codec, faults
from quintain.given import written
from quintain.loop import Drained, Window
from quintain.parts import Advantage, Cast, Objective, Reward, Rollout, Sampler, carried, made_of, remembered, reminded
from quintain.ports import Learner, Sink
from quintain.runtime import measure
from quintain.runtime.beside import PINNED, Beside
from quintain.runtime.care import Care
from quintain.runtime.evaluate import Evaluate
from quintain.runtime.failures import STEPS, Failures, Standstill
from quintain.runtime.keeper import Keeper
from quintain.runtime.proof import Proof
from quintain.runtime.timed import Clock, Timed
from quintain.types import Batch, Group, QuintainError, Ticket
from quintain.waits import waiting
from quintain.window import WITHHELD

Result = TypeVar("Result")


@dataclass(kw_only=True, slots=True)
class Parts:
    """What is played and learned with: everything of a run that is made from its config."""

    rollout: Rollout
    reward: Reward
    sampler: Sampler
    advantage: Advantage
    objective: Objective
    learner: Learner
    cast: Cast
    pack: Callable[[Sequence[Group]], Batch]
    evaluate: Evaluate | None = None
    beside: Beside | None = None
    proof: Proof | None = None


@dataclass(kw_only=True, slots=True)
class Plan:
    """The counts of a run: total steps, steps between evaluations (0 is never) and between checkpoints (0 is at the end).

    `quarantine`, `drop_failed` and `asked` are those of `Care`; `racing` says that groups have redundant members, `apart` what
    success is told by besides.
    """

    steps: int
    eval_every: int = 0
    checkpoint_every: int = 0
    quarantine: int = 0
    drop_failed: bool = False
    asked: tuple[str, int] = ("", 0)
    racing: bool = False
    apart: measure.Apart = measure.WHOLE


class LocalRun:
    """A run in this process (one rank of it, when there are several): matches `loop.Run`.

    The state at a step boundary (sampler, part states, counters, ledger offset) is small; it is captured after every step,
    so that a run that drains in mid-step checkpoints the last boundary and a resumed one replays the interrupted step.
    """

    def __init__(self, parts: Parts, window: Window, plan: Plan, keeper: Keeper, sinks: Sequence[Sink] = ()) -> None:
        self.parts, self.window, self.plan, self.keeper, self.sinks = parts, window, plan, keeper, list(sinks)
        window.shared = not keeper.alone
        self.clock = Clock()
        self.rollout, self.cast, self.objective = parts.rollout, parts.cast, parts.objective
        self.learner: Learner = Timed(parts.learner, self.clock, parts.proof)
        if parts.proof is not None:
            parts.proof.tell = self._refused
        self.needs = parts.objective.needs | parts.advantage.needs
        self.sampler_state, self.advantage_state = parts.sampler.init(), parts.advantage.init()
        self.draining = False
        self.unplayed = False  # an evaluation was given up
        self.failure: QuintainError | None = None  # why it drains, where that is an error
        self.others: Callable[[], None] = lambda: None  # asks the other ranks to drain too; called from any thread
        self.leave: Callable[[], None] = lambda: None  # nobody waits for actors any more; called in the loop
        self._loop: asyncio.AbstractEventLoop | None = None  # where the run goes on, set when it starts
        self._work: asyncio.Task[Any] | None = None  # what a drain gives up
        self.step = 0
        self.say: Callable[[str], None] = lambda text: None  # what a person should read
        self.failures = Failures(window.size * max(1, min(STEPS, plan.steps)), keeper.alone)
        self.standstill = Standstill(plan.steps, self.failures, keeper.store.path)
        self.care = Care(plan.quarantine, plan.drop_failed, plan.asked)
        self._state: dict[str, Any] = {}  # the last boundary
        self._stateful = {"sampler": parts.sampler, "advantage": parts.advantage, "gate": window.gate}
        self._made = {name: made_of(part) for name, part in self._stateful.items()}
        self._owed: tuple[int, str] | None = None  # an evaluation beside, unfinished at the checkpoint, and its weights
        if parts.beside is not None:
            parts.beside.told = self._scored
        self._skipped = 0  # quarantined batches already written
        self._finished: list[int] = []  # tickets, since the last step, those that a gate dropped too
        self._groups: dict[int, Group] = {}  # finished ones, by ticket, until their ticket is concluded or dropped
        self._late: dict[int, str] = {}  # tickets that the step under way leaves out, and why
        self._seen: dict[int, measure.Seen] = {}  # by ticket, until the ticket is concluded

    # -- what loop.train calls -------------------------------------------------------------------------------------

    def issue(self, index: int) -> Ticket | None:
        """Draw the next task, write `issued`."""
        task, self.sampler_state = self.care.draw(self.parts.sampler, self.sampler_state)
        if task is None:
            return None
        ticket = Ticket(index=self.keeper.number(index), task=task, version=self.window.step)
        self.keeper.issued(self.window.step, ticket)
        return ticket

    def steps(self) -> Iterator[int]:
        """The steps from the window's on, until the last one or a drain."""
        for step in range(self.window.step, self.plan.steps):
            if self.asked():
                return
            self.clock.restart()
            yield step

    async def reward(self, group: Group) -> Group:
        """Score a played group and write it to the ledger.

        Raises:
            EveryEpisodeFailed: every episode of the first steps did.
        """
        with waiting("reward", group.ticket):
            faults.point("reward.call")
            group = await self.care.score(self.parts.reward, group)
        self.keeper.played(self.window.step, group)
        self._finished.append(group.ticket)
        self._groups[group.ticket] = group
        self._seen[group.ticket] = measure.seen(group, self.plan.apart)
        self.failures.see(group)
        return group

    def credit(self, groups: Sequence[Group]) -> Sequence[Group]:
        """Advantages over the groups of the step together; what a gate left out is counted.

        Raises:
            Drained: a rank was asked to stop, or none has tasks left.
        """
        self.clock.lap("score")
        if self.asked() or not self.keeper.any_rank(not self.window.over):
            why = "asked to" if self.draining else "no more tasks"
            raise Drained(f"stopped before step {self.window.step} was trained: {why}")
        self.clock.lap("wait")
        sound, poison = self.care.sift(groups)
        credited, self.advantage_state = self.keeper.credited(self.parts.advantage, sound, self.advantage_state)
        gone = {g.ticket for g in sound if not g.tags.get(WITHHELD)} - {g.ticket for g in credited}
        self._late = {**poison, **dict.fromkeys(gone, "advantage")}
        self.clock.lap("credit")
        return credited

    def _write_dropped(self) -> None:
        """Write what was dropped, once its step is done: one that is given up is played again, and must not stand as dropped."""
        late, self._late = self._late, {}
        early, self.window.dropped = self.window.dropped, []  # by the window, also during the last step
        self.keeper.dropped(self.window.step, {**late, **{t.index: self.care.reason(t.index, why) for t, why in early}})

    def pack(self, groups: Sequence[Group]) -> Batch:
        """One flat batch."""
        self.keeper.training(groups)
        batch = self.parts.pack(groups)
        if self.parts.proof is not None:
            self.parts.proof.audit.training(groups)
        self.clock.lap("pack")
        return batch

    async def record(self, step: int, groups: Sequence[Group], metrics: Mapping[str, float]) -> None:
        """Write the step, observe it, evaluate and checkpoint when due."""
        self.clock.lap("publish")
        await asyncio.sleep(0)  # what became ready during the credit goes on before the books are written
        faults.point("run.record")
        if self.parts.beside is not None:
            self.parts.beside.check()
        finished, self._finished = sorted(self._finished), []  # whoever was done first
        fresh = [self._seen[ticket] for ticket in finished if ticket in self._seen]
        done, self.window.concluded = sorted(self.window.concluded), []
        shown = [said for ticket in done if (said := self._seen.pop(ticket, None)) is not None]
        over = sorted({*done, *(ticket.index for ticket, _ in self.window.dropped)} & self._groups.keys())
        ended = [self._groups.pop(ticket) for ticket in over]  # after a checkpoint others are played again
        self.sampler_state = self.keeper.observed(self.parts.sampler, ended, self.sampler_state)
        self.care.see(ended, lambda kind, fact: self.keeper.write(step, kind, fact))
        proof = self.parts.proof.row() if self.parts.proof is not None else {}
        counted = self.window.counts() | measure.counted(self.cast, self.parts.sampler, self.sampler_state) | proof
        row = self.keeper.reduce(measure.played(fresh, shown, groups, step, self.plan.apart) | counted)
        row = measure.told_apart(row, self.plan.apart) | dict(metrics)
        row |= self.care.row(self.keeper.sums, self.plan.racing) | measure.timing(self.clock.restart(), row)
        self._write_dropped()
        self.keeper.trained(step, row)
        said = (self.failures.warning(self.keeper.sums), self.standstill.warning(row, step), self.care.warning())
        for warning in filter(None, said):
            self.keeper.write(step, "warning", {"what": warning})
            self.say(f"WARNING: {warning}")
        for skipped in getattr(self.parts.learner, "quarantined", [])[self._skipped :]:
            self.keeper.write(step, "warning", {"what": "a batch was skipped", **skipped})
            self._skipped += 1
        for sink in self.sinks:
            sink.write(step, row)
        self._write_dropped()  # else a run that goes on from here would know nothing of them
        self.step = step + 1
        last = self.step == self.plan.steps
        self.capture()
        await asyncio.sleep(0)  # and before they are made durable
        if self.plan.eval_every and self.step % self.plan.eval_every == 0 and not last:
            await self._evaluate_in_between()
        if last or (self.plan.checkpoint_every and self.step % self.plan.checkpoint_every == 0):
            self.checkpoint()
        else:
            self.keeper.commit()
        self.clock.restart()

    def env_died(self, fact: Mapping[str, Any]) -> None:
        """Write down that a worker of envs died."""
        self.care.env_died(fact)
        self.keeper.write(self.window.step, "env_worker", fact)

    def _refused(self, fact: Mapping[str, Any]) -> None:
        self.keeper.write(self.step, "refused", fact)
        self.keeper.commit()

    # -- evaluation ------------------------------------------------------------------------------------------------

    async def evaluate(self, step: int) -> Mapping[str, float]:
        """Evaluate the policy as it is and write the result.

        Special cases: {} when the run has no evaluation, or drains before the end of it; then nothing of it is written.
        """
        if self.parts.evaluate is None:
            return {}
        self.say(f"evaluating {f'after step {step}' if step else 'before the first step'}")
        try:
            await self._proved()
            with waiting("evaluation", step):
                scores = dict(await self.parts.evaluate(step, self.unless_asked))
        except Drained:
            self.unplayed = True
            return {}
        self._scored(step, scores)
        return scores

    def _scored(self, step: int, scores: Mapping[str, float]) -> None:
        self.keeper.evaluated(step, scores)
        for sink in self.sinks:
            sink.write(step, scores)

    async def _evaluate_in_between(self) -> None:
        if self.parts.beside is None:
            await self.evaluate(self.step)
            return
        with contextlib.suppress(Drained):  # what is due now is owed then
            await self._proved()
            await self.parts.beside.begin(self.step)

    async def take_up(self) -> None:
        """Go on with the evaluation beside training that was not over at the checkpoint."""
        if self._owed is None:
            return
        step, folder = self._owed
        if self.parts.beside is None:
            self.say(f"the evaluation after step {step} was not over and is left out: eval.beside is off now")
        elif not self.keeper.scored(step):
            await self.parts.beside.begin(step, folder)

    async def settle(self) -> None:
        """Wait for the verdict on the last sync, and for the evaluation beside training, unless the run drains."""
        with contextlib.suppress(Drained):
            await self._proved()
        if self.parts.beside is None:
            return
        try:
            await self.parts.beside.end()
        except Drained:
            self.unplayed = True

    async def _proved(self) -> None:
        if self.parts.proof is not None:
            await self.parts.proof.settled()

    def owes(self) -> bool:
        """Whether an evaluation of this step is due that the ledger does not hold; every rank gets the same answer."""
        if self.parts.evaluate is None or (self._owed is not None and self._owed[0] == self.step):
            return False
        due = self.step in (0, self.plan.steps) or bool(self.plan.eval_every and self.step % self.plan.eval_every == 0)
        return self.keeper.any_rank(due and self.keeper.first and not self.keeper.scored(self.step))

    # -- draining --------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The run goes on in the event loop that runs now, where a drain reaches what it waits for."""
        self._loop = asyncio.get_running_loop()
        if self.draining:  # before it began
            self._halt()

    def drain(self) -> None:
        """Finish the update in progress, give up waiting for groups, actors or an evaluation, and let `train` return.

        All ranks are told, and agree where they next meet: `steps`, `credit`, or the end of an evaluation. Any thread may
        call it, at any time.
        """
        self.draining = True
        self.others()
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._halt)

    def fail(self, error: QuintainError) -> None:
        """Drain, and end with this error; any thread may call it."""
        self.failure = error
        self.drain()

    def _halt(self) -> None:
        self.leave()
        self.window.close()
        if self._work is not None:
            self._work.cancel()
        if self.parts.beside is not None:
            self.parts.beside.give_up()

    def asked(self) -> bool:
        """Whether any rank is asked to stop; every rank gets the same answer."""
        self.draining = self.keeper.any_rank(self.draining)
        return self.draining

    async def unless_asked(self, work: Coroutine[Any, Any, Result]) -> Result:
        """What `work` gives, once every rank has its own.

        Raises:
            Drained: on every rank, where one was asked to stop before.
        """
        self._work = task = asyncio.ensure_future(work)
        if self.draining:
            task.cancel()
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
            self._work = None
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
        if self.asked():
            raise Drained(f"stopped after step {self.step}: asked to")
        return task.result()

    # -- state -----------------------------------------------------------------------------------------------------

    def capture(self) -> None:
        """Remember the boundary after `self.step` steps."""
        counters = {"step": self.step, "index": self.window.index, "made": self._made, "care": self.care.state()}
        own = zip(self._stateful.items(), (self.sampler_state, self.advantage_state, self.window.gate_state))
        states = {name: written(part, state) for (name, part), state in own} | {"rollout": remembered(self.rollout)}
        self._state = {**codec.encode({**counters, "pending": self.window.pending, "void": self.window.void}), **states}
        self.keeper.boundary(self._state)

    def checkpoint(self) -> None:
        """Save the learner and the last boundary together, durably; with the weights of an evaluation that is not over."""
        beside, assist = self.parts.beside, getattr(self.parts.learner, "assist", None)
        if beside is None:
            return self.keeper.checkpoint(self.step, self.learner.save, assist)

        def save(folder: str) -> None:
            self.learner.save(folder)
            beside.save(folder)

        self.keeper.boundary({**self._state, "beside": beside.step})
        self.keeper.checkpoint(self.step, save, assist)

    def restore(self, step: int | None = None, alike: bool = False) -> bool:
        """Continue from the checkpoint of `step` (None: the newest): learner, states, counters, pending tickets; see `Keeper.restore`.

        False when there is none. What does not fit is an error that leaves the ledger as it was.
        """
        found: list[str] = []

        def load(folder: str) -> None:
            self.learner.load(folder)
            found.append(folder)

        boundary = self.keeper.restore(load, step, alike)
        if boundary is None:
            return False
        if boundary.get("beside") is not None:
            self._owed = (boundary["beside"], str(Path(found[0]) / PINNED))
        made, own = boundary.get("made", {}), self._stateful.items()
        states = [carried(f"the {name}", part, boundary[name], made.get(name), self.say) for name, part in own]
        self.sampler_state, self.advantage_state, self.window.gate_state = states
        self.care.restore(boundary.get("care", {}))
        reminded(self.rollout, boundary.get("rollout"), self.say)
        pending, void = ([codec.decode(Ticket, t) for t in boundary.get(name, ())] for name in ("pending", "void"))
        self.step = boundary["step"]
        self.window.restart(boundary["step"], boundary["index"], pending, void)
        self.capture()
        return True
