"""Messages and their parts, the errors of the package, and the check that every record uses. Part of `quintain.types`."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


class QuintainError(Exception):
    """The root of every error that Quintain raises on purpose: it names the value, the limit and the fix."""


class InvariantError(QuintainError):
    """A record was made with data that contradict each other."""


def check(condition: bool, message: str) -> None:
    """Raise `InvariantError(message)` unless `condition` holds."""
    if not condition:
        raise InvariantError(message)


def writable(text: str) -> str:
    """The text, with `?` for what no file can hold: halves of surrogate pairs, as bytes that were no UTF-8 leave them.

    Example:
        >>> writable("é " + b"\\xff".decode(errors="surrogateescape"))
        'é ?'
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


class Role(StrEnum):
    """Who speaks in a message."""

    system = "system"
    user = "user"
    assistant = "assistant"
    tool = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A run of text inside a message; what cannot be written down is a question mark."""

    text: str

    def __post_init__(self) -> None:
        if not self.text.isascii():
            object.__setattr__(self, "text", writable(self.text))


@dataclass(frozen=True, kw_only=True, eq=False)
class Image:
    """A picture: raw pixels [H, W, 3] uint8, or the content hash of a blob; it is encoded lazily, never once per step."""

    pixels: np.ndarray | None = field(default_factory=lambda: None)  # no attribute of the class, so that it can lack
    hash: str = ""

    @staticmethod
    def late(paint: Callable[[], np.ndarray]) -> Image:
        """A picture that is painted when its pixels are first asked for, and never if nobody asks.

        Copies and other processes get the pixels.

        Example:
            >>> import numpy as np
            >>> Image.late(lambda: np.zeros((2, 3, 3), np.uint8)).pixels.shape
            (2, 3, 3)
        """
        image = Image()
        object.__delattr__(image, "pixels")
        object.__setattr__(image, "paint", paint)
        return image

    def __getattr__(self, name: str) -> Any:
        if name != "pixels" or "paint" not in self.__dict__:
            raise AttributeError(f"an Image has no {name!r}")
        object.__setattr__(self, name, self.__dict__["paint"]())  # twice, and the same, where two threads ask at once
        return self.pixels

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Image, pixels=self.pixels, hash=self.hash), ()


def png_of(pixels: np.ndarray) -> str:
    """Pixels [H, W, 3] uint8 as a PNG, in base64.

    Example:
        >>> import numpy as np
        >>> png_of(np.zeros((1, 1, 3), np.uint8))[:8]
        'iVBORw0K'
    """
    from PIL import Image as Pillow

    data = io.BytesIO()
    Pillow.fromarray(pixels).save(data, format="PNG")
    return base64.b64encode(data.getvalue()).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """The policy asks for a tool: its name and JSON arguments."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool answered, as text; `error` marks a failed call."""

    text: str
    id: str = ""
    error: bool = False

    def __post_init__(self) -> None:
        if not self.text.isascii():
            object.__setattr__(self, "text", writable(self.text))


Part = Text | Image | ToolCall | ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool on offer: name, one-line description, JSON schema of its arguments."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    """One message: a role and its parts.

    Example:
        >>> Message.of("user", "hello").text
        'hello'
    """

    role: Role
    parts: tuple[Part, ...]
    name: str = ""

    @classmethod
    def of(cls, role: str, text: str, *images: Image, name: str = "") -> Message:
        """A message of one text and any pictures after it."""
        return cls(Role(role), (Text(text=text), *images), name)

    @property
    def text(self) -> str:
        """All text of the message, tool results included, joined without a separator."""
        if len(self.parts) == 1 and type(self.parts[0]) is Text:
            return self.parts[0].text
        return "".join(p.text for p in self.parts if isinstance(p, Text | ToolResult))

    @property
    def images(self) -> tuple[Image, ...]:
        """The pictures of the message, in order."""
        return tuple(p for p in self.parts if isinstance(p, Image))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the message, in order."""
        return tuple(p for p in self.parts if isinstance(p, ToolCall))
