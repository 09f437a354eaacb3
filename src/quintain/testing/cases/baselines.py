"""Cases of baselines and scales: what a group, a prior or a history says of a reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quintain.advantages import (
    beta,
    combine,
    credited,
    drop_pivot,
    mad,
    median,
    normalise,
    prior_fused,
    prior_shrunk,
    running,
    std,
    trajectory,
    turn,
)
from quintain.advantages.baselines import lower_median
from quintain.advantages.beta import fit_beta
from quintain.parts import Advantage, chain
from quintain.priors import draw_more, fuse, gain_of_one, smoothed_variance
from quintain.samplers.budget import contrast, mixed, share_budget
from quintain.testing.cases.columns import array
from quintain.testing.cases.episodes import credited as credits
from quintain.testing.cases.episodes import episode, firsts, group_of, scored
from quintain.testing.cases.table import Case, runs
from quintain.types import Group


@runs("mc_grpo", method="mc-grpo")
def mc_grpo(case: Case) -> dict[str, Any]:
    """Median and absolute deviation; the pivot is left out."""
    rewards, eps = array(case["inputs"]["rewards"]), case["params"].get("eps", 1e-3)
    group = scored(rewards.tolist())
    plain = normalise(baseline=median(), scale=mad(eps))
    part = chain(plain, drop_pivot())
    (out,), _ = part.apply((group,), part.init())
    weights = [t.streams["weight.rl"][1][0] for t in out.trajectories]
    dropped = [i for i, w in enumerate(weights) if w == 0]
    return {
        "adv": firsts(plain, group),
        "adv_rescaled": [t.streams["advantage"][1][0] for t in out.trajectories],
        "keep": [i for i, w in enumerate(weights) if w],
        "pivot": dropped[0] if dropped else None,
        "n_dropped": len(dropped),
        "median": float(lower_median(rewards)),
        "mad": float(lower_median(np.abs(rewards - lower_median(rewards)))),
    }


def _nested(values: Sequence[float], like: Sequence[Sequence[Any]]) -> list[list[float]]:
    found = iter(values)
    return [[next(found) for _ in row] for row in like]


@runs("gdpo", method="gdpo")
def gdpo(case: Case) -> dict[str, Any]:
    """Each reward column by itself, their weighted sum, and the batch."""
    p, given = case["params"], [array(rows) for rows in case["inputs"]["rewards"]]
    names = [str(k) for k in range(given[0].shape[1])]
    groups = tuple(
        group_of(
            *(
                episode(f"{g}.{i}", [1], {n: float(v) for n, v in zip(names, row, strict=True)})
                for i, row in enumerate(rows)
            ),
            key=str(g),
            ticket=g,
        )
        for g, rows in enumerate(given)
    )
    scale = std(p.get("ddof", 1), p.get("eps", 1e-4))
    each = [normalise(unit=trajectory(n), scale=scale) for n in names]
    summed = combine(*each, weights=p.get("weights", [1.0] * len(names)))

    def found(part: Advantage) -> list[list[float]]:
        return _nested(firsts(part, *groups), [list(rows) for rows in given])

    columns = [found(part) for part in each]
    return {
        "per_reward": [np.stack([np.array(c[g]) for c in columns], 1).tolist() for g in range(len(given))],
        "pre_batch": found(summed),
        "adv": found(chain(summed, normalise(unit=credited(), key="batch", scale=scale))),
        "grpo_on_sum": found(normalise(scale=scale)),
    }


@runs("bnpo", method="bnpo")
def bnpo(case: Case) -> dict[str, Any]:
    """The Beta density of the success rates as the scale."""
    given, cap = case["inputs"], case["params"].get("weight_clip", 1e6)
    if "groups" in given:
        rewards = [array(row).tolist() for row in given["groups"]]
    else:
        rates, size = array(given["group_success_rates"]), int(given["group_size"])
        rewards = [[1.0] * round(p * size) + [0.0] * (size - round(p * size)) for p in rates.tolist()]
    groups = tuple(scored(row, g) for g, row in enumerate(rewards))
    adv = _nested(firsts(normalise(scale=beta(cap=cap)), *groups), rewards)
    p = np.array([np.mean(row) for row in rewards])
    fit = fit_beta(p)
    density = fit.density(p)
    out = {"mean": fit.mean, "var": fit.variance, "a": fit.a, "b": fit.b, "alpha": fit.alpha, "beta": fit.beta}
    with np.errstate(divide="ignore"):
        weight = np.minimum(1 / density, cap)
    found = [dict(zip(row, values, strict=True)) for row, values in zip(rewards, adv, strict=True)]
    right, wrong = (
        [own.get(r, (r - q) * w) for own, q, w in zip(found, p.tolist(), weight.tolist(), strict=True)]
        for r in (1.0, 0.0)  # where nobody had such a reward, what it would have been worth
    )
    rest = {"p": p.tolist(), "density": density.tolist(), "weight": weight.tolist(), "adv": adv}
    return {**out, **rest, "adv_correct": right, "adv_wrong": wrong}


@runs("stratified", method="stratified grpo")
def stratified(case: Case) -> dict[str, Any]:
    """A blend of the statistics of the stratum and of the group."""
    given, p = case["inputs"], case["params"]
    group = scored(array(given["rewards"]).tolist(), tags=[{"stratum": s} for s in given["strata"]])
    scale = std(p.get("ddof", 1), p.get("eps", 1e-6))
    san = normalise(key=["prompt", {"name": "tag", "of": "stratum"}], scale=scale)
    whole, share = normalise(scale=scale), p["alpha"]
    return {
        "san": firsts(san, group),
        "global_norm": firsts(whole, group),
        "adv": firsts(combine(san, whole, weights=[share, 1 - share]), group),
    }


@runs("v05_agree", "v05_conflict", "v05_edge", method="v_0.5")
def v05(case: Case) -> dict[str, Any]:
    """The prior is kept until the rewards contradict it; more rollouts while they lower the error."""
    for name, other in {"cases": v05_shrinkage, "priors": v05_one_step}.items():
        if name in case["inputs"]:
            return other(case)
    if "prior" not in case["inputs"]:
        return v05_cost_cap(case)
    given, p = case["inputs"], case["params"]
    rewards, prior, noise = array(given["rewards"]), float(given["prior"]), p.get("noise", 1.0)
    group = scored(rewards.tolist())
    part = normalise(baseline=prior_fused(noise), scale="none")
    k, found = len(rewards), fuse(float(rewards.mean()), prior, noise / len(rewards))
    return {
        "k": k,
        "mean": float(rewards.mean()),
        "delta2": found.bias,
        "weight": found.weight,
        "baseline": found.baseline,
        "accept_prior": found.bias == 0,
        "mse": found.error,
        "mse_next": found.error - gain_of_one(found.bias, noise, k),
        "draw_more": draw_more(rewards.tolist(), prior, p["cost"], p.get("k_max", 16), noise),
        "adv": firsts(part, replace(group, tags={"prior": prior})),
    }


@runs("v05_cost_cap")
def v05_cost_cap(case: Case) -> dict[str, Any]:
    """Where a useless prior stops."""
    p, counts = case["params"], range(1, 65)
    gains = {k: gain_of_one(np.inf, p.get("noise", 1.0), k) for k in counts}
    return {f"gain{k}": gains[k] for k in counts} | {f"more_at_{k}": gains[k] > p["cost"] for k in counts}


@runs("v0_budget", method="v_0 budget")
def v0_budget(case: Case) -> dict[str, Any]:
    """Rollouts where they bring contrast."""
    rates, p = array(case["inputs"]["p"]).tolist(), case["params"]
    greedy = share_budget(rates, int(p["total"]), int(p["bmin"]), int(p["bmax"]))
    return {"greedy": greedy, **{f"utility_B{b}": [contrast(b, q) for q in rates] for b in range(1, 129)}}


@runs("v0_like", method="v_0")
def v0_like(case: Case) -> dict[str, Any]:
    """Rollouts where a group is likely to be mixed."""
    given = case["inputs"]
    rates, total = array(given["predicted_success"]).tolist(), int(given["budget"])
    n = share_budget(rates, total, int(given["n_min"]), int(given["n_max"]), "mixed")
    chances = [mixed(k, q) for k, q in zip(n, rates, strict=True)]
    even = [total // len(rates)] * len(rates)
    return {
        "n": n,
        "prob_mixed": chances,
        "total": float(sum(chances)),
        "uniform_total": float(sum(mixed(k, q) for k, q in zip(even, rates, strict=True))),
        "marginal_at_8": [mixed(9, q) - mixed(8, q) for q in rates],
    }


@runs("v05_shrinkage")
def v05_shrinkage(case: Case) -> dict[str, Any]:
    """The same with rewards of 0 or 1, whose variance is estimated."""
    results = []
    for one in case["inputs"]["cases"]:
        rewards, prior = array(one["r"]), float(one["prior"])
        noise = smoothed_variance(rewards) / len(rewards)
        found = fuse(float(rewards.mean()), prior, noise)
        group = replace(scored(rewards.tolist()), tags={"prior": prior})
        adv = firsts(normalise(baseline=prior_shrunk(), scale="none"), group)
        results.append(
            {
                "mean": float(rewards.mean()),
                "sampling_variance": noise,
                "bias_sq": found.bias,
                "prior_weight": 1 - found.weight,
                "baseline": float(rewards[0]) - adv[0],
                "mse": found.error,
                "mse_mean_only": noise,
            }
        )
    return {"results": results}


@runs("v05_one_step")
def v05_one_step(case: Case) -> dict[str, Any]:
    """How many rollouts a prior buys."""
    given = case["inputs"]
    rewards, out = array(given["rewards"]).tolist(), []
    for prior in given["priors"]:
        k = int(given.get("n_min", 2))
        while k < len(rewards) and draw_more(rewards[:k], float(prior), given["cost"], int(given["n_max"])):
            k += 1
        out.append(k)
    return {"rollouts": out}


@runs("rae", method="spiral rae")
def rae(case: Case) -> dict[str, Any]:
    """A moving average per role, read before it learns."""
    stream, p = case["inputs"]["stream"], case["params"]
    groups = [
        scored([float(array(reward))], i, role=[role], agent=[role], episode=[i])
        for i, (role, reward) in enumerate(stream)
    ]
    part = running(p.get("decay", 0.95), p.get("init", 0.0), "role")
    adv, final = _stream(part, groups)
    rewards = array([reward for _, reward in stream])
    return {"adv": adv, "baseline": (rewards - adv).tolist(), "final": final}


def _stream(baseline: Any, groups: Sequence[Group]) -> tuple[list[float], dict[str, float]]:
    part = normalise(baseline=baseline, scale="none")
    out, (state, _) = part.apply(tuple(groups), part.init())
    return [t.streams["advantage"][1][0] for g in out for t in g.trajectories], state


@runs("spiral_role", method="spiral")
def spiral(case: Case) -> dict[str, Any]:
    """Both seats of a game, game after game."""
    given = case["inputs"]
    returns = array(given["returns"])
    seats = [str(k) for k in range(returns.shape[1])]
    groups = [scored(row.tolist(), i, role=seats, agent=seats) for i, row in enumerate(returns)]
    adv, final = _stream(running(given["decay"], given["start"], "role"), groups)
    return {"advantages": np.reshape(adv, returns.shape).tolist(), "baselines": [final[s] for s in seats]}


@runs("mars_turn", method="mars")
def mars(case: Case) -> dict[str, Any]:
    """Reward to go per turn, centred per player, over rows or over distinct values."""
    if "turn_returns" in case["inputs"]:
        return mars_derived(case)
    given, gamma = case["inputs"], case["params"].get("gamma", 1.0)
    made, agents = [], []
    for i, one in enumerate(given["episodes"]):
        earned = array(one["turn_reward"]).tolist()
        made.append(episode(str(i), [1] * len(earned), sum(earned), turn_rewards=tuple(earned), agent=one["agent"]))
        agents += [one["agent"]] * len(earned)
    group, unit = group_of(*made), turn(gamma)

    def rows(baseline: str) -> list[float]:
        part = normalise(unit=unit, key="agent", baseline=baseline, scale="none")
        return [v for row in credits(part, group) for v in row]

    return {
        "agent": agents,
        "returns": rows("none"),
        "adv_rows": rows("mean"),
        "adv_unique_values": rows("distinct_mean"),
    }


@runs("mars_role_wise")
def mars_derived(case: Case) -> dict[str, Any]:
    """Our derivation, which also scales: the deviation of the role."""
    given, p = case["inputs"], case.get("params", {})
    group = scored(array(given["turn_returns"]).tolist(), role=list(given["roles"]))
    return {"advantage": firsts(normalise(key="role", scale=std(p.get("ddof", 0), p.get("eps", 1e-6))), group)}
