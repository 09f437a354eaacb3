"""Reading the fields of a JSON body: each getter gives a value of one type or a refusal that names the field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from quintain.serve.call import Refusal


def read_json(body: bytes) -> Fields:
    """The object that a body holds.

    Raises:
        Refusal: it is not JSON in UTF-8, not an object, or too deep.
    """
    try:
        data = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except RecursionError:
        raise Refusal(400, "the body is nested too deeply", code="invalid_json") from None
    except ValueError as error:  # bad UTF-8 too
        raise Refusal(400, f"the body is not JSON: {error}"[:300], code="invalid_json") from None
    if not isinstance(data, dict):
        raise Refusal(400, f"the body is a JSON {type(data).__name__}; it must be an object", code="invalid_json")
    return Fields(data)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


class Fields:
    """One JSON object and where it stands in the body.

    Args:
        data: the object.
        at: its place, such as `messages[0]`; empty for the body itself.
    """

    def __init__(self, data: Mapping[str, Any], at: str = "") -> None:
        self.data, self.at = data, at

    def place(self, name: str) -> str:
        """The place of a field, as refusals name it."""
        return f"{self.at}.{name}" if self.at else name

    def refuse(self, name: str, why: str, code: str = "invalid_value") -> Refusal:
        """A refusal of a field, to be raised."""
        return Refusal(400, f"{self.place(name)} {why}", self.place(name), code)

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self.data.get(name) is not None

    def text(self, name: str, default: str | None = None, longest: int = 1 << 16, form: str = "a string") -> str:
        """A string that UTF-8 can write. `form` says what else the field may be."""
        value = self.data.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise self.refuse(name, f"is {_said(value)}; it must be {form}", "invalid_type")
        if len(value) > longest:
            raise self.refuse(name, f"has {len(value)} characters; at most {longest}", "string_above_max_length")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise self.refuse(name, "holds half a surrogate pair; send whole characters") from None
        return value

    def number(self, name: str, low: float, high: float, *, open_low: bool = False) -> float | None:
        """A finite number within bounds, None if it is not there."""
        value = self.data.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refuse(name, f"is {_said(value)}; it must be a number", "invalid_type")
        inside = low <= value <= high and not (open_low and value == low)
        if not inside:  # nor is NaN
            bracket = "(" if open_low else "["
            raise self.refuse(name, f"is {_said(value)}; it must lie in {bracket}{low:g}, {high:g}]")
        return float(value)

    def whole(self, name: str, low: int, high: int) -> int | None:
        """A whole number within bounds, None if it is not there."""
        value = self.data.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.refuse(name, f"is {_said(value)}; it must be a whole number", "invalid_type")
        if not low <= value <= high:
            raise self.refuse(name, f"is {_said(value)}; it must lie in [{low}, {high}]")
        return value

    def flag(self, name: str) -> bool:
        """True or false; false if it is not there."""
        value = self.data.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.refuse(name, f"is {_said(value)}; it must be true or false", "invalid_type")
        return bool(value)

    def array(self, name: str, longest: int, form: str = "a list") -> list[Any]:
        """A list; an empty one if it is not there. `form` says what else the field may be."""
        value = self.data.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.refuse(name, f"is {_said(value)}; it must be {form}", "invalid_type")
        if len(value) > longest:
            raise self.refuse(name, f"has {len(value)} items; at most {longest}", "array_above_max_length")
        return value

    def each(self, name: str, longest: int, form: str = "a list") -> list[Fields]:
        """A list of objects."""
        items = self.array(name, longest, form)
        return [self._inner(f"{name}[{i}]", item) for i, item in enumerate(items)]

    def inner(self, name: str) -> Fields:
        """An object; an empty one if it is not there."""
        value = self.data.get(name)
        return Fields({}, self.place(name)) if value is None else self._inner(name, value)

    def _inner(self, name: str, value: Any) -> Fields:
        if not isinstance(value, dict):
            raise self.refuse(name, f"is {_said(value)}; it must be an object", "invalid_type")
        return Fields(value, self.place(name))

    def ids(self, name: str, size: int, longest: int) -> tuple[int, ...]:
        """Token ids of a vocabulary of `size`."""
        found = self.array(name, longest)
        for i, value in enumerate(found):
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < size:
                raise self.refuse(f"{name}[{i}]", f"is {_said(value)}; a token id lies in [0, {size - 1}]")
        return tuple(found)


def _said(value: Any) -> str:
    """A value in a message: its JSON, cut short."""
    try:
        text = json.dumps(value)
    except (ValueError, RecursionError):  # an integer of very many digits
        return f"a very large {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."
