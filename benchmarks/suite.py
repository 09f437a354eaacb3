"""The suite of worlds against its targets: speeds that `python tools/honest.py --paces` put on record, and what importing it costs."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

ROWS = Path(__file__).parents[1] / "claims" / "worlds" / "honest.json"
LOAD = """
import resource, time
begun = time.process_time()
from quintain.registry import entries
count = len(entries("world"))
print(time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, count)
"""
SINGLE = "missed: worlds that are answered at once make an instance, with a unique answer, for every step"
DRAWN = "missed: such a world draws a new picture for every step"
SLOW = "the slowest are {}"


def row(name: str, ours: float, target: float, least: bool = True, note: str = "") -> dict:
    """One figure; `least` if the target is a lower bound."""
    sign, holds = (">=", ours >= target) if least else ("<=", ours <= target)
    return {
        "name": name,
        "ours": ours,
        "peer": None,
        "ratio": None,
        "target": f"{sign} {target:,g}",
        "holds": holds,
        "note": note,
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
    loads = [
        subprocess.run([sys.executable, "-c", LOAD], stdout=subprocess.PIPE, text=True, check=True) for _ in range(5)
    ]
    seconds, megabytes, count = (
        statistics.median(float(x) for x in side) for side in zip(*(r.stdout.split() for r in loads))
    )
    late = max(r["p99_s"] for r in record.values() if "p99_s" in r)
    of = f"{count:.0f} worlds, level 5, one core"
    rows = [
        row(f"median steps/s in text, {of}", middle["text"], 20_000, note=SINGLE),
        row(f"median steps/s with a 256 px picture, {of}", middle["picture"], 2_000, note=DRAWN),
        row("steps/s with a 256 px picture, slowest world", min(pace["picture"].values()), 200, note=last("picture")),
        row("instances/s, slowest world", min(pace["resets"].values()), 100, note=last("resets")),
        row("first-person frames/s at 256 px, median of the raycast worlds", frames, 1_000),
        row("seconds to import every world", seconds, 0.5, False),
        row("MB in use with every world imported", megabytes, 120, False),
        row(
            "slowest hundredth of starts at level 5, worst world, s",
            late,
            0.05,
            False,
        ),
    ]
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
