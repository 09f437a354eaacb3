"""Gymnasium environments as envs of ours: MiniGrid and BabyAI, MiniWorld, ALE, toy text, classic control, whatever is registered."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from quintain.envs.adapters.actions import Actions, words_of
from quintain.envs.adapters.game import PeerError, Shown, are, by_level, options_of
from quintain.envs.adapters.look import described
from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.peer_env import playing
from quintain.ports import SOLO, Env
from quintain.registry import register, user_object
from quintain.types import Stop, Task

HOMES = {
    "MiniGrid-": "minigrid",
    "BabyAI-": "minigrid",
    "ALE/": "ale_py",
    "MiniWorld-": "miniworld",
}  # where ids are registered that need no `MODULE:`
WINDOWED = ("darwin", "win32")  # systems that always have a display
MARKED = re.compile(r"\x1b\[[0-9;]*m([^\x1b]*)\x1b\[0m")  # colours of a terminal: what is marked stands in brackets


class GymGame:
    """Matches `game.Game`: one `gymnasium.Env`, made with the first episode and made anew where a level has another id.

    Args:
        ids: an id, or one for each level.
        options: of `gymnasium.make`.
        words: for the actions of a `Discrete` space; () for the environment's own, or numbers.
        look: gives the text of (observation, env); None for what the environment or `look.described` says.
        image: show the picture that the environment renders.
    """

    def __init__(
        self, ids: Any, options: Mapping[str, Any], words: Sequence[str], look: Callable[..., str] | None, image: bool
    ) -> None:
        self.ids, self.options, self.words, self.look, self.image = ids, options, tuple(words), look, image
        self.seats: tuple[str, ...] = (SOLO,)
        self.ask, self.made = "", ""
        self.env: Any = None
        self.actions: Any = None

    def start(self, task: Task) -> Shown:
        """Reset with the task's seed."""
        wanted = by_level(self.ids, task)
        if wanted != self.made:
            self.close()
            self.env = self._make(wanted)
            self.actions = Actions(self.env.action_space, self.words or words_of(self.env))
            self.ask = self.actions.ask
            self.made = wanted  # not before: what was refused is made anew, and refused again
        try:
            observation, _ = self.env.reset(seed=task.seed)
        except Exception as error:  # of anybody's code, and some say nothing
            raise self._failed("reset", error) from error
        return self._shown(observation)

    def _make(self, wanted: str) -> Any:
        gym = peer("gymnasium")
        for start, home in HOMES.items():
            if wanted.startswith(start):
                _registered(home)
        mode = {"render_mode": "rgb_array"} if self.image else {}
        if not self.image and not self.look and "ansi" in modes(gym, wanted):
            mode = {"render_mode": "ansi"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old versions, and of arguments that are passed on
            try:
                return gym.make(wanted, **{**mode, **self.options})
            except Exception as error:  # as in `start`
                raise self._failed("make", error, wanted) from error

    def _failed(self, what: str, error: Exception, wanted: str = "") -> PeerError:
        """The error that names the environment and its options."""
        options = f" of {self.options!s:.200}" * bool(self.options)
        said = f"{type(error).__name__}: {error}".removesuffix(": ")
        return PeerError(f"Gymnasium cannot {what} {wanted or self.made!r}{options}: {said}"[:400])

    def read(self, text: str, seat: str) -> Any:
        """See `actions.Actions.read`."""
        return self.actions.read(text)

    def play(self, moves: Mapping[str, Any]) -> Shown:
        """Step with the action."""
        observation, reward, terminated, truncated, _ = self.env.step(self.actions.value(moves[SOLO]))
        stop = Stop.done if terminated else Stop.truncated_turns if truncated else None
        return self._shown(observation, {SOLO: {"reward": float(reward)}}, stop)

    def _shown(self, observation: Any, rewards: Mapping[str, Any] | None = None, stop: Stop | None = None) -> Shown:
        told = self.env.render() if self.env.render_mode in ("ansi", "rgb_array") else None
        pixels = np.ascontiguousarray(told, np.uint8) if self.image and isinstance(told, np.ndarray) else None
        if self.look:
            text = self.look(observation, self.env)
        else:
            text = MARKED.sub(r"[\1]", told) if isinstance(told, str) else described(observation, pixels is not None)
        images = {} if pixels is None else {SOLO: pixels}
        movers = () if stop else (SOLO,)
        return Shown(texts={SOLO: text.strip()}, images=images, movers=movers, rewards=rewards or {}, stop=stop)

    def close(self) -> None:
        """Close the environment."""
        if self.env is not None:
            self.env.close()
        self.env, self.made = None, ""


def _registered(home: str) -> None:
    """Import the package that registers its environments; MiniWorld draws without a window where no display is."""
    if home == "miniworld" and sys.platform not in WINDOWED and not os.environ.get("DISPLAY"):
        peer("pyglet").options["headless"] = True
    try:
        peer(home)
    except ImportError as error:
        raise PeerError(
            f"{home} cannot be loaded: {error}; MiniWorld draws with OpenGL, on Debian: apt install libegl1 libgl1 libglu1-mesa"
        ) from error


def modes(gym: Any, wanted: str) -> Sequence[str]:
    """The render modes of a registered id; () where nobody says."""
    try:
        creator = gym.spec(wanted).entry_point
        creator = gym.envs.registration.load_env_creator(creator) if isinstance(creator, str) else creator
        return creator.metadata["render_modes"]
    except (gym.error.Error, AttributeError, KeyError, ImportError):
        return ()


@register("env", "gymnasium", seeds=True, example={"id": "MiniGrid-Empty-5x5-v0"})
def gymnasium(
    id: str | Sequence[str],
    options: Mapping[str, Any] | None = None,
    actions: Sequence[str] = (),
    look: str | Callable[..., str] | None = None,
    image: bool = False,
    manner: Mapping[str, Any] | None = None,
) -> Callable[[Task], Env]:
    """An environment that Gymnasium knows; the seed of a task is the seed of its reset.

    Args:
        id: as `gymnasium.make` takes it (`MODULE:ID` imports the module first); a list has one for each level.
        options: of `gymnasium.make`.
        actions: words for the actions of a `Discrete` space; unless told those of MiniGrid's, MiniWorld's and ALE's own lists, or numbers.
        look: `FILE.py:function` of (observation, env) that gives the text; unless told, what the environment renders as `ansi`, a
            description of MiniGrid's view, or JSON.
        image: show what the environment renders as `rgb_array`.
        manner: options of `game.Manner`: `grammar`, `turns`, `penalty`, `win`.

    Raises:
        MissingExtra: gymnasium, or the package of the environment, is not installed.
        PeerError: an option is of the wrong kind; (when playing) there is no such environment, or it cannot be made or reset.
    """
    peer("gymnasium")
    are("true or false", image=image)
    are("a list of words", actions=actions)
    found, chosen = user_object(look) if isinstance(look, str) else look, options_of(options)
    return playing(lambda: GymGame(id, chosen, actions, found, image), manner)
