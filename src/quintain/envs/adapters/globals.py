"""The global random states of a process, which some libraries draw from: kept apart for each of them."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

import numpy as np


class Noise:
    """Global random states of one's own.

    Args:
        seed: they begin with; None begins with those of the process.

    Example:
        >>> one, two = Noise(3), Noise(3)
        >>> with one.inside():
        ...     a = random.random()
        >>> with two.inside():
        ...     print(random.random() == a)
        True
    """

    def __init__(self, seed: int | None = None) -> None:
        self.states = random.getstate(), np.random.get_state()
        if seed is not None:
            self.states = random.Random(seed).getstate(), np.random.RandomState(seed % 2**32).get_state()

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Draw from these states; afterwards the process has again those that it had."""
        outside = random.getstate(), np.random.get_state()
        random.setstate(self.states[0])
        np.random.set_state(self.states[1])
        try:
            yield
        finally:
            self.states = random.getstate(), np.random.get_state()
            random.setstate(outside[0])
            np.random.set_state(outside[1])
