"""A world behind HTTP as AgentGym's environment servers have it: `quintain offer http KeyDoor --level 2`.

POST `/create` {} -> `id`, `observation`, `reward`, `score` (all that was earned), `done`; POST `/reset` {`id`, `data_idx`} with the seed of
the instance; POST `/step` {`id`, `action`}; GET `/observation?id=` and `/available_actions?id=`; POST `/close` {`id`}. An action that
cannot be read is among the `events` of the answer. Where a token is set, every call needs `Authorization: Bearer TOKEN`.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from quintain.envs.adapters.play import AdapterError, Heard, Play, check_shown
from quintain.ports import SOLO
from quintain.serve.call import Call, Refusal, Reply
from quintain.serve.fields import Fields, read_json
from quintain.serve.gateway import digest
from quintain.types import QuintainError

MOST = 1024  # games at once
SEEDS = 2**63 - 1
ACTION = 1 << 16  # characters
TAKEN = {
    "/create": (),
    "/reset": ("id", "data_idx"),
    "/step": ("id", "action"),
    "/close": ("id",),
}  # fields of what is sent by POST
SEEN, ABOUT = ("/observation", "/available_actions"), ("/", "/health")  # of GET: of one game, of all


class Games:
    """Answers calls: games by number, each with a state of its own; the one that nobody asked about for longest makes way for a new one.

    Args:
        make: a new world of one seat.
        token: what every call must bring; empty for none.
        most: games at once.

    Raises:
        AdapterError: the world has several seats, or shows pictures, which no answer holds.
    """

    def __init__(self, make: Callable[[], Play], token: str = "", most: int = MOST) -> None:
        self.make, self.token, self.most = make, token, most
        self.name = make().name
        if make().seats != (SOLO,):
            raise AdapterError(
                f"{self.name} has several seats, and a game here has one player; use adapters.pettingzoo"
            )
        check_shown(make(), "a game here")
        self.games: dict[int, tuple[Play, Heard, float]] = {}
        self.count = 0

    async def __call__(self, call: Call) -> Reply:
        """Answer one call; never raises."""
        try:
            self._let_in(call.headers.get("authorization", ""))
            if call.method == "GET":
                return Reply(data=self._seen(call))
            if call.method != "POST":
                raise Refusal(405, f"{call.method} is not answered; use GET or POST", code="method_not_allowed")
            body = await call.body()
            return Reply(data=self._done(call.path, read_json(body or b"{}")))
        except Refusal as refusal:
            return refusal.reply()
        except QuintainError as error:
            return Refusal(400, str(error), code="invalid_value").reply()

    def _let_in(self, header: str) -> None:
        sent = header.partition(" ")[2].strip() if header.lower().startswith("bearer ") else ""
        if self.token and not hmac.compare_digest(digest(sent), digest(self.token)):
            raise Refusal(401, "send the header Authorization: Bearer TOKEN", code="invalid_api_key")

    def _seen(self, call: Call) -> dict[str, Any]:
        if call.path in ABOUT:
            return {"environment": self.name, "games": len(self.games)}
        if call.path not in SEEN:
            raise _nowhere("GET", call.path)
        given = parse_qs(call.query).get("id", [""])[0]
        number = int(given) if given.isascii() and given.isdigit() and len(given) < 19 else given
        _, (_, heard, _) = self._game(number)
        if call.path == "/observation":
            return {"observation": heard.text}
        return {"available_actions": list(heard.info["legal"])}

    def _done(self, path: str, body: Fields) -> dict[str, Any]:
        if path not in TAKEN:
            raise _nowhere("POST", path)
        if strange := [name for name in body.data if name not in TAKEN[path]]:
            there = ", ".join(TAKEN[path]) or "none"
            raise body.refuse(strange[0][:80], f"is no field of {path}; its fields: {there}", "unknown_parameter")
        if path == "/create":
            number, self.count = self.count, self.count + 1
            while len(self.games) >= self.most:
                del self.games[next(iter(self.games))]
            return self._told(number, self.make(), number)
        number, (play, _, score) = self._game(body.whole("id", 0, SEEDS))
        if path == "/reset":
            return self._told(number, play, body.whole("data_idx", 0, SEEDS) or 0)
        if path == "/close":
            del self.games[number]
            return {"closed": True}
        if play.env.stop is not None:
            raise Refusal(409, f"game {number} is over; call /reset", "id", "game_over")
        heard = play.say({SOLO: body.text("action", longest=ACTION)})[SOLO]
        self.games[number] = play, heard, score + heard.reward
        return _answer(heard, score + heard.reward)

    def _told(self, number: int, play: Play, seed: int) -> dict[str, Any]:
        heard = play.begin(seed)[SOLO]
        self.games[number] = play, heard, heard.reward
        return {"id": number, **_answer(heard, heard.reward)}

    def _game(self, number: int | str | None) -> tuple[int, tuple[Play, Heard, float]]:
        if number is None or number == "":
            raise Refusal(404, "no game is named; give the id that /create answered with", "id", "game_not_found")
        if isinstance(number, str) or number not in self.games:
            raise Refusal(404, f"there is no game {number!r:.80}; call /create", "id", "game_not_found")
        self.games[number] = self.games.pop(number)  # the order of the dict is that of the last use
        return number, self.games[number]


def _answer(heard: Heard, score: float) -> dict[str, Any]:
    said = {"observation": heard.text, "reward": heard.reward, "score": score}
    return {**said, "done": heard.terminated or heard.truncated, "events": list(heard.info["events"])}


def _nowhere(method: str, path: str) -> Refusal:
    known = f"POST {', '.join(TAKEN)} and GET {', '.join((*SEEN, *ABOUT))}"
    return Refusal(404, f"there is no {method} {path[:80]}; there are {known}", code="not_found")
