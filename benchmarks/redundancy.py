"""Time to a batch with 2 redundant members on 8 where 5 % of the episodes fail, and whether the members that win are other ones.

`python benchmarks/redundancy.py` plays benchmarks/workloads/redundancy.toml on the virtual clock. Without redundancy a failed episode is
played again, so that both batches are whole. The second row is the same race where both sides learn the deadline of an
answer (`rollout.options.deadline_s=auto`) in place of the fixed one of the file.
"""

from __future__ import annotations

import json
import statistics
from typing import Any

from _plain import Loop
from _slow import now, workload

from quintain.loop import train
from quintain.rollouts.race import INVALID
from quintain.runtime import clock

W = workload("redundancy")
TARGET = 1.3


async def play(plan: dict[str, Any], profile: dict[str, Any], seed: int, steps: int) -> dict[str, Any]:
    """Seconds from the start of a step to its batch, members that are valid, and the meter's row."""
    mode = W["mode"]
    rollout = {"group_size": mode["group_size"], "deadline_s": profile["deadline_s"], **plan}
    run = Loop(profile, {"groups": mode["groups"], "max_lag": 0, "look": 0, "rollout": rollout}, seed, steps)
    start = now()
    await train(run)
    members = [t for _, g in run.finished for t in g.trajectories]
    return {
        "batch_s": (run.ends[-1] - start) / steps - profile["learner_s"],
        "valid": sum(t.stop not in INVALID for t in members) / (steps * mode["groups"] * mode["group_size"]),
        "bias": run.care.meter.row(),
        "warning": run.care.meter.warning(),
    }


def told(row: dict[str, float]) -> str:
    """The differences with their intervals."""
    return ", ".join(
        f"{q} {row[f'bias/{q}']:+.3f} ({row[f'bias/{q}_low']:+.3f} to {row[f'bias/{q}_high']:+.3f})"
        for q in ("reward", "turns")
    )


def race(name: str, more: dict[str, Any], plain: dict[str, Any]) -> dict[str, Any]:
    """All seeds of redundant groups against plain ones."""
    profile = W["profile"]
    pairs = [[clock.run(play(p, profile, seed, W["steps"])) for p in (more, plain)] for seed in W["seeds"]]
    ratios = [b["batch_s"] / a["batch_s"] for a, b in pairs]
    ours, peer = (statistics.fmean(p[i]["batch_s"] for p in pairs) for i in (0, 1))
    note = f"seconds from the start of a step to its batch of 64, {len(ratios)} seeds ({min(ratios):.2f}x to {max(ratios):.2f}x)"
    note += f"; members valid {min(p[0]['valid'] for p in pairs):.1%}, without redundancy {min(p[1]['valid'] for p in pairs):.1%}"
    ratio = statistics.fmean(ratios)
    said = {
        "name": f"redundancy 2 on 8, 5 % failures: time to batch{name}",
        "ours": f"{ours:.1f} s",
        "peer": f"{peer:.1f} s",
    }
    return said | {"ratio": round(ratio, 2), "target": f">= {TARGET}x", "holds": ratio >= TARGET, "note": note}


def main() -> None:
    """All seeds, with fixed and with learned deadlines; then the meter where nothing and where something is to be found."""
    mode, profile = W["mode"], W["profile"]
    more = {"redundancy": mode["redundancy"], "meter": 0.0}
    rows = [race("", more, {"retries": mode["retries"]})]
    learned = {"deadline_s": "auto"}
    rows.append(race(", learned deadlines on both sides", more | learned, {"retries": mode["retries"]} | learned))
    metered = more | {"meter": mode["meter"]}
    for name, look, want in (("nothing to find", profile, False), ("shorter ones win", profile | W["uneven"], True)):
        seen = clock.run(play(metered, look, W["meter_seed"], W["meter_steps"]))
        found = bool(seen["warning"])
        row = {"name": f"bias meter, {name}", "ours": "warns" if found else "silent", "peer": None, "ratio": None}
        words = (
            f"{seen['bias']['bias/groups']:.0f} groups of {W['meter_steps'] * mode['groups']}; winners minus losers: "
        )
        target = "warns" if want else "silent"
        rows.append(row | {"target": target, "holds": found is want, "note": words + told(seen["bias"])})
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
