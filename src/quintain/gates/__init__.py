"""Gates: which groups are trained, dropped or replaced; and which trajectories, turns and tokens of a step."""

from quintain.gates.bands import band
from quintain.gates.context import rewrite_context
from quintain.gates.replay import replay_success
from quintain.gates.select import keep_extremes, keep_uncertain, recompose, sharpen_novel
from quintain.gates.staleness import drop_stale
from quintain.gates.variance import zero_variance

__all__ = [
    "band",
    "drop_stale",
    "keep_extremes",
    "keep_uncertain",
    "recompose",
    "replay_success",
    "rewrite_context",
    "sharpen_novel",
    "zero_variance",
]
