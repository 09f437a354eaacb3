"""The five ports: Protocols with async methods for the outside world. An env, engine, learner, store or sink *matches* one.

Nothing is inherited; any object with these methods will do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from quintain.types import (
    Batch,
    Completion,
    Event,
    Feedback,
    Floats,
    Group,
    Ints,
    Message,
    QuintainError,
    Request,
    Task,
    Tool,
    Weights,
)

if TYPE_CHECKING:
    from quintain.parts import Transform

SOLO = "agent"  # the name of the one seat of a single-agent env


class EpisodeLost(QuintainError):
    """An env lost its episode through no fault of its own (the process that held it is gone): it may be played again."""


class TurnRefused(QuintainError):
    """A server refuses to answer one conversation and answers others: it ends the episode, not what plays it.

    Args:
        text: what the server said.
        full: the conversation is longer than the model's context.
    """

    def __init__(self, text: str, full: bool = False) -> None:
        super().__init__(text)
        self.full = full


class EnvsGone(QuintainError):
    """No env will answer any more; unlike an env's own errors it ends the run, not the episode."""


@runtime_checkable
class Env(Protocol):
    """A world outside the policy. Every answer maps seats to feedback; a single-agent env has the one seat `SOLO`.

    A seat moves next when its newest feedback has `acts=True` and no `stop`. An env plays one episode after each `reset`.
    """

    async def reset(self, task: Task) -> Mapping[str, Feedback]:
        """Start the episode that `task` determines."""
        ...

    async def step(self, moves: Mapping[str, Message]) -> Mapping[str, Feedback]:
        """Apply the moves of the seats that act. A malformed move is an event in the feedback, never an exception."""
        ...

    def snapshot(self) -> Any:
        """The whole state as a JSON value: equal snapshots have equal futures."""
        ...

    def restore(self, snapshot: Any) -> None:
        """Go back to the state that `snapshot()` gave, in this or another instance."""
        ...

    async def close(self) -> None:
        """Free what the env holds."""
        ...


@runtime_checkable
class Engine(Protocol):
    """Turns tokens into tokens, and stamps the policy version on every span that it emits."""

    async def generate(self, request: Request) -> Completion:
        """Sample a continuation of `request.prompt`; the KV of `request.session` may be reused and is kept."""
        ...

    async def score(self, paths: Sequence[Ints]) -> Sequence[Floats]:
        """For each path [T] the logprobs [T] of its tokens under the loaded weights at temperature 1 (the first is 0)."""
        ...

    async def fork(self, session: str, at: int, into: str) -> None:
        """Make `into` share the first `at` tokens of `session`."""
        ...

    async def abort(self, session: str) -> None:
        """End a session and free its KV. A request in flight returns what it has, with finish `abort`."""
        ...

    async def load(self, weights: Weights) -> None:
        """Generate with `weights` from the next token on; requests in flight go on with their prefix."""
        ...

    async def pause(self) -> None:
        """Stop emitting tokens; requests wait."""
        ...

    async def resume(self) -> None:
        """Go on after `pause`."""
        ...


@runtime_checkable
class Learner(Protocol):
    """Owns the weights under training."""

    async def score(self, groups: Sequence[Group], needs: frozenset[str]) -> tuple[Group, ...]:
        """Add the streams that `needs` names (`old`, `ref`, `values`...) to every trajectory."""
        ...

    async def update(self, batch: Batch, objective: Transform[Any]) -> Mapping[str, float]:
        """Take the optimizer step(s) of one batch and return what was measured."""
        ...

    async def publish(self) -> Weights:
        """Make the current weights loadable by engines, under the next version number."""
        ...

    def save(self, folder: str) -> None:
        """Write weights, optimizer and every counter to `folder` (safetensors and JSON)."""
        ...

    def load(self, folder: str) -> None:
        """Continue exactly from what `save` wrote."""
        ...


@runtime_checkable
class Store(Protocol):
    """The run's memory: an ordered ledger of events, blobs by content hash, checkpoints."""

    def append(self, *events: Event) -> None:
        """Add events; they are durable after the next `commit`."""
        ...

    def commit(self) -> None:
        """Make every appended event durable, in one sync."""
        ...

    def blob(self, data: bytes) -> str:
        """Keep `data` and return its content hash."""
        ...


@runtime_checkable
class Sink(Protocol):
    """Receives numbers while a run goes on: the terminal table, a metrics file, TensorBoard, W&B."""

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Take the metrics of one step."""
        ...

    def close(self) -> None:
        """Flush and free."""
        ...


class Renderer(Protocol):
    """Messages to tokens and back. `extend` proves that the path's tokens stay a prefix, or returns None for a new branch."""

    def open(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Ints:
        """Tokens of a conversation so far, ending where the policy speaks."""
        ...

    def extend(
        self, history: Sequence[Message], messages: Sequence[Message], tokens: Ints, tools: Sequence[Tool] = ()
    ) -> Ints | None:
        """Tokens to add after `tokens` (which end with what the policy sampled as `history[-1]`) for new `messages`."""
        ...

    def say(self, message: Message) -> Ints:
        """The tokens with which the policy would say an assistant `message`, end token included (demonstrations)."""
        ...

    def parse(self, tokens: Ints) -> Message:
        """The assistant message that the sampled `tokens` spell; never raises."""
        ...

    def text(self, tokens: Ints) -> str:
        """The text of `tokens`, special tokens included, for people and scripted engines."""
        ...

    @property
    def stop(self) -> Ints:
        """Token ids that end a turn."""
        ...

    @property
    def turn_tokens(self) -> int:
        """Most tokens of a turn that the renderer itself sets, or 0."""
        ...

    @property
    def size(self) -> int:
        """Vocabulary size."""
        ...
