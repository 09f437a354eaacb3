"""Whether the members that win a race differ from those that lose it: differences within groups, with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from quintain.types import Group, Trajectory

ALPHA = 0.05  # share of healthy runs that are ever warned, over all quantities together
LEAST = 30  # groups compared before a warning: the interval is asymptotic
TIGHTEST = 200  # groups at which it is narrowest for its level
QUANTITIES = ("reward", "turns", "tokens")


def differences(winners: Group, losers: Group) -> dict[str, float]:
    """The mean of the winners minus that of the losers of one group."""

    def mean(ts: Sequence[Trajectory]) -> dict[str, float]:
        n = len(ts)
        sums = (sum(t.reward for t in ts), sum(t.turns for t in ts), sum(t.length for t in ts))
        return {name: total / n for name, total in zip(QUANTITIES, sums, strict=True)}

    won, lost = mean(winners.trajectories), mean(losers.trajectories)
    return {name: won[name] - lost[name] for name in QUANTITIES}


def interval(n: float, total: float, squares: float, alpha: float) -> tuple[float, float]:
    """A confidence sequence for the mean of n values: it holds at every n together, so it may be looked at after each step.

    Maths: `mean +- s sqrt(2 (n r + 1) / (n^2 r) log(sqrt(n r + 1) / alpha))`, s the standard deviation, r chosen so that it is
    narrowest at 200 values.

    Args:
        n: values, >= 1.
        total: their sum.
        squares: the sum of their squares.
        alpha: chance that it ever misses, in (0, 1).

    Special cases: equal values give an interval of no width.

    Example:
        >>> low, high = interval(100, 10.0, 26.0, 0.05)
        >>> round(low, 3), round(high, 3)
        (-0.054, 0.254)

    Reference: Waudby-Smith et al., 2021, arXiv 2103.06476.
    """
    mean = total / n
    spread = math.sqrt(max(0.0, squares / n - mean * mean))
    r = (-2 * math.log(alpha) + math.log(1 - 2 * math.log(alpha))) / TIGHTEST
    width = spread * math.sqrt(2 * (n * r + 1) / (n * n * r) * math.log(math.sqrt(n * r + 1) / alpha))
    return mean - width, mean + width


class BiasMeter:
    """Gathers the differences of a run, over all its steps."""

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}
        self.fresh: dict[str, float] = {}  # since the last step, on this rank
        self.told: set[str] = set()

    def compare(self, winners: Group, losers: Group | None) -> None:
        """Take in a group whose losers were played to their end."""
        if losers is None or not losers.trajectories or not winners.trajectories:
            return
        self.fresh["n"] = self.fresh.get("n", 0.0) + 1
        for name, value in differences(winners, losers).items():
            self.fresh[name] = self.fresh.get(name, 0.0) + value
            self.fresh[f"{name}^2"] = self.fresh.get(f"{name}^2", 0.0) + value * value

    def pending(self) -> dict[str, float]:
        """The sums since the last call, every name among them."""
        names = ("n", *QUANTITIES, *(f"{q}^2" for q in QUANTITIES))
        fresh, self.fresh = {n: self.fresh.get(n, 0.0) for n in names}, {}
        return fresh

    def add(self, sums: Mapping[str, float]) -> None:
        """Take in the sums of a step, of all ranks."""
        for name, value in sums.items():
            self.sums[name] = self.sums.get(name, 0.0) + value

    def row(self) -> dict[str, float]:
        """Groups compared, and the mean difference and interval of each quantity; {} before the first."""
        n = self.sums.get("n", 0.0)
        if not n:
            return {}
        out = {"bias/groups": n}
        for name in QUANTITIES:
            total, squares = self.sums[name], self.sums[f"{name}^2"]
            low, high = interval(n, total, squares, ALPHA / len(QUANTITIES))
            out |= {f"bias/{name}": total / n, f"bias/{name}_low": low, f"bias/{name}_high": high}
        return out

    def warning(self) -> str:
        """What to say when an interval excludes zero: once for each quantity, else ""."""
        row = self.row()
        if row.get("bias/groups", 0.0) < LEAST:
            return ""
        off = [q for q in QUANTITIES if not row[f"bias/{q}_low"] <= 0 <= row[f"bias/{q}_high"] and q not in self.told]
        self.told.update(off)
        words = [
            f"{q} by {row[f'bias/{q}']:+.4g} ({row[f'bias/{q}_low']:+.4g} to {row[f'bias/{q}_high']:+.4g})" for q in off
        ]
        return (
            f"redundancy is biased: members that win differ from those that lose in {', '.join(words)}, over "
            f"{row['bias/groups']:.0f} groups; set rollout.redundancy lower, or 0"
            if off
            else ""
        )

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"sums": dict(self.sums), "told": sorted(self.told)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to what `state` gave."""
        self.sums, self.told, self.fresh = dict(state["sums"]), set(state["told"]), {}
