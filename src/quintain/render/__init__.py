"""Messages to tokens and back: a word vocabulary for models from scratch, chat templates for pretrained ones."""

from __future__ import annotations

from quintain.render.errors import RenderError
from quintain.render.words import WordRenderer

__all__ = ["RenderError", "WordRenderer"]
