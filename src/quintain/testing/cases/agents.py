"""Cases of credit between agents and in trees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from quintain.advantages import align_calls, align_opponents, credit_tree, normalise, pay_calls, share_prefixes, turn
from quintain.advantages.agents import opponent_weights
from quintain.advantages.trees import LEAVES, tree_values
from quintain.parts import chain
from quintain.rollouts.forks import branch_probability, returned_entropy
from quintain.testing.cases.columns import array
from quintain.testing.cases.episodes import credited as credits
from quintain.testing.cases.episodes import episode, group_of
from quintain.testing.cases.table import Case, runs
from quintain.types import Completion, Node, Span, Stop, Trajectory

TAKEN = {"baseline": "none", "scale": "none"}  # a value as it is


@runs("m_grpo_sub_reward", method="m-grpo")
def sub_reward(case: Case) -> dict[str, Any]:
    """What a called agent is paid."""
    given, paid = case["inputs"], []
    for main, fine in zip(array(given["main_reward"]).tolist(), given["sub_format_ok"], strict=True):
        called = episode("sub", [1], call_parent="main", events=() if fine else ("malformed",))
        (out,), _ = pay_calls().apply((group_of(episode("main", [1], main), called),), None)
        paid.append(out.trajectories[1].reward)
    return {"sub_reward": paid}


@runs("m_grpo_alignment")
def alignment(case: Case) -> dict[str, Any]:
    """Calls dropped or repeated to a fixed number."""
    counts, places = [int(n) for n in array(case["inputs"]["sub_calls"])], int(case["params"]["d_max"])
    made: list[Trajectory] = []
    for i, n in enumerate(counts):
        made.append(episode(f"m{i}", [1], float(i)))
        made += [episode(f"m{i}.{k}", [1], float(k), call_parent=f"m{i}") for k in range(n)]
    part = chain(normalise(key=["prompt", "agent"]), align_calls(places))
    (out,), _ = part.apply((group_of(*made),), part.init())
    found: dict[str, list[float]] = {f"m{i}": [] for i in range(len(counts))}
    for t in out.trajectories:
        if t.call_parent:
            found[t.call_parent].append(t.streams["weight.rl"][1][0])
    fits = [sum(w > 0 for w in found[f"m{i}"]) == min(n, places) for i, n in enumerate(counts)]
    return {"lengths": [int(sum(w)) for w in found.values()], "subset_ok": fits}


@runs("adalign_past", "adalign_inclusive", method="advantage alignment")
def adalign(case: Case) -> dict[str, Any]:
    """One's own past gains times the other's present one."""
    given, p = case["inputs"], case["params"]
    own, other = array(given["a_self"]), array(given["a_other"])
    options = {"inclusive": bool(p.get("inclusive")), "mean": bool(p.get("time_reg"))}
    made = []
    for i, pair in enumerate(zip(own.tolist(), other.tolist(), strict=True)):
        for seat, row in zip(("one", "two"), pair, strict=True):
            gains = tuple(a - b for a, b in zip(row, [*row[1:], 0.0], strict=True))
            made.append(episode(f"{i}.{seat}", [1] * len(row), row[0], turn_rewards=gains, episode=i, agent=seat))
    taken = normalise(unit=turn(), **TAKEN)

    def found(discount: bool) -> list[list[float]]:
        part = chain(taken, align_opponents(p["beta"], p["gamma"], **options, discount=discount))
        return credits(part, group_of(*made))[::2]

    weights = [opponent_weights(row, p["gamma"], **options) for row in own.tolist()]
    return {"weight": weights, "credit": found(False), "discounted": found(True)}


def _tree(parents: list[int], outcomes: dict[int, float]) -> Trajectory:
    """A tree of one-token messages below a prompt."""
    nodes = []
    for parent in parents:
        if parent < 0:
            nodes.append(Node.given(None, (1, 2)))
            continue
        said = Completion(tokens=(5,), logprobs=(-0.5,), finish="stop", spans=(Span(start=0, stop=1, version=0),))
        nodes.append(Node.sampled(parent, said, turn=len(nodes)))
    bare = Trajectory(id="tree", nodes=tuple(nodes), stop=Stop.done)
    return replace(bare, tags={LEAVES: [outcomes[leaf] for leaf in bare.leaves]})


@runs("tree_mc_credit", method="treeps-rag / treerl")
def tree(case: Case) -> dict[str, Any]:
    """Nodes by the mean outcome of the leaves below them."""
    parents = [int(p) for p in array(case["inputs"]["parent"])]
    outcomes = {int(k): float(v) for k, v in case["inputs"]["leaf_reward"].items()}
    values, one = tree_values(parents, outcomes), _tree(parents, outcomes)

    def found(rule: str) -> list[float]:
        (out,), _ = credit_tree(rule).apply((group_of(one),), None)
        return [row[0] for row in out.trajectories[0].streams["advantage"]]

    local = found("local")
    return {
        "value": values.value.tolist(),
        "n_leaves": values.leaves.tolist(),
        "global_adv": found("global"),
        "local_adv": local,
        "local_only": local,
        "reward": found("both"),
    }


@runs("arpo_branch_prob", method="arpo (agentic)")
def branch(case: Case) -> dict[str, Any]:
    """The chance to fork by the rise of the entropy."""
    if "shared_by" in case["inputs"]:
        return attribution(case)
    given, p = case["inputs"], case["params"]
    pairs = zip(array(given["h_now"]).tolist(), array(given["h_init"]).tolist(), strict=True)
    chances = [branch_probability(now, start, p.get("base_prob", 0.5), p.get("weight", 0.2)) for now, start in pairs]
    return {"entropy": returned_entropy(array(given["top_logprobs"]).tolist()), "p_branch": chances}


@runs("arpo_hard_attribution")
def attribution(case: Case) -> dict[str, Any]:
    """What several branches share gets their mean."""
    values = array(case["inputs"]["traj_adv"]).tolist()
    shared = [[int(i) for i in row] for row in case["inputs"]["shared_by"]]
    made = []
    for i, (value, members) in enumerate(zip(values, shared, strict=True)):
        fork = (str(min(members)), 1, 0) if i != min(members) else None
        made.append(episode(str(i), [1, 1], value, fork=fork))
    rows = credits(chain(normalise(**TAKEN), share_prefixes()), group_of(*made))
    first = next((row[0] for row, members in zip(rows, shared, strict=True) if len(members) > 1), float("nan"))
    prefixes = np.array([row[0] for row in rows])
    return {"own": [row[1] for row in rows], "shared_prefix_adv": float(first), "prefixes": prefixes.tolist()}
