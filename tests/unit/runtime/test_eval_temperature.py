"""Evaluations have a temperature of their own."""

from __future__ import annotations

import pytest

from quintain import config as configs
from quintain.learn.ranks import Ranks
from quintain.runtime import policy
from quintain.runtime.evaluate import make_evaluator
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
    evaluator = make_evaluator(config, stage, cast, Ranks(), make_rollout(config, 1))
    assert cast.sampling.temperature == 1.4
    assert evaluator is not None and evaluator.cast.sampling.temperature == wanted
