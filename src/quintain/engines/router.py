"""A router: one engine in front of several, in labelled pools, each request to hardware that suits it."""

from __future__ import annotations

import asyncio
import copy
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from quintain.engines.errors import EngineDown, EngineError, VersionMismatch
from quintain.ports import Engine
from quintain.registry import build, entry, register
from quintain.types import Completion, Floats, Ints, Request, Weights

DOWN = (
    EngineDown,
    ConnectionError,
    TimeoutError,
)  # an engine that raises one of these serves no more until it loads again
SESSIONS = 100_000  # remembered at most; the idlest is forgotten first
LEARNED = 0.1  # weight of a new completion in the mean length of its kind

Result = TypeVar("Result")


def fitting(context: float, answer: float, threshold: float) -> str:
    """The label of the pool that suits: `prefill` where the context makes up more than `threshold` of the tokens, else `decode`.

    Example:
        >>> fitting(900, 100, 0.5), fitting(100, 900, 0.5)
        ('prefill', 'decode')
    """
    return "prefill" if context > threshold * (context + answer) else "decode"


@dataclass(slots=True, eq=False)
class Member:
    """One engine of a pool: `work` is the tokens that its requests in flight are expected to take; `down` says why it is gone."""

    name: str
    pool: str
    engine: Engine
    work: float = 0.0
    requests: int = 0
    down: str = ""


@dataclass(slots=True, eq=False)
class Seat:
    """Where a session is, and how many tokens of its path are held there."""

    member: Member
    held: int = 0


class Router:
    """Matches the `Engine` port with several engines.

    A session stays with the engine that took its first request, where its prefix is held, as long as that engine lives. A new
    one goes to the pool `prefill` when the part of the prompt that nobody has computed makes up more than `threshold` of the
    tokens that the request is expected to take, else to the pool `decode`; inside a pool to the engine with the least
    work in flight. How long an answer will be is learned from those with the same `max_tokens`. Where a pool has no living
    engine, or does not exist, any other serves.

    An engine that is gone (`EngineDown`, a connection that breaks) serves no more, and its requests go to another; the next
    `load` tries it again.

    Args:
        pools: engines by label: `prefill`, `decode`, and any other, such as `cpu`, that serves when those are gone.
        threshold: share of uncached prompt tokens in (0, 1) above which a request counts as prefill-heavy.

    Raises:
        EngineError: no engine, or a threshold out of range.
    """

    def __init__(self, pools: Mapping[str, Sequence[Engine]], threshold: float = 0.5) -> None:
        self.members = [Member(f"{pool}{i}", pool, e) for pool, some in pools.items() for i, e in enumerate(some)]
        if not self.members or not 0 < threshold < 1:
            raise EngineError(
                f"a router needs at least one engine and a threshold in (0, 1); got {len(self.members)} engines, {threshold}"
            )
        self.threshold = threshold
        self.version = 0
        self.moved = 0  # sessions that lost their engine
        self._seats: OrderedDict[str, Seat] = OrderedDict()
        self._lengths: dict[int, float] = {}  # max_tokens -> mean length of an answer

    def alive(self) -> list[Member]:
        """The engines that serve.

        Raises:
            EngineDown: none does; the message says why each is gone.
        """
        living = [m for m in self.members if not m.down]
        if not living:
            raise EngineDown("every engine is gone: " + "; ".join(f"{m.name}: {m.down}" for m in self.members))
        return living

    # -- requests --------------------------------------------------------------------------------------------------

    async def generate(self, request: Request) -> Completion:
        """The completion of the engine that suits the request.

        Raises:
            EngineDown: every engine is gone.
        """
        while True:
            seat = self._seat(request)
            member, fresh = seat.member, max(0, len(request.prompt) - seat.held)
            cost = fresh + self._expected(request)
            member.work += cost
            member.requests += 1
            try:
                done = await member.engine.generate(request)
            except DOWN as error:
                self._bury(member, error)
                continue
            finally:
                member.work -= cost
            if self._seats.get(request.session, seat) is seat:  # nobody has cut it short
                self._learn(request, done)
            seat.held = len(request.prompt) + len(done.tokens)
            return done

    def _seat(self, request: Request) -> Seat:
        seat = self._seats.get(request.session) if request.session else None
        if seat is not None and not seat.member.down:
            self._seats.move_to_end(request.session)
            return seat
        self.moved += seat is not None
        seat = Seat(self._choose(len(request.prompt), self._expected(request)))
        if request.session:
            self._seats[request.session] = seat
            if len(self._seats) > SESSIONS:
                self._seats.popitem(last=False)
        return seat

    def _choose(self, fresh: float, answer: float) -> Member:
        living = self.alive()
        pool = fitting(fresh, answer, self.threshold)
        suited = (
            [m for m in living if m.pool == pool] or [m for m in living if m.pool in ("prefill", "decode")] or living
        )
        return min(suited, key=lambda m: m.work)

    def _expected(self, request: Request) -> float:
        most = request.sampling.max_tokens
        return self._lengths.get(most, float(most))

    def _learn(self, request: Request, done: Completion) -> None:
        most = request.sampling.max_tokens
        mean = self._lengths.get(most, float(len(done.tokens)))
        self._lengths[most] = mean + LEARNED * (len(done.tokens) - mean)

    def _bury(self, member: Member, error: BaseException) -> None:
        member.down = f"{type(error).__name__}: {error}"

    async def score(self, paths: Sequence[Ints]) -> Sequence[Floats]:
        """The logprobs of paths, in equal shares from the engines of the pool `prefill`, or from all where there is none."""
        while True:
            living = self.alive()
            scorers = [m for m in living if m.pool == "prefill"] or living
            shares = [paths[i :: len(scorers)] for i in range(len(scorers))]
            parts = await asyncio.gather(
                *[self._try(m, m.engine.score(some)) for m, some in zip(scorers, shares, strict=True) if some]
            )
            if any(part is None for part in parts):
                continue
            out: list[Floats] = [()] * len(paths)
            for i, part in enumerate(parts):
                out[i :: len(scorers)] = part or ()
            return out

    async def fork(self, session: str, at: int, into: str) -> None:
        """Make `into` share the first `at` tokens of `session`, on the engine of `session`."""
        seat = self._seats.get(session)
        if seat is None or seat.member.down:
            return  # nothing is held any more: the next request of `into` computes its prompt
        if await self._try(seat.member, _told(seat.member.engine.fork(session, at, into))):
            self._seats[into] = Seat(seat.member, min(at, seat.held))

    async def abort(self, session: str) -> None:
        """End a session; a request in flight returns what it has."""
        seat = self._seats.pop(session, None)
        if seat is not None and not seat.member.down:
            await self._try(seat.member, _told(seat.member.engine.abort(session)))

    # -- all engines -----------------------------------------------------------------------------------------------

    async def load(self, weights: Weights) -> None:
        """Give weights to every engine, to those that are gone as well, which serve again when they take them.

        Raises:
            VersionMismatch: an engine holds another version afterwards; it is named.
            EngineDown: no engine is left.
        """
        for member in self.members:
            member.down = ""
        await self._all(lambda engine: engine.load(weights))
        for member in self.alive():
            held = getattr(member.engine, "version", weights.version)
            if held != weights.version:
                raise VersionMismatch(f"{member.name} holds version {held} after version {weights.version} was loaded")
            for seat in self._seats.values():
                if seat.member is member:
                    seat.held = 0
        self.version = weights.version

    async def pause(self) -> None:
        """Stop every engine between two tokens."""
        await self._all(lambda engine: engine.pause())

    async def resume(self) -> None:
        """Let every engine go on."""
        await self._all(lambda engine: engine.resume())

    async def close(self) -> None:
        """End the engines that hold processes of their own."""
        for member in self.members:
            close = getattr(member.engine, "close", None)
            if close is not None:
                await close()

    async def _all(self, call: Callable[[Engine], Awaitable[None]]) -> None:
        await asyncio.gather(*[self._try(m, call(m.engine)) for m in self.members if not m.down])
        self.alive()

    async def _try(self, member: Member, call: Awaitable[Result]) -> Result | None:
        """What a call gives, or None when the engine turns out to be gone."""
        try:
            return await call
        except DOWN as error:
            self._bury(member, error)
            return None


async def _told(call: Awaitable[None]) -> bool:
    await call
    return True


@register("engine", "router", apart=True, example={"pools": {"decode": [{"name": "scripted"}]}})
def router(
    model: Any,
    *,
    slots: int = 256,
    context: int = 0,
    pools: Mapping[str, Sequence[Mapping[str, Any]]],
    threshold: float = 0.5,
) -> Router:
    """Several engines in labelled pools, each request to hardware that suits it.

    Args:
        model: what each engine runs; those in this process get a copy of their own.
        slots: of each engine, unless its table says otherwise.
        context: tokens of the longest path; the model's own limit when 0.
        pools: label -> engines, each a table of `name`, options, and `count` (1) for several alike.
        threshold: see `Router`.

    Raises:
        EngineError: a pool that is no list of tables, or a count below 1.
    """
    made: dict[str, list[Engine]] = {}
    for label, tables in pools.items():
        made[label] = []
        for table in [tables] if isinstance(tables, Mapping) else tables:
            spec = dict(table)
            count = spec.pop("count", 1)
            if not isinstance(spec.get("name"), str) or not isinstance(count, int) or count < 1:
                raise EngineError(
                    f"engine.options.pools.{label} holds {dict(table)}; write a table with a `name` and a count >= 1"
                )
            apart = entry("engine", spec["name"]).tags.get("apart")
            for _ in range(count):
                own = model if apart else copy.deepcopy(model)
                made[label].append(build("engine", {"model": own, "slots": slots, "context": context, **spec}))
    return Router(made, threshold)
