"""Cases of advantages, gates and shaping: the first ones, on which the others stand."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain as join
from typing import Any

import numpy as np

from quintain.advantages import charge_kl, gae, mean, normalise, returns, shape_overlong, std, turn, whiten
from quintain.gates import zero_variance
from quintain.parts import chain
from quintain.testing.cases.columns import array, batch_of
from quintain.testing.cases.episodes import (
    by_group,
    by_reward,
    credited,
    drawn,
    episode,
    firsts,
    group_of,
    groups_of,
    on_mask,
    scored,
)
from quintain.testing.cases.policy import clipped_values
from quintain.testing.cases.table import Case, runs
from quintain.types import Node, Stop


@runs("adv_grpo", method="grpo / dr.grpo / rloo / lite ppo")
def adv_grpo(case: Case) -> dict[str, Any]:
    """One advantage per trajectory, by five rules."""
    eps, columns = case["params"]["eps"], batch_of(case)
    forms = {
        "grpo_sample_std": normalise(scale=std(1, eps)),
        "grpo_population_std": normalise(scale=std(0, eps)),
        "dr_grpo": normalise(scale="none"),
        "rloo": normalise(baseline="leave_one_out", scale="none"),
        "lite_ppo_batch_std_ddof1": normalise(scale=std(1, eps, "batch")),
    }
    return {name: by_reward(part, columns) for name, part in forms.items()}


@runs("adv_reinforce_pp", method="reinforce++")
def adv_reinforce_pp(case: Case) -> dict[str, Any]:
    """The KL in the reward, returns to go, whitening over the step."""
    p, columns = case["params"], batch_of(case)
    groups, order = groups_of(columns), by_group(columns)
    charged, _ = charge_kl(p["kl_coef"]).apply(groups, None)
    go, _ = returns(p["gamma"]).apply(charged, None)
    plus = chain(charge_kl(p["kl_coef"]), returns(p["gamma"]), whiten(p["whiten_eps"]))
    based = chain(normalise(scale="none"), whiten(p["whiten_eps"]))
    paid = [drawn(t, "token_reward") for g in charged for t in g.trajectories]
    for row, i in zip(paid, order, strict=True):
        if row:
            row[-1] += float(columns.rewards[i])
    return {
        "token_reward": on_mask(columns, paid, order),
        "returns": on_mask(columns, [drawn(t, "return") for g in go for t in g.trajectories], order),
        "reinforce_pp": on_mask(columns, credited(plus, *groups), order),
        "reinforce_pp_baseline": on_mask(columns, credited(based, *groups), order),
    }


@runs("grpo", method="grpo")
def grpo(case: Case) -> dict[str, Any]:
    """The group rule with its options."""
    p, group = case["params"], scored(array(case["inputs"]["rewards"]).tolist())
    scale = std(p.get("ddof", 1), p.get("eps", 0.0)) if p.get("use_std", True) else "none"
    out = {"adv": firsts(normalise(baseline=mean("raw" if p.get("single") == "raw" else "zero"), scale=scale), group)}
    return {**out, "adv_safe": firsts(normalise(scale=scale), group)}


@runs("rloo", method="rloo")
def rloo(case: Case) -> dict[str, Any]:
    """Each against the mean of the others."""
    rewards = array(case["inputs"]["rewards"])
    found = firsts(normalise(baseline="leave_one_out", scale="none"), scored(rewards.tolist()))
    count = len(rewards)
    identity = count / max(count - 1, 1) * np.array(firsts(normalise(scale="none"), scored(rewards.tolist())))
    return {"adv": found, "identity": identity.tolist()}


@runs("gae_value", method="ppo critic")
def gae_value(case: Case) -> dict[str, Any]:
    """Generalised advantages over tokens, and the clipped value loss."""
    given, p = case["inputs"], case["params"]
    rewards, values = array(given["rewards"]), array(given["values"])
    one = episode("a", [len(values)], float(rewards.sum()))
    one = one.with_stream("value", ((9.0, 9.0), tuple(values.tolist())))
    if rewards[:-1].any():
        early = tuple(np.where(np.arange(len(rewards)) < len(rewards) - 1, rewards, 0.0).tolist())
        one = episode("a", [len(values)], float(rewards[-1])).with_stream("token_reward", ((0.0, 0.0), early))
        one = one.with_stream("value", ((9.0, 9.0), tuple(values.tolist())))
    (out,), _ = gae(p["gamma"], p["lam"]).apply((group_of(one),), None)
    loss = clipped_values(array(given["vpred"]), array(given["v_old"]), array(given["ret"]), p["clip_v"])
    return {
        "gae": drawn(out.trajectories[0], "advantage"),
        "returns": drawn(out.trajectories[0], "return"),
        "value_loss": loss,
    }


@runs("token_gae_masked", method="gae skipping observation tokens")
def token_gae(case: Case) -> dict[str, Any]:
    """Observations neither discount nor decay; the reward sits on the last action token."""
    given, p = case["inputs"], case["params"]
    mask, value, reward = array(given["mask"]).astype(bool), array(given["value"]), array(given["reward"])
    at = np.flatnonzero(mask)
    spans = [s for s in np.split(at, np.flatnonzero(np.diff(at) > 1) + 1) if len(s)]
    one = episode("a", [len(s) for s in spans])
    for name, column in (("value", value), ("token_reward", reward)):
        rows: list[tuple[float, ...]] = [(9.0, 9.0)]
        for s in spans:
            rows += [tuple(column[s].tolist()), (77.0,)]
        one = one.with_stream(name, tuple(rows[: len(one.nodes)]))
    adv = np.zeros(len(mask))
    adv[at] = credited(gae(p["gamma"], p["lam"]), group_of(one))[0]
    return {"adv": adv.tolist()}


@runs("turn_gae", method="turn-level gae")
def turn_gae(case: Case) -> dict[str, Any]:
    """Generalised advantages over turns."""
    given, p = case["inputs"], case["params"]
    rewards, values = array(given["turn_reward"]), array(given["turn_value"])
    after = float(array(given.get("v_after", 0.0)))
    adv, target = _turns(rewards, values, [2] * len(values), p, after)
    delta = rewards + p["gamma"] * np.append(values[1:], after) - values
    return {"adv": [row[0] for row in adv], "target": [row[0] for row in target], "delta": delta.tolist()}


def _turns(
    rewards: np.ndarray, values: np.ndarray, sizes: list[int], p: Any, after: float = 0.0
) -> tuple[list[list[float]], list[list[float]]]:
    one = episode("a", sizes, float(rewards.sum()), turn_rewards=tuple(rewards.tolist()))
    seen = Node.given(len(one.nodes) - 1, (3,))  # what the policy read last: the end is worth what it is worth there
    one = replace(one, nodes=(*one.nodes, seen), stop=Stop.truncated_turns)
    rows: list[tuple[float, ...]] = [(0.0, 0.0)]
    for n, v in zip(sizes, values.tolist(), strict=True):
        rows += [(v, *[77.0] * (n - 1)), (55.0,)]
    rows[-1] = (after,)
    part = gae(p["gamma"], p["lam"], "turn", bootstrap=True)
    (out,), _ = part.apply((group_of(one.with_stream("value", tuple(rows))),), None)
    ends = np.cumsum(sizes)[:-1]
    adv, target = (np.split(np.array(drawn(out.trajectories[0], n)), ends) for n in ("advantage", "return"))
    return [a.tolist() for a in adv], [t.tolist() for t in target]


@runs("vl_dac", method="vl-dac")
def vl_dac(case: Case) -> dict[str, Any]:
    """Turn-level GAE on every token of its turn; the value is fitted once a turn."""
    given, p = case["inputs"], case["params"]
    sizes = [int(n) for n in array(given["tokens_per_step"])]
    values = array(given["step_values"])
    adv, target = _turns(array(given["step_rewards"]), values, sizes, p)
    targets = [row[0] for row in target]
    return {
        "step_gae": [row[0] for row in adv],
        "token_advantage": [v for row in adv for v in row],
        "value_targets": targets,
        "value_loss_terms": len(values),
        "policy_loss_terms": sum(sizes),
    }


@runs("dr_mas", method="dr. mas")
def dr_mas(case: Case) -> dict[str, Any]:
    """Prompt and agent as the key."""
    given, p = case["inputs"], case["params"]
    prompts = list(dict.fromkeys(given["prompt"]))
    scores, order, groups = array(given["scores"]), list[int](), []
    for ticket, prompt in enumerate(prompts):
        at = [i for i, name in enumerate(given["prompt"]) if name == prompt]
        groups.append(scored(scores[at].tolist(), ticket, agent=[given["agent"][i] for i in at]))
        order += at
    scale, back = std(p["ddof"], p["eps"]), np.argsort(order)
    forms = {"adv": normalise(key=["prompt", "agent"], scale=scale), "shared": normalise(scale=scale)}
    return {name: np.array(firsts(part, *groups))[back].tolist() for name, part in forms.items()}


@runs("flow_grpo", method="agentflow flow-grpo")
def flow_grpo(case: Case) -> dict[str, Any]:
    """Statistics over trajectories, or over their turns."""
    scale, given = std(case["params"]["ddof"], case["params"]["eps"]), case["inputs"]
    made = zip(given["turns"], array(given["outcome"]).tolist(), strict=True)
    group = group_of(*(episode(str(i), [1] * int(n), r) for i, (n, r) in enumerate(made)))
    rows = credited(normalise(unit="turn", scale=scale), group)
    return {
        "over_trajectories": firsts(normalise(scale=scale), group),
        "over_turn_rows": list(join.from_iterable(rows)),
    }


@runs("adalign_group_baseline", method="advantage alignment group baseline")
def adalign_baseline(case: Case) -> dict[str, Any]:
    """Leave one out at each round."""
    made = []
    for i, row in enumerate(array(case["inputs"]["returns"]).tolist()):
        earned = [a - b for a, b in zip(row, [*row[1:], 0.0], strict=True)]
        made.append(episode(str(i), [1] * len(row), sum(earned), turn_rewards=tuple(earned)))
    part = normalise(unit=turn(), key=["prompt", "turn"], baseline="leave_one_out", scale="none")
    return {"adv": credited(part, group_of(*made))}


@runs("dapo_overlong", method="dapo overlong shaping")
def dapo_overlong(case: Case) -> dict[str, Any]:
    """The penalty of answers that come near the limit."""
    p, given = case["params"], case["inputs"]
    lengths = [int(n) for n in array(given.get("length", given.get("lengths")))]
    limit, buffer = p.get("L_max", p.get("l_max")), p.get("L_cache", p.get("cache"))
    group = group_of(*(episode(str(n), [n]) for n in lengths))

    def shaped(floor: bool) -> list[float]:
        (out,), _ = shape_overlong(limit, buffer, p.get("factor", 1.0), floor=floor).apply((group,), None)
        return [t.rewards["overlong"] for t in out.trajectories]

    return {"paper": shaped(True), "penalty": shaped(True), "unclamped_linear": shaped(False)}


@runs("dapo_dynamic_sampling", method="dapo")
def dynamic_sampling(case: Case) -> dict[str, Any]:
    """Groups of equal rewards are dropped."""
    groups = [scored(array(row).tolist()) for row in case["inputs"]["group_accuracy_rows"]]
    return {"keep": [bool(zero_variance().apply((g,), None)[0]) for g in groups]}
