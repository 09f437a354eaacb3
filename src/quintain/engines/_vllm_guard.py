"""Stands between a run and a server that it started: when the run is gone, so is the server with all of its children.

Run by its path, with standard library only and one thread. It ends everything and itself when its standard input
closes (the run left, or was killed: then its folder goes too, unless a byte came before), or when the server ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

SUBREAPER, DEATH_SIGNAL = 36, 1  # prctl: adopt orphaned descendants; die with the parent
GRACE_S = 5.0


def parents() -> dict[int, int]:
    """Parent of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def descendants(root: int) -> list[int]:
    """All processes below `root`."""
    above, found = parents(), [root]
    for process in found:
        found += [child for child, parent in above.items() if parent == process]
    return found[1:]


def tidies(process: int) -> bool:
    """Whether a process is the one of Python's that removes shared memory once its users are gone."""
    try:
        return b"resource_tracker" in (Path("/proc") / str(process) / "cmdline").read_bytes()
    except OSError:
        return False


def end(server: subprocess.Popen[bytes]) -> None:
    """Ask the server to end, then kill whatever is left below this process; what tidies up after the dead comes last."""
    server.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(GRACE_S)
    begin = time.monotonic()
    while (left := descendants(os.getpid())) and time.monotonic() < begin + 2 * GRACE_S:
        patient = time.monotonic() < begin + GRACE_S
        for process in left:
            if not (patient and tidies(process)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.01)


def main(folder: str, command: list[str]) -> int:
    """Run the command until it ends or nobody wants it any more; its exit status."""
    room = Path(folder)
    libc = ctypes.CDLL(None)
    libc.prctl(SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)

    def tie() -> None:
        libc.prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)

    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=tie)
    (room / "pid.tmp").write_text(str(server.pid))
    os.replace(room / "pid.tmp", room / "pid")
    ended = os.pidfd_open(server.pid)
    ready, _, _ = select.select([0, ended], [], [])
    lost = 0 in ready and not os.read(0, 1)
    end(server)
    if lost:
        shutil.rmtree(room, ignore_errors=True)
    return abs(server.returncode or 0)
