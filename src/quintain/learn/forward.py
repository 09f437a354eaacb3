"""Forward passes of the learner: packed tokens to the terms of an objective, or to scores without gradients.

Dims: N packed tokens, M trained tokens (mask), D hidden width.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from quintain.learn.heads import token_logprobs
from quintain.learn.lora import base_weights
from quintain.learn.precision import Precision
from quintain.models import forward_hidden, head_logits
from quintain.types import Batch, QuintainError, Terms

STREAMS = {"old": "old", "ref": "ref", "values": "value", "value": "value"}  # need -> the stream that `score` writes
SUPPLIED = frozenset({*STREAMS, "entropy", "hidden"})


class LearnerError(QuintainError):
    """The learner was asked for something that it cannot supply, or was given a batch that it cannot train on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Runs a model (and a value head) over batches.

    Args:
        model: a decoder of `quintain.models`.
        value: the value head, if any.
        reference: a frozen copy for `ref`; with LoRA factors the base weights serve instead.
        precision: the dtype plan.
    """

    model: nn.Module
    precision: Precision
    value: nn.Module | None = None
    reference: nn.Module | None = None

    @property
    def device(self) -> torch.device:
        """Where the model lives."""
        return next(self.model.parameters()).device

    def terms(self, batch: Batch, needs: frozenset[str], totals: Mapping[str, float]) -> Terms:
        """The terms of the trained tokens of a micro-batch, with gradients into the model where they are enabled.

        Raises:
            LearnerError: a stream that `needs` asks for is missing.
        """
        rows = np.flatnonzero(batch.mask)
        hidden, logprob, entropy = self._predict(self.model, batch, rows)
        streams = {name: self._column(column, rows) for name, column in batch.streams.items() if name != "reward"}
        for need in needs & STREAMS.keys():
            if STREAMS[need] not in streams:
                raise LearnerError(
                    f"the batch has no stream {STREAMS[need]!r}, which the objective needs; call the learner's `score` "
                    "with the needs of the run before packing"
                )
        critic = bool(needs & {"value", "values"})
        return Terms(
            new=logprob,
            rollout=self._column(batch.logprobs, rows),
            advantage=streams["advantage"],
            mask=torch.ones(len(rows), dtype=torch.bool, device=logprob.device),
            sequence=streams["trajectory"],
            group=self._column(batch.group, rows),
            old=streams.get("old"),
            ref=streams.get("ref"),
            entropy=entropy if "entropy" in needs else entropy.detach(),
            value=self.value(hidden) if critic and self.value is not None else None,
            old_value=streams.get("value"),
            returns=streams.get("return"),
            weights={name: self._column(column, rows) for name, column in batch.weights.items()},
            hidden=hidden if "hidden" in needs else None,
            totals=totals,
        )

    @torch.no_grad()
    def scores(self, batch: Batch, stream: str) -> np.ndarray:
        """`old` or `ref` logprobs or `value`s of the masked tokens of a micro-batch [M], without gradients."""
        rows = np.flatnonzero(batch.mask)
        if stream == "value":
            assert self.value is not None
            return self.value(self._hidden(self.model, batch, rows - 1)).cpu().numpy()
        with self._policy(stream) as model:
            return self._predict(model, batch, rows)[1].cpu().numpy()

    @contextmanager
    def _policy(self, stream: str) -> Iterator[nn.Module]:
        if stream == "ref" and self.reference is not None:
            yield self.reference
        elif stream == "ref":
            with base_weights(self.model):
                yield self.model
        else:
            yield self.model

    def _hidden(self, model: nn.Module, batch: Batch, rows: np.ndarray) -> torch.Tensor:
        if batch.images:
            raise LearnerError(f"the batch holds {len(batch.images)} pictures; this learner trains text policies only")
        ids = torch.from_numpy(batch.tokens).to(self.device)
        with self.precision.cast(self.device):
            return forward_hidden(model, ids, np.bincount(batch.sequence), rows=rows)  # pyrefly: ignore

    def _predict(
        self, model: nn.Module, batch: Batch, rows: np.ndarray
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        whole: Any = model
        head = list(whole.get_output_embeddings().parameters())
        if not len(rows):  # this rank has no part in the step
            none = torch.zeros(0, device=self.device)
            return none.new_zeros(0, head[0].shape[-1]), none, none
        hidden = self._hidden(model, batch, rows - 1)
        heat = None if batch.temperature is None else self._column(batch.temperature, rows)
        with self.precision.cast(self.device):
            logprob, entropy = token_logprobs(
                lambda h: head_logits(model, h),
                hidden,
                self._column(batch.tokens, rows),
                temperature=heat,
                weights=[p for p in head if p.requires_grad],
            )
        return hidden, logprob, entropy

    def _column(self, column: np.ndarray, rows: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(column[rows]).to(self.device)
