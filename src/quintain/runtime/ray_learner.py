"""The body of a learner actor: one rank of a learner group. Bytes come in, bytes go out; nothing here knows Ray.

Every verb that ranks do together is asked of all of them, one verb after the other; `examine` is asked of the first alone, unless they
share the layers.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import os
import shutil
import socket
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quintain.runtime.ray_workers import read_config
from quintain.types import QuintainError

FACTS = "learner.json"  # the file by which a rank knows a checkpoint again
TOGETHER = {"score", "update", "publish", "examine", "save", "load"}  # in one order on all ranks that share the layers


class LearnWorker:
    """Holds a model and its optimizer, as one rank of several.

    Args:
        toml: the config of the run.
        gpus: that this actor was given; without one it computes on the CPU.
    """

    def __init__(self, toml: str, gpus: float) -> None:
        if not gpus:
            os.environ["CUDA_VISIBLE_DEVICES"] = ""  # before torch is imported
        self.toml, self.gpus = toml, gpus
        self.config: Any = None
        self.learner: Any = None
        self.teacher: Any = None
        self.objective: Any = None
        self.model: Any = None
        self.ranks: Any = None
        self.newest: Any = None  # weights that were published last
        self.room = ""  # of this rank alone, where a folder of the run is not seen
        self.aside = False  # weights are published into it
        self._turn = asyncio.Lock()

    async def do(self, verb: str, packed: bytes) -> bytes:
        """What the verb gives, or the `error` that was met: its kind, message and trace."""
        from quintain.runtime.learner_wire import pack, unpack

        in_turn = verb in TOGETHER and self.learner.sharded
        try:
            async with self._turn if in_turn else contextlib.nullcontext():
                return pack(await getattr(self, f"_{verb}")(**unpack(packed)))
        except Exception as error:
            told = {"kind": type(error).__name__, "message": str(error), "named": isinstance(error, QuintainError)}
            return pack({"error": {**told, "trace": "".join(traceback.format_exception(error))[-4000:]}})

    async def beat(self) -> None:
        """A sign of life."""

    async def stay(self) -> None:
        """Never return: who awaits it learns of the end of this process."""
        await asyncio.Event().wait()

    # -- how a group begins and ends -------------------------------------------------------------------------------

    async def _meet(self, head: str) -> dict[str, Any]:
        """Where this rank can be reached from the nodes of the cluster whose head is at `head`, and a port free there."""
        address = own_address(head)
        with socket.socket() as probe:
            probe.bind((address, 0))
            port = int(probe.getsockname()[1])
        return {"address": address, "port": port, "pid": os.getpid(), "host": socket.gethostname()}

    async def _join(self, **given: Any) -> dict[str, Any]:
        return await asyncio.to_thread(self._build, **given)

    def _build(self, rank: int, size: int, address: str, port: int, folder: str, probe: str) -> dict[str, Any]:
        """Meet the other ranks, and make model and learner; weights go to `folder` where `probe` is seen."""
        use_interface(own_address(f"{address}:{port}"))
        self.config = read_config(self.toml)
        from quintain.learn.ranks import Ranks
        from quintain.runtime import policy
        from quintain.runtime.assemble import make_algorithm
        from quintain.runtime.stage import make_stage

        self.ranks = Ranks.join(rank, size, address=address, port=port, apart=self.gpus > 0)
        sees = rank == 0 and Path(probe).exists()
        self.aside = rank == 0 and not sees
        to = self._own("published") if self.aside else folder if sees else f"{folder}/of-rank-0"
        algorithm = make_algorithm(self.config)
        self.objective = algorithm.objective
        self.model = policy.make_model(self.config, make_stage(self.config).renderer)
        self.learner = policy.make_learner(self.config, self.model, algorithm.needs, self.ranks, to, whole=True)
        self.learner.check(algorithm.needs)
        return {"device": str(self.learner.reader.device), "sees": sees}

    def _own(self, name: str) -> str:
        """A folder of this rank alone."""
        self.room = self.room or tempfile.mkdtemp(prefix="quintain-learner-")
        return str(Path(self.room, name))

    async def _leave(self) -> dict[str, Any]:
        """Remove what only this process knows of."""
        if self.room:
            await asyncio.to_thread(shutil.rmtree, self.room, ignore_errors=True)
        return {}

    # -- learning --------------------------------------------------------------------------------------------------

    async def _score(self, groups: list[bytes], needs: list[str]) -> dict[str, Any]:
        """The streams of this rank's share of the groups."""
        from quintain.learn.forward import STREAMS
        from quintain.ledger import PackedGroup
        from quintain.runtime.learner_wire import flat_streams

        opened = [PackedGroup(data).open() for data in groups]
        scored = await self.learner.score(opened, frozenset(needs))
        return flat_streams(scored, sorted({STREAMS[n] for n in needs}))

    async def _update(self, batch: Mapping[str, Any], taught: bool) -> dict[str, Any]:
        """One update on a batch that every rank is given; `taught` is a supervised one of the warm start."""
        from quintain.runtime.learner_wire import open_batch

        learner, objective = (await self._teacher(), _imitation()) if taught else (self.learner, self.objective)
        metrics = dict(await learner.update(open_batch(batch), objective))
        return {"metrics": metrics, **self._counts()}

    async def _teacher(self) -> Any:
        from quintain.runtime import policy

        if self.teacher is None:
            given = self.config, self.model, self.ranks
            shared = self.learner.precision
            self.teacher = await asyncio.to_thread(policy.make_teacher, *given, precision=shared, whole=True)
        return self.teacher

    async def _taught(self) -> dict[str, Any]:
        """The warm start is over."""
        if self.teacher is not None:
            self.teacher.close()
            self.teacher = None
        return {}

    def _counts(self) -> dict[str, Any]:
        learner = self.learner
        return {"step": learner.step, "version": learner.version, "quarantined": learner.quarantined}

    async def _publish(self, version: int | None) -> dict[str, Any]:
        """Write the weights as the next version, or again as one that was; `files` where they must be fetched."""
        if version is None:
            weights = await self.learner.publish()
        else:
            weights = await self.learner.examine(lambda reader: self._written(version))
        self.newest = weights
        names = await asyncio.to_thread(files_in, weights.source) if self.aside else []
        return {"version": weights.version, "prints": dict(weights.fingerprint), "files": names}

    def _written(self, version: int) -> Any:
        from quintain.learn.publish import publish

        learner = self.learner
        return publish(learner.whole(), version, learner.plan.folder, self.ranks, compare=not learner.sharded)

    async def _fetch(self, version: int, name: str) -> dict[str, Any]:
        """One file of published weights, or of the checkpoint that was just written (version -1)."""
        where = Path(self._own("checkpoint") if version < 0 else self.newest.source)
        return {"data": await asyncio.to_thread((where / Path(name).name).read_bytes)}

    async def _examine(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """What the model says to a question of the proof."""
        from quintain.runtime.questions import Question

        asked = Question.of(question, self.newest)
        if (
            self.ranks.rank and asked.verb == "differing"
        ):  # files of the newest version may be seen by the first rank alone
            asked = Question(verb="prints")
        return {"answer": asked.told(await self.learner.examine(asked))}

    # -- checkpoints -----------------------------------------------------------------------------------------------

    async def _save(self, folder: str, probe: str) -> dict[str, Any]:
        """Write the learner's files into `folder` where `probe` is seen there; else aside, and name them."""
        if self.ranks.rank:
            await self.learner.examine(lambda reader: self.learner.assist())
            return {}
        sees = await asyncio.to_thread(os.path.exists, probe)
        to = folder if sees else self._own("checkpoint")
        if not sees:
            await asyncio.to_thread(shutil.rmtree, to, ignore_errors=True)
        await self.learner.examine(lambda reader: self.learner.save(to))
        return {"files": [] if sees else await asyncio.to_thread(files_in, to)}

    async def _load(self, folder: str, digest: str) -> dict[str, Any]:
        """Go on from a checkpoint: from its folder if that holds the same learner, else from the files that were `put`."""
        seen = await asyncio.to_thread(digest_of, folder) == digest
        if not seen:
            folder = self._own("given")
            if digest_of(folder) != digest:
                return {"unseen": True}
        await self.learner.examine(lambda reader: self.learner.load(folder))
        if not seen:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        return self._counts()

    async def _put(self, name: str, data: bytes) -> dict[str, Any]:
        """Take a file of a checkpoint whose folder is not seen here."""
        await asyncio.to_thread(_put, Path(self._own("given"), Path(name).name), data)
        return {}


def files_in(folder: str) -> list[str]:
    """The names of the files of a folder, in order."""
    return sorted(p.name for p in Path(folder).iterdir() if p.is_file())


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


def digest_of(folder: str) -> str:
    """The hash by which a learner's folder is known again; "" where there is none."""
    path = Path(folder, FACTS)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def own_address(towards: str) -> str:
    """The address of this machine on the way to `host:port`; nothing is sent."""
    host, _, port = towards.rpartition(":")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host.strip("[]"), int(port)))
        return str(probe.getsockname()[0])


def use_interface(address: str) -> None:
    """Let collectives go over the interface that has an address, where the user named none: the host name may be that of another."""
    import psutil

    held = [name for name, has in psutil.net_if_addrs().items() if any(a.address == address for a in has)]
    for variable in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME") if held else ():
        os.environ.setdefault(variable, held[0])


@functools.cache
def _imitation() -> Any:
    from quintain.objectives import ce, token_mean
    from quintain.parts import chain

    return chain(ce(), token_mean())
