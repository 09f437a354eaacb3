"""Demonstrations that several processes draw: the same ones in the same order as one process draws, where its oracle searches long."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from time import monotonic
from typing import Any

from quintain.codec import decode, dumps, encode
from quintain.envs.demos import PLAIN, Attempt, Manner, NoDemonstration, Turn, attempt, attempts, chosen
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.registry import import_file, imported
from quintain.types import QuintainError, Task

ALONE_S, WORTH_S = 2.0, 10.0  # seconds after which it is asked whether so many more are to come that others shall help
AHEAD, MOST = 4, 16  # tasks that a helper has at once; helpers

PROGRAM = "from quintain.runtime.spread import main; main()"


def cores(share: int = 1) -> int:
    """Processes that can draw side by side, where `share` runs of this kind divide the cores.

    Example:
        >>> cores(10_000)
        1
    """
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(MOST, found // share))


def spread(
    env: WorldEnv, tasks: Iterator[Task], count: int, helpers: int, how: Manner = PLAIN
) -> Iterator[tuple[Task, tuple[Turn, ...]]]:
    """As `demonstrations`, and as many processes as `helpers` join in where it would take longer than they take to begin.

    Args:
        env: of a world that is registered, here or by a file that was imported.
        tasks: see `demonstrations`, as for `count`.
        helpers: 1 for nobody else.
        how: see `Manner`.

    Raises:
        NoDemonstration, CannotDemonstrate: as `demonstrations`.
    """
    return chosen(_attempts(env, iter(tasks), count, helpers if not env.scaffold.image else 1, how), count, how)


def _attempts(env: WorldEnv, tasks: Iterator[Task], count: int, helpers: int, how: Manner) -> Iterator[Attempt]:
    begun, made = monotonic(), 0
    for task, found in attempts(env, tasks, how):
        yield task, found
        made += len(found) if isinstance(found, list) else 0
        spent = monotonic() - begun
        if helpers > 1 and spent > ALONE_S and spent / max(1, made) * (count - made) > WORTH_S:
            break
    else:
        return
    yield from _together(env, tasks, helpers, how)


def _together(env: WorldEnv, tasks: Iterator[Task], helpers: int, how: Manner) -> Iterator[Attempt]:
    """The attempts at tasks that are dealt out in turn, in their order; what a helper cannot do is done here."""
    crew: list[_Helper] = []
    ahead: deque[tuple[Task, _Helper]] = deque()

    def next_one() -> Attempt:
        task, helper = ahead.popleft()
        return task, helper.answer() or attempt(env, task, how)

    try:
        crew += [_Helper(env, how) for _ in range(helpers)]
        for task, helper in zip(tasks, itertools.cycle(crew), strict=False):
            helper.tell(encode(task))
            ahead.append((task, helper))
            if len(ahead) >= AHEAD * len(crew):
                yield next_one()
        while ahead:
            yield next_one()
    finally:
        for helper in crew:
            helper.end()


class _Helper:
    """A process that attempts tasks, a line each; it ends when its input does, so also with us."""

    def __init__(self, env: WorldEnv, how: Manner) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            start_new_session=True,  # Ctrl-C is ours
        )
        scaffold = encode(env.scaffold)
        self.tell({"world": env.facts.name, "scaffold": scaffold, "files": imported(), "how": encode(how)})

    def tell(self, what: Any) -> None:
        """Write a line; to one that is gone nothing is written, and its answers are none."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.write(f"{dumps(what)}\n".encode())
            self.process.stdin.flush()

    def answer(self) -> list[tuple[Turn, ...]] | NoDemonstration | None:
        """What came of the oldest task that it was told; None where it failed or is gone."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        told = json.loads(line) if line.endswith(b"\n") else {}
        if "none" in told:
            return NoDemonstration(told["none"])
        return decode(list[tuple[Turn, ...]], told["made"]) if "made" in told else None

    def end(self) -> None:
        """Stop it, whatever it does."""
        self.process.kill()
        with (
            contextlib.suppress(OSError),
            self.process,
        ):  # waits, and closes both pipes; what it was not told yet is lost
            pass


def main() -> None:
    """Attempt what the lines of standard input say; what a world prints goes to standard error."""
    lines, out = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    first = json.loads(lines.readline())
    try:
        for path in first["files"]:
            import_file(path)
        env, how = WorldEnv(world_of(first["world"]), decode(Scaffold, first["scaffold"])), decode(Manner, first["how"])
    except QuintainError:  # such as a world that was registered by hand: it is left to who asked
        return
    for line in lines:
        try:
            found = attempt(env, decode(Task, json.loads(line)), how)
            told = {"none": str(found)} if isinstance(found, NoDemonstration) else {"made": encode(found)}
        except QuintainError:  # who asked meets it again, and says so
            told = {}
        out.write(f"{dumps(told)}\n".encode())
        out.flush()
