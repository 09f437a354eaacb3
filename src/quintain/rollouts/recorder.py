"""What an agent of somebody else's asks the policy, request by request, written down as one tree of nodes."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

from quintain.parts import Cast
from quintain.rollouts.asked import Ask, AskError, EpisodeOver, after, digests, shown
from quintain.rollouts.cut import cut_at
from quintain.rollouts.episode import together
from quintain.types import (
    Completion,
    Ints,
    Kind,
    Message,
    Node,
    Request,
    Role,
    Sampling,
    Stop,
    Text,
    ToolCall,
    Trajectory,
    writable,
)

REFUSED = "refused:"  # begins the event of the first request that was not answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One answer: the text and tool calls that the client sees, and the tokens behind them."""

    text: str
    calls: tuple[ToolCall, ...]
    completion: Completion
    prompt: Ints
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What requests are held to: `own` lets them choose temperature and cuts, 0 turns or tokens of a path is no limit."""

    own: bool = False
    max_turns: int = 0
    context: int = 0


class _Row(NamedTuple):
    parent: int | None
    message: Message
    kind: Kind
    tokens: Ints
    turn: int
    completion: Completion | None = None
    sampling: Sampling | None = None
    seconds: Mapping[str, float] = {}


class Recorder:
    """One episode: answers requests with the policy of a cast and keeps what was asked and said, token by token.

    A request whose messages begin with an earlier conversation of the episode, its answer included, goes on from the tokens
    of that conversation: only the new messages are written, nothing is rendered again. The same messages asked again share
    their tokens. Everything else opens a path of its own: event `conversation` for a new one, `branch` for one that goes on
    from what cannot be extended (the template or the client changed what was said). The policy's messages are recognised by
    their text without outer white space and their tool calls, whatever the calls' ids.

    Args:
        name: of the episode, which becomes the trajectory's id.
        cast: engine, renderer and sampling of the policy.
        key: of the sampling noise; turn and choice are added. With `bounds.own` a request's `seed` takes its place.
        bounds: limits.
    """

    def __init__(self, name: str, cast: Cast, key: Ints, bounds: Bounds | None = None) -> None:
        self.name, self.key, self.bounds = name, key, bounds or Bounds()
        self.engine: Any = cast.engine("policy")
        self.renderer: Any = cast.renderer("policy")
        limits = [n for n in (cast.sampling.max_tokens, self.renderer.turn_tokens) if n]
        stop = tuple(dict.fromkeys((*cast.sampling.stop, *self.renderer.stop)))
        self.sampling: Sampling = replace(cast.sampling, max_tokens=min(limits), stop=stop)
        self.stem: str = f"{name}/{'.'.join(map(str, key))}"
        self.turn: int = 0
        self.stop: Stop | None = None  # the limit that a request ran into
        self.over: bool = False
        self.failure: Exception | None = None  # of the engine: ours, not the agent's
        self.rewards: dict[str, float] = {}
        self.events: list[str] = []
        self._rows: list[_Row] = []
        self._points: dict[bytes, int] = {}  # digest of tools and messages -> their last row
        self._paths: dict[int, int] = {}  # hash of the tokens of a path -> its last row
        self._lengths: set[int] = set()  # of those paths
        self._tips: dict[str, int | None] = {}  # session -> the row that it ends with, None while it is busy
        self._sessions: int = 0  # so far: a session that was freed leaves its name to no other

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return None in self._tips.values()

    def said(self, key: bytes) -> bool:
        """Whether the conversation with this digest ends with an answer of the episode."""
        at = self._points.get(key)
        return at is not None and self._rows[at].kind is Kind.sampled

    # -- asking ----------------------------------------------------------------------------------------------------

    async def ask(self, ask: Ask) -> list[Said]:
        """Answer a request, `ask.count` times.

        Raises:
            EpisodeOver: the episode has ended, also while the request was answered.
            AskError: a limit is reached.
            RenderError: the messages cannot be written as tokens.
        """
        self._check(ask)
        parent, key = self._place(ask)
        path = self._tokens(parent)
        sampling = self._sampling(ask, len(path))
        images = tuple([image for i in self._line(parent) for image in self._rows[i].message.images])
        turn, self.turn = self.turn, self.turn + ask.count
        sessions = [self._session(parent) for _ in range(ask.count)]
        try:
            jobs = []
            for i, session in enumerate(sessions):
                own = (ask.seed, i) if ask.seed is not None and self.bounds.own else (*self.key, turn + i, 0)
                request = Request(session=session, prompt=path, sampling=sampling, key=own, images=images)
                jobs.append((turn + i, request))
            answers = await together([self._generate(request) for _, request in jobs])
            return [
                self._write(ask, parent, key, (number, request, *answer))
                for (number, request), answer in zip(jobs, answers, strict=True)
            ]
        except BaseException:  # the engine failed, or the client went away
            await self._free(sessions)
            raise

    async def _free(self, sessions: Sequence[str]) -> None:
        """Nothing goes on from the sessions of a request that was not answered; the first error is the one to see."""
        unanswered = [s for s in sessions if s in self._tips and self._tips[s] is None]
        for session in unanswered:
            del self._tips[session]
        for session in unanswered if not self.over else ():  # `close` has freed them
            with contextlib.suppress(Exception):
                await self.engine.abort(session)

    def _check(self, ask: Ask) -> None:
        if self.over:
            raise EpisodeOver(f"episode {self.name} has ended")
        limit = self.bounds.max_turns
        if limit and self.turn + ask.count > limit:
            self.stop = Stop.truncated_turns
            raise AskError(f"episode {self.name} has had its {limit} turns", "n" if ask.count > 1 else "", "turn_limit")

    def _sampling(self, ask: Ask, length: int) -> Sampling:
        base = self.sampling
        asked = {n: getattr(ask, n) for n in ("temperature", "top_p", "top_k", "min_p") if getattr(ask, n) is not None}
        other = {n: v for n, v in asked.items() if v != getattr(base, n)}
        if other and self.bounds.own:
            base = replace(base, **other)
        elif other:
            told = ", ".join(f"{n}={v:g}" for n, v in other.items())
            self._tell(f"sampling: the request wants {told}; the run's own is used")
        limit = min(base.max_tokens, ask.max_tokens or base.max_tokens)
        if self.bounds.context:
            limit = min(limit, self.bounds.context - length)
        top = max(base.top_logprobs, ask.top_logprobs)
        return replace(base, max_tokens=limit, stop=tuple(dict.fromkeys((*base.stop, *ask.stop_ids))), top_logprobs=top)

    async def _generate(self, request: Request) -> tuple[Completion, float]:
        start = perf_counter()
        try:
            completion = await self.engine.generate(request)
        except Exception as error:
            self.failure = self.failure or error
            raise
        if completion.finish == "abort" or self.over:
            raise EpisodeOver(f"episode {self.name} ended while a request was answered")
        return completion, perf_counter() - start

    def _write(self, ask: Ask, parent: int, key: bytes, answer: tuple[int, Request, Completion, float]) -> Said:
        turn, request, completion, seconds = answer
        completion, text = cut_at(completion, ask.stop, self.renderer)
        message = self.renderer.parse(completion.tokens)
        seen = message if text is None else Message.of("assistant", text)
        row = _Row(parent, message, Kind.sampled, completion.tokens, turn, completion, request.sampling)
        self._rows.append(row._replace(seconds={"generate": seconds}))
        at = len(self._rows) - 1
        self._tips[request.session] = at
        if completion.finish == "length":
            self._tell("cut")
        text, calls = shown(seen, bool(ask.tools), turn)
        if ask.prompt:
            path = request.prompt + completion.tokens
            self._paths[hash(path)] = at
            self._lengths.add(len(path))
        else:
            said = Message(Role.assistant, (Text(text=text), *calls))
            self._points[after(key, said)] = at
        return Said(text=text, calls=calls, completion=completion, prompt=request.prompt, turn=turn)

    # -- where a request belongs -------------------------------------------------------------------------------------

    def _place(self, ask: Ask) -> tuple[int, bytes]:
        """The row that the request's prompt ends with, written down if it is new, and the digest of its messages."""
        if ask.prompt:
            return self._place_tokens(ask.prompt), b""
        keys = digests(ask)
        found = next((i for i in range(len(keys), 0, -1) if keys[i - 1] in self._points), 0)
        if found == len(keys):
            return self._points[keys[-1]], keys[-1]
        messages, base, ids = ask.messages, None, None
        if found:
            base = self._points[keys[found - 1]]
            if self._rows[base].kind is Kind.sampled:
                history = [self._rows[i].message for i in self._line(base)]
                ids = self.renderer.extend(history, messages[found:], self._tokens(base), ask.tools)
        if ids is not None:
            self._fits(len(self._tokens(base)) + len(ids))
            at = self._note(base, messages[found:], ids)
        else:
            at = self._open(ask, base)
        self._points[keys[-1]] = at
        return at, keys[-1]

    def _open(self, ask: Ask, base: int | None) -> int:
        """Write the whole conversation anew, under the leading rows of `base` that have the same tokens."""
        tokens = self.renderer.open(ask.messages, ask.tools)
        self._fits(len(tokens))
        if self._rows:
            spoke = any(m.role is Role.assistant for m in ask.messages)
            self.events.append("branch" if spoke else "conversation")
        at, shared = 0, []
        for i in self._line(base):
            own = self._rows[i].tokens
            if tokens[at : at + len(own)] != own or len(shared) + 1 >= len(ask.messages):
                break
            at += len(own)
            shared.append(i)
        return self._note(shared[-1] if shared else None, ask.messages[len(shared) :], tokens[at:], Kind.prompt)

    def _place_tokens(self, prompt: Ints) -> int:
        self._fits(len(prompt))
        for length in sorted(self._lengths, reverse=True):
            at = self._paths.get(hash(prompt[:length])) if length <= len(prompt) else None
            if at is not None and self._tokens(at) == prompt[:length]:
                rest = prompt[length:]
                return self._note(at, (Message.of("user", self.renderer.text(rest)),), rest) if rest else at
        if self._rows:
            self.events.append("conversation")
        at = self._note(None, (Message.of("user", self.renderer.text(prompt)),), prompt, Kind.prompt)
        self._paths[hash(prompt)] = at
        self._lengths.add(len(prompt))
        return at

    def _fits(self, size: int) -> None:
        limit = self.bounds.context
        if limit and size >= limit:
            self.stop = Stop.truncated_tokens
            raise AskError(
                f"the conversation has {size} tokens, which leave no room in a context of {limit}",
                "messages",
                "context_length_exceeded",
            )

    def _note(self, parent: int | None, messages: Sequence[Message], ids: Ints, kind: Kind = Kind.obs) -> int:
        """One row a message, the tokens on the last of them."""
        for i, message in enumerate(messages):
            of = Kind.tool if message.role is Role.tool else kind
            tokens = ids if i == len(messages) - 1 else ()
            self._rows.append(_Row(parent, message, of, tokens, self.turn))
            parent = len(self._rows) - 1
        assert parent is not None  # a request has a message, and so has the rest of one
        return parent

    def _line(self, at: int | None) -> list[int]:
        line = []
        while at is not None:
            line.append(at)
            at = self._rows[at].parent
        return line[::-1]

    def _tokens(self, at: int | None) -> Ints:
        return tuple([t for i in self._line(at) for t in self._rows[i].tokens])

    def _session(self, at: int) -> str:
        """The session that holds the path so far, if no other request goes on from there, or a new one."""
        line = self._line(at)
        base = next((i for i in reversed(line) if self._rows[i].kind is Kind.sampled), None)
        held = next((s for s, tip in self._tips.items() if tip is not None and tip == base), None)
        if held is not None:
            self._tips[held] = None
            return held
        session = f"{self.stem}.{self._sessions}"
        self._sessions += 1
        self._tips[session] = None
        return session

    def _tell(self, event: str) -> None:
        if event not in self.events:
            self.events.append(event)

    def refused(self, why: str) -> None:
        """Note the first request of the episode that was not answered."""
        if not any(event.startswith(REFUSED) for event in self.events):
            self.events.append(writable(f"{REFUSED} {why}"[:600]))

    # -- the end -----------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """End the episode: requests in flight are given up, sessions freed."""
        self.over = True
        for session in list(self._tips):
            await self.engine.abort(session)

    def trajectory(
        self, stop: Stop, *, rewards: Mapping[str, float], answer: str | None = None, episode: int = 0
    ) -> Trajectory:
        """The record. `answer` is what the agent gives as its own last word, which no token is trained for."""
        kept = self._kept()
        where = {old: new for new, old in enumerate(kept)}
        nodes = [self._node(self._rows[i], where) for i in kept]
        turns = [n for n in nodes if n.kind is Kind.sampled]
        if answer is not None:
            last = max((i for i, n in enumerate(nodes) if n.kind is Kind.sampled), default=None)
            role, turn = Role.assistant, len(turns)
            nodes.append(Node.given(last, (), role=role, kind=Kind.forced, text=answer, agent="agent", turn=turn))
        named = {**self.rewards, **rewards}
        each = [0.0] * len(turns)
        if each:
            each[-1] = float(sum(named.values()))
        return Trajectory(
            id=self.name,
            nodes=tuple(nodes),
            stop=stop,
            rewards=named,
            turn_rewards=tuple(each),
            actions=("",) * len(turns),
            events=tuple(self.events),
            episode=episode,
            agent="agent",
            role="policy",
        )

    def _kept(self) -> list[int]:
        """The rows that lead to something said; all of them if nothing was."""
        kept: set[int] = set()
        for i, row in enumerate(self._rows):
            if row.kind is Kind.sampled:
                kept.update(self._line(i))
        return sorted(kept) or list(range(len(self._rows)))

    @staticmethod
    def _node(row: _Row, where: Mapping[int, int]) -> Node:
        parent = None if row.parent is None else where[row.parent]
        own: dict[str, Any] = {"agent": "agent", "turn": row.turn, "text": row.message.text, "seconds": row.seconds}
        if row.completion is None:
            blobs = tuple([image.hash for image in row.message.images])
            return Node.given(parent, row.tokens, role=row.message.role, kind=row.kind, blobs=blobs, **own)
        return Node.sampled(parent, row.completion, sampling=row.sampling, **own)
