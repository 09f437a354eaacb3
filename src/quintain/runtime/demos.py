"""Demonstrations as tokens: what the policy would have read, and, masked in, what it should have said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from quintain.config import ConfigError
from quintain.envs.demos import NoDemonstration, Turn
from quintain.learn.pack import Demo
from quintain.ports import Renderer
from quintain.types import Message, Task, Tool

SPARE = 10  # tokens beyond the longest answer that is known


def write_demos(
    made: Iterable[tuple[Task, tuple[Turn, ...]]], renderer: Renderer, room: int, tools: Sequence[Tool] = ()
) -> Iterator[Demo]:
    """Demonstrations as the path of tokens that a policy would have read, with the tools on offer, and said.

    Raises:
        ConfigError: an answer has more than `room` tokens.
        NoDemonstration: the renderer rewrites earlier turns, so that no one path can be written.
    """
    for task, turns in made:
        history: list[Message] = []
        tokens: list[int] = []
        mask: list[bool] = []
        for turn in turns:
            if history:
                more = renderer.extend(history, turn.messages, tuple(tokens), tools)
            else:
                more = renderer.open(turn.messages, tools)
            if more is None:
                raise NoDemonstration(
                    f"{task.key}: the chat template rewrites earlier turns; no one path can be written"
                )
            said = renderer.say(turn.answer)
            if len(said) > room:
                raise ConfigError(more_room(room, turn.text, len(said)))
            tokens += (*more, *said)
            mask += [False] * len(more) + [not turn.slip] * len(said)
            history += (*turn.messages, renderer.parse(said) if tools else turn.answer)
        yield Demo(tuple(tokens), tuple(mask))


def more_room(room: int, text: str, tokens: int) -> str:
    """That an answer of the oracle has more tokens than a turn, and what mends it.

    Example:
        >>> more_room(3, "turn around", 5)
        "rollout.max_tokens is 3, but an answer of the oracle, 'turn around', has 5 tokens; set rollout.max_tokens=15"
    """
    return (
        f"rollout.max_tokens is {room}, but an answer of the oracle, {text[:60]!r}, has {tokens} tokens; set "
        f"rollout.max_tokens={tokens + SPARE}"
    )
