"""Evaluations have a temperature and lengths of their own, and no score where nothing got through."""

from __future__ import annotations

from functools import partial

import pytest

from quintain import config as configs
from quintain.envs.world import WorldEnv
from quintain.learn.ranks import Ranks
from quintain.runtime import policy
from quintain.runtime.evaluate import make_evaluator
from quintain.runtime.failures import EveryEpisodeFailed
from quintain.runtime.playing import make_cast, make_rollout
from quintain.runtime.stage import make_stage

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
