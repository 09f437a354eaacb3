"""Cases of shaping: potentials, progress, reflection, consistency."""

from __future__ import annotations

from typing import Any

from quintain.advantages import returns
from quintain.memory.recall import ranked, scores, used
from quintain.rewards.agreement import richness, stability
from quintain.rewards.progress import discounted, fade, foresight, gains, pay_progress, shaping
from quintain.rewards.verified import densities, pass_rates, rarity_weights, turn_scores, two_levels
from quintain.rollouts.horizon import horizon
from quintain.testing.cases.columns import array
from quintain.testing.cases.episodes import credited, episode, group_of, scored
from quintain.testing.cases.table import Case, runs


@runs("simutil_ucb", "retroagent_simutil_ucb", method="retroagent simutil-ucb")
def simutil(case: Case) -> dict[str, Any]:
    """Scores of remembered items, and their order."""
    given = case["inputs"]
    p, items = {**given, **(case.get("params") or {})}, given.get("items")
    names = {"relevance": "rel", "utility": "util", "count": "n"}
    columns = {long: [i[short] for i in items] if items else given[long] for long, short in names.items()}
    kappa = p.get("kappa", p.get("ucb_scale", 1.0))
    found = scores(**columns, alpha=p["alpha"], kappa=kappa, least=p["min_relevance"])
    return {"score": found, "order": ranked(found), "total_count": sum(columns["count"])}


@runs("simutil_utility_ema")
def simutil_utility(case: Case) -> dict[str, Any]:
    """Utility and count, use after use."""
    p, trace = case["params"], list[list[float]]()
    now = (float(p["u0"]), int(p["n0"]))
    for outcome in case["inputs"]["outcomes"]:
        now = used(*now, outcome, p["beta"])
        trace.append(list(now))
    return {"trace": trace}


@runs("retroagent_utility_and_intrinsic")
def utility_and_intrinsic(case: Case) -> dict[str, Any]:
    """Utility use after use, and what is paid for getting further."""
    given, utility = case["inputs"], list[float]()
    now = (float(given["utility0"]), 1)
    for outcome in given["outcomes"]:
        now = used(*now, outcome, given["beta"])
        utility.append(now[0])
    phi, best = array(given["potential"]).tolist(), float(given["baseline"])
    return {
        "utility": utility,
        "improvement": gains(phi, best),
        "centred": gains(phi, best, centred=True),
        "new_baseline": max(best, float(given["success_rate"])),
    }


@runs("scaling_inter", method="scalinginter-rl")
def scaling_inter(case: Case) -> dict[str, Any]:
    """Turns of an episode at some steps."""
    p = {**case["inputs"], **(case.get("params") or {})}
    turns = p.get("horizons", p.get("rounds"))
    found = [horizon(int(step), turns, p["every"]) for step in p["steps"]]
    return {"horizon": found, "max_turns": found}


@runs("potential_shaping", method="potential-based shaping")
def potential(case: Case) -> dict[str, Any]:
    """The terms, their discounted sum, and what it must be."""
    phi, gamma = array(case["inputs"]["phi"]).tolist(), case["params"]["gamma"]
    paid = shaping(phi, gamma)
    ends = gamma ** len(paid) * phi[-1] - phi[0] if phi else 0.0
    return {"shaping": paid, "discounted_sum": discounted(paid, gamma), "telescoped": ends}


@runs("retro_capability_reward", method="retroagent numeric feedback")
def capability(case: Case) -> dict[str, Any]:
    """One task, round after round."""
    given, rounds = case["inputs"], []
    plain, centred = pay_progress(), pay_progress(centred=True)
    state = plain.init()
    for phi, won in zip(array(given["phi"]).tolist(), array(given["won"]).tolist(), strict=True):
        group = scored(won, tags=[{"progress": p} for p in phi])
        before = state
        (centre,), _ = centred.apply((group,), before)
        (out,), state = plain.apply((group,), before)
        rounds.append(
            {
                "baseline": before["best"].get(group.task.key, 0.0),
                "new_baseline": state["best"].get(group.task.key, 0.0),
                "r_int": [t.rewards["progress"] for t in out.trajectories],
                "r_int_centred": [t.rewards["progress"] for t in centre.trajectories],
            }
        )
    return {"rounds": rounds}


@runs("retro_return")
def retro_return(case: Case) -> dict[str, Any]:
    """Step returns with and without what was paid at the end; the strength over the training."""
    given, p = case["inputs"], case["params"]
    earned = array(given["r_ext"]).tolist()
    more = p.get("coef", 1.0) * float(given["r_int_terminal"])

    def go(extra: float) -> list[float]:
        paid = {"ext": sum(earned), "progress": extra}
        one = episode("0", [1] * len(earned), paid, turn_rewards=tuple(earned))
        return credited(returns(p["gamma"], "turn"), group_of(one))[0]

    return {
        "returns_ext_only": go(0.0),
        "returns_with_intrinsic": go(more),
        "coef_schedule": [p.get("coef", 1.0) * fade(progress) for progress in (0.0, 0.5, 1.0)],
    }


@runs("retro_reflection_reward", method="retroagent reflection")
def reflection(case: Case) -> dict[str, Any]:
    """The paper's reward and the released one."""
    given = case["inputs"]
    rows = list(zip(given["predicted"], given["actual"], array(given["r_ext"]).tolist(), strict=True))
    return {
        "paper": [foresight(bool(c), bool(a), r) for c, a, r in rows],
        "code_consistency": [foresight(bool(c), bool(a), 10.0) for c, a, _ in rows],
    }


@runs("info_consistency", method="information-consistent grpo")
def consistency(case: Case) -> dict[str, Any]:
    """Stability of the pairs, and what each member carries."""
    p, pairs = case["params"], array(case["inputs"]["entropies"]).tolist()
    ends = (p["h_min"], p["h_max"])
    return {
        "stability": stability(pairs, p["max_gap"]),
        "helpful": [[richness(h, *ends) for h in row] for row in pairs],
    }


@runs("verpo", method="verpo")
def verpo(case: Case) -> dict[str, Any]:
    """Rates, weights, both rewards, and their mix as the part computes it."""
    given, p = case["inputs"], case["params"]
    tests = [array(run).tolist() for run in given["passed"]]
    rates = pass_rates(tests)
    weights = rarity_weights(rates, p["alpha"], p["sigma"], p["delta"])
    turns = [turn_scores(run, weights) for run in tests]
    outcome = [float(s) * p["gamma"] ** len(run) for s, run in zip(given["solved"], tests, strict=True)]
    return {
        "rho": rates,
        "density": densities(rates, p["sigma"]),
        "weight": weights,
        "turn_reward": turns,
        "traj_reward": outcome,
        "adv": two_levels(outcome, turns, p["beta"]),
    }
