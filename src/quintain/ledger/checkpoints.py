"""Checkpoints: a folder per step, whole or not there, proved by sizes and hashes when it is read.

A save goes to a folder with a temporary name; its files are synced, then the manifest, then the folder is renamed into
place and its parent synced. So a crash while saving leaves a temporary name, which is ignored; a folder with a final
name that does not fit its manifest was damaged later, and that is an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quintain import faults
from quintain.ledger.disk import Disk, explained
from quintain.ledger.errors import CorruptCheckpoint
from quintain.types import QuintainError

MANIFEST = "manifest.json"
_FORMAT = 1
_TEMPORARY, _OLD, _TRASH = ".saving-", ".old-", ".trash-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A finished checkpoint: the state after `step` optimizer steps, when rank r had written `offsets[r]` events."""

    path: Path
    step: int
    offsets: Mapping[int, int]
    score: float | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def offset(self) -> int:
        """The events of rank 0 that came before it."""
        return self.offsets.get(0, 0)


class Checkpoints:
    """The checkpoint folder of a run.

    Args:
        folder: `RUN/checkpoints`.
        disk: what touches the disk.
    """

    def __init__(self, folder: Path, disk: Disk) -> None:
        self.folder, self.disk = folder, disk

    def path(self, step: int) -> Path:
        """Where the checkpoint of a step lies."""
        return self.folder / f"step-{step:06d}"

    def steps(self) -> list[int]:
        """The steps that have a finished checkpoint, oldest first."""
        names = (p.name.removeprefix("step-") for p in self.folder.glob("step-*") if p.is_dir())
        return sorted(int(n) for n in names if n.isdigit())

    def replaced(self, step: int) -> bool:
        """Whether the checkpoint of a step was being replaced when its writer died; the next writer puts it back."""
        return (self.folder / f"{_OLD}{self.path(step).name}").exists()

    def wrote(self) -> dict[int, int]:
        """How many events each rank had made durable when one of the checkpoints that can be read was made, at most."""
        out: dict[int, int] = {}
        for step in self.steps():
            with contextlib.suppress(CorruptCheckpoint):
                offsets = self.read(step).offsets
                out |= {rank: max(count, out.get(rank, 0)) for rank, count in offsets.items()}
        return out

    def mend(self) -> None:
        """Undo what a crash interrupted: put back a folder that was about to be replaced, delete leftovers."""
        for old in sorted(self.folder.glob(f"{_OLD}step-*")):
            home = self.folder / old.name.removeprefix(_OLD)
            if not home.exists():
                self.disk.rename(old, home)
        for pattern in (_TEMPORARY, _OLD, _TRASH):
            for left in self.folder.glob(f"{pattern}*"):
                self.disk.remove(left)
        if self.folder.exists():
            self.disk.sync_folder(self.folder)

    def save(self, step: int, write: Callable[[str], None], offsets: Mapping[int, int], **more: Any) -> Checkpoint:
        """Let `write(folder)` put files into a new folder and make it the checkpoint of `step`.

        Raises:
            DiskFull: no space; the earlier checkpoints stand, and nothing is left of this one.
        """
        spare, home = self.folder / f"{_TEMPORARY}step-{step:06d}", self.path(step)
        with explained(home, "saving a checkpoint"):
            self.disk.make_folder(self.folder)
            if spare.exists():
                self.disk.remove(spare)
            try:
                self.disk.make_folder(spare)
                faults.point("checkpoint.begin")
                write(str(spare))
                self._seal(spare, {"step": step, "offsets": {str(k): v for k, v in offsets.items()}, **more})
                self._place(spare, home)
            except BaseException:
                if spare.exists():
                    self.disk.remove(spare)
                raise
        return self.read(step)

    def _seal(self, spare: Path, facts: Mapping[str, Any]) -> None:
        files = {}
        for path in _files(spare):
            name = path.relative_to(spare).as_posix()
            files[name] = {"size": path.stat().st_size, "blake2b": _hash(path)}
            self.disk.sync_file(path)
        for folder, _, _ in os.walk(spare, topdown=False):
            self.disk.sync_folder(Path(folder))
        body = {"format": _FORMAT, **facts, "files": files}
        body["digest"] = _digest(body)
        self.disk.put(spare / MANIFEST, json.dumps(body, indent=1).encode())

    def _place(self, spare: Path, home: Path) -> None:
        old = self.folder / f"{_OLD}{home.name}"
        if home.exists():
            self.disk.rename(home, old)
        try:
            faults.point("checkpoint.before_rename")
            self.disk.rename(spare, home)
        except OSError:
            if old.exists():
                self.disk.rename(old, home)
            raise
        faults.point("checkpoint.after_rename")
        self.disk.sync_folder(self.folder)
        if old.exists():
            self.disk.remove(old)

    def read(self, step: int) -> Checkpoint:
        """The manifest of a step's checkpoint; its files are not read.

        Raises:
            CorruptCheckpoint: there is none, or its manifest is damaged.
        """
        return self._checkpoint(step, self._manifest(step))

    def verify(self, step: int) -> Checkpoint:
        """The checkpoint of a step, every file read and compared with the manifest.

        Raises:
            CorruptCheckpoint: a file is missing or differs; the message names it and a step to continue from.
        """
        manifest = self._manifest(step)
        for name, facts in manifest["files"].items():
            path = self.path(step) / name
            if ".." in Path(name).parts or Path(name).is_absolute():
                raise self._corrupt(step, path, "its manifest names a file outside of it")
            if not path.is_file() or path.is_symlink():
                raise self._corrupt(step, path, "the file is missing")
            if path.stat().st_size != facts["size"]:
                raise self._corrupt(
                    step, path, f"the file has {path.stat().st_size} bytes where {facts['size']} were saved"
                )
            if _hash(path) != facts["blake2b"]:
                raise self._corrupt(step, path, "the file differs from what was saved")
        return self._checkpoint(step, manifest)

    def _checkpoint(self, step: int, manifest: Mapping[str, Any]) -> Checkpoint:
        offsets = {int(k): v for k, v in manifest["offsets"].items()}
        rest = {k: manifest[k] for k in ("score", "notes") if k in manifest}
        return Checkpoint(path=self.path(step), step=manifest["step"], offsets=offsets, **rest)

    def _manifest(self, step: int) -> dict[str, Any]:
        path = self.path(step) / MANIFEST
        if not path.parent.is_dir():
            there = ", ".join(map(str, self.steps())) or "none"
            raise CorruptCheckpoint(f"{path.parent}: there is no checkpoint of step {step}; there are: {there}")
        try:
            body = json.loads(path.read_bytes())
            digest = body.pop("digest")
        except (OSError, ValueError, KeyError, AttributeError, RecursionError) as error:
            raise self._corrupt(step, path, f"the manifest cannot be read ({error})") from error
        if digest != _digest(body):
            raise self._corrupt(step, path, "the manifest differs from what was saved")
        if body["format"] != _FORMAT or body["step"] != step:
            raise self._corrupt(step, path, f"the manifest is of step {body['step']}, format {body['format']}")
        return body

    def _corrupt(self, step: int, path: Path, what: str) -> CorruptCheckpoint:
        fix = self._way_on([s for s in self.steps() if s != step])
        return CorruptCheckpoint(f"{path}: {what}; the checkpoint of step {step} was whole once; {fix}")

    def gone(self, step: int, left: Sequence[int]) -> CorruptCheckpoint:
        """The error for a checkpoint that the ledger tells of and that is not there; `left` are those to go on from."""
        return CorruptCheckpoint(
            f"{self.path(step)}: the ledger tells of a checkpoint of step {step}, but it is gone; {self._way_on(left)}"
        )

    def _way_on(self, left: Sequence[int]) -> str:
        if not left:
            return "restore it from a copy; there is no other checkpoint, so the alternative is a new run"
        run = shlex.quote(str(self.folder.parent))
        return f"restore it from a copy, or `quintain train --resume {run} --from {left[-1]}` continues from step {left[-1]}"

    def set_aside(self, step: int) -> None:
        """Move a checkpoint whose manifest cannot be read, and that the run goes on without, out of the way."""
        aside = self.folder.parent / "damaged"
        self.disk.make_folder(aside)
        number = len(list(aside.iterdir()))
        self.disk.rename(self.path(step), aside / f"{number}-{self.path(step).name}")
        self.disk.sync_folder(self.folder)

    def prune(self, keep: int, doomed: frozenset[int] = frozenset()) -> None:
        """Delete all but the newest `keep` checkpoints and the best by score; `doomed` steps do not count."""
        scores: dict[int, float | None] = {}
        for step in self.steps():
            with contextlib.suppress(CorruptCheckpoint):  # one that cannot be read is left for a person to judge
                scores[step] = self.read(step).score
        alive = [s for s in scores if s not in doomed]
        rated = [s for s in alive if scores[s] is not None]
        best = {max(rated, key=lambda s: (scores[s], s))} if rated else set()
        for step in scores.keys() - set(alive[-max(keep, 1) :]) - best:
            trash = self.folder / f"{_TRASH}{self.path(step).name}"
            if trash.exists():
                self.disk.remove(trash)
            self.disk.rename(self.path(step), trash)
            self.disk.remove(trash)


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode):
            yield path
        elif not stat.S_ISDIR(mode):
            raise QuintainError(
                f"{path}: a checkpoint holds plain files only; write a file instead of a link or device"
            )


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).hexdigest()


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(body, sort_keys=True).encode(), digest_size=16).hexdigest()
