"""Leave out work that nobody reads: equal prefixes are computed once, the last layer only for the rows that are wanted.

Dims: N packed tokens, U of them that differ in their prefix, M wanted ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from torch import nn

from quintain.models.attention import current

WORTH = 0.95  # share of distinct rows above which merging costs more than it saves
FEED_FORWARD = ("mlp", "feed_forward", "block_sparse_moe", "moe", "ffn")
OUTPUT = ("o_proj", "out_proj", "dense", "wo")


def merge(
    tokens: np.ndarray, lengths: np.ndarray, behind: Sequence[int] | None = None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Find tokens that stand behind equal prefixes: a causal decoder gives all of them the same hidden state.

    Siblings of a group share their prompt, and their first turns as long as they act alike.

    Args:
        tokens: ids [N], sequence after sequence.
        lengths: tokens of each sequence [S], with sum N.
        behind: what lies before each sequence [S], equal numbers for equal keys and values; nothing when None.

    Returns:
        `kept` [U], ascending: one row of each set of equals; `place` [N]: where in `kept` each row's own stands. None
        when too few are equal to be worth it.

    Example:
        >>> kept, place = merge(np.array([5, 6, 7, 5, 6, 8]), np.array([3, 3])) or ()
        >>> kept.tolist(), place.tolist()
        ([0, 1, 2, 5], [0, 1, 2, 0, 1, 3])
    """
    firsts = np.cumsum(lengths) - lengths
    prefixes = behind or [0] * len(lengths)
    if len(set(prefixes)) == len(lengths):
        return None
    sequences = zip(prefixes, firsts, lengths, strict=True)
    keys = [(prefix, tokens[a : a + n].tobytes()) for prefix, a, n in sequences]
    lead = np.arange(len(tokens))  # the row that stands for each row
    for before, here in pairwise(sorted(range(len(keys)), key=keys.__getitem__)):
        if keys[before][0] != keys[here][0]:
            continue
        a, b, n = firsts[before], firsts[here], min(lengths[before], lengths[here])
        differs = tokens[a : a + n] != tokens[b : b + n]
        equal = int(differs.argmax()) if differs.any() else n
        lead[b : b + equal] = lead[a : a + equal]
    kept, place = np.unique(lead, return_inverse=True)
    return (kept, place) if len(kept) <= WORTH * len(tokens) else None


def install(model: nn.Module, layers: int) -> None:
    """Let the last of `layers` layers of a decoder skip rows that the current pack does not want.

    Only modules that treat each row alone are touched: the feed-forward block and the projection behind attention. Their
    outputs for other rows are zero, so that what the decoder returns there is meaningless. A model whose layers are not
    found computes all rows.
    """
    stacks = [m for m in model.modules() if isinstance(m, nn.ModuleList) and len(m) == layers]
    if not stacks:
        return
    last = stacks[0][-1]
    blocks = [m for name, m in last.named_children() if name in FEED_FORWARD]
    inner = {id(m) for block in blocks for m in block.modules()}
    outputs = [m for name, m in last.named_modules() if name.rpartition(".")[2] in OUTPUT and id(m) not in inner]
    for module in (*blocks, *outputs):
        module.register_forward_pre_hook(_take)
        module.register_forward_hook(_give)


def recompute(model: nn.Module) -> None:
    """Compute the activations of every layer again in the backward pass instead of keeping them.

    The layers alone are told that they train, which is what transformers asks for; what they hold still behaves as in evaluation.
    """
    whole: Any = model
    name = "activation_checkpointing_enable"  # transformers before 5.20 know the other name alone
    enable = getattr(whole, name, None) or whole.gradient_checkpointing_enable
    enable({"use_reentrant": False})
    for module in model.modules():
        if getattr(module, "gradient_checkpointing", False):
            module.training = True


def recomputes(model: nn.Module) -> bool:
    """Whether activations are computed again in the backward pass, where no pack is at hand to narrow them."""
    return any(getattr(module, "gradient_checkpointing", False) for module in model.modules())


def _take(module: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
    pack = current()
    if pack is None or pack.wanted is None:
        return None
    assert given, f"{type(module).__name__} takes its rows by keyword"  # the self-test refuses the model
    return (given[0].index_select(1, pack.wanted), *given[1:])


def _give(module: nn.Module, given: tuple[Any, ...], out: Any) -> Any:
    pack = current()
    if pack is None or pack.wanted is None:
        return None
    first = out[0] if isinstance(out, tuple) else out
    width = first.shape[-1]  # some blocks flatten their rows
    rows = first.new_zeros(1, pack.rows, width).index_copy(1, pack.wanted, first.reshape(1, -1, width))
    return (rows, *out[1:]) if isinstance(out, tuple) else rows
