"""Every fault of every point that a run of one process passes: the real loop, run, keeper and ledger, with parts of a few lines.

A plan is in force in a forked process; what ends it is resumed. The end must equal that of a run that met nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import traceback
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from quintain import faults, loop
from quintain.faults import POINTS, Fault
from quintain.ledger import NotARun, RunDir, audit
from quintain.ledger.doctor import verify
from quintain.parts import Cast, Transform
from quintain.runtime.keeper import Keeper
from quintain.runtime.run import LocalRun, Parts, Plan
from quintain.types import Completion, Group, Node, QuintainError, Span, Stop, Task, Trajectory, Weights
from quintain.window import Window

pytestmark = pytest.mark.chaos
STEPS, SIZE = 8, 3
NAMES = [n for n in POINTS if n.split(".")[0] in ("ledger", "checkpoint", "reward", "window", "learner", "run")]
PAIRS = [(name, action) for name in NAMES for action in sorted(POINTS[name])]
LONGEST_S = 15
ENDED = 3  # a typed error or one of the disk


class Alone:
    """One rank."""

    rank, size = 0, 1


class ToyLearner:
    """Its weights are a hash of all that it was ever trained on, in order."""

    def __init__(self) -> None:
        self.weights, self.version = "start", 0

    async def score(self, groups, needs):
        return tuple(groups)

    async def update(self, batch, objective):
        told = [(g.ticket, g.task.key, g.digest_of) for g in batch]
        self.weights = hashlib.blake2b(repr((self.weights, told)).encode(), digest_size=8).hexdigest()
        self.version += 1
        return {"loss": 0.5}

    async def publish(self):
        return Weights(version=self.version, kind="pointer", source=self)

    def save(self, folder):
        Path(folder, "state.json").write_text(json.dumps([self.weights, self.version]))

    def load(self, folder):
        self.weights, self.version = json.loads(Path(folder, "state.json").read_text())


def toy_run(store: RunDir) -> LocalRun:
    """Sampler, gate and advantage have states, on which everything hangs."""
    learner = ToyLearner()

    async def rollout(task, cast, ticket):
        drawn = tuple(hashlib.blake2b(f"{task.key} {ticket} {learner.weights}".encode(), digest_size=3).digest())
        spans = (Span(start=0, stop=3, version=learner.version),)
        said = Completion(tokens=drawn, logprobs=(-0.5,) * 3, finish="stop", spans=spans)
        trajectory = Trajectory(id=f"{ticket}.0", nodes=(Node.sampled(None, said),), stop=Stop.done)
        return Group(task=task, trajectories=(trajectory,), ticket=ticket)

    async def reward(group):
        await asyncio.sleep(0)
        said = group.trajectories[0].nodes[0].tokens[0] / 256
        return replace(group, trajectories=(replace(group.trajectories[0], rewards={"toy": said}),))

    def sift(groups, seen):
        out = [replace(g, tags={"refill": True}) if (seen + i) % 5 == 4 else g for i, g in enumerate(groups)]
        return tuple(out), seen + len(groups)

    sampler = SimpleNamespace(
        init=lambda: {"next": 0, "heard": 0},
        draw=lambda s: (Task(key=f"{s['next']}-{s['heard']}", env="toy"), {**s, "next": s["next"] + 1}),
        observe=lambda s, group: {**s, "heard": s["heard"] + group.ticket},
    )
    batch = lambda groups: [  # noqa: E731
        SimpleNamespace(ticket=g.ticket, task=g.task, digest_of=g.trajectories[0].nodes[0].tokens) for g in groups
    ]
    nothing = Transform(lambda: 0, lambda groups, state: (groups, state + len(groups)), frozenset())
    cast = Cast(env=None, engines={}, renderers={})
    parts = Parts(
        rollout=rollout, reward=reward, sampler=sampler, advantage=nothing, objective=nothing, learner=learner,
        cast=cast, pack=batch,
    )  # fmt: skip
    window = Window(SIZE, gate=Transform(lambda: 0, sift), steps=STEPS, max_refills=20)
    return LocalRun(parts, window, Plan(steps=STEPS, checkpoint_every=2), Keeper(store, Alone()))


def train(home: Path) -> str:
    """Start or go on, to the end; gives the last weights."""
    try:
        store = RunDir.create(home, "toy = true")
    except NotARun:
        store = RunDir.open(home, "a")
    with store:
        run = toy_run(store)
        run.restore()
        asyncio.run(loop.train(run))
        run.keeper.stopped(run.step, "done")
    return run.learner.learner.weights


def live(home: Path, plan: Path | None, said: Path) -> int:
    """Train in a forked process under a plan; stops are continued. Gives its exit code."""
    child = os.fork()
    if child == 0:
        code = 99
        signal.alarm(LONGEST_S)  # it hangs: signal 14 ends it
        try:
            faults._plan = faults._Plan(plan) if plan is not None else None
            said.write_text(train(home))
            code = 0
        except (QuintainError, OSError):
            code = ENDED
        except BaseExceptionGroup as group:
            code = ENDED if group.subgroup((QuintainError, OSError)) == group else 99
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        os.kill(child, signal.SIGCONT)


@pytest.fixture(scope="module")
def straight(memory_folder):
    home = memory_folder / "calm"
    assert live(home, None, memory_folder / "said") == 0
    with RunDir.open(home) as run:
        return (memory_folder / "said").read_text(), audit(run), whole(home)


def whole(home: Path) -> list[str]:
    """The live events, without their times."""
    with RunDir.open(home) as run:
        return [
            f"{e.step} {e.kind} {_plain(e.payload)}" for e in run.events(["issued", "played", "trained", "dropped"])
        ]


def _plain(payload) -> str:
    facts = {k: v for k, v in payload.items() if k not in ("group", "task")}
    return f"{sorted(facts.items(), key=str)} {payload['group'].digest if 'group' in payload else ''}"


def check(place: Path, plan: Path, straight) -> int:
    """Train under a plan until it is done; every time it ends, what is on the disk is sound. Gives how often it ended."""
    home, said, ends = place / "run", place / "said", 0
    while (code := live(home, plan, said)) != 0:
        assert code in (-signal.SIGKILL, ENDED), code
        ends += 1
        assert ends < 20
        if (home / "run.json").exists():
            assert [f for f in verify(home) if f.level in ("error", "warning")] == []
    weights, accounts, events = straight
    with RunDir.open(home) as run:
        books = audit(run)
    assert books == accounts and books.ok and books.chain == accounts.chain
    assert said.read_text() == weights and whole(home) == events
    return ends


@pytest.mark.parametrize(("name", "action"), PAIRS)
def test_every_action_at_every_point(place, straight, name, action):
    rare = "rename" in name and name.startswith("ledger")  # once in the life of a segment
    plan = place / "plan.json"
    seconds = 0.01 if action == "delay" else 0.0
    hits = (1,) if rare else (1, 3)
    faults.write(plan, [Fault(point=name, action=action, hit=hit, seconds=seconds) for hit in hits])
    ends = check(place, plan, straight)
    assert len(faults.struck(plan)) == len(hits), "the point was not passed"
    assert 0 < ends <= len(hits) if action not in ("delay", "stop") else not ends  # two may strike at once


@pytest.mark.parametrize("seed", range(12))
def test_seeds(place, straight, seed):
    plan = place / "plan.json"
    faults.write(plan, faults.draw(seed, NAMES, count=5, hits=9), seed)
    check(place, plan, straight)
