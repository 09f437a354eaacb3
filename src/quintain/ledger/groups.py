"""A group in the ledger: rows that every reader needs, a digest, and the trajectories as compressed columns.

A run of 200 steps x 32 groups x 8 trajectories x 26 nodes has 1.3 million nodes: 25 bytes each. Nothing is lost but the
precision of node timings, which are kept as float32.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quintain.codec import decode, encode
from quintain.ledger import plain
from quintain.ledger.columns import (
    Words,
    pack_core,
    pack_nodes,
    pack_trajectories,
    read_nodes,
    read_table,
    read_trajectories,
    transpose,
)
from quintain.types import Group, InvariantError, Kind, Stop, Task

_MAX_BODY = 1 << 31  # a body that inflates beyond this is not one of ours
_SAMPLE, _NOISE = 4096, 0.9  # bytes that are tried, and the share from which on compression is not worth its time
_ROW = ("id", "rewards", "stop", "episode", "agent", "turns", "tokens", "oldest", "newest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What the ledger always keeps of a trajectory: identity, rewards, how it ended, how long it was.

    `turns` counts how often the policy spoke, `tokens` what it drew; `oldest` and `newest` are their policy versions.
    """

    id: str
    rewards: Mapping[str, float]
    stop: Stop
    episode: int
    agent: str
    turns: int
    tokens: int
    oldest: int
    newest: int

    @property
    def reward(self) -> float:
        """The sum of the named rewards."""
        return float(sum(self.rewards.values()))


class PackedGroup:
    """A group as the ledger keeps it: what every reader needs at once, the trajectories when `open` asks for them.

    `digest` is the hash of ids, rewards, stops, tokens, logprobs and versions, kept even when the trajectories are not.
    """

    __slots__ = ("_data", "digest", "ticket", "version", "whole")

    def __init__(self, data: bytes) -> None:
        self._data = plain.unpack(data)
        self.ticket: int = self._data["ticket"]
        self.version: int = self._data["version"]
        self.digest: str = self._data["digest"].hex()
        self.whole: bool = "body" in self._data

    @property
    def ids(self) -> list[str]:
        """Trajectory ids, in order."""
        return self._data["rows"]["id"]

    @property
    def task(self) -> Task:
        """The task that was played."""
        return decode(Task, self._data["task"])

    @property
    def tags(self) -> dict[str, Any]:
        """The tags of the group."""
        return self._data["tags"]

    @property
    def rows(self) -> tuple[Row, ...]:
        """One row per trajectory, in order."""
        columns = dict(self._data["rows"])
        columns["stop"] = [Stop(s) for s in columns["stop"]]
        return tuple(Row(**dict(zip(_ROW, values))) for values in zip(*(columns[n] for n in _ROW), strict=True))

    def open(self) -> Group:
        """The group with all its trajectories.

        Raises:
            InvariantError: the run kept only the rows of this group.
        """
        if not self.whole:
            raise InvariantError(
                f"the trajectories of ticket {self.ticket} were not kept: `run.record=all` keeps them; "
                "`.rows` has their rewards"
            )
        raw = zlib.decompressobj().decompress(self._data["body"], _MAX_BODY)
        body = plain.unpack(raw)
        words = read_table(body["words"])
        nodes = list(read_nodes(body["core"], body["nodes"], words))
        return Group(
            task=self.task,
            trajectories=read_trajectories(body["trajectories"], self._data["rows"], nodes, words),
            ticket=self.ticket,
            version=self.version,
            tags=self.tags,
        )


def pack_group(group: Group, *, whole: bool = True, task: Task | None = None) -> bytes:
    """The bytes that `PackedGroup` reads.

    Args:
        group: any group.
        whole: keep the trajectories; else only their rows and the digest.
        task: stands in for `group.task`, its pictures replaced by references.
    """
    columns = transpose([n for t in group.trajectories for n in t.nodes])
    core = pack_core(columns)
    rows = _rows(group, columns)
    data = {
        "ticket": group.ticket,
        "version": group.version,
        "task": encode(group.task if task is None else task),
        "tags": encode(group.tags),
        "rows": rows,
        "digest": hashlib.blake2b(plain.pack([group.ticket, rows, core]), digest_size=16).digest(),
    }
    if whole:
        words = Words()
        body: dict[str, Any] = {"nodes": pack_nodes(columns, words)}
        body["trajectories"] = pack_trajectories(group.trajectories, words)
        body["words"] = words.table()
        data["body"] = _deflated(plain.pack({"core": core}), plain.pack(body))
    return plain.pack(data)


def _deflated(core: bytes, rest: bytes) -> bytes:
    """The zlib stream of the mapping that holds the entries of both; a core of noise is stored as it is.

    Ids and logprobs are most of a large group and hardly shrink, at most of the cost.
    """
    header = bytes([0x80 | (core[0] & 15) + (rest[0] & 15)])  # msgpack: a small mapping says how many entries it has
    at = len(core) // 2
    sample = core[at : at + _SAMPLE]
    noise = len(sample) == _SAMPLE and len(zlib.compress(sample, 1)) > _NOISE * _SAMPLE
    first, second = zlib.compressobj(0 if noise else 1, wbits=-15), zlib.compressobj(1, wbits=-15)
    parts = [
        first.compress(header + core[1:]),
        first.flush(zlib.Z_FULL_FLUSH),
        second.compress(rest[1:]),
        second.flush(),
    ]
    check = zlib.adler32(rest[1:], zlib.adler32(core[1:], zlib.adler32(header)))
    return b"".join([b"\x78\x01", *parts, check.to_bytes(4, "big")])


def _rows(group: Group, columns: Mapping[str, tuple[Any, ...]]) -> dict[str, list[Any]]:
    out: dict[str, list[Any]] = {name: [] for name in _ROW}
    drawn = [len(t) if k is Kind.sampled else -1 for t, k in zip(columns["tokens"], columns["kind"])]
    stop = 0
    for t in group.trajectories:
        start, stop = stop, stop + len(t.nodes)
        lengths = [n for n in drawn[start:stop] if n >= 0]
        versions = [s.version for spans in columns["spans"][start:stop] if spans for s in spans]
        values = (
            t.id,
            dict(t.rewards),
            str(t.stop),
            t.episode,
            t.agent,
            len(lengths),
            sum(lengths),
            min(versions, default=0),
            max(versions, default=0),
        )
        for name, value in zip(_ROW, values):
            out[name].append(value)
    return out
