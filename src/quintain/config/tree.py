"""A typed tree from TOML text and `key=value` overrides, whose errors name the key, the value and the nearest match.

The config of a run and the scenario of the simulator are two such trees.
"""

from __future__ import annotations

import re
import tomllib
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, Field, ValidationError, ValidationInfo, field_validator

from quintain.registry import UnknownName, unknown
from quintain.types import QuintainError

Model = TypeVar("Model", bound=BaseModel)
_RANGE = re.compile(r"([0-9])(?:-([0-9]))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form(Generic[Model]):
    """One kind of tree: the model that it has to fit, and how its errors speak."""

    model: type[Model]
    key: str  # what a key of it is called
    example: str  # an override that would do
    wrong: type[QuintainError]  # raised for what is no TOML, no override, or a value out of range
    short: Mapping[str, str] = field(default_factory=dict)  # shorthand -> key
    elsewhere: Mapping[str, str] = field(default_factory=dict)  # what others call it, alone or with its section -> key
    several: Mapping[str, str] = field(
        default_factory=dict
    )  # key of one word -> what to write where a list is given for it


def parse(path: Path, form: Form[Any]) -> dict[str, Any]:
    """The tree in a TOML file, as it stands there; a mark of the byte order, as some editors write it, is no part of it."""
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise form.wrong(f"{path} is not TOML: {error}") from error


def split(override: str, form: Form[Any]) -> tuple[list[str], Any]:
    """An override as the path of its key and its value, which is TOML or a bare word.

    Raises:
        UnknownName: there is no such key.
        QuintainError: of the form's kind, where it is no `key=value`.
    """
    key, equals, text = override.partition("=")
    key = key.strip()
    if not equals or not key:
        raise form.wrong(f"override {override!r} is not of the form key=value, such as {form.example}")
    path = form.short.get(key, key).split(".")
    _know(path, form, form.short)
    return path, _value(text.strip())


def put(tree: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set one key of a tree, with the tables on the way to it.

    Example:
        >>> tree = {"reward": "env"}
        >>> put(tree, ["reward", "weights"], 2)
        >>> tree
        {'reward': {'name': 'env', 'weights': 2}}
    """
    node = tree
    for part in path[:-1]:
        if not isinstance(
            node.get(part), dict
        ):  # new, a part given by its name so far, or one number that becomes a table
            node[part] = {"name": node[part]} if isinstance(node.get(part), str) else {}
        node = node[part]
    node[path[-1]] = value


def fit(tree: Mapping[str, Any], form: Form[Model]) -> Model:
    """The tree as the model of its form.

    Raises:
        UnknownName: a key that does not exist; the nearest one is named.
        QuintainError: of the form's kind, for a value of the wrong type or out of range.
    """
    try:
        return form.model.model_validate(tree)
    except ValidationError as error:
        first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    if path[0] in form.short and len(path) == 1:  # in a file, where the command line's words are not read
        *table, key = form.short[path[0]].split(".")
        raise UnknownName(
            f"{path[0]} is a word of the command line; in a file write [{'.'.join(table)}] and below it {key} = ..."
        )
    if first["type"] == "extra_forbidden":
        _know(path, form)
    if path[-1].startswith(("float", "dict[", "function")):  # which branch of a union it was is no key
        path.pop()
    said = first["msg"].removeprefix("Value error, ").lower()
    if path[-1] == "[key]":  # a key of a table that takes only some
        path.pop()
        raise form.wrong(f"there is no {'.'.join(path)}: a name there {said.removeprefix('input ')}")
    if first["type"] == "model_type":
        said = f"it is a table of settings; write {'.'.join(path)}.KEY=VALUE, or in a file [{'.'.join(path)}] and below it KEY = VALUE"
    if first["type"] == "list_type" and isinstance(first["input"], str):
        said += f"; write '{'.'.join(path)}=[\"{first['input']}\"]' (with the outer quotes)"
    if first["type"] == "string_type" and isinstance(first["input"], list):
        said += form.several.get(".".join(path), "")
    if first["type"] == "dict_type":
        name = ".".join(path)
        said += f"; write '{name}={{KEY=VALUE}}' (with the quotes; 0.5, not .5), or {name}.KEY=VALUE"
    raise form.wrong(f"{'.'.join(path)} is {first.get('input')!r}: {said}")


def _counts(section: Any, value: Any, info: ValidationInfo) -> Any:
    kinds = section.model_fields[str(info.field_name)].annotation
    if isinstance(value, bool) and {*(typing.get_args(kinds) or (kinds,))} <= {int, float, type(None)}:
        raise ValueError(f"it is a number, not {str(value).lower()}")
    return value


NUMBERS = field_validator("*", mode="before")(classmethod(_counts))  # of a section: `true` is none


def key(*default: Any, **rest: Any) -> Any:
    """A key of a section, as pydantic's `Field`; type checkers take it for a default, so that a section may be made without it."""
    return Field(*default, **rest)


def ranges(text: str) -> list[int] | None:
    """The levels that a text such as `3` or `0-2,5` names, in its order; None where it is no such text.

    Example:
        >>> ranges("0-2,5"), ranges("3"), ranges("2-0"), ranges("10")
        ([0, 1, 2, 5], [3], None, None)
    """
    parts = [_RANGE.fullmatch(part) for part in text.split(",")]
    pairs = [(int(part[1]), int(part[2] or part[1])) for part in parts if part is not None]
    if len(pairs) < len(parts) or any(low > high for low, high in pairs):
        return None
    return [level for low, high in pairs for level in range(low, high + 1)]


def _value(text: str) -> Any:
    for attempt in (text, text.lower() if text.lower() in ("true", "false") else text):
        try:
            return tomllib.loads(f"v = {attempt}")["v"]
        except tomllib.TOMLDecodeError:
            pass
    return text


def _know(path: Sequence[str], form: Form[Any], short: Iterable[str] = ()) -> None:
    model: Any = form.model
    for depth, part in enumerate(path):
        if typing.get_origin(model) is dict and len(typing.get_args(model)) == 2:  # a table by names of the user's
            model = typing.get_args(model)[1]
            continue
        fields = getattr(model, "model_fields", None)
        if fields is None:
            return  # inside a free table
        if part not in fields:
            where = ".".join(path[:depth])
            if ours := next(filter(None, (form.elsewhere.get(".".join(path[at:])) for at in (-3, -2, -1))), ""):
                raise UnknownName(f"unknown {form.key} {'.'.join(path)!r}; here it is {ours}")
            known = fields if where else dict.fromkeys((*fields, *short))
            raise UnknownName(unknown(form.key, part, known) + (f" (in {where})" if where else ""))
        model = fields[part].annotation
