"""What every registered part keeps: a row per part, straight from the registry, so that a new part is tried at once."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch

from quintain.advantages import gae, normalise
from quintain.algorithms import Algorithm, assemble, preset
from quintain.codec import encode
from quintain.objectives import clip, token_mean, token_ratio
from quintain.parts import BadReward, PartError, Transform, chain, reads_idle
from quintain.registry import Entry, UnknownName, build, entries, provenance
from quintain.types import Group, Terms, Trajectory

Make = Callable[..., Any]
COLUMNS = {name: [name] for name in ("topk", "old", "turn", "hidden", "reward", "ref", "entropy")}
COLUMNS |= {"routes": [], "twin_values": [], "value": ["value", "returns"], "values": ["value", "old_value", "returns"]}
STREAMS = {"old": "old", "ref": "ref", "values": "value"}
OPTIONAL = ("old", "ref", "entropy", "value", "old_value", "returns", "topk", "turn", "hidden", "reward")
LACKING: dict[str, Any] = {"topk": {}}  # how a learner leaves a column out, where it is not None
LEAVES = ("new", "entropy", "value")
VARIANTS: dict[str, list[dict[str, Any]]] = {  # options with which a part is tried beside its example
    "sequence_ratio": [{"anchor": "rollout", "gradient": "token"}, {"anchor": "old", "bound": 0.2}],
    "prefix_ratio": [{"anchor": "old", "prefix": "product"}],
    "fiber_ratio_guess": [{"anchor": "old", "residual": "gated"}],
    "share_budget_guess": [{"through": True}],
    "mask_divergence": [
        {"divergence": "binary_kl"},
        {"divergence": "topk_tv"},
        {"divergence": "topk_kl", "k": 5},
        {"divergence": "binary_tv", "anchor": "old", "low": 0.02, "high": 0.3},
    ],
    "truncate_mismatch": [
        {"over": "sum"},
        {"over": "mean", "of": "new"},
        {"normalised": True},
        {"over": "sum", "normalised": True},
    ],
    "adaptive_clip": [{"anchor": "rollout", "statistic": "gradient"}],
    "mask_covariant": [{"anchor": "rollout", "least": 0.01, "ratio": 0.2}],
    "penalise_covariant": [{"anchor": "rollout", "ratio": 0.2}],
    "smooth_entropy": [{"form": "hinge"}],
    "mask_curved": [{"rate": 0.2, "k": 5}, {"rate": 0.2, "one_sided": True, "kept": False}],
    "guard_kl": [{"form": "coefficient", "base": 0.0, "to": "old"}],
    "prefer_answers": [{"beta": 0.5, "imitate": 1.0}],
    "fit_values": [{"huber": 0.1, "twin": True}],
    "scale_step": [{"of": "old", "rule": "linear"}],
    "mask_mismatch": [{"over": "sum"}, {"normalised": True}],
    "reject_mismatch": [
        {"by": by, "over": over, "high": 1.0} for by in ("k2", "k3") for over in ("token", "sum", "mean", "max")
    ],
}


def make(entry: Entry, **options: Any) -> Any:
    return build(entry.kind, {"name": entry.name, **entry.tags.get("example", {}), **options})


def tried(kind: str) -> list[Entry]:
    """Every entry of a kind, with its example and with every variant of it in the example's place."""
    out = []
    for entry in entries(kind):
        out.append(entry)
        out += [replace(entry, tags={**entry.tags, "example": v}) for v in VARIANTS.get(entry.name, [])]
    return out


def label(entry: Entry) -> str:
    return "-".join([entry.name, *(f"{v}" for v in entry.tags.get("example", {}).values())])


def rows(kind: str) -> Any:
    return pytest.mark.parametrize("entry", tried(kind), ids=label)


def whole(entry: Entry) -> Transform[Terms]:
    """The part inside a chain that gives a loss."""
    part = make(entry)
    before: dict[str, list[Any]] = {
        "ratio": [],
        "surrogate": [token_ratio("rollout")],
        "weight": [token_ratio("rollout"), clip()],
        "regulariser": [token_ratio("rollout"), clip()],
        "mean": [token_ratio("rollout"), clip()],
    }
    after = {"ratio": [clip(), token_mean()], "mean": []}
    asked = [build("objective", entry.tags["after"])] if "after" in entry.tags else []
    return chain(*before[part.place], *asked, part, *after.get(part.place, [token_mean()]))


def loss_of(part: Transform[Terms], terms: Terms) -> Terms:
    return part.apply(terms, part.init())[0]


def gradients(part: Transform[Terms], terms: Terms) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Loss and d loss / d leaf for every leaf [N]."""
    leaves = [getattr(terms, name) for name in LEAVES]
    loss = loss_of(part, terms).loss
    assert loss.shape == ()
    found = torch.autograd.grad(loss, leaves, allow_unused=True) if loss.requires_grad else [None] * len(leaves)
    filled = [torch.zeros_like(x) if g is None else g for x, g in zip(leaves, found, strict=True)]
    return loss.detach(), dict(zip(LEAVES, filled, strict=True))


def take(terms: Terms, at: torch.Tensor) -> Terms:
    """The rows `at` of the terms; leaves stay attached to the whole."""
    return each(terms, lambda column: column[at])


def each(terms: Terms, call: Callable[[torch.Tensor], torch.Tensor]) -> Terms:
    """The terms with every column [N] as `call` makes it."""
    tensors = {f.name: getattr(terms, f.name) for f in fields(Terms)}
    made = {name: call(value) for name, value in tensors.items() if isinstance(value, torch.Tensor)}
    inner = {name: {k: call(v) for k, v in getattr(terms, name).items()} for name in ("weights", "topk")}
    return replace(terms, **made, **inner)


def totals(part: Transform[Terms], pieces: list[Terms]) -> dict[str, float]:
    """What the learner adds over the pieces of a step."""
    masks = torch.cat([p.mask for p in pieces])
    out = {"tokens": float(masks.sum())}
    for name in ("sequence", "group"):
        out[f"{name}s"] = float(len(torch.unique(torch.cat([getattr(p, name) for p in pieces]))))
    for _ in range(part.rounds if part.measure else 0):
        sums: dict[str, Any] = {}
        for piece in pieces:
            for key, value in part.measure(replace(piece, totals=out)).items():
                sums[key] = sums.get(key, 0.0) + value
        out |= sums
    return out


# Objectives


@rows("objective")
def test_masked_rows_get_nothing_and_leak_nothing(entry: Entry, make_terms: Make) -> None:
    dirty, clean = make_terms(), make_terms(garbage=False)
    loss, found = gradients(whole(entry), dirty)
    same, expected = gradients(whole(entry), clean)
    assert torch.isfinite(loss) and loss == same
    for name in LEAVES:
        assert (found[name][~dirty.mask] == 0).all()
        assert torch.isfinite(found[name]).all() and torch.equal(found[name], expected[name])
    assert any((grad != 0).any() for grad in found.values())


@rows("objective")
def test_cutting_a_step_into_pieces_changes_nothing(entry: Entry, make_terms: Make) -> None:
    part, terms = whole(entry), make_terms(dtype=torch.float32)
    pieces = [take(terms, torch.isin(terms.sequence, torch.tensor(ids))) for ids in ([5, 0], [2], [7, 1, 3], [4, 6])]
    sums = totals(part, pieces)
    loss, want = gradients(part, replace(terms, totals=sums))
    outs = [loss_of(part, replace(p, totals=sums)) for p in pieces]
    leaves = [getattr(terms, name) for name in LEAVES]
    got = torch.autograd.grad(sum(o.loss for o in outs), leaves, allow_unused=True)
    assert abs(sum(float(o.loss.detach()) for o in outs) - float(loss)) <= 1e-6 * max(1, abs(float(loss)))
    for name, grad in zip(LEAVES, got, strict=True):
        gap = (torch.zeros_like(want[name]) if grad is None else grad) - want[name]
        assert gap.norm() <= 1e-6 * max(float(want[name].norm()), 1e-6)
    noted = loss_of(part, replace(terms, totals=sums)).metrics
    for name, value in noted.items():
        assert float(sum(o.metrics[name] for o in outs)) == pytest.approx(float(value), rel=1e-5, abs=1e-7)


@rows("objective")
def test_every_device_finds_the_same_gradients(entry: Entry, make_terms: Make, device: torch.device) -> None:
    terms = make_terms()
    loss, want = gradients(whole(entry), terms)
    moved = each(terms, lambda column: column.detach().to(device).requires_grad_(column.requires_grad))
    again, got = gradients(whole(entry), moved)
    assert float(again) == pytest.approx(float(loss), rel=1e-12, abs=1e-15)
    for name in LEAVES:
        assert got[name].device.type == device.type
        torch.testing.assert_close(got[name].cpu(), want[name], rtol=1e-9, atol=1e-12)


@rows("objective")
def test_the_packing_order_does_not_matter(entry: Entry, make_terms: Make) -> None:
    terms = make_terms()
    order = torch.randperm(len(terms.new), generator=torch.Generator().manual_seed(3))
    if "ordered" in entry.tags:  # the order inside a sequence is meant, that of sequences is not
        of = terms.sequence[order]
        for one in range(8):
            order[of == one] = order[of == one].sort().values
    _, want = gradients(whole(entry), terms)
    moved = take(terms, order)
    leaves = {name: getattr(moved, name).detach().requires_grad_() for name in LEAVES}
    _, got = gradients(whole(entry), replace(moved, **leaves))
    for name in LEAVES:
        assert torch.allclose(got[name], want[name][order], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("entry", [e for e in tried("objective") if not reads_idle(whole(e))], ids=label)
def test_a_step_need_not_hold_what_has_no_advantage(entry: Entry, make_terms: Make) -> None:
    part, terms = whole(entry), make_terms()
    idle = torch.isin(terms.sequence, torch.tensor([0, 3, 5, 6]))  # 0, 3 and 6 are a whole group
    terms.advantage[idle] = 0
    every, both = totals(part, [terms]), [terms, replace(terms, mask=terms.mask & ~idle)]
    every = {f"all_{name}": value for name, value in every.items()}
    one, other = (gradients(part, replace(t, totals=totals(part, [t]) | every)) for t in both)
    torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-15)


@rows("objective")
@pytest.mark.parametrize("gap", [18.0, -18.0, 300.0, -300.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["fp32", "fp64"])
def test_finite_at_any_log_ratio(entry: Entry, gap: float, dtype: torch.dtype, make_terms: Make) -> None:
    terms = make_terms(dtype=dtype)
    far = {name: getattr(terms, name) - gap for name in ("rollout", "old", "ref")}
    loss, found = gradients(whole(entry), replace(terms, **far))
    assert torch.isfinite(loss)
    assert all(torch.isfinite(grad).all() for grad in found.values())


@rows("objective")
@pytest.mark.parametrize("rows_", [0, 30])
def test_no_token_gives_no_loss(entry: Entry, rows_: int, make_terms: Make) -> None:
    terms = make_terms(rows_)
    terms = replace(terms, mask=torch.zeros_like(terms.mask))
    loss, found = gradients(whole(entry), terms)
    assert loss == 0 and all((grad == 0).all() for grad in found.values())


@pytest.mark.parametrize("entry", [e for e in tried("objective") if e.tags.get("on_policy") == "reinforce"], ids=label)
def test_on_policy_it_is_reinforce(entry: Entry, make_terms: Make) -> None:
    terms = make_terms()
    terms = replace(terms, rollout=terms.new.detach(), old=terms.new.detach())
    _, found = gradients(whole(entry), terms)
    want = torch.where(terms.mask, -terms.advantage, 0) / terms.mask.sum()
    assert torch.allclose(found["new"], want, rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    "entry",
    [
        e
        for e in tried("objective")
        if make(e).place != "regulariser"
        and "across" not in e.tags
        and not {"over", "normalised"} & e.tags.get("example", {}).keys()  # the other tokens matter to a token
    ],
    ids=label,
)
def test_the_rl_weight_multiplies_the_coefficient(entry: Entry, make_terms: Make) -> None:
    terms = make_terms()
    weight = torch.linspace(0, 3, len(terms.new), dtype=torch.float64).round()
    weight[~terms.mask] = math.nan
    _, plain = gradients(whole(entry), terms)
    _, weighed = gradients(whole(entry), replace(terms, weights={"rl": weight}))
    assert torch.allclose(weighed["new"], torch.where(terms.mask, weight, 0) * plain["new"], rtol=1e-12, atol=0)
    _, none = gradients(whole(entry), replace(terms, weights={"ce": weight}))
    assert (none["new"] == 0).all()


@rows("objective")
def test_an_objective_says_what_it_needs(entry: Entry, make_terms: Make) -> None:
    part, terms = whole(entry), make_terms()
    needed = {c for need in part.needs for c in COLUMNS[need.partition(":")[0]]}
    lean = replace(terms, **{name: LACKING.get(name) for name in OPTIONAL if name not in needed})
    assert torch.isfinite(loss_of(part, lean).loss.detach())
    for name in needed:
        with pytest.raises(PartError, match=rf"{name}.*`needs`"):
            loss_of(part, replace(terms, **{name: LACKING.get(name)}))


def test_a_total_that_a_mean_divides_by_cannot_be_left_out(make_terms: Make) -> None:
    for entry in entries("objective"):
        if make(entry).place == "mean":
            with pytest.raises(PartError, match="totals hold"):
                loss_of(make(entry), replace(make_terms(), totals={"steps": 3.0}))


# Advantages


def advantage_rows() -> Iterator[Any]:
    """Every advantage in a chain that writes `advantage`; every unit, key, baseline and scale inside the normaliser."""
    for entry in entries("advantage"):
        part = make(entry)
        if "after" in entry.tags:
            part = chain(build("advantage", entry.tags["after"]), part)
        yield pytest.param(chain(part, normalise()) if "writes" in entry.tags else part, id=entry.name)
    for kind in ("unit", "key", "baseline", "scale"):
        for entry in entries(kind):
            unit = {} if kind == "unit" else {"unit": "turn"}
            part = normalise(**unit, **{kind: make(entry)})
            before = [build("advantage", entry.tags["after"])] if "after" in entry.tags else []
            yield pytest.param(chain(*before, part) if before else part, id=f"{kind}-{entry.name}")
    yield pytest.param(gae(0.9, 0.8, "turn", bootstrap=True), id="gae-turn")


advantages = pytest.mark.parametrize("part", list(advantage_rows()))


def credited(part: Transform[Any], groups: tuple[Group, ...]) -> tuple[Group, ...]:
    return part.apply(groups, part.init())[0]


def by_id(groups: tuple[Group, ...]) -> dict[str, np.ndarray]:
    """Trajectory id -> the advantage of every token, joined."""
    return {t.id: np.concatenate([[], *t.streams["advantage"]]) for g in groups for t in g.trajectories}


def masks(groups: tuple[Group, ...]) -> dict[str, np.ndarray]:
    return {t.id: np.concatenate([[], *(n.mask for n in t.nodes)]).astype(bool) for g in groups for t in g.trajectories}


@advantages
def test_degenerate_groups_are_finite(part: Any, hard_groups: dict[str, tuple[Group, ...]]) -> None:
    for name, groups in hard_groups.items():
        out = credited(part, groups)
        assert [len(g.trajectories) for g in out] == [len(g.trajectories) for g in groups], name
        drawn = masks(out)
        for key, values in by_id(out).items():
            assert np.isfinite(values).all(), name
            assert (values[~drawn[key]] == 0).all(), name


@advantages
def test_only_sampled_tokens_get_an_advantage_and_nothing_else_moves(part: Any, make_groups: Make) -> None:
    groups = make_groups()
    out = credited(part, groups)
    drawn, found = masks(out), by_id(out)
    assert any((values != 0).any() for values in found.values())
    assert all((values[~drawn[key]] == 0).all() for key, values in found.items())
    for before, after in zip(groups, out, strict=True):
        assert before.task == after.task and before.ticket == after.ticket
        for a, b in zip(before.trajectories, after.trajectories, strict=True):
            assert a.id == b.id and a.nodes is b.nodes and a.turn_rewards == b.turn_rewards
            assert all(b.streams[name] == stream for name, stream in a.streams.items())


@advantages
def test_order_of_groups_and_members_does_not_matter(part: Any, make_groups: Make) -> None:
    groups = make_groups()
    rng = np.random.default_rng(5)
    mixed = tuple(
        replace(g, trajectories=tuple(g.trajectories[i] for i in rng.permutation(len(g.trajectories))))
        for g in (groups[i] for i in rng.permutation(len(groups)))
    )
    want, got = by_id(credited(part, groups)), by_id(credited(part, mixed))
    for key, values in want.items():
        np.testing.assert_allclose(got[key], values, rtol=1e-9, atol=1e-12)


@advantages
def test_groups_need_not_meet_where_an_advantage_looks_at_each(part: Any, make_groups: Make) -> None:
    groups = make_groups()
    want, state = part.apply(groups, part.init())
    for share in (groups[::2], groups[1::2]) if part.apart else ():
        got, after = part.apply(share, part.init())
        assert after == state and list(got) == [g for g in want if g.ticket in {h.ticket for h in share}]


@advantages
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_reward_that_is_no_number_is_refused(part: Any, bad: float, make_groups: Make) -> None:
    groups = make_groups()
    first, *rest = groups[0].trajectories
    broken = replace(first, rewards={"score": bad}, turn_rewards=())
    with pytest.raises(BadReward, match="0.0"):
        credited(part, (replace(groups[0], trajectories=(broken, *rest)), *groups[1:]))


@advantages
def test_an_advantage_says_what_it_needs(part: Any, make_groups: Make) -> None:
    groups = make_groups()
    needed = {STREAMS[need] for need in part.needs & STREAMS.keys()}

    def without(*names: str) -> tuple[Group, ...]:
        def strip(t: Trajectory) -> Trajectory:
            return replace(t, streams={k: v for k, v in t.streams.items() if k not in names})

        return tuple(replace(g, trajectories=tuple(map(strip, g.trajectories))) for g in groups)

    credited(part, without(*(set(STREAMS.values()) - needed)))
    for name in needed:
        with pytest.raises(PartError, match=name):
            credited(part, without(name))
    bare = tuple(replace(g, trajectories=tuple(replace(t, digests=()) for t in g.trajectories)) for g in groups)
    if "digests" in part.needs:
        with pytest.raises(PartError, match="digests"):
            credited(part, bare)
    else:
        credited(part, bare)


@pytest.mark.parametrize(
    "entry",
    [e for kind in ("baseline", "scale") for e in entries(kind) if "invariant" in e.tags],
    ids=lambda e: f"{e.kind}-{e.name}",
)
def test_declared_invariances_hold(entry: Entry, make_groups: Make) -> None:
    options = {"eps": 0.0} if entry.kind == "scale" else {}
    part = normalise(**{entry.kind: make(entry, **options)})

    def credit(change: Callable[[float], float]) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(9)  # all rewards differ
        scored = tuple(
            replace(g, trajectories=tuple(replace(t, rewards={"x": change(rng.normal())}) for t in g.trajectories))
            for g in make_groups()
        )
        return by_id(credited(part, scored))

    want = credit(lambda reward: reward)
    got = credit({"shift": lambda reward: reward + 3.0, "scale": lambda reward: reward * 7.0}[entry.tags["invariant"]])
    for key, values in want.items():
        np.testing.assert_allclose(got[key], values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [e.name for e in entries("baseline") if e.tags.get("invariant") == "shift"])
@pytest.mark.parametrize("scale", [e.name for e in entries("scale")])
def test_equal_rewards_give_exactly_zero(name: str, scale: str, hard_groups: dict[str, tuple[Group, ...]]) -> None:
    for case in ("all equal", "one member"):
        found = by_id(credited(normalise(baseline=name, scale=scale), hard_groups[case]))
        assert all((values == 0).all() for values in found.values())


# Gates


def said(groups: tuple[Group, ...]) -> list[Any]:
    return [
        [(t.id, dict(t.rewards), [n for n in t.nodes if any(n.mask)]) for t in g.trajectories]
        for g in sorted(groups, key=lambda g: g.ticket)
    ]


@rows("gate")
def test_a_gate_keeps_or_tags_and_changes_nothing_else(entry: Entry, make_groups: Make, hard_groups: Any) -> None:
    part = make(entry)
    for groups in (make_groups(), *hard_groups.values()):
        kept, _ = part.apply(groups, part.init())
        if "rewrites" in entry.tags:  # the words around what was sampled, and nothing else
            assert [g.ticket for g in kept] == [g.ticket for g in groups] and said(kept) == said(groups)
            continue
        known = {id(g.trajectories) for g in groups}
        assert all(id(g.trajectories) in known for g in kept)
        assert [g.ticket for g in kept] == [
            g.ticket for g in groups if any(g.trajectories is k.trajectories for k in kept)
        ]
        back, _ = part.apply(groups[::-1], part.init())
        assert {g.ticket for g in back} == {g.ticket for g in kept}


# Every part


def all_entries() -> list[Any]:
    kinds = ("objective", "advantage", "gate", "algorithm", "unit", "key", "baseline", "scale")
    return [pytest.param(e, id=f"{e.kind}-{e.name}") for kind in kinds for e in entries(kind)]


@pytest.mark.parametrize("entry", all_entries())
def test_a_part_is_written_down_and_made_again(entry: Entry) -> None:
    part = make(entry)
    data = provenance(part)
    assert data is not None and (data["kind"], data["name"]) == (entry.kind, entry.name)
    text = json.dumps(data)
    again = build(entry.kind, json.loads(text))
    assert json.dumps(provenance(again)) == text
    with pytest.raises(UnknownName, match="no_such_option"):
        make(entry, no_such_option=1)


@pytest.mark.parametrize("entry", all_entries())
def test_a_part_is_documented(entry: Entry) -> None:
    doc = entry.make.__doc__ or ""
    names = entry.make.__wrapped__.__code__.co_varnames[: entry.make.__wrapped__.__code__.co_argcount]
    for name in names if entry.kind != "key" else ():
        assert f"        {name}: " in doc, f"{name} is not among the Args"
    if entry.kind in ("objective", "advantage", "gate", "algorithm"):
        for section in ("When to use:", "Maths:", "Returns:", "Example:", "Special cases:"):
            assert f"    {section}" in doc
        assert ("Reference:" in doc and "Differs from the paper:" in " ".join(doc.split())) or not entry.paper
        shown = re.search(r"Example: `(.+)`", doc)
        if shown:  # else a doctest
            part = eval(shown[1], vars(sys.modules[entry.make.__module__]))
            assert (provenance(part) or {}).get("name") == entry.name
        assert entry.tags["status"] in ("paper", "experimental")
        assert entry.tags["confidence"] in ("code", "paper", "note", "guess")


@pytest.mark.parametrize("part", [*advantage_rows(), *(pytest.param(make(e), id=e.name) for e in entries("gate"))])
def test_state_survives_a_checkpoint(part: Any, make_groups: Make) -> None:
    state = part.apply(make_groups(), part.init())[1]
    saved = json.loads(json.dumps(encode(state)))
    later = make_groups(seed=4)
    want, after = part.apply(later, state)
    got, same = part.apply(later, saved)
    assert json.dumps(encode(after)) == json.dumps(encode(same))
    assert [g.ticket for g in want] == [g.ticket for g in got]
    assert all(a.trajectories == b.trajectories for a, b in zip(want, got, strict=True))


# Algorithms


def to_terms(groups: tuple[Group, ...]) -> tuple[Terms, list[str]]:
    """Sampled tokens of the groups as terms, on-policy but for a little noise, and the trajectory id of each row."""
    rng = np.random.default_rng(2)
    given = ("advantage", "rollout", "value", "return", "old", "ref", "weight.rl", "weight.ce")
    ids, sequence, columns = [], [], {name: [] for name in given}
    for s, (t, g) in enumerate((t, g) for g, group in enumerate(groups) for t in group.trajectories):
        for i, node in enumerate(t.nodes):
            for j in np.flatnonzero(node.mask):
                ids.append(t.id)
                sequence.append((s, g, 100 * s + i))
                columns["rollout"].append(node.logprobs[j])
                for name in set(given) - {"rollout"}:
                    columns[name].append(t.streams[name][i][j] if name in t.streams else 0.0)
    tensors = {name: torch.tensor(np.array(c, np.float64)) for name, c in columns.items()}
    noise = torch.tensor(0.01 * rng.standard_normal(len(ids)))
    leaf = {"new": tensors["rollout"] + noise, "value": tensors["value"] + noise, "entropy": noise.abs()}
    at = torch.tensor(sequence)
    imitates = any("weight.ce" in t.streams for g in groups for t in g.trajectories)
    return Terms(
        **{name: column.clone().requires_grad_() for name, column in leaf.items()},
        rollout=tensors["rollout"],
        old=tensors["rollout"] + noise / 2,
        ref=tensors["rollout"] - noise,
        advantage=tensors["advantage"],
        old_value=tensors["value"],
        returns=tensors["return"],
        reward=tensors["advantage"],
        weights={name: tensors[f"weight.{name}"] for name in ("rl", "ce")} if imitates else {},
        hidden=noise[:, None].expand(-1, 3),
        topk={"new": tensors["rollout"][:, None]},
        mask=torch.ones(len(ids), dtype=torch.bool),
        sequence=at[:, 0],
        group=at[:, 1],
        turn=at[:, 2],
    ), ids


def contest(groups: tuple[Group, ...]) -> tuple[Group, ...]:
    """The groups of several members, where two in four won and the critic expects one half."""

    def score(t: Trajectory, reward: float) -> Trajectory:
        half = tuple((0.5,) * len(n.tokens) for n in t.nodes)
        return replace(t, rewards={"score": reward}, turn_rewards=()).with_stream("value", half)

    return tuple(
        replace(g, trajectories=tuple(score(t, float(m // 2 % 2)) for m, t in enumerate(g.trajectories)))
        for g in groups
        if len(g.trajectories) > 1
    )


@rows("algorithm")
def test_an_algorithm_raises_what_was_rewarded(entry: Entry, make_groups: Make) -> None:
    algorithm: Algorithm = make(entry)
    groups = contest(make_groups())
    if algorithm.gate and "rewrites" not in entry.tags:
        assert algorithm.gate.apply(groups, algorithm.gate.init())[0] == groups
    terms, ids = to_terms(credited(algorithm.advantage, groups))
    loss, found = gradients(algorithm.objective, terms)
    assert torch.isfinite(loss)
    won = {t.id: t.reward > 0 for g in groups for t in g.trajectories}
    sides: dict[bool, list[float]] = {True: [], False: []}
    for name, coefficient in zip(ids, found["new"].tolist(), strict=True):
        sides[won[name]].append(coefficient)
    if entry.tags.get("learns") == "none":  # it does not look at rewards
        assert max(sides[True] + sides[False]) < 0
    elif "one_sided" in entry.tags:
        assert max(sides[True]) <= 0 < min(sides[False])
    elif "imitates" in entry.tags:  # it looks at the right ones alone
        assert max(sides[True]) < 0 == min(sides[False]) == max(sides[False])
    elif "uneven" in entry.tags:  # steps of a winner may be worse than their peers
        assert np.mean(sides[True]) < 0 and np.mean(sides[True]) < np.mean(sides[False])
    else:
        assert max(sides[True]) < 0 < min(sides[False])


@rows("algorithm")
def test_an_algorithm_expands_to_the_chains_that_rebuild_it(entry: Entry, make_groups: Make) -> None:
    forms = [make(entry), *(preset(entry.name, form) for form in entry.tags.get("presets", {}))]
    for algorithm in forms:
        chains = json.loads(json.dumps(algorithm.expand()))
        other = "grpo" if entry.name != "grpo" else "dapo"
        again = assemble(other, **chains)
        written = {k: v for k, v in chains.items() if v}  # an empty chain keeps the alias's own
        assert {k: again.expand()[k] for k in written} == written
        assert again.objective.needs == algorithm.objective.needs
        groups = make_groups()
        want, got = by_id(credited(algorithm.advantage, groups)), by_id(credited(again.advantage, groups))
        assert all((want[key] == got[key]).all() for key in want)
