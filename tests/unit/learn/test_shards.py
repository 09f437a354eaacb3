"""Ranks that share the layers take the steps of one that holds them all, and what they save fits any number of ranks."""

from __future__ import annotations

import asyncio
import json
import runpy
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests import programs

from quintain.config import ConfigError, make
from quintain.learn.gradients import Gradients
from quintain.learn.optim import Weight
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


def play(folder: Path, kinds: Sequence[str], size: int) -> list[dict[str, dict]]:
    """What each rank tells of each kind; one start of `size` processes plays them all."""
    words = [str(size), str(free_port()), str(folder), ",".join(kinds), "full" if size > 1 else "none"]
    for kind in kinds:
        (folder / kind).mkdir(parents=True)
    programs.run(WORKER, *([str(rank), *words] for rank in range(size)), folder=folder, timeout=300)
    return [{k: json.loads((folder / k / f"rank{rank}.json").read_text()) for k in kinds} for rank in range(size)]


# Steps of AdamW where the first gradients of a factor nearly cancel: one rank alone that cuts its micro-batches otherwise ends 7e-6 away.
NEAR = {"lora": 2e-5}


def same_steps(root: Path, kind: str, alone: dict, shared: Sequence[dict], rel: float) -> None:
    """Ranks that share in `root`/many told of the steps that one alone took in `root`/one, and saved the same weights."""
    for told in shared:
        for mine, whole in zip(told["figures"] + told["after"], alone["figures"] + alone["after"], strict=True):
            for key in ("loss", "entropy", "grad_norm", "kl", "tokens", "sequences", "groups"):
                assert mine[key] == pytest.approx(whole[key], rel=rel, abs=1e-7), (kind, key)
        turns = [[f.get("grad_cosine") for f in one["figures"]] for one in (told, alone)]
        assert turns[0] == pytest.approx(turns[1], abs=20 * rel) and turns[0][-1] is not None, kind
        assert told["after"][0]["loss"] == told["after"][1]["loss"], f"{kind} goes on exactly from what was saved"
        assert told["kept"] < alone["kept"], "a rank keeps a part"
    assert shared[0]["prints"] and all(told["prints"] == shared[0]["prints"] for told in shared)
    one, many = (load_file(root / f / kind / "saved" / "weights.safetensors") for f in ("one", "many"))
    assert one.keys() == many.keys()
    for name, tensor in one.items():
        assert tensor.shape == many[name].shape
        torch.testing.assert_close(many[name], tensor, rtol=10 * rel, atol=NEAR.get(kind, 5 * rel))


def test_ranks_that_share_layers_take_the_steps_of_one_and_their_save_loads_where_nothing_is_shared(tmp_path):
    (alone,) = play(tmp_path / "one", ["adamw"], 1)
    shared = play(tmp_path / "many", ["adamw"], 2)
    same_steps(tmp_path, "adamw", alone["adamw"], [told["adamw"] for told in shared], 1e-6)
    learner = runpy.run_path(str(WORKER))["make"](Ranks(), "adamw", False)
    learner.load(str(tmp_path / "many" / "adamw" / "saved"))
    assert learner.step == 3
    written = shared[0]["adamw"]["prints"]
    assert {k.removeprefix("model."): v for k, v in fingerprint(learner.model).items()} == {
        k.removeprefix("model."): v for k, v in written.items()
    }
    moments = learner.optimizer.state()
    assert all(tuple(v.shape) in ((), learner_shape(learner, k)) for k, v in moments.items())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "kinds"),
    [(2, {"muon": 1e-4, "lora": 1e-6, "bf16": 0.03}), (4, {"muon": 1e-4})],  # muon's products are in bfloat16
)
def test_so_they_do_with_other_optimizers_factors_and_precisions(size, kinds, tmp_path):
    (alone,) = play(tmp_path / "one", list(kinds), 1)
    shared = play(tmp_path / "many", list(kinds), size)
    for kind, rel in kinds.items():
        same_steps(tmp_path, kind, alone[kind], [told[kind] for told in shared], rel)


def learner_shape(learner, key: str) -> tuple[int, ...]:
    name = key.removeprefix("adamw.").rpartition(".")[0]
    return next(w.shape for w in learner.weights if w.name == name)


def test_a_part_without_a_gradient_counts_as_0_when_directions_are_compared():
    class Part:
        shape, clear, grads = (4,), lambda self: None, iter([None, torch.ones(4), torch.ones(4), None])

        def gradient(self):
            return next(self.grads)

    mine, plain = torch.nn.Parameter(torch.zeros(4)), torch.nn.Parameter(torch.zeros(2))
    gradients = Gradients([Weight("a", mine, whole=Part()), Weight("b", plain)], Ranks())  # pyrefly: ignore
    gradients.clear()
    seen = []
    for _ in range(4):
        gradients.sum()
        assert plain.grad is not None
        plain.grad.fill_(1.0)
        seen.append(gradients.cosine())
    apart = 2 / (2 * 6) ** 0.5
    assert seen == [None, pytest.approx(apart), pytest.approx(1.0), pytest.approx(apart)]
    assert gradients.remembered().size == 0, "each rank has seen its own part"


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
