"""Cases that nobody has seen: every case has a runner, results follow inputs, and batches of another size with holes run too."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quintain.testing.cases import NoRunner, find, run_case
from quintain.testing.cases.columns import SHARED

HERE = Path(__file__).parent
FILES = {name: json.loads((HERE / f"{name}.json").read_text()) for name in ("objectives", "credit", "rollout")}
ALL = {c.get("id") or c["name"]: c for cases in FILES.values() for c in cases}
LATER = (  # samplers, rollouts and memories that are not parts yet
    "xrpo_allocator", "xrpo_bonus", "vade", "trinity", "prompt_gdro", "gdro", "rollout_gdro", "dars", "arrol", "difficulty",
    "rollout_replay", "ghpo", "april", "latr", "brorl", "memento", "drive", "dreamgym", "cleaner", "trace",
)  # fmt: skip
NOW = [name for name in ALL if not name.startswith(LATER)]
SHAPE = np.shape(SHARED["mask"])


@pytest.mark.parametrize("name", NOW)
def test_every_case_has_a_runner(name: str) -> None:
    assert callable(find(ALL[name]))


def test_what_comes_later_is_said_to() -> None:
    for name in ALL.keys() - set(NOW):
        with pytest.raises(NoRunner, match=name):
            find(ALL[name])


def changed(values: Any, how: Callable[[float], float]) -> Any:
    """Every number in nested lists and mappings that is no whole one and no flag, changed."""
    if isinstance(values, Mapping):
        return {k: changed(v, how) for k, v in values.items()}
    if isinstance(values, list):
        return [changed(v, how) for v in values]
    return how(values) if isinstance(values, float) and math.isfinite(values) else values


def turned(values: Any) -> Any:
    """Every list of plain values the other way round."""
    if isinstance(values, Mapping):
        return {k: turned(v) for k, v in values.items()}
    if isinstance(values, list):
        return [turned(v) for v in values] if any(isinstance(v, list | Mapping) for v in values) else values[::-1]
    return values


def counted(values: Any) -> Any:
    """Every whole number, which may count or be a flag, one on or the other one."""
    if isinstance(values, Mapping):
        return {k: counted(v) for k, v in values.items()}
    if isinstance(values, list):
        return [counted(v) for v in values]
    if isinstance(values, bool):
        return not values
    return (1 - values if values in (0, 1) else values + 1) if isinstance(values, int) else values


def spread(values: Any, at: int = 0) -> Any:
    """Every number a little more than the one before it in its list."""
    if isinstance(values, Mapping):
        return {k: spread(v) for k, v in values.items()}
    if isinstance(values, list):
        return [spread(v, i) for i, v in enumerate(values)]
    return values + 0.25 * at if isinstance(values, int | float) and not isinstance(values, bool) else values


CHANGES: tuple[Callable[[Any], Any], ...] = (
    lambda inputs: changed(inputs, lambda v: 0.9 * v),
    turned,
    lambda inputs: changed(inputs, lambda v: v + 0.25),  # and past 1, which some refuse
    counted,
    spread,
)


def plain(value: Any) -> str:
    return json.dumps(value, default=str, sort_keys=True)


@pytest.mark.parametrize("name", NOW)
def test_results_follow_the_inputs(name: str) -> None:
    case = ALL[name]
    inputs = copy.deepcopy(dict(case["inputs"]))
    if inputs.get("batch") == "shared_batch":
        inputs["batch"] = copy.deepcopy(dict(SHARED))
    before = {k: v for k, v in run_case({**case, "inputs": inputs}).items() if k in case["expected"]}
    moved = set[str]()
    for change in CHANGES:
        try:
            given = {"inputs": change(inputs)} if inputs else {"params": change(case["params"])}
            after = run_case({**case, **given})
        except Exception:  # what does not fit any more is refused; another change does fit
            continue
        moved |= {k for k, v in before.items() if plain(v) != plain(after.get(k))}
    assert moved, f"{name}: {sorted(before)} are the same whatever the inputs are"


# Batches of another size

OTHERS = [
    n for n in NOW if ALL[n]["inputs"].get("batch") == "shared_batch" and set(ALL[n]["expected"]) & {"coef", "loss"}
]


def another(case: Mapping[str, Any], rows: int = 9, width: int = 7, seed: int = 0) -> dict[str, Any]:
    """The case with a random batch of unequal, interleaved groups, holes in the mask and a row without tokens."""
    rng = np.random.default_rng(seed)

    def like(value: Any) -> Any:
        if np.shape(value) == SHAPE:
            return rng.normal(size=(rows, width))
        return rng.normal(size=rows) if np.shape(value) == SHAPE[:1] else value

    mask = rng.random((rows, width)) < 0.6
    mask[:, 0], mask[4] = True, False
    batch: dict[str, Any] = {n: rng.uniform(0.05, 0.95, (rows, width)) for n in ("p_rollout", "p_old", "p_new")}
    batch["logp_ref_minus_logp_new"] = rng.normal(size=(rows, width)) / 5
    batch |= {"mask": mask.astype(int), "rewards": (rng.random(rows) < 0.5).astype(float)}
    batch["group"] = np.array([2, 0, 1, 0, 2, 0, 1, 0, 3])
    inputs = {k: like(v) for k, v in case["inputs"].items() if k != "batch"}
    if "logp_new" in inputs:
        inputs["logp_new"] = -rng.exponential(size=(rows, width))
    return {**case, "inputs": {**inputs, "batch": batch}}


def permuted(case: Mapping[str, Any], order: np.ndarray) -> dict[str, Any]:
    """The sequences of a case in another order."""

    def move(values: Any) -> Any:
        return values[order] if isinstance(values, np.ndarray) and len(values) == len(order) else values

    inputs = {k: move(v) for k, v in case["inputs"].items() if k != "batch"}
    return {**case, "inputs": {**inputs, "batch": {k: move(v) for k, v in case["inputs"]["batch"].items()}}}


@pytest.mark.parametrize("name", OTHERS)
def test_another_batch_runs_and_its_order_does_not_matter(name: str) -> None:
    case, order = another(ALL[name]), np.random.default_rng(1).permutation(9)
    one, two = run_case(case), run_case(permuted(case, order))
    for key in set(one) & {"loss", "loss_extra", "objective"}:
        assert math.isfinite(one[key])
        if name != "clip_cov":  # the first ones are drawn there
            assert one[key] == pytest.approx(two[key], rel=1e-9, abs=1e-12)
    outside = np.asarray(case["inputs"]["batch"]["mask"]) == 0
    for key in (k for k in one if k.startswith("coef")):
        coef = np.asarray(one[key])
        assert np.isfinite(coef).all() and (coef[outside] == 0).all() and (coef != 0).any()
        if name != "clip_cov":
            np.testing.assert_allclose(coef[order], two[key], rtol=1e-9, atol=1e-12)


def test_a_wrong_runner_would_be_seen() -> None:
    case = ALL["drpo"]
    fixed = run_case(case)
    assert plain(run_case(another(case))["coef"]) != plain(fixed["coef"])
    assert plain(run_case(another(case))["coef"]) != plain(run_case(another(case, seed=5))["coef"])


# Sequences without tokens, and policies far apart


def small(name: str, mask: Any, new: Any, rollout: Any, rewards: Any, **more: Any) -> dict[str, Any]:
    """What a case makes of a batch of one group, by logprobs; `old` is `rollout`, `ref` is `new`."""
    batch = {"mask": mask, "logp_new": new, "logp_old": rollout, "logp_rollout": rollout, "rewards": rewards}
    batch |= {"group": [0] * len(rewards), "logp_ref_minus_logp_new": np.zeros(np.shape(new))}
    return run_case({**ALL[name], "inputs": {"batch": batch, **more}})


def test_an_advantage_needs_no_tokens() -> None:
    for mask in ([[1], [0]], [[0], [0]]):
        found = small("adv_grpo", mask, [[-1.0], [-1.0]], [[-1.0], [-1.0]], [0.0, 1.0])
        assert found["dr_grpo"] == [-0.5, 0.5] and found["rloo"] == [-1.0, 1.0]


def test_a_sequence_without_tokens_counts_as_one_of_weight_one() -> None:
    found = small("vcpo", [[0], [1]], [[math.nan], [-2.0]], [[math.nan], [-1.0]], [0.0, 1.0], score_norm=[1.0, 1.0])
    share = (1 + math.exp(-1)) ** 2 / (2 * (1 + math.exp(-2)))
    assert found["ess_ratio"] == pytest.approx(share) and found["ess"] == pytest.approx(2 * share)
    assert found["ess_ratio_clipped"] == pytest.approx(share)


@pytest.mark.parametrize("far", [-900.0, -300.0, 300.0, 900.0, 1e5])
def test_only_ratios_of_weights_count_however_large_they_are(far: float) -> None:
    new = np.full((2, 2), -1.0)
    rollout = new - [[far / 2], [far / 2 + 1]]
    found = small("vcpo", [[1, 1], [1, 1]], new, rollout, [1.0, 0.0], score_norm=[1.0, 1.0])
    assert found["ess_ratio"] == pytest.approx((1 + math.exp(2)) ** 2 / (2 * (1 + math.exp(4))))
    assert found["baseline_per_group"] == pytest.approx([1 / (1 + math.exp(4))])
    assert found["ess_ratio_clipped"] == pytest.approx(1.0 if far > 0 else found["ess_ratio"])
    assert np.isfinite(found["seq_weight"]).all() and np.isfinite(found["estimator_coef_per_seq"]).all()


def test_the_sum_over_no_tokens_is_zero() -> None:
    found = small("ace", [[0], [1]], [[math.nan], [-2.0]], [[math.nan], [-1.0]], [0.0, 1.0])
    assert found["c"] == [0.0, 0.0] and found["softplus_c"] == pytest.approx([math.log(2)] * 2)
    assert found["multiplier"] == pytest.approx([1 + math.log(2), 1.0])


@pytest.mark.parametrize("name", ["ppo_clip_old_0.2_0.2_None", "gspo_0.2_0.28"])
def test_what_no_clip_cuts_off_is_kept_however_far_it_is(name: str) -> None:
    """The lower of both surrogates of a bad answer is the unclipped one, and of a good one that is unlikely now too."""
    at = next(case for case in ALL if case.startswith(name))
    for far, advantage, kept in ((300.0, -1.0, 1.0), (-300.0, 1.0, 1.0), (300.0, 1.0, 0.0), (-300.0, -1.0, 0.0)):
        found = small(at, [[1]], [[-400.0 + far]], [[-400.0]], [0.0], advantage=[[advantage]])
        assert np.ravel(found["keep"]).tolist() == [kept]
