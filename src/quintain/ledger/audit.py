"""The accounting of a run: every prompt is trained, dropped with a reason, or pending; none is lost or doubled."""

from __future__ import annotations

import contextlib
import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quintain.ledger.errors import CorruptCheckpoint
from quintain.ledger.plain import packed

if TYPE_CHECKING:
    from quintain.ledger.rundir import RunDir

_KINDS = ("issued", "played", "trained", "dropped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What `audit` found. Tickets are numbered from 0; each of N ranks takes every N-th number, without gaps.

    `lost`: tickets that must exist but were never issued (a gap in the numbers, or trained, played or dropped all the
    same, or issued before a checkpoint), and trained ones whose group was never recorded. `duplicated`: trained twice, or
    trained and dropped. `chain` hashes step, tickets, digest and groups of every training step: equal chains, the same
    data in the same order.
    """

    issued: int
    played: int
    trained: int
    dropped: int
    pending: tuple[int, ...]
    lost: tuple[int, ...]
    duplicated: tuple[int, ...]
    reasons: Mapping[str, int]
    steps: int
    chain: str

    @property
    def ok(self) -> bool:
        """Nothing lost, nothing trained twice."""
        return not self.lost and not self.duplicated

    def __str__(self) -> str:
        why = ", ".join(f"{n} {reason}" for reason, n in sorted(self.reasons.items()))
        return (
            f"{self.issued} issued: {self.trained} trained in {self.steps} steps, {len(self.pending)} pending, "
            f"{self.dropped} dropped{f' ({why})' if why else ''}; "
            f"lost {len(self.lost)}, duplicated {len(self.duplicated)}; chain {self.chain}"
        )


def audit(run: RunDir) -> Audit:
    """Count the live tickets of a run, over all ranks.

    Example:
        >>> import tempfile
        >>> from quintain.ledger import RunDir
        >>> from quintain.types import Event
        >>> with RunDir.create(tempfile.mkdtemp() + "/run", "") as run:
        ...     run.append(Event(time=0.0, step=0, actor="main", kind="issued", payload={"ticket": 0}))
        ...     run.commit()
        ...     audit(run).pending
        (0,)
    """
    proved = _proved(run)  # first: a living run issues more meanwhile
    seen: dict[str, Counter[int]] = {kind: Counter() for kind in _KINDS}
    reasons: Counter[str] = Counter()
    groups: dict[int, str] = {}  # ticket -> digest
    steps: set[int] = set()  # each rank tells of its share of a step
    chain, several = hashlib.blake2b(digest_size=16), False
    for event in run.events(_KINDS):
        payload, several = event.payload, several or event.actor.startswith("rank")
        if event.kind == "trained":
            steps.add(event.step)
            seen["trained"].update(payload["tickets"])
            content = [groups.get(t, "") for t in payload["tickets"]]
            chain.update(packed([event.step, list(payload["tickets"]), payload.get("digest", ""), content]))
        else:
            seen[event.kind][ticket_of(payload)] += 1
        if event.kind == "played":
            groups[payload["group"].ticket] = payload["group"].digest
        if event.kind == "dropped":
            reasons[payload["reason"]] += 1
    issued, played, trained, dropped = (seen[k] for k in _KINDS)
    known = issued.keys() | played.keys() | trained.keys() | dropped.keys()
    size = max(1, len(list((run.path / "segments").glob("rank-*")))) if several or not known else 1
    last = {rank: rank + size * (count - 1) for rank, count in proved.items() if count}
    ends = {rank: max((t for t in known if t % size == rank), default=-1) + 1 for rank in range(size)}
    ends = {rank: max(end, last.get(rank, -1) + 1) for rank, end in ends.items()}
    due = {ticket for rank, end in ends.items() for ticket in range(rank, end, size)}
    lost = due - issued.keys() | trained.keys() - played.keys()
    duplicated = {t for t, n in trained.items() if n > 1} | trained.keys() & dropped.keys()
    return Audit(
        issued=len(issued),
        played=len(played),
        trained=len(trained),
        dropped=len(dropped),
        pending=tuple(sorted(issued.keys() - trained.keys() - dropped.keys())),
        lost=tuple(sorted(lost)),
        duplicated=tuple(sorted(duplicated)),
        reasons=dict(reasons),
        steps=len(steps),
        chain=chain.hexdigest(),
    )


def _proved(run: RunDir) -> dict[int, int]:
    """How many tickets each rank has issued at least, as the checkpoints tell: those of the first rank are counted there."""
    proved: dict[int, int] = {}
    for step in run.steps():
        with contextlib.suppress(CorruptCheckpoint):
            found = run.checkpoints.read(step)
            if boundary := found.notes.get("boundary"):
                proved = {**dict.fromkeys(found.offsets, min(step, 1)), 0: boundary.get("index", 0)}
    return proved


def ticket_of(payload: Mapping[str, Any]) -> int:
    """The ticket number of an `issued`, `played` or `dropped` event."""
    if "group" in payload:
        return payload["group"].ticket
    ticket = payload["ticket"]
    return ticket if isinstance(ticket, int) else ticket["index"]
