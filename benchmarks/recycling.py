"""Unfinished answers that are interrupted and go on after the update, against steps that wait for all of theirs: tokens a second.

The engine's queue, the window and the loop are the real ones; the machine is a delay on a virtual clock, from
`workloads/recycling.toml`.
"""

from __future__ import annotations

import json
import sys

from _modelled import play, workload

from quintain.engines.torch import Updates


def main() -> None:
    """Play all profiles both ways and compare."""
    load = workload("recycling")
    gains, discarded, carried, tokens, stale = {}, 0, 0, 0, 0
    rates = {"waits": 0.0, "recycles": 0.0}
    for profile in load["profile"]:
        speed = {}
        for name, updates, lag in (
            ("waits", Updates(), {"max_lag": 0, "look": 0}),
            ("recycles", Updates("in_flight", "pause"), {}),
        ):
            runs = [play(load, profile, seed, updates, **lag) for seed in load["seeds"]]
            speed[name] = sum(r.tokens for r in runs) / sum(r.ended_s for r in runs)
            rates[name] += speed[name] / len(load["profile"])
            if name == "recycles":
                discarded += sum(r.engine.stats.discarded for r in runs)
                carried += sum(r.engine.stats.carried for r in runs)
                tokens, stale = tokens + sum(r.tokens for r in runs), stale + sum(r.stale for r in runs)
                assert all(r.engine.stats.generated == r.tokens for r in runs), "a token was lost or drawn twice"
        gains[profile["name"]] = speed["recycles"] / speed["waits"] - 1
        print(f"{profile['name']}: {100 * gains[profile['name']]:+.1f} %", file=sys.stderr, flush=True)
    mean, best = sum(gains.values()) / len(gains), max(gains, key=lambda name: gains[name])
    told = ", ".join(f"{name} {100 * gain:+.0f} %" for name, gain in gains.items())
    note = f"{told}; best: {best}; {discarded} tokens discarded, {carried} carried over; {100 * stale / tokens:.0f} % of the trained "
    note += "tokens are of an older version"
    row = {"name": "recycling against waiting for the whole batch, mean of six length profiles (virtual clock)"}
    row |= {
        "ours": rates["recycles"],
        "peer": rates["waits"],
        "ratio": 1 + mean,
        "target": ">= 1.225, 0 tokens discarded",
    }
    print(json.dumps(row | {"holds": mean >= 0.225 and not discarded, "note": note}))


if __name__ == "__main__":
    main()
