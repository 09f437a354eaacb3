"""The status that a run writes about itself once a second, and the watchdog that notices when nothing moves any more.

A thread of its own does both, so that they go on while the event loop is held up.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from quintain.config import Config
from quintain.runtime.chain import BLOCKED_S, Chain, fold, span
from quintain.runtime.launch import Place
from quintain.runtime.pulse import LoopClock
from quintain.runtime.stacks import other_stacks, stack_of
from quintain.types import QuintainError
from quintain.waits import PROGRESS, ended, waits

PERIOD_S = 1.0
GRACE_S = 10.0  # how long a run that stalls may take to end by itself
STALLED = 76  # exit status of a run that was ended because nothing moved
QUIET_S = 2.0  # without progress for longer, the status tells where the threads are
SHOWN = 60  # waits that the status holds, the oldest first
_RATES_S = 10.0

Facts = Callable[[], Mapping[str, Any]]
Status = dict[str, Any]


class StallError(QuintainError):
    """Nothing moved for `runtime.stall_fatal_s`; the message holds who waited for whom."""


def live_path(folder: Path, rank: int = 0) -> Path:
    """Where rank `rank` of the run in `folder` writes its status."""
    return folder / ("live.json" if rank == 0 else f"live.rank{rank}.json")


def read_live(folder: Path, rank: int = 0) -> Status | None:
    """The last status of a rank; None when it never wrote one."""
    try:
        status = json.loads(live_path(folder, rank).read_text())
    except (OSError, ValueError):
        return None
    return status if isinstance(status, dict) else None


class Watch:
    """Writes `live.json` and looks for stalls, from `start` to `close`.

    Args:
        folder: of the run.
        rank: of this process, and `size` how many there are.
        stall_s: seconds without progress after which the stall is told of; 0 for never.
        fatal_s: seconds without progress after which the run is ended; 0 for never.
        heartbeat_s: of the actors, for what the status says about silent ones.
    """

    def __init__(
        self,
        folder: Path,
        *,
        rank: int = 0,
        size: int = 1,
        stall_s: float = 300.0,
        fatal_s: float = 0.0,
        heartbeat_s: float = 30.0,
    ) -> None:
        self.folder, self.rank, self.size = folder, rank, size
        self._home = folder.stat()
        self.stall_s, self.fatal_s, self.heartbeat_s = stall_s, fatal_s, heartbeat_s
        self.clock = LoopClock()
        self.facts: Facts = dict  # of the run: step, window, engine, actors
        self.tell: Callable[[Mapping[str, Any]], None] = lambda stall: None  # the ledger; in the thread of the watch
        self.say: Callable[[str], None] = lambda text: None
        self.fail: Callable[[StallError], None] = lambda error: None  # asks the run to end with this error
        self.rescue: Callable[[], None] = lambda: None  # checkpoints the last boundary where the main thread is held
        self.went_on = False  # past its checkpoint, if it resumes
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)
        self._began, self._moved, self._total = time.time(), time.monotonic(), 0
        self._counts: deque[tuple[float, dict[str, int]]] = deque()
        self._told_at = self._failed_at = 0.0
        self._known: dict[str, Any] = {}

    def start(self) -> None:
        """Begin."""
        self._total = self._progress({})[0]
        self._moved = time.monotonic()
        self._thread.start()

    def close(self, state: str = "ended", reason: str = "", **more: Any) -> None:
        """Write the last status: `state` is `ended` or `failed`; `more` takes the place of what is known now."""
        self._over.set()
        self._thread.join(PERIOD_S)
        self.clock.stop()
        with contextlib.suppress(OSError):
            self._write(self.status() | {"state": state, "reason": reason, **more})

    # -- status ----------------------------------------------------------------------------------------------------

    def status(self) -> Status:
        """Everything that is known now."""
        facts = self._facts()
        total, counts = self._progress(facts)
        now = time.monotonic()
        if total != self._total:
            self._total, self._moved = total, now
        idle, lag = now - self._moved, self.clock.lag_s
        main = stack_of(threading.main_thread()) if lag > BLOCKED_S or idle > QUIET_S else []
        found = waits()
        return {
            "format": 1,
            "state": "running",
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "rank": self.rank,
            "size": self.size,
            "began": self._began,
            "time": time.time(),
            "idle_s": round(idle, 2),
            "counts": counts,
            "rates": self._rates(now, counts),
            "loop": {"lag_s": round(lag, 2), "stack": main},
            "threads": other_stacks() if idle > QUIET_S else {},
            "open": _kinds(found),
            "waits": [w._asdict() | {"since_s": round(w.since_s, 2)} for w in found[:SHOWN]],
            "heartbeat_s": self.heartbeat_s,
            **facts,
        }

    def _facts(self) -> dict[str, Any]:
        with contextlib.suppress(Exception):  # it looks at what the main thread changes: then the last ones hold
            self._known = dict(self.facts())
        return dict(self._known)

    def _progress(self, facts: Mapping[str, Any]) -> tuple[int, dict[str, int]]:
        counts = ended()
        for actor in facts.get("actors", []):
            for kind, count in actor.get("ended", {}).items():
                counts[kind] = counts.get(kind, 0) + count
        return sum(n for kind, n in counts.items() if kind in PROGRESS), counts

    def _rates(self, now: float, counts: dict[str, int]) -> dict[str, float]:
        self._counts.append((now, dict(counts)))
        while len(self._counts) > 2 and now - self._counts[1][0] >= _RATES_S:
            self._counts.popleft()
        then, before = self._counts[0]
        seconds = max(now - then, 1e-9)
        if seconds < PERIOD_S / 2:
            return {}
        return {k: round(max(0, n - before.get(k, 0)) / seconds, 2) for k, n in counts.items() if k in PROGRESS}

    def _write(self, status: Status) -> None:
        text, path = json.dumps(status, default=str), live_path(self.folder, self.rank)
        if not os.path.samestat(self.folder.stat(), self._home):
            return  # the run's own was moved away, and what is there now may be another run
        spare = path.with_suffix(".tmp")
        spare.write_text(text)
        spare.replace(path)

    # -- the thread ------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        while True:
            with contextlib.suppress(OSError):  # a full disk, or a folder that was deleted: the run says so itself
                status = self.status()
                self._write(status)
                self._look(status)
            if self._over.wait(PERIOD_S):
                return

    def _look(self, status: Status) -> None:
        """Tell of a stall, once; end the run when it lasts."""
        idle = status["idle_s"]
        if self.stall_s and idle >= self.stall_s and self._told_at != self._moved:
            self._told_at = self._moved
            chain = fold(status)
            told = f"nothing has moved for {span(idle)}: {chain.line()}; {chain.cause}. What helps: {chain.fix}"
            self.say(f"STALL: {told}")
            _apart(lambda: self.tell({"idle_s": idle, **told_of(chain)}))
        if not self.fatal_s or self._over.is_set():
            return
        if self._failed_at:
            if time.monotonic() - self._failed_at > GRACE_S:
                self._end(fold(status))
        elif idle >= self.fatal_s:
            self._failed_at = time.monotonic()
            self.fail(self._error(fold(status), idle))
            if status["loop"]["lag_s"] > BLOCKED_S:
                self._end(fold(status))

    def _error(self, chain: Chain, idle: float) -> StallError:
        return StallError(f"nothing moved for {span(idle)}: {chain.line()}; {chain.cause}. What helps: {chain.fix}")

    def _end(self, chain: Chain) -> None:
        """The main thread does not come back: save what can be saved from here, and end the process."""
        _apart(self.rescue)
        error = self._error(chain, time.monotonic() - self._moved)
        _apart(lambda: self.tell({"fatal": True, **told_of(chain)}))
        with contextlib.suppress(OSError):
            self._write(self.status() | {"state": "failed", "reason": f"StallError: {error}"})
        print(f"quintain: StallError: {error}", file=sys.__stderr__)
        print(go_on(self.folder), file=sys.__stderr__, flush=True)
        os._exit(STALLED)


def go_on(folder: Path) -> str:
    """The line that says how a run that ended before its time is taken up again."""
    return f"go on with: quintain train --resume {shlex.quote(str(folder))}"


def told_of(chain: Chain) -> dict[str, Any]:
    """A chain as plain data."""
    return {
        "chain": [{"who": n.who, "what": n.what, "since_s": n.since_s, "left_s": n.left_s} for n in chain.links],
        "cause": chain.cause,
        "fix": chain.fix,
    }


def _apart(work: Callable[[], None]) -> None:
    """Do it in a thread that may be left behind: what it needs may be held by the thread that is stuck."""
    thread = threading.Thread(target=_quietly, args=(work,), name="watch-rescue", daemon=True)
    thread.start()
    thread.join(GRACE_S)


def _quietly(work: Callable[[], None]) -> None:
    try:
        work()
    except Exception as error:  # the stall is the error to tell of
        print(f"quintain: while a stall was told of: {type(error).__name__}: {error}", file=sys.__stderr__, flush=True)


def _kinds(found: list[Any]) -> dict[str, int]:
    kinds: dict[str, int] = {}
    for wait in found:
        kinds[wait.kind] = kinds.get(wait.kind, 0) + 1
    return kinds


def facts_of(run: Any, crew: Any = None) -> Facts:
    """What the status tells of a `LocalRun` and the actors that play for it."""

    def facts() -> Mapping[str, Any]:
        window, actors = run.window, crew.told() if crew is not None else []
        pending = {t.index: t.task for t in window.pending[: 4 * window.size]}
        said = {"step": run.step, "steps": run.plan.steps, "actors": actors, "draining": run.draining}
        learner = getattr(run.parts.learner, "told", None)  # a group of ranks elsewhere
        said["learner"] = learner() if learner is not None else []
        said["window"] = {
            "issued": window.index,
            "playing": len(window.unfinished),
            "pending": len(window.pending),
            "groups_per_step": window.size,
            "max_lag": window.max_lag,
        }
        said["tickets"] = {str(i): f"{task.env} level {task.level}, {task.key}" for i, task in pending.items()}
        engine = run.cast.engines.get("policy")
        said["engine"] = _engine(engine) if crew is None else {}
        return said

    return facts


def _engine(engine: Any) -> dict[str, Any]:
    stats = getattr(engine, "stats", None)
    counts = {k: getattr(stats, k) for k in ("running", "waiting", "sessions", "evicted") if hasattr(stats, k)}
    return {"version": getattr(engine, "version", None), **counts}


@contextlib.contextmanager
def watched(config: Config, folder: Path, place: Place) -> Iterator[Watch]:
    """A watch over the run in `folder` for as long as the body takes; its end is the run's last status.

    Special cases: a resume that fails before it has gone on leaves the last status as it was.
    """
    section = config.runtime
    limits = {"stall_s": section.stall_s, "fatal_s": section.stall_fatal_s, "heartbeat_s": section.heartbeat_s}
    watch = Watch(folder, rank=place.rank, size=place.size, **limits)
    before = read_live(folder, place.rank) if place.resume else None
    watch.start()
    try:
        yield watch
    except BaseException as error:
        failed = {"state": "failed", "reason": f"{type(error).__name__}: {error}"[:2000]}
        watch.close(**(failed if before is None or watch.went_on else before))
        raise
    watch.close()


def attach(watch: Watch, run: Any, crew: Any, say: Callable[[str], None]) -> None:
    """Let a watch look at a `LocalRun` and its actors, tell its ledger, and end it."""
    watch.facts, watch.say, watch.fail = facts_of(run, crew), say, run.fail

    def tell(stall: Mapping[str, Any]) -> None:
        run.keeper.write(run.step, "stall", stall)
        run.keeper.store.commit()

    def rescue() -> None:
        if run.keeper.alone and any(w.kind == "take" for w in waits()):  # so the learner rests at the last boundary
            run.checkpoint()

    watch.tell, watch.rescue = tell, rescue
