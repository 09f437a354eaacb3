"""One writer per rank: a lock that dies with its process, and says who holds it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quintain.ledger.disk import explained
from quintain.ledger.errors import NotARun, RunLocked, RunMoved
from quintain.ledger.stream import lock_path, ranks


def _started(pid: int) -> str:
    """When the process began, in kernel ticks, to tell it from a later one of the same number; "" if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


class Lock:
    """Exclusive right to write; taken over from a process of this machine that is dead.

    The kernel frees the lock when its holder ends. Children that the holder forked may keep it: then the recorded
    process decides.

    Raises:
        RunLocked: a living process holds it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with explained(path, "locking the run"), open(path.with_name(path.name + ".guard"), "ab") as guard:
            fcntl.flock(guard, fcntl.LOCK_EX)
            self._fd = self._take()

    def _take(self) -> int:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            holder = read_holder(self.path)
            if alive(holder):
                raise RunLocked(
                    f"{self.path.parents[2]}: process {holder.get('pid')} on {holder.get('host')} writes to this run"
                    "; wait for it, stop it, or choose another run folder"
                ) from None
            self.path.unlink()
            return self._take()
        me = {"pid": os.getpid(), "host": socket.gethostname(), "started": _started(os.getpid())}
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(me).encode(), 0)
        return fd

    def prove(self) -> None:
        """Prove that the run is where it was when the lock was taken.

        Raises:
            RunMoved: its folder was moved, deleted or replaced meanwhile.
        """
        try:
            there = os.path.samestat(self.path.stat(), os.fstat(self._fd))
        except FileNotFoundError:
            there = False
        if not there:
            raise RunMoved(
                f"{self.path.parents[2]} was moved, deleted or replaced while the run went on, so its checkpoint would be lost: none is "
                "written; `quintain train --resume` goes on with the folder, wherever it is now, from its newest checkpoint"
            )

    def release(self) -> None:
        """Let others write."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = -1


def read_holder(path: Path) -> dict[str, Any]:
    """Who wrote the lock last: pid, host and start; empty when it was released."""
    try:
        holder = json.loads(path.read_text())
        return holder if isinstance(holder, dict) else {}
    except (OSError, ValueError):
        return {}


def alive(holder: dict[str, Any]) -> bool:
    """Whether the holder may still run; one on another machine counts as alive, nobody does not."""
    if not holder:
        return False
    return holder.get("host") != socket.gethostname() or _started(int(holder.get("pid", 0))) == holder.get("started")


@contextlib.contextmanager
def alone(path: str | Path, marker: str, doing: str) -> Iterator[Path]:
    """The folder of a run, which has the file `marker`, while no rank of it is written to.

    Raises:
        NotARun: the folder is not a run.
        RunLocked: a living process writes to it.
    """
    home, locks = Path(path).absolute(), contextlib.ExitStack()
    if not (home / marker).exists():
        raise NotARun(f"{home} is not a run folder: it has no {marker}; nothing was done to it")
    with locks, explained(home, doing):
        for path_of in (lock_path(home, rank) for rank in ranks(home)):
            if path_of.parent.is_dir():  # who has no such folder writes nothing
                locks.callback(Lock(path_of).release)
        yield home
