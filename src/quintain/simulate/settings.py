"""A scenario: every number of a simulated cluster and run, as one TOML file with `key=value` overrides.

Words that also exist in a run's config mean the same here. Times are in seconds, rates in events per day, prices in any one currency.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel

from quintain.config.tree import Form, fit, key, parse, put, split
from quintain.simulate import draws
from quintain.types import QuintainError


class ScenarioError(QuintainError):
    """A scenario is not TOML, names an unknown key, or holds a value out of range."""


def _distribution(spec: Any) -> Any:
    try:
        draws.make(spec)
    except (draws.DrawError, TypeError, ValueError) as error:
        raise ValueError(str(error)) from None
    return spec


MANY = 1_000_000_000  # of anything that is counted
A_SECOND = 86400.0  # of anything that happens so often a day: once a second
MOST_TURNS = 50_000_000  # that a scenario may be expected to play; hours of one core
LEAST_PREFILL = 1e-3  # tokens a second, where a prefill takes time at all

Spread = Annotated[float | dict[str, Any], AfterValidator(_distribution)]


class RunPart(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """The run: how many groups a step takes, and how far playing may run ahead of learning."""

    steps: int = key(10, ge=1, le=MANY, description="optimizer steps until counting ends")
    skip: int = key(2, ge=0, le=MANY, description="steps at the start that are not counted")
    tail: int = key(
        -1,
        ge=-1,
        le=MANY,
        description="further steps that are not counted, so that the window stays full; -1 is max_lag",
    )
    groups_per_step: int = key(32, ge=1, le=MANY, description="groups a step")
    max_lag: int = key(0, ge=0, le=MANY, description="policy versions between admission and training; 0 is synchronous")
    look: int = key(0, ge=0, le=MANY, description="tickets beyond the oldest that may be trained out of order")
    over_limit: Literal["wait", "withhold", "refill"] = key(
        "wait", description="what happens to a group that is too old"
    )
    ahead: int = key(0, ge=0, le=MANY, description="tickets beyond what max_lag allows; needs withhold or refill")
    seed: int = key(0, ge=0, le=MANY, description="first seed")

    @property
    def total(self) -> int:
        """Steps in all."""
        return self.steps + (self.max_lag if self.tail < 0 else self.tail)


class TaskPart(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """One class of tasks: its share of the tickets and the sizes of its episodes."""

    share: float = key(1.0, ge=0, le=draws.MOST, description="weight among the classes")
    turns: Spread = key(1.0, description="turns of an episode")
    prompt_tokens: Spread = key(256.0, description="tokens of the opening")
    turn_tokens: Spread = key(512.0, description="tokens that the policy says in a turn")
    observation_tokens: Spread = key(0.0, description="tokens that an environment's answer adds")


class EnginesPart(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """One kind of engine: a token of n running requests takes `token_s + n * token_active_s`."""

    count: int = key(1, ge=1, le=100_000, description="replicas")
    gpus: int = key(1, ge=0, le=MANY, description="GPUs of one replica")
    slots: int = key(64, ge=1, le=MANY, description="requests that run at once in one replica")
    kv_tokens: int = key(0, ge=0, le=MANY, description="tokens of context that fit into one replica; 0 is no limit")
    token_s: float = key(0.02, ge=1e-9, le=draws.MOST, description="seconds of a token for one lonely request")
    token_active_s: float = key(
        0.0, ge=0, le=draws.MOST, description="further seconds of a token for each running request"
    )
    prefill_tokens_s: float = key(0.0, ge=0, le=draws.MOST, description="prompt tokens a second; 0 takes no time")
    interference: float = key(1.0, ge=0, le=1, description="how much of decoding stands still during a prefill")
    gpu_hour: float = key(0.0, ge=0, le=draws.MOST, description="price of a GPU for an hour")


class EnginePart(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """What all engines do: routing, and how new weights arrive."""

    route: Literal["least", "fit", "random"] = key("least", description="least busy, best fitting, or random replica")
    sticky: bool = key(True, description="a trajectory stays with its replica and reuses its prefix")
    queue: Literal["fifo", "oldest"] = key("fifo", description="which waiting request runs next")
    update: Literal["in_flight", "drain", "pinned"] = key("in_flight", description="how a replica takes new weights")
    during_update: Literal["run", "pause"] = key("run", description="what engines do while the learner works")
    partial: Literal["resume", "turn", "episode"] = key(
        "resume", description="what an interrupted request keeps: all, the turns before it, or nothing"
    )
    recompute: bool = key(False, description="keys and values of running requests are computed anew after an update")
    sync_s: float = key(0.0, ge=0, le=draws.MOST, description="seconds in which new weights reach a replica")
    rolling: bool = key(False, description="replicas are updated one after another")


class RolloutPart(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """How groups are played."""

    group_size: int = key(8, ge=1, le=MANY, description="episodes of one task")
    redundancy: int = key(0, ge=0, le=MANY, description="further members started; the first valid ones win")
    schedule: Literal["trajectory", "turn"] = key(
        "trajectory", description="every episode at its own pace, or all of a step in lockstep, turn by turn"
    )


class EnvPart(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """The environments."""

    count: int = key(0, ge=0, le=MANY, description="environments; 0 is as many as are wanted")
    hold: Literal["episode", "step"] = key("episode", description="how long an episode keeps its environment")
    reset_s: Spread = key(0.0, description="seconds until an environment is ready")
    step_s: Spread = key(0.0, description="seconds of one answer")
    errors: float = key(0.0, ge=0, lt=1, description="share of episodes that crash in one of their turns")
    hangs: float = key(0.0, ge=0, lt=1, description="share of episodes in which one answer never comes")
    deadline_s: float = key(60.0, ge=1e-3, le=draws.MOST, description="seconds after which an answer is given up")
    retries: int = key(0, ge=0, le=100, description="further tries of an episode that failed")
    kills_per_day: float = key(0.0, ge=0, le=A_SECOND, description="times a day that an environment's worker is killed")
    env_hour: float = key(0.0, ge=0, le=draws.MOST, description="price of an environment for an hour")


class RewardPart(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """The scoring of trajectories."""

    workers: int = key(0, ge=0, le=MANY, description="trajectories scored at once; 0 is elastic")
    seconds: Spread = key(0.0, description="seconds of one score")


class LearnerPart(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """The learner."""

    gpus: int = key(1, ge=1, le=MANY, description="GPUs that learn")
    shares_gpus: bool = key(False, description="they are the engines' own GPUs; pair with during_update = pause")
    fixed_s: float = key(0.0, ge=0, le=draws.MOST, description="seconds of a step that do not depend on its tokens")
    gpu_token_s: float = key(0.0, ge=0, le=draws.MOST, description="GPU seconds of a trained token, scoring included")
    switch_s: float = key(0.0, ge=0, le=draws.MOST, description="seconds to hand the GPUs over, each way")
    checkpoint_every: int = key(0, ge=0, le=MANY, description="steps between checkpoints; 0 is never")
    checkpoint_s: float = key(0.0, ge=0, le=draws.MOST, description="seconds that a checkpoint holds the learner up")
    gpu_hour: float = key(0.0, ge=0, le=draws.MOST, description="price of a GPU for an hour")


class FailuresPart(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """What breaks, and how soon it is whole again."""

    gpu_per_day: float = key(0.0, ge=0, le=A_SECOND, description="failures of one GPU a day")
    node_per_day: float = key(0.0, ge=0, le=A_SECOND, description="failures of one node a day")
    gpus_per_node: int = key(8, ge=1, le=MANY, description="GPUs that fall with a node")
    detect_s: float = key(30.0, ge=0, le=draws.MOST, description="seconds until a failure is seen")
    swap_s: float = key(120.0, ge=0, le=draws.MOST, description="seconds until a spare is loaded")
    repair_s: float = key(7200.0, ge=0, le=draws.MOST, description="seconds until broken hardware is back")
    spares: int = key(0, ge=0, le=MANY, description="replicas that stand by")
    restart_s: float = key(
        300.0, ge=0, le=draws.MOST, description="seconds until a learner that failed has loaded its checkpoint"
    )
    coupled: bool = key(False, description="any failure restarts the whole job")
    slow_share: float = key(0.0, ge=0, le=1, description="share of replicas that are silently slow")
    slow_factor: float = key(1.0, ge=1e-3, le=1, description="their speed, as a share of that of the others")


class Scenario(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """The whole scenario."""

    run: RunPart = key(default_factory=RunPart)
    task: dict[str, TaskPart] = key(default_factory=lambda: {"task": TaskPart()}, min_length=1)
    engines: dict[str, EnginesPart] = key(default_factory=lambda: {"engine": EnginesPart()}, min_length=1)
    engine: EnginePart = key(default_factory=EnginePart)
    rollout: RolloutPart = key(default_factory=RolloutPart)
    env: EnvPart = key(default_factory=EnvPart)
    reward: RewardPart = key(default_factory=RewardPart)
    learner: LearnerPart = key(default_factory=LearnerPart)
    failures: FailuresPart = key(default_factory=FailuresPart)

    @property
    def gpus(self) -> int:
        """GPUs in all."""
        playing = sum(kind.count * kind.gpus for kind in self.engines.values())
        return max(playing, self.learner.gpus) if self.learner.shares_gpus else playing + self.learner.gpus


FORM = Form(model=Scenario, key="key of a scenario", example="run.max_lag=2", wrong=ScenarioError)


def read(path: str | Path) -> dict[str, Any]:
    """The tree of a TOML file.

    Raises:
        ScenarioError: it is not there, or not TOML.
    """
    if not Path(path).is_file():
        raise ScenarioError(f"there is no file {path}: give a scenario in TOML")
    return parse(Path(path), FORM)


def make(tree: Mapping[str, Any], overrides: Iterable[str] = ()) -> Scenario:
    """The scenario of a tree and `key=value` overrides.

    Raises:
        UnknownName: a key that does not exist; the nearest one is named.
        ScenarioError: a value of the wrong type or out of range, or values that give nothing to measure, or no end, together.

    Example:
        >>> make({"run": {"max_lag": 1}}, ["engines.engine.slots=16"]).engines["engine"].slots
        16
    """
    merged = copy.deepcopy(dict(tree))
    for override in overrides:
        put(merged, *split(override, FORM))
    scenario = fit(merged, FORM)
    _measurable(scenario)
    _bounded(scenario)
    return scenario


def _measurable(scenario: Scenario) -> None:
    """Refuse values that each are allowed and that together leave nothing to measure."""
    run = scenario.run
    if run.skip >= run.steps:
        raise ScenarioError(
            f"run.steps is {run.steps} and run.skip {run.skip}: no step is left to count; set run.steps to at least {run.skip + 1}, "
            f"or run.skip below {run.steps}"
        )
    if not any(part.share for part in scenario.task.values()):
        raise ScenarioError(
            f"the share of every class of tasks is 0 ({', '.join(scenario.task)}); give one a share above 0"
        )
    for name, kind in scenario.engines.items():
        if 0 < kind.prefill_tokens_s < LEAST_PREFILL:
            raise ScenarioError(
                f"engines.{name}.prefill_tokens_s is {kind.prefill_tokens_s:g}: it must be 0 (no time) or at least {LEAST_PREFILL:g}"
            )


def _bounded(scenario: Scenario) -> None:
    """Refuse a scenario that would play for days: the turns that are to be expected of it, tries that fail included."""
    run, env, rollout = scenario.run, scenario.env, scenario.rollout
    members = (run.total * run.groups_per_step + run.ahead) * (rollout.group_size + rollout.redundancy)
    failing = 1 - (1 - env.errors) * (1 - env.hangs)
    tries = sum(failing**i for i in range(env.retries + 1))
    whole = sum(part.share for part in scenario.task.values())
    turns = sum(part.share / whole * max(1.0, draws.mean(part.turns)) for part in scenario.task.values())
    if members * tries * turns > MOST_TURNS:
        raise ScenarioError(
            f"the scenario would play about {members * tries * turns:.2g} turns ({members:,} episodes of {turns:.3g} turns, "
            f"{tries:.3g} tries each), and {MOST_TURNS:,} are the most: lower run.steps, run.tail, run.groups_per_step, run.ahead, "
            "rollout.group_size, task.*.turns or env.retries"
        )
