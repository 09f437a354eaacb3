"""Episodes that all fail, in the env or for want of room: told at once, and after a few steps the end of the run."""

from __future__ import annotations

from collections.abc import Sequence

from quintain.types import Group, QuintainError, Stop, Trajectory

STEPS = 3  # steps in which not one episode may get through before the run ends
SHARE = 0.9  # of a step's episodes: from here on nearly all


class EveryEpisodeFailed(QuintainError):
    """Not one episode got through: a crash, a deadline or a prompt without room each time. The message quotes the first."""


class Failures:
    """Counts the episodes that their env ended by a fault, or whose prompt left no room to speak.

    Args:
        limit: groups after which the run ends if not one episode got through, >= 1.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.groups = 0
        self.cause = ""  # of the first failure
        self.healthy = self.told = False
        self._episodes = self._failed = 0  # since the last step

    def see(self, group: Group) -> None:
        """Count a played group.

        Raises:
            EveryEpisodeFailed: it is group number `limit`, and every episode so far failed.
        """
        spoiled = [t for t in group.trajectories if failed(t)]
        self.groups += 1
        self._episodes += len(group.trajectories)
        self._failed += len(spoiled)
        self.healthy = self.healthy or len(spoiled) < len(group.trajectories)
        if spoiled and not self.cause:
            self.cause = f"{spoiled[0].id}, task {group.task.key}: {told(spoiled[0].events, spoiled[0].stop)}"
        if self.groups >= self.limit:
            self.check()

    def check(self) -> None:
        """Refuse to go on if there were episodes and every one failed."""
        if self.cause and not self.healthy:
            raise EveryEpisodeFailed(
                f"every episode of the first {self.groups} groups failed, so there is nothing to learn from; "
                f"the first was {self.cause}: mend the env, its options, the task or model.context"
            )

    def warning(self) -> str:
        """What to say of the step that ends now: "" unless nearly all of its episodes failed and it was not said before."""
        episodes, failed, self._episodes, self._failed = self._episodes, self._failed, 0, 0
        if self.told or not failed or failed < SHARE * episodes:
            return ""
        self.told = True
        return f"{failed} of {episodes} episodes of this step failed; the first was {self.cause}"


def refuse_failures(groups: Sequence[Group]) -> None:
    """Refuse groups in which every episode failed.

    Raises:
        EveryEpisodeFailed: the message quotes the first cause.
    """
    failures = Failures(limit=max(1, len(groups)))
    for group in groups:
        failures.see(group)


def failed(t: Trajectory) -> bool:
    """Whether the env ended the episode by a fault, or its prompt left no room to speak."""
    return t.stop in (Stop.crashed, Stop.timeout) or (t.stop is Stop.truncated_tokens and not t.turns)


def told(events: tuple[str, ...], stop: Stop) -> str:
    """The event that says why an episode failed."""
    return next((e for e in events if e.startswith((f"{stop}:", "stalled", "full"))), str(stop))
