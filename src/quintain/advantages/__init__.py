"""Advantages: rewards of the groups of one step to the stream `advantage`, one value per sampled token.

Ranges stand beside the arguments: a value outside its range, or an unknown name, is a `PartError` (or `UnknownName`) when the part is
made, which says the value, the range and the fix. When it is applied, groups that lack what it `needs` are a `PartError`, and a reward
that is NaN or infinite is a `BadReward`, which names the task and the trajectory.
"""

from quintain.advantages.agents import align_calls, align_opponents, pay_calls
from quintain.advantages.baselines import distinct_mean, leave_one_out, mean, median, running
from quintain.advantages.beta import beta
from quintain.advantages.combine import combine, drop_pivot, pool, split_by
from quintain.advantages.filters import keep_steps, keep_surprising
from quintain.advantages.hot import imitate_hot
from quintain.advantages.judged import imitate_demos, judge, take_turns
from quintain.advantages.least import least_baseline
from quintain.advantages.levels import compare_histories
from quintain.advantages.normalise import normalise
from quintain.advantages.priors import prior_fused, prior_shrunk, recall_prior
from quintain.advantages.returns import gae, returns
from quintain.advantages.scales import mad, spread, std
from quintain.advantages.sets import credit_sets
from quintain.advantages.shaping import charge_kl, scale_rewards, shape_overlong
from quintain.advantages.steps import grade_steps, redistribute, scale_dense, segment
from quintain.advantages.traces import credit_traces
from quintain.advantages.trees import credit_tree, share_prefixes
from quintain.advantages.units import credited, trajectory, turn
from quintain.advantages.whiten import bound, whiten

__all__ = [
    "align_calls",
    "align_opponents",
    "beta",
    "bound",
    "charge_kl",
    "combine",
    "compare_histories",
    "credit_sets",
    "credit_traces",
    "credit_tree",
    "credited",
    "distinct_mean",
    "drop_pivot",
    "gae",
    "grade_steps",
    "imitate_demos",
    "imitate_hot",
    "judge",
    "keep_steps",
    "keep_surprising",
    "least_baseline",
    "leave_one_out",
    "mad",
    "mean",
    "median",
    "normalise",
    "pay_calls",
    "pool",
    "split_by",
    "prior_fused",
    "prior_shrunk",
    "recall_prior",
    "redistribute",
    "returns",
    "running",
    "scale_dense",
    "scale_rewards",
    "segment",
    "shape_overlong",
    "share_prefixes",
    "spread",
    "std",
    "take_turns",
    "trajectory",
    "turn",
    "whiten",
]
