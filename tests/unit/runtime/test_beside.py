"""An evaluation beside training: one at a time, on the weights of its step, given up and gone on with."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from quintain.config import ConfigError, make
from quintain.loop import Drained
from quintain.runtime.beside import Beside
from quintain.runtime.check import check
from quintain.types import QuintainError, Weights


class Copy:
    """An engine that only takes weights over."""

    def __init__(self):
        self.loaded = []

    async def load(self, weights):
        self.loaded.append((weights.version, weights.source))


def beside(gate, told, saved):
    async def play(step, guard):
        async def episodes():
            await gate.wait()
            return {"eval/success": step / 10}

        return await guard(episodes())

    made = Beside(play, Copy(), partial(Weights, kind="pointer", source="live"), saved.append)
    made.weights = lambda step: Weights(version=step, kind="pointer", source="live")
    made.told = lambda step, scores: told.append((step, scores))
    return made


async def test_it_goes_on_beside_and_the_next_one_waits_for_it():
    gate, told, saved = asyncio.Event(), [], []
    work = beside(gate, told, saved)
    await work.begin(3)
    assert work.engine.loaded == [(3, "live")] and told == [] and work.step == 3
    following = asyncio.create_task(work.begin(6))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not following.done() and work.engine.loaded == [(3, "live")], "its weights are still played"
    gate.set()
    await following
    await work.end()
    assert told == [(3, {"eval/success": 0.3}), (6, {"eval/success": 0.6})] and work.step is None
    work.save("folder")
    assert saved == [], "nothing is owed"


async def test_what_is_given_up_is_owed_with_its_weights():
    gate, told, saved = asyncio.Event(), [], []
    work = beside(gate, told, saved)
    await work.begin(3)
    await asyncio.sleep(0)
    work.give_up()
    with pytest.raises(Drained, match="step 3"):
        await work.begin(6)
    work.save("checkpoint")
    assert told == [] and work.step == 3 and saved == ["checkpoint/pinned"]
    again = beside(gate, told, saved)
    gate.set()
    await again.begin(3, "checkpoint/pinned")
    await again.end()
    assert again.engine.loaded == [(3, "checkpoint/pinned")] and told == [(3, {"eval/success": 0.3})]


async def test_an_error_in_it_is_the_run_s():
    work = beside(asyncio.Event(), [], [])

    async def play(step, guard):
        raise QuintainError("no such world")

    work.play = play
    await work.begin(1)
    for _ in range(3):
        await asyncio.sleep(0)
    with pytest.raises(QuintainError, match="no such world"):
        work.check()
    with pytest.raises(QuintainError, match="no such world"):
        await work.end()


def test_ranks_cannot_evaluate_beside_training():
    config = make("tiny", overrides=["eval.beside=true", "runtime.processes=2"])
    with pytest.raises(ConfigError, match="eval.beside is true"):
        check(config)
