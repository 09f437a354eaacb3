import json
from itertools import pairwise

import pytest

from quintain.registry import build, provenance
from quintain.samplers.worlds import SamplerError, worlds
from quintain.types import Group


def draw(sampler, count, state=None):
    state, out = state or sampler.init(), []
    for _ in range(count):
        task, state = sampler.draw(state)
        out.append(task)
    return out, state


def test_worlds_and_levels_go_round_and_seeds_do_not_repeat():
    tasks, state = draw(worlds(["A", "B"], levels=[3, 5], seed=1, params={"size": 6}), 400)
    assert [(t.env, t.level) for t in tasks[:5]] == [("A", 3), ("B", 3), ("A", 5), ("B", 5), ("A", 3)]
    assert len({t.seed for t in tasks}) == 400 and len({t.key for t in tasks}) == 400
    assert {t.split for t in tasks} == {"train"} and dict(tasks[0].params) == {"size": 6}
    assert state == {"drawn": 400}


def test_drawing_is_a_function_of_the_state():
    sampler = worlds("A", seed=2)
    first, state = draw(sampler, 7)
    rest, _ = draw(sampler, 5, json.loads(json.dumps(state)))
    assert [*first, *rest] == draw(worlds("A", seed=2), 12)[0]
    assert draw(worlds("A", seed=3), 12)[0] != [*first, *rest]
    assert sampler.observe(state, Group(task=first[0], trajectories=())) == state


def test_shards_partition_the_instances():
    whole, _ = draw(worlds("A", levels=[0, 1, 2], seed=4), 30)
    shards = [draw(worlds("A", levels=[0, 1, 2], seed=4, shard=(r, 3)), 10)[0] for r in range(3)]
    assert [t for row in zip(*shards, strict=True) for t in row] == whole
    assert not {t.key for t in shards[0]} & {t.key for t in shards[1]}


def test_a_pool_is_gone_through_in_a_new_order_each_time():
    tasks, _ = draw(worlds("A", seed=1, pool=20), 60)
    passes = [[t.key for t in tasks[i : i + 20]] for i in (0, 20, 40)]
    assert all(sorted(p) == sorted(passes[0]) and len(set(p)) == 20 for p in passes)
    assert all(one != two for one, two in pairwise(passes))


@pytest.mark.parametrize(
    "bad", [{"env": []}, {"levels": []}, {"pool": -1}, {"shard": (2, 2)}, {"shard": (-1, 2)}, {"shard": (0, 0)}]
)
def test_bad_numbers_are_refused(bad):
    with pytest.raises(SamplerError):
        worlds(**bad)


def test_samplers_can_be_written_down():
    spec = {"name": "worlds", "env": "A", "levels": [1], "seed": 3}
    assert provenance(build("sampler", spec)) == {"kind": "sampler", **spec}
