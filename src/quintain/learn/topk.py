"""The engine's likeliest ids at every sampled token, as columns [N, K] beside the others of a batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quintain.types import Node, QuintainError

LOWEST = -1e4  # nats: the logprob of a slot that holds no id
IDS, LOGPROBS = "topk_ids", "topk_logprobs"  # streams of a batch


class TopkError(QuintainError):
    """An engine did not send the likeliest ids that an objective needs."""


def wanted(needs: frozenset[str]) -> int:
    """How many ids the needs ask for: the most of all `topk:K`, 0 without one.

    Raises:
        TopkError: a need whose K is no number above 0.

    Example:
        >>> wanted(frozenset({"old", "topk:20"}))
        20
    """
    counts = [need[5:] for need in needs if need.startswith("topk:")]
    for count in counts:
        if not count.isdecimal() or not int(count):
            raise TopkError(f"the need 'topk:{count}' names no number of ids; write one such as 'topk:20'")
    return max(map(int, counts), default=0)


def others(needs: frozenset[str]) -> frozenset[str]:
    """The needs that a learner has to meet: an engine gives likeliest ids, the rollout digests of states and tags.

    Raises:
        TopkError: such a need without a number.
    """
    wanted(needs)
    return frozenset(need for need in needs if need != "digests" and not need.startswith(("topk:", "tag:")))


def support(
    ids: np.ndarray, logprobs: np.ndarray, tokens: np.ndarray, sampled: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Ids and logprobs [N, K] of which the sampled token is one: where it is absent it takes the last slot.

    Args:
        ids: the engine's likeliest ids [N, K], best first.
        logprobs: theirs [N, K].
        tokens: the sampled ids [N].
        sampled: their logprobs [N].
    """
    ids, logprobs = ids.copy(), logprobs.copy()
    absent = (ids != tokens[:, None]).all(1)
    ids[absent, -1], logprobs[absent, -1] = tokens[absent], sampled[absent]
    return ids, logprobs


def columns(nodes: Sequence[Node], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids and logprobs [M, count] of the flat tokens of some nodes, the sampled one among them.

    Slots without an id (a cut left fewer) hold the id -1 and the logprob `LOWEST`, as do tokens that were not sampled.

    Raises:
        TopkError: a sampled node without its likeliest ids.
    """
    total = sum(len(n.tokens) for n in nodes)
    ids, logprobs = np.full((total, count), -1, np.int64), np.full((total, count), LOWEST, np.float32)
    at = 0
    for node in nodes:
        n = len(node.tokens)
        if any(node.mask):
            if len(node.top_ids) != n:
                raise TopkError(
                    f"a sampled node of {n} tokens holds the likeliest ids of {len(node.top_ids)}, but the objective "
                    f"needs topk:{count}; sample with top_logprobs={count}, from an engine that sends ids (torch, vllm)"
                )
            for row, (best, values) in enumerate(zip(node.top_ids, node.top_logprobs, strict=True), at):
                k = min(len(best), count)
                ids[row, :k], logprobs[row, :k] = best[:k], values[:k]
            here = slice(at, at + n)
            drawn = np.array(node.tokens, np.int64), np.array(node.logprobs, np.float32)
            ids[here], logprobs[here] = support(ids[here], logprobs[here], *drawn)
        at += n
    return ids, np.maximum(logprobs, np.float32(LOWEST))
