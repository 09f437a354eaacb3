"""A request and its answer as plain data, and what is refused: nothing here knows which web library carries them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from quintain.types import QuintainError

Body = Callable[[], Awaitable[bytes]]

KINDS = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


class Refusal(QuintainError):
    """A request that is not answered: an HTTP status and the error object of the API."""

    def __init__(self, status: int, text: str, param: str = "", code: str = "", retry_s: int = 0) -> None:
        super().__init__(text)
        self.status, self.param, self.code, self.retry_s = status, param, code, retry_s

    def reply(self) -> Reply:
        """The answer that says so."""
        kind = KINDS.get(self.status) or ("server_error" if self.status >= 500 else "invalid_request_error")
        error = {"message": str(self), "type": kind, "param": self.param or None, "code": self.code or None}
        headers = {"Retry-After": str(self.retry_s)} if self.retry_s else {}
        headers |= {"WWW-Authenticate": "Bearer"} if self.status == 401 else {}
        return Reply(status=self.status, data={"error": error}, headers=headers)


async def _empty() -> bytes:
    return b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request: method, path, headers by lower-case name, its body when it is asked for, and what stands behind the `?`."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Body = _empty
    query: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer: a JSON object, or `events`, which go out one after the other as a stream."""

    status: int = 200
    data: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    events: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a server stands: bytes of a body, seconds to send it and to be answered, requests at once, choices of one."""

    body_bytes: int = 16 << 20
    body_s: float = 30.0
    answer_s: float = 600.0
    at_once: int = 256
    choices: int = 16
    text: int = 4 << 20  # characters of one message
