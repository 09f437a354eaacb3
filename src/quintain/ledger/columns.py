"""Nodes and trajectories as packed columns: one array per field, defaults left out, every string stored once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, compress, count
from operator import attrgetter
from typing import Any

import numpy as np

from quintain.codec import decode, encode
from quintain.types import Kind, Node, Role, Sampling, Span, Stop, Trajectory, check

_KINDS, _ROLES = tuple(Kind), tuple(Role)
_KIND_AT = {k: i for i, k in enumerate(_KINDS)}
_ROLE_AT = {r: i for i, r in enumerate(_ROLES)}
_WIDTHS = ("u1", "<u2", "<u4", "<i8", "<f4", "<f8")
FIELDS = (
    "tokens", "kind", "logprobs", "spans", "parent", "role", "mask", "agent", "turn", "text", "sampling", "seconds",
    "blobs", "top_ids", "top_logprobs",
)  # fmt: skip
_fields = attrgetter(*FIELDS)
_RARE = ("blobs", "top_ids", "top_logprobs")
_LISTS = ("digests", "next_digests", "actions", "events")  # of a trajectory: strings, one per turn
_WORDS = ("role", "call_parent")

Packed = list[Any]  # [width, bytes]


def pack_ints(values: Sequence[int]) -> Packed:
    """Integers in the narrowest type that holds them all.

    Example:
        >>> pack_ints([1, 2, 300])
        ['<u2', b'\\x01\\x00\\x02\\x00,\\x01']
    """
    low, high = (min(values), max(values)) if values else (0, 0)
    if low >= 0 and high < 256:
        return ["u1", bytes(values)]
    if low >= 0 and high < 1 << 32:
        width = "<u2" if high < 1 << 16 else "<u4"
        return [width, np.array(values, width).tobytes()]
    return ["<i8", np.array(values, "<i8").tobytes()]


def pack_floats(values: Sequence[float]) -> Packed:
    """Floats as float32 when that loses nothing, else as float64."""
    wide = np.array(values, "<f8")
    with np.errstate(over="ignore"):
        narrow = wide.astype("<f4")
    if np.array_equal(narrow.astype("<f8"), wide, equal_nan=True):
        return ["<f4", narrow.tobytes()]
    return ["<f8", wide.tobytes()]


def unpack(column: Packed) -> list[Any]:
    """The values of a packed column."""
    width, data = column
    check(width in _WIDTHS, f"a packed column has the type {width!r}; it must be one of {', '.join(_WIDTHS)}")
    return np.frombuffer(data, width).tolist()


def flat(rows: Iterable[Iterable[Any]]) -> list[Any]:
    """One list of all items of all rows."""
    return list(chain.from_iterable(rows))


def _split(values: Sequence[Any], lengths: Iterable[int]) -> list[tuple[Any, ...]]:
    out, at = [], 0
    for n in lengths:
        out.append(tuple(values[at : at + n]))
        at += n
    return out


class Words:
    """Strings by number, each distinct one once; 32 hexadecimal digits (a digest) take 16 bytes."""

    def __init__(self) -> None:
        self._at: defaultdict[str, int] = defaultdict(count().__next__)

    def numbers(self, words: Iterable[str]) -> Packed:
        """The packed numbers of `words`."""
        return pack_ints(list(map(self._at.__getitem__, words)))

    def table(self) -> list[str | bytes]:
        """The strings in the order of their numbers."""
        return [_short(w) for w in self._at]


def _short(word: str) -> str | bytes:
    if len(word) == 32:
        try:
            data = bytes.fromhex(word)
        except ValueError:
            return word
        return data if data.hex() == word else word
    return word


def read_table(table: Sequence[str | bytes]) -> list[str]:
    """The strings that `Words.table` wrote."""
    return [w.hex() if isinstance(w, bytes) else w for w in table]


def transpose(nodes: Sequence[Node]) -> dict[str, tuple[Any, ...]]:
    """The fields of the nodes as one tuple per field."""
    return dict(zip(FIELDS, zip(*map(_fields, nodes)) if nodes else ((),) * len(FIELDS), strict=True))


def pack_core(columns: Mapping[str, tuple[Any, ...]]) -> dict[str, Packed]:
    """What a policy update depends on: lengths, kinds, tokens, and of sampled nodes the logprobs and (one) version."""
    kinds = bytes(map(_KIND_AT.__getitem__, columns["kind"]))
    drawn = _KIND_AT[Kind.sampled]
    return {
        "lengths": pack_ints(list(map(len, columns["tokens"]))),
        "kinds": ["u1", kinds],
        "tokens": pack_ints(flat(columns["tokens"])),
        "logprobs": pack_floats(flat(lp for lp, k in zip(columns["logprobs"], kinds) if k == drawn)),
        "versions": pack_ints([s[0].version if s else 0 for s in columns["spans"]]),
    }


def pack_nodes(columns: Mapping[str, tuple[Any, ...]], words: Words) -> dict[str, Any]:
    """Every other field of the nodes, in the order of the trajectories."""
    samplings: dict[Any, int] = {None: 0}
    seen = {id(None): 0}
    for s in {id(s): s for s in columns["sampling"]}.values():
        seen[id(s)] = samplings.setdefault(s, len(samplings))
    out: dict[str, Any] = {
        "parents": pack_ints([-1 if p is None else p for p in columns["parent"]]),
        "roles": bytes(map(_ROLE_AT.__getitem__, columns["role"])),
        "agents": words.numbers(columns["agent"]),
        "turns": pack_ints(columns["turn"]),
        "texts": words.numbers(columns["text"]),
        "sampling": pack_ints([seen[id(s)] for s in columns["sampling"]]),
        "samplings": [encode(s) for s in samplings if s is not None],
    }
    out.update(_seconds(columns["seconds"]))
    rare: dict[int, Any] = {}
    if any(any(columns[name]) for name in _RARE):
        rows = zip(*(columns[name] for name in _RARE))
        rare = {i: encode(row) for i, row in enumerate(rows) if any(row)}
    return out | {k: v for k, v in (("rare", rare), ("odd", _odd(columns))) if v}


def _seconds(seconds: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Node timings, kept as float32."""
    if not any(seconds):
        return {}
    shapes: dict[tuple[str, ...], int] = {}
    at = pack_ints([shapes.setdefault(tuple(s), len(shapes)) for s in seconds])
    values = np.array(flat(s.values() for s in seconds), "<f4")
    return {"seconds": [[list(s) for s in shapes], at, ["<f4", values.tobytes()]]}


def _odd(columns: Mapping[str, tuple[Any, ...]]) -> dict[int, dict[str, Any]]:
    """What nodes differ in from the common case: a sampled node with one span, all of its tokens under the mask."""
    drawn = [k is Kind.sampled for k in columns["kind"]]
    given = [not d for d in drawn]
    if (
        all(map(all, compress(columns["mask"], drawn)))
        and set(map(len, compress(columns["spans"], drawn))) <= {1}
        and not any(compress(columns["spans"], given))
        and not any(map(any, compress(columns["logprobs"], given)))
    ):
        return {}
    out: dict[int, dict[str, Any]] = {}
    rows = zip(columns["kind"], columns["mask"], columns["spans"], columns["logprobs"])
    for i, (kind, mask, spans, logprobs) in enumerate(rows):
        if kind is Kind.sampled:
            if False in mask:
                out.setdefault(i, {})["mask"] = bytes(mask)
            if len(spans) != 1:
                out.setdefault(i, {})["spans"] = [(s.start, s.stop, s.version) for s in spans]
        else:
            if spans:
                out.setdefault(i, {})["spans"] = [(s.start, s.stop, s.version) for s in spans]
            if any(logprobs):
                out.setdefault(i, {})["logprobs"] = pack_floats(logprobs)
    return out


def read_nodes(core: Mapping[str, Packed], rest: Mapping[str, Any], words: Sequence[str]) -> Iterator[Node]:
    """The nodes that `pack_core` and `pack_nodes` wrote, in order."""
    lengths = unpack(core["lengths"])
    kinds = [_KINDS[k] for k in core["kinds"][1]]
    tokens = _split(unpack(core["tokens"]), lengths)
    logprobs = iter(_split(unpack(core["logprobs"]), [n for n, k in zip(lengths, kinds) if k is Kind.sampled]))
    samplings = [None, *(decode(Sampling, s) for s in rest["samplings"])]
    columns = zip(
        kinds,
        tokens,
        unpack(core["versions"]),
        unpack(rest["parents"]),
        rest["roles"],
        unpack(rest["agents"]),
        unpack(rest["turns"]),
        unpack(rest["texts"]),
        unpack(rest["sampling"]),
        _read_seconds(rest, len(kinds)),
        strict=True,
    )
    odd, rare = rest.get("odd", {}), rest.get("rare", {})
    for i, (kind, ids, version, parent, role, agent, turn, text, sampling, seconds) in enumerate(columns):
        n, drawn = len(ids), kind is Kind.sampled
        fields = {
            "mask": (drawn,) * n,
            "logprobs": next(logprobs) if drawn else (0.0,) * n,
            "spans": (Span(start=0, stop=n, version=version),) if drawn else (),
        }
        if i in odd:
            fields.update(_read_odd(odd[i]))
        if i in rare:
            blobs, top_ids, top_logprobs = rare[i]
            tops = {"top_ids": tuple(map(tuple, top_ids)), "top_logprobs": tuple(map(tuple, top_logprobs))}
            fields.update(blobs=tuple(blobs), **tops)
        yield Node(
            parent=None if parent < 0 else parent,
            role=_ROLES[role],
            kind=kind,
            tokens=ids,
            agent=words[agent],
            turn=turn,
            text=words[text],
            sampling=samplings[sampling],
            seconds=seconds,
            **fields,
        )


def _read_seconds(rest: Mapping[str, Any], count: int) -> list[dict[str, float]]:
    if "seconds" not in rest:
        return [{} for _ in range(count)]
    shapes, at, values = rest["seconds"]
    keys = [shapes[i] for i in unpack(at)]
    return [dict(zip(k, v)) for k, v in zip(keys, _split(unpack(values), map(len, keys)))]


def _read_odd(odd: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if "mask" in odd:
        out["mask"] = tuple(map(bool, odd["mask"]))
    if "spans" in odd:
        out["spans"] = tuple(Span(start=a, stop=b, version=v) for a, b, v in odd["spans"])
    if "logprobs" in odd:
        out["logprobs"] = tuple(unpack(odd["logprobs"]))
    return out


def pack_trajectories(trajectories: Sequence[Trajectory], words: Words) -> dict[str, Any]:
    """Every field of the trajectories that their rows do not hold."""
    out: dict[str, Any] = {"nodes": [len(t.nodes) for t in trajectories]}
    for name in _LISTS:
        lists = [getattr(t, name) for t in trajectories]
        if any(lists):
            out[name] = [[len(v) for v in lists], words.numbers(flat(lists))]
    for name in _WORDS:
        out[name] = words.numbers(getattr(t, name) for t in trajectories)
    if any(t.turn_rewards for t in trajectories):
        turn_rewards = [t.turn_rewards for t in trajectories]
        out["turn_rewards"] = [[len(v) for v in turn_rewards], pack_floats(flat(turn_rewards))]
    for name in ("fork", "tags", "states"):
        if any(getattr(t, name) for t in trajectories):
            out[name] = [encode(getattr(t, name)) for t in trajectories]
    if any(t.streams for t in trajectories):
        out["streams"] = [{k: pack_floats(flat(rows)) for k, rows in t.streams.items()} for t in trajectories]
    return out


def read_trajectories(
    packed: Mapping[str, Any], rows: Mapping[str, list[Any]], nodes: Sequence[Node], words: Sequence[str]
) -> tuple[Trajectory, ...]:
    """The trajectories that `pack_trajectories` wrote, with the nodes and the rows kept beside them."""
    lists: dict[str, list[Any]] = {
        n: _split([words[i] for i in unpack(packed[n][1])], packed[n][0]) for n in _LISTS if n in packed
    }
    lists.update({n: [words[i] for i in unpack(packed[n])] for n in _WORDS})
    if "turn_rewards" in packed:
        lengths, values = packed["turn_rewards"]
        lists["turn_rewards"] = _split(unpack(values), lengths)
    if "tags" in packed:
        lists["tags"] = packed["tags"]
    if "states" in packed:
        lists["states"] = [tuple(s) for s in packed["states"]]
    if "fork" in packed:
        lists["fork"] = [None if f is None else tuple(f) for f in packed["fork"]]
    owned = _split(nodes, packed["nodes"])
    if "streams" in packed:
        lists["streams"] = [_read_streams(s, own) for s, own in zip(packed["streams"], owned, strict=True)]
    for name in ("id", "rewards", "episode", "agent"):
        lists[name] = rows[name]
    stops = [Stop(s) for s in rows["stop"]]
    return tuple(
        Trajectory(nodes=owned[i], stop=stops[i], **{k: v[i] for k, v in lists.items()}) for i in range(len(owned))
    )


def _read_streams(packed: Mapping[str, Packed], nodes: Sequence[Node]) -> dict[str, tuple[tuple[float, ...], ...]]:
    lengths = [len(n.tokens) for n in nodes]
    return {name: tuple(_split(unpack(column), lengths)) for name, column in packed.items()}
