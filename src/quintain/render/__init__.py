"""Messages to tokens and back: a word vocabulary for models from scratch, chat templates for pretrained ones."""

from __future__ import annotations

from quintain.render.chat import BranchWarning, ChatRenderer
from quintain.render.errors import RenderError
from quintain.render.hub import CHATML, write_tokenizer
from quintain.render.words import WordRenderer

__all__ = ["CHATML", "BranchWarning", "ChatRenderer", "RenderError", "WordRenderer", "write_tokenizer"]
