"""Algorithms: a paper is one composition of parts, under its name."""

from quintain.algorithms.grpo import grpo
from quintain.algorithms.record import Algorithm, assemble, preset

__all__ = ["Algorithm", "assemble", "preset", "grpo"]
