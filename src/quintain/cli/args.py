"""Reading the command line's words: `RECIPE|FILE|key=value`, one of a few, levels."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from quintain import config as configs
from quintain.types import QuintainError


def sources(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Recipes and TOML files first, then the overrides; Python files become `run.imports`.

    Example:
        >>> sources(["keydoor", "run.seed=1"])
        (['keydoor'], ['run.seed=1'])
    """
    files = [w for w in words if "=" not in w]
    scripts = [str(Path(w).resolve()) for w in files if w.endswith(".py")]
    imports = [f"run.imports={json.dumps(scripts)}"] if scripts else []
    return [w for w in files if not w.endswith(".py")], [*imports, *(w for w in words if "=" in w)]


def one_of(what: str, known: Sequence[str]) -> Callable[[str], str]:
    """A type of an argument that must be one of a few words; a wrong one is answered with the nearest."""

    def read(word: str) -> str:
        from quintain.registry import UnknownName, unknown

        if word not in known:
            raise UnknownName(unknown(what, word, known))
        return word

    return read


def agree(option: str, value: Any, key: str, words: Sequence[str]) -> None:
    """Refuse `key=value` words that set the key of an option to another value than the option does.

    Raises:
        ConfigError: one does; it is named with the option.
    """
    for word in words:
        path, said = configs.split(word, configs.FORM) if "=" in word else ([], None)
        if path == ["env", "levels"]:
            said = configs.make(overrides=[word]).env.levels  # `level=0-2` is a list too
        if ".".join(path) == key and said != value:
            raise configs.ConfigError(f"{option} and {word} say two things; leave one of them out")


def levels_of(text: str) -> list[int]:
    """`3` or `0-2,5` as a list of levels."""
    from quintain.config.tree import ranges

    levels = ranges(text)
    if levels is None:
        raise QuintainError(f"--levels {text}: give one level or a range from 0 to 9, such as 3 or 0-5")
    return levels
