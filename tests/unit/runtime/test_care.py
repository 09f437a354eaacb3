"""The bias meter, quarantine, and what a run leaves out."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from quintain.parts import PartError
from quintain.registry import stamp
from quintain.runtime.bias import ALPHA, LEAST, QUANTITIES, BiasMeter, differences, interval
from quintain.runtime.care import Care
from quintain.runtime.quarantine import OnlyPoison, Quarantine
from quintain.types import Completion, Group, Node, Span, Stop, Task, Trajectory


def trajectory(name, reward=0.0, turns=1, stop=Stop.done, events=(), tags=None):
    said = Completion(tokens=(1, 2), logprobs=(0.0, 0.0), finish="stop", spans=(Span(start=0, stop=2, version=0),))
    nodes = [Node.given(None, (1,))]
    for turn in range(turns):
        nodes.append(Node.sampled(len(nodes) - 1, said, turn=turn))
    rewards = {"win": reward}
    return Trajectory(id=name, nodes=tuple(nodes), stop=stop, rewards=rewards, events=events, tags=tags or {})


def group(*trajectories, ticket=0, key="t"):
    return Group(task=Task(key=key, env="e"), trajectories=trajectories, ticket=ticket)


def crashed(name="c", retries=0):
    events = tuple(f"retry {i}: crashed: x" for i in range(retries))
    return trajectory(name, stop=Stop.crashed, turns=0, events=(*events, "crashed: OSError: no disk"))


async def as_it_is(group):
    return group


def test_differences_are_of_means_within_a_group():
    found = differences(
        group(trajectory("a", 1.0, 3), trajectory("b", 0.0, 1)), group(trajectory("c", 1.0, 4), trajectory("d", 1.0, 8))
    )
    assert found == {"reward": -0.5, "turns": -4.0, "tokens": -8.0}


def test_the_interval_seldom_misses_although_it_is_looked_at_after_every_step(rng):
    misses = 0
    for _ in range(400):
        values = rng.binomial(1, 0.2, 600) - rng.binomial(1, 0.2, 600)
        n, total, squares = 0, 0.0, 0.0
        for value in values.tolist():
            n, total, squares = n + 1, total + value, squares + value * value
            low, high = interval(n, total, squares, ALPHA)
            if n >= LEAST and not low <= 0 <= high:
                misses += 1
                break
    assert misses <= 400 * ALPHA  # a plain 95 % interval would miss in about half of them


def test_a_shift_is_found_and_told_once():
    meter = BiasMeter()
    for i in range(400):
        won = group(trajectory("w", float(i % 2), turns=2))
        lost = group(trajectory("l", float((i // 2) % 2), turns=2 + i % 3))
        meter.compare(won, lost)
        meter.add(meter.pending())
        if i == LEAST - 2:
            assert meter.warning() == "", "too few groups"
    text = meter.warning()
    assert "turns by -0.9" in text and "tokens by -1.9" in text and "reward" not in text.split("rollout")[0]
    assert meter.warning() == ""
    row = meter.row()
    assert row["bias/groups"] == 400 and row["bias/reward_low"] < 0 < row["bias/reward_high"]
    again = BiasMeter()
    again.restore(json.loads(json.dumps(meter.state())))
    assert again.row() == row and again.warning() == ""


def test_ranks_add_up_and_nothing_is_counted_twice():
    one, two = BiasMeter(), BiasMeter()
    one.compare(group(trajectory("a", 1.0)), group(trajectory("b", 0.0)))
    two.compare(group(trajectory("a", 0.0)), None)
    sums = [m.pending() for m in (one, two)]
    total = {k: sum(s[k] for s in sums) for k in sums[0]}
    for meter in (one, two):
        meter.add(total)
        assert meter.row()["bias/groups"] == 1 and meter.row()["bias/reward"] == 1.0
        assert meter.pending() == dict.fromkeys(("n", *QUANTITIES, *(f"{q}^2" for q in QUANTITIES)), 0.0)


async def test_losers_are_scored_apart_and_not_trained():
    scored = []

    async def reward(group):
        scored.append([t.id for t in group.trajectories])
        return group

    care = Care()
    out = await care.score(reward, group(trajectory("a"), trajectory("b", tags={"lost": True}), trajectory("c")))
    assert [t.id for t in out.trajectories] == ["a", "c"] and scored == [["a", "c"], ["b"]]
    assert care.row(lambda sums: sums, True)["bias/groups"] == 1


async def test_a_group_with_fewer_trajectories_than_were_asked_for_is_told_once():
    care = Care()
    await care.score(as_it_is, group(trajectory("a")))
    assert care.warning() == "", "any number will do"
    care = Care(asked=("mine", 2))
    await care.score(as_it_is, group(trajectory("a"), trajectory("b")))
    assert care.warning() == ""
    await care.score(as_it_is, group(trajectory("a"), trajectory("b", tags={"lost": True})))
    assert care.warning() == (
        "the rollout 'mine' gave 1 of the 2 episodes that rollout.group_size asks for (task t): its groups are trained as they are; "
        "let it play as many, or set rollout.group_size=1"
    )
    await care.score(as_it_is, group(trajectory("a")))
    assert care.warning() == ""


async def test_games_are_counted_not_the_seats_that_played_them():
    care = Care(asked=("mine", 2))
    both = tuple(replace(trajectory(seat), agent=seat) for seat in "XO")
    await care.score(as_it_is, group(*both, *(replace(t, id=f"{t.id}2", episode=1) for t in both)))
    await care.score(as_it_is, group(*(replace(t, episode=i) for i, t in enumerate(both))))  # from each seat
    assert care.warning() == ""
    await care.score(as_it_is, group(*both))
    assert "'mine' gave 1 of the 2 episodes that rollout.group_size asks for" in care.warning()


def test_a_task_is_set_aside_when_its_env_spoiled_every_try():
    quarantine, bad = Quarantine(3), group(crashed("a"), crashed("b"))
    assert not quarantine.refuses(bad) and quarantine.see(bad) is None
    assert quarantine.refuses(bad), "two tries and two make four"
    fact = quarantine.see(bad)
    assert fact == {"task": "t", "env": "e", "tries": 4, "cause": "crashed: OSError: no disk"}
    assert quarantine.holds(bad.task) and quarantine.refuses(bad) and quarantine.see(bad) is None
    assert not quarantine.holds(Task(key="u", env="e")) and not quarantine.holds(Task(key="t", env="f"))
    again = Quarantine(3)
    again.restore(json.loads(json.dumps(quarantine.state())))
    assert again.holds(bad.task)


def test_retries_count_as_tries_and_one_success_clears_them():
    quarantine = Quarantine(3)
    assert quarantine.refuses(group(crashed("a", retries=2)))
    assert quarantine.see(group(crashed("a", retries=1))) is None and quarantine.tries == {"e:t": 2}
    mixed = group(crashed("a", retries=5), trajectory("b"))
    assert not quarantine.refuses(mixed) and quarantine.see(mixed) is None and quarantine.tries == {}
    assert not Quarantine(0).refuses(group(crashed("a", retries=9)))


def test_what_is_poison_is_dropped_with_a_reason_and_written_down():
    care, wrote = Care(quarantine=2), []
    bad, good = group(crashed("a"), crashed("b"), ticket=4), group(trajectory("c"), trajectory("d"), ticket=5, key="u")
    kept, why = care.sift((bad, good))
    assert kept == (good,) and why == {4: "failed"}
    care.see((bad, good), lambda kind, fact: wrote.append((kind, fact["ticket"], fact["task"], fact["tries"])))
    assert wrote == [("quarantine", 4, "t", 2)] and care.row(dict, False) == {"quarantined": 1.0}
    assert care.row(lambda own: {**own, "env_deaths": 2.0}, False) == {"quarantined": 1.0, "env_deaths": 2.0}, "of all"


def test_no_task_is_to_blame_where_no_episode_of_any_got_through():
    care, bad, worse = Care(quarantine=1), group(crashed(), key="1"), group(crashed(), key="2")
    care.see((bad, worse), lambda kind, fact: pytest.fail("none is set aside"))
    assert not care.quarantine.poison and not care.quarantine.tries
    care.see((bad, worse, group(trajectory("a"), key="3")), lambda kind, fact: None)
    assert set(care.quarantine.poison) == {"e:1", "e:2"}, "others got through beside them"


def test_failed_episodes_are_left_out_of_baselines_where_asked():
    mixed = group(trajectory("a"), crashed("b"), trajectory("c"))
    assert Care().sift((mixed,))[0] == (mixed,)
    assert [t.id for t in Care(drop_failed=True).sift((mixed,))[0][0].trajectories] == ["a", "c"]
    alone = group(crashed("b"))
    assert Care(drop_failed=True).sift((alone,)) == ((alone,), {})


class Round:
    """Draws the tasks 0 .. n-1, around and around."""

    def __init__(self, n):
        self.n = n

    def draw(self, state):
        return Task(key=str(state % self.n), env="e"), state + 1


def test_poison_is_not_drawn_again_and_nothing_else_to_draw_is_an_error():
    care, state, drawn = Care(quarantine=1), 0, []
    care.see((group(crashed(), key="1"),), lambda kind, fact: None)
    for _ in range(4):
        task, state = care.draw(Round(3), state)
        drawn.append(task.key)
    assert drawn == ["0", "2", "0", "2"]
    for key in "02":
        care.see((group(crashed(), key=key),), lambda kind, fact: None)
    with pytest.raises(OnlyPoison, match="no disk"):
        care.draw(Round(3), state)
    restored = Care(quarantine=1)
    restored.restore(json.loads(json.dumps(care.state())))
    with pytest.raises(OnlyPoison):
        restored.draw(Round(3), 0)


async def test_a_reward_that_gives_no_group_is_named():
    async def forgot(group):
        return None

    stamp(forgot, {"kind": "reward", "name": "my_reward"})
    with pytest.raises(
        PartError, match="the reward 'my_reward' gave None, a NoneType; it should give a Group with ticket=3"
    ):
        await Care().score(forgot, group(trajectory("a"), ticket=3))
