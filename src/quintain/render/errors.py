"""What a renderer refuses, by name."""

from __future__ import annotations

from quintain.types import QuintainError


class RenderError(QuintainError):
    """Messages cannot be written as tokens; the message says which, why, and what to do."""
