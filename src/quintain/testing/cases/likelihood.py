"""Cases of likelihoods, precision and diagnostics: preferences, traces, merged models, rounding, cliffs."""

from __future__ import annotations

from typing import Any

import torch

from quintain.advantages.traces import weigh_traces
from quintain.evals.stats import cliff, generalisation, implicit_weights, outer_step
from quintain.learn.precision import LossScale, rounding
from quintain.models.task_vectors import contributors, gains, merge, overlap
from quintain.objectives.preference import dpo, fit_advantage, imitate
from quintain.testing.cases.columns import array
from quintain.testing.cases.table import Case, runs


def tensor(values: Any) -> torch.Tensor:
    """float64."""
    return torch.tensor(array(values))


@runs("variational", method="variational reasoning")
def variational(case: Case) -> dict[str, Any]:
    """Weights of traces, and the two bounds."""
    given = case["inputs"]
    names = ("logp_z", "logq_z", "logp_y_given_z", "len_z", "len_y", "accuracy")
    found = weigh_traces(*(array(given[name]).tolist() for name in names))
    return {
        "log_w": list(found.log_weight),
        "elbo": found.elbo,
        "multi_trace_bound": found.bound,
        "snis_weights": list(found.share),
        "gml_score": list(found.likelihood),
        "gml_pick": found.likelihood.index(max(found.likelihood)),
        "acc_weight": list(found.accuracy),
        "acc_pick": found.accuracy.index(max(found.accuracy)),
    }


@runs("accuracy_weighting", method="rft / binary")
def accuracy_weighting(case: Case) -> dict[str, Any]:
    """What each objective weighs a question by."""
    found = [implicit_weights(p) for p in array(case["inputs"]["p"]).tolist()]
    names = {
        "rft": "rft_weight_on_mean_correct_score",
        "grpo": "grpo_weight_on_mean_correct_score",
        "grpo_contrast": "grpo_weight_on_correct_minus_wrong",
        "forward_kl": "forward_kl_weight",
    }
    return {long: [one[short] for one in found] for short, long in names.items()}


@runs("direct_advantage", method="direct advantage")
def direct_advantage(case: Case) -> dict[str, Any]:
    """The squares of steps, and their slope."""
    given = case["inputs"]
    ratio = tensor(given["logratio_pi_over_ref_step"]).requires_grad_()
    loss = fit_advantage(ratio, tensor(given["advantage"]), case["params"]["beta"]).mean()
    (slope,) = torch.autograd.grad(loss, [ratio])
    return {"loss": float(loss.detach()), "coef_per_step": slope.tolist()}


@runs("dpo_cold_start", method="metis-specs stage")
def dpo_cold_start(case: Case) -> dict[str, Any]:
    """A pair's preference, with imitation of the chosen answer."""
    given, p = case["inputs"], case["params"]
    pair = [tensor(given[name]) for name in ("chosen", "rejected", "ref_chosen", "ref_rejected")]
    loss = dpo(pair[0], pair[1], pair[2], pair[3], p["beta"])
    both = loss + p["sft_coef"] * imitate(pair[0], tensor(given["chosen_len"]))
    return {"dpo": loss.tolist(), "dpo_plus_sft": both.tolist()}


@runs("generalization_factor", method="metis-specs gf")
def generalization_factor(case: Case) -> dict[str, Any]:
    """Gains at home and elsewhere as one figure."""
    pairs = zip(array(case["inputs"]["gain_id"]).tolist(), array(case["inputs"]["gain_ood"]).tolist(), strict=True)
    return {"gf": [generalisation(home, away, case["params"]["beta"]) for home, away in pairs]}


@runs("ram_merge", method="ram")
def ram(case: Case) -> dict[str, Any]:
    """The merged tensor in its three forms."""
    p, base = case["params"], tensor(case["inputs"]["base"])
    models = [{"w": base + tensor(d)} for d in case["inputs"]["task_vectors"]]
    forms = {"ram": ("none", None), "ram_plus_tensor_local": ("tensor", (p["r"], p["alpha"]))}
    forms["ram_plus_official"] = ("whole", (p["official_rescale_factor"] - 1, 1.0))
    found = overlap({"w": base}, models, p["eps"])
    _, changed = contributors(base, [m["w"] for m in models], p["eps"])
    return {
        "counts": changed.sum(0).tolist(),
        "shared": found.shared,
        "unique": found.unique,
        "lambda_tensor_local": gains(found, p["r"], p["alpha"]),
        "lambda_official": gains(found, p["official_rescale_factor"] - 1, 1.0),
        **{
            name: merge({"w": base}, models, p["eps"], plus, gain)["w"].tolist() for name, (plus, gain) in forms.items()
        },
    }


@runs("precision_rounding", method="fp16 vs bf16")
def precision_rounding(case: Case) -> dict[str, Any]:
    """Logits in both formats, and what rounding them does to logprobs."""
    logits, out = tensor(case["inputs"]["logits"]), dict[str, Any]()
    for name, dtype in (("bf16", torch.bfloat16), ("fp16", torch.float16)):
        rounded, errors = rounding(logits, dtype)
        out[f"{name}_logits"] = rounded.tolist()
        out[f"max_abs_logp_error_{name}"] = float(errors.abs().max())
        out[f"eps_{name}"] = torch.finfo(dtype).eps / 2
        out[f"seq_ratio_after_1000_tokens_{name}"] = float((1000 * errors[logits.argmax()]).exp())
    return out


@runs("loss_scaling", method="fp16 dynamic")
def loss_scaling(case: Case) -> dict[str, Any]:
    """The scale after each step, and the steps that were not taken."""
    p, found = case["params"], case["inputs"]["found_inf"]
    factors = {"growth": p["growth"], "backoff": p["backoff"], "growth_interval": p["growth_interval"]}
    scale = LossScale(value=p["init"], floor=p.get("floor", 1e-30), **factors)
    return {
        "scale_after": [scale.update(bool(overflow)) for overflow in found],
        "skipped_steps": [i for i, overflow in enumerate(found) if overflow],
    }


@runs("ppo_outer_step", method="ppo at 1m")
def outer(case: Case) -> dict[str, Any]:
    """A step with more and more environments."""
    given = case["inputs"]
    envs = [int(n) for n in given["envs"]]
    found = [outer_step(n, given["horizon"], given["minibatch"], envs[0]) for n in envs]
    return {
        "minibatches": [one["minibatches"] for one in found],
        "lr": [given["lr"] * one["rate"] for one in found],
        "noise_std_ratio": found[-1]["noise"],
    }


@runs("policy_cliff", method="policy cliff")
def policy_cliff(case: Case) -> dict[str, Any]:
    """How far the best and the soft choice move."""
    given = case["inputs"]
    found = cliff(array(given["Q"]).tolist(), array(given["Q_perturbed"]).tolist(), case["params"]["temperature"])
    return {"argmax": [found["before"], found["after"]], **{k: found[k] for k in found if "l1" in k}}
