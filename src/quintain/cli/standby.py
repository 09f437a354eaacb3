"""A process that has imported everything that training needs, and waits for the words of a command."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Sequence


def main(words: Sequence[str] = ()) -> int:
    """Import, read one line with the arguments of `quintain train`, and run it; nothing where the line never comes.

    With the word `forks` a fork server imports meanwhile, so that ranks and actors begin at once too.
    """
    if "forks" in words:
        from quintain.runtime import forks

        forks.ready()
    for name in ("quintain.runtime.check", "quintain.cli.live", "quintain.runtime.assemble", "quintain.runtime.launch"):
        importlib.import_module(name)
    warm()
    line = sys.stdin.readline()
    if not line.strip():
        return 0
    from quintain.cli import main as command

    return command(["train", *json.loads(line)])


def warm() -> None:
    """Build and try a model of a few hundred weights: torch and transformers import most of themselves when first used."""
    from quintain.models import build_model, self_test

    sizes = {"hidden": 8, "layers": 1, "heads": 1, "kv_heads": 1, "head_dim": 8, "ffn": 8}
    model = build_model("qwen3", seed=0, vocab=16, context=16, **sizes)
    self_test(model)
