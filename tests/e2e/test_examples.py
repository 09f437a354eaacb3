"""What the examples, the docs and `quintain new` say to type works as it stands, only shorter."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import json
import re
import shlex
from pathlib import Path

import pytest
from tests.e2e.runs import prints, start

from quintain.cli import main
from quintain.ledger import RunDir
from quintain.types import Stop

ROOT = Path(__file__).parents[2]
SIZES = "model.sizes={hidden=32, layers=2, heads=2, kv_heads=2, head_dim=16, ffn=64}"
SHORT = ["run.steps=1", "run.groups_per_step=1", "rollout.group_size=2"]
LESS = {"train": [*SHORT, "rollout.max_tokens=2"], "sft": ["--steps", "1", "-n", "0"]}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder with the examples in it, as a newcomer has them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def type_(line: str) -> None:
    """Type a command; those that take long are made short, and FOLDER is a model that was made before."""
    words = [w.replace("FOLDER", "made") for w in shlex.split(line, comments=True)]
    assert words[0] == "quintain"
    assert main([*words[1:], *LESS.get(words[1], ())]) == 0, line


def commands(text: str) -> list[str]:
    """The commands in a text, whole where they go over several lines."""
    return re.findall(r"quintain (?:[^\n\\]|\\\n)+", text)


def example(name: str) -> tuple[list[str], object]:
    path = ROOT / "examples" / name
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return commands(ast.get_docstring(ast.parse(path.read_text()), clean=False).replace("\\\n", " ")), module


@pytest.mark.slow
@pytest.mark.parametrize("name", ["calculator.py", "own_agent.py", "own_env.py"])
def test_what_an_example_says_to_type_works(name, here, capsys):
    pytest.importorskip("uvicorn", reason="the extra serve is not installed") if "agent" in name else None
    lines, _ = example(name)
    if "FOLDER" in " ".join(lines):
        assert main(["new", "model", "made", "data=examples/sums.jsonl", "--vocab", "300", SIZES]) == 0
    for line in lines:
        type_(line)
    with RunDir.open(here / "runs" / "run") as store:
        assert sum(1 for _ in store.trajectories()) == 2
    if name == "own_env.py":
        assert main(["eval", "runs/run", "-n", "2"]) == 0 and "success" in capsys.readouterr().out


async def test_the_env_of_the_example_plays_and_goes_back():
    _, module = example("own_env.py")
    from quintain.types import Message, Task

    task = Task(key="t", env="own", seed=7)
    env, other = module.make(task), module.make(task)
    await env.reset(task)
    await other.reset(Task(key="u", env="own", seed=8))
    await env.step({"agent": Message.of("assistant", "1")})
    other.restore(json.loads(json.dumps(env.snapshot())))
    for text in "2345":
        said = await env.step({"agent": Message.of("assistant", text)})
        assert said == await other.step({"agent": Message.of("assistant", text)})
        if said["agent"].stop:
            break
    assert said["agent"].stop is Stop.done and sum(said["agent"].reward.values()) in (0.05, 1.0)


def test_the_docs_hold_the_example_as_it_is():
    """A page that shows a file of examples/ shows it whole and unchanged."""
    code = (ROOT / "examples" / "own_env.py").read_text()
    shown = re.search(r"## Someone else's environment.*?```python\n(.*?)```", (ROOT / "docs/own.md").read_text(), re.S)
    assert shown is not None and shown.group(1).strip() in code


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_the_rollout_of_the_docs_goes_on_with_what_it_remembers(processes, here):
    text = (ROOT / "docs/own.md").read_text().split("## A rollout\n")[1]
    (here / "insistent.py").write_text(re.search(r"```python\n(.*?)```", text, re.S).group(1))
    own = [
        f"run.imports=['{here}/insistent.py']",
        "rollout.name=insistent",
        f"runtime.processes={processes}",
        "level=[0,5]",
    ]
    straight, again = (start(here / name, *own, f"run.steps={steps}") for name, steps in (("a", 4), ("b", 2)))
    assert main(["train", "--resume", str(again), "run.steps=4"]) == 0
    assert prints(again) == prints(straight)
    with RunDir.open(again) as store:
        sizes = [len(list(group)) for _, group in itertools.groupby(t.id.split(".")[0] for t in store.trajectories())]
    assert set(sizes) == {4, 8}, "the memory shows"


@pytest.mark.slow
@pytest.mark.parametrize("title, file", [("A sampler", "harder.py"), ("An advantage, a gate, an objective", "mine.py")])
def test_the_parts_of_the_docs_train_as_typed(title, file, here):
    text = (ROOT / "docs/own.md").read_text().split(f"## {title}\n")[1].split("\n## ")[0]
    (here / file).write_text(re.search(r"```python\n(.*?)```", text, re.S).group(1))
    for line in commands(text):
        type_(
            f"{line} runtime.processes=1 warm_start.steps=0 eval.instances=0 eval.final_instances=0".replace(
                "\\\n", " "
            )
        )


ROWS = {"answers": {"prompt": "2 + 2", "answer": "4"}, "none": {"prompt": "say something nice"}}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["answers", "none", "world"])
def test_what_new_model_prints_works_as_printed(kind, here, capsys):
    """In a folder whose name has to be quoted; and its tokenizer has as many tokens as it says."""
    what = "tiny" if kind == "world" else f"data={kind}'s rows.jsonl"
    if kind != "world":
        (here / f"{kind}'s rows.jsonl").write_text("\n".join([json.dumps(ROWS[kind])] * 8))
    text = ["env.scaffold.style=plain", "model.context=1024"] if kind == "world" else []
    assert main(["new", "model", "my model", what, *text, SIZES, "--vocab", "400"]) == 0
    told = capsys.readouterr().out
    size = int(re.search(r"a tokenizer of (\d+) tokens", told).group(1))
    assert size == json.loads((here / "my model" / "config.json").read_text())["vocab_size"]
    assert ("400 were asked for" in told) == (size != 400) == (kind != "world")
    for line in commands(told):
        type_(line)
