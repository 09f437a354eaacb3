"""Rows of your own data as tasks."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from quintain.parts import Sampler, State
from quintain.registry import register, unknown
from quintain.samplers.draws import permutation
from quintain.samplers.rows import ANSWERS, PROMPTS, Place, Row, read_rows
from quintain.samplers.worlds import SamplerError, check_shard
from quintain.types import Group, Message, Role, Task

TENTHS = ("test", "validation", *["train"] * 8)  # the split of each tenth of all hashes
PICTURES = ("image", "images", "file_name")  # columns of Hugging Face's folders of pictures, and of others
MAPPED = ("prompt", "messages", "answer", "system", "env")


class Dataset:
    """Draws the tasks that `dataset` describes."""

    everyones = False

    def __init__(self, tasks: Sequence[Task], epochs: int, seed: int | None, shard: tuple[int, int]) -> None:
        self.tasks, self.epochs, self.seed, self.shard = tuple(tasks), epochs, seed, shard

    def init(self) -> State:
        """Nothing was drawn."""
        return {"drawn": 0}

    def draw(self, state: State) -> tuple[Task | None, State]:
        """The next row of this shard, or None after the last epoch."""
        rank, ranks = self.shard
        epoch, at = divmod(state["drawn"] * ranks + rank, len(self.tasks))
        if self.epochs and epoch >= self.epochs:
            return None, state
        if self.seed is not None:
            at = int(permutation(len(self.tasks), self.seed, epoch)[at])
        return self.tasks[at], {"drawn": state["drawn"] + 1}

    def observe(self, state: State, group: Group) -> State:
        """Results do not change what is drawn."""
        return state


@register("sampler", "dataset", example={"path": "prompts.jsonl"})
def dataset(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    epochs: int = 0,
    seed: int | None = 0,
    split: str = "all",
    shard: Sequence[int] = (0, 1),
    env: str = "data",
) -> Sampler:
    """Rows of a JSONL, JSON or Parquet file, or of a saved Hugging Face dataset: your own prompts and answers.

    A row becomes a task: its prompt is the opening message, and every other column goes to `Task.params`, which
    rewards see and the policy does not. Without `columns` the prompt is the first of `prompt`, `messages`,
    `question`, `problem`, `query`, `instruction`, `input` that the rows have, and the answer the first of `answer`,
    `solution`, `ground_truth`, `target`, `label`, `output`.

    Args:
        path: the file, the folder of one split, or a pattern such as `data/train-*.parquet`; nothing is downloaded.
        columns: what each thing is called in the data: `prompt` (text), `messages` (a list of {role, content}),
            `answer`, `system` (text of the first message), `env` (the row's own env). Pictures are not read.
        epochs: passes over the data, 0 for no end.
        seed: chooses the order of each epoch; None keeps the order of the file.
        split: `all` rows, or the `train` (8/10), `validation` (1/10) or `test` (1/10) part: the hash of a row's
            opening decides, so equal prompts are never on both sides.
        shard: (rank, ranks): rank r takes rows r, r + R, r + 2R... of the order.
        env: the env that plays the tasks.

    Raises:
        SamplerError: a file, line or column cannot be read; the message names file, line and column.
    """
    rows = read_rows(path)
    names = _columns(dict(columns or {}), rows[0])
    for place, row in rows:
        _look(place, row)
    if epochs < 0:
        raise SamplerError(f"dataset: epochs is {epochs}; it must be >= 0 (0: no end)")
    tasks = [_task(place, row, names, env) for place, row in rows]
    count = len(tasks)
    if split != "all":
        tasks = [replace(t, split=split) for t in tasks if _split(t) == split]
    if not tasks:
        raise SamplerError(
            f"none of the {count} rows of {path} falls into the split {split!r} (splits are all, "
            f"{', '.join(sorted(set(TENTHS)))}): give more rows, or train on all of them with eval.instances=0"
        )
    return Dataset(tasks, epochs, seed, check_shard(shard))


def _look(place: Place, row: Row) -> None:
    """Tell of pictures, without which the questions are asked; refuse rows of `quintain export` in which they alone tell the state."""
    column = next((c for c in PICTURES if _picture(row.get(c))), "")
    try:
        caption = json.loads(row["scaffold"])["caption"]
    except (LookupError, TypeError, ValueError):
        caption = None
    if column and caption == 0:
        raise SamplerError(
            f"{place}: the state is in the picture alone (column {column!r}), and rows are read as text: export them anew without "
            "env.scaffold.caption=0"
        )
    if column and caption is None:
        warnings.warn(
            f"{place.file}: the column {column!r} has pictures, and rows are read as text: the policy is asked the questions without "
            "them; leave the column out where they tell enough",
            stacklevel=3,
        )


def _picture(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_picture, value))
    if isinstance(value, dict):  # as Hugging Face datasets keep them
        return value.keys() == {"bytes", "path"}
    return isinstance(value, str) and value.lower().endswith((".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp"))


def _split(task: Task) -> str:
    words = "\0".join(m.text for m in task.messages)
    return TENTHS[hashlib.blake2b(words.encode(), digest_size=4).digest()[0] % 10]


def _columns(given: dict[str, str], first: tuple[Place, Row]) -> dict[str, str]:
    place, row = first
    for thing, column in given.items():
        if thing not in MAPPED:
            raise SamplerError(unknown("entry of columns:", thing, MAPPED))
        if column not in row:
            raise SamplerError(f"{place}: {unknown('column', column, row)}")
    names = dict(given)
    if "prompt" not in names and "messages" not in names:
        guess = next((c for c in ("messages", *PROMPTS) if c in row), None)
        if guess is None:
            raise SamplerError(
                f"{place}: no column holds a prompt; the columns are {', '.join(row)}: name it, "
                f"as in columns.prompt={next(iter(row), 'text')}"
            )
        chat = guess == "messages" or isinstance(row[guess], list)
        names["messages" if chat else "prompt"] = guess
    if "answer" not in names:
        found = [c for c in ANSWERS if c in row and c not in names.values()]
        if found:
            names["answer"] = found[0]
    return names


def _task(place: Place, row: Row, names: Mapping[str, str], env: str) -> Task:
    for thing, column in names.items():
        if column not in row and thing != "answer":
            raise SamplerError(
                f"{place}: the column {column!r} ({thing}) is missing; this row has {', '.join(row) or 'none'}"
            )
    opening: list[Message] = []
    if "system" in names:
        opening.append(Message.of("system", _text(place, names["system"], row)))
    if "messages" in names:
        opening.extend(_messages(place, names["messages"], row))
    else:
        opening.append(Message.of("user", _text(place, names["prompt"], row)))
    shown = {names[n] for n in ("prompt", "messages", "system", "env") if n in names}
    params = {c: v for c, v in row.items() if c not in shown}
    if "answer" in names and names["answer"] in params:
        params["answer"] = params.pop(names["answer"])
    played = str(row[names["env"]]) if "env" in names else env
    key = f"{place.file.name}:{place.line}"
    return Task(key=key, env=played, seed=place.line, params=params, messages=tuple(opening))


def _text(place: Place, column: str, row: Row) -> str:
    value = row[column]
    if not isinstance(value, str) or not value:
        raise SamplerError(f"{place}: column {column!r} is {_told(value)}; it must be a text that is not empty")
    return value


def _told(value: object) -> str:
    return "null" if value is None else repr(value)  # as files of rows call it


def _messages(place: Place, column: str, row: Row) -> list[Message]:
    value = row[column]
    if not isinstance(value, list) or not value:
        raise SamplerError(
            f"{place}: column {column!r} is {_told(value)}; it must be a list of at least one {{role, content}}"
        )
    out: list[Message] = []
    for i, item in enumerate(value):
        role, content = (item.get("role"), item.get("content")) if isinstance(item, dict) else (None, None)
        if role not in tuple(Role) or not isinstance(content, str):
            kinds = (
                [str(part.get("type")) for part in content if isinstance(part, dict)]
                if isinstance(content, list)
                else []
            )
            raise SamplerError(
                f"{place}: message {i} of column {column!r} is {repr(item)[:200]}{'...' * (len(repr(item)) > 200)}; "
                f"it needs a role ({', '.join(Role)}) and a text as content"
                + ", and pictures are not read: leave them out"
                * any("image" in kind for kind in kinds)
            )
        out.append(Message.of(role, content))
    if out[-1].role is Role.assistant and len(out) > 1:
        raise SamplerError(f"{place}: column {column!r} ends with the assistant; prompts end where the policy speaks")
    return out
