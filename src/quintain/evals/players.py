"""Who can be evaluated: random, oracle, a run, a Hugging Face folder, a model behind a URL."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from quintain import config as configs
from quintain.config import Config, EnvSection
from quintain.ledger import RunDir, nearest_run
from quintain.parts import Cast
from quintain.registry import UnknownName, build, names, require_extra, unknown
from quintain.runtime.env_host import make_envs
from quintain.runtime.opponents import ITSELF, PLAYERS, facing, heeded, rival, scripted, seats_of
from quintain.runtime.stage import data_sampler, env_of, env_spec, make_stage, seeded, tasks, world_sampler
from quintain.runtime.words import keep_words, went_with
from quintain.serve.desk import refuse_record
from quintain.types import Sampling, Task

ROOM = 1024  # tokens that a model behind a URL has for a turn: it may think aloud before it answers
PATIENT = {"retries": 8}  # an evaluation outlives two minutes of a server that is busy or away


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
    player = scripted(name, config)
    env = build("env", {"name": "world", "scaffold": config.env.scaffold})
    return Cast(env=env, engines={"policy": player}, renderers={}, seed=config.run.seed)


def of_run(
    folder: Path, overrides: Sequence[str], step: int | None = None, place: EnvSection | None = None
) -> tuple[Config, Cast, int]:
    """The policy of a run's newest checkpoint, or that of `step`, in the run's own setting unless overridden; and its step.

    Args:
        folder: of the run.
        overrides: of its config.
        step: after which a checkpoint was written; None for the newest.
        place: whose world, levels and knobs are played; None for those of the config.

    Raises:
        ConfigError: a model of words is to play where it lacks words.
        IsARecord: it holds served episodes, and no policy.
        UnknownName: there is no such checkpoint.
    """
    with RunDir.open(folder) as store:
        refuse_record(store)
        config = configs.make(folder / "config.toml", overrides=overrides)
        own = went_with(store)  # edits by hand have not taught the model others
        if place is not None:
            where = {"name": place.name, "levels": place.levels, "params": place.params}
            config.env = config.env.model_copy(update=where)
        there = store.checkpoints.steps()
        if step is not None and step not in there:
            raise UnknownName(
                f"{folder} has no checkpoint of step {step}; there are: {', '.join(map(str, there)) or 'none'}"
            )
        checkpoint, began = store.latest_checkpoint(step), store.about.get("words", "")
    if checkpoint is None:
        raise UnknownName(f"{folder} has no checkpoint yet; train it further")
    config = keep_words(config, own, began)
    cast = replace(_policy(config, checkpoint.path), steps={"policy": checkpoint.step})
    return config, cast, checkpoint.step


def of_folder(folder: Path, config: Config) -> Cast:
    """The model of a local Hugging Face folder."""
    config.model.folder = str(folder)
    return _policy(config)


def _policy(config: Config, checkpoint: Path | None = None) -> Cast:
    require_extra("train", "torch", "transformers", "safetensors")
    from quintain.runtime import policy
    from quintain.runtime.playing import make_cast

    policy.set_threads(config.runtime.threads)
    stage = make_stage(config)
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


def of_url(url: str, model: str, config: Config, overrides: Sequence[str], key_env: str) -> Cast:
    """A model behind an OpenAI-compatible URL, through chat completions, with the options of a config whose engine is `openai`.

    Args:
        url: of the server, and behind a `#` the model's name there.
        model: its name where the URL has none.
        config: where it plays; a turn has `ROOM` tokens, or more if the config says so.
        overrides: of the config, as written; they may set a smaller `rollout.max_tokens`.
        key_env: environment variable with the key.

    Raises:
        ConfigError: no model is named, or the engine's options are another engine's, or say what `url`, `model`, `key_env` do.
    """
    url, _, its = map(str.strip, url.partition("#"))
    if not (model := its or model):
        raise configs.ConfigError(
            f"a server answers for the models that it names, and none is named for {url}; pass --model NAME, or write {url}#NAME where two "
            "of them play"
        )
    own = dict(config.engine.options) if config.engine.name == "openai" else {}
    if twice := [f"engine.options.{name}" for name in ("url", "model", "key_env", "tokens") if name in own]:
        raise configs.ConfigError(
            f"{twice[0]} cannot be set here: {url} plays, in messages; --model and --key-env say the rest"
        )
    strange = [word for word in overrides if word.startswith("engine.") and config.engine.name != "openai"]
    if strange:
        raise configs.ConfigError(
            f"{strange[0]} is of the engine {config.engine.name!r}, and {url} plays here; leave it out, or say engine.name=openai too "
            "where it is one of the options that `quintain list parts openai` has"
        )
    played = env_of(config)
    place = {"part": {"name": "world", "scaffold": config.env.scaffold}}
    if ":" in played or (played in names("env") and played != "world"):
        place = env_spec(config)
    env = make_envs(place)
    section = config.rollout
    asked = section.max_tokens if any(word.startswith("rollout.max_tokens=") for word in overrides) else 0
    shape = {"temperature": config.eval.temperature, "top_p": section.top_p}
    sampling = Sampling(**shape, max_tokens=asked or max(ROOM, section.max_tokens))
    manners = own.get("manners", {})
    own["manners"] = {**PATIENT, **manners} if isinstance(manners, Mapping) else manners
    engine = build("engine", {**own, "name": "openai", "url": url, "model": model, "key_env": key_env})
    return Cast(env=env, engines={"policy": engine}, renderers={}, sampling=sampling, seed=config.run.seed)


def cast_of(
    player: str,
    config: Config,
    overrides: Sequence[str],
    options: Mapping[str, str],
    place: EnvSection | None = None,
) -> tuple[Config, Cast]:
    """The config and cast of what the command line names; `overrides` and `place` are for the config of a run, see `of_run`.

    Raises:
        UnknownName: neither a player, a run folder, a model folder, nor a URL.
    """
    if player in PLAYERS:
        return config, builtin(player, config)
    if behind_url(player):
        own = overrides if place is None else ()  # an opponent is no engine that they set
        return config, of_url(player, options.get("model", ""), config, own, options.get("key_env", "OPENAI_API_KEY"))
    refuse_unknown(player)
    if own := run_of(player):
        return of_run(own[0], overrides, own[1], place)[:2]
    return config, of_folder(Path(player), config)


def refuse_unknown(player: str) -> None:
    """Find out whether there is such a player, before any is loaded.

    Raises:
        UnknownName: as `cast_of`.
    """
    folder = Path(player)
    if player in PLAYERS or behind_url(player) or run_of(player) or (folder / "config.json").is_file():
        return
    if folder.is_dir():
        raise UnknownName(
            f"{player} is a folder, but no run, which has a file run.json, and no model of Hugging Face's, which has config.json; if it "
            "was one, restore that file from a copy"
        )
    if (run := nearest_run(player)) and not difflib.get_close_matches(player, PLAYERS):
        raise UnknownName(f"unknown player {player!r}; did you mean the run {run}?")
    near, all_of_them, _ = unknown("player", player, PLAYERS).partition("; there are")
    raise UnknownName(
        f"{near}{';' if all_of_them else ''} players are {', '.join(sorted(PLAYERS))}, a run folder, one of its checkpoints, a Hugging "
        "Face folder, or an http(s) URL"
    )


def opposed(
    player: str, opponent: str, config: Config, overrides: Sequence[str], options: Mapping[str, str]
) -> tuple[Config, list[Cast]]:
    """The config and, for each seat of its world that the player takes, a cast in which the opponent plays the others.

    Args:
        player: as for `cast_of`; what is played is what it would play alone, or the opponent if only that is a run.
        opponent: the same; empty for what the config says, `policy` for the player itself, who then has one cast with all seats.
        config: see `cast_of`, as for `overrides` and `options`.

    Raises:
        UnknownName: as `cast_of`.
        ConfigError: the world has one seat, or the two read different scaffolds.
    """
    theirs = None
    if run_of(opponent) and not run_of(player):
        config, theirs = cast_of(opponent, config, overrides, options)
    config, own = cast_of(player, config, overrides, options)
    config = heeded(config, overrides, opponent)
    opponent = opponent or rival(config) or ITSELF
    if opponent == ITSELF:
        return config, [own]
    if theirs is None:
        there, theirs = cast_of(opponent, config.model_copy(deep=True), overrides, options, config.env)
        if there.env.scaffold != config.env.scaffold:
            raise configs.ConfigError(
                f"{player} reads env.scaffold={config.env.scaffold} and {opponent} {there.env.scaffold}, and a game is told in one way; "
                "take players that were trained alike"
            )
    if len({type(one) for cast in (own, theirs) if (one := cast.renderers.get("policy"))}) > 1:
        raise configs.ConfigError(
            f"one of {player} and {opponent} is a model of words and the other one of text, and a game is told in one way; take players "
            "that were trained alike"
        )
    seats, engine = seats_of(config), theirs.engines["policy"]
    return config, [facing(own, seats, mine, engine, theirs) for mine in seats]


def behind_url(player: str) -> bool:
    """Whether a player is a model behind a URL."""
    return player.startswith(("http://", "https://"))


def nameless(player: str) -> bool:
    """Whether it is a model behind a URL, and the URL does not say which."""
    return behind_url(player) and not player.partition("#")[2]


def run_of(player: str) -> tuple[Path, int | None] | None:
    """The run that a player is, and the step where it is a checkpoint (RUN/checkpoints/step-000300); None where it is no run."""
    folder = Path(player)
    if not player:
        return None
    if (folder / "run.json").is_file():
        return folder, None
    whole = Path(os.path.abspath(folder))
    step = re.fullmatch(r"step-(\d+)", whole.name)
    if step and whole.parent.name == "checkpoints" and (whole.parents[1] / "run.json").is_file():
        return Path(os.path.normpath(folder / ".." / "..")), int(step[1])
    return None


def named(player: str) -> str:
    """A player as results name it: of a checkpoint the run, beside which its step is told."""
    own = run_of(player)
    return str(own[0]) if own else player


def called(player: str, step: int | None) -> str:
    """A player, and the step of the checkpoint of it that played, where it is a run."""
    return player if step is None else f"{player} at step {step}"


def held_out(config: Config, count: int, seed: int) -> list[Task]:
    """`count` tasks of the config's evaluation split; of data the rows that training held back, or all if it held back none."""
    played = env_of(config)
    rows = config.data if ":" in played or seeded(played) else played in names("env")
    return tasks((data_sampler if rows else world_sampler)(config, config.eval.split, seed, (0, 1)), count)
