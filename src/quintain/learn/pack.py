"""Groups or demonstrations to flat batches, and batches to minibatches and micro-batches. No torch here.

Dims: M tokens of all nodes, each node once; N packed tokens, a node once per path that it is on; S paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from quintain.learn.topk import IDS, LOGPROBS
from quintain.learn.topk import columns as topk_columns
from quintain.types import Batch, Bools, Group, Image, Ints, Kind, Node, QuintainError, Trajectory

WEIGHTS = ("rl", "ce", "kl")


class PackError(QuintainError):
    """Groups cannot become a batch: a stream is missing, tokens have no ids, or nothing was given."""


class Demo(NamedTuple):
    """A demonstration: one whole path of tokens [T] and which of them to imitate [T]."""

    tokens: Ints
    mask: Bools


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Where the nodes of some trajectories lie, flat [M], and which flat rows the packed rows [N] read.

    `start` [nodes + 1] are offsets into the flat rows, `first` [trajectories + 1] offsets into the nodes. `rows` [N]
    holds flat rows and `fresh` [N] whether the packed row is the one place where its token may be trained. `lengths`
    [S] and `owner` [S] describe the paths: tokens and trajectory.
    """

    trajectories: tuple[Trajectory, ...]
    nodes: tuple[Node, ...]
    start: np.ndarray
    first: np.ndarray
    rows: np.ndarray
    fresh: np.ndarray
    lengths: np.ndarray
    owner: np.ndarray

    def flat(self, columns: Iterable[Iterable[float]], dtype: type) -> np.ndarray:
        """One value per token of every node, joined [M]."""
        return np.fromiter(chain.from_iterable(columns), dtype, count=int(self.start[-1]))

    def stream(self, name: str) -> np.ndarray:
        """A stream of all trajectories, joined [M].

        Raises:
            PackError: a value of it is no number.
        """
        try:
            column = self.flat(chain.from_iterable(t.streams[name] for t in self.trajectories), np.float32)
        except (TypeError, ValueError):
            self._refuse_odd(name)
            raise
        if np.isnan(column).any():  # numpy reads None so
            self._refuse_odd(name)
        return column

    def _refuse_odd(self, name: str) -> None:
        for t in self.trajectories:
            if odd := [v for row in t.streams[name] for v in row if not hasattr(v, "__float__")]:
                raise PackError(f"trajectory {t.id!r}: the stream {name!r} holds {odd[0]!r:.80}, which is no number")

    def per_node(self, values: Iterable[float], dtype: type) -> np.ndarray:
        """One value per node, repeated for its tokens [M]."""
        return np.repeat(np.fromiter(values, dtype, count=len(self.nodes)), np.diff(self.start))


def lay_out(trajectories: Sequence[Trajectory]) -> Layout:
    """Lay the paths of trajectories one after the other; each sampled node is fresh in exactly one of them.

    Raises:
        PackError: a node comes from an external engine, so its ids or logprobs are unknown.
    """
    nodes = tuple(n for t in trajectories for n in t.nodes)
    start = np.zeros(len(nodes) + 1, np.int64)
    np.cumsum(np.fromiter((len(n.tokens) for n in nodes), np.int64, count=len(nodes)), out=start[1:])
    first = np.zeros(len(trajectories) + 1, np.int64)
    np.cumsum(np.array([len(t.nodes) for t in trajectories], np.int64), out=first[1:])
    if any(n.kind is Kind.external for n in nodes):
        guilty = next(t for t in trajectories if any(n.kind is Kind.external for n in t.nodes))
        raise PackError(
            f"trajectory {guilty.id!r} holds a node of kind external: without ids and logprobs it cannot be trained; "
            "drop it with a gate, or play that seat with an engine that returns tokens"
        )
    if all(_is_line(t.nodes) for t in trajectories):
        whole = np.arange(start[-1])
        ends = start[first]
        fresh = np.ones(len(whole), bool)
        return _layout(trajectories, nodes, start, first, (whole, fresh, np.diff(ends), np.arange(len(trajectories))))
    return _layout(trajectories, nodes, start, first, _paths(trajectories, start, first))


def _is_line(nodes: Sequence[Node]) -> bool:
    return all(node.parent == (i - 1 if i else None) for i, node in enumerate(nodes))


def _layout(
    trajectories: Sequence[Trajectory],
    nodes: tuple[Node, ...],
    start: np.ndarray,
    first: np.ndarray,
    paths: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> Layout:
    rows, fresh, lengths, owner = paths
    some = lengths > 0  # a path without a token trains nothing
    return Layout(
        trajectories=tuple(trajectories),
        nodes=nodes,
        start=start,
        first=first,
        rows=rows,
        fresh=fresh,
        lengths=lengths[some],
        owner=owner[some],
    )


def _paths(
    trajectories: Sequence[Trajectory], start: np.ndarray, first: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rows: list[np.ndarray] = [np.zeros(0, np.int64)]
    fresh: list[np.ndarray] = [np.zeros(0, bool)]
    lengths, owner = [], []
    for index, trajectory in enumerate(trajectories):
        base = int(first[index])
        for path, new in trajectory.paths():
            pieces = [np.arange(start[base + i], start[base + i + 1]) for i in path]
            rows += pieces
            fresh += [np.full(len(piece), i in new) for i, piece in zip(path, pieces, strict=True)]
            lengths.append(sum(len(piece) for piece in pieces))
            owner.append(index)
    return np.concatenate(rows), np.concatenate(fresh), np.array(lengths, np.int64), np.array(owner, np.int64)


def pack(
    groups: Sequence[Group], *, streams: Sequence[str] | None = None, skip_idle: bool = False, topk: int = 0
) -> Batch:
    """One flat batch of groups: every root-to-leaf path is a sequence, every sampled token is trained in exactly one.

    A token has the weight `rl` 1 (or the stream `weight.rl`) if it was sampled, `kl` as `rl` (or `weight.kl`), `ce` 0
    (or `weight.ce`, which may mark observations too). Tokens that were not sampled never have `rl` or `kl` weight,
    nor has the first token of a path, which nothing predicts. `mask` marks the tokens with any weight.

    The batch's further streams: `trajectory` [N] (the unit of a sequence mean: paths of one tree share it), `turn` [N],
    the number of the message that holds the token, `ticket` [N], and `reward` [N], the trajectory's scalar.

    Args:
        groups: groups of one step, in consumption order; numbered from 0 in `group`.
        streams: names of the per-token streams to carry; None carries all, and asks for `advantage`.
        skip_idle: leave trajectories untrained whose advantages are all 0 and that have no `ce` weight. Exact for
            objectives that do not read them (`parts.reads_idle`): `totals` hold `all_tokens`, `all_sequences`,
            `all_groups` with them, and `tokens`, `sequences`, `groups` without.
        topk: carry the engine's likeliest ids of each sampled token too, that many, as `topk_ids` and `topk_logprobs`
            [N, topk], the sampled token among them.

    Raises:
        PackError: no advantage, a stream that only some trajectories have, or a node of an external engine.
        TopkError: an engine did not send likeliest ids.
    """
    trajectories = [t for g in groups for t in g.trajectories]
    layout = lay_out(trajectories)
    names = _streams(trajectories, streams)
    rows, fresh = layout.rows, layout.fresh
    position, sequence = _number(layout.lengths)
    trainable = fresh & (position > 0)
    sampled = layout.flat((n.mask for n in layout.nodes), bool)[rows] & trainable
    weights = _weights(layout, sampled, trainable)
    columns = {name: layout.stream(name)[rows] for name in names}
    if topk:
        ids, logprobs = topk_columns(layout.nodes, topk)
        columns |= {IDS: ids[rows], LOGPROBS: logprobs[rows]}
    trajectory = np.repeat(layout.owner, layout.lengths)
    sizes = np.array([len(g.trajectories) for g in groups], np.int64)
    group = np.repeat(np.arange(len(groups)), sizes)[trajectory]
    columns["trajectory"] = trajectory
    columns["turn"] = layout.per_node(range(len(layout.nodes)), np.int64)[rows]
    columns["ticket"] = np.array([g.ticket for g in groups], np.int64)[group]
    columns["reward"] = np.array([t.reward for t in trajectories], np.float32)[trajectory]
    mask = _any(weights)
    if skip_idle:
        active = (columns["advantage"] * weights["rl"] != 0) | (weights["ce"] != 0)
        busy = np.bincount(trajectory, active, minlength=len(trajectories)) > 0
        mask = mask & busy[trajectory]
    heat = layout.per_node((n.sampling.temperature if n.sampling else 1.0 for n in layout.nodes), np.float32)[rows]
    heat[heat == 0] = 1.0  # greedy: the distribution before the argmax
    batch = Batch(
        tokens=layout.flat((n.tokens for n in layout.nodes), np.int64)[rows],
        mask=mask,
        logprobs=layout.flat((n.logprobs for n in layout.nodes), np.float32)[rows],
        sequence=sequence,
        position=position,
        group=group,
        weights=weights,
        streams=columns,
        temperature=None if (heat == 1).all() else heat,
        images=_images(layout),
    )
    return replace(batch, totals=count(batch))


def _images(layout: Layout) -> tuple[Image, ...]:
    if not any(n.blobs for n in layout.nodes):
        return ()
    paths = (t.path(leaf) for t in layout.trajectories for leaf in t.leaves)
    owners = (t for t in layout.trajectories for _ in t.leaves)
    return tuple(Image(hash=h) for t, path in zip(owners, paths, strict=True) for i in path for h in t.nodes[i].blobs)


def _streams(trajectories: Sequence[Trajectory], asked: Sequence[str] | None) -> list[str]:
    found = set().union(*(t.streams for t in trajectories))
    names = sorted({"advantage", *(n for n in found if not n.startswith("weight."))}) if asked is None else list(asked)
    weights = [n for n in sorted(found) if n.startswith("weight.")]
    for name in names + weights:
        for t in trajectories:
            if name not in t.streams:
                raise PackError(
                    f"trajectory {t.id!r} has no stream {name!r}; run the part that writes it on every group"
                )
    return names


def _weights(layout: Layout, sampled: np.ndarray, trainable: np.ndarray) -> dict[str, np.ndarray]:
    has = layout.trajectories[0].streams if layout.trajectories else {}
    given = {name: layout.stream(f"weight.{name}")[layout.rows] for name in WEIGHTS if f"weight.{name}" in has}
    rl = np.where(sampled, given.get("rl", np.float32(1)), np.float32(0)).astype(np.float32)
    kl = np.where(sampled, given["kl"], np.float32(0)) if "kl" in given else (rl != 0).astype(np.float32)
    ce = np.where(trainable, given["ce"], np.float32(0)) if "ce" in given else np.zeros_like(rl)
    return {"rl": rl, "ce": ce, "kl": kl}


def _number(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position and sequence number of each row [N], both int64, for paths of `lengths` [S]."""
    begin = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) - np.repeat(begin, lengths), np.repeat(np.arange(len(lengths)), lengths)


def _any(weights: Mapping[str, np.ndarray]) -> np.ndarray:
    return (weights["rl"] != 0) | (weights["ce"] != 0) | (weights["kl"] != 0)


def pack_demos(demos: Sequence[Demo]) -> Batch:
    """A batch that imitates the masked tokens of demonstrations: weight `ce` 1 there, no `rl`, no `kl`.

    Example:
        >>> pack_demos([Demo((5, 6, 7), (False, False, True))]).totals["ce_tokens"]
        1.0
    """
    for i, demo in enumerate(demos):
        if len(demo.tokens) != len(demo.mask) or not demo.tokens:
            raise PackError(f"demonstration {i} has {len(demo.tokens)} tokens and {len(demo.mask)} mask values")
    lengths = np.array([len(d.tokens) for d in demos], np.int64)
    total = int(lengths.sum())
    position, sequence = _number(lengths)
    mask = np.fromiter(chain.from_iterable(d.mask for d in demos), bool, count=total) & (position > 0)
    none = np.zeros(total, np.float32)
    batch = Batch(
        tokens=np.fromiter(chain.from_iterable(d.tokens for d in demos), np.int64, count=total),
        mask=mask,
        logprobs=none,
        sequence=sequence,
        position=position,
        group=sequence,
        weights={"rl": none, "ce": mask.astype(np.float32), "kl": none},
        streams={"advantage": none, "trajectory": sequence, "ticket": sequence},
    )
    return replace(batch, totals=count(batch))


def count(batch: Batch) -> dict[str, float]:
    """The sums that means divide by: trained tokens, sequences (trajectories), paths and groups, and tokens by weight.

    `all_tokens`, `all_sequences`, `all_groups` count everything with a weight, idle trajectories too.
    """
    out: dict[str, float] = {}
    whole = _any(batch.weights)
    trajectory = batch.streams["trajectory"]
    for prefix, mask in (("", batch.mask), ("all_", whole)):
        out[f"{prefix}tokens"] = float(np.count_nonzero(mask))
        out[f"{prefix}sequences"] = float(len(np.unique(trajectory[mask])))
        out[f"{prefix}groups"] = float(len(np.unique(batch.group[mask])))
    out["paths"] = float(len(np.unique(batch.sequence[batch.mask])))
    for name in WEIGHTS:
        out[f"{name}_tokens"] = float(np.count_nonzero((batch.weights[name] != 0) & batch.mask))
    return out


def select(batch: Batch, sequences: np.ndarray) -> Batch:
    """The sequences with the given ascending numbers as a batch of their own; `totals` stay those of the whole.

    Sequences and trajectories are numbered anew from 0; groups keep their numbers.
    """
    lengths = np.bincount(batch.sequence)
    chosen = lengths[sequences]
    if len(chosen) == len(lengths):
        return batch
    position, sequence = _number(chosen)
    begin = (np.cumsum(lengths) - lengths)[sequences]
    rows = np.repeat(begin, chosen) + position
    streams = {name: column[rows] for name, column in batch.streams.items()}
    streams["trajectory"] = np.unique(streams["trajectory"], return_inverse=True)[1]
    return replace(
        batch,
        tokens=batch.tokens[rows],
        mask=batch.mask[rows],
        logprobs=batch.logprobs[rows],
        sequence=sequence,
        position=position,
        group=batch.group[rows],
        weights={name: column[rows] for name, column in batch.weights.items()},
        streams=streams,
        temperature=None if batch.temperature is None else batch.temperature[rows],
    )


def split(batch: Batch, parts: int, seed: Sequence[int] = (0,)) -> list[Batch]:
    """Deal the groups of a batch, shuffled by `seed`, to `parts` minibatches of about equal token counts.

    A group is never cut. `totals` of each part are its own. With fewer groups than parts, some parts are empty.
    """
    if parts == 1:
        return [batch]
    owner = batch.group[batch.position == 0]  # group of each sequence [S]
    numbers, which = np.unique(owner, return_inverse=True)
    load = np.bincount(which, np.bincount(batch.sequence), minlength=len(numbers))
    order = np.random.default_rng(list(seed)).permutation(len(numbers))
    part_of, filled, held = np.zeros(len(numbers), np.int64), np.zeros(parts), np.zeros(parts)
    for i in order:
        part_of[i] = np.lexsort((held, filled))[0]
        filled[part_of[i]] += load[i]
        held[part_of[i]] += 1
    pieces = [select(batch, np.flatnonzero(part_of[which] == k)) for k in range(parts)]
    return [replace(piece, totals=count(piece)) for piece in pieces]


def micro(batch: Batch, tokens: int) -> Iterator[Batch]:
    """Cut a minibatch into micro-batches of at most `tokens` tokens, in order, leaving out paths without a trained
    token.

    The paths of one trajectory stay together, so a sequence-level objective sees them at once; a longer one is alone.
    """
    if not len(batch):
        return
    trained = np.bincount(batch.sequence, batch.mask) > 0
    lengths = np.bincount(batch.sequence)
    owner = batch.streams["trajectory"][batch.position == 0]
    kept = np.flatnonzero(trained)
    held: list[int] = []
    size = 0
    for unit in np.split(kept, np.flatnonzero(np.diff(owner[kept])) + 1):
        more = int(lengths[unit].sum())
        if held and size + more > tokens:
            yield select(batch, np.array(held))
            held, size = [], 0
        held += unit.tolist()
        size += more
    if held:
        yield select(batch, np.array(held))
