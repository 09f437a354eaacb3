"""An agent that knows only a base URL and a key: served, recorded, and trained, with the tokens that it was served."""

from __future__ import annotations

import asyncio
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from tests.programs import alive, ended

from quintain.cli import main, serve
from quintain.ledger import DiskFull, RunDir, audit
from quintain.types import Event, Kind

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

SIZES = "model.sizes={hidden=32, layers=2, heads=2, kv_heads=2, head_dim=16, ffn=64}"
AGENT = """
import http.client, json, os, sys, urllib.parse

def run(base_url, api_key, prompt, log):
    base, messages, served = urllib.parse.urlsplit(base_url), [{"role": "user", "content": prompt}], []
    for turn in range(2):
        link = http.client.HTTPConnection(base.hostname, base.port, timeout=60)
        body = {"model": "gpt-4o-mini", "messages": messages, "max_tokens": 6, "temperature": 0.7, "return_token_ids": True}
        headers = {"Authorization": "Bearer " + api_key, "Content-Type": "application/json"}
        link.request("POST", base.path + "/chat/completions", json.dumps(body), headers)
        data = json.load(link.getresponse())
        link.close()
        choice = data["choices"][0]
        served.append([data["prompt_token_ids"], choice["token_ids"]])
        messages += [choice["message"], {"role": "user", "content": "again"}]
    with open(os.path.join(log, "-".join(base.path.split("/")[2:3]) + ".json"), "w") as out:
        json.dump(served, out)
    text = messages[1]["content"] + messages[3]["content"]
    return {"reward": sum(c.islower() for c in text) / max(1, len(text))}

if __name__ == "__main__":
    task = json.load(sys.stdin)
    said = run(os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"], task["prompt"], task["params"]["log"])
    print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    path = tmp_path_factory.mktemp("serve")
    (path / "log").mkdir()
    rows = [{"prompt": f"say {word}", "log": str(path / "log")} for word in ("one", "two", "three", "four")]
    (path / "prompts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (path / "mine.py").write_text(AGENT)
    assert main(["new", "model", str(path / "model"), f"data={path}/prompts.jsonl", SIZES, "--vocab", "300"]) == 0
    return path


def train(home, name, agent, *more):
    for old in (home / "log").iterdir():
        old.unlink()
    words = [
        f"data={home}/prompts.jsonl",
        f"model={home}/model",
        "rollout.name=agent",
        f"rollout.options.agent={agent}",
    ]
    words += [
        "eval.instances=0",
        "eval.final_instances=0",
        "model.context=128",
        f"run.folder={home}",
        f"run.name={name}",
    ]
    assert (
        main(["train", *words, "learner.optimizer=adamw", "learner.lr=0.03", "learner.schedule=constant", *more]) == 0
    )
    with RunDir.open(home / name) as store:
        assert audit(store).ok and not audit(store).pending
        return [m for _, m in store.metrics()], list(store.trajectories())


def check_tokens(home, trajectories):
    """The ids in the ledger are those that were served: prompt and answer of each turn."""
    for t in trajectories:
        path, seen = (), []
        for node in t.nodes:
            if node.kind is Kind.sampled:
                seen.append([list(path), list(node.tokens)])
            path += node.tokens
        assert seen == json.loads((home / "log" / f"{t.id}.json").read_text()) and len(seen) == 2


def test_a_function_is_trained_on_the_tokens_that_it_was_served(home):
    small = ("run.steps=2", "run.groups_per_step=2", "rollout.group_size=2")
    rows, trajectories = train(home, "function", f"{home}/mine.py:run", *small)
    assert len(trajectories) == 8 and max(m["mismatch_max"] for m in rows) < 1e-5
    check_tokens(home, trajectories)
    assert all(t.rewards.keys() == {"agent"} and t.stop == "done" for t in trajectories)


BRANCHING = """
import json, threading, urllib.request

def ask(base_url, api_key, messages, **more):
    body = json.dumps({"model": "any", "messages": messages, "max_tokens": 5, **more}).encode()
    request = urllib.request.Request(base_url + "/chat/completions", body, {"Authorization": "Bearer " + api_key})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return [c["message"] for c in json.load(answer)["choices"]]

def user(text):
    return {"role": "user", "content": text}

def run(base_url, api_key, prompt, episode):
    if episode.endswith(".1"):
        return 0.5  # asks for nothing
    first, second = ask(base_url, api_key, [user(prompt)], n=2)
    again = [user(prompt), first, user("again")]
    others = [threading.Thread(target=ask, args=(base_url, api_key, [user(w), second, user("on")])) for w in (prompt, "sub")]
    for other in others:
        other.start()
    third = ask(base_url, api_key, again)[0]
    for other in others:
        other.join()
    ask(base_url, api_key, [user(prompt), {**third, "content": "changed"}, user("so?")])
    return len(first["content"]) % 3
"""


def test_branches_and_silence_are_trained_with_the_logprobs_that_were_recorded(home):
    (home / "branching.py").write_text(BRANCHING)
    small = ("run.steps=2", "run.groups_per_step=2", "rollout.group_size=3")
    rows, trajectories = train(home, "branching", f"{home}/branching.py:run", *small)
    assert max(m["mismatch_max"] for m in rows) < 1e-5 and all(m["updates"] > 0 for m in rows)
    for t in trajectories:
        if t.id.endswith(".1"):
            assert t.nodes == () and t.events == ("silent: the agent asked for nothing",)
            continue
        assert t.turns == 6 and t.events.count("branch") == 2, t.events
        assert sum(len(t.nodes[i].tokens) for _, new in t.paths() for i in new if any(t.nodes[i].mask)) == t.length


@pytest.mark.slow
def test_a_stop_ends_agents_that_wait(home, tmp_path):
    script = tmp_path / "wait.py"
    script.write_text(
        "import os, sys, time\nprint(os.getpid(), file=open(sys.argv[1], 'a'), flush=True)\ntime.sleep(600)\n"
    )
    os.mkfifo(tmp_path / "pids")
    pipe = os.open(tmp_path / "pids", os.O_RDWR)  # so that it has no end while nobody writes
    command = [sys.executable, "-m", "quintain", "train", f"data={home}/prompts.jsonl", f"model={home}/model"]
    agent = json.dumps([sys.executable, "-S", str(script), str(tmp_path / "pids")])
    command += ["rollout.name=agent", f"rollout.options.agent={agent}", "rollout.group_size=2", "run.groups_per_step=1"]
    command += ["eval.instances=0", "eval.final_instances=0", f"run.folder={tmp_path}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        numbers = _numbers(pipe, 2)
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    finally:
        process.kill()
        process.wait()
    assert not any(alive(n) for n in numbers)


def test_agents_die_with_a_run_that_is_killed(home, tmp_path):
    if sys.platform != "linux":
        pytest.skip("only Linux ends the children of a killed process")
    script = (
        "import asyncio, sys\nfrom quintain.rollouts.outside import run_command\n"
        "child = 'import os,sys,time; print(os.getpid(), file=open(sys.argv[1], \"w\"), flush=True); time.sleep(600)'\n"
        "asyncio.run(run_command([sys.executable, '-c', child, sys.argv[1]], {}, {}))\n"
    )
    os.mkfifo(tmp_path / "pid")
    pipe = os.open(tmp_path / "pid", os.O_RDWR)
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "pid")])
    try:
        (number,) = _numbers(pipe, 1)
        assert alive(number)
    finally:
        process.kill()
        process.wait()
    assert ended(number)


def _numbers(pipe, count):
    """The first lines that others write into a pipe."""
    data = b""
    while data.count(b"\n") < count:
        assert select.select([pipe], [], [], 60)[0], "nobody wrote"
        data += os.read(pipe, 4096)
    os.close(pipe)
    return [int(line) for line in data.split()]


@pytest.mark.slow
def test_a_command_learns(home):
    sizes = ("run.steps=14", "run.groups_per_step=4", "rollout.group_size=8")
    rows, trajectories = train(home, "command", json.dumps([sys.executable, "-S", f"{home}/mine.py"]), *sizes)
    check_tokens(home, trajectories)
    first, last = (sum(m["reward"] for m in some) / 3 for some in (rows[:3], rows[-3:]))
    assert last > first + 0.3, (first, last)
    assert max(m["mismatch_max"] for m in rows) < 1e-5


@pytest.mark.slow
def test_actors_run_agents_too(home):
    sizes = ("run.steps=2", "run.groups_per_step=2", "rollout.group_size=2", "runtime.actors=2")
    rows, trajectories = train(home, "actors", json.dumps([sys.executable, "-S", f"{home}/mine.py"]), *sizes)
    check_tokens(home, trajectories)
    assert len(rows) == 2 and {t.stop for t in trajectories} == {"done"}


def call(url, token, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.headers, json.load(answer)


def test_serve_answers_records_and_ends(home, tmp_path):
    command = [sys.executable, "-m", "quintain", "serve", str(home / "model"), "--port", "0", "model.context=256"]
    command += [
        "--record",
        str(tmp_path / "record"),
        "--token-file",
        str(tmp_path / "private" / "token"),
        "--name",
        "tiny",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        told = dict(line.strip().split(maxsplit=1) for line in [process.stdout.readline() for _ in range(5)])
        url, file = told["base"].removeprefix("URL").strip(), Path(told["token"].removeprefix("in").strip())
        assert file.stat().st_mode & 0o777 == 0o600 and "curl" in told["try"]
        token = file.read_text().strip()
        assert call(url, token, "/models")[1]["data"][0]["id"] == "tiny"
        body = {"model": "tiny", "messages": [{"role": "user", "content": "say one"}], "max_tokens": 4, "seed": 1}
        headers, said = call(url, token, "/chat/completions", {**body, "return_token_ids": True})
        again = call(url, token, "/chat/completions", {**body, "return_token_ids": True})[1]
        assert said["choices"] == again["choices"], "a seed repeats an answer"
        fed = {"episode": headers["X-Quintain-Episode"], "reward": {"nice": 1}, "done": True}
        assert call(url, token, "/feedback", fed)[1]["trajectory"] == "0.0"
        with pytest.raises(urllib.error.HTTPError) as refused:
            call(url, "no", "/models")
        refused.value.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert "4 answered" in process.stdout.read() and not file.exists()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    with RunDir.open(tmp_path / "record") as store:
        first, second = store.trajectories()
    assert first.rewards == {"nice": 1.0} and first.nodes[-1].tokens == tuple(said["choices"][0]["token_ids"])
    assert second.stop == "cancelled" and first.nodes[-1].sampling.temperature == 1.0
    assert main(["report", str(tmp_path / "record")]) == 0 and main(["show", str(tmp_path / "record")]) == 0


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
@pytest.mark.parametrize("kind", ["run", "folder"])
def test_the_line_to_try_that_serve_prints_works(kind, home, tmp_path):
    """Also of a policy of whole words, which knows no word of a greeting."""
    policy = str(home / "model")
    if kind == "run":
        short = ("steps=0", "warm_start.steps=1", "eval.instances=0", "eval.final_instances=0")
        assert main(["train", "tiny", *short, f"run.folder={tmp_path}", "run.name=it's"]) == 0
        policy = str(tmp_path / "it's")
    file = tmp_path / "a room" / "it's a token"
    command = [sys.executable, "-m", "quintain", "serve", policy, "--port", "0", "--token-file", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        told = [process.stdout.readline() for _ in range(5)]
        line = told[-1].removeprefix("try").strip()
        answer = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60).stdout
        (choice,) = json.loads(answer)["choices"]
        assert choice["message"]["role"] == "assistant", answer
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def test_what_serve_refuses(home, tmp_path, capsys):
    assert main(["serve", str(tmp_path)]) == 1
    assert "neither a run folder, a checkpoint of a run, nor a local Hugging" in capsys.readouterr().err
    assert main(["serve", str(home / "model"), "keydoor"]) == 1
    assert "'keydoor' is no key=value" in capsys.readouterr().err
    assert os.environ.get("QUINTAIN_SERVE_TOKEN") is None


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--port", "70000"), "ServeError: the port 70000 is not one of 0..65535; choose another --port"),
        (("--port", "-1"), "ServeError: the port -1 is not one of 0..65535; choose another --port"),
        (("--idle-s", "-5"), "ConfigError: --idle-s -5 is no time; give seconds > 0"),
        (("--idle-s", "nan"), "ConfigError: --idle-s nan is no time; give seconds > 0"),
        (("--record", "trained"), "NotARecord: "),
    ],
)
def test_what_serve_refuses_before_it_loads_a_model(words, told, home, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(serve, "_policy", None)
    with RunDir.create("trained", "") as store:
        store.append(Event(time=0.0, step=0, actor="run", kind="issued", payload={"ticket": 0}))
    assert main(["serve", str(home / "model"), *words]) == 1
    assert told in capsys.readouterr().err


def test_a_full_disk_is_told_once_and_ends_nothing(monkeypatch, capsys):
    rooms = [False, False, True, False]

    class Desk:
        async def sweep(self, idle_s):
            room = bool(rooms) and rooms.pop(0)  # the signal may be heard only after a further sweep
            if not rooms:
                signal.raise_signal(signal.SIGTERM)
            if not room:
                raise DiskFull("make space and go on")

    monkeypatch.setattr(serve, "SWEEP_S", 0)
    asyncio.run(serve._until_signal(Desk(), 60.0))
    told = capsys.readouterr().err.splitlines()
    assert ["make space" in line for line in told] == [True, False, True] and "room again" in told[1] and not rooms
