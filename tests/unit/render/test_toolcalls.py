import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintain.render import toolcalls
from quintain.types import ToolCall

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda v: st.lists(v) | st.dictionaries(st.text(), v),
    max_leaves=5,
)


@given(st.lists(st.tuples(st.text(min_size=1), st.dictionaries(st.text(), JSON)), min_size=1, max_size=3))
def test_what_is_written_is_read(calls):
    made = [ToolCall(name=n, arguments=a, id=f"call_{i}") for i, (n, a) in enumerate(calls)]
    if any(toolcalls.CLOSE in str(c.arguments) + c.name for c in made):
        return
    assert toolcalls.find("before " + toolcalls.write(made) + " after") == (made, [])


MALFORMED = ["", "add", "[]", "3", "{", '{"name": 3}', '{"name": ""}', '{"arguments": {}}', "[" * 100_000]
MALFORMED += [f'{{"name": "a", "arguments": {a}}}' for a in ("3", '"[1]"', '"{"', "null")]


@pytest.mark.parametrize("body", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_calls_are_found_and_not_run(body):
    calls, broken = toolcalls.find(f"<tool_call>{body}</tool_call>")
    assert calls == [] and broken == [body.strip()]


def test_forgiving_forms():
    text = '<tool_call>{"name": "a", "parameters": {"x": 1}}</tool_call>'
    text += '<tool_call>{"name": "b", "arguments": "{\\"y\\": 2}"}'
    calls, broken = toolcalls.find(text)
    assert [(c.name, dict(c.arguments)) for c in calls] == [("a", {"x": 1}), ("b", {"y": 2})] and not broken


def test_the_text_of_a_said_message_is_word_for_word():
    text = 'I add. <tool_call>{"name":"a"}</tool_call>'
    message = toolcalls.said(text)
    assert message.text == text and [c.name for c in message.tool_calls] == ["a"]
    assert toolcalls.said("plain").tool_calls == ()
