"""Cases of what decides for a whole step: dual variables, searched bounds, selected tokens, controllers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from quintain.advantages import normalise
from quintain.advantages.least import least_variance
from quintain.objectives import (
    adaptive_clip,
    clip,
    mask_covariant,
    penalise_covariant,
    penalise_ratio,
    policy_gradient,
    sequence_mean,
    smooth_entropy,
    token_mean,
    token_ratio,
    truncate_mismatch,
    unclipped,
    weigh_confident_errors,
)
from quintain.objectives.region import beyond
from quintain.objectives.select import chooser, covariance, how_many
from quintain.objectives.steer import RULES, effective, phase, sample_size, sizes_of, swing
from quintain.objectives.step import grid, search_bounds
from quintain.objectives.weight import apart
from quintain.parts import chain
from quintain.testing.cases.columns import Columns, apply, array, batch_of, loss_and_coef, wide
from quintain.testing.cases.episodes import by_reward
from quintain.testing.cases.policy import mean_of
from quintain.testing.cases.table import Case, runs
from quintain.types import Terms

INF = float("inf")


@runs("r2vpo", method="r2vpo")
def r2vpo(case: Case) -> dict[str, Any]:
    """The quadratic penalty, and its strength after one step."""
    p, columns = case["params"], batch_of(case)
    anchor, terms = p.get("anchor", "rollout"), columns.terms(case["inputs"]["advantage"])
    penalty = penalise_ratio(anchor, p["lam"], p["delta"], p["dual_lr"], INF)
    out, state = penalty.apply(terms, penalty.init())
    return {
        "ratio_second_moment": float(out.metrics["ratio_moment"]),
        "lambda_next": state["strength"],
        **loss_and_coef(chain(token_ratio(anchor), unclipped(), penalty, mean_of(p)), columns, terms),
    }


@runs("bapo", method="bapo")
def bapo(case: Case) -> dict[str, Any]:
    """The bounds that are tried, and the clip under the last ones."""
    p, columns = case["params"], batch_of(case)
    terms, step = columns.terms(case["inputs"]["advantage"]), p["step"]
    steps = (float(step[0]), float(step[1])) if isinstance(step, list) else (step, step)
    statistic, target = p.get("statistic", "surrogate"), p["target_pos_over_neg"]
    part = adaptive_clip(p.get("anchor", "old"), p["c_low"], p["c_high"], steps, target, statistic)
    assert part.measure is not None
    up, down = part.measure(terms).values()
    lows, highs = grid(p["c_low"], steps[0]), grid(p["c_high"], steps[1])
    tried = [(lows[i], highs[j], share) for i, j, share in search_bounds(up, down, target)]
    low, high, share = tried[-1]
    return {
        "c_low": low,
        "c_high": high,
        "pos_over_neg": share,
        "n_evaluations": len(tried),
        "first": list(tried[0]),
        "last": list(tried[-1]),
        **loss_and_coef(chain(part, mean_of(p)), columns, terms),
    }


def covariances(terms: Terms) -> torch.Tensor:
    """The covariance of every token [N]."""
    part = penalise_covariant("rollout")
    assert part.measure is not None
    sums = {name.rpartition(":")[2]: value for name, value in part.measure(terms).items()}
    return covariance(terms, {f"select:{name}": value for name, value in sums.items()})


def places(columns: Columns, rows: torch.Tensor) -> list[list[int]]:
    """[sequence, token] of every row that holds."""
    return np.argwhere(np.asarray(columns.nested(rows), bool) & columns.mask).tolist()


@runs("clip_cov", method="clip-cov")
def clip_cov(case: Case) -> dict[str, Any]:
    """The candidates, the ones that are left out, and the clip on the others."""
    p, columns = case["params"], batch_of(case)
    anchor, terms = p.get("anchor", "old"), columns.terms(case["inputs"]["advantage"])
    low, high, found = p["eps_low"], p["eps_high"], covariances(terms)
    part = mask_covariant(anchor, p["ratio"], p["cov_low"], p["cov_high"], (low, high), "first")
    everyone = mask_covariant(anchor, 1.0, p["cov_low"], p["cov_high"], (low, high), "first")
    bounded = chain(token_ratio(anchor), clip(low, high))
    return {
        "cov": columns.nested(found),
        "ppo_clipped": columns.nested(beyond(terms, anchor, low, high, "clip_cov")),
        "candidates": places(columns, left_out(everyone, terms)),
        "clip_num": how_many(p["ratio"], float(columns.mask.sum())),
        "chosen": places(columns, left_out(part, terms)),
        **loss_and_coef(chain(bounded, part, mean_of(p)), columns, terms),
    }


def left_out(part: Any, terms: Terms) -> torch.Tensor:
    """Rows [N] whose weight a part takes to 0."""
    weight = apply(part, terms).weight
    assert weight is not None
    return weight == 0


@runs("kl_cov", method="kl-cov")
def kl_cov(case: Case) -> dict[str, Any]:
    """The tokens that are held back, and the surrogate with the penalty on them."""
    p, columns = case["params"], batch_of(case)
    anchor, terms = p.get("anchor", "old"), columns.terms(case["inputs"]["advantage"])
    part = penalise_covariant(anchor, p["ratio"], p["kl_coef"])
    _, chosen = chooser("case", p["ratio"], lambda t, found: (found, t.mask))
    width = columns.mask.shape[1]
    return {
        "n_selected": how_many(p["ratio"], float(columns.mask.sum())),
        "selected_flat": [i * width + j for i, j in places(columns, chosen(terms))],
        **loss_and_coef(chain(token_ratio(anchor), unclipped(), part, mean_of(p)), columns, terms),
    }


def one_by_one(columns: Columns, rows: torch.Tensor) -> list[float]:
    """The value of each sequence [B], at its first token in the mask."""
    values = rows.detach().reshape(columns.mask.shape)
    return [float(value) for value in values[torch.arange(len(values)), torch.tensor(columns.mask.argmax(1))]]


def summable(columns: Columns) -> Columns:
    """The batch with a token of logprob 0 in every sequence that has none, which leaves every sum as it is."""
    more = ~columns.mask.any(1, keepdims=True) & (np.arange(columns.mask.shape[1]) == 0)
    logps = {name: np.where(more, 0.0, values) for name, values in columns.logps.items()}
    return replace(columns, mask=columns.mask | more, logps=logps)


@runs("ace", method="ace")
def ace(case: Case) -> dict[str, Any]:
    """The advantage of a group, larger where the policy has become sure of a wrong answer."""
    p, columns = case["params"], summable(batch_of(case))
    advantage = np.array(by_reward(normalise(), columns))
    terms, out = columns.terms(advantage), dict[str, Any]()
    for name, shape in (("advantage", "softplus"), ("relu_variant", "relu")):
        weight = apply(weigh_confident_errors(p["alpha"], shape), terms).weight
        assert weight is not None
        out[name] = (advantage * one_by_one(columns, weight)).tolist()
        out.setdefault("multiplier", one_by_one(columns, weight))
    for name, shape in (("c", "relu"), ("softplus_c", "softplus")):
        lower, upper = (
            one_by_one(columns, held_weight(shape, moved)) for moved in (flipped(columns), columns.terms(-1.0))
        )
        out[name] = [u - 1 - (d - 1 if name == "c" else 0) for u, d in zip(upper, lower, strict=True)]
    return out


def held_weight(shape: str, terms: Terms) -> torch.Tensor:
    """The weight [N] of strength 1."""
    weight = apply(weigh_confident_errors(1.0, shape), terms).weight
    assert weight is not None
    return weight


def flipped(columns: Columns) -> Terms:
    """The rows with policy and reference in each other's place, all of negative advantage."""
    swapped = {**columns.logps, "new": columns.logps["ref"], "ref": columns.logps["new"]}
    return Columns(mask=columns.mask, logps=swapped, rewards=columns.rewards, group=columns.group).terms(-1.0)


@runs("epo", method="epo")
def epo(case: Case) -> dict[str, Any]:
    """Entropy with its band, and the weight of the band over training."""
    given, p = case["inputs"], case["params"]
    mask, middle = array(given["mask"]).astype(bool), array(given["history_mean_per_env_step"])
    columns = Columns(
        mask=mask, logps={"new": mask * 0.0, "rollout": mask * 0.0}, rewards=mask[:, 0], group=mask[:, 0] * 0
    )
    place = np.array(given["env_step_of_row"], np.float64)
    terms = columns.terms(entropy=given["entropy"], turn=place)
    bounds = (p["kappa_low"], p["kappa_high"])
    part = smooth_entropy(p["lam"], bounds, p["out_range_penalty"], p["smooth_coef"], p["max_epochs"], len(middle))
    state = {"sum": middle.tolist(), "count": [1.0] * len(middle), "step": p["epoch"]}
    out, _ = part.apply(terms, state)
    loss = token_mean().apply(out, None)[0].loss
    assert loss is not None
    entropy, history = torch.tensor(array(given["entropy"])), torch.tensor(wide(middle[place.astype(int)], mask))
    return {
        "penalty": swing(entropy, history, bounds, p["out_range_penalty"]).tolist(),
        "mean_entropy": float(entropy[mask].mean()) if mask.any() else 0.0,
        "mean_penalty": float(out.metrics["entropy_swing"]),
        "phase_weight": {str(step): phase(step, p["max_epochs"]) for step in range(p["max_epochs"] + 1)},
        "loss_extra": float(loss.detach()),
    }


@runs("vcpo", method="vcpo")
def vcpo(case: Case) -> dict[str, Any]:
    """The effective sample size, what it makes of the step, and the baseline of least variance."""
    p, columns = case["params"], batch_of(case)
    of, terms = p.get("numerator", "new"), columns.terms()
    weight = apply(truncate_mismatch(INF, "sum", of), terms).weight
    assert weight is not None
    share = effective(sample_size(terms, of))
    logs = np.array(one_by_one(columns, apart(terms, "vcpo", of, "sum")))
    clipped_share = effective(sizes_of(torch.tensor(logs).clamp(max=math.log(p["seq_tis_cap"]))))
    scales = {f"lr_scale_{name}": rule(min(1.0, share / p["base_ess_ratio"])) for name, rule in RULES.items()}
    with np.errstate(divide="ignore"):
        noise = 2 * np.maximum(logs + np.log(array(case["inputs"]["score_norm"])), -1e9)
    groups, centres = np.unique(columns.group), list[float]()
    for g in groups:
        at = columns.group == g
        centres.append(least_variance(columns.rewards[at], np.exp(noise[at] - noise[at].max())))
    advantage = columns.rewards - np.array(centres)[np.searchsorted(groups, columns.group)]
    estimator = chain(policy_gradient(), truncate_mismatch(p["seq_tis_cap"], "sum", of), sequence_mean())
    found = loss_and_coef(estimator, columns, columns.terms(advantage))
    return {
        "seq_weight": one_by_one(columns, weight),
        "ess": share * len(logs),
        "ess_ratio": share,
        "ess_ratio_clipped": clipped_share,
        **scales,
        "lr_eff": p["lr"] * scales[f"lr_scale_{p['rule']}"],
        "baseline_per_group": centres,
        "advantage": advantage.tolist(),
        "estimator_coef_per_seq": [sum(row) for row in found["coef"]],
    }
