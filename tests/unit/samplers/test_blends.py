import json
from collections import Counter
from dataclasses import replace

import pytest

from quintain.given import numbers_of, spread_out
from quintain.registry import UnknownName, build
from quintain.samplers.blends import curriculum, mixture
from quintain.samplers.worlds import SamplerError, worlds
from quintain.types import Group, Stop, Trajectory


def draw(sampler, count, state=None):
    state, out = state or sampler.init(), []
    for _ in range(count):
        task, state = sampler.draw(state)
        out.append(task)
    return out, state


def played(task, rewards):
    trajectories = tuple(
        Trajectory(id=str(i), nodes=(), stop=Stop.done, rewards={"r": r}) for i, r in enumerate(rewards)
    )
    return Group(task=task, trajectories=trajectories)


def test_a_mixture_follows_its_weights_and_its_state():
    sampler = mixture(worlds("A"), worlds("B"), worlds("C"), weights=[3, 0, 1], seed=1)
    tasks, _ = draw(sampler, 2000)
    counts = Counter(t.env for t in tasks)
    assert counts["B"] == 0 and counts["A"] / 2000 == pytest.approx(0.75, abs=0.04)
    first, state = draw(sampler, 9)
    assert [*first, *draw(sampler, 5, json.loads(json.dumps(state)))[0]] == tasks[:14]


def test_parts_that_end_are_left_out(tmp_path):
    file = tmp_path / "p.jsonl"
    file.write_text('{"prompt": "a"}\n{"prompt": "b"}\n')
    data = {"name": "dataset", "path": str(file), "epochs": 1}
    both, _ = draw(mixture(data, worlds("A")), 50)
    assert Counter(t.env for t in both) == {"data": 2, "A": 48}
    alone, state = draw(mixture(data, data), 6)
    assert [t is None for t in alone] == [False] * 4 + [True] * 2 and state["drawn"] == 4


def test_named_parts_get_the_shared_options_that_they_take():
    spec = {"name": "mixture", "parts": [{"name": "worlds", "env": "A"}, {"name": "curriculum"}]}
    sampler = build("sampler", {**spec, "shard": (1, 2), "levels": [4], "seed": 2})
    assert {(t.env, t.level) for t in draw(sampler, 40)[0]} == {("A", 4), ("KeyDoor", 4)}
    other = build("sampler", {**spec, "shard": (0, 2), "levels": [4], "seed": 2})
    assert not {t.key for t in draw(sampler, 40)[0]} & {t.key for t in draw(other, 40)[0]}
    nested = build("sampler", {"name": "mixture", "parts": [spec], "levels": [7]})
    assert {t.level for t in draw(nested, 10)[0]} == {7}


def test_the_ranks_of_a_mixture_choose_apart_and_draw_together_what_one_would():
    alone = mixture("worlds", {"name": "worlds", "env": "B"}, seed=4)
    ranks = [mixture("worlds", {"name": "worlds", "env": "B"}, seed=4, shard=(rank, 2)) for rank in (0, 1)]
    ones, twos = ([t.env for t in draw(sampler, 100)[0]] for sampler in ranks)
    assert sum(a != b for a, b in zip(ones, twos, strict=True)) > 30
    assert [env for pair in zip(ones, twos, strict=True) for env in pair] == [t.env for t in draw(alone, 200)[0]]
    with pytest.raises(SamplerError, match=r"shard is \(2, 2\)"):
        mixture(worlds("A"), shard=(2, 2))


def test_a_mixture_hands_groups_to_the_curriculum_inside():
    sampler = mixture(worlds("A"), {"name": "curriculum", "env": "B", "control": {"window": 1}}, seed=3)
    state = sampler.init()
    task = next(t for t in draw(sampler, 20)[0] if t.env == "B")
    assert sampler.observe(state, played(task, [1.0]))["parts"][1]["at"] == 1
    assert sampler.observe(state, played(worlds("A").task(0), [1.0]))["parts"][1]["at"] == 0


def test_a_curriculum_tells_where_it_is_and_draws_all_levels_where_nobody_shows_it_anything():
    climbing = {"name": "curriculum", "env": "B", "levels": [2, 5], "params": {"size": 3}, "control": {"window": 1}}
    sampler = mixture(worlds("A"), climbing, seed=3)
    state = sampler.init()
    assert numbers_of(sampler, state) == {"level/B size=3": 2.0} and not numbers_of(worlds("A"), {"drawn": 0})
    task = next(t for t in draw(sampler, 20)[0] if t.env == "B")
    assert numbers_of(sampler, sampler.observe(state, played(task, [1.0]))) == {"level/B size=3": 5.0}
    assert {(t.env, t.level) for t in draw(sampler, 40)[0]} == {("A", 0), ("B", 2)}
    found = draw(spread_out(sampler), 40)[0]
    assert {(t.env, t.level, t.params.get("size")) for t in found} == {("A", 0, None), ("B", 2, 3), ("B", 5, 3)}


def test_curricula_of_one_world_with_other_knobs_climb_apart():
    parts = [{"name": "curriculum", "env": "B", "params": {"size": n}, "control": {"window": 1}} for n in ((3, 3), 4)]
    sampler = mixture(*parts, {"name": "curriculum", "env": "B", "control": {"window": 1}})
    assert sampler.parts[0].params == {"size": (3, 3)}
    task = replace(next(t for t in draw(sampler, 40)[0] if t.params.get("size") == (3, 3)), params={"size": [3, 3]})
    state = sampler.observe(sampler.init(), played(task, [1.0]))  # as another process knows it
    assert numbers_of(sampler, state) == {"level/B size=[3,3]": 1.0, "level/B size=4": 0.0, "level/B": 0.0}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"parts": ["worlds"], "weigths": [9]}, "option of sampler 'mixture' and its parts: 'weigths'; .* 'weights'"),
        ({"parts": ["worlds"], "weight": [9]}, "did you mean 'weights'"),
        ({"parts": ["worlds"], "level": [3]}, "did you mean 'levels'"),
        ({"of": ["worlds"]}, "unknown option of sampler 'mixture' and its parts: 'of'; there are: parts, weights"),
        ({"parts": ["worlds"], "control": {"window": 3}}, "'control'"),
        ({"parts": ["curriculum"], "contrl": {"window": 3}}, "did you mean 'control'"),
        ({"parts": [{"name": "mixture", "parts": ["worlds"]}], "shares": 1}, "'shares'"),
        ({"name": "recycle", "inner": {"name": "worlds"}, "knds": []}, "sampler 'recycle' .* did you mean 'kinds'"),
    ],
)
def test_an_option_that_no_part_takes_is_refused_with_the_nearest_name(spec, said):
    with pytest.raises(UnknownName, match=said):
        build("sampler", {"name": "mixture", **spec})


def test_options_of_one_part_and_what_every_run_hands_over_pass():
    handed = {"env": "A", "levels": [1], "params": {}, "split": "test", "seed": 3, "shard": (0, 1)}
    curriculum = {"name": "curriculum", "env": "B"}
    inner = {"name": "mixture", "parts": ["worlds", curriculum]}
    build("sampler", {"name": "mixture", "parts": [inner, "worlds"], "control": {"window": 3}, "pool": 9, **handed})
    build("sampler", {"name": "mixture", "parts": [{"name": "recycle", "inner": "worlds"}, curriculum], **handed})


def test_the_level_rises_with_success_falls_with_failure_and_stays_between():
    sampler = curriculum("W", levels=[2, 4, 6], control={"low": 0.25, "high": 0.75, "window": 4})
    state = sampler.init()
    seen = []
    for rewards in [[1, 1, 1, 0]] * 4 + [[1, 0, 0, 1]] * 9 + [[0, 0, 0, 0]] * 4 + [[0]] * 40:
        task = played(next(t for t in draw(sampler, 30, state)[0] if t.level == sampler.levels[state["at"]]), rewards)
        state = sampler.observe(state, task)
        seen.append(sampler.levels[state["at"]])
    assert seen[:4] == [2, 2, 2, 4] and set(seen[4:13]) == {4}
    assert seen[15:17] == [4, 2] or seen[16] == 2
    assert set(seen[17:]) == {2}
    assert json.loads(json.dumps(state)) == state


def test_the_highest_level_is_the_end_and_earlier_levels_stay_in_sight():
    sampler = curriculum("W", levels=[0, 1], control={"window": 1})
    climbed = {**sampler.init(), "at": 3, "recent": []}
    assert sampler.draw(climbed)[0].level in (0, 1), "a run may go on with fewer levels than it had"
    hard = next(t for t in draw(sampler, 30, climbed)[0] if t.level == 1)
    assert sampler.observe(climbed, played(hard, [0.0]))["at"] == 0
    state = sampler.init()
    for _ in range(5):
        task = next(t for t in draw(sampler, 30, state)[0] if t.level == state["at"])
        state = sampler.observe(state, played(task, [1.0]))
    assert state["at"] == 1
    levels = Counter(t.level for t in draw(sampler, 1000, state)[0])
    assert levels[0] / 1000 == pytest.approx(0.2, abs=0.05)


def test_groups_of_other_worlds_levels_and_empty_groups_do_not_count():
    sampler = curriculum("W", control={"window": 1})
    state, task = sampler.init(), draw(sampler, 1)[0][0]
    other = worlds("W", levels=[9]).task(0)
    for group in (played(task, []), played(other, [1.0]), played(worlds("V").task(0), [1.0])):
        assert sampler.observe(state, group) == state
    assert sampler.observe(state, played(task, [0.4, 0.6, 0.9, 0.9, 0.9]))["at"] == 1  # 4 of 5 are above 1/2


def test_bad_numbers_are_refused():
    for bad in ({"weights": [1.0]}, {"weights": [0.0, 0.0]}, {"weights": [1.0, -1.0]}):
        with pytest.raises(SamplerError, match="mixture"):
            mixture(worlds(), worlds(), **bad)
    with pytest.raises(SamplerError):
        mixture()
    for control in ({"window": 0}, {"low": 0.9}, {"low": -0.1}):
        with pytest.raises(SamplerError, match="0 <= low < high"):
            curriculum(control=control)
    with pytest.raises(SamplerError, match="did you mean 'window'"):
        curriculum(control={"windw": 3})
