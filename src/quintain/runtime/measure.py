"""What is measured of a step besides the learner's own metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quintain.types import Group, Stop


def played(groups: Sequence[Group], trained: Sequence[Group], version: int) -> dict[str, float]:
    """Sums and means over the groups of one step: reward, success, lag, turns, tokens, stops.

    Args:
        groups: what was played since the last step, also what a gate dropped.
        trained: what the step trained on; the lag is theirs.
        version: the policy version at consumption.
    """
    episodes = [t for g in groups for t in g.trajectories]
    n = max(1, len(episodes))
    lags = [version - g.oldest for g in trained]
    context = sum(len(node.tokens) for t in episodes for node in t.nodes)
    out = {
        "reward": sum(t.reward for t in episodes) / n,
        "success": sum(t.rewards.get("success", t.reward) >= 1.0 for t in episodes) / n,
        "solved_some": sum(any(r >= 1.0 for r in g.rewards) for g in groups) / max(1, len(groups)),
        "episodes": float(len(episodes)),
        "groups_played": float(len(groups)),
        "groups_trained": float(len(trained)),
        "turns": sum(t.turns for t in episodes) / n,
        "tokens_sampled": float(sum(t.length for t in episodes)),
        "tokens_context": float(context),
        "lag_mean": sum(lags) / max(1, len(lags)),
        "lag_max": float(max(lags, default=0)),
        "malformed": sum(e.startswith("malformed") for t in episodes for e in t.events) / n,
    }
    for stop in Stop:
        if count := sum(t.stop is stop for t in episodes):
            out[f"stop/{stop}"] = count / n

    return out


def timing(laps: Mapping[str, float], of: Mapping[str, float]) -> dict[str, float]:
    """Seconds by phase and tokens per second of one step."""
    total = sum(laps.values())
    rates = {"seconds": total, "tokens_per_second": of.get("tokens_context", 0.0) / total if total else 0.0}
    return {f"seconds/{name}": seconds for name, seconds in laps.items()} | rates
