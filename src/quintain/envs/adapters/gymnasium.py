"""Our worlds as Gymnasium environments: `make("KeyDoor", level=2)`, or `gymnasium.make("quintain/KeyDoor-v0", level=2)`."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.play import SEEDS, AdapterError, Heard, Play
from quintain.envs.adapters.shipped import shipped
from quintain.envs.adapters.spaces import action_space, mask, observation_space, shown, written
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import NoEpisode

RENDERED = ("ansi", "rgb_array")


def make(
    world: str,
    level: int = 0,
    *,
    scaffold: Mapping[str, Any] | Scaffold | None = None,
    split: str = "train",
    actions: str = "text",
    render_mode: str | None = None,
    **knobs: Any,
) -> Any:
    """A world of one seat as a `gymnasium.Env`: use it in every tool that takes one.

    An observation is `{"text": ...}` and, where the scaffold has a picture, `"image"`: uint8 [side, side, 3]. `info` holds the typed
    `events`, the named `rewards`, the `legal` actions and the `seed` of the instance. An action that cannot be read is the event
    `malformed` and costs a turn. `snapshot()` and `restore(...)` of the unwrapped env carry the whole episode as JSON; `restore` raises
    `BadSnapshot` where it is of another world or version.

    Args:
        world: a registered name, such as `KeyDoor`.
        level: 0-9; `reset(options={"level": 3, "split": "test"})` chooses another for one episode, unless it has actions beside `words`.
        scaffold: how it is shown and answered; unless told, an action is written alone (grammar `word`).
        split: `train`, `validation` or `test`.
        actions: `text` takes strings; `words` numbers the actions of a world that has a fixed list of them (`Discrete`), and `info`
            has their `action_mask`.
        render_mode: `ansi` or `rgb_array`.
        **knobs: of the world, beside the level.

    Raises:
        MissingExtra: gymnasium is not installed.
        AdapterError: the world has several seats, or no fixed list of actions, or there is no such mode.
    """
    gym = peer("gymnasium")
    play = Play(world, level, scaffold, split, knobs, make)
    if len(play.seats) > 1:
        raise AdapterError(
            f"{world} has the seats {', '.join(play.seats)}, Gymnasium knows one; play it through PettingZoo: "
            f"quintain.envs.adapters.pettingzoo.aec({world!r})"
        )
    if render_mode not in (None, *RENDERED):
        raise AdapterError(f"render_mode is {render_mode!r}; it is None or one of {', '.join(RENDERED)}")
    return _class(gym.Env)(play, actions, render_mode)


@functools.cache
def _class(base: type) -> type:
    class WorldGym(base):
        metadata: ClassVar[dict[str, Any]] = {"render_modes": list(RENDERED), "render_fps": 4}

        def __init__(self, play: Play, actions: str, render_mode: str | None) -> None:
            self.play, self.render_mode = play, render_mode
            self.action_space, self.words = action_space(play, actions)
            self.observation_space = observation_space(play)
            self.heard: Heard | None = None

        def __reduce__(self) -> tuple[Any, ...]:  # pickle does not find a class that is made in a function
            return _bare, (), self.__dict__

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[Any, dict[str, Any]]:
            super().reset(seed=seed)
            drawn = int(self.np_random.integers(SEEDS)) if seed is None else seed
            observation, _, _, _, info = self._told(self.play.begin(drawn, options, bool(self.words)))
            return observation, info

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            return self._told(self.play.say({self.play.seats[0]: written(self.play, action, self.words)}))

        def _told(self, said: dict[str, Heard]) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            heard = self.heard = said[self.play.seats[0]]
            info = {**heard.info, "action_mask": mask(heard, self.words)} if self.words else heard.info
            return shown(heard), heard.reward, heard.terminated, heard.truncated, info

        def render(self) -> Any:
            if self.heard is None or self.render_mode is None:
                return None
            return self.play.paint() if self.render_mode == RENDERED[1] else self.heard.text

        def action_masks(self) -> np.ndarray:  # what sb3-contrib's MaskablePPO asks for
            if not self.words:
                raise AdapterError(
                    f"actions of this {self.play.name} are texts and have no mask; make it with actions='words'"
                )
            if self.heard is None:
                raise NoEpisode(f"{self.play.name}: no episode was begun; call reset first")
            return mask(self.heard, self.words).astype(bool)

        def snapshot(self) -> Any:
            return self.play.env.snapshot()

        def restore(self, snapshot: Any) -> None:
            self.heard = self.play.restore(snapshot, bool(self.words))[self.play.seats[0]]

    return WorldGym


def _bare() -> Any:
    kind = _class(peer("gymnasium").Env)
    return object.__new__(kind)


def register_envs() -> tuple[str, ...]:
    """Make every shipped world known to `gymnasium.make` as `quintain/NAME-v0`; also done by naming this module there.

    `gymnasium.make("quintain.envs.adapters.gymnasium:quintain/KeyDoor-v0", level=2)` needs no call. No world is imported by it.
    The id of a world of several seats raises the error that says how it is played, in place of Gymnasium's unknown id.

    Returns:
        The ids that make an env, those of the worlds of one seat.
    """
    gym = peer("gymnasium")
    for name in shipped():
        if f"quintain/{name}-v0" not in gym.registry:
            gym.register(f"quintain/{name}-v0", entry_point=f"{__name__}:make", kwargs={"world": name})
    return tuple(f"quintain/{name}-v0" for name in shipped(seated=False))


class _Awaited:
    """Finds gymnasium when it is imported later than this module, and has the ids registered as soon as it is there.

    `gymnasium.make("MODULE:ID")` imports MODULE and expects to know ID then; a module that was imported before is not run again.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        sys.meta_path.insert(0, self)  # who only asked whether it is installed has not imported it
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_register(module: ModuleType) -> None:
                run(module)
                sys.meta_path.remove(self)
                register_envs()

            spec.loader.exec_module = run_and_register
        return spec


if "gymnasium" in sys.modules:
    register_envs()
else:
    sys.meta_path.insert(0, _Awaited())
