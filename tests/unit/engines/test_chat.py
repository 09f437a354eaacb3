import base64
import io

import numpy as np
import pytest

from quintain.engines.chat import chat, chat_turns
from quintain.engines.errors import EngineError
from quintain.render import toolcalls
from quintain.types import Image, Message, Role, Text, ToolCall, ToolResult

M = Message.of


def test_messages_in_the_form_of_the_api():
    call = ToolCall(name="add", arguments={"a": 1}, id="c1")
    spoken = toolcalls.said('I add. <tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>')
    for message, content in ((Message(Role.assistant, (Text(text="I add."), call)), "I add."), (spoken, "I add.")):
        (turn,) = chat_turns(message)
        assert turn["content"] == content and turn["tool_calls"][0]["function"]["arguments"] == '{"a": 1}'
    results = Message(Role.tool, (ToolResult(text="2", id="c1"), ToolResult(text="this is no tool call", error=True)))
    assert chat_turns(results) == [
        {"role": "tool", "tool_call_id": "c1", "content": "2"},
        {"role": "user", "content": "this is no tool call"},
    ]
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    (seen,) = chat_turns(M("user", "look", Image(pixels=pixels)))
    url = seen["content"][1]["image_url"]["url"]
    from PIL import Image as Pillow

    with Pillow.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as picture:
        assert np.array_equal(np.asarray(picture), pixels)
    shown = Message(Role.tool, (ToolResult(text="a wall", id="c1"), Image(pixels=pixels)))
    answer, picture = chat_turns(shown)
    assert (answer["role"], answer["content"], picture["role"]) == ("tool", "a wall", "user")
    assert [part["type"] for part in picture["content"]] == ["image_url"]
    with pytest.raises(EngineError, match="hash only"):
        chat_turns(M("user", "look", Image(hash="x")))


def test_calls_have_ids_of_their_own_in_a_whole_conversation():
    """As a policy's turns are read one by one, each of them begins with `call_0`."""
    said = toolcalls.said('<tool_call>{"name": "a"}</tool_call><tool_call>{"name": "b"}</tool_call>')
    heard = Message(Role.tool, (ToolResult(text="2", id="call_1"), ToolResult(text="1", id="call_0")))
    turns = chat([M("user", "go"), said, heard, said, heard])
    assert [call["id"] for turn in turns for call in turn.get("tool_calls", ())] == [f"call_{i}" for i in range(4)]
    answers = [(turn["tool_call_id"], turn["content"]) for turn in turns if turn["role"] == "tool"]
    assert answers == [("call_1", "2"), ("call_0", "1"), ("call_3", "2"), ("call_2", "1")]
