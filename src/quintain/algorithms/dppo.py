"""Divergence PPO, and MiniRL, which it is compared with."""

from __future__ import annotations

from typing import Any

from quintain.algorithms.record import Algorithm
from quintain.objectives import mask_divergence, mask_ratio, replay_routes, score, sequence_sum, token_ratio
from quintain.parts import chain
from quintain.registry import register, resolve


@register(
    "algorithm",
    "dppo",
    methods={
        "DPPO-Binary-TV": {"cases": ("dppo_binary_tv",)},
        "DPPO-Binary-KL": {"preset": "binary_kl", "cases": ("dppo_binary_kl",)},
        "DPPO-TopK-TV": {"preset": "topk_tv", "cases": ("dppo_topk",)},
        "DPPO-TopK-KL": {"preset": "topk_kl", "cases": ("dppo_topk",)},
    },
    paper="2602.04879",
    status="paper",
    confidence="code",
    presets={
        "as_paper": {},
        "as_released": {"cap": 10.0},
        "binary_kl": {"divergence": "binary_kl"},
        "topk_tv": {"divergence": "topk_tv"},
        "topk_kl": {"divergence": "topk_kl"},
        "binary_tv_recompute": {"anchor": "old"},
        "binary_kl_recompute": {"divergence": "binary_kl", "anchor": "old"},
    },
    learns="stale",
)
def dppo(
    divergence: str = "binary_tv",
    low: float | None = None,
    high: float | None = None,
    anchor: str = "rollout",
    cap: float = 20.0,
    mean: Any = "token_mean",
    advantage: Any = "normalise",
) -> Algorithm:
    """DPPO: a token is left out when its update leads away from the engine's policy and the distribution moved too far.

    When to use: large vocabularies, engines that differ from the learner, stale data: where the clip of a ratio stops
    rare tokens that hardly move the policy and lets likely ones go that move it much.

    Maths: `A_i` as in `grpo`; with `q_t = exp(new_t - rollout_t)`, `loss = -1/T sum_t M_t min(q_t, cap) A_i new_t` (the
    weight is a constant), `M_t = 0` iff `A_i` pushes the sampled token further away (`A_i (q_t - 1) > 0`) and
    `D_t > low` (`A_i < 0`) or `high` (`A_i > 0`).

    Args:
        divergence: D: `binary_tv`, `binary_kl` (of the sampled token against all others), `topk_tv` or `topk_kl` (of the
            engine's 20 likeliest ids, which it is asked for; written out, `mask_divergence` takes another number).
        low: threshold for negative advantages; None is 0.15 for a TV and 0.05 for a KL.
        high: threshold for positive advantages, likewise.
        anchor: around which policy the region stands: `rollout`, or `old` (the authors' `recompute` forms, one forward
            pass more, binary kinds only), with which mismatch grew until training collapsed.
        cap: the largest weight; truncation close to 1 hurt.
        mean: the mean part.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: the share of tokens left out is noted as `region_masked`, the mean divergence as `divergence`.

    Example:
        >>> [link["name"] for link in dppo().expand()["objective"]]
        ['token_ratio', 'score', 'mask_divergence', 'token_mean']

    Reference: Qi et al., 2026, arXiv 2602.04879. Differs from the paper: nothing known; `as_released` has the cap that
    the authors' code falls back to.
    """
    return Algorithm(
        advantage=resolve("advantage", advantage),
        objective=chain(
            token_ratio("rollout"),
            score(cap=cap),
            mask_divergence(divergence, low, high, anchor),
            resolve("objective", mean),
        ),
    )


@register(
    "algorithm",
    "minirl",
    methods={
        "MiniRL": {"cases": ("minirl",)},
        "Routing replay": {
            "preset": "r2",
            "recipe": (
                "algorithm=minirl",
                "algorithm.preset=r2",
                "model.arch=qwen3_moe",
                "model.sizes.num_experts=4",
                "model.sizes.num_experts_per_tok=2",
                "model.sizes.moe_intermediate_size=64",
            ),
            "shown": "tests/unit/learn/test_routes.py::test_the_learner_replays_through_all_steps_of_a_batch",
        },
    },
    paper="2512.01374",
    status="paper",
    confidence="note",
    presets={"r2": {"replay": True}},
)
def minirl(
    low: float = 0.2, high: float = 0.27, cap: float = 20.0, replay: bool = False, advantage: Any = "normalise"
) -> Algorithm:
    """MiniRL: the whole ratio to the engine's policy as a constant weight, PPO's clip as a mask, sums over tokens.

    When to use: mixture-of-experts models, with the router's choices replayed; the baseline of stability studies.

    Maths: `A_i` as in `grpo`; with `q_t = exp(new_t - rollout_t)` and `r_t = exp(new_t - old_t)`,
    `loss = -1/S sum_i sum_t M_t min(q_t, cap) A_i new_t` (the weight is a constant), `M_t = 0` iff `A_i > 0` and
    `r_t > 1 + high`, or `A_i < 0` and `r_t < 1 - low`.

    Args:
        low: lower bound of the ratio to the old policy, in [0, 1].
        high: its upper bound, >= 0.
        cap: the largest weight.
        replay: replay the experts that the step's first weights chose (R2); for mixtures of experts alone.
        advantage: the advantage part.

    Returns:
        The algorithm.

    Special cases: no length normalisation at all.

    Example:
        >>> minirl().needs
        frozenset({'old'})

    Reference: Zheng et al., 2025, arXiv 2512.01374. Differs from the paper: the cap; `high` is recalled, not checked.
    """
    return Algorithm(
        advantage=resolve("advantage", advantage),
        objective=chain(
            token_ratio("rollout"),
            score(cap=cap),
            mask_ratio(low, high),
            *([replay_routes()] if replay else []),
            sequence_sum(),
        ),
    )
