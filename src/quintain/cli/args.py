"""Reading the command line's `RECIPE|FILE|key=value` words."""

from __future__ import annotations

from collections.abc import Sequence


def sources(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Recipes and files first, then the overrides.

    Example:
        >>> sources(["keydoor", "run.seed=1"])
        (['keydoor'], ['run.seed=1'])
    """
    return [w for w in words if "=" not in w], [w for w in words if "=" in w]
