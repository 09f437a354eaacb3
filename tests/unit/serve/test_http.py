"""The same over real sockets: bodies, time, connections, and our own client against our own server."""

import asyncio
import http.client
import json
import random
import socket

import pytest

from quintain.engines.openai import openai
from quintain.serve import http as web_server
from quintain.serve.call import Limits
from quintain.serve.gateway import Gateway
from quintain.serve.http import ServeError, Server
from quintain.types import Message, Request, Sampling

pytest.importorskip("uvicorn", reason="the extra serve is not installed")
httpx = pytest.importorskip("httpx")


@pytest.fixture
async def open_server(client):
    servers = []

    async def start(*args, limits=None, **options):
        ask = client(*args, limits=limits, **options)
        server = Server(ask.gateway, limits=limits)
        await server.start()
        servers.append(server)
        return ask, f"http://127.0.0.1:{server.port}"

    yield start
    for server in servers:
        await server.stop()


def web(token="sesame", **options):
    return httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=20, **options)


BODY = {"model": "m", "messages": [{"role": "user", "content": "a"}]}


async def test_a_request_over_the_wire_and_its_stream(open_server):
    _, url = await open_server()
    async with web() as http:
        said = await http.post(f"{url}/v1/chat/completions", json=BODY)
        assert said.status_code == 200 and said.json()["choices"][0]["message"]["content"] == "b c"
        assert said.headers["content-type"] == "application/json" and "server" not in said.headers
        assert not any(name.startswith("access-control") for name in said.headers)
        streamed = await http.post(f"{url}/v1/chat/completions", json={**BODY, "stream": True})
        lines = [line.removeprefix("data: ") for line in streamed.text.split("\n\n") if line]
        assert lines[-1] == "[DONE]" and streamed.headers["content-type"].startswith("text/event-stream")
        text = "".join(json.loads(line)["choices"][0]["delta"].get("content", "") for line in lines[:-1])
        assert text == "b c"
        wrong = await http.post(f"{url}/v1/chat/completions", json=BODY, headers={"Authorization": "Bearer no"})
        assert wrong.status_code == 401 and wrong.headers["www-authenticate"] == "Bearer"
        assert (await http.get(f"{url}/v1/models", headers={"Host": "evil.example"})).status_code == 403
        assert (await http.request("OPTIONS", f"{url}/v1/models", headers={"Origin": "http://x"})).status_code == 405


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_what_is_accepted_sends_at_once(host):
    try:
        door = web_server.listening(host, 0)
    except ServeError:
        if host == "127.0.0.1":
            raise
        pytest.skip("this machine has no IPv6")
    with door, socket.create_connection(door.getsockname()[:2]), door.accept()[0] as accepted:
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), "or Nagle waits 40 ms for a delayed ACK"


@pytest.mark.parametrize(("name", "value"), [("Authorization", "Bearer sesame"), ("X-Quintain-Episode", "one")])
async def test_a_header_that_says_who_calls_is_sent_once(name, value, open_server):
    _, url = await open_server()
    async with web() as http:
        assert (await http.get(f"{url}/v1/models", headers={name: value})).status_code == 200
        twice = [("Authorization", "Bearer sesame"), (name, "a"), (name.lower(), "b")]
    async with httpx.AsyncClient(trust_env=False) as bare:
        said = await bare.get(f"{url}/v1/models", headers=twice)
        assert said.status_code == 400 and said.json()["error"]["code"] == "duplicate_header"
        assert f"the header {name.lower()} is there more than once" in said.json()["error"]["message"]


async def test_large_and_slow_bodies_are_refused(open_server):
    _, url = await open_server(limits=Limits(body_bytes=1000, body_s=0.1))
    async with web() as http:
        for content in (b"x" * 1001, iter([b"x" * 600, b"x" * 600])):
            if not isinstance(content, bytes):
                content = _pieces(content)
            said = await http.post(f"{url}/v1/chat/completions", content=content)
            assert said.status_code == 413 and said.json()["error"]["code"] == "body_too_large"
    for length, status in ((5000, b" 413 "), (90, b" 408 ")):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sesame\r\n"
        writer.write((head + f"Content-Length: {length}\r\n\r\n{{").encode())
        assert status in await reader.readline(), "what is announced as too large is not waited for"
        writer.close()


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_client_that_sends_first_and_reads_later_learns_that_its_body_is_too_large(chunked, open_server):
    _, url = await open_server(limits=Limits(body_bytes=1000))

    def ask():
        link = http.client.HTTPConnection("127.0.0.1", int(url.rpartition(":")[2]), timeout=20)
        body, headers = b"x" * (8 << 20), {"Authorization": "Bearer sesame"}
        link.request("POST", "/v1/chat/completions", iter([body]) if chunked else body, headers, encode_chunked=chunked)
        answer = link.getresponse()
        told = answer.status, json.load(answer)["error"]["code"]
        link.request("GET", "/health", headers=headers)
        assert link.getresponse().status == 200, "the connection serves on"
        link.close()
        return told

    for _ in range(4):
        assert await asyncio.to_thread(ask) == (413, "body_too_large")


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_client_that_closes_after_its_answer_still_gets_it(chunked, open_server):
    _, url = await open_server(limits=Limits(body_bytes=1000))

    def ask(token):
        link = http.client.HTTPConnection("127.0.0.1", int(url.rpartition(":")[2]), timeout=20)
        body, headers = b"x" * (48 << 20), {"Authorization": f"Bearer {token}", "Connection": "close"}
        link.request("POST", "/v1/chat/completions", iter([body]) if chunked else body, headers, encode_chunked=chunked)
        answer = link.getresponse()
        told = answer.status, json.load(answer)["error"]["code"]
        link.close()
        return told

    assert await asyncio.to_thread(ask, "sesame") == (413, "body_too_large")
    assert await asyncio.to_thread(ask, "no") == (401, "invalid_api_key")


async def test_one_connection_too_many_is_refused_in_the_shape_of_every_error(open_server, monkeypatch):
    monkeypatch.setattr(web_server, "CONNECTIONS", 2)
    _, url = await open_server()
    async with web() as first, web() as second, web() as third:
        for link in (first, second):
            assert (await link.get(f"{url}/health")).status_code == 200
        said = await third.get(f"{url}/health")
        assert (said.status_code, said.json()["error"]["code"]) == (503, "too_many")
        assert said.headers["retry-after"] == "1" and said.headers["connection"] == "close"


async def _pieces(parts):
    for part in parts:
        yield part


async def test_no_body_is_read_before_the_token(open_server):
    _, url = await open_server(limits=Limits(body_s=60))
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n")
    assert b" 401 " in await asyncio.wait_for(reader.readline(), 10)
    writer.close()


async def test_a_client_that_leaves_amid_its_body_is_no_failure_of_ours(client):
    ask, failures, answered = client(), [], asyncio.Event()
    ask.gateway.failed = failures.append

    async def answer(call):
        try:
            return await ask.gateway(call)
        finally:
            answered.set()

    server = Server(answer)
    await server.start()
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sesame\r\n"
    writer.write(head + b'Content-Length: 500\r\n\r\n{"model"')
    await writer.drain()
    writer.close()
    await asyncio.wait_for(answered.wait(), 10)
    await server.stop()
    assert not failures


async def test_a_client_that_goes_away_frees_its_session(open_server):
    gate, gone = asyncio.Event(), asyncio.Event()

    async def reply(request):
        await gate.wait()
        return "b"

    ask, url = await open_server(reply)
    abort = ask.engine.abort

    async def noted(session):
        gone.set()
        await abort(session)

    ask.engine.abort = noted
    async with web() as http:
        job = asyncio.ensure_future(http.post(f"{url}/v1/chat/completions", json=BODY))
        await ask.engine.arrived.wait()
        job.cancel()
        await asyncio.gather(job, return_exceptions=True)
    await asyncio.wait_for(gone.wait(), 10)
    gate.set()


async def test_our_client_speaks_to_our_server(open_server, monkeypatch):
    ask, url = await open_server("b c d")
    monkeypatch.setenv("KEY", "sesame")
    talker = openai(url, "m", key_env="KEY")
    asked = Request(session="s", prompt=(3,), sampling=Sampling(temperature=0.5, max_tokens=8), key=(1, 2))
    said = await talker.converse([Message.of("user", "a")], (), asked, None)
    assert said.text == "b c d" and said.usage["completion_tokens"] == 4
    assert ask.engine.asked[-1].sampling.temperature == 0.5
    tokens = openai(url, "m", key_env="KEY", tokens=True)
    sampling = Sampling(max_tokens=3, stop=(2,), top_k=4, min_p=0.1)
    said = await tokens.generate(Request(session="s", prompt=(3, 4), sampling=sampling, key=(1, 2)))
    inside = ask.engine.asked[-1]
    assert inside.prompt == (3, 4) and (inside.sampling.top_k, inside.sampling.min_p) == (4, 0.1)
    assert (said.tokens, said.logprobs, said.finish) == ((4, 5, 6), (0.0, 0.0, 0.0), "length")
    assert await tokens.score([(3, 4, 5)]) == [(0.0, 0.0, 0.0)]


async def test_an_address_that_is_taken_and_a_server_that_stopped(open_server, client):
    _, url = await open_server()
    port = int(url.rpartition(":")[2])
    taken = f"cannot listen at 127.0.0.1:{port}: Address already in use; choose another --port$"
    for options, why in (({"port": port}, taken), ({"host": "192.0.2.1"}, "requested address; choose another --host$")):
        with pytest.raises(ServeError, match=why):
            await Server(Gateway(), **options).start()
    server = Server(client().gateway)
    await server.start()
    async with web() as http:
        assert (await http.get(f"http://127.0.0.1:{server.port}/health")).status_code == 200
        await server.stop()
        with pytest.raises(httpx.HTTPError):
            await http.get(f"http://127.0.0.1:{server.port}/health")
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", server.port)) != 0


@pytest.mark.parametrize("port", [-1, 65536, 70000])
def test_a_port_that_there_is_not_is_refused(port, client):
    with pytest.raises(ServeError, match=rf"the port {port} is not one of 0\.\.65535; choose another --port"):
        Server(client().gateway, port=port)


def raw_request(rng):
    """A request that is nearly right: its lines cut, doubled, or filled with bytes."""
    body = json.dumps(BODY).encode()
    lines = [
        rng.choice([b"POST /v1/chat/completions HTTP/1.1", b"GET /v1/models HTTP/1.1", b"POST /%ff/../e/%2e HTTP/1.1"]),
        b"Host: " + rng.choice([b"localhost", b"[", b"]:80", b"127.0.0.1:x", "é".encode("latin-1"), b"a@b"]),
        b"Authorization: Bearer " + rng.choice([b"sesame", b"sesame", b"no", b"\xff\xfe", b""]),
        b"Content-Length: " + rng.choice([b"%d" % len(body), b"%d" % len(body), b"1", b"0", b"-1", b"x"]),
        b"X-Quintain-Episode: " + rng.choice([b"one", b"\xe9", b"a b", b"../x", b"x" * 300]),
        b"Connection: close",
    ]
    kind = rng.randrange(6)
    if kind == 0:
        lines.insert(rng.randrange(len(lines)), rng.randbytes(rng.randrange(1, 40)))
    if kind == 1:
        del lines[rng.randrange(len(lines) - 1)]
    if kind == 2:
        lines.insert(1, rng.choice(lines[1:]))
    if kind == 3:
        body = rng.randbytes(len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


async def test_raw_bytes_are_answered_without_a_500(open_server):
    _, url = await open_server(limits=Limits(body_s=0.05), most=10**6)
    rng, seen = random.Random(9), set()
    for _ in range(400):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(raw_request(rng))
        first = await asyncio.wait_for(reader.readline(), 20)
        writer.close()
        seen.add(int(first.split()[1]))
    assert {200, 400, 401, 403} <= seen <= {200, 400, 401, 403, 404, 405, 408}, seen


@pytest.mark.parametrize("header", ["Content-Length: x", "Content-Length: 1\r\nContent-Length: 2", ": nothing"])
async def test_what_is_no_request_is_refused_in_the_shape_of_every_error(open_server, header):
    _, url = await open_server("b")
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rsplit(":", 1)[1]))
    writer.write(f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n{header}\r\n\r\n".encode())
    answer = await asyncio.wait_for(reader.read(), 10)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b" 400 " in head and json.loads(body)["error"]["code"] == "bad_request"
    writer.close()
