"""How fast the simulator is: agents on 1,000, 4,000 and 10,000 GPUs with failures, until a million things have happened.

One core; a target of a million events in 60 s. Events are requests, prefills, answers, scores, updates and failures; sleeping wake-ups
that change nothing are not counted.
"""

from __future__ import annotations

import json
import resource
import time

from quintain.simulate import settings
from quintain.simulate.run import once
from quintain.simulate.settings import Scenario

TARGET_S = 60.0
MILLION = 1_000_000
SIZES = {1000: 17, 4000: 5, 10_000: 2}  # GPUs: steps, each run about a million events


def scenario(gpus: int, steps: int) -> Scenario:
    """Three quarters of the GPUs play, one quarter learns; a GPU fails once a day, two thousand times Llama 3's rate."""
    return settings.make(
        {
            "run": {"groups_per_step": gpus // 8, "max_lag": 1, "look": gpus // 8, "steps": steps, "skip": 1},
            "rollout": {"group_size": 16, "redundancy": 1},
            "task": {
                "agent": {
                    "turns": {"low": 3, "high": 10},
                    "prompt_tokens": 1500,
                    "turn_tokens": {"p50": 200, "p99": 2000},
                    "observation_tokens": {"p50": 300, "p99": 3000},
                }
            },
            "engines": {
                "h100": {
                    "count": gpus * 3 // 4,
                    "slots": 64,
                    "kv_tokens": 400_000,
                    "token_s": 0.008,
                    "token_active_s": 1e-4,
                    "prefill_tokens_s": 20_000.0,
                }
            },
            "env": {
                "step_s": {"p50": 0.5, "p99": 10},
                "reset_s": {"p50": 3, "p99": 30},
                "errors": 0.01,
                "hangs": 0.002,
            },
            "engine": {"sync_s": 5.0},
            "learner": {"gpus": gpus // 4, "gpu_token_s": 2e-4, "checkpoint_every": 1, "checkpoint_s": 10.0},
            "failures": {
                "gpu_per_day": 1.0,
                "node_per_day": 0.5,
                "spares": 4,
                "slow_share": 0.01,
                "slow_factor": 0.5,
            },
        }
    )


def main() -> None:
    """Run each size once."""
    rows = []
    for gpus, steps in SIZES.items():
        start, cpu = time.perf_counter(), time.process_time()
        found = once(scenario(gpus, steps), 0)
        wall, used = time.perf_counter() - start, time.process_time() - cpu
        rows.append(
            {
                "name": f"simulator, {gpus:,} GPUs with failures: seconds for a million events",
                "ours": wall / found.events * MILLION,
                "peer": None,
                "ratio": None,
                "target": f"< {TARGET_S:.0f} s",
                "holds": wall / found.events * MILLION < TARGET_S,
                "note": f"{found.events:,} events and {found.seconds:,.0f} modelled s in {wall:.1f} s ({used:.1f} s of one core); "
                f"{found.values['failures']:.0f} failures; peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB",
            }
        )
        print(rows[-1]["name"], round(rows[-1]["ours"], 1), flush=True)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
