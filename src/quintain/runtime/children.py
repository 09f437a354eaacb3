"""How further processes of a run begin: ranks, actors and env workers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import IO


def start(
    module: str, *words: str, log: IO[bytes], stdin: int = subprocess.DEVNULL, keep: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Start `python -m MODULE WORDS...`, which prints into `log`, with one thread for matrix products unless the user says otherwise.

    It has a session of its own: Ctrl-C reaches the first process alone, which ends the others; and it may be ended with all that it
    started itself.

    Args:
        module: its main.
        words: its arguments.
        log: an open file.
        stdin: nothing, by default, or a pipe.
        keep: descriptors that it inherits.
    """
    return subprocess.Popen(
        [sys.executable, "-m", module, *words],
        stdout=log,
        stderr=subprocess.STDOUT,
        env={**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")},
        start_new_session=True,
        stdin=stdin,
        pass_fds=keep,
    )
