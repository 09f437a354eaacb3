"""Ranks that share the layers take the steps of one that holds them all, and what they save fits any number of ranks."""

from __future__ import annotations

import asyncio
import json
import runpy
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from quintain.config import ConfigError, make
from quintain.learn.ranks import Ranks
from quintain.learn.shards import ShardError, find_layers, shard
from quintain.models import build_model, forward_hidden, recompute
from quintain.models.fingerprint import fingerprint
from quintain.runtime.check import check

WORKER = Path(__file__).with_name("shard_worker.py")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def play(folder: Path, kind: str, size: int) -> list[dict]:
    """What each rank tells."""
    folder.mkdir(parents=True)
    words = [str(size), str(free_port()), str(folder), kind, "full" if size > 1 else "none"]
    command = [sys.executable, "-W", "ignore", str(WORKER)]
    running = [
        subprocess.Popen([*command, str(rank), *words], stderr=subprocess.PIPE, text=True) for rank in range(size)
    ]
    said = [process.communicate(timeout=120)[1] for process in running]
    assert [process.returncode for process in running] == [0] * size, said
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(size)]


@pytest.mark.parametrize(
    ("kind", "size", "rel"),
    [
        ("adamw", 2, 1e-6),
        pytest.param("muon", 2, 1e-4, marks=pytest.mark.slow),  # its products are in bfloat16
        pytest.param("muon", 4, 1e-4, marks=pytest.mark.slow),
        pytest.param("lora", 2, 1e-6, marks=pytest.mark.slow),
        pytest.param("bf16", 2, 0.03, marks=pytest.mark.slow),
    ],
)
def test_ranks_that_share_layers_take_the_steps_of_one(tmp_path, kind, size, rel):
    (alone,) = play(tmp_path / "one", kind, 1)
    shared = play(tmp_path / "many", kind, size)
    for told in shared:
        for mine, whole in zip(told["figures"] + told["after"], alone["figures"] + alone["after"], strict=True):
            for key in ("loss", "entropy", "grad_norm", "kl", "tokens", "sequences", "groups"):
                assert mine[key] == pytest.approx(whole[key], rel=rel, abs=1e-7), key
        turns = [[f.get("grad_cosine") for f in one["figures"]] for one in (told, alone)]
        assert turns[0] == pytest.approx(turns[1], abs=20 * rel) and turns[0][-1] is not None
        assert told["after"][0]["loss"] == told["after"][1]["loss"], "goes on exactly from what was saved"
        assert told["kept"] < alone["kept"], "a rank keeps a part"
    assert shared[0]["prints"] and all(told["prints"] == shared[0]["prints"] for told in shared)
    one, many = (load_file(tmp_path / f / "saved" / "weights.safetensors") for f in ("one", "many"))
    assert one.keys() == many.keys()
    for name, tensor in one.items():
        assert tensor.shape == many[name].shape
        torch.testing.assert_close(many[name], tensor, rtol=10 * rel, atol=5 * rel)


def test_what_shares_saved_loads_where_nothing_is_shared(tmp_path):
    play(tmp_path / "two", "adamw", 2)
    worker = runpy.run_path(str(WORKER))
    learner = worker["make"](Ranks(), "adamw", False)
    learner.load(str(tmp_path / "two" / "saved"))
    assert learner.step == 3
    written = json.loads((tmp_path / "two" / "rank0.json").read_text())["prints"]
    assert {k.removeprefix("model."): v for k, v in fingerprint(learner.model).items()} == {
        k.removeprefix("model."): v for k, v in written.items()
    }
    moments = learner.optimizer.state()
    assert all(tuple(v.shape) in ((), learner_shape(learner, k)) for k, v in moments.items())


def learner_shape(learner, key: str) -> tuple[int, ...]:
    name = key.removeprefix("adamw.").rpartition(".")[0]
    return next(w.shape for w in learner.weights if w.name == name)


def test_one_rank_has_nobody_to_share_with():
    model = build_model("qwen3", seed=0, vocab=11, hidden=8, layers=1, heads=1, ffn=8, context=16)
    with pytest.raises(ShardError, match=r"one process learns; set runtime\.processes >= 2"):
        shard(model, Ranks())
    with pytest.raises(ConfigError, match=r"learner\.shard is 'full', but runtime\.processes is 1"):
        check(make({"env": {"scaffold": {"style": "words"}}}, overrides=["learner.shard=full"]))
    model.model.layers = torch.nn.ModuleList()  # pyrefly: ignore
    with pytest.raises(ShardError, match="no list of 1 layers"):
        find_layers(model)


def test_activations_computed_again_give_the_same_gradients():
    ids, grads = torch.arange(11), []
    for again in (False, True):
        model = build_model("qwen3", seed=3, vocab=11, hidden=8, layers=2, heads=2, ffn=16, context=16)
        if again:
            recompute(model)
        calls = []
        model.model.layers[0].mlp.register_forward_pre_hook(lambda *_, seen=calls: seen.append(1))  # pyrefly: ignore
        forward_hidden(model, ids, [5, 6]).square().sum().backward()
        grads.append([p.grad for p in model.parameters() if p.grad is not None])
        assert len(calls) == (2 if again else 1)
    for plain, checkpointed in zip(*grads, strict=True):
        torch.testing.assert_close(plain, checkpointed)


def test_a_rank_without_a_part_in_the_step_lacks_no_stream():
    worker = runpy.run_path(str(WORKER))
    learner = worker["make"](Ranks(), "adamw", False)
    from quintain.learn.pack import pack
    from quintain.objectives import clip, penalise_kl, sequence_mean, token_ratio
    from quintain.parts import chain

    objective = chain(token_ratio("rollout"), clip(), penalise_kl(0.1), sequence_mean())
    figures = asyncio.run(learner.update(pack([]), objective))
    assert figures["updates"] == 0
