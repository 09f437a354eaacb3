"""The loss functions of verl and TRL on tensors that are given, for objective_cost.py.

Both work on rows [B, T]. verl's are functions of a config; TRL's is a method of its trainer, called here on an object
that has nothing but what the method reads, and whose model gives the logprobs as they are.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from collections import defaultdict
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import torch

Loss = Callable[[Mapping[str, torch.Tensor]], torch.Tensor]
CLIP = {"clip_ratio": 0.2, "clip_ratio_low": 0.2, "clip_ratio_high": 0.2}
SEQUENCE = {**CLIP, "clip_ratio_high": 0.28, "weights": {"rollout_is": "sequence"}}

# ours: the name of verl's loss, what it is configured with, and the column that it takes for `old`
VERL: dict[str, tuple[str, dict[str, Any], str]] = {
    "ppo_clip": ("vanilla", {**CLIP, "clip_ratio_c": 3.0}, "old"),
    "gspo": ("gspo", {"clip_ratio_low": 3e-4, "clip_ratio_high": 4e-4, "mode": "seq-mean-token-mean"}, "old"),
    "gmpo": ("geo_mean", {"clip_ratio_low": 0.4, "clip_ratio_high": 0.4}, "old"),
    "sapo": ("sapo", {"tau_pos": 1.0, "tau_neg": 1.05}, "old"),
    "cispo": ("cispo", {"clip_ratio_low": 1.0, "clip_ratio_high": 0.2}, "old"),
    "dppo": ("dppo_tv", {"clip_ratio_low": 0.15, "clip_ratio_high": 0.15, "clip_ratio_c": 20.0}, "rollout"),
    "dppo/binary_kl": ("dppo_kl", {"clip_ratio_low": 0.05, "clip_ratio_high": 0.05, "clip_ratio_c": 20.0}, "rollout"),
    "kl_cov": ("kl_cov", {}, "old"),
    "clip_cov": ("clip_cov", CLIP, "old"),
    "tis": ("vanilla", {**CLIP, "clip_ratio_high": 0.28, "weights": {"rollout_is": "token"}}, "old"),
    "tis/sequence": ("vanilla", SEQUENCE, "old"),
}
# ours: what TRL's trainer is configured with
TRL: dict[str, dict[str, Any]] = {
    "clip_grpo": {"loss_type": "grpo"},
    "grpo/as_paper": {"loss_type": "grpo", "beta": 0.04},
    "clip_dapo": {"loss_type": "dapo"},
    "gspo": {
        "loss_type": "grpo",
        "importance_sampling_level": "sequence",
        "epsilon_low": 3e-4,
        "epsilon_high": 4e-4,
    },
    "dr_grpo": {"loss_type": "dr_grpo"},
    "cispo": {"loss_type": "cispo", "epsilon_high": 1.2},
    "sapo": {"loss_type": "sapo"},
}


def version(name: str) -> str:
    """The peer and its version; raises ImportError with the cause if it cannot be imported."""
    os.environ.setdefault("VERL_LOGGING_LEVEL", "ERROR")
    importlib.import_module({"verl": "verl.trainer.ppo.core_algos", "trl": "trl"}[name])
    return f"{name} {importlib.metadata.version(name)}"


def verl_loss(ours: str) -> Loss:
    """verl's counterpart of one of our objectives."""
    from verl.trainer.ppo import core_algos
    from verl.trainer.ppo.rollout_corr_helper import compute_rollout_correction_weights
    from verl.workers.config import ActorConfig, PolicyLossConfig

    name, options, anchor = VERL[ours]
    options = dict(options)
    mode, weights = options.pop("mode", "token-mean"), options.pop("weights", None)
    # shallow: ActorConfig asks for an optimizer and a backend, which no loss reads
    config = ActorConfig(strategy="fsdp", rollout_n=8, ppo_micro_batch_size_per_gpu=1, **options)
    object.__setattr__(config, "policy_loss", PolicyLossConfig(loss_mode=name, ppo_kl_coef=1.0))
    function = core_algos.get_policy_loss_fn(name)

    def loss(x: Mapping[str, torch.Tensor]) -> torch.Tensor:
        more = {}
        if weights:
            found, _ = compute_rollout_correction_weights(x["old"] - x["rollout"], x["mask"], **weights)
            more["rollout_is_weights"] = found.detach()
        return function(
            old_log_prob=x[anchor],
            log_prob=x["new"],
            advantages=x["advantage"],
            response_mask=x["mask"],
            loss_agg_mode=mode,
            config=config,
            **more,
        )[0]

    return loss


def trl_loss(ours: str) -> Loss:
    """TRL's counterpart of one of our objectives."""
    from trl import GRPOTrainer

    args = {
        "use_bias_correction_kl": False,
        "delta": None,
        "sapo_temperature_pos": 1.0,
        "sapo_temperature_neg": 1.05,
        "steps_per_generation": 1,
    }
    facts = {
        "aux_loss_enabled": False,
        "top_entropy_quantile": 1.0,
        "off_policy_mask_threshold": None,
        "importance_sampling_level": "token",
        "beta": 0.0,
        "epsilon_low": 0.2,
        "epsilon_high": 0.2,
        "use_vllm": False,
        "_entropy_bonus_enabled": False,
        "current_gradient_accumulation_steps": 1,
        "max_completion_length": 256,
    } | TRL[ours]
    same = {"gather": lambda x: x, "reduce": lambda x, reduction: x, "num_processes": 1, "sync_gradients": True}
    held: dict[str, torch.Tensor] = {}
    trainer = SimpleNamespace(
        **facts,
        args=SimpleNamespace(**args),
        accelerator=SimpleNamespace(**same),
        model=SimpleNamespace(training=True),
        _metrics={"train": defaultdict(list)},
        _get_per_token_logps_and_entropies=lambda *_, **__: (held["new"], held["entropy"], None),
    )

    def loss(x: Mapping[str, torch.Tensor]) -> torch.Tensor:
        held.update(new=x["new"], entropy=x["entropy"])
        ids = x["mask"].long()
        inputs = {
            "prompt_ids": ids[:, :1],
            "prompt_mask": ids[:, :1],
            "completion_ids": ids,
            "completion_mask": x["mask"],
            "advantages": x["advantage"][:, 0],
            "old_per_token_logps": x["old"],
            "ref_per_token_logps": x["ref"],
            "num_items_in_batch": x["mask"].sum(),
        }
        return GRPOTrainer._compute_loss(trainer, None, inputs)  # type: ignore[arg-type]

    return loss
