"""Aliases for rollouts that branch, for sets of them, and for outcomes that are shared out over steps."""

from __future__ import annotations

from quintain.advantages import (
    combine,
    credit_sets,
    credit_tree,
    gae,
    normalise,
    redistribute,
    share_prefixes,
    turn,
)
from quintain.algorithms.record import Algorithm, clipped
from quintain.objectives import (
    clip,
    fit_progress,
    fit_values,
    penalise_kl,
    sequence_mean,
    token_mean,
    token_ratio,
)
from quintain.parts import chain
from quintain.registry import register


@register(
    "algorithm",
    "spa_rl",
    methods={"SPA-RL": {"cases": ("spa_rl",)}},
    paper="2505.20732",
    status="paper",
    confidence="code",
    uneven=True,
    learns="path",
    presets={"as_paper": {"close": False}},
)
def spa_rl(
    alpha: float = 1.0,
    beta: float = 0.5,
    close: bool = True,
    fit: float = 0.5,
    kl: float = 0.0,
    anchor: str = "rollout",
) -> Algorithm:
    """SPA-RL: an estimator splits the outcome over the turns, and actions that could be carried out earn a little.

    When to use: long episodes with a single reward at their end; the model needs a value head, which is the estimator.

    Maths: `r_t = alpha c_t + beta g_t` (see `redistribute`), A compares the rewards to go of the prompt's turns; the
    clip, plus `(sum_t c_t - R)^2`.

    Args:
        alpha: weight of contributions; a guess.
        beta: reward of an action that was carried out.
        close: pay what the contributions leave of the outcome to the last turn.
        fit: strength of the estimator's loss.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: with an estimator that says 0 and `close`, the last turn earns the outcome.

    Example:
        >>> sorted(spa_rl().needs)
        ['value', 'values']

    Reference: SPA-RL, 2025, arXiv 2505.20732. Differs from the paper: no second critic; the estimator learns beside the
    policy, which `close` makes safe.
    """
    penalty = [penalise_kl(coef=kl)] if kl else []
    return Algorithm(
        advantage=chain(redistribute(alpha, beta, close), normalise(unit=turn(), key=["prompt", "turn"])),
        objective=chain(token_ratio(anchor), clip(), *penalty, fit_progress(fit), sequence_mean()),
    )


@register(
    "algorithm",
    "tree_rl",
    methods={"TreeRL": {"cases": ("tree_mc_credit",)}},
    paper="2506.11902",
    status="paper",
    confidence="note",
    uneven=True,
)
def tree_rl(rule: str = "both", group: float = 1.0, kl: float = 0.0, anchor: str = "rollout") -> Algorithm:
    """TreeRL: each step of a rollout tree is credited by what came of the leaves below it.

    When to use: rollouts that branch, with outcome rewards (tag `leaf_rewards`).

    Maths: `A_n = (V(n) - V(root) + V(n) - V(parent)) / sqrt(leaves below n)` within each tree, V the mean outcome
    below; trees without branches are compared as in `grpo`; GRPO's objective.

    Args:
        rule: `both`, or `local` or `global` alone.
        group: weight of GRPO's term between the trees of a group; 0 leaves it out.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: a group of paths without branches has only GRPO's term.

    Example:
        >>> tree_rl(group=0.5).expand()["advantage"][0]["weights"]
        [1.0, 0.5]

    Reference: TreeRL, 2025, arXiv 2506.11902. Differs from the paper: the term between trees; several trees per prompt.
    """
    inside = credit_tree(rule)
    part = combine(inside, "normalise", weights=[1.0, group]) if group else inside
    return Algorithm(advantage=part, objective=clipped(anchor, kl=kl))


@register(
    "algorithm",
    "treeps_rag",
    methods={"TreePS-RAG": {"cases": ("tree_mc_credit",)}},
    paper="2601.06922",
    status="paper",
    confidence="note",
    uneven=True,
)
def treeps_rag(rule: str = "local", group: float = 1.0, kl: float = 0.0, anchor: str = "rollout") -> Algorithm:
    """TreePS-RAG: step values by the outcomes of descendants, each step judged against its parent.

    When to use: agentic retrieval with rollout trees and outcome rewards.

    Maths: `A_n = V(n) - V(parent)` (`rule`), plus GRPO's term between trees; GRPO's objective.

    Args:
        rule: `local` or `global`: which the paper uses was not read.
        group: weight of GRPO's term between the trees of a group.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: a group of paths without branches has only GRPO's term.

    Example:
        >>> treeps_rag().expand()["advantage"][0]["parts"][0]["rule"]
        'local'

    Reference: TreePS-RAG, 2026, arXiv 2601.06922. Differs from the paper: read in its abstract.
    """
    return Algorithm(
        advantage=combine(credit_tree(rule), "normalise", weights=[1.0, group]), objective=clipped(anchor, kl=kl)
    )


@register(
    "algorithm",
    "arpo",
    methods={
        "ARPO (agentic)": {
            "recipe": ("algorithm=arpo", "rollout.name=branching"),
            "cases": ("arpo_branch", "arpo_hard"),
        }
    },
    paper="2507.19849",
    status="paper",
    confidence="code",
)
def arpo(hard: bool = False, kl: float = 0.0, anchor: str = "rollout") -> Algorithm:
    """ARPO (agentic): rollouts fork after tools where the policy became unsure; branches are compared as trajectories.

    When to use: tool use under a budget of calls, with the rollout `branching`.

    Maths: GRPO's advantage of each branch; `hard` gives tokens that branches share the mean of theirs; GRPO's
    objective.

    Args:
        hard: the hard attribution, our reading; the release has the soft one.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: without forks this is `grpo`.

    Example:
        >>> [link["name"] for link in arpo(hard=True).expand()["advantage"]]
        ['normalise', 'share_prefixes']

    Reference: ARPO, 2025, arXiv 2507.19849. Differs from the paper: the rollout is chosen apart (`branching`).
    """
    part = chain(normalise(), share_prefixes()) if hard else normalise()
    return Algorithm(advantage=part, objective=clipped(anchor, kl=kl))


@register(
    "algorithm",
    "polychromic",
    methods={"Polychromic PPO": {"cases": ("polychromic",)}},
    paper="2509.25424",
    status="paper",
    confidence="note",
    uneven=True,
    learns="modes",
    presets={"as_paper": {"window": 5}},
)
def polychromic(
    size: int = 4, draws: int = 0, of: str = "actions", window: int = 0, kl: float = 0.0, anchor: str = "rollout"
) -> Algorithm:
    """Polychromic objective: sets of trajectories are credited for succeeding and for differing.

    When to use: a policy that must keep several ways of solving a task.

    Maths: see `credit_sets`: the mean over a trajectory's sets of `mean R x share of distinct strategies`, centred;
    PPO's clip; with `window`, generalised advantages elsewhere.

    Args:
        size: members of a set.
        draws: sets that are drawn; 0 takes all.
        of: what tells strategies apart: `actions`, `tokens` or a tag.
        window: turns after the fork that get the credit; the paper has 5, and a critic elsewhere; 0 needs none.
        kl: strength of the k3 penalty to the reference policy; 0 leaves it out.
        anchor: denominator of the ratio: `rollout` (free) or `old` (one more forward pass).

    Returns:
        The algorithm.

    Special cases: a strategy that no other shares is worth more, a failure beside successes is not worth nothing.

    Example:
        >>> [link["name"] for link in polychromic().expand()["advantage"]]
        ['credit_sets']

    Reference: Polychromic objectives, 2025, arXiv 2509.25424. Differs from the paper: no vine unless the rollout forks.
    """
    sets = credit_sets(size, draws, of, window)
    if not window:
        return Algorithm(advantage=sets, objective=clipped(anchor, kl=kl, mean="token_mean"))
    penalty = [penalise_kl(coef=kl)] if kl else []
    objective = chain(token_ratio(anchor), clip(), *penalty, fit_values(), token_mean())
    return Algorithm(advantage=chain(gae(), sets), objective=objective)
