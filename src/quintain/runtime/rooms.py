"""Folders in shared memory with the weights and the socket of a run whose first process starts actors."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
import time
from pathlib import Path

SHARED = Path("/dev/shm")
PREFIX, SOCKET = "quintain-", "socket"
YOUNG_S = 5.0  # a socket this new may be bound by a run that does not listen yet


def make_room(shared: Path = SHARED) -> Path:
    """A new folder in shared memory, or on disk where there is none; what killed runs of this user left there is removed.

    Special cases: actors remove the room of a killed run themselves; one is left only where they were killed with it.
    """
    if not os.access(shared, os.W_OK):
        return Path(tempfile.mkdtemp(prefix=PREFIX))
    for address in shared.glob(f"{PREFIX}*/{SOCKET}"):
        with contextlib.suppress(OSError):
            found = address.stat()
            ours, young = found.st_uid == os.getuid(), time.time() - found.st_mtime < YOUNG_S
            if ours and not young and deserted(address):
                shutil.rmtree(address.parent, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=PREFIX, dir=shared))


def clear(address: Path, patience_s: float = 2.0) -> bool:
    """Remove the room of a socket that is deserted; whether it was.

    Special cases: of a process that is killed, the connections may end some time before the socket that it listens at, hence the
    patience; one that lives on is left alone.
    """
    until = time.monotonic() + patience_s
    while not deserted(address):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    shutil.rmtree(address.parent, ignore_errors=True)
    return True


def deserted(address: Path) -> bool:
    """Whether nobody listens at a unix socket any more: the first process was killed.

    Special cases: a first process that is stopped, or too busy to accept, still listens.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(address))
        except (ConnectionRefusedError, FileNotFoundError):
            return True
        except OSError:
            return False
    return False
