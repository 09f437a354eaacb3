"""What the local engine does with tensors: forwards over slots, sampling, scoring, copies, new weights."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from quintain.engines.torch_sample import Drawn, draw, uniforms
from quintain.engines.torch_weights import WeightsError, copy_weights
from quintain.models import (
    Pack,
    SlotStore,
    causal_lm,
    context_limit,
    forward_hidden,
    head_logits,
    merge,
    plain_config,
    run_pack,
    text_config,
    width,
)
from quintain.models.fingerprint import fingerprint
from quintain.models.sketch import sketch
from quintain.types import Floats, Ints, QuintainError, Sampling, Weights

STEP_TOKENS = 8192  # rows of one forward at most: bounds the memory of activations
SCORE_CELLS = 1 << 24  # logits held at once when scoring


class EngineError(QuintainError):
    """The engine cannot serve a request; the message names the value and the limit."""


@dataclass(slots=True, eq=False)
class Work:
    """One forward: spans in packed order, then which of them end a path and how the next token of each is drawn.

    `ids` of all spans together; `lengths`, `starts`, `slots` per span, and `prefixes`: equal numbers where the slots hold
    equal keys and values; `last` numbers the spans that sample,
    `samplings`, `noise` and `indices` have one entry for each of those; the first `moved` tokens of the slots
    `sources` are copied over `targets` before anything else. `version` is the one to run, the newest where it is not kept.
    """

    ids: list[int]
    lengths: list[int]
    starts: list[int]
    slots: list[int]
    prefixes: list[int]
    last: list[int]
    samplings: list[Sampling]
    noise: list[int]
    indices: list[int]
    sources: list[int]
    targets: list[int]
    moved: int
    version: int = -1


class Done(NamedTuple):
    """What a forward gave: the drawn tokens, the version of the weights, seconds in the model and in sampling."""

    drawn: Drawn
    version: int
    forward_s: float
    sample_s: float


class Runner:
    """Owns the slots and runs the model; its methods are called one at a time, from one thread.

    Args:
        model: self-tested, on its device.
        slots: sequences held at once.
        context: tokens of the longest path; the model's own limit when 0.

    Raises:
        EngineError: a size is out of range.
    """

    def __init__(self, model: nn.Module, slots: int, context: int) -> None:
        limit = context_limit(model)
        if slots < 1 or not 0 <= context <= limit:
            raise EngineError(f"slots={slots} and context={context}: slots must be >= 1, context between 0 and {limit}")
        parameters = list(model.parameters())
        self.model = model
        self.context = context or limit
        self.vocab = int(text_config(model).vocab_size)
        self.version = 0
        self.older: dict[int, nn.Module] = {}  # models of older versions that are still asked for
        self.device = parameters[0].device
        self.parameters = sum(p.numel() for p in parameters)
        self._width = width(model)
        self._store = SlotStore(self.device, slots, self.context)

    @torch.inference_mode()
    def step(self, work: Work) -> Done:
        """Run the spans of `work`, store their keys and values, draw a token after each span that samples."""
        began = time.perf_counter()
        if work.sources:
            self.copy(work.sources, work.targets, work.moved)
        lengths, tokens = np.array(work.lengths), np.array(work.ids)
        merged = merge(tokens, lengths, work.prefixes)
        kept, row = merged or (np.arange(len(tokens)),) * 2
        spans = (lengths, np.array(work.starts), np.array(work.slots))
        pack, positions = Pack.into(self._store, *spans, self._width, None if merged is None else row)
        ends = row[np.cumsum(lengths)[work.last] - 1]
        read = np.unique(ends)
        if 0 < len(read) < len(kept):
            pack.wanted = self._tensor(read)
        model, version = self.model, self.version
        if work.version in self.older:
            model, version = self.older[work.version], work.version
        hidden = run_pack(model, self._tensor(tokens[kept]), self._tensor(positions[kept]), pack)
        if not work.last:
            return Done(Drawn([], [], [], []), version, time.perf_counter() - began, 0.0)
        logits = head_logits(model, hidden.index_select(0, self._tensor(ends)))
        between = time.perf_counter()
        drawn = draw(logits, work.samplings, uniforms(work.noise, work.indices))
        return Done(drawn, version, between - began, time.perf_counter() - between)

    def _tensor(self, values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(values).to(self.device)

    @torch.inference_mode()
    def copy(self, sources: list[int], targets: list[int], tokens: int) -> None:
        """Copy the first `tokens` keys and values of slots over other slots, all at once."""
        self._store.reserve(max(sources + targets) + 1, tokens)
        at = [torch.tensor(slots, device=self.device) for slots in (sources, targets)]
        self._store.move(at[0], at[1], tokens)

    @torch.inference_mode()
    def score(self, paths: Sequence[Ints]) -> list[Floats]:
        """Logprobs of every token of `paths` at temperature 1; the first of each path is 0."""
        for path in paths:
            if len(path) > self.context:
                raise EngineError(f"a path of {len(path)} tokens is above the engine's context of {self.context}")
            self.check_ids(path)
        out: list[Floats] = []
        part: list[Ints] = []
        rows = 0
        for path in paths:
            if part and rows + len(path) > STEP_TOKENS:
                out += self._score(part)
                part, rows = [], 0
            part.append(path)
            rows += len(path)
        return out + (self._score(part) if part else [])

    def _score(self, paths: list[Ints]) -> list[Floats]:
        ids = torch.tensor([t for path in paths for t in path], dtype=torch.int64, device=self.device)
        lengths = [len(path) for path in paths]
        if not len(ids):
            return [() for _ in paths]
        hidden = forward_hidden(self.model, ids, [n for n in lengths if n])
        parts = []
        for rows, following in zip(
            hidden[:-1].split(max(1, SCORE_CELLS // self.vocab)),
            ids[1:].split(max(1, SCORE_CELLS // self.vocab)),
            strict=True,
        ):
            logp = torch.log_softmax(head_logits(self.model, rows).float(), dim=-1)
            parts.append(logp.gather(1, following[:, None])[:, 0])
        flat = [0.0, *(torch.cat(parts).tolist() if parts else [])]
        ends = np.cumsum(lengths).tolist()
        return [(0.0, *flat[end - n + 1 : end]) if n else () for n, end in zip(lengths, ends, strict=True)]

    def check_ids(self, ids: Ints) -> None:
        """Raise `EngineError` if an id lies outside the vocabulary."""
        if ids and (min(ids) < 0 or max(ids) >= self.vocab):
            bad = next(t for t in ids if not 0 <= t < self.vocab)
            raise EngineError(
                f"token id {bad} lies outside the model's vocabulary of {self.vocab}; is it the right tokenizer?"
            )

    def holds(self, detail: bool) -> dict[str, Any]:
        """Version, dtype and fingerprint of what runs; with `detail` facts of every tensor, and the configuration."""
        dtype = next(p.dtype for p in self.model.parameters() if p.is_floating_point())
        told = {"version": self.version, "dtype": str(dtype).removeprefix("torch."), "prints": fingerprint(self.model)}
        return {**told, "tensors": sketch(self.model), "config": plain_config(self.model)} if detail else told

    def load(self, weights: Weights, keep: bool = False) -> None:
        """Run with `weights` from the next step on; with `keep` a copy of those so far stays for work that asks for their version.

        Raises:
            WeightsError: the weights do not fit, or would be kept but were changed in place by a learner already.
        """
        kept = None
        if keep and weights.version != self.version:
            if weights.source is self.model or weights.source is causal_lm(self.model):
                raise WeightsError(
                    f"version {self.version} cannot be kept beside {weights.version}: the engine runs on the learner's own weights; "
                    "give it a copy of the model"
                )
            kept = copy.deepcopy(self.model)
        copy_weights(self.model, weights)
        if kept is not None:
            self.older[self.version] = kept
        self.version = weights.version

    def forget(self, version: int) -> None:
        """Nothing asks for an older version any more."""
        self.older.pop(version, None)
