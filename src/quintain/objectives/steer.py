"""Parts that steer by what the policy has become: how sure it is of mistakes, how far its entropy swings, how stale its data are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from quintain.objectives._rows import add_extra, column, held, note, only, rows_of, stream, summed, weigh
from quintain.objectives.contrast import firsts
from quintain.objectives.ratio import needs_of
from quintain.objectives.step import sums_of
from quintain.objectives.weight import apart
from quintain.parts import Objective, PartError, Sums, Transform, stateless
from quintain.registry import register, unknown
from quintain.types import Terms

SHAPES: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "softplus": torch.nn.functional.softplus,
    "relu": torch.relu,
}


@register(
    "objective", "weigh_confident_errors", paper="2602.21420", status="experimental", confidence="guess", across=True
)
def weigh_confident_errors(alpha: float = 1.0, shape: str = "softplus") -> Objective:
    """Punish wrong answers the more, the likelier the policy has made them since the reference policy.

    When to use: after a surrogate, where answers become alike and pass@k falls: ACE.

    Maths: with `c_i = sum_(t in i) (new_t - ref_t)`, `weight_t *= 1 + alpha f(c_i)` [N] where `A_t < 0`, a constant; `f` is softplus or
    relu.

    Args:
        alpha: strength, >= 0.
        shape: `softplus` or `relu`.

    Returns: A part of place `weight` that changes `weight` [N] and notes `confident_error`, the mean of what is added.
    Special cases: masked rows have weight 1; long answers have large `c`. A sequence must lie in one micro-batch.
    Example: `weigh_confident_errors()`
    Reference: ACE, arXiv 2602.21420 (abstract, and summaries of others). Differs from the paper: the factor's exact form and `alpha` are
    guesses.
    """
    if shape not in SHAPES:
        raise PartError(unknown("shape of weigh_confident_errors", shape, [*SHAPES]))
    if not alpha >= 0:
        raise PartError(f"weigh_confident_errors: alpha is {alpha}; it must be >= 0")

    def apply(terms: Terms) -> Terms:
        gap = held(terms, terms.new - column(terms, "ref", "weigh_confident_errors")).detach()
        sure = SHAPES[shape](summed(terms, gap))
        more = alpha * only(rows_of(terms) & (held(terms, terms.advantage) < 0), sure)
        return note(weigh(terms, 1 + more), confident_error=more)

    return stateless(apply, needs=("ref",), place="weight")


def phase(epoch: float, epochs: float) -> float:
    """EPO's weight of smoothing: from 1 slowly down to 0.83 in the first half of training, then `0.8 exp(-3 p)`."""
    halves = 2 * epoch / epochs
    return 1 - 0.2 * (1 - math.exp(-2 * halves)) if halves <= 1 else 0.8 * math.exp(-3 * (halves - 1))


def swing(
    entropy: torch.Tensor, middle: torch.Tensor, bounds: tuple[float, float], penalty: float, form: str = "released"
) -> torch.Tensor:
    """The penalty [N] of entropies outside `bounds` times their history: a constant, or growing with the distance."""
    low, high = bounds[0] * middle, bounds[1] * middle
    if form == "hinge":
        return penalty * ((low - entropy).clamp(min=0) + (entropy - high).clamp(min=0))
    return penalty * ((entropy <= low) | (entropy >= high)).to(entropy.dtype)


FORMS = ("released", "hinge")


@register("objective", "smooth_entropy", paper="2509.22576", status="paper", confidence="code")
def smooth_entropy(
    coef: float = 1e-3,
    bounds: tuple[float, float] = (0.0, 2.0),
    penalty: float = 0.05,
    smooth: float = 1.0,
    epochs: int = 150,
    turns: int = 64,
    form: str = "released",
) -> Objective:
    """Pay for entropy, less where it leaves the band around what it was at the same step of earlier episodes.

    When to use: long episodes with rare rewards, whose entropy swings: EPO.

    Maths: `extra_t -= coef rl_t (H_t - smooth w P_t)` [N], `P_t = penalty` where `H_t` lies outside `bounds` times the mean entropy of
    earlier optimizer steps at the same turn, else 0; `w` falls from 1 to 0.04 over `epochs`.

    Args:
        coef: strength per nat, >= 0.
        bounds: lower and upper bound, as multiples of the history.
        penalty: alpha, >= 0.
        smooth: strength of the smoothing, >= 0.
        epochs: optimizer steps of the whole training, >= 1.
        turns: turns that have a history of their own, >= 1; later ones share the last.
        form: `released`, in which P is a step, so that smoothing has no gradient; `hinge`, ours, in which P grows with the distance in
            nats.

    Returns: A part of place `regulariser` whose state holds the history; it notes `entropy_swing`, the mean P.
    Special cases: a turn without history has no penalty; masked rows give 0.
    Example: `smooth_entropy()`
    Reference: EPO, arXiv 2509.22576, read in the authors' code. Differs from the paper: history per optimizer step; `hinge` is ours.
    """
    if form not in FORMS:
        raise PartError(unknown("form of smooth_entropy", form, FORMS))
    if not (min(coef, penalty, smooth) >= 0 and 0 <= bounds[0] <= bounds[1] and min(epochs, turns) >= 1):
        raise PartError(
            f"smooth_entropy: coef {coef}, penalty {penalty}, smooth {smooth}, bounds {bounds}, epochs {epochs}, turns "
            f"{turns}; the first three must be >= 0, bounds in order and >= 0, epochs and turns >= 1"
        )

    def at(terms: Terms) -> torch.Tensor:
        return held(terms, column(terms, "turn", "smooth_entropy")).long().clamp(0, turns - 1)

    def measure(terms: Terms) -> Sums:
        rows, place = rows_of(terms), at(terms)
        entropy = held(terms, column(terms, "entropy", "smooth_entropy")).detach().double()
        none = torch.zeros(turns, dtype=torch.float64, device=entropy.device)
        return {
            "smooth_entropy:sum": none.index_add(0, place, entropy),
            "smooth_entropy:count": none.index_add(0, place, rows.double()),
        }

    def apply(terms: Terms, state: Any) -> tuple[Terms, Any]:
        rows, place = rows_of(terms), at(terms)
        entropy = held(terms, column(terms, "entropy", "smooth_entropy"))
        total, count = (
            torch.tensor(state[n], dtype=entropy.dtype, device=entropy.device)[place] for n in ("sum", "count")
        )
        found = swing(entropy, total / count.clamp(min=1), bounds, penalty, form)
        found = only(rows & (count > 0), found)
        now = smooth * phase(min(state["step"], epochs), epochs)
        out = add_extra(note(terms, entropy_swing=found), -coef * stream(terms, "rl") * (entropy - now * found))
        sums = sums_of(terms, "smooth_entropy:sum", measure)
        means = torch.as_tensor(sums["smooth_entropy:sum"]).cpu(), torch.as_tensor(sums["smooth_entropy:count"]).cpu()
        seen = (means[1] > 0).double()
        return out, {
            "sum": [a + b for a, b in zip(state["sum"], (means[0] / means[1].clamp(min=1)).tolist(), strict=True)],
            "count": [a + b for a, b in zip(state["count"], seen.tolist(), strict=True)],
            "step": state["step"] + 1,
        }

    first = {"sum": [0.0] * turns, "count": [0.0] * turns, "step": 0}
    return Transform(lambda: first, apply, frozenset({"entropy", "turn"}), measure, "regulariser")


RULES: Mapping[str, Callable[[float], float]] = {"sqrt": math.sqrt, "linear": lambda share: share}


@register("objective", "scale_step", paper="2602.17616", status="paper", confidence="code", on_policy="reinforce")
def scale_step(base: float = 1.0, rule: str = "sqrt", of: str = "new") -> Objective:
    """Shorten the optimizer's step by how few sequences of it still count: the effective sample size.

    When to use: behind `truncate_mismatch(8, "sum")` on data many versions old: VCPO.

    Maths: with `w_i = prod_(t in i) of_t / rollout_t`, uncapped, and `e = (sum w)^2 / (S sum w^2)` over the step's S sequences, the
    learning rate of this optimizer step is multiplied by `f(min(1, e / base))`.

    Args:
        base: the share at which the step is whole, > 0.
        rule: f: `sqrt` for Adam-like optimizers, `linear` for SGD.
        of: `new`, or `old`.

    Returns: A part of place `weight` that changes no gradient; it notes `step_scale`, which the learner applies.
    Special cases: a step without sequences is not scaled; a sequence without a token in the mask has weight 1. A sequence must lie in one
    micro-batch.
    Example: `scale_step()`
    Reference: VCPO, arXiv 2602.17616, read in the authors' code. Differs from the paper: nothing known.
    """
    if rule not in RULES:
        raise PartError(unknown("rule of scale_step", rule, [*RULES]))
    if not base > 0:
        raise PartError(f"scale_step: base is {base}; it must be > 0")
    needs, key = needs_of(of, "scale_step", ("new", "old")), f"scale_step:{of}"

    def measure(terms: Terms) -> Sums:
        return {f"{key}:{n}": v for n, v in sample_size(terms, of).items()}

    def apply(terms: Terms) -> Terms:
        sums = sums_of(terms, f"{key}:count", measure)
        share = effective({n: sums[f"{key}:{n}"] for n in ("sum", "square", "count")})
        if not sums[f"{key}:count"]:
            return terms
        mine = float(sampled(terms).sum()) / float(sums[f"{key}:count"])
        scale = RULES[rule](min(1.0, share / base)) * mine
        figures = {"step_scale": torch.tensor(scale), "sample_share": torch.tensor(share * mine)}
        return replace(terms, metrics={**terms.metrics, **figures})

    return Transform(lambda: None, lambda t, s: (apply(t), s), frozenset(needs), measure, "weight")


SLOTS, WIDTH = 1024, 256.0  # of weights by their size in nats: what a float64 can square stands in one slot


def sampled(terms: Terms) -> torch.Tensor:
    """Rows [N] bool, one for each sequence with a weight; one without a token in the mask has the weight 1."""
    bare = summed(terms, terms.mask.to(terms.new.dtype)) == 0
    return firsts(terms) | firsts(replace(terms, mask=bare, weights={}, memo={}))


def sample_size(terms: Terms, of: str = "new") -> Sums:
    """Sums and sums of squares, by slots, and number of the sequences' weights `prod of / rollout`."""
    return sizes_of(apart(terms, "scale_step", of, "sum")[sampled(terms)])


def sizes_of(logs: torch.Tensor) -> Sums:
    """The same of the logs of weights [S], up to 130,000 nats: a slot holds those of one size, relative to its middle."""
    most = WIDTH * (SLOTS // 2 - 1)
    logs, none = logs.double().clamp(-most, most), torch.zeros(SLOTS, dtype=torch.float64, device=logs.device)
    at = (logs / WIDTH).round().long().clamp(-SLOTS // 2, SLOTS // 2 - 1)  # a NaN has no whole number
    weight = (logs - WIDTH * at).exp()
    sums = (none.index_add(0, at + SLOTS // 2, values) for values in (weight, weight.square()))
    return {**dict(zip(("sum", "square"), sums, strict=True)), "count": float(len(logs))}


def effective(sums: Mapping[str, Any]) -> float:
    """The effective share of the sequences, in (0, 1]; 1 without any."""
    total, square = (torch.as_tensor(sums[name]).double().cpu() for name in ("sum", "square"))
    if not square.any():
        return 1.0
    scale = (WIDTH * (torch.arange(SLOTS) - square.nonzero().max())).double().clamp(max=0)  # to the largest weights
    return float((total * scale.exp()).sum() ** 2 / (sums["count"] * (square * (2 * scale).exp()).sum()))
