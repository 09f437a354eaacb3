"""How spans of unequal length share attention calls: each lane is one batched call over spans padded to one length.

Dims: T packed rows, S spans, P places (rows and padding), B spans of one lane, L rows that each gets, K keys that
each sees at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

DISPATCH_NS = 20_000.0  # what one more attention call costs, whatever its size
PAIR_NS = 0.05  # what one query-key pair costs for each feature of the heads together
CELLS_MAX = 1 << 24  # pairs of one lane: bounds the mask and the scores that are held at once


@dataclass(slots=True, eq=False)
class Lane:
    """One batched attention call over the places [first, first + count * length).

    `slots` says where the keys lie: None for the rows themselves (spans that start at 0), else a slice or [B] indices
    of slots; `starts` [B] are then the positions of the first rows.
    """

    first: int
    count: int
    length: int
    keys: int
    slots: slice | torch.Tensor | None = None
    starts: torch.Tensor | None = None
    masks: dict[tuple[int, bool], torch.Tensor | None] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The place after the last one."""
        return self.first + self.count * self.length

    def mask(self, local: int, chunked: bool, like: torch.Tensor) -> torch.Tensor | None:
        """What is added to the scores, [B or 1, 1, L, K]; None for plain causal attention from position 0.

        Args:
            local: width of the window or chunk in tokens; 0 for none.
            chunked: whether `local` is a chunk (same block of `local` positions) instead of a window.
            like: a tensor with the device and dtype to use.
        """
        if local >= self.keys:
            local = 0
        key = (local, chunked and local > 0)
        if key not in self.masks:
            self.masks[key] = self._mask(local, chunked, like)
        return self.masks[key]

    def _mask(self, local: int, chunked: bool, like: torch.Tensor) -> torch.Tensor | None:
        if self.starts is None and not local:
            return None
        query = torch.arange(self.length, device=like.device)[None, :, None]
        if self.starts is not None:
            query = query + self.starts[:, None, None]
        key = torch.arange(self.keys, device=like.device)
        seen = key <= query
        if local:
            seen &= (key // local == query // local) if chunked else (key > query - local)
        return (
            torch.zeros(seen.shape, dtype=like.dtype, device=like.device).masked_fill_(~seen, -torch.inf).unsqueeze(1)
        )


@dataclass(slots=True, eq=False)
class Layout:
    """Where each packed row stands among the places of all lanes.

    `rows` [P] gives the packed row of a place (padding repeats the first row of its span), None when all stand in
    order without padding; `places` [T] gives the place of a row, `pads` the places that are padding. Lanes whose keys
    are their own rows come first and end at the place `own`.
    """

    lanes: list[Lane]
    own: int
    rows: torch.Tensor | None = None
    places: torch.Tensor | None = None
    pads: torch.Tensor | None = None
    merged: bool = False


def split(lengths: np.ndarray, keys: np.ndarray, width: int) -> list[np.ndarray]:
    """Divide spans into lanes so that the padding costs less than further calls would.

    Args:
        lengths: rows of each span [S].
        keys: keys that the last row of each span sees [S].
        width: features of all heads together, which scales the price of a pair.

    Returns:
        Ascending indices of the spans of each lane; together each span once.

    Example:
        >>> [list(map(int, lane)) for lane in split(np.array([3, 500, 2]), np.array([3, 500, 2]), 256)]
        [[1], [0, 2]]
    """
    price = PAIR_NS * width
    done: list[np.ndarray] = []
    todo = [np.arange(len(lengths))]
    while todo:
        part = todo.pop()
        cut = _best_cut(lengths[part], keys[part], price)
        if cut is None:
            done.append(part)
        else:
            order, at = cut
            todo += [part[np.sort(order[:at])], part[np.sort(order[at:])]]
    return done


def _best_cut(lengths: np.ndarray, keys: np.ndarray, price: float) -> tuple[np.ndarray, int] | None:
    n = len(lengths)
    if n == 1:
        return None
    cells = n * int(lengths.max()) * int(keys.max())
    if cells > CELLS_MAX:
        best = np.inf
    elif price * (cells - int(lengths @ keys)) <= DISPATCH_NS:
        return None
    else:
        best = price * cells
    found = None
    size = np.arange(1, n)
    for values in (lengths, keys):
        order = np.argsort(values, kind="stable")
        tail = order[::-1]
        low = size * np.maximum.accumulate(lengths[order])[:-1] * np.maximum.accumulate(keys[order])[:-1]
        high = size * np.maximum.accumulate(lengths[tail])[:-1] * np.maximum.accumulate(keys[tail])[:-1]
        cost = price * (low + high[::-1]) + DISPATCH_NS
        # equal costs everywhere (equal spans, too many for one lane): halve
        at = n // 2 - 1 if cost.min() == cost.max() else int(np.argmin(cost))
        if cost[at] < best:
            best, found = cost[at], (order, at + 1)
    return found


def lay_out(
    lengths: np.ndarray,
    width: int,
    device: torch.device,
    starts: np.ndarray | None = None,
    slots: np.ndarray | None = None,
    merged: np.ndarray | None = None,
) -> Layout:
    """Arrange packed spans into lanes.

    Args:
        lengths: rows of each span [S], each >= 1; spans follow one another in the pack.
        width: features of all heads together.
        device: where the indices are to live.
        starts: position of the first row of each span [S]; None for 0 everywhere.
        slots: the slot that holds the keys of each span [S]; read by the spans with a start > 0 only.
        merged: the packed row of each token of the spans [sum of lengths], when spans share rows; None when each has its own.
    """
    kept = np.zeros(0, dtype=np.int64) if starts is None else np.flatnonzero(starts)
    fresh = np.arange(len(lengths)) if starts is None else np.flatnonzero(starts == 0)
    lanes: list[Lane] = []
    members: list[np.ndarray] = []
    at = 0
    for part in split(lengths[fresh], lengths[fresh], width) if len(fresh) else ():
        spans = fresh[part]
        top = int(lengths[spans].max())
        lanes.append(Lane(at, len(spans), top, top))
        members.append(spans)
        at += len(spans) * top
    own = at
    if len(kept):
        assert starts is not None and slots is not None
        seen = starts + lengths
        for part in split(lengths[kept], seen[kept], width):
            spans = kept[part]
            top = int(lengths[spans].max())
            begin = torch.from_numpy(starts[spans]).to(device)
            lanes.append(Lane(at, len(spans), top, int(seen[spans].max()), _where(slots[spans], device), begin))
            members.append(spans)
            at += len(spans) * top
    return _placed(lanes, members, own, lengths, device, merged)


def _where(slots: np.ndarray, device: torch.device) -> slice | torch.Tensor:
    low = int(slots[0])
    if (slots == np.arange(low, low + len(slots))).all():
        return slice(low, low + len(slots))
    return torch.from_numpy(slots.astype(np.int64)).to(device)


def _placed(
    lanes: list[Lane],
    members: Sequence[np.ndarray],
    own: int,
    lengths: np.ndarray,
    device: torch.device,
    merged: np.ndarray | None,
) -> Layout:
    firsts = np.cumsum(lengths) - lengths
    rows, real = [], []
    for lane, spans in zip(lanes, members, strict=True):
        step = np.arange(lane.length)
        inside = step < lengths[spans, None]
        rows.append((firsts[spans, None] + np.where(inside, step, 0)).ravel())
        real.append(inside.ravel())
    row, inside = np.concatenate(rows), np.concatenate(real)
    total = int(lengths.sum())
    if merged is not None:
        row, total = merged[row], int(merged.max()) + 1
    if len(row) == total and (row == np.arange(total)).all():
        return Layout(lanes, own)
    place = np.empty(total, dtype=np.int64)
    place[row[inside]] = np.flatnonzero(inside)
    pads = torch.from_numpy(np.flatnonzero(~inside)).to(device) if len(row) > total else None
    return Layout(
        lanes, own, torch.from_numpy(row).to(device), torch.from_numpy(place).to(device), pads, merged is not None
    )
