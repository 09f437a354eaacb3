"""Actors over a Ray cluster: what a run starts there, and how it is reached.

Nothing that must survive lives in an actor or in the object store: the first process holds the ledger, and a new actor is a
function of the run's config and the newest weights. So actors restart 0 times and calls are retried 0 times by Ray itself;
what died is started and asked again by `Crew`, which counts it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

from ray.util.placement_group import placement_group, remove_placement_group  # pyrefly: ignore
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy  # pyrefly: ignore

import ray  # pyrefly: ignore
from quintain.config import ClusterSection, Config
from quintain.ledger import plain
from quintain.parts import Reward
from quintain.runtime import ray_rewards
from quintain.runtime.cluster import ClusterError, Slot, misfit, reachable, slots
from quintain.runtime.crew import GoneError, Link
from quintain.runtime.env_proxy import WorkerGone
from quintain.runtime.ray_envs import AwayError, EnvLines
from quintain.runtime.ray_gate import answers, aside, briefly, first_line, join_all, last_words, refuse, start_reaper
from quintain.runtime.ray_learner import LearnWorker
from quintain.runtime.ray_workers import EnvWorker, PlayWorker, score
from quintain.runtime.reaper import reap
from quintain.runtime.transport import Rank
from quintain.types import QuintainError, Weights
from ray import exceptions  # pyrefly: ignore

BESIDE: dict[str, Any] = {"concurrency_groups": {"pulse": 1}}  # a thread of an actor that answers while it works
NEVER_AGAIN = {"max_restarts": 0, "max_task_retries": 0}
MANY = 100_000  # calls that an actor may have open at once
PROBE_S, MISSES = 1.0, 5  # seconds between two looks at the cluster, and failed looks in a row until it is lost
QUIT_S = 10.0  # how long Ray may take to shut down
LOOKS = "learner-rank"  # the threads that look for the ends of learner actors


class RayActor:
    """One rollout actor of the cluster.

    Args:
        slot: its place.
        silent_s: seconds without a sign of life after which it counts as gone; 0 for never.
        create: makes its handle; may wait for the cluster.
        parcel: weights as the arguments of `PlayWorker.load`, by whether their folder is seen there.
        probe: a file that is seen wherever the folder of the weights is.
    """

    def __init__(
        self,
        slot: Slot,
        silent_s: float,
        create: Callable[[], Any],
        parcel: Callable[[Weights, bool], Sequence[Any]],
        probe: str,
    ) -> None:
        self.slot, self.silent_s, self.label = slot, silent_s, slot.label
        self._create, self._parcel, self._probe = create, parcel, probe
        self._handle: Any = None
        self._why = ""
        self.sees = False

    async def _call(self, name: str, *args: Any) -> Any:
        try:
            return await getattr(self._handle, name).remote(*args)
        except exceptions.RayError as error:
            self._why = self._why or str(error).strip()
            raise GoneError(f"{type(error).__name__}: {first_line(error)}") from error

    async def up(self) -> None:
        """Wait until its model and its envs are made."""
        try:
            self._handle = await aside(self._create)
        except (exceptions.RayError, ValueError) as error:
            self._why = str(error)
            raise GoneError(first_line(error)) from error
        self.sees = await self._call("up", self._probe)

    async def gone(self) -> None:
        """Wait for its end: a call that never returns fails with it. One that is silent for too long is ended by its burial."""
        staying = asyncio.ensure_future(self._call("stay"))
        try:
            while not (await asyncio.wait([staying], timeout=self.silent_s / 3 or None))[0]:
                async with asyncio.timeout(self.silent_s):
                    await self._beat()
        except TimeoutError:
            self._why = f"silent for {self.silent_s:g} s"
        except GoneError:
            pass
        finally:
            staying.cancel()
            await asyncio.wait([staying])
            staying.cancelled() or staying.exception()

    async def _beat(self) -> None:
        try:
            await self._handle.beat.options(concurrency_group="pulse").remote()  # in a thread of its own
        except exceptions.RayError as error:
            raise GoneError(first_line(error)) from error

    def told(self) -> dict[str, Any]:
        """Its pool, for the status of the run."""
        return {"pool": self.slot.pool, "label": self.slot.label}

    def why(self) -> dict[str, Any]:
        """What the ledger keeps beside the status of its death."""
        return self.told()

    async def ask(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Bytes there, bytes back."""
        return plain.unpack(await self._call("do", plain.pack(dict(message))))

    async def load(self, weights: Weights) -> Mapping[str, Any]:
        """Through the folder where it is seen, else as bytes through the object store."""
        parcel = await asyncio.to_thread(self._parcel, weights, self.sees)
        return plain.unpack(await self._call("load", *parcel))

    async def end(self) -> str:
        """Kill it: it holds nothing that is needed."""
        if self._handle is not None:
            with contextlib.suppress(exceptions.RayError):
                await briefly(partial(ray.kill, self._handle, no_restart=True), 5.0)
        return first_line(self._why) or "ended"

    def log(self) -> str:
        """What Ray says of its end."""
        return f"Ray says:\n{self._why[:2000]}" if self._why else "Ray has not said why"


class Cluster:
    """Starts rollout actors in a placement group, the env workers that they use, and tasks that score.

    Args:
        config: of the run, with a cluster block.
        folder: of the run; weights are published in it where the cluster is not of our own.
        room: a private folder, removed at the end.
        token: the file with the cluster's token, or None where it has none.
    """

    def __init__(self, config: Config, folder: Path, room: Path, token: Path | None) -> None:
        self.section, self.toml, self.room, self.token = config.cluster, config.toml(full=True), room, token
        self.silent_s = config.runtime.heartbeat_s
        self._more = {"runtime_env": self.section.runtime_env} if self.section.runtime_env else {}
        self.slots, self.helpers = slots(self.section), slots(self.section, ("cpu",))
        self.leaders = slots(self.section, ("learner",))
        self.weights = str(room / "weights" if not self.section.address else folder.absolute() / "published")
        self.address = ""
        self._reaper: subprocess.Popen[bytes] | None = None
        self._group: Any = None
        self._envs: list[Any] = []
        self._probe = Path(self.weights) / f".seen-{secrets.token_hex(8)}"
        self._parcels: dict[int, Sequence[Any]] = {}

    async def open(self) -> None:
        """Connect, see that everything fits, and wait for the places.

        Raises:
            ClusterError: nobody answers, the token is refused, or no placement exists; what to do is said.
        """
        if not self.section.address:
            self._reaper = start_reaper(self.room)
        connect(self.section, self.room, self.token)
        self.address = ray.get_runtime_context().gcs_address
        self._show()
        await self._place()
        self._envs = [self._helper(i) for i in range(len(self.slots), len(self.slots) + len(self.helpers))]

    def _show(self) -> None:
        """A file by which an actor sees whether weights may come through their folder."""
        self._probe.parent.mkdir(parents=True, exist_ok=True)
        self._probe.touch()

    async def _place(self) -> None:
        wanted, section = [*self.slots, *self.helpers, *self.leaders], self.section
        alive = [n for n in ray.nodes() if n["Alive"]]
        nodes = [{"resources": n["Resources"], "labels": n.get("Labels") or {}} for n in alive]
        if not section.autoscales and (why := misfit(wanted, nodes, section.strategy)):
            raise ClusterError(
                f"{why}; ask for less in the cluster block, add nodes, or set cluster.autoscales=true if they are yet to come"
            )
        selectors = [dict(s.selector) for s in wanted]
        more: dict[str, Any] = {"bundle_label_selector": selectors} if any(selectors) else {}
        self._group = placement_group([dict(s.bundle) for s in wanted], strategy=section.strategy, **more)
        if not await aside(partial(self._group.wait, section.place_s)):
            free = {k: v for k, v in ray.available_resources().items() if ":" not in k}
            raise ClusterError(
                f"the {len(wanted)} actors of the cluster block did not get their places in cluster.place_s = {section.place_s:g} s; "
                f"free now: {free}; wait for other jobs, ask for less, or choose another cluster.strategy than {section.strategy}"
            )

    def _options(self, slot: Slot, index: int) -> dict[str, Any]:
        custom = {k: v for k, v in slot.bundle.items() if k not in ("CPU", "GPU", "memory")}
        named = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
        options = {k: slot.bundle.get(v, 0) for k, v in named.items()}
        place = PlacementGroupSchedulingStrategy(self._group, placement_group_bundle_index=index)
        return {**options, "resources": custom, "scheduling_strategy": place, "max_concurrency": MANY, **self._more}

    def _helper(self, index: int) -> Any:
        """An env worker; Ray may start it again, since whoever had envs there plays them again from their moves."""
        options = {"max_restarts": -1, "max_task_retries": 0}
        made = ray.remote(EnvWorker).options(**self._options(self.helpers[index - len(self.slots)], index), **options)
        return made.remote()

    async def learners(self) -> tuple[list[Rank], str, str, Callable[[bytes], Any]]:
        """Start the ranks of the learner group: what `GroupLearner.begin` takes."""
        first = len(self.slots) + len(self.helpers)
        made = ray.remote(**BESIDE)(LearnWorker)
        ranks: list[Rank] = []
        for index, slot in enumerate(self.leaders, first):
            placed = made.options(**self._options(slot, index), **NEVER_AGAIN)
            handle = await aside(partial(placed.remote, self.toml, slot.bundle.get("GPU", 0.0)))
            ranks.append(RayRank(slot, self.silent_s, handle, self.room))
        return ranks, self.address, str(self._probe), ray.put

    def start(self, number: int) -> Link:
        """Start actor `number` in its place."""
        slot = self.slots[number]
        return RayActor(slot, self.silent_s, partial(self._make, number), self._parcel, str(self._probe))

    def _make(self, number: int) -> Any:
        made = ray.remote(**BESIDE)(PlayWorker)
        made = made.options(**self._options(self.slots[number], number), **NEVER_AGAIN)
        return made.remote(self.toml, EnvLines([EnvAsk(h) for h in self._envs], number) if self._envs else None)

    def _parcel(self, weights: Weights, sees: bool) -> Sequence[Any]:
        folder = str(weights.source)
        if sees:
            return weights.version, folder, ()
        if weights.version not in self._parcels:
            files = sorted(p for p in Path(folder).iterdir() if p.is_file())
            refs = [ray.put(p.read_bytes()) for p in files]
            self._parcels = {weights.version: (weights.version, "", [p.name for p in files], *refs)}  # the newest only
        return self._parcels[weights.version]

    def reward(self, config: Config, tell: Callable[[Mapping[str, Any]], None]) -> Reward:
        """The reward of the config, scored as tasks."""
        task = ray.remote(score).options(num_cpus=self.section.reward_cpus, max_retries=0, **self._more)
        return ray_rewards.scored_by(partial(_score, task, self.toml), config, tell)

    async def lost(self) -> QuintainError:
        """Look at the cluster every second; five failed looks in a row are its end."""
        misses = 0
        while misses < MISSES:
            await asyncio.sleep(PROBE_S)
            ok = self.address and await aside(partial(answers, self.address, self.token, 2.0))
            misses = 0 if ok == "ok" or not self.address else misses + 1
        return ClusterError(
            f"the cluster at {self.address} is lost: its GCS does not answer any more. The ledger is whole; start a head again "
            "(cluster.address = '' starts one)"
        )

    async def close(self) -> None:
        """Give the places back, leave the cluster, and end what was started here."""
        if not ray.is_initialized():
            return
        if self._group is not None:
            with contextlib.suppress(exceptions.RayError):
                await briefly(partial(remove_placement_group, self._group), 5.0)
        await briefly(partial(join_all, LOOKS), QUIT_S)  # a call under way when Ray is left ends the process
        await briefly(ray.shutdown, QUIT_S)
        if self._reaper is not None:
            await asyncio.to_thread(reap, self.room)

    def remove(self) -> None:
        """Remove the private folder, and the published weights of this run."""
        self._probe.unlink(missing_ok=True)
        shutil.rmtree(self.weights, ignore_errors=True)
        shutil.rmtree(self.room, ignore_errors=True)
        if self._reaper is not None and self._reaper.stdin is not None:
            self._reaper.stdin.close()
            self._reaper.wait()


class RayRank:
    """One learner actor of the cluster; matches the port `Rank`.

    Args:
        slot: its place.
        silent_s: seconds without a sign of life after which it is ended; 0 for never.
        handle: of the actor.
        room: private folder of a Ray of our own.
    """

    def __init__(self, slot: Slot, silent_s: float, handle: Any, room: Path) -> None:
        self.slot, self.silent_s, self._handle, self._room = slot, silent_s, handle, room

    def ask(self, verb: str, packed: Any) -> Future[bytes]:
        """See `LearnWorker.do`."""
        return self._handle.do.remote(verb, packed).future()

    def gone(self) -> Future[str]:
        """A thread looks for its end, so that a silent one is noticed while the event loop is held up, and only then."""
        gone: Future[str] = Future()
        threading.Thread(target=self._look, args=(gone,), name=LOOKS, daemon=True).start()
        return gone

    def _look(self, gone: Future[str]) -> None:
        stays = self._handle.stay.remote()
        try:
            while not ray.wait([stays], timeout=self.silent_s / 3 or None)[0]:
                beat = self._handle.beat.options(concurrency_group="pulse").remote()  # in a thread of its own
                if not ray.wait([beat], timeout=self.silent_s)[0]:
                    gone.set_result(f"silent for {self.silent_s:g} s")  # before a call can fail of its death
                    return ray.kill(self._handle, no_restart=True)
            ray.get(stays)
            gone.set_result("ended")
        except Exception as error:  # whatever Ray says: it cannot be reached any more
            if not gone.done():
                gone.set_result(first_line(error))

    def told(self) -> dict[str, Any]:
        """Its pool, for the status of the run."""
        return {"pool": self.slot.pool}

    def log(self, pid: int) -> str:
        """See `last_words`."""
        return last_words(self._room, pid)


class EnvAsk:
    """Calls an env worker from within an actor; matches `ray_envs.Ask`."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    async def __call__(self, name: str, *args: Any) -> Any:
        """See `Ask`."""
        try:
            return await getattr(self.handle, name).remote(*args)
        except exceptions.ActorUnavailableError as error:
            raise AwayError(str(error)) from None
        except exceptions.RayError as error:
            raise WorkerGone(str(error)) from None

    def kill(self) -> None:
        """Its envs are lost, and played again by those who had them."""
        ray.kill(self.handle, no_restart=False)


async def _score(task: Any, toml: str, packed: bytes, deadline_s: float) -> bytes:
    """One scoring as a task.

    Raises:
        LostScore: its worker died, or it was late; it may have run all the same.
    """
    ref = task.remote(toml, packed)
    try:
        async with asyncio.timeout(deadline_s):
            return await ref
    except TimeoutError:
        ray.cancel(ref, force=True)
        raise ray_rewards.LostScore(f"not done in cluster.reward_s = {deadline_s:g} s") from None
    except exceptions.RayError as error:
        raise ray_rewards.LostScore(f"{type(error).__name__}: {first_line(error)}") from error


# -- the cluster itself ------------------------------------------------------------------------------------------------


def connect(section: ClusterSection, room: Path, token: Path | None) -> None:
    """Start a Ray of our own, or connect to a running one; quickly refuse what would make Ray wait for a minute.

    Raises:
        ClusterError: names the address and what to do.
    """
    address = section.address if section.address != "auto" else os.environ.get("RAY_ADDRESS", "") or "auto"
    if address and address != "auto":
        reachable(address)
        if (answer := answers(address, token, 5.0)) != "ok":
            refuse(address, answer, token)
    here = dict[str, Any](num_cpus=section.local_cpus or None, include_dashboard=False, _temp_dir=str(room / "ray"))
    handlers = {s: signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGINT)}
    try:
        ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR, **({} if address else here))
    except (ConnectionError, RuntimeError, ValueError, SystemExit, exceptions.RayError) as error:
        raise ClusterError(
            f"cluster.address {section.address!r} cannot be used: {first_line(error)}; run this on a node of a running cluster "
            "(`ray start`), with its token and its version of Ray, or leave the address empty for a Ray of its own"
        ) from error
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                signal.signal(number, handler)  # Ray puts its own there; a run drains instead
