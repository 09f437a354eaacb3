"""The gateway that the rollout `agent` opens its episodes in: one server on loopback while any of them is played."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from quintain.registry import register, require_extra
from quintain.rollouts.agent import Access
from quintain.rollouts.recorder import Recorder
from quintain.serve.call import Limits
from quintain.serve.gateway import Gateway
from quintain.serve.http import Server
from quintain.serve.schema import Facts

CROWD = 1 << 16  # requests at once: agents of a run are never told to come again later


class Door:
    """Gives every open episode a base URL and a token, on a free port of the loopback interface.

    The server starts with the first open episode and stops after the last, so that nothing is left behind when a run ends.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._gateway = Gateway(limits=limits)
        self._server: Server | None = None
        self._open = 0
        self._turn: asyncio.Lock | None = None  # one start or stop at a time

    async def open(self, recorder: Recorder) -> Access:
        """Let the requests of an episode in."""
        if self._open == 0:
            self._turn = asyncio.Lock()  # of the loop that runs now
        self._open += 1
        assert self._turn is not None
        async with self._turn:
            if self._server is None:
                server = Server(self._gateway, limits=self.limits)
                try:
                    await server.start()
                except BaseException:
                    self._open -= 1
                    raise
                self._server = server
        facts = facts_of(recorder.renderer, "policy", any_model=True, limits=self.limits)
        key = self._gateway.admit(recorder, facts)
        return Access(f"http://127.0.0.1:{self._server.port}/e/{recorder.name}/v1", key, facts.model)

    async def close(self, recorder: Recorder) -> None:
        """Let no more of them in: from here on its token is refused."""
        self._gateway.expel(recorder)
        self._open -= 1
        assert self._turn is not None
        async with self._turn:
            if not self._open and self._server is not None:
                server, self._server = self._server, None
                await server.stop()


def facts_of(renderer: Any, model: str, *, any_model: bool, limits: Limits | None = None) -> Facts:
    """What the endpoint knows of a policy: its name, its vocabulary, and what its renderer can do beside its port."""
    encode: Callable[[str], Any] | None = getattr(renderer, "ids", None)
    pictures = bool(getattr(renderer, "pictures", False))
    own = {"encode": encode, "pictures": pictures, "limits": limits or Limits()}
    return Facts(model=model, size=renderer.size, any_model=any_model, **own)


@register("gateway", "openai")
def openai(answer_s: float = 600.0, body_bytes: int = 16 << 20) -> Door:
    """Episodes behind an OpenAI-compatible endpoint on loopback.

    Args:
        answer_s: seconds that one answer may take, > 0.
        body_bytes: largest body of a request.

    Raises:
        MissingExtra: the extra `serve` is not installed.
    """
    require_extra("serve", "starlette", "uvicorn")
    return Door(Limits(answer_s=answer_s, body_bytes=body_bytes, at_once=CROWD))
