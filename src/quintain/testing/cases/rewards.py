"""Cases of rewards: by rank, by role, by comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quintain.advantages import normalise
from quintain.rewards.duels import win_shares
from quintain.rewards.graded import balance, gated
from quintain.rewards.roles import RULES, injector, outcome, red_team_rewards, weighed
from quintain.testing.cases.columns import array
from quintain.testing.cases.episodes import episode, firsts, group_of, rewarded, scored
from quintain.testing.cases.table import Case, runs


@runs("spo_selfplay", method="spo (minimaximalist)")
def spo_selfplay(case: Case) -> dict[str, Any]:
    """Shares of wins."""
    return {"reward": win_shares(array(case["inputs"]["pref_matrix"]).tolist())}


@runs("g_ra", method="g-ra")
def g_ra(case: Case) -> dict[str, Any]:
    """Two levels, gated and not."""
    given, p = case["inputs"], case["params"]
    paid = [
        {"high": float(high), "low": sum(map(float, low))}
        for high, low in zip(given["high"], given["low"], strict=True)
    ]
    group = group_of(*(episode(str(i), [1], rewards) for i, rewards in enumerate(paid)))
    part = gated([["high"], ["low"]], p.get("threshold", 0.0), p.get("strict", True))
    return {"gated": list(rewarded(part, group).rewards), "direct": list(group.rewards)}


@runs("astra_f1", method="astra")
def astra(case: Case) -> dict[str, Any]:
    """Recall, precision, F1, and F1 of nothing."""
    given = case["inputs"]
    return {
        **balance(given["solved"], given["subtasks"], given["calls"]),
        "none": balance(0, given["subtasks"], 0)["f1"],
    }


@runs("ssp_", method="search self-play")
def ssp(case: Case) -> dict[str, Any]:
    """What the proposer gets for each solve rate."""
    given = case["inputs"]
    if "solver_success" in given:
        return {"proposer": [RULES["one_minus"](float(s)) for s in given["solver_success"]]}
    rates = array(given["success_rate"]).tolist()
    ends = {"left": given.get("left", 0.0), "right": given.get("right", 1.0)}
    return {
        "one_minus_acc": [RULES["one_minus"](s) for s in rates],
        "intermediate": [RULES["between"](s, **ends) for s in rates],
    }


@runs("ssr_", method="self-play swe-rl")
def ssr(case: Case) -> dict[str, Any]:
    """What the injector gets for each solve rate."""
    given = case["inputs"]
    alpha = case.get("params", {}).get("alpha", given.get("alpha", 0.8))
    rewards = [injector(float(s), alpha) for s in given["solve_rate"]]
    return {"reward": rewards, "invalid": outcome(False), "solver": [outcome(True), outcome(False)]}


@runs("doge_context", method="doge")
def doge(case: Case) -> dict[str, Any]:
    """The mean over the solver's answers."""
    given, weights = case["inputs"], {"correct": 1.0, "format": case["params"]["beta"]}
    rows = zip(array(given["solver_correct"]).tolist(), array(given["fmt"]).tolist(), strict=True)
    paired = [[{"correct": c, "format": f} for c, f in zip(*row, strict=True)] for row in rows]
    return {"reward": [weighed(each, weights) for each in paired]}


@runs("self_redteam", method="self-redteam")
def self_redteam(case: Case) -> dict[str, Any]:
    """The table of the released game."""
    given = case["inputs"]
    if "rows" in given:
        return {"rows": [{**row, **_judged(row)} for row in given["rows"]]}
    sizes = {k: float(v[1]) for k, v in given.get("coefficients", {}).items()}
    names = {"attacker_prompt": "faithful", "attacker_response": "harm"}
    amounts = {names.get(k, k): v for k, v in sizes.items() if k != "defender_response"}
    table = {
        "harmful_seed": {"complied_harmfully": (True, True, True, False), "refused_safely": (True, True, False, True)},
        "benign_seed": {
            "complied_safely": (False, False, False, False),
            "refused_safely": (False, False, False, True),
        },
    }
    return {s: {n: red_team_rewards(*how, amounts) for n, how in rows.items()} for s, rows in table.items()}


def _judged(row: Mapping[str, Any]) -> dict[str, float]:
    seed, prompt, response, refusal = (bool(row[k]) for k in ("harm_seed", "prompt_harm", "resp_harm", "refusal"))
    return red_team_rewards(seed, prompt, response, refusal)


@runs("fapo", method="fapo")
def fapo(case: Case) -> dict[str, Any]:
    """The reward, and the flawed answer's place among others."""
    given, p = case["inputs"], case["params"]
    size = {"wrong": p.get("wrong", -1.0), "flaw": p.get("lam", 1.0)}
    both = zip(given["correct"], given["flawed"], strict=True)

    def among(clean: int, wrong: int) -> list[float]:
        made = [outcome(True, True, **size)] + [outcome(True, **size)] * clean + [outcome(False, **size)] * wrong
        return made

    means = [
        {"flawed": 1, "pos": pos, "neg": neg, "mean": sum(among(pos, neg)) / (1 + pos + neg)}
        for pos, neg in ((2, 4), (3, 3), (5, 2))
    ]
    sign = {
        rho: "+" if firsts(normalise(scale="none"), scored(among(*n)))[0] > 0 else "-"
        for rho, n in (("rho<1", (2, 4)), ("rho>1", (5, 2)))
    }
    return {
        "reward": [outcome(bool(c), bool(f), **size) for c, f in both],
        "mean_at": means,
        "flawed_adv_sign_at_rho": [list(pair) for pair in sign.items()],
    }
