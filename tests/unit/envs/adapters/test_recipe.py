"""Environments of others in a recipe, and what the page of the docs shows."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import pytest

from quintain.config import make
from quintain.envs.adapters.peer_env import PeerEnv
from quintain.evals.players import held_out, of_url
from quintain.registry import entry
from quintain.runtime.newmodel import corpus
from quintain.runtime.stage import env_spec, seeded, world_sampler

PAGE = Path(__file__).parents[4] / "docs" / "adapters.md"
MADE = {
    "env": {"name": "gymnasium", "levels": [0, 1], "params": {"id": ["MiniGrid-Empty-5x5-v0", "MiniGrid-Empty-6x6-v0"]}}
}


def test_tasks_are_a_seed_and_a_level_and_options_stay_with_the_env() -> None:
    config = make(MADE)
    sampler = world_sampler(config, "train", 0, (0, 1))
    one, state = sampler.draw(sampler.init())
    two, _ = sampler.draw(state)
    assert (one.env, one.level, two.level, dict(one.params)) == ("gymnasium", 0, 1, {}) and one.seed != two.seed
    assert env_spec(config) == {"part": {"name": "gymnasium", **MADE["env"]["params"]}}
    assert not seeded("data") and not seeded("KeyDoor") and seeded("open_spiel")


def test_such_an_env_is_evaluated_on_seeds_too_by_a_run_and_by_a_url() -> None:
    pytest.importorskip("gymnasium")
    config = make(MADE)
    one, two = held_out(config, 2, 5)
    assert (one.env, {one.level, two.level}, one.split) == ("gymnasium", {0, 1}, "test") and one.seed != two.seed
    assert isinstance(of_url("http://127.0.0.1:9", "some", config, (), "").env(one), PeerEnv)


@pytest.mark.filterwarnings("ignore")  # what peers warn of is theirs
def test_a_tokenizer_reads_how_such_an_env_opens() -> None:
    pytest.importorskip("minigrid")
    assert "green goal square" in next(iter(corpus(make(MADE))))


@pytest.mark.filterwarnings("ignore")
def test_the_page_shows_code_that_runs_in_its_order() -> None:
    for module in ("gymnasium", "minigrid", "pettingzoo"):
        pytest.importorskip(module)
    page, names = PAGE.read_text(), {}
    code, (recipe, *_) = (re.findall(rf"```{kind}\n(.*?)```", page, re.S) for kind in ("python", "toml"))
    assert len(code) == 5
    for at, block in enumerate(block for block in code if "import textarena" not in block):  # see test_arena.py
        exec(compile(block, f"{PAGE.name}[{at}]", "exec"), names)
    assert env_spec(make(tomllib.loads(recipe))) == {"part": {"name": "gymnasium", **names["params"]}}


def test_the_recipes_of_the_page_name_an_env_and_options_that_it_has() -> None:
    blocks = [tomllib.loads(text) for text in re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.S)]
    assert [block["env"]["name"] for block in blocks] == ["gymnasium", "gymnasium", "textworld"]
    for block in blocks:
        name, params = block["env"]["name"], block["env"]["params"]
        assert env_spec(make(block)) == {"part": {"name": name, **params}} and seeded(name)
        assert set(params) <= set(inspect.signature(entry("env", name).make).parameters)
