"""What every registered sampler, reward, rollout, engine and env keeps, over the registry."""

import asyncio
import json

import pytest

from quintain.codec import decode, encode
from quintain.engines.scripted import Player
from quintain.models import build_model
from quintain.parts import Cast
from quintain.ports import Engine
from quintain.registry import Entry, build, entries, provenance
from quintain.types import Feedback, Group, Kind, Message, Node, Role, Stop, Task, Trajectory

PLAYED = [e for kind in ("sampler", "reward", "rollout", "engine", "env") for e in entries(kind)]
NEEDS = {"math_verify": "math_verify", "agent": "uvicorn"}  # entries that need a package of an extra
TOKENS = {  # engines that are made from a model, not from options alone
    "torch": {},
    "vllm": {"url": "http://127.0.0.1:9"},
    "router": {"pools": {"decode": [{"name": "torch"}]}},
}
WORLDLESS = {"agent"}  # rollouts that play in no env of ours


@pytest.fixture(autouse=True)
def with_data(tmp_path, monkeypatch):
    """The file that examples of data samplers name."""
    rows = [{"prompt": f"1 + {i}?", "answer": str(1 + i)} for i in range(20)]
    (tmp_path / "prompts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.chdir(tmp_path)


def make(entry: Entry):
    if entry.name in NEEDS:
        pytest.importorskip(NEEDS[entry.name])
    return build(entry.kind, {"name": entry.name, **entry.tags.get("example", {})})


def of(*kinds):
    found = [e for e in PLAYED if e.kind in kinds and e.name not in TOKENS]
    return pytest.mark.parametrize("entry", found, ids=[f"{e.kind}-{e.name}" for e in found])


def draw(sampler, count, state):
    out = []
    for _ in range(count):
        task, state = sampler.draw(state)
        out.append(task)
    return out, state


def group_of(texts=("4", "five"), rewards=None):
    made = []
    for i, text in enumerate(texts):
        asked = Node.given(None, (1,), kind=Kind.prompt, text="2 + 2?")
        said = Node.given(0, (), role=Role.assistant, kind=Kind.external, text=text)
        made.append(Trajectory(id=f"0.{i}", nodes=(asked, said), stop=Stop.done, rewards=rewards or {"env": 0.5}))
    return Group(
        task=Task(key="k", env="data", params={"answer": "4", "subtasks": 2}), trajectories=tuple(made), ticket=3
    )


@pytest.mark.parametrize("entry", PLAYED, ids=[f"{e.kind}-{e.name}" for e in PLAYED])
def test_every_entry_has_a_summary(entry):
    assert len(entry.summary) > 10 and entry.summary.endswith(".")


@of("sampler")
def test_samplers_are_functions_of_their_state(entry):
    sampler, again = make(entry), make(entry)
    first, state = draw(sampler, 5, sampler.init())
    rest, _ = draw(sampler, 5, json.loads(json.dumps(state)))
    assert [*first, *rest] == draw(again, 10, again.init())[0]
    for task in first:
        assert decode(Task, json.loads(json.dumps(encode(task)))) == task
    before = json.dumps(state)
    after = sampler.observe(state, group_of())
    json.dumps(after)
    assert json.dumps(state) == before  # the state is not changed in place


@of("sampler", "reward", "rollout")
def test_parts_round_trip_through_their_provenance(entry):
    part = make(entry)
    written = provenance(part)
    assert written["name"] == entry.name
    again = build(entry.kind, json.loads(json.dumps(written)))
    assert provenance(again) == written


@of("reward")
@pytest.mark.filterwarnings("ignore:.*no episode so far has a reward")
async def test_rewards_add_finite_numbers_and_keep_all_else(entry):
    group, reward = group_of(), make(entry)
    scored = await reward(group)
    assert scored == await reward(group)
    assert (scored.task, scored.ticket, scored.tags) == (group.task, 3, {})
    for before, after in zip(group.trajectories, scored.trajectories, strict=True):
        assert (after.id, after.nodes, after.stop) == (before.id, before.nodes, before.stop)
        assert dict(after.rewards)["env"] == 0.5 and abs(after.reward) < 10
    assert (await reward(Group(task=group.task, trajectories=()))).trajectories == ()


@of("engine")
def test_engines_match_the_port(entry):
    assert isinstance(make(entry), Engine)


@pytest.mark.parametrize("name", sorted(TOKENS))
def test_engines_of_models_match_the_port(name):
    model = build_model("qwen3", seed=0, vocab=11, hidden=8, layers=1, heads=1, ffn=8, context=16)
    assert isinstance(build("engine", {"name": name, "model": model, **TOKENS[name]}), Engine)


@of("rollout")
async def test_rollouts_play_a_task_and_close_what_they_open(entry):
    if entry.name in WORLDLESS:
        return  # tests/unit/rollouts/test_agent.py
    closed = []

    class Env:
        async def reset(self, task):
            return {"agent": Feedback(messages=(Message.of("user", "?"),))}

        async def step(self, moves):
            return {"agent": Feedback(stop=Stop.done, reward={"said": float(len(moves["agent"].text))})}

        async def close(self):
            closed.append(self)

    rollout = make(entry)
    cast = Cast(env=lambda task: Env(), engines={"policy": Player(lambda m, s, r: "four")}, renderers={})
    one, two = await asyncio.gather(*(rollout(Task(key="k", env="e"), cast, i) for i in (1, 2)))
    assert one.task.key == "k" and (one.ticket, two.ticket) == (1, 2)
    assert set(one.rewards) == {4.0} and len(closed) == len(one.trajectories) + len(two.trajectories)
    assert not {t.id for t in one.trajectories} & {t.id for t in two.trajectories}
