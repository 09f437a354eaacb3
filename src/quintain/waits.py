"""Who waits, for whom, since when and until when: a register of the awaits of this process, cheap enough for each of them.

A place that awaits something outside of it says so with one line, `with waiting(...)`. Another thread reads the register: the
status that a run writes about itself, and `quintain doctor`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import Any, NamedTuple

Who = str | int | tuple[int, ...]

PROGRESS = frozenset({"env", "engine", "reward", "actor", "group", "update", "demo"})  # kinds whose end moves a run on

_open: dict[int, waiting] = {}
_ended: dict[str, int] = {}


class Wait(NamedTuple):
    """One open wait, as the register saw it.

    `who` waits: a ticket, a (ticket, member), or a name. `on` is what it waits for, `since_s` for how long already; after
    `limit_s` it is given up (0: never).
    """

    kind: str
    who: Who
    on: Any
    since_s: float
    limit_s: float


class waiting:
    """Says, while it is entered, that `who` waits. Use it around an await (or a call that blocks) of the outside world.

    An end without an exception counts as one of its kind, which is how the run knows that it moves.

    Args:
        kind: what sort of wait: `take`, `admit`, `env`, `engine`, `reward`, `actor`, `update`...
        who: a ticket, a tuple that begins with ticket and member, or a name.
        on: what is waited for: text, plain data, or a function that gives it when somebody asks.
        limit_s: seconds after which the wait is given up; 0 for never.

    Example:
        >>> with waiting("env", (12, 3), "step", 60.0):
        ...     [(w.kind, w.who, w.on, w.limit_s) for w in waits()]
        [('env', (12, 3), 'step', 60.0)]
        >>> waits()
        []
    """

    __slots__ = ("kind", "limit_s", "on", "since", "who")

    def __init__(self, kind: str, who: Who = "", on: Any = "", limit_s: float = 0.0) -> None:
        self.kind, self.who, self.on, self.limit_s = kind, who, on, limit_s

    def __enter__(self) -> waiting:
        self.since = time.monotonic()
        _open[id(self)] = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del _open[id(self)]
        if kind is None:
            done(self.kind)


def _beside(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Paced:
    """Says how far long work is, at most every `every_s`, the first time after that long: what is quick stays silent.

    Args:
        say: tells a person; unless told, on standard error, beside what a program may read.
        every_s: seconds.

    Example:
        >>> said = []
        >>> tell = Paced(said.append, every_s=0.0)
        >>> tell("3 of 9 worlds")
        >>> said
        ['3 of 9 worlds']
    """

    __slots__ = ("due", "every_s", "say")

    def __init__(self, say: Callable[[str], None] = _beside, every_s: float = 10.0) -> None:
        self.say, self.every_s = say, every_s
        self.due = monotonic() + every_s

    def __call__(self, text: str) -> None:
        """`text`, if it is time."""
        if monotonic() >= self.due:
            self.due = monotonic() + self.every_s
            self.say(text)


def done(kind: str, count: int = 1) -> None:
    """Count `count` ends of a kind that no wait stands for."""
    _ended[kind] = _ended.get(kind, 0) + count


def waits() -> list[Wait]:
    """The open waits, the oldest first. Any thread may call it."""
    now = time.monotonic()
    found = [Wait(w.kind, w.who, _said(w.on), now - w.since, w.limit_s) for w in list(_open.values())]
    return sorted(found, key=lambda w: -w.since_s)


def ended() -> dict[str, int]:
    """How many waits of each kind have ended well since the process began."""
    return dict(_ended)


def _said(on: Any | Callable[[], Any]) -> Any:
    if not callable(on):
        return on
    try:
        return on()
    except Exception as error:  # it looks at what another thread changes
        return f"(not known: {type(error).__name__})"
