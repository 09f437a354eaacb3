"""What the learners of a run are made of."""

from __future__ import annotations

from quintain import config as configs
from quintain.learn.ranks import Ranks
from quintain.registry import provenance
from quintain.runtime import policy
from quintain.runtime.stage import make_stage


def test_the_supervised_steps_are_taken_as_the_learner_section_says():
    given = ["learner.precision=bf16", "learner.micro_tokens=99", "learner.clip_norm=0.25", "learner.weight_decay=0.5"]
    config = configs.make("tiny", overrides=[*given, "learner.optimizer=adamw", "warm_start.lr=0.125"])
    model = policy.make_model(config, make_stage(config).renderer)
    teacher, learner = (
        policy.make_teacher(config, model, Ranks()),
        policy.make_learner(config, model, frozenset(), Ranks()),
    )
    for made in (teacher, learner):
        recipe = provenance(made.recipe)
        assert recipe is not None and recipe["name"] == "adamw" and recipe["weight_decay"] == 0.5
        assert made.precision.name == "bf16" and (made.plan.micro_tokens, made.plan.clip_norm) == (99, 0.25)
        made.close()
    assert teacher.recipe.lr == 0.125 and teacher.plan.minibatches == teacher.plan.epochs == 1
    assert teacher.precision.scale is learner.precision.scale is None


def test_where_learners_are_elsewhere_nothing_is_said_of_what_their_model_reads():
    assert policy.narrower(configs.make("tiny"), None) == ""
