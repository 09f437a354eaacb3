from typing import Any, Literal

import pytest

from quintain.envs.schema import ToolError, check_arguments, fits, tool_of


def search(query: str, count: int = 3, kind: Literal["web", "news"] = "web", tags: list[str] | None = None) -> str:
    """Search the archive.

    query: what to look for
    """
    return query * count


def test_a_signature_becomes_a_schema():
    tool = tool_of(search)
    assert (tool.name, tool.description) == ("search", "Search the archive.")
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "what to look for"},
            "count": {"type": "integer", "default": 3},
            "kind": {"enum": ["web", "news"], "default": "web"},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": None},
        },
        "required": ["query"],
    }


def test_all_types_that_json_holds():
    def every(a: float, b: bool, c: dict[str, int], d: list, e: dict, f: Any) -> None:
        pass

    kinds = {n: s.get("type") for n, s in tool_of(every).parameters["properties"].items()}
    assert kinds == {"a": "number", "b": "boolean", "c": "object", "d": "array", "e": "object", "f": None}


def test_signatures_that_json_cannot_hold_are_refused():
    def bare(x):
        pass

    def many(*xs: int):
        pass

    def odd(x: set[int]):
        pass

    def keyed(x: dict[int, str]):
        pass

    for function in (bare, many, odd, keyed):
        with pytest.raises(ToolError, match=function.__name__):
            tool_of(function)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "search needs the argument 'query'"),
        ({"query": 3}, "'query' is 3; it must be string"),
        ({"query": "x", "cont": 1}, "no argument 'cont'; it takes query, count"),
        ({"query": "x", "count": 1.5}, "'count' is 1.5; it must be integer"),
        ({"query": "x", "count": True}, "'count' is True"),
        ({"query": "x", "kind": "tv"}, r"'kind' is 'tv'; it must be \['web', 'news'\]"),
        ({"query": "x", "tags": [1]}, "'tags'"),
    ],
)
def test_arguments_that_do_not_fit_are_explained(arguments, said):
    with pytest.raises(ToolError, match=said):
        check_arguments(tool_of(search), arguments)


def test_arguments_that_fit_pass():
    given = {"query": "x", "count": 2.0, "tags": ["a"], "kind": "news"}
    passed = check_arguments(tool_of(search), given)
    assert passed == given and type(passed["count"]) is int
    assert fits({"a": 1}, {"type": "object", "additionalProperties": {"type": "integer"}})
    assert not fits({"a": "b"}, {"type": "object", "additionalProperties": {"type": "integer"}})
