"""Likelihood losses of whole answers: preferences (DPO, with imitation), step advantages, and weights of reasoning traces."""

from __future__ import annotations

from typing import NamedTuple

import torch


def dpo(
    chosen: torch.Tensor,
    rejected: torch.Tensor,
    ref_chosen: torch.Tensor,
    ref_rejected: torch.Tensor,
    beta: float = 0.1,
) -> torch.Tensor:
    """Prefer the chosen answer to the rejected one, measured from a reference policy: a loss per pair [B].

    When to use: a cold start from pairs of which both are right and one has the better form (SPECS), with `imitate`.

    Maths: `-log sigmoid(beta ((chosen - ref_chosen) - (rejected - ref_rejected)))`, logprobs summed over each answer [B].

    Args:
        chosen: logprobs of the preferred answers in nats [B], with gradient.
        rejected: those of the others.
        ref_chosen: logprobs of the preferred answers under the reference policy.
        ref_rejected: those of the others.
        beta: strength of the tie to the reference policy, > 0.

    Returns:
        The losses [B], finite for any margin.

    Example:
        >>> one = torch.tensor([-1.0])
        >>> round(float(dpo(one, one, one, one)), 4)
        0.6931

    Reference: Rafailov et al., 2023, arXiv 2305.18290.
    """
    margin = (chosen - ref_chosen) - (rejected - ref_rejected)
    return torch.nn.functional.softplus(-beta * margin)


def imitate(chosen: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
    """Negative log-likelihood per token of answers [B] from their summed logprobs and lengths in tokens."""
    return -chosen / length.clamp(min=1)


def fit_advantage(log_ratio: torch.Tensor, advantage: torch.Tensor, beta: float = 0.5) -> torch.Tensor:
    """Fit the log-ratio of each step to its advantage by squares: a loss per step [B]. A guess at the paper's scaling.

    When to use: offline steps whose advantage a frozen critic gave: `V(s') - V(s)`.

    Maths: `1/2 (beta log_ratio - advantage)^2`, `log_ratio = log pi / pi_ref` summed over the step's tokens.

    Args:
        log_ratio: nats [B], with gradient.
        advantage: [B], a constant.
        beta: units of advantage per nat, > 0.

    Returns:
        The losses [B].

    Example:
        >>> float(fit_advantage(torch.tensor(0.5), torch.tensor(0.25)))
        0.0

    Reference: Direct Advantage Policy Optimization (a summary was read). Differs from the paper: the scaling is ours.
    """
    return (beta * log_ratio - advantage.detach()).square() / 2


class Traces(NamedTuple):
    """What K reasoning traces of one question say: weights [K] and bounds in nats."""

    log_weight: torch.Tensor
    elbo: torch.Tensor
    bound: torch.Tensor
    share: torch.Tensor
    likelihood: torch.Tensor
    accuracy: torch.Tensor


def weigh_traces(
    policy: torch.Tensor,
    posterior: torch.Tensor,
    answer: torch.Tensor,
    trace_length: torch.Tensor,
    answer_length: torch.Tensor,
    accuracy: torch.Tensor,
) -> Traces:
    """Weights of reasoning traces that were drawn with a hint at the answer.

    When to use: to pick, or to weigh, the traces on which a policy is trained by imitation (variational reasoning).

    Maths: `log w_k = policy_k + answer_k - posterior_k`; ELBO `mean log w`, bound `log mean w`, shares `softmax(log w)`; per token `(policy
    - posterior) / trace_length + answer / answer_length`, and `accuracy exp((policy - posterior) / trace_length)`. All [K].

    Args:
        policy: logprob of the trace without the hint, nats.
        posterior: logprob of the trace with the hint.
        answer: logprob of the right answer behind the trace.
        trace_length: tokens of the trace.
        answer_length: tokens of the answer.
        accuracy: share of right answers drawn behind the trace, in [0, 1].

    Returns:
        `log_weight`, `elbo`, `bound`, `share`, `likelihood` (geometric means, in nats) and `accuracy`.

    Example:
        >>> one = torch.ones(2)
        >>> weigh_traces(-one, -one, -one, one, one, one).share.tolist()
        [0.5, 0.5]

    Reference: Variational reasoning, read in the authors' code.
    """
    logs = policy + answer - posterior
    each = (policy - posterior) / trace_length.clamp(min=1)
    return Traces(
        log_weight=logs,
        elbo=logs.mean(),
        bound=torch.logsumexp(logs, 0) - torch.log(torch.tensor(float(len(logs)), dtype=logs.dtype)),
        share=torch.softmax(logs, 0),
        likelihood=each + answer / answer_length.clamp(min=1),
        accuracy=accuracy * each.exp(),
    )
