"""Algorithms: a paper is one composition of parts, under its name."""

from quintain.algorithms.dapo import dapo
from quintain.algorithms.dr_grpo import dr_grpo
from quintain.algorithms.grpo import grpo
from quintain.algorithms.ppo import ppo
from quintain.algorithms.record import Algorithm, assemble, preset
from quintain.algorithms.reinforce import reinforce
from quintain.algorithms.rloo import rloo

__all__ = ["Algorithm", "assemble", "preset", "reinforce", "grpo", "dr_grpo", "rloo", "dapo", "ppo"]
