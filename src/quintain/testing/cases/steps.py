"""Cases of rewards of steps, of chunks and of filters on steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import torch

from quintain.advantages import (
    combine,
    credit_sets,
    grade_steps,
    normalise,
    redistribute,
    returns,
    scale_dense,
    segment,
    std,
    turn,
)
from quintain.advantages.filters import mixed_steps, released_steps, surprise
from quintain.advantages.returns import scan
from quintain.advantages.sets import score_sets
from quintain.advantages.steps import GRADES, semi_online_scores
from quintain.objectives import chunk_ratio, fit_progress, sequence_mean
from quintain.parts import Advantage, chain
from quintain.testing.cases.columns import apply, array, batch_of
from quintain.testing.cases.episodes import credited as credits
from quintain.testing.cases.episodes import drawn, episode, firsts, group_of
from quintain.testing.cases.table import Case, runs
from quintain.types import Trajectory

FIXED = normalise(unit=turn(), baseline="none", scale="none")


def shaped(part: Advantage, one: Trajectory) -> Trajectory:
    """One trajectory after a part."""
    (out,), _ = part.apply((group_of(one),), part.init())
    return out.trajectories[0]


@runs("spa_rl", method="spa-rl")
def spa_rl(case: Case) -> dict[str, Any]:
    """Contributions and grounding as rewards; the estimator's sum against the outcome."""
    given, p = case["inputs"], case["params"]
    shares, outcome = array(given["contrib"]), float(array(given["outcome"]))
    acts = tuple("act" if g else "" for g in array(given["grounded"]))
    one = episode("a", [1] * len(shares), outcome, actions=acts)
    rows: list[tuple[float, ...]] = [(9.0, 9.0)]
    for v in shares.tolist():
        rows += [(v,), (7.0,)]
    one = one.with_stream("value", tuple(rows[: len(one.nodes)]))
    paid = redistribute(p["alpha"], p["beta"], close=False)
    go = credits(chain(paid, FIXED), group_of(one))[0]
    columns = batch_of({"inputs": {"batch": {"mask": [[1] * len(shares)], "p_new": [[0.5] * len(shares)]}}})
    terms = columns.terms(value=shares[None], old_value=shares[None], returns=[outcome])
    loss = apply(chain(fit_progress(), sequence_mean()), terms).loss
    assert loss is not None
    return {
        "reward": [a - b for a, b in zip(go, [*go[1:], 0.0], strict=True)],
        "returns": go,
        "residual": outcome - float(shares.sum()),
        "estimator_loss": float(loss.detach()),
    }


@runs("dense_turn_reward", method="practitioner's guide")
def dense(case: Case) -> dict[str, Any]:
    """Turn rewards over their number if won, over the task's maximum if lost."""
    earned = array(case["inputs"]["interm"]).tolist()
    part = scale_dense(float(case["inputs"]["max_rewards"]), "win")

    def found(won: float) -> list[float]:
        one = episode("a", [1] * len(earned), {"win": won, "rest": sum(earned) - won}, turn_rewards=tuple(earned))
        charges = drawn(shaped(part, one), "token_reward")
        return [a + b for a, b in zip(earned, charges, strict=True)]

    return {"won": found(1.0), "lost": found(0.0)}


@runs("uis1_step_reward")
def uis1_reward(case: Case) -> dict[str, Any]:
    """Format, kind and action, each only if those before hold."""
    columns = {name: array(case["inputs"][name]).tolist() for name in ("format", "type", "exact")}
    grades = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    one = episode("a", [1] * len(grades), tags={GRADES: grades})
    return {"reward": drawn(shaped(grade_steps(), one), "token_reward")}


@runs("uis1_returns", method="ui-s1")
def uis1_returns(case: Case) -> dict[str, Any]:
    """Returns that end where the path was left."""
    given, gamma = case["inputs"], case["params"]["gamma"]
    earned, grades = array(given["reward"]).tolist(), [{"exact": bool(m)} for m in given["match"]]
    one = episode("a", [1] * len(earned), sum(earned), turn_rewards=tuple(earned), tags={GRADES: grades})
    forms = {"paper": segment(gamma), "code": segment(gamma, closed=False)}
    return {
        name: credits(normalise(unit=unit, baseline="none", scale="none"), group_of(one))[0]
        for name, unit in forms.items()
    }


@runs("uis1_advantage")
def uis1_advantage(case: Case) -> dict[str, Any]:
    """The episode against its group, and each step against those at the same turn."""
    given, p, made = case["inputs"], case["params"], []
    for name, whole in given["episode_return"].items():
        go = array(given["step_return"][name]).tolist()
        earned = tuple(a - b for a, b in zip(go, [*go[1:], 0.0], strict=True))
        rewards = {"episode": float(whole), "rest": go[0] - float(whole)}
        made.append(episode(name, [1] * len(go), rewards, turn_rewards=earned))
    scale = std(p.get("ddof", 1), p.get("eps", 1e-6))
    whole = normalise(unit={"name": "trajectory", "column": "episode"}, scale=scale)
    step = normalise(unit=segment(1.0), key=["prompt", "turn"], scale=scale)
    forms = {"episode_adv": whole, "step_adv": step, "adv": combine(whole, step, weights=[1.0, p["omega"]])}
    found = {n: [v for row in credits(part, group_of(*made)) for v in row] for n, part in forms.items()}
    return {**found, "rows": [[t.id, k] for t in made for k in range(t.turns)]}


@runs("uis1_sop", method="ui-s1 sop")
def uis1_sop(case: Case) -> dict[str, Any]:
    """Progress and success on recorded episodes."""
    found = semi_online_scores(array(case["inputs"]["done"]).tolist(), array(case["inputs"]["length"]).tolist())
    return {"PG": found["progress"], "TSR": found["success"], "score": found["score"]}


@runs("ipa_chunk", method="ipa (rome)")
def ipa(case: Case) -> dict[str, Any]:
    """The discounted outcome per chunk; the geometric mean of a chunk's ratios."""
    given, gamma = case["inputs"], case["params"].get("gamma", 1.0)
    one = episode("a", [2] * int(given.get("n_chunks", 1)), float(given.get("final", 1.0)))
    weights = credits(returns(gamma, "turn"), group_of(one))[0][::2]
    gaps = array(given.get("ratio_in", [0.1, -0.2, 0.3]))
    logps = np.full(len(gaps), -1.0)
    batch = {"mask": [[1] * len(gaps)], "logp_new": [logps + gaps], "logp_rollout": [logps]}
    columns = batch_of({"inputs": {"batch": batch}})
    found = apply(
        chunk_ratio("rollout"), replace(columns.terms(), turn=torch.zeros(len(gaps), dtype=torch.long))
    ).log_ratio
    assert found is not None
    return {"weight": weights, "ratio": float(found[0].detach().exp()), "ratio_in": gaps.tolist()}


@runs("dcpo", method="memory-as-action dcpo")
def dcpo(case: Case) -> dict[str, Any]:
    """One advantage per trajectory on all of its segments."""
    given, p = case["inputs"]["groups"], case["params"]
    made = [episode(str(i), [1] * int(g["n_seg"]), float(g["R"])) for i, g in enumerate(given)]
    return {"seg_adv": credits(normalise(scale=std(p.get("ddof", 1), p.get("eps", 1e-6))), group_of(*made))}


@runs("polychromic", method="polychromic objective")
def polychromic(case: Case) -> dict[str, Any]:
    """Sets of trajectories by reward and diversity."""
    given, size = case["inputs"], int(case["params"]["set_size"])
    rewards = array(given["rewards"]).tolist()
    sets = list(combinations(range(len(rewards)), min(size, len(rewards))))
    found = score_sets(rewards, given["strategy_label"], sets)
    made = (
        episode(f"{i:04d}", [1], r, tags={"strategy": label})
        for i, (r, label) in enumerate(zip(rewards, given["strategy_label"], strict=True))
    )
    return {
        "sets": [list(s) for s in found.sets],
        "f": found.score.tolist(),
        "set_advantage": found.advantage.tolist(),
        "per_trajectory_mean_over_its_sets": firsts(credit_sets(size, of="strategy"), group_of(*made)),
    }


def _least(case: Case, name: str) -> list[float]:
    heads = [array(case["inputs"][f"{name}{k}"]) for k in (1, 2) if f"{name}{k}" in case["inputs"]]
    return np.min(heads, 0).tolist()


def _kept(gains: Sequence[float], bar: float) -> list[float]:
    return [float(g > bar) for g in gains]


@runs("digirl_step_weights", method="digirl")
def digirl(case: Case) -> dict[str, Any]:
    """Steps that raised the value, as released."""
    given = case["inputs"]
    reward, gamma = array(given["reward"]).tolist(), float(given.get("gamma", 0.5))
    gains = released_steps(reward, _least(case, "v"), _least(case, "next_v"), gamma)
    go = scan(reward, [0.0] * len(reward), 0.0, gamma, 1.0)
    return {"mc_return": go, "advantage": gains, "weight": _kept(gains, 0.0)}


@runs("digirl_step_advantage_paper")
def digirl_paper(case: Case) -> dict[str, Any]:
    """The paper's mixture, as recalled."""
    given = case["inputs"]
    reward, value, after = (array(given[name]).tolist() for name in ("reward", "v", "v_next"))
    gains = mixed_steps(reward, value, after, float(given["lam"]))
    return {"advantage": gains, "weight": _kept(gains, 1 / int(given["H"]))}


@runs("digirl_instruction_filter")
def digirl_filter(case: Case) -> dict[str, Any]:
    """Episodes that most exceed what was expected."""
    given = case["inputs"]
    share = float("".join(c for c in str(given["keep"]) if c.isdigit() or c == ".")) / 100
    gap, bar = surprise(array(given["episode_reward"]).tolist(), array(given["instruction_value"]).tolist(), share)
    return {"gap": gap, "cutoff": bar, "kept": [i for i, g in enumerate(gap) if g >= bar]}
