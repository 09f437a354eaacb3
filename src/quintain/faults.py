"""Named fault points: places of the code at which a test may kill, stop, delay or starve the process. In a run they do nothing.

A plan is a JSON file that the environment variable `QUINTAIN_FAULTS` names; only the chaos harness sets it. Each fault of it is
taken once, by the first process that comes by its point for the n-th time, and leaves a file beside the plan that tells so: the
first process of a run and all that it starts share one plan, and what is started anew does not meet the same fault again.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from quintain.types import QuintainError

VARIABLE = "QUINTAIN_FAULTS"
FOREVER_S = 3600.0

_LIFE = frozenset({"kill", "stop", "delay"})
_DISK = _LIFE | {"raise", "enospc"}
_CALL = _LIFE | {"raise"}

POINTS: Mapping[str, frozenset[str]] = {
    "ledger.before_write": _DISK,
    "ledger.before_sync": _DISK,
    "ledger.after_sync": _LIFE,
    "ledger.before_rename": _DISK,
    "ledger.after_rename": _DISK,
    "checkpoint.begin": _DISK,
    "checkpoint.before_rename": _DISK,
    "checkpoint.after_rename": _LIFE,
    "publish.before_file": _DISK,
    "publish.after_file": _DISK,
    "crew.hand_out": _LIFE,
    "crew.send": _LIFE,
    "crew.receive": _LIFE,
    "actor.play": _CALL | {"hang"},
    "actor.load": _LIFE | {"hang"},
    "env.answer": _LIFE | {"hang"},
    "reward.call": _CALL,
    "window.take": _CALL,
    "learner.update": _CALL,
    "run.record": _CALL,
}
"""Every point and what may happen there: what a process must survive, or end from in a way that a resumed run makes good."""


class FaultPlanError(QuintainError):
    """A plan names a point or an action that there is not, or cannot be read."""


class InjectedFault(QuintainError):
    """A plan asked for an error at a point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """At the `hit`-th time (from 1) that a process comes by `point`, do `action`; `delay` and `hang` last `seconds`.

    Actions: `kill` (signal 9 to itself), `stop` (signal STOP to itself: somebody else must continue it), `delay`, `hang` (the whole
    process, an hour unless `seconds` says otherwise), `raise` (an I/O error of the disk, or `InjectedFault`), `enospc` (a full disk).

    Raises:
        FaultPlanError: there is no such point, or nothing of the kind may happen there.
    """

    point: str
    action: str
    hit: int = 1
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.point not in POINTS:
            raise FaultPlanError(f"there is no fault point {self.point!r}; there are {', '.join(POINTS)}")
        if self.action not in POINTS[self.point]:
            may = ", ".join(sorted(POINTS[self.point]))
            raise FaultPlanError(f"fault point {self.point} knows no action {self.action!r}; it knows {may}")
        if self.hit < 1 or self.seconds < 0:
            raise FaultPlanError(
                f"a fault needs hit >= 1 and seconds >= 0; {self.point} has {self.hit} and {self.seconds}"
            )


def draw(seed: int, points: Sequence[str], *, count: int = 3, hits: int = 6) -> tuple[Fault, ...]:
    """The faults of a seed.

    Args:
        seed: all is drawn from it.
        points: where they may strike.
        count: how many faults.
        hits: the largest number of a hit.

    Example:
        >>> draw(3, ["run.record"]) == draw(3, ["run.record"])
        True
    """
    rng, out = Random(seed), []
    for _ in range(count):
        point = rng.choice(sorted(points))
        action = rng.choice(sorted(POINTS[point]))
        seconds = round(rng.uniform(0.01, 0.3), 3) if action == "delay" else 0.0
        out.append(Fault(point=point, action=action, hit=rng.randint(1, hits), seconds=seconds))
    return tuple(out)


def write(path: Path, faults: Sequence[Fault], seed: int = 0) -> dict[str, str]:
    """Write a plan and give the environment variable that puts it into force in processes that are started with it."""
    path.write_text(json.dumps({"seed": seed, "faults": [asdict(f) for f in faults]}, indent=1) + "\n")
    return {VARIABLE: str(path)}


def read(path: Path) -> tuple[Fault, ...]:
    """The faults of a plan.

    Raises:
        FaultPlanError: it cannot be read, or names what there is not.
    """
    try:
        return tuple(Fault(**row) for row in json.loads(path.read_text())["faults"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FaultPlanError(f"{path} is not a plan of faults: {type(error).__name__}: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """A fault that was taken, and by which process."""

    fault: Fault
    pid: int


def struck(path: Path) -> list[Strike]:
    """The faults of a plan that were taken so far, in the order of the plan."""
    out = []
    for i, fault in enumerate(read(path)):
        with contextlib.suppress(OSError, ValueError):
            out.append(Strike(fault=fault, pid=int(_mark(path, i).read_text())))
    return out


def point(name: str) -> None:
    """A place at which a plan may strike. Without a plan this is one look at a global.

    Raises:
        InjectedFault, OSError: the plan says so.
    """
    if _plan is not None:
        _plan.passed(name)


class _Plan:
    """The plan in force, and how often this process has come by each point."""

    def __init__(self, path: Path) -> None:
        self.path, self.faults = path, read(path)
        self.hits: Counter[str] = Counter()

    def passed(self, name: str) -> None:
        if name not in POINTS:
            raise FaultPlanError(f"the code names a fault point {name!r} that faults.POINTS does not list")
        self.hits[name] += 1
        for i, fault in enumerate(self.faults):
            if fault.point == name and fault.hit == self.hits[name] and self._claim(i):
                _strike(fault)

    def _claim(self, number: int) -> bool:
        """Whether this process is the first to take a fault; a killed one has left its mark by then."""
        try:
            fd = os.open(_mark(self.path, number), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            return False
        with os.fdopen(fd, "w") as file:
            file.write(str(os.getpid()))
        return True


def _mark(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.struck-{number}")


def _strike(fault: Fault) -> None:
    if fault.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault.action == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif fault.action == "delay":
        time.sleep(fault.seconds)
    elif fault.action == "hang":
        time.sleep(fault.seconds or FOREVER_S)
    elif fault.action == "enospc":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), f"fault point {fault.point}")
    elif "enospc" in POINTS[fault.point]:
        raise OSError(errno.EIO, os.strerror(errno.EIO), f"fault point {fault.point}")
    else:
        raise InjectedFault(f"fault point {fault.point}: the plan asks for an error at its hit {fault.hit}")


def _from_environment() -> _Plan | None:
    named = os.environ.get(VARIABLE)
    return _Plan(Path(named)) if named else None


_plan = _from_environment()
