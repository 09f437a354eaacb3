"""Where the policy acts: envs, renderer, tasks to train and to evaluate on, demonstrations, from the config."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from quintain.config import Config, ConfigError
from quintain.envs.demos import Manner, Turn
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.given import lacks, next_of, spread_out, whole
from quintain.learn.pack import Demo
from quintain.parts import Sampler
from quintain.ports import Env, Renderer
from quintain.registry import build, entry, named, names, unknown
from quintain.render import ChatRenderer
from quintain.runtime.demos import write_demos
from quintain.runtime.env_host import make_envs
from quintain.runtime.env_pool import Schema
from quintain.runtime.env_process import local
from quintain.runtime.spread import cores, spread
from quintain.runtime.words import renderer_of, turn_tokens
from quintain.types import Task, Tool

Envs = Callable[[Task], Env]
Demonstration = tuple[Task, tuple[Turn, ...]]
Hold = Callable[
    [dict[str, Any], Schema], Envs
]  # envs elsewhere: what `make_envs` reads there, and the type of private states
APART = 7919  # evaluation draws from the same splits with a seed of its own


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """What `make_stage` gives: the env of a task, the renderer, and samplers by (split, seed, rank of ranks)."""

    env: Envs
    renderer: Renderer
    sampler: Callable[[str, int, tuple[int, int]], Sampler]
    demos: Callable[[int, int], Iterable[Demo]] | None = None


def env_of(config: Config) -> str:
    """The env that is played: the one named, or `data` where a world is named and there is data.

    Raises:
        ConfigError: no world or env has that name; the nearest is named.
    """
    name = config.env.name
    if ":" in name or (name in names("env") and name != "world"):
        return name
    if name not in names("world"):
        raise ConfigError(unknown("env.name", name, [*names("world"), *names("env")]))
    return "data" if config.data else name


def make_stage(config: Config, hold: Hold | None = None) -> Stage:
    """The stage of a config: a world, data, tools, or an env factory of the user's.

    Args:
        config: of the run.
        hold: keeps the envs elsewhere; None for this process, or its `env.workers`.

    Raises:
        ConfigError: there is no such world or env, or it needs a model folder (for its tokenizer) or data, and the config names none;
            or it shows pictures.
    """
    name = env_of(config)
    refuse_pictures(config)
    if ":" in name:
        return _text_stage(
            config, envs(config, {"user": name}, hold=hold), data_sampler if config.data else world_sampler
        )
    if name in names("env") and name != "world":
        sampler = world_sampler if seeded(name) and not config.data else data_sampler
        return _text_stage(config, envs(config, env_spec(config), hold=hold), sampler)
    return _world_stage(config, hold)


def refuse_pictures(config: Config) -> None:
    """Refuse what shows pictures, which the renderer of a policy that is loaded here cannot write.

    Raises:
        ConfigError: the world or env is told to; the message names the setting.
    """
    name, params = env_of(config), config.env.params
    at, side = "env.scaffold.image", config.env.scaffold.get("image")
    if name in names("env") and name == config.env.name:
        fields = params.get("fields")
        shown = fields.get("image") if isinstance(fields, dict) else None  # of an OpenEnv server
        at, side = ("env.params.fields.image", shown) if shown else ("env.params.image", params.get("image"))
    if side:
        raise ConfigError(
            f"{at} is {side!r}, and a policy that is trained or loaded here reads text only: leave it out and tell the state as text, or "
            "let a model that sees play: quintain eval URL --model NAME"
        )


def seeded(name: str) -> bool:
    """Whether the tasks of a registered env are a seed and a level, as those of a world are, and need no data."""
    return name in names("env") and bool(entry("env", name).tags.get("seeds"))


def env_spec(config: Config) -> dict[str, Any]:
    """What names the envs of a config that plays no world: a function of the user's, or a part with its options."""
    name = env_of(config)
    params = config.env.params if name == config.env.name else {}
    return {"user": name} if ":" in name else {"part": {"name": name, **params}}


def envs(config: Config, spec: dict[str, Any], schema: Schema = lambda task: None, hold: Hold | None = None) -> Envs:
    """The env factory of a spec, in this process or in workers; what it refuses is refused here in either case."""
    here = make_envs(spec)
    spec = {**spec, "imports": config.run.imports}
    if hold is not None:
        return hold(spec, schema)
    return local(spec, config.env.workers, schema) if config.env.workers else here


def _world_stage(config: Config, hold: Hold | None) -> Stage:
    section = config.env
    world = world_of(section.name)
    scaffold = Scaffold.of(section.scaffold)
    spec = {"part": {"name": "world", "scaffold": section.scaffold}}
    env = envs(config, spec, lambda task: world_of(task.env).schema, hold)
    renderer = _world_renderer(config, scaffold)
    sampler = partial(world_sampler, config)

    def demos(count: int, seed: int) -> Iterable[Demo]:
        own, tasks = WorldEnv(world, scaffold), drawn(spread_out(sampler("train", seed, (0, 1))))
        share = cores(config.runtime.processes)
        made = spread(own, tasks, count, share, Manner(seed=seed, reward=config.warm_start.reward))
        return written(config, made, renderer, own.tools)

    return Stage(env=env, renderer=renderer, sampler=sampler, demos=demos)


def written(
    config: Config, made: Iterable[Demonstration], renderer: Renderer, tools: Sequence[Tool] = ()
) -> Iterator[Demo]:
    """Demonstrations as tokens (see `write_demos`), none longer than a path may be.

    Raises:
        ConfigError: an answer or a whole demonstration has no room.
    """
    for demo in write_demos(made, renderer, turn_tokens(config), tools):
        if len(demo.tokens) > config.model.context:
            raise ConfigError(
                f"model.context is {config.model.context}, but a demonstration of the oracle has {len(demo.tokens)} "
                "tokens; set model.context higher, or an easier level"
            )
        yield demo


def _world_renderer(config: Config, scaffold: Scaffold) -> Renderer:
    if config.model.folder:
        return ChatRenderer(Path(config.model.folder))
    if scaffold.style != "words":
        raise ConfigError(
            "model.folder is empty and env.scaffold.style is not 'words': plain text needs the tokenizer of a model folder; "
            f"set model=FOLDER, or train a model of words from scratch: quintain train words world={config.env.name}"
        )
    return renderer_of(config)


def _text_stage(config: Config, env: Envs, sampler: Callable[..., Sampler]) -> Stage:
    if not config.model.folder:
        raise ConfigError(
            "model.folder is empty: text needs the tokenizer of a local Hugging Face folder; set model=FOLDER"
        )
    return Stage(env=env, renderer=ChatRenderer(Path(config.model.folder)), sampler=partial(sampler, config))


def world_sampler(config: Config, split: str, seed: int, shard: tuple[int, int]) -> Sampler:
    """Instances of a world, or of an env of the user's: a seed and a level each."""
    section = config.env
    own = config.sampler if split == "train" else {"name": "worlds"}
    params = {} if seeded(section.name) else section.params  # those of a registered env are its own options
    drawn = {"env": section.name, "levels": section.levels, "params": params, "split": split}
    return _sampler({**drawn, "seed": seed, "shard": shard}, own)


def data_sampler(config: Config, split: str, seed: int, shard: tuple[int, int]) -> Sampler:
    """The rows of a split as tasks, with the options of the config's sampler; those to evaluate on come once each.

    Raises:
        ConfigError: no data are named.
    """
    own = config.sampler if config.sampler["name"] != "worlds" else {"name": "dataset"}
    if own["name"] == "dataset" and not (config.data or own.get("path")):
        raise ConfigError("data is empty: name a JSONL or Parquet file or a dataset folder, such as data=prompts.jsonl")
    more = {"path": config.data} if config.data else {}
    more |= {"columns": config.columns} if config.columns else {}
    chosen = {"split": rows_of(config, split)} if own["name"] == "dataset" else {}
    once = {**chosen, "epochs": 1, "seed": seed} if chosen and split != "train" else {}
    return _sampler({**more, **chosen, "seed": seed, "shard": shard}, {**own, **once})


def _sampler(handed: Mapping[str, Any], own: Mapping[str, Any]) -> Sampler:
    """The sampler of these options; one of one's own that cannot take what every run hands over is told all of it at once."""
    name = named("sampler", own)
    lacking = lacks("sampler", name, handed)
    if lacking and not inspect.unwrap(entry("sampler", name).make).__module__.startswith("quintain."):
        raise ConfigError(
            f"sampler {name!r} takes no {', '.join(lacking)}, and every run hands over {', '.join(handed)}: let it take **options, "
            "and keep to those that matter to it"
        )
    return whole(build("sampler", {**handed, **own}))


def rows_of(config: Config, split: str) -> str:
    """The rows of the data that belong to a split: all of them, unless the run evaluates and so must hold some back."""
    return split if config.eval.instances or config.eval.final_instances else "all"


def need_demos(stage: Stage) -> Callable[[int, int], Iterable[Demo]]:
    """What writes demonstrations of the stage.

    Raises:
        ConfigError: the stage has no oracle to learn from.
    """
    if stage.demos is None:
        raise ConfigError("warm_start.steps is set, but only worlds have an oracle; set warm_start.steps=0")
    return stage.demos


def drawn(sampler: Sampler) -> Iterator[Task]:
    """The tasks of a sampler, one after the other, until it ends."""
    state = sampler.init()
    while True:
        task, state = next_of(sampler, state)
        if task is None:
            return
        yield task


def tasks(sampler: Sampler, count: int) -> list[Task]:
    """The first `count` tasks of a sampler, fewer if it ends."""
    return list(islice(drawn(sampler), count))
