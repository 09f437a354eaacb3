"""Where the tasks of a run are: the worlds, levels and knobs that its sampler draws, which may be others than `env` names."""

from __future__ import annotations

from quintain.config import Config, ConfigError
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import world_of
from quintain.registry import names, unknown
from quintain.runtime.stage import env_of, world_sampler
from quintain.runtime.words import Place, known, of_words, places, said
from quintain.worlds.kernel import check_level
from quintain.worlds.knobs import started


def told_places(config: Config) -> list[Place]:
    """Those that the sampler of a config draws; none where it does not tell, or no world is played."""
    if env_of(config) not in names("world"):
        return []
    return [Place(*place) for place in getattr(world_sampler(config, "train", config.run.seed, (0, 1)), "places", ())]


def drawn_places(config: Config) -> list[Place]:
    """As `told_places`, and that of `env` where the sampler does not tell."""
    return told_places(config) or ([Place.played(config)] if env_of(config) in names("world") else [])


def titled(config: Config) -> tuple[str, str]:
    """The worlds (or data) that a run trains in and their levels, as titles and lists name them.

    Example:
        >>> from quintain import config as configs
        >>> two = {"name": "worlds", "env": ["KeyDoor", "FourRooms"], "levels": [0, 2]}
        >>> titled(configs.make({"sampler": two})), titled(configs.make(overrides=["level=1-3"]))
        (('KeyDoor, FourRooms', '0,2'), ('KeyDoor', '1,2,3'))
    """
    drawn = told_places(config)
    levels = dict.fromkeys(",".join(map(str, each)) for each in [p.levels for p in drawn] or [config.env.levels])
    return ", ".join(dict.fromkeys(place.world for place in drawn)) or config.data or config.env.name, "; ".join(levels)


def check_drawn(config: Config) -> None:
    """Refuse what would end the episodes of a task as failures, or the run in the middle.

    Raises:
        ConfigError: a sampler draws a world that there is not, or one whose words the model does not know.
        UnknownLevel: it draws a level that there is not.
        BadKnob, GenerationError: as `check_playing`.
    """
    for world, levels, knobs in (drawn := drawn_places(config)):
        if world not in names("world"):
            raise ConfigError(unknown("world of the sampler:", world, names("world")))
        for level in map(check_level, levels):
            if knobs:
                started(world_of(world), 0, level, "train", knobs)
    if not of_words(config):
        return
    had, words = places(config), {*known(config), *Place.played(config).words()}
    for place in drawn:
        if lacking := {*place.words()} - words:
            raise ConfigError(
                f"the sampler draws {place}, and the model knows the words of {', '.join(map(str, had))} only; {place} has {len(lacking)} "
                f"others, such as {min(lacking)!r}: begin a run with {said([*had, *drawn])}, or train a model with a tokenizer (quintain "
                "new model)"
            )


def where(config: Config) -> str:
    """Where a run trains, for people, where nothing is demonstrated, and where it is evaluated if that is another world.

    Example:
        >>> from quintain import config as configs
        >>> two = {"name": "worlds", "env": ["KeyDoor", "FourRooms"], "levels": [0, 1, 2]}
        >>> where(configs.make({"sampler": two, "eval": {"instances": 8}}))
        'KeyDoor, FourRooms level 0-2; evaluated in KeyDoor level 0'
    """
    if not (drawn := drawn_places(config)):
        return config.data or f"{config.env.name} level {','.join(map(str, config.env.levels))}"
    together = dict[str, list[str]]()
    for place in drawn:
        worlds = together.setdefault(_levels(place), [])
        worlds += [] if place.world in worlds else [place.world]
    told = " and ".join(f"{', '.join(worlds)} level {levels}" for levels, worlds in together.items())
    mute = dict.fromkeys(place.world for place in drawn if not hasattr(world_of(place.world), "solve"))
    if config.warm_start.steps and mute:
        told += f"; no warm start in {', '.join(mute)}, which has no oracle"
    return told + (f"; evaluated in {there}" if (there := elsewhere(config)) else "")


def elsewhere(config: Config) -> str:
    """The world and the levels in which a run is evaluated, where these are not those that it trains in."""
    if not (config.eval.instances or config.eval.final_instances) or not (drawn := drawn_places(config)):
        return ""
    here, played = {(place.world, level) for place in drawn for level in place.levels}, Place.played(config)
    return (
        "" if here == {(played.world, level) for level in played.levels} else f"{played.world} level {_levels(played)}"
    )


def astray(config: Config) -> str:
    """What to say where the world in which a run is evaluated is none of those that it trains in; else "".

    Example:
        >>> from quintain import config as configs
        >>> astray(configs.make({"sampler": {"name": "worlds", "env": "FourRooms"}, "eval": {"instances": 8}}))
        'success is evaluated in KeyDoor level 0, which is not trained in: env.name is the world of evaluations (FourRooms is trained in)'
    """
    worlds = dict.fromkeys(place.world for place in drawn_places(config))
    if not (there := elsewhere(config)) or config.env.name in worlds:
        return ""
    return (
        f"success is evaluated in {there}, which is not trained in: env.name is the world of evaluations ({', '.join(worlds)} "
        f"{'is' if len(worlds) == 1 else 'are'} trained in)"
    )


def cut(config: Config) -> str:
    """What the line of a run says of `rollout.max_turns` where a world that it trains in allows more; stops alone do not tell.

    Example:
        >>> from quintain import config as configs
        >>> cut(configs.make(overrides=["rollout.max_turns=3"])).partition(" (")[0]
        '; rollout.max_turns=3 cuts episodes off'
        >>> cut(configs.make(overrides=["rollout.max_turns=300"])), cut(configs.make())
        ('', '')
    """
    most, own = config.rollout.max_turns, Scaffold.of(config.env.scaffold).turns
    if not most or config.rollout.name == "horizon":  # which has a limit of its own in training
        return ""
    allowed = []
    for name, levels, knobs in drawn_places(config):
        world = world_of(name)
        for level in levels:
            turns = world.turns(started(world, 0, level, "train", knobs))
            turns = min(turns, own or turns)
            if turns > most * len(world.facts.seats):  # they may share the turns
                allowed.append((turns, f"{name} level {level}"))
    if not allowed:
        return ""
    turns, where = max(allowed)
    return (
        f"; rollout.max_turns={most} cuts episodes off (the first one of {where} may have {turns} turns): they end as truncated_turns with "
        "what they have earned"
    )


def _levels(place: Place) -> str:
    return str(place._replace(levels=tuple(sorted({*place.levels})), knobs={})).partition(":")[2]
