"""Cases of shaping: potentials, progress, reflection, consistency."""

from __future__ import annotations

from typing import Any

from quintain.advantages import returns
from quintain.rewards.agreement import richness, stability
from quintain.rewards.progress import discounted, fade, foresight, pay_progress, shaping
from quintain.rewards.verified import densities, pass_rates, rarity_weights, turn_scores, two_levels
from quintain.testing.cases.columns import array
from quintain.testing.cases.episodes import credited, episode, group_of, scored
from quintain.testing.cases.table import Case, runs


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
