"""Objective parts: token statistics to a loss, in the order ratio, surrogate, weight, regulariser, mean."""

from quintain.registry import require_extra

require_extra("train", "torch")

from quintain.objectives.mean import constant_length, sequence_mean, sequence_sum, token_mean  # noqa: E402
from quintain.objectives.ratio import token_ratio  # noqa: E402
from quintain.objectives.regulariser import ce, fit_values, penalise_kl, reward_entropy  # noqa: E402
from quintain.objectives.surrogate import clip, dual_clip, policy_gradient  # noqa: E402
from quintain.objectives.weight import truncate_mismatch  # noqa: E402

__all__ = [
    "token_ratio",
    "clip",
    "dual_clip",
    "policy_gradient",
    "truncate_mismatch",
    "penalise_kl",
    "reward_entropy",
    "fit_values",
    "ce",
    "token_mean",
    "sequence_mean",
    "sequence_sum",
    "constant_length",
]
