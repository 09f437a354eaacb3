"""JSON over HTTP for engines on a server: limits, retries with jitter, cancellation."""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import hashlib
import http.client
import json
import math
import os
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from quintain.engines.errors import EngineError
from quintain.ports import TurnRefused

AGAIN = {408, 409, 425, 429, 500, 502, 503, 504, 529}  # answers after which the same request may succeed
LONGEST_WAIT_S = 60.0
FIRST = 4  # further tries where no server has answered yet
UNFIT = {400, 413, 422}  # answers that are about what was sent, not about who sends or how often
_FULL = re.compile(
    r"context[_ -]?(?:length|window|size)|prompt is too long|too many (?:input )?tokens|input token count", re.I
)
_FILTERED = re.compile(r"content[_ ](?:filter|policy|management)|ResponsibleAI|data_inspection_failed|moderation", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """Seconds for one answer, further tries, requests at once, seconds before the second try, and how many messages of a conversation, the
    newest, have their pictures with them; with 0 all do, again in each turn.

    Raises:
        EngineError: one is no number or out of range.
    """

    timeout_s: float = 120.0
    retries: int = 4
    concurrency: int = 32
    wait_s: float = 0.5
    pictures: int = 0

    def __post_init__(self) -> None:
        for name, whole, least in (
            ("retries", True, 0),
            ("concurrency", True, 1),
            ("timeout_s", False, 0.001),
            ("wait_s", False, 0),
            ("pictures", True, 0),
        ):
            value = getattr(self, name)
            kind = int if whole else (int, float)
            if isinstance(value, bool) or not isinstance(value, kind) or not least <= value < math.inf:
                raise EngineError(f"manners.{name} is {value!r}; it is a {'whole ' * whole}number, at least {least}")


class _Refused(Exception):
    def __init__(self, text: str, again: bool, after_s: float = 0.0, code: int = 0) -> None:
        super().__init__(text)
        self.again, self.after_s, self.code = again, after_s, code


class Wire:
    """Posts JSON to one server.

    Args:
        url: base of the API; one whose path names no version, such as `/v1` or `/v1beta/openai`, gets `/v1`.
        key_env: name of the environment variable that holds the API key; empty sends none.
        manners: limits and retries.

    Raises:
        EngineError: the URL is not http or https, or the variable is named but not set.
    """

    def __init__(self, url: str, key_env: str = "", manners: Manners | None = None) -> None:
        if not url.startswith(("http://", "https://")):
            raise EngineError(f"{url!r} is not an http or https URL")
        if "@" in urllib.parse.urlsplit(url).netloc:  # results and errors would repeat it
            raise EngineError(
                "the URL holds a user or a password before @; leave it out, and set an environment variable to the key "
                "(OPENAI_API_KEY, or the one that key_env, --key-env names)"
            )
        base = url.rstrip("/")
        versioned = any(re.fullmatch(r"v\d\w*", part) for part in urllib.parse.urlsplit(base).path.split("/"))
        self.url: str = base if versioned else f"{base}/v1"
        self.manners: Manners = manners or Manners()
        self.tries: int = 0  # requests sent, retries included
        self.answered: bool = False  # some request was
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key_env:
            key = os.environ.get(key_env)
            if not key:
                raise EngineError(
                    f"the environment variable {key_env} is not set; set it to the API key of {self.url}, or name none (key_env='', "
                    "--key-env '') for a server without keys"
                )
            self._headers["Authorization"] = f"Bearer {key}"
        self._slots: asyncio.Semaphore | None = None

    async def post(self, path: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object that the server answers.

        Raises:
            EngineError: the server refuses, or still fails after all tries.
            TurnRefused: it refuses this conversation, and has answered others.
        """
        if self._slots is None:
            self._slots = asyncio.Semaphore(self.manners.concurrency)
        body = json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
        async with self._slots:
            for attempt in range(self.manners.retries + 1):
                try:
                    self.tries += 1
                    answer = await _in_thread(lambda: self._send(path, body))
                    self.answered = True
                    return answer
                except _Refused as error:
                    if not error.again or attempt == self.manners.retries or (attempt >= FIRST and self._unmet(error)):
                        raise self._failure(error, f"{self.url}{path}: {error} (try {attempt + 1})") from None
                    await asyncio.sleep(max(error.after_s, self._wait(body, attempt)))
        raise AssertionError("the last try returns or raises")

    def _unmet(self, error: _Refused) -> bool:
        """Whether nobody has ever answered: the URL may be wrong, and is not waited for as long as a server that is busy."""
        return not error.code and not self.answered

    def _failure(self, error: _Refused, text: str) -> EngineError | TurnRefused:
        """Settings that do not fit are refused from the first request on; what comes later, or names its cause, is one conversation's."""
        full, filtered = error.code == 413 or _FULL.search(text) is not None, _FILTERED.search(text) is not None
        if error.code in UNFIT and (self.answered or full or filtered):
            return TurnRefused(text, full)
        return EngineError(text)

    def _wait(self, body: bytes, attempt: int) -> float:
        """Doubling waits, each cut by up to a half that depends on the request, so that peers spread out."""
        part = hashlib.blake2b(body + bytes([attempt]), digest_size=2).digest()
        jitter = 0.5 + int.from_bytes(part, "big") / 131072
        return min(self.manners.wait_s * 2**attempt * jitter, LONGEST_WAIT_S)

    def _send(self, path: str, body: bytes) -> dict[str, Any]:
        request = urllib.request.Request(self.url + path, data=body, headers=self._headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=self.manners.timeout_s) as answer:
                data = json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                said = error.read(500).decode(errors="replace")
            wait = min(_seconds(error.headers.get("Retry-After", "")), LONGEST_WAIT_S)
            raise self._refusal(error.code, f"HTTP {error.code}: {said}", wait) from None
        except (OSError, http.client.HTTPException) as error:  # no connection, a reset, a time-out
            raise _Refused(f"{type(error).__name__}: {error}", again=True) from None
        except ValueError as error:
            raise _Refused(f"the answer is not JSON: {error}", again=True) from None
        if not isinstance(data, dict):
            raise _Refused(f"the answer is a {type(data).__name__}, not an object", again=False)
        if isinstance(error := data.get("error"), dict) and not data.get("choices"):
            code = error.get("code")  # of whom a proxy asked, under a status of its own
            raise self._refusal(
                code if isinstance(code, int) else 0, f"the answer is an error: {json.dumps(error)[:500]}"
            )
        return data

    def _refusal(self, code: int, said: str, after_s: float = 0.0) -> _Refused:
        """What a server said with a status, without the key, which some repeat."""
        key = self._headers.get("Authorization", "").removeprefix("Bearer ")
        again = (
            code in AGAIN and "insufficient_quota" not in said
        )  # of an account that is used up, under the status of haste
        return _Refused(said.replace(key, "(the key)") if key else said, again, after_s, code)


def _seconds(after: str) -> float:
    """The header `Retry-After`, which holds seconds or a date, from now; 0 for anything else."""
    if after.replace(".", "", 1).isdigit():
        return float(after)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(after).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


async def _in_thread(work: Callable[[], Any]) -> Any:
    """The result of `work` from a daemon thread: a cancelled run does not wait for a slow server."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)

    def run() -> None:
        value, failure = None, None
        try:
            value = work()
        except BaseException as error:
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=run, daemon=True, name="quintain-wire").start()
    return await future
