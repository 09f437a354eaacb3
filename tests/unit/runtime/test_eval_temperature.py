"""Evaluations have a temperature and lengths of their own, and no score where nothing got through."""

from __future__ import annotations

from functools import partial

import pytest

from quintain import config as configs
from quintain.envs.world import WorldEnv
from quintain.learn.ranks import Ranks
from quintain.runtime import policy
from quintain.runtime.evaluate import _means, _sums, make_evaluator
from quintain.runtime.failures import EveryEpisodeFailed
from quintain.runtime.playing import make_cast, make_rollout
from quintain.runtime.stage import make_stage
from quintain.types import Group, Stop, Task, Trajectory

TINY = {"env.name": "EmptyRoom", "env.scaffold.style": "words", "eval.instances": 4}


@pytest.mark.parametrize(("asked", "wanted"), [({}, 1.0), ({"eval.temperature": 0.5}, 0.5)])
def test_evaluations_are_sampled_at_their_own_temperature(asked, wanted):
    words = [f"{k}={v}" for k, v in {**TINY, "rollout.temperature": 1.4, **asked}.items()]
    config = configs.make(overrides=words)
    stage = make_stage(config)
    engine = policy.make_engine(config, policy.make_model(config, stage.renderer))
    cast = make_cast(config, stage, engine)
    evaluator = make_evaluator(config, stage, cast, Ranks(), partial(make_rollout, config, 1))
    assert cast.sampling.temperature == 1.4
    assert evaluator is not None and evaluator.cast.sampling.temperature == wanted


async def straight(playing):
    return await playing


@pytest.mark.parametrize(("short", "long"), [(6, 2), (2, 6), (4, 0)])
async def test_the_ends_of_a_run_play_as_many_episodes_as_they_are_told(short, long):
    words = {**TINY, "eval.instances": short, "eval.final_instances": long, "run.steps": 5}
    config = configs.make(overrides=[f"{k}={v}" for k, v in words.items()])
    stage = make_stage(config)
    engine = policy.make_engine(config, policy.make_model(config, stage.renderer))
    evaluator = make_evaluator(
        config, stage, make_cast(config, stage, engine), Ranks(), partial(make_rollout, config, 1)
    )
    assert evaluator is not None
    ends, between = await evaluator(0, straight), await evaluator(3, straight)
    assert (ends["eval/episodes"], ends["greedy/episodes"]) == (long or short, long or short)
    assert between["eval/episodes"] == short


async def test_several_levels_and_answers_that_were_cut_are_told_of_an_evaluation():
    words = {
        **TINY,
        "eval.instances": 5,
        "env.levels": [0, 3],
        "env.name": "MiniSudoku",
        "rollout.max_tokens": 30,
        "run.steps": 5,
    }
    config = configs.make(overrides=[f"{k}={v}" for k, v in words.items()])
    stage = make_stage(config)
    engine = policy.make_engine(config, policy.make_model(config, stage.renderer))
    made = partial(make_evaluator, config, stage, make_cast(config, stage, engine))
    found = await made(Ranks(), partial(make_rollout, config, 1))(3, straight)
    assert (found["eval/episodes"], found["eval/episodes:0"], found["eval/episodes:3"]) == (5, 3, 2)
    assert 5 * found["eval/success"] == 3 * found["eval/success:0"] + 2 * found["eval/success:3"]
    assert 0 < found["eval/answers_cut"] <= 5 * found["eval/turns"]


def test_ranks_add_up_the_same_names_and_a_level_that_nobody_played_has_no_success():
    group = Group(task=Task(key="t", env="W", level=3), trajectories=(Trajectory(id="0", nodes=(), stop=Stop.done),))
    one, none = _sums([group], [0, 3]), _sums([], [0, 3])
    assert one.keys() == none.keys() and "eval/answers_cut" not in _means(one)
    assert _means(one) == {"episodes": 1, "reward": 0, "success": 0, "turns": 0, "episodes:3": 1, "success:3": 0}
    assert _means(none) == {"episodes": 0, "reward": 0, "success": 0, "turns": 0}
    assert _sums([group], [3]).keys() == {"episodes", "reward", "success", "turns", "answers_cut"}


async def test_a_pass_of_which_every_episode_crashed_is_no_score(monkeypatch):
    async def broken(self, task):
        raise OSError("no display")

    monkeypatch.setattr(WorldEnv, "reset", broken)
    config = configs.make(overrides=[f"{k}={v}" for k, v in TINY.items()])
    stage = make_stage(config)
    engine = policy.make_engine(config, policy.make_model(config, stage.renderer))
    cast = make_cast(config, stage, engine)
    evaluator = make_evaluator(config, stage, cast, Ranks(), partial(make_rollout, config, 1))
    assert evaluator is not None
    with pytest.raises(EveryEpisodeFailed, match="every one of 4 episodes failed.*no display"):
        await evaluator(3, straight)
