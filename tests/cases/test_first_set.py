"""Numeric cases of the first parts: float64, 1e-9, on the coefficient d loss / d logp_new and on the loss.

Every case runs with garbage (NaN, inf) behind the mask, because that is what observation tokens hold.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import chain as join
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from quintain.advantages import charge_kl, gae, mad, mean, normalise, returns, shape_overlong, std, turn, whiten
from quintain.gates import zero_variance
from quintain.objectives import (
    ce,
    clip,
    constant_length,
    dual_clip,
    fit_values,
    penalise_kl,
    policy_gradient,
    sequence_mean,
    sequence_sum,
    token_mean,
    token_ratio,
    truncate_mismatch,
)
from quintain.parts import chain
from quintain.types import Completion, Group, Node, Span, Stop, Task, Terms, Trajectory

HERE = Path(__file__).parent
OBJECTIVES = {c["id"]: c for c in json.loads((HERE / "objectives.json").read_text())}
CREDIT = {c["id"]: c for c in json.loads((HERE / "credit.json").read_text())}
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


def shuffled(terms: Terms, order: tuple[int, ...]) -> Terms:
    """The same rows with the columns of the batch in another order: padding becomes holes."""
    at = torch.arange(MASK.size).reshape(MASK.shape)[:, list(order)].reshape(-1)
    named = ("rollout", "old", "ref", "advantage", "mask", "sequence", "group")
    columns = {name: getattr(terms, name)[at] for name in named}
    return replace(terms, new=terms.new.detach()[at].requires_grad_(), **columns)


def run(part: Any, terms: Terms) -> tuple[float, np.ndarray]:
    """Loss and coefficient [B, T]."""
    out, _ = part.apply(terms, part.init())
    out.loss.backward()
    return float(out.loss.detach()), terms.new.grad.reshape(MASK.shape).numpy()


def trajectory(
    name: str, turns: list[int], rewards: dict[str, float] | float = 0.0, masks: Any = None, **rest: Any
) -> Trajectory:
    """A prompt and turns of so many sampled tokens with an observation between."""
    nodes = [Node.given(None, (1, 2))]
    for t, n in enumerate(turns):
        spans = (Span(start=0, stop=n, version=0),) if n else ()
        said = Completion(tokens=(5,) * n, logprobs=(-0.5,) * n, finish="stop", spans=spans)
        nodes += [Node.sampled(len(nodes) - 1, said, turn=t), Node.given(len(nodes), (3,))]
    given = rewards if isinstance(rewards, dict) else {"score": rewards}
    return Trajectory(id=name, nodes=tuple(nodes[:-1]), stop=Stop.done, rewards=given, **rest)


def group_of(*trajectories: Trajectory, key: str = "task", ticket: int = 0) -> Group:
    return Group(task=Task(key=key, env="e"), trajectories=trajectories, ticket=ticket)


def group_rewards(rewards: list[float], **columns: list[Any]) -> Group:
    each = [{k: v[i] for k, v in columns.items()} for i in range(len(rewards))]
    return group_of(*(trajectory(str(i), [1], float(r), **each[i]) for i, r in enumerate(rewards)))


def advantages(part: Any, *groups: Group) -> list[list[float]]:
    """Per trajectory: the advantage of every sampled token."""
    out, _ = part.apply(groups, part.init())
    return [drawn(t, "advantage") for g in out for t in g.trajectories]


def drawn(t: Trajectory, name: str) -> list[float]:
    rows = zip(t.streams[name], t.nodes, strict=True)
    return [v for row, node in rows for v, m in zip(row, node.mask, strict=True) if m]


def shared_groups() -> tuple[Group, ...]:
    runs = [trajectory(str(i), [int(m.sum())], float(SHARED["rewards"][i])) for i, m in enumerate(MASK)]
    old, new = np.log(SHARED["p_old"]), np.log(SHARED["p_new"])
    ref = new + np.array(SHARED["logp_ref_minus_logp_new"])
    for i, m in enumerate(MASK):
        for name, column in (("old", old), ("ref", ref)):
            runs[i] = runs[i].with_stream(name, ((9.0, 9.0), tuple(column[i][m].tolist())))
    groups = np.array(SHARED["group"])
    return tuple(group_of(*(runs[i] for i in np.flatnonzero(groups == g)), key=str(g), ticket=int(g)) for g in (0, 1))


@pytest.mark.parametrize("name", [i for i in OBJECTIVES if i.startswith("ppo_clip")])
@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (3, 0, 4, 1, 2)], ids=["padded", "holes"])
def test_ppo_clip(name: str, order: tuple[int, ...]) -> None:
    case, p = OBJECTIVES[name], OBJECTIVES[name]["params"]
    terms = shuffled(terms_of(case["inputs"]["advantage"]), order)
    cap = p.get("dual_clip_c")
    objective = chain(
        token_ratio(p["anchor"]),
        clip(p["eps_low"], p["eps_high"]),
        *([dual_clip(cap)] if cap else []),
        MEANS[p["agg"]](p.get("Lmax")),
    )
    loss, coef = run(objective, terms)
    close(loss, case["expected"]["loss"])
    close(coef, np.array(case["expected"]["coef"])[:, order], MASK[:, order])
    if "ratio" in case["expected"]:
        part = token_ratio(p["anchor"])
        ratio = part.apply(terms_of(case["inputs"]["advantage"]), None)[0].log_ratio.exp().reshape(MASK.shape)
        close(ratio.detach()[MASK], np.array(case["expected"]["ratio"])[MASK])


def test_aggregators() -> None:
    case = OBJECTIVES["aggregators"]
    for name, want in case["expected"].items():
        terms = terms_of(extra=case["inputs"]["x"])
        got = MEANS[name](case["params"]["Lmax"]).apply(terms, None)[0].loss
        close(got.detach(), want)


@pytest.mark.parametrize("kind", ["k1", "k2", "k3"])
def test_kl_kinds(kind: str) -> None:
    want = OBJECTIVES["kl_kinds"]["expected"]
    rows = penalise_kl(coef=1.0, kind=kind).apply(terms_of(), None)[0].extra.detach().reshape(MASK.shape)
    close(rows[MASK], np.array(want[kind])[MASK])
    loss, coef = run(chain(penalise_kl(coef=1.0, kind=kind), token_mean()), terms_of())
    close(loss, want["token_mean"][int(kind[1]) - 1])
    close(coef, want[f"coef_as_loss_{kind}"], MASK)
    value, slope = run(chain(penalise_kl(coef=1.0, kind=kind, gradient="k2"), token_mean()), terms_of())
    close(value, want["token_mean"][int(kind[1]) - 1])
    close(slope, want["coef_as_loss_k2"], MASK)


def test_truncated_weight_of_decoupled_ppo() -> None:
    case = OBJECTIVES["decoupled_ppo_token_tis"]
    p = case["params"]
    parts = (token_ratio(p["anchor"]), clip(p["eps_low"], p["eps_high"]), truncate_mismatch(p["C"]), token_mean())
    loss, coef = run(chain(*parts), terms_of(case["inputs"]["advantage"]))
    close(loss, case["expected"]["loss"])
    close(coef, case["expected"]["coef"], MASK)
    tis = OBJECTIVES["tis_mis_weights"]
    weight = truncate_mismatch(tis["params"]["C"]).apply(terms_of(), None)[0].weight.reshape(MASK.shape)
    close(weight[MASK], np.array(tis["expected"]["tis_token"])[MASK])


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


def test_gae_over_tokens() -> None:
    case = OBJECTIVES["gae_value"]
    given, want = case["inputs"], case["expected"]
    one = trajectory("a", [4], given["rewards"][-1]).with_stream("value", ((9.0, 9.0), tuple(given["values"])))
    part = gae(case["params"]["gamma"], case["params"]["lam"])
    (out,), _ = part.apply((group_of(one),), None)
    close(drawn(out.trajectories[0], "advantage"), want["gae"])
    close(drawn(out.trajectories[0], "return"), want["returns"])


def test_token_gae_steps_over_observations() -> None:
    case = CREDIT["token_gae_masked"]
    mask, value = case["inputs"]["mask"], case["inputs"]["value"]
    turns, rows, at = [2, 2, 1], [(9.0, 9.0)], 0
    for n in turns:
        rows += [tuple(value[at : at + n]), tuple(value[at + n : at + n + 1])]
        at += n + 1
    one = trajectory("a", turns, case["inputs"]["reward"][-1]).with_stream("value", tuple(rows[:-1]))
    got = advantages(gae(case["params"]["gamma"], case["params"]["lam"]), group_of(one))
    close(got[0], [a for a, m in zip(case["expected"]["adv"], mask, strict=True) if m])


@pytest.mark.parametrize("name", ["turn_gae", "vl_dac"])
def test_gae_over_turns(name: str) -> None:
    case = CREDIT.get(name) or OBJECTIVES[name]
    given, want = case["inputs"], case["expected"]
    values = given.get("turn_value") or given["step_values"]
    rewards = given.get("turn_reward") or given["step_rewards"]
    sizes = given.get("tokens_per_step") or [2] * len(values)
    one = trajectory("a", sizes, float(sum(rewards)), turn_rewards=tuple(map(float, rewards)))
    rows = [(0.0, 0.0)]
    for n, v in zip(sizes, values, strict=True):
        rows += [(v, *[77.0] * (n - 1)), (55.0,)]
    one = one.with_stream("value", tuple(rows[:-1]))
    (out,), _ = gae(case["params"]["gamma"], case["params"]["lam"], "turn").apply((group_of(one),), None)
    per_turn = want.get("adv") or want["step_gae"]
    target = want.get("target") or want["value_targets"]
    close(drawn(out.trajectories[0], "advantage"), np.repeat(per_turn, sizes))
    close(drawn(out.trajectories[0], "return"), np.repeat(target, sizes))


FORMS = {
    "grpo_sample_std": lambda eps: normalise(scale=std(1, eps)),
    "grpo_population_std": lambda eps: normalise(scale=std(0, eps)),
    "dr_grpo": lambda eps: normalise(scale="none"),
    "rloo": lambda eps: normalise(baseline="leave_one_out", scale="none"),
    "lite_ppo_batch_std_ddof1": lambda eps: normalise(scale=std(1, eps, "batch")),
}


@pytest.mark.parametrize("form", FORMS)
def test_group_advantages(form: str) -> None:
    case = OBJECTIVES["adv_grpo"]
    got = advantages(FORMS[form](case["params"]["eps"]), *shared_groups())
    close([row[0] for row in got], case["expected"][form])
    assert all(len(set(row)) == 1 for row in got)


def test_reinforce_plus_plus() -> None:
    case = OBJECTIVES["adv_reinforce_pp"]
    p, want = case["params"], case["expected"]
    charged, _ = charge_kl(p["kl_coef"]).apply(shared_groups(), None)
    go, _ = returns(p["gamma"]).apply(charged, None)
    plus = chain(charge_kl(p["kl_coef"]), returns(p["gamma"]), whiten(p["whiten_eps"]))
    based = chain(normalise(scale="none"), whiten(p["whiten_eps"]))
    rows = [(t, i) for i, t in enumerate(t for g in go for t in g.trajectories)]
    for t, i in rows:
        close(drawn(t, "return"), np.array(want["returns"][i])[MASK[i]])
    for got, name in (
        (advantages(plus, *shared_groups()), "reinforce_pp"),
        (advantages(based, *shared_groups()), "reinforce_pp_baseline"),
    ):
        for i, row in enumerate(got):
            close(row, np.array(want[name][i])[MASK[i]])


@pytest.mark.parametrize("name", [i for i in CREDIT if i.startswith(("grpo", "rloo", "mc_grpo"))])
def test_credit_of_one_group(name: str) -> None:
    case = CREDIT[name]
    p, want = case["params"], case["expected"]
    eps = p.get("eps", 0.0)
    forms = {
        "grpo_no_std": normalise(scale="none"),
        "rloo": normalise(baseline="leave_one_out", scale="none"),
        "grpo_singleton": normalise(baseline=mean("raw"), scale=std(1, eps)),
    }
    median = normalise(baseline="median", scale=mad(eps))
    part = median if name.startswith("mc") else forms.get(name) or normalise(scale=std(p.get("ddof", 1), eps))
    got = [row[0] for row in advantages(part, group_rewards(case["inputs"]["rewards"]))]
    close(got, want["adv"])
    if "adv_safe" in want:
        close([r[0] for r in advantages(normalise(), group_rewards(case["inputs"]["rewards"]))], want["adv_safe"])


@pytest.mark.parametrize("name", ["stratified_ddof0", "stratified_ddof1"])
def test_strata_are_a_key(name: str) -> None:
    case = CREDIT[name]
    tags = [{"stratum": s} for s in case["inputs"]["strata"]]
    group = group_rewards(case["inputs"]["rewards"], tags=tags)
    scale = std(case["params"]["ddof"], case["params"]["eps"])
    stratum = {"name": "tag", "kind": "key", "of": "stratum"}
    close([r[0] for r in advantages(normalise(key=["prompt", stratum], scale=scale), group)], case["expected"]["san"])
    close([r[0] for r in advantages(normalise(scale=scale), group)], case["expected"]["global_norm"])


def test_agents_are_a_key() -> None:
    case = CREDIT["dr_mas"]
    group = group_rewards(case["inputs"]["scores"], agent=case["inputs"]["agent"])
    scale = std(case["params"]["ddof"], case["params"]["eps"])
    got = advantages(normalise(key=["prompt", "agent"], scale=scale), group)
    close([r[0] for r in got], case["expected"]["adv"])
    close([r[0] for r in advantages(normalise(scale=scale), group)], case["expected"]["shared"])


@pytest.mark.parametrize("name", ["gigpo_mean_norm_trajs", "gigpo_mean_std_norm_trajs"])
def test_states_are_a_key(name: str) -> None:
    case = CREDIT[name]
    p, want = case["params"], case["expected"]
    runs = [
        trajectory(
            str(i),
            [1] * len(t["states"]),
            float(sum(t["rewards"])),
            digests=tuple(t["states"]),
            turn_rewards=tuple(t["rewards"]),
        )
        for i, t in enumerate(case["inputs"]["trajs"])
    ]
    scale = "none" if p["mode"] == "mean_norm" else std(p["ddof"], p["eps"])
    step = normalise(unit=turn(p["gamma"]), key=["prompt", "state"], scale=scale)
    close(list(join.from_iterable(advantages(step, group_of(*runs)))), want["step_adv"])
    close(list(join.from_iterable(advantages(normalise(scale=scale), group_of(*runs)))), want["episode_adv"])
    raw = normalise(unit=turn(p["gamma"]), baseline="none", scale="none")
    close(list(join.from_iterable(advantages(raw, group_of(*runs)))), want["step_return"])


def test_statistics_over_trajectories_or_over_turns() -> None:
    case = CREDIT["flow_grpo"]
    scale = std(case["params"]["ddof"], case["params"]["eps"])
    runs = [
        trajectory(str(i), [1] * n, r)
        for i, (n, r) in enumerate(zip(case["inputs"]["turns"], case["inputs"]["outcome"], strict=True))
    ]
    close([r[0] for r in advantages(normalise(scale=scale), group_of(*runs))], case["expected"]["over_trajectories"])
    close(
        list(join.from_iterable(advantages(normalise(unit="turn", scale=scale), group_of(*runs)))),
        case["expected"]["over_turn_rows"],
    )


def test_leave_one_out_at_each_turn() -> None:
    case = CREDIT["adalign_group_baseline"]
    runs = []
    for i, row in enumerate(case["inputs"]["returns"]):
        earned = [a - b for a, b in zip(row, [*row[1:], 0.0], strict=True)]
        runs.append(trajectory(str(i), [1] * len(row), sum(earned), turn_rewards=tuple(earned)))
    part = normalise(unit="turn", key=["prompt", "turn"], baseline="leave_one_out", scale="none")
    close(advantages(part, group_of(*runs)), case["expected"]["adv"])


def test_overlong_shaping() -> None:
    case, other = OBJECTIVES["dapo_overlong"], CREDIT["dapo_overlong"]
    p = case["params"]
    for part, lengths, want in (
        (shape_overlong(p["L_max"], p["L_cache"], p["factor"]), case["inputs"]["length"], case["expected"]["paper"]),
        (
            shape_overlong(p["L_max"], p["L_cache"], floor=False),
            case["inputs"]["length"],
            case["expected"]["unclamped_linear"],
        ),
        (
            shape_overlong(other["params"]["l_max"], other["params"]["cache"]),
            other["inputs"]["lengths"],
            other["expected"]["penalty"],
        ),
    ):
        (out,), _ = part.apply((group_of(*(trajectory(str(n), [n]) for n in lengths)),), None)
        close([t.rewards["overlong"] for t in out.trajectories], want)


def test_dynamic_sampling() -> None:
    case = OBJECTIVES["dapo_dynamic_sampling"]
    groups = tuple(group_rewards(row) for row in case["inputs"]["group_accuracy_rows"])
    for mode in ("drop", "refill"):
        kept = [zero_variance(mode).apply((g,), None)[0] for g in groups]
        assert [bool(k) and not k[0].tags.get("refill") for k in kept] == case["expected"]["keep"]


def test_shared_batch_is_the_one_that_its_figures_describe() -> None:
    want = OBJECTIVES["shared_batch"]["expected"]
    close(MASK.sum(1), want["lengths"])
    for name, anchor in (("seq_logratio_new_over_rollout", "rollout"),):
        gap = token_ratio(anchor).apply(terms_of(), None)[0].log_ratio.detach().reshape(MASK.shape)
        close(gap.sum(1), want[name])
