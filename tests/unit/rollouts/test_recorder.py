"""What an agent asks becomes one tree: token in, token out, whatever the order and the branches of its requests."""

import asyncio
from dataclasses import replace

import pytest

from quintain.engines.scripted import ScriptedEngine
from quintain.parts import Cast
from quintain.render import RenderError, WordRenderer
from quintain.rollouts.asked import Ask, AskError, EpisodeOver
from quintain.rollouts.recorder import Bounds, Recorder
from quintain.types import Completion, Kind, Message, Role, Sampling, Span, Stop, Text, ToolCall, ToolResult

WORDS = WordRenderer(["a", "b", "c", "d", "e"], turn_tokens=0)
A, B, C, D, E = range(3, 8)
END = 2


def M(role, text):
    return Message.of(role, text)


class Counting(ScriptedEngine):
    """Says `reply`, with logprobs that name the request, and remembers what it was asked."""

    def __init__(self, reply, version=0):
        super().__init__(WORDS, reply, version=version)
        self.asked, self.aborted = [], []

    async def generate(self, request):
        self.asked.append(request)
        said = await super().generate(request)
        return replace(said, logprobs=tuple(-0.5 - i for i in range(len(said.tokens))))

    async def abort(self, session):
        self.aborted.append(session)


def recorder(reply="b", bounds=None, engine=None, **sampling):
    engine = engine or Counting(reply if callable(reply) else lambda request: reply)
    cast = Cast(
        env=None, engines={"policy": engine}, renderers={"policy": WORDS}, sampling=Sampling(**sampling), seed=5
    )
    return Recorder("7.1", cast, (5, 7, 1), bounds)


async def test_a_conversation_is_extended_with_what_was_sampled():
    one = recorder()
    said = (await one.ask(Ask(messages=(M("system", "a"), M("user", "b")))))[0]
    assert (said.text, said.completion.tokens, said.prompt, said.turn) == ("b", (B, END), (A, B), 0)
    history = (M("system", "a"), M("user", "b"), M("assistant", " b\n"), M("user", "c d"))
    said = (await one.ask(Ask(messages=history)))[0]
    assert said.prompt == (A, B, B, END, C, D), "outer white space of the echo does not count, the tokens do"
    first, second = one.engine.asked
    assert first.session == second.session and first.key == (5, 7, 1, 0, 0) and second.key == (5, 7, 1, 1, 0)
    t = one.trajectory(Stop.done, rewards={"won": 1.0}, episode=1)
    assert [n.kind for n in t.nodes] == [Kind.prompt, Kind.prompt, Kind.sampled, Kind.obs, Kind.sampled]
    assert [n.parent for n in t.nodes] == [None, 0, 1, 2, 3] and (t.id, t.episode) == ("7.1", 1)
    assert t.nodes[2].logprobs == (-0.5, -1.5) and t.nodes[2].spans == (Span(start=0, stop=2, version=0),)
    assert t.events == () and t.reward == 1.0 and t.turn_rewards == (0.0, 1.0) and t.turns == 2


async def test_what_was_not_said_opens_a_branch_and_is_not_trained_twice():
    one = recorder()
    opening = (M("user", "a"),)
    await one.ask(Ask(messages=opening))
    await one.ask(Ask(messages=(*opening, M("assistant", "c"), M("user", "d"))))  # the agent changed the answer
    await one.ask(Ask(messages=(M("user", "e"),)))  # a sub-agent
    t = one.trajectory(Stop.done, rewards={})
    assert t.events == ("branch", "conversation")
    paths = [[t.nodes[i].tokens for i in path] for path, _ in t.paths()]
    assert paths[0] == [(A,), (B, END)] and paths[2] == [(E,), (B, END)]
    assert paths[1][0] == (A,) and sum(paths[1], ()) == (A, C, END, D, B, END), "the equal opening is shared"
    fresh = [[i for i in path if i in new and t.nodes[i].kind is Kind.sampled] for path, new in t.paths()]
    assert sorted(i for path in fresh for i in path) == [i for i, n in enumerate(t.nodes) if n.kind is Kind.sampled]
    assert len({r.session for r in one.engine.asked}) == 3


async def test_the_same_messages_share_their_tokens_and_every_answer_can_go_on():
    replies = iter(["b", "c", "d", "e", "b"])
    one = recorder(lambda request: next(replies))
    said = await one.ask(Ask(messages=(M("user", "a"),), count=2))
    assert [s.text for s in said] == ["b", "c"] and [s.turn for s in said] == [0, 1]
    await one.ask(Ask(messages=(M("user", "a"),)))
    for echo in ("b", "c"):
        await one.ask(Ask(messages=(M("user", "a"), M("assistant", echo), M("user", "a"))))
    t = one.trajectory(Stop.done, rewards={})
    assert [n.parent for n in t.nodes if n.kind is Kind.sampled] == [0, 0, 0, 4, 6] and t.events == ()
    sessions = [r.session for r in one.engine.asked]
    assert sessions[3] == sessions[0] and sessions[4] == sessions[1] and len(set(sessions)) == 3


async def test_requests_at_once_never_share_a_session():
    gate = asyncio.Event()

    async def reply(request):
        await gate.wait()
        return "b"

    one = recorder(reply)
    await_first = asyncio.ensure_future(one.ask(Ask(messages=(M("user", "a"),))))
    gate.set()
    await await_first
    gate.clear()
    history = (M("user", "a"), M("assistant", "b"))
    jobs = [asyncio.ensure_future(one.ask(Ask(messages=(*history, M("user", w))))) for w in ("c", "d")]
    for _ in range(3):
        await asyncio.sleep(0)
    sessions = [r.session for r in one.engine.asked[1:]]
    assert len(set(sessions)) == 2 and sessions[0] == one.engine.asked[0].session
    gate.set()
    await asyncio.gather(*jobs)
    assert [n.parent for n in one.trajectory(Stop.done, rewards={}).nodes] == [None, 0, 1, 1, 2, 3]


async def test_tool_calls_are_recognised_whatever_their_ids():
    text = 'I look. <tool_call>{"name": "find", "arguments": {"q": 1}}</tool_call>'

    class Tools:
        turn_tokens, stop, size = 0, (9,), 99

        def open(self, messages, tools=()):
            return (1, len(tools))

        def extend(self, history, messages, tokens, tools=()):
            assert history[-1].text == text and isinstance(messages[0].parts[0], ToolResult)
            return (4,)

        def parse(self, tokens):
            from quintain.render.toolcalls import said

            return said(text)

        def text(self, tokens):
            return text

    from quintain.types import Tool

    engine = ScriptedEngine(Tools(), lambda request: (7, 9))
    cast = Cast(env=None, engines={"policy": engine}, renderers={"policy": Tools()})
    one, tools = Recorder("0.0", cast, (0,)), (Tool(name="find"),)
    said = (await one.ask(Ask(messages=(M("user", "a"),), tools=tools)))[0]
    assert said.text == "I look." and said.calls == (ToolCall(name="find", arguments={"q": 1}, id="call_0_0"),)
    echo = Message(Role.assistant, (Text(text="I look."), ToolCall(name="find", arguments={"q": 1}, id="mine")))
    result = Message(Role.tool, (ToolResult(text="found", id="mine"),))
    said = (await one.ask(Ask(messages=(M("user", "a"), echo, result), tools=tools)))[0]
    assert said.prompt == (1, 1, 7, 9, 4) and said.calls[0].id == "call_1_0"
    assert one.trajectory(Stop.done, rewards={}).nodes[2].kind is Kind.tool
    plain = (await one.ask(Ask(messages=(M("user", "b"),))))[0]
    assert plain.text == text and plain.calls == (), "without tools on offer the words stay words"


async def test_stop_strings_cut_tokens_logprobs_and_spans_together():
    one = recorder("a b c d", max_tokens=9)
    said = (await one.ask(Ask(messages=(M("user", "e"),), stop=("zz", "b c"))))[0]
    assert said.text == "a " and said.completion.tokens == (A, B, C) and said.completion.finish == "stop"
    assert said.completion.logprobs == (-0.5, -1.5, -2.5) and said.completion.spans[-1].stop == 3
    said = (await one.ask(Ask(messages=(M("user", "e"), M("assistant", "a"), M("user", "e")))))[0]
    assert said.prompt == (E, A, B, C, END, E), "the next turn goes on from the tokens that were kept"


async def test_the_runs_sampling_wins_unless_requests_have_their_own():
    ask = Ask(messages=(M("user", "a"),), temperature=0.25, top_p=0.5, max_tokens=1, seed=3)
    held = recorder("b c", temperature=0.75)
    assert (await held.ask(ask))[0].completion.finish == "length"
    drawn = held.engine.asked[0]
    assert (drawn.sampling.temperature, drawn.sampling.top_p, drawn.sampling.max_tokens) == (0.75, 1.0, 1)
    assert drawn.key == (5, 7, 1, 0, 0) and held.events == [
        "sampling: the request wants temperature=0.25, top_p=0.5; the run's own is used",
        "cut",
    ]
    free = recorder("b", Bounds(own=True), temperature=0.75)
    await free.ask(ask)
    drawn = free.engine.asked[0]
    assert (drawn.sampling.temperature, drawn.sampling.top_p, drawn.key) == (0.25, 0.5, (3, 0)) and not free.events[1:]


async def test_limits_of_turns_and_context_refuse_by_name():
    one = recorder("b", Bounds(max_turns=2, context=6))
    with pytest.raises(AskError, match="leave no room in a context of 6") as full:
        await one.ask(Ask(messages=(M("user", "a a a a a a"),)))
    assert (full.value.param, full.value.code, one.stop) == (
        "messages",
        "context_length_exceeded",
        Stop.truncated_tokens,
    )
    await one.ask(Ask(messages=(M("user", "a a a a a"),)))
    assert one.engine.asked[-1].sampling.max_tokens == 1
    await one.ask(Ask(messages=(M("user", "a"),)))
    with pytest.raises(AskError, match="has had its 2 turns"):
        await one.ask(Ask(messages=(M("user", "a"),)))
    assert one.stop is Stop.truncated_turns and len(one.engine.asked) == 2
    with pytest.raises(RenderError):
        await recorder().ask(Ask(messages=(M("user", "unheard"),)))


async def test_the_end_gives_up_requests_and_refuses_more():
    gate = asyncio.Event()

    async def reply(request):
        await gate.wait()
        return "b"

    one = recorder(reply)
    job = asyncio.ensure_future(one.ask(Ask(messages=(M("user", "a"),))))
    await asyncio.sleep(0)
    await one.close()
    gate.set()
    with pytest.raises(EpisodeOver):
        await job
    with pytest.raises(EpisodeOver):
        await one.ask(Ask(messages=(M("user", "a"),)))
    assert one.engine.aborted == [one.engine.asked[0].session]
    t = one.trajectory(Stop.timeout, rewards={})
    assert [n.kind for n in t.nodes] == [Kind.prompt] and t.turns == 0


async def test_a_request_that_fails_is_remembered_and_one_given_up_frees_its_session():
    class Broken(Counting):
        async def generate(self, request):
            raise ValueError("no")

    one = recorder(engine=Broken("b"))
    with pytest.raises(ValueError):
        await one.ask(Ask(messages=(M("user", "a"),)))
    assert isinstance(one.failure, ValueError)
    gate = asyncio.Event()

    async def reply(request):
        await gate.wait()

    one = recorder(reply)
    job = asyncio.ensure_future(one.ask(Ask(messages=(M("user", "a"),))))
    await asyncio.sleep(0)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert one.engine.aborted and one.failure is None
    gate.set()
    one.engine.reply = lambda request: "c"
    await one.ask(Ask(messages=(M("user", "d"),)))
    t = one.trajectory(Stop.done, rewards={})
    assert [n.tokens for n in t.nodes] == [(D,), (C, END)], "what was asked and never answered is left out"


@pytest.mark.parametrize("count", [1, 2])
async def test_a_request_that_fails_leaves_nothing_busy_and_its_session_to_nobody(count):
    """Also where another answer of the same request had come."""

    class Broken(Counting):
        broken = True

        async def generate(self, request):
            said = await super().generate(request)
            if self.broken and len(self.asked) == count:
                raise ValueError("no")
            return said

    one = recorder(engine=Broken("b"))
    one.engine.reply = lambda request: "b"
    with pytest.raises(ValueError):
        await one.ask(Ask(messages=(M("user", "a"),), count=count))
    failed = [r.session for r in one.engine.asked]
    assert not one.busy and sorted(one.engine.aborted) == sorted(failed) and len(failed) == count
    one.engine.broken = False
    await one.ask(Ask(messages=(M("user", "a"),)))
    assert one.engine.asked[-1].session not in failed and not one.busy


async def test_a_session_that_is_freed_is_not_that_of_a_request_that_still_waits():
    gates = {word: asyncio.Event() for word in "ab"}

    async def reply(request):
        await gates["ab"[request.prompt[0] - A]].wait()
        return "c"

    one = recorder(reply)
    first, second = (asyncio.ensure_future(one.ask(Ask(messages=(M("user", w),)))) for w in "ab")
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    gates["a"].set()
    await one.ask(Ask(messages=(M("user", "a"),)))
    assert len({r.session for r in one.engine.asked}) == 3 and one.busy
    gates["b"].set()
    await second


async def test_token_prompts_are_extended_by_their_tokens():
    one = recorder()
    assert (await one.ask(Ask(prompt=(A, C))))[0].completion.tokens == (B, END)
    assert (await one.ask(Ask(prompt=(A, C, B, END, D))))[0].prompt == (A, C, B, END, D)
    await one.ask(Ask(prompt=(A, D)))
    t = one.trajectory(Stop.done, rewards={}, answer="42")
    assert [n.parent for n in t.nodes] == [None, 0, 1, 2, None, 4, 5] and t.events == ("conversation",)
    assert t.nodes[2].tokens == (D,) and t.nodes[-1].kind is Kind.forced and t.nodes[-1].text == "42"


def test_an_engine_that_answers_nothing_is_written_down():
    class Full(Counting):
        async def generate(self, request):
            return Completion(tokens=(), logprobs=(), finish="length", spans=())

    one = recorder(engine=Full("b"))
    said = asyncio.run(one.ask(Ask(messages=(M("user", "a"),))))[0]
    assert said.text == "" and one.trajectory(Stop.done, rewards={}).turns == 1
