"""Redundant members, further tries, learned deadlines, slots."""

from __future__ import annotations

import asyncio
import gc
import itertools
from types import SimpleNamespace

import pytest

from quintain.engines.scripted import ScriptedEngine
from quintain.parts import Cast
from quintain.ports import SOLO, EnvsGone, EpisodeLost
from quintain.registry import UnknownName
from quintain.render import WordRenderer
from quintain.rollouts.episode import Episode
from quintain.rollouts.episodes import PlanError, episodes
from quintain.rollouts.patience import Patience, Tail
from quintain.rollouts.race import apart, metered
from quintain.rollouts.seats import Seat
from quintain.runtime import clock
from quintain.types import BadStop, Feedback, Message, Sampling, Stop, Task

M = Message.of
TASK = Task(key="walk", env="walk", seed=3)
WORDS = WordRenderer([*(f"at{i}" for i in range(40)), "up"])


class Walk:
    """Done after `turns` answers that take `seconds` each; `fault` is raised, or slept for, at one of them."""

    def __init__(self, seconds=0.0, fault=None, at=1, turns=3):
        self.seconds, self.fault, self.when, self.turns, self.at = seconds, fault, at, turns, 0

    async def answer(self, **rest):
        if self.at == self.when and self.fault is not None:
            if isinstance(self.fault, Exception):
                raise self.fault
            await asyncio.sleep(self.fault)
        await asyncio.sleep(self.seconds)
        return {SOLO: Feedback(messages=(M("user", f"at{self.at}"),), **rest)}

    async def reset(self, task):
        return await self.answer()

    async def step(self, moves):
        self.at += 1
        done = self.at == self.turns
        return await self.answer(stop=Stop.done if done else None, reward={"walk": float(done)})

    async def close(self):
        pass


class Engine(ScriptedEngine):
    """Says `up`, and remembers keys and aborted sessions."""

    def __init__(self):
        super().__init__(WORDS, ["up"])
        self.keys, self.aborts = [], []

    async def generate(self, request):
        self.keys.append(request.key)
        return await super().generate(request)

    async def abort(self, session):
        self.aborts.append(session)


def play(*envs, ticket=7, engine=None, seed=5, **plan):
    """One group on the virtual clock; the n-th env that is made is `envs[n]`, the last one from then on."""
    made = itertools.chain(envs, itertools.repeat(envs[-1]))

    def env(task):
        found = next(made)
        return found() if callable(found) else found

    cast = Cast(
        env=env,
        engines={"policy": engine or Engine()},
        renderers={"policy": WORDS},
        sampling=Sampling(),
        seed=seed,
    )

    async def go():
        group = await episodes(**plan)(TASK, cast, ticket)
        return group, asyncio.get_running_loop().time()

    return clock.run(go())


def walk(seconds, **rest):
    return lambda: Walk(seconds, **rest)


def members(group):
    return [t.episode for t in group.trajectories]


def test_the_first_valid_members_win_and_the_others_are_cancelled():
    engine = Engine()
    group, seconds = play(
        walk(5.0), walk(1.0), walk(2.0), walk(9.0), engine=engine, group_size=2, redundancy=2, meter=0
    )
    assert members(group) == [1, 2] and seconds == 8.0 and all(t.stop is Stop.done for t in group.trajectories)
    assert group.tags["race"] == {"started": 4, "lost": 2, "tokens": 1}  # member 0 has spoken once
    assert {a.split(".")[2] for a in engine.aborts} == {"0", "1", "2"}  # member 3 never opened its session


def test_failed_members_do_not_win_while_others_can():
    faulty = walk(0.1, fault=ValueError("no"))
    group, _ = play(faulty, walk(1.0), walk(2.0), group_size=2, redundancy=1)
    assert members(group) == [1, 2] and group.tags["race"]["lost"] == 1
    group, _ = play(faulty, walk(1.0), faulty, group_size=2, redundancy=1)
    assert members(group) == [0, 1], "nobody else is left to win"
    assert [t.stop for t in group.trajectories] == [Stop.crashed, Stop.done]
    group, _ = play(walk(0.1, fault=70.0), walk(1.0), walk(2.0), group_size=2, redundancy=1)
    assert members(group) == [1, 2]


def test_an_error_of_ours_ends_the_race():
    class Broken(Engine):
        async def generate(self, request):
            if request.key[2] == 1:
                raise RuntimeError("engine down")
            return await super().generate(request)

    with pytest.raises(RuntimeError, match="engine down"):
        play(walk(1.0), engine=Broken(), group_size=2, redundancy=2)


def test_without_redundancy_nothing_is_counted_and_the_slowest_counts():
    group, seconds = play(walk(1.0), walk(3.0), group_size=2)
    assert group.tags == {} and seconds == 12.0


def test_losers_of_a_metered_group_are_played_out_and_come_along():
    slow, fast, bad = walk(5.0), walk(1.0), walk(1.0, fault=OSError())
    group, seconds = play(slow, fast, fast, bad, group_size=2, redundancy=2, meter=1.0)
    won, lost = apart(group)
    assert members(won) == [1, 2] and members(lost) == [0] and seconds == 20.0, "one that failed is no loser to compare"
    assert lost.trajectories[0].reward == 1.0 and group.tags["race"] == {
        "started": 4,
        "lost": 2,
        "tokens": lost.trajectories[0].length + 1,
        "metered": 1,
    }
    assert apart(won) == (won, None)


def test_the_meter_s_share_is_seeded():
    chosen = [t for t in range(2000) if metered(0.05, 1, t)]
    assert chosen == [t for t in range(2000) if metered(0.05, 1, t)] and 70 < len(chosen) < 130
    assert chosen != [t for t in range(2000) if metered(0.05, 2, t)]
    assert not any(metered(0.0, 1, t) for t in range(100)) and all(metered(1.0, 1, t) for t in range(100))


def test_a_failed_episode_is_played_again_with_the_same_noise():
    engine = Engine()
    group, _ = play(walk(1.0, fault=OSError("gone"), at=2), walk(1.0), engine=engine, group_size=1, retries=1)
    (t,) = group.trajectories
    assert t.stop is Stop.done and t.events == ("retry 1: crashed: OSError: gone",) and t.turns == 3
    assert engine.keys == [(5, 7, 0, 0, 0), (5, 7, 0, 1, 0), *[(5, 7, 0, turn, 0) for turn in range(3)]]
    clean, _ = play(walk(1.0), group_size=1)
    assert [n.tokens for n in t.nodes] == [n.tokens for n in clean.trajectories[0].nodes]


def test_tries_are_counted_and_end():
    late = walk(0.1, fault=70.0)
    group, seconds = play(late, group_size=1, retries=2)
    (t,) = group.trajectories
    assert t.stop is Stop.timeout and seconds > 180.0
    assert [e.split(":")[0] for e in t.events] == ["retry 1", "retry 2", "timeout"]
    group, _ = play(late, walk(1.0), group_size=1)
    assert group.trajectories[0].stop is Stop.timeout, "no retries unless asked for"


def test_an_episode_that_its_env_lost_is_played_again_unasked_but_not_for_ever():
    lost = walk(0.1, fault=EpisodeLost("its worker died"))
    (t,) = play(lost, lost, walk(0.1), group_size=1)[0].trajectories
    assert t.stop is Stop.done and [e[:7] for e in t.events] == ["retry 1", "retry 2"]
    (t,) = play(lost, group_size=1)[0].trajectories
    assert t.stop is Stop.crashed and len(t.events) == 4 and "its worker died" in t.events[-1]


def test_that_no_env_answers_any_more_is_not_the_episode_s_affair():
    with pytest.raises(EnvsGone, match="all gone"):
        play(walk(0.1, fault=EnvsGone("all gone")), group_size=1, retries=5)


@pytest.mark.parametrize("stop", ["won", "done", True, 1])
@pytest.mark.parametrize("own", [True, False])
def test_an_env_that_ends_an_episode_with_what_is_no_stop_is_refused_by_name(stop, own):
    class Odd(Walk):
        async def step(self, moves):
            said = {"messages": (), "reward": {}, "acts": True, "tools": (), "events": (), "action": "", "state": None}
            return {SOLO: SimpleNamespace(**said, stop=stop) if own else Feedback(stop=stop)}

    with pytest.raises(BadStop, match=rf"stop={stop!r}, a {type(stop).__name__}; .*Stop.done, .*truncated_turns"):
        play(lambda: Odd(0.1), group_size=1, retries=5)


def test_slots_let_so_many_play_in_order_of_arrival():
    begun = []

    class Seen(Walk):
        async def reset(self, task):
            begun.append(asyncio.get_running_loop().time())
            return await super().reset(task)

    made = [(lambda s=s: Seen(s)) for s in (4.0, 1.0, 1.0, 1.0)]
    group, seconds = play(*made, group_size=4, slots=2)
    assert (
        begun == [0.0, 0.0, 4.0, 8.0] and seconds == 16.0
    )  # whoever is free takes the next one: no batch is waited for
    assert group.tags == {"busy_s": 16.0 + 3 * 4.0} and members(group) == [0, 1, 2, 3]


def test_no_more_than_resets_are_under_way_and_those_that_play_hold_nobody_back():
    begun = []

    class Late(Walk):
        async def reset(self, task):
            begun.append(asyncio.get_running_loop().time())
            return await super().reset(task)

    made = [(lambda: Late(10.0)) for _ in range(5)]
    group, _ = play(*made, group_size=5, resets=2)
    assert begun == [0.0, 0.0, 10.0, 10.0, 20.0] and members(group) == [0, 1, 2, 3, 4]
    begun.clear()
    play(*made, group_size=5, resets=0)
    assert begun == [0.0] * 5


def test_an_episode_leaves_nothing_for_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        play(*[Walk() for _ in range(4)], group_size=4)
        left = [o for o in gc.get_objects() if type(o) in (Seat, Episode)]  # `isinstance` would wake lazy modules
    finally:
        gc.enable()
    assert not left, "what ends is freed at once: a collection would have to look at all episodes"


def test_a_slow_member_holds_back_no_other_group():
    cast = Cast(
        env=lambda task: Walk(100.0 if task.seed == 0 else 1.0),
        engines={"policy": Engine()},
        renderers={"policy": WORDS},
    )

    async def go():
        rollout, ends = episodes(group_size=2, slots=3, deadline_s=0), {}

        async def one(ticket):
            await rollout(Task(key="t", env="walk", seed=ticket), cast, ticket)
            ends[ticket] = asyncio.get_running_loop().time()

        await asyncio.gather(*(one(t) for t in range(4)))
        return ends

    ends = clock.run(go())
    assert ends == {0: 400.0, 1: 8.0, 2: 16.0, 3: 24.0}


def test_quantiles_are_exact_to_two_per_cent(rng):
    tail, values = Tail(), rng.lognormal(-2.0, 1.0, 4000)
    for value in values:
        tail.add(float(value))
    for share in (0.5, 0.99):
        exact = sorted(values)[int(share * 4000) - 1]
        assert exact <= tail.quantile(share) <= exact * 1.0201
    assert Tail().quantile(0.99) == 0.0


def test_old_answers_count_less_and_less():
    tail = Tail()
    for _ in range(8000):
        tail.add(1.0)
    for _ in range(40_000):
        tail.add(0.1)
    assert tail.quantile(0.99) < 0.11 and tail.total < 8192


def test_a_learned_deadline_follows_the_env_s_own_answers():
    patience = Patience(3.0, 0.5, 60.0)
    for _ in range(99):
        patience.answered("a", "step", 1.0)
    assert patience.seconds("a", "step") == 60.0
    for _ in range(100):
        patience.answered("a", "step", 1.0)
        patience.answered("b", "step", 0.001)
        patience.answered("a", "reset", 30.0)
    assert patience.seconds("a", "step") == pytest.approx(3.0, rel=0.03)
    assert patience.seconds("b", "step") == 0.5 and patience.seconds("a", "reset") == 60.0
    assert patience.seconds("c", "step") == 60.0
    free = Patience(3.0, 0.5, 0.0)
    for _ in range(200):
        free.answered("a", "reset", 30.0)
    assert free.seconds("a", "reset") == pytest.approx(90.0, rel=0.03) and free.seconds("b", "reset") == 0.0


def test_hangs_are_given_up_after_the_learned_deadline():
    hangs = walk(0.5, fault=1000.0)
    plan = {"group_size": 60, "slots": 1, "deadline_s": "auto", "floor_s": 0.1}
    group, seconds = play(*[walk(0.5)] * 59, hangs, **plan)
    (late,) = [t for t in group.trajectories if t.stop is not Stop.done]
    assert late.stop is Stop.timeout and group.tags["deadline_s"] == pytest.approx(1.5, rel=0.03)
    assert late.events[0].startswith("timeout: no answer within 1.5") and seconds == pytest.approx(
        59 * 2 + 0.5 + 1.5, abs=0.1
    )


@pytest.mark.parametrize(
    "bad",
    [{"redundancy": -1}, {"retries": 0.5}, {"slots": -2}, {"meter": 1.5}, {"factor": 1.0}, {"deadline_s": "soon"}],
)
def test_nonsense_is_refused(bad):
    with pytest.raises(PlanError, match=next(iter(bad))):
        episodes(**bad)


def test_an_option_that_is_not_there_is_answered_with_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'retries'"):
        episodes(retrys=1)
