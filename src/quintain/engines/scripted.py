"""Engines that say what a function or a list tells them: for tests, baselines, oracles and demonstrations."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from quintain.engines.errors import EngineError
from quintain.ports import Renderer
from quintain.registry import register
from quintain.types import Completion, Floats, Ints, Message, Request, Span, Tool, Weights

Said = str | Ints
Reply = Callable[[Request], Said | Awaitable[Said]] | Sequence[Said]
Act = Callable[[Sequence[Message], Any, Request], str | Awaitable[str]]


class ScriptedEngine:
    """Token in, token out, without a model: replies come from `reply` and are certain (logprob 0).

    Args:
        renderer: writes a text reply as tokens.
        reply: a function of the request that returns text or token ids, plain or async; or a list of replies, of
            which a session's turn t gets number t, around and around.
        version: the policy version stamped on the tokens; `load` raises it to that of the weights.

    Example:
        >>> import asyncio
        >>> from quintain.render import WordRenderer
        >>> from quintain.types import Sampling
        >>> engine = ScriptedEngine(WordRenderer(["left", "right"]), ["left", "right"])
        >>> asked = Request(session="0", prompt=(3,), sampling=Sampling(max_tokens=1), key=(0, 0, 0, 1, 0))
        >>> asyncio.run(engine.generate(asked)).tokens
        (4,)
    """

    def __init__(self, renderer: Renderer, reply: Reply, *, version: int = 0) -> None:
        if not callable(reply) and not reply:
            raise EngineError("a scripted engine needs a function or at least one reply; the list is empty")
        self.renderer, self.reply, self.version = renderer, reply, version

    async def generate(self, request: Request) -> Completion:
        """The scripted reply to `request`, cut at its `max_tokens` (finish `length`)."""
        said: Any
        if callable(self.reply):
            said = self.reply(request)
            if inspect.isawaitable(said):
                said = await said
        else:
            turn = request.key[3] if len(request.key) > 3 else 0
            said = self.reply[turn % len(self.reply)]
        tokens: Ints = self.renderer.say(Message.of("assistant", said)) if isinstance(said, str) else tuple(said)
        limit = request.sampling.max_tokens
        kept = tokens[:limit]
        ended = bool(kept) and kept[-1] in request.sampling.stop
        spans = (Span(start=0, stop=len(kept), version=self.version),) if kept else ()
        finish = "stop" if ended or len(kept) < limit else "length"
        return Completion(tokens=kept, logprobs=(0.0,) * len(kept), finish=finish, spans=spans)

    async def score(self, paths: Sequence[Ints]) -> Sequence[Floats]:
        """Zeros: whatever is said was certain."""
        return [(0.0,) * len(path) for path in paths]

    async def fork(self, session: str, at: int, into: str) -> None:
        """Nothing is kept between requests, so there is nothing to share."""

    async def abort(self, session: str) -> None:
        """Nothing is kept between requests, so there is nothing to free."""

    async def load(self, weights: Weights) -> None:
        """Take the version of `weights`; what is said stays the same."""
        self.version = weights.version

    async def pause(self) -> None:
        """Nothing runs between requests."""

    async def resume(self) -> None:
        """Nothing runs between requests."""


class Player:
    """Plays in messages and may look at the private state: random players, oracles, demonstrators, and test doubles.

    Rollouts hand it the conversation and the newest private state of its seat instead of tokens. When the cast has a
    renderer for its role, what it says is also written down as tokens of kind `external`: demonstrations for
    supervised steps.

    Args:
        act: called with (messages so far, private state, request); returns the text of the move, plain or async.
            `request.key` is (seed, ticket, member, turn, seat): a random player draws its noise from it.

    Example:
        >>> import asyncio
        >>> from quintain.types import Sampling
        >>> player = Player(lambda messages, state, request: messages[-1].text.upper())
        >>> asked = Request(session="0", prompt=(), sampling=Sampling())
        >>> asyncio.run(player.converse([Message.of("user", "go")], (), asked, None)).text
        'GO'
    """

    def __init__(self, act: Act) -> None:
        self.act = act

    async def converse(
        self, messages: Sequence[Message], tools: Sequence[Tool], request: Request, state: Any
    ) -> Completion:
        """The player's move as text."""
        said: Any = self.act(messages, state, request)
        if inspect.isawaitable(said):
            said = await said
        return Completion(tokens=(), logprobs=(), finish="stop", spans=(), text=said)

    async def generate(self, request: Request) -> Completion:
        """Refused: a player speaks in messages.

        Raises:
            EngineError: always.
        """
        raise EngineError("this engine has no tokens: call `converse` with messages, as the rollout `episodes` does")

    async def score(self, paths: Sequence[Ints]) -> Sequence[Floats]:
        """Refused: a player has no logprobs.

        Raises:
            EngineError: always.
        """
        raise EngineError("this engine has no logprobs: it cannot score paths")

    async def fork(self, session: str, at: int, into: str) -> None:
        """Nothing is kept between requests."""

    async def abort(self, session: str) -> None:
        """Nothing is kept between requests."""

    async def load(self, weights: Weights) -> None:
        """A player does not learn."""

    async def pause(self) -> None:
        """Nothing runs between requests."""

    async def resume(self) -> None:
        """Nothing runs between requests."""


@register("engine", "scripted", example={"replies": ["up"]})
def scripted(replies: Sequence[str]) -> Player:
    """A player that says the `replies` one after the other, a turn each, around and around.

    Raises:
        EngineError: there is no reply.
    """
    lines = list(replies)
    if not lines:
        raise EngineError("scripted: give at least one reply")
    return Player(lambda messages, state, request: lines[request.key[3] % len(lines)])
