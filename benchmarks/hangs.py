"""What 5 % hanging environments cost 256 of them, against arithmetic: p D / ((1 - p) m + p D) for a share p that hangs until the deadline
D, and a mean episode of m seconds. Once with a fixed deadline, once with the one that is learned.

`python benchmarks/hangs.py` plays benchmarks/workloads/hangs.toml on the virtual clock.
"""

from __future__ import annotations

import json
import statistics
from typing import Any

from _plain import Loop
from _slow import workload

from quintain.loop import train
from quintain.rollouts.race import INVALID
from quintain.runtime import clock

W = workload("hangs")
POINTS = 0.02


async def play(deadline_s: Any, hangs: float, seed: int) -> dict[str, float]:
    """Valid episodes a second, mean seconds of one, and the deadline of a reset in use at the end."""
    profile, mode = {**W["profile"], "hangs": hangs}, W["mode"]
    plan = {"group_size": mode["group_size"], "slots": profile["envs"], "deadline_s": deadline_s}
    run = Loop(profile, {**mode, "rollout": plan}, seed, W["steps"])
    await train(run)
    start, end = run.ends[0] + W["skip"] * (run.ends[-1] - run.ends[0]), run.ends[-1]
    good = [t for at, g in run.finished if start < at <= end for t in g.trajectories if t.stop not in INVALID]
    seconds = [sum(sum(n.seconds.values()) for n in t.nodes) for t in good]
    late = [e for _, g in run.finished for t in g.trajectories for e in t.events if e.startswith("timeout")]
    learned = float(late[-1].split()[-2]) if late else 0.0
    return {"rate": len(good) / (end - start), "mean_s": statistics.fmean(seconds), "deadline_s": learned}


def loss(p: float, m: float, deadline_s: float) -> float:
    """The share of the throughput that is lost, by arithmetic."""
    return p * deadline_s / ((1 - p) * m + p * deadline_s)


def main() -> None:
    """Both deadlines, all seeds."""
    p, envs, rows = W["profile"]["hangs"], W["profile"]["envs"], []
    for name, deadline_s in (("fixed", W["profile"]["deadline_s"]), ("learned", "auto")):
        seen = [(clock.run(play(deadline_s, p, s)), clock.run(play(deadline_s, 0.0, s))) for s in W["seeds"]]
        measured = statistics.fmean(1 - bad["rate"] / good["rate"] for bad, good in seen)
        m = statistics.fmean(envs / good["rate"] for _, good in seen)
        limit = statistics.fmean(bad["deadline_s"] for bad, _ in seen)
        told = loss(p, m, limit)
        note = f"{envs} envs, p = {p:.0%}, m = {m:.1f} s, D = {limit:.1f} s; {len(seen)} seeds; virtual clock"
        row = {
            "name": f"hanging envs, {name} deadline: throughput lost",
            "ours": f"{measured:.1%}",
            "peer": f"{told:.1%}",
        }
        row |= {"ratio": None, "target": "arithmetic + 2 points", "holds": measured <= told + POINTS, "note": note}
        rows.append(row)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
