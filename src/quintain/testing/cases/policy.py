"""Cases of objectives: the first ones, on which the others stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from quintain.objectives import (
    clip,
    constant_length,
    dual_clip,
    fit_values,
    penalise_kl,
    policy_gradient,
    sequence_mean,
    sequence_sum,
    token_mean,
    token_ratio,
)
from quintain.parts import Objective, chain
from quintain.testing.cases.columns import Columns, apply, array, batch_of, loss_and_coef
from quintain.testing.cases.table import Case, runs
from quintain.types import Terms

MEANS: Mapping[str, Callable[[float], Objective]] = {
    "token_mean": lambda _: token_mean(),
    "seq_mean_token_mean": lambda _: sequence_mean(),
    "seq_mean_token_sum": lambda _: sequence_sum(),
    "const_length": constant_length,
}


def mean_of(params: Mapping[str, Any], default: str = "token_mean") -> Objective:
    """The mean part that a case names."""
    name = str(params.get("agg") or default).split()[0]
    return MEANS[name](params.get("Lmax") or 1.0)


def unclipped_at(ratio: Objective, surrogate: Objective, terms: Terms) -> torch.Tensor:
    """Where [N] the surrogate cuts nothing off: by its slope in the log-ratio, which may itself be at the end of its range."""
    found = apply(ratio, terms)
    assert found.log_ratio is not None
    leaf = found.log_ratio.detach().requires_grad_()
    loss = apply(surrogate, replace(found, log_ratio=leaf)).loss
    assert loss is not None
    return (torch.autograd.grad(loss.sum(), [leaf])[0] != 0) | (terms.advantage == 0) | ~terms.mask


@runs("shared_batch")
def shared(case: Case) -> dict[str, Any]:
    """Lengths and log-ratios of the batch itself."""
    columns = batch_of({"inputs": {"batch": case["inputs"]}})
    out: dict[str, Any] = {"lengths": columns.mask.sum(1).tolist(), "n_tokens": float(columns.mask.sum())}
    for name in ("new", "old"):
        moved = Columns(
            mask=columns.mask,
            logps={**columns.logps, "new": columns.logps[name]},
            rewards=columns.rewards,
            group=columns.group,
        )
        gap = apply(token_ratio("rollout"), moved.terms()).log_ratio
        assert gap is not None
        out[f"seq_logratio_{name}_over_rollout"] = gap.detach().reshape(columns.mask.shape).sum(1).tolist()
    return out


@runs("ppo_clip", method="ppo-clip")
def ppo_clip(case: Case) -> dict[str, Any]:
    """Ratio, clip, perhaps the dual clip, and a mean."""
    p, columns = case["params"], batch_of(case)
    cap, terms = p.get("dual_clip_c"), columns.terms(case["inputs"]["advantage"])
    surrogate = (clip(p["eps_low"], p["eps_high"]), *([dual_clip(cap)] if cap else []))
    ratio = token_ratio(p["anchor"])
    out = loss_and_coef(chain(ratio, *surrogate, mean_of(p)), columns, terms)
    r = apply(ratio, terms).log_ratio
    assert r is not None
    kept = unclipped_at(ratio, chain(*surrogate), terms)
    return {**out, "ratio": columns.nested(r.exp(), 1.0), "keep": columns.nested(kept.double())}


@runs("aggregators", method="aggregators")
def aggregators(case: Case) -> dict[str, Any]:
    """Each mean over given rows."""
    terms = batch_of(case).terms(extra=case["inputs"]["x"])
    return {name: _scalar(apply(make(case["params"]["Lmax"]), terms)) for name, make in MEANS.items()}


def _scalar(terms: Terms) -> float:
    assert terms.loss is not None
    return float(terms.loss.detach())


@runs("kl_kinds", method="kl estimators")
def kl_kinds(case: Case) -> dict[str, Any]:
    """The estimators as values and as losses."""
    columns, out, means = batch_of(case), dict[str, Any](), list[float]()
    for kind in ("k1", "k2", "k3"):
        extra = apply(penalise_kl(coef=1.0, estimator=kind), columns.terms()).extra
        assert extra is not None
        found = loss_and_coef(chain(penalise_kl(coef=1.0, estimator=kind), token_mean()), columns, columns.terms())
        out[kind], out[f"coef_as_loss_{kind}"] = columns.nested(extra), found["coef"]
        means.append(found["loss"])
    return {**out, "token_mean": means}


@runs("nsr_prerl", method="prerl / nsr-prerl")
def nsr(case: Case) -> dict[str, Any]:
    """Policy gradient on the wrong samples alone, or on the right ones alone."""
    rewards = array(case["inputs"]["rewards"])
    weight = np.where(rewards > 0, 0.0, -1.0)
    columns = batch_of(
        {
            "inputs": {
                "batch": {"mask": case["inputs"]["mask"], "p_new": np.full(array(case["inputs"]["mask"]).shape, 0.5)}
            }
        }
    )
    part = chain(policy_gradient(), mean_of(case["params"]))
    coefs = {
        n: loss_and_coef(part, columns, columns.terms(a))["coef"]
        for n, a in (("coef_nsr", weight), ("coef_psr", rewards))
    }
    return {"sample_weight_nsr": weight.tolist(), **coefs}


def clipped_values(predicted: np.ndarray, old: np.ndarray, returns: np.ndarray, bound: float) -> float:
    """The clipped value loss over a row of values."""
    columns = batch_of({"inputs": {"batch": {"mask": [[1] * len(predicted)], "p_new": [[0.5] * len(predicted)]}}})
    terms = columns.terms(value=predicted[None], old_value=old[None], returns=returns[None])
    return _scalar(apply(chain(fit_values(1.0, bound), token_mean()), terms))
