"""Where the threads of this process are, in a few lines."""

from __future__ import annotations

import sys
import threading
import traceback

DEPTH = 8
_OWN = ("MainThread", "watch", "pulse", "signals", "drain-deadline")


def stack_of(thread: threading.Thread, depth: int = DEPTH) -> list[str]:
    """The innermost frames of a thread as `file:line function`, the innermost last; nothing when it has ended."""
    frame = sys._current_frames().get(thread.ident or -1)
    if frame is None:
        return []
    frames = traceback.extract_stack(frame, limit=64)
    return [f"{f.filename}:{f.lineno} {f.name}" for f in frames[-depth:]]


def other_stacks() -> dict[str, list[str]]:
    """The stacks of the threads that do the work of a run beside the main one, by name."""
    return {t.name: stack_of(t) for t in threading.enumerate() if t.name not in _OWN}
