"""Ranks on this machine: the first is this process, the others are `python -m quintain.runtime.rank` children.

Each rank plays and trains its share of every step; gradients and totals are summed over loopback. A child lives only while
its parent holds the other end of its standard input, so that no rank is left behind.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from quintain.config import Config, ConfigError
from quintain.runtime import forks
from quintain.runtime.children import Started, begin
from quintain.runtime.signals import StoppedEarly
from quintain.types import QuintainError

FAILED = "rank failed: "  # before the message of a typed error, in the log of its rank
_GONE_S = 5.0  # how long a rank may take to end once its connection is lost


def _nothing() -> None: ...


class RankError(QuintainError):
    """A rank ended early; the message holds the end of its log, or that of its error where it has a name."""


@dataclass(frozen=True, slots=True)
class Child:
    """A further rank: its process, its log, and where its own part of that log begins."""

    rank: int
    process: Started
    log: Path
    since: int = 0

    @property
    def failed(self) -> bool:
        """Whether it has ended, and not well."""
        return self.process.poll() not in (None, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which rank of how many this process is, the loopback port where they meet, and where the run begins.

    With `resume` it goes on from a checkpoint: that of `step` (rank 0 says which), or the newest. `check_in` is called while the
    ranks meet; what it raises ends the start. `changed` are settings that are others than they were at that checkpoint, with both values.
    """

    rank: int = 0
    size: int = 1
    port: int = 0
    resume: bool = False
    step: int | None = None
    others: tuple[Child, ...] = ()
    check_in: Callable[[], None] = _nothing
    changed: Mapping[str, Any] = field(default_factory=dict)

    def tell(self) -> None:
        """Ask the other ranks to drain; any thread may call it."""
        for child in self.others:
            with contextlib.suppress(OSError, ValueError):  # it is gone, or is being ended
                assert child.process.stdin is not None
                os.write(child.process.stdin.fileno(), b"d")

    @property
    def first(self) -> bool:
        """Whether this rank writes what is written once: checkpoints, evaluations, the terminal."""
        return self.rank == 0


def groups_of_rank(config: Config, size: int) -> int:
    """The groups that each of `size` ranks plays in a step.

    Raises:
        ConfigError: they cannot share equally.
    """
    count = config.run.groups_per_step
    if count % size:
        raise ConfigError(
            f"run.groups_per_step is {count}, which {size} processes cannot share equally; make it a multiple of {size}"
        )
    return count // size


def free_port() -> int:
    """A loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def ranks(
    folder: Path,
    size: int,
    *,
    resume: bool = False,
    step: int | None = None,
    check_in: Callable[[], None] = _nothing,
) -> Iterator[Place]:
    """Start the other ranks of the run in `folder`, yield the place of this one, and end them all at exit.

    Raises:
        RankError: a rank failed; the end of its log is quoted.
        StoppedEarly: `check_in` raised it while the ranks met.
    """
    place = Place(size=size, port=free_port() if size > 1 else 0, resume=resume, step=step)
    children = list[Child]()

    def look() -> None:
        check_in()
        if found := next((c for c in children if c.failed), None):
            raise RankError(_told(found))

    try:
        if size > 1:
            _load(check_in)
        for rank in range(1, size):
            children.append(_start(folder, replace(place, rank=rank), check_in))
        yield replace(place, others=tuple(children), check_in=look)
        _leave(children)
    except StoppedEarly:
        for child in children:
            child.process.kill()  # it may still import, deaf to its standard input; it has nothing to finish
        raise
    except Exception as error:
        if children and (found := _cause(error, children)):
            raise RankError(_told(found)) from error
        raise
    finally:
        _end(children)


def _cause(error: Exception, children: list[Child]) -> Child | None:
    """The rank that failed and so ended this one; None where this one has an error of its own to tell of."""
    from quintain.learn.ranks import RankError as LostRank  # with torch

    if isinstance(error, QuintainError) and not isinstance(error, LostRank):
        return None
    until = time.monotonic() + _GONE_S
    while isinstance(error, LostRank) and time.monotonic() < until and not any(c.failed for c in children):
        time.sleep(0.05)  # a process ends a little later than its connections
    return next((c for c in children if c.failed), None)


def _load(check_in: Callable[[], None]) -> None:
    """Import what this rank needs, here too, while the fork server does; who asks the run to stop does not wait for it."""

    def load() -> None:
        with contextlib.suppress(
            Exception
        ):  # who needs it meets the error again; an interpreter that ends meanwhile makes some too
            forks.load()

    loading = threading.Thread(target=load, daemon=True)
    loading.start()
    while loading.is_alive():
        check_in()
        loading.join(0.05)


def _start(folder: Path, place: Place, check_in: Callable[[], None]) -> Child:
    words = [str(folder), str(place.rank), str(place.size), str(place.port), *(["--resume"] if place.resume else [])]
    path = folder / f"rank{place.rank}.log"
    with path.open("ab") as log:
        since = log.tell()  # now: what the rank writes moves the end that both share
        process = begin("quintain.runtime.rank", *words, log=log, stdin=True, check_in=check_in)
        return Child(place.rank, process, path, since)


def _told(child: Child) -> str:
    """What a rank that failed left in its log: the message of an error with a name, or else the last lines."""
    text = child.log.read_bytes()[child.since :].decode(errors="replace") if child.log.exists() else ""
    ended = f"rank {child.rank} ended with status {child.process.returncode}"
    if FAILED in text:
        return f"{ended}: {text.rpartition(FAILED)[2].strip()}"
    return f"{ended}; the end of {child.log}:\n" + "\n".join(text.splitlines()[-12:])


def _leave(children: list[Child]) -> None:
    """After an orderly end the others have little left to do."""
    until = time.monotonic() + _GONE_S / 2
    for child in children:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.process.wait(max(0.0, until - time.monotonic()))


def _end(children: list[Child]) -> None:
    for child in children:
        with contextlib.suppress(OSError):
            if child.process.stdin:
                child.process.stdin.close()  # the child's watcher sees it and leaves
    for child in children:
        try:
            child.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            child.process.kill()
            child.process.wait()
