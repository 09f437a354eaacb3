"""Models that were trained from one base become one."""

from __future__ import annotations

import pytest
import torch

from quintain.models.task_vectors import MergeError
from quintain.registry import build

BASE = {"a": torch.zeros(2, 2), "b": torch.ones(3, dtype=torch.bfloat16)}


def moved(**by: list) -> dict[str, torch.Tensor]:
    return {n: t + torch.tensor(by[n], dtype=t.dtype) if n in by else t.clone() for n, t in BASE.items()}


def test_what_one_changed_is_kept_and_what_several_changed_is_averaged() -> None:
    models = [moved(a=[[1.0, 0.0], [2.0, 0.0]]), moved(a=[[0.0, 3.0], [4.0, 0.0]], b=[0.0, 0.5, 0.0])]
    merged = build("merge", "ram")(BASE, models)
    assert merged["a"].tolist() == [[1.0, 3.0], [3.0, 0.0]] and merged["b"].tolist() == [1.0, 1.5, 1.0]
    assert merged["b"].dtype == torch.bfloat16
    whole = build("merge", {"name": "ram", "plus": "whole"})(BASE, models)
    assert whole["a"][0].tolist() == pytest.approx([1.2, 3.0 * 1.1]) and whole["a"][1].tolist() == [3.0, 0.0]


def test_one_model_is_itself_and_what_does_not_fit_is_refused() -> None:
    one = moved(a=[[1.0, 0.0], [2.0, 0.0]])
    assert all(torch.equal(one[n], t) for n, t in build("merge", "ram")(BASE, [one]).items())
    with pytest.raises(MergeError, match="unknown"):
        build("merge", {"name": "ram", "plus": "all"})
    with pytest.raises(MergeError, match="'b'"):
        build("merge", "ram")(BASE, [{"a": BASE["a"]}])
