"""The proof where ranks share the layers: they read together, each judges its own engine and rows, and one verdict is for all.

A reading of one rank is a forward pass of all. So ranks go from round to round: each says which pass it wants, all run the one that
comes first, on nothing where it is not theirs, until nobody wants another; then all know the fault of any.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

from quintain.learn.forward import Reader
from quintain.learn.learner import TorchLearner
from quintain.learn.ranks import RankError
from quintain.learn.shards import wholes
from quintain.types import QuintainError

Result = TypeVar("Result")
ALONE, FORWARD, GATHER = (
    0,
    1,
    2,
)  # what a question to the learner asks of other ranks: nothing, one forward pass, all tensors


class Pass(NamedTuple):
    """A question that all ranks have to take part in."""

    kind: int
    call: Callable[[Reader], Any]
    done: asyncio.Future[Any]


class Together:
    """Asks a learner whose layers are spread over ranks.

    Args:
        learner: of this rank.
        kinds: errors that are raised on all ranks when one met them; any other ends the others as a lost rank does.
    """

    def __init__(self, learner: TorchLearner, kinds: tuple[type[QuintainError], ...]) -> None:
        self.learner, self.ranks = learner, learner.ranks
        self.kinds = {kind.__name__: kind for kind in kinds}
        self._asked: deque[Pass] = deque()
        self._wake = asyncio.Event()

    async def examine(self, call: Callable[[Reader], Result], kind: int) -> Result:
        """What `call` says; unless `kind` is ALONE, within work that `agreed` was given, and after exactly that pass."""
        if kind == ALONE:
            return await self.learner.examine(call)
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked.append(Pass(kind, call, done))
        self._wake.set()
        return await done

    async def agreed(self, work: Awaitable[Result]) -> Result:
        """What `work` gives; every rank calls this at the same place, with work that may ask for passes as it likes.

        Raises:
            QuintainError: of the first rank that met one, in the same words everywhere.
        """
        task = asyncio.ensure_future(work)
        try:
            while True:
                await self._wants(task)
                error = task.exception() if task.done() else None
                mine = {"kind": self._asked[0].kind if self._asked else ALONE}
                mine["fault"] = self.ranks.size - self.ranks.rank if error is not None else 0
                most = await self.learner.examine(lambda reader, mine=mine: self.ranks.largest(mine))
                if most["kind"] == ALONE:
                    break
                await self._run(int(most["kind"]))
        finally:
            task.cancel()
        if most["fault"]:
            await self._fault(self.ranks.size - int(most["fault"]), error)
        return task.result()

    async def _wants(self, task: asyncio.Future[Any]) -> None:
        """Wait until the work asks for a pass, or is over."""
        while not (task.done() or self._asked):
            self._wake.clear()
            wake = asyncio.ensure_future(self._wake.wait())
            await asyncio.wait([task, wake], return_when=asyncio.FIRST_COMPLETED)
            wake.cancel()

    async def _run(self, kind: int) -> None:
        if not self._asked or self._asked[0].kind != kind:
            return await self.learner.examine(_idle_forward if kind == FORWARD else _idle_gather)
        asked = self._asked.popleft()
        try:
            said = await self.learner.examine(asked.call)
        except Exception as error:
            asked.done.set_exception(error)
        else:
            asked.done.set_result(said)
        await asyncio.sleep(0)  # who asked goes on
        return None

    async def _fault(self, rank: int, error: BaseException | None) -> None:
        """Raise what `rank` met."""
        mine = f"{type(error).__name__}\n{error}" if rank == self.ranks.rank else ""
        name, _, text = (await self.learner.examine(lambda reader: self.ranks.text(mine))).partition("\n")
        if name in self.kinds:
            raise self.kinds[name](f"{text} (rank {rank})") from error
        if rank == self.ranks.rank and error is not None:
            raise error
        raise RankError(f"rank {rank} ended: {name}: {text}")


def _idle_forward(reader: Reader) -> None:
    reader.idle()


def _idle_gather(reader: Reader) -> None:
    for _ in wholes(reader.model):
        pass
