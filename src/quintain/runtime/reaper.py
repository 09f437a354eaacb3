"""Ends what is left of a Ray of our own once the process that started it is gone.

Ray's own agents outlive a killed driver. Every process of that Ray has the private folder in its environment or, where it has written
its title over that, its log in the folder: so it is known. The reaper waits for the end of its standard input, ends them, and removes
the folder with the token.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from pathlib import Path

import psutil

MARK = "QUINTAIN_RAY_ROOM"  # environment variable with the private folder


def of_room(room: Path) -> list[psutil.Process]:
    """The processes of Ray that were started for a private folder."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            line = " ".join(process.cmdline())
            of_ray = line.startswith("ray::") or f"{os.sep}ray{os.sep}" in line
            found += [process] if of_ray and process.pid != os.getpid() and _belongs(process, room) else []
    return found


def _belongs(process: psutil.Process, room: Path) -> bool:
    if process.environ().get(MARK) == str(room):
        return True
    for file in Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            if os.readlink(file).startswith(f"{room}{os.sep}"):
                return True
    return False


def reap(room: Path, patience_s: float = 3.0) -> int:
    """End them; those that do not leave by themselves in `patience_s` seconds are killed. Gives how many were killed."""
    _, stay = psutil.wait_procs(of_room(room), timeout=patience_s)
    stay = list({*stay, *of_room(room)})  # those that came meanwhile too
    for process in stay:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(stay, timeout=5)
    return len(stay)


def main(arguments: list[str]) -> None:
    """Wait until the starter is gone, however it ended; then leave nothing of its Ray."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the starter decides when all stop
    room = Path(arguments[0])
    while os.read(0, 1):
        pass
    reap(room)
    shutil.rmtree(room, ignore_errors=True)
