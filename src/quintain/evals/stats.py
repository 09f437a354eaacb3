"""Scores of played groups: success with an interval, pass@k, rewards, stops."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from quintain.advantages.steps import GRADES, matched, semi_online_scores
from quintain.evals import objectives
from quintain.runtime.evaluate import succeeded
from quintain.types import Group

STEPS = "steps"  # column of a task: how many the recorded episode had


def interval(successes: float, trials: float, z: float = 1.96) -> tuple[float, float]:
    """The Wilson score interval of a share, which stays inside [0, 1] and holds for few trials.

    Args:
        successes: how many of `trials`.
        trials: n >= 0, whole or effective ones; 0 gives (0, 1).
        z: standard normal quantile; 1.96 is 95 %.

    Example:
        >>> tuple(round(x, 3) for x in interval(8, 10))
        (0.49, 0.943)
    """
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    middle = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    low, high = (middle - spread) / scale, (middle + spread) / scale
    return (low if share > 0 else 0.0), (high if share < 1 else 1.0)  # where both cancel, rounding would leave a rest


def effective(shares: Sequence[float], share: float, tries: int) -> float:
    """How many independent tries `tries` on some instances are worth: tries of one instance are alike.

    Args:
        shares: share of successes of each instance [n].
        share: of all tries.
        tries: of all instances together.

    Returns:
        share (1 - share) / variance of the mean over instances, within [n, tries].

    Example:
        >>> effective([1.0, 0.0, 1.0, 0.0], 0.5, 16), effective([0.5, 0.5, 0.5, 0.5], 0.5, 16)
        (4.0, 16.0)
    """
    n = len(shares)
    if n < 2 or tries == n or not 0 < share < 1:
        return float(n)
    variance = sum((s - share) ** 2 for s in shares) / (n - 1) / n
    return min(float(tries), max(float(n), share * (1 - share) / variance if variance else math.inf))


def pass_at(k: int, tries: int, successes: int) -> float:
    """The unbiased chance that k of `tries` attempts, drawn without return, hold a success: 1 - C(n-c, k) / C(n, k).

    Example:
        >>> pass_at(2, 4, 1)
        0.5

    Reference: Chen et al., 2021, arXiv 2107.03374.
    """
    return 1.0 - math.comb(tries - successes, k) / math.comb(tries, k)


def passes(tried: Sequence[tuple[int, int]]) -> dict[str, float]:
    """Mean pass@k over instances, for k = 1, 2, 4... up to the fewest tries of one, and these.

    Args:
        tried: tries and successes of each instance that was played.

    Example:
        >>> passes([(4, 1), (4, 4)])
        {'1': 0.625, '2': 0.75, '4': 1.0}
    """
    most = min((tries for tries, _ in tried), default=0)
    return {str(k): sum(pass_at(k, *one) for one in tried) / len(tried) for k in _powers(most)}


def told_passes(found: Mapping[str, float]) -> str:
    """What `passes` found, for people; "" of single tries."""
    return "   ".join(f"pass@{k} {v:.3f}" for k, v in found.items()) if len(found) > 1 else ""


def told_levels(found: Mapping[str, float]) -> str:
    """The success of each level, as a line for people."""
    return "  success by level: " + "   ".join(f"{level}: {won:.3f}" for level, won in found.items())


def summary(groups: Sequence[Group]) -> dict[str, Any]:
    """Everything that `quintain eval` prints, as JSON values.

    Where several levels are played, `levels` has the success at each. Where a game has several seats, each seat of an instance is tried by
    itself: k games are k attempts of each seat, and `pass` is the mean over seats; `seats` has the success of each. The interval counts
    games, as what one seat wins another loses.

    Returns:
        `instances`, `episodes` (games), `success`, `interval` (95 %; several tries of an instance count as many as they are worth),
        `reward` and its standard error over instances, `pass` (k -> pass@k), `turns`, `tokens`, `stops`, `malformed` (a turn).
        Where episodes are graded against recorded ones (tag `grades`), `recorded`: `progress`, `success` and their mean `score`;
        where several objectives were scalarised, `front` (see `objectives.reached`).
    """
    episodes = [t for g in groups for t in g.trajectories]
    n, by_seat = len(episodes), [_by_seat(g) for g in groups if g.trajectories]
    wins = [row for seats in by_seat for row in seats.values()]
    shares = [_share(g) for g in groups if g.trajectories]
    games = sum(_games(g) for g in groups)
    share = sum(map(sum, wins)) / max(1, n)
    worth = effective(shares, share, games)
    mean = sum(t.reward for t in episodes) / max(1, n)
    each = [sum(t.reward for t in g.trajectories) / len(g.trajectories) for g in groups if g.trajectories]
    spread = math.sqrt(sum((r - mean) ** 2 for r in each) / max(1, len(each) - 1) / max(1, len(each)))
    turns = sum(max(1, len(t.turn_rewards), t.turns) for t in episodes)
    return {
        "instances": len(by_seat),
        "episodes": games,
        "success": share,
        "interval": list(interval(share * worth, worth)),
        "reward": mean,
        "reward_error": spread,
        "pass": passes([(len(won), sum(won)) for won in wins]),
        "turns": turns / max(1, n),
        "tokens": sum(t.length for t in episodes) / max(1, n),
        "stops": {str(k): v / max(1, n) for k, v in Counter(t.stop for t in episodes).most_common()},
        "malformed": sum(e.startswith("malformed") for t in episodes for e in t.events) / max(1, turns),
        **_seats(by_seat),
        **_levels(groups),
        **_besides(groups),
    }


def shares(groups: Sequence[Group]) -> list[float | None]:
    """Of each instance the share of its episodes that succeeded; None where none was played."""
    return [_share(g) if g.trajectories else None for g in groups]


def paired(mine: Sequence[float | None], theirs: Sequence[float | None]) -> dict[str, Any]:
    """What a player gains over another on the same instances, each of which counts once; those that one of them did not play are left out.

    Args:
        mine: success of the player at each instance, 0 to 1; None where it did not play.
        theirs: the same of the other one, instance by instance.

    Returns:
        `instances` that both played, `difference` of their mean success, its 95 % `interval`, in how many the player did `better` and
        `worse`, and `p`, that of the two-sided sign test on these.

    Example:
        >>> paired([1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, None])["difference"]
        0.3333333333333333

    Reference: the interval is the adjusted Wald one of Agresti and Min, Statistics in Medicine, 2005: half a pair more each way.
    """
    gaps = [a - b for a, b in zip(mine, theirs, strict=True) if a is not None and b is not None]
    n, total, squares = len(gaps), sum(gaps), sum(gap * gap for gap in gaps)
    middle = total / (n + 2)
    spread = 1.96 * math.sqrt(squares + 1 - total * middle) / (n + 2)
    better, worse = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    tail = sum(math.comb(better + worse, i) for i in range(min(better, worse) + 1))
    return {
        "instances": n,
        "difference": total / max(1, n),
        "interval": [max(-1.0, middle - spread), min(1.0, middle + spread)],
        "better": better,
        "worse": worse,
        "p": min(1.0, 2 * tail / 2 ** (better + worse)),
    }


def compared(other: str, found: Mapping[str, Any]) -> str:
    """What `paired` found, for people; `success` is that of the `other` player."""
    low, high = found["interval"]
    return (
        f"over {other} (success {found['success']:.3f}): gained {found['difference']:+.3f}  "
        f"(95 % interval {low:+.3f} to {high:+.3f}; better in "
        f"{found['better']} of {found['instances']} instances, worse in {found['worse']}, sign test p {found['p']:.2g})"
    )


def _share(group: Group) -> float:
    return sum(succeeded(t.rewards, t.reward) for t in group.trajectories) / len(group.trajectories)


def _by_seat(group: Group) -> dict[str, list[bool]]:
    """Whether each attempt of each seat succeeded."""
    out: dict[str, list[bool]] = {}
    for t in group.trajectories:
        out.setdefault(t.agent, []).append(succeeded(t.rewards, t.reward))
    return out


def _games(group: Group) -> int:
    """How many were played: as often as any seat took part, or more where seats took part in games of their own."""
    seats = Counter(t.agent for t in group.trajectories)
    return max(len({t.episode for t in group.trajectories}), *seats.values(), 0)


def _seats(by_seat: Sequence[Mapping[str, list[bool]]]) -> dict[str, Any]:
    """The success of each seat, where games have several."""
    names = dict.fromkeys(name for seats in by_seat for name in seats)  # as the world has them
    rows = {name: [won for seats in by_seat for won in seats.get(name, ())] for name in names}
    return {"seats": {name: sum(won) / len(won) for name, won in rows.items()}} if len(rows) > 1 else {}


def _levels(groups: Sequence[Group]) -> dict[str, Any]:
    """The success at each level, where there are several."""
    rows: dict[int, list[bool]] = {}
    for group in groups:
        rows.setdefault(group.task.level, []).extend(succeeded(t.rewards, t.reward) for t in group.trajectories)
    shares = {str(level): sum(won) / len(won) for level, won in sorted(rows.items()) if won}
    return {"levels": shares} if len(shares) > 1 else {}


def _besides(groups: Sequence[Group]) -> dict[str, Any]:
    """What only some episodes have: grades against recorded ones, several objectives."""
    out: dict[str, Any] = {}
    graded = [(t, float(g.task.params.get(STEPS, 0))) for g in groups for t in g.trajectories if GRADES in t.tags]
    if graded:
        out["recorded"] = semi_online_scores(*zip(*(matched(t, steps) for t, steps in graded), strict=True))
    front = objectives.reached(groups)
    return out | ({"front": front} if front else {})


def _powers(tries: int) -> list[int]:
    """1, 2, 4, ... up to `tries`, and that itself."""
    return sorted({*(1 << i for i in range(tries.bit_length())), *([tries] if tries else [])})


def table(name: str, found: Mapping[str, Any]) -> str:
    """The summary as lines for people."""
    low, high = found["interval"]
    instances = f"{found['instances']} instance{'s' * (found['instances'] != 1)}"
    lines = [
        f"{name}: success {found['success']:.3f}  (95 % interval {low:.3f} to {high:.3f}; {instances})",
        f"  reward {found['reward']:.3f} +- {found['reward_error']:.3f}   turns {found['turns']:.1f}   "
        + f"tokens {found['tokens']:.1f}   " * bool(found["tokens"])
        + f"malformed turns {100 * found['malformed']:.1f} %",
    ]
    if told := told_passes(found["pass"]):
        lines.append(f"  {told}")
    if seats := found.get("seats"):
        told = "   ".join(f"{seat} {won:.3f}" for seat, won in seats.items())
        who = f"{rival} plays the others" if (rival := found.get("against")) else "the player plays all"
        lines.append(f"  success by seat: {told}   (each seat of a game is an attempt of its own; {who})")
    if levels := found.get("levels"):
        lines.append(told_levels(levels))
    lines.append("  stops: " + ", ".join(f"{k} {100 * v:.1f} %" for k, v in found["stops"].items()))
    if recorded := found.get("recorded"):
        lines.append("  on recorded episodes: " + ", ".join(f"{k} {v:.3f}" for k, v in recorded.items()))
    if front := found.get("front"):
        lines.append(f"  {objectives.told(front)}")
    return "\n".join(lines)


def relative_gain(before: float, after: float) -> float:
    """How much success grew as a share of what it was; NaN where there was none.

    Example:
        >>> relative_gain(0.25, 0.5)
        1.0
    """
    return (after - before) / before if before > 0 else math.nan


def generalisation(home: float, away: float, beta: float = 2.0) -> float:
    """Gains on tasks like the trained ones and on others as one figure: `(1 + b^2) home away / (b^2 home + away)`.

    Args:
        home: relative gain over the base model on tasks like the trained ones.
        away: the same on other tasks.
        beta: how much more the other tasks weigh, > 0.

    Returns:
        The figure; NaN where it has no meaning: a gain is negative, or both are 0.

    Example:
        >>> generalisation(0.1, 0.1)
        0.1

    Reference: Metis-SPECS.
    """
    below = beta**2 * home + away
    return (1 + beta**2) * home * away / below if min(home, away) >= 0 and below > 0 else math.nan


def outer_step(envs: float, horizon: int, minibatch: float, before: float) -> dict[str, float]:
    """What a step of PPO becomes when more environments play: more minibatches of the same size, at the same rate.

    Returns:
        `minibatches` of a step, `rate`, the factor of the learning rate, and `noise`, the deviation of the step's direction over that
        with `before` environments.

    Example:
        >>> outer_step(4096, 32, 8192, 1024)["noise"]
        0.5

    Reference: PPO at a million environments, from notes; others report a rate that grows with the root.
    """
    return {"minibatches": max(1, envs * horizon // minibatch), "rate": 1.0, "noise": math.sqrt(before / envs)}


def implicit_weights(p: float) -> dict[str, float]:
    """What objectives on binary rewards weigh a question of success rate p by: mean score of right answers, or a contrast.

    Returns:
        `rft` p, `grpo` sqrt(p / (1 - p)) (infinite at 1), both on the mean score of right answers; `grpo_contrast`
        sqrt(p (1 - p)) on right minus wrong; `forward_kl` 1.

    Example:
        >>> implicit_weights(0.5)["grpo"]
        1.0

    Reference: Variational reasoning, section on implicit weights.
    """
    odds = math.sqrt(p / (1 - p)) if p < 1 else math.inf
    return {"rft": p, "grpo": odds, "grpo_contrast": math.sqrt(p * (1 - p)), "forward_kl": 1.0}


def cliff(values: Sequence[float], moved: Sequence[float], temperature: float) -> dict[str, Any]:
    """How far the best choice and the softmax choice move when the values of the choices move a little.

    Args:
        values: one per choice.
        moved: the same, perturbed.
        temperature: of the softmax, > 0.

    Returns:
        `before` and `after`, the best choices (the first of equals); L1 changes `greedy_l1_jump` and
        `softmax_l1_change`; `bound_l1`, `2 max |change| / temperature`, which the latter never exceeds.

    Example:
        >>> cliff([1.0, 0.9], [0.9, 1.0], 1.0)["greedy_l1_jump"]
        2.0

    Reference: the policy cliff; the bound is ours.
    """
    sides = [values, moved]
    best = [max(range(len(side)), key=side.__getitem__) for side in sides]
    soft = []
    for side in sides:
        each = [math.exp((v - max(side)) / temperature) for v in side]
        soft.append([e / sum(each) for e in each])
    return {
        "before": best[0],
        "after": best[1],
        "greedy_l1_jump": 0.0 if best[0] == best[1] else 2.0,
        "softmax_l1_change": sum(abs(a - b) for a, b in zip(*soft, strict=True)),
        "bound_l1": 2 * max(abs(a - b) for a, b in zip(*sides, strict=True)) / temperature,
    }
