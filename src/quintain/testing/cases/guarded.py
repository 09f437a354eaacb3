"""Cases of curvature, controllers, contrast inside a group, other temperatures, and how far engine and learner stand apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from quintain.advantages import imitate_hot, normalise
from quintain.advantages.hot import pick_temperature
from quintain.learn.mismatch import gap_figures, gap_sums
from quintain.learn.value import soft_min
from quintain.objectives import ce, contrast_answers, hinge_kl, mask_curved, sequence_mean, token_mean
from quintain.objectives.contrast import mean_score, short_weight
from quintain.objectives.curvature import shifts
from quintain.objectives.guard import KL, START, adjusted, guarded, limited
from quintain.parts import chain
from quintain.testing.cases.columns import Columns, apply, array, batch_of, loss_and_coef
from quintain.testing.cases.episodes import by_reward, drawn, episode, group_of
from quintain.testing.cases.table import Case, runs
from quintain.types import Sampling, Terms


def tensor(values: Any) -> torch.Tensor:
    """float64."""
    return torch.tensor(array(values))


def each(columns: Columns, rows: torch.Tensor) -> list[float]:
    """The value of each sequence [B]: that of its first row in the mask."""
    values = rows.detach().reshape(columns.mask.shape)
    return [float(v) for v in values[torch.arange(len(values)), torch.tensor(columns.mask.argmax(1))]]


@runs("drpo", method="drpo")
def drpo(case: Case) -> dict[str, Any]:
    """Scores, weights of lengths, both sides of every group, and the KL beyond its bound."""
    p, columns = case["params"], batch_of(case)
    terms = columns.terms(by_reward(normalise(scale="none"), columns))
    part = contrast_answers(p["L_max"], p["tau"], p["lam"])
    alone = loss_and_coef(chain(part, token_mean()), columns, terms)
    hinge = hinge_kl(p["beta"], p["delta"])
    noted = apply(hinge, terms).metrics
    length = torch.tensor(columns.mask.sum(1), dtype=torch.float64)
    return {
        "seq_score": each(columns, mean_score(terms)),
        "length_weight_unnormalised": short_weight(length, p["L_max"], p["lam"]).tolist(),
        "objective": -alone["loss"],
        "loss_without_penalty": alone["loss"],
        "seq_coef": [sum(row) for row in alone["coef"]],
        "kl_old_new_k1": float(noted["kl_mean"]),
        "hinge": float(noted["kl_hinge"]),
        "coef": loss_and_coef(chain(part, hinge, token_mean()), columns, terms)["coef"],
    }


@runs("capo", method="capo")
def capo(case: Case) -> dict[str, Any]:
    """The shifts of every token, and which tokens stay."""
    given, p = case["inputs"], case["params"]
    if p.get("direction", "sgd") != "sgd":
        raise NotImplementedError(
            f"the direction {p['direction']!r}: mask_curved knows steps of plain gradient descent"
        )
    logp = torch.log_softmax(tensor(given["logits"]), -1)
    new = logp.gather(-1, torch.tensor(array(given["action"]), dtype=torch.long)[:, None])[:, 0]
    rows = torch.arange(len(new))
    terms = Terms(
        new=new,
        rollout=new,
        advantage=tensor(given["advantage"]),
        mask=torch.ones(len(new), dtype=torch.bool),
        sequence=rows,
        group=rows,
        hidden=tensor(given["hidden"]),
        topk={"new": logp},
    )
    found, kept = shifts(terms, p["lr"]), dict[str, list[bool]]()
    for name, one_sided in (("symmetric", False), ("one_sided", True)):
        weight = apply(mask_curved(p["lr"], p["tau_H"], p["tau_F"], one_sided, k=logp.shape[1]), terms).weight
        assert weight is not None
        kept[f"keep_{name}"] = (weight != 0).tolist()
    return {"m_H": found.objective.tolist(), "m_F": found.policy.tolist(), **kept}


@runs("safe", method="safe")
def safe(case: Case) -> dict[str, Any]:
    """The soft minimum of two critics, and the controller over a series of steps."""
    given, p, state = case["inputs"], case["params"], dict(START)
    series = zip(*(array(given[f"{n}_series"]).tolist() for n in ("reward", "kl", "entropy")), strict=True)
    adjusts, rows = list[float](), list[list[float]]()
    for reward, kl, entropy in series:
        adjust, state = adjusted(state, reward, (p["kp"], p["ki"], p["kd"]))
        state["kl"] = KL * state["kl"] + (1 - KL) * kl
        threshold = limited(p["base"], adjust, p["phase_multiplier"])
        adjusts.append(adjust)
        penalty = guarded(state["kl"], entropy, threshold, p.get("penalty", 0.1), p["entropy_floor"])
        rows.append([state["kl"], threshold, penalty])
    pair = torch.stack([tensor(given["v1"]), tensor(given["v2"])], -1)
    return {
        "softmin": soft_min(pair, p["alpha"]).tolist(),
        "pid_adjust": adjusts,
        "kl_ema_threshold_penalty": rows,
    }


@runs("aepo", method="aepo")
def aepo(case: Case) -> dict[str, Any]:
    """The temperature of a step, and what is imitated of the answers sampled at it."""
    given, p = case["inputs"], case["params"]
    heat = [pick_temperature(h, p["target"], p["T_high"], p["T_low"]) for h in array(given["entropy_prev_step"])]
    made = []
    for i, reward in enumerate(array(given["rewards_temp"]).tolist()):
        one = episode(str(i), [1], reward)
        how = Sampling(temperature=p["T_high"])
        made.append(replace(one, nodes=(one.nodes[0], replace(one.nodes[1], sampling=how))))
    part = imitate_hot(1.0, p["target"], p["T_high"], p["T_low"])
    (group,), _ = part.apply((group_of(*made),), part.init())
    worth = [drawn(t, "weight.ce")[0] for t in group.trajectories]
    new = array(given["logp_new_seq"])[:, None]
    columns = batch_of({"inputs": {"batch": {"mask": np.ones_like(new), "logp_new": new}}})
    terms = replace(columns.terms(), weights={"rl": torch.zeros(len(worth)), "ce": tensor(worth)})
    coef = loss_and_coef(chain(ce(p.get("alpha", 1.0)), sequence_mean()), columns, terms)["coef"]
    return {"temperature": heat, "aux_advantage": worth, "aux_seq_coef": [row[0] for row in coef]}


@runs("offpolicy_metrics", method="mismatch metrics")
def offpolicy(case: Case) -> dict[str, Any]:
    """What the learner reports of engine against learner."""
    columns = batch_of(case)
    of = columns.logps["old" if "old" in columns.logps else "new"]
    flat = [torch.tensor(values[columns.mask]) for values in (of, columns.logps["rollout"])]
    found = gap_figures(gap_sums(flat[0], flat[1], torch.tensor(np.nonzero(columns.mask)[0])))
    wide = (flat[0].exp() - flat[1].exp()).abs()
    return {
        "kl_k1_rollout_to_train": found["k1"],
        "kl_k3": found["kl"],
        "chi2_token": found["chi2"],
        "chi2_seq": found["chi2_sequence"],
        "max_abs_prob_diff": float(wide.max()) if len(wide) else 0.0,
        "ppl_ratio": found["perplexity"],
        "token_ess_ratio": found["ess"],
    }
