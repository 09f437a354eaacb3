"""Demonstrations from a file of chats, as `quintain demos` writes it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from quintain.config import Config, ConfigError
from quintain.envs.demos import Turn
from quintain.envs.scaffold import Scaffold
from quintain.types import Message, Role, Task


def read_demos(path: Path) -> Iterator[tuple[Task, tuple[Turn, ...]]]:
    """The demonstrations of a file: a line each, with `messages`, and in `imitate` whether each answer is to be imitated (all, without it).

    Raises:
        ConfigError: there is no such file, it has no line, or one is no chat in text; the line is named.
    """
    number = 0
    for number, row in enumerate(_rows(path), 1):
        place = f"{path}, line {number}"
        yield Task(key=place, env=str(row.get("world", ""))), tuple(_turns(place, row))
    if not number:
        raise ConfigError(f"{path} has no demonstration; write some: quintain demos KeyDoor -n 100 --out {path}")


def told_apart(path: Path, config: Config) -> str:
    """What to say where a file shows its worlds in another way than the config does; "" where the first line does not."""
    row, own = next(_rows(path), {}), Scaffold.of(config.env.scaffold)
    theirs = row.get("scaffold")
    theirs = theirs if isinstance(theirs, Mapping) else {}
    others = [
        f"env.scaffold.{name}={json.dumps(value)}"
        for name, value in theirs.items()
        if value != getattr(own, name, value)
    ]
    if not others:
        return ""
    return (
        f"{path} shows its worlds in another way than what is played here, so that the model is evaluated in what it was not taught: set "
        f"{' '.join(others).replace(chr(34), '')}"
    )


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                row = json.loads(line)
                if not isinstance(row, dict) or not isinstance(row.get("messages"), list):
                    raise ConfigError(
                        f"{path}, line {number}: it has no `messages`, as demonstrations of quintain demos have"
                    )
                yield row
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{path} is no file of JSON lines: {error}") from error


def _turns(place: str, row: Mapping[str, Any]) -> Iterator[Turn]:
    """The turns of a chat; what follows the last answer is left out."""
    said: list[Message] = []
    for item in row["messages"]:
        role, text = (item.get("role"), item.get("content")) if isinstance(item, dict) else (None, None)
        if role not in tuple(Role) or not isinstance(text, str) or item.get("tool_calls"):
            raise ConfigError(
                f"{place}: {json.dumps(item)[:100]} is no message in text; pictures and tool calls are not imitated from a file"
            )
        said.append(Message.of(role, text))
    count = sum(message.role is Role.assistant for message in said)
    imitate = row.get("imitate", [True] * count)
    if not count or not isinstance(imitate, list) or len(imitate) != count:
        raise ConfigError(
            f"{place}: it has {count} answers, and `imitate` is {imitate!r}; it says true or false of each"
        )
    fresh: list[Message] = []
    marks = iter(imitate)
    for message in said:
        if message.role is Role.assistant:
            yield Turn(messages=tuple(fresh), answer=message, slip=not next(marks))
            fresh = []
        else:
            fresh.append(message)
