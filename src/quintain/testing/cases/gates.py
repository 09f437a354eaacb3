"""Cases of gates and of what chooses inside a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quintain.advantages import normalise, std
from quintain.gates import replay_success
from quintain.gates.replay import stored_form
from quintain.gates.select import (
    ramp,
    recomposed,
    relative_odds,
    sharpened,
    token_scores,
    top_tokens,
    up,
    widest,
)
from quintain.testing.cases.columns import array
from quintain.testing.cases.episodes import episode, firsts, group_of, scored
from quintain.testing.cases.table import Case, runs
from quintain.types import Group, Span, Trajectory


@runs("d3s_sample", method="d3s")
def d3s_samples(case: Case) -> dict[str, Any]:
    """The widest set, and the top tokens of the kept."""
    given = case["inputs"]
    advantage = array(given["advantages"])
    keep = given["keep_samples"]
    kept = widest(advantage.tolist(), int(keep) if keep >= 1 else up(keep, len(advantage)))
    entropies = [list(map(float, row)) for row in given["entropies_of_kept"]]
    scores = [token_scores([float(advantage[i])] * len(row), row) for i, row in zip(kept, entropies, strict=True)]
    return {
        "kept": kept,
        "variance": float(np.var(advantage[kept])) if kept else 0.0,
        "all_variance": float(np.var(advantage)) if len(advantage) else 0.0,
        "token_scores": scores,
        "kept_tokens": [list(at) for at in top_tokens(scores, given["keep_tokens"])],
    }


@runs("d3s_schedule")
def d3s_schedule(case: Case) -> dict[str, Any]:
    """Shares in a line over the training."""
    given = case["inputs"]
    return {"N_and_K": [[ramp(given["N"], p), ramp(given["K"], p)] for p in given["progress"]]}


@runs("rorecomp_split", method="rorecomp")
def rorecomp(case: Case) -> dict[str, Any]:
    """Priority and compensation, by id."""
    given = case["inputs"]
    items = [list(map(float, item)) for item in given["items"]]
    first, rest = recomposed([i[1] > 0 for i in items], [i[2] for i in items], given["keep"])
    return {name: [int(items[i][0]) for i in at] for name, at in (("priority", first), ("compensation", rest))}


@runs("xrpo_novelty")
def xrpo_novelty(case: Case) -> dict[str, Any]:
    """Credit of rare right answers."""
    given = case["inputs"]
    advantage = firsts(normalise(scale=std(0, 0.0)), scored(array(given["correct"]).tolist()))
    eta = relative_odds(array(given["mean_token_logprob"]).tolist())
    each = zip(advantage, eta, given["correct"], strict=True)
    how = (given.get("lam_novelty", 2.5), given.get("kappa_clip", 0.5))
    return {"advantage": advantage, "eta": eta, "sharpened": [sharpened(a, e, *how) if c else a for a, e, c in each]}


@runs("arpo_gui_replay", method="arpo-gui")
def arpo_gui(case: Case) -> dict[str, Any]:
    """The first of an all-failed group makes room for a stored success."""
    given, p = case["inputs"], case["params"]
    group = scored(array(given["rewards"]).tolist())
    stored = [stored_form(episode(f"stored{i}", [1], float(r))) for i, r in enumerate(given["buffer"])]
    gate = replay_success(mean_max=p.get("mean_max", 0.2), std_max=p.get("std_max", 0.05), count=int(p.get("n", 1)))
    (out,), _ = gate.apply((group,), {group.task.key: stored})
    rewards = [t.reward for t in out.trajectories]
    return {"rewards": rewards, "adv": firsts(normalise(), out), "replaced": out is not group}


@runs("dart_success_pool_swap", method="dart")
def dart(case: Case) -> dict[str, Any]:
    """The oldest failure makes room for the newest success; without one the task is dropped."""
    given = case["inputs"]
    members = [_played(str(i), int(at), float(r)) for i, (at, r) in enumerate(given["group"])]
    pool = sorted(given["pool_success_ids"], key=lambda i: (i == given["newest"], i))
    stored = [stored_form(_played(str(i), 0, 1.0)) for i in pool]
    gate = replay_success("oldest", drop=True)

    def passed(runs_: Sequence[Trajectory], store: list[Any]) -> tuple[Group, ...]:
        return gate.apply((group_of(*runs_),), {"task": store})[0]

    names = {str(i): int(at) for i, (at, _) in enumerate(given["group"])}
    out = [t for g in passed(members, stored) for t in g.trajectories]
    ids = [int(t.id) if t.tags.get("replayed") else names[t.id] for t in out]
    right = [replace(t, rewards={"score": 1.0}) for t in members]
    verdict = {True: "kept", False: "task dropped"}
    return {
        "group_ids": ids,
        "rewards": [t.reward for t in out],
        "if_pool_empty": verdict[bool(passed(members, []))],
        "if_group_all_right": verdict[bool(passed(right, stored))],
    }


def _played(name: str, at: int, reward: float) -> Trajectory:
    """An episode of the policy version `at`."""
    one = episode(name, [1], reward)
    nodes = tuple(replace(n, spans=(Span(start=0, stop=1, version=at),)) if n.spans else n for n in one.nodes)
    return replace(one, nodes=nodes)
