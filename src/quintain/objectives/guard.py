"""A KL penalty whose threshold a controller moves with reward and entropy: SAFE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from quintain.objectives._rows import add_extra, column, held, note, only, rows_of, stream
from quintain.objectives.contrast import firsts
from quintain.objectives.ratio import needs_of
from quintain.objectives.regulariser import estimate
from quintain.objectives.step import sums_of
from quintain.parts import Objective, PartError, Sums, Transform
from quintain.registry import register, unknown
from quintain.types import Terms

REWARD, KL, TARGET, RANGE = 0.95, 0.9, 0.001, (0.1, 0.6)  # averages, wanted gain a step, limits of the threshold
FORMS = ("released", "coefficient")
MOST = 1e12  # nats of a mean KL, so that its square times a KL is finite
START: Mapping[str, Any] = {"reward": None, "kl": 0.0, "integral": 0.0, "error": 0.0}


def adjusted(state: Mapping[str, Any], reward: float, gains: Sequence[float]) -> tuple[float, dict[str, Any]]:
    """What the controller adds to the threshold after a step of mean reward `reward`, and its state.

    Example:
        >>> adjusted(START, 0.5, (0.3, 0.01, 0.05))[0]
        0.0
    """
    if state["reward"] is None:
        return 0.0, {**state, "reward": reward}
    mean = REWARD * state["reward"] + (1 - REWARD) * reward
    error = mean - state["reward"] - TARGET
    integral = min(max(state["integral"] + error, -1.0), 1.0)
    out = gains[0] * error + gains[1] * integral + gains[2] * (error - state["error"])
    return out, {**state, "reward": mean, "integral": integral, "error": error}


def guarded(kl: float, entropy: float, threshold: float, strength: float, floor: float) -> float:
    """The penalty of a mean KL above the threshold, larger where entropy is low.

    Example:
        >>> guarded(0.4, 1.0, 0.5, 0.1, 2.0)
        0.0
    """
    return strength * max(kl - threshold, 0.0) ** 2 * max(0.5, floor / (max(entropy, 0.0) + 0.1))


def limited(base: float, adjust: float, phase: float) -> float:
    """The threshold inside its limits."""
    return min(max((base + adjust) * phase, RANGE[0]), RANGE[1])


@register("objective", "guard_kl", paper="2602.04651", status="paper", confidence="code")
def guard_kl(
    strength: float = 0.1,
    base: float = 0.3,
    gains: Sequence[float] = (0.3, 0.01, 0.05),
    phase: float = 1.0,
    entropy: float = 2.0,
    form: str = "released",
    to: str = "ref",
) -> Objective:
    """Penalise KL above a threshold that rises while reward rises, harder where entropy is low.

    When to use: PPO from a preference model whose KL must not run away: SAFE.

    Maths: `thr = clamp((base + PID) phase, 0.1, 0.6)`, PID on the gain of the reward's average (0.95) less 0.001; `k` the average (0.9) of
    the step's mean k3; `P = strength max(0, k - thr)^2 max(0.5, entropy / (H + 0.1))`.

    Args:
        strength: of the penalty, >= 0.
        base: nats of the threshold.
        gains: of error, integral (within 1) and change.
        phase: factor of the threshold: 1.5 in warm-up, 1.2 climbing, 0.8 on a plateau, 1 when converged.
        entropy: nats below which the penalty grows, >= 0.
        form: `released`, in which P is a number beside the loss, without a gradient; `coefficient`, ours: P k3_t.
        to: `ref`, `old` or `rollout`.

    Returns: A part of place `regulariser` with the averages as state; notes `kl_guard` (P), `kl_threshold` and `kl`.
    Special cases: a step without tokens moves nothing; masked rows give 0; a mean KL counts up to 1e12.
    Example: `guard_kl()`
    Reference: SAFE, arXiv 2602.04651, read in the authors' code. Differs from the paper: phases are not detected; k3 is our reading.
    """
    if form not in FORMS:
        raise PartError(unknown("form of guard_kl", form, FORMS))
    if not (strength >= 0 and entropy >= 0 and phase > 0 and len(gains) == 3):
        raise PartError(
            f"guard_kl: strength is {strength}, entropy {entropy}, phase {phase}, gains {gains}; the first two must be "
            ">= 0, phase > 0, gains three numbers"
        )
    needs = {"entropy", "reward", *needs_of(to, "guard_kl", ("old", "rollout", "ref")), *({"ref"} & {to})}
    key = f"guard_kl:{to}"

    def away(terms: Terms) -> torch.Tensor:
        return estimate(terms, to, "guard_kl", "rl")

    def measure(terms: Terms) -> Sums:
        rows, first = rows_of(terms), firsts(terms)
        spread = held(terms, column(terms, "entropy", "guard_kl"))
        figures = {"kl": away(terms), "entropy": spread, "tokens": rows, "sequences": first}
        figures["reward"] = only(first, column(terms, "reward", "guard_kl"))
        return {f"{key}:{name}": float(values.detach().double().sum()) for name, values in figures.items()}

    def apply(terms: Terms, state: Any) -> tuple[Terms, Any]:
        sums, found = sums_of(terms, f"{key}:tokens", measure), away(terms)
        if not sums[f"{key}:tokens"]:
            return terms, state
        mean, spread = (sums[f"{key}:{name}"] / sums[f"{key}:tokens"] for name in ("kl", "entropy"))
        adjust, after = adjusted(state, sums[f"{key}:reward"] / sums[f"{key}:sequences"], gains)
        after["kl"] = KL * state["kl"] + (1 - KL) * min(mean, MOST)
        threshold = limited(base, adjust, phase)
        penalty = guarded(after["kl"], spread, threshold, strength, entropy)
        ones = terms.mask.to(found.dtype)
        out = note(terms, kl=found, kl_guard=penalty * ones, kl_threshold=threshold * ones)
        return add_extra(out, stream(terms, "rl") * penalty * (found if form == "coefficient" else 1.0)), after

    return Transform(lambda: dict(START), apply, frozenset(needs), measure, "regulariser")
