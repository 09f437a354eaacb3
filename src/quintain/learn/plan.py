"""How the learner cuts a batch into optimizer steps."""

from __future__ import annotations

from dataclasses import dataclass

from quintain.types import check


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a batch becomes optimizer steps.

    Args:
        minibatches: optimizer steps that share one batch, cut by whole groups.
        epochs: passes over the batch.
        clip_norm: limit of the global gradient norm; 0 is off.
        micro_tokens: tokens of one forward pass; changes memory, never the loss.
        seed: of the shuffle into minibatches.
        folder: where `publish` writes each version; empty publishes a pointer to the live model.
        shard: spread the layers over ranks, each of which keeps a part (FSDP2); else every rank keeps all (DDP).
        whole: every rank is given the same batch and trains its share of each minibatch; else each has a batch of its own.
    """

    minibatches: int = 1
    epochs: int = 1
    clip_norm: float = 1.0
    micro_tokens: int = 4096
    seed: int = 0
    folder: str = ""
    shard: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        for name in ("minibatches", "epochs", "micro_tokens"):
            check(getattr(self, name) >= 1, f"{name} is {getattr(self, name)}; it must be >= 1")
        check(self.clip_norm >= 0, f"clip_norm is {self.clip_norm}; it must be >= 0 (0 is off)")
