"""Gates: which groups are trained, dropped or replaced."""

from quintain.gates.staleness import drop_stale
from quintain.gates.variance import zero_variance

__all__ = ["zero_variance", "drop_stale"]
