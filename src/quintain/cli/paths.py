"""Paths: those of a config as absolute ones, so that a run goes on wherever it is called; folders to write into."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from quintain.config import Config, ConfigError
from quintain.ledger import RunDir
from quintain.types import QuintainError

WORTH = ("sft", "played", "trained", "eval")  # events of what was learned, played or scored


def absolute(config: Config) -> Config:
    """The config with absolute paths: data, model folder, imports, samplers, every `FILE.py:name`, files of an agent's command."""
    tree = config.model_dump(mode="json")
    tree = _objects(tree)
    tree["data"], tree["model"]["folder"] = _path(tree["data"]), _path(tree["model"]["folder"])
    tree["run"]["imports"] = [_path(file) for file in tree["run"]["imports"]]
    tree["sampler"] = _paths(tree["sampler"])
    options = tree["rollout"]["options"]
    if isinstance(options.get("agent"), list):  # a command: the files among its words
        options["agent"] = [_path(word) if _is_file(word) else word for word in options["agent"]]
    return Config.model_validate(tree)


def empty(folder: Path) -> Path:
    """The folder, if nothing would be overwritten in it.

    Raises:
        ConfigError: it holds something already.
    """
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder} is not empty; choose another folder")
    return folder


def unused(folder: Path) -> Path:
    """`folder`, or folder-2, folder-3... if a run is there already: a new run never touches an old one."""
    number, free = 1, folder
    while (free / "run.json").exists():
        number += 1
        free = folder.with_name(f"{folder.name}-{number}")
    return free


def worthless(folder: Path) -> bool:
    """Whether a new run that failed holds nothing: it has no checkpoint, or only that of its beginning, and no event of `WORTH`."""
    if not any((folder / "checkpoints").glob("step-*")):
        return True
    with contextlib.suppress(QuintainError), RunDir.open(folder) as store:
        return store.steps() == [0] and not any(store.events(WORTH))
    return False  # what cannot be read is kept


def _is_file(word: Any) -> bool:
    return isinstance(word, str) and Path(word).expanduser().is_file()


def _path(text: str) -> str:
    return str(Path(text).expanduser().absolute()) if text else ""


def _objects(value: Any) -> Any:
    """Every `FILE.py:name` whose file is there."""
    if isinstance(value, dict):
        return {k: _objects(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_objects(v) for v in value]
    if not isinstance(value, str):
        return value
    file, colon, name = value.rpartition(":")
    found = colon and file.endswith(".py") and Path(file).expanduser().is_file()
    return f"{_path(file)}:{name}" if found else value


def _paths(value: Any) -> Any:
    """The options called `path` of a sampler and of those inside it."""
    if isinstance(value, dict):
        return {k: _path(v) if k == "path" and isinstance(v, str) else _paths(v) for k, v in value.items()}
    return [_paths(v) for v in value] if isinstance(value, list) else value
