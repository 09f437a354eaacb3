"""Models of words: which words one knows, how much room its answers have, and that neither changes while it is trained."""

from __future__ import annotations

import contextlib
import itertools
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from quintain.codec import digest_of
from quintain.config import Config, ConfigError, make, ranges
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import world_of
from quintain.ledger import RunDir
from quintain.registry import names, unknown
from quintain.render import WordRenderer
from quintain.runtime.demos import SPARE
from quintain.types import QuintainError
from quintain.worlds.kernel import Move, Plan, check_level
from quintain.worlds.knobs import lexicon, started
from quintain.worlds.own import solved

# instances of a level (a quarter of them where they have turns), and turns of each, that tell how long answers are
LOOKS, TURNS = 32, 4
BARE = ("word", "free")  # grammars that write an action as it is


class Place(NamedTuple):
    """A world at some levels, with knobs of one's own: an entry of `model.words`.

    Example:
        >>> place = Place.of("LightsOut:0-2,5 width=4")
        >>> place, str(place)
        (Place(world='LightsOut', levels=(0, 1, 2, 5), knobs={'width': 4}), 'LightsOut:0-2,5 width=4')
    """

    world: str
    levels: tuple[int, ...]
    knobs: Mapping[str, Any]

    @classmethod
    def of(cls, told: str) -> Place:
        """Read an entry.

        Raises:
            ConfigError: it is no place, or its world is none.
        """
        head, *rest = told.split() or [""]
        name, _, which = head.partition(":")
        levels = ranges(which)
        try:
            knobs = {key: json.loads(value) for key, _, value in (part.partition("=") for part in rest)}
        except ValueError:
            knobs = {}
        if levels is None or len(knobs) < len(rest):
            raise ConfigError(
                f"model.words: {told!r} is no place; write WORLD:LEVELS, with knobs behind it if there are, such as LightsOut:0-3 or "
                "'LightsOut:1,2 width=4', and several as \"model.words=['LightsOut:0-3', 'NimGame:1']\""
            )
        if name not in names("world"):
            raise ConfigError(unknown("world of model.words", name, names("world")))
        return cls(name, tuple(sorted({*levels})), knobs)

    @classmethod
    def played(cls, config: Config) -> Place:
        """Where a config plays."""
        return cls(config.env.name, tuple(sorted({*map(check_level, config.env.levels)})), config.env.params)

    def __str__(self) -> str:
        knobs = (f" {name}={json.dumps(value, separators=(',', ':'))}" for name, value in self.knobs.items())
        runs = [
            [level for _, level in run]
            for _, run in itertools.groupby(enumerate(self.levels), lambda one: one[1] - one[0])
        ]
        levels = (str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
        return f"{self.world}:{','.join(levels)}{''.join(knobs)}"

    def words(self) -> list[str]:
        """What can be said or shown there.

        Raises:
            UnknownLevel, BadKnob: there is no such level or knob.
        """
        return lexicon(world_of(self.world), self.levels, self.knobs)


def of_words(config: Config) -> bool:
    """Whether the model of a config is one of words."""
    return not config.model.folder and not config.data and config.env.name in names("world")


def places(config: Config) -> list[Place]:
    """Those whose words the model of a config knows."""
    return [Place.of(told) for told in config.model.words] or [Place.played(config)]


def said(where: Iterable[Place]) -> str:
    """How a command line names places: those of a world with the same knobs together.

    Example:
        >>> said([Place("NimDuel", (0, 1), {}), Place("NimDuel", (2,), {})])
        'model.words=NimDuel:0-2'
        >>> print(said([Place("NimDuel", (0,), {}), Place("Hanoi", (3,), {"discs": 4})]))
        "model.words=['NimDuel:0', 'Hanoi:3 discs=4']"
    """
    together: dict[str, Place] = {}
    for place in where:
        key = str(place._replace(levels=(0,)))
        levels = {*place.levels, *(together[key].levels if key in together else ())}
        together[key] = place._replace(levels=tuple(sorted(levels)))
    told = [str(place) for place in together.values()]
    plain = len(told) == 1 and " " not in told[0]
    return f"model.words={told[0]}" if plain else f'"model.words={told}"'


def known(config: Config) -> list[str]:
    """The words of a model of words: those of the places in `model.words`, or of where it plays.

    Raises:
        ConfigError: an entry is no place.
        UnknownLevel, BadKnob: it is one that there is not.

    Example:
        >>> from quintain import config as configs
        >>> def of(*words):
        ...     return set(known(configs.make(overrides=["world=ConnectKDuel", "level=3", *words])))
        >>> sorted(of("model.words=ConnectKDuel:3-4") - of())
        ['5', 'line5']
    """
    return list(dict.fromkeys(word for place in places(config) for word in place.words()))


def spelled(config: Config) -> str:
    """A digest of the words of a model of words; empty for other models."""
    return digest_of(sorted(known(config))) if of_words(config) else ""


def turn_tokens(config: Config) -> int:
    """The tokens of a turn: as set, or else enough for a short answer in text and for one word."""
    return config.rollout.max_tokens or (128 if config.model.folder else 1)


def check_written(config: Config) -> None:
    """Refuse a way to write actions that a model of words has no words for.

    Raises:
        ConfigError: the grammar puts something around an action.
    """
    scaffold = Scaffold.of(config.env.scaffold)
    if of_words(config) and scaffold.style == "words" and scaffold.grammar not in BARE:
        raise ConfigError(
            f"env.scaffold.grammar is {scaffold.grammar}, and a model of words says an action alone: leave it out "
            f"({' or '.join(BARE)}), or train a model with a tokenizer (quintain new model)"
        )


def renderer_of(config: Config) -> WordRenderer:
    """The renderer of a model of words.

    Raises:
        ConfigError: it lacks words of where it plays, or the room for an answer there, or actions are written in others.
    """
    check_written(config)
    one, words = 1 if turn_tokens(config) == 1 else 0, known(config)
    _enough(config, words)
    renderer = WordRenderer(words, turn_tokens=one)
    answer = max(_answers([Place.played(config)], TURNS), key=lambda text: len(text.split()), default="")
    need = len(renderer.ids(answer)) + (1 - one)  # and what ends it
    if need > turn_tokens(config):
        raise ConfigError(
            f"{config.env.name}: an answer such as {answer[:60]!r} has {len(renderer.ids(answer))} words, and a turn has room for "
            f"{turn_tokens(config)} token{'s' * (turn_tokens(config) > 1)}; set rollout.max_tokens={need + one + SPARE}, or 0 "
            "for what the world needs"
        )
    return renderer


def fitted(config: Config) -> Config:
    """A config with what a model of words needs: the words of where it begins, and the tokens of a turn where it leaves them open.

    Raises:
        ConfigError: `model.words` is set for another model, or has what is no place; or see `check_written`.

    Example:
        >>> from quintain import config as configs
        >>> fitted(configs.make(overrides=["world=LightsOut", "env.scaffold.style=words"])).rollout.max_tokens
        1
    """
    if not of_words(config):
        if config.model.words:
            raise ConfigError(
                f"model.words is {config.model.words}, but only a model of words has such: one without a model folder and data, in a world"
            )
        return config
    check_written(config)
    config = config.model_copy(deep=True)
    if not config.model.words or _lacking(config, known(config)):
        config.model.words.append(str(Place.played(config)))
    return roomy(config)


def roomy(config: Config) -> Config:
    """A config with the tokens of a turn that answers need in all places whose words a model of words knows, where it leaves them open.

    One where single words are all that is said, which then need no token to end them; else twice the longest answer seen, and some: a
    policy that has learnt to end its turns does not use them up, and rare answers are much longer than most (moves of a queen).
    """
    if config.rollout.max_tokens or not of_words(config):
        return config
    where = {str(place): place for place in (*places(config), Place.played(config))}
    longest = max((len(text.split()) for text in _answers(where.values())), default=1)
    room = 1 if longest == 1 else 2 * longest + SPARE
    return config.model_copy(update={"rollout": config.rollout.model_copy(update={"max_tokens": room})})


def went_with(store: RunDir) -> Config:
    """The config that a run last went with; that of its `config.toml` where another version wrote it in keys that there are no more."""
    with contextlib.suppress(QuintainError, tomllib.TOMLDecodeError):
        if store.agreed:
            return make(tomllib.loads(store.agreed))
    return make(store.path / "config.toml")


def keep_words(config: Config, own: Config, began: str = "") -> Config:
    """A config that changes that of a run, with the words that the run's model has, as each of its tokens is one of them.

    Args:
        config: what it shall be now.
        own: as the run last went.
        began: `spelled` of the run as it began; empty where nobody wrote it down.

    Raises:
        ConfigError: other words are asked for, or lacking, or the worlds say others than they did; or turns of several words from a model
            that says one.
    """
    if not of_words(own):
        return config
    had = own.model.words or [str(Place.played(own))]
    if not of_words(config):
        raise ConfigError(
            f"the model of this run knows the words of {', '.join(had)} and no others, so it plays worlds alone: leave model.folder and "
            "data empty, and let world= name a world"
        )
    mine = own.model_copy(update={"model": own.model.model_copy(update={"words": had})})
    if config.model.words and {*known(config)} != {*known(mine)}:
        raise ConfigError(
            f"model.words is {config.model.words}, but the model of this run knows those of {', '.join(had)}; leave it so"
        )
    config = config.model_copy(deep=True)
    config.model.words = had
    if began and spelled(config) != began:
        raise ConfigError(
            f"the words of {', '.join(had)} are not those that this run began with, so its tokens would mean others: its worlds have "
            "changed since; go on with the version, of quintain or of your file, that it began with"
        )
    _enough(config, known(config))
    config = roomy(config)
    if turn_tokens(own) == 1 < turn_tokens(config):
        raise ConfigError(
            f"rollout.max_tokens would be {turn_tokens(config)}, but the model of this run says one word a turn and knows no end of a "
            f"turn; leave it at 1, or begin a run with {said([*places(own), Place.played(config)])} or "
            f"rollout.max_tokens={turn_tokens(config)}"
        )
    return config


def _lacking(config: Config, words: Iterable[str]) -> set[str]:
    """The words that are said where a config plays beyond those that are known."""
    return {*Place.played(config).words()} - {*words}


def _enough(config: Config, words: Iterable[str]) -> None:
    if lacking := _lacking(config, words):
        there, had, count = Place.played(config), places(config), len(lacking)
        lacks = f"{count} others, such as" if count > 1 else "1 other,"
        raise ConfigError(
            f"the model knows the words of {', '.join(map(str, had))} only; {there} has {lacks} {min(lacking)!r}: "
            f"play where it has them, begin a run with {said([*had, there])}, or train a model with a tokenizer (quintain new model)"
        )


def _answers(where: Iterable[Place], looks: int = LOOKS) -> Iterator[str]:
    """What can be said in the first turns of instances of the easiest and of the hardest level: by the oracle, and by the rules."""
    for name, levels, knobs in where:
        for level in {min(levels), max(levels)}:
            yield from _said(world_of(name), level, knobs, looks)


def _said(world: Any, level: int, knobs: Mapping[str, Any], looks: int) -> Iterator[str]:
    for seed in range(looks):
        state = started(world, seed, level, "train", knobs)
        if seed >= looks // TURNS and world.turns(state) > 1:
            break
        for _ in range(TURNS):
            movers = [seat for seat in world.facts.seats if world.view(state, seat).acts]
            chosen: dict[str, Move] = {}
            for seat in movers:  # all that move at once
                plan = solved(world, state, seat) if hasattr(world, "solve") else None  # a policy plays without
                moves = plan.moves if isinstance(plan, Plan) else ()
                yield from [move.key for move in (*moves, *world.view(state, seat).legal())]
                chosen.update({seat: moves[0]} if moves else {})
            outcome = world.step(state, chosen) if movers and len(chosen) == len(movers) else None
            if outcome is None or outcome.done:
                break
            state = outcome.state
