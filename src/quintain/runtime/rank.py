"""The main of a further rank: `python -m quintain.runtime.rank FOLDER RANK SIZE PORT [--resume]`."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from pathlib import Path

from quintain import config as configs
from quintain.runtime.assemble import play
from quintain.runtime.launch import FAILED, Place
from quintain.types import QuintainError

ORPHANED = 75  # exit status when the first rank went away


def main(arguments: list[str]) -> None:
    """Join the run in FOLDER as rank RANK of SIZE and train until it ends."""
    folder, rank, size, port = Path(arguments[0]), *(int(a) for a in arguments[1:4])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the first rank decides when all stop
    threading.Thread(target=_watch_parent, daemon=True).start()
    try:
        config = configs.make(folder / "config.toml")
        play(config, folder, Place(rank=rank, size=size, port=port, resume="--resume" in arguments))
    except QuintainError as error:
        traceback.print_exc()
        print(f"{FAILED}{type(error).__name__}: {error}", file=sys.stderr, flush=True)  # the first rank quotes it
        sys.exit(1)


def _watch_parent() -> None:
    os.read(0, 1)  # returns when the parent's end closes, however it died; unbuffered, so nothing is locked at exit
    os._exit(ORPHANED)


if __name__ == "__main__":
    main(sys.argv[1:])
