"""Calls of the ranks of a learner group: each waits for all of its ranks, and ends with the first error or death of any."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from functools import partial
from typing import Any

from quintain.learn.checkpoint import CheckpointError
from quintain.learn.forward import LearnerError
from quintain.learn.optim import OptimizerError
from quintain.learn.pack import PackError
from quintain.learn.ranks import RankError
from quintain.learn.shards import ShardError
from quintain.runtime.learner_wire import pack, unpack
from quintain.runtime.transport import LearnerLost, Rank
from quintain.types import QuintainError

KINDS = {e.__name__: e for e in (CheckpointError, LearnerError, OptimizerError, PackError, ShardError)}
CAUSE_S = 5.0  # how long a rank that lost another may wait for word of that one's end


class Calls:
    """Asks ranks; after the first failure nobody is asked any more.

    Args:
        ranks: of the group, in their order.
        put: makes bytes that go to several ranks travel once.
    """

    def __init__(self, ranks: Sequence[Rank], put: Callable[[bytes], Any] = lambda data: data) -> None:
        self.ranks, self.put = list(ranks), put
        self.over: Future[QuintainError] = Future()  # done with what ended the group
        self.doing: dict[tuple[int, int], tuple[str, float]] = {}  # (rank, call) -> what has no answer yet, since when
        self._count = itertools.count()
        self.facts: list[dict[str, Any]] = [dict(rank.told()) for rank in ranks]
        self._leaving = False

    def watch(self) -> None:
        """From now on a rank that ends or falls silent ends the group, also while nobody waits for it."""
        for number, rank in enumerate(self.ranks):
            rank.gone().add_done_callback(partial(self._gone, number))

    def everyone(self, verb: str, **given: Any) -> Future[list[Any]]:
        """The answers of all ranks to the same question."""
        packed = self.put(pack(given))
        return self._joined([(n, verb, packed) for n in range(len(self.ranks))])

    def each(self, verb: str, given: Sequence[Mapping[str, Any]]) -> Future[list[Any]]:
        """The answers of all ranks to a question of its own each."""
        return self._joined([(n, verb, pack(one)) for n, one in enumerate(given)])

    def one(self, number: int, verb: str, **given: Any) -> Future[list[Any]]:
        """The answer of one rank, as a list of one."""
        return self._joined([(number, verb, pack(given))])

    def told(self) -> list[dict[str, Any]]:
        """What the status of the run says of each rank; any thread may ask."""
        now, open_ = time.monotonic(), dict(self.doing)
        rows = []
        for number, facts in enumerate(self.facts):
            work = sorted((since, verb) for (rank, _), (verb, since) in open_.items() if rank == number)
            busy = (
                {"doing": work[0][1], "since_s": round(now - work[0][0], 1)} if work else {"doing": "", "since_s": 0.0}
            )
            rows.append({"rank": number, "state": "over" if self.over.done() else "up", **facts, **busy})
        return rows

    def leave(self) -> None:
        """Whatever ends from now on may."""
        self._leaving = True

    def fail(self, error: QuintainError) -> QuintainError:
        """The group is over; what ended it first, which may be another error."""
        with contextlib.suppress(InvalidStateError):
            self.over.set_result(error)
        return self.over.result()

    def _gone(self, number: int, done: Future[str]) -> None:
        if not self._leaving and not done.cancelled():
            self.fail(self._lost(number, str(done.exception() or done.result()).rstrip(".")))

    def _lost(self, number: int, why: str) -> LearnerLost:
        facts = self.facts[number]
        where = f" (process {facts['pid']} on {facts['host']})" if "pid" in facts else ""
        words = self.ranks[number].log(facts["pid"]) if "pid" in facts else ""
        return LearnerLost(
            f"rank {number} of the {len(self.ranks)} of the learner group{where} is gone: {why}. The others cannot go on without "
            "its share; the ledger is whole: the run can go on from its last checkpoint (with --restarts N it does so by itself)"
            + (f"\nThe last that it wrote:\n{words}" if words else "")
        )

    def _joined(self, asked: Sequence[tuple[int, str, Any]]) -> Future[list[Any]]:
        whole: Future[list[Any]] = Future()
        if self.over.done():
            whole.set_exception(self.over.result())
            return whole
        answers: dict[int, Any] = {}
        lock = threading.Lock()

        def settle(error: BaseException | None = None) -> None:
            with contextlib.suppress(InvalidStateError):  # another was first
                if error is not None:
                    whole.set_exception(error)
                else:
                    whole.set_result([answers[n] for n, _, _ in asked])

        def heard(number: int, call: int, done: Future[bytes]) -> None:
            self.doing.pop((number, call), None)
            try:
                answer = unpack(done.result())
            except BaseException as error:  # of the transport: this rank is no more
                return settle(self._ended(number, error))
            if "error" in answer:
                return self._refused(number, answer["error"])
            with lock:
                answers[number] = answer
                last = len(answers) == len(asked)
            return settle() if last else None

        self.over.add_done_callback(lambda done: settle(done.result()))
        for number, verb, packed in asked:
            call = next(self._count)
            self.doing[number, call] = (verb, time.monotonic())
            self.ranks[number].ask(verb, packed).add_done_callback(partial(heard, number, call))
        return whole

    def _ended(self, number: int, error: BaseException) -> QuintainError:
        return self.fail(self._lost(number, str(error).strip().split("\n", 1)[0][:300] or type(error).__name__))

    def _refused(self, number: int, told: Mapping[str, Any]) -> None:
        """An error ends the group; where a rank only misses another one, word of that one's end comes first."""
        kind, message = told["kind"], told["message"]
        if kind == RankError.__name__:
            late = threading.Timer(CAUSE_S, lambda: self.fail(self._lost(number, message)))
            late.daemon = True
            return late.start()
        if kind in KINDS:
            self.fail(KINDS[kind](message))
        elif told["named"]:
            self.fail(LearnerError(f"rank {number} of the learner group: {kind}: {message}"))
        else:
            self.fail(self._lost(number, f"{kind}: {message}; the end of its trace:\n{told['trace']}"))
        return None
