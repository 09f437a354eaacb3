"""Snapshots of world envs: which world, version and schema of states they are of, and whether they are as they were made."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import types
import typing
from collections.abc import Mapping
from typing import Any

from quintain import __version__
from quintain.codec import hints
from quintain.types import QuintainError
from quintain.worlds.kernel import quoted

FORMAT = 4  # of a snapshot: another number where its keys mean something else
ABOUT = ("format", "version", "world", "fields", "schema")
KEYS = (*ABOUT, "task", "state", "turn", "limit", "stop", "past", "unheard", "refused", "calls", "check")
TAKES = "give back what snapshot() of this version of Quintain gave"
UNIONS = (typing.Union, types.UnionType)
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class BadSnapshot(QuintainError):
    """What a world env was to go back to is no snapshot of its world as it is now; the message says what it is and what fits."""


def sealed(world: str, schema: type, held: Mapping[str, Any]) -> dict[str, Any]:
    """A snapshot of what an episode holds as JSON values, with what it is of and the check of all that.

    Args:
        world: its name.
        schema: the record that states of the world are.
        held: task, state, turn, limit, stop, past, unheard, refused, calls.
    """
    about = (FORMAT, __version__, world, list(_fields(schema)), schema_digest(schema))
    told = {**dict(zip(ABOUT, about, strict=True)), **held}
    return {**told, "check": _check(told)}


def verify(world: str, schema: type, snapshot: Any) -> None:
    """Refuse what is not as `sealed` gave it, or is of another world or schema.

    A state may be anything that its records can hold, and nobody can tell whether a game gets there: so what was changed is not read.

    Raises:
        BadSnapshot: it is not.
    """
    if not isinstance(snapshot, Mapping):
        raise BadSnapshot(f"{world}: a snapshot is an object, not {quoted(snapshot)}; {TAKES}")
    if snapshot.get("format") != FORMAT:
        found = snapshot.get("format")
        raise BadSnapshot(f"{world}: the snapshot has the format {quoted(found, 40)}, read is {FORMAT}; {TAKES}")
    if missing := [key for key in KEYS if key not in snapshot]:
        raise BadSnapshot(f"{world}: the snapshot lacks {', '.join(missing)}; {TAKES}")
    if snapshot["world"] != world:
        found = snapshot["world"]
        raise BadSnapshot(f"{world}: the snapshot is of the world {quoted(found)}; restore it in an env of that")
    fields, version = quoted(snapshot["fields"], 200), quoted(snapshot["version"], 40)
    if snapshot["fields"] != list(_fields(schema)):
        here = ", ".join(_fields(schema))
        raise BadSnapshot(f"{world}: the snapshot's state has the fields {fields}, here they are {here}; {TAKES}")
    if snapshot["schema"] != (here := schema_digest(schema)):
        raise BadSnapshot(
            f"{world}: the snapshot's state has the schema {quoted(snapshot['schema'], 40)} of Quintain {version}, read is "
            f"{here!r} of {__version__!r}; {TAKES}"
        )
    if snapshot["check"] != (now := _check({key: snapshot[key] for key in KEYS[:-1]})):
        task, was = snapshot["task"], quoted(snapshot["check"], 40)
        other = isinstance(task, Mapping) and task.get("env", world) != world
        what = f"its task is of the world {quoted(task['env'])}; " if other else ""
        raise BadSnapshot(
            f"{world}: the snapshot was changed since it was made: {what}its check is {was}, that of what it holds {now!r}; {TAKES}"
        )


def _check(told: Mapping[str, Any]) -> str:
    try:
        text = _canonical(told)
    except (TypeError, ValueError, RecursionError) as error:  # what JSON does not have
        return f"none: {error}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@functools.cache
def _fields(schema: type) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(schema))


@functools.cache
def schema_digest(kind: type) -> str:
    """64 bits, in hex, of the names and types of a record's fields and of those of the records in it.

    Example:
        >>> from quintain.types import Span, Task
        >>> schema_digest(Span) != schema_digest(Task), len(schema_digest(Span))
        (True, 16)
    """
    return hashlib.blake2b(_told(kind, ()).encode(), digest_size=8).hexdigest()


def _told(kind: Any, outer: tuple[Any, ...]) -> str:
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind not in outer:
        try:
            known = hints(kind)
        except NameError:  # of a name that stands in a function: as it is written
            known = {f.name: f.type for f in dataclasses.fields(kind)}
        inner = (f"{f.name}:{_told(known[f.name], (*outer, kind))}" for f in dataclasses.fields(kind))
        return f"{kind.__name__}({','.join(inner)})"
    if args := typing.get_args(kind):
        origin = typing.get_origin(kind)
        name = "Union" if origin in UNIONS else getattr(origin, "__name__", str(origin))
        return f"{name}[{','.join(_told(arg, outer) for arg in args)}]"
    return kind.__name__ if isinstance(kind, type) else str(kind)
