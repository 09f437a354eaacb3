"""Who can be evaluated: random, oracle, a run, a Hugging Face folder, a model behind a URL."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quintain import config as configs
from quintain.config import Config
from quintain.engines.scripted import Player
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import world_of
from quintain.ledger import RunDir
from quintain.parts import Cast
from quintain.registry import UnknownName, build, names, require_extra, unknown
from quintain.runtime.stage import data_sampler, env_of, make_stage, tasks, world_sampler
from quintain.types import Message, Request, Sampling, Task
from quintain.worlds.kernel import Plan

Move = Callable[[Any, Any, str, Request], str]  # (world, state, seat, request) -> action


def random_move(world: Any, state: Any, seat: str, request: Request) -> str:
    """A uniformly drawn legal move."""
    from quintain.worlds.noise import Rng

    return world.view(state, seat).sample(Rng("random player", *request.key)).key


def oracle_move(world: Any, state: Any, seat: str, request: Request) -> str:
    """The oracle's move; a random one where it has no plan."""
    plan = world.solve(state, seat)
    if isinstance(plan, Plan) and (plan.first or plan.moves):
        return random.Random(str(request.key)).choice(plan.first or plan.moves[:1]).key
    return random_move(world, state, seat, request)


PLAYERS: dict[str, Move] = {"random": random_move, "oracle": oracle_move}


def builtin(name: str, config: Config) -> Cast:
    """The cast of the random player or the oracle in the world of a config.

    Raises:
        ConfigError: what is played is no world, so that nobody knows its moves.
    """
    played = env_of(config)
    if ":" in played or played in names("env"):
        raise configs.ConfigError(
            f"the player {name!r} needs a world, and this is the env {played!r}; "
            "name a world, such as world=Sokoban, or evaluate a run, a model folder or a URL here"
        )
    scaffold = Scaffold.of(config.env.scaffold)
    world, move = world_of(config.env.name), PLAYERS[name]
    from quintain.envs.grammar import GRAMMARS

    write = GRAMMARS[scaffold.grammar].write
    seats = world.facts.seats

    def act(messages: Sequence[Message], state: Any, request: Request) -> str:
        return write(move(world, state, seats[request.key[4]], request)).text

    env = build("env", {"name": "world", "scaffold": config.env.scaffold})
    return Cast(env=env, engines={"policy": Player(act)}, renderers={}, seed=config.run.seed)


def of_run(folder: Path, overrides: Sequence[str], step: int | None = None) -> tuple[Config, Cast, int]:
    """The policy of a run's newest checkpoint, or that of `step`, in the run's own setting unless overridden; and its step.

    Raises:
        ConfigError: a model of words is to play where it lacks words.
    """
    with RunDir.open(folder) as store:
        own = configs.make(folder / "config.toml")
        config = configs.make(folder / "config.toml", overrides=overrides)
        checkpoint = store.latest_checkpoint(step)
    if checkpoint is None:
        raise UnknownName(f"{folder} has no checkpoint yet; train it further")
    return config, _policy(config, own, checkpoint.path), checkpoint.step


def of_folder(folder: Path, config: Config) -> Cast:
    """The model of a local Hugging Face folder."""
    config.model.folder = str(folder)
    return _policy(config)


def _policy(config: Config, own: Config | None = None, checkpoint: Path | None = None) -> Cast:
    require_extra("train", "torch", "transformers", "safetensors")
    from quintain.runtime import policy
    from quintain.runtime.playing import make_cast

    policy.set_threads(config.runtime.threads)
    stage = make_stage(config)
    if own is not None and not own.model.folder:
        stage = replace(stage, renderer=_own_words(config, own, stage.renderer))
    model = policy.make_model(config, stage.renderer)
    if checkpoint is not None:
        policy.load_checkpoint(model, checkpoint)  # before an engine takes a copy of it
    cast = make_cast(config, stage, policy.make_engine(_alone(config), model))
    return replace(cast, sampling=replace(cast.sampling, temperature=config.eval.temperature))


def _alone(config: Config) -> Config:
    """The config as one process without a learner has it: it plays by itself, and no new weights will come."""
    still = {
        "run": {"max_lag": 0},
        "runtime": {"processes": 1},
        "engine": {"update": "in_flight", "during_update": "run"},
    }
    return config.model_copy(update={k: getattr(config, k).model_copy(update=v) for k, v in still.items()})


def _own_words(config: Config, own: Config, asked: Any) -> Any:
    """The words that the model of a run has, if they are enough for those that are asked for."""
    learned = make_stage(own).renderer
    lacking = set(getattr(asked, "words", ())) - set(getattr(learned, "words", ()))
    if lacking:
        where, there = (f"{c.env.name} level {','.join(map(str, c.env.levels))}" for c in (own, config))
        raise configs.ConfigError(
            f"the model of this run knows the words of {where} only; {there} has {len(lacking)} others, such as "
            f"{min(lacking)!r}: evaluate it where it was trained, or train a model with a tokenizer (quintain new model)"
        )
    return learned


def of_url(url: str, model: str, config: Config, key_env: str) -> Cast:
    """A model behind an OpenAI-compatible URL, through chat completions.

    Raises:
        ConfigError: no model is named.
    """
    if not model:
        raise configs.ConfigError(
            f"a server answers for the models that it names, and none is named for {url}; pass --model NAME"
        )
    env = build("env", {"name": "world", "scaffold": config.env.scaffold})
    if config.data:
        env = build("env", "data")
    section = config.rollout
    shape = {"temperature": config.eval.temperature, "top_p": section.top_p}
    sampling = Sampling(**shape, max_tokens=max(64, section.max_tokens))
    engine = build("engine", {"name": "openai", "url": url, "model": model, "key_env": key_env})
    return Cast(env=env, engines={"policy": engine}, renderers={}, sampling=sampling, seed=config.run.seed)


def cast_of(player: str, config: Config, overrides: Sequence[str], options: Mapping[str, str]) -> tuple[Config, Cast]:
    """The config and cast of what the command line names.

    Raises:
        UnknownName: neither a player, a run folder, a model folder, nor a URL.
    """
    if player in PLAYERS:
        return config, builtin(player, config)
    if player.startswith(("http://", "https://")):
        return config, of_url(player, options.get("model", ""), config, options.get("key_env", "OPENAI_API_KEY"))
    folder = Path(player)
    if (folder / "run.json").is_file():
        return of_run(folder, overrides)[:2]
    if (folder / "config.json").is_file():
        return config, of_folder(folder, config)
    near, all_of_them, _ = unknown("player", player, PLAYERS).partition("; there are")
    raise UnknownName(
        f"{near}{';' if all_of_them else ''} players are {', '.join(sorted(PLAYERS))}, a run folder, a Hugging Face folder, or an "
        "http(s) URL"
    )


def held_out(config: Config, count: int, seed: int) -> list[Task]:
    """`count` tasks of the config's evaluation split; of data the rows that training held back, or all if it held back none."""
    played = env_of(config)
    rows = config.data if ":" in played else played in names("env")
    return tasks((data_sampler if rows else world_sampler)(config, config.eval.split, seed, (0, 1)), count)
