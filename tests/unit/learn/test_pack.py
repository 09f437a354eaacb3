"""Packing: every path once, every sampled token trained once, exact counts, balanced minibatches."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from quintain.learn.pack import Demo, PackError, count, micro, pack, pack_demos, select, split
from quintain.types import Completion, Group, Kind, Node, Sampling, Span, Stop, Task, Trajectory


def drawn(parent, tokens, logprob=-1.0, **rest):
    span = (Span(start=0, stop=len(tokens), version=0),)
    made = Completion(tokens=tokens, logprobs=(logprob,) * len(tokens), finish="stop", spans=span)
    return Node.sampled(parent, made, **rest)


def tree() -> Trajectory:
    """A prompt, one answer, and two continuations of it: paths 0-1-2-3 and 0-1-4-5."""
    nodes = (
        Node.given(None, (1, 2), kind=Kind.prompt),
        drawn(0, (3, 4)),
        Node.given(1, (5,)),
        drawn(2, (6,)),
        Node.given(1, (7, 8)),
        drawn(4, (9, 10)),
    )
    return Trajectory(id="tree", nodes=nodes, stop=Stop.done, rewards={"win": 1.0}).with_value("advantage", 0.5)


def group(*trajectories: Trajectory, ticket: int = 0) -> Group:
    return Group(task=Task(key=f"k{ticket}", env="none"), trajectories=trajectories, ticket=ticket)


def line(*, tokens=(3, 4), advantage=0.5, name="line", heat=1.0) -> Trajectory:
    nodes = (Node.given(None, (1, 2)), drawn(0, tokens, sampling=Sampling(temperature=heat)), Node.given(1, (7,)))
    return Trajectory(id=name, nodes=nodes, stop=Stop.done).with_value("advantage", advantage)


def test_a_branching_trajectory_trains_each_sampled_node_in_one_path():
    batch = pack([group(tree(), ticket=7)])
    assert batch.tokens.tolist() == [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 7, 8, 9, 10]
    assert batch.position.tolist() == [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6, 7]
    assert batch.sequence.tolist() == [0] * 6 + [1] * 8
    assert batch.mask.tolist() == [False, False, True, True, False, True] + [False] * 6 + [True, True]
    assert batch.streams["trajectory"].tolist() == [0] * 14
    assert batch.streams["ticket"].tolist() == [7] * 14
    assert (batch.streams["advantage"][batch.mask] == 0.5).all()
    assert batch.totals == count(batch)
    assert {k: batch.totals[k] for k in ("tokens", "sequences", "paths", "groups")} == {
        "tokens": 5,
        "sequences": 1,
        "paths": 2,
        "groups": 1,
    }


def test_lines_and_trees_mix_and_equal_what_the_paths_say(make_groups):
    groups = make_groups(3, 2)
    mixed = [group(*groups[0].trajectories, tree(), ticket=1), *groups[1:]]
    batch = pack(mixed)
    expected = []
    for g in mixed:
        for t in g.trajectories:
            for path, fresh in t.paths():
                for node in path:
                    n = t.nodes[node]
                    trained = [node in fresh and m for m in n.mask]
                    expected += list(zip(n.tokens, n.logprobs, trained, strict=True))
    assert batch.tokens.tolist() == [e[0] for e in expected]
    assert batch.logprobs.tolist() == pytest.approx([e[1] for e in expected])
    assert batch.mask.tolist() == [e[2] for e in expected]
    assert batch.group[batch.position == 0].tolist() == [0, 0, 0, 0, 1, 1, 2, 2]


def test_observations_never_carry_rl_weight_but_may_carry_ce():
    everywhere = tuple((1.0,) * len(n.tokens) for n in line().nodes)
    batch = pack([group(line().with_stream("weight.rl", everywhere).with_stream("weight.ce", everywhere))])
    assert batch.weights["rl"].tolist() == [0, 0, 1, 1, 0]
    assert batch.weights["kl"].tolist() == [0, 0, 1, 1, 0]
    assert batch.weights["ce"].tolist() == [0, 1, 1, 1, 1], "all but the first token, which nothing predicts"
    assert (batch.totals["rl_tokens"], batch.totals["ce_tokens"], batch.totals["tokens"]) == (2, 4, 4)


def test_weight_streams_scale_and_switch_off():
    rows = ((0.0, 0.0), (0.0, 2.5), (0.0,))
    batch = pack([group(line().with_stream("weight.rl", rows))])
    assert batch.weights["rl"].tolist() == [0, 0, 0, 2.5, 0]
    assert batch.weights["kl"].tolist() == [0, 0, 0, 1, 0]
    assert batch.mask.tolist() == [False, False, False, True, False]


def test_the_first_token_of_a_path_is_never_trained():
    root = Trajectory(id="root", nodes=(drawn(None, (5, 6)),), stop=Stop.done).with_value("advantage", 1.0)
    assert pack([group(root)]).mask.tolist() == [False, True]


def test_idle_trajectories_are_counted_but_not_trained():
    idle, busy = line(advantage=0.0, name="idle"), line(tokens=(3, 4, 5), name="busy")
    imitated = line(advantage=0.0).with_stream("weight.ce", ((0.0, 0.0), (1.0, 0.0), (0.0,)))
    groups = [group(idle, busy, ticket=0), group(idle, ticket=1)]
    batch = pack(groups, skip_idle=True)
    assert batch.totals | {"tokens": 3, "sequences": 1, "groups": 1} == batch.totals
    assert batch.totals | {"all_tokens": 7, "all_sequences": 3, "all_groups": 2} == batch.totals
    assert [len(piece) for piece in micro(batch, 100)] == [6], "only the busy path goes through the model"
    assert pack(groups).totals["tokens"] == 7
    assert pack([group(imitated)], skip_idle=True).totals["tokens"] == 2, "imitation is work"


def test_temperatures_travel_and_ones_do_not():
    assert pack([group(line())]).temperature is None
    heats = pack([group(line(heat=0.5), line(heat=0.0))]).temperature
    assert heats is not None
    assert heats.tolist() == [1, 1, 0.5, 0.5, 1, 1, 1, 1, 1, 1], "greedy tokens are read at temperature 1"


@pytest.mark.parametrize("held", ["high", None])
def test_a_stream_of_what_is_no_number_is_named(held):
    with pytest.raises(PackError, match=f"'odd': the stream 'advantage' holds {held!r}, which is no number"):
        pack([group(line(), line(name="odd").with_value("advantage", held))])


def test_a_stream_may_hold_nan_for_which_the_learner_leaves_out_a_batch():
    assert np.isnan(pack([group(line().with_value("advantage", float("nan")))]).streams["advantage"]).any()


def test_missing_streams_and_external_nodes_are_refused():
    bare = replace(line(), streams={})
    with pytest.raises(PackError, match=r"'line' has no stream 'advantage'"):
        pack([group(bare)])
    with pytest.raises(PackError, match="'ref'"):
        pack([group(line().with_value("ref", -1.0), line(name="other"))])
    outside = replace(line(), nodes=(*line().nodes[:2], Node.given(1, (7,), kind=Kind.external)))
    with pytest.raises(PackError, match="external"):
        pack([group(outside)])


def test_nothing_is_a_batch_of_nothing():
    batch = pack([])
    assert len(batch) == 0 and batch.totals["tokens"] == 0
    assert list(micro(batch, 10)) == [] and [len(b) for b in split(batch, 3)] == [0, 0, 0]


def test_demos_imitate_their_masked_tokens():
    batch = pack_demos([Demo((5, 6, 7), (True, False, True)), Demo((8, 9), (False, True))])
    assert batch.weights["ce"].tolist() == [0, 0, 1, 0, 1]
    assert not batch.weights["rl"].any() and not batch.weights["kl"].any()
    assert batch.mask.tolist() == [False, False, True, False, True]
    assert batch.totals["sequences"] == 2
    with pytest.raises(PackError, match="demonstration 0"):
        pack_demos([Demo((1, 2), (True,))])


def test_minibatches_are_whole_groups_balanced_and_a_function_of_the_seed(make_groups):
    batch = pack(make_groups(24, 4))
    one, again, other = (split(batch, 3, seed) for seed in ((1, 5), (1, 5), (2, 5)))
    assert [p.tokens.tolist() for p in one] == [p.tokens.tolist() for p in again]
    assert [p.tokens.tolist() for p in one] != [p.tokens.tolist() for p in other]
    owners = [set(p.group.tolist()) for p in one]
    assert sum(map(len, owners)) == 24 and set().union(*owners) == set(range(24))
    sizes = [len(p) for p in one]
    assert sum(sizes) == len(batch) and max(sizes) < 1.2 * min(sizes)
    assert sum(p.totals["tokens"] for p in one) == batch.totals["tokens"]


def test_fewer_groups_than_minibatches_leave_some_empty(make_groups):
    parts = split(pack(make_groups(1, 2)), 3)
    assert sorted(p.totals["groups"] for p in parts) == [0, 0, 1]


def test_micro_batches_keep_the_budget_and_the_paths_of_a_trajectory(make_groups):
    batch = pack([*make_groups(4, 3), group(tree(), ticket=99)])
    pieces = list(micro(batch, 20))
    assert len(pieces) > 3
    assert sum(int(p.mask.sum()) for p in pieces) == batch.totals["tokens"]
    for piece in pieces:
        owners = np.unique(piece.streams["trajectory"])
        assert len(piece) <= 20 or len(owners) == 1
        assert owners.tolist() == list(range(len(owners)))
        assert (np.diff(piece.sequence) >= 0).all() and piece.sequence[0] == 0
    last = pieces[-1]
    assert 99 in last.streams["ticket"] and last.streams["trajectory"][-14:].max() == last.streams["trajectory"][-14]


def test_selected_rows_are_the_rows_of_the_sequences(make_groups):
    batch = pack(make_groups(2, 2))
    part = select(batch, np.array([1, 3]))
    kept = np.isin(batch.sequence, [1, 3])
    for name in ("tokens", "mask", "logprobs", "position", "group"):
        assert getattr(part, name).tolist() == getattr(batch, name)[kept].tolist()
    assert part.sequence.tolist() == (batch.sequence[kept] // 2).tolist()


def test_packing_256_episodes_takes_milliseconds(make_groups):
    groups = make_groups(32, 8)
    times = []
    for _ in range(5):
        begin = time.thread_time()
        batch = pack(groups)
        times.append(time.thread_time() - begin)
    assert batch.totals["sequences"] == 256
    assert min(times) < 0.05, "about 3 ms on a quiet core"
