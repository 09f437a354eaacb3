"""Every world can be trained in as it stands: `quintain train words world=NAME`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import islice, pairwise

import pytest
from tests.looks import look

from quintain import config as configs
from quintain.engines.scripted import Player
from quintain.envs.demos import Manner, demonstrations
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.parts import Cast
from quintain.registry import names
from quintain.rollouts.episodes import episodes
from quintain.runtime.check import check
from quintain.runtime.demos import write_demos
from quintain.runtime.stage import drawn, make_stage, need_demos
from quintain.runtime.words import fitted

pytestmark = pytest.mark.worlds


def turns_of(mask: tuple[bool, ...]) -> Iterator[int]:
    """How many tokens each turn of a demonstration has."""
    length = 0
    for now, after in pairwise((*mask, False)):
        length += now
        if length and not after:
            yield length
            length = 0


@pytest.mark.parametrize("name", names("world"))
def test_the_oracle_shows_a_model_of_words_what_it_can_say_and_keep(name: str) -> None:
    """In instances that turn with every commit: known words only, each turn within its tokens, the episode within the context."""
    config = fitted(configs.make("words", overrides=[f"world={name}"]))
    check(config)
    room, stage = config.rollout.max_tokens, make_stage(config)
    demos = list(need_demos(stage)(3, look()))
    assert len(demos) == 3
    for demo in demos:
        longest = max(turns_of(demo.mask))
        assert longest <= room, f"{name}: a turn of {longest} tokens, and there is room for {room}"
        assert max(demo.tokens) < stage.renderer.size and len(demo.tokens) <= config.model.context


@pytest.mark.parametrize("name", names("world"))
def test_what_is_imitated_is_what_a_policy_will_read_when_it_plays(name: str) -> None:
    """Token by token, in each seat: the oracle's answers, said again in a rollout, make the path of its demonstration."""
    config = fitted(configs.make("words", overrides=[f"world={name}"]))
    stage, world = make_stage(config), world_of(name)
    env = WorldEnv(world, Scaffold.of(config.env.scaffold))
    for task in islice(drawn(stage.sampler("train", look(), (0, 1))), 8):
        # an oracle may give up, and then there is no demonstration
        if made := list(demonstrations(env, iter([task]), 9, Manner(seed=look(), reward=-1.0))):
            break
    lines = {turns[0].seat: turns for _, turns in made}
    written = list(write_demos(made, stage.renderer, config.rollout.max_tokens))
    player = Player(lambda messages, state, request: lines[world.facts.seats[request.key[4]]][request.key[3]].text)
    cast = Cast(env=stage.env, engines={"policy": player}, renderers={"policy": stage.renderer})
    group = asyncio.run(episodes(group_size=1)(task, cast, 0))
    played = {t.agent: tuple(i for node in t.nodes for i in node.tokens) for t in group.trajectories}
    assert lines and lines.keys() <= played.keys()
    for seat, demo in zip(lines, written, strict=True):
        assert played[seat][: len(demo.tokens)] == demo.tokens and sum(demo.mask) > 0, f"{name}, {seat}"
