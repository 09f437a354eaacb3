"""Our side of rl_step.py, a process of its own: `_rl_ours.py warm FOLDER`, or `_rl_ours.py all|shipped FOLDER STEPS`.

`warm` imitates the oracle and leaves the start weights in FOLDER. `all` trains every group; `shipped` is what a recipe
does: groups without variance are dropped. One JSON line a step, then one with the peak memory.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import _cells

from quintain.learn.pack import pack
from quintain.ledger import RunDir
from quintain.models import read_weights, save_model
from quintain.runtime.assemble import play

WARM = {"steps": 60, "demos": 3000, "batch": 128}


class Print:
    """A sink that prints the seconds and the figures of every step."""

    def __init__(self) -> None:
        self.wall, self.cpu = 0.0, 0.0

    def start(self) -> None:
        """The clock of the next step starts."""
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def write(self, step: int, row: Mapping[str, float]) -> None:
        """One step is over."""
        kept = {k: row[k] for k in ("reward", "tokens_context", "groups_trained", "loss", "mismatch_max")}
        kept |= {k.replace("/", "_"): v for k, v in row.items() if k.startswith("seconds")}
        seconds = {"step_s": time.perf_counter() - self.wall, "step_cpu": time.process_time() - self.cpu}
        print(json.dumps({**seconds, "rollout_s": row["seconds/rollout"], **kept}), flush=True)
        self.start()

    def close(self) -> None:
        """Nothing is held."""


def run(config: Any, folder: Path, ready: Any, sinks: tuple[Print, ...] = ()) -> None:
    """Make a run folder and play the run in it."""
    RunDir.create(folder, config.toml(), record=config.run.record).close()
    play(config, folder, ready=ready, sinks=sinks)


def warm(folder: Path) -> None:
    """The start weights: a supervised warm start, saved as a Hugging Face folder."""
    base = _cells.config(steps=0)
    config = base.model_copy(update={"warm_start": base.warm_start.model_copy(update=WARM)})
    config.learner.optimizer = "muon"
    held: list[Any] = []
    run(config, folder / "warm", held.append)
    save_model(held[0].parts.learner.model, folder / "model")


def measured(mode: str, folder: Path, steps: int) -> None:
    """Reinforcement steps from the start weights."""
    config = _cells.config(steps=steps)
    if mode == "shipped":
        config.algorithm.gate = [{"name": "zero_variance"}]
    sink = Print()

    def ready(opened: Any) -> None:
        model = opened.parts.learner.model
        model.load_state_dict(read_weights(folder / "model", model), strict=False)
        if mode == "all":
            opened.parts.pack = partial(pack, skip_idle=False)
        sink.start()

    run(config, folder / f"{mode}-{time.time_ns()}", ready, (sink,))
    print(json.dumps({"peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "warm":
        warm(Path(sys.argv[2]))
    else:
        measured(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
