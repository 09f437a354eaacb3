"""Every world of one seat can be trained in as it stands: `quintain train words world=NAME`."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.looks import look

from quintain import config as configs
from quintain.envs.world import world_of
from quintain.registry import names
from quintain.runtime.check import check
from quintain.runtime.stage import fitted, make_stage, need_demos

pytestmark = pytest.mark.worlds

SOLO = [name for name in names("world") if len(world_of(name).facts.seats) == 1]


@pytest.mark.parametrize("name", SOLO)
def test_the_oracle_shows_a_model_of_words_what_it_can_say_and_keep(name: str) -> None:
    """In instances that turn with every commit: known words only, each turn within its tokens, the episode within the context."""
    config = fitted(configs.make("words", overrides=[f"world={name}"]))
    check(config)
    room, size = config.rollout.max_tokens, make_stage(config).renderer.size
    demos = list(need_demos(make_stage(config))(3, look()))
    assert len(demos) == 3
    for demo in demos:
        said = [0]
        for before, now in pairwise((False, *demo.mask)):
            said += [1] if now and not before else []
            said[-1] += now and before
        assert 1 <= max(said) <= room, f"{name}: a turn of {max(said)} tokens, and there is room for {room}"
        assert max(demo.tokens) < size and len(demo.tokens) <= config.model.context
