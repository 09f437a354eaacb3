"""Our worlds as environments of OpenEnv (`openenv-core`): typed actions and observations, served over HTTP and WebSocket."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.play import SEEDS, AdapterError, Heard, Play
from quintain.envs.scaffold import Scaffold
from quintain.messages import png_of
from quintain.worlds.noise import Rng


class Types(NamedTuple):
    """OpenEnv's classes for a world: `action`, `observation`, `state`, `environment`."""

    action: type
    observation: type
    state: type
    environment: type


def make(
    world: str,
    level: int = 0,
    *,
    scaffold: Mapping[str, Any] | Scaffold | None = None,
    split: str = "train",
    **knobs: Any,
) -> Any:
    """A world of one seat as an `Environment` of OpenEnv: `reset`, `step`, `state`, `get_metadata`.

    An action has the field `action`, a string; an observation `text`, `image` (a PNG as base64, empty without pictures), `legal`,
    `events`, `reward`, `done`. `reset` takes `seed`, `level` and `split`; without a seed, instances follow each other in a fixed order.

    Args:
        world: a registered name.
        level: 0-9.
        scaffold: how it is shown and answered; the grammar is `free` unless told.
        split: `train`, `validation` or `test`.
        **knobs: of the world, beside the level.

    Raises:
        MissingExtra: openenv-core is not installed.
        AdapterError: the world has several seats.
    """
    chosen = scaffold if isinstance(scaffold, Scaffold) else Scaffold.of({"grammar": "free", **(scaffold or {})})
    play = Play(world, level, chosen, split, knobs)
    if len(play.seats) > 1:
        raise AdapterError(
            f"{world} has the seats {', '.join(play.seats)}, an OpenEnv environment one; use adapters.pettingzoo"
        )
    return types().environment(play)


def app(world: str, level: int = 0, *, sessions: int = 64, **options: Any) -> Any:
    """The FastAPI application that serves a world: `/reset`, `/step`, `/state`, `/schema`, `/health`, and a session of its own for
    each WebSocket at `/ws`.

    Args:
        world: a registered name.
        level: 0-9.
        sessions: WebSockets at once.
        **options: of `make`.

    Raises:
        MissingExtra: openenv-core is not installed.
        AdapterError: the world has several seats.
    """
    make(world, level, **options)  # what cannot be made is said now, not to the first client
    server, known = peer("openenv.core.env_server"), types()
    return server.create_fastapi_app(
        lambda: make(world, level, **options), known.action, known.observation, max_concurrent_envs=sessions
    )


@functools.cache
def types() -> Types:
    """The classes, made when they are first asked for, as their bases are OpenEnv's.

    Raises:
        MissingExtra: openenv-core is not installed.
    """
    core, pydantic = peer("openenv.core.env_server.types"), peer("pydantic")
    texts = (list[str], pydantic.Field(default_factory=list))
    action = pydantic.create_model("WorldAction", __base__=core.Action, action=(str, ...))
    observation = pydantic.create_model(
        "WorldObservation", __base__=core.Observation, text=(str, ...), image=(str, ""), legal=texts, events=texts
    )
    fields: dict[str, Any] = {"world": (str, ""), "level": (int, 0), "split": (str, ""), "seed": (int, 0)}
    state = pydantic.create_model("WorldState", __base__=core.State, **fields)
    return Types(action, observation, state, _environment(observation, state))


def _environment(observation: Any, state: Any) -> type:
    base, metadata = (
        peer("openenv.core.env_server").Environment,
        peer("openenv.core.env_server.types").EnvironmentMetadata,
    )

    class WorldEnvironment(base):
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self, play: Play) -> None:
            super().__init__()
            self.play, self.count, self.episode = play, 0, ""

        def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Any:
            drawn = Rng("openenv", self.count).below(SEEDS) if seed is None else seed
            self.count, self.episode = self.count + 1, episode_id or f"{self.play.name}-{self.count}"
            return self._seen(self.play.begin(drawn, kwargs)[self.play.seats[0]], None)

        def step(
            self, action: Any, timeout_s: float | None = None, seed: int = 0, before: Sequence[str] = (), **kwargs: Any
        ) -> Any:
            """OpenEnv's plain HTTP knows no sessions: a call names the seed and the actions before, which are played first."""
            if self.play.env.task is None:
                self.reset(seed, None, **kwargs)
                for said in before:
                    if self.play.env.stop is None:
                        self.play.say({self.play.seats[0]: said})
            heard = self.play.say({self.play.seats[0]: action.action})[self.play.seats[0]]
            return self._seen(heard, heard.reward)

        @property
        def state(self) -> Any:
            env = self.play.env
            task = env.task
            if task is None:
                return state(episode_id=None, world=self.play.name, level=self.play.level, split=self.play.split)
            facts = {"world": self.play.name, "level": task.level, "split": task.split, "seed": task.seed}
            return state(episode_id=self.episode, step_count=env.turn, **facts)

        def get_metadata(self) -> Any:
            facts = self.play.env.facts
            return metadata(name=self.play.name, description=facts.rules)

        def _seen(self, heard: Heard, reward: float | None) -> Any:
            said = {"text": heard.text, "legal": list(heard.info["legal"]), "events": list(heard.info["events"])}
            image = "" if heard.image is None else png_of(heard.image)
            return observation(done=heard.terminated or heard.truncated, reward=reward, image=image, **said)

    return WorldEnvironment
