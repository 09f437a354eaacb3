"""The engine in the cast of a run whose engines are in its actors."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quintain.runtime.crew import ActorError, Crew
from quintain.runtime.testimony import Questions
from quintain.runtime.vouch import testimonies
from quintain.types import Completion, Floats, Ints, Request, Weights


class CrewEngine:
    """Stands for the engines of all actors: weights go to each of them. Requests are made where they are."""

    def __init__(self, crew: Crew) -> None:
        self.crew = crew

    async def load(self, weights: Weights) -> None:
        """See `Crew.load`."""
        await self.crew.load(weights)

    async def testimonies(self, asked: Questions) -> dict[str, Mapping[str, Any]]:
        """See `vouch.testimonies`."""
        return await testimonies(self.crew, asked)

    def counters(self) -> dict[str, float]:
        """What the actors' engines counted, as far as they have told since the last call, and where groups went."""
        counted, self.crew.counted = self.crew.counted, {}
        return {**counted, **self.crew.affinity.counters()}

    async def generate(self, request: Request) -> Completion:
        """No request is made in this process."""
        raise ActorError("the engines are in the actors; play through the crew's rollout")

    async def score(self, paths: Sequence[Ints]) -> Sequence[Floats]:
        """No request is made in this process."""
        raise ActorError("the engines are in the actors; the learner scores")

    async def fork(self, session: str, at: int, into: str) -> None:
        """No session is here."""

    async def abort(self, session: str) -> None:
        """No session is here."""

    async def pause(self) -> None:
        """Nothing runs here."""

    async def resume(self) -> None:
        """Nothing runs here."""


class PinnedCrewEngine:
    """Stands for further engines of the actors, which hold one version for as long as an evaluation needs it."""

    def __init__(self, crew: Crew) -> None:
        self._room = Path(crew.weights).parent
        self.pinned: dict[str, Any] = {}  # what a group says that is to be played with it
        other = CrewEngine(crew)
        self.generate, self.score, self.fork = other.generate, other.score, other.fork
        self.abort, self.pause, self.resume = other.abort, other.pause, other.resume

    async def load(self, weights: Weights) -> None:
        """Keep a copy of published weights; an actor takes it over with the first group that it is to play with it."""
        before, folder = self.pinned, self._room / f"pinned-{weights.version}"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(weights.source, folder)
        self.pinned = {"version": weights.version, "folder": str(folder)}
        if before and before != self.pinned:
            shutil.rmtree(before["folder"], ignore_errors=True)

    def save(self, folder: str) -> None:
        """Copy what is held into a folder."""
        shutil.copytree(self.pinned["folder"], folder)
