"""Spans are divided into lanes so that each is computed once and nothing is held that is too large."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import quintain.models.lanes as lanes
from quintain.models.lanes import Lane, lay_out, split

CPU = torch.device("cpu")


@pytest.mark.parametrize("count", [1, 2, 40])
def test_split_puts_each_span_into_one_lane(count, rng):
    lengths = rng.integers(1, 400, count)
    parts = split(lengths, lengths + rng.integers(0, 500, count), 64)
    assert sorted(np.concatenate(parts).tolist()) == list(range(count))
    assert all((np.diff(part) > 0).all() for part in parts)


def test_split_separates_a_long_span_and_keeps_short_ones_together():
    lengths = np.array([4, 3, 2000, 4, 5])
    assert [part.tolist() for part in split(lengths, lengths, 256)] == [[2], [0, 1, 3, 4]]


def test_split_never_holds_more_cells_than_allowed(monkeypatch):
    monkeypatch.setattr(lanes, "CELLS_MAX", 1000)
    lengths = np.full(9, 20)
    parts = split(lengths, lengths, 1)
    assert all(len(part) * 400 <= 1000 for part in parts)
    assert sorted(np.concatenate(parts).tolist()) == list(range(9))


def test_equal_spans_in_order_need_no_gather():
    layout = lay_out(np.full(5, 7), 64, CPU)
    assert layout.rows is None and [(lane.count, lane.length) for lane in layout.lanes] == [(5, 7)]


def test_places_undo_rows(rng):
    lengths = rng.integers(1, 300, 30)
    starts = np.where(rng.random(30) < 0.5, 0, rng.integers(1, 200, 30))
    layout = lay_out(lengths, 256, CPU, starts, rng.permutation(30))
    assert layout.rows is not None and layout.places is not None and layout.pads is not None
    assert torch.equal(layout.rows[layout.places], torch.arange(int(lengths.sum())))
    assert len(layout.places) + len(layout.pads) == len(layout.rows) == layout.lanes[-1].end
    assert [lane.slots is None for lane in layout.lanes] == [lane.end <= layout.own for lane in layout.lanes]


def test_slots_in_a_row_are_read_without_a_copy():
    starts = np.array([4, 4, 4])
    assert lay_out(np.array([1, 1, 1]), 64, CPU, starts, np.array([5, 6, 7])).lanes[0].slots == slice(5, 8)
    gathered = lay_out(np.array([1, 1, 1]), 64, CPU, starts, np.array([5, 7, 6])).lanes[0].slots
    assert torch.equal(gathered, torch.tensor([5, 7, 6]))


@pytest.mark.parametrize(("local", "chunked"), [(0, False), (3, False), (3, True), (50, False)])
def test_a_mask_shows_what_a_row_may_see(local, chunked):
    starts, length, keys = [0, 2, 9], 4, 13
    lane = Lane(0, 3, length, keys, slice(0, 3), torch.tensor(starts))
    mask = lane.mask(local, chunked, torch.zeros(1))
    for b, start in enumerate(starts):
        for i in range(length):
            for key in range(keys):
                at = start + i
                seen = key <= at
                if local:
                    seen = seen and (key // local == at // local if chunked else key > at - local)
                assert (mask[b, 0, i, key] == 0) == seen
                assert mask[b, 0, i, key] in (0, -torch.inf)


def test_a_window_that_cannot_bind_needs_no_mask():
    lane = Lane(0, 2, 6, 6)
    assert lane.mask(6, False, torch.zeros(1)) is None and lane.mask(5, False, torch.zeros(1)) is not None
