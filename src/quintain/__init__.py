"""Quintain: train language agents by reinforcement learning in verifiable worlds."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for those who read types; what runs loads each on first use, below
    from quintain.config import Config as Config
    from quintain.loop import Run as Run
    from quintain.loop import Window as Window
    from quintain.loop import train as train
    from quintain.parts import Cast as Cast
    from quintain.parts import Transform as Transform
    from quintain.parts import chain as chain
    from quintain.parts import mix as mix
    from quintain.parts import named as named
    from quintain.parts import stateless as stateless
    from quintain.parts import when as when
    from quintain.registry import build as build
    from quintain.registry import provenance as provenance
    from quintain.registry import register as register
    from quintain.types import Batch as Batch
    from quintain.types import Completion as Completion
    from quintain.types import Feedback as Feedback
    from quintain.types import Group as Group
    from quintain.types import Message as Message
    from quintain.types import Node as Node
    from quintain.types import Sampling as Sampling
    from quintain.types import Stop as Stop
    from quintain.types import Task as Task
    from quintain.types import Terms as Terms
    from quintain.types import Trajectory as Trajectory

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
