"""Our worlds as a taskset of verifiers (`verifiers` 0.4): `vf-eval quintain-worlds`, or an environment of prime-rl.

The module `quintain_worlds` is what verifiers finds by that id; the classes are made here when it is imported.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.play import AdapterError, Play
from quintain.envs.suites import worlds_named
from quintain.ports import SOLO


class Types(NamedTuple):
    """verifiers' classes for our worlds: the taskset, and the environment that plays its tasks."""

    taskset: type
    environment: type


@functools.cache
def types() -> Types:
    """The classes. The taskset is configured by `worlds` (names of worlds or suites), `levels`, `split`, `count` (instances of each
    world and level; 0 goes on for ever; less, or no world or level, is an `AdapterError`), `caption` and `grammar`; the environment has
    the role `player`, a plain chat in a local process unless told otherwise.

    A task is an instance; its opening is the prompt, what the world says next is the user's turn, and the run ends with the episode.
    Every named reward of ours is a reward of theirs; `malformed` and `turns` are metrics. Pictures are not shown.

    Raises:
        MissingExtra: verifiers is not installed.
    """
    vf, pydantic = peer("verifiers.v1"), peer("pydantic")
    lists: dict[str, Any] = {"worlds": (list[str], ["quick"]), "levels": (list[int], [2])}
    plain: dict[str, Any] = {
        "split": (str, "train"),
        "count": (int, 100),
        "caption": (int, 2),
        "grammar": (str, "tagged"),
    }
    config = pydantic.create_model("WorldsConfig", __base__=vf.TasksetConfig, **lists, **plain)
    data = pydantic.create_model("WorldData", __base__=vf.TaskData, info=(dict[str, Any], ...))
    player = vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})
    env_config = pydantic.create_model("WorldEnvConfig", __base__=vf.EnvConfig, player=(vf.AgentConfig, player))
    return Types(_taskset(vf, config, data), _environment(vf, env_config))


def _taskset(vf: Any, config: Any, data: Any) -> type:
    class WorldTask(vf.Task[data, vf.State, vf.TaskConfig]):
        """One instance of a world."""

    class WorldTaskset(vf.Taskset[WorldTask, config]):
        INFINITE = False

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            if config.count < 0:
                raise AdapterError(f"count is {config.count}; it is at least 1, or 0 to go on for ever")
            if not config.worlds or not config.levels:
                raise AdapterError(f"worlds is {config.worlds}, levels {config.levels}; name at least one of each")
            self.INFINITE = not config.count

        def load(self) -> Iterator[Any]:
            chosen, seeds = self.config, itertools.count() if not self.config.count else range(self.config.count)
            names = [world for name in chosen.worlds for world in worlds_named(name)]
            for seed in seeds:
                for world, level in itertools.product(names, chosen.levels):
                    info = {"world": world, "level": level, "split": chosen.split, "seed": seed}
                    info |= {"caption": chosen.caption, "grammar": chosen.grammar}
                    key = f"{world}/{level}/{chosen.split}/{seed}"
                    yield WorldTask(data(name=key, prompt=_begun(info)[1], info=info), chosen.task)

    return WorldTaskset


def _environment(vf: Any, config: Any) -> type:
    class WorldEnv(vf.Env[config]):
        async def run(self, task: Any, agents: Any) -> None:
            play, _ = await asyncio.to_thread(_begun, task.data.info)
            earned: dict[str, float] = {"success": 0.0}
            malformed = 0
            async with agents.player.interaction(task) as interaction:
                segment = await interaction.turn()
                while not segment.terminated:
                    heard = (await asyncio.to_thread(play.say, {SOLO: segment.last_reply}))[SOLO]
                    malformed += "malformed" in heard.info["events"]
                    for name, value in heard.info["rewards"].items():
                        earned[name] = earned.get(name, 0.0) + value
                    if heard.terminated or heard.truncated:
                        break
                    segment = await interaction.turn(heard.text)
            for name, value in earned.items():
                interaction.trace.record_reward(name, value)
            interaction.trace.record_metric("turns", play.env.turn)
            interaction.trace.record_metric("malformed", malformed)

    return WorldEnv


def _begun(info: dict[str, Any]) -> tuple[Play, str]:
    play = Play(info["world"], info["level"], {"caption": info["caption"], "grammar": info["grammar"]}, info["split"])
    if play.seats != (SOLO,):
        raise AdapterError(f"{play.name} has the seats {', '.join(play.seats)}, and a task of verifiers one player")
    return play, play.begin(info["seed"])[SOLO].text
