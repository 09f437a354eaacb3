"""What a run keeps: its ledger, its checkpoints, and what ranks must agree on. One per rank."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from quintain.given import seen_by
from quintain.ledger import Checkpoint, CorruptCheckpoint, PackedGroup, RunDir
from quintain.ledger.groups import pack_group
from quintain.ledger.plain import pack, unpack
from quintain.parts import Advantage, Sampler, applied
from quintain.runtime.measure import EPISODES, GROUPS, TALLIES, counted_by
from quintain.types import Event, Group, QuintainError, Stop, Ticket
from quintain.waits import waiting

MEMBERS = ("members_added", "members_forked", "members_started", "members_lost", "tokens_lost")
RARE = ("retries", "rebuilt", "unscored", "answers_cut", "busy_s", *MEMBERS, EPISODES, GROUPS)
COUNTS = (
    *("episodes", "groups_played", "groups_trained", "tokens_sampled", "tokens_context"),
    *("groups_withheld", "groups_refilled_for_lag"),
    *("engine_interrupted", "engine_carried", "engine_discarded", "engine_moved"),
    *RARE,
)  # sums over ranks
GAPS = ("canary_gap_max", "canary_gap_mean", "audit_gap_max", "audit_gap_mean", "audit_stale_mean", "proof_seconds")
LARGEST = ("deadline_s", "lag_max", "groups_waiting_max", "engine_versions", *GAPS)


class LostBoundary(QuintainError):
    """A rank's stream has lost its state at a checkpoint; the message names rank, step, and a step to go on from."""


class Peers(Protocol):
    """The ranks of a run: sums over them, the largest, a common word."""

    @property
    def rank(self) -> int:
        """This one, from 0."""
        ...

    @property
    def size(self) -> int:
        """How many there are."""
        ...

    def sums(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Sums over ranks."""
        ...

    def largest(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Largest values over ranks."""
        ...

    def gathered(self, mine: bytes) -> list[bytes]:
        """The bytes of every rank."""
        ...

    def barrier(self, deadline_s: float | None = None) -> None:
        """Wait for all."""
        ...


class Keeper:
    """Writes the events of one rank, commits them once a step, and checkpoints with the step boundary in the notes.

    Events: `issued`, `played`, `dropped`, `trained` (step, tickets), `metrics`, `eval`, `checkpoint`, `stopped`. Rank 0 writes
    metrics, evaluations and checkpoints; every rank writes its own tickets into its own stream.
    """

    def __init__(self, store: RunDir, ranks: Peers) -> None:
        self.store, self.ranks = store, ranks
        self.alone = ranks.size == 1
        self.first = ranks.rank == 0
        self._tickets: list[int] = []
        self._boundary: dict[str, Any] = {}
        self._score: float | None = None

    def write(self, step: int, kind: str, payload: Mapping[str, Any]) -> None:
        """Append one event of this rank."""
        actor = "run" if self.alone else f"rank{self.ranks.rank}"
        self.store.append(Event(time=time.time(), step=step, actor=actor, kind=kind, payload=payload))

    def number(self, index: int) -> int:
        """The number of this rank's ticket `index` among those of all ranks."""
        return index * self.ranks.size + self.ranks.rank

    def issued(self, step: int, ticket: Ticket) -> None:
        """A task was drawn and may be played."""
        self.write(step, "issued", {"ticket": ticket.index, "task": ticket.task, "version": ticket.version})

    def played(self, step: int, group: Group) -> None:
        """A group was played and scored."""
        self.write(step, "played", {"ticket": group.ticket, "group": group})

    def dropped(self, step: int, why: Mapping[int, str]) -> None:
        """Tickets that will not be trained, each with its reason."""
        for ticket in sorted(why):
            self.write(step, "dropped", {"ticket": ticket, "reason": why[ticket]})

    def training(self, groups: Sequence[Group]) -> None:
        """Remember what the step trains on; `trained` writes it."""
        self._tickets = [g.ticket for g in groups]

    def trained(self, step: int, metrics: Mapping[str, float]) -> None:
        """The step was taken."""
        self.write(step, "trained", {"step": step, "tickets": self._tickets})
        if self.first:
            self.write(step, "metrics", dict(metrics))

    def evaluated(self, step: int, scores: Mapping[str, float]) -> None:
        """The policy after `step` steps was evaluated."""
        self._score = next((v for k, v in scores.items() if k.endswith("success")), None)
        if self.first:
            self.write(step, "eval", dict(scores))

    def scored(self, step: int) -> bool:
        """Whether the ledger holds an evaluation of the policy after `step` steps."""
        self.commit()
        return any(not line.dead for line in self.store.lines(["eval"], step=step))

    def reduce(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """The metrics of a step over all ranks: sums of counts, the largest lag and gaps, means over the episodes of all."""
        if self.alone:
            return dict(metrics)
        rare = dict.fromkeys((*(f"stop/{stop}" for stop in Stop), *RARE), 0.0)  # ranks may have seen different ones
        own = {**rare, **{k: v for k, v in metrics.items() if k not in LARGEST}}
        summed = self.ranks.sums({k: v * own.get(counted_by(k), 1.0) for k, v in own.items()})
        largest = self.ranks.largest({k: metrics.get(k, -1.0) for k in LARGEST})  # none is below 0
        over = {k: max(1.0, summed[of]) if (of := counted_by(k)) else float(self.ranks.size) for k in summed}
        every = {k: v if k in COUNTS or k.startswith(TALLIES) else v / over[k] for k, v in summed.items()}
        return {k: v for k, v in every.items() if v or k not in rare} | {k: v for k, v in largest.items() if v >= 0}

    def sums(self, values: Mapping[str, float]) -> Mapping[str, float]:
        """Sums over all ranks; every rank gives the same names."""
        return values if self.alone else self.ranks.sums(values)

    def any_rank(self, flag: bool) -> bool:
        """Whether any rank says so; all get the same answer."""
        return flag if self.alone else bool(self.ranks.largest({"flag": float(flag)})["flag"])

    def credited(self, advantage: Advantage, groups: Sequence[Group], state: Any) -> tuple[tuple[Group, ...], Any]:
        """Apply an advantage to the groups of all ranks, in the order of their tickets, and give this rank's back.

        So statistics are those of the step, however many ranks play it, and every rank keeps the same state. One that looks at each
        group by itself needs no others.
        """
        if self.alone or advantage.apart:
            return applied(advantage, tuple(groups), state)
        at = {g.ticket: i for i, g in enumerate(groups)}
        found, state = applied(advantage, self.every(groups), state)
        return tuple(sorted((g for g in found if g.ticket in at), key=lambda g: at[g.ticket])), state

    def observed(self, sampler: Sampler, groups: Sequence[Group], state: Any) -> Any:
        """A sampler's state after the groups of all ranks, or of this one where it learns nothing from those of others."""
        for group in self.every(groups) if getattr(sampler, "everyones", True) else groups:
            state = seen_by(sampler, state, group)
        return state

    def every(self, groups: Sequence[Group]) -> tuple[Group, ...]:
        """The groups of all ranks in the order of their tickets; those of other ranks without the messages of their task."""
        if self.alone:
            return tuple(groups)
        mine = pack([pack_group(g, task=replace(g.task, messages=())) for g in groups])
        packed = (unpack(said) for rank, said in enumerate(self.ranks.gathered(mine)) if rank != self.ranks.rank)
        every = [*groups, *(PackedGroup(data).open() for many in packed for data in many)]
        return tuple(sorted(every, key=lambda g: g.ticket))

    def boundary(self, state: Mapping[str, Any]) -> None:
        """The state between two steps, for the next checkpoint."""
        self._boundary = dict(state)

    def commit(self) -> None:
        """Make the events of the step durable."""
        with waiting("commit"):
            self.store.commit()

    def checkpoint(self, step: int, save: Callable[[str], None], assist: Callable[[], None] | None = None) -> None:
        """Save the learner and this boundary together; other ranks leave theirs in their own stream, `assist` and wait."""
        if not self.first:
            self.write(step, "boundary", {"step": step, "state": self._boundary})
        self.commit()
        if not self.alone:
            self.ranks.barrier()
        if self.first:
            with waiting("checkpoint", step):
                self.store.checkpoint(step, save, score=self._score, notes={"boundary": self._boundary})
        elif assist is not None:
            assist()
        if not self.alone:
            self.ranks.barrier()

    def restore(
        self, load: Callable[[str], None], step: int | None = None, alike: bool = False
    ) -> dict[str, Any] | None:
        """Load the checkpoint of `step`, or the newest, into the learner, and give its boundary; None when there is none yet.

        What came after it is played again, so its events are superseded: once every rank has found its boundary and
        loaded, and not before. The evaluation of this very policy still counts where evaluations are `alike` to what they were.

        Raises:
            LostBoundary: on every rank, where the stream of one has lost what it needs to go on.
        """
        found = self._chosen(step)
        boundary = None if found is None else self._boundary_at(found)
        if found is not None:
            self._agree_on(found.step, boundary is not None)
            load(str(found.path))
        if not self.alone:
            self.ranks.barrier()
        if self.first:
            scores = self.store.lines(["eval"], step=found.step) if found is not None and alike else ()
            last = [line.event for line in scores][-1:]
            self.store.rewind(found)
            if last and found is not None and not self.scored(found.step):
                self.store.append(*last)
        if not self.alone:
            self.ranks.barrier()
        return boundary

    def _boundary_at(self, found: Checkpoint) -> dict[str, Any] | None:
        """This rank's state at a checkpoint: rank 0 has it in the notes, the others in what they wrote before it."""
        if self.first:
            return dict(found.notes["boundary"])
        rank = self.ranks.rank
        lines = self.store.lines(["boundary"], dead=True, step=found.step)
        own = [n.event for n in lines if n.rank == rank and n.offset < found.offsets.get(rank, 0)]
        return dict(own[-1].payload["state"]) if own else None

    def _agree_on(self, step: int, here: bool) -> None:
        """Refuse a checkpoint for which a rank has no boundary, and name one for which all have theirs."""
        if self.alone:
            return
        lacks = self.ranks.largest({str(r): float(r == self.ranks.rank and not here) for r in range(self.ranks.size)})
        lost = [r for r in range(self.ranks.size) if lacks[str(r)]]
        if not lost:
            return
        unfit = self.ranks.largest({str(s): float(not self._fit(s)) for s in self.store.checkpoints.steps()})
        whole = [s for s in map(int, unfit) if not unfit[str(s)]]
        whole = [s for s in whole if s < step] or whole
        run = self.store.path
        fix = (
            f"`quintain train --resume {shlex.quote(str(run))} --from {max(whole)}` goes on from step {max(whole)}"
            if whole
            else "no checkpoint is left for which all have theirs: begin a new run"
        )
        raise LostBoundary(
            f"{run}: the ledger of rank {lost[0]} has lost its state at step {step}, without which it cannot go on from that "
            f"checkpoint; nothing was changed. {fix}"
        )

    def _fit(self, step: int) -> bool:
        """Whether this rank could go on from the checkpoint of a step; rank 0 also reads its files."""
        try:
            found = self.store.latest_checkpoint(step) if self.first else self.store.checkpoints.read(step)
        except CorruptCheckpoint:
            return False
        return found is not None and self._boundary_at(found) is not None

    def _chosen(self, step: int | None) -> Checkpoint | None:
        """The checkpoint that rank 0 finds, on every rank."""
        found = self.store.latest_checkpoint(step) if self.first else None
        if self.alone:
            return found
        number = int(self.ranks.largest({"step": -1.0 if found is None else float(found.step)})["step"])
        return found if self.first or number < 0 else self.store.latest_checkpoint(number)

    def stopped(self, step: int, reason: str) -> None:
        """The run ended: `done`, `drained`, or an error."""
        self.write(step, "stopped", {"reason": reason})
        self.commit()
