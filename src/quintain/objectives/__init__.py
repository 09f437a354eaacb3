"""Objective parts: token statistics to a loss, in the order ratio, surrogate, weight, regulariser, mean.

Ranges stand beside the arguments: a value outside its range, or an unknown name, is a `PartError` (or `UnknownName`) when the part is
made, which says the value, the range and the fix. Terms that lack a column that a part `needs` are a `PartError` when it is applied.
"""

from quintain.registry import require_extra

require_extra("train", "torch")

from quintain.objectives.chunk import chunk_ratio, fit_progress, fit_steps_guess, mask_chunks, taper  # noqa: E402
from quintain.objectives.contrast import contrast_answers, hinge_kl, prefer_answers  # noqa: E402
from quintain.objectives.curvature import mask_curved  # noqa: E402
from quintain.objectives.guard import guard_kl  # noqa: E402
from quintain.objectives.mean import constant_length, sequence_mean, sequence_sum, token_mean  # noqa: E402
from quintain.objectives.ratio import token_ratio  # noqa: E402
from quintain.objectives.region import mask_divergence, mask_ratio, replay_routes  # noqa: E402
from quintain.objectives.regulariser import ce, fit_values, penalise_kl, reward_entropy  # noqa: E402
from quintain.objectives.select import mask_covariant, penalise_covariant  # noqa: E402
from quintain.objectives.sequence import (  # noqa: E402
    fiber_ratio_guess,
    prefix_ratio,
    sequence_ratio,
    share_budget_guess,
)
from quintain.objectives.steer import scale_step, smooth_entropy, weigh_confident_errors  # noqa: E402
from quintain.objectives.step import adaptive_clip, penalise_ratio  # noqa: E402
from quintain.objectives.surrogate import (  # noqa: E402
    clip,
    dual_clip,
    policy_gradient,
    score,
    soft_gate,
    unclipped,
)
from quintain.objectives.weight import mask_mismatch, reject_mismatch, truncate_mismatch  # noqa: E402

__all__ = [
    "chunk_ratio",
    "fit_progress",
    "fit_steps_guess",
    "mask_chunks",
    "taper",
    "token_ratio",
    "sequence_ratio",
    "prefix_ratio",
    "fiber_ratio_guess",
    "clip",
    "dual_clip",
    "policy_gradient",
    "unclipped",
    "score",
    "soft_gate",
    "share_budget_guess",
    "truncate_mismatch",
    "mask_mismatch",
    "reject_mismatch",
    "mask_divergence",
    "mask_ratio",
    "adaptive_clip",
    "penalise_ratio",
    "weigh_confident_errors",
    "smooth_entropy",
    "scale_step",
    "mask_covariant",
    "penalise_covariant",
    "replay_routes",
    "contrast_answers",
    "prefer_answers",
    "hinge_kl",
    "mask_curved",
    "guard_kl",
    "penalise_kl",
    "reward_entropy",
    "fit_values",
    "ce",
    "token_mean",
    "sequence_mean",
    "sequence_sum",
    "constant_length",
]
