"""Our worlds as environments of OpenEnv (`openenv-core`): typed actions and observations, served over HTTP and WebSocket."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.play import AdapterError, Heard, Play, Row, scaffold_of
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import NoEpisode
from quintain.messages import png_of
from quintain.types import QuintainError

SESSIONS = 512  # at once: a run opens one for each episode of a step, and many systems let a process have 1024 files and sockets


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
    `events`, `reward`, `done`. `reset` takes `seed`, `level` and `split`; without a seed, the next instance
    of a row of them, which the last seed of the session has begun. What cannot be had is a `QuintainError` that names what there is;
    over HTTP it is answered with 400.

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
    play = Play(world, level, scaffold_of(scaffold, "free"), split, knobs, make)
    if len(play.seats) > 1:
        raise AdapterError(
            f"{world} has the seats {', '.join(play.seats)}, an OpenEnv environment one; use adapters.pettingzoo"
        )
    return types().environment(play)


def app(world: str, level: int = 0, *, sessions: int = SESSIONS, **options: Any) -> Any:
    """The FastAPI application that serves a world: `/reset`, `/step`, `/state`, `/schema`, `/health`, and a session of its own for
    each WebSocket at `/ws`, with a row of instances of its own for resets without a seed.

    Args:
        world: a registered name.
        level: 0-9.
        sessions: WebSockets at once; one more is told that there is no room for it, and closed.
        **options: of `make`.

    Raises:
        MissingExtra: openenv-core is not installed.
        AdapterError: the world has several seats.
    """
    make(world, level, **options)  # what cannot be made is said now, not to the first client
    server, known = peer("openenv.core.env_server"), types()
    begun = itertools.count()

    def session() -> Any:
        env = make(world, level, **options)
        env.row = Row(next(begun))  # sessions that name no seed do not all play the same instances
        return env

    made = server.create_fastapi_app(session, known.action, known.observation, max_concurrent_envs=sessions)
    made.add_exception_handler(QuintainError, _refused)
    made.add_exception_handler(peer("fastapi.exceptions").RequestValidationError, _unfit)
    made.add_exception_handler(peer("starlette.websockets").WebSocketDisconnect, _gone)
    return made


async def _refused(request: Any, error: Exception) -> Any:
    return peer("starlette.responses").JSONResponse({"detail": str(error)}, 400)


async def _unfit(request: Any, error: Any) -> Any:
    """As FastAPI answers what does not fit; its own answer can hold neither NaN nor half a surrogate pair."""
    plain = json.dumps({"detail": peer("fastapi.encoders").jsonable_encoder(error.errors())})
    told = json.dumps(json.loads(plain, parse_constant=str))
    return peer("starlette.responses").Response(told, 422, media_type="application/json")


async def _gone(socket: Any, error: Any) -> None:
    """A client went away without a word: OpenEnv closes its end of what is closed, which is no failure."""


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
            self.play, self.row, self.count, self.episode = play, Row(), 0, ""

        def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Any:
            if not isinstance(episode_id, str | None):
                raise AdapterError(f"episode_id is {episode_id!r:.80}; it is a text")
            heard = self.play.begin(self.row.next(seed), kwargs)[self.play.seats[0]]
            self.count, self.episode = self.count + 1, episode_id or f"{self.play.name}-{self.count + 1}"
            return self._seen(heard, None)

        def step(
            self,
            action: Any,
            timeout_s: float | None = None,
            seed: int | None = None,
            before: Sequence[str] = (),
            request_id: str | None = None,
            **kwargs: Any,
        ) -> Any:
            """OpenEnv's plain HTTP knows no sessions: a call names the seed and the actions before, which are played first."""
            if self.play.env.task is None:
                _replayed(self.play, seed, before, kwargs)
            heard = self.play.say({self.play.seats[0]: action.action})[self.play.seats[0]]
            return self._seen(heard, heard.reward)

        @property
        def state(self) -> Any:
            return state(**_state(self.play, self.episode))

        def get_metadata(self) -> Any:
            facts = self.play.env.facts
            return metadata(name=self.play.name, description=facts.rules)

        def _seen(self, heard: Heard, reward: float | None) -> Any:
            return observation(reward=reward, **_observed(heard))

    return WorldEnvironment


def _replayed(play: Play, seed: int | None, before: Sequence[str], options: Mapping[str, Any]) -> None:
    """Begin an episode and play the actions before the one that is asked for."""
    if seed is None:
        raise NoEpisode(
            f"{play.name}: no episode was begun; call reset first, or, without a session, name seed and before"
        )
    if not isinstance(before, list | tuple) or not all(isinstance(said, str) for said in before):
        raise AdapterError(f"before is {before!r:.80}; it is a list of texts, the actions since the reset")
    play.begin(seed, options)
    for at, said in enumerate(before):
        play.say({play.seats[0]: said})
        if play.env.stop is not None:
            raise NoEpisode(
                f"{play.name}: the episode is over after {at + 1} of {len(before)} actions in before; call reset"
            )


def _state(play: Play, episode: str) -> dict[str, Any]:
    task = play.env.task
    if task is None:
        return {"episode_id": None, "world": play.name, "level": play.level, "split": play.split}
    facts = {"world": play.name, "level": task.level, "split": task.split, "seed": task.seed}
    return {"episode_id": episode, "step_count": play.env.turn, **facts}


def _observed(heard: Heard) -> dict[str, Any]:
    image = "" if heard.image is None else png_of(heard.image)
    said = {"text": heard.text, "legal": list(heard.info["legal"]), "events": list(heard.info["events"])}
    return {"done": heard.terminated or heard.truncated, "image": image, **said}
