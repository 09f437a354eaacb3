"""Short runs through the command line that must learn: other algorithms, and a model of which only factors train."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from quintain.cli import main
from quintain.ledger import RunDir
from quintain.models import load_model, save_model

WORLD = ["keydoor", "run.seed=1", "run.steps=60", "run.groups_per_step=16", "runtime.processes=1"]
SCORED = ["eval.every=0", "eval.instances=300", "eval.final_instances=300", "eval.greedy=false"]
SMALL = "model.sizes={hidden=32, layers=2, heads=2, kv_heads=2, head_dim=16, ffn=64}"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), [("ppo", "{entropy=0.01}"), ("dapo", "{}"), ("rloo", "{}")])
def test_an_algorithm_learns(name, options, tmp_path):
    chosen = [f"algorithm.name={name}", f"algorithm.options={options}", f"run.folder={tmp_path}", "run.name=it"]
    assert main(["train", *WORLD, *SCORED, *chosen]) == 0
    with RunDir.open(tmp_path / "it") as store:
        first, last = (e.payload["eval/success"] for e in store.events(["eval"]))
    assert first < 0.35 and last > first + 0.1, "three standard errors of the difference are .12 for 300 episodes each"


@pytest.mark.slow
def test_low_rank_factors_of_a_text_model_learn(tmp_path):
    data, folder = tmp_path / "prompts.jsonl", tmp_path / "small"
    data.write_text("".join(f'{{"prompt": "write {n}"}}\n' for n in range(64)))
    (tmp_path / "taste.py").write_text(
        "def vowels(text):\n    return sum(c in 'aeiou' for c in text) / max(1, len(text))\n"
    )
    assert main(["new", "model", str(folder), f"data={data}", SMALL, "--vocab", "300"]) == 0
    sharpen(folder)
    words = ["train", f"data={data}", f"reward={tmp_path / 'taste.py'}:vowels", f"model={folder}", "learner.lr=1e-2"]
    words += ["model.lora={r=8, target_modules='all-linear'}", "model.context=128", "rollout.max_tokens=12"]
    words += ["run.steps=100", "run.groups_per_step=8", f"run.folder={tmp_path}", "run.name=it"]
    assert main(words) == 0
    with RunDir.open(tmp_path / "it") as store:
        rewards = [m["reward"] for _, m in store.metrics()]
        newest = store.latest_checkpoint()
    assert sum(rewards[-5:]) > 3 * sum(rewards[:5])
    assert newest is not None and held(newest.path) < 0.5 * held(folder), (
        "a checkpoint holds the factors, not the model"
    )


def sharpen(folder: Path) -> None:
    """Random weights are so small that factors alone cannot move a choice."""
    model = load_model(folder)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(6 if weight.ndim > 1 else 1)
    save_model(model, folder)


def held(folder: Path) -> int:
    return sum(p.stat().st_size for p in folder.glob("*.safetensors") if p.stem in ("weights", "model"))
