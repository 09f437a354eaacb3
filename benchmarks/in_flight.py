"""New weights between two tokens against new weights once running answers are over: trained tokens a second.

The engine's queue, the window and the loop are the real ones; the machine and the learner are delays on a virtual clock, from
`workloads/in_flight.toml`.
"""

from __future__ import annotations

import json
import sys

from _modelled import play, workload

from quintain.engines.torch import Updates


def main() -> None:
    """Play both and compare."""
    load = workload("in_flight")
    (profile,) = load["profile"]
    rates: dict[str, float] = {}
    waited = 0.0
    for update in ("drain", "in_flight"):
        runs = [play(load, profile, seed, Updates(update)) for seed in load["seeds"]]
        rates[update] = sum(r.tokens for r in runs) / sum(r.ended_s for r in runs)
        if update == "drain":
            waited = sum(r.engine.stats.drained_s for r in runs) / sum(r.ended_s for r in runs)
        print(f"{update}: {rates[update]:.0f} tokens/s", file=sys.stderr, flush=True)
        assert max(lag for r in runs for lag in r.lags) <= load["max_lag"] and not any(
            r.engine.stats.discarded for r in runs
        )
    gain = rates["in_flight"] / rates["drain"]
    note = f"{len(load['seeds'])} seeds; loads waited {100 * waited:.0f} % of the time with drain; lag <= {load['max_lag']} in both"
    row = {"name": "in flight against drain, trained tokens/s (virtual clock)", "ours": rates["in_flight"]}
    row |= {"peer": rates["drain"], "ratio": gain, "target": ">= 1.12", "holds": gain >= 1.12, "note": note}
    print(json.dumps(row))


if __name__ == "__main__":
    main()
