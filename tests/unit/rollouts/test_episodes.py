import asyncio
import math
import re
import sys
import time
from itertools import pairwise

import numpy as np
import pytest

from quintain.codec import digest_of
from quintain.engines.scripted import Player, ScriptedEngine
from quintain.ledger import plain
from quintain.parts import Cast
from quintain.ports import SOLO
from quintain.registry import build, provenance
from quintain.render import RenderError, WordRenderer
from quintain.rollouts.episodes import PlanError, episodes
from quintain.rollouts.seats import Plan, Seat
from quintain.runtime.env_host import told
from quintain.types import (
    Completion,
    Feedback,
    Image,
    Kind,
    Message,
    QuintainError,
    Role,
    Sampling,
    Span,
    Stop,
    Task,
    Tool,
    ToolResult,
)

M = Message.of
TASK = Task(key="count", env="count", seed=3)
WORDS = WordRenderer([*(f"at{i}" for i in range(40)), "up", "down", "rules"])
FREE = WordRenderer(WORDS.words[3:], turn_tokens=0)


class Count:
    """Counts up and down; done at `goal` with reward 1, a step costs 0.1; `faults` says what goes wrong when."""

    def __init__(self, goal=3, faults=None):
        self.goal, self.faults, self.at, self.steps, self.closed = goal, faults or {}, 0, 0, 0

    def seen(self, **rest):
        return {SOLO: Feedback(messages=(M("user", f"at{self.at}"),), state={"at": self.at}, **rest)}

    async def fault(self):
        fault = self.faults.get(self.steps)
        if isinstance(fault, Exception):
            raise fault
        if fault is not None:
            return await fault() if callable(fault) else fault
        return None

    async def reset(self, task):
        bad = await self.fault()
        return bad or {SOLO: Feedback(messages=(M("system", "rules"), M("user", "at0")), state={"at": 0})}

    async def step(self, moves):
        self.steps += 1
        bad = await self.fault()
        if bad is not None:
            return bad
        word = moves[SOLO].text
        self.at += {"up": 1, "down": -1}.get(word, 0)
        self.at = max(self.at, 0)
        reward, done = {"cost": -0.1}, self.at == self.goal
        events = () if word in ("up", "down") else ("malformed",)
        if done:
            reward["success"] = 1.0
        return self.seen(reward=reward, stop=Stop.done if done else None, action=word, events=events)

    async def close(self):
        self.closed += 1

    def snapshot(self):
        return self.at

    def restore(self, snapshot):
        self.at = snapshot


class Engine(ScriptedEngine):
    """Scripted, and remembers what was asked, forked and aborted."""

    def __init__(self, renderer=WORDS, reply=("up",), **rest):
        super().__init__(renderer, reply if callable(reply) else list(reply), **rest)
        self.requests, self.forks, self.aborts = [], [], []

    async def generate(self, request):
        self.requests.append(request)
        return await super().generate(request)

    async def fork(self, session, at, into):
        self.forks.append((session, at, into))

    async def abort(self, session):
        self.aborts.append(session)


def cast_of(engine, make=Count, renderer=WORDS, **rest):
    envs = []

    def env(task):
        envs.append(make())
        return envs[-1]

    made = Cast(
        env=env, engines={"policy": engine}, renderers={"policy": renderer}, sampling=Sampling(), seed=5, **rest
    )
    return made, envs


async def play(engine, make=Count, renderer=WORDS, ticket=7, group_size=1, **plan):
    cast, envs = cast_of(engine, make, renderer)
    group = await episodes(group_size=group_size, **plan)(TASK, cast, ticket)
    assert all(e.closed == 1 for e in envs) and len(envs) == group_size
    return group


async def test_an_episode_is_recorded_exactly():
    engine = Engine(reply=["up", "down", "up", "up", "up"], version=4)
    group = await play(engine, digests=True, states=True)
    (t,) = group.trajectories
    assert (group.ticket, group.task, t.id, t.agent, t.role, t.episode) == (7, TASK, "7.0", SOLO, "policy", 0)
    assert t.stop is Stop.done and t.turns == 5 and t.actions == ("up", "down", "up", "up", "up")
    assert t.rewards == pytest.approx({"cost": -0.5, "success": 1.0})
    assert t.turn_rewards == pytest.approx((-0.1, -0.1, -0.1, -0.1, 0.9))
    kinds = [n.kind for n in t.nodes]
    assert kinds == [Kind.prompt, Kind.prompt, *[Kind.sampled, Kind.obs] * 5]
    assert [n.role for n in t.nodes[:3]] == [Role.system, Role.user, Role.assistant]
    assert [n.parent for n in t.nodes] == [None, *range(11)]
    ids = [i for n in t.nodes for i in n.tokens]
    words = "rules at0 up at1 down at0 up at1 up at2 up"
    assert WORDS.text(ids) == words  # what is heard after the last turn has no tokens, only text
    assert t.nodes[-1].tokens == () and t.nodes[-1].text == "at3"
    sampled = [n for n in t.nodes if n.kind is Kind.sampled]
    assert all(n.mask == (True,) and n.spans == (Span(start=0, stop=1, version=4),) for n in sampled)
    assert [n.turn for n in sampled] == [0, 1, 2, 3, 4] and t.versions == (4, 4)
    assert all(n.sampling.max_tokens == 1 and set(n.seconds) == {"generate"} for n in sampled)
    states = [{"at": i} for i in (0, 1, 0, 1, 2, 3)]
    assert list(t.states) == states
    assert list(t.digests) == [digest_of(s) for s in states[:-1]]
    assert list(t.next_digests) == [digest_of(s) for s in states[1:]]


async def test_requests_extend_the_path_and_carry_keys_and_sessions():
    engine = Engine()
    await play(engine, group_size=2)
    by_member = {m: [r for r in engine.requests if r.key[2] == m] for m in (0, 1)}
    for member, requests in by_member.items():
        assert [r.key for r in requests] == [(5, 7, member, turn, 0) for turn in range(3)]
        for before, after in pairwise(requests):
            assert after.prompt[: len(before.prompt)] == before.prompt
            assert len(after.prompt) == len(before.prompt) + 2
        assert len({r.session for r in requests}) == 1
    assert by_member[0][0].session != by_member[1][0].session
    assert sorted(engine.aborts) == sorted({r.session for r in engine.requests})


async def test_a_group_is_a_function_of_its_arguments():
    def reply(request):
        return ("up", "down")[np.random.Philox(key=sum(request.key)).random_raw() % 3 == 0]

    def facts(group):
        return [(t.id, t.actions, t.rewards, [n.tokens for n in t.nodes]) for t in group.trajectories]

    groups = [await play(Engine(reply=reply), group_size=8, max_turns=30) for _ in range(2)]
    assert facts(groups[0]) == facts(groups[1])
    assert len({t.actions for t in groups[0].trajectories}) > 1
    other = await play(Engine(reply=reply), group_size=8, max_turns=30, ticket=8)
    assert facts(other) != facts(groups[0])


async def test_turn_limit():
    t = (await play(Engine(reply=["down"]), max_turns=4)).trajectories[0]
    assert t.stop is Stop.truncated_turns and t.turns == 4 and len(t.turn_rewards) == 4


async def test_context_limit_shortens_the_last_turn_and_then_stops():
    engine = Engine(FREE, reply=["down up down"])
    t = (await play(engine, renderer=FREE, context=9)).trajectories[0]
    # prompt 2, turn 4 (three words and <end>), observation 1: room for 2 more
    assert [r.sampling.max_tokens for r in engine.requests] == [7, 2]
    assert t.stop is Stop.truncated_tokens and t.length == 6
    assert t.events == ("malformed", "cut", "malformed", "full: 11 tokens leave no room in a context of 9")
    assert sum(len(n.tokens) for n in t.nodes) == 9, "what does not fit is no token of the path"
    assert (
        t.nodes[-1].kind is Kind.obs
        and t.nodes[-1].text
        and max(len(r.prompt) + r.sampling.max_tokens for r in engine.requests) <= 9
    )


@pytest.mark.parametrize("renderer", ["words", "forgetful"])
@pytest.mark.parametrize("context", [1, 2, 3, 5, 8])
async def test_no_path_is_longer_than_the_context(renderer, context):
    made = FREE if renderer == "words" else Forgetful(FREE.words[3:], turn_tokens=0)
    engine = Engine(made, reply=["down up down"])
    t = (await play(engine, renderer=made, context=context, max_turns=9)).trajectories[0]
    lengths = [sum(len(t.nodes[i].tokens) for i in path) for path, _ in t.paths()]
    assert max(lengths) <= context and t.turns == len(engine.requests)
    assert t.stop is Stop.truncated_tokens or t.turns == 9
    assert (t.turns == 0) == (context <= 2)


async def test_a_cut_turn_that_ends_the_episode_is_truncated_and_one_that_does_not_is_closed():
    engine = Engine(FREE, reply=lambda r: (FREE.ids("up")[0],) * 3)
    t = (await play(engine, renderer=FREE, max_tokens=2, max_turns=2)).trajectories[0]
    assert t.stop is Stop.truncated_turns and t.events == ("cut", "malformed") * 2
    assert engine.requests[1].prompt[-2:] == (2, FREE.ids("at0")[0])  # <end>, then the observation

    t = (await play(Engine(FREE, ["up"]), lambda: Count(goal=1), FREE, max_tokens=1)).trajectories[0]
    assert t.rewards["success"] == 1.0 and t.stop is Stop.truncated_tokens


async def test_an_env_that_raises_ends_its_own_episode_only():
    made = iter([{}, {2: ValueError("boom")}, {0: KeyError("seat")}, {}])
    group = await play(Engine(), lambda: Count(faults=next(made)), group_size=4)
    stops = [t.stop for t in group.trajectories]
    assert stops == [Stop.done, Stop.crashed, Stop.crashed, Stop.done]
    assert group.trajectories[1].events == ("crashed: ValueError: boom",) and group.trajectories[1].turns == 2
    assert group.trajectories[2].nodes == () and group.trajectories[2].events[0].startswith("crashed: KeyError")


async def test_what_cannot_be_written_down_is_a_question_mark():
    torn = b"\xff".decode(errors="surrogateescape")
    group = await play(Engine(), lambda: Count(faults={2: ValueError(f"bad byte {torn}")}), group_size=1)
    assert group.trajectories[0].events == ("crashed: ValueError: bad byte ?",)
    assert Message.of("user", f"out: {torn} é").text == "out: ? é" and ToolResult(text=torn).text == "?"
    told_by_env = told(Feedback(events=(f"saw {torn}",), action=torn, messages=(Message.of("user", torn),)))
    plain.pack(told_by_env)
    assert "saw ?" in str(told_by_env)
    seat = Seat("agent", 0, cast_of(Engine(), Count)[0], Plan(), (0, 0))
    seat.hear(Feedback(events=(f"saw {torn}",)))
    assert seat.events == ["saw ?"]


async def test_a_factory_that_fails_ends_its_own_episode_only():
    made = iter([Count(), OSError("no display"), None, Count()])

    def make():
        env = next(made)
        if isinstance(env, Exception):
            raise env
        return env

    group = await episodes(group_size=4)(TASK, cast_of(Engine(), make)[0], 7)
    assert [t.stop for t in group.trajectories] == [Stop.done, Stop.crashed, Stop.crashed, Stop.done]
    assert group.trajectories[1].events == ("crashed: OSError: no display",)
    assert group.trajectories[2].events[0].startswith("crashed: AttributeError: 'NoneType'")


async def test_a_factory_that_blocks_the_thread_is_a_timeout():
    cast, _ = cast_of(Engine(), lambda: time.sleep(60))
    (t,) = (await episodes(group_size=1, deadline_s=0.02)(TASK, cast, 7)).trajectories
    assert t.stop is Stop.timeout and t.turns == 0 and t.events == ("timeout: no answer within 0.02 s",)


async def test_an_env_that_hangs_is_a_timeout():
    faults = {1: asyncio.Event().wait}
    t = (await play(Engine(), lambda: Count(faults=faults), deadline_s=0.02)).trajectories[0]
    assert t.stop is Stop.timeout and t.turns == 1 and t.events == ("timeout: no answer within 0.02 s",)


@pytest.mark.parametrize(
    "bad",
    [{SOLO: Feedback(reward={"x": math.nan})}, {SOLO: Feedback(reward={"x": "1"})}, {SOLO: None}, 3, {SOLO: "hello"}],
)
async def test_feedback_that_is_none_is_a_crash(bad):
    t = (await play(Engine(), lambda: Count(faults={1: bad}))).trajectories[0]
    assert t.stop is Stop.crashed and t.events[0].startswith("crashed: ") and math.isfinite(t.reward)


async def test_an_env_where_nobody_acts_is_a_crash():
    silent = {SOLO: Feedback(acts=False)}
    t = (await play(Engine(), lambda: Count(faults={1: silent}))).trajectories[0]
    assert t.stop is Stop.crashed and t.events[0].startswith("stalled")


async def test_a_failing_close_is_an_event():
    class Sticky(Count):
        async def close(self):
            await super().close()
            raise OSError("busy")

    t = (await play(Engine(), Sticky)).trajectories[0]
    assert t.stop is Stop.done and t.events == ("close failed: OSError: busy",)


async def test_an_interrupted_request_is_aborted_with_what_it_gave():
    class Interrupted(Engine):
        async def generate(self, request):
            self.requests.append(request)
            if len(self.requests) == 2:
                spans = (Span(start=0, stop=1, version=0),)
                return Completion(tokens=(5,), logprobs=(-0.5,), finish="abort", spans=spans)
            return await ScriptedEngine.generate(self, request)

    t = (await play(Interrupted())).trajectories[0]
    assert t.stop is Stop.aborted and t.turns == 2 and t.nodes[-1].logprobs == (-0.5,)


async def test_engine_errors_stop_the_rollout_and_everything_is_closed():
    class Broken(Engine):
        async def generate(self, request):
            self.requests.append(request)
            if request.key[2] == 1:
                raise QuintainError("no memory")
            await asyncio.Event().wait()

    engine = Broken()
    cast, envs = cast_of(engine)
    with pytest.raises(QuintainError, match="no memory"):
        await episodes(group_size=3)(TASK, cast, 0)
    assert [e.closed for e in envs] == [1, 1, 1] and len(engine.aborts) == 3


async def test_cancelling_a_rollout_closes_envs_and_sessions():
    everyone = asyncio.Barrier(4)

    class Waiting(Engine):
        async def generate(self, request):
            await everyone.wait()
            await asyncio.Event().wait()

    engine = Waiting()
    cast, envs = cast_of(engine)
    job = asyncio.ensure_future(episodes(group_size=3)(TASK, cast, 0))
    await everyone.wait()
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert [e.closed for e in envs] == [1, 1, 1] and len(engine.aborts) == 3


async def test_engines_without_tokens_make_external_nodes():
    class Texts(Engine):
        async def generate(self, request):
            return Completion(tokens=(), logprobs=(), finish="stop", spans=(), text="up")

    t = (await play(Texts())).trajectories[0]
    spoken = [n for n in t.nodes if n.role is Role.assistant]
    assert t.stop is Stop.done and all(n.kind is Kind.external and n.text == "up" for n in spoken) and t.length == 0


async def test_players_speak_in_messages_and_see_the_state():
    player = Player(lambda messages, state, request: "up" if state["at"] < 3 else "down")
    cast = Cast(env=lambda task: Count(), engines={"policy": player}, renderers={})
    t = (await episodes(group_size=1)(TASK, cast, 0)).trajectories[0]
    assert t.stop is Stop.done and t.actions == ("up",) * 3
    assert [n.text for n in t.nodes] == ["rules", "at0", "up", "at1", "up", "at2", "up", "at3"]
    assert all(n.tokens == () for n in t.nodes)
    assert [n.kind for n in t.nodes] == [Kind.prompt, Kind.prompt, *[Kind.external, Kind.obs] * 3]


async def test_opponents_without_tokens_may_say_what_the_policy_could_not():
    engines = {"policy": Engine(), "second": Player(lambda messages, state, request: "hello there")}
    cast = Cast(env=lambda task: Duel(), engines=engines, renderers={"policy": WORDS})
    first, second = (await episodes(group_size=1)(TASK, cast, 0)).trajectories
    assert first.length == 2 and [n.text for n in second.nodes if n.role is Role.assistant] == ["hello there"]


async def test_a_silent_env_adds_no_words_but_the_tokens_that_the_template_needs():
    silent = {SOLO: Feedback(reward={"cost": -0.1})}
    t = (await play(Engine(), lambda: Count(goal=1, faults={1: silent}))).trajectories[0]
    assert [n.kind for n in t.nodes] == [Kind.prompt, Kind.prompt, Kind.sampled, Kind.sampled, Kind.obs]

    class Marked(WordRenderer):
        def extend(self, history, messages, tokens, tools=()):
            return (*super().extend(history, messages, tokens), *self.ids("rules"))

    engine, render = Engine(), Marked(WORDS.words[3:], turn_tokens=1)
    t = (await play(engine, lambda: Count(goal=1, faults={1: silent}), render)).trajectories[0]
    assert render.text(engine.requests[1].prompt) == "rules at0 up rules"
    assert [n.text for n in t.nodes] == ["rules", "at0", "up", "", "up", "at1"]


async def test_an_engine_whose_context_is_full_ends_the_episode():
    class Full(Engine):
        async def generate(self, request):
            return Completion(tokens=(), logprobs=(), finish="length", spans=())

    t = (await play(Full(FREE), renderer=FREE)).trajectories[0]
    assert t.stop is Stop.truncated_tokens and t.turns == 1 and t.events == ("cut",)


async def test_what_players_say_becomes_demonstrations_when_there_is_a_renderer():
    def path(t):
        return [i for n in t.nodes for i in n.tokens]

    shown = (await play(Player(lambda messages, state, request: "up"))).trajectories[0]
    sampled = (await play(Engine())).trajectories[0]
    assert path(shown) == path(sampled) and shown.length == 0
    assert [n.kind for n in shown.nodes if n.role is Role.assistant] == [Kind.external] * 3


class Duel:
    """Two seats in turn; each says a number of `up`; after three moves in all, the last mover wins."""

    def __init__(self, together=False):
        self.moves, self.together, self.closed = 0, together, 0

    def seen(self, **rest):
        out = {}
        for i, seat in enumerate(("first", "second")):
            acts = self.together or self.moves % 2 == i
            out[seat] = Feedback(messages=(M("user", f"at{self.moves}"),), acts=acts, **rest.get(seat, {}))
        return out

    async def reset(self, task):
        return self.seen()

    async def step(self, moves):
        self.moves += len(moves)
        if self.moves < 3:
            return self.seen()
        last = list(moves)[-1]
        wins = {s: {"reward": {"win": 1.0 if s == last else -1.0}, "stop": Stop.done} for s in ("first", "second")}
        return self.seen(**wins)

    async def close(self):
        self.closed += 1


async def test_every_seat_has_a_trajectory_of_its_own():
    engine = Engine()
    cast, _ = cast_of(engine, Duel)
    group = await episodes(group_size=2)(TASK, cast, 1)
    assert [t.id for t in group.trajectories] == ["1.0.first", "1.0.second", "1.1.first", "1.1.second"]
    first, second = group.trajectories[:2]
    assert (first.turns, second.turns) == (2, 1) and (first.reward, second.reward) == (1.0, -1.0)
    assert second.turn_rewards == (-1.0,)  # what comes after the other's move belongs to one's own last turn
    assert [n.text for n in second.nodes] == ["at0", "at1", "up", "at2", "at3"]
    assert {r.key for r in engine.requests if r.key[2] == 0} == {(5, 1, 0, 0, 0), (5, 1, 0, 0, 1), (5, 1, 0, 1, 0)}


async def test_seats_that_act_together_are_asked_together():
    engine = Engine()
    cast, _ = cast_of(engine, lambda: Duel(together=True))
    group = await episodes(group_size=1)(TASK, cast, 1)
    assert [t.turns for t in group.trajectories] == [2, 2]


async def test_frozen_opponents_play_and_are_left_out():
    policy, opponent = Engine(), Engine(reply=["down"])
    renderers = {"policy": WORDS}
    engines = {"policy": policy, "second": opponent}
    cast = Cast(env=lambda task: Duel(), engines=engines, renderers=renderers, frozen=frozenset({"second"}))
    group = await episodes(group_size=2)(TASK, cast, 1)
    assert [(t.agent, t.role) for t in group.trajectories] == [("first", "policy")] * 2
    assert len(opponent.requests) == 2 and len(opponent.aborts) == 2
    free = await episodes(group_size=1)(TASK, Cast(env=lambda task: Duel(), engines=engines, renderers=renderers), 1)
    assert [(t.agent, t.role) for t in free.trajectories] == [("first", "policy"), ("second", "second")]


class Forgetful(WordRenderer):
    """Cannot extend: it drops all but the last two messages, so that every turn opens a branch."""

    def open(self, messages, tools=()):
        return super().open([*messages[:1], *messages[1:][-3:]], tools)

    def extend(self, history, messages, tokens, tools=()):
        return None


async def test_a_renderer_that_cannot_extend_opens_a_branch_each_turn():
    render = Forgetful(WORDS.words[3:], turn_tokens=1)
    engine = Engine(render)
    t = (await play(engine, lambda: Count(goal=4), render)).trajectories[0]
    assert t.events == ("branch",) * 3 and t.turns == 4
    assert [r.session.rsplit(".", 1)[1] for r in engine.requests] == ["0", "1", "2", "3"]
    assert len({r.session for r in engine.requests}) == 4
    for request, node in zip(engine.requests, (n for n in t.nodes if n.kind is Kind.sampled), strict=True):
        path = t.path(t.nodes.index(node))
        assert tuple(i for p in path[:-1] for i in t.nodes[p].tokens) == request.prompt  # the tree is what was asked
    texts = [[t.nodes[i].text for i in path] for path, _ in t.paths()]
    assert texts[-1] == ["rules", "at0", "up", "at1", "up", "at2", "up", "at3", "up", "at4"]  # every path reads whole
    trained = [i for path, fresh in t.paths() for i in path if i in fresh and t.nodes[i].kind is Kind.sampled]
    assert len(trained) == len(set(trained)) == 4
    forks = [(at, into) for _, at, into in engine.forks]  # `rules at0 up` is dropped, the episode is the same
    assert forks == [(3, "5.7.0.0.1"), (0, "5.7.0.0.2"), (0, "5.7.0.0.3")]


async def test_pictures_travel_with_the_request():
    class Blind(WordRenderer):
        def open(self, messages, tools=()):
            return super().open([M(m.role, m.text) for m in messages])

        def extend(self, history, messages, tokens, tools=()):
            return self.open(messages)

    def seen(name):
        return {SOLO: Feedback(messages=(M("user", "at1", Image(hash=name)),))}

    class Pictured(Count):
        async def reset(self, task):
            return seen("a")

    engine, render = Engine(), Blind(WORDS.words[3:], turn_tokens=1)
    t = (await play(engine, lambda: Pictured(faults={1: seen("b")}), render)).trajectories[0]
    assert [[i.hash for i in r.images] for r in engine.requests[:2]] == [["a"], ["a", "b"]]
    assert [n.blobs for n in t.nodes[:3]] == [("a",), (), ("b",)]


async def test_other_tools_than_the_path_was_opened_with_open_a_branch():
    class Tooled(WordRenderer):
        def open(self, messages, tools=()):
            return (*self.ids(tools[0].name), *super().open(messages))

    def offer(name):
        return {SOLO: Feedback(messages=(M("user", "at1"),), tools=(Tool(name=name),))}

    class Changing(Count):
        async def reset(self, task):
            return offer("rules")

    engine, render = Engine(), Tooled(WORDS.words[3:], turn_tokens=1)
    faults = {1: offer("rules"), 2: offer("down")}
    t = (await play(engine, lambda: Changing(goal=2, faults=faults), render)).trajectories[0]
    assert [render.text(r.prompt) for r in engine.requests] == [
        "rules at1",
        "rules at1 up at1",
        "down at1 up at1 up at1",
        "down at1 up at1 up at1 up at1",
    ]
    assert t.events == ("branch",) and t.turns == 4


async def test_rewards_before_the_first_turn_belong_to_it():
    class Generous(Count):
        async def reset(self, task):
            return {SOLO: Feedback(messages=(M("user", "at0"),), reward={"gift": 0.5})}

    t = (await play(Engine(), lambda: Generous(goal=2))).trajectories[0]
    assert t.turn_rewards == pytest.approx((0.4, 0.9)) and t.reward == pytest.approx(1.3)


async def test_messages_that_cannot_be_rendered_are_our_error():
    with pytest.raises(RenderError, match="at77"):
        await play(Engine(), lambda: Count(faults={1: {SOLO: Feedback(messages=(M("user", "at77"),))}}))


def test_plans_are_checked_and_can_be_written_down():
    for bad in ({"group_size": 0}, {"max_turns": -1}, {"context": -2}, {"deadline_s": -1.0}):
        with pytest.raises(PlanError):
            episodes(**bad)
    for odd in (math.nan, math.inf, None, [1], True):
        with pytest.raises(PlanError, match=rf"deadline_s is {re.escape(repr(odd))}; .* all finite"):
            episodes(deadline_s=odd)  # pyrefly: ignore
    made = build("rollout", {"name": "episodes", "group_size": 4, "digests": True})
    assert provenance(made) == {"kind": "rollout", "name": "episodes", "group_size": 4, "digests": True}


def test_the_rollout_itself_costs_little():
    """256 episodes of 13 turns at once, in function calls a turn, which no load of the machine changes."""
    said = Completion(
        tokens=(WORDS.ids("up")[0],), logprobs=(0.0,), finish="length", spans=(Span(start=0, stop=1, version=0),)
    )
    answers = [{SOLO: Feedback(messages=(M("user", f"at{i}"),), reward={"cost": -0.1}, action="up")} for i in range(13)]
    last = {SOLO: Feedback(reward={"success": 1.0}, stop=Stop.done)}

    class Quick(Engine):
        async def generate(self, request):
            return said

    class Replay(Count):
        async def reset(self, task):
            return answers[0]

        async def step(self, moves):
            self.steps += 1
            return answers[self.steps] if self.steps < 13 else last

    async def play_all():
        cast, _ = cast_of(Quick(), Replay)
        rollout = episodes(group_size=8)
        return await asyncio.gather(*(rollout(TASK, cast, i) for i in range(32)))

    calls = 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        groups = asyncio.run(play_all())
    finally:
        sys.setprofile(None)
    assert sum(t.turns for g in groups for t in g.trajectories) == 256 * 13
    assert calls / (256 * 13) < 190, "it was 153, some 20 us"
