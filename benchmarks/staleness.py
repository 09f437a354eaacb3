"""100,000 trajectories on random schedules with random kills: how many hold a token older than `max_lag` when they are trained.

The loop, the window, the ledger and the checkpoints are the real ones; playing and learning are delays on a virtual clock, from
`workloads/staleness.toml`. Each life of a run is a process that ends, without a word, at a random moment; the next one goes on
from the newest checkpoint. What was trained is read back from the ledger afterwards.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from _modelled import workload

from quintain.ledger import RunDir, audit
from quintain.loop import OverLimit, Window, train
from quintain.parts import Cast, Transform
from quintain.runtime import clock
from quintain.runtime.keeper import Keeper
from quintain.runtime.run import LocalRun, Parts, Plan
from quintain.types import Completion, Group, Node, Span, Stop, Task, Trajectory, Weights

KILLED = 9


class Player:
    """An engine of which only the version is real."""

    version = 0

    async def load(self, weights: Weights) -> None:
        """Play with a version from now on."""
        self.version = weights.version


class Steps:
    """A learner of which only the count of its steps is real."""

    def __init__(self, update_s: float) -> None:
        self.update_s, self.trained = update_s, 0

    async def score(self, groups: Any, needs: Any) -> Any:
        """Nothing is needed."""
        return tuple(groups)

    async def update(self, batch: Any, objective: Any) -> dict[str, float]:
        """A delay."""
        await asyncio.sleep(self.update_s * random.Random(self.trained).uniform(0.5, 1.5))
        self.trained += 1
        return {}

    async def publish(self) -> Weights:
        """The next version."""
        return Weights(version=self.trained, kind="pointer")

    def save(self, folder: str) -> None:
        """The whole state."""
        (Path(folder) / "learner.json").write_text(json.dumps(self.trained))

    def load(self, folder: str) -> None:
        """What `save` wrote."""
        self.trained = json.loads((Path(folder) / "learner.json").read_text())


class Draws:
    """A sampler without end."""

    def init(self) -> int:
        """The first task."""
        return 0

    def draw(self, state: int) -> tuple[Task, int]:
        """The next task."""
        return Task(key=str(state), env="x", seed=state), state + 1

    def observe(self, state: int, group: Group) -> int:
        """Nothing is learnt."""
        return state


def schedule(load: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The settings of one schedule, drawn from the ranges of the workload."""
    rng = random.Random(f"{load['seed']} {number}")
    chosen: dict[str, Any] = {}
    for name, (low, high) in load["ranges"].items():
        chosen[name] = rng.randint(low, high) if isinstance(low, int) else rng.uniform(low, high)
    policy = rng.choice(["wait", "withhold", "refill"])
    chosen["over"] = OverLimit(policy, chosen["ahead"] if policy != "wait" and chosen["max_lag"] else 0)
    chosen["steps"] = -(-load["groups"] // chosen["groups_per_step"])
    return chosen | {"number": number}


def build(chosen: Mapping[str, Any], store: RunDir) -> LocalRun:
    """A run of real bookkeeping around modelled parts."""
    learner: Any = Steps(chosen["update_s"])
    player: Any = Player()

    async def rollout(task: Task, cast: Cast, ticket: int) -> Group:
        async def episode(member: int) -> Trajectory:
            rng = random.Random(f"{chosen['number']} {ticket} {member}")
            spans: list[int] = []
            for _ in range(rng.randint(1, chosen["turns"])):
                slow = 20.0 if rng.random() < chosen["tail"] else 1.0
                await asyncio.sleep(slow * rng.expovariate(1 / chosen["turn_s"]))
                spans.append(player.version)
            n = len(spans)
            parts = tuple(Span(start=i, stop=i + 1, version=v) for i, v in enumerate(spans))
            said = Completion(tokens=(1,) * n, logprobs=(-1.0,) * n, finish="stop", spans=parts)
            nodes = (Node.sampled(None, said),)
            return Trajectory(id=f"{ticket}.{member}", nodes=nodes, stop=Stop.done, rewards={"r": rng.random()})

        members = await asyncio.gather(*[episode(m) for m in range(chosen["group_size"])])
        return Group(task=task, trajectories=tuple(members), ticket=ticket)

    def judge(groups: Any, state: int) -> Any:
        (group,) = groups
        luck = random.Random(f"gate {chosen['number']} {group.ticket}").random()
        if luck < chosen["refill"] / 2:
            return (), state + 1
        tags = {"refill": True} if luck < chosen["refill"] else {}
        return (
            Group(
                task=group.task, trajectories=group.trajectories, ticket=group.ticket, version=group.version, tags=tags
            ),
        ), state

    async def reward(group: Group) -> Group:
        return group

    shape = {"max_refills": 10**6, "steps": chosen["steps"], "over": chosen["over"]}
    window = Window(chosen["groups_per_step"], chosen["max_lag"], chosen["look"], Transform(lambda: 0, judge), **shape)
    same: Any = Transform(lambda: None, lambda groups, state: (groups, state))
    cast = Cast(env=lambda task: SimpleNamespace(), engines={"policy": player}, renderers={})
    parts = Parts(
        rollout=rollout, reward=reward, sampler=Draws(), advantage=same, objective=same, learner=learner, cast=cast, pack=tuple
    )  # fmt: skip
    return LocalRun(
        parts, window, Plan(steps=chosen["steps"], checkpoint_every=chosen["checkpoint_every"]), Keeper(store, Alone())
    )


class Alone:
    """One rank."""

    rank, size = 0, 1


async def live(chosen: Mapping[str, Any], folder: Path, kill_s: float) -> None:
    """One life of a run: from its start or its newest checkpoint to its end, or to a moment when the process is gone."""
    store = RunDir.open(folder, "a", record="none")
    run = build(chosen, store)
    if kill_s:
        asyncio.get_running_loop().call_later(kill_s, os._exit, KILLED)
    if not run.restore():
        run.capture()
        run.checkpoint()
    await run.cast.load(Weights(version=run.step, kind="pointer"))
    run.begin()
    await train(run)
    store.close()


def lives(chosen: Mapping[str, Any], folder: Path, kills: int) -> int:
    """Play a schedule to its end; how many kills hit it."""
    rng, hits = random.Random(f"kills {chosen['number']}"), 0
    RunDir.create(folder, "").close()
    while True:
        kill_s = rng.expovariate(kills / (chosen["steps"] * chosen["update_s"])) + 0.01 if hits < kills else 0.0
        child = os.fork()
        if not child:
            try:
                clock.run(live(chosen, folder, kill_s))
                os._exit(0)
            except BaseException as error:
                print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == KILLED:
            hits += 1
        elif status == 0:
            return hits
        else:
            raise SystemExit(f"schedule {chosen['number']} ended with status {status}: {dict(chosen)}")


def read(folder: Path, max_lag: int) -> tuple[int, int, int, Counter[int], Any]:
    """From the ledger: trajectories trained, violations, withheld or refilled groups, lags, the audit."""
    trained = bad = 0
    lags: Counter[int] = Counter()
    with RunDir.open(folder) as store:
        books = audit(store)
        for event in store.events(["trained"]):
            for group in store.packed(step=event.payload["step"]):
                trained += len(group.rows)
                lag = event.payload["step"] - min(row.oldest for row in group.rows)
                lags[lag] += 1
                bad += sum(event.payload["step"] - row.oldest > max_lag for row in group.rows)
    return trained, bad, books.reasons.get("lag", 0) + books.reasons.get("withheld", 0), lags, books


def main() -> None:
    """Run schedules until enough trajectories were trained."""
    load = workload("staleness")
    trained = bad = late = kills = schedules = wrong = 0
    lags: Counter[int] = Counter()
    with tempfile.TemporaryDirectory() as room:
        while trained < load["trajectories"]:
            chosen = schedule(load, schedules)
            folder = Path(room) / str(schedules)
            kills += lives(chosen, folder, load["kills"])
            more, violations, gone, seen, books = read(folder, chosen["max_lag"])
            trained, bad, late, schedules = trained + more, bad + violations, late + gone, schedules + 1
            wrong += len(books.lost) + len(books.duplicated) + len(books.pending)
            lags += seen
            print(
                f"{schedules}: {chosen['over']}, lag <= {chosen['max_lag']}, {trained} trained, {kills} kills",
                file=sys.stderr,
            )
    note = f"{trained} trajectories in {schedules} schedules, {kills} kills; {late} groups came too late and were not trained; "
    note += f"prompts lost, doubled or left over {wrong}; groups by lag: "
    note += ", ".join(f"{lag}: {count}" for lag, count in sorted(lags.items()))
    row = {
        "name": "trajectories trained beyond max_lag, of 100,000 (virtual clock)",
        "ours": bad,
        "peer": None,
        "ratio": None,
    }
    print(json.dumps(row | {"target": "0", "holds": not bad and not wrong, "note": note}))


if __name__ == "__main__":
    main()
