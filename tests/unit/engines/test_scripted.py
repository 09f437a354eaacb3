import pytest

from quintain.engines.errors import EngineError
from quintain.engines.scripted import Player, ScriptedEngine
from quintain.ports import Engine
from quintain.registry import build
from quintain.render import WordRenderer
from quintain.types import Message, Request, Sampling, Weights

WORDS = WordRenderer(["up", "down"], turn_tokens=0)  # down 3, up 4, <end> 2


def ask(turn=0, **sampling):
    return Request(session="s", prompt=(3,), sampling=Sampling(**{"stop": (2,), **sampling}), key=(0, 0, 0, turn, 0))


async def test_replies_go_round_by_turn_and_are_cut_at_the_limit():
    engine = ScriptedEngine(WORDS, ["up down", (4, 4)], version=3)
    first = await engine.generate(ask())
    assert (first.tokens, first.finish, first.logprobs) == ((4, 3, 2), "stop", (0.0,) * 3)
    assert (await engine.generate(ask(1))).tokens == (4, 4) and (await engine.generate(ask(2))).tokens == (4, 3, 2)
    cut = await engine.generate(ask(max_tokens=2))
    assert (cut.tokens, cut.finish) == ((4, 3), "length")
    assert cut.spans[0].version == 3
    await engine.load(Weights(version=9, kind="pointer"))
    assert (await engine.generate(ask())).spans[0].version == 9
    assert await engine.score([(1, 2), ()]) == [(0.0, 0.0), ()]


async def test_functions_may_be_plain_or_async():
    async def slow(request):
        return "down"

    assert (await ScriptedEngine(WORDS, slow).generate(ask())).tokens == (3, 2)
    assert (await ScriptedEngine(WORDS, lambda r: r.prompt).generate(ask())).tokens == (3,)
    assert (await ScriptedEngine(WORDS, lambda r: ()).generate(ask())).spans == ()
    with pytest.raises(EngineError, match="the list is empty"):
        ScriptedEngine(WORDS, [])


async def test_players_speak_in_messages_only():
    player = build("engine", {"name": "scripted", "replies": ["a", "b"]})
    assert isinstance(player, Player) and isinstance(player, Engine)
    said = [(await player.converse([Message.of("user", "?")], (), ask(turn), None)).text for turn in range(3)]
    assert said == ["a", "b", "a"]
    for refused in (player.generate(ask()), player.score([(1,)])):
        with pytest.raises(EngineError):
            await refused
    with pytest.raises(EngineError, match="at least one reply"):
        build("engine", {"name": "scripted", "replies": []})

    async def slow(messages, state, request):
        return f"{messages[-1].text}{state}{request.key[3]}"

    assert (await Player(slow).converse([Message.of("user", "x")], (), ask(4), 7)).text == "x74"
