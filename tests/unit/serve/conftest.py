"""A gateway in front of a policy of a few words, without a web server."""

import asyncio
import json

import pytest

from quintain.engines.scripted import ScriptedEngine
from quintain.parts import Cast
from quintain.render import WordRenderer
from quintain.rollouts.recorder import Bounds
from quintain.serve.call import Call
from quintain.serve.desk import Episodes
from quintain.serve.door import facts_of
from quintain.serve.gateway import Gateway
from quintain.types import Sampling

WORDS = WordRenderer(["a", "b", "c", "d", "e"], turn_tokens=0)
TOKEN = "sesame"


class Asked(ScriptedEngine):
    """Remembers its requests."""

    def __init__(self, reply, renderer=WORDS):
        super().__init__(renderer, reply)
        self.asked, self.arrived = [], asyncio.Event()

    async def generate(self, request):
        self.asked.append(request)
        self.arrived.set()
        return await super().generate(request)


class Client:
    """Calls a gateway as the web does."""

    def __init__(self, gateway, engine, desk):
        self.gateway, self.engine, self.desk = gateway, engine, desk

    async def __call__(self, path, body=None, method=None, token=TOKEN, **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()

        async def read():
            return data

        own = {"host": "127.0.0.1:80", **{n.replace("_", "-"): v for n, v in headers.items()}}
        if token is not None:
            own.setdefault("authorization", f"Bearer {token}")
        method = method or ("GET" if body is None else "POST")
        return await self.gateway(Call(method=method, path=path, headers=own, body=read))

    async def chat(self, *messages, **more):
        said = [{"role": "assistant" if i % 2 else "user", "content": m} for i, m in enumerate(messages)]
        headers = {n: more.pop(n) for n in list(more) if n in ("token", "x_quintain_episode")}
        return await self("/v1/chat/completions", {"model": "m", "messages": said, **more}, **headers)


@pytest.fixture
def client():
    def make(reply="b c", book=None, limits=None, renderer=WORDS, **options):
        engine = Asked(reply if callable(reply) else lambda request: reply, renderer)
        players = {"engines": {"policy": engine}, "renderers": {"policy": renderer}}
        cast = Cast(env=None, **players, sampling=Sampling(max_tokens=32 if renderer is WORDS else 512), seed=5)
        desk = Episodes(cast, Bounds(own=True, context=64 if renderer is WORDS else 4096), book, **options)
        facts = facts_of(renderer, "m", any_model=False, limits=limits)
        gateway = Gateway(facts=facts, token=TOKEN, desk=desk, **({"limits": limits} if limits else {}))
        desk.ended = gateway.expel
        return Client(gateway, engine, desk)

    return make
