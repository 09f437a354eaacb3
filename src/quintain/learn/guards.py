"""What the learner refuses: data that are not finite, and objectives without a usable loss."""

from __future__ import annotations

import numpy as np
import torch

from quintain.learn.forward import LearnerError
from quintain.types import Batch, Terms


def tickets_of(batch: Batch, rows: np.ndarray | None = None) -> list[int]:
    """The tickets of the trained tokens, or of the given rows."""
    return np.unique(batch.streams["ticket"][batch.mask if rows is None else rows]).tolist()


def unfit(batch: Batch) -> list[int]:
    """Tickets with a NaN or an infinity in what the recorded data say about them."""
    columns = [batch.logprobs, *batch.weights.values(), *batch.streams.values()]
    if all(bool(np.isfinite(c).all()) for c in columns):
        return []
    return tickets_of(batch, ~np.logical_and.reduce([np.isfinite(c) for c in columns]))


def scalar_of(terms: Terms) -> torch.Tensor:
    """The scalar loss that an objective left.

    Raises:
        LearnerError: there is none, it does not depend on the weights, or a metric is no number.
    """
    for name, value in terms.metrics.items():
        if not isinstance(value, int | float) and getattr(value, "ndim", 1):
            what = f"of the shape {list(value.shape)}" if hasattr(value, "shape") else f"as {value!r:.80}"
            raise LearnerError(
                f"a part of the objective notes the metric {name!r} {what}; it should be one number, which is added up over "
                'micro-batches and ranks: sum the rows, and divide by terms.totals["tokens"] for a mean'
            )
    loss = terms.loss
    if loss is None or loss.ndim:
        raise LearnerError("the objective leaves no scalar loss; end its chain with a mean part such as token_mean()")
    if len(terms.new) and not loss.requires_grad:
        raise LearnerError("the objective's loss does not depend on the weights; a part detaches it, or none sets it")
    return loss
