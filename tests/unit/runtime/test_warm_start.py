"""The warm start of a run tells of its progress."""

from __future__ import annotations

import asyncio
import itertools
import re
from contextlib import nullcontext
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from quintain import waits
from quintain.cli import eval as evaluate
from quintain.cli import sft, train
from quintain.config import ConfigError, make
from quintain.envs.demos import Manner, demonstrations
from quintain.envs.scaffold import Scaffold
from quintain.envs.suites import Suite
from quintain.envs.world import WorldEnv, world_of
from quintain.evals import suites
from quintain.learn.ranks import Ranks
from quintain.registry import register
from quintain.runtime import assemble, policy, warm
from quintain.runtime.demos import write_demos
from quintain.runtime.fits import cramped
from quintain.runtime.newmodel import write_model
from quintain.runtime.ray_learner import LearnWorker
from quintain.runtime.stage import drawn, make_stage, need_demos
from quintain.runtime.words import Place, fitted
from quintain.types import Message
from quintain.worlds.kernel import Choices, Facts, Move, Outcome, Plan, View


@pytest.mark.parametrize(("steps", "lines"), [(1, 0), (15, 7), (60, 9), (104, 9)])
def test_a_warm_start_tells_of_at_most_ten_parts_of_its_way(steps, lines, monkeypatch):
    async def imitate(teacher, demos, *, steps, size, stop_when, every):
        for done in range(every, steps + 1, every):
            assert not await stop_when(done), "telling stops nothing"
        return [{"loss": 1.0, "updates": 1}] * steps

    monkeypatch.setattr(warm, "imitate", imitate)
    monkeypatch.setattr(warm, "need_demos", lambda stage: lambda count, seed: [])
    monkeypatch.setattr(warm.policy, "make_teacher", lambda *parts, **kept: SimpleNamespace(close=lambda: None))
    run = SimpleNamespace(keeper=SimpleNamespace(write=lambda *event: None), draining=False, asked=lambda: False)
    opened = assemble.Open(run=run, stage=None, model=None, ranks=Ranks(), learner=SimpleNamespace(precision=None))
    said: list[str] = []
    asyncio.run(warm.warm_start(make("tiny", overrides=[f"warm_start.steps={steps}"]), opened, said.append))
    told = [line for line in said if f" of {steps} steps" in line]
    assert len(told) == lines and len(said) == lines + 2


@pytest.mark.parametrize(("seconds", "told"), [(0.001, []), (0.3, [34, 68]), (4.0, list(range(3, 100, 3)))])
def test_it_tells_of_the_demonstrations_while_they_are_drawn(seconds, told, monkeypatch):
    now = [0.0]

    def slow(count, seed):
        for number in range(count):
            now[0] += seconds
            yield number

    monkeypatch.setattr(warm, "need_demos", lambda stage: slow)
    monkeypatch.setattr(waits, "monotonic", lambda: now[0])
    run = SimpleNamespace(draining=False, asked=lambda: True)  # it is stopped before the first step
    opened = assemble.Open(run=run, stage=None, model=None, ranks=Ranks(), learner=SimpleNamespace(precision=None))
    said: list[str] = []
    overrides = ["warm_start.steps=60", "warm_start.demos=100"]
    assert not asyncio.run(warm.warm_start(make("tiny", overrides=overrides), opened, said.append))
    assert said[1:] == [f"warm start: {count} of 100 demonstrations" for count in told]


@pytest.mark.parametrize("at", [0, 3, 7])
def test_a_run_that_drains_gives_its_warm_start_up_at_the_next_step(at, monkeypatch):
    taken, written = [], []

    async def imitate(teacher, demos, *, steps, size, stop_when, every):
        for done in range(1, steps + 1):
            taken.append(done)
            run.draining = done == at
            if done % every == 0 and await stop_when(done):
                break
        return [{"loss": 1.0, "updates": 1}] * len(taken)

    monkeypatch.setattr(warm, "imitate", imitate)
    monkeypatch.setattr(warm, "need_demos", lambda stage: lambda count, seed: range(count))
    monkeypatch.setattr(warm.policy, "make_teacher", lambda *parts, **kept: SimpleNamespace(close=lambda: None))
    keeper = SimpleNamespace(write=lambda *event: written.append(event))
    run = SimpleNamespace(keeper=keeper, draining=at == 0, asked=lambda: run.draining)
    opened = assemble.Open(run=run, stage=None, model=None, ranks=Ranks(), learner=SimpleNamespace(precision=None))
    config = make("tiny", overrides=["warm_start.steps=60"])
    assert not asyncio.run(warm.warm_start(config, opened, lambda text: None))
    assert len(taken) == at and run.draining and not written


@pytest.mark.parametrize("here", [True, False])
def test_the_loss_scale_that_it_found_is_the_one_that_the_run_goes_on_with(here):
    config, ranks = make("tiny", overrides=["learner.precision=fp16"]), Ranks()
    model = policy.make_model(config, make_stage(config).renderer)
    learner = policy.make_learner(config, model, frozenset(), ranks)
    if here:
        opened = assemble.Open(run=None, stage=None, model=model, ranks=ranks, learner=learner)
        teacher = warm.make_teacher(config, opened)
    else:  # a rank of a learner group
        worker = LearnWorker("", 1.0)
        worker.config, worker.model, worker.ranks, worker.learner = config, model, ranks, learner
        teacher = asyncio.run(worker._teacher())
    scale = teacher.precision.scale.update(True)
    teacher.close()
    assert learner.precision.scale.value == scale == 32768.0
    learner.close()


@pytest.mark.parametrize("world", ["FrozenLake", "KuhnPoker", "Othello"])
def test_demonstrations_in_which_the_oracle_loses_are_passed_over(world):
    stage = make_stage(
        make("tiny", overrides=[f"world={world}", "level=0", "env.scaffold.style=words", "model.context=4096"])
    )
    assert len(list(need_demos(stage)(40, 7))) == 40


@pytest.mark.parametrize(("reward", "lost"), [("0", True), ("1", False)])
def test_what_a_demonstration_must_have_earned_is_a_setting(reward, lost):
    words = ["world=KuhnPoker", "level=3", "env.scaffold.style=words", f"warm_start.reward={reward}"]
    stage = make_stage(make("tiny", overrides=words))
    env = WorldEnv(world_of("KuhnPoker"), Scaffold.of({"style": "words"}))
    every = demonstrations(env, drawn(stage.sampler("train", 7, (0, 1))), 30, Manner(seed=7, reward=-1.0))
    every = list(write_demos(every, stage.renderer, 1))
    assert (list(need_demos(stage)(30, 7)) == every) is lost


def test_a_warm_start_has_all_levels_that_a_curriculum_may_come_to():
    words = ["level=0-2", "sampler=curriculum", "env.scaffold.style=words"]
    climbs, stays = (make_stage(make("tiny", overrides=each)) for each in (words, words[::2]))
    assert list(need_demos(climbs)(12, 7)) == list(need_demos(stays)(12, 7)) != []


def test_answers_of_several_words_ask_for_room():
    words = ["world=MiniSudoku", "level=0", "env.scaffold.style=words", "rollout.max_tokens=1"]
    with pytest.raises(
        ConfigError, match="MiniSudoku: an answer such as .* has 19 words, .* set rollout.max_tokens=30"
    ):
        make_stage(make("tiny", overrides=words))
    make_stage(make("tiny", overrides=[*words[:-1], "rollout.max_tokens=30"]))


@pytest.mark.parametrize(("grammar", "said"), [("json", True), ("tagged", True), ("free", False), ("word", False)])
def test_a_model_of_words_says_an_action_alone(grammar, said):
    config = make("words", overrides=["world=LightsOut", f"env.scaffold.grammar={grammar}"])
    for use in (fitted, make_stage):
        with pytest.raises(ConfigError, match=f"grammar is {grammar}, and .* leave it out") if said else nullcontext():
            use(config)


def test_so_do_those_of_text(tmp_path):
    words = [f"model={tmp_path / 'model'}", "world=MiniSudoku", "level=0"]
    write_model(make("keydoor_text", overrides=words), tmp_path / "model", 300)
    stage = make_stage(make("keydoor_text", overrides=words))
    with pytest.raises(
        ConfigError, match=r"max_tokens is 3, but an answer .* has \d+ tokens; set rollout.max_tokens=\d+"
    ):
        next(iter(need_demos(stage)(1, 0)))
    fits = make_stage(make("keydoor_text", overrides=[*words, "rollout.max_tokens=60"]))
    assert len(list(need_demos(fits)(2, 0))) == 2


def test_a_turn_without_room_for_the_oracle_is_told_of_before_anything_is_played(tmp_path, monkeypatch):
    """An error where the oracle could not play one instance of those looked at, wherever they are; also with nothing to imitate."""
    words = [f"model={tmp_path / 'model'}", "world=Room3D", "level=0", "warm_start.steps=0"]
    write_model(config := make("keydoor_text", overrides=[*words[:1], "level=0"]), tmp_path / "model", 300)
    renderer, room, key = make_stage(config).renderer, Place("Room3D", (0,), {}), Place("KeyDoor", (0,), {})
    size = len(renderer.say(Message.of("assistant", "forward")))
    tight = rf"Room3D: rollout.max_tokens is 3, but an answer of the oracle, '\w+', has {size} tokens; set rollout.max_tokens={size + 10}"
    with pytest.raises(ConfigError, match=f"{tight}: without it no episode"):
        cramped(make("keydoor_text", overrides=words), renderer, [room])
    told = cramped(make("keydoor_text", overrides=words), renderer, [key, room])
    assert re.match(f"{tight}: it had no room in 4 of 8 instances", told)
    assert not cramped(make("keydoor_text", overrides=[*words, f"rollout.max_tokens={size - 1}"]), renderer, [room])
    with monkeypatch.context() as patch:
        patch.setattr("quintain.runtime.fits.solved", lambda *asked: 1 / 0)
        assert not cramped(make("keydoor_text", overrides=words), renderer, [room]), (
            "an oracle that fails is not needed"
        )
    assert not cramped(config, renderer, [key]) and not cramped(make("tiny"), renderer, [room])
    run = [*words, "eval.final_instances=0", "runtime.processes=1", f"run.folder={tmp_path}", "run.steps=1"]
    with pytest.raises(ConfigError, match=tight):
        train.main(["keydoor_text", *run])
    assert not (tmp_path / "keydoor-text").exists()
    with pytest.raises(ConfigError, match=tight):
        evaluate.main([str(tmp_path / "model"), "keydoor_text", "world=Room3D", "level=0", "-n", "2"])


def test_evaluations_of_models_with_a_tokenizer_tell_what_was_cut(tmp_path, capsys):
    write_model(make("keydoor_text"), tmp_path / "model", 300)
    assert evaluate.main([str(tmp_path / "model"), "keydoor_text", "level=0", "-n", "2"]) == 0
    assert "2 of 2 answers were cut at 3 tokens, and count as they stand" in capsys.readouterr().err
    suite = Suite(name="small", domains={"spatial": ("EmptyRoom", "KeyDoor")}, levels=(0,))
    casts, said = suites.casting(str(tmp_path / "model"), suite, ["keydoor_text"], [], {}), list[str]()
    asyncio.run(suites.play_suite(suite, casts, warn=said.append))
    assert said[-1].startswith("20 of 20 answers were cut at 3 tokens") and not any(said[:-1])


def test_demonstrations_longer_than_the_model_reads_are_refused_with_what_mends_it(tmp_path):
    """Not with `model.context`, of which more does not help."""
    words = [
        f"model={tmp_path / 'model'}",
        "world=MiniSudoku",
        "level=0",
        "rollout.max_tokens=60",
        "warm_start.steps=2",
    ]
    write_model(make("keydoor_text", overrides=[*words, "model.context=32"]), tmp_path / "model", 300)
    config = make("keydoor_text", overrides=[*words, "model.context=9000"])
    stage = make_stage(config)
    run = SimpleNamespace(keeper=None, draining=False, asked=lambda: False)
    model = policy.make_model(config, stage.renderer)
    opened = assemble.Open(run=run, stage=stage, model=model, ranks=Ranks(), learner=SimpleNamespace(precision=None))
    with pytest.raises(ConfigError, match=r"has \d+ tokens, and the model reads at most 32, whatever model.context is"):
        asyncio.run(warm.warm_start(config, opened, print))
    with pytest.raises(ConfigError, match="reads at most 32"):
        sft.main(["keydoor_text", *words, "model.context=9000", "--out", str(tmp_path / "out")])
    demos = list(need_demos(stage)(2, 0))
    assert list(policy.readable(None, demos)) == demos, "who has no model here lets all pass"


def test_tool_calls_are_imitated_as_they_are_read(tmp_path):
    """With the tools on offer before the first message, and each answer as a policy's own is written into what follows."""
    words = [f"model={tmp_path / 'model'}", "env.scaffold.grammar=tool", "rollout.max_tokens=200", "model.context=9000"]
    write_model(make("keydoor_text", overrides=words), tmp_path / "model", 300)
    stage = make_stage(make("keydoor_text", overrides=words))
    env, renderer = WorldEnv(world_of("KeyDoor"), Scaffold(rules=False, feedback=False, grammar="tool")), stage.renderer
    task = next(drawn(stage.sampler("train", 0, (0, 1))))
    ((_, turns),) = made = list(demonstrations(env, iter([task]), 1))
    (demo,) = write_demos(made, renderer, 200, env.tools)
    history, path = list(turns[0].messages), renderer.open(turns[0].messages, env.tools)
    for turn, after in itertools.pairwise(turns):
        said = renderer.say(turn.answer)
        more = renderer.extend([*history, renderer.parse(said)], after.messages, path + said, env.tools)
        history, path = [*history, renderer.parse(said), *after.messages], path + said + more
    assert demo.tokens == path + renderer.say(turns[-1].answer) and len(turns) > 3
    assert "# Tools" in renderer.text(path) and next(iter(need_demos(stage)(1, 0))).tokens[:20] == demo.tokens[:20]


@pytest.mark.parametrize(
    ("overrides", "tokens"),
    [
        ("world=LightsOut env.scaffold.style=words", 1),
        ("world=MiniSudoku env.scaffold.style=words", 48),  # twice 16 digits and 3 strokes, and 10 to spare
        ("world=GinRummy env.scaffold.style=words", 14),  # its first turns are of one word, later ones of two
        ("world=NimDuel env.scaffold.style=words", 1),
        ("world=MiniSudoku env.scaffold.style=words rollout.max_tokens=7", 7),
        ("world=MiniSudoku model=folder", 0),
        ("env=data data=rows.jsonl", 0),
    ],
)
def test_a_turn_has_room_for_what_the_world_wants_said(overrides, tokens):
    assert fitted(make(overrides=overrides.split())).rollout.max_tokens == tokens


@dataclass(frozen=True)
class Hand:
    """There is nothing to remember."""


class Both:
    """Two seats that say something at once, once; the answers of the second have two words."""

    schema = Hand
    facts = Facts(name="Both", rules="", answer="", example="rock", seats=("one", "two"))
    choices = Choices("rock", "flat paper")

    def start(self, seed, level, *, split="train"):
        return Hand()

    def view(self, state, seat):
        return View(self, state, seat)

    def step(self, state, moves):
        assert [*moves] == ["one", "two"]
        return Outcome(state, done=True)

    def solve(self, state, seat):
        return Plan(self.legal(state, seat))

    def read(self, text, seat):
        return self.choices.read(text)

    def legal(self, state, seat) -> tuple[Move, ...]:
        return (self.choices.moves[self.facts.seats.index(seat)],)

    def turns(self, state):
        return 1

    def words(self, level):
        return "rock", "flat", "paper"


@pytest.mark.usefixtures("registered_for_now")
def test_a_turn_has_room_for_what_each_of_those_says_who_move_at_once():
    register("world", "Both")(Both)
    assert fitted(make(overrides=["world=Both", "env.scaffold.style=words"])).rollout.max_tokens == 14
