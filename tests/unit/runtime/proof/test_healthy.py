"""Healthy syncs with real optimizer steps between them never alarm, in any precision, with LoRA, with files, with cuts."""

from __future__ import annotations

import pytest

from quintain.learn.precision import bf16, fp16
from quintain.types import Sampling

KINDS = {
    "plain": {},
    "warm": {"sampling": Sampling(temperature=0.7)},
    "cut": {"sampling": Sampling(temperature=1.3, top_p=0.8, top_k=20, min_p=0.02)},
    "greedy": {"sampling": Sampling(temperature=0.0)},
    "bf16": {"precision": bf16},
    "bf16 cut": {"precision": bf16, "sampling": Sampling(top_p=0.9)},
    "fp16": {"precision": fp16},
    "refresh": {"refresh": True},
    "LoRA": {"lora": True},
    "beside": {"beside": True},
    "beside, cut, refresh": {"beside": True, "refresh": True, "sampling": Sampling(temperature=1.3, top_p=0.8)},
}


async def healthy(stand_of, options, steps: int) -> float:
    options = {k: v() if k == "precision" else v for k, v in options.items()}
    stand = stand_of(**options)
    await stand.begin(steps=0)
    widest = 0.0
    for _ in range(steps):
        row = await stand.step()
        assert {"canary_gap_max", "canary_gap_mean", "audit_gap_max", "proof_seconds"} <= row.keys()
        assert (stand.proof._asking is None) is not stand.proof.plan.beside
        widest = max(widest, row["canary_gap_max"], row["audit_gap_max"])
    await stand.proof.settled()
    assert stand.proof.sync.weights.version == steps + 1 and not stand.facts
    return widest


@pytest.mark.parametrize("kind", KINDS)
async def test_healthy_syncs_never_alarm(kind, stand_of):
    assert await healthy(stand_of, KINDS[kind], 8) >= 0


async def test_files_with_merged_lora_are_healthy(stand_of, tmp_path):
    await healthy(stand_of, {"lora": True, "folder": tmp_path}, 4)


async def test_files_are_healthy(stand_of, tmp_path):
    await healthy(stand_of, {"folder": tmp_path}, 4)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "steps"), [("plain", 500), ("LoRA", 60), ("bf16", 120), ("fp16", 40), ("cut", 120)])
async def test_many_healthy_syncs_never_alarm(kind, steps, stand_of):
    await healthy(stand_of, KINDS[kind], steps)
