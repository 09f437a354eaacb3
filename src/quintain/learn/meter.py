"""What an update measures, over micro-batches, minibatches and ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import torch

from quintain.learn.mismatch import SUMS, gap_figures, gap_sums, widest_sequence
from quintain.learn.ranks import Ranks
from quintain.types import Terms

OUTCOMES = ("loss", "entropy")
EDGES = (0.5, 0.8, 1.25, 2.0)  # of the ratio new / rollout
BINS = ("under_0.5", "under_0.8", "near", "over_1.25", "over_2")


class Meter:
    """Collects the figures of one update; every rank gets the same ones, times and memory apart."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self._sums: dict[str, float] = defaultdict(float)  # weighted by the tokens of their optimizer step
        self._counts = dict.fromkeys(("tokens", "sequences", "groups", "updates", "skipped"), 0.0)
        self._seconds = dict.fromkeys(("forward", "backward", "optimizer"), 0.0)
        self._gap = dict.fromkeys(SUMS, 0.0)
        self._widest = {"max": 0.0, "probability": 0.0, "sequence": 0.0}
        self._cosines: list[float] = []
        self._comparing = True
        self._ratios = {"ratio": torch.zeros(len(BINS)), "moved": torch.zeros(len(BINS))}

    @torch.no_grad()
    def compare(self, terms: Terms) -> None:
        """Engine against learner on the policy's tokens, while the weights are still those that sampled them."""
        rows = terms.weights["rl"] != 0
        if not self._comparing or not bool(rows.any()):
            return
        new, rollout = (column[rows].double() for column in (terms.new, terms.rollout))
        for name, value in gap_sums(new, rollout, terms.sequence[rows]).items():
            self._gap[name] += value
        wide = {
            "max": float((new - rollout).abs().max()),
            "probability": float((new.exp() - rollout.exp()).abs().max()),
            "sequence": widest_sequence(new, rollout, terms.sequence[rows]),
        }
        self._widest = {name: max(self._widest[name], gap) for name, gap in wide.items()}

    @torch.no_grad()
    def region(self, terms: Terms) -> None:
        """After a backward pass: how many of the policy's tokens have which ratio, and how many of those still moved the policy."""
        rows = terms.weights["rl"] != 0
        gap = (terms.new - terms.rollout)[rows].double()
        at = torch.bucketize(gap, torch.tensor(EDGES, dtype=torch.float64, device=gap.device).log())
        slope = torch.zeros_like(terms.new) if terms.new.grad is None else terms.new.grad
        for name, chosen in (("ratio", at), ("moved", at[slope[rows] != 0])):
            self._ratios[name] += torch.bincount(chosen, minlength=len(BINS)).cpu()

    def time(self, **seconds: float) -> None:
        """Add to `forward`, `backward` or `optimizer`."""
        for name, value in seconds.items():
            self._seconds[name] += value

    def closed(self) -> None:
        """The first minibatch is over: what comes next is no longer the policy that sampled."""
        self._comparing = False

    def skipped(self) -> None:
        """One optimizer step was not taken."""
        self._counts["skipped"] += 1

    def turned(self, cosine: float | None) -> None:
        """How a step's gradient lies to that of the step before; None where there is none."""
        if cosine is not None:
            self._cosines.append(cosine)

    def stepped(self, figures: Mapping[str, float], totals: Mapping[str, float]) -> None:
        """One optimizer step was taken, with `figures` and counts that hold for all ranks."""
        for name, value in figures.items():
            self._sums[name] += value * totals["tokens"]
        for name in ("tokens", "sequences", "groups"):
            self._counts[name] += totals[name]
        self._counts["updates"] += 1

    def result(self) -> dict[str, float]:
        """The figures of the update."""
        gap, widest = gap_figures(self._ranks.sums(self._gap)), self._ranks.largest(self._widest)
        mismatch = {f"mismatch_{name}": value for name, value in {**gap, **widest}.items()}
        ratios = self._ranks.sums(self._ratios)
        whole = max(float(ratios["ratio"].sum()), 1.0)
        shares = {f"{n}_{b}": v / whole for n, r in ratios.items() for b, v in zip(BINS, r.tolist(), strict=True)}
        tokens = max(self._counts["tokens"], 1.0)
        means = {name: value / tokens for name, value in self._sums.items()}
        seconds = {f"seconds_{name}": value for name, value in self._seconds.items()}
        return {
            **dict.fromkeys((*OUTCOMES, "grad_norm"), 0.0),
            **means,
            **({"grad_cosine": sum(self._cosines) / len(self._cosines)} if self._cosines else {}),
            **self._counts,
            **mismatch,
            **shares,
            **seconds,
        }
