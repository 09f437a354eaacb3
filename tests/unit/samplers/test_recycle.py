"""What was played becomes tasks: verdicts, choices, mending."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from quintain.registry import build
from quintain.rewards.env import recycled
from quintain.samplers.recycle import recycle
from quintain.samplers.worlds import SamplerError
from quintain.types import Completion, Group, Kind, Message, Node, Span, Stop, Task, Trajectory

QUESTION = "What is {1} + 1? Not {first}."


class Same:
    """A sampler of one task, and of what it was told."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def init(self) -> dict:
        return {"seen": 0}

    def draw(self, state: dict) -> tuple[Task | None, dict]:
        return self.task, state

    def observe(self, state: dict, group: Group) -> dict:
        return {"seen": state["seen"] + 1}


def task(**more: object) -> Task:
    opening = (Message.of("system", "Be brief."), Message.of("user", QUESTION))
    return Task(key="q", env="data", params={"answer": 2}, messages=opening, **more)


def said(name: str, text: str, reward: float) -> Trajectory:
    done = Completion(tokens=(5,), logprobs=(-0.1,), finish="stop", spans=(Span(start=0, stop=1, version=0),))
    nodes = (
        Node.given(None, (1,), kind=Kind.prompt, text=QUESTION),
        Node.sampled(0, done, text=text),
    )
    return Trajectory(id=name, nodes=nodes, stop=Stop.done, rewards={"correct": reward})


def group(*rewards: float, ticket: int = 0, of: Task | None = None) -> Group:
    each = (said(f"t{i}", f"it is {'right' if r > 0.5 else 'wrong'} {i}", r) for i, r in enumerate(rewards))
    return Group(task=of or task(), trajectories=tuple(each), ticket=ticket)


def made(*rewards: float, ticket: int = 0, **options: object) -> list[dict]:
    sampler = recycle(Same(task()), **options)
    return sampler.observe(sampler.init(), group(*rewards, ticket=ticket))["waiting"]


def test_the_judge_of_a_mixed_group_chooses_between_a_right_and_a_wrong_answer() -> None:
    sides = []
    for ticket in range(40):
        (one,) = made(1, 0, 0, ticket=ticket, kinds=["pair"])
        first, second = one["opening"].split("Answer A:\n")[1].split("\n\nAnswer B:\n")
        right = first if one["params"]["answer"] == "A" else second
        wrong = second if one["params"]["answer"] == "A" else first
        assert right.startswith("it is right 0") and wrong.startswith("it is wrong")
        assert QUESTION in one["opening"] and one["params"]["recycled"] == "pair"
        sides.append(one["params"]["answer"])
    assert 8 < sides.count("A") < 32


def test_three_in_ten_mixed_groups_give_a_verdict_and_groups_of_one_sort_always() -> None:
    kinds = [made(1, 0, ticket=t)[0]["params"]["recycled"] for t in range(400)]
    assert 0.2 < kinds.count("single") / 400 < 0.4
    verdicts = {made(1, 0, ticket=t, kinds=["single"])[0]["params"]["answer"] for t in range(20)}
    assert verdicts == {"Yes", "No"}
    for rewards, verdict in (((1, 1), "Yes"), ((0, 0), "No")):
        one = made(*rewards)[0]
        assert one["params"] == {"answer": verdict, "recycled": "single"}
        assert f"it is {'right' if verdict == 'Yes' else 'wrong'}" in one["opening"]


def test_a_wrong_answer_is_given_back_with_the_answer_of_its_task() -> None:
    (one,) = made(1, 0, kinds=["mend"])
    assert one["params"] == {"answer": 2, "recycled": "mend"} and "it is wrong 1" in one["opening"]
    assert made(1, 1, kinds=["mend"]) == []


def test_draws_keep_to_their_share_and_their_order_and_the_state_is_json() -> None:
    sampler = recycle(Same(task()), kinds=["single"], share=0.25)
    state = sampler.init()
    for ticket in range(3):
        state = sampler.observe(state, group(1, 1, ticket=ticket))
    drawn = []
    for _ in range(16):
        state = json.loads(json.dumps(state))
        one, state = sampler.draw(state)
        assert one is not None
        drawn.append(one.key)
    assert [i for i, key in enumerate(drawn) if key != "q"] == [3, 7, 11]
    assert [key for key in drawn if key != "q"] == ["single:0:q", "single:1:q", "single:2:q"]


def test_verdicts_are_not_recycled_and_the_inner_sampler_hears_of_its_own_tasks_only() -> None:
    sampler = recycle(Same(task()), limits={"keep": 2})
    state = sampler.init()
    for ticket in range(3):
        state = sampler.observe(state, group(0, 0, ticket=ticket))
    assert [w["key"] for w in state["waiting"]] == ["single:2:q", "mend:2:q"] and state["inner"] == {"seen": 3}
    verdict = task(split="train")
    verdict = replace(verdict, params={"answer": "Yes", "recycled": "single"})
    assert sampler.observe(state, group(1, 0, of=verdict)) == state


def test_tasks_without_an_opening_of_their_own_are_refused_by_name() -> None:
    sampler = recycle(Same(replace(task(), messages=())))
    with pytest.raises(SamplerError, match="no opening of its own"):
        sampler.draw(sampler.init())


@pytest.mark.parametrize(
    "options", [{"kinds": ["triple"]}, {"share": 1.0}, {"limits": {"kept": 1}}, {"limits": {"keep": 0}}, {"kinds": []}]
)
def test_what_makes_no_sense_is_refused(options: dict) -> None:
    with pytest.raises(SamplerError, match="recycle|entry of limits"):
        recycle(Same(task()), **options)


def test_verdicts_are_compared_as_words_and_answers_as_numbers() -> None:
    part = recycled(solve="number")
    verdict = replace(task(), params={"answer": "No", "recycled": "single"})
    choice = replace(task(), params={"answer": "B", "recycled": "pair"})
    mend = replace(task(), params={"answer": 2, "recycled": "mend"})
    for of, text, want in (
        (verdict, r"\boxed{no}", 1),
        (verdict, "2", 0),
        (choice, "b", 1),
        (mend, "so 2.0", 1),
        (task(), "so 2", 1),
    ):
        one = Group(task=of, trajectories=(replace(said("a", text, 0), rewards={}),))
        assert asyncio.run(part(one)).rewards == (want,), (of.params, text)


def test_a_config_names_the_sampler_inside(tmp_path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"prompt": "1 + 1?", "answer": "2"}\n')
    spec = {"name": "recycle", "path": str(tmp_path / "rows.jsonl"), "shard": (0, 1), "seed": 0}
    sampler = build("sampler", spec)
    drawn, _ = sampler.draw(sampler.init())
    assert drawn is not None and drawn.params == {"answer": "2"}


def test_what_another_process_played_is_made_into_tasks_there() -> None:
    sampler = recycle(Same(task()))
    state = sampler.observe(sampler.init(), group(1, 0, of=replace(task(), messages=())))
    assert not state["waiting"] and state["inner"] == {"seen": 1}
