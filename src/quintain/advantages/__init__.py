"""Advantages: rewards of the groups of one step to the stream `advantage`, one value per sampled token."""

from quintain.advantages.baselines import leave_one_out, mean, median
from quintain.advantages.normalise import normalise
from quintain.advantages.returns import gae, returns
from quintain.advantages.scales import mad, spread, std
from quintain.advantages.shaping import charge_kl, shape_overlong
from quintain.advantages.units import trajectory, turn
from quintain.advantages.whiten import whiten

__all__ = [
    "normalise",
    "trajectory",
    "turn",
    "mean",
    "leave_one_out",
    "median",
    "std",
    "mad",
    "spread",
    "returns",
    "gae",
    "whiten",
    "shape_overlong",
    "charge_kl",
]
