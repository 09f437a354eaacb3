"""Environments of OpenEnv servers as envs of ours, over a WebSocket session each."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image as Pillow

from quintain.envs.adapters.away import Away
from quintain.envs.adapters.game import PeerError, Shown, by_level, number, options_of
from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.peer_env import playing
from quintain.ports import SOLO, Env, EpisodeLost
from quintain.registry import register
from quintain.types import Stop, Task

OWN = ("metadata", "done", "reward")  # what OpenEnv adds to every action and observation


class OpenEnvGame:
    """Matches `game.Game`: one session of a server.

    Args:
        urls: the server, or one for each level.
        fields: which `action` field the policy's text fills, and which `text` and `image` (a PNG or JPEG in base64) of an
            observation it is shown. Without `action`, the only string field of the server's schema, else the whole action as a
            JSON object; without `text`, all of the observation as JSON, or its only string.
        options: of the reset, beside the seed.
        wait_s: seconds that one answer of the server may take.
    """

    remote = True  # answers come over the network: asked in a thread

    def __init__(self, urls: Any, fields: Mapping[str, str], options: Mapping[str, Any], wait_s: float) -> None:
        self.urls, self.fields, self.options, self.wait_s = urls, dict(fields), options, wait_s
        self.seats: tuple[str, ...] = (SOLO,)
        self.url, self.client, self.schema = "", None, {}
        self.shows: list[str] = []  # fields of an observation
        self.ask = "What the environment asks for, as it says."

    def start(self, task: Task) -> Shown:
        """Connect, and reset with the task's seed.

        Raises:
            Away: the server cannot be reached.
            PeerError: it refuses the reset.
        """
        try:
            if (url := self.server(task)) != self.url:
                self.close()
                self.url = url
                self._connect()
            return self._shown(self._asked("reset", seed=task.seed % 2**31, **self.options), first=True)
        except (PeerError, Away):
            self.close()
            raise

    def server(self, task: Task) -> str:
        """Who is asked to begin the episode of a task."""
        return by_level(self.urls, task)

    def _connect(self) -> None:
        self.client = peer("openenv.core").GenericEnvClient(base_url=self.url, message_timeout_s=self.wait_s).sync()
        known = self._known("schema")
        self.schema = known.get("action", {})
        self.shows = [name for name in known.get("observation", {}).get("properties", {}) if name not in OWN]
        schemas = {"action": self.schema, **dict.fromkeys(("text", "image"), known.get("observation", {}))}
        for use, name in self.fields.items():  # one that the server lacks would leave the policy blind without a word
            there = schemas[use].get("properties", {})
            if there and name not in there:
                raise PeerError(f"{self.url} has no field {name!r} for fields.{use}; it has {', '.join(there)}")
        if not self._field():
            self.ask = f"A JSON object with the fields {', '.join(self._names()) or 'of the action'}."

    def read(self, text: str, seat: str) -> Any:
        """The action as an object: the text in its field, or the object that the text is."""
        if not text:
            return None
        field = self._field()
        if field:
            return {field: text}
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def play(self, moves: Mapping[str, Any]) -> Shown:
        """Step; an action that the server refuses is `illegal` and costs the turn.

        Raises:
            EpisodeLost: the connection broke.
            PeerError: the server does not answer.
        """
        return self._shown(self._asked("step", moves[SOLO]))

    def close(self) -> None:
        """End the session."""
        if self.client is not None:
            self.client.close()
        self.client, self.url = None, ""

    def _known(self, path: str) -> dict[str, Any]:
        from urllib.request import urlopen

        try:
            with urlopen(f"{self.url.rstrip('/')}/{path}", timeout=self.wait_s) as answer:
                return json.loads(answer.read())
        except (OSError, ValueError) as error:
            kind = Away if getattr(error, "code", 503) in (502, 503, 504) else PeerError  # a proxy stands before some
            raise kind(f"no OpenEnv server answers at {self.url}: {error}; start it, or mend the url") from error

    def _asked(self, what: str, *given: Any, **options: Any) -> Any:
        try:
            return getattr(self.client, what)(*given, **options)
        except RuntimeError as error:  # the server's own refusal
            if what == "step" and "VALIDATION_ERROR" in str(error):
                return None
            raise PeerError(f"{self.url} refuses {what}: {error}"[:400]) from error
        except TimeoutError as error:
            late = f"in wait_s={self.wait_s:g} seconds; mend the server, or wait longer"
            raise PeerError(f"{self.url} does not answer {what} {late}") from error
        except Exception as error:  # sockets, their time limits, and what the library of their protocol has for an end
            broken = isinstance(error, ConnectionError | peer("websockets.exceptions").ConnectionClosed)
            kind = (Away if what == "reset" else EpisodeLost) if broken else PeerError
            raise kind(f"{self.url} does not answer {what}: {type(error).__name__} {error}"[:400]) from error

    def _names(self) -> list[str]:
        return [name for name in self.schema.get("properties", {}) if name not in OWN]

    def _field(self) -> str:
        if "action" in self.fields:
            return self.fields["action"]
        texts = [n for n in self._names() if self.schema["properties"][n].get("type") == "string"]
        return texts[0] if len(texts) == 1 == len(self._names()) else ""

    def _shown(self, result: Any, first: bool = False) -> Shown:
        if result is None:
            return Shown(
                texts={SOLO: "The environment refuses that action."}, movers=(SOLO,), events={SOLO: ("illegal",)}
            )
        reward = self._reward(result)
        seen = {name: value for name, value in result.observation.items() if name not in OWN}
        image = seen.pop(self.fields["image"], "") if "image" in self.fields else ""
        texts = [value for value in seen.values() if isinstance(value, str)]
        if "text" in self.fields:
            text = str(seen.get(self.fields["text"], ""))
        else:
            text = texts[0] if len(seen) == 1 == len(texts) else json.dumps(seen, ensure_ascii=False)
        images = {SOLO: _pixels(image)} if image else {}
        rewards = {} if first else {SOLO: {"reward": reward}}
        stop = Stop.done if result.done else None
        return Shown(texts={SOLO: text}, movers=() if stop else (SOLO,), images=images, rewards=rewards, stop=stop)

    def _reward(self, result: Any) -> float:
        """The reward of an answer, once it is one: OpenEnv's client takes any object for an answer."""
        seen, reward = result.observation, result.reward
        if not isinstance(seen, dict) or (self.shows and not seen):
            there = ", ".join(self.shows) or "no field"
            raise PeerError(f"{self.url} answers without an observation: {seen!r:.80}; its schema has {there}")
        if not (number(reward) or isinstance(reward, bool | None)):
            raise PeerError(f"{self.url} gives reward={reward!r:.40}; a reward is a finite number: mend the server")
        return float(reward or 0.0)


def _pixels(data: str) -> np.ndarray:
    with Pillow.open(io.BytesIO(base64.b64decode(data.rpartition(",")[2]))) as picture:
        return np.asarray(picture.convert("RGB"), np.uint8)


@register("env", "openenv", seeds=True, example={"url": "http://127.0.0.1:8000"})
def openenv(
    url: str | Sequence[str],
    fields: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    wait_s: float = 60.0,
    manner: Mapping[str, Any] | None = None,
) -> Callable[[Task], Env]:
    """An environment behind an OpenEnv server; every episode has a session of its own. The seed of a task is the seed of its reset.

    Args:
        url: of the server; a list has one for each level.
        fields: which field of an action is the policy's text (`action`), and which of an observation are its text and picture
            (`text`, `image`); guessed from the server's schema unless told.
        options: of the reset, beside the seed.
        wait_s: seconds that one answer of the server may take, > 0.
        manner: options of `game.Manner`; `grammar` is `word` unless told, which passes messages on as they are.

    Raises:
        MissingExtra: openenv-core is not installed.
        PeerError: `fields` has another name than these, or `wait_s` is out of range; (when playing) the server has no such field.
    """
    peer("openenv.core")
    if strange := set(fields or {}) - {"action", "text", "image"}:
        raise PeerError(f"fields has {', '.join(sorted(strange))}; it takes action, text, image")
    if not number(wait_s) or wait_s <= 0:
        raise PeerError(f"wait_s is {wait_s!r}; it is a number of seconds above 0")
    chosen = options_of(options, "seed")
    return playing(lambda: OpenEnvGame(url, fields or {}, chosen, wait_s), {"grammar": "word", **(manner or {})})
