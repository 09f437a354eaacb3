"""Thousands of seeded schedules on a virtual clock: the first layer of `make chaos`.

    python tools/chaos.py --seconds 60               as many as fit, from a seed that moves with the day
    python tools/chaos.py --count 10000 --first 0
    python tools/chaos.py --seconds 60 --keep tests/chaos/plans    a failing plan is shrunk and written there

The exit status is 1 where a schedule went wrong. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quintain.testing.chaos import attack

PER_DAY = 10_000  # seeds by which the range moves on


def spread(jobs: int, first: int, count: int, more: Sequence[str]) -> dict[str, Any]:
    """What came of as many processes, each with a run of seeds of its own."""
    share = -(-count // jobs)
    begun, told = [], list[dict[str, Any]]()
    for at in range(first, first + count, share):
        words = ["--first", str(at), "--count", str(min(share, first + count - at)), *more]
        begun.append(subprocess.Popen([sys.executable, __file__, *words], stdout=subprocess.PIPE, text=True))
    for process in begun:
        told.append(json.loads(process.communicate()[0].splitlines()[-1]))
    sums = sum((Counter({kind: t.get(kind, 0) for kind in ("schedules", "loop", "crew")}) for t in told), Counter())
    failed = [f for t in told for f in t["failed"]]
    return {**sums, "failed": failed, "first": first, "seconds": max(t["seconds"] for t in told)}


def main(words: Sequence[str]) -> int:
    """Attack, and say so."""
    reader = argparse.ArgumentParser(prog="python tools/chaos.py", description="schedules on a virtual clock")
    reader.add_argument("--count", type=int, default=10**9, help="schedules at most")
    reader.add_argument("--seconds", type=float, default=1e9, help="wall seconds at most")
    reader.add_argument("--first", type=int, help="the first seed; by default it moves with the day")
    reader.add_argument("--jobs", type=int, default=1, help="processes")
    reader.add_argument("--quick", action="store_true", help="end at the first failure, as it is")
    reader.add_argument("--keep", type=Path, help="a folder for shrunk plans of what fails")
    said = reader.parse_args(words)
    if said.count == 10**9 and said.seconds == 1e9:
        reader.error("say --count or --seconds")
    if not 1 <= said.jobs <= said.count:
        reader.error(f"--jobs is {said.jobs}; it is at least 1, and at most --count")
    first = said.first if said.first is not None else int(time.time() // 86_400) * PER_DAY
    if said.jobs > 1:
        more = ["--seconds", str(said.seconds), *(["--quick"] if said.quick else [])]
        told = spread(said.jobs, first, said.count, [*more, *(["--keep", str(said.keep)] if said.keep else [])])
    else:
        told = attack(first, said.count, said.seconds, said.keep, most=1 if said.quick else 5)
    print(json.dumps(told), flush=True)
    return 1 if told["failed"] else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
