"""What a config is refused for before a model is made, and that it takes no torch to say so."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import pytest

from quintain.cli.train import _where
from quintain.config import ConfigError, make
from quintain.envs.world import world_of
from quintain.runtime.check import check, check_playing
from quintain.runtime.drawn import drawn_places, told_places
from quintain.samplers.worlds import Worlds
from quintain.types import QuintainError

RUN = {
    "run.groups_per_step=3 runtime.processes=2": "run.groups_per_step is 3, which 2 processes cannot share",
    "runtime.actors=1 runtime.processes=2": "actors play for one process that learns",
    "learner.shard=full runtime.processes=1": "nobody to share the layers with",
    "eval.beside=true runtime.processes=2": "eval.beside is true",
    "run.look=8": "run.look is 8 and run.max_lag is 0: a synchronous run plays nothing ahead",
    "runtime.spares=2": "runtime.spares is 2 and runtime.actors is 0: spares take the place of actors",
    "run.max_lag=1 run.ahead=2": "ahead is 2 with over_limit='wait' and max_lag=1: tickets beyond the bound need",
    "run.over_limit=refill run.ahead=2": "over_limit='refill' and max_lag=0",
    "run.over_limit=withhold": "run.over_limit is 'withhold' and run.max_lag is 0: no group of a synchronous run can come too late",
    "env.scaffold.image=64": "env.scaffold.image is 64, and a policy that is trained or loaded here reads text only",
    "env.name=gymnasium env.params.id=ALE/Pong-v5 env.params.image=true": "env.params.image is True, and a policy",
    'env.name=openenv env.params.fields={image="shot"}': "env.params.fields.image is 'shot', and a policy",
    "cluster.reward_tasks=2": "cluster.pools is empty",
}
TWO = 'sampler={name="worlds",env=["KeyDoor","FourRooms"]}'
DRAWN = {
    TWO.replace("FourRooms", "KeyDor"): "unknown world of the sampler: 'KeyDor'; did you mean 'KeyDoor'",
    'sampler={name="mixture",parts=["worlds",{name="worlds",env="KeyDor"}]}': "did you mean 'KeyDoor'",
    'sampler={name="curriculum",levels=[0,12]}': "no level 12",
    'sampler={name="worlds",env="Sokoban",params={boxs=2}}': "unknown knob 'boxs'; did you mean 'boxes'",
    'sampler={name="mixture",parts=[{levels=[0]}]}': "has no name",
    TWO: r"draws FourRooms:0, and .* the words of KeyDoor:0 only.*model.words=\['KeyDoor:0', 'FourRooms:0'\]",
}
PLAYED = {
    "level=12": "level",
    "world=Sokoban env.params.boxs=2": "unknown knob 'boxs'; did you mean 'boxes'",
    "world=Sokoban env.params.size=99": "knob size=99: it takes an integer from 6 to 12",
    "world=Sokoban level=0 env.params.boxes=4": "no instance of level 0 in the split .train. has boxes=4",
    "env.name=data reward=env": "gives no reward",
    "rollout.options.max_turns=3": "rollout.max_turns sets",
    "rollout.options.deadline_s=nan": "deadline_s is nan; .* numbers >= 0, all finite",
    "rollout.options.deadline_s=[1]": r"deadline_s is \[1\]",
    "rollout.name=episode": "did you mean 'episodes'",
}


@pytest.mark.parametrize("words", [*RUN, *PLAYED])
def test_a_run_that_contradicts_itself_is_refused(words):
    with pytest.raises(QuintainError, match={**RUN, **PLAYED}[words]):
        check(make("tiny", overrides=words.split()))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def score(a, b): ...", "unknown argument of a reward function: 'a'"),
        ("def score(text, answer, task, size=3, **more): ...", ""),
        ("def score(text, boxes, limit): ...", ""),
        ("class Score:\n    __signature__ = 1\n    def __call__(self, a): ...\nscore = Score()", ""),
    ],
)
def test_a_function_that_asks_for_what_no_task_of_a_world_has_is_refused(tmp_path, code, said):
    (tmp_path / "own.py").write_text(code)
    reward = {"name": f"{tmp_path / 'own.py'}:score", "options": {"limit": 3}}
    config = make("tiny", {"reward": reward}, overrides=["world=Sokoban", "env.params.boxes=1"])
    with pytest.raises(QuintainError, match=said) if said else contextlib.nullcontext():
        check(config)
    check(make("tiny", {"reward": reward}, overrides=["env.name=os:getcwd", "model=folder"]))


@pytest.mark.parametrize("words", DRAWN)
def test_so_is_one_whose_sampler_draws_what_cannot_be_played_but_its_evaluation_plays_elsewhere(words):
    config = make("tiny", overrides=[words])
    with pytest.raises(QuintainError, match=DRAWN[words]):
        check(config)
    check_playing(config, "test")


@pytest.mark.parametrize(
    "words",
    [
        [TWO, "model.words=['KeyDoor:0','FourRooms:0']"],
        [TWO, "model.words=FourRooms:0"],  # those of where it plays come of themselves
        ['sampler={name="worlds",env=["a","b"],levels=[77]}', "env.name=os:getcwd", "model=folder"],
    ],
)
def test_a_sampler_may_draw_what_the_model_knows_and_what_an_env_of_ones_own_understands(words):
    check(make("tiny", overrides=words))


@pytest.mark.parametrize(
    ("takes", "lacks"),
    [
        (
            "group_size, mine=1",
            "takes no max_turns, context, digests, and every run hands over group_size, max_turns, .*options",
        ),
        ("group_size, max_turns, context, mine=1", "takes no digests, and every run"),
        ("group_size, **more", ""),
    ],
)
def test_a_rollout_that_cannot_take_what_runs_hand_over_is_told_all_of_it_at_once(tmp_path, takes, lacks):
    code = f"from quintain.registry import register\n@register('rollout', '{tmp_path.name}')\ndef made({takes}):\n    return print\n"
    (tmp_path / "mine.py").write_text(code)
    words = [f"run.imports=['{tmp_path}/mine.py']", f"rollout.name={tmp_path.name}", "rollout.options.mine=2"]
    for looked_at in (check, check_playing):
        with pytest.raises(QuintainError, match=lacks) if lacks else contextlib.nullcontext():
            looked_at(make("tiny", overrides=words))


def test_a_sampler_of_ones_own_that_cannot_take_what_runs_hand_over_is_told_all_of_it_at_once(tmp_path):
    code = f"from quintain.registry import register\n@register('sampler', '{tmp_path.name}')\ndef made(seed=0): ...\n"
    (tmp_path / "mine.py").write_text(code)
    words = [f"run.imports=['{tmp_path}/mine.py']", f"sampler.name={tmp_path.name}"]
    with pytest.raises(
        QuintainError, match="takes no env, levels, params, split, shard, and every run hands over env, .*options"
    ):
        check(make("tiny", overrides=words))


MEMORIES = {
    "def state(self): ...": "no restore.state. that a resume could give it back to",
    "def state(self): ...\n    def restore(self, state): ...": "",
}


@pytest.mark.parametrize("code", MEMORIES)
def test_a_rollout_that_remembers_is_refused_where_no_checkpoint_keeps_it(tmp_path, code):
    whole = f"from quintain.registry import register\n@register('rollout', '{tmp_path.name}')\nclass Mine:\n"
    (tmp_path / "mine.py").write_text(f"{whole}    def __init__(self, **options): ...\n    {code}\n")
    words = [f"run.imports=['{tmp_path}/mine.py']", f"rollout.name={tmp_path.name}"]
    with pytest.raises(QuintainError, match=MEMORIES[code]) if MEMORIES[code] else contextlib.nullcontext():
        check(make("tiny", overrides=words))
    for more in ("runtime.actors=2", "cluster.pools={rollout={gpus=1}}") if not MEMORIES[code] else ():
        with pytest.raises(QuintainError, match="each actor would have a memory of its own"):
            check(make("tiny", overrides=[*words, more]))


def test_a_run_says_where_it_trains_and_where_it_is_not_warmed_up_and_where_else_evaluated(tmp_path, monkeypatch):
    none = ["eval.instances=0", "eval.final_instances=0"]
    told = {
        ("level=[0,1]", "warm_start.steps=3"): "KeyDoor level 0-1;",
        (
            TWO,
            "warm_start.steps=3",
            "eval.instances=4",
        ): "KeyDoor, FourRooms level 0; evaluated in KeyDoor level 0;",
        (
            'sampler={name="mixture",parts=[{name="worlds"},{name="worlds",levels=[3,1]}]}',
            *none,
        ): "KeyDoor level 0 and KeyDoor level 1,3;",
        ("env.name=os:getcwd", "level=[1,2]"): "os:getcwd level 1,2;",
    }
    for words, said in told.items():
        assert f": {said} 1 process" in _where(make("tiny", overrides=[*words]), tmp_path)
    with monkeypatch.context() as patched:
        patched.delattr(type(world_of("FourRooms")), "solve")
        mute = _where(make("tiny", overrides=[TWO, "warm_start.steps=3"]), tmp_path)
    assert "; no warm start in FourRooms, which has no oracle; " in mute
    alone = _where(make("tiny", overrides=["eval.against=oracle", "eval.instances=4"]), tmp_path)
    assert "against" not in alone, "a recipe may say so for all worlds"
    assert "eval.against" not in _where(make("tiny", overrides=["eval.against=oracle", *none]), tmp_path)


def test_a_run_says_which_episodes_a_limit_of_ones_own_cuts_off(tmp_path):
    def told(*words):
        return _where(make("tiny", overrides=["rollout.max_turns=5", *words]), tmp_path)

    assert "max_turns=5 cuts episodes off (the first one of KeyDoor level 2 may have " in told("level=[0,2]")
    for words in (
        ["rollout.max_turns=0"],
        ["rollout.max_turns=999"],
        ["env.scaffold.turns=5"],
        ["rollout.name=horizon"],
    ):
        assert "cuts" not in told(*words)
    assert "cuts" not in told("world=NimDuel", "rollout.max_turns=50") and "of NimDuel" in told(
        "world=NimDuel", "rollout.max_turns=1"
    )


@pytest.mark.parametrize("words", PLAYED)
def test_so_is_an_evaluation_where_nothing_could_be_played(words):
    with pytest.raises(QuintainError, match=PLAYED[words]):
        check_playing(make("tiny", overrides=words.split()), "train")


@pytest.mark.parametrize("words", RUN)
def test_an_evaluation_does_not_ask_how_a_run_would_be_placed(words):
    check_playing(make("tiny", overrides=words.split()), "test")


def test_knobs_are_tried_in_each_split_that_will_be_played():
    knobs = ["world=Hanoi", "level=0", "env.params.tower=1"]  # few enough towers that none is left for tests
    config = make("tiny", overrides=[*knobs, "eval.instances=4"])
    check_playing(config, "train", "validation")
    for refuse in (check, lambda asked: check_playing(asked, "test")):
        with pytest.raises(QuintainError, match="no instance of level 0 in the split 'test' has tower=1"):
            refuse(config)
    check(make("tiny", overrides=[*knobs, "eval.instances=0", "eval.final_instances=0"]))
    check(make("tiny", overrides=[*knobs, "eval.instances=4", "eval.split=validation"]))


def test_more_processes_than_any_machine_has_are_refused():
    assert make("tiny", overrides=["env.workers=1024"]).env.workers == 1024
    with pytest.raises(QuintainError, match=r"env\.workers.*1024"):
        make("tiny", overrides=["env.workers=1000000"])


def test_a_mistake_is_told_of_without_torch():
    code = (
        "import sys; from quintain.config import make; from quintain.runtime.check import check\n"
        "check(make('keydoor')); assert 'torch' not in sys.modules, 'torch was imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize(
    ("name", "preset", "hint", "told"),
    [
        ("fcp", "", {}, "'critique'.*hint.critique"),
        ("fcp", "", {"text": "well done"}, "'critique'.*hint.critique"),
        ("variational", "posterior", {}, "'hint'.*hint.text"),
    ],
)
def test_an_algorithm_that_reads_hints_wants_a_rollout_that_shows_them(name, preset, hint, told):
    from quintain.runtime.assemble import make_algorithm  # with torch

    section = {"algorithm": {"name": name, "preset": preset}, "rollout": {"options": {"hint": hint} if hint else {}}}
    with pytest.raises(ConfigError, match=told):
        make_algorithm(make("tiny", section))
    shown = {"hint": {"text": "up", "critique": "left"}}
    assert make_algorithm(make("tiny", section | {"rollout": {"options": shown}})).gate is not None


def test_nothing_is_held_against_a_sampler_that_does_not_tell_what_it_draws(tmp_path, monkeypatch):
    """Its tasks may have other knobs, and be in other worlds, also where it is one part of several."""
    (tmp_path / "score.py").write_text("def wide(trajectory, width): return float(width)\n")
    scored = f"reward={tmp_path}/score.py:wide"
    with pytest.raises(QuintainError, match="'width'"):
        check(make("tiny", overrides=[scored]))
    several = 'sampler={name="mixture",parts=[{name="worlds",env="NimDuel"},{name="worlds",env="KeyDoor"}]}'
    config = make("tiny", overrides=["world=NimDuel", several])
    assert [place.world for place in told_places(config)] == ["NimDuel", "KeyDoor"]
    monkeypatch.delattr(Worlds, "places")
    check(make("tiny", overrides=[scored]))
    assert told_places(config) == [] and [place.world for place in drawn_places(config)] == ["NimDuel"]
