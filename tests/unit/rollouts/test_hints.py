"""What some members are shown with the task can be taken away again, and what is left is the prompt as it is written without it."""

from __future__ import annotations

from typing import Any

import pytest

from quintain.algorithms import fcp, variational
from quintain.engines.scripted import ScriptedEngine
from quintain.gates import rewrite_context
from quintain.parts import Cast, PartError
from quintain.ports import SOLO
from quintain.render import CHATML, ChatRenderer, WordRenderer, write_tokenizer
from quintain.rollouts.episodes import episodes
from quintain.rollouts.hints import HintError, Hinting
from quintain.types import Feedback, Group, Kind, Message, Sampling, Stop, Task, Tool, Trajectory

M = Message.of
ASK = (M("system", "Be brief."), M("user", "What is two and two?\n"))
TASK = Task(key="k", env="sum", params={"answer": "four", "none": ""})
HINT = {"text": "The answer is {answer}.", "share": 0.5, "critique": "It was said: {said} Reward {reward}."}
# written anew each turn: only the last message keeps its words
FORGETFUL = """\
{%- for m in messages %}{%- set own = m.content if loop.last or m.role != 'assistant' else 'x' %}
{{- '<|im_start|>' + m.role + '\n' + own + '<|im_end|>\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"""
EVERY = Tool(name="look", description="Looks.", parameters={"type": "object", "properties": {}})


class Sum:
    """Asks twice, and says at the end how it went; `tools` are offered from the second turn on."""

    tools: tuple[Tool, ...] = ()

    async def reset(self, task: Task) -> dict[str, Feedback]:
        self.turn = 0
        return {SOLO: Feedback(messages=ASK, tools=())}

    async def step(self, moves: dict[str, Message]) -> dict[str, Feedback]:
        self.turn += 1
        last = self.turn == 2
        words = "Well done." if last else "And again?"
        reward = {"right": 0.5} if last else {}
        said = (M("user", words),)
        return {SOLO: Feedback(messages=said, reward=reward, stop=Stop.done if last else None, tools=self.tools)}

    async def close(self) -> None: ...


class Late(Sum):
    """Its tools change, so that the path is written anew from its first token on."""

    tools = (EVERY,)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory):
    text = "What is two and two?\n\n\nThe answer is four.\n\n\nIt was said"  # line feeds that meet are one token
    corpus = [text] * 9
    return write_tokenizer(tmp_path_factory.mktemp("model"), corpus, 320)


def renderer_of(folder: Any, template: str = CHATML) -> ChatRenderer:
    return ChatRenderer(folder, template=template)


async def play(
    renderer: Any, env: type = Sum, size: int = 2, task: Task = TASK, **options: Any
) -> tuple[Group, list[Any]]:
    asked: list[Any] = []

    def reply(request: Any) -> str:
        asked.append(request)
        return "four"

    engine = ScriptedEngine(renderer, reply)
    cast = Cast(env=lambda _: env(), engines={"policy": engine}, renderers={"policy": renderer}, sampling=Sampling())
    return await episodes(group_size=size, **options)(task, cast, 3), asked


def prompts(t: Trajectory) -> list[tuple[int, ...]]:
    """What stands before the first words of each path."""
    out = []
    for leaf in t.leaves:
        path: list[int] = []
        for i in t.path(leaf):
            if t.nodes[i].kind is Kind.sampled:
                break
            path += t.nodes[i].tokens
        out.append(tuple(path))
    return out


def rewritten(group: Group, **options: Any) -> list[Trajectory]:
    groups, _ = rewrite_context(["hint"], **options).apply((group,), None)
    return list(groups[0].trajectories)


def behind(words: str) -> tuple[Message, ...]:
    return (ASK[0], M("user", f"{ASK[1].text}\n\n{words}"))


async def test_what_is_left_is_the_prompt_as_it_is_written_without_the_hint(folder):
    renderer = renderer_of(folder)
    shown, bare = renderer.open(behind("The answer is four.")), renderer.open(ASK)
    group, asked = await play(renderer, hint=HINT)
    assert [r.prompt for r in asked if r.key[-2] == 0] == [bare, shown]  # the second member sees it
    without, with_it = group.trajectories
    assert prompts(without) == [bare] and prompts(with_it) == [shown]
    assert without.tags["bare"], "three line feeds should be one token here, else this shows too little"
    hints = [[n for n in t.nodes if n.kind is Kind.hint] for t in group.trajectories]
    assert [n[0].text for n in hints] == ["", "The answer is four."] and all(len(n) == 1 for n in hints)
    assert [prompts(t) for t in rewritten(group)] == [[bare], [bare]]
    assert [prompts(t) for t in rewritten(group, put="hint")] == [[shown], [shown]]
    critique = renderer.open(behind("It was said: Well done. Reward 0.5."))
    assert [prompts(t) for t in rewritten(group, put="critique")] == [[critique], [critique]]
    for old, new in zip(group.trajectories, rewritten(group), strict=True):  # nothing that was said has changed
        assert [n for n in old.nodes if n.kind is Kind.sampled] == [n for n in new.nodes if n.kind is Kind.sampled]


async def test_words_of_a_vocabulary_are_hinted_too():
    words = WordRenderer(["go", "north", "it", "is", "four"], turn_tokens=1)

    class Go(Sum):
        async def reset(self, task: Task) -> dict[str, Feedback]:
            self.turn = 1
            return {SOLO: Feedback(messages=(M("user", "go"),))}

        async def step(self, moves: dict[str, Message]) -> dict[str, Feedback]:
            return {SOLO: Feedback(stop=Stop.done)}

    group, _ = await play(words, Go, hint={"text": "it is {answer}"})
    for t in group.trajectories:
        assert [words.text(n.tokens) for n in t.nodes] == ["go", "it is four", "", "four"]
        assert t.tags == {"hint": words.ids("it is four"), "bare": ()}


@pytest.mark.filterwarnings("ignore::quintain.render.BranchWarning")
@pytest.mark.parametrize(("env", "template"), [(Late, CHATML), (Sum, FORGETFUL), (Late, FORGETFUL)])
async def test_paths_that_are_written_anew_keep_the_hint_apart(folder, env, template):
    renderer = renderer_of(folder, template)
    group, _ = await play(renderer, env, hint=HINT)
    plain, _ = await play(renderer, env)
    assert any("branch" in t.events for t in group.trajectories)
    tokens = [[[i for n in t.path(leaf) for i in t.nodes[n].tokens] for leaf in t.leaves] for t in rewritten(group)]
    bare = [[[i for n in t.path(leaf) for i in t.nodes[n].tokens] for leaf in t.leaves] for t in plain.trajectories]
    assert tokens == bare


async def test_without_a_hint_nothing_is_kept_apart(folder):
    group, _ = await play(renderer_of(folder), hint={"text": "{none}"})
    assert all(n.kind is not Kind.hint for t in group.trajectories for n in t.nodes)
    assert all("hint" not in t.tags for t in group.trajectories)


@pytest.mark.parametrize(("share", "want"), [(0, 0), (0.25, 2), (0.3, 2), (0.5, 4), (0.7, 5), (1, 8)])
def test_the_share_of_a_group_that_is_shown_it(share, want):
    hinting = Hinting.of({"text": "look", "share": share}, 8)
    assert sum(hinting.episode(TASK, m).shown for m in range(8)) == want


@pytest.mark.parametrize(
    ("hint", "says"),
    [
        ("four", "set rollout.options.hint.text"),
        ({"share": 1}, "set rollout.options.hint.text"),
        ({"text": 4}, "template in words"),
        ({"text": "a", "share": 1.5}, r"share is 1.5; it must be in \[0, 1\]"),
        ({"text": "a", "share": True}, "share is True"),
        ({"text": "a", "share": 0.1}, "nobody of a group of 8 sees the hint; set at least 0.125"),
    ],
)
def test_hints_that_cannot_be_shown_are_refused(hint, says):
    with pytest.raises(HintError, match=says):
        episodes(hint=hint)


def test_a_setting_that_is_none_is_named():
    with pytest.raises(HintError, match="did you mean 'critique'"):
        episodes(hint={"text": "a", "critic": "b"})


@pytest.mark.parametrize("name", ["text", "critique"])
@pytest.mark.parametrize("template", ["It is {anwser}.", "{", "{0}", "{answer.nothing}", "{answer[x]}"])
async def test_templates_that_cannot_be_filled_in_say_what_there_is(folder, name, template):
    with pytest.raises(HintError, match=f"hint.{name} is .*the task has answer, none, key, level, seed"):
        await play(renderer_of(folder), hint={"text": "a", name: template})


async def test_the_algorithms_that_read_hints_have_them(folder):
    renderer = renderer_of(folder)
    group, _ = await play(renderer, hint=HINT)
    assert fcp().gate is not None and variational(put="hint").gate is not None
    told, _ = fcp().gate.apply((group,), fcp().gate.init())
    critique = renderer.open(behind("It was said: Well done. Reward 0.5."))
    assert [prompts(t) for t in told[0].trajectories] == [[critique], [critique]]
    plain, _ = await play(renderer)
    with pytest.raises(PartError, match=r"rollout\.options\.hint\.text"):
        fcp().gate.apply((plain,), fcp().gate.init())
