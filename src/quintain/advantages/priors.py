"""What is known of a prompt before it is played, as a baseline (V_0.5), and as the history of its like."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from quintain.advantages.rows import Rows, centred
from quintain.parts import Advantage, Groups, PartError, Transform
from quintain.priors import PRIOR, fuse, prior_of, smoothed_variance
from quintain.registry import register, unknown
from quintain.types import Group, Task


def _fused(noise: Any) -> Transform[Rows]:
    """A baseline that fuses mean and prior cell by cell; `noise(values)` is the variance of one reward."""

    def centre(rows: Rows) -> np.ndarray:
        priors, out = [prior_of(g) for g in rows.groups], rows.mean
        for cell in np.unique(rows.cell):
            at = np.flatnonzero(rows.cell == cell)
            prior = priors[rows.group[at[0]]]
            if prior is not None:
                out[at] = fuse(float(out[at[0]]), prior, noise(rows.value[at]) / len(at)).baseline
        return out

    return centred(centre)


@register("baseline", "prior_fused", paper="2603.10848", status="paper", confidence="note")
def prior_fused(noise: float = 1.0) -> Transform[Rows]:
    """A prior that is kept until the group contradicts it: the baseline of V_0.5, rewards in {-1, +1}.

    Maths: `fuse` with v the mean of the k rewards of the cell and V the group's prior (tag or task parameter `prior`): `D = max(0, (v -
    V)^2 - noise/k)`, `w = D / (D + noise/k)`, `centre = w v + (1 - w) V`. [R]

    Args:
        noise: bound of the variance of one reward, > 0: 1 for {-1, +1}, 1/4 for {0, 1}.

    Special cases: a group without a prior is centred on its mean. All rewards of a group may have the same sign.
    Example: `prior_fused(noise=0.25)`
    """
    if not noise > 0:
        raise PartError(f"prior_fused: noise is {noise}; it must be > 0")
    return _fused(lambda _: noise)


@register("baseline", "prior_shrunk", status="experimental", confidence="guess")
def prior_shrunk() -> Transform[Rows]:
    """The same for rewards in {0, 1}, with their variance estimated: our derivation, not the paper's.

    Maths: as `prior_fused` with the noise `p (1 - p)`, p the success rate with one success and one failure added. [R]

    Special cases: a group without a prior is centred on its mean.
    Example: `prior_shrunk()`
    Differs from the paper: there is none; our own reading of V_0.5's abstract.
    """
    return _fused(smoothed_variance)


def _task(task: Task) -> str:
    return task.key


def _level(task: Task) -> str:
    return f"{task.env}/{task.level}"


def _env(task: Task) -> str:
    return task.env


HISTORIES = {"task": _task, "level": _level, "env": _env}


@register(
    "advantage",
    "recall_prior",
    methods={
        "V_0": {
            "recipe": ("algorithm=v0_5",),
            "paper": "2602.03584",
            "cases": ("v0_",),
            "shown": "tests/unit/advantages/test_credit.py::test_a_prior_is_what_came_before_this_step",
        }
    },
    status="experimental",
    confidence="guess",
    writes="prior",
)
def recall_prior(of: str = "task", decay: float = 0.9, strength: float = 1.0) -> Advantage:
    """Expect of a prompt what its like earned in earlier steps: the tag `prior` for baselines and budgets.

    When to use: before `normalise(baseline="prior_fused")`, where no value service has set the tag `prior` already. It stands in for V_0, a
    frozen model that reads the same history of prompts and outcomes.

    Maths: `prior = s / n` of the history with `n >= strength`; after the step `s <- decay s + sum r`, `n <- decay n + count` with the
    rewards of its groups.

    Args:
        of: what shares a history: `task` (its key), `level` (env and level) or `env`.
        decay: share of the history that is kept each time it is seen, in [0, 1].
        strength: rewards that a history must hold before it counts, > 0.

    Returns: A link that tags groups and keeps the history as its state.
    Special cases: a group that has a prior keeps it; without a history none is set; a step never sees its own rewards.

    Example:
        >>> recall_prior(of="level").apply((), {})
        ((), {})
    """
    if of not in HISTORIES:
        raise PartError(unknown("history of recall_prior", of, HISTORIES))
    if not (0 <= decay <= 1 and strength > 0):
        raise PartError(f"recall_prior: decay {decay}, strength {strength}; decay must lie in [0, 1], strength be > 0")
    label = HISTORIES[of]

    def tagged(group: Group, state: dict[str, list[float]]) -> Group:
        total, count = state.get(label(group.task), (0.0, 0.0))
        if prior_of(group) is not None or count < strength:
            return group
        return replace(group, tags={**group.tags, PRIOR: total / count})

    def apply(groups: Groups, state: dict[str, list[float]]) -> tuple[Groups, dict[str, list[float]]]:
        earned: dict[str, list[float]] = {}
        for group in groups:
            earned.setdefault(label(group.task), []).extend(r for r in group.rewards if np.isfinite(r))
        after = dict(state)
        for name, rewards in earned.items():
            total, count = state.get(name, (0.0, 0.0))
            after[name] = [decay * total + float(np.sum(rewards)), decay * count + len(rewards)]
        return tuple(tagged(g, state) for g in groups), after

    return Transform(dict, apply)
