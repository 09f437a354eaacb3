"""Actors of a run that drains: nobody waits for those that are not there yet, or do not answer."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from quintain.config import ConfigError, make
from quintain.ledger import RunDir
from quintain.runtime import assemble
from quintain.runtime import crew as crews
from quintain.types import Weights


@pytest.mark.parametrize("up", [False, True])
def test_a_drain_does_not_wait_for_actors(up, tmp_path, monkeypatch):
    sent = []

    async def send(writer, message):
        sent.append(message["do"])

    monkeypatch.setattr(crews, "send", send)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as silent:
        crew = crews.Crew(tmp_path, 1)
        member = crews.Member(0, silent)
        crew.members[0] = member
        if up:
            member.writer = object()
            member.up.set()

        async def main():
            asyncio.get_running_loop().call_later(0.1, crew.leave)
            await asyncio.wait_for(crew.load(Weights(version=1, kind="file", source="")), 5)
            await asyncio.wait_for(crew.load(Weights(version=2, kind="file", source="")), 5)

        asyncio.run(main())
        silent.kill()
        crew.remove()
    assert sent == ["load"] * up, "a later version is not even sent"


def test_a_run_that_is_refused_leaves_nothing_in_shared_memory(tmp_path, monkeypatch):
    rooms = []

    def room(**given) -> str:
        rooms.append(Path(tempfile.mkdtemp(dir=tmp_path)))
        return str(rooms[-1])

    monkeypatch.setattr(crews, "tempfile", SimpleNamespace(mkdtemp=room))
    config = make("tiny", overrides=["runtime.actors=1", "runtime.processes=2"])
    RunDir.create(tmp_path / "run", config.toml(full=True)).close()
    with pytest.raises(ConfigError, match="actors play for one process"):
        assemble.play(config, tmp_path / "run")
    assert len(rooms) == 1 and not rooms[0].exists()


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "input()"])
def test_a_successor_that_never_comes_up_is_noticed(code, tmp_path, monkeypatch):
    made = []

    def spawn(self, number):
        made.append(subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE))
        self.members[number] = crews.Member(number, made[-1])
        return self.members[number]

    async def ended(process):
        process.kill()
        return process.wait()

    monkeypatch.setattr(crews.Crew, "_spawn", spawn)
    monkeypatch.setattr(crews, "_ended", ended)
    monkeypatch.setattr(crews, "START_S", 0.1)
    told = []
    crew = crews.Crew(tmp_path, 1, told.append)

    async def main():
        first = crew._spawn(0)
        first.up.set()
        job = crews.Job({"ticket": 7, "task": {"key": "a"}, "job": 0}, asyncio.get_running_loop().create_future())
        first.jobs[0] = job
        await crew._buried(first)
        with pytest.raises(crews.ActorError, match="actors die before they finish a group"):
            await asyncio.wait_for(job.future, 20)
        with pytest.raises(crews.ActorError, match="actors die"):
            await crew.rollout(1)(None, None, 1)  # pyrefly: ignore

    asyncio.run(main())
    crew.remove()
    for process in made:
        process.stdin.close()
    assert len(made) == crew.deaths == len(told) == crews.DEATHS and told[0]["tickets"] == [7]
