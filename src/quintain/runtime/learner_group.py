"""The learner of a run as the first process sees it where a pool of a cluster learns: the port `Learner`, over ranks elsewhere.

The ranks rebuild model, optimizer and objective from the run's config. A batch goes to all of them whole, and each trains its share
of every minibatch, so that nothing depends on their number but rounding.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

from quintain.learn.checkpoint import CheckpointError, read_facts
from quintain.learn.forward import STREAMS, SUPPLIED, LearnerError
from quintain.learn.plan import Plan
from quintain.learn.publish import KEPT, published
from quintain.learn.ranks import Ranks
from quintain.learn.shares import deal
from quintain.learn.topk import others
from quintain.ledger.groups import pack_group
from quintain.parts import Objective
from quintain.runtime.learner_calls import Calls
from quintain.runtime.learner_wire import cut_streams, pack_batch, tokens_of
from quintain.runtime.questions import Question
from quintain.runtime.ray_learner import digest_of
from quintain.runtime.transport import LearnerLost, Rank
from quintain.types import Batch, Group, QuintainError, Weights
from quintain.waits import waiting

JOIN_S = 600.0  # until all ranks must have met and built their models
LEAVE_S = 5.0


class GroupLearner:
    """Asks the ranks of a learner group; matches the port `Learner`.

    Args:
        objective: of the run; every rank builds the same one from the config.
        folder: where versions are published.
        sharded: whether the ranks share the layers.
    """

    def __init__(self, objective: Objective, folder: str, *, sharded: bool = False) -> None:
        self.objective, self.folder, self.sharded = objective, folder, sharded
        self.calls: Calls | None = None
        self.quarantined: list[dict[str, Any]] = []
        self.step = self.version = 0

    @property
    def _calls(self) -> Calls:
        if self.calls is None:
            raise LearnerError("the learner group is asked before it began; call `begin` first")
        return self.calls

    async def begin(
        self, ranks: Sequence[Rank], head: str, probe: str, put: Callable[[bytes], Any] = lambda data: data
    ) -> None:
        """Let the ranks meet and build what they hold.

        Args:
            ranks: of the group, in their order.
            head: `host:port` of what every node of the cluster can reach.
            probe: a file that is seen wherever the folder of the weights is.
            put: makes bytes that go to several ranks travel once.

        Raises:
            LearnerLost: one ends before, or they have not met within `JOIN_S`.
            LearnerError: the model or the objective cannot be built there.
        """
        self.calls = calls = Calls(ranks, put)
        try:
            with waiting("come up", "learner group", "", JOIN_S):
                async with asyncio.timeout(JOIN_S):
                    for number, facts in enumerate(await self._of(calls.everyone("meet", head=head))):
                        calls.facts[number] |= facts
                    first = calls.facts[0]
                    given = {"address": first["address"], "port": first["port"], "folder": self.folder, "probe": probe}
                    size = len(ranks)
                    places = [{"rank": rank, "size": size, **given} for rank in range(size)]
                    for number, facts in enumerate(await self._of(calls.each("join", places))):
                        calls.facts[number] |= facts
            calls.watch()
        except TimeoutError:
            raise calls.fail(
                LearnerLost(
                    f"the learner group did not come up in {JOIN_S:g} s; see the logs of Ray on its nodes, and whether they reach "
                    f"{calls.facts[0].get('address', 'one another')}"
                )
            ) from None

    async def _of(self, asked: Future[list[Any]]) -> list[Any]:
        return await asyncio.wrap_future(asked)

    def told(self) -> list[dict[str, Any]]:
        """What the status of the run says of the ranks; any thread may ask."""
        return [] if self.calls is None else self.calls.told()

    async def over(self) -> QuintainError:
        """Return once the group has ended before the run did, with what ended it."""
        return await asyncio.shield(asyncio.wrap_future(self._calls.over))

    async def end(self) -> None:
        """Let the ranks remove what they hold on disk; from now on they may end."""
        if self.calls is None:
            return
        self.calls.leave()
        if not self.calls.over.done():
            with contextlib.suppress(TimeoutError, QuintainError):
                async with asyncio.timeout(LEAVE_S):
                    await self._of(self.calls.everyone("leave"))

    # -- the port --------------------------------------------------------------------------------------------------

    def check(self, needs: frozenset[str]) -> None:
        """Refuse what no learner can supply.

        Raises:
            LearnerError: names the first such need.
        """
        for need in sorted(others(needs) - SUPPLIED):
            raise LearnerError(f"the learner cannot supply {need!r}: it supplies {', '.join(sorted(SUPPLIED))}")

    async def score(self, groups: Sequence[Group], needs: frozenset[str]) -> tuple[Group, ...]:
        """See `TorchLearner.score`; every rank scores about as many tokens."""
        asked = sorted(needs & STREAMS.keys())
        if not asked or not any(g.trajectories for g in groups):
            return tuple(groups)
        calls = self._calls
        shares = deal([float(tokens_of(g)) for g in groups], len(calls.ranks))
        given = [{"groups": [pack_group(groups[i]) for i in share], "needs": asked} for share in shares]
        done = list(groups)
        for share, flat in zip(shares, await self._of(calls.each("score", given)), strict=True):
            for i, trajectories in zip(share, cut_streams([groups[i] for i in share], flat), strict=True):
                done[i] = replace(groups[i], trajectories=tuple(trajectories))
        return tuple(done)

    async def update(self, batch: Batch, objective: Objective) -> Mapping[str, float]:
        """See `TorchLearner.update`.

        Raises:
            LearnerError: the objective is not that of the run's config, which the ranks have built.
            LearnerLost: a rank ended.
        """
        if objective is not self.objective:
            raise LearnerError(
                "a learner group trains on the objective of the run's config alone, and was given another one; train in the first "
                "process (no pool with the label learner) for that"
            )
        return await self.taught(batch, taught=False)

    async def taught(self, batch: Batch, *, taught: bool = True) -> Mapping[str, float]:
        """One update on a batch; `taught` is a supervised one, with the optimizer of the warm start."""
        told = (await self._of(self._calls.everyone("update", batch=pack_batch(batch), taught=taught)))[0]
        self._count(told)
        return told["metrics"]

    def _count(self, told: Mapping[str, Any]) -> None:
        self.step, self.version, self.quarantined = told["step"], told["version"], list(told["quarantined"])

    async def publish(self) -> Weights:
        """See `TorchLearner.publish`; into the folder of the run, however far from it the ranks are."""
        return await self._published(None)

    async def show(self, version: int) -> Weights:
        """The weights as they are, published as a version that they were before, or are from now on."""
        return await self._published(version)

    async def _published(self, version: int | None) -> Weights:
        told = (await self._of(self._calls.everyone("publish", version=version)))[0]
        weights = replace(published(self.folder, told["version"]), fingerprint=told["prints"])
        self.version = weights.version
        if told["files"]:
            folder = Path(str(weights.source))
            await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
            for name in told["files"]:
                (got,) = await self._of(self._calls.one(0, "fetch", version=weights.version, name=name))
                await asyncio.to_thread((folder / Path(name).name).write_bytes, got["data"])
            old = published(self.folder, weights.version - KEPT).source
            await asyncio.to_thread(shutil.rmtree, str(old), ignore_errors=True)
        return weights

    async def examine(self, call: Any) -> Any:
        """What the model says to a question: the first rank's, or that of all of them where they share the layers.

        Raises:
            LearnerError: it is no `Question`, and functions do not travel.
        """
        if not isinstance(call, Question):
            raise LearnerError("a learner group answers only the questions of `runtime.questions`")
        calls, plain = self._calls, call.plain()
        asked = calls.everyone("examine", question=plain) if self.sharded else calls.one(0, "examine", question=plain)
        return call.heard((await self._of(asked))[0]["answer"])

    def save(self, folder: str) -> None:
        """See `TorchLearner.save`: the first rank writes where the folder is seen there, else its files come as bytes.

        Raises:
            CheckpointError: the folder cannot be written.
        """
        path = Path(folder)
        probe = path / f".seen-{secrets.token_hex(8)}"
        try:
            path.mkdir(parents=True, exist_ok=True)
            probe.touch()
            told = self._calls.everyone("save", folder=folder, probe=str(probe)).result()[0]
            for name in told["files"]:
                (got,) = self._calls.one(0, "fetch", version=-1, name=name).result()
                (path / Path(name).name).write_bytes(got["data"])
        except OSError as error:
            raise CheckpointError(f"{path} cannot be written: {error}") from error
        finally:
            probe.unlink(missing_ok=True)

    def load(self, folder: str) -> None:
        """See `TorchLearner.load`; the number of ranks need not be that of the group that saved.

        Raises:
            CheckpointError: a file is missing or damaged, or belongs to another model or optimizer.
        """
        read_facts(folder)
        calls, digest = self._calls, digest_of(folder)
        given = {"folder": folder, "digest": digest}
        told = calls.everyone("load", **given).result()
        for number, answer in enumerate(told):
            if "unseen" in answer:
                for path in sorted(p for p in Path(folder).iterdir() if p.is_file()):
                    calls.one(number, "put", name=path.name, data=path.read_bytes()).result()
                (told[number],) = calls.one(number, "load", **given).result()
        self._count(told[0])

    def close(self) -> None:
        """See `TorchLearner.close`; `end` lets the ranks go."""

    def teacher(self, seed: int) -> GroupTeacher:
        """The learner of a warm start, on the same model."""
        return GroupTeacher(self, seed)


class GroupTeacher:
    """The learner of the supervised steps before a run, over the same ranks.

    Args:
        group: whose ranks are asked.
        seed: of the order of demonstrations.
    """

    def __init__(self, group: GroupLearner, seed: int) -> None:
        self.group, self.ranks = group, Ranks()
        self.plan = Plan(seed=seed)

    async def update(self, batch: Batch, objective: Objective) -> Mapping[str, float]:
        """One supervised step; ranks imitate what the batch marks, whatever `objective` is called here."""
        return await self.group.taught(batch)

    def close(self) -> None:
        """The ranks give up the optimizer of the warm start."""
        self.group._calls.everyone("taught").result()
