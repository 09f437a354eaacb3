"""Trust regions that mask: a token's update is left out where it leads away from the anchor and is too far already."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from quintain.objectives._rows import column, gap, held, leave_out, note
from quintain.objectives.ratio import needs_of
from quintain.parts import Objective, PartError, stateless
from quintain.registry import register, unknown
from quintain.types import Terms

LEAST = 1e-12  # the smallest probability of what is left over
BLOCK = 2048  # rows of top-k ids that are compared at once
LOWEST = -1e4  # nats: the logprob of what cannot happen


def binary_tv(new: torch.Tensor, anchor: torch.Tensor) -> torch.Tensor:
    """Total variation [N] of (sampled token, all others), from the token's logprobs [N]: `|pi - mu|`."""
    return (new.clamp(max=0).exp() - anchor.clamp(max=0).exp()).abs()


def binary_kl(new: torch.Tensor, anchor: torch.Tensor) -> torch.Tensor:
    """KL(mu || pi) in nats [N] of (sampled token, all others), from the token's logprobs [N]."""
    new, anchor = new.clamp(max=0), anchor.clamp(max=0)
    others, others_new = (-torch.expm1(one).clamp(max=-LEAST) for one in (anchor, new))
    return anchor.exp() * (anchor - new) + others * (others.log() - others_new.log())


def _rest(p: torch.Tensor) -> torch.Tensor:
    return (1 - p.sum(-1)).clamp(min=LEAST)


def topk_tv(new: torch.Tensor, anchor: torch.Tensor) -> torch.Tensor:
    """Total variation [N] of K ids and one bucket of all others, from logprobs [N, K]."""
    mu, pi = anchor.exp(), new.exp()
    others = (_rest(mu) - _rest(pi)).abs()
    return (mu.sub_(pi).abs_().sum(-1) + others) / 2


def topk_kl(new: torch.Tensor, anchor: torch.Tensor) -> torch.Tensor:
    """KL(mu || pi) in nats [N] of K ids and one bucket of all others, from logprobs [N, K]."""
    mu = anchor.exp()
    rest, rest_new = _rest(mu), _rest(new.exp())
    apart = (anchor - new).nan_to_num_(0.0, -LOWEST, LOWEST)  # infinite or undefined where a probability is 0
    return apart.mul_(mu).sum(-1) + rest * (rest.log() - rest_new.log())


DIVERGENCES: Mapping[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "binary_tv": binary_tv,
    "binary_kl": binary_kl,
    "topk_tv": topk_tv,
    "topk_kl": topk_kl,
}


def beyond(terms: Terms, anchor: str, low: float, high: float, part: str) -> torch.Tensor:
    """Rows [N] bool that PPO's clip holds: the ratio above `1 + high` and to rise, or below `1 - low` and to fall."""
    ratio, advantage = gap(terms, anchor, part).detach().exp(), held(terms, terms.advantage)
    return ((advantage > 0) & (ratio > 1 + high)) | ((advantage < 0) & (ratio < 1 - low))


def distance(terms: Terms, kind: str, anchor: str = "rollout") -> torch.Tensor:
    """How far the policy stands from the anchor at each row [N], >= 0 and a constant; 0 on rows that are left out.

    Raises:
        PartError: the learner did not supply what the kind reads.
    """
    if kind.startswith("binary"):
        base = column(terms, anchor, "mask_divergence")
        return DIVERGENCES[kind](held(terms, terms.new.detach()), held(terms, base.detach()))
    if not terms.topk:
        raise PartError(
            f"mask_divergence reads the columns 'topk', which these terms lack; supply what `needs` names, or set a "
            f"binary divergence in place of {kind}"
        )
    pieces = (terms.topk[name].detach().split(BLOCK) for name in ("new", "rollout"))  # small enough for the cache
    return held(terms, torch.cat([DIVERGENCES[kind](new, base) for new, base in zip(*pieces, strict=True)]))


@register("objective", "mask_divergence", paper="2602.04879", status="paper", confidence="code", on_policy="reinforce")
def mask_divergence(
    divergence: str = "binary_tv",
    low: float | None = None,
    high: float | None = None,
    anchor: str = "rollout",
    k: int = 20,
) -> Objective:
    """DPPO's trust region: leave a token out where its update leads away and the distribution has moved too far already.

    When to use: after `score` or `unclipped` on a ratio to the rollout policy, in place of a clip: rare tokens may move by large ratios,
    likely ones may not move by much mass.

    Maths: `weight_t *= M_t` [N], `M_t = 0` iff (`A_t > 0`, `new_t > anchor_t`, `D_t > high`) or (`A_t < 0`, `new_t < anchor_t`, `D_t >
    low`). With the probabilities mu of the anchor and pi of the policy: `binary_tv` `|pi - mu|` of the sampled token; `binary_kl` `mu
    log(mu/pi) + (1-mu) log((1-mu)/(1-pi))`; `topk_tv` and `topk_kl` half the L1 distance and KL(mu || pi) over the engine's k likeliest ids
    (the sampled one in place of the last if absent) and one bucket of all others. `binary <= topk <= full`. Direction is judged on the
    sampled token always.

    Args:
        divergence: D: `binary_tv`, `binary_kl`, `topk_tv` or `topk_kl`.
        low: threshold of tokens with negative advantage, >= 0; None is 0.15 for a TV and 0.05 for a KL.
        high: threshold of tokens with positive advantage, likewise.
        anchor: `rollout`, the policy that was really sampled from, cuts of top-p included; `old`, the learner's own before the step, is
            what the paper found to collapse, and works with the binary kinds only.
        k: ids of the top-k kinds, >= 1.

    Returns: A part of place `weight` that changes `weight` [N] and notes `region_masked`, the share of tokens left out, and `divergence`,
    the mean D.
    Special cases: a token exactly at the threshold stays; `A = 0` stays; masked rows have weight 1. Nothing pulls a token back that is
    outside.
    Example: `mask_divergence(divergence="topk_tv")`
    Reference: Qi et al., 2026, arXiv 2602.04879, read in the authors' code. Differs from the paper: exact logarithms near probability 1,
    where the code adds 1e-8.
    """
    kind, needs = divergence, needs_of(anchor, "mask_divergence")
    if kind not in DIVERGENCES:
        raise PartError(unknown("divergence of mask_divergence", kind, [*DIVERGENCES]))
    usual = 0.15 if kind.endswith("tv") else 0.05
    below, above = usual if low is None else low, usual if high is None else high
    if not (below >= 0 and above >= 0 and k >= 1):
        raise PartError(f"mask_divergence: low is {below}, high {above} and k {k}; they must be >= 0, >= 0 and >= 1")
    if kind.startswith("topk") and anchor != "rollout":
        raise PartError(
            f"mask_divergence: {kind} compares with the ids that the engine sent, so its anchor must be 'rollout'; for "
            f"anchor={anchor!r} set divergence=binary_{kind[5:]}"
        )

    def apply(terms: Terms) -> Terms:
        found = distance(terms, kind, anchor)
        advantage, new = held(terms, terms.advantage), terms.new.detach()
        base = column(terms, anchor, "mask_divergence").detach()
        up = (advantage > 0) & (new > base) & (found > above)
        out = up | ((advantage < 0) & (new < base) & (found > below))
        return note(leave_out(terms, out), region_masked=out, divergence=found)

    asked = (f"topk:{k}",) if kind.startswith("topk") else needs
    return stateless(apply, needs=asked, place="weight")


@register("objective", "replay_routes", paper="2512.01374", status="paper", confidence="note", on_policy="reinforce")
def replay_routes() -> Objective:
    """Routing replay: every pass of a step over a token runs the experts that the step's first weights chose for it (R2).

    When to use: a mixture of experts that takes several optimizer steps on one batch, where a changed choice of experts would move ratios
    more than the weights did.

    Maths: none of its own: the learner records the experts of every token before the first optimizer step and replays them in every pass
    that gives `new`; gates stay the router's softmax at those experts, and trainable.

    Returns: A part of place `weight` that changes nothing but what the learner does.
    Special cases: a batch whose stream `experts` [N, L, k] came with it, from the engine (R3), is replayed as it is; engines of this
    version do not send one.
    Example: `replay_routes()`
    Reference: Zheng et al., 2025, arXiv 2512.01374. Differs from the paper: of its two forms the learner's own (R2).
    """
    return stateless(lambda terms: terms, needs=("routes",), place="weight")


@register("objective", "mask_ratio", paper="2512.01374", status="paper", confidence="code", on_policy="reinforce")
def mask_ratio(low: float = 0.2, high: float = 0.27, anchor: str = "old") -> Objective:
    """PPO's clip as a mask on any surrogate: leave a token out where its ratio to the anchor is beyond a bound already.

    When to use: MiniRL, whose weight is the ratio to the rollout policy and whose region stands around `old`.

    Maths: with `r_t = exp(new_t - anchor_t)` [N], `weight_t *= 0` where `A_t > 0` and `r_t > 1 + high`, or `A_t < 0` and `r_t < 1 - low`.

    Args:
        low: bound below 1 for tokens with negative advantage, in [0, 1].
        high: bound above 1 for tokens with positive advantage, >= 0.
        anchor: `old` or `rollout`.

    Returns: A part of place `weight` that changes `weight` [N] and notes `region_masked`, the share of tokens left out.
    Special cases: `A = 0` stays; masked rows have weight 1.
    Example: `mask_ratio()`
    Reference: Zheng et al., 2025, arXiv 2512.01374, read as the baseline in Stable-RL. Differs from the paper: the upper bound is recalled,
    not checked.
    """
    needs = needs_of(anchor, "mask_ratio")
    if not (0 <= low <= 1 and high >= 0):
        raise PartError(f"mask_ratio: low is {low} and high is {high}; low must lie in [0, 1] and high must be >= 0")

    def apply(terms: Terms) -> Terms:
        out = beyond(terms, anchor, low, high, "mask_ratio")
        return note(leave_out(terms, out), region_masked=out)

    return stateless(apply, needs=needs, place="weight")
