"""The one typed config tree: TOML files, presets and `key=value` overrides in, plain keyword arguments out.

Only the command line and the assembly of a run read it; parts get plain arguments. Every field has a one-line description,
which is its help text and its row in the docs.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError

from quintain.registry import UnknownName, import_file, unknown, user_object
from quintain.types import QuintainError

RECIPES = (Path(__file__).parent / "recipes", Path(__file__).parents[2] / "recipes")  # installed, or a checkout


class ConfigError(QuintainError):
    """A config value is of the wrong type or out of range; the message names key, value and limit."""


def _spec(value: Any) -> dict[str, Any]:
    spec = {"name": value} if isinstance(value, str) else dict(value)
    if not isinstance(spec.get("name"), str):
        raise ValueError("a part is a name, or a table with a `name` and its options")
    return spec


PartSpec = Annotated[dict[str, Any], BeforeValidator(_spec)]  # a bare name will do


def _folder(name: str) -> str:
    if not name.strip() or name in (".", "..") or {"/", "\\", "\0"} & set(name):
        raise ValueError("it names one folder inside run.folder; it must not be empty, . or .., nor hold a slash")
    return name


class RunSection(BaseModel, extra="forbid", validate_default=True):
    """The run as a whole."""

    name: Annotated[str, AfterValidator(_folder)] = Field(
        "run", description="name of the run; its folder is <folder>/<name>"
    )
    folder: str = Field("runs", description="where run folders are made")
    seed: int = Field(0, ge=0, description="seed of weights, tasks and sampling noise")
    steps: int = Field(100, ge=0, description="optimizer steps (a step trains one batch of groups)")
    groups_per_step: int = Field(32, ge=1, description="groups a step, over all processes")
    max_lag: int = Field(0, ge=0, description="policy versions between admission and training; 0 is synchronous")
    look: int = Field(0, ge=0, description="tickets beyond the oldest that may be trained out of order")
    max_refills: int = Field(64, ge=0, description="groups that gates may replace in one step")
    checkpoint_every: int = Field(50, ge=0, description="steps between checkpoints; 0 only at the end")
    keep_checkpoints: int = Field(2, ge=1, description="newest checkpoints kept")
    imports: list[str] = Field(default_factory=list, description="Python files of yours to run first: worlds, parts")
    record: str = Field("all", description="trajectories kept in the ledger: all, sample:K (K groups a step), none")


class ModelSection(BaseModel, extra="forbid", validate_default=True):
    """The policy: a local Hugging Face folder, or a model built from sizes."""

    folder: str = Field("", description="local Hugging Face folder; empty builds a model from the sizes below")
    arch: str = Field("qwen3", description="Hugging Face model type to build")
    sizes: dict[str, Any] = Field(
        default_factory=lambda: {"hidden": 64, "layers": 4, "heads": 2, "kv_heads": 2, "head_dim": 32, "ffn": 192},
        description="hidden, layers, heads, kv_heads, head_dim, ffn, and any config field of the model type",
    )
    context: int = Field(512, ge=16, description="longest path in tokens")
    lora: dict[str, Any] = Field(default_factory=dict, description="peft LoraConfig fields; empty trains all weights")


class EnvSection(BaseModel, extra="forbid", validate_default=True):
    """What the agent acts in."""

    name: str = Field("KeyDoor", description="a world, or `data`, `tools`, or FILE.py:factory")
    levels: list[int] = Field(default_factory=lambda: [0], description="levels 0-9 to draw from")
    params: dict[str, Any] = Field(default_factory=dict, description="knobs of the world, beside the level")
    scaffold: dict[str, Any] = Field(
        default_factory=dict, description="how the world is shown and answered (style, image...)"
    )


class RolloutSection(BaseModel, extra="forbid", validate_default=True):
    """How episodes are played."""

    name: str = Field("episodes", description="rollout part")
    group_size: int = Field(8, ge=1, description="episodes of one task")
    max_turns: int = Field(0, ge=0, description="turn limit; 0 takes the world's own")
    max_tokens: int = Field(0, ge=0, description="tokens a turn; 0 is 128 for a model folder, 1 for a model of words")
    temperature: float = Field(1.0, ge=0, description="softmax temperature; 0 is greedy")
    top_p: float = Field(1.0, gt=0, le=1, description="nucleus cut")
    top_k: int = Field(0, ge=0, description="keep the k likeliest tokens; 0 keeps all")
    min_p: float = Field(0.0, ge=0, lt=1, description="drop tokens below this share of the likeliest")
    options: dict[str, Any] = Field(default_factory=dict, description="further options of the rollout part")


class AlgorithmSection(BaseModel, extra="forbid", validate_default=True):
    """An alias with options, or a chain written out; a written chain wins over the alias's."""

    name: str = Field("grpo", description="alias: grpo, dr_grpo, rloo, reinforce, dapo, ppo")
    options: dict[str, Any] = Field(default_factory=dict, description="options of the alias")
    advantage: list[PartSpec] = Field(default_factory=list, description="advantage parts in order")
    gate: list[PartSpec] = Field(default_factory=list, description="gate parts in order")
    objective: list[PartSpec] = Field(default_factory=list, description="objective parts in order")


class LearnerSection(BaseModel, extra="forbid", validate_default=True):
    """The optimizer and how a batch is cut."""

    optimizer: str = Field("muon", description="muon (2-D block weights; AdamW for the rest) or adamw")
    lr: float = Field(6e-4, gt=0, description="peak learning rate")
    schedule: str = Field("linear", description="constant, linear or cosine, over the steps of the run")
    warmup_steps: int = Field(5, ge=0, description="steps of linear warm-up")
    floor: float = Field(0.1, ge=0, le=1, description="final learning rate as a share of the peak")
    weight_decay: float = Field(0.0, ge=0, description="decoupled weight decay")
    clip_norm: float = Field(1.0, ge=0, description="global gradient norm limit; 0 is off")
    minibatches: int = Field(2, ge=1, description="optimizer updates that share one batch")
    epochs: int = Field(1, ge=1, description="passes over the batch")
    micro_tokens: int = Field(0, ge=0, description="tokens of one forward pass; 0 is 4,096, or 16,384 on a GPU")
    precision: str = Field("fp32", description="fp32, bf16 (autocast) or fp16 (autocast, loss scaling)")
    device: str = Field("auto", description="auto, cpu or cuda")


class EngineSection(BaseModel, extra="forbid", validate_default=True):
    """Where tokens are sampled."""

    name: str = Field("torch", description="engine part")
    slots: int = Field(256, ge=1, description="episodes whose keys and values are kept at once")
    options: dict[str, Any] = Field(default_factory=dict, description="further options of the engine")


class WarmStartSection(BaseModel, extra="forbid", validate_default=True):
    """Supervised steps on demonstrations of the world's oracle before the first RL step."""

    steps: int = Field(0, ge=0, description="supervised steps; 0 skips the warm start")
    demos: int = Field(3000, ge=1, description="demonstrations drawn from the training split")
    batch: int = Field(128, ge=1, description="demonstrations a step")
    lr: float = Field(2e-3, gt=0, description="peak learning rate")
    warmup_steps: int = Field(20, ge=0, description="steps of linear warm-up")


class RuntimeSection(BaseModel, extra="forbid", validate_default=True):
    """Processes and threads."""

    processes: int = Field(1, ge=1, description="ranks on this machine; each plays and trains its share")
    actors: int = Field(0, ge=0, description="further processes that only play, while the first one learns; 0 for none")
    threads: int = Field(1, ge=1, description="torch threads of a process; more than 1 suffers under contention")


class EvalSection(BaseModel, extra="forbid", validate_default=True):
    """Evaluation beside training, on instances that training never draws."""

    every: int = Field(0, ge=0, description="steps between evaluations; 0 only at start and end")
    instances: int = Field(0, ge=0, description="episodes of one evaluation; 0 is off")
    final_instances: int = Field(0, ge=0, description="episodes of the first and last evaluation; 0 takes `instances`")
    temperature: float = Field(1.0, ge=0, description="softmax temperature of evaluations, whatever the rollouts have")
    greedy: bool = Field(True, description="also evaluate with temperature 0 at start and end")
    split: Literal["test", "validation"] = Field("test", description="validation or test")


class TrackSection(BaseModel, extra="forbid", validate_default=True):
    """Where numbers go besides the ledger."""

    sinks: list[str] = Field(default_factory=list, description="tensorboard, wandb")


class Config(BaseModel, extra="forbid", validate_default=True):
    """The whole tree. A first run needs no key, a useful one at most 15."""

    run: RunSection = Field(default_factory=RunSection)
    model: ModelSection = Field(default_factory=ModelSection)
    env: EnvSection = Field(default_factory=EnvSection)
    sampler: PartSpec = Field(default_factory=lambda: {"name": "worlds"}, description="where tasks come from")
    rollout: RolloutSection = Field(default_factory=RolloutSection)
    reward: PartSpec = Field(default_factory=lambda: {"name": "env"}, description="reward part, or FILE.py:function")
    algorithm: AlgorithmSection = Field(default_factory=AlgorithmSection)
    warm_start: WarmStartSection = Field(default_factory=WarmStartSection)
    learner: LearnerSection = Field(default_factory=LearnerSection)
    engine: EngineSection = Field(default_factory=EngineSection)
    runtime: RuntimeSection = Field(default_factory=RuntimeSection)
    eval: EvalSection = Field(default_factory=EvalSection)
    track: TrackSection = Field(default_factory=TrackSection)
    data: str = Field("", description="prompts: a JSONL, JSON or Parquet file, or a Hugging Face dataset folder")
    columns: dict[str, str] = Field(
        default_factory=dict, description="column names of the data: prompt, answer, messages"
    )

    def toml(self, *, full: bool = False) -> str:
        """The tree as TOML text: what differs from the defaults and what is trained where, or everything with `full`."""
        import tomli_w

        whole = self.model_dump(mode="json")
        if full:
            return tomli_w.dumps(_prune(whole))
        told = self.model_dump(mode="json", exclude_defaults=True)
        for section, key in (
            ("env", "name"),
            ("model", "folder" if self.model.folder else "arch"),
            ("algorithm", "name"),
        ):
            told[section] = {key: whole[section][key], **told.get(section, {})}
        return tomli_w.dumps(_prune({section: told[section] for section in whole if section in told}))


# shorthand keys of the command line: the first thing that users type
SHORT = {
    "model": "model.folder",
    "env": "env.name",
    "world": "env.name",
    "algorithm": "algorithm.name",
    "seed": "run.seed",
    "steps": "run.steps",
}
SHORT |= {"name": "run.name", "level": "env.levels", "lr": "learner.lr"}


def _prune(value: Any) -> Any:
    """TOML has no null: drop what is None, and empty tables."""
    if isinstance(value, Mapping):
        pruned = {k: _prune(v) for k, v in value.items() if v is not None}
        return {k: v for k, v in pruned.items() if v != {}}
    return [_prune(v) for v in value] if isinstance(value, list) else value


def make(*sources: Mapping[str, Any] | str | Path, overrides: Iterable[str] = ()) -> Config:
    """The config that results from mappings, TOML files or recipe names in order, then `key=value` overrides.

    Raises:
        UnknownName: a key or recipe that does not exist; the nearest match is named.
        ConfigError: a value of the wrong type or out of range.

    Example:
        >>> make(overrides=["run.seed=3", "learner.lr=1e-3"]).learner.lr
        0.001
    """
    tree: dict[str, Any] = {}
    for source in sources:
        _merge(tree, source if isinstance(source, Mapping) else read(source))
    for override in overrides:
        _assign(tree, override)
    try:
        config = Config.model_validate(tree)
    except ValidationError as error:
        raise _explain(error, tree) from None
    for path in config.run.imports:
        import_file(path)
    for name in (config.reward["name"], config.env.name):
        if name.endswith(".py"):
            user_object(name)  # names the functions of the file
    return config


def read(source: str | Path) -> dict[str, Any]:
    """The tree of a TOML file or of a recipe by name.

    Raises:
        UnknownName: there is no such file or recipe.
        ConfigError: the file is not TOML.
    """
    path = Path(source)
    if path.suffix != ".toml" or not path.is_file():
        found = {p.stem: p for folder in reversed(RECIPES) if folder.is_dir() for p in sorted(folder.glob("*.toml"))}
        if path.suffix == ".toml" or str(source) not in found:
            raise UnknownName(unknown("recipe or TOML file", str(source), found))
        path = found[str(source)]
    try:
        return tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error


def recipes() -> dict[str, Path]:
    """Every shipped recipe: name -> file."""
    return {p.stem: p for folder in reversed(RECIPES) if folder.is_dir() for p in sorted(folder.glob("*.toml"))}


def _merge(tree: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, Mapping) and isinstance(tree.get(key), dict) and "name" not in value:
            _merge(tree[key], value)
        else:
            tree[key] = json.loads(json.dumps(value)) if isinstance(value, dict | list) else value


def _assign(tree: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals:
        raise ConfigError(f"override {override!r} is not of the form key=value, such as run.steps=200")
    parts = SHORT.get(key, key).split(".")
    _known_key(parts)
    node = tree
    for part in parts[:-1]:
        below = node.setdefault(part, {})
        if not isinstance(below, dict):  # a part given by its name so far
            below = node[part] = {"name": below}
        node = below
    value = _value(text)
    if key == "algorithm":  # another algorithm has other options
        node.clear()
    node[parts[-1]] = [value] if parts == ["env", "levels"] and not isinstance(value, list) else value


def _value(text: str) -> Any:
    for attempt in (text, text.lower() if text.lower() in ("true", "false") else text):
        try:
            return tomllib.loads(f"v = {attempt}")["v"]
        except tomllib.TOMLDecodeError:
            pass
    return text


def _known_key(parts: list[str]) -> None:
    model: Any = Config
    for depth, part in enumerate(parts):
        fields = getattr(model, "model_fields", None)
        if fields is None:
            return  # inside a free table
        if part not in fields:
            where = ".".join(parts[:depth])
            raise UnknownName(unknown("config key", part, fields) + (f" (in {where})" if where else ""))
        model = fields[part].annotation


def _explain(error: ValidationError, tree: Mapping[str, Any]) -> QuintainError:
    first = error.errors()[0]
    path = [str(p) for p in first["loc"]]
    if first["type"] == "extra_forbidden":
        try:
            _known_key(path)
        except UnknownName as wrong:
            return wrong
    return ConfigError(
        f"{'.'.join(path)} is {first.get('input')!r}: {first['msg'].removeprefix('Value error, ').lower()}"
    )
