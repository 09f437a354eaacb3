"""A toy run on a real run folder, and disks that kill, cut the power, or fill up, at any chosen operation."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quintain.ledger import NotARun, RunDir
from quintain.ledger.disk import Disk
from quintain.types import Event, Group, Kind, Node, Role, Span, Stop, Task, Trajectory

GROUPS = 3


def event(kind: str, step: int, **payload: Any) -> Event:
    return Event(time=0.0, step=step, actor="toy", kind=kind, payload=payload)


def toy_group(ticket: int, state: str) -> Group:
    """What the toy policy with this state plays: other states, other tokens."""
    drawn = tuple(hashlib.blake2b(f"{ticket} {state}".encode(), digest_size=4).digest())
    node = Node(
        parent=None,
        role=Role.assistant,
        kind=Kind.sampled,
        tokens=drawn,
        mask=(True,) * 4,
        logprobs=(-0.5,) * 4,
        spans=(Span(start=0, stop=4, version=0),),
    )
    trajectory = Trajectory(id=f"{ticket}.0", nodes=(node,), stop=Stop.done, rewards={"toy": drawn[0] / 256})
    return Group(task=Task(key=str(ticket), env="toy"), trajectories=(trajectory,), ticket=ticket)


def train_toy(
    home: Path, steps: int, disk: Disk, ack: Callable[[str], None] = lambda line: None, every: int = 3
) -> str:
    """Start or resume a run and train until `steps` steps are done; returns the final weights, a hash of all it saw."""
    try:
        run = RunDir.create(home, "toy = true", disk=disk)
    except NotARun:
        run = RunDir.open(home, "a", disk=disk)
    with run:
        found = run.latest_checkpoint()
        run.rewind(found)
        state = {"step": 0, "next": 0, "weights": "start"}
        if found is not None:
            state = json.loads((found.path / "state.json").read_text())
        while state["step"] < steps:
            state = _step(run, state, ack)
            if state["step"] % every == 0:
                run.checkpoint(state["step"], functools.partial(_save, dict(state)))
                ack(f"saved {state['step']}")
        run.append(event("stopped", state["step"], reason="done"))
        run.commit()
    return state["weights"]


def _save(state: dict[str, Any], folder: str) -> None:
    Path(folder, "state.json").write_text(json.dumps(state))
    Path(folder, "weights.bin").write_bytes(state["weights"].encode() * 200)


def _step(run: RunDir, state: dict[str, Any], ack: Callable[[str], None]) -> dict[str, Any]:
    step, tickets = state["step"], list(range(state["next"], state["next"] + GROUPS))
    run.append(*(event("issued", step, ticket=t) for t in tickets))
    run.commit()
    groups = [toy_group(t, state["weights"]) for t in tickets]
    run.append(*(event("played", step, group=g) for g in groups))
    run.blob(f"picture of step {step}".encode())
    weights = hashlib.blake2b(repr((state["weights"], groups)).encode(), digest_size=8).hexdigest()
    run.append(event("trained", step, tickets=tickets, digest=weights), event("metrics", step, x=float(step)))
    run.commit()
    ack(f"offset {run.offset}")
    return {"step": step + 1, "next": tickets[-1] + 1, "weights": weights}


class CacheDisk(Disk):
    """Does not wait for the platter: signal 9 leaves the kernel's cache alone, so syncs would only cost time."""

    def sync(self, fd: int) -> None:
        pass

    def sync_file(self, path: Path) -> None:
        pass

    def sync_folder(self, path: Path) -> None:
        pass


class KillingDisk(Disk):
    """Kills its own process with signal 9 at the `at`-th change to the disk: before it, half way, or after it."""

    def __init__(self, at: int, when: str) -> None:
        self.left, self.when = at, when

    def _around(self, change: Callable[[], None], half: Callable[[], None] | None = None) -> None:
        self.left -= 1
        if self.left == 0 and self.when == "half" and half is not None:
            half()
        if self.left == 0 and self.when != "after":
            os.kill(os.getpid(), signal.SIGKILL)
        change()
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def write(self, fd: int, data: bytes, at: int) -> None:
        self._around(lambda: Disk.write(self, fd, data, at), lambda: Disk.write(self, fd, data[: len(data) // 2], at))

    def sync(self, fd: int) -> None:
        self._around(lambda: None)

    def truncate(self, fd: int, size: int) -> None:
        self._around(lambda: Disk.truncate(self, fd, size))

    def sync_file(self, path: Path) -> None:
        self._around(lambda: None)

    def sync_folder(self, path: Path) -> None:
        self._around(lambda: None)

    def rename(self, old: Path, new: Path) -> None:
        self._around(lambda: Disk.rename(self, old, new))

    def remove(self, path: Path) -> None:
        self._around(lambda: Disk.remove(self, path))


@pytest.fixture(scope="session")
def memory_folder() -> Iterator[Path]:
    """A folder in memory where there is one: these tests decide themselves what a disk keeps."""
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="quintain-", dir=shared))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def place(memory_folder: Path) -> Iterator[Path]:
    """A fresh folder in memory."""
    folder = Path(tempfile.mkdtemp(dir=memory_folder))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def toy() -> Callable[..., str]:
    return train_toy


@pytest.fixture(scope="session")
def cache_disk() -> type[CacheDisk]:
    return CacheDisk


@pytest.fixture(scope="session")
def killing_disk() -> type[KillingDisk]:
    return KillingDisk
