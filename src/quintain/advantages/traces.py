"""Reasoning traces that were drawn with a hint at the answer: what each is worth to a policy without it (variational reasoning)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from quintain.advantages.rows import bad_reward
from quintain.parts import Advantage, PartError, stateless
from quintain.registry import register, unknown
from quintain.types import Floats, Group, Trajectory

RULES = ("share", "accuracy", "best")


class Traces(NamedTuple):
    """What K reasoning traces of one question say: weights [K] and bounds in nats."""

    log_weight: Floats
    elbo: float
    bound: float
    share: Floats
    likelihood: Floats
    accuracy: Floats


def weigh_traces(
    policy: Sequence[float],
    posterior: Sequence[float],
    answer: Sequence[float],
    trace_length: Sequence[float],
    answer_length: Sequence[float],
    accuracy: Sequence[float],
) -> Traces:
    """Weights of reasoning traces that were drawn with a hint at the answer.

    When to use: to pick, or to weigh, the traces on which a policy is trained by imitation (variational reasoning).

    Maths: `log w_k = policy_k + answer_k - posterior_k`; ELBO `mean log w`, bound `log mean w`, shares `softmax(log w)`; per token `(policy
    - posterior) / trace_length + answer / answer_length`, and `accuracy exp((policy - posterior) / trace_length)`. All [K].

    Args:
        policy: logprob of the trace without the hint, nats.
        posterior: logprob of the trace with the hint.
        answer: logprob of the right answer behind the trace; `-inf` where there is none.
        trace_length: tokens of the trace.
        answer_length: tokens of the answer.
        accuracy: share of right answers drawn behind the trace, in [0, 1].

    Returns:
        `log_weight`, `elbo`, `bound`, `share`, `likelihood` (geometric means, in nats) and `accuracy`.

    Special cases: where no trace has a right answer all shares are 0.

    Example:
        >>> one = [1.0, 1.0]
        >>> weigh_traces([-1, -1], [-1, -1], [-1, -1], one, one, one).share
        (0.5, 0.5)

    Reference: Variational reasoning, 2025, arXiv 2509.22637, read in the authors' code.
    """
    logs = tuple(p + a - q for p, a, q in zip(policy, answer, posterior, strict=True))
    each = [(p - q) / max(1, n) for p, q, n in zip(policy, posterior, trace_length, strict=True)]
    top = max(logs)
    worth = [math.exp(w - top) if top > -math.inf else 0.0 for w in logs]
    total = math.fsum(worth)
    return Traces(
        log_weight=logs,
        elbo=sum(logs) / len(logs),
        bound=top + math.log(total / len(logs)) if total else -math.inf,
        share=tuple(w / total if total else 0.0 for w in worth),
        likelihood=tuple(e + a / max(1, n) for e, a, n in zip(each, answer, answer_length, strict=True)),
        accuracy=tuple(c * math.exp(e) if c else 0.0 for c, e in zip(accuracy, each, strict=True)),
    )


@register("advantage", "credit_traces", paper="2509.22637", status="paper", confidence="code")
def credit_traces(rule: str = "share") -> Advantage:
    """Credit what was said with a hint by how well it would have been said without, and whether it was right.

    When to use: imitation of answers that were played with a hint and are trained without it, as `rewrite_context` has them.

    Maths: with p_k and q_k the sums of `old`, scored without the hint, and of the engine's logprobs over the n_k sampled tokens of
    trajectory k, R_k its reward in [0, 1]: `share` is `A_k = K softmax_k(p_k - q_k + log R_k)`, whose policy gradient is that of the
    bound `log 1/K sum_k exp(p_k - q_k) R_k`; `accuracy` is `R_k exp((p_k - q_k) / n_k)`; `best` is 1 for the first with the largest of
    those, if it is above 0, and 0 else.

    Args:
        rule: `share`, `accuracy` or `best`.

    Returns: An advantage that writes the stream `advantage`; it needs `old`.
    Special cases: a group without a right answer gets 0; rewards are held within [0, 1]. Without a hint p = q, and `accuracy` is
    imitation in proportion to the reward.

    Example:
        >>> credit_traces().needs
        frozenset({'old'})

    Reference: Variational reasoning, 2025, arXiv 2509.22637. Differs from the paper: one answer is drawn behind each trace, and counts
    with it.
    """
    if rule not in RULES:
        raise PartError(unknown("rule of credit_traces", rule, RULES))

    def one(group: Group) -> Group:
        facts = [_facts(group, t) for t in group.trajectories]
        if not facts:
            return group
        policy, posterior, length, right = zip(*facts, strict=True)
        logs = [math.log(r) if r else -math.inf for r in right]
        found = weigh_traces(policy, posterior, logs, length, [1.0] * len(logs), right)
        if rule == "share":
            worth = [len(facts) * w for w in found.share]
        else:
            first = found.accuracy.index(max(found.accuracy)) if any(found.accuracy) else -1
            worth = [float(k == first) for k in range(len(facts))] if rule == "best" else list(found.accuracy)
        each = zip(group.trajectories, worth, strict=True)
        return replace(group, trajectories=tuple(t.with_value("advantage", w) for t, w in each))

    return stateless(lambda groups: tuple(map(one, groups)), needs=("old",), apart=True)


def _facts(group: Group, t: Trajectory) -> tuple[float, float, float, float]:
    """Logprobs of the sampled tokens without and with the hint, how many they are, and the reward as an accuracy."""
    if not math.isfinite(t.reward):
        raise bad_reward(group, t)
    if "old" not in t.streams:
        raise PartError(f"credit_traces: trajectory {t.id!r} has no stream 'old'; score it first")
    rows = [
        (p, q)
        for node, old in zip(t.nodes, t.streams["old"], strict=True)
        for p, q, drawn in zip(old, node.logprobs, node.mask, strict=True)
        if drawn
    ]
    return math.fsum(p for p, _ in rows), math.fsum(q for _, q in rows), len(rows), min(1.0, max(0.0, t.reward))
