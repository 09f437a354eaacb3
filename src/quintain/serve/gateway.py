"""The endpoint: who may ask, where a request belongs, and its answer. It knows calls and replies, not the web."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from quintain.render import RenderError
from quintain.rollouts.asked import AskError, EpisodeOver
from quintain.rollouts.recorder import Recorder
from quintain.serve import shapes
from quintain.serve.call import Call, Limits, Refusal, Reply
from quintain.serve.fields import Fields, read_json
from quintain.serve.schema import Facts, Wanted, read_chat, read_completion

EPISODE = "x-quintain-episode"
FEEDBACK = ("reward", "done", "episode")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Desk(Protocol):
    """Who keeps the episodes of the holder of the common token: names them, is told of rewards, ends them."""

    async def find(self, name: str, wanted: Wanted | None) -> Recorder:
        """The open episode of a name, a new one if there is none; with an empty name the one that a request continues."""
        ...

    def use(self, recorder: Recorder) -> None:
        """An open episode, whose own token came, is asked: it is not idle."""
        ...

    async def reward(self, name: str, rewards: Mapping[str, float], done: bool) -> dict[str, Any]:
        """Take rewards for an episode, and end it if `done`."""
        ...

    async def open(self, name: str) -> Recorder:
        """A new episode."""
        ...


@dataclass(slots=True, eq=False)
class Room:
    """An open episode with a token of its own."""

    name: str
    recorder: Recorder
    facts: Facts
    shut: bool = False

    def check(self) -> None:
        """Refuse what comes too late: an episode may end while the body of a request that was let in is on its way."""
        if self.shut or self.recorder.over:
            raise Refusal(401, f"episode {self.name} has ended", code="episode_over")


@dataclass(slots=True)
class Load:
    """Requests being answered now, and how many were refused since the start."""

    now: int = 0
    refused: int = 0
    answered: int = 0


def digest(token: str) -> bytes:
    """What is kept and compared of a token."""
    return hashlib.sha256(token.encode(errors="replace")).digest()


@dataclass(slots=True, kw_only=True, eq=False)
class Gateway:
    """Answers calls. Episodes have tokens of their own; `desk` takes the calls of the common token, if there is one.

    Args:
        limits: bytes, seconds, requests at once.
        hosts: names that the Host header may hold, without port; those of loopback when empty.
        facts: of the policy behind the common token.
        token: the common token; empty for none.
        desk: keeps the episodes of its holder.
        failed: is told of an error of ours, of which the client learns only the kind.
    """

    limits: Limits = field(default_factory=Limits)
    hosts: tuple[str, ...] = LOOPBACK
    facts: Facts | None = None
    token: str = ""
    desk: Desk | None = None
    failed: Callable[[Exception], None] = lambda error: None
    load: Load = field(default_factory=Load)
    rooms: dict[bytes, Room] = field(default_factory=dict)

    def admit(self, recorder: Recorder, facts: Facts) -> str:
        """Open an episode to requests and give its token."""
        token = "qt-" + secrets.token_urlsafe(32)
        self.rooms[digest(token)] = Room(recorder.name, recorder, facts)
        return token

    def expel(self, recorder: Recorder) -> None:
        """The tokens of an episode are worth nothing from here on."""
        for at, room in list(self.rooms.items()):
            if room.recorder is recorder:
                room.shut = True
                del self.rooms[at]

    async def __call__(self, call: Call) -> Reply:
        """The answer to a call; never raises but for cancellation."""
        try:
            reply = await self._answer(call)
        except Refusal as refusal:
            self.load.refused += 1
            if room := self.rooms.get(digest(_token(call)[1])):
                room.recorder.refused(str(refusal))
            return refusal.reply()
        except Exception as error:  # ours: the client is told no more than its kind
            self.load.refused += 1
            self.failed(error)
            return Refusal(500, f"the server failed: {type(error).__name__}", code="internal_error").reply()
        self.load.answered += 1
        return reply

    async def _answer(self, call: Call) -> Reply:
        self._check_host(call.headers.get("host", ""))
        episode, path = _parted(call.path)
        room = self._who(*_token(call))
        verbs = ROUTES.get(path) or (ROUTES["/v1/models/*"] if path.startswith("/v1/models/") else None)
        if verbs is None:
            raise Refusal(404, f"there is no {path[:100]}; there are {', '.join(ROUTES)}", code="unknown_url")
        handler = verbs.get(call.method)
        if handler is None:
            refused = Refusal(405, f"{path[:100]} takes {', '.join(verbs)}", code="method_not_allowed").reply()
            return Reply(status=405, data=refused.data, headers={"Allow": ", ".join(verbs)})
        self._room_left()
        self.load.now += 1
        try:
            async with asyncio.timeout(self.limits.answer_s):
                name = _name(episode) or _name(call.headers.get(EPISODE, ""), EPISODE) or (room.name if room else "")
                if room is not None and name != room.name:
                    raise _strange(name, room, "" if episode else EPISODE)
                return await handler(self, Visit(call, room, name, path))
        except TimeoutError:
            raise Refusal(504, f"no answer within {self.limits.answer_s:g} s", code="timeout") from None
        finally:
            self.load.now -= 1

    def _check_host(self, host: str) -> None:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if name.lower() not in self.hosts:
            raise Refusal(
                403,
                f"the host {name[:80]!r} is not one of {', '.join(dict.fromkeys(self.hosts))}",
                code="host_not_allowed",
            )

    def _who(self, scheme: str, token: str) -> Room | None:
        """The episode whose token was sent, None for the common one."""
        if scheme != "bearer" or not token:
            raise Refusal(401, "send the header Authorization: Bearer TOKEN", code="missing_api_key")
        sent = digest(token)
        room = self.rooms.get(sent)
        if room is not None:
            return room
        if self.token and hmac.compare_digest(sent, digest(self.token)):
            return None
        raise Refusal(
            401, "this token opens nothing here: it is wrong, or its episode has ended", code="invalid_api_key"
        )

    def _room_left(self) -> None:
        if self.load.now >= self.limits.at_once:
            raise Refusal(429, f"{self.load.now} requests are being answered; try again", code="too_many", retry_s=1)


@dataclass(frozen=True, slots=True)
class Visit:
    """A call that was let in: its episode, or the name of one for the holder of the common token."""

    call: Call
    room: Room | None
    name: str
    path: str


def _token(call: Call) -> tuple[str, str]:
    """The scheme and the token of a call's header."""
    scheme, _, token = call.headers.get("authorization", "").partition(" ")
    return scheme.lower(), token.strip()


def _parted(path: str) -> tuple[str, str]:
    """The episode that a path names, and the rest of it."""
    if not path.startswith("/e/"):
        return "", path
    episode, slash, rest = path.removeprefix("/e/").partition("/")
    return episode, slash + rest


def _strange(name: str, room: Room, param: str) -> Refusal:
    told = f"{param or 'the path'} names the episode {name[:60]!r}, and this token is that of {room.name!r}"
    return Refusal(403, f"{told}; leave it out, or send the token of {name[:60]!r}", param, "not_allowed")


def _name(name: str, param: str = "") -> str:
    """The name of an episode, checked; `param` is where it came from, if that was not the path."""
    if name in (".", "..") or len(name) > 128 or not name.isascii() or not all(c.isalnum() or c in "._-" for c in name):
        told = f"{name[:40]!r}{'...' if len(name) > 40 else ''} ({len(name)} characters) is no name of an episode"
        raise Refusal(
            400,
            f"{told}: it has at most 128 letters, digits, or . _ -, and is no . or .. alone",
            param,
            "invalid_value",
        )
    return name


def _facts(gateway: Gateway, visit: Visit) -> Facts:
    facts = visit.room.facts if visit.room else gateway.facts
    if facts is None:
        raise Refusal(404, "no policy is served here", code="model_not_found")
    return facts


async def _models(gateway: Gateway, visit: Visit) -> Reply:
    facts = _facts(gateway, visit)
    own = {"id": facts.model, "object": "model", "created": 0, "owned_by": "quintain"}
    if visit.path == "/v1/models":
        return Reply(data={"object": "list", "data": [own]})
    name = visit.path.removeprefix("/v1/models/")
    if name != facts.model:
        raise Refusal(
            404, f"the model {name[:100]!r} is not here; there is {facts.model!r}", "model", "model_not_found"
        )
    return Reply(data=own)


async def _health(gateway: Gateway, visit: Visit) -> Reply:
    load = gateway.load
    return Reply(data={"status": "ok", "requests": load.now, "answered": load.answered, "refused": load.refused})


async def _chat(gateway: Gateway, visit: Visit) -> Reply:
    facts = _facts(gateway, visit)
    wanted = read_chat(read_json(await visit.call.body()), facts)
    recorder, answers = await _ask(gateway, visit, wanted)
    headers = {"X-Quintain-Episode": recorder.name}
    if wanted.stream:
        return Reply(events=shapes.chat_chunks(facts.model, wanted, answers, recorder.renderer), headers=headers)
    return Reply(data=shapes.chat_reply(facts.model, wanted, answers, recorder.renderer), headers=headers)


async def _complete(gateway: Gateway, visit: Visit) -> Reply:
    facts = _facts(gateway, visit)
    body = read_json(await visit.call.body())
    try:
        wanted = read_completion(body, facts)
    except RenderError as error:
        raise Refusal(400, str(error), "prompt", "unrenderable") from None
    recorder, answers = await _ask(gateway, visit, wanted)
    headers = {"X-Quintain-Episode": recorder.name}
    if wanted.stream:
        return Reply(events=shapes.text_chunks(facts.model, wanted, answers, recorder.renderer), headers=headers)
    data = shapes.text_reply(facts.model, wanted, answers, recorder.renderer)
    if wanted.scored:
        rows = await recorder.engine.score([wanted.ask.prompt])
        for choice in data["choices"]:
            choice["prompt_logprobs"] = shapes.scored_prompt(wanted.ask.prompt, rows[0])
    return Reply(data=data, headers=headers)


async def _ask(gateway: Gateway, visit: Visit, wanted: Wanted) -> tuple[Recorder, list[Any]]:
    if visit.room is not None:
        visit.room.check()
        recorder = visit.room.recorder
        if gateway.desk is not None:
            gateway.desk.use(recorder)
    elif gateway.desk is not None:
        recorder = await gateway.desk.find(visit.name, wanted)
    else:
        raise Refusal(404, "no policy is served here", code="model_not_found")
    try:
        return recorder, await recorder.ask(wanted.ask)
    except AskError as error:
        param = "prompt" if wanted.ask.prompt and error.param == "messages" else error.param
        raise Refusal(400, str(error), param, error.code) from None
    except RenderError as error:
        raise Refusal(400, str(error), "prompt" if wanted.ask.prompt else "messages", "unrenderable") from None
    except EpisodeOver as error:
        raise Refusal(401, str(error), code="episode_over") from None


async def _feedback(gateway: Gateway, visit: Visit) -> Reply:
    body = read_json(await visit.call.body())
    if visit.room is not None:
        visit.room.check()
        if (name := body.text("episode", visit.name)) != visit.name:
            raise _strange(name, visit.room, "episode")
    rewards, done = _rewards(body)
    if visit.room is not None:
        recorder = visit.room.recorder
        for name, value in rewards.items():
            recorder.rewards[name] = recorder.rewards.get(name, 0.0) + value
        if done:
            gateway.expel(recorder)
        if done and gateway.desk is not None:
            return Reply(data=await gateway.desk.reward(recorder.name, {}, True))
        return Reply(data={"episode": recorder.name, "rewards": recorder.rewards, "done": done})
    if gateway.desk is None:
        raise Refusal(404, "no policy is served here", code="unknown_url")
    name = _name(body.text("episode", visit.name, gateway.limits.body_bytes), "episode")
    if not name:
        raise body.refuse("episode", "is missing; it is the header X-Quintain-Episode of every answer")
    return Reply(data=await gateway.desk.reward(name, rewards, done))


def _rewards(body: Fields) -> tuple[dict[str, float], bool]:
    """What a body of feedback says: rewards by name, and whether the episode is over."""
    for name in body.data:
        if name not in FEEDBACK:
            raise body.refuse(
                name[:60], f"is no field of feedback; there are {', '.join(FEEDBACK)}", "unknown_parameter"
            )
    value, done = body.data.get("reward"), body.flag("done")
    if value == {} or (value is None and not done):
        told = f"is {'missing' if value is None else 'empty'}; send a number, numbers by name, or done=true alone"
        raise body.refuse("reward", told, "missing_required_parameter")
    if isinstance(value, dict):
        named = body.inner("reward")
        if len(value) > 64:
            raise body.refuse("reward", "has more than 64 names")
        found = {n: named.number(n, -1e9, 1e9) for n in value}
        for name, number in found.items():
            if number is None:
                raise named.refuse(name, "is null; it must be a number", "invalid_type")
    else:
        found = {"feedback": body.number("reward", -1e9, 1e9)}
    for name in found:
        Fields({"name": name}, "reward").text("name", None, 128)
    return {n: v for n, v in found.items() if v is not None}, done


async def _episodes(gateway: Gateway, visit: Visit) -> Reply:
    if visit.room is not None or gateway.desk is None or gateway.facts is None:
        raise Refusal(403, "the token of an episode opens no other", code="not_allowed")
    body = read_json(await visit.call.body() or b"{}")
    recorder = await gateway.desk.open(_name(body.text("name", "", gateway.limits.body_bytes), "name"))
    token = gateway.admit(recorder, gateway.facts)
    path = f"/e/{recorder.name}/v1"
    host = visit.call.headers.get("host", "")
    return Reply(data={"episode": recorder.name, "base_url": f"http://{host}{path}", "api_key": token})


Handler = Callable[[Gateway, Visit], Awaitable[Reply]]
ROUTES: dict[str, dict[str, Handler]] = {
    "/v1/chat/completions": {"POST": _chat},
    "/v1/completions": {"POST": _complete},
    "/v1/models": {"GET": _models},
    "/v1/models/*": {"GET": _models},
    "/v1/feedback": {"POST": _feedback},
    "/v1/episodes": {"POST": _episodes},
    "/health": {"GET": _health},
}
