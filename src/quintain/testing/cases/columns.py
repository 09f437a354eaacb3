"""The batch of a case as terms, and what a chain makes of them as nested lists.

Whatever the case holds behind its mask, the parts see garbage there: NaN, infinities and huge numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from quintain.parts import Objective
from quintain.testing.cases.table import Case
from quintain.types import Terms

GARBAGE = (np.nan, np.inf, -np.inf, 1e300, -1e300)

# The batch that most cases name: 6 sequences of 2 groups, up to 5 tokens, padded on the right.
SHARED: Mapping[str, Any] = {
    "mask": [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 0, 0, 0], [1, 1, 1, 1, 1], [1, 1, 1, 0, 0]],
    "p_rollout": [
        [0.9, 0.4, 0.05, 0.7, 0.99],
        [0.6, 0.02, 0.8, 0.5, 0.5],
        [0.3, 0.95, 0.5, 0.1, 0.5],
        [0.85, 0.2, 0.5, 0.5, 0.5],
        [0.45, 0.75, 0.01, 0.6, 0.97],
        [0.15, 0.55, 0.92, 0.5, 0.5],
    ],
    "p_old": [
        [0.89, 0.41, 0.06, 0.69, 0.985],
        [0.61, 0.015, 0.79, 0.5, 0.5],
        [0.31, 0.945, 0.51, 0.09, 0.5],
        [0.86, 0.19, 0.5, 0.5, 0.5],
        [0.44, 0.76, 0.012, 0.61, 0.965],
        [0.16, 0.54, 0.93, 0.5, 0.5],
    ],
    "p_new": [
        [0.7, 0.58, 0.1, 0.72, 0.995],
        [0.4, 0.01, 0.55, 0.5, 0.5],
        [0.34, 0.81, 0.62, 0.05, 0.5],
        [0.88, 0.36, 0.5, 0.5, 0.5],
        [0.3, 0.86, 0.02, 0.63, 0.95],
        [0.33, 0.5, 0.7, 0.5, 0.5],
    ],
    "rewards": [1.0, 0.0, 0.0, 1.0, 1.0, 0.0],
    "group": [0, 0, 0, 1, 1, 1],
    "logp_ref_minus_logp_new": [
        [-0.02, 0.1, -0.3, 0.05, -0.01],
        [0.2, -0.15, -0.05, 0.0, 0.0],
        [-0.1, -0.02, 0.08, -0.25, 0.0],
        [0.03, -0.12, 0.0, 0.0, 0.0],
        [-0.05, 0.06, -0.4, -0.02, 0.01],
        [0.15, -0.07, -0.09, 0.0, 0.0],
    ],
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Columns:
    """A batch of a case: `mask` [B, T] bool, the logprobs by name [B, T], `rewards` [B] and `group` [B]."""

    mask: np.ndarray
    logps: Mapping[str, np.ndarray]
    rewards: np.ndarray
    group: np.ndarray

    def terms(self, advantage: Any = None, **more: Any) -> Terms:
        """The rows as terms, garbage behind the mask; `advantage` is [B, T], [B] or a number, further columns are leaves [B, T]."""
        rows, width = self.mask.shape
        given = np.zeros(self.mask.shape) if advantage is None else wide(advantage, self.mask)
        columns: dict[str, Any] = {name: self.flat(values, grad=name == "new") for name, values in self.logps.items()}
        columns |= {name: self.flat(wide(values, self.mask), grad=True) for name, values in more.items()}
        return Terms(
            advantage=self.flat(given),
            mask=torch.tensor(self.mask.reshape(-1)),
            sequence=torch.arange(rows).repeat_interleave(width),
            group=torch.tensor(self.group).repeat_interleave(width),
            **columns,
        )

    def flat(self, values: Any, grad: bool = False) -> torch.Tensor:
        """A column [B * T] with garbage behind the mask."""
        column = np.array(values, np.float64)
        column[~self.mask] = np.resize(GARBAGE, (~self.mask).sum())
        return torch.tensor(column.reshape(-1), requires_grad=grad)

    def nested(self, column: torch.Tensor, fill: float = 0.0) -> list[list[Any]]:
        """A column as [B][T], `fill` outside the mask."""
        values = column.detach().reshape(self.mask.shape).numpy()
        return np.where(self.mask, values, np.asarray(fill, values.dtype)).tolist()


def batch_of(case: Case, name: str = "batch") -> Columns:
    """The batch of a case. A logprob is taken from `logp_NAME`, the log of `p_NAME`, or `logp_NAME_minus_logp_new`."""
    found = case["inputs"].get(name, "shared_batch")
    given: Mapping[str, Any] = SHARED if isinstance(found, str) else found
    mask = np.asarray(array(given["mask"]), bool)
    logps: dict[str, np.ndarray] = {}
    for column in ("new", "old", "rollout", "ref"):
        if f"logp_{column}" in given:
            logps[column] = array(given[f"logp_{column}"])
        elif f"p_{column}" in given:
            with np.errstate(divide="ignore", invalid="ignore"):
                logps[column] = np.log(array(given[f"p_{column}"]))
        elif f"logp_{column}_minus_logp_new" in given:
            logps[column] = logps["new"] + array(given[f"logp_{column}_minus_logp_new"])
        if f"logp_{column}" in case["inputs"]:  # a case may give one of its own
            logps[column] = array(case["inputs"][f"logp_{column}"])
    logps.setdefault("rollout", logps.get("old", logps["new"]))
    rows = len(mask)
    rewards = array(given.get("rewards", np.zeros(rows)))
    return Columns(mask=mask, logps=logps, rewards=rewards, group=np.array(given.get("group", [0] * rows), np.int64))


def array(values: Any) -> np.ndarray:
    """Nested lists as float64; "inf", "-inf", "nan" and None are numbers."""
    return np.array(_numbers(values), np.float64)


def _numbers(values: Any) -> Any:
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, Sequence) and not isinstance(values, str):
        return [_numbers(v) for v in values]
    return float("nan") if values is None else float(values)


def wide(values: Any, mask: np.ndarray) -> np.ndarray:
    """[B, T] from [B, T], [B] or a number."""
    given = array(values)
    return np.broadcast_to(given[:, None] if given.ndim == 1 else given, mask.shape).copy()


def apply(part: Objective, terms: Terms) -> Terms:
    """The terms after a part with its first state."""
    return part.apply(terms, part.init())[0]


def loss_and_coef(part: Objective, columns: Columns, terms: Terms) -> dict[str, Any]:
    """`loss` and `coef` of a chain that ends in a mean."""
    out = apply(part, terms)
    if out.loss is None:
        raise TypeError("the chain has no loss")
    (slope,) = torch.autograd.grad(out.loss, [terms.new], allow_unused=True) if out.loss.requires_grad else (None,)
    slope = torch.zeros_like(terms.new) if slope is None else slope
    outside = slope.reshape(columns.mask.shape)[torch.tensor(~columns.mask)]
    if (outside != 0).any():
        raise ArithmeticError("a masked token has a coefficient")
    return {"loss": float(out.loss.detach()), "coef": columns.nested(slope)}
