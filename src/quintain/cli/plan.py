"""`quintain plan [RECIPE|FILE|key=value...]`: resolved sizes, memory and steps, before anything runs."""

from __future__ import annotations

import argparse
import json
from typing import Any

from quintain import config as configs
from quintain.cli.places import setting
from quintain.config import Config, EvalSection
from quintain.registry import require_extra
from quintain.runtime.check import check
from quintain.runtime.words import fitted

MIB = 1 << 20


def main(arguments: list[str]) -> int:
    """Print what a run would do."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="quintain plan", description=__doc__)
    parser.add_argument("items", nargs="*", metavar="RECIPE|FILE|key=value")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_intermixed_args(arguments)
    files, overrides = setting(given.items)
    config = configs.make(*files, overrides=overrides)
    found = plan(config)
    if given.json:
        print(json.dumps(found, indent=1))
        return 0
    for section, rows in found.items():
        print(section)
        for key, value in rows.items():
            print(f"  {key:<34} {value:,}" if isinstance(value, int) else f"  {key:<34} {value}")
    return 0


def plan(config: Config) -> dict[str, dict[str, Any]]:
    """Counts, and memory of weights, optimizer and keys and values, from the model that the config would build."""
    check(config)
    require_extra("train", "torch", "transformers")
    from quintain.runtime import policy
    from quintain.runtime.assemble import make_algorithm
    from quintain.runtime.stage import make_stage

    stage = make_stage(config := fitted(config))
    facts = policy.describe(policy.make_model(config, stage.renderer))
    algorithm = make_algorithm(config)
    run, roll, learner, ranks = config.run, config.rollout, config.learner, config.runtime.processes
    episodes = run.groups_per_step * roll.group_size
    weights = facts["bytes"] * (1 + ("ref" in algorithm.needs))
    training = facts["trainable_bytes"] * (2 if learner.optimizer == "muon" else 3)
    players = config.runtime.actors or ranks
    slots = min(config.engine.slots, episodes // players)
    cache = slots * min(config.model.context, facts["context"]) * facts["kv_bytes_per_token"]
    return {
        "model": {
            "type": facts["type"],
            "parameters": facts["parameters"],
            "trained": facts["trainable"],
            "vocabulary": stage.renderer.size,
            "context in tokens": min(config.model.context, facts["context"]),
        },
        "each step": {
            "tasks": run.groups_per_step,
            "episodes": episodes,
            "processes that learn": ranks,
            "processes that play": players,
            "episodes of each": episodes // players,
            "optimizer updates": learner.minibatches * learner.epochs,
            "lag allowed in versions": run.max_lag,
        },
        "whole run": {
            "steps": run.steps,
            "episodes": run.steps * episodes,
            "optimizer updates": run.steps * learner.minibatches * learner.epochs,
            "supervised steps before": config.warm_start.steps,
            "checkpoints": _checkpoints(run.steps, run.checkpoint_every),
            "evaluations": _evaluations(run.steps, config.eval),
        },
        "memory of a process in MiB": {
            "weights": round(weights / MIB, 1),
            "gradients and optimizer": round(training / MIB, 1),
            "keys and values at most": round(cache / MIB, 1),
            "logits of one forward": round(4 * policy.forward_tokens(learner) * stage.renderer.size / MIB, 1),
        },
        "algorithm": {"name": config.algorithm.name, "needs": ", ".join(sorted(algorithm.needs)) or "nothing extra"},
    }


def _checkpoints(steps: int, every: int) -> int:
    """At the start, when due, and at the end."""
    return 1 + (-(-steps // every) if every else min(1, steps))


def _evaluations(steps: int, section: EvalSection) -> int:
    """At both ends, and when due between them."""
    if not (section.instances or section.final_instances):
        return 0
    return 1 if not steps else 2 + ((steps - 1) // section.every if section.every else 0)
