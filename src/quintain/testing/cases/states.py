"""Cases of credit by states, histories and transitions."""

from __future__ import annotations

from itertools import chain as join
from typing import Any

from quintain.advantages import combine, compare_histories, credited, normalise, pool, std, turn
from quintain.advantages.keys import transition
from quintain.parts import chain
from quintain.testing.cases.columns import array
from quintain.testing.cases.episodes import credited as credits
from quintain.testing.cases.episodes import episode, group_of
from quintain.testing.cases.table import Case, runs
from quintain.types import Group


def visits(case: Case) -> Group:
    """Episodes with a reward and a state per turn."""
    made = []
    for i, one in enumerate(case["inputs"]["trajs"]):
        earned, states = array(one["rewards"]).tolist(), tuple(map(str, one["states"]))
        made.append(episode(str(i), [1] * len(earned), sum(earned), turn_rewards=tuple(earned), digests=states))
    return group_of(*made)


def _scale(case: Case, default: int = 1) -> Any:
    p = case["params"]
    return "none" if p.get("mode") == "mean_norm" else std(p.get("ddof", default), p.get("eps", 1e-6))


@runs("gigpo", method="gigpo")
def gigpo(case: Case) -> dict[str, Any]:
    """The episode against its group, and each step against those from the same state."""
    p, group, scale = case["params"], visits(case), _scale(case)
    unit = turn(outcome=True) if p.get("episode_stats_over_steps") else "trajectory"
    whole = normalise(unit=unit, scale=scale)
    step = normalise(unit=turn(p.get("gamma", 0.95)), key=["prompt", "state"], scale=scale)
    go = normalise(unit=turn(p.get("gamma", 0.95)), baseline="none", scale="none")
    forms = {
        "step_return": go,
        "episode_adv": whole,
        "step_adv": step,
        "adv": combine(whole, step, weights=[1.0, p.get("w", 1.0)]),
    }
    return {name: list(join.from_iterable(credits(part, group))) for name, part in forms.items()}


@runs("hgpo", method="hgpo")
def hgpo(case: Case) -> dict[str, Any]:
    """Steps against those that share ever more of their history."""
    p = case["params"]
    part = compare_histories(
        p.get("history", 2), p.get("alpha", 1.0), p.get("gamma", 0.95), _scale(case, 0), p.get("eps", 1e-6)
    )
    return {"adv": credits(part, visits(case))}


@runs("salt", method="salt")
def salt(case: Case) -> dict[str, Any]:
    """Equal transitions of a group share their advantage."""
    given, p = case["inputs"], case["params"]
    made = []
    for i, (one, value) in enumerate(zip(given["trajs"], array(given["traj_adv"]).tolist(), strict=True)):
        states, actions = tuple(map(str, one["states"])), tuple(map(str, one["actions"]))
        seen = {"digests": states[:-1], "next_digests": states[1:], "actions": actions}
        made.append(episode(str(i), [1] * len(actions), value, **seen))
    taken = normalise(baseline="none", scale="none")
    part = chain(taken, pool(credited("turn"), ["prompt", transition(p.get("history", 0))]))
    return {"step_adv": credits(part, group_of(*made))}
