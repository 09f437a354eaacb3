"""The simulator against our own runs of workload W: settings that it has never seen, within 10 %.

`python benchmarks/predict.py` plays the workload's modes with the real policy, loop and window (benchmarks/overlap.py, virtual clock),
and predicts each of them from benchmarks/workloads/w.toml. One number is not in that file: how many turns the policy takes. It is read off
the calibration mode, as the seconds that its requests held slots. The other modes are held out.

`python benchmarks/predict.py wall` measures on the wall clock instead, where our own code takes time on two cores.
`python benchmarks/predict.py ROWS.json` takes measured rows, {mode: [row, ...]} as `overlap.py ON MODE SEED` prints them.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _slow import workload

from quintain.simulate import draws, settings
from quintain.simulate.settings import Scenario
from quintain.simulate.summary import Summary, interval, many

W = workload("w")
CALIBRATION = "one_step_off"
SEEDS = 20  # of a prediction
TARGET = 0.10
Rows = dict[str, list[dict[str, float]]]


def scenario_of(mode: str, turns: float) -> Scenario:
    """The scenario of a mode, from the workload's file and the mean number of turns."""
    slow, config = W["slow"], W["config"]
    run = {**config["run"], **W["modes"][mode]["run"]}
    most = config["rollout"]["max_turns"]
    tree = {
        "run": {
            "groups_per_step": run["groups_per_step"],
            "max_lag": run["max_lag"],
            "look": run.get("look", 0),
            "skip": W["skip"],
            "steps": W["skip"] + W["steps"],
            "tail": run["max_lag"] + 1,
        },
        "rollout": {"group_size": config["rollout"]["group_size"]},
        "task": {
            "keydoor": {
                "turns": {"low": max(1.0, 2 * turns - most), "high": min(most, 2 * turns - 1)},
                "prompt_tokens": 0,
                "turn_tokens": {"p50": slow["turn_tokens_p50"], "p99": slow["turn_tokens_p99"]},
            }
        },
        "engines": {"server": {"count": slow["engines"], "slots": slow["slots"], "token_s": slow["token_s"]}},
        "engine": {"sync_s": slow["sync_s"]},
        "env": {
            "count": slow["envs"],
            "reset_s": {"p50": slow["env_p50_s"], "p99": slow["env_p99_s"]},
            "step_s": {"p50": slow["env_p50_s"], "p99": slow["env_p99_s"]},
            # a fault is due at one of the first ten answers; an episode that ends before is spared
            "errors": slow["errors"] * min(1.0, (turns + 1) / 10),
            "hangs": slow["hangs"] * min(1.0, (turns + 1) / 10),
            "deadline_s": slow["deadline_s"],
        },
        "learner": {"fixed_s": slow["learner_s"]},
    }
    return settings.make(tree)


def turns_of(rows: Sequence[dict[str, float]], mode: str) -> float:
    """Mean turns of an episode: the seconds that slots were held, over the mean seconds of a turn and the episodes played."""
    slow, config = W["slow"], {**W["config"]["run"], **W["modes"][mode]["run"]}
    turn_s = draws.mean({"p50": slow["turn_tokens_p50"], "p99": slow["turn_tokens_p99"]}, 20_000) * slow["token_s"]
    steps = W["skip"] + W["steps"] + config["max_lag"] / 2  # of the tickets in flight at the end about half is played
    episodes = steps * config["groups_per_step"] * W["config"]["rollout"]["group_size"]
    held = [row["slot_use"] * row["seconds"] * slow["engines"] * slow["slots"] for row in rows]
    return statistics.fmean(held) / turn_s / episodes


def measured(on: str, modes: Sequence[str]) -> Rows:
    """Play the modes for real."""
    from overlap import measure

    from quintain.learn.precision import set_threads

    set_threads(1)
    seeds = W["wall_seeds"] if on == "wall" else W["seeds"]
    found: Rows = {}
    for mode in modes:
        found[mode] = [measure(mode, seed, on) for seed in seeds]
        print(mode, [round(r["rate"], 2) for r in found[mode]], file=sys.stderr, flush=True)
    return found


def rate(found: Summary) -> float:
    """Episodes a second, those that failed included, as overlap.py counts them."""
    run = found.scenario.run
    return run.groups_per_step * found.scenario.rollout.group_size / found.mean("step_s")


def compare(found: Rows, on: str) -> list[dict[str, Any]]:
    """One row for each held-out mode."""
    turns = turns_of(found[CALIBRATION], CALIBRATION)
    out = []
    for mode, rows in found.items():
        if mode == CALIBRATION:
            continue
        seen = [r["rate"] for r in rows]
        mean, half = interval(seen)
        said = rate(many(scenario_of(mode, turns), SEEDS))
        out.append(
            {
                "name": f"simulator, workload W on the {on} clock, {mode}: predicted against measured trajectories/s",
                "ours": said,
                "peer": mean,
                "ratio": said / mean,
                "target": "within 10 %",
                "holds": abs(said / mean - 1) <= TARGET,
                "note": f"{turns:.2f} turns from {CALIBRATION}; measured {len(seen)} seeds, mean ± {half:.2g}; {SEEDS} seeds predicted",
            }
        )
    return out


def main() -> None:
    """Measure or read, predict, compare."""
    word = sys.argv[1] if len(sys.argv) > 1 else "virtual"
    if word.endswith(".json"):
        found: Rows = json.loads(Path(word).read_text())
        on = "recorded"
    else:
        modes = list(W["modes"]) if word == "virtual" else [CALIBRATION, "sync", "lag_2", "async"]
        found, on = measured(word, modes), word
    print(json.dumps(compare(found, on)))


if __name__ == "__main__":
    main()
