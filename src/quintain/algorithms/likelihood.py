"""Aliases of likelihoods: PreRL, NSR, DSRL, FCP, TriMPI, variational reasoning, DPO, SPECS, Direct Advantage, RL-Co."""

from __future__ import annotations

from typing import Any

from quintain.advantages import credit_traces, imitate_demos, judge, normalise, take_turns
from quintain.algorithms.record import Algorithm, clipped
from quintain.gates import rewrite_context
from quintain.objectives import (
    ce,
    clip,
    fit_steps_guess,
    policy_gradient,
    prefer_answers,
    sequence_sum,
    token_mean,
    token_ratio,
)
from quintain.parts import chain
from quintain.registry import register, resolve


@register(
    "algorithm",
    "nsr",
    methods={"NSR": {"cases": ("nsr_prerl",)}},
    learns="mistakes",
    status="paper",
    confidence="paper",
    one_sided=True,
)
def nsr(right: float = 0.0, wrong: float = -1.0, anchor: str = "old") -> Algorithm:
    """NSR: wrong answers are made unlikelier, right ones are left alone.

    When to use: to keep a policy's variety while it unlearns mistakes.

    Maths: `A = right` or `wrong`; PPO's clip, averaged over tokens.

    Args:
        right: advantage of right answers; 1 with `wrong=0` is positive sample reinforcement.
        wrong: advantage of wrong ones.
        anchor: denominator of the ratio: `old` or `rollout`.

    Returns:
        The algorithm.

    Special cases: a step without mistakes teaches nothing.

    Example:
        >>> nsr().expand()["advantage"][0]["name"]
        'judge'

    Reference: negative sample reinforcement (PreRL's abstract). Differs from the paper: the clip is ours.
    """
    return Algorithm(advantage=judge(right, wrong), objective=clipped(anchor, mean="token_mean"))


@register(
    "algorithm",
    "prerl_guess",
    methods={"NSR-PreRL": {}},
    learns="anyway",
    status="experimental",
    confidence="guess",
    one_sided=True,
    rewrites=True,
)
def prerl_guess(right: float = 0.0, wrong: float = -1.0) -> Algorithm:
    """NSR-PreRL: negative samples alone, on the likelihood of the answer without its prompt.

    When to use: before reinforcement learning proper, to unlearn what is wrong whatever is asked.

    Maths: `rewrite_context(prompt)`, `judge`, PPO's clip against `old`, which is scored without the prompt too.

    Args:
        right: advantage of right answers.
        wrong: advantage of wrong ones.

    Returns:
        The algorithm.

    Special cases: the prompt's first token stays.

    Example:
        >>> prerl_guess().expand()["gate"][0]["name"]
        'rewrite_context'

    Reference: PreRL (abstract). Differs from the paper: clip, steps and what stays of the prompt are guesses.
    """
    return Algorithm(advantage=judge(right, wrong), objective=clipped("old", mean="token_mean"), gate=rewrite_context())


@register(
    "algorithm",
    "dsrl_guess",
    methods={"DSRL": {}},
    learns="anyway",
    status="experimental",
    confidence="guess",
    one_sided=True,
    rewrites=True,
    example={"steps": 10},
)
def dsrl_guess(steps: int = 100, advantage: Any = "normalise") -> Algorithm:
    """DSRL: NSR-PreRL for some steps, then reinforcement learning.

    When to use: as `prerl_guess`, as one run.

    Maths: `prerl_guess` at step k < steps, then `grpo` with a token mean.

    Args:
        steps: of the first stage.
        advantage: of the second one.

    Returns:
        The algorithm.

    Special cases: a group is rewritten if the policy that was asked is younger than `steps` versions.

    Example:
        >>> dsrl_guess(10).expand()["advantage"][0]["name"]
        'take_turns'

    Reference: PreRL (abstract). Differs from the paper: see `prerl_guess`.
    """
    return Algorithm(
        advantage=take_turns(judge(), resolve("advantage", advantage), steps),
        objective=clipped("old", mean="token_mean"),
        gate=rewrite_context(until=steps) if steps else None,
    )


@register(
    "algorithm",
    "fcp",
    methods={
        "FCP": {
            "wants": "a hint with feedback in the context, and the tag `critique` with token ids",
            "shown": "tests/unit/gates/test_context.py::test_feedback_conditioned_training_reads_the_critique",
        }
    },
    status="paper",
    confidence="paper",
    learns="none",
    rewrites=True,
)
def fcp(put: str = "critique") -> Algorithm:
    """FCP: the likelihood of an answer behind the feedback that it got, for every answer.

    When to use: feedback in words and no reward: play with praise as a hint, train with what was really said of it.

    Maths: hints are replaced by the ids of the tag `put`; `loss = -1/S sum_i log pi(y_i | critique_i, x_i)`.

    Args:
        put: the trajectory's tag with the critique's token ids.

    Returns:
        The algorithm.

    Special cases: rewards do not matter; conditions on length collapse it.

    Example:
        >>> [link["name"] for link in fcp().expand()["objective"]]
        ['policy_gradient', 'sequence_sum']

    Reference: FCP (paper text read). Differs from the paper: its online stage.
    """
    gate = rewrite_context(("hint",), put)
    return Algorithm(advantage=judge(1.0, 1.0), objective=chain(policy_gradient(), sequence_sum()), gate=gate)


@register("algorithm", "trimpi_guess", methods={"TriMPI": {}}, status="experimental", confidence="guess", rewrites=True)
def trimpi_guess(advantage: Any = "normalise") -> Algorithm:
    """TriMPI's policy rollout: answers with and without the policy text in one group, all trained without it.

    When to use: rules that are to be known by heart: some members of a group are shown them as a hint.

    Maths: hints lose their tokens; GRPO over the union, its ratio against `old`, scored without the hint.

    Args:
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: without hints it is GRPO.

    Example:
        >>> trimpi_guess().expand()["gate"][0]["kinds"]
        ['hint']

    Reference: TriMPI (abstract). Differs from the paper: how its ratio is formed is a guess.
    """
    gate = rewrite_context(["hint"])
    return Algorithm(advantage=resolve("advantage", advantage), objective=clipped("old"), gate=gate)


@register(
    "algorithm",
    "variational",
    methods={
        "Variational reasoning": {"cases": ("variational", "accuracy_weighting")},
        "Variational posterior": {
            "preset": "posterior",
            "wants": "a context with room for a hint, and the tag `hint` with the ids of the answer",
            "shown": "tests/unit/gates/test_context.py::test_a_posterior_is_trained_behind_the_hint_that_it_was_not_shown",
        },
    },
    paper="2509.22637",
    status="paper",
    confidence="code",
    presets={"posterior": {"put": "hint"}, "as_released": {"rule": "best"}},
    rewrites=True,
    imitates=True,
)
def variational(rule: str = "share", put: str = "") -> Algorithm:
    """Variational reasoning: answers played with a hint train the policy without it, weighed by how well it would have said them.

    When to use: questions that the policy seldom answers, with an answer to hint at. With `put` it is the other half: answers
    that were played without the hint train the policy that has it, so that its hinted answers come near those that are right.

    Maths: hints lose their tokens; `loss = -1/S sum_i A_i sum_t log pi(y_it | x)`, A by `credit_traces`: the gradient of the bound
    `log 1/K sum_k pi(z_k, Y | x) / q(z_k | x, hint)`. With `put` the hint takes the ids of that tag, and A is 1 for right answers and 0
    for others: the forward KL from the policy's right answers.

    Args:
        rule: of `credit_traces`: `share`, `accuracy` or `best`.
        put: tag of the trajectory that holds the hint's token ids; empty trains the policy.

    Returns:
        The algorithm.

    Special cases: where nothing is hinted it is imitation of right answers, by `accuracy` in proportion to the reward.

    Example:
        >>> variational().expand()["advantage"][0]["name"], variational(put="hint").expand()["advantage"][0]["name"]
        ('credit_traces', 'judge')

    Reference: Variational reasoning, 2025, arXiv 2509.22637. Differs from the paper: both halves train one policy, online; there
    they are models of their own, trained one after the other.
    """
    gate = rewrite_context(["hint"], put)
    credit = judge(1.0, 0.0, 0.5) if put else credit_traces(rule)
    return Algorithm(advantage=credit, objective=chain(policy_gradient(), sequence_sum()), gate=gate)


@register(
    "algorithm",
    "dpo",
    methods={
        "DPO": {"cases": ("dpo_cold_start",)},
        "SPECS": {"preset": "specs", "paper": "", "cases": ("dpo_cold_start",), "confidence": "note"},
    },
    paper="2305.18290",
    status="paper",
    confidence="paper",
    presets={"specs": {"imitate": 1.0}},
)
def dpo(beta: float = 0.1, imitate: float = 0.0) -> Algorithm:
    """DPO on the groups of a step: right answers preferred to wrong ones. SPECS adds their likelihood.

    When to use: a cold start from pairs, or online in place of a policy gradient.

    Maths: see `prefer_answers`.

    Args:
        beta: strength of the tie to the reference policy.
        imitate: strength of the likelihood of right answers; 1 in SPECS.

    Returns:
        The algorithm.

    Special cases: groups of one side teach nothing.

    Example:
        >>> sorted(dpo().needs)
        ['ref']

    Reference: Rafailov et al., 2023, arXiv 2305.18290. Differs from the paper: sides by reward, groups of any size.
    """
    return Algorithm(advantage=normalise(scale="none"), objective=chain(prefer_answers(beta, imitate), token_mean()))


@register(
    "algorithm",
    "direct_advantage_guess",
    methods={"Direct Advantage": {"cases": ("direct_advantage",)}},
    status="experimental",
    confidence="guess",
    uneven=True,
    learns="path",
)
def direct_advantage_guess(beta: float = 0.1, advantage: Any = "normalise") -> Algorithm:
    """Direct Advantage Policy Optimization: the log-ratio of a step is fitted to its advantage.

    When to use: steps with advantages of a frozen critic; here any advantage serves.

    Maths: see `fit_steps_guess`.

    Args:
        beta: units of advantage per nat, > 0.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: it converges at `log pi / pi_ref = A / beta`.

    Example:
        >>> sorted(direct_advantage_guess().needs)
        ['ref', 'turn']

    Reference: Direct Advantage Policy Optimization (a summary). Differs from the paper: the scaling and the critic.
    """
    return Algorithm(advantage=resolve("advantage", advantage), objective=chain(fit_steps_guess(beta), token_mean()))


@register("algorithm", "rl_co", methods={"RL-Co": {"confidence": "note"}}, status="paper", confidence="note")
def rl_co(coef: float = 1.0, tag: str = "demo", anchor: str = "old", advantage: Any = "normalise") -> Algorithm:
    """RL-Co: reinforcement learning with demonstrations in the same batch as an anchor.

    When to use: policies that must not forget what demonstrations taught.

    Maths: GRPO's clip, and `ce` on trajectories with the tag, averaged over tokens.

    Args:
        coef: strength of the imitation.
        tag: of trajectories that are demonstrations.
        anchor: denominator of the ratio: `old` or `rollout`.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: without demonstrations it is GRPO with a token mean.

    Example:
        >>> [link["name"] for link in rl_co().expand()["objective"]]
        ['token_ratio', 'clip', 'ce', 'token_mean']

    Reference: RL-Co (notes). Differs from the paper: nothing known.
    """
    objective = chain(token_ratio(anchor), clip(), ce(), token_mean())
    return Algorithm(advantage=chain(resolve("advantage", advantage), imitate_demos(tag, coef)), objective=objective)
