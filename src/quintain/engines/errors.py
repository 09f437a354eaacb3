"""What engines refuse, by name."""

from __future__ import annotations

from quintain.types import QuintainError


class EngineError(QuintainError):
    """An engine was asked for what it cannot do, or its server failed for good; the message says which and what to
    do.
    """


class EngineDown(QuintainError):
    """An engine's server or process is gone and does not come back by itself; another engine may serve its requests."""


class VersionMismatch(QuintainError):
    """An engine holds another policy version than the one that was loaded, or says that it does."""
