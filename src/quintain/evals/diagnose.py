"""What the record of a run says about its training: the entropy law, noise of steps, ties of rewards, who was trained on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from quintain.evals import objectives
from quintain.evals.stats import cliff, implicit_weights, outer_step
from quintain.ledger import RunDir
from quintain.runtime.evaluate import succeeded
from quintain.types import Group, Trajectory

LEAST = 10  # steps, groups or trajectories on a side below which nothing is said
HOLDS = 0.5  # share of the variance from which on the entropy law is taken at its word
SHAKE = 0.01  # how far rewards are moved to see whether the best answer changes
COOL = 0.1  # temperature of the softmax choice beside the best one


def entropy_law(entropies: Sequence[float], rewards: Sequence[float]) -> dict[str, float]:
    """Fit how reward was bought with entropy over a run, by least squares.

    Use it to see how much reward is left before a policy has no entropy to spend.

    Maths: `R = -a e^H + b`; at `H = 0` it is `b - a`.

    Args:
        entropies: nats a token, one per step.
        rewards: mean of each step.

    Returns:
        `a`, `b`, `ceiling` (`b - a`) and `explained`, the share of the reward's variance that the law takes up (R^2).

    Special cases: NaN everywhere where fewer than two entropies differ; `explained` is NaN where rewards are all equal.

    Example:
        >>> law = entropy_law([0.0, 1.0], [0.5, 0.5 - 0.1 * (2.718281828 - 1)])
        >>> round(law["a"], 6), round(law["ceiling"], 6)
        (0.1, 0.5)

    Reference: The Entropy Mechanism of RL for Reasoning LMs, arXiv 2505.22617.
    """
    x, y = np.exp(np.asarray(entropies, float)), np.asarray(rewards, float)
    if len(x) < 2 or np.ptp(x) == 0:
        return dict.fromkeys(("a", "b", "ceiling", "explained"), math.nan)
    across, up = x - x.mean(), y - y.mean()
    slope = float(across @ up / (across @ across))
    left = up - slope * across
    total = float(up @ up)
    b = float(y.mean() - slope * x.mean())
    return {
        "a": -slope,
        "b": b,
        "ceiling": b + slope,
        "explained": 1 - float(left @ left) / total if total else math.nan,
    }


def step_noise(cosines: Sequence[float]) -> float:
    """How much of a step's gradient is noise, as variance over the square of what successive steps share.

    Use it when a run stands still: far above 1, more groups a step (or a smaller rate) help; far below, larger steps may.

    Maths: `1 / mean cos - 1`. With independent noise of equal size, `E[g g'] = |G|^2` and `E|g|^2 = |G|^2 + tr S`; times the groups
    of a step it is the simple noise scale, in groups.

    Args:
        cosines: of each step's gradient with that of the step before, `grad_cosine` in the metrics.

    Special cases: infinite where steps share nothing (a mean cosine of 0 or below, also where steps overshoot); NaN for none.

    Example:
        >>> step_noise([0.5, 0.5])
        1.0

    Reference: McCandlish et al., 2018, arXiv 1812.06162, section 2.2 (the noise scale); from successive steps: ours.
    """
    if not len(cosines):
        return math.nan
    mean = float(np.mean(cosines))
    return 1 / mean - 1 if mean > 0 else math.inf


def reward_cliffs(groups: Sequence[Group], shake: float = SHAKE, temperature: float = COOL) -> dict[str, float]:
    """How often several different answers share the best reward, so that a hair decides which of them is the optimum.

    Args:
        groups: with rewards; those of a single answer count as not tied.
        shake: how far the reward of one of the best answers is moved, > 0.
        temperature: of the softmax choice that is compared.

    Returns:
        `ties`, the share of groups whose best reward comes of more than one answer; `greedy` and `softmax`, the mean L1 change of
        the best and of the softmax choice over a group's answers, 2 at most, when the last of the best answers is paid `shake`
        more.

    Special cases: NaN for no group.

    Reference: the policy cliff, arXiv 2507.20150; the probe is ours.
    """
    jumps = [_shaken(group, shake, temperature) for group in groups if group.trajectories]
    names = ("ties", "greedy", "softmax")
    if not jumps:
        return dict.fromkeys(names, math.nan)
    return dict(zip(names, np.mean(jumps, axis=0).tolist(), strict=True))


def _shaken(group: Group, shake: float, temperature: float) -> tuple[float, float, float]:
    """Whether a group is tied, and how far the choices move. An answer's value is the mean of its members' rewards."""
    paid: dict[tuple[object, ...], list[float]] = {}
    for t in group.trajectories:
        said = tuple(t.actions) or tuple(token for node in t.nodes if node.logprobs for token in node.tokens)
        paid.setdefault(said, []).append(t.reward)
    values = [sum(p) / len(p) for p in paid.values()]
    best = [i for i, v in enumerate(values) if v == max(values)]
    moved = [v + shake * (i == best[-1]) for i, v in enumerate(values)]
    seen = cliff(values, moved, temperature)
    return float(len(best) > 1), seen["greedy_l1_jump"], seen["softmax_l1_change"]


def survivorship(
    groups: Sequence[Group], trained: AbstractSet[int], dropped: AbstractSet[int]
) -> dict[str, dict[str, float]]:
    """What was trained on against what was played and thrown away.

    Args:
        groups: of a run, as far as it recorded them.
        trained: tickets that a step trained on.
        dropped: tickets that were played for nothing: too old, or refused by a gate.

    Returns:
        `trained` and `dropped`, each with `trajectories` and the means of `reward`, `turns` and `tokens` over them (NaN for none).
    """
    sides = {"trained": trained, "dropped": dropped - trained}
    return {
        name: _means([t for g in groups if g.ticket in side for t in g.trajectories]) for name, side in sides.items()
    }


def _means(found: Sequence[Trajectory]) -> dict[str, float]:
    columns = {
        "reward": [t.reward for t in found],
        "turns": [t.turns for t in found],
        "tokens": [t.length for t in found],
    }
    means = {name: float(np.mean(values)) if values else math.nan for name, values in columns.items()}
    return {"trajectories": float(len(found)), **means}


def hard_weight(groups: Sequence[Group]) -> dict[str, float]:
    """How much of the pull on a policy comes from the questions that it mostly fails, by what weighs them.

    Use it to see whether a change of the objective would turn training towards hard questions, or away from them.

    Returns:
        Over the groups of success rate p, 0 < p < 1: `played`, the share with p < 1/2; and their share of the weight by `rft`
        (imitating right answers, p), by `grpo` (its advantages, `sqrt(p (1 - p))` on right minus wrong) and by `grpo_mean` (without
        the division by the deviation, `p (1 - p)`). NaN for no such group.

    Example:
        >>> hard_weight([])["played"]
        nan

    Reference: variational reasoning, 2025, arXiv 2509.22637, on what binary rewards weigh; `grpo_mean`: ours.
    """
    wins = [[succeeded(t.rewards, t.reward) for t in g.trajectories] for g in groups if g.trajectories]
    rates = [p for p in (sum(w) / len(w) for w in wins) if 0 < p < 1]
    found = [implicit_weights(p) for p in rates]
    columns = {
        "played": [w["forward_kl"] for w in found],
        "rft": [w["rft"] for w in found],
        "grpo": [w["grpo_contrast"] for w in found],
        "grpo_mean": [w["grpo_contrast"] ** 2 for w in found],
    }
    hard = [p < 0.5 for p in rates]
    return {
        name: sum(w for w, h in zip(weights, hard, strict=True) if h) / sum(weights) if weights else math.nan
        for name, weights in columns.items()
    }


def _noise(cosines: Sequence[float], groups: float) -> str:
    mean, error = float(np.mean(cosines)), float(np.std(cosines, ddof=1)) / math.sqrt(len(cosines))
    told = f"gradients of successive steps have a mean cosine of {mean:.2f} +- {error:.2f}"
    if mean <= 2 * error:
        return f"{told}: they share nothing that is seen above the noise of {round(groups, 1):g} groups an update"
    scale = step_noise(cosines) * groups
    said = f"{told}: a noise scale of {scale:,.0f} groups at {round(groups, 1):g} an update"
    if scale < 2 * groups:
        return said
    more = outer_step(scale, 1, groups, groups)
    return f"{said}; {more['minibatches']:.0f} updates of that size a step, at the same rate, leave {more['noise']:.2f} of the noise"


def findings(
    store: RunDir, series: Mapping[str, Sequence[float]], groups_an_update: float
) -> Iterator[tuple[str, str]]:
    """What can be said of a run, as (name, sentence); nothing of what has too little behind it.

    Args:
        store: the run.
        series: `entropy` and `reward` of the same steps, and `grad_cosine`.
        groups_an_update: trained at once, on average; NaN where nothing can be said of its noise.
    """
    if len(series["entropy"]) >= LEAST:
        law = entropy_law(series["entropy"], series["reward"])
        share = f"reward = {-law['a']:.3g} e^H + {law['b']:.3g} takes up {100 * law['explained']:.0f} % of its variance over steps"
        if law["explained"] >= HOLDS:
            yield "Entropy law", f"{share}; without entropy it would be {law['ceiling']:.2f}"
        elif math.isfinite(law["explained"]):
            yield "Entropy law", f"{share}: it does not hold here"
    if len(series["grad_cosine"]) >= LEAST and math.isfinite(groups_an_update):
        yield "Noise of a step", _noise(series["grad_cosine"], groups_an_update)
    groups = list(store.groups())
    if len(groups) >= LEAST:
        seen = reward_cliffs(groups)
        yield (
            "Ties of rewards",
            f"in {100 * seen['ties']:.0f} % of {len(groups):,} recorded groups different answers share the best reward; "
            f"{SHAKE:g} more for one of them moves the best choice by {seen['greedy']:.2f} "
            f"and a softmax choice by {seen['softmax']:.2f} of 2 (L1)",
        )
        mixed = [g for g in groups if len({succeeded(t.rewards, t.reward) for t in g.trajectories}) == 2]
        if len(mixed) >= LEAST:
            hard = {name: f"{100 * share:.0f} %" for name, share in hard_weight(mixed).items()}
            yield (
                "Weight of hard questions",
                f"{hard['played']} of {len(mixed):,} recorded groups with both outcomes fail more often than not: they have "
                f"{hard['grpo']} of the weight with advantages over the deviation, {hard['grpo_mean']} without, "
                f"{hard['rft']} if right answers were imitated",
            )
        if (front := objectives.reached(groups)) is not None:
            yield "Objectives", objectives.told(front)
    trained = {ticket for event in store.events(["trained"]) for ticket in event.payload["tickets"]}
    dropped = {event.payload["ticket"] for event in store.events(["dropped"])}
    sides = survivorship(groups, trained, dropped)
    if min(side["trajectories"] for side in sides.values()) >= LEAST:
        told = [
            f"{name} {side['reward']:.2f} reward, {side['turns']:.1f} turns, {side['tokens']:.0f} tokens "
            f"({side['trajectories']:,.0f} recorded trajectories)"
            for name, side in sides.items()
        ]
        yield "Trained and thrown away", "; ".join(told)
