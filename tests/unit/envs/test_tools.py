import asyncio
import json
import re
from pathlib import Path

import pytest

from quintain.engines.scripted import ScriptedEngine
from quintain.envs.data import NoOpening
from quintain.envs.schema import ToolError
from quintain.envs.tools import ToolEnv, tools
from quintain.parts import Cast
from quintain.ports import SOLO, Env
from quintain.registry import build
from quintain.render import ChatRenderer, toolcalls, write_tokenizer
from quintain.types import Kind, Message, Role, Sampling, Stop, Task, ToolCall

EXAMPLES = Path(__file__).parents[3] / "examples"
TASK = Task(key="q", env="tools", messages=(Message.of("user", "Use the tools."),))


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def fail(why: str) -> str:
    raise RuntimeError(why)


async def wait(name: str) -> dict[str, str]:
    await asyncio.sleep(0)
    return {"waited for": name}


async def forever() -> None:
    await asyncio.Event().wait()


def calls(*made):
    return {SOLO: toolcalls.said("I call. " + toolcalls.write([ToolCall(name=n, arguments=a) for n, a in made]))}


def env_of(**options):
    return tools([add, fail, wait, forever], **options)(TASK)


async def test_calls_are_answered_in_order_until_an_answer_comes_without_one():
    env = env_of()
    assert isinstance(env, Env)
    opening = (await env.reset(TASK))[SOLO]
    assert opening.messages == TASK.messages and [t.name for t in opening.tools] == ["add", "fail", "wait", "forever"]
    said = (await env.step(calls(("add", {"a": 2, "b": 3}), ("wait", {"name": "Godot"}))))[SOLO]
    (message,) = said.messages
    assert message.role is Role.tool and [p.text for p in message.parts] == ["5", '{"waited for": "Godot"}']
    assert [p.id for p in message.parts] == ["call_0", "call_1"] and said.acts and said.stop is None
    assert said.events == ("tool:add", "tool:wait") and said.action == "add wait"
    end = (await env.step({SOLO: Message.of("assistant", "It is 5.")}))[SOLO]
    assert end.stop is Stop.done and end.messages == () and end.state["calls"][0]["result"] == "5"


@pytest.mark.parametrize(
    ("move", "said", "event"),
    [
        (calls(("ad", {"a": 1})), "unknown tool 'ad'; did you mean 'add'?", "tool_error:ad"),
        (calls(("add", {"a": "1", "b": 2})), "'a' is '1'; it must be integer", "tool_error:add"),
        (calls(("add", {"a": 1})), "needs the argument 'b'", "tool_error:add"),
        (calls(("fail", {"why": "boom"})), "RuntimeError: boom", "tool_error:fail"),
        (calls(("forever", {})), "TimeoutError", "tool_error:forever"),
        ({SOLO: toolcalls.said("<tool_call>add(1, 2)</tool_call>")}, "this is no tool call: 'add(1, 2)'", "malformed"),
        ({SOLO: toolcalls.said("<tool_call>")}, "this is no tool call", "malformed"),
    ],
)
async def test_calls_that_cannot_be_run_are_answered_and_cost_the_penalty(move, said, event):
    env = env_of(penalty=-0.25, timeout_s=0.01)
    await env.reset(TASK)
    answer = (await env.step(move))[SOLO]
    assert said in answer.messages[0].text and answer.events == (event,)
    assert dict(answer.reward) == {"malformed": -0.25} and answer.acts and answer.stop is None


async def test_turns_are_limited_and_results_cut():
    env = tools([wait, add], max_turns=2)(TASK)
    await env.reset(TASK)
    long = (await env.step(calls(("wait", {"name": "x" * 9000}))))[SOLO]
    assert len(long.messages[0].text) == 4000
    last = (await env.step(calls(("add", {"a": 1, "b": 1}))))[SOLO]
    assert last.stop is Stop.truncated_turns and not last.acts
    kept = env.snapshot()
    other = ToolEnv({"add": add})
    other.restore(json.loads(json.dumps(kept)))
    assert other.snapshot() == kept
    await env.reset(TASK)
    assert env.snapshot() == {"turn": 0, "calls": []}


async def test_bad_tools_are_refused_before_a_run():
    with pytest.raises(ToolError, match="needs a name of its own and an annotation"):
        tools([lambda x: x])
    for bad in ({"functions": []}, {"functions": [add, add]}, {"functions": [add], "max_turns": 0}):
        with pytest.raises(ToolError, match="functions of different names"):
            tools(**bad)
    with pytest.raises(NoOpening):
        await env_of().reset(Task(key="q", env="tools"))


async def test_the_example_plays(tmp_path):
    """The calculator of the examples, from its files: calls in tokens, results as observations, a reward at the end."""
    assert len((EXAMPLES / "calculator.py").read_text().splitlines()) <= 40
    where = f"{EXAMPLES}/calculator.py"
    sampler = build("sampler", {"name": "dataset", "path": str(EXAMPLES / "sums.jsonl"), "seed": None})
    task, _ = sampler.draw(sampler.init())
    renderer = ChatRenderer(write_tokenizer(tmp_path, [task.messages[0].text], 300))

    def policy(request):
        text = renderer.text(request.prompt)
        member, turn = request.key[2], request.key[3]
        asked = re.search(r"What is (.*)\?", text).group(1)
        if turn == 0:
            call = {"expression": asked if member == 0 else "2 ** 9"}
            return toolcalls.write([ToolCall(name="calculate", arguments=call)])
        return "It is " + re.findall(r"<tool_response>\n(.*)\n</tool_response>", text)[-1]

    cast = Cast(
        env=build("env", {"name": "tools", "functions": [f"{where}:calculate"]}),
        engines={"policy": ScriptedEngine(renderer, policy)},
        renderers={"policy": renderer},
        sampling=Sampling(max_tokens=128),
    )
    group = await build("rollout", {"name": "episodes", "group_size": 2})(task, cast, 0)
    group = await build("reward", {"name": "function", "path": f"{where}:score"})(group)
    good, bad = group.trajectories
    assert dict(good.rewards) == {"correct": 1.0, "tool": 0.1} and good.stop is Stop.done
    assert dict(bad.rewards) == {"correct": 0.0, "tool": 0.0} and bad.events == ("tool_error:calculate",)
    assert [n.kind for n in good.nodes] == [Kind.prompt, Kind.sampled, Kind.tool, Kind.sampled]
    assert good.actions == ("calculate", "answer") and "only numbers" in bad.nodes[2].text
    path = renderer.text(tuple(i for n in good.nodes for i in n.tokens))
    assert str(task.params["answer"]) in path and "numbers, + - * / and brackets" in path
