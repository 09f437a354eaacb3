"""The two records of the learner: the packed `Batch` and the `Terms` of an objective. Part of `quintain.types`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quintain.messages import Image, check

if TYPE_CHECKING:
    import numpy as np
    import torch


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Flat packed arrays, one row per token, no padding. `weights` has the streams `rl`, `ce`, `kl` [N] float32.

    `sequence` [N] numbers paths from 0 in order, `position` [N] restarts at 0 in each, `group` [N] numbers groups;
    `tokens` [N]; `mask` [N] bool marks tokens that enter a loss; `logprobs` [N] as recorded at sampling; `streams` [N] more columns
    (`advantage`, `old`, `ref`, `value`, `return`, `reward`). `totals` are sums over the whole step and all ranks.
    """

    tokens: np.ndarray
    mask: np.ndarray
    logprobs: np.ndarray
    sequence: np.ndarray
    position: np.ndarray
    group: np.ndarray
    weights: Mapping[str, np.ndarray]
    streams: Mapping[str, np.ndarray] = field(default_factory=dict)
    temperature: np.ndarray | None = None  # [N] of the sampling that drew each token
    totals: Mapping[str, float] = field(default_factory=dict)
    images: tuple[Image, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.tokens)
        columns = {"mask": self.mask, "logprobs": self.logprobs, "sequence": self.sequence, "position": self.position}
        for name, column in {**columns, "group": self.group, **self.weights, **self.streams}.items():
            check(len(column) == n, f"batch column {name} has {len(column)} rows for {n} tokens")

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Terms:
    """What flows through an objective chain: one row per trained token [N].

    `new`, `old`, `rollout`, `ref` are four logprobs of the same token under the learner now, the learner before the step,
    the engine at sampling, and the reference: separate tensors, never two of three. `log_ratio` is set by a ratio part,
    `loss` by a surrogate [N] and reduced to a scalar by a mean part; `weight` [N] multiplies the policy term.
    `totals` hold sums over the whole step and all ranks (`tokens`, `sequences`, `groups`, and what `measure` asked for).
    `metrics` are numbers that are added up over micro-batches and ranks: a mean is a sum divided by `totals["tokens"]`.
    `memo` keeps what parts found of ids, masks and weights; terms that are made from these share it.
    """

    new: torch.Tensor
    rollout: torch.Tensor
    advantage: torch.Tensor
    mask: torch.Tensor
    sequence: torch.Tensor
    group: torch.Tensor
    old: torch.Tensor | None = None
    ref: torch.Tensor | None = None
    entropy: torch.Tensor | None = None
    value: torch.Tensor | None = None
    old_value: torch.Tensor | None = None
    returns: torch.Tensor | None = None
    turn: torch.Tensor | None = None  # [N] number of the message that holds the token
    reward: torch.Tensor | None = None  # [N] of the token's trajectory
    weights: Mapping[str, torch.Tensor] = field(default_factory=dict)  # streams rl, ce, kl [N]
    topk: Mapping[str, torch.Tensor] = field(default_factory=dict)
    hidden: torch.Tensor | None = None
    log_ratio: torch.Tensor | None = None
    weight: torch.Tensor | None = None
    loss: torch.Tensor | None = None
    extra: torch.Tensor | None = None  # [N] regularisers, not scaled by `weight`
    metrics: Mapping[str, Any] = field(default_factory=dict)
    totals: Mapping[str, float] = field(default_factory=dict)
    memo: dict[str, Any] = field(default_factory=dict, repr=False)
