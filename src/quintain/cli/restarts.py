"""`quintain train --restarts N`: a small process that starts the run, and goes on with it when it dies of what is not its own error.

It imports neither torch nor the run, so that nothing of what ends a run can end it too.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

EXPLAINED = b"explained"  # what the run says before it ends with an error that another start would meet again
STEPPED = b"stepped"  # what it says after its first step or evaluation
FORKS = b"forks"  # what it says if processes are split off for it, so that the next one has a fork server ready too
STALLED, OVERDUE = 76, 124
LONGEST_S = 30.0
STANDBY = "import sys; from quintain.cli.standby import main; sys.exit(main(sys.argv[1:]))"
_PR_SET_PDEATHSIG = 1


class Process:
    """A process that has imported all that it needs before it is given the words of a run, so that a restart is quick.

    Args:
        forks: have it start a fork server for ranks and actors beforehand, too.
    """

    def __init__(self, forks: bool = False) -> None:
        mine, its = os.pipe()
        parent = os.getpid()
        self.fd, self.told = its, os.fdopen(mine, "rb")
        self.child = subprocess.Popen(
            [sys.executable, "-c", STANDBY, *(["forks"] if forks else [])],
            stdin=subprocess.PIPE,
            pass_fds=(its,),
            start_new_session=True,  # a Ctrl-C comes through the supervisor, once
            preexec_fn=lambda: end_with_parent(signal.SIGTERM, parent),
        )
        os.close(its)

    def begin(self, words: Sequence[str]) -> None:
        """Give it its words; one that has died meanwhile is a death like any other."""
        assert self.child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.write(json.dumps([*words, "--tell-fd", str(self.fd)]).encode() + b"\n")
            self.child.stdin.flush()

    def dismiss(self) -> None:
        """It is not needed."""
        self.child.kill()
        self.child.wait()
        self.told.close()


class Supervisor:
    """Starts `quintain train` with `words` and goes on with the run after every death by a signal or a crash.

    An orderly end, a refused setting and an error that was explained are final; a stall that ended the run is not. SIGTERM and
    SIGINT are handed on, and the run ends with its supervisor.

    Args:
        words: the command line of the run, without `--restarts`.
        limit: restarts in a row without a new checkpoint, >= 1.
    """

    def __init__(self, words: Sequence[str], limit: int) -> None:
        self.words, self.limit = list(words), limit
        self.folder: Path | None = None
        self.restarts = 0  # since the last checkpoint
        self.asked = 0
        self._child: subprocess.Popen[bytes] | None = None
        self._next: Process | None = None
        self._explained = self._forks = False

    def run(self) -> int:
        """Run to the end; the exit status of the last process."""
        before = {s: signal.signal(s, self._hand_on) for s in (signal.SIGTERM, signal.SIGINT)}
        try:
            newest, status = self._newest(), self._once()
            while self._again(status):
                newest, self.restarts = self._newest(), 0 if self._newest() > newest else self.restarts
                self.restarts += 1
                if self.restarts > self.limit:
                    _say(
                        f"{_told(status)}; {self.limit} restarts without a new checkpoint are enough: see {self.folder}"
                    )
                    break
                wait = 0.0 if self.restarts == 1 else min(LONGEST_S, 2.0 ** (self.restarts - 2))
                _say(
                    f"{_told(status)}; going on in {wait:g} s (restart {self.restarts} of {self.limit}): {self.folder}"
                )
                time.sleep(wait)
                if not self.asked:
                    status = self._once()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if self._next is not None:
                self._next.dismiss()
        return status if status >= 0 else 128 - status

    def _again(self, status: int) -> bool:
        if self.asked or self._explained or self.folder is None:
            return False
        return status < 0 or status in (1, STALLED, OVERDUE) or status > 128

    def _once(self) -> int:
        """Start the run, or go on with it, and wait for its end."""
        words = ["--resume", str(self.folder)] if self.folder else self.words
        process, self._next = self._next or Process(), None
        self._child = process.child
        process.begin(words)
        if self.asked:  # between two starts
            self._child.terminate()
        first = process.told.readline().rstrip(b"\n")
        self._explained = first == EXPLAINED  # refused before it had a folder
        if first and not self._explained:
            self.folder = Path(os.fsdecode(first))
        for line in process.told:  # until it ends
            self._explained = self._explained or EXPLAINED in line
            self._forks = self._forks or FORKS in line
            if STEPPED in line and self._next is None and not self.asked:
                self._next = Process(self._forks)  # not before: until then the run and its actors need the processor
        process.told.close()
        return self._child.wait()

    def _newest(self) -> int:
        steps = self.folder.glob("checkpoints/step-*") if self.folder else ()
        return max((int(p.name.partition("-")[2]) for p in steps if p.name.partition("-")[2].isdigit()), default=-1)

    def _hand_on(self, number: int, frame: FrameType | None) -> None:
        self.asked += 1
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(number)


def end_with_parent(sign: int, parent: int) -> None:
    """Ask the kernel to send this process `sign` when its parent, process `parent`, ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(sign), 0, 0, 0)
    if os.getppid() != parent:  # it has ended already
        os.kill(os.getpid(), sign)


def _told(status: int) -> str:
    if status >= 0:
        return f"the run ended with status {status}"
    return f"the run was ended by {signal.Signals(-status).name}"


def _say(text: str) -> None:
    print(f"quintain: {text}", file=sys.stderr, flush=True)
