"""How further processes of a run begin: ranks, actors and env workers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import IO

from quintain.runtime.forks import Forked, ForkError, fork

Started = subprocess.Popen[bytes] | Forked


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


def begin(
    module: str, *words: str, log: IO[bytes], stdin: bool = False, check_in: Callable[[], None] = lambda: None
) -> Started:
    """As `start`, but split off from the fork server where there is one that fits: without the seconds that imports take.

    Args:
        module: its main, a function of the words.
        words: its arguments.
        log: an open file.
        stdin: whether its standard input is a pipe, with our end in `stdin` of what is returned.
        check_in: called again and again while a fork server still imports; what it raises ends the wait.
    """
    try:
        return fork(module, *words, log=log, stdin=stdin, check_in=check_in)
    except ForkError:
        return start(module, *words, log=log, stdin=subprocess.PIPE if stdin else subprocess.DEVNULL)
