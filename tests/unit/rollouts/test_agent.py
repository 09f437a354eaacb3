"""An agent of somebody else's plays: as a command, a function, an async function; late, broken, or silent."""

import asyncio
import json
import os
import sys
import threading
import urllib.error
import urllib.request

import pytest
from tests.programs import ended

from quintain.engines.scripted import ScriptedEngine
from quintain.parts import Cast
from quintain.registry import UnknownName, user_object
from quintain.render import WordRenderer
from quintain.rollouts.agent import agent
from quintain.rollouts.episodes import PlanError
from quintain.rollouts.outside import AgentError, AgentFailed, result_of
from quintain.types import Kind, Message, Sampling, Stop, Task

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

WORDS = WordRenderer(["a", "b", "c", "d", "e"], turn_tokens=0)
ASK = Message.of("user", "a")
TASK = Task(key="k", env="data", params={"answer": "hidden", "hint": "c"}, messages=(ASK,))
SCRIPT = """
import json, os, sys, urllib.request

task = json.load(sys.stdin)
messages = list(task["messages"])
for _ in range(2):
    body = json.dumps({"model": "gpt-9", "messages": messages, "temperature": 0.1}).encode()
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    asked = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
    said = json.load(urllib.request.urlopen(asked))["choices"][0]["message"]
    messages += [said, {"role": "user", "content": task["params"]["hint"]}]
print("some words")
print(json.dumps({"answer": said["content"], "reward": len(messages), "rewards": {"told": "answer" in task["params"]}}))
"""


def ask(base_url, api_key, *messages):
    """What any client does, over plain HTTP."""
    said = [{"role": "assistant" if i % 2 else "user", "content": m} for i, m in enumerate(messages)]
    body = json.dumps({"model": "any", "messages": said}).encode()
    request = urllib.request.Request(base_url + "/chat/completions", body, {"Authorization": f"Bearer {api_key}"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


def cast_of(reply=lambda request: "b"):
    engine = ScriptedEngine(WORDS, reply, version=3)
    players = {"engines": {"policy": engine}, "renderers": {"policy": WORDS}}
    return Cast(env=None, **players, sampling=Sampling(max_tokens=8), seed=5)


async def play(who, cast=None, task=TASK, ticket=4, **options):
    return await agent(who, **{"group_size": 2, **options})(task, cast or cast_of(), ticket)


async def test_a_command_plays_unchanged(tmp_path):
    script = tmp_path / "mine.py"
    script.write_text(SCRIPT)
    cast, freed = cast_of(), []

    async def abort(session):
        freed.append(session)

    cast.engine("policy").abort = abort
    group = await play([sys.executable, str(script)], cast)
    assert len(set(freed)) == 2, "the engine keeps nothing of an episode that is over"
    assert [t.id for t in group.trajectories] == ["4.0", "4.1"] and group.ticket == 4
    for number, t in enumerate(group.trajectories):
        assert t.stop is Stop.done and t.episode == number and t.rewards == {"agent": 5.0, "told": 0.0}
        assert [n.tokens for n in t.nodes] == [(3,), (4, 2), (5,), (4, 2), ()]
        assert t.nodes[-1].kind is Kind.forced and t.nodes[-1].text == "b" and t.versions == (3, 3)
        assert t.events == ("sampling: the request wants temperature=0.1; the run's own is used",)


async def test_functions_are_given_what_their_parameters_are_named_after():
    def plain(prompt, base_url, api_key, hint):
        assert prompt == "a" and hint == "c"
        return ask(base_url, api_key, prompt) + "!"

    async def waiting(task, messages, model, episode, **rest):
        await asyncio.sleep(0)
        assert model == "policy" and messages == [{"role": "user", "content": "a"}] and "answer" not in rest
        assert await asyncio.to_thread(ask, rest["base_url"], rest["api_key"], "a", "b", "c") == "b"
        return {"won": 1}

    for who, rewards, last in ((plain, {}, "b!"), (waiting, {"won": 1.0}, "b")):
        group = await play(who)
        assert all(t.rewards == rewards and t.nodes[-1].text == last for t in group.trajectories)
        assert all(t.stop is Stop.done for t in group.trajectories)
    with pytest.raises(AgentError, match="unknown argument of an agent: 'answer'"):
        await play(lambda answer: None)


async def test_an_agent_that_raises_is_told_of_with_the_line_of_its_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def who(prompt):\n    raise ValueError('broken')\n")
    group = await play(user_object(f"{path}:who"))
    assert f"ValueError: broken (who, {path}:2)" in group.trajectories[0].events[0]


@pytest.mark.parametrize(
    ("body", "stop", "told"),
    [
        ("raise ValueError('broken')", Stop.crashed, "ValueError: broken"),
        ("raise SystemExit(3)", Stop.crashed, "exits with 3"),
        ("raise SystemExit(0)", Stop.done, ""),
        ("return float('nan')", Stop.crashed, "rewards are finite"),
        ("return object()", Stop.crashed, "no answer and no reward"),
    ],
)
async def test_an_agent_that_fails_ends_its_own_episode(body, stop, told):
    made = {}
    exec(f"def who(base_url, api_key):\n    ask(base_url, api_key, 'a')\n    {body}", {"ask": ask}, made)
    group = await play(made["who"])
    for t in group.trajectories:
        assert t.stop is stop and told in " ".join(t.events) and t.turns == 1, "what it asked before is kept"


async def test_commands_that_fail_or_cannot_be_started():
    group = await play([sys.executable, "-c", "import sys; print('why', file=sys.stderr); sys.exit(7)"])
    assert {t.stop for t in group.trajectories} == {Stop.crashed}
    assert group.trajectories[0].events == ("crashed: status 7: why", "silent: the agent asked for nothing")
    with pytest.raises(AgentError, match="no command 'no-such-program'"):
        agent(["no-such-program"])
    with pytest.raises(UnknownName, match="no file"):
        agent("/nowhere/mine.py:run")


async def test_the_first_request_that_is_refused_is_told():
    def who(base_url, api_key):
        for more in ({"response_format": {"type": "json_object"}}, {"logit_bias": {"3": 1}}):
            body = json.dumps({"model": "any", "messages": [{"role": "user", "content": "a"}], **more}).encode()
            headers = {"Authorization": f"Bearer {api_key}"}
            with pytest.raises(urllib.error.HTTPError, match="400"):
                urllib.request.urlopen(
                    urllib.request.Request(base_url + "/chat/completions", body, headers), timeout=20
                )

    for t in (await play(who)).trajectories:
        refused, silent = t.events
        assert refused.startswith("refused: ") and "response_format" in refused
        assert silent == "silent: the agent asked for nothing that was answered"


CHILD = """
import os, subprocess, sys, time, signal
if len(sys.argv) == 2:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.run([sys.executable, __file__, sys.argv[1], "child"])
else:
    open(sys.argv[1], "w").write(str(os.getpid()))
    time.sleep(600)
"""


async def test_a_command_is_ended_with_its_children(tmp_path, monkeypatch):
    monkeypatch.setattr("quintain.rollouts.outside.GRACE_S", 0.05)
    script, pipe = tmp_path / "mine.py", tmp_path / "pipe"
    script.write_text(CHILD)
    os.mkfifo(pipe)
    job = asyncio.ensure_future(play([sys.executable, str(script), str(pipe)], group_size=1))
    number = int(await asyncio.wait_for(asyncio.to_thread(pipe.read_text), 20))
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert await asyncio.to_thread(ended, number), "a child that outlives its parent, which ignored the first signal"


async def test_a_late_command_is_ended():
    t = (await play([sys.executable, "-c", "import time; time.sleep(600)"], group_size=1, deadline_s=0.1)).trajectories[
        0
    ]
    assert t.stop is Stop.timeout and "no end within 0.1 s" in t.events[0]


async def test_after_the_end_the_token_opens_nothing():
    begun, kept = threading.Event(), {}

    def who(base_url, api_key, episode):
        kept[episode] = (base_url, api_key)
        if episode == "4.0":
            begun.set()
            return None
        assert begun.wait(20)
        for _ in range(10_000):  # until the first episode is over
            try:
                ask(*kept["4.0"], "a")
            except urllib.error.HTTPError as error:
                return {"status": error.code}

    group = await play(who)
    assert group.trajectories[1].rewards == {"status": 401.0} and group.trajectories[1].turns == 0


async def test_a_late_function_is_left_behind_and_its_requests_are_refused():
    gate, seen = threading.Event(), []

    def who(base_url, api_key):
        gate.wait(20)
        try:
            ask(base_url, api_key, "a")
        except OSError as error:
            seen.append(error)
        gate.clear()

    t = (await play(who, group_size=1, deadline_s=0.05)).trajectories[0]
    assert t.stop is Stop.timeout and t.nodes == ()
    gate.set()
    for _ in range(2000):
        if seen:
            break
        await asyncio.sleep(0.005)
    assert seen, "nobody listens any more"


async def test_limits_and_errors_of_the_policy():
    def greedy(base_url, api_key):
        while True:
            ask(base_url, api_key, "a")

    t = (await play(greedy, group_size=1, max_turns=3)).trajectories[0]
    assert t.stop is Stop.truncated_turns and t.turns == 3

    def broken(request):
        raise ValueError("ours")

    def quiet(base_url, api_key):
        try:
            ask(base_url, api_key, "a")
        except urllib.error.HTTPError:
            return None

    with pytest.raises(ValueError, match="ours"):
        await play(quiet, cast_of(broken))


async def test_at_most_so_many_agents_run_at_once():
    now, most, lock = [0], [0], threading.Lock()

    def who(base_url, api_key):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        ask(base_url, api_key, "a")
        with lock:
            now[0] -= 1

    await play(who, group_size=6, manners={"at_once": 2})
    assert most[0] <= 2


async def test_a_cancelled_rollout_ends_its_agents():
    here, gate = threading.Event(), threading.Event()

    def who(base_url):
        here.set()
        gate.wait(20)

    job = asyncio.ensure_future(play(who))
    await asyncio.to_thread(here.wait, 20)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    gate.set()


def test_what_is_refused_at_once():
    with pytest.raises(AgentError, match="no agent is named: set rollout.options.agent"):
        agent()
    with pytest.raises(PlanError, match="group_size"):
        agent(["true"], group_size=0)
    for odd in (float("nan"), -1, "soon", True):
        with pytest.raises(PlanError, match=f"deadline_s is {odd!r}; it must be a number >= 0, and finite"):
            agent(["true"], deadline_s=odd)
    with pytest.raises(PlanError, match=r"unknown manners \['hurry'\]"):
        agent(["true"], manners={"hurry": 1})
    with pytest.raises(PlanError, match="digests"):
        agent(["true"], digests=True)
    with pytest.raises(AgentFailed):
        result_of({"rewards": {"a": "b"}})
