"""Demonstrations as tokens: what the policy would have read, and, masked in, what it should have said."""

from __future__ import annotations

from collections.abc import Iterator

from quintain.config import ConfigError
from quintain.envs.demos import NoDemonstration, demonstrations
from quintain.envs.world import WorldEnv
from quintain.learn.pack import Demo
from quintain.ports import Renderer
from quintain.types import Message, Task

SPARE = 10  # tokens beyond the longest answer that is known


def write_demos(
    env: WorldEnv, renderer: Renderer, tasks: Iterator[Task], count: int, seed: int, reward: float, room: int
) -> Iterator[Demo]:
    """The oracle's demonstrations of the first `count` tasks in which it earns `reward`: in games of chance it does not always earn all.

    Raises:
        ConfigError: an answer has more than `room` tokens.
        NoDemonstration: it earns that in fewer than one in ten, or the renderer rewrites earlier turns, so that no one path can be written.
    """
    for task, turns in demonstrations(env, tasks, count, seed, reward):
        history: list[Message] = []
        tokens: list[int] = []
        mask: list[bool] = []
        for turn in turns:
            more = renderer.extend(history, turn.messages, tuple(tokens)) if history else renderer.open(turn.messages)
            if more is None:
                raise NoDemonstration(
                    f"{task.key}: the chat template rewrites earlier turns; no one path can be written"
                )
            said = renderer.say(turn.answer)
            if len(said) > room:
                raise ConfigError(
                    f"rollout.max_tokens is {room}, but an answer of the oracle, {turn.text[:60]!r}, has {len(said)} tokens; set "
                    f"rollout.max_tokens={len(said) + SPARE}"
                )
            tokens += (*more, *said)
            mask += [False] * len(more) + [not turn.slip] * len(said)
            history += (*turn.messages, turn.answer)
        yield Demo(tuple(tokens), tuple(mask))
