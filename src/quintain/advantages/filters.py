"""Steps and episodes that are worth imitating: those that did better than was expected of them (DigiRL)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quintain.advantages.returns import scan
from quintain.advantages.rows import bad_reward, write_nodes
from quintain.advantages.units import first_value, node_rewards, sampled_nodes
from quintain.parts import Advantage, Groups, PartError, stateless
from quintain.priors import prior_of
from quintain.registry import register, unknown
from quintain.types import Group, Trajectory

Floats = Sequence[float]


def released_steps(reward: Floats, value: Floats, after: Floats, gamma: float = 0.5) -> list[float]:
    """Value gained, less 0.05, plus reward and discounted return, held in [0, 1]; a step above 0 is kept.

    Example:
        >>> released_steps([1.0], [0.5], [0.5])
        [1.0]
    """
    go = scan(reward, [0.0] * len(reward), 0.0, gamma, 1.0)
    each = zip(after, value, reward, go, strict=True)
    return [min(1.0, max(0.0, v2 - v - 0.05 + r + g)) for v2, v, r, g in each]


def mixed_steps(reward: Floats, value: Floats, after: Floats, lam: float = 0.5) -> list[float]:
    """`lam^(H - h)` of the return and the rest of the one-step gain; a step above 1/H is kept. [H]

    Example:
        >>> mixed_steps([0.0, 1.0], [0.5, 0.5], [0.5, 0.5])
        [0.5, 1.0]
    """
    go, out = scan(reward, [0.0] * len(reward), 0.0, 1.0, 1.0), []
    for h, (r, v, v2, g) in enumerate(zip(reward, value, after, go, strict=True), 1):
        share = lam ** (len(reward) - h)
        out.append(share * g + (1 - share) * (v2 + r - v))
    return out


@register("advantage", "keep_steps", paper="2406.11896", status="paper", confidence="code")
def keep_steps(form: str = "released", gamma: float = 0.5) -> Advantage:
    """Imitate the steps that raised the chance of success, and no others.

    When to use: with `policy_gradient` and a value head: advantages of 0 and 1 are a filter on imitation.

    Maths: per turn, with V the stream `value` at its first token, V' at the next turn's (0 at the end), r its reward, G the reward to go:
    `released`: keep iff `V' - V - 0.05 + r + G > 0`; `mixed`: keep iff `s G + (1 - s) (V' + r - V) > 1/H`, `s = gamma^(H - h)`. The stream
    `return` is 1 where G > 0, for the critic.

    Args:
        form: `released`, or `mixed`, the paper's as recalled.
        gamma: discount per turn, or the mixture's base, in [0, 1].

    Returns: An advantage that writes the streams `advantage` and `return`; it needs `values`.
    Special cases: in a failed episode only steps that raised the value by more than 0.05 are kept.
    Example: `keep_steps()`
    Reference: DigiRL, 2024, arXiv 2406.11896. Differs from the paper: one value head, not two whose minimum counts.
    """
    if form not in ("released", "mixed"):
        raise PartError(unknown("form of keep_steps", form, ["released", "mixed"]))
    if not 0 <= gamma <= 1:
        raise PartError(f"keep_steps: gamma is {gamma}; it must lie in [0, 1]")

    def one(group: Group, t: Trajectory) -> Trajectory:
        if not np.isfinite((t.reward, *t.turn_rewards)).all():
            raise bad_reward(group, t)
        nodes = sampled_nodes(t, range(len(t.nodes)))
        rewards, values = node_rewards(t, nodes), [first_value(t, i, "value") for i in nodes]
        rule, bar = (released_steps, 0.0) if form == "released" else (mixed_steps, 1 / max(len(nodes), 1))
        gains = rule(rewards, values, [*values[1:], 0.0] if values else [], gamma)
        go = scan(rewards, [0.0] * len(rewards), 0.0, 1.0, 1.0)
        out = write_nodes(t, {i: float(a > bar) for i, a in zip(nodes, gains, strict=True)})
        return write_nodes(out, {i: float(g > 0) for i, g in zip(nodes, go, strict=True)}, "return")

    return stateless(
        lambda groups: tuple(replace(g, trajectories=tuple(one(g, t) for t in g.trajectories)) for g in groups),
        needs=("values",),
        apart=True,
    )


def surprise(reward: Floats, expected: Floats, share: float) -> tuple[list[float], float]:
    """How far rewards exceed what was expected (held in [1e-4, 1 - 1e-4]), and the bar that the top `share` reaches.

    Example:
        >>> surprise([1.0, 0.0], [0.5, 0.5], 0.5)
        ([0.5, -0.5], 0.0)
    """
    gap = [r - min(1 - 1e-4, max(1e-4, e)) for r, e in zip(reward, expected, strict=True)]
    return gap, float(np.quantile(gap, 1 - share)) if gap else 0.0


@register("advantage", "keep_surprising", paper="2406.11896", status="paper", confidence="code", after="normalise")
def keep_surprising(share: float = 0.1) -> Advantage:
    """Train on the episodes whose reward most exceeds what was expected of their prompt.

    When to use: after `recall_prior` and the advantages, where most prompts are far too easy or too hard.

    Maths: `gap_i = R_i - prior`, the prior held in [1e-4, 1 - 1e-4]; `weight.rl` is 1 where gap_i reaches the `1 - share` quantile (linear)
    of the step, else 0.

    Args:
        share: of the step's trajectories, in (0, 1].

    Returns: An advantage that writes `weight.rl`.
    Special cases: ties at the bar are all kept; without a prior 1/2 is expected.

    Example:
        >>> keep_surprising().apply((), None)
        ((), None)

    Reference: DigiRL, 2024, arXiv 2406.11896. Differs from the paper: any prior, not a critic of instructions.
    """
    if not 0 < share <= 1:
        raise PartError(f"keep_surprising: share is {share}; it must lie in (0, 1]")

    def apply(groups: Groups) -> Groups:
        flat = [(g, t) for g in groups for t in g.trajectories]
        for g, t in flat:
            if not np.isfinite(t.reward):
                raise bad_reward(g, t)
        priors = [prior_of(g) for g, _ in flat]
        gap, bar = surprise([t.reward for _, t in flat], [0.5 if p is None else p for p in priors], share)
        kept = iter(gap)
        return tuple(
            replace(g, trajectories=tuple(t.with_value("weight.rl", float(next(kept) >= bar)) for t in g.trajectories))
            for g in groups
        )

    return stateless(apply)
