"""How actors are started and reached: what a crew needs of processes of this machine, or of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Protocol

from quintain.types import QuintainError, Weights


class GoneError(QuintainError):
    """The actor at the other end has ended; what it was asked for is asked of another."""


class LearnerLost(QuintainError):
    """A learner group ended before the run did: a rank died or fell silent. The checkpoints are whole, so the run can go on."""


class Rank(Protocol):
    """One rank of a learner group, however it is reached. Any thread may call it."""

    def ask(self, verb: str, packed: Any) -> Future[bytes]:
        """The bytes that it answers to those of a verb; the future fails where it ends before."""
        ...

    def gone(self) -> Future[str]:
        """Done once it has ended or is silent, with why."""
        ...

    def told(self) -> Mapping[str, Any]:
        """Its pool, for the status of the run."""
        ...

    def log(self, pid: int) -> str:
        """The last that its process wrote, for an error message; "" where that cannot be read."""
        ...


class Link(Protocol):
    """One actor, however it is reached."""

    async def up(self) -> None:
        """Return once it can be asked; raises GoneError where it ends before."""
        ...

    async def gone(self) -> None:
        """Return once it has ended or cannot be reached any more."""
        ...

    async def ask(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Its answer; raises GoneError where it ends before."""
        ...

    async def load(self, weights: Weights) -> Mapping[str, Any]:
        """Give it published weights: `loaded`, and `error` where it refuses them; raises GoneError where it ends before."""
        ...

    async def end(self) -> int | str:
        """See to it that it has ended; its status."""
        ...

    def log(self) -> str:
        """What is known of its end, for an error message."""
        ...


class Transport(Protocol):
    """Starts actors and reaches them. `weights` is the folder where versions are published."""

    weights: str

    async def open(self) -> None:
        """Get ready to start actors."""
        ...

    def start(self, number: int) -> Link:
        """Start actor `number` and do not wait for it."""
        ...

    async def lost(self) -> QuintainError:
        """Return once no actor can be reached or started any more, with what to do."""
        ...

    async def close(self) -> None:
        """Leave nothing running; called after every actor has ended."""
        ...

    def remove(self) -> None:
        """Remove what lies on disk or in shared memory, also where no actor was ever started."""
        ...
