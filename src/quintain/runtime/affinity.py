"""Which actor plays a group where pools have labels: one whose hardware fits, unless all of those have their share of the groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from quintain.engines.router import LEARNED, fitting
from quintain.types import Group, Task

Stratum = tuple[str, int]  # env and level


class Player(Protocol):
    """An actor as far as this is concerned."""

    @property
    def number(self) -> int:
        """Which one it is."""
        ...

    @property
    def label(self) -> str:
        """Of its pool."""
        ...

    @property
    def jobs(self) -> Mapping[int, Any]:
        """The groups that it plays."""
        ...


P = TypeVar("P", bound=Player)


class Affinity:
    """Learns how much of the groups of a stratum is context, and chooses their actor.

    A group stays with its actor from its first token to its last, so that every turn finds its prefix there. An actor with the
    label `any` fits every group, and a group of a stratum of which nothing is known yet fits every actor. Where all pools have
    the same label there is nothing to choose, and the actor with the fewest groups plays.

    Args:
        threshold: share of context in (0, 1) among a group's tokens above which it fits the pools labelled `prefill`, else those
            labelled `decode`.
    """

    def __init__(self, threshold: float = 0.5) -> None:
        self.threshold = threshold
        self._sizes: dict[Stratum, tuple[float, float]] = {}  # mean tokens of an episode: context, sampled
        self._counts = {"groups_fitting": 0.0, "groups_elsewhere": 0.0}

    def stratum(self, task: Task) -> Stratum:
        """The tasks that are taken to be alike."""
        return task.env, task.level

    def fits(self, stratum: Stratum) -> str:
        """The label that suits the groups of a stratum; empty where none is known to."""
        context, sampled = self._sizes.get(stratum, (0.0, 0.0))
        return fitting(context, sampled, self.threshold) if context + sampled else ""

    def choose(self, stratum: Stratum, players: Sequence[P]) -> P:
        """The actor for a group.

        It is one that fits, that with the fewest groups, as long as it has fewer than its share of all groups that are played now;
        else the one with the fewest of all, so that nobody is idle while others have more than their share.

        Args:
            stratum: of the group.
            players: the actors that are up, at least one.
        """
        label = self.fits(stratum)
        labelled = len({p.label for p in players}) > 1 and label

        def load(player: P) -> tuple[int, bool, int]:
            return len(player.jobs), bool(labelled) and player.label not in (label, "any"), player.number

        chosen = min(players, key=load)
        if not labelled:
            return chosen
        share = (sum(len(p.jobs) for p in players) + 1) / len(players)
        fit = [p for p in players if p.label in (label, "any") and len(p.jobs) < share]
        chosen = min(fit or [chosen], key=load)
        self._counts["groups_fitting" if chosen.label in (label, "any") else "groups_elsewhere"] += 1
        return chosen

    def learn(self, group: Group) -> None:
        """Take in the tokens of a finished group."""
        sampled = float(sum(t.length for t in group.trajectories))
        context = float(sum(len(n.tokens) for t in group.trajectories for n in t.nodes)) - sampled
        if not context + sampled:  # an agent of one's own, whose tokens nobody saw
            return
        now = tuple(x / len(group.trajectories) for x in (context, sampled))
        stratum = self.stratum(group.task)
        before = self._sizes.get(stratum, now)
        self._sizes[stratum] = (
            before[0] + LEARNED * (now[0] - before[0]),
            before[1] + LEARNED * (now[1] - before[1]),
        )

    def counters(self) -> Mapping[str, float]:
        """Groups that went to an actor that fits, and elsewhere because those were full, since the last call; {} without labels."""
        counts, self._counts = self._counts, dict.fromkeys(self._counts, 0.0)
        return counts if any(counts.values()) else {}
