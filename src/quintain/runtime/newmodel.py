"""A small model of one's own as a Hugging Face folder: tokenizer trained on what the stage says, weights at random."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from quintain.config import Config
from quintain.envs.demos import Manner
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.models import build_model, save_model, self_test
from quintain.registry import build
from quintain.render import ChatRenderer, write_tokenizer
from quintain.runtime.env_host import make_envs
from quintain.runtime.spread import cores, spread
from quintain.runtime.stage import drawn, env_spec, seeded, tasks, world_sampler

EPISODES = 300
ROLES = ("user", "assistant")  # chat templates write them in every turn, so each is worth a token


def corpus(config: Config) -> Iterator[str]:
    """Texts of the kind that the policy will read and write: oracle episodes, the rows of the data, or how a user's env opens."""
    if config.data:
        options = {"path": config.data, "columns": config.columns, "epochs": 1, "seed": None}
        for task in tasks(build("sampler", {"name": "dataset", **options}), 5000):
            yield from (m.text for m in task.messages)
            yield from (str(v) for v in task.params.values())
        return
    section = config.env
    if ":" in section.name or seeded(section.name):
        yield from asyncio.run(_openings(config))
        return
    env = WorldEnv(world_of(section.name), Scaffold.of(section.scaffold))
    options = {"env": section.name, "levels": section.levels, "params": section.params}
    played = drawn(build("sampler", {"name": "worlds", **options}))
    for _, turns in spread(env, played, EPISODES, cores(), Manner(reward=0.0)):
        for turn in turns:
            yield from (m.text for m in turn.messages)
            yield turn.text
            yield from ROLES


async def _openings(config: Config) -> list[str]:
    """What an env of the user's, or one of somebody else's, says first, in its own words; nobody knows what to answer."""
    make, texts = make_envs(env_spec(config)), []
    for task in tasks(world_sampler(config, "train", config.run.seed, (0, 1)), EPISODES):
        env = make(task)
        try:
            texts += [m.text for said in (await env.reset(task)).values() for m in said.messages]
        finally:
            await env.close()
    return texts


def write_model(config: Config, folder: Path, vocab: int) -> int:
    """Train a byte-pair tokenizer, build a model from the config's sizes and write both to `folder`.

    Args:
        config: what will be read and written, and the sizes.
        folder: where both go.
        vocab: tokens that the tokenizer may have.

    Returns:
        How many it has: fewer, where the texts give no more.
    """
    write_tokenizer(folder, corpus(config), vocab)
    renderer = ChatRenderer(folder)
    sizes = {"vocab": renderer.size, "context": config.model.context, **config.model.sizes}
    model = build_model(config.model.arch, seed=config.run.seed, **sizes)
    self_test(model)
    save_model(model, folder)
    return renderer.size
