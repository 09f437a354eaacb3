"""What a world reads of an answer, as a policy would give it."""

from __future__ import annotations

from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.messages import Message


def key_of(name: str, text: str) -> str | None:
    """The action that a text in tags is read as; None where it cannot be read."""
    env = WorldEnv(world_of(name), Scaffold())
    move = env.reader.read(Message.of("assistant", f"<action>{text}</action>"), env.facts.seats[0])
    return move and move.key
