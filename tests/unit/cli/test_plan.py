"""What `plan` counts is what a run does."""

from __future__ import annotations

import pytest

from quintain import config as configs
from quintain.cli.plan import plan


@pytest.mark.parametrize(
    ("given", "evaluations", "checkpoints"),
    [
        (
            ["run.steps=10", "run.checkpoint_every=4", "eval.every=0", "eval.instances=0", "eval.final_instances=0"],
            0,
            4,
        ),
        (["run.steps=10", "run.checkpoint_every=5", "eval.instances=0", "eval.final_instances=9"], 2, 3),
        (["run.steps=10", "run.checkpoint_every=0", "eval.instances=5", "eval.every=5"], 3, 2),
        (["run.steps=0", "eval.instances=5"], 1, 1),
    ],
)
def test_evaluations_and_checkpoints_are_counted(given, evaluations, checkpoints):
    whole = plan(configs.make("tiny", overrides=given))["whole run"]
    assert (whole["evaluations"], whole["checkpoints"]) == (evaluations, checkpoints)


def test_actors_play_instead_of_the_process_that_learns():
    each = plan(configs.make("tiny", overrides=["runtime.actors=4"]))["each step"]
    assert each["processes that learn"] == 1 and each["processes that play"] == 4
    assert each["episodes of each"] == each["episodes"] // 4
