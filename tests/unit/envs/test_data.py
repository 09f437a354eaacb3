import pytest

from quintain.engines.scripted import ScriptedEngine
from quintain.envs.data import DataEnv, NoOpening
from quintain.parts import Cast
from quintain.ports import SOLO, Env
from quintain.registry import build
from quintain.render import WordRenderer
from quintain.types import Message, Sampling, Stop, Task

WORDS = WordRenderer(["one", "plus", "two", "three"], turn_tokens=0)


async def test_a_row_is_an_episode_of_one_turn(tmp_path):
    file = tmp_path / "p.jsonl"
    file.write_text('{"prompt": "one plus two", "answer": "three"}\n{"prompt": "one plus one", "answer": "two"}\n')
    sampler = build("sampler", {"name": "dataset", "path": str(file), "seed": None})
    reward = build("reward", "exact")
    engine = ScriptedEngine(WORDS, ["three"])
    cast = Cast(
        env=build("env", "data"),
        engines={"policy": engine},
        renderers={"policy": WORDS},
        sampling=Sampling(max_tokens=4),
    )
    rollout, state, scores = build("rollout", {"name": "episodes", "group_size": 2}), sampler.init(), []
    for ticket in range(2):
        task, state = sampler.draw(state)
        group = await reward(await rollout(task, cast, ticket))
        assert {t.stop for t in group.trajectories} == {Stop.done}
        assert [n.text for n in group.trajectories[0].nodes] == [task.messages[0].text, "three"]
        scores.append(group.rewards)
    assert scores == [(1.0, 1.0), (0.0, 0.0)]


async def test_the_env_keeps_its_contract():
    env = DataEnv()
    assert isinstance(env, Env)
    with pytest.raises(NoOpening, match="task x has no messages"):
        await env.reset(Task(key="x", env="data"))
    task = Task(key="x", env="data", params={"answer": "secret"}, messages=(Message.of("user", "?"),))
    shown = await env.reset(task)
    assert "secret" not in str(shown)
    await env.step({SOLO: Message.of("assistant", "a")})
    kept = env.snapshot()
    other = DataEnv()
    other.restore(kept)
    assert other.snapshot() == kept == {"said": ["a"]}
    await env.reset(task)
    assert env.snapshot() == {"said": []}
