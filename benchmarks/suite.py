"""The suite of worlds against its targets: speeds that `python tools/honest.py --paces` put on record, and what importing it costs."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import timeit
from functools import partial
from pathlib import Path

ROWS = Path(__file__).parents[1] / "claims" / "worlds" / "honest.json"
LEVEL, FORKS, TURNS = 5, 1000, 40
LOAD = """
import resource, time
begun = time.process_time()
from quintain.registry import entries
count = len(entries("world"))
print(time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, count)
"""
SINGLE = (
    "worlds that are answered at once make an instance, with a unique answer, for every step, and proving that it is unique is "
    "nearly all of their time; next: instances of such worlds made ahead, in a process beside"
)
DRAWN = (
    "such a world draws a new picture of 20 to 200 shapes for every step, twice as large and then reduced; the picture of an "
    "ended episode is painted when somebody looks, so not here; next: lines and discs drawn smooth at once"
)
SLOW = "the slowest are {}; where a step is a new instance, making it takes most of the time"
CAST = (
    "a frame is 60 walls drawn as polygons, twice as large and then reduced; next: columns of pixels by numpy, at once"
)

FIT = (
    "an instance is drawn until a solver shows that it asks for what its level says; next: what the solver finds of a draw that is "
    "refused, used for the next one"
)


def imported() -> tuple[float, float, float]:
    """Seconds and megabytes that importing every world takes, and how many there are: medians of five fresh processes.

    One before them writes byte code, as Python does unless it is told not to.
    """
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    call = partial(subprocess.run, [sys.executable, "-c", LOAD], stdout=subprocess.PIPE, text=True, check=True, env=env)
    told = [call() for _ in range(6)][1:]
    seconds, megabytes, count = zip(*(map(float, of.stdout.split()) for of in told), strict=True)
    return statistics.median(seconds), statistics.median(megabytes), statistics.median(count)


def carried() -> tuple[float, str, int]:
    """Microseconds that a fork of an episode takes in the median world, and the world whose states are largest, with their bytes."""
    from quintain.codec import encode
    from quintain.envs.world import WorldEnv, world_of
    from quintain.registry import names
    from quintain.testing.worlds import task_of, walk
    from quintain.worlds.noise import Rng

    took, sizes = [], {}
    for name in names("world"):
        env = WorldEnv(world_of(name))
        env.begin(task_of(name, 0, LEVEL))
        took.append(statistics.median(timeit.repeat(env.fork, number=FORKS, repeat=5)) / FORKS * 1e6)
        for level in (0, LEVEL, 9):
            played = walk(env.world, env.world.start(0, level), Rng("size"), TURNS)
            largest = max(len(json.dumps(encode(state))) for state in played)
            sizes[name] = max(sizes.get(name, 0), largest)
    name = max(sizes, key=sizes.__getitem__)
    return statistics.median(took), name, sizes[name]


def row(name: str, ours: float, target: float, least: bool = True, note: str = "", why: str = "") -> dict:
    """One figure; `least` if the target is a lower bound. `why` is told where it is missed."""
    sign, holds = (">=", ours >= target) if least else ("<=", ours <= target)
    told = [*([note] if note else []), *([f"missed: {why}"] if why and not holds else [])]
    return {
        "name": name,
        "ours": ours,
        "peer": None,
        "ratio": None,
        "target": f"{sign} {target:,g}",
        "holds": holds,
        "note": "; ".join(told),
    }


def main() -> None:
    """Read the record, import in fresh processes, tell."""
    from quintain.registry import entries

    record = json.loads(ROWS.read_text())
    engines = {e.name: e.tags["engine"] for e in entries("world")}
    pace = {kind: {name: r["pace"][kind] for name, r in record.items()} for kind in ("text", "picture", "resets")}
    middle = {kind: statistics.median(of.values()) for kind, of in pace.items()}

    def last(kind: str) -> str:
        few = sorted(pace[kind], key=pace[kind].__getitem__)[:3]
        return SLOW.format(", ".join(f"{name} ({pace[kind][name]:,.0f})" for name in few))

    frames = statistics.median(rate for name, rate in pace["picture"].items() if engines[name] == "raycast")
    seconds, megabytes, count = imported()
    starts = [(name, *figures) for name, r in record.items() for figures in r["starts_s"]]
    late, mean = max(starts, key=lambda s: s[2]), max(starts, key=lambda s: s[3])
    of = f"{count:.0f} worlds, level {LEVEL}, one core"
    fork, great, size = carried()
    rows = [
        row(f"median steps/s in text, {of}", middle["text"], 20_000, why=SINGLE),
        row(f"median steps/s with a 256 px picture, {of}", middle["picture"], 2_000, why=DRAWN),
        row("steps/s with a 256 px picture, slowest world", min(pace["picture"].values()), 200, why=last("picture")),
        row(
            "instances/s of the split train at levels 0 to 7, slowest world",
            1 / mean[3],
            100,
            note=f"{mean[0]} at level {mean[1]}",
            why=FIT,
        ),
        row("steps/s with a 256 px picture, median of the raycast worlds", frames, 1_000, why=CAST),
        row("seconds to import every world", seconds, 0.5, False),
        row("MB in use with every world imported", megabytes, 120, False),
        row(
            "slowest hundredth of starts at levels 0 to 7, worst world, s",
            late[2],
            0.05,
            False,
            f"{late[0]} at level {late[1]}",
        ),
        row(f"microseconds to fork an episode, median of {of}", fork, 5, False),
        row(
            "KB of the largest state as JSON, levels 0, 5, 9",
            size / 1024,
            64,
            False,
            f"{great}, in {TURNS} turns of random play",
        ),
    ]
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
