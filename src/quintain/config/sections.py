"""The sections of the config tree: every key with its type, range, default and one line of help, which is its row in the docs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from quintain.config.tree import NUMBERS, key, ranges


def _spec(value: Any) -> dict[str, Any]:
    spec = {"name": value} if isinstance(value, str) else dict(value) if isinstance(value, Mapping) else {}
    if not isinstance(spec.get("name"), str):
        raise ValueError("a part is a name, or a table with a `name` and its options")
    return spec


def _brief(value: Any) -> Any:
    spec = _spec(value)
    return spec if len(spec) > 1 else spec["name"]  # so that configs without options stay as they were


PartSpec = Annotated[dict[str, Any], BeforeValidator(_spec)]  # a bare name will do
NameOrPart = Annotated[str | dict[str, Any], BeforeValidator(_brief)]  # a part that hardly ever has options


def _folder(name: str) -> str:
    if not name.strip() or name in (".", "..") or {"/", "\\", "\0"} & set(name):
        raise ValueError("it names one folder inside run.folder; it must not be empty, . or .., nor hold a slash")
    return name


SIZES = {  # a size -> the names that model types have for it
    "vocab": ("vocab_size",),
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "num_layers"),
    "heads": ("num_attention_heads", "n_head"),
    "kv_heads": ("num_key_value_heads",),
    "head_dim": ("head_dim",),
    "ffn": ("intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size"),
    "context": ("max_position_embeddings",),
    "window": ("sliding_window",),
    "experts": ("num_local_experts", "num_experts"),
    "tie": ("tie_word_embeddings",),
}


def _whole(sizes: dict[str, Any]) -> dict[str, Any]:
    """All sizes of a small model: those that are not given follow from those that are, not from the published model of the type."""
    theirs = {name: sizes[other] for name, others in SIZES.items() for other in others if other in sizes}
    given = {**theirs, **sizes}
    hidden, heads = given.get("hidden", 64), given.get("heads", 2)
    if not type(hidden) is type(heads) is int:  # the model says what is wrong with them
        return sizes
    few = {"hidden": 64, "layers": 4, "heads": 2, "kv_heads": heads, "ffn": 3 * hidden}
    whole = {**{name: size for name, size in few.items() if name not in theirs}, **sizes}
    for name in few:
        if type(whole.get(name, 1)) is int and whole.get(name, 1) < 1:
            raise ValueError(f"{name} is {whole[name]}, and sizes are at least 1")
    return whole


class RunSection(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """The run as a whole."""

    _numbers = NUMBERS
    name: Annotated[str, AfterValidator(_folder)] = key(
        "run", description="name of the run; its folder is <folder>/<name>"
    )
    folder: str = key("runs", description="where run folders are made")
    seed: int = key(0, ge=0, description="seed of weights, tasks and sampling noise")
    steps: int = key(100, ge=0, description="optimizer steps (a step trains one batch of groups)")
    groups_per_step: int = key(32, ge=1, description="groups a step, over all processes")
    max_lag: int = key(0, ge=0, description="policy versions between admission and training; 0 is synchronous")
    look: int = key(0, ge=0, description="tickets beyond the oldest that may be trained out of order")
    over_limit: Literal["wait", "withhold", "refill"] = key(
        "wait",
        description="groups over max_lag: wait (there are none), withhold (the baseline sees them), refill (thrown away)",
    )
    ahead: int = key(0, ge=0, description="tickets of a process beyond what max_lag allows; needs withhold or refill")
    max_refills: int = key(64, ge=0, description="groups of a process that gates may replace in one step")
    checkpoint_every: int = key(50, ge=0, description="steps between checkpoints; 0 only at the end")
    keep_checkpoints: int = key(2, ge=1, description="newest checkpoints kept")
    imports: list[str] = key(default_factory=list, description="Python files of yours to run first: worlds, parts")
    record: str = key(
        "all",
        description="trajectories kept in the ledger: all, sample:K (K groups a step at random, trained ones before others), none",
    )


def _several(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class ModelSection(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """The policy: a local Hugging Face folder, or a model built from sizes."""

    _numbers = NUMBERS
    folder: str = key("", description="local Hugging Face folder; empty builds a model from the sizes below")
    arch: str = key("qwen3", description="Hugging Face model type to build")
    sizes: Annotated[dict[str, Any], AfterValidator(_whole)] = key(
        default_factory=lambda: _whole({}),
        description="hidden, layers, heads, kv_heads, head_dim, ffn, and any config field of the model type",
    )
    words: Annotated[list[str], BeforeValidator(_several)] = key(
        default_factory=list,
        description="places whose words a model of words knows, such as LightsOut:0-3; empty for where it begins",
    )
    context: int = key(512, ge=16, description="longest path in tokens")
    lora: dict[str, Any] = key(default_factory=dict, description="peft LoraConfig fields; empty trains all weights")


def _levels(value: Any) -> Any:
    """A level, or ranges such as `0-2,5`, as a list of levels."""
    if isinstance(value, str) and not (read := ranges(value)):
        raise ValueError("it must be one level or a range from 0 to 9, such as 3 or 0-5")
    return read if isinstance(value, str) else value if isinstance(value, list) else [value]


class EnvSection(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """What the agent acts in."""

    _numbers = NUMBERS
    name: str = key("KeyDoor", description="a world, or `data`, `tools`, `gymnasium`..., or FILE.py:factory")
    levels: Annotated[list[int], BeforeValidator(_levels)] = key(
        default_factory=lambda: [0], min_length=1, description="levels 0-9 to draw from"
    )
    params: dict[str, Any] = key(
        default_factory=dict, description="knobs of the world, beside the level, or options of the env"
    )
    workers: int = key(
        0, ge=0, le=1024, description="processes that hold the envs of each process that plays; 0 for none"
    )
    scaffold: dict[str, Any] = key(
        default_factory=dict, description="how the world is shown and answered (style, image...)"
    )


Share = Annotated[float, Field(ge=0, le=1)]


def _at_most_all(shares: dict[str, float]) -> dict[str, float]:
    if sum(shares.values()) > 1 + 1e-9:
        told = " + ".join(f"{share:g}" for share in shares.values())
        raise ValueError(f"the shares {told} are together {sum(shares.values()):g}; they are parts of 1")
    return shares


class RolloutSection(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """How episodes are played."""

    _numbers = NUMBERS
    name: str = key("episodes", description="rollout part")
    group_size: int = key(8, ge=1, description="episodes of one task")
    max_turns: int = key(
        0,
        ge=0,
        description="turns of a seat before it is cut off without a word; env.scaffold.turns tells of a limit; 0: the world's own",
    )
    max_tokens: int = key(
        0,
        ge=0,
        description="tokens a turn; 0 is 128 for a model folder, and what answers in its world need for a model of words",
    )
    temperature: float = key(1.0, ge=0, description="softmax temperature; 0 is greedy")
    top_p: float = key(1.0, gt=0, le=1, description="nucleus cut")
    top_k: int = key(0, ge=0, description="keep the k likeliest tokens; 0 keeps all")
    min_p: float = key(0.0, ge=0, lt=1, description="drop tokens below this share of the likeliest")
    redundancy: int = key(0, ge=0, description="episodes of a task beyond group_size; the first valid ones win")
    quarantine: int = key(
        3, ge=0, description="tries of a task, all spoiled by its env, after which it is set aside; 0 never"
    )
    drop_failed: bool = key(False, description="train without the episodes that their env ended by a fault")
    opponents: Annotated[dict[Literal["random", "oracle"], Share], AfterValidator(_at_most_all)] = key(
        default_factory=dict,
        description="shares of the groups in which random or oracle plays the other seats, such as {random = 0.5}; in the rest the policy "
        "plays all, and each seat in turn where it plays one",
    )
    options: dict[str, Any] = key(default_factory=dict, description="further options of the rollout part")


class AlgorithmSection(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """An alias with options, or a chain written out; a written chain wins over the alias's."""

    _numbers = NUMBERS
    name: str = key("grpo", description="alias: grpo, ppo, dapo... (`quintain list parts` names all)")
    preset: str = key("", description="published form of the alias: as_paper, as_released...; empty is our default")
    options: dict[str, Any] = key(
        default_factory=dict, description="options of the alias, and `entropy` for any of them"
    )
    advantage: list[PartSpec] = key(default_factory=list, description="advantage parts in order")
    gate: list[PartSpec] = key(default_factory=list, description="gate parts in order")
    objective: list[PartSpec] = key(default_factory=list, description="objective parts in order")


class LearnerSection(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """The optimizer and how a batch is cut."""

    _numbers = NUMBERS
    optimizer: str = key("muon", description="muon (2-D block weights; AdamW for the rest) or adamw")
    lr: float = key(6e-4, gt=0, description="peak learning rate")
    schedule: str = key("linear", description="constant, linear or cosine, over the steps of the run")
    warmup_steps: int = key(5, ge=0, description="steps of linear warm-up")
    floor: float = key(0.1, ge=0, le=1, description="final learning rate as a share of the peak")
    weight_decay: float = key(0.0, ge=0, description="decoupled weight decay")
    clip_norm: float = key(1.0, ge=0, allow_inf_nan=True, description="global gradient norm limit; 0 is off")
    minibatches: int = key(2, ge=1, description="optimizer updates that share one batch")
    epochs: int = key(1, ge=1, description="passes over the batch")
    micro_tokens: int = key(0, ge=0, description="tokens of one forward pass; 0 is 4,096, or 16,384 on a GPU")
    shard: Literal["none", "full"] = key(
        "none",
        description="none: every process holds the whole model (DDP); full: its layers are sharded over them (FSDP2)",
    )
    checkpointing: bool = key(
        False, description="compute activations again in the backward pass: less memory, more time"
    )
    precision: NameOrPart = key(
        "fp32",
        description="fp32, bf16 (autocast), fp16 (autocast; loss scaling with scale, growth_interval) or fp8 (emulated, in the engine too)",
    )
    device: str = key("auto", description="auto, cpu or cuda")


class EngineSection(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """Where tokens are sampled."""

    _numbers = NUMBERS
    name: str = key("torch", description="engine part")
    slots: int = key(256, ge=1, description="episodes whose keys and values are kept at once")
    update: Literal["in_flight", "drain", "pinned"] = key(
        "in_flight",
        description="new weights: between two tokens, once running requests are over, or for new episodes only",
    )
    during_update: Literal["run", "pause"] = key(
        "run", description="pause interrupts running requests for new weights; they go on first, with their prefix"
    )
    options: dict[str, Any] = key(default_factory=dict, description="further options of the engine")


class WarmStartSection(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """Supervised steps on demonstrations of the world's oracle before the first RL step."""

    _numbers = NUMBERS
    steps: int = key(0, ge=0, description="supervised steps; 0 skips the warm start")
    demos: int = key(3000, ge=1, description="demonstrations drawn from the training split")
    reward: float = key(
        1.0,
        description="least total reward of a demonstration; less where luck decides, as in poker",
    )
    batch: int = key(128, ge=1, description="demonstrations a step")
    lr: float = key(2e-3, gt=0, description="peak learning rate")
    warmup_steps: int = key(20, ge=0, description="steps of linear warm-up")


class RuntimeSection(BaseModel, extra="forbid", validate_default=True):
    """Processes and threads."""

    _numbers = NUMBERS
    processes: int = key(1, ge=1, description="ranks on this machine; each plays and trains its share")
    actors: int = key(0, ge=0, description="further processes that only play, while the first one learns; 0 for none")
    spares: int = key(0, ge=0, description="actors that are up but idle, to take the place of one that dies at once")
    heartbeat_s: float = key(
        30.0, ge=0, description="seconds without a sign of life until an actor is replaced; 0 never"
    )
    stall_s: float = key(300.0, ge=0, description="seconds without any progress until the run tells who waits for whom")
    stall_fatal_s: float = key(0.0, ge=0, description="seconds without any progress until the run is ended; 0 never")
    threads: int = key(1, ge=1, description="torch threads of a process; more than 1 suffers under contention")
    canaries: int = key(4, ge=0, description="rows audited a step and canaries scored after a weight sync; 0 is off")
    canary_limit: float = key(
        0.0, ge=0, description="largest gap of logprobs (nats) of engine and learner; 0 is what rounding explains"
    )


class PoolSection(BaseModel, extra="forbid", validate_default=True):
    """A pool of equal actors of a cluster, each with resources of its own."""

    _numbers = NUMBERS
    label: Literal["any", "prefill", "decode", "cpu", "learner"] = key(
        "any",
        description="any, prefill or decode: actors that play; cpu: workers that hold their envs; learner: ranks that learn",
    )
    count: int = key(1, ge=1, description="actors of the pool")
    cpus: float = key(1.0, ge=0, description="CPUs of one actor")
    gpus: float = key(0.0, ge=0, description="GPUs of one actor")
    memory_gb: float = key(0.0, ge=0, description="memory of one actor in GiB; 0 reserves none")
    resources: dict[str, float] = key(default_factory=dict, description="custom Ray resources of one actor")
    selector: dict[str, str] = key(default_factory=dict, description="labels that a node must have")


class ClusterSection(BaseModel, extra="forbid", validate_default=True):
    """Actors over a Ray cluster; without pools there is none."""

    _numbers = NUMBERS
    pools: dict[str, PoolSection] = key(
        default_factory=dict, description="pools by name: label, count and the resources of one actor"
    )
    address: str = key("", description="empty starts a Ray of its own here; auto, or host:port of a running one")
    auth: bool = key(True, description="token authentication; false only for a cluster that has none")
    token_file: str = key("", description="file with the token, mode 0600; empty: RAY_AUTH_TOKEN_PATH, or a new one")
    strategy: Literal["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"] = key(
        "PACK", description="placement: PACK, SPREAD, STRICT_PACK (one node) or STRICT_SPREAD (a node each)"
    )
    connect_s: float = key(20.0, gt=0, description="seconds until the cluster must have answered")
    place_s: float = key(120.0, gt=0, description="seconds until all actors must have their place")
    autoscales: bool = key(False, description="nodes may still come: do not refuse what no node has now")
    prefill_share: float = key(
        0.5,
        gt=0,
        lt=1,
        description="share of context in a group's tokens above which it fits prefill pools, else decode",
    )
    local_cpus: int = key(0, ge=0, description="CPUs of a Ray of its own; 0 for those of the machine")
    reward_tasks: int = key(0, ge=0, description="groups scored at once as tasks of the cluster; 0 scores here")
    reward_cpus: float = key(1.0, ge=0, description="CPUs of a task that scores")
    reward_s: float = key(300.0, gt=0, description="seconds that scoring a group as a task may take")
    reward_retries: int = key(2, ge=0, description="times that a lost scoring is repeated, if the reward is idempotent")
    runtime_env: dict[str, Any] = key(
        default_factory=dict, description="Ray runtime environment of the actors: env_vars, working_dir, pip..."
    )


class EvalSection(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """Evaluation beside training, on instances that training never draws."""

    _numbers = NUMBERS
    every: int = key(0, ge=0, description="steps between evaluations; 0 only at start and end")
    instances: int = key(
        0,
        ge=0,
        description="instances of one evaluation under way, each played once, or from each seat where `against` plays the others; 0 is off",
    )
    final_instances: int = key(
        0, ge=0, description="instances of the first and last evaluation, whatever `instances` is; 0 takes it"
    )
    temperature: float = key(1.0, ge=0, description="softmax temperature of evaluations, whatever the rollouts have")
    greedy: bool = key(True, description="also evaluate with temperature 0 at start and end")
    beside: bool = key(False, description="evaluate a copy of the policy while training goes on")
    split: Literal["test", "validation"] = key("test", description="validation or test")
    against: Literal["policy", "random", "oracle"] = key(
        "policy",
        description="who plays the other seats in worlds of several: policy (itself), random or oracle; the policy takes each seat in turn",
    )


class TrackSection(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False):
    """Where numbers go besides the ledger."""

    _numbers = NUMBERS
    sinks: list[str] = key(default_factory=list, description="tensorboard, wandb")


class Config(BaseModel, extra="forbid", validate_default=True, allow_inf_nan=False, ser_json_inf_nan="constants"):
    """The whole tree. A first run needs no key, a useful one at most 15."""

    run: RunSection = key(default_factory=RunSection)
    model: ModelSection = key(default_factory=ModelSection)
    env: EnvSection = key(default_factory=EnvSection)
    sampler: PartSpec = key(default_factory=lambda: {"name": "worlds"}, description="where tasks come from")
    rollout: RolloutSection = key(default_factory=RolloutSection)
    reward: PartSpec = key(default_factory=lambda: {"name": "env"}, description="reward part, or FILE.py:function")
    algorithm: AlgorithmSection = key(default_factory=AlgorithmSection)
    warm_start: WarmStartSection = key(default_factory=WarmStartSection)
    learner: LearnerSection = key(default_factory=LearnerSection)
    engine: EngineSection = key(default_factory=EngineSection)
    runtime: RuntimeSection = key(default_factory=RuntimeSection)
    cluster: ClusterSection = key(default_factory=ClusterSection)
    eval: EvalSection = key(default_factory=EvalSection)
    track: TrackSection = key(default_factory=TrackSection)
    data: str = key(default="", description="prompts: a JSONL, JSON or Parquet file, or a Hugging Face dataset folder")
    columns: dict[str, str] = key(
        default_factory=dict, description="column names of the data: prompt, answer, messages"
    )

    def toml(self, *, full: bool = False) -> str:
        """The tree as TOML text: what differs from the defaults and what is trained where, or everything with `full`."""
        import tomli_w

        whole = self.model_dump(mode="json")
        if full:
            return tomli_w.dumps(_prune(whole))
        told = self.model_dump(mode="json", exclude_defaults=True)
        for section, what in (
            ("env", "name"),
            ("model", "folder" if self.model.folder else "arch"),
            ("algorithm", "name"),
        ):
            told[section] = {what: whole[section][what], **told.get(section, {})}
        return tomli_w.dumps(_prune({section: told[section] for section in whole if section in told}))


def _prune(value: Any) -> Any:
    """TOML has no null: drop what is None, and empty tables."""
    if isinstance(value, Mapping):
        pruned = {k: _prune(v) for k, v in value.items() if v is not None}
        return {k: v for k, v in pruned.items() if v != {}}
    return [_prune(v) for v in value] if isinstance(value, list) else value
