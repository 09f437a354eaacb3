"""Regularisers: per-token terms beside the policy term, in `terms.extra`, which no off-policy weight scales."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from quintain.objectives._rows import LIMIT, add_extra, column, held, note, only, reach, sloped, stream
from quintain.parts import Objective, PartError, stateless
from quintain.registry import register, unknown
from quintain.types import Terms


def _k3(distance: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    bounded = distance.clamp(min=-reach(distance, LIMIT))
    less = torch.expm1(-bounded)
    return less + bounded - less * (distance - bounded), -less


# estimator -> value and derivative at the distance
KINDS: dict[str, Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]] = {
    "k1": lambda distance: (distance, torch.ones_like(distance)),
    "k2": lambda distance: (distance.square() / 2, distance),
    "k3": _k3,
}


def estimate(terms: Terms, to: str, part: str, name: str, estimator: str = "k3", gradient: str = "own") -> torch.Tensor:
    """The divergence from the logprobs `to` at each token [N], with the gradient of an estimator; 0 where `name` reads nothing."""
    distance = held(terms, terms.new.detach() - column(terms, to, part).detach(), name)
    value, slope = KINDS[estimator](distance)
    slope = slope if gradient == "own" else KINDS[gradient](distance)[1]
    return sloped(terms.new, value, held(terms, slope, name))


@register("objective", "penalise_kl", paper="2402.03300", status="paper", confidence="code", example={"coef": 0.1})
def penalise_kl(coef: float = 0.001, estimator: str = "k3", to: str = "ref", gradient: str = "own") -> Objective:
    """Keep the policy near another one by an estimate of their KL divergence on the sampled tokens.

    When to use: long runs that drift away from the starting model. `gradient="k2"` is the correct gradient of the reverse KL.

    Maths: `d_t = new_t - to_t`, `extra_t += coef kl_t k(d_t)` [N], `kl` the weight stream of that name, with `k1 = d`, `k2 = d^2 / 2`, `k3
    = exp(-d) + d - 1`. Coefficients on `new`: 1, `d`, `1 - exp(-d)`. As a loss, k1 has expected gradient 0 on-policy, k2 has that of the
    reverse KL, k3 is a biased one that is close to it near `d = 0`.

    Args:
        coef: strength, >= 0; papers use 0.001 to 0.04.
        estimator: `k1`, `k2` or `k3`: the value that is reported and, with `gradient="own"`, differentiated.
        to: `ref`, the reference policy; `old` or `rollout`, the policy before the step.
        gradient: `own`, or the estimator whose gradient is used in place of the value's own (`k2`: the "k3+" form).

    Returns: A part of place `regulariser` that notes `kl`, the mean value.
    Special cases: below `d = -20` (-690 in float64), where `exp(-d)` would overflow, `k3` goes on as a straight line; masked rows give 0.
    Example: `penalise_kl(coef=0.001)`
    Reference: Shao et al., 2024, arXiv 2402.03300; the estimators are J. Schulman's. Differs from the paper: that line.
    """
    for what, name, known in (
        ("estimator", estimator, [*KINDS]),
        ("target", to, ["ref", "old", "rollout"]),
        ("gradient", gradient, ["own", *KINDS]),
    ):
        if name not in known:
            raise PartError(unknown(f"{what} of penalise_kl", name, known))
    if not coef >= 0:
        raise PartError(f"penalise_kl: coef is {coef}; it must be >= 0")

    def apply(terms: Terms) -> Terms:
        value = estimate(terms, to, "penalise_kl", "kl", estimator, gradient)
        return add_extra(note(terms, kl=value), coef * stream(terms, "kl") * value)

    return stateless(apply, needs=() if to == "rollout" else (to,), place="regulariser")


@register(
    "objective",
    "reward_entropy",
    methods={
        "Entropy bonus": {
            "recipe": ("algorithm=grpo", "algorithm.options.entropy=0.01"),
            "shown": "tests/unit/objectives/test_objectives.py::test_the_entropy_bonus_raises_entropy",
        }
    },
    paper="1602.01783",
    status="paper",
    confidence="code",
)
def reward_entropy(coef: float = 0.01) -> Objective:
    """Pay the policy for entropy, so that it keeps exploring.

    When to use: small models and short episodes, where the policy would become certain too early.

    Maths: `extra_t -= coef rl_t H_t` [N], `H_t` the entropy in nats of the whole next-token distribution, with gradient.

    Args:
        coef: strength per nat, any sign; 0.01 is common.

    Returns: A part of place `regulariser`.
    Special cases: masked rows give 0. The coefficient on `new` is 0: the gradient flows through `entropy`.
    Example: `reward_entropy()`
    Reference: Mnih et al., 2016, arXiv 1602.01783. Differs from the paper: nothing.
    """

    def apply(terms: Terms) -> Terms:
        entropy = held(terms, column(terms, "entropy", "reward_entropy"))
        return add_extra(terms, -coef * stream(terms, "rl") * entropy)

    return stateless(apply, needs=("entropy",), place="regulariser")


@register("objective", "fit_values", paper="1707.06347", status="paper", confidence="code")
def fit_values(coef: float = 1.0, clip: float = 0.2, huber: float = math.inf, twin: bool = False) -> Objective:
    """Fit the value head to the returns, with PPO's bound on how far a value may move.

    When to use: with `gae` advantages, which write the stream `return`.

    Maths: `extra_t += coef rl_t / 2 max((v_t - R_t)^2, (clip(v_t, v_old_t +- clip) - R_t)^2)` [N], `v` the value head now, `v_old` before
    the step, `R` the return.

    Args:
        coef: strength, >= 0.
        clip: bound of the move in units of return, >= 0; `inf` takes the bound away.
        huber: beyond this error the loss grows linearly, > 0.
        twin: ask for a head of two critics, whose soft minimum is the value (SAFE).

    Returns: A part of place `regulariser` that notes `value_loss`.
    Special cases: masked rows give 0. The coefficient on `new` is 0: the gradient flows through `value`.
    Example: `fit_values()`
    Reference: Schulman et al., 2017, arXiv 1707.06347. Differs from the paper: the bound is its authors' code, not the text.
    """
    if not (coef >= 0 and clip >= 0 and huber > 0):
        raise PartError(
            f"fit_values: coef is {coef}, clip is {clip} and huber {huber}; the first two must be >= 0, huber > 0"
        )

    def size(error: torch.Tensor) -> torch.Tensor:
        inside = error.clamp(-huber, huber)
        return inside * (error - inside / 2)

    def apply(terms: Terms) -> Terms:
        names = ("value", "old_value", "returns")
        value, old, goal = (held(terms, column(terms, n, "fit_values").detach()) for n in names)
        moved = value - old
        bounded = moved.clamp(-clip, clip)
        far, near = value - goal, old + bounded - goal
        one, two = size(far), size(near)
        free = (one >= two) | (bounded == moved)  # elsewhere the bound acts and counts, so that nothing flows back
        slope = held(terms, only(free, far.clamp(-huber, huber)))
        loss = sloped(column(terms, "value", "fit_values"), torch.maximum(one, two), slope)
        return add_extra(note(terms, value_loss=loss), coef * stream(terms, "rl") * loss)

    return stateless(apply, needs=("values", *(["twin_values"] if twin else [])), place="regulariser")


@register(
    "objective",
    "ce",
    status="paper",
    confidence="code",
)
def ce(coef: float = 1.0) -> Objective:
    """Cross entropy on the tokens of the `ce` stream: imitation, alone or beside RL in one batch.

    When to use: the supervised warm start (`chain(ce(), token_mean())`), or an anchor of demonstrations in an RL batch.

    Maths: `extra_t -= coef ce_t new_t` [N], `ce` the weight stream of that name. Coefficient `-coef ce_t`.

    Args:
        coef: strength, >= 0.

    Returns: A part of place `regulariser` that notes `ce`, the negative log-likelihood in nats over all trained tokens of the step.
    Special cases: rows without `ce` weight give 0; a token may carry `rl` and `ce` weight at once.
    Example: `ce()`
    Reference: maximum likelihood. Differs from the paper: there is none.
    """
    if not coef >= 0:
        raise PartError(f"ce: coef is {coef}; it must be >= 0")

    def apply(terms: Terms) -> Terms:
        loss = -stream(terms, "ce") * held(terms, terms.new, "ce")
        return add_extra(note(terms, ce=loss), coef * loss)

    return stateless(apply, place="regulariser")
