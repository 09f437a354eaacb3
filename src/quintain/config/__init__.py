"""The one typed config tree: TOML files, presets and `key=value` overrides in, plain keyword arguments out.

Only the command line and the assembly of a run read it; parts get plain arguments. Every field has a one-line description,
which is its help text and its row in the docs.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from quintain.config.sections import AlgorithmSection as AlgorithmSection
from quintain.config.sections import ClusterSection as ClusterSection
from quintain.config.sections import Config as Config
from quintain.config.sections import EngineSection as EngineSection
from quintain.config.sections import EnvSection as EnvSection
from quintain.config.sections import EvalSection as EvalSection
from quintain.config.sections import LearnerSection as LearnerSection
from quintain.config.sections import ModelSection as ModelSection
from quintain.config.sections import PartSpec as PartSpec
from quintain.config.sections import PoolSection as PoolSection
from quintain.config.sections import RolloutSection as RolloutSection
from quintain.config.sections import RunSection as RunSection
from quintain.config.sections import RuntimeSection as RuntimeSection
from quintain.config.sections import TrackSection as TrackSection
from quintain.config.sections import WarmStartSection as WarmStartSection
from quintain.config.tree import Form, fit, parse, put, split
from quintain.config.tree import ranges as ranges
from quintain.registry import UnknownName, import_file, unknown, user_object
from quintain.types import QuintainError

RECIPES = (Path(__file__).parents[1] / "recipes", Path(__file__).parents[3] / "recipes")  # installed, or a checkout


class ConfigError(QuintainError):
    """A config value is of the wrong type or out of range; the message names key, value and limit."""


# shorthand keys of the command line: the first thing that users type
SHORT = {
    "model": "model.folder",
    "env": "env.name",
    "world": "env.name",
    "algorithm": "algorithm.name",
    "seed": "run.seed",
    "steps": "run.steps",
}
SHORT |= {"name": "run.name", "level": "env.levels", "levels": "env.levels", "lr": "learner.lr"}
# sections with a name that others of their keys belong to: another name leaves those behind (a gate suits most algorithms)
OWNED = {
    "algorithm": ("options", "preset", "advantage", "objective"),
    "engine": ("options",),
    "rollout": ("options",),
    "env": ("params",),
}
# what others call keys of ours that their spelling does not find; docs/coming-from.md has all
ELSEWHERE = {
    "model.path model.name model_name_or_path": "model.folder",
    "lr learning_rate": "learner.lr",
    "warm_start.learning_rate": "warm_start.lr",
    "warm_start.batch_size": "warm_start.batch",
    "batch_size train_batch_size": "run.groups_per_step",
    "num_generations rollout.n": "rollout.group_size",
    "temperature": "rollout.temperature",
    "eval.sampling.temperature val_kwargs.temperature": "eval.temperature",
    "max_tokens max_new_tokens max_completion_length max_response_length": "rollout.max_tokens",
    "beta kl_coef kl_loss_coef": "algorithm.options.kl",
    "gamma": "algorithm.options.gamma",
    "lam": "algorithm.options.lam",
    "ppo_epochs num_iterations": "learner.epochs",
    "max_steps total_training_steps": "run.steps",
    "seed": "run.seed",
    "device": "learner.device",
    "dtype bf16 fp16": "learner.precision",
    "output_dir": "run.folder",
    "save_steps save_freq": "run.checkpoint_every",
    "eval_steps test_freq": "eval.every",
    "log logger report_to wandb": "track.sinks",
    "resume resume_from_checkpoint": "`quintain train --resume RUN`",
}
ELSEWHERE = {name: key for names, key in ELSEWHERE.items() for name in names.split()}
SEVERAL = {
    "env.name": "; several worlds are drawn by the sampler: \"sampler={name='worlds', env=['KeyDoor', 'FourRooms']}\""
}
FORM = Form(
    model=Config,
    key="config key",
    example="run.steps=200",
    wrong=ConfigError,
    short=SHORT,
    elsewhere=ELSEWHERE,
    several=SEVERAL,
)


def make(*sources: Mapping[str, Any] | str | Path, overrides: Iterable[str] = ()) -> Config:
    """The config that results from mappings, TOML files or recipe names in order, then `key=value` overrides.

    What comes later wins: it changes the keys that it names. A part (a table with a name, such as a reward) and another
    algorithm take the whole place; another engine, rollout or env comes without the options of the one before.

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
    _assign(tree, overrides)
    config = fit(tree, FORM)
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
        if (path / "run.json").is_file():
            raise UnknownName(
                f"{source} is a run and no recipe: `quintain train --resume {shlex.quote(str(source))}` goes on with it, and "
                f"{path / 'config.toml'} has its settings, also for another one"
            )
        if path.name == "config.toml" and (path.parent / "run.json").is_file():
            kept = _json(path.parent / "run.json").get("config")
            fix = f"`quintain doctor --repair {shlex.quote(str(path.parent))}` writes it as the run last began or was resumed with it"
            raise ConfigError(f"{path} is gone: {fix if kept else 'restore it from a copy'}")
        found = recipes()
        if path.suffix == ".toml" or str(source) not in found:
            raise UnknownName(unknown("recipe or TOML file", str(source), found) + " (a world is said as world=NAME)")
        path = found[str(source)]
    return parse(path, FORM)


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def recipes() -> dict[str, Path]:
    """Every shipped recipe: name -> file."""
    return {p.stem: p for folder in reversed(RECIPES) if folder.is_dir() for p in sorted(folder.glob("*.toml"))}


def _merge(tree: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        part = isinstance(value, Mapping) and "name" in value and key not in (*OWNED, "run")
        if isinstance(value, Mapping) and isinstance(tree.get(key), dict) and not part:
            _leave(tree, key, value.get("name"), whole=key == "algorithm")
            _merge(tree[key], value)
        else:
            tree[key] = json.loads(json.dumps(value)) if isinstance(value, dict | list) else value


def _assign(tree: dict[str, Any], overrides: Iterable[str]) -> None:
    given = [(override.partition("=")[0].strip(), *split(override, FORM)) for override in overrides]
    names = [[section, "name"] for section in OWNED]
    for key, path, value in sorted(given, key=lambda one: one[1] not in names):  # before what is said of their options
        if key == "algorithm":
            tree["algorithm"] = {}
        elif path in names:
            _leave(tree, path[0], value)
        put(tree, path, value)


def _rooted(name: Any) -> Any:
    """A name; a file in it from the root on, as a run keeps it."""
    file, colon, what = str(name).rpartition(":")
    return f"{Path(file).expanduser().absolute()}:{what}" if colon and file.endswith(".py") else name


def _leave(tree: dict[str, Any], section: str, name: Any, whole: bool = False) -> None:
    """Leave behind what belongs to the name that a section has, where it gets another one; or the `whole` section."""
    owner = tree.get(section)
    if section not in OWNED or name is None or not isinstance(owner, dict):
        return
    was = owner.get("name", Config.model_fields[section].get_default(call_default_factory=True).name)
    if _rooted(was) != _rooted(name):
        for field in list(owner) if whole else OWNED[section]:
            owner.pop(field, None)
