"""Where verbs that need no run play: worlds by name, files that bring worlds of one's own, and `key=value` words."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintain import config as configs
from quintain.cli.args import sources
from quintain.registry import UnknownName, entries, import_file, names
from quintain.types import QuintainError

PLACED = (
    "env.name",
    "env.levels",
    "env.params",
    "eval.split",
    "data",
    "reward",
)  # keys of where is played, and for what reward
ENVS = (("env", ""), ("env", "name"))  # keys that say which env
WORDS = "WORLD|FILE.py|key=value"
TOLD = (
    "worlds (`quintain list worlds` names them), a file of yours that registers some, and as key=value: env.params.KNOB of the worlds' "
    "levels tables"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Worlds by name, the knobs for them, and the scaffold that was asked for."""

    worlds: tuple[str, ...]
    params: dict[str, Any]
    scaffold: dict[str, Any]


def places(items: Sequence[str], keys: Sequence[str] = ("scaffold", "params")) -> Places:
    """What the words of the command line name; where only files do, the worlds that these register.

    Args:
        items: worlds, Python files and `key=value`, in any order.
        keys: sections of `env` that the verb takes.

    Raises:
        QuintainError: another key is given, a file fails, or no world is named.
        UnknownName: what is named is an env and no world.
    """
    worlds, overrides = sources(items)
    for word in worlds:
        if word.startswith("env."):
            raise QuintainError(f"{word} has no value; write {word}=VALUE")
        refuse_env(word)
    told = {"scaffold": "env.scaffold.KEY=VALUE", "params": "env.params.KNOB=VALUE"}
    for word in overrides:
        if word.startswith(("level=", "levels=", "env.level=", "env.levels=")):
            raise QuintainError(
                f"{word}: this verb takes levels as an option; write --level {word.partition('=')[2].strip('[]') or 'N'}"
            )
        if not word.startswith(("run.imports=", *(f"env.{key}." for key in keys))):
            takes = ", ".join(told[key] for key in keys)
            raise QuintainError(
                f"{word}: this verb takes only {takes} and run.imports=[FILE.py], such as env.{keys[-1]}."
                f"{'size=6' if keys[-1] == 'params' else 'image=256'}"
            )
    config = configs.make(overrides=overrides)
    own = () if worlds else own_worlds(config.run.imports)
    if not worlds and config.run.imports and not own:
        raise QuintainError(
            f"{', '.join(config.run.imports)} registers no world; a file of a world has @register('world', NAME) (quintain new world NAME)"
        )
    return Places(
        worlds=tuple(dict.fromkeys(worlds)) or own, params=dict(config.env.params), scaffold=dict(config.env.scaffold)
    )


def refuse_env(word: str) -> None:
    """Say of the name of an env, which a recipe plays, what to do with it where a world is wanted.

    Raises:
        UnknownName: it is one.
    """
    if word in names("env") and word not in names("world"):
        raise UnknownName(
            f"{word} is an env of a recipe and no world, and only worlds are played by hand, offered, written as data or named alone; "
            f"set env.name={word} and its options for `quintain train model=FOLDER` or `quintain eval URL --model NAME` "
            "(in a checkout: docs/adapters.md)"
        )


def place(items: Sequence[str]) -> Places:
    """As `places`, of exactly one world; only its knobs can be given.

    Raises:
        QuintainError: none is named, or several are.
    """
    found = places(items, ("params",))
    if len(found.worlds) != 1:
        named = ", ".join(found.worlds) or "none"
        raise QuintainError(f"name one world, not {named}: `quintain list worlds` has them, a file may bring its own")
    return found


def own_worlds(files: Sequence[str]) -> tuple[str, ...]:
    """The worlds that Python files register.

    Raises:
        QuintainError: one registers nothing at all, so that it was given for nothing.
    """
    own: list[str] = []
    for file in files:
        module = import_file(file).__name__
        made = {e.name: e for e in entries("") if inspect.unwrap(getattr(e.make, "func", e.make)).__module__ == module}
        if not made:
            raise QuintainError(
                f"{file} registers nothing; a file of a world has @register('world', NAME) (quintain new world NAME)"
            )
        own += [e.name for e in entries("world") if e is made.get(e.name)]
    return tuple(dict.fromkeys(own))


def setting(items: Sequence[str]) -> tuple[list[str], list[str]]:
    """Recipes and TOML files, and overrides, of a verb that trains; where none says in which world, the one that a file registers is meant.

    Raises:
        ConfigError: the files register several.
    """
    files, overrides = sources(items)
    own = own_worlds([item for item in items if item.endswith(".py") and "=" not in item])
    if not own:
        return files, overrides
    said = [word.partition("=")[0].partition(".")[::2] for word in overrides]
    trees = [configs.read(file) for file in files]
    told = any(section in ("world", "data", "sampler") or (section, key) in ENVS for section, key in said)
    told = told or any("data" in t or _env(t) or {*t.get("sampler", ())} - {"name"} for t in trees)
    if told:
        return files, overrides
    if len(own) > 1:
        raise configs.ConfigError(f"the files register {', '.join(own)}; name the one to train in: world={own[0]}")
    return files, [*overrides, f"world={own[0]}"]


def _env(tree: Mapping[str, Any]) -> bool:
    """Whether a tree says which env is played."""
    env = tree.get("env", {})
    return isinstance(env, str) or "name" in env


def worlds_in(items: list[str]) -> list[str]:
    """The words of the command line, where the bare name of a world means `world=NAME`, and a file alone what it registers."""
    files = [item for item in items if item.endswith(".py") and "=" not in item]
    own = own_worlds(files)  # one may be the world that is named
    recipes = configs.recipes()
    known = set(names("world")) - set(recipes)
    for item in items:
        if not {"=", "."} & set(item) and item not in known and item not in recipes:
            refuse_env(item)
            raise UnknownName(_stray(item, sorted(known), list(recipes)))
    if len(worlds := list(dict.fromkeys(item for item in items if item in known))) > 1:
        raise configs.ConfigError(f"one world is played at a time, not {', '.join(worlds)}; --suite plays many")
    if own and all(
        item in files or ("=" in item and item.split("=")[0] not in ("world", "env.name")) for item in items
    ):
        if len(own) > 1:
            raise configs.ConfigError(f"worlds of {', '.join(files)} are {', '.join(own)}; name the one to play")
        items = [*items, f"world={own[0]}"]
    return [f"world={item}" if item in known else item for item in items]


def _stray(item: str, worlds: list[str], recipes: list[str]) -> str:
    """What there is where a word is neither a world nor a recipe."""
    lower = {world.lower(): world for world in worlds}
    near = ", ".join(lower[name] for name in difflib.get_close_matches(item.lower(), lower, n=3, cutoff=0.0))
    return (
        f"unknown recipe, TOML file or world {item!r}; the nearest worlds are {near} (`quintain list worlds` has all), "
        f"the recipes are {', '.join(recipes)}"
    )


def fixed_by(files: Sequence[str]) -> list[str]:
    """What TOML files and recipes say of where is played and for what reward, a text for each that says something."""
    out = []
    for file in files:
        tree, set_there = configs.read(file), []
        for key in PLACED:
            section, _, name = key.partition(".")
            value = tree.get(section)
            if name:
                value = value.get(name) if isinstance(value, dict) else None
            if value:
                set_there.append(f"{key} = {value!r}")
        out += [f"{', '.join(set_there)} in {file}"] if set_there else []
    return out
