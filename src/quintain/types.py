"""Every record that travels through Quintain: frozen data with asserted invariants and a JSON round trip.

Dims: G trajectories of a group, T tokens of one node or path, N packed tokens, S sequences in a pack.
Nothing here imports torch; a tensor appears in an annotation only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from quintain.batch import Batch as Batch
from quintain.batch import Terms as Terms
from quintain.messages import Image as Image
from quintain.messages import InvariantError as InvariantError
from quintain.messages import Message as Message
from quintain.messages import Part as Part
from quintain.messages import QuintainError as QuintainError
from quintain.messages import Role as Role
from quintain.messages import Text as Text
from quintain.messages import Tool as Tool
from quintain.messages import ToolCall as ToolCall
from quintain.messages import ToolResult as ToolResult
from quintain.messages import check as check
from quintain.messages import writable as writable

Ints = tuple[int, ...]
Floats = tuple[float, ...]
Bools = tuple[bool, ...]
REPLAYED = "replayed"  # tag of a trajectory that a gate took from an earlier step


class Stop(StrEnum):
    """Why an episode ended."""

    done = "done"  # the environment says that the episode is over
    truncated_turns = "truncated_turns"  # the turn budget is spent
    truncated_tokens = "truncated_tokens"  # the token budget is spent
    parse_error = "parse_error"  # the action could not be read, and the scaffold ends episodes on that
    timeout = "timeout"  # the environment or engine missed its deadline
    cancelled = "cancelled"  # the run asked the episode to end
    crashed = "crashed"  # the environment raised
    aborted = "aborted"  # generation was interrupted and may be continued


class BadStop(QuintainError):
    """An env ended an episode with something that is no `Stop`: it would be counted as nothing that happened."""


def check_stop(stop: object) -> None:
    """Refuse what an env gives as `stop` unless it is a `Stop`, or None while the episode goes on.

    Raises:
        BadStop: names the value and the choices.
    """
    if stop is not None and type(stop) is not Stop:
        choices = ", ".join(f"Stop.{name}" for name in Stop.__members__)
        raise BadStop(
            f"an env says stop={stop!r}, a {type(stop).__name__}; it must be None while the episode goes on, and in the end one of "
            f"{choices} (from quintain.types import Stop)"
        )


class Kind(StrEnum):
    """Where the tokens of a node come from."""

    prompt = "prompt"
    sampled = "sampled"
    obs = "obs"
    hint = "hint"
    memory = "memory"
    tool = "tool"
    forced = "forced"  # written into the policy's mouth
    external = "external"  # from an engine without ids or logprobs: never `rl`-trained


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a sampler draws: with the policy version and the sampling key it determines an episode in synchronous mode.

    `params` configure the env and may hold the `answer` that only a reward sees; `messages` are the opening of a data task.
    """

    key: str
    env: str
    seed: int = 0
    level: int = 0
    split: str = "train"
    params: Mapping[str, Any] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A numbered place in the order of a run: `index` counts from 0 without gaps, `version` is the policy at admission."""

    index: int
    task: Task
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """What an env says to one seat after reset or step.

    `acts` says whether the seat is to move next; `reward` has named components; `events` are typed happenings such as
    `malformed`; `state` is the private state for the viewer and the digests: the policy never sees it.
    """

    messages: tuple[Message, ...] = ()
    reward: Mapping[str, float] = field(default_factory=dict)
    stop: Stop | None = None
    acts: bool = True
    tools: tuple[Tool, ...] = ()
    events: tuple[str, ...] = ()
    action: str = ""  # the normalised key of the action just taken
    state: Any = None

    def __post_init__(self) -> None:
        check_stop(self.stop)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How tokens are drawn: softmax(logits / temperature), then top-k, top-p and min-p cuts, renormalised.

    `temperature=0` is greedy. `top_k=0`, `top_p=1`, `min_p=0` cut nothing. `top_logprobs` asks for that many ids per token.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    max_tokens: int = 256
    stop: Ints = ()
    top_logprobs: int = 0

    def __post_init__(self) -> None:
        check(self.temperature >= 0, f"temperature is {self.temperature}; it must be >= 0 (0 is greedy)")
        check(0 < self.top_p <= 1, f"top_p is {self.top_p}; it must lie in (0, 1]")
        check(0 <= self.min_p < 1, f"min_p is {self.min_p}; it must lie in [0, 1)")
        check(self.top_k >= 0 and self.top_logprobs >= 0, "top_k and top_logprobs must be >= 0")
        check(self.max_tokens >= 1, f"max_tokens is {self.max_tokens}; it must be >= 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Tokens [start, stop) of a completion were sampled by policy `version`."""

    start: int
    stop: int
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call for tokens: the whole path so far, and the key of its sampling noise.

    `session` names the episode branch whose keys and values the engine may keep; `key` is (run seed, ticket, member, turn).
    `drawn` tokens at the end of the prompt belong to the turn already: an interrupted request goes on under the same noise.
    """

    session: str
    prompt: Ints
    sampling: Sampling
    key: Ints = (0,)
    images: tuple[Image, ...] = ()
    drawn: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What an engine returns: tokens [T], logprobs [T] under the distribution really sampled from, version spans.

    `finish` is `stop` (a stop token, kept as the last token), `length` (max_tokens or the engine's context), or `abort`.
    """

    tokens: Ints
    logprobs: Floats
    finish: str
    spans: tuple[Span, ...]
    top_ids: tuple[Ints, ...] = ()  # [T][k]
    top_logprobs: tuple[Floats, ...] = ()  # [T][k]
    usage: Mapping[str, float] = field(default_factory=dict)
    text: str = ""  # set by engines that give no ids

    def __post_init__(self) -> None:
        check(len(self.tokens) == len(self.logprobs), f"{len(self.tokens)} tokens with {len(self.logprobs)} logprobs")
        _check_spans(self.spans, len(self.tokens))


def _check_spans(spans: tuple[Span, ...], length: int) -> None:
    at = 0
    for span in spans:
        # messages are formatted on failure only: this runs for every completion
        if span.start != at or span.stop <= at:
            raise InvariantError(f"version spans {spans} do not tile {length} tokens in order")
        at = span.stop
    if spans and at != length:
        raise InvariantError(f"version spans {spans} cover {at} of {length} tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One message of the tree, holding only the tokens that it adds [T]; `mask` marks the sampled ones."""

    parent: int | None
    role: Role
    kind: Kind
    tokens: Ints
    mask: Bools
    logprobs: Floats
    spans: tuple[Span, ...] = ()
    agent: str = ""
    turn: int = 0
    text: str = ""
    sampling: Sampling | None = None
    blobs: tuple[str, ...] = ()
    top_ids: tuple[Ints, ...] = ()
    top_logprobs: tuple[Floats, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.tokens)
        check(
            len(self.mask) == n and len(self.logprobs) == n,
            f"{n} tokens, {len(self.mask)} mask, {len(self.logprobs)} logprobs",
        )
        if self.kind is Kind.sampled:
            _check_spans(self.spans, n)
            check(n == 0 or bool(self.spans), "a sampled node needs the version spans that its engine stamped")
        else:
            check(not any(self.mask), f"a node of kind {self.kind} cannot hold sampled tokens")

    @classmethod
    def given(cls, parent: int | None, tokens: Ints, **rest: Any) -> Node:
        """A node of tokens that the policy did not sample (kind `obs` unless told): mask 0, logprobs 0."""
        n = len(tokens)
        kind, role = rest.pop("kind", Kind.obs), rest.pop("role", Role.user)
        return cls(parent=parent, role=role, kind=kind, tokens=tokens, mask=(False,) * n, logprobs=(0.0,) * n, **rest)

    @classmethod
    def sampled(cls, parent: int | None, completion: Completion, **rest: Any) -> Node:
        """The node of a completion: every token sampled, with its logprob and version."""
        c = completion
        return cls(
            parent=parent,
            role=Role.assistant,
            kind=Kind.sampled,
            tokens=c.tokens,
            mask=(True,) * len(c.tokens),
            logprobs=c.logprobs,
            spans=c.spans,
            top_ids=c.top_ids,
            top_logprobs=c.top_logprobs,
            **rest,
        )


Streams = Mapping[str, tuple[Floats, ...]]  # name -> one tuple [T] per node


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """One seat of one episode: a tree of nodes, its rewards, and derived per-token `streams` beside the nodes.

    Streams: `advantage`, `weight.rl`, `weight.ce`, `old`, `ref`, `value`, `return`: one value per token of each node.
    `turn_rewards`, `digests`, `next_digests` and `actions` have one entry per turn of this seat.
    """

    id: str
    nodes: tuple[Node, ...]
    stop: Stop
    rewards: Mapping[str, float] = field(default_factory=dict)
    turn_rewards: Floats = ()
    streams: Streams = field(default_factory=dict)
    digests: tuple[str, ...] = ()
    next_digests: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    episode: int = 0
    agent: str = ""
    role: str = ""
    fork: tuple[str, int, int] | None = None  # (trajectory id, turn, token)
    call_parent: str = ""
    tags: Mapping[str, Any] = field(default_factory=dict)
    states: tuple[Any, ...] = ()  # private, for the viewer

    def __post_init__(self) -> None:
        for i, node in enumerate(self.nodes):  # plain ifs: a message is only put together when it is needed
            if not (node.parent is None or 0 <= node.parent < i):
                raise InvariantError(f"node {i} has parent {node.parent}; parents come first")
        for name, stream in self.streams.items():
            check(len(stream) == len(self.nodes), f"stream {name} has {len(stream)} rows for {len(self.nodes)} nodes")
            for row, node in zip(stream, self.nodes, strict=True):
                if len(row) != len(node.tokens):
                    raise InvariantError(f"stream {name}: {len(row)} values for {len(node.tokens)} tokens")

    @property
    def reward(self) -> float:
        """The sum of the named rewards: the scalar that advantages use."""
        return float(sum(self.rewards.values()))

    @property
    def leaves(self) -> Ints:
        """Indices of the nodes without children, in order: each ends one root-to-leaf path."""
        parents = {n.parent for n in self.nodes}
        return tuple(i for i in range(len(self.nodes)) if i not in parents)

    def path(self, leaf: int) -> Ints:
        """Node indices from the root to `leaf`."""
        out: list[int] = []
        at: int | None = leaf
        while at is not None:
            out.append(at)
            at = self.nodes[at].parent
        return tuple(reversed(out))

    def paths(self) -> Iterator[tuple[Ints, frozenset[int]]]:
        """Each root-to-leaf path with the nodes trained in it: a sampled node is trained in exactly one path."""
        seen: set[int] = set()
        for leaf in self.leaves:
            path = self.path(leaf)
            fresh = frozenset(i for i in path if i not in seen)
            seen.update(path)
            yield path, fresh

    @property
    def versions(self) -> tuple[int, int]:
        """Oldest and newest policy version among the sampled tokens; (0, 0) when there are none."""
        seen = [s.version for n in self.nodes for s in n.spans]
        return (min(seen), max(seen)) if seen else (0, 0)

    @property
    def turns(self) -> int:
        """How many times the policy spoke."""
        return sum(n.kind is Kind.sampled for n in self.nodes)

    @property
    def length(self) -> int:
        """Sampled tokens in all."""
        return sum(len(n.tokens) for n in self.nodes if n.kind is Kind.sampled)

    def with_stream(self, name: str, rows: tuple[Floats, ...]) -> Trajectory:
        """The same trajectory with the stream `name` set to `rows`, one tuple per node."""
        return replace(self, streams={**self.streams, name: rows})

    def with_value(self, name: str, value: float) -> Trajectory:
        """The same trajectory with `value` on every sampled token of the stream `name` and 0 elsewhere."""
        rows = tuple(tuple(value if m else 0.0 for m in n.mask) for n in self.nodes)
        return self.with_stream(name, rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """All trajectories of one task (games x seats): what an advantage compares. May be unequal, staged and tagged."""

    task: Task
    trajectories: tuple[Trajectory, ...]
    ticket: int = 0
    version: int = 0  # the policy version at admission
    tags: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rewards(self) -> Floats:
        """The scalar reward of each trajectory [G]."""
        return tuple(t.reward for t in self.trajectories)

    @property
    def oldest(self) -> int:
        """The oldest policy version that sampled a token of the group (its admission version if none did).

        What a gate took from an earlier step, tagged `replayed`, does not count: it is old on purpose.
        """
        own = [t for t in self.trajectories if not t.tags.get(REPLAYED)]
        seen = [s.version for t in own for n in t.nodes for s in n.spans]
        return min(seen, default=self.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A published policy: version, how it travels (`pointer`, `file`, `shared`, `broadcast`, `lora`), where, fingerprint per bucket."""

    version: int
    kind: str
    source: Any = None
    fingerprint: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of the ledger: time in seconds since the epoch, optimizer step, actor, kind, JSON payload."""

    time: float
    step: int
    actor: str
    kind: str
    payload: Mapping[str, Any] = field(default_factory=dict)
