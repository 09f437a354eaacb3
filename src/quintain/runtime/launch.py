"""Ranks on this machine: the first is this process, the others are `python -m quintain.runtime.rank` children.

Each rank plays and trains its share of every step; gradients and totals are summed over loopback. A child lives only while
its parent holds the other end of its standard input, so that no rank is left behind.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from quintain.types import QuintainError


class RankError(QuintainError):
    """A rank ended early; the message holds the end of its log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which rank of how many this process is, the loopback port where they meet, and where the run begins.

    With `resume` it goes on from a checkpoint: that of `step` (rank 0 says which), or the newest.
    """

    rank: int = 0
    size: int = 1
    port: int = 0
    resume: bool = False
    step: int | None = None

    @property
    def first(self) -> bool:
        """Whether this rank writes what is written once: checkpoints, evaluations, the terminal."""
        return self.rank == 0


def free_port() -> int:
    """A loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def ranks(folder: Path, size: int, *, resume: bool = False, step: int | None = None) -> Iterator[Place]:
    """Start the other ranks of the run in `folder`, yield the place of this one, and end them all at exit.

    Raises:
        RankError: a rank failed; the end of its log is quoted.
    """
    place = Place(size=size, port=free_port() if size > 1 else 0, resume=resume, step=step)
    children = [_start(folder, replace(place, rank=r)) for r in range(1, size)]
    try:
        yield place
    except BaseException as error:
        failed = [(r, c) for r, c in enumerate(children, 1) if c.poll() not in (None, 0)]
        if failed and isinstance(error, Exception):
            raise RankError(_told(folder, *failed[0])) from error
        raise
    finally:
        _end(children)


def _start(folder: Path, place: Place) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "quintain.runtime.rank",
        str(folder),
        str(place.rank),
        str(place.size),
        str(place.port),
    ]
    with (folder / f"rank{place.rank}.log").open("ab") as log:
        return subprocess.Popen(
            [*command, *(["--resume"] if place.resume else [])],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")},
            start_new_session=True,  # Ctrl-C reaches the first rank, which tells the others
        )


def _told(folder: Path, rank: int, child: subprocess.Popen[bytes]) -> str:
    log = folder / f"rank{rank}.log"
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-12:]) if log.exists() else ""
    return f"rank {rank} ended with status {child.returncode}; the end of {log}:\n{tail}"


def _end(children: list[subprocess.Popen[bytes]]) -> None:
    for child in children:
        with contextlib.suppress(OSError):
            if child.stdin:
                child.stdin.close()  # the child's watcher sees it and leaves
    for child in children:
        try:
            child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
