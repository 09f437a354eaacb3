"""Ranks: processes that each train a share of every step and agree by all-reduce, over gloo, or NCCL for what lies on a GPU.

With one rank every operation is the identity and torch.distributed is never touched. Tensors travel, never objects.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist

from quintain.types import QuintainError, check
from quintain.waits import waiting

Item = TypeVar("Item")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class RankError(QuintainError):
    """Ranks could not meet, one is missing or late, or they disagree about what must be equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """This process's place among `size` ranks. `Ranks()` is the only rank there is.

    Example:
        >>> Ranks().sums({"tokens": 3.0})
        {'tokens': 3.0}
    """

    rank: int = 0
    size: int = 1
    deadline_s: float = 120.0
    group: Any = field(default=None, repr=False)
    own_gpu: bool = False  # no two of them on one; if not, what lies on a GPU travels by gloo

    def __post_init__(self) -> None:
        check(0 <= self.rank < self.size, f"rank is {self.rank}; it must lie in [0, {self.size})")

    @classmethod
    def join(
        cls,
        rank: int,
        size: int,
        *,
        address: str = "127.0.0.1",
        port: int,
        deadline_s: float = 120.0,
        apart: bool = False,
        check_in: Callable[[], None] = lambda: None,
    ) -> Ranks:
        """Meet the other ranks at `address:port`, where rank 0 listens.

        Args:
            rank: this process, from 0.
            size: how many there are; 1 returns at once without a socket.
            address: host of rank 0.
            port: free TCP port on that host, the same on every rank.
            deadline_s: seconds that any wait for the others may last.
            apart: no other rank sees the GPUs that this one does, wherever it runs.
            check_in: is called at least once, and by rank 0 again and again while others are missing; what it raises ends the wait.

        Raises:
            RankError: the others did not come before the deadline (rank 0 names them), or the port is taken.
        """
        check_in()
        if size == 1:
            return cls(deadline_s=deadline_s)
        check(0 <= rank < size, f"rank is {rank}; it must lie in [0, {size})")
        limit = datetime.timedelta(seconds=deadline_s)
        gpus = torch.cuda.device_count()
        own = gpus and (
            apart or size <= gpus or address not in LOOPBACK
        )  # a GPU for every rank, as far as one machine can tell
        try:
            if own:
                torch.cuda.set_device(rank % gpus)
            backend = "cpu:gloo,cuda:nccl" if own else "gloo"
            store = dist.TCPStore(address, port, size, rank == 0, limit, wait_for_workers=False)
            store.set(_here(rank), "")
            if rank == 0:
                _all_here(store, size, deadline_s, check_in)
            dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=limit)
            group = dist.new_group(backend="gloo", timeout=limit) if own else dist.group.WORLD
        except (RuntimeError, ValueError) as error:
            raise RankError(
                f"rank {rank} of {size} could not meet the others at {address}:{port} within {deadline_s:g} s; "
                f"check that all {size} processes run and that the port is free: {_first_line(error)}"
            ) from error
        return cls(rank=rank, size=size, deadline_s=deadline_s, group=group, own_gpu=bool(own))

    def _do(self, what: str, call: Any, *args: Any, **options: Any) -> None:
        on_gpu = any(isinstance(a, torch.Tensor) and a.is_cuda for a in args)
        group = dist.group.WORLD if on_gpu else self.group
        try:
            with waiting("collective", f"rank {self.rank}", what, self.deadline_s):
                call(*args, group=group, **options)
        except RuntimeError as error:
            raise RankError(
                f"rank {self.rank} of {self.size}: {what} failed; another rank ended or was silent for "
                f"{self.deadline_s:g} s: {_first_line(error)}"
            ) from error

    def sum_(self, tensor: torch.Tensor) -> torch.Tensor:
        """Replace a contiguous tensor by its sum over ranks."""
        if self.size > 1:
            self._do("a sum", dist.all_reduce, tensor)
        return tensor

    def sums(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The sums over ranks of named numbers, arrays or tensors; every rank gives the same names and shapes."""
        return self._reduce(values, dist.ReduceOp.SUM, "a sum")

    def largest(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The largest over ranks of named numbers, element by element."""
        return self._reduce(values, dist.ReduceOp.MAX, "a maximum")

    def _reduce(self, values: Mapping[str, Any], how: Any, what: str) -> dict[str, Any]:
        if self.size == 1 or not values:
            return dict(values)
        names = sorted(values)
        pieces = [torch.as_tensor(values[n]).detach().to("cpu", torch.float64) for n in names]
        flat = torch.cat([p.reshape(-1) for p in pieces])
        self._do(what, dist.all_reduce, flat, op=how)
        parts = zip(names, flat.split([p.numel() for p in pieces]), pieces, strict=True)
        return {n: _like(values[n], part.reshape(p.shape)) for n, part, p in parts}

    def share(self, items: Sequence[Item]) -> Sequence[Item]:
        """Every size-th item, beginning with this rank's: the shares of all ranks are the whole."""
        return items[self.rank :: self.size]

    @torch.no_grad()
    def adopt(self, tensors: Sequence[torch.Tensor]) -> None:
        """Overwrite tensors by those of rank 0 (initial weights)."""
        for tensor in tensors if self.size > 1 else ():
            whole = tensor.contiguous()
            self._do("a broadcast", dist.broadcast, whole, src=0)
            if whole is not tensor:
                tensor.copy_(whole)

    def agree(self, flag: bool) -> bool:
        """What rank 0 says, on every rank."""
        said = torch.tensor([float(flag)])
        self.adopt([said])
        return bool(said.item())

    def text(self, mine: str) -> str:
        """The text of the one rank whose own is not empty, on every rank."""
        if self.size == 1:
            return mine
        data = mine.encode()
        line = torch.zeros(int(self.largest({"size": len(data)})["size"]), dtype=torch.int64)
        line[: len(data)] = torch.tensor(list(data), dtype=torch.int64)
        return bytes(self.sum_(line).tolist()).decode()

    def gathered(self, mine: bytes) -> list[bytes]:
        """The bytes of every rank, in the order of the ranks."""
        if self.size == 1:
            return [mine]
        sizes = [0] * self.size
        sizes[self.rank] = len(mine)
        sizes = self.sums({"sizes": np.array(sizes)})["sizes"].astype(int).tolist()
        room = torch.zeros(max(sizes), dtype=torch.uint8)
        room[: len(mine)] = torch.from_numpy(np.frombuffer(mine, np.uint8).copy())
        rooms = [torch.empty_like(room) for _ in sizes]
        self._do("a gathering", dist.all_gather, rooms, room)
        return [one[:size].numpy().tobytes() for one, size in zip(rooms, sizes, strict=True)]

    def same(self, what: str, number: int) -> None:
        """Check that an integer is equal on all ranks.

        Raises:
            RankError: it is not; the message holds both ends of the range.
        """
        if self.size == 1:
            return
        ends = torch.tensor([number, -number], dtype=torch.int64)
        self._do("a comparison", dist.all_reduce, ends, op=dist.ReduceOp.MAX)
        if ends[0] != -ends[1]:
            raise RankError(
                f"ranks disagree about {what}: {int(-ends[1])} to {int(ends[0])}, {number} on rank {self.rank}; "
                "they must start from the same weights and take the same steps"
            )

    def barrier(self, deadline_s: float | None = None) -> None:
        """Wait until every rank is here.

        Raises:
            RankError: one did not come within `deadline_s` seconds (None: the deadline of `join`).
        """
        if self.size > 1:
            limit = datetime.timedelta(seconds=self.deadline_s if deadline_s is None else deadline_s)
            self._do("a barrier", dist.monitored_barrier, timeout=limit)

    def close(self) -> None:
        """Leave the group."""
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()


def _here(rank: int) -> str:
    return f"here/{rank}"


def _all_here(store: dist.TCPStore, size: int, deadline_s: float, check_in: Callable[[], None]) -> None:
    """Wait in Python, where a signal counts: a rank needs seconds to start, and torch's own wait cannot be left."""
    until, missing = time.monotonic() + deadline_s, list(range(1, size))
    while missing := [r for r in missing if not store.check([_here(r)])]:
        check_in()
        if time.monotonic() > until:
            raise RuntimeError(f"{', '.join(f'rank {r}' for r in missing)} did not come")
        time.sleep(0.02)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]


def _like(before: Any, after: torch.Tensor) -> Any:
    if isinstance(before, torch.Tensor):
        return after.to(before.device, before.dtype if before.is_floating_point() else torch.float64)
    return after.numpy() if isinstance(before, np.ndarray) else float(after)
