"""The episodes of `quintain serve`: named by the client or found by what they continue, rewarded, ended, written down."""

from __future__ import annotations

import contextlib
import secrets
import shlex
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from quintain.ledger import CorruptLedger, NotARun, RunDir
from quintain.ledger.audit import ticket_of
from quintain.parts import Cast
from quintain.rollouts.asked import digests
from quintain.rollouts.recorder import Bounds, Recorder
from quintain.serve.call import Refusal
from quintain.serve.schema import Wanted
from quintain.types import Event, Group, Kind, QuintainError, Stop, Task, Ticket, Trajectory

ACTOR = "serve"  # who writes the events of a record


class NotARecord(QuintainError):
    """Ended episodes cannot be written into this run."""


class IsARecord(QuintainError):
    """A recording of served episodes is no run: nothing was trained, and no policy is in it."""


class Book:
    """Writes ended episodes into a run folder, one group each, which `quintain report`, `show` and `doctor` read.

    Args:
        store: open for writing.

    Raises:
        NotARecord: the run holds other things than served episodes, such as steps of training.
    """

    def __init__(self, store: RunDir) -> None:
        check_record(store)
        self.store = store
        self.next: int = 1 + max((ticket_of(e.payload) for e in store.events(["issued"])), default=-1)

    def write(self, name: str, trajectory: Trajectory, seed: int) -> str:
        """Keep an ended episode, durably, and give the id of its trajectory: a name may come again, an id does not."""
        ticket, self.next = self.next, self.next + 1
        task = Task(key=name, env="serve", seed=seed)
        oldest, _ = trajectory.versions
        trajectory = replace(trajectory, id=f"{ticket}.0")
        group = Group(task=task, trajectories=(trajectory,), ticket=ticket, version=oldest)
        issued = Ticket(index=ticket, task=task, version=oldest)
        payloads = (("issued", {"ticket": issued}), ("played", {"ticket": ticket, "group": group}))
        self.store.append(*[Event(time=time.time(), step=0, actor=ACTOR, kind=k, payload=p) for k, p in payloads])
        self.store.commit()
        return trajectory.id

    def settle(self) -> None:
        """Write what a full disk had no room for.

        Raises:
            DiskFull: there is still none; nothing is lost.
        """
        self.store.commit()

    def close(self) -> None:
        """Write that nothing more comes, and free the run folder."""
        end = {"reason": "served"}
        self.store.append(Event(time=time.time(), step=0, actor=ACTOR, kind="stopped", payload=end))
        self.store.close()


def check_record(store: RunDir) -> None:
    """Whether served episodes may be written into a run; the tickets of a training that goes on would be mixed with theirs.

    Raises:
        NotARecord: it holds other things than served episodes.
    """
    first = next(iter(store.events()), None)
    if first is not None and first.actor != ACTOR:
        raise NotARecord(
            f"{store.path} holds a run of {first.actor!r} (first event {first.kind!r}), and served episodes would be mixed with "
            "its tickets; choose another --record FOLDER: one that is not there, or one that `quintain serve` has written"
        )


def recorded(store: RunDir) -> int | None:
    """How many episodes a recording of `quintain serve` holds; None of any other run."""
    first = next(iter(store.events()), None)
    if (first.actor if first is not None else store.about.get("actor")) != ACTOR:
        return None
    return sum(1 for _ in store.lines(["issued"]))


def refuse_record(store: RunDir) -> None:
    """Refuse a recording where the policy of a run is needed; a training in it would supersede its episodes.

    Raises:
        IsARecord: it is one.
    """
    if (count := recorded(store)) is not None:
        raise IsARecord(
            f"{store.path} is a recording of `quintain serve`, with {count} served episode{'' if count == 1 else 's'}: nothing was "
            f"trained there, and it has no checkpoint; look at it with `quintain report {shlex.quote(str(store.path))}`, and give the "
            "run or the model folder that was served instead"
        )


def spare_record(folder: Path) -> None:
    """Refuse to delete a recording: a run can be trained again, but nobody gives its episodes again.

    Raises:
        IsARecord: it is one.
    """
    with contextlib.suppress(NotARun, CorruptLedger), RunDir.open(folder) as store:  # what is damaged may be replaced
        if store.about.get("actor") == ACTOR or recorded(store) is not None:
            raise IsARecord(
                f"{folder} is a recording of `quintain serve`, and --fresh would delete it: choose another run.name, or move the "
                "folder away"
            )


class Episodes:
    """Matches `gateway.Desk`. An episode ends by feedback with `done`, or when it was idle too long.

    A request without a name continues the episode that its messages continue, and begins one where they continue none. Where all
    places are taken, the episode without a name that was asked for longest ago makes way; one with a name keeps its place.

    Args:
        cast: the policy.
        bounds: limits of an episode.
        book: where ended episodes go, None to keep nothing.
        most: open episodes at once.
        clock: seconds that never go back.
    """

    def __init__(
        self,
        cast: Cast,
        bounds: Bounds,
        book: Book | None,
        most: int = 1024,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cast, self.bounds, self.book, self.most, self.clock = cast, bounds, book, most, clock
        self.ended: Callable[[Recorder], None] = lambda recorder: None
        self.number: int = 0
        self._open: OrderedDict[str, Recorder] = OrderedDict()
        self._used: dict[str, float] = {}
        self._nameless: set[str] = set()

    async def open(self, name: str) -> Recorder:
        """A new episode; with an empty name one that nobody can guess.

        Raises:
            Refusal: an open episode has the name, or there is no room for one more.
        """
        while len(self._open) >= self.most:
            least = next((n for n, r in self._open.items() if n in self._nameless and not r.busy), None)
            if least is None:
                raise Refusal(503, f"{self.most} episodes are open; end some with feedback", code="full", retry_s=10)
            await self.end(least, Stop.timeout)
        if name in self._open:
            raise Refusal(409, f"the episode {name!r} is open already", "name", "episode_exists")
        name = name or f"ep-{secrets.token_hex(8)}"
        self.number += 1
        recorder = Recorder(name, self.cast, (self.cast.seed, self.number), self.bounds)
        self._open[name] = recorder
        self._used[name] = self.clock()
        return recorder

    async def find(self, name: str, wanted: Wanted | None) -> Recorder:
        """The open episode of a name, or that which a request continues; a new one where there is none."""
        recorder = self._open.get(name) if name else self._continued(wanted)
        if recorder is None:
            recorder = await self.open(name)
            if not name:
                self._nameless.add(recorder.name)
            return recorder
        self.use(recorder)
        return recorder

    def use(self, recorder: Recorder) -> None:
        """An open episode is asked: it is not idle. Nothing happens if it is not open."""
        if self._open.get(recorder.name) is recorder:
            self._open.move_to_end(recorder.name)
            self._used[recorder.name] = self.clock()

    def _continued(self, wanted: Wanted | None) -> Recorder | None:
        keys = digests(wanted.ask) if wanted is not None and wanted.ask.messages else []
        for key in reversed(keys[:-1]):
            for recorder in reversed(self._open.values()):
                if recorder.said(key):
                    return recorder
        return None

    async def reward(self, name: str, rewards: Mapping[str, float], done: bool) -> dict[str, Any]:
        """Add rewards to an open episode, and end it if `done`.

        Raises:
            Refusal: no such episode is open.
        """
        recorder = self._open.get(name)
        if recorder is None:
            raise Refusal(404, f"no episode {name!r} is open", "episode", "episode_not_found")
        for component, value in rewards.items():
            recorder.rewards[component] = recorder.rewards.get(component, 0.0) + value
        told: dict[str, Any] = {"episode": name, "rewards": dict(recorder.rewards), "done": done}
        if done:
            told["trajectory"] = await self.end(name, Stop.done)
        return told

    async def end(self, name: str, stop: Stop) -> str | None:
        """End an episode and write it down; the id of its trajectory, None if nothing was said or is kept."""
        recorder = self._open.pop(name)
        self._used.pop(name)
        self._nameless.discard(name)
        self.ended(recorder)
        await recorder.close()
        trajectory = recorder.trajectory(stop, rewards={})
        if self.book is None or not any(n.kind is Kind.sampled for n in trajectory.nodes):
            return None
        return self.book.write(name, trajectory, self.cast.seed)

    async def sweep(self, idle_s: float) -> None:
        """End the episodes that nobody has asked for `idle_s` seconds.

        Raises:
            DiskFull: there is no room to write them; nothing is lost, and the next call tries again.
        """
        if self.book is not None:
            self.book.settle()
        late = self.clock() - idle_s
        for name in [n for n, at in self._used.items() if at < late and not self._open[n].busy]:
            if name in self._open:  # nobody has ended it meanwhile
                await self.end(name, Stop.timeout)

    async def close(self) -> None:
        """End all of them."""
        for name in list(self._open):
            await self.end(name, Stop.cancelled)
