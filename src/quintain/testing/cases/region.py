"""Cases of trust regions, sequence ratios and off-policy weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from quintain.learn.topk import LOWEST, support
from quintain.objectives import (
    clip,
    fiber_ratio_guess,
    mask_divergence,
    mask_mismatch,
    mask_ratio,
    prefix_ratio,
    reject_mismatch,
    score,
    sequence_ratio,
    share_budget_guess,
    token_ratio,
    truncate_mismatch,
    unclipped,
)
from quintain.objectives.region import distance, topk_kl, topk_tv
from quintain.objectives.sequence import budgets
from quintain.objectives.weight import deviation
from quintain.parts import Objective, chain
from quintain.testing.cases.columns import Columns, apply, array, batch_of, loss_and_coef
from quintain.testing.cases.policy import mean_of, unclipped_at
from quintain.testing.cases.table import Case, runs
from quintain.types import Terms

INF = float("inf")


def slope_of(part: Objective, terms: Terms) -> torch.Tensor:
    """d sum of the row losses / d new [N] of a chain without a mean."""
    loss = apply(part, terms).loss
    assert loss is not None
    return torch.autograd.grad(loss.sum(), [terms.new])[0]


def ratio_of(part: Objective, terms: Terms) -> torch.Tensor:
    """The ratio [N] that a ratio part sets."""
    found = apply(part, terms).log_ratio
    assert found is not None
    return found.exp()


def weight_of(part: Objective, terms: Terms) -> torch.Tensor:
    """The weight [N] that a part leaves."""
    found = apply(part, terms).weight
    assert found is not None
    return found


def by_sequence(columns: Columns, rows: torch.Tensor) -> list[float]:
    """The value of each sequence [B], at its first token in the mask."""
    values = rows.detach().reshape(columns.mask.shape)
    return [float(value) for value in values[torch.arange(len(values)), torch.tensor(columns.mask.argmax(1))]]


@runs("gspo", method="gspo")
def gspo(case: Case) -> dict[str, Any]:
    """The ratio of a sequence, clipped, in both forms of its gradient."""
    p, columns = case["params"], batch_of(case)
    terms = columns.terms(case["inputs"]["advantage"])
    ratio, bound = sequence_ratio(p.get("anchor", "old")), clip(p["eps_low"], p["eps_high"])
    kept = unclipped_at(ratio, bound, terms)
    return {
        "seq_ratio": by_sequence(columns, ratio_of(ratio, terms)),
        "keep": by_sequence(columns, kept.double()),
        **loss_and_coef(chain(ratio, bound, mean_of(p, "seq_mean_token_mean")), columns, terms),
    }


def scored(case: Case, ratio: Objective, floor: float, cap: float) -> dict[str, Any]:
    """The score term on a ratio: its weight, loss and coefficient."""
    columns = batch_of(case)
    part = chain(ratio, score(floor, cap))
    return {
        "weight": columns.nested(slope_of(part, columns.terms(-1.0))),
        **loss_and_coef(chain(part, mean_of(case["params"])), columns, columns.terms(case["inputs"]["advantage"])),
    }


@runs("cispo", method="cispo")
def cispo(case: Case) -> dict[str, Any]:
    """The score term under a bounded ratio."""
    p = case["params"]
    return scored(case, token_ratio(p.get("anchor", "old")), max(0.0, 1 - p["eps_low"]), 1 + p["eps_high"])


@runs("minpro", method="minpro")
def minpro(case: Case) -> dict[str, Any]:
    """The score term under the token's ratio times the smallest before it."""
    p, columns = case["params"], batch_of(case)
    anchor, terms = p.get("anchor", "old"), columns.terms()
    raw = ratio_of(prefix_ratio(anchor), terms)
    return {
        "min_prefix_ratio": columns.nested(raw / ratio_of(token_ratio(anchor), terms)),
        "raw_weight": columns.nested(raw),
        "true_prefix_ratio": columns.nested(ratio_of(prefix_ratio(anchor, "product"), terms)),
        **scored(case, prefix_ratio(anchor), max(0.0, 1 - p["eps_low"]), 1 + p["eps_high"]),
    }


@runs("dppo_binary", method="dppo-binary")
def dppo(case: Case) -> dict[str, Any]:
    """The score term under the binary divergence's mask."""
    p, columns = case["params"], batch_of(case)
    kind = "binary_kl" if "kl" in f"{case.get('id', '')} {case.get('method', '')}".lower() else "binary_tv"
    anchor, terms = p.get("anchor", "rollout"), columns.terms(case["inputs"]["advantage"])
    region = mask_divergence(kind, p["delta_low"], p["delta_high"], anchor)
    chained = chain(token_ratio("rollout"), score(cap=p.get("ratio_cap", 20.0)), region)
    return {
        "divergence": columns.nested(distance(terms, kind, anchor)),
        "keep": columns.nested(weight_of(chained, terms)),
        **loss_and_coef(chain(chained, mean_of(p)), columns, terms),
    }


def _columns_of(mu: np.ndarray, count: int, token: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The engine's `count` likeliest ids and their logprobs, as it would send them, and the sampled one among them."""
    ids = np.argsort(-mu, axis=1, kind="stable")[:, :count]
    rows = np.arange(len(mu))
    return support(ids, _log(mu[rows[:, None], ids]), token, _log(mu[rows, token]))


def _log(p: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(p), LOWEST)


@runs("dppo_topk", method="dppo-topk")
def dppo_topk(case: Case) -> dict[str, Any]:
    """Divergences of full, reduced and binary distributions, and the masks that they give."""
    given, p = case["inputs"], case["params"]
    mu, pi, token = array(given["mu"]), array(given["pi"]), np.array(given["token"], np.int64)
    rows, out = np.arange(len(mu)), dict[str, Any]()
    logps = {"new": _log(pi[rows, token])[:, None], "rollout": _log(mu[rows, token])[:, None]}
    columns = Columns(mask=np.ones((len(mu), 1), bool), logps=logps, rewards=np.zeros(len(mu)), group=rows)
    terms = columns.terms(given["advantage"])
    for name, count in (("topk", p["K"]), ("full", mu.shape[1])):
        ids, base = _columns_of(mu, count, token)
        new = _log(pi[rows[:, None], ids])
        tops = {"rollout": torch.tensor(base), "new": torch.tensor(new)}
        if name == "topk":
            out["topk_ids"], terms = ids.tolist(), replace(terms, topk=tops)
        for kind, measure in (("tv", topk_tv), ("kl", topk_kl)):
            out[f"{kind}_{name}"] = measure(tops["new"], tops["rollout"]).tolist()
    for kind in ("tv", "kl"):
        out[f"{kind}_binary"] = distance(terms, f"binary_{kind}").tolist()
        for name, form in (("", "topk"), ("binary_", "binary")):
            low, high = (p.get(f"delta_{kind}_{side}", p[f"delta_{kind}"]) for side in ("low", "high"))
            region = mask_divergence(f"{form}_{kind}", low, high, k=p["K"])
            out[f"keep_{name}{kind}"] = weight_of(region, terms).tolist()
    return out


@runs("minirl", method="minirl")
def minirl(case: Case) -> dict[str, Any]:
    """The score term on the ratio to the rollout policy, masked by the ratio to the old one."""
    p, columns = case["params"], batch_of(case)
    terms = columns.terms(case["inputs"]["advantage"])
    region = mask_ratio(p["eps_low"], p["eps_high"], p.get("anchor", "old"))
    part = chain(token_ratio("rollout"), score(cap=p.get("ratio_cap", 20.0)), region)
    return {
        "keep": columns.nested(weight_of(part, terms)),
        **loss_and_coef(chain(part, mean_of(p, "seq_mean_token_sum")), columns, terms),
    }


@runs("tis_mis", method="tis / mis")
def weights(case: Case) -> dict[str, Any]:
    """Truncated and masked weights of tokens and sequences, and rejections."""
    p, columns = case["params"], batch_of(case)
    terms, cap, (low, high) = columns.terms(), p["C"], p["token_bounds"]
    rows = {
        "token_rho": truncate_mismatch(INF),
        "tis_token": truncate_mismatch(cap),
        "mis_token_icepop": mask_mismatch(low, high),
        "tis_token_batch_normalised": truncate_mismatch(cap, normalised=True),
    }
    sequences = {
        "seq_rho": truncate_mismatch(INF, "sum"),
        "geo_rho": truncate_mismatch(INF, "mean"),
        "tis_seq": truncate_mismatch(cap, "sum"),
        "mis_seq": mask_mismatch(0.0, cap, "sum"),
        "geo_rs_keep": reject_mismatch("ratio", p["geo_bounds"][0], p["geo_bounds"][1], "mean"),
        "k3_keep": reject_mismatch("k3", high=p["k3_max"], over="mean"),
        "tis_seq_batch_normalised": truncate_mismatch(cap, "sum", normalised=True),
    }
    return {
        **{name: columns.nested(weight_of(part, terms)) for name, part in rows.items()},
        **{name: by_sequence(columns, weight_of(part, terms)) for name, part in sequences.items()},
        "k3_seq_mean": by_sequence(columns, deviation(terms, "reject_mismatch", "k3", over="mean")),
    }


@runs("decoupled_ppo", method="decoupled ppo")
def decoupled(case: Case) -> dict[str, Any]:
    """The clipped surrogate around the old policy, under the weight that the case's name says."""
    p, columns = case["params"], batch_of(case)
    name = f"{case.get('id', '')} {case.get('method', '')}".lower()
    over = "sum" if "seq" in name else "token"
    low, high = p["token_bounds"]
    if "mis" in name:
        weight = mask_mismatch(*((low, high) if over == "token" else (0.0, p["C"])), over)
    else:
        weight = truncate_mismatch(p["C"], over)
    parts = chain(token_ratio(p["anchor"]), clip(p["eps_low"], p["eps_high"]), weight, mean_of(p))
    return loss_and_coef(parts, columns, columns.terms(case["inputs"]["advantage"]))


@runs("fiberpo_fbg", method="fiberpo")
def fiber(case: Case) -> dict[str, Any]:
    """The gate on a sequence's mean and on each token's residual, in both readings."""
    p, columns, out = case["params"], batch_of(case), dict[str, Any]()
    anchor, delta, eps = p.get("anchor", "old"), p["delta_base"], p["eps_fiber"]
    terms = columns.terms(case["inputs"]["advantage"])
    for name, residual in (("A", "ungated"), ("B", "gated")):
        ratio = fiber_ratio_guess(anchor, delta, eps, residual, INF)
        found = loss_and_coef(chain(ratio, unclipped(), mean_of(p)), columns, terms)
        out |= {f"loss_{name}": found["loss"], f"coef_{name}": found["coef"]}
        out[f"gated_ratio_residual_vs_{residual}_base"] = columns.nested(ratio_of(ratio, terms))
    for name, bound in (("base_log", INF), ("gated_base_log", delta)):
        logs = apply(fiber_ratio_guess(anchor, bound, 0.0, "ungated", INF), terms).log_ratio
        assert logs is not None
        out[name] = by_sequence(columns, logs)
    return out


@runs("fiberpo_apc", method="apc-obj")
def apc(case: Case) -> dict[str, Any]:
    """The budget that a sequence's tokens share."""
    p, columns = case["params"], batch_of(case)
    terms, part = columns.terms(case["inputs"]["advantage"]), share_budget_guess(p["delta"])
    ratio = token_ratio(p.get("anchor", "old"))
    moved = apply(chain(ratio, part), columns.terms(-1.0)).loss
    assert moved is not None
    found = loss_and_coef(chain(ratio, part, mean_of(p)), columns, terms)
    return {
        "budget": columns.nested(budgets(apply(ratio, terms), p["delta"])),
        "gated_deviation": columns.nested(moved - 1),
        "objective": -found["loss"],
        **found,
    }
