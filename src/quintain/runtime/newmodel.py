"""A small model of one's own as a Hugging Face folder: tokenizer trained on what the stage says, weights at random."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from quintain.config import Config
from quintain.envs.demos import demonstrate
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.models import build_model, save_model, self_test
from quintain.registry import build
from quintain.render import ChatRenderer, write_tokenizer
from quintain.runtime.stage import tasks

EPISODES = 300
ROLES = ("user", "assistant")  # chat templates write them in every turn, so each is worth a token


def corpus(config: Config) -> Iterator[str]:
    """Texts of the kind that the policy will read and write: oracle episodes of the world, or the rows of the data."""
    if config.data:
        options = {"path": config.data, "columns": config.columns, "epochs": 1, "seed": None}
        for task in tasks(build("sampler", {"name": "dataset", **options}), 5000):
            yield from (m.text for m in task.messages)
            yield from (str(v) for v in task.params.values())
        return
    section = config.env
    env = WorldEnv(world_of(section.name), Scaffold.of(section.scaffold))
    options = {"env": section.name, "levels": section.levels, "params": section.params}
    for task in tasks(build("sampler", {"name": "worlds", **options}), EPISODES):
        for turn in demonstrate(env, task):
            yield from (m.text for m in turn.messages)
            yield turn.text
            yield from ROLES


def write_model(config: Config, folder: Path, vocab: int) -> Path:
    """Train a byte-pair tokenizer of `vocab` tokens, build a model from the config's sizes and write both to `folder`."""
    write_tokenizer(folder, corpus(config), vocab)
    renderer = ChatRenderer(folder)
    sizes = {"vocab": renderer.size, "context": config.model.context, **config.model.sizes}
    model = build_model(config.model.arch, seed=config.run.seed, **sizes)
    self_test(model)
    save_model(model, folder)
    return folder
