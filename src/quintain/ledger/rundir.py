"""The run directory: config, ledger, blobs and checkpoints of one run; all that report, viewer and resume ever read."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from quintain.ledger.checkpoints import Checkpoint, Checkpoints
from quintain.ledger.disk import Disk, explained
from quintain.ledger.errors import CorruptCheckpoint, NotARun, ReadOnlyRun, no_run
from quintain.ledger.groups import PackedGroup
from quintain.ledger.index import keys_of
from quintain.ledger.lock import alone
from quintain.ledger.pictures import read_picture, write_picture
from quintain.ledger.reading import Line, Reading
from quintain.ledger.recording import Recording
from quintain.ledger.writer import Writer
from quintain.types import Event, Group, Image, Trajectory

_MARKER = "run.json"
_FORMAT = 1
_OWN = {"config.toml", "index", "segments", "blobs", "checkpoints"}


class RunDir:
    """One run on disk. Matches the `Store` port; also reads, checkpoints and rewinds.

    Made by `create` or `open`. Appended events are durable after `commit`: one sync for all of them, all or nothing.
    Every method may be called from any thread of the process that opened the run.

    Example:
        >>> import tempfile
        >>> from quintain.types import Event
        >>> with RunDir.create(tempfile.mkdtemp() + "/run", "seed = 1") as run:
        ...     run.append(Event(time=0.0, step=0, actor="main", kind="metrics", payload={"reward": 0.5}))
        ...     run.commit()
        ...     list(run.metrics())
        [(0, {'reward': 0.5})]
    """

    def __init__(self, path: Path, writer: Writer | None, recording: Recording, keep: int, disk: Disk) -> None:
        self.path, self.recording, self.keep = path, recording, keep
        self._writer, self._pid, self._lock = writer, os.getpid(), threading.RLock()
        self._reading = Reading(path, writer, self._lock)
        self.checkpoints = Checkpoints(path / "checkpoints", disk)
        if writer is not None and writer.rank == 0:
            with explained(self.checkpoints.folder, "opening the run"):
                self.checkpoints.mend()

    @classmethod
    def create(
        cls,
        path: str | Path,
        config: str,
        *,
        record: str = "all",
        keep: int = 2,
        disk: Disk | None = None,
        about: Mapping[str, str] | None = None,
    ) -> RunDir:
        """Make a new run folder that holds `config` (TOML text) and open it for writing as rank 0.

        Args:
            path: the folder; it must not exist or be empty.
            config: kept as `config.toml`.
            record: trajectories to keep: `all`, `sample:K` (K groups of every step) or `none`; rows and digests always are.
            keep: newest checkpoints to keep, >= 1, beside the best.
            disk: what touches the disk.
            about: further facts that never change, by name; see the property.

        Raises:
            NotARun: the folder holds a run or other files.
            DiskFull, ReadOnlyRun: it cannot be made.
        """
        home, disk = Path(path).absolute(), disk or Disk()
        if (home / _MARKER).exists():
            raise NotARun(
                f"{home} holds a run; `quintain train --resume {shlex.quote(str(home))}` continues it, `run.name` chooses another folder"
            )
        strange = sorted(p.name for p in home.glob("*") if p.name not in _OWN and not p.name.endswith(".tmp"))
        if strange:
            raise NotARun(f"{home} holds other files ({strange[0]}); choose a folder that is empty or not there")
        with explained(home, "making the run folder"):
            disk.make_folder(home)
            disk.put(home / "config.toml", config.encode())
            facts = {"format": _FORMAT, "created": time.time(), "config": config, "about": dict(about or {})}
            disk.put(home / _MARKER, json.dumps(facts).encode())
        return cls.open(home, "a", record=record, keep=keep, disk=disk)

    @classmethod
    def open(
        cls,
        path: str | Path,
        mode: str = "r",
        *,
        rank: int = 0,
        record: str = "all",
        keep: int = 2,
        disk: Disk | None = None,
    ) -> RunDir:
        """Open a run to read (`r`, while others write it too) or to append as `rank` (`a`, one process per rank).

        Raises:
            NotARun: the folder is not a run.
            RunLocked: another process writes as this rank.
            CorruptLedger: durable bytes were changed or lost; the message says where and what to do.
        """
        home, disk = Path(path).absolute(), disk or Disk()
        try:
            facts = json.loads((home / _MARKER).read_text())
        except (OSError, ValueError) as error:
            raise no_run(path, _MARKER, error) from error
        if (found := facts.get("format") if isinstance(facts, dict) else None) != _FORMAT:
            fix = "open it with the version that wrote it" if found else f"restore {_MARKER} from a copy"
            raise NotARun(f"{home} was written in format {found}; this quintain reads format {_FORMAT}: {fix}")
        recording = Recording(record)
        writer = None
        if mode == "a":
            with explained(home, "opening the run"):
                writer = Writer(home, rank, disk)
        return cls(home, writer, recording, keep, disk)

    @staticmethod
    def delete(path: str | Path) -> None:
        """Delete a run with all that is in its folder; a damaged one too.

        Raises:
            NotARun: the folder is not a run.
            RunLocked: a living process writes to it; nothing was deleted.
        """
        with alone(path, _MARKER, "deleting the run") as home:
            Disk().remove(home)

    @staticmethod
    def move(path: str | Path, to: str | Path) -> None:
        """Give a run another folder, which must not be there yet; a damaged one too. Raises as `delete` does."""
        with alone(path, _MARKER, "moving the run") as home:
            Disk().rename(home, Path(to).absolute())

    def __enter__(self) -> RunDir:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            with contextlib.suppress(Exception):  # the first error is the one to see
                self.close()

    def close(self) -> None:
        """Commit, and free files and lock."""
        with self._lock:
            try:
                if self._writer is not None and self._pid == os.getpid():
                    self._writer.commit()
            finally:
                self._reading.close()
                if self._writer is not None:
                    self._writer.close()
                self._writer = None

    # -- writing

    def _write(self) -> Writer:
        if self._writer is None:
            raise ReadOnlyRun(f"{self.path} is open for reading or closed; open it with mode 'a' to write")
        if self._pid != os.getpid():
            raise ReadOnlyRun(f"{self.path} was opened by process {self._pid}; a forked process opens its own rank")
        return self._writer

    def append(self, *events: Event) -> None:
        """Add events; they are durable after the next `commit`."""
        with self._lock:
            writer = self._write()
            for event in events:
                writer.append(self.recording.packed(event, self.picture), keys_of(event))

    def commit(self) -> None:
        """Make everything that was appended durable, in one sync, all or nothing.

        Raises:
            DiskFull: no space; nothing is lost: make space and call it again.
        """
        with self._lock:
            self._write().commit()

    def blob(self, data: bytes) -> str:
        """Keep `data`, once, and return its content hash; durable after the next `commit`."""
        with self._lock:
            return self._write().blob(data)

    def picture(self, image: Image) -> Image:
        """Keep the pixels of a picture as a blob and return the picture as a reference to it."""
        return image if image.pixels is None else Image(hash=self.blob(write_picture(image.pixels)))

    # -- reading

    @property
    def config(self) -> str:
        """The text of `config.toml`."""
        return (self.path / "config.toml").read_text("utf-8-sig")  # it may have been edited

    @property
    def agreed(self) -> str:
        """The text of `config.toml` as the run last began with it; "" where it was made by a version that did not keep it."""
        return json.loads((self.path / _MARKER).read_text()).get("config", "")

    @property
    def about(self) -> dict[str, str]:
        """Facts that the run was made with and that never change, by name: `words`, a digest of those that its model knows."""
        return json.loads((self.path / _MARKER).read_text()).get("about", {})

    def agree(self, config: str) -> None:
        """Keep another `config.toml`, which the run goes on with."""
        facts = json.loads((self.path / _MARKER).read_text())
        disk = Disk()
        with explained(self.path, "keeping the settings"):
            disk.put(self.path / "config.toml", config.encode())
            disk.put(self.path / _MARKER, json.dumps({**facts, "config": config}).encode())

    @property
    def offset(self) -> int:
        """Events of this rank so far, appended ones included; of rank 0 when the run is open for reading."""
        return self._writer.offset if self._writer is not None else self._reading.offset(0)

    def lines(
        self, kinds: Sequence[str] | None = None, since: int = 0, *, dead: bool = False, step: int | None = None
    ) -> Iterator[Line]:
        """Durable events with their numbers: those of a rank in order, ranks merged by step.

        Args:
            kinds: only these kinds.
            since: from this number on, in every rank.
            dead: give the superseded ones too.
            step: only events of this step.
        """
        return self._reading.lines(kinds, since, dead=dead, step=step)

    def events(self, kinds: Sequence[str] | None = None, since: int = 0) -> Iterator[Event]:
        """The live events, in order; a played group comes as a `PackedGroup`."""
        return (line.event for line in self.lines(kinds, since))

    def metrics(self) -> Iterator[tuple[int, dict[str, float]]]:
        """(step, metrics) of every live `metrics` event."""
        return ((e.step, dict(e.payload)) for e in self.events(["metrics"]))

    def packed(
        self, *, step: int | None = None, tickets: Sequence[int] | None = None, ids: Sequence[str] | None = None
    ) -> Iterator[PackedGroup]:
        """Played groups: all, those that a step trained on (in its order), or those of some tickets or trajectories."""
        return self._reading.packed(step=step, tickets=tickets, ids=ids)

    def groups(
        self, *, step: int | None = None, tickets: Sequence[int] | None = None, ids: Sequence[str] | None = None
    ) -> Iterator[Group]:
        """Like `packed`, opened; groups whose trajectories were not kept are passed over."""
        return (g.open() for g in self.packed(step=step, tickets=tickets, ids=ids) if g.whole)

    def trajectories(self, *, step: int | None = None, ids: Sequence[str] | None = None) -> Iterator[Trajectory]:
        """The trajectories of a step, of these ids, or all."""
        wanted = None if ids is None else set(ids)
        for group in self.groups(step=step, ids=ids):
            yield from (t for t in group.trajectories if wanted is None or t.id in wanted)

    def read_blob(self, key: str) -> bytes:
        """The data of a blob, proved by its hash.

        Raises:
            MissingBlob: no rank kept it.
        """
        fresh = self._writer.fresh_blob(key) if self._writer is not None else None
        return fresh if fresh is not None else self._reading.blob(key)

    def read_picture(self, image: Image) -> Image:
        """The picture with its pixels."""
        return image if image.pixels is not None else replace(image, pixels=read_picture(self.read_blob(image.hash)))

    # -- checkpoints

    def checkpoint(
        self,
        step: int,
        save: Callable[[str], None],
        *,
        score: float | None = None,
        notes: Mapping[str, Any] | None = None,
    ) -> Checkpoint:
        """Commit, let `save(folder)` write the state after `step` optimizer steps, and delete old checkpoints.

        Only rank 0 saves; the other ranks must have committed and wait meanwhile.

        Args:
            step: optimizer steps done.
            save: writes files into the folder.
            score: the checkpoint with the highest one is never deleted.
            notes: JSON values to find in `Checkpoint.notes`.

        Raises:
            RunMoved: the folder is not where it was opened; nothing is written there.
        """
        with self._lock:
            writer = self._write()
            writer.commit()
            writer.lock.prove()
            offsets = {s.rank: s.offset for s in self._reading.streams()}
            done = self.checkpoints.save(step, save, offsets, score=score, notes=dict(notes or {}))
            self._tell(done)
            with contextlib.suppress(CorruptCheckpoint, OSError):
                self.checkpoints.prune(self.keep, frozenset(self._superseded()))
            return done

    def _tell(self, done: Checkpoint) -> None:
        payload = {"step": done.step, "folder": done.path.name, "offset": done.offset}
        self.append(Event(time=time.time(), step=done.step, actor="ledger", kind="checkpoint", payload=payload))
        self.commit()

    def _superseded(self) -> list[int]:
        """Steps whose checkpoint belongs to a branch that a rewind has left."""
        marks = [(line.event.payload["after"], line.offset) for line in self._markers()]
        out = []
        for step in self.checkpoints.steps():
            with contextlib.suppress(CorruptCheckpoint):
                offset = self.checkpoints.read(step).offset
                if any(after < offset <= until for after, until in marks):
                    out.append(step)
        return out

    def steps(self) -> list[int]:
        """The steps from whose checkpoints the run can go on: all but those of a branch that a rewind has left."""
        left = set(self._superseded())
        return [s for s in self.checkpoints.steps() if s not in left]

    def _markers(self) -> Iterator[Line]:
        return (line for line in self.lines(["superseded"], dead=True) if line.rank == 0)

    def latest_checkpoint(self, step: int | None = None) -> Checkpoint | None:
        """The newest checkpoint (or that of `step`), every byte verified; None if the run never made one.

        Raises:
            CorruptCheckpoint: it is damaged or gone; the message names the file and the way on.
        """
        step = self.newest() if step is None else step
        return None if step is None else self.checkpoints.verify(step)

    def newest(self) -> int | None:
        """The step of the newest checkpoint that counts, its files unread; None if the run never made one.

        Raises:
            CorruptCheckpoint: it is gone; the message names the way on.
        """
        with self._lock:
            told = max(
                (e.step for e in self.events(["checkpoint"])), default=-1
            )  # first: a living run makes others meanwhile
            left = self.steps()
        if told > max(left, default=-1) and not self.checkpoints.replaced(told):
            raise self.checkpoints.gone(told, left)
        return left[-1] if left else None

    def rewind(self, checkpoint: Checkpoint | None) -> None:
        """Supersede everything after a checkpoint (None: everything), in all ranks, before a run goes on from it.

        Call it on rank 0, while no other rank writes; they read what is left afterwards.
        """
        with self._lock:
            self._write().commit()
            offsets = checkpoint.offsets if checkpoint is not None else {}
            ends = {s.rank: s.offset for s in self._reading.streams()}
            since = offsets.get(0, 0)
            told = next((line for line in self.lines(["checkpoint"], since, dead=True) if line.rank == 0), None)
            if checkpoint is not None and told is not None and told.offset == since:
                since += 1  # the event that tells of this very checkpoint still counts
            others = {str(r): (offsets.get(r, 0), end) for r, end in ends.items() if r and end > offsets.get(r, 0)}
            if ends.get(0, 0) > since or others:
                gone = {"since": since, "after": offsets.get(0, 0), "ranks": others}
                self.append(Event(time=time.time(), step=0, actor="ledger", kind="superseded", payload=gone))
                self.commit()
            if checkpoint is not None and since == checkpoint.offset:
                self._tell(checkpoint)  # the writer died between saving and telling
            for step in self.checkpoints.steps():
                try:
                    self.checkpoints.read(step)
                except CorruptCheckpoint:
                    if checkpoint is not None and step > checkpoint.step:
                        self.checkpoints.set_aside(step)
