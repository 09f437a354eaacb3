"""Small records for the ledger's tests, and disks that fail."""

from __future__ import annotations

import errno
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quintain.ledger.disk import Disk
from quintain.types import Event, Group, Kind, Node, Role, Sampling, Span, Stop, Task, Trajectory


def build_event(kind: str = "metrics", step: int = 0, **payload: Any) -> Event:
    return Event(time=float(step), step=step, actor="test", kind=kind, payload=payload)


def build_group(ticket: int, members: int = 2, turns: int = 3) -> Group:
    """A group of plain episodes; equal tickets, equal groups."""
    rng, sampling = random.Random(ticket), Sampling(max_tokens=4)
    trajectories = []
    for member in range(members):
        nodes: list[Node] = []
        for turn in range(turns):
            seen = tuple(rng.randrange(60) for _ in range(6))
            nodes.append(Node.given(len(nodes) - 1 if nodes else None, seen, turn=turn, text="you see a door"))
            drawn = tuple(rng.randrange(300) for _ in range(2))
            nodes.append(
                Node(
                    parent=len(nodes) - 1,
                    role=Role.assistant,
                    kind=Kind.sampled,
                    tokens=drawn,
                    mask=(True, True),
                    logprobs=(-rng.randrange(64) / 64, -rng.randrange(64) / 64),
                    spans=(Span(start=0, stop=2, version=ticket // 4),),
                    turn=turn,
                    text="go",
                    sampling=sampling,
                )
            )
        trajectories.append(
            Trajectory(
                id=f"{ticket}.{member}",
                nodes=tuple(nodes),
                stop=Stop.done,
                rewards={"goal": float(rng.random() < 0.5)},
                digests=tuple(f"{rng.getrandbits(128):032x}" for _ in range(turns)),
                actions=("go",) * turns,
            )
        )
    task = Task(key=f"task/{ticket}", env="KeyDoor", seed=ticket, level=2)
    return Group(task=task, trajectories=tuple(trajectories), ticket=ticket, version=ticket // 4)


class FullDisk(Disk):
    """Has room for `room` more bytes of writes; a write that does not fit is half done."""

    def __init__(self, room: float = float("inf")) -> None:
        self.room = room
        self.syncs = 0
        self.fail_sync = 0

    def write(self, fd: int, data: bytes, at: int) -> None:
        fits = min(len(data), int(min(self.room, 1 << 40)))
        super().write(fd, data[:fits], at)
        self.room -= fits
        if fits < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def sync(self, fd: int) -> None:
        self.syncs += 1
        if self.fail_sync > 0:
            self.fail_sync -= 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().sync(fd)


@pytest.fixture(scope="session")
def fresh_folder() -> Iterator[Callable[[], Path]]:
    """Makes new folders, in memory where there is some: hundreds of syncs of a busy disk would prove nothing more."""
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    root = tempfile.mkdtemp(prefix="quintain-", dir=shared)
    yield lambda: Path(tempfile.mkdtemp(dir=root))
    shutil.rmtree(root)


@pytest.fixture
def tmp_path(fresh_folder: Callable[[], Path]) -> Iterator[Path]:
    """A folder in memory instead of pytest's own."""
    folder = fresh_folder()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def event() -> Callable[..., Event]:
    return build_event


@pytest.fixture
def make_group() -> Callable[..., Group]:
    return build_group


@pytest.fixture(scope="session")
def builders() -> tuple[Callable[..., Event], Callable[..., Group]]:
    return build_event, build_group


@pytest.fixture
def full_disk() -> FullDisk:
    return FullDisk()


@pytest.fixture(scope="session")
def full_disks() -> type[FullDisk]:
    return FullDisk


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "run"
