"""Where verbs that need no run play: worlds by name, files that bring worlds of one's own, and `key=value` words."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quintain import config as configs
from quintain.cli.args import sources
from quintain.registry import UnknownName, entries, import_file, names
from quintain.types import QuintainError

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
    """The worlds that Python files register."""
    modules = {import_file(file).__name__ for file in files}
    return tuple(e.name for e in entries("world") if modules and inspect.unwrap(e.make).__module__ in modules)
