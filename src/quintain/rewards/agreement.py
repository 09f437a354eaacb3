"""Rewards for saying as much however a question is put: groups made of paraphrases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from quintain.parts import Reward
from quintain.registry import register
from quintain.rewards.env import RewardError, rewarded
from quintain.types import Group, Trajectory


def stability(pairs: Sequence[Sequence[float]], max_gap: float) -> float:
    """`1 - mean |H_a - H_b| / max_gap` over pairs of paraphrases, held in [0, 1]; 1 without a pair.

    Example:
        >>> stability([[1.0, 2.0], [1.5, 1.5]], 2.0)
        0.75
    """
    return min(1.0, max(0.0, 1 - fmean(abs(a - b) for a, b in pairs) / max_gap)) if pairs else 1.0


def richness(entropy: float, least: float, most: float) -> float:
    """The entropy between `least` and `most` as a share, held in [0, 1].

    Example:
        >>> richness(1.0, 0.5, 2.5)
        0.25
    """
    return min(1.0, max(0.0, (entropy - least) / (most - least)))


def entropy_of(trajectory: Trajectory) -> float:
    """The mean -logprob of the sampled tokens, in nats: one draw of the entropy per token; 0 without a token."""
    drawn = [-p for n in trajectory.nodes for p, m in zip(n.logprobs, n.mask, strict=True) if m]
    return fmean(drawn) if drawn else 0.0


@register(
    "reward",
    "consistent_information",
    paper="2512.12858",
    methods={
        "Information-consistent GRPO": {
            "wants": "groups of paraphrases",
            "cases": ("info_consistency",),
            "shown": "tests/unit/rewards/test_progress.py::test_paraphrases_that_say_as_much_are_stable",
        }
    },
    status="experimental",
    confidence="note",
)
def consistent_information(
    stable: float = 0.5,
    rich: float = 0.5,
    least: float = 0.0,
    most: float = 2.5,
    max_gap: float = 2.0,
    tag: str = "paraphrase",
    label: str = "information",
) -> Reward:
    """Pay a group of paraphrases for carrying the same amount of information, and each member for carrying much.

    When to use: beside an outcome reward, where the wording of a question should not matter. Entropy as a measure of
    help is easy to game: keep `rich` small.

    Maths: `stable (1 - mean |H_a - H_b| / max_gap) + rich (H_i - least) / (most - least)`, H the mean -logprob of the
    sampled tokens, averaged over the members of a paraphrase; the mean goes over all pairs of paraphrases.

    Args:
        stable: weight of the first term, >= 0.
        rich: weight of the second, >= 0.
        least: entropy in nats that counts as none.
        most: entropy in nats that counts as full, > `least`.
        max_gap: gap in nats at which nothing is stable, > 0.
        tag: the trajectory's tag that names its paraphrase; members without it are paraphrases of their own.
        label: name of the reward.

    Raises:
        RewardError: a value outside its range.

    Special cases: a group of one paraphrase is stable.

    Example:
        >>> consistent_information(rich=0.0) is not None
        True

    Reference: information-consistent GRPO, arXiv 2512.12858. Differs from the paper: entropies of what was sampled.
    """
    if not (stable >= 0 and rich >= 0 and most > least and max_gap > 0):
        raise RewardError(
            f"consistent_information: stable {stable}, rich {rich}, least {least}, most {most}, max_gap {max_gap}; "
            "weights >= 0, most > least and max_gap > 0 needed"
        )

    async def score(group: Group) -> Group:
        entropies = [entropy_of(t) for t in group.trajectories]
        sets: dict[str, list[float]] = {}
        for i, (t, h) in enumerate(zip(group.trajectories, entropies, strict=True)):
            sets.setdefault(f"tag {t.tags[tag]}" if tag in t.tags else f"member {i}", []).append(h)
        means = [fmean(s) for s in sets.values()]
        pairs = [(a, b) for i, a in enumerate(means) for b in means[i + 1 :]]
        shared = stable * stability(pairs, max_gap)
        each = zip(group.trajectories, entropies, strict=True)
        done = (rewarded(group, t, {label: shared + rich * richness(h, least, most)}) for t, h in each)
        return replace(group, trajectories=tuple(done))

    return score
