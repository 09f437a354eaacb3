"""Programs that tests start, split off from one fork server: they need not import again what the test before has.

`python -m tests.programs FILE WORDS...` does what `python FILE WORDS...` does.
"""

from __future__ import annotations

import os
import runpy
import select
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from quintain.runtime import forks
from quintain.runtime.children import Started
from quintain.runtime.children import begin as begin_process


def begin(file: Path | str, *words: str, log: IO[bytes]) -> Started:
    """Start the program of a file with some words; it prints into `log`."""
    forks.ready()
    return begin_process("tests.programs", str(file), *words, log=log)


def run(file: Path | str, *each: Sequence[str], folder: Path, timeout: float) -> None:
    """Start the program of a file once for each list of words, and wait until all have ended well; they print into the folder."""
    logs = [folder / f"{Path(file).stem}-{i}-of-{len(each)}.log" for i in range(len(each))]
    running: list[Started] = []
    limit = time.monotonic() + timeout
    try:
        for words, path in zip(each, logs, strict=True):
            with path.open("wb") as log:
                running.append(begin(file, *words, log=log))
        found = [process.wait(limit - time.monotonic()) for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()
    assert not any(found), [path.read_text() for path in logs]


def alive(pid: int) -> bool:
    """Whether a process of this machine has not ended; one that nobody has waited for yet has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:  # it may go between two looks at it
        return False


def ended(pid: int, seconds: float = 10.0) -> bool:
    """Whether a process of this machine, anybody's child, has ended within so long; the kernel tells when."""
    try:
        told = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([told], [], [], seconds)[0])
    finally:
        os.close(told)


def main(words: Sequence[str]) -> None:
    """Be the program of a file."""
    sys.argv = list(words)
    runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
