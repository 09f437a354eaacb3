"""Groups go to the pool that fits: by measured shares, until its actors have theirs, without anybody idle."""

from __future__ import annotations

import asyncio
import random
from types import SimpleNamespace

import pytest
from tests.unit.runtime.test_crew import CAST, FakeLink, FakeTransport, until

from quintain.config import ConfigError, make
from quintain.ledger.groups import pack_group
from quintain.runtime import crew as crews
from quintain.runtime.affinity import Affinity
from quintain.types import Completion, Group, Node, Span, Stop, Task, Trajectory

READS, WRITES = Task(key="r", env="reads"), Task(key="w", env="writes")


def trajectory(context: int, sampled: int, name: str) -> Trajectory:
    """One turn: a prompt and an answer, of so many tokens."""
    spans = (Span(start=0, stop=sampled, version=0),)
    answer = Completion(tokens=(2,) * sampled, logprobs=(-1.0,) * sampled, finish="stop", spans=spans)
    return Trajectory(id=name, nodes=(Node.given(None, (1,) * context), Node.sampled(0, answer)), stop=Stop.done)


def group(task: Task, context: int, sampled: int) -> Group:
    return Group(task=task, trajectories=tuple(trajectory(context, sampled, n) for n in "ab"))


def players(*labels: str) -> list[SimpleNamespace]:
    return [SimpleNamespace(number=i, label=label, jobs={}) for i, label in enumerate(labels)]


def learned(threshold: float = 0.5) -> Affinity:
    affinity = Affinity(threshold)
    affinity.learn(group(READS, 90, 10))
    affinity.learn(group(WRITES, 20, 80))
    return affinity


def test_the_share_of_a_stratum_is_measured_and_followed():
    affinity = Affinity()
    assert affinity.fits(("reads", 0)) == ""
    affinity = learned()
    assert (affinity.fits(("reads", 0)), affinity.fits(("writes", 0)), affinity.fits(("reads", 1))) == (
        "prefill",
        "decode",
        "",
    )
    assert learned(0.95).fits(("reads", 0)) == "decode"
    for _ in range(40):
        affinity.learn(group(READS, 10, 90))
    assert affinity.fits(("reads", 0)) == "decode", "what a policy does may change"
    affinity.learn(Group(task=WRITES, trajectories=()))
    assert affinity.fits(("writes", 0)) == "decode"


def test_groups_go_where_they_fit_and_elsewhere_only_when_those_have_their_share():
    affinity, actors = learned(), players("prefill", "decode", "prefill", "decode")
    chosen = []
    for ticket in range(4):
        actor = affinity.choose(("reads", 0), actors)
        actor.jobs[ticket] = None
        chosen.append(actor.label)
    assert chosen == ["prefill", "prefill", "decode", "decode"], "nobody is idle beside actors with two groups"
    assert affinity.counters() == {"groups_fitting": 2.0, "groups_elsewhere": 2.0} and affinity.counters() == {}
    assert affinity.choose(("writes", 0), actors).number == 1
    assert affinity.choose(("reads", 0), actors).number == 0
    assert affinity.counters() == {"groups_fitting": 2.0, "groups_elsewhere": 0.0}


def test_any_fits_everything_and_without_different_labels_or_knowledge_the_least_busy_plays():
    affinity = learned()
    actors = players("decode", "any")
    assert affinity.choose(("reads", 0), actors).label == "any"
    assert affinity.choose(("unknown", 0), actors).number == 0
    assert affinity.choose(("writes", 0), actors).number == 0
    assert affinity.counters() == {"groups_fitting": 2.0, "groups_elsewhere": 0.0}
    assert affinity.choose(("reads", 0), players("decode", "decode")).number == 0 and affinity.counters() == {}


def test_whatever_comes_and_goes_no_actor_is_idle_while_another_has_two_more_than_its_share():
    rng, affinity, actors = random.Random(5), learned(), players("prefill", "decode", "any", "decode", "prefill")
    open_jobs: list[tuple[SimpleNamespace, int]] = []
    fitting = 0
    for ticket in range(3000):
        stratum = rng.choice([("reads", 0), ("writes", 0), ("unknown", 0)])
        before = [len(a.jobs) for a in actors]
        actor = affinity.choose(stratum, actors)
        share = (sum(before) + 1) / len(actors)
        assert before[actors.index(actor)] < share, "nobody gets more than the share while another has less"
        fitting += actor.label in (affinity.fits(stratum), "any")
        actor.jobs[ticket] = None
        open_jobs.append((actor, ticket))
        while len(open_jobs) > rng.randint(0, 16):
            done, number = open_jobs.pop(rng.randrange(len(open_jobs)))
            del done.jobs[number]
    counts = affinity.counters()
    assert counts["groups_fitting"] > 3 * counts["groups_elsewhere"] > 0 and fitting >= counts["groups_fitting"]


async def test_a_crew_learns_from_answers_and_places_by_labels(monkeypatch):
    transport = FakeTransport()
    labels = iter(["prefill", "decode"])
    made = transport.start

    def start(number: int) -> FakeLink:
        link = made(number)
        link.label = next(labels)
        return link

    monkeypatch.setattr(transport, "start", start)
    crew = crews.Crew(transport, 2)
    await crew.start()
    await until(lambda: all(m.up for m in crew.members.values()))

    async def played(task: Task, by: int, context: int, sampled: int) -> None:
        before = [len(link.asked) for link in transport.links]
        playing = asyncio.create_task(crew.rollout(2)(task, CAST, 1))
        await until(lambda: sum(len(link.asked) for link in transport.links) > sum(before))
        assert len(transport.links[by].asked) > before[by]
        transport.links[by].answers.put_nowait({"group": pack_group(group(task, context, sampled))})
        await playing

    await played(WRITES, 0, 10, 90)  # nothing is known
    await played(WRITES, 1, 10, 90)
    await played(READS, 0, 90, 10)
    await played(READS, 0, 90, 10)
    assert crew.affinity.counters() == {"groups_fitting": 2.0, "groups_elsewhere": 0.0}
    await crew.close()


@pytest.mark.parametrize("share", [0, 1])
def test_a_threshold_out_of_range_is_refused(share):
    with pytest.raises(ConfigError, match="prefill_share"):
        make("tiny", overrides=[f"cluster.prefill_share={share}"])
