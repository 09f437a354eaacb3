"""How far the learner's policy stands from the one that sampled: sums that add up over micro-batches and ranks, and figures of them."""

from __future__ import annotations

from collections.abc import Mapping

import torch

LARGE = 300.0  # nats: what a float64 can still square and add
SHORT = 8  # tokens that a sequence counts as at least where one number may not stand for all
SUMS = ("rows", "mean", "k1", "kl", "weight", "square", "sequences", "whole", "whole_square", "perplexity")


def gap_sums(new: torch.Tensor, rollout: torch.Tensor, sequence: torch.Tensor) -> dict[str, float]:
    """Sums over tokens and over sequences of `log(new / rollout)`, of logprobs [N]; a sequence must lie in one piece."""
    gap = (new - rollout).double().clamp(-LARGE, LARGE)
    weight, at = gap.exp(), torch.unique(sequence, return_inverse=True)[1]
    count = torch.bincount(at)
    whole = gap.new_zeros(len(count)).index_add(0, at, gap)
    product, mean = whole.clamp(-LARGE, LARGE).exp(), (-whole / count).exp()
    figures = {"mean": gap.abs(), "k1": -gap, "kl": torch.expm1(gap) - gap, "weight": weight, "square": weight.square()}
    figures |= {"whole": product, "whole_square": product.square(), "perplexity": mean}
    return {
        "rows": float(len(gap)),
        "sequences": float(len(count)),
        **{name: float(values.sum()) for name, values in figures.items()},
    }


def widest_sequence(new: torch.Tensor, rollout: torch.Tensor, sequence: torch.Tensor) -> float:
    """How far the sequence lies apart that lies apart most, by logprobs [N]: `(sum sqrt|log(new / rollout)| / count)^2`, in nats.

    The root keeps one token at which the model is touchy, where rounding alone may move it a hundred times as far as others, from
    standing for its sequence; a sequence that another policy sampled differs at most of its tokens. Short sequences count
    as `SHORT` tokens.
    """
    root = (new - rollout).double().abs().clamp(max=LARGE).sqrt()
    at = torch.unique(sequence, return_inverse=True)[1]
    count = torch.bincount(at).clamp(min=SHORT)
    return float((root.new_zeros(len(count)).index_add(0, at, root) / count).square().max())


def gap_figures(sums: Mapping[str, float]) -> dict[str, float]:
    """Means in nats, chi-square, effective sample shares, and the ratio of perplexities.

    Returns:
        `mean` of |log-ratio|; `k1` and `kl` (k3) estimates of the engine's KL to the learner; `chi2` and `chi2_sequence`, the mean
        square of weights less 1; `ess` and `ess_sequence`, the share of tokens or sequences that still counts, 1 at best;
        `perplexity`, the learner's over the engine's, a mean over sequences.
    """
    rows, count = max(sums["rows"], 1.0), max(sums["sequences"], 1.0)
    some = float(sums["rows"] > 0)
    means = (("ess", "weight", "square", rows), ("ess_sequence", "whole", "whole_square", count))
    share = {name: sums[a] ** 2 / (n * sums[b]) if sums[b] else 1.0 for name, a, b, n in means}
    return {
        **{name: sums[name] / rows for name in ("mean", "k1", "kl")},
        "chi2": some * (sums["square"] / rows - 1),
        "chi2_sequence": some * (sums["whole_square"] / count - 1),
        **share,
        "perplexity": sums["perplexity"] / count if some else 1.0,
    }
