"""One seat of a running episode: it hears feedback, speaks through its engine, and keeps plain lists until the end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

from quintain.codec import digest_of
from quintain.parts import Cast
from quintain.ports import TurnRefused
from quintain.render import toolcalls
from quintain.rollouts.hints import Hint, place, told
from quintain.types import (
    Completion,
    Feedback,
    Image,
    Ints,
    Kind,
    Message,
    Request,
    Role,
    Sampling,
    Stop,
    Tool,
    check_stop,
    writable,
)
from quintain.waits import waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How episodes are played; 0 means no limit, or none."""

    max_turns: int = 0
    max_tokens: int = 0  # of one turn
    context: int = 0  # of one path
    deadline_s: float = 60.0  # of one answer of the env; where it is learned, until then and at most
    learned: bool = False  # deadlines come from the env's own answers
    factor: float = 3.0  # learned deadline over p99
    floor_s: float = 1.0  # least learned deadline
    redundancy: int = 0  # members beyond the size of the group
    meter: float = 0.05  # share of the groups whose losers are played to their end
    retries: int = 0  # of an episode whose env failed
    slots: int = 0  # episodes at once
    resets: int = 512  # of them in their reset at once
    digests: bool = False
    states: bool = False
    hint: Hint | None = None  # of the episode


class Row(NamedTuple):
    """What becomes a `Node` when the episode is over."""

    parent: int | None
    role: Role
    kind: Kind
    tokens: Ints
    turn: int
    text: str
    completion: Completion | None = None
    sampling: Sampling | None = None
    seconds: Mapping[str, float] = {}
    images: tuple[Image, ...] = ()


class Seat:
    """The state of one seat: one row per message; a block of messages keeps its tokens on the last of them."""

    def __init__(self, name: str, index: int, cast: Cast, plan: Plan, place: tuple[int, int]) -> None:
        ticket, member = place
        self.name, self.index, self.plan = name, index, plan
        self.role: str = name if name in cast.engines else "policy"
        self.engine: Any = cast.engine(name)
        self.renderer: Any = cast.renderers.get(self.role) or cast.renderers.get("policy")
        self.converses: bool = hasattr(self.engine, "converse")
        if self.converses:
            self.renderer = cast.renderers.get(self.role)
        self.sampling: Sampling = self._sampling(cast.samplings.get(self.role, cast.sampling))
        self.shorter: dict[int, Sampling] = {}
        self.key: Ints = (cast.seed, ticket, member)
        self.stem: str = f"{cast.seed}.{ticket}.{member}.{index}"
        self.branches: int = 0
        self.session: str = f"{self.stem}.0"
        self.path: Ints = ()  # tokens of the current path
        self.line: list[int] = []  # its rows
        self.rows: list[Row] = []
        self.history: list[Message] = []
        self.fresh: tuple[Message, ...] = ()  # heard since the last turn
        self.images: tuple[Image, ...] = ()
        self.tools: tuple[Tool, ...] = ()
        self.hint = plan.hint if self.role not in cast.frozen else None
        self.hinted: tuple[int, Message] | None = None  # the message that takes the hint, as it is without it
        # the rows that hold the hint, and what each was rendered from
        self.openings: list[tuple[int, tuple[Message, ...], tuple[Tool, ...]]] = []
        self.retold: bool = False  # other tools than the path was opened with: it must be written anew
        self.state: Any = None
        self.acts: bool = True
        self.stop: Stop | None = None
        self.cut: bool = False  # the last turn ended at a token limit
        self.turn: int = 0
        self.env_seconds: float = 0.0
        self.rewards: dict[str, float] = {}
        self.turn_rewards: list[float] = []
        self.early_reward: float = 0.0
        self.events: list[str] = []
        self.actions: list[str] = []
        self.digest: str = ""
        self.digests: list[str] = []
        self.states: list[Any] = []

    def _sampling(self, sampling: Sampling) -> Sampling:
        renderer, limits = self.renderer, [sampling.max_tokens]
        limits += [n for n in (self.plan.max_tokens, getattr(renderer, "turn_tokens", 0)) if n]
        stop = tuple(dict.fromkeys((*sampling.stop, *(renderer.stop if renderer else ()))))
        return replace(sampling, max_tokens=min(limits), stop=stop)

    def hear(self, said: Feedback, seconds: float = 0.0) -> None:
        """Take in feedback.

        Raises:
            ValueError: a reward is not a finite number.
            BadStop: the env has a feedback type of its own, whose stop is no `Stop`.
        """
        check_stop(said.stop)
        if said.messages:
            heard = self._shown(said.messages) if self.hint and self.hinted is None else said.messages
            self.fresh = self.fresh + heard if self.fresh else heard
        if said.reward:
            self._reward(said.reward)
        if said.events:
            self.events.extend(map(writable, said.events))
        if said.tools and said.tools != self.tools:
            self.tools, self.retold = said.tools, bool(self.line)
        if said.action and self.turn:
            self.actions[-1] = writable(said.action)
        self.acts, self.env_seconds = said.acts, seconds
        if said.stop is not None:
            self.stop = Stop.truncated_tokens if self.cut and said.stop is Stop.done else said.stop
        self.state = said.state
        if self.plan.states:
            self.states.append(said.state)
        if self.plan.digests:
            self.digest = digest_of(said.state)

    def _shown(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The first messages, with the hint where this episode shows it."""
        assert self.hint is not None
        at = place(messages)
        self.hinted = (at, messages[at])
        return told(messages, at, self.hint.text) if self.hint.shown else messages

    def _reward(self, reward: Mapping[str, float]) -> None:
        for name, value in reward.items():
            if not math.isfinite(value):
                raise ValueError(f"reward {name!r} is {value}; rewards are finite numbers")
            self.rewards[name] = self.rewards.get(name, 0.0) + value
            if self.turn:
                self.turn_rewards[-1] += value
            else:
                self.early_reward += value

    async def speak(self) -> Message | None:
        """The seat's next message; None, with `stop` set, when there is none."""
        try:
            return await (self._converse() if self.converses else self._generate())
        except TurnRefused as error:  # others are answered: it is this conversation's own end
            self.stop = Stop.truncated_tokens if error.full else Stop.crashed
            self.events.append(writable(f"{'full' if error.full else self.stop}: {error}"[:600]))
            return None

    def _room(self) -> int:
        limit = self.sampling.max_tokens
        if self.plan.context:
            limit = min(limit, self.plan.context - len(self.path))
        return limit

    async def _generate(self) -> Message | None:
        """Speak in tokens. None, with `stop` set, when there is no room or the engine was interrupted."""
        await self._listen(self.plan.context)
        if self.stop:
            return None
        room, sampling = self._room(), self.sampling
        if room < sampling.max_tokens:
            sampling = self.shorter.get(room) or self.shorter.setdefault(room, replace(sampling, max_tokens=room))
        request = Request(
            session=self.session,
            prompt=self.path,
            sampling=sampling,
            key=(*self.key, self.turn, self.index),
            images=self.images,
        )
        start = perf_counter()
        with waiting("engine", request.key[1:3], self.role):
            completion = await self.engine.generate(request)
        seconds = perf_counter() - start
        tokens = completion.tokens
        if tokens or not completion.text:
            message = self.renderer.parse(tokens)
            kind = Kind.sampled
        else:
            message = toolcalls.said(completion.text)
            kind = Kind.external
        self._said(completion, message, kind, seconds)
        return None if self.stop else message

    async def _converse(self) -> Message | None:
        """Speak in messages, to an engine without tokens; a renderer of its own still writes them down."""
        if self.renderer is None:
            self._note((), Kind.obs if self.line else Kind.prompt)
        else:
            await self._listen()
        key = (*self.key, self.turn, self.index)
        request = Request(session=self.session, prompt=self.path, sampling=self.sampling, key=key)
        start = perf_counter()
        with waiting("engine", key[1:3], self.role):
            completion = await self.engine.converse(self.history, self.tools, request, self.state)
        seconds = perf_counter() - start
        message = toolcalls.said(completion.text)
        if self.renderer is not None:
            tokens = self.renderer.say(message)
            completion = replace(completion, tokens=tokens, logprobs=(0.0,) * len(tokens), spans=())
        self._said(completion, message, Kind.external, seconds)
        return None if self.stop else message

    async def _listen(self, context: int = 0) -> None:
        """Bring the path up to date with what was heard; without it, and with `stop` set, if that fills the context."""
        if not self.line:
            ids, kind = self.renderer.open(self.fresh, self.tools), Kind.prompt
        elif self.retold:
            ids, kind = None, Kind.obs
        else:
            ids, kind = self.renderer.extend(self.history, self.fresh, self.path, self.tools), Kind.obs
        if ids is None:
            await self._branch(context)
        elif not self._fills(len(self.path) + len(ids), context):
            if not self.line:
                self._opens(self.fresh)
            self._note(ids, kind)

    def _opens(self, messages: tuple[Message, ...]) -> None:
        if self.hinted:
            self.openings.append((len(self.rows) + len(self.fresh) - 1, messages, self.tools))

    def _fills(self, size: int, context: int) -> bool:
        full = 0 < context <= size
        if full:
            self.stop = Stop.truncated_tokens
            self.events.append(f"full: {size} tokens leave no room in a context of {context}")
        return full

    def _note(self, ids: Ints, kind: Kind) -> None:
        """Write down what was heard: one row a message, the tokens on the last."""
        fresh, rows, line = self.fresh, self.rows, self.line
        if not fresh:
            if not ids:
                return
            fresh = (Message(Role.user, ()),)
        last = len(fresh) - 1
        seconds = {"env": self.env_seconds} if self.env_seconds else {}
        for i, message in enumerate(fresh):
            parent = line[-1] if line else None
            line.append(len(rows))
            of = Kind.tool if message.role is Role.tool else kind
            images = message.images if len(message.parts) > 1 else ()
            if images:
                self.images += images
            tokens = ids if i == last else ()
            rows.append(Row(parent, message.role, of, tokens, self.turn, message.text, None, None, seconds, images))
        self.history.extend(fresh)
        self.path += ids
        self.fresh = ()

    def _said(self, completion: Completion, message: Message, kind: Kind, seconds: float) -> None:
        rows, line = self.rows, self.line
        row = Row(
            line[-1] if line else None,
            Role.assistant,
            kind,
            completion.tokens,
            self.turn,
            message.text,
            completion,
            self.sampling,
            {"generate": seconds},
        )
        line.append(len(rows))
        rows.append(row)
        self.history.append(message)
        self.path += completion.tokens
        self.turn += 1
        self.turn_rewards.append(self.early_reward)
        self.early_reward = 0.0
        self.actions.append("")
        if self.plan.digests:
            self.digests.append(self.digest)
        self.cut = completion.finish == "length" and bool(self.sampling.stop)
        if completion.finish == "abort":
            self.stop = Stop.aborted
        elif self.cut:
            self.events.append("cut")
            if not completion.tokens:
                self.stop = Stop.truncated_tokens

    async def _branch(self, context: int) -> None:
        """Start a new path: the conversation rendered anew, sharing the leading rows whose tokens are the same."""
        messages = (*self.history, *self.fresh)
        tokens = self.renderer.open(messages, self.tools)
        if self._fills(len(tokens), context):
            return
        at, line = 0, []
        for i in self.line:
            own = self.rows[i].tokens
            if tokens[at : at + len(own)] != own:
                break
            at += len(own)
            line.append(i)
        old, self.branches = self.session, self.branches + 1
        self.session = f"{self.stem}.{self.branches}"
        self.events.append("branch")
        self.retold = False
        await self.engine.fork(old, at, self.session)  # also where nothing is shared: the episode is the same
        await self.engine.abort(old)
        self.line, self.path, self.history = line, tokens[:at], list(messages[: len(line)])
        self.images = tuple(i for m in self.history for i in m.images)
        self.fresh = messages[len(line) :]
        if not at:
            self._opens(messages)
        self._note(tokens[at:], Kind.prompt)
