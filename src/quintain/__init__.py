"""Quintain: train language agents by reinforcement learning in verifiable worlds."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "types": (
        "Batch",
        "Completion",
        "Feedback",
        "Group",
        "Message",
        "Node",
        "Sampling",
        "Stop",
        "Task",
        "Terms",
        "Trajectory",
    ),
    "parts": ("Cast", "Transform", "chain", "mix", "named", "stateless", "when"),
    "registry": ("build", "provenance", "register"),
    "config": ("Config",),
    "loop": ("Run", "Window", "train"),
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}
__all__ = sorted([*_WHERE, "__version__"])


def __getattr__(name: str) -> Any:  # public names load on first use: `import quintain` stays under 100 ms
    if name in _WHERE:
        return getattr(importlib.import_module(f"quintain.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'quintain' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
