"""Where the policy acts: envs, renderer, tasks to train and to evaluate on, demonstrations, from the config."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from quintain.codec import digest_of
from quintain.config import Config, ConfigError
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.learn.pack import Demo
from quintain.parts import Sampler
from quintain.ports import Env, Renderer
from quintain.registry import build, entry, names, unknown
from quintain.render import ChatRenderer, WordRenderer
from quintain.runtime.demos import SPARE, write_demos
from quintain.runtime.env_host import make_envs
from quintain.runtime.env_pool import Schema
from quintain.runtime.env_process import local
from quintain.runtime.spread import cores, spread
from quintain.types import Task
from quintain.worlds.kernel import Plan
from quintain.worlds.knobs import lexicon, started

Envs = Callable[[Task], Env]
Hold = Callable[
    [dict[str, Any], Schema], Envs
]  # envs elsewhere: what `make_envs` reads there, and the type of private states
# instances of a level (a quarter of them where they have turns), and turns of each, that tell how long answers are
LOOKS, TURNS = 32, 4
APART = 7919  # evaluation draws from the same splits with a seed of its own


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """What `make_stage` gives: the env of a task, the renderer, and samplers by (split, seed, rank of ranks)."""

    env: Envs
    renderer: Renderer
    sampler: Callable[[str, int, tuple[int, int]], Sampler]
    demos: Callable[[int, int], Iterable[Demo]] | None = None


def env_of(config: Config) -> str:
    """The env that is played: the one named, or `data` where a world is named and there is data."""
    name = config.env.name
    own = ":" in name or (name in names("env") and name != "world")
    return "data" if config.data and not own else name


def make_stage(config: Config, hold: Hold | None = None) -> Stage:
    """The stage of a config: a world, data, tools, or an env factory of the user's.

    Args:
        config: of the run.
        hold: keeps the envs elsewhere; None for this process, or its `env.workers`.

    Raises:
        UnknownName: no such world or env; the nearest match is named.
        ConfigError: the env needs a model folder (for its tokenizer) or data, and the config names none.
    """
    name = env_of(config)
    if ":" in name:
        return _text_stage(
            config, envs(config, {"user": name}, hold=hold), data_sampler if config.data else world_sampler
        )
    if name in names("env") and name != "world":
        sampler = world_sampler if seeded(name) and not config.data else data_sampler
        return _text_stage(config, envs(config, env_spec(config), hold=hold), sampler)
    if name in names("world"):
        return _world_stage(config, hold)
    raise ConfigError(unknown("env.name", name, [*names("world"), *names("env")]))


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
    renderer = _world_renderer(config, world, scaffold)
    sampler = partial(world_sampler, config)

    def demos(count: int, seed: int) -> Iterable[Demo]:
        own, tasks = WorldEnv(world, scaffold), drawn(sampler("train", seed, (0, 1)))
        share = cores(config.runtime.processes)
        made = spread(own, tasks, count, share, seed=seed, reward=config.warm_start.reward)
        for demo in write_demos(made, renderer, turn_tokens(config)):
            if len(demo.tokens) > config.model.context:
                raise ConfigError(
                    f"model.context is {config.model.context}, but a demonstration of the oracle has {len(demo.tokens)} "
                    "tokens; set model.context higher, or an easier level"
                )
            yield demo

    return Stage(env=env, renderer=renderer, sampler=sampler, demos=demos)


def _world_renderer(config: Config, world: Any, scaffold: Scaffold) -> Renderer:
    if config.model.folder:
        return ChatRenderer(Path(config.model.folder))
    if scaffold.style != "words":
        raise ConfigError(
            "model.folder is empty and env.scaffold.style is not 'words': plain text needs the tokenizer of a model folder; "
            f"set model=FOLDER, or train a model of words from scratch: quintain train words world={config.env.name}"
        )
    one, words = 1 if turn_tokens(config) == 1 else 0, known(config)
    if lacking := _lacking(config, words):
        there, had = place(config), config.model.words
        raise ConfigError(
            f"the model knows the words of {', '.join(had)} only; {there} has {len(lacking)} others, such as {min(lacking)!r}: play where "
            f"it has them, begin a run with model.words={[*had, there]}, or train a model with a tokenizer (quintain new model)"
        )
    renderer = WordRenderer(words, turn_tokens=one)
    said = max(_answers(config, world, TURNS), key=lambda text: len(text.split()), default="")
    need = len(renderer.ids(said)) + (1 - one)  # and what ends it
    if need > turn_tokens(config):
        raise ConfigError(
            f"{config.env.name}: an answer such as {said[:60]!r} has {len(renderer.ids(said))} words, and a turn has room for "
            f"{turn_tokens(config)} token{'s' * (turn_tokens(config) > 1)}; set rollout.max_tokens={need + one + SPARE}, or 0 "
            "for what the world needs"
        )
    return renderer


def place(config: Config) -> str:
    """Where a config plays, as an entry of `model.words`.

    Example:
        >>> from quintain import config as configs
        >>> place(configs.make(overrides=["world=LightsOut", "env.levels=[2, 0]", "env.params.side=4"]))
        'LightsOut:0,2 side=4'
    """
    section = config.env
    knobs = (f" {name}={json.dumps(value, separators=(',', ':'))}" for name, value in section.params.items())
    return f"{section.name}:{','.join(map(str, sorted(set(section.levels))))}{''.join(knobs)}"


def known(config: Config) -> list[str]:
    """The words of a model of words: those of the places in `model.words`, or of where it plays.

    Raises:
        ConfigError: an entry is no place.
        UnknownName, UnknownLevel, BadKnob: it is one that there is not.

    Example:
        >>> from quintain import config as configs
        >>> def of(*words):
        ...     return set(known(configs.make(overrides=["world=ConnectKDuel", "level=3", *words])))
        >>> sorted(of("model.words=ConnectKDuel:3-4") - of())
        ['5', 'line5']
    """
    words: dict[str, None] = {}
    for told in config.model.words or [place(config)]:
        name, levels, knobs = _read(told)
        words |= dict.fromkeys(lexicon(world_of(name), levels, knobs))
    return list(words)


def _read(told: str) -> tuple[str, list[int], dict[str, Any]]:
    """World, levels and knobs of an entry of `model.words`."""
    try:
        head, *rest = told.split()
        name, _, said = head.partition(":")
        ends = [part.split("-") for part in said.split(",")]
        levels = [level for low, *high in ends for level in range(int(low), int(high[0] if high else low) + 1)]
        knobs = {key: json.loads(value) for key, _, value in (part.partition("=") for part in rest)}
    except ValueError as error:
        raise ConfigError(
            f"model.words: {told!r} is no place; write WORLD:LEVELS, with knobs behind it if there are, such as LightsOut:0-3 side=4"
        ) from error
    if name not in names("world"):
        raise ConfigError(unknown("world of model.words", name, names("world")))
    return name, levels, knobs


def _lacking(config: Config, words: Iterable[str]) -> set[str]:
    """The words that are said where a config plays beyond those that are known."""
    return {*lexicon(world_of(config.env.name), config.env.levels, config.env.params)} - {*words}


def of_words(config: Config) -> bool:
    """Whether the model of a config is one of words."""
    return not config.model.folder and env_of(config) in names("world")


def spelled(config: Config) -> str:
    """A digest of the words of a model of words; empty for other models."""
    return digest_of(sorted(known(config))) if of_words(config) else ""


def keep_words(config: Config, own: Config, began: str = "") -> None:
    """Has a config that changes that of a run keep the words that the run's model has: each of its tokens is one of them.

    Args:
        config: what it shall be now.
        own: as it was.
        began: `spelled` of the run as it began; empty where nobody wrote it down.

    Raises:
        ConfigError: it asks for others, or the worlds say other words than they did.
    """
    if not of_words(own):
        return
    had = own.model.words or [place(own)]
    if config.model.words not in ([], had):
        raise ConfigError(
            f"model.words is {config.model.words}, but the model of this run knows those of {', '.join(had)}; leave it so"
        )
    config.model.words = had
    if began and spelled(config) != began:
        raise ConfigError(
            f"the words of {', '.join(had)} are not those that this run began with, so its tokens would mean others: it was made by "
            "another version of quintain; go on with that one"
        )


def _answers(config: Config, world: Any, looks: int = LOOKS) -> Iterator[str]:
    """What can be said in the first turns of instances of the easiest and of the hardest level: by the oracle, and by the rules."""
    for level in {min(config.env.levels), max(config.env.levels)}:
        for seed in range(looks):
            state = started(world, seed, level, "train", config.env.params)
            if seed >= looks // TURNS and world.turns(state) > 1:
                break
            for _ in range(TURNS):
                seat = next(name for name in world.facts.seats if world.view(state, name).acts)
                plan = world.solve(state, seat)
                moves = plan.moves if isinstance(plan, Plan) else ()
                yield from [move.key for move in (*moves, *world.view(state, seat).legal())]
                outcome = world.step(state, {seat: moves[0]}) if moves else None
                if outcome is None or outcome.done:
                    break
                state = outcome.state


def fitted(config: Config) -> Config:
    """A config with what a model of words needs in its world: the words, and the tokens of a turn where it leaves them open.

    One where single words are all that is said, which then need no token to end them; else twice the longest answer seen, and some: a
    policy that has learnt to end its turns does not use them up, and rare answers are much longer than most (moves of a queen).

    Example:
        >>> from quintain import config as configs
        >>> fitted(configs.make(overrides=["world=LightsOut", "env.scaffold.style=words"])).rollout.max_tokens
        1
    """
    if not of_words(config):
        return config
    config, tokens = config.model_copy(deep=True), config.rollout.max_tokens
    if not config.model.words or _lacking(config, known(config)):
        config.model.words.append(place(config))
    if not tokens:
        longest = max((len(text.split()) for text in _answers(config, world_of(config.env.name))), default=1)
        config.rollout.max_tokens = 1 if longest == 1 else 2 * longest + SPARE
    return config


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
    return build("sampler", {**drawn, "seed": seed, "shard": shard, **own})


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
    return build("sampler", {**more, **chosen, "seed": seed, "shard": shard, **own, **once})


def turn_tokens(config: Config) -> int:
    """The tokens of a turn: as set, or else enough for a short answer in text and for one word."""
    return config.rollout.max_tokens or (128 if config.model.folder else 1)


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
        task, state = sampler.draw(state)
        if task is None:
            return
        yield task


def tasks(sampler: Sampler, count: int) -> list[Task]:
    """The first `count` tasks of a sampler, fewer if it ends."""
    return list(islice(drawn(sampler), count))
