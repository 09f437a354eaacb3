"""Numeric cases of the first objectives: float64, 1e-9, on the coefficient d loss / d logp_new and on the loss.

Every case runs with garbage (NaN, inf) behind the mask, because that is what observation tokens hold.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from quintain.objectives import (
    ce,
    constant_length,
    fit_values,
    penalise_kl,
    policy_gradient,
    sequence_mean,
    sequence_sum,
    token_mean,
    token_ratio,
)
from quintain.parts import chain
from quintain.types import Terms

HERE = Path(__file__).parent
OBJECTIVES = {c["id"]: c for c in json.loads((HERE / "objectives.json").read_text())}
SHARED = OBJECTIVES["shared_batch"]["inputs"]
MASK = np.array(SHARED["mask"], bool)
MEANS = {
    "token_mean": lambda _: token_mean(),
    "seq_mean_token_mean": lambda _: sequence_mean(),
    "seq_mean_token_sum": lambda _: sequence_sum(),
    "const_length": lambda length: constant_length(length),
}


def close(got: Any, want: Any, mask: np.ndarray | None = None) -> None:
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape
    if mask is not None:
        assert (got[~mask] == 0).all(), "a masked token has a coefficient"
        got, want = got[mask], want[mask]
    assert (np.abs(got - want) <= 1e-9 * np.maximum(1, np.abs(want))).all(), (got, want)


def terms_of(advantage: Any = None, mask: np.ndarray = MASK, **columns: Any) -> Terms:
    """The shared batch, flat, with garbage behind the mask."""

    def flat(values: Any, grad: bool = False) -> torch.Tensor:
        column = np.array(values, np.float64)
        column[~mask] = np.resize([np.nan, np.inf, -np.inf, 1e300], (~mask).sum())
        return torch.tensor(column.reshape(-1), requires_grad=grad)

    new = np.log(SHARED["p_new"])
    rows, width = mask.shape
    return Terms(
        new=flat(new, grad=True),
        rollout=flat(np.log(SHARED["p_rollout"])),
        old=flat(np.log(SHARED["p_old"])),
        ref=flat(new + np.array(SHARED["logp_ref_minus_logp_new"])),
        advantage=flat(np.zeros(mask.shape) if advantage is None else advantage),
        mask=torch.tensor(mask.reshape(-1)),
        sequence=torch.arange(rows).repeat_interleave(width),
        group=torch.tensor(SHARED["group"]).repeat_interleave(width),
        **{name: flat(values, grad=True) for name, values in columns.items()},
    )


def run(part: Any, terms: Terms) -> tuple[float, np.ndarray]:
    """Loss and coefficient [B, T]."""
    out, _ = part.apply(terms, part.init())
    out.loss.backward()
    return float(out.loss.detach()), terms.new.grad.reshape(MASK.shape).numpy()


def test_aggregators() -> None:
    case = OBJECTIVES["aggregators"]
    for name, want in case["expected"].items():
        terms = terms_of(extra=case["inputs"]["x"])
        got = MEANS[name](case["params"]["Lmax"]).apply(terms, None)[0].loss
        close(got.detach(), want)


@pytest.mark.parametrize("kind", ["k1", "k2", "k3"])
def test_kl_kinds(kind: str) -> None:
    want = OBJECTIVES["kl_kinds"]["expected"]
    rows = penalise_kl(coef=1.0, estimator=kind).apply(terms_of(), None)[0].extra.detach().reshape(MASK.shape)
    close(rows[MASK], np.array(want[kind])[MASK])
    loss, coef = run(chain(penalise_kl(coef=1.0, estimator=kind), token_mean()), terms_of())
    close(loss, want["token_mean"][int(kind[1]) - 1])
    close(coef, want[f"coef_as_loss_{kind}"], MASK)
    value, slope = run(chain(penalise_kl(coef=1.0, estimator=kind, gradient="k2"), token_mean()), terms_of())
    close(value, want["token_mean"][int(kind[1]) - 1])
    close(slope, want["coef_as_loss_k2"], MASK)


def test_negative_sample_reinforcement_is_policy_gradient_with_its_own_advantage() -> None:
    want = OBJECTIVES["nsr_prerl"]["expected"]
    for name, sample in (("coef_nsr", want["sample_weight_nsr"]), ("coef_psr", SHARED["rewards"])):
        advantage = np.repeat(np.array(sample)[:, None], MASK.shape[1], 1)
        _, coef = run(chain(policy_gradient(), token_mean()), terms_of(advantage))
        close(coef, want[name], MASK)


def test_cross_entropy_is_policy_gradient_with_advantage_one() -> None:
    _, coef = run(chain(ce(), token_mean()), terms_of())
    close(coef, np.where(MASK, -1 / MASK.sum(), 0.0), MASK)


def test_clipped_value_loss() -> None:
    case = OBJECTIVES["gae_value"]
    given, p = case["inputs"], case["params"]
    mask = np.array([[True, True, False]])
    columns = {"value": given["vpred"], "old_value": given["v_old"], "returns": given["ret"]}
    shapes = {name: np.array([[*column, 0.0]]) for name, column in columns.items()}
    flat = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    terms = Terms(
        new=flat,
        rollout=flat,
        advantage=flat,
        mask=torch.tensor(mask[0]),
        sequence=torch.zeros(3, dtype=torch.long),
        group=torch.zeros(3, dtype=torch.long),
        **{name: torch.tensor(np.where(mask, column, np.nan)[0]) for name, column in shapes.items()},
    )
    loss, _ = run_value(chain(fit_values(1.0, p["clip_v"]), token_mean()), terms)
    close(loss, case["expected"]["value_loss"])


def run_value(part: Any, terms: Terms) -> tuple[float, Terms]:
    out, _ = part.apply(terms, part.init())
    return float(out.loss.detach()), out


def test_shared_batch_is_the_one_that_its_figures_describe() -> None:
    want = OBJECTIVES["shared_batch"]["expected"]
    close(MASK.sum(1), want["lengths"])
    for name, anchor in (("seq_logratio_new_over_rollout", "rollout"),):
        gap = token_ratio(anchor).apply(terms_of(), None)[0].log_ratio.detach().reshape(MASK.shape)
        close(gap.sum(1), want[name])
