"""Whatever is sent, the answer is one of the documented ones in the form of the API: never a 500, never an exception."""

import copy
import json
import random
import string

import pytest

from quintain.render import ChatRenderer, write_tokenizer

DOCUMENTED = {200, 400, 401, 403, 404, 405, 409, 429, 503}
CHAT = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "a"},
        {"role": "user", "content": [{"type": "text", "text": "b"}, {"type": "text", "text": "c"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "d"},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "description": "x", "parameters": {"type": "object"}}}],
    "tool_choice": "none",
    "temperature": 1.0,
    "top_p": 0.9,
    "n": 1,
    "max_tokens": 4,
    "stop": ["e"],
    "seed": 1,
    "logprobs": True,
    "top_logprobs": 0,
    "stream": False,
    "stream_options": {"include_usage": True},
    "response_format": {"type": "text"},
    "logit_bias": {},
    "user": "me",
}
TEXT = {"model": "m", "prompt": [3, 4], "max_tokens": 4, "logprobs": 1, "stop_token_ids": [5], "prompt_logprobs": 0}
FEEDBACK = {"episode": "x", "reward": {"won": 1.0}, "done": False}
BODIES = {
    "/v1/chat/completions": CHAT,
    "/v1/completions": TEXT,
    "/v1/feedback": FEEDBACK,
    "/v1/episodes": {"name": "y"},
}
ODD = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    2**200,
    10**400,
    0.5,
    -0.0,
    1e308,
    "",
    "a",
    "b c",
    "\ud800",
    "\x00",
    "x" * 9000,
]
ODD += [
    [],
    [[]],
    [None],
    {},
    {"a": 1},
    {"type": "text"},
    [3, 4],
    [-1],
    [999],
    ["a", 3],
    {"role": "user", "content": "a"},
    "none",
]


def junk(rng, depth=0):
    """Any JSON value."""
    if depth > 3 or rng.random() < 0.6:
        return copy.deepcopy(rng.choice(ODD))
    if rng.random() < 0.5:
        return [junk(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice([*CHAT, "content", "role", "type"]): junk(rng, depth + 1) for _ in range(rng.randrange(4))}


def places(value, at=()):
    """The paths of everything inside a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*at, key)
        yield from places(item, (*at, key))


def mutated(rng, body):
    """The body with some of its places changed, dropped, or doubled."""
    body = copy.deepcopy(body)
    for _ in range(rng.randrange(1, 4)):
        *path, last = rng.choice(list(places(body)) or [("model",)])
        inside = body
        for key in path:
            inside = inside[key]
        if rng.random() < 0.2 and body:
            del inside[last]
        else:
            inside[last] = junk(rng)
    return body


def raw(rng, body):
    """Bytes that are hardly JSON: cut, flipped, deep, or not text at all."""
    data = bytearray(json.dumps(body).encode())
    kind = rng.randrange(5)
    if kind == 0:
        return bytes(data[: rng.randrange(len(data))])
    if kind == 1:
        for _ in range(rng.randrange(1, 9)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data)
    if kind == 2:
        return b"[" * 100_000
    if kind == 3:
        return b'{"model": "m", "messages": ' + rng.choice([b"NaN", b"1" * 9000, b'{"a":' * 5000, b"-Infinity"]) + b"}"
    return rng.randbytes(rng.randrange(200))


def check(reply):
    """One of the documented answers, in its form, that JSON can write."""
    assert reply.status in DOCUMENTED, (reply.status, reply.data)
    json.dumps(reply.data, allow_nan=False)
    if reply.status != 200:
        error = reply.data["error"]
        assert error.keys() == {"message", "type", "param", "code"} and error["message"] and error["type"]
        assert error["param"] is None or isinstance(error["param"], str)


@pytest.fixture(scope="module")
def chat(tmp_path_factory):
    corpus = ["What is 1 + 1? It is 2.", "tool_call name arguments"]
    return ChatRenderer(write_tokenizer(tmp_path_factory.mktemp("words"), corpus, 300))


@pytest.mark.parametrize(("kind", "count"), [("words", 3000), ("chat", 1000)])
async def test_thousands_of_wrong_bodies(client, chat, kind, count):
    rng = random.Random(3)
    more = {"reply": lambda request: (65, 66), "renderer": chat} if kind == "chat" else {}
    ask = client(most=10**6, **more)
    seen = set()
    for number in range(count):
        path, body = rng.choice(list(BODIES.items()))
        data = raw(rng, body) if number % 4 == 0 else json.dumps(mutated(rng, body)).encode()
        reply = await ask(path, data)
        check(reply)
        seen.add(reply.status)
        if reply.status == 200 and path == "/v1/chat/completions" and not reply.events:
            assert all(c["message"]["role"] == "assistant" for c in reply.data["choices"])
    assert {200, 400} <= seen, "valid requests are among them"


async def test_a_thousand_wrong_paths_and_headers(client):
    rng, ask = random.Random(4), client(most=10**6)
    letters = string.printable + "äé\ud800/%.."
    for _ in range(1000):
        odd = "".join(rng.choice(letters) for _ in range(rng.randrange(20)))
        path = rng.choice(
            ["/v1/chat/completions", "/e/" + odd, f"/e/{odd}/v1/models", "/" + odd, "/v1/models/" + odd, odd]
        )
        headers = {rng.choice(["host", "authorization", "x_quintain_episode"]): odd} if rng.random() < 0.5 else {}
        method = rng.choice(["GET", "POST", "PUT", "DELETE", "HEAD", odd])
        check(await ask(path, {"model": "m", "messages": [{"role": "user", "content": "a"}]}, method=method, **headers))
