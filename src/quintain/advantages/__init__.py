"""Advantages: rewards of the groups of one step to the stream `advantage`, one value per sampled token."""

from quintain.advantages.baselines import leave_one_out, mean, median
from quintain.advantages.normalise import normalise
from quintain.advantages.scales import mad, spread, std

__all__ = ["normalise", "mean", "leave_one_out", "median", "std", "mad", "spread"]
