"""The actors of a crew, one by one, and the groups that they are asked for."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from quintain.runtime.affinity import Stratum
from quintain.runtime.transport import Link
from quintain.types import Group, Weights


@dataclass(slots=True, eq=False)
class Job:
    """A group that is to be played: what is asked, who waits for it, and how many actors died over it."""

    message: dict[str, Any]
    future: asyncio.Future[Group]
    stratum: Stratum
    deaths: int = 0
    handed: float = 0.0  # when the actor that plays it now got it, on the monotonic clock


@dataclass(slots=True, eq=False)
class Member:
    """One actor: how it is reached, whether it has come up and may be given groups, and what it plays.

    A spare is one that is `here` and not yet `called`: it plays nothing until it takes the place of one that died.
    """

    number: int
    link: Link
    started: asyncio.Future[None]
    up: bool = False
    plays: Weights | None = None  # the version that it took over last
    here: bool = False
    called: asyncio.Event = field(default_factory=asyncio.Event)
    jobs: dict[int, Job] = field(default_factory=dict)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # one version at a time
    finished: int = 0

    @property
    def label(self) -> str:
        """Of its pool."""
        return getattr(self.link, "label", "any")

    def told(self) -> dict[str, Any]:
        """What the run's status says of it; any thread may ask."""
        jobs = sorted(self.jobs.values(), key=lambda j: j.handed)
        state = "up" if self.up else "spare" if self.here and not self.called.is_set() else "starting"
        since = round(time.monotonic() - jobs[0].handed, 1) if jobs else 0.0
        plays = {"plays": [j.message["ticket"] for j in jobs], "since_s": since, "finished": self.finished}
        return {"number": self.number, "state": state, **plays, **getattr(self.link, "told", dict)()}
