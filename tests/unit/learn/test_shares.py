"""Ranks that are each given the whole batch take the steps of one, however they share it."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tests import programs

from quintain.learn.pack import micro, pack
from quintain.learn.ranks import Ranks
from quintain.learn.shares import deal, share
from quintain.runtime.launch import free_port

WORKER = Path(__file__).with_name("whole_worker.py")
GROUPS = runpy.run_path(str(WORKER.with_name("rank_worker.py")))["groups"]


def test_shares_are_the_whole_and_about_equal():
    batch = pack(GROUPS(5))
    parts = [share(batch, Ranks(rank=r, size=3)) for r in range(3)]
    assert sorted(np.concatenate([p.tokens for p in parts]).tolist()) == sorted(batch.tokens.tolist())
    sizes = [len(p) for p in parts]
    assert max(sizes) - min(sizes) <= np.bincount(batch.sequence).max()
    assert all(p.totals == batch.totals for p in parts), "denominators are those of the whole"
    assert sum(len(list(micro(p, 12))) for p in parts) >= 3
    assert share(batch, Ranks()) is batch
    few = pack(GROUPS(1))
    assert [len(np.unique(share(few, Ranks(rank=r, size=3)).sequence)) for r in range(3)] == [1, 1, 0]


def test_a_deal_does_not_depend_on_who_asks():
    loads = np.random.default_rng(3).integers(1, 99, 40).astype(float).tolist()
    dealt = deal(loads, 4)
    assert sorted(i for part in dealt for i in part) == list(range(40)) and dealt == deal(loads, 4)
    sums = [sum(loads[i] for i in part) for part in dealt]
    assert max(sums) - min(sums) < max(loads)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    root, port = tmp_path_factory.mktemp("whole"), str(free_port())
    three = [[str(rank), "3", port, str(root / "three")] for rank in range(3)]
    programs.run(WORKER, *three, folder=root, timeout=240)
    runpy.run_path(str(WORKER))["main"](0, 1, 0, root / "one")
    return root


def test_three_ranks_with_the_whole_batch_take_the_steps_of_one(played):
    alone = json.loads((played / "one" / "rank0.json").read_text())
    for rank in range(3):
        told = json.loads((played / "three" / f"rank{rank}.json").read_text())
        for mine, whole in zip(told["figures"], alone["figures"], strict=True):
            for key in whole.keys() - {"seconds_forward", "seconds_backward", "seconds_optimizer"}:
                signed = {
                    "grad_cosine": 1e-6,
                    "mismatch_chi2": 1e-7,
                    "mismatch_chi2_sequence": 1e-7,
                }  # sums of both signs
                small = signed.get(key, 1e-12)
                assert mine[key] == pytest.approx(whole[key], rel=1e-6, abs=small), key
        for key in ("state", "quarantined"):
            assert told[key] == alone[key], key
        assert told["warm"] == pytest.approx(alone["warm"], rel=1e-6)
    assert alone["figures"][-1]["skipped"] and alone["quarantined"][0]["tickets"]
    whole = load_file(played / "one" / "rank0" / "weights.safetensors")
    for rank in range(3):
        for name, tensor in load_file(played / "three" / f"rank{rank}" / "weights.safetensors").items():
            torch.testing.assert_close(tensor, whole[name], rtol=1e-5, atol=1e-6)
