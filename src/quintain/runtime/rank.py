"""The main of a further rank: `python -m quintain.runtime.rank FOLDER RANK SIZE PORT [--resume]`."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

from quintain import config as configs
from quintain.runtime.assemble import play
from quintain.runtime.launch import FAILED, Place
from quintain.runtime.signals import Asked
from quintain.types import QuintainError

ORPHANED = 75  # exit status when the first rank went away


def main(arguments: list[str]) -> None:
    """Join the run in FOLDER as rank RANK of SIZE and train until it ends."""
    folder, rank, size, port = Path(arguments[0]), *(int(a) for a in arguments[1:4])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the first rank decides when all stop
    asked = Asked()
    threading.Thread(target=_watch_parent, args=(asked.drain,), daemon=True).start()
    try:
        config = configs.make(folder / "config.toml")
        place = Place(rank=rank, size=size, port=port, resume="--resume" in arguments)
        play(config, folder, place, ready=asked.ready)
    except QuintainError as error:
        traceback.print_exc()
        print(f"{FAILED}{type(error).__name__}: {error}", file=sys.stderr, flush=True)  # the first rank quotes it
        sys.exit(1)


def _watch_parent(drain: Callable[[], None]) -> None:
    while os.read(0, 1):  # a byte asks to drain; unbuffered, so nothing is locked at exit
        drain()
    os._exit(ORPHANED)  # the parent's end is closed, however it died


if __name__ == "__main__":
    main(sys.argv[1:])
