"""A Python function as a tool: its signature and docstring as a JSON schema, and arguments checked against it."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal

from quintain.types import QuintainError, Tool

_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


class ToolError(QuintainError):
    """A function cannot be a tool, or was called with arguments that do not fit; the message goes to the policy."""


def tool_of(function: Callable[..., Any]) -> Tool:
    """The tool that a function is: its name, the first line of its docstring, the schema of its annotated parameters.

    Types: str, int, float, bool, list, dict, `list[X]`, `dict[str, X]`, `Literal`, and unions of them with None.
    A line `name: what it is` in the docstring describes a parameter.

    Raises:
        ToolError: a parameter has no annotation or one that JSON cannot hold, or is positional-only or variadic.

    Example:
        >>> def add(a: int, b: int = 0) -> int:
        ...     '''Add two numbers.'''
        ...     return a + b
        >>> tool_of(add).parameters["required"], tool_of(add).parameters["properties"]["b"]
        (['a'], {'type': 'integer', 'default': 0})
    """
    lines = [line.strip() for line in (inspect.getdoc(function) or "").splitlines()]
    hints = typing.get_type_hints(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) or name not in hints:
            raise ToolError(
                f"tool {function.__name__}: the parameter {name!r} needs a name of its own and an annotation"
            )
        properties[name] = schema_of(hints[name], f"{function.__name__}({name})")
        said = next((line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:")), "")
        if said:
            properties[name]["description"] = said
        if parameter.default is parameter.empty:
            required.append(name)
        else:
            properties[name]["default"] = parameter.default
    schema = {"type": "object", "properties": properties, "required": required}
    return Tool(name=function.__name__, description=lines[0] if lines else "", parameters=schema)


def schema_of(kind: Any, where: str = "") -> dict[str, Any]:
    """The JSON schema of a type annotation.

    Raises:
        ToolError: JSON cannot hold such values.

    Example:
        >>> schema_of(list[int] | None)
        {'anyOf': [{'type': 'array', 'items': {'type': 'integer'}}, {'type': 'null'}]}
    """
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return {}
    if kind is type(None):
        return {"type": "null"}
    if kind in _NAMES:
        return {"type": _NAMES[kind]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [schema_of(a, where) for a in arguments]}
    if origin is list:
        return {"type": "array", "items": schema_of(arguments[0], where)}
    if origin is dict and arguments[0] is str:
        return {"type": "object", "additionalProperties": schema_of(arguments[1], where)}
    raise ToolError(
        f"tool {where}: {kind!r} has no JSON form; use str, int, float, bool, list, dict, Literal or unions"
    )


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a JSON value has the type that a schema of `schema_of` asks for; whole floats count as integers.

    Example:
        >>> fits(3, {"type": "number"}), fits(True, {"type": "integer"}), fits("x", {"enum": ["x", "y"]})
        (True, False, True)
    """
    if "anyOf" in schema:
        return any(fits(value, s) for s in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    kind = schema.get("type")
    if kind == "null":
        return value is None
    if kind in ("integer", "number"):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and (kind == "number" or float(value).is_integer())
    if kind == "array":
        return isinstance(value, list) and all(fits(v, schema.get("items", {})) for v in value)
    if kind == "object":
        more = schema.get("additionalProperties", {})
        return isinstance(value, dict) and all(fits(v, more) for v in value.values())
    names = {"string": str, "boolean": bool}
    return kind is None or isinstance(value, names[kind])


def check_arguments(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, integers made of whole floats, if they fit the tool's schema.

    Raises:
        ToolError: one is unknown, missing or of the wrong type; the message tells the policy which.
    """
    schema = tool.parameters
    for name in arguments:
        if name not in schema["properties"]:
            raise ToolError(
                f"{tool.name} has no argument {name!r}; it takes {', '.join(schema['properties']) or 'none'}"
            )
    for name in schema["required"]:
        if name not in arguments:
            raise ToolError(f"{tool.name} needs the argument {name!r}")
    out: dict[str, Any] = {}
    for name, value in arguments.items():
        wanted = schema["properties"][name]
        if not fits(value, wanted):
            kind = wanted.get("type") or wanted.get("enum") or "another type"
            raise ToolError(f"{tool.name}: the argument {name!r} is {value!r:.80}; it must be {kind}")
        out[name] = int(value) if wanted.get("type") == "integer" else value
    return out
