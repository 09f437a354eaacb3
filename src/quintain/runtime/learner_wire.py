"""What travels between the first process and a learner group: arrays, batches and streams as msgpack, never as pickles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import chain
from typing import Any

import numpy as np

from quintain import codec
from quintain.ledger import plain
from quintain.types import Batch, Group, Image, Trajectory

_ARRAY = "array"  # the key of an array in a message


def pack(value: Any) -> bytes:
    """The bytes of mappings, lists, scalars and arrays.

    Example:
        >>> unpack(pack({"x": [np.arange(3)]}))["x"][0].sum()
        np.int64(3)
    """
    return plain.packed(value, _default)


def _default(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {_ARRAY: [value.dtype.str, list(value.shape), value.tobytes()]}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, int):
        return plain.big_integer(value)
    raise TypeError(f"cannot send a {type(value).__name__} to a learner group; send arrays, mappings and scalars")


def unpack(data: bytes) -> Any:
    """What `pack` wrote; `ValueError` for other bytes."""
    return _revived(plain.unpack(data))


def _revived(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_ARRAY}:
            dtype, shape, data = value[_ARRAY]
            return np.frombuffer(data, dtype=dtype).reshape(shape).copy()  # torch wants memory that it may write
        return {key: _revived(one) for key, one in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        return [_revived(one) for one in value]
    return value


def pack_batch(batch: Batch) -> dict[str, Any]:
    """A batch as arrays and mappings of them."""
    columns = {f.name: getattr(batch, f.name) for f in fields(batch) if f.name != "images"}
    return {**columns, "images": [codec.encode(image) for image in batch.images]}


def open_batch(given: Mapping[str, Any]) -> Batch:
    """What `pack_batch` gave."""
    columns: dict[str, Any] = {k: v for k, v in given.items() if k != "images"}
    return Batch(**columns, images=tuple(codec.decode(Image, image) for image in given["images"]))


def tokens_of(group: Group) -> int:
    """The tokens of a group: what scoring it costs."""
    return sum(len(node.tokens) for t in group.trajectories for node in t.nodes)


def flat_streams(groups: Sequence[Group], names: Sequence[str]) -> dict[str, np.ndarray]:
    """Streams of all trajectories of some groups, each as one flat array."""
    trajectories = [t for g in groups for t in g.trajectories]
    return {
        name: np.fromiter(chain.from_iterable(chain.from_iterable(t.streams[name] for t in trajectories)), float)
        for name in names
    }


def cut_streams(groups: Sequence[Group], flat: Mapping[str, np.ndarray]) -> Iterator[list[Trajectory]]:
    """The trajectories of each group with the streams that `flat_streams` wrote there."""
    ends = dict.fromkeys(flat, 0)
    columns = {name: column.tolist() for name, column in flat.items()}
    for group in groups:
        done = []
        for trajectory in group.trajectories:
            for name, column in columns.items():
                rows = []
                for node in trajectory.nodes:
                    begin, ends[name] = ends[name], ends[name] + len(node.tokens)
                    rows.append(tuple(column[begin : ends[name]]))
                trajectory = trajectory.with_stream(name, tuple(rows))
            done.append(trajectory)
        yield done
