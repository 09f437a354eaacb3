"""Models: build from sizes or load a folder, run packed tokens, refuse what would be silently wrong."""

from quintain.models.attention import Pack, UnsupportedModel
from quintain.models.build import build_model
from quintain.models.check import SelfTest, self_test
from quintain.models.files import ModelFolderError, load_model, read_weights, save_model
from quintain.models.forward import (
    PackError,
    causal_lm,
    context_limit,
    forward_hidden,
    head_logits,
    plain_config,
    run_pack,
    text_config,
    width,
)
from quintain.models.narrow import merge, recompute
from quintain.models.store import SlotStore

__all__ = [
    "ModelFolderError",
    "Pack",
    "PackError",
    "SelfTest",
    "SlotStore",
    "UnsupportedModel",
    "build_model",
    "causal_lm",
    "context_limit",
    "forward_hidden",
    "head_logits",
    "load_model",
    "merge",
    "plain_config",
    "read_weights",
    "recompute",
    "run_pack",
    "save_model",
    "self_test",
    "text_config",
    "width",
]
