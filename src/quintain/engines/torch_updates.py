"""How new weights meet the requests that run in the local engine."""

from __future__ import annotations

from typing import NamedTuple

from quintain.engines.torch_run import EngineError


class Updates(NamedTuple):
    """What `load` does about running requests.

    `in_flight`: they go on with the new weights from the next token on. `drain`: they end first, and none starts meanwhile.
    `pinned`: sessions that have begun keep their version until they are aborted; at most `versions` are held at once, so the
    sessions of the oldest one go on with the next where a load would need more. With `during="pause"` running requests are taken
    off at a step boundary and are the first to go on after the load; nothing that they have is lost.
    """

    update: str = "in_flight"
    during: str = "run"
    versions: int = 2

    @property
    def waits(self) -> bool:
        """Whether running requests end before new weights come."""
        return self.update == "drain"

    @property
    def pins(self) -> bool:
        """Whether sessions keep the version that they began with."""
        return self.update == "pinned"

    @property
    def interrupts(self) -> bool:
        """Whether running requests are taken off while new weights come."""
        return self.during == "pause"

    def checked(self) -> Updates:
        """The same.

        Raises:
            EngineError: a value that is not known, or out of range.
        """
        if self.update not in ("in_flight", "drain", "pinned") or self.during not in ("run", "pause"):
            raise EngineError(
                f"update is {self.update!r} and during_update {self.during!r}; they must be in_flight, drain or pinned, and run or pause"
            )
        if self.versions < 1:
            raise EngineError(f"versions is {self.versions}; at least the newest one is held")
        return self


IN_FLIGHT = Updates()
