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

from quintain.learn.heads import Predicted, token_logprobs
from quintain.learn.lora import base_weights
from quintain.learn.precision import Precision
from quintain.learn.topk import IDS, LOGPROBS, LOWEST, wanted
from quintain.models import forward_hidden, head_logits
from quintain.models.routing import recorded, replayed, routers
from quintain.types import Batch, QuintainError, Terms

STREAMS = {"old": "old", "ref": "ref", "values": "value", "value": "value"}  # need -> the stream that `score` writes
ROUTES = "routes"  # the need for routing replay
EXPERTS = "experts"  # the stream [N, L, k] of the experts that are replayed
PASSED_OVER = ("reward", EXPERTS)  # streams that objectives do not read, or only where they ask for them
SUPPLIED = frozenset({*STREAMS, "entropy", "hidden", "turn", "reward", "twin_values", ROUTES})


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
        together: ranks share the layers, so that a batch without rows goes through them too.
    """

    model: nn.Module
    precision: Precision
    value: nn.Module | None = None
    reference: nn.Module | None = None
    together: bool = False

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
        streams = {
            name: self._column(column, rows) for name, column in batch.streams.items() if name not in PASSED_OVER
        }
        tops = self._tops(streams, wanted(needs), len(rows))
        hidden, said = self._predict(self.model, batch, rows, tops.get("ids"))
        logprob, entropy = said.logprob, said.entropy
        for need in needs & STREAMS.keys():
            if not len(rows):  # a rank without a part in the step has no streams either
                streams.setdefault(STREAMS[need], logprob.detach())
            elif STREAMS[need] not in streams:
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
            turn=streams.get("turn"),
            reward=self._column(batch.streams["reward"], rows) if "reward" in needs else None,
            weights={name: self._column(column, rows) for name, column in batch.weights.items()},
            topk=_lined(tops, said.further),
            hidden=hidden if "hidden" in needs else None,
            totals=totals,
        )

    @torch.no_grad()
    def scores(self, batch: Batch, stream: str) -> np.ndarray:
        """`old` or `ref` logprobs or `value`s of the masked tokens of a micro-batch [M], without gradients."""
        rows = np.flatnonzero(batch.mask)
        if stream == "value":
            assert self.value is not None
            if not len(rows):
                return self._idle(self.model)[:0, 0].cpu().numpy()
            return self.value(self._hidden(self.model, batch, rows - 1)).cpu().numpy()
        with self._policy(stream) as model:
            return self._predict(model, batch, rows)[1].logprob.cpu().numpy()

    @contextmanager
    def _policy(self, stream: str) -> Iterator[nn.Module]:
        if stream == "ref" and self.reference is not None:
            yield self.reference
        elif stream == "ref":
            with base_weights(self.model):
                yield self.model
        else:
            yield self.model

    @torch.no_grad()
    def routes(self, batch: Batch) -> np.ndarray:
        """The experts that the model chooses for every token of a micro-batch [N, L, k]."""
        if not len(batch):
            self._idle(self.model)
            return np.zeros((0, len(routers(self.model)), 0), np.int64)
        ids, where = (torch.from_numpy(x).to(self.device) for x in (batch.tokens, batch.position))
        with recorded(self.model) as chosen, self.precision.cast(self.device):
            forward_hidden(self.model, ids, np.bincount(batch.sequence).tolist(), where)
        return torch.stack(chosen, 1).cpu().numpy()

    def _hidden(self, model: nn.Module, batch: Batch, rows: np.ndarray) -> torch.Tensor:
        if batch.images:
            raise LearnerError(f"the batch holds {len(batch.images)} pictures; this learner trains text policies only")
        ids, lengths = torch.from_numpy(batch.tokens).to(self.device), np.bincount(batch.sequence)
        with self.precision.cast(self.device):
            if EXPERTS not in batch.streams:
                return forward_hidden(model, ids, lengths, rows=rows)  # pyrefly: ignore
            experts, where = (torch.from_numpy(x).to(self.device) for x in (batch.streams[EXPERTS], batch.position))
            with replayed(model, experts):
                return forward_hidden(model, ids, lengths, where, rows)  # pyrefly: ignore

    def _tops(self, streams: Mapping[str, torch.Tensor], count: int, rows: int) -> dict[str, torch.Tensor]:
        """The engine's `count` likeliest ids and their logprobs [rows, count], if that many are needed at all."""
        if not count:
            return {}
        if IDS in streams and streams[IDS].shape[1] == count:
            return {"ids": streams[IDS], "rollout": streams[LOGPROBS]}
        if rows:
            raise LearnerError(
                f"the batch does not hold the engine's {count} likeliest ids, which the objective needs; pack it with "
                f"topk={count}"
            )
        none = torch.zeros(0, count, device=self.device)
        return {"ids": none.long(), "rollout": none}

    def _predict(
        self, model: nn.Module, batch: Batch, rows: np.ndarray, further: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, Predicted]:
        whole: Any = model
        head = list(whole.get_output_embeddings().parameters())
        if not len(rows):  # this rank has no part in the step
            none = self._idle(model)[:0]
            blank = none.new_zeros(0, 0 if further is None else further.shape[1])
            return none, Predicted(none.sum(-1), none.sum(-1), blank)
        hidden = self._hidden(model, batch, rows - 1)
        heat = None if batch.temperature is None else self._column(batch.temperature, rows)
        with self.precision.cast(self.device):
            said = token_logprobs(
                lambda h: head_logits(model, h),
                hidden,
                self._column(batch.tokens, rows),
                temperature=heat,
                weights=[p for p in head if p.requires_grad],
                further=None if further is None else further.clamp(min=0),
            )
        return hidden, said

    @torch.no_grad()
    def idle(self) -> None:
        """A forward pass on nothing, while other ranks that share the layers run one."""
        self._idle(self.model)

    def _idle(self, model: nn.Module) -> torch.Tensor:
        """Hidden states [1, D] that nobody reads: the passes of the other ranks wait for this one."""
        head: Any = model
        if not self.together:
            return torch.zeros(1, next(head.get_output_embeddings().parameters()).shape[-1], device=self.device)
        ids = torch.zeros(1, dtype=torch.int64, device=self.device)
        with self.precision.cast(self.device):
            return forward_hidden(model, ids, [1], rows=np.zeros(1, np.int64)).float()

    def _column(self, column: np.ndarray, rows: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(column[rows]).to(self.device)


def _lined(tops: Mapping[str, torch.Tensor], new: torch.Tensor) -> dict[str, torch.Tensor]:
    """The logprobs of the same ids [N, K] under the engine (`rollout`) and now (`new`); slots without an id hold none."""
    if not tops:
        return {}
    return {"rollout": tops["rollout"], "new": torch.where(tops["ids"] < 0, LOWEST, new.detach())}
