"""The path that a real model takes: a local Hugging Face folder, byte-pair tokens, chat template, own data and reward."""

from __future__ import annotations

import json

import pytest

from quintain import config as configs
from quintain.cli import main
from quintain.evals.players import held_out
from quintain.ledger import RunDir, audit
from quintain.runtime.stage import make_stage, tasks
from quintain.runtime.words import turn_tokens

SMALL = [
    "model.sizes={hidden=32, layers=2, heads=2, kv_heads=2, head_dim=16, ffn=64}",
    "runtime.processes=1",
    "eval.instances=0",
]
SMALL += ["eval.final_instances=0", "run.groups_per_step=4", "rollout.group_size=4", "run.steps=2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "model"
    assert main(["new", "model", str(path), "keydoor_text", *SMALL]) == 0
    return path


def test_a_new_model_is_a_hugging_face_folder(folder):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert model.config.vocab_size == len(tokenizer)
    assert tokenizer.decode(tokenizer("You hold nothing.").input_ids) == "You hold nothing."


@pytest.mark.slow
def test_text_trains_from_a_folder_and_comes_back_as_one(folder, tmp_path, capsys):
    from transformers import AutoModelForCausalLM

    taught = tmp_path / "taught"
    words = ["sft", "keydoor_text", *SMALL, f"model={folder}", "--steps", "3", "--out", str(taught), "-n", "4"]
    assert main([*words, "warm_start.demos=16", "warm_start.batch=8"]) == 0
    AutoModelForCausalLM.from_pretrained(taught)
    short = ["rollout.max_tokens=24", "warm_start.steps=2", "warm_start.demos=16"]  # it has not learnt to end a turn
    assert main(["train", "keydoor_text", *SMALL, *short, f"model={taught}", f"run.folder={tmp_path}"]) == 0
    with RunDir.open(tmp_path / "keydoor-text") as store:
        rows = [m for _, m in store.metrics()]
        trajectories = list(store.trajectories())
    assert len(rows) == 2 and max(m["mismatch_max"] for m in rows) < 1e-4
    assert any("You hold" in node.text for t in trajectories for node in t.nodes)


def test_own_data_and_reward_train(folder, tmp_path, capsys):
    rows = [{"prompt": f"say {word}", "answer": word} for word in ("up", "down", "left", "right")]
    (tmp_path / "prompts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "my.py").write_text(
        "async def score(text, answer):\n    return float(answer in text) + 0.01 * (len(text) % 5)\n"
    )
    words = ["train", f"data={tmp_path}/prompts.jsonl", f"reward={tmp_path}/my.py:score", f"model={folder}", *SMALL]
    words += ["rollout.max_tokens=8", f"run.folder={tmp_path}", "run.name=own", 'track.sinks=["tensorboard"]']
    assert main(words) == 0
    with RunDir.open(tmp_path / "own") as store:
        found = [m for _, m in store.metrics()]
        groups = list(store.groups())
    assert len(found) == 2 and found[0]["updates"] >= 1
    assert {g.task.params["answer"] for g in groups} <= {"up", "down", "left", "right"}
    assert not any(
        g.task.params["answer"] in node.text.split("say", 1)[0]
        for g in groups
        for t in g.trajectories
        for node in t.nodes[:1]
    )
    assert list((tmp_path / "own" / "tensorboard").glob("events*"))


@pytest.mark.parametrize(("env", "played"), [("KeyDoor", "data"), ("data", "data"), ("tools", "tools")])
def test_data_without_a_reward_are_refused(env, played, folder, tmp_path, capsys):
    data = tmp_path / "sums.jsonl"
    data.write_text(json.dumps({"prompt": "say 1", "answer": "1"}))
    words = [f"data={data}", f"model={folder}", f"env.name={env}", *SMALL, f"run.folder={tmp_path}"]
    words += ['env.params={functions=["quintain.rewards.length:overlong_cost"]}'] if env == "tools" else []
    for verb in ("train", "plan"):
        assert main([verb, *words]) == 1
        told = capsys.readouterr().err
        assert f"the env {played!r} gives no reward" in told
        assert "reward=FILE.py:function" in told and "reward=exact" in told
    assert not (tmp_path / "run").exists()


def test_a_run_goes_on_and_is_evaluated_from_another_folder(folder, tmp_path, monkeypatch, capsys):
    here, there = tmp_path / "here", tmp_path / "there"
    for place in (here, there):
        place.mkdir()
    (here / "model").symlink_to(folder)
    (here / "rows.jsonl").write_text(json.dumps({"prompt": "say 1", "answer": "1"}))
    (here / "my.py").write_text("def score(text, answer):\n    return float(answer in text)\n")
    monkeypatch.chdir(here)
    words = ["data=rows.jsonl", "reward=my.py:score", "model=model", *SMALL, "rollout.max_tokens=4", "run.steps=1"]
    assert main(["train", *words, "run.imports=['my.py']", "model.context=2000"]) == 0
    assert "model.context is 2000, and the model reads at most 1024 tokens" in capsys.readouterr().out
    monkeypatch.chdir(there)
    assert main(["train", "--resume", str(here / "runs" / "run"), "run.steps=2"]) == 0
    assert main(["eval", str(here / "runs" / "run"), "-n", "1"]) == 0
    kept = configs.make(here / "runs" / "run" / "config.toml")
    assert kept.data == str(here / "rows.jsonl") and kept.reward["name"] == f"{here / 'my.py'}:score"


def test_data_is_split_where_a_run_evaluates_and_ends_with_its_rows(folder, tmp_path, capsys):
    data = tmp_path / "sums.jsonl"
    data.write_text("\n".join(json.dumps({"prompt": f"say {n}", "answer": str(n)}) for n in range(40)))
    config = configs.make(overrides=[f"data={data}", f"model={folder}", "eval.instances=99"])
    stage = make_stage(config)
    seen, kept = ({t.key for t in tasks(stage.sampler(s, 0, (0, 1)), 400)} for s in ("train", "test"))
    assert seen and kept and not seen & kept, "no row is both trained on and evaluated on"
    held = [t.key for t in held_out(config, 200, 1)]
    assert set(held) == kept and len(held) == len(kept), "every row is evaluated once"
    held = held_out(config.model_copy(update={"sampler": {"name": "dataset", "env": "mine", "seed": 5}}), 200, 1)
    assert {t.key for t in held} == kept and {t.env for t in held} == {"mine"}, "the options of the sampler count"
    elsewhere = {"data": "", "env": config.env.model_copy(update={"name": "data"})}
    elsewhere["sampler"] = {"name": "dataset", "path": str(data)}
    assert {t.key for t in held_out(config.model_copy(update=elsewhere), 200, 1)} == kept
    everything = config.model_copy(update={"eval": config.eval.model_copy(update={"instances": 0})})
    assert len({t.key for t in tasks(make_stage(everything).sampler("train", 0, (0, 1)), 40)}) == 40
    words = ["train", f"data={data}", "reward=number", f"model={folder}", *SMALL, f"run.folder={tmp_path}"]
    words += ["run.name=once", "run.steps=20", "run.groups_per_step=16", "sampler.name=dataset", "sampler.epochs=1"]
    assert main(words) == 0, "a run whose tasks end is done"
    assert "no more tasks after step 3 of 20" in capsys.readouterr().out


OWN_ENV = """
from quintain.ports import SOLO
from quintain.types import Feedback, Message, Stop


class Echo:
    def __init__(self, task):
        self.task, self.turns = task, 0

    async def reset(self, task):
        return {SOLO: Feedback(messages=(Message.of("user", f"level {task.level}, seed {task.seed % 10}"),))}

    async def step(self, moves):
        self.turns += 1
        reward = {"short": float(len(moves[SOLO].text) < 9)}
        again = (Message.of("user", "again"),)
        return {SOLO: Feedback(messages=again, reward=reward, stop=Stop.done if self.turns == 2 else None)}

    def snapshot(self):
        return self.turns

    def restore(self, state):
        self.turns = state

    async def close(self):
        pass


make = Echo
"""


def test_an_env_of_ones_own_trains_without_data(folder, tmp_path):
    (tmp_path / "my_env.py").write_text(OWN_ENV)
    words = ["train", f"env.name={tmp_path}/my_env.py:make", "env.levels=[1, 2]", f"model={folder}", *SMALL]
    assert main([*words, f"run.folder={tmp_path}", "rollout.max_tokens=4"]) == 0
    with RunDir.open(tmp_path / "run") as store:
        trajectories = list(store.trajectories())
        tasks_ = {g.task.level for g in store.packed()}
        assert audit(store).ok
    assert tasks_ == {1, 2} and {t.turns for t in trajectories} == {2}
    assert all(t.rewards.keys() == {"short"} for t in trajectories)


@pytest.mark.slow
def test_ranks_whose_shares_of_the_data_differ_end_together(folder, tmp_path, capsys):
    data = tmp_path / "sums.jsonl"
    data.write_text("\n".join(json.dumps({"prompt": f"say {n}", "answer": str(n)}) for n in range(9)))
    words = ["train", f"data={data}", "reward=number", f"model={folder}", *SMALL, f"run.folder={tmp_path}"]
    words += ["runtime.processes=2", "run.steps=20", "sampler.name=dataset", "sampler.epochs=1"]
    assert main(words) == 0
    assert "no more tasks after step 3 of 20" in capsys.readouterr().out, "rank 0 has 5 rows for 2 a step, rank 1 has 4"
    with RunDir.open(tmp_path / "run") as store:
        books = audit(store)
        played = [m["groups_played"] for _, m in store.metrics()]
    assert books.ok and books.issued == 9 and not books.pending and played == [4, 4, 1]
    assert main(["train", "--resume", str(tmp_path / "run")]) == 0, "there is nothing left to do"


def test_text_may_be_longer_than_a_word_unless_told(folder):
    given = [f"model={folder}", "data=some.jsonl"]
    assert turn_tokens(configs.make(overrides=given)) == 128
    assert turn_tokens(configs.make(overrides=[*given, "rollout.max_tokens=7"])) == 7
    assert turn_tokens(configs.make(overrides=["env.scaffold.style=words"])) == 1


def test_a_model_can_be_made_for_data(tmp_path):
    data = tmp_path / "sums.jsonl"
    data.write_text("\n".join(json.dumps({"prompt": f"say {n}", "answer": str(n)}) for n in range(40)))
    assert main(["new", "model", str(tmp_path / "model"), f"data={data}", SMALL[0], "--vocab", "300"]) == 0
    assert (tmp_path / "model" / "tokenizer.json").is_file()


def test_a_broken_model_folder_is_a_clear_error(folder, tmp_path, capsys):
    import shutil

    shutil.copytree(folder, tmp_path / "broken")
    (tmp_path / "broken" / "model.safetensors").unlink()
    assert main(["train", "keydoor_text", *SMALL, f"model={tmp_path / 'broken'}", f"run.folder={tmp_path}"]) == 1
    assert "model.safetensors" in capsys.readouterr().err
