"""What one might turn in a scenario: each lever scales some of its numbers, to name a bottleneck or to see what a result hangs on."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quintain.simulate.settings import Scenario, ScenarioError, make

INTEGERS = ("slots", "kv_tokens", "count", "workers", "look")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """Keys that are scaled together.

    `relief` is the factor that ought to make a run faster; `workload` says that it is the task itself and no part of a cluster. A
    `*` stands for every kind of engine or class of tasks.
    """

    name: str
    keys: tuple[str, ...]
    relief: float
    workload: bool = False


FASTER, MORE = 0.8, 1.25
LEVERS = (
    Lever(name="decoding", keys=("engines.*.token_s", "engines.*.token_active_s"), relief=FASTER),
    Lever(name="prefill", keys=("engines.*.prefill_tokens_s",), relief=MORE),
    Lever(name="engine slots", keys=("engines.*.slots", "engines.*.kv_tokens"), relief=MORE),
    Lever(name="tokens of a turn", keys=("task.*.turn_tokens",), relief=FASTER, workload=True),
    Lever(name="tail of the tokens", keys=("task.*.turn_tokens.p99",), relief=FASTER),
    Lever(name="turns", keys=("task.*.turns",), relief=FASTER, workload=True),
    Lever(name="environment latency", keys=("env.reset_s", "env.step_s"), relief=FASTER),
    Lever(name="tail of the environments", keys=("env.reset_s.p99", "env.step_s.p99"), relief=FASTER),
    Lever(name="number of environments", keys=("env.count",), relief=MORE),
    Lever(name="environment faults", keys=("env.errors", "env.hangs", "env.kills_per_day"), relief=FASTER),
    Lever(name="rewards", keys=("reward.seconds",), relief=FASTER),
    Lever(name="reward workers", keys=("reward.workers",), relief=MORE),
    Lever(name="learner", keys=("learner.fixed_s", "learner.gpu_token_s"), relief=FASTER),
    Lever(name="weight synchronisation", keys=("engine.sync_s", "learner.switch_s"), relief=FASTER),
    Lever(name="failures of GPUs", keys=("failures.gpu_per_day", "failures.node_per_day"), relief=FASTER),
)


def turned(scenario: Scenario, lever: Lever, factor: float) -> Scenario | None:
    """The scenario with a lever's numbers times `factor`; None where that changes nothing, or leads beyond a limit.

    Example:
        >>> turned(make({"env": {"step_s": 2.0}}), LEVERS[6], 0.5).env.step_s
        1.0
    """
    tree = scenario.model_dump()
    before = copy.deepcopy(tree)
    for key in lever.keys:
        _scale(tree, key.split("."), factor)
    if tree == before:
        return None
    try:
        return make(tree)
    except ScenarioError:
        return None


def _scale(node: Any, path: list[str], factor: float) -> None:
    first, rest = path[0], path[1:]
    if first == "*":
        for inner in node.values():
            _scale(inner, rest, factor)
        return
    if not isinstance(node, dict) or first not in node:
        return
    if rest:
        _scale(node[first], rest, factor)
        return
    node[first] = scaled(node[first], factor)
    if first in INTEGERS:
        node[first] = max(1, round(node[first])) if node[first] else 0
    elif first in ("errors", "hangs"):
        node[first] = min(math.nextafter(1.0, 0.0), node[first])
    if first == "p99":
        node["p99"] = max(node["p99"], node["p50"])


def scaled(spec: float | Mapping[str, Any], factor: float) -> Any:
    """A number or distribution times `factor`; a clip at `max` stays where it is.

    Example:
        >>> scaled({"p50": 1.0, "p99": 4.0, "max": 5.0}, 2.0)
        {'p50': 2.0, 'p99': 8.0, 'max': 5.0}
    """
    if isinstance(spec, Mapping):
        return {
            k: v if k == "max" else [x * factor for x in v] if k == "values" else v * factor for k, v in spec.items()
        }
    return spec * factor
