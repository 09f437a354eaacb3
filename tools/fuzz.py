"""Play malformed and bent actions in every world, or in those named: `python tools/fuzz.py [WORLD...] [-n 10000] [--seed S]`.

Tells each text that raises, or that cannot be read and yet earns or changes something. Exit status 1 where one does.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial


def apart(name: str, count: int, seed: int) -> list[str]:
    """What goes wrong in one world, from a process of its own; that it dies is trouble too."""
    command = [sys.executable, __file__, "--one", name, "-n", str(count), "--seed", str(seed)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    lines = done.stdout.splitlines()
    return lines if done.returncode == 0 else [*lines, f"{name}: its process ended with status {done.returncode}"]


def main() -> int:
    """Play, and tell."""
    from quintain.registry import names
    from quintain.testing.fuzz import trouble

    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("worlds", nargs="*", metavar="WORLD", help="these; all unless told")
    parser.add_argument("-n", type=int, default=10_000, help="texts for each world (default 10000)")
    parser.add_argument("--seed", type=int, default=0, help="which texts (default 0)")
    parser.add_argument("--one", metavar="WORLD", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.n < 1:
        parser.error(f"-n is {given.n}; at least one text must be played")
    if given.one:
        print("\n".join(trouble(given.one, given.n, given.seed)), end="")
        return 0
    worlds, begun, wrong = given.worlds or list(names("world")), time.monotonic(), 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(partial(apart, count=given.n, seed=given.seed), worlds):
            wrong += bool(found)
            for line in found:
                print(line, flush=True)
    print(
        f"{len(worlds)} worlds, {given.n} texts each, seed {given.seed}: {wrong} in trouble, {time.monotonic() - begun:.0f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
