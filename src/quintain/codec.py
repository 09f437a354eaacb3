"""Records to JSON values and back, and the digest of any state.

`encode` turns a record into plain dicts, lists and scalars; `decode` rebuilds it from the annotated type and runs its invariants.
"""

from __future__ import annotations

import base64
import collections.abc
import dataclasses
import functools
import hashlib
import json
import types as pytypes
import typing
from enum import Enum
from typing import Any

from quintain.types import InvariantError

Record = typing.TypeVar("Record")


@functools.cache
def _names(cls: type) -> tuple[tuple[str, Any], ...]:
    defaults = []
    for f in dataclasses.fields(cls):
        factory = f.default_factory
        defaults.append((f.name, factory() if factory is not dataclasses.MISSING else f.default))
    return tuple(defaults)


def encode(value: Any) -> Any:
    """The JSON value of a record, or of anything made of records, mappings, sequences, arrays and scalars.

    Fields that hold their default are left out. Bytes become `{"b64": ...}`, arrays `{"dtype", "shape", "b64"}`.

    Example:
        >>> from quintain.types import Span
        >>> encode(Span(start=0, stop=2, version=1))
        {'start': 0, 'stop': 2, 'version': 1}
    """
    kind = type(value)
    if kind in (str, int, float, bool) or value is None:
        return value
    if kind in (tuple, list):
        return [encode(v) for v in value]
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value):
        pairs = ((n, getattr(value, n), d) for n, d in _names(kind))
        return {n: encode(v) for n, v, d in pairs if d is dataclasses.MISSING or (v is not d and not _same(v, d))}
    if isinstance(value, collections.abc.Mapping):
        return {str(k): encode(v) for k, v in value.items()}
    if isinstance(value, tuple | list | frozenset | set):
        items = sorted(value) if isinstance(value, frozenset | set) else value
        return [encode(v) for v in items]
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode()}
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):
        if value.shape == ():
            return value.item()
        data = base64.b64encode(value.tobytes()).decode()
        return {"dtype": str(value.dtype), "shape": list(value.shape), "b64": data}
    raise TypeError(f"cannot write a {kind.__module__}.{kind.__qualname__} as JSON; use records, mappings and scalars")


def kept(state: Any) -> Any:
    """The JSON value of a part's state, which a checkpoint gives back as it was.

    Raises:
        TypeError: it holds what is no JSON, or a key that is no word and would come back as one.

    Example:
        >>> kept({"seen": {0: 1}})
        Traceback (most recent call last):
        TypeError: the key 0, a int, would come back as '0'; use words as keys: str(0)
    """
    _look(state)
    return encode(state)


def _look(state: Any) -> None:
    if isinstance(state, collections.abc.Mapping):
        for key, value in state.items():
            if not isinstance(key, str):
                raise TypeError(
                    f"the key {key!r}, a {type(key).__name__}, would come back as {str(key)!r}; use words as keys: str({key!r})"
                )
            _look(value)
    elif isinstance(state, tuple | list):
        for value in state:
            _look(value)


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and isinstance(a, str | int | float | bool | tuple | dict) and a == b


@functools.cache
def hints(cls: type) -> dict[str, Any]:
    """The types of a record's fields by name."""
    import numpy

    return typing.get_type_hints(cls, localns={"np": numpy, "torch": pytypes.SimpleNamespace(Tensor=Any)})


def decode(kind: type[Record] | Any, value: Any) -> Record | Any:
    """The record of type `kind` that `encode` wrote as `value`.

    Raises:
        InvariantError: a field is unknown, missing, or breaks an invariant of the record.
    """
    if kind is Any or value is None:
        return value
    origin = typing.get_origin(kind)
    if origin in (typing.Union, pytypes.UnionType):
        return _union(typing.get_args(kind), value)
    if origin in (tuple, list, frozenset):
        args = typing.get_args(kind)
        if origin is tuple and not (len(args) == 2 and args[1] is Ellipsis):
            return tuple(decode(a, v) for a, v in zip(args, value, strict=True))
        if args[0] in (int, float, bool, str):
            return origin(value)
        return origin(decode(args[0], v) for v in value)
    if origin in (dict, collections.abc.Mapping):
        item = typing.get_args(kind)[1]
        return {k: decode(item, v) for k, v in value.items()}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _record(kind, value)
    if isinstance(value, dict) and "b64" in value:
        return _bytes(value)
    return value


def _record(kind: type, value: dict[str, Any]) -> Any:
    known = hints(kind)
    unknown = sorted(set(value) - set(known))
    if unknown:
        raise InvariantError(f"{kind.__name__} has no field {unknown[0]!r}; its fields are {', '.join(known)}")
    try:
        return kind(**{k: decode(known[k], v) for k, v in value.items()})
    except TypeError as error:
        raise InvariantError(f"{kind.__name__}: {error}") from error


def _union(options: tuple[Any, ...], value: Any) -> Any:
    if isinstance(value, dict):
        for option in options:
            if isinstance(option, type) and dataclasses.is_dataclass(option):
                names = dict(_names(option))
                needed = {n for n, d in names.items() if d is dataclasses.MISSING}
                if needed <= set(value) <= set(names):
                    return _record(option, value)
    rest = [o for o in options if o is not type(None) and not dataclasses.is_dataclass(o)]
    return decode(rest[0], value) if rest else value


def _bytes(value: dict[str, Any]) -> Any:
    data = base64.b64decode(value["b64"])
    if "dtype" not in value:
        return data
    import numpy as np

    return np.frombuffer(data, dtype=value["dtype"]).reshape(value["shape"]).copy()


def dumps(value: Any) -> str:
    """Canonical JSON text of a record: sorted keys, no spaces, NaN refused."""
    return json.dumps(encode(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest_of(value: Any) -> str:
    """The first 128 bits, in hex, of the BLAKE2 hash of the canonical JSON of a record: equal states, equal digests.

    Example:
        >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
        True
    """
    return hashlib.blake2b(dumps(value).encode(), digest_size=16).hexdigest()
