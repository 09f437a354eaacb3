"""The config tree: TOML, overrides, round trips, errors that name key, value and fix."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintain import config as configs
from quintain.config import Config, ConfigError, make, sections
from quintain.ledger import RunDir
from quintain.registry import UnknownName, build
from quintain.simulate import settings


def test_code_to_toml_to_code_is_a_round_trip():
    config = make(
        {"reward": {"name": "env", "weights": {"cost": 0.5}}, "env": {"params": {"size": 4}}},
        overrides=["seed=7", "rollout.options.high=inf"],
    )
    assert config.rollout.options == {"high": float("inf")}
    assert make(overrides=["learner.clip_norm=inf", "runtime.stall_s=inf"]).runtime.stall_s == float("inf"), "no limit"
    assert make(tomllib.loads(config.toml())) == config
    assert make(tomllib.loads(config.toml(full=True))) == config


@given(st.integers(0, 10**6), st.floats(1e-6, 1.0), st.text(alphabet="abc/._-", max_size=10), st.booleans())
def test_values_round_trip(steps, lr, folder, greedy):
    config = Config.model_validate(
        {"run": {"steps": steps, "folder": folder}, "learner": {"lr": lr}, "eval": {"greedy": greedy}}
    )
    assert make(tomllib.loads(config.toml())) == config


def test_overrides_reach_sections_shorthands_parts_and_free_tables():
    config = make(
        overrides=[
            "steps=5",
            "world=Sokoban",
            "level=3",
            "reward=my.py:score",
            "algorithm.options.low=0.1",
            "eval.greedy=False",
        ]
    )
    assert config.run.steps == 5 and config.env.name == "Sokoban" and config.env.levels == [3]
    assert config.reward == {"name": "my.py:score"} and config.algorithm.options == {"low": 0.1}
    assert config.eval.greedy is False
    assert make({"sampler": "worlds"}, overrides=["sampler.pool=8"]).sampler == {"name": "worlds", "pool": 8}


def test_a_precision_takes_options_as_parts_do_and_stays_a_name_without():
    given = {"name": "fp16", "scale": 1024.0, "growth_interval": 5}
    long, short = ["learner.precision.scale=1024.0", "learner.precision.growth_interval=5"], ["learner.precision=fp16"]
    for config in (make({"learner": {"precision": given}}), make(overrides=[*short, *long])):
        assert config.learner.precision == given and make(tomllib.loads(config.toml())) == config
        scale = build("precision", config.learner.precision).scale
        assert (scale.value, scale.growth_interval) == (1024.0, 5)
    assert make({"learner": {"precision": given}}, overrides=["learner.precision=bf16"]).learner.precision == "bf16"
    assert make({"learner": {"precision": {"name": "fp16"}}}).learner.precision == "fp16"


def test_another_algorithm_comes_without_the_options_of_the_one_before():
    section = make({"algorithm": {"name": "grpo", "options": {"low": 0.1}}}, overrides=["algorithm=rloo"]).algorithm
    assert section.name == "rloo" and section.options == {}


def test_another_algorithm_of_a_file_begins_anew_and_the_same_one_is_changed():
    own = {"algorithm": {"name": "grpo", "options": {"low": 0.1}, "gate": ["zero_variance"]}}
    other = make(own, {"algorithm": {"name": "rloo"}}).algorithm
    assert not other.options and not other.gate, "as algorithm=rloo does"
    same = make(own, {"algorithm": {"name": "grpo", "options": {"high": 0.3}}}).algorithm
    assert same.options == {"low": 0.1, "high": 0.3} and len(same.gate) == 1


def test_another_engine_comes_without_the_options_of_the_one_before():
    old = {"engine": {"name": "vllm", "slots": 8, "options": {"python": "p"}}}
    section = make(old, overrides=["engine.options.seed=1", "engine.name=torch"]).engine
    assert (section.name, section.slots, section.options) == ("torch", 8, {"seed": 1})
    assert make(old, overrides=["engine.name=vllm"]).engine.options == {"python": "p"}


@pytest.mark.parametrize(
    ("overrides", "sizes"),
    [
        ([], {"hidden": 64, "layers": 4, "heads": 2, "kv_heads": 2, "ffn": 192}),
        (["model.sizes.layers=1"], {"hidden": 64, "layers": 1, "heads": 2, "kv_heads": 2, "ffn": 192}),
        (
            ["model.sizes={hidden=96, heads=4, window=8}"],
            {"hidden": 96, "layers": 4, "heads": 4, "kv_heads": 4, "ffn": 288, "window": 8},
        ),
        (
            ["model.sizes={hidden_size=96, num_key_value_heads=1}"],
            {"layers": 4, "heads": 2, "ffn": 288, "hidden_size": 96, "num_key_value_heads": 1},
        ),
        (["model.sizes.hidden=wide"], {"hidden": "wide"}),
    ],
)
def test_a_size_that_is_not_given_follows_from_those_that_are(overrides, sizes):
    assert make(overrides=overrides).model.sizes == sizes


def test_python_files_of_the_user_run_first(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from quintain.registry import register\n@register('test_mine', 'mine')\ndef mine():\n    return object\n"
    )
    make({"run": {"imports": [str(tmp_path / "mine.py")]}})
    from quintain.registry import names

    assert "mine" in names("test_mine")


def test_a_file_changes_what_it_names_of_a_recipe(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[run]\nname = "mine"\n[env]\nname = "FourRooms"\nlevels = [2]\n[warm_start]\nsteps = 3\n')
    words = ["name=mine", "world=FourRooms", "level=2", "warm_start.steps=3"]
    assert make("words", path) == make("words", overrides=words) != make(path)


def test_another_world_or_rollout_comes_without_the_knobs_of_the_one_before(tmp_path, monkeypatch):
    old = {
        "env": {"name": "LightsOut", "params": {"width": 3}, "scaffold": {"caption": 1}},
        "rollout": {"options": {"a": 1}},
    }
    other = {"env": {"name": "Hanoi", "params": {"discs": 3}}, "rollout": {"name": "agent"}}
    for config in (make(old, other), make(old, overrides=["env.params.discs=3", "world=Hanoi", "rollout.name=agent"])):
        assert (
            config.env.params == {"discs": 3} and config.env.scaffold == {"caption": 1} and not config.rollout.options
        )
    (tmp_path / "mine.py").write_text("make = dict\n")
    monkeypatch.chdir(tmp_path)
    mine = {"env": {"name": f"{tmp_path}/mine.py:make", "params": {"k": 3}}}  # as a run keeps it
    assert make(mine, overrides=["world=mine.py:make"]).env.params == {"k": 3}
    assert make(old, overrides=["env.params.width=4"]).env.params == {"width": 4}
    same = make(
        old, {"env": {"name": "LightsOut", "levels": [3]}}, overrides=["world=LightsOut", "rollout.name=episodes"]
    )
    assert same.env.params == {"width": 3} and same.rollout.options == {"a": 1}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('world = "Hanoi"', r"world is a word of the command line; in a file write \[env\] and below it name = "),
        ("level = 3", r"in a file write \[env\] and below it levels = "),
        ('model = "folder"', r"in a file write \[model\] and below it folder = "),
        ('algorithm = "ppo"', r"in a file write \[algorithm\] and below it name = "),
    ],
)
def test_words_of_the_command_line_are_told_apart_in_files(text, told, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UnknownName, match=told):
        make("words", path)


def test_later_sources_win_and_parts_are_replaced_whole():
    first = {"reward": {"name": "a", "x": 1}, "run": {"seed": 1, "steps": 2}}
    config = make(first, {"reward": {"name": "b"}, "run": {"seed": 3}})
    assert config.reward == {"name": "b"} and config.run.seed == 3 and config.run.steps == 2


@pytest.mark.parametrize(
    ("override", "error", "told"),
    [
        ("run.sed=1", UnknownName, "did you mean 'seed'"),
        ("algoritm=grpo", UnknownName, "did you mean 'algorithm'"),
        ("model.path=x", UnknownName, "unknown config key 'model.path'; here it is model.folder"),
        ("actor_rollout_ref.rollout.n=8", UnknownName, "here it is rollout.group_size"),
        ("warm_start.learning_rate=1", UnknownName, "here it is warm_start.lr"),
        ("eval.sampling.temperature=1", UnknownName, "here it is eval.temperature"),
        ("orchestrator.eval.sampling.temperature=1", UnknownName, "here it is eval.temperature"),
        ("lvl=3", UnknownName, "did you mean 'level'"),
        ("run.steps=-1", ConfigError, "run.steps is -1.*greater than or equal to 0"),
        ("run.steps=many", ConfigError, "run.steps is 'many'"),
        ("run.steps=true", ConfigError, "run.steps is True: it is a number, not true"),
        ("learner.lr=false", ConfigError, "learner.lr is False: it is a number, not false"),
        ("level=5-2", ConfigError, "env.levels is '5-2': it must be one level or a range from 0 to 9"),
        ("learner.precision=16", ConfigError, "learner.precision is 16: a part is a name, or a table with a `name`"),
        (
            "learner.precision.scale=8.0",
            ConfigError,
            "learner.precision is {'scale': 8.0}: a part is a name, or a table",
        ),
        ("sampler=3", ConfigError, "sampler is 3: a part is a name, or a table with a `name`"),
        (
            "track.sinks=wandb",
            ConfigError,
            r"track.sinks is 'wandb': .*; write 'track.sinks=\[\"wandb\"\]' \(with the outer quotes\)",
        ),
        ("nonsense", ConfigError, "not of the form key=value"),
        ("rollout.top_p=1.5", ConfigError, "rollout.top_p is 1.5"),
        ("model.sizes.layers=0", ConfigError, "layers is 0, and sizes are at least 1"),
        ("model.sizes.hidden=-4", ConfigError, "hidden is -4, and sizes are at least 1"),
        ("env.levels=[]", ConfigError, "env.levels is .*at least 1"),
        ("warm_start.reward=nan", ConfigError, "warm_start.reward is nan"),
        (
            "env.name=['KeyDoor', 'Hanoi']",
            ConfigError,
            r"env.name is .*: input should be a valid string; several worlds are drawn by the sampler: \"sampler={name='worlds', env=",
        ),
        ("learner.lr=inf", ConfigError, "learner.lr is inf: input should be a finite number"),
        ("eval.temperature=inf", ConfigError, "eval.temperature is inf"),
        ("runtime.stall_s=nan", ConfigError, "runtime.stall_s is nan"),
        ("learner.clip_norm=nan", ConfigError, "learner.clip_norm is nan"),
    ],
)
def test_errors_name_key_value_and_fix(override, error, told):
    with pytest.raises(error, match=told):
        make(overrides=[override])


def test_a_file_may_begin_with_a_mark_of_the_byte_order_and_end_its_lines_as_windows_does(tmp_path):
    text = '[run]\r\nname = "bömé"\r\n'
    (tmp_path / "own.toml").write_bytes(f"\ufeff{text}".encode())
    assert make(tmp_path / "own.toml").run.name == "bömé"
    with RunDir.create(tmp_path / "run", text) as run:
        (tmp_path / "run" / "config.toml").write_bytes(f"\ufeff{text}".encode())
        assert tomllib.loads(run.config) == {"run": {"name": "bömé"}}


@pytest.mark.parametrize("value", [3, "three", [{"steps": 3}]])
def test_what_should_be_a_table_is_told_so(value):
    with pytest.raises(
        ConfigError, match=r"run is .*: it is a table of settings; write run.KEY=VALUE, or in a file \[run\]"
    ):
        make({"run": value})


def test_unknown_keys_in_files_name_the_nearest(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("[learner]\nlrr = 1.0\n")
    with pytest.raises(UnknownName, match="did you mean 'lr'"):
        make(path)
    path.write_text("[learner\n")
    with pytest.raises(ConfigError, match="is not TOML"):
        make(path)
    with pytest.raises(UnknownName, match="unknown recipe"):
        make("no_such_recipe_at_all")


def test_every_field_has_a_description():
    def walk(model, path=""):
        for name, field in model.model_fields.items():
            inner = getattr(field.annotation, "model_fields", None)
            if inner is None:
                assert field.description, f"{path}{name} has no description"
            else:
                assert field.annotation.__doc__
                walk(field.annotation, f"{path}{name}.")

    walk(Config)


@pytest.mark.parametrize("module", [sections, settings])
def test_type_checkers_see_that_every_key_may_be_left_out(module):
    unseen = re.findall(r"^    (\w+): .* = Field\((?!default)", Path(module.__file__).read_text(), re.MULTILINE)
    assert not unseen, "checkers see a default of pydantic's Field only where it is named"


def test_every_shipped_recipe_is_valid():
    for name, path in configs.recipes().items():
        config = make(name)
        assert make(tomllib.loads(config.toml())) == config, path


def test_another_algorithm_by_name_leaves_the_options_and_chains_of_the_recipes_behind_and_its_gate_in_place():
    own = {"algorithm": {"options": {"entropy": 0.1}, "gate": ["zero_variance"], "objective": ["clip"]}}
    assert make(own, overrides=["algorithm.name=grpo"]).algorithm.options == {"entropy": 0.1}, "the usual one"
    other = make(own, overrides=["algorithm.options.low=0.1", "algorithm.name=gspo"]).algorithm
    assert other.options == {"low": 0.1} and len(other.gate) == 1 and not other.objective
    assert not make(own, overrides=["algorithm=gspo"]).algorithm.gate, "the shorthand begins anew"


@pytest.mark.parametrize(
    ("said", "levels"),
    [
        ("level=3", [3]),
        ("levels=0-2", [0, 1, 2]),
        ("env.levels=0-1,5", [0, 1, 5]),
        ("level=[2, 4]", [2, 4]),
        ("level=1,2", [1, 2]),
    ],
)
def test_levels_are_read_as_ranges(said, levels):
    assert make(overrides=[said]).env.levels == levels


def test_files_may_write_levels_as_ranges_too(tmp_path):
    (tmp_path / "mine.toml").write_text('[env]\nlevels = "0-2"\n')
    assert make(tmp_path / "mine.toml").env.levels == [0, 1, 2]


@pytest.mark.parametrize("said", ["level=3-1", "level=0-1-2", "level=x", "levels=-1-2"])
def test_what_is_no_range_of_levels_is_refused(said):
    with pytest.raises(ConfigError, match="env.levels"):
        make(overrides=[said])
