"""Surrogates: the per-token policy term that is minimised; its coefficient d loss / d logp_new is the method."""

from __future__ import annotations

from dataclasses import replace

import torch

from quintain.objectives._rows import column, held, note, only, sloped
from quintain.parts import Objective, PartError, stateless
from quintain.registry import register
from quintain.types import Terms


@register("objective", "policy_gradient", status="paper", confidence="paper", on_policy="reinforce")
def policy_gradient() -> Objective:
    """The plain score-function term: raise the logprob of a token in proportion to its advantage.

    When to use: on-policy data, one optimizer step per batch, no trust region.

    Maths: `loss_t = -A_t new_t` [N]; coefficient `-A_t`. The value of the loss means nothing; its gradient does.

    Returns: A part of place `surrogate` that sets `loss` [N].
    Special cases: masked rows give 0; a ratio set before it is not read.
    Example: `policy_gradient()`
    Reference: Williams, 1992, Simple statistical gradient-following algorithms. Differs from the paper: nothing.
    """

    def apply(terms: Terms) -> Terms:
        return replace(terms, loss=-held(terms, terms.advantage) * held(terms, terms.new))

    return stateless(apply, place="surrogate")


def bounded(gap: torch.Tensor, advantage: torch.Tensor, low: float, high: float) -> tuple[torch.Tensor, torch.Tensor]:
    """PPO's clipped term [N] of the log-ratio `gap` [N] with bounds of the ratio, and the rows [N] bool whose bound acts."""
    ratio = gap.detach().exp()
    kept = torch.where(advantage > 0, ratio.clamp(max=high), ratio.clamp(min=low))
    value = -advantage * kept
    slope = only(kept == ratio, value)
    return sloped(gap, value, slope), slope != value


@register("objective", "clip", paper="1707.06347", status="paper", confidence="code", on_policy="reinforce")
def clip(low: float = 0.2, high: float = 0.2) -> Objective:
    """PPO's clipped surrogate with a bound of its own on either side.

    When to use: the default trust region; `high > low` (0.28) leaves rare tokens room to grow.

    Maths: with `r_t = exp(log_ratio_t)` [N], `loss_t = -min(r_t A_t, clip(r_t, 1 - low, 1 + high) A_t)` [N]. Coefficient `-r_t A_t`, and 0
    where the bound acts: `A_t > 0` and `r_t > 1 + high`, or `A_t < 0` and `r_t < 1 - low`.

    Args:
        low: how far below 1 the ratio of a token with negative advantage still moves it, in [0, 1].
        high: how far above 1 the ratio of a token with positive advantage still moves it, >= 0.

    Returns: A part of place `surrogate` that sets `loss` [N] and the metric `clipped`, the share of tokens whose bound acts.
    Special cases: `A = 0` and masked rows give 0. A negative advantage has no upper bound: see `dual_clip`.
    Example: `clip(low=0.2, high=0.28)`
    Reference: Schulman et al., 2017, arXiv 1707.06347. Differs from the paper: two bounds (DAPO, arXiv 2503.14476).
    """
    if not 0 <= low <= 1 or not high >= 0:
        raise PartError(f"clip: low is {low} and high is {high}; low must lie in [0, 1] and high must be >= 0")

    def apply(terms: Terms) -> Terms:
        gap = column(terms, "log_ratio", "clip")
        loss, acted = bounded(gap, held(terms, terms.advantage), 1 - low, 1 + high)
        return note(replace(terms, loss=loss), clipped=acted)

    return stateless(apply, place="surrogate")


@register(
    "objective",
    "dual_clip",
    methods={
        "Dual clip": {
            "recipe": ("algorithm=rift",),
            "cases": ("ppo_clip_old_0.2_0.28_1.1",),
            "shown": "tests/unit/objectives/test_objectives.py::test_the_dual_clip_stops_what_ran_away",
        }
    },
    paper="1912.09729",
    status="paper",
    confidence="code",
    on_policy="reinforce",
    after="clip",
)
def dual_clip(cap: float = 3.0) -> Objective:
    """Bound the loss of tokens with negative advantage whose ratio ran away upwards.

    When to use: after `clip`, when data are stale or the engine differs from the learner, so that ratios can be huge.

    Maths: where `A_t < 0`: `loss_t <- min(loss_t, -cap A_t)` [N]; the coefficient is 0 where the cap acts (`r_t > cap`).

    Args:
        cap: the largest ratio that a token with negative advantage may have, > 1.

    Returns: A part of place `surrogate` that changes `loss` [N] and notes `dual_clipped`, the share of tokens whose cap acts.
    Special cases: with `cap` above every ratio this changes nothing.
    Example: `dual_clip(cap=3.0)`
    Reference: Ye et al., 2019, arXiv 1912.09729 (read in code). Differs from the paper: nothing known.
    """
    if not cap > 1:
        raise PartError(f"dual_clip: cap is {cap}; it must be > 1")

    def apply(terms: Terms) -> Terms:
        advantage = held(terms, terms.advantage)
        loss = column(terms, "loss", "dual_clip")
        acts = (advantage < 0) & (loss > -cap * advantage)
        return note(replace(terms, loss=torch.where(acts, -cap * advantage, loss)), dual_clipped=acts)

    return stateless(apply, place="surrogate")


@register(
    "objective",
    "unclipped",
    methods={
        "Unclipped surrogate": {
            "recipe": ('\'algorithm.objective=[{name="token_ratio",anchor="rollout"},"unclipped","token_mean"]\'',),
            "shown": "tests/unit/objectives/test_objectives.py::test_the_anchor_is_the_one_that_was_named",
        }
    },
    paper="1502.05477",
    status="paper",
    confidence="paper",
    on_policy="reinforce",
)
def unclipped() -> Objective:
    """The ratio surrogate without a bound of its own.

    When to use: after a ratio part that bounds the ratio itself, or before a weight part that masks.

    Maths: `loss_t = -r_t A_t` [N], `r_t = exp(log_ratio_t)`; coefficient `-r_t A_t` for a token's own ratio.

    Returns: A part of place `surrogate` that sets `loss` [N].
    Special cases: masked rows give 0; where the ratio part holds the ratio constant the coefficient is 0.
    Example: `unclipped()`
    Reference: Schulman et al., 2015, arXiv 1502.05477 (its surrogate). Differs from the paper: no constraint here.
    """

    def apply(terms: Terms) -> Terms:
        ratio = column(terms, "log_ratio", "unclipped").exp()
        return replace(terms, loss=-held(terms, terms.advantage) * ratio)

    return stateless(apply, place="surrogate")


@register("objective", "score", paper="2506.13585", status="paper", confidence="code", on_policy="reinforce")
def score(floor: float = 0.0, cap: float = 20.0) -> Objective:
    """The score-function term with the ratio, held within bounds, as a constant weight: no token loses its gradient.

    When to use: CISPO (`cap=1.2`), and under every part that masks tokens by a rule of its own (DPPO, MiniRL).

    Maths: `loss_t = -w_t A_t new_t` [N] with the constant `w_t = clip(exp(log_ratio_t), floor, cap)`; coefficient `-w_t A_t`, also where a
    bound acts.

    Args:
        floor: the smallest weight, >= 0; 0 is none.
        cap: the largest weight, >= floor. DPPO's 20 hardly ever acts; one near 1 truncates importance sampling.

    Returns: A part of place `surrogate` that sets `loss` [N] and the metric `capped`, the share of tokens whose bound acts.
    Special cases: `A = 0` and masked rows give 0. The value of the loss means nothing; its gradient does.
    Example: `score(cap=1.2)`
    Reference: MiniMax, 2025, arXiv 2506.13585. Differs from the paper: the bounds are of the weight itself, so its `eps_low` is `1 - floor`
    and its `eps_high` is `cap - 1`.
    """
    if not (0 <= floor <= cap and cap > 0):
        raise PartError(f"score: floor is {floor} and cap is {cap}; they must satisfy 0 <= floor <= cap, 0 < cap")

    def apply(terms: Terms) -> Terms:
        ratio = column(terms, "log_ratio", "score").detach().exp()
        weight = ratio.clamp(floor, cap)
        loss = -weight * held(terms, terms.advantage) * held(terms, terms.new)
        return note(replace(terms, loss=loss), capped=held(terms, weight != ratio))

    return stateless(apply, place="surrogate")


@register("objective", "soft_gate", paper="2511.20347", status="paper", confidence="code", on_policy="reinforce")
def soft_gate(positive: float = 1.0, negative: float = 1.05) -> Objective:
    """SAPO's surrogate: a sigmoid of the ratio in place of a hard bound, so that far tokens fade and do not vanish.

    When to use: when clipping throws too much away, or lets single tokens decide.

    Maths: `loss_t = -4 / tau sigmoid(tau (r_t - 1)) A_t` [N], `tau` being `positive` for `A_t > 0` and `negative` else. Coefficient `-4 s
    (1 - s) r_t A_t` with the sigmoid `s`; `-A_t` at `r_t = 1`.

    Args:
        positive: how fast tokens with positive advantage fade, > 0.
        negative: the same for negative advantage; larger than `positive`, as those updates spread over the vocabulary.

    Returns: A part of place `surrogate` that sets `loss` [N] and the metric `faded`, the mean of 1 - 4 s (1 - s).
    Special cases: `A = 0` and masked rows give 0; the coefficient tends to 0 on both sides.
    Example: `soft_gate()`
    Reference: Gao et al., 2025, arXiv 2511.20347. Differs from the paper: nothing known (read in verl's loss).
    """
    if not (positive > 0 and negative > 0):
        raise PartError(f"soft_gate: positive is {positive} and negative is {negative}; both must be > 0")

    def apply(terms: Terms) -> Terms:
        advantage = held(terms, terms.advantage)
        rate = torch.where(advantage > 0, positive, negative).to(advantage.dtype)
        gap = column(terms, "log_ratio", "soft_gate")
        ratio = gap.detach().exp()
        open_ = torch.sigmoid(rate * (ratio - 1))
        kept = 4 * open_ * (1 - open_)
        loss = sloped(gap, -4 / rate * open_ * advantage, -kept * ratio * advantage)
        return note(replace(terms, loss=loss), faded=held(terms, 1 - kept))

    return stateless(apply, place="surrogate")
