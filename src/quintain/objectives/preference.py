"""Likelihood losses of whole answers: preferences (DPO, with imitation) and step advantages."""

from __future__ import annotations

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
