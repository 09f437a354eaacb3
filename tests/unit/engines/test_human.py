import asyncio

import pytest

from quintain.engines.errors import EngineError
from quintain.engines.human import Human
from quintain.ports import Engine
from quintain.registry import build
from quintain.types import Message, Request, Sampling, Tool

M = Message.of


def ask(session="s"):
    return Request(session=session, prompt=(), sampling=Sampling())


async def test_only_new_messages_are_shown_and_the_line_is_the_move():
    shown, lines = [], iter(["up", "down", "left"])
    person = Human(shown.append, lambda prompt: next(lines))
    first = await person.converse([M("user", "a")], (Tool(name="add"),), ask(), None)
    assert first.text == "up" and first.finish == "stop" and shown == ["a", "tools: add"]
    await person.converse([M("user", "a"), M("assistant", "up"), M("user", "b")], (), ask(), None)
    assert shown == ["a", "tools: add", "b"]
    await person.fork("s", 0, "t")
    await person.abort("s")
    await person.converse([M("user", "a"), M("assistant", "up"), M("user", "b"), M("user", "c")], (), ask("t"), None)
    assert shown[3:] == ["c"]


async def test_an_ended_input_gives_the_episode_up():
    def ended(prompt):
        raise EOFError

    said = await Human(lambda text: None, ended).converse([M("user", "a")], (), ask(), None)
    assert said.finish == "abort" and said.text == ""


async def test_other_episodes_go_on_while_a_person_thinks():
    import threading

    gate = threading.Event()

    def think(prompt):
        gate.wait(10)
        return "up"

    move = asyncio.ensure_future(Human(lambda text: None, think).converse([M("user", "a")], (), ask(), None))
    await asyncio.sleep(0)
    gate.set()  # the loop is free: this line runs while the person thinks
    assert (await move).text == "up"


async def test_people_have_no_tokens():
    person = build("engine", "human")
    assert isinstance(person, Engine)
    for refused in (person.generate(ask()), person.score([(1,)])):
        with pytest.raises(EngineError):
            await refused
