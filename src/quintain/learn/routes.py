"""Routing replay in the learner: the experts of a step are those that its first weights chose (R2), or that came with the batch (R3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from quintain.learn.forward import EXPERTS, ROUTES, Reader
from quintain.types import Batch


def with_routes(batch: Batch, needs: frozenset[str], reader: Reader, pieces: Callable[[Batch], list[Batch]]) -> Batch:
    """The batch with the experts [N, L, k] that the model chooses now, if the needs ask for them and it has none.

    Paths without a trained token are passed over; their ids are -1.
    """
    if ROUTES not in needs or EXPERTS in batch.streams:
        return batch
    marked = replace(batch, streams={**batch.streams, "row": np.arange(len(batch))})
    found: np.ndarray | None = None
    for piece in pieces(marked):
        ids = reader.routes(piece)  # also where there is no row: other ranks may wait for this one
        if not len(piece):
            continue
        found = np.full((len(batch), *ids.shape[1:]), -1, np.int64) if found is None else found
        found[piece.streams["row"]] = ids
    return batch if found is None else replace(batch, streams={**batch.streams, EXPERTS: found})
