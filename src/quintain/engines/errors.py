"""What engines refuse, by name."""

from __future__ import annotations

from quintain.types import QuintainError


class EngineError(QuintainError):
    """An engine was asked for what it cannot do, or its server failed for good; the message says which and what to
    do.
    """
