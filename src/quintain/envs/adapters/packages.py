"""The one place where the libraries of others are imported, and the sentence where one is missing."""

from __future__ import annotations

import importlib
import sys
import warnings
from types import ModuleType

from quintain.envs.adapters.globals import Noise
from quintain.registry import MissingExtra, require_extra

PINNED = ("gymnasium", "minigrid", "pettingzoo", "reasoning_gym")  # what the extra `adapters` holds
ON_PYPI = {
    "gem": "gem-llm",
    "pyspiel": "open_spiel",
    "openenv": "openenv-core",
    "inspect_ai": "inspect-ai",
    "ale_py": "ale-py",
    "pyglet": "miniworld",  # which asks for the version that it draws with
}


def peer(module: str) -> ModuleType:
    """A module of somebody else's library.

    Raises:
        MissingExtra: it is not installed; the message says how to install it.

    Example:
        >>> peer("chess_of_martians")
        Traceback (most recent call last):
        quintain.registry.MissingExtra: this needs chess_of_martians, which is not installed; run: pip install chess_of_martians
    """
    if module in sys.modules:
        return sys.modules[module]
    root = module.partition(".")[0]
    if root in PINNED:
        require_extra("adapters", root)
    try:
        with Noise().inside(), warnings.catch_warnings():  # some draw when they are imported
            for theirs in (SyntaxWarning, DeprecationWarning):  # of their code: where warnings are errors, half of them
                warnings.simplefilter("ignore", theirs)  # would be imported, and the next import find the wreck
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        lacking = error.name or root
        raise MissingExtra(
            f"this needs {lacking}, which is not installed; run: pip install {ON_PYPI.get(lacking, lacking)}"
        ) from error
