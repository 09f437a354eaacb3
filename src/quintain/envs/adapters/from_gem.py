"""Environments of GEM (`gem-llm`) as envs of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quintain.envs.adapters.game import PeerError, Shown, by_level, options_of
from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.peer_env import playing
from quintain.ports import SOLO, Env
from quintain.registry import UnknownName, register, unknown
from quintain.types import Stop, Task


class GemGame:
    """Matches `game.Game`: what the policy says goes to the environment as it is; GEM's games look for `\\boxed{...}`.

    Args:
        ids: an id of GEM, or one for each level.
        options: of `gem.make`.
    """

    ask = "What the game asks for, as it says."

    def __init__(self, ids: Any, options: Mapping[str, Any]) -> None:
        self.ids, self.options = ids, options
        self.seats: tuple[str, ...] = (SOLO,)
        self.env: Any = None

    def start(self, task: Task) -> Shown:
        """Make the environment and reset it with the task's seed.

        Raises:
            UnknownName: there is no such environment.
            PeerError: it does not take these options.
        """
        peer("gem.envs")
        registration = peer("gem.envs.registration")
        wanted = by_level(self.ids, task)
        if wanted not in registration.ENV_REGISTRY:
            raise UnknownName(unknown("environment of GEM", wanted, registration.ENV_REGISTRY))
        try:
            self.env = registration.make(wanted, **self.options)
        except TypeError as error:
            raise PeerError(f"GEM cannot make {wanted!r} of {self.options}: {error}") from error
        text, info = self.env.reset(seed=task.seed % 2**32)
        return Shown(texts={SOLO: _with(text, info)}, movers=(SOLO,))

    def read(self, text: str, seat: str) -> Any:
        """Every text that is not empty is for the environment to judge."""
        return text or None

    def play(self, moves: Mapping[str, Any]) -> Shown:
        """Step with the text."""
        text, reward, terminated, truncated, info = self.env.step(moves[SOLO])
        stop = Stop.done if terminated else Stop.truncated_turns if truncated else None
        rewards = {SOLO: {"reward": float(reward)}}
        return Shown(texts={SOLO: _with(text, info)}, movers=() if stop else (SOLO,), rewards=rewards, stop=stop)

    def close(self) -> None:
        """Let go of the environment."""
        self.env = None


def _with(text: str, info: Mapping[str, Any]) -> str:
    """The observation and what GEM's own wrappers put behind it."""
    return "\n".join(part for part in (text, str(info.get("suffix", ""))) if part)


@register("env", "gem", seeds=True, example={"id": "game:GuessTheNumber-v0-easy"})
def gem(
    id: str | Sequence[str], options: Mapping[str, Any] | None = None, manner: Mapping[str, Any] | None = None
) -> Callable[[Task], Env]:
    """An environment of GEM; the whole message goes to it. The seed of a task is the seed of its reset.

    Args:
        id: as `gem.make` takes it; a list has one for each level.
        options: of `gem.make`.
        manner: options of `game.Manner`; `grammar` is `word` unless told, which passes messages on as they are.

    Raises:
        MissingExtra: gem-llm is not installed.
    """
    peer("gem")
    chosen = options_of(options)
    return playing(lambda: GemGame(id, chosen), {"grammar": "word", **(manner or {})})
