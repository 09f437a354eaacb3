"""What a run does about episodes that fail or lose a race: measures bias, sets poison aside, leaves out what is spoiled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quintain.given import given_by, next_of
from quintain.parts import Reward, Sampler, State
from quintain.rollouts.race import apart
from quintain.runtime.bias import BiasMeter
from quintain.runtime.failures import failed
from quintain.runtime.quarantine import DRAWS, Quarantine, key_of, without_failed
from quintain.types import Group, Task
from quintain.window import WITHHELD

Write = Callable[[str, Mapping[str, Any]], None]  # kind and payload of an event
Sums = Callable[[Mapping[str, float]], Mapping[str, float]]  # over all ranks


class Care:
    """The state of it, in the checkpoint of a run.

    Args:
        quarantine: tries of a task, all spoiled by its env, after which it is set aside; 0 never.
        drop_failed: train without the episodes that their env ended by a fault.
        asked: the rollout that plays, and how many episodes a group of it should have; 0 for any number.
    """

    def __init__(self, quarantine: int = 0, drop_failed: bool = False, asked: tuple[str, int] = ("", 0)) -> None:
        self.quarantine, self.drop_failed = Quarantine(quarantine), drop_failed
        self.meter = BiasMeter()
        self.refused: set[int] = set()  # tickets of finished groups that are poison, whoever drops them
        self.env_deaths = 0  # workers of envs that died, on this rank
        self._dead: set[str] = set()  # those among them that several actors use
        self.left_out = 0  # episodes, since the last step
        self.rollout, self.members = asked
        self._few: str | None = ""  # what to say of a group that has too few; None once it was said

    def draw(self, sampler: Sampler, state: State) -> tuple[Task | None, State]:
        """The next task that is not in quarantine.

        Raises:
            OnlyPoison: there is none.
        """
        task, state = next_of(sampler, state)
        for _ in range(DRAWS):
            if task is None or not self.quarantine.holds(task):
                return task, state
            task, state = next_of(sampler, state)
        assert task is not None
        raise self.quarantine.exhausted(task)

    async def score(self, reward: Reward, group: Group) -> Group:
        """The scored group of those that won; losers that were played to their end are scored apart and compared."""
        won, lost = apart(group)
        self._count(won)
        won = await given_by(reward, reward(won), won.ticket)
        self.meter.compare(won, None if lost is None else await reward(lost))
        if self.quarantine.refuses(won):  # a gate may be first to drop it
            self.refused.add(won.ticket)
        return won

    def _count(self, group: Group) -> None:
        """Look whether a group has too few games, each of which has a trajectory for every seat that is trained."""
        seats = Counter(t.agent for t in group.trajectories)
        count = max(len({t.episode for t in group.trajectories}), *seats.values(), 0)
        if self._few == "" and count < self.members:
            self._few = (
                f"the rollout {self.rollout!r} gave {count} of the {self.members} episodes that rollout.group_size asks for (task "
                f"{group.task.key}): its groups are trained as they are; let it play as many, or set rollout.group_size={max(1, count)}"
            )

    def warning(self) -> str:
        """What to say of the step that ends now: of groups with too few episodes, once, and of what the meter finds."""
        few, self._few = self._few, None if self._few else self._few
        return ". ".join(filter(None, (few, self.meter.warning())))

    def sift(self, groups: Sequence[Group]) -> tuple[tuple[Group, ...], dict[int, str]]:
        """The groups to learn from, and the tickets of the others with the reason."""
        refused = [g for g in groups if self.quarantine.refuses(g) and not g.tags.get(WITHHELD)]
        why = {g.ticket: "failed" for g in refused}
        kept = tuple(g for g in groups if g.ticket not in why)
        if self.drop_failed:
            before, kept = kept, tuple(map(without_failed, kept))
            self.left_out += sum(len(g.trajectories) for g in before) - sum(len(g.trajectories) for g in kept)
        return kept, why

    def reason(self, ticket: int, why: str) -> str:
        """Why a gate dropped a ticket: because all of it failed, where that is so, else what the gate says."""
        return "failed" if ticket in self.refused else why

    def see(self, groups: Sequence[Group], write: Write) -> None:
        """Take in the groups that a step concluded, in the order of their tickets.

        Where no episode of several tasks got through, what they all ask has gone, and none of them is to blame.
        """
        if len({key_of(g.task) for g in groups}) > 1 and all(failed(t) for g in groups for t in g.trajectories):
            return
        for group in groups:
            if fact := self.quarantine.see(group):
                write("quarantine", {"ticket": group.ticket, **fact})

    def env_died(self, fact: Mapping[str, Any]) -> None:
        """Count a worker of envs that died, once: every actor that had envs in one of a cluster tells of it."""
        host = fact.get("host", "")
        self.env_deaths += host not in self._dead
        self._dead.update({host} - {""})

    def row(self, sums: Sums, racing: bool) -> dict[str, float]:
        """Counters of all ranks for the metrics of a step, and with `racing` the meter's."""
        if racing:
            self.meter.add(sums(self.meter.pending()))
        counts = {"quarantined": len(self.quarantine.poison), "left_out": self.left_out, "env_deaths": self.env_deaths}
        self.left_out = 0
        every = sums({name: float(count) for name, count in counts.items()})
        return self.meter.row() | {name: count for name, count in every.items() if count}

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"quarantine": self.quarantine.state(), "bias": self.meter.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to what `state` gave; {} changes nothing."""
        if state:
            self.quarantine.restore(state["quarantine"])
            self.meter.restore(state["bias"])
