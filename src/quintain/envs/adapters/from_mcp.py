"""Servers of the Model Context Protocol as envs of ours: their tools are the policy's."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import io
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from PIL import Image as Pillow

from quintain.envs.adapters.away import Away, met
from quintain.envs.adapters.game import PeerError, are, number
from quintain.envs.adapters.packages import peer
from quintain.envs.data import NoOpening
from quintain.envs.schema import ToolError
from quintain.envs.tools import ToolEnv
from quintain.ports import SOLO, Env, EpisodeLost
from quintain.registry import register
from quintain.types import Feedback, Image, Message, Role, Stop, Task, Text, Tool

# The client's own errors: their codes, which servers may use for others, and a word of what they say.
LOST = {-32000: "closed", -32001: "timed out"}
PLAIN = ("string", "integer", "number", "boolean", "array", "object", "null")


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How the tools of a server make an environment.

    Attributes:
        only: names of the tools on offer; empty for all.
        opening: a tool that begins every episode, as `{"name": ..., "arguments": {...}}`; the argument `"{seed}"` is the task's seed. What
            it answers is the policy's first message, and it is not on offer. Without it, tasks bring their messages.
        reward: field of a result's structured content (or of the JSON object that its text is) that is added to the reward `reward`.
        over: field of it that, when true, ends the episode.
        turns: messages of the policy, >= 1.
        wait_s: seconds that one answer of the server may take, > 0.
        penalty: reward of each call that cannot be run, <= 0.
    """

    only: tuple[str, ...] = ()
    opening: Mapping[str, Any] = field(default_factory=dict)
    reward: str = "reward"
    over: str = "over"
    turns: int = 8
    wait_s: float = 60.0
    penalty: float = 0.0


class Session:
    """A connection to a server; a task of its own holds it open, as MCP's client must be left by the task that entered it.

    Args:
        server: a URL, or a command as a list of words.
        wait_s: seconds that one answer may take.
    """

    def __init__(self, server: Any, wait_s: float) -> None:
        self.server, self.wait_s = server, wait_s
        self._done = asyncio.Event()
        self._ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._task = asyncio.ensure_future(self._hold())

    async def _hold(self) -> None:
        try:
            async with peer("mcp.client").Client(self._where(), read_timeout_seconds=self.wait_s) as client:
                self._ready.set_result(client)
                await self._done.wait()
        except Exception as error:
            if not self._ready.done():
                kind = Away if isinstance(self.server, str) else PeerError  # a command that does not start never will
                self._ready.set_exception(kind(f"no MCP server at {self.server}: {_cause(error)}"))

    def _where(self) -> Any:
        if isinstance(self.server, str):
            return self.server
        stdio = peer("mcp.client.stdio")
        return stdio.stdio_client(stdio.StdioServerParameters(command=self.server[0], args=list(self.server[1:])))

    async def tools(self) -> list[Tool]:
        """What the server offers.

        Raises:
            PeerError: there is no such server.
        """
        try:
            async with asyncio.timeout(self.wait_s):
                client = await asyncio.shield(self._ready)
        except TimeoutError as error:
            raise PeerError(
                f"no MCP server at {self.server}: no answer in limits.wait_s={self.wait_s:g} seconds; mend the server, or wait longer"
            ) from error
        found, cursor = [], None
        while True:
            page = await self._told("tools/list", client.list_tools(cursor=cursor))
            found += [
                Tool(name=t.name, description=t.description or "", parameters=dict(t.input_schema)) for t in page.tools
            ]
            cursor = page.next_cursor
            if not cursor:
                return found

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """The result of a tool.

        Raises:
            Away: the server behind a URL is gone.
            PeerError: that of a command is, or one took longer than it may.
        """
        client = await self._ready
        return await self._told(name, client.call_tool(name, dict(arguments)))

    async def _told(self, what: str, answer: Awaitable[Any]) -> Any:
        try:
            return await answer
        except Exception as error:
            lost = LOST.get(getattr(error, "code", 0), "\n")
            if lost in str(error).lower():
                kind = Away if lost == "closed" and isinstance(self.server, str) else PeerError
                raise kind(f"the MCP server {self.server} has gone, or does not answer {what}: {error}") from error
            raise

    async def close(self) -> None:
        """Leave the server; one that was started by a command ends."""
        self._done.set()
        await asyncio.wait([self._task])
        if self._ready.done() and not self._ready.cancelled():
            self._ready.exception()  # it was told, or nobody waits for it


class McpEnv:
    """Matches `ports.Env`: a session for every episode; the policy calls the tools until it answers without a call, or it is over.

    Args:
        server: a URL, or a command as a list of words.
        use: how its tools make an environment.
    """

    def __init__(self, server: Any, use: Use) -> None:
        self.server, self.use = server, use
        self.session: Session | None = None
        self.inner = ToolEnv({}, (use.turns, 0.0), use.penalty)
        self.inner.ends = (PeerError, Away)  # no call is to blame for that
        self.earned, self.over = 0.0, False
        self.pictures: list[Image] = []  # of this turn's results

    async def reset(self, task: Task) -> Mapping[str, Feedback]:
        """Connect, list the tools, and open the episode. A server behind a URL that is away for a moment is waited for.

        Raises:
            Away: there is no server at the URL.
            PeerError: the command is none, or the server lacks a tool that is named.
            NoOpening: the task has no messages, and no tool opens the episode.
        """
        if not task.messages and not self.use.opening:
            raise NoOpening(
                f"task {task.key} has no messages; draw data tasks with the sampler `dataset`, or set opening"
            )
        begin = functools.partial(self._begin, task)
        return await (met(self.server, begin) if isinstance(self.server, str) else begin())

    async def _begin(self, task: Task) -> Mapping[str, Feedback]:
        await self.close()
        self.session = Session(self.server, self.use.wait_s)
        offered = {tool.name: tool for tool in await self.session.tools()}
        first = str(self.use.opening.get("name", ""))
        if lacking := ({*self.use.only, first} - {""}) - set(offered):
            raise PeerError(f"{self.server} has no tool {', '.join(sorted(lacking))}; it has {', '.join(offered)}")
        shown = [t for t in offered.values() if t.name != first and (not self.use.only or t.name in self.use.only)]
        self.inner.functions = {t.name: functools.partial(self._run, t.name) for t in shown}
        self.inner.tools = {t.name: _loose(t) for t in shown}
        self.inner.turn, self.inner.calls, self.earned, self.over = 0, [], 0.0, False
        messages = list(task.messages)
        if first:
            given = self.use.opening.get("arguments", {})
            arguments = {name: task.seed if value == "{seed}" else value for name, value in given.items()}
            said = await self.session.call(first, arguments)
            if said.is_error:
                raise PeerError(f"{self.server} opens no episode: {first} says {_told(said)!r:.300}; mend opening")
            messages.append(Message(Role.user, tuple(_parts(said))))
        return {SOLO: Feedback(messages=tuple(messages), tools=tuple(shown), state=self.snapshot())}

    async def step(self, moves: Mapping[str, Message]) -> Mapping[str, Feedback]:
        """Run the calls of a message in order; see `ToolEnv.step`.

        Raises:
            EpisodeLost: the server behind a URL went, and `opening` begins the episode anew.
            Away: it went otherwise.
            PeerError: that of a command went, or one does not answer.
        """
        self.earned, self.pictures = 0.0, []
        try:
            said = (await self.inner.step(moves))[SOLO]
        except Away as error:
            if self.use.opening:
                raise EpisodeLost(str(error)) from error
            raise
        if self.pictures:
            (message,) = said.messages
            said = replace(said, messages=(Message(message.role, (*message.parts, *self.pictures)),))
        if self.earned:
            said = replace(said, reward={**said.reward, "reward": self.earned})
        if self.over:
            said = replace(said, stop=Stop.done, acts=False)
        return {SOLO: said}

    async def _run(self, name: str, /, **arguments: Any) -> str:
        if self.over or self.session is None:
            raise ToolError("the episode is over")
        result = await self.session.call(name, arguments)
        text = _told(result)
        if result.is_error:
            raise ToolError(text or f"{name} failed")
        facts = _facts(result.structured_content, text)
        if isinstance(facts, Mapping):
            where = f"the MCP server {self.server}: {name}"
            self.earned += _finite(facts.get(self.use.reward), where, self.use.reward)
            over = facts.get(self.use.over)
            if not isinstance(over, bool | None):
                raise PeerError(
                    f"{where} gives {self.use.over}={over!r:.40}; it is true or false: mend the server, or set rewards.over"
                )
            self.over = self.over or bool(over)
        pictures = [part for part in _parts(result) if isinstance(part, Image)]
        self.pictures += pictures
        return text or ("" if pictures and facts is None else json.dumps(facts, ensure_ascii=False))

    def snapshot(self) -> Any:
        """Turn and calls so far; the server's own state is not covered."""
        return self.inner.snapshot()

    def restore(self, snapshot: Any) -> None:
        """An MCP server cannot go back.

        Raises:
            PeerError: always.
        """
        raise PeerError(f"the MCP server {self.server} cannot go back: it can be played, and not restored or forked")

    async def close(self) -> None:
        """Leave the server."""
        if self.session is not None:
            session, self.session = self.session, None
            await session.close()


def _parts(result: Any) -> list[Text | Image]:
    out: list[Text | Image] = []
    for block in result.content:
        if block.type == "text":
            out.append(Text(text=block.text))
        elif block.type == "image":
            with Pillow.open(io.BytesIO(base64.b64decode(block.data))) as picture:
                out.append(Image(pixels=np.asarray(picture.convert("RGB"), np.uint8)))
    return out


def _told(result: Any) -> str:
    return "\n".join(part.text for part in _parts(result) if isinstance(part, Text))


def _facts(structured: Any, text: str) -> Any:
    """What a result says as data: its structured content, or the object that its text is; servers wrap some values as `result`."""
    if structured is None and text.startswith("{"):
        with contextlib.suppress(ValueError, RecursionError):
            structured = json.loads(text)
    wrapped = isinstance(structured, Mapping) and set(structured) == {"result"}
    return structured["result"] if wrapped else structured


def _finite(value: Any, where: str, field: str) -> float:
    if value is None:
        return 0.0
    if not number(value):
        raise PeerError(
            f"{where} gives {field}={value!r:.40}; a reward is a finite number: mend the server, or set rewards.reward"
        )
    return float(value)


def _loose(tool: Tool) -> Tool:
    """A tool whose arguments are checked as far as `schema.fits` reads schemas; the server checks the rest."""
    known = tool.parameters.get("properties", {})
    plain = {
        n: {"type": s["type"]} if isinstance(s, Mapping) and s.get("type") in PLAIN else {} for n, s in known.items()
    }
    return replace(tool, parameters={"properties": plain, "required": list(tool.parameters.get("required", ()))})


def _cause(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:300]


@register("env", "mcp", seeds=True, example={"server": ["python", "server.py"]})
def mcp(
    server: str | Sequence[str],
    only: Sequence[str] = (),
    opening: Mapping[str, Any] | None = None,
    rewards: Mapping[str, str] | None = None,
    limits: Mapping[str, float] | None = None,
) -> Callable[[Task], Env]:
    """The tools of an MCP server as an environment; every episode has a session of its own, and a command a process of its own.

    The policy calls the tools until it answers without a call, which a reward part may judge; a server that says `reward` and `over` in the
    structured content of its results is an environment by itself. A call that is malformed, unknown or fails is answered with an error
    text and an event.

    Args:
        server: a URL (streamable HTTP), or a command as a list of words (stdio).
        only: names of the tools on offer; empty for all.
        opening: a tool that begins every episode, as `{name, arguments}`; the argument `"{seed}"` is the task's seed.
        rewards: the fields `reward` and `over` of structured content, where they have other names.
        limits: `turns` (8), `wait_s` (60), `penalty` (0) of each call that cannot be run.

    Raises:
        MissingExtra: mcp is not installed.
        PeerError: an option is unknown or out of range.
    """
    peer("mcp.client")
    are("a list of words", only=only)
    are("a URL or a list of words", server=server)
    names, numbers = dict(rewards or {}), dict(limits or {})
    chosen: dict[str, Any] = {**names, **numbers}
    if strange := (set(names) - {"reward", "over"}) | (set(numbers) - {"turns", "wait_s", "penalty"}):
        raise PeerError(
            f"mcp takes rewards.reward, rewards.over, limits.turns, .wait_s, .penalty, not {', '.join(sorted(strange))}"
        )
    are("a finite number", **{f"limits.{name}": value for name, value in numbers.items() if name != "turns"})
    are("a whole number", **{"limits.turns": numbers.get("turns", 1)})
    are("a text", **{f"rewards.{name}": value for name, value in names.items()})
    opens = opening or {}
    if not isinstance(opens, Mapping) or (opens and not opens.get("name")) or set(opens) - {"name", "arguments"}:
        raise PeerError(f"opening is {opening!r:.80}; it is a mapping of name and, unless there are none, arguments")
    use = replace(Use(only=tuple(only), opening=opens), **chosen)
    if use.turns < 1 or use.wait_s <= 0 or use.penalty > 0 or not server:
        raise PeerError(
            f"turns is {use.turns}, at least 1; wait_s {use.wait_s:g}, above 0; penalty {use.penalty:g}, at most 0"
        )
    return lambda task: McpEnv(server, use)
