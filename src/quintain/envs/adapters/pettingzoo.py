"""Our worlds of several seats as PettingZoo environments: turn by turn (`aec`) or all at once (`parallel`)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from quintain.envs.adapters.packages import peer
from quintain.envs.adapters.play import Play
from quintain.envs.adapters.table import Table
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import NoEpisode


def aec(
    world: str,
    level: int = 0,
    *,
    scaffold: Mapping[str, Any] | Scaffold | None = None,
    split: str = "train",
    actions: str = "text",
    **knobs: Any,
) -> Any:
    """A world as a `pettingzoo.AECEnv`: `agent_selection` is the seat that is to move; worlds of one seat have one agent.

    Observations and `info` are those of `adapters.gymnasium.make`. With `actions="words"` the observation has an `action_mask`, all 0
    for who is not to move.

    Args:
        world: a registered name, such as `NimDuel`.
        level: 0-9; `reset(options={"level": 3})` chooses another for one episode, unless it has actions beside `words`.
        scaffold: how it is shown and answered; unless told, an action is written alone.
        split: `train`, `validation` or `test`.
        actions: `text` or `words`.
        **knobs: of the world, beside the level.

    Raises:
        MissingExtra: pettingzoo is not installed.
        AdapterError: no such kind of actions, or the world has no fixed list of them.
    """
    return _aec(peer("pettingzoo").AECEnv)(Table(Play(world, level, scaffold, split, knobs, aec), actions))


def parallel(
    world: str,
    level: int = 0,
    *,
    scaffold: Mapping[str, Any] | Scaffold | None = None,
    split: str = "train",
    actions: str = "text",
    **knobs: Any,
) -> Any:
    """A world as a `pettingzoo.ParallelEnv`; options as for `aec`.

    Every agent may act in every step: the actions of those who are not to move are left aside, as nothing of theirs could be played,
    and one that is to move and gives none has said the empty text, which is the event `malformed`. An agent that the world does not have
    is refused by name, as in `observe` and `observation_space` (`AdapterError`).
    """
    return _parallel(peer("pettingzoo").ParallelEnv)(
        Table(Play(world, level, scaffold, split, knobs, parallel), actions)
    )


def _adopt(env: Any, table: Table) -> None:
    env.table, env.possible_agents, env.agents, env.render_mode = table, list(table.play.seats), [], None
    # PettingZoo's `aec_to_parallel` goes by it, and wants agents that all act before the first acts again
    env.metadata = {"name": table.play.name, "render_modes": [], "is_parallelizable": table.play.together()}
    env.observation_spaces, env.action_spaces = table.sees, table.acts
    env.agent_selection = env.possible_agents[0]  # `last` before a reset asks to observe it, which is refused


def _sees(env: Any, agent: str) -> Any:
    return env.table.sees[env.table.seat(agent)]


def _acts(env: Any, agent: str) -> Any:
    return env.table.acts[env.table.seat(agent)]


def _apart(env: Any) -> tuple[Any, ...]:
    """An env as its shape and what it holds: pickle does not find a class that is made in a function."""
    return _bare, (type(env).__name__,), env.__dict__


def _bare(shape: str) -> Any:
    made, base = (_aec, "AECEnv") if shape == "WorldAEC" else (_parallel, "ParallelEnv")
    return object.__new__(made(getattr(peer("pettingzoo"), base)))


@functools.cache
def _aec(base: type) -> type:
    class WorldAEC(base):
        observation_space, action_space, __reduce__ = _sees, _acts, _apart

        def __init__(self, table: Table) -> None:
            super().__init__()
            _adopt(self, table)

        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
            self.table.begin(seed, options)
            self.agents, self.waiting = list(self.possible_agents), {}
            self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
            self._skip_agent_selection = None
            self._take()

        def _take(self) -> None:
            self.rewards, self.infos = self.table.told("reward"), self.table.told("info")
            self.terminations, self.truncations = self.table.told("terminated"), self.table.told("truncated")
            self.agent_selection = next(iter(self.table.play.movers), self.agents[0])

        def observe(self, agent: str) -> dict[str, Any]:
            return self.table.sight(agent)

        def step(self, action: Any) -> None:
            self.table.play.begun()
            if not self.agents:
                raise NoEpisode(
                    f"{self.table.play.name}: the episode is over and its agents are gone; call reset first"
                )
            agent = self.agent_selection
            if self.terminations[agent] or self.truncations[agent]:
                return self._was_dead_step(action)
            self._cumulative_rewards[agent] = 0.0
            self.waiting[agent] = action
            left = [seat for seat in self.table.play.movers if seat not in self.waiting]
            if left:  # seats that move at once are asked in their order
                self._clear_rewards()
                self.agent_selection = left[0]
                return None
            self.table.move(self.waiting)
            self.waiting = {}
            self._take()
            self._accumulate_rewards()
            return None

    return WorldAEC


@functools.cache
def _parallel(base: type) -> type:
    class WorldParallel(base):
        observation_space, action_space, __reduce__ = _sees, _acts, _apart

        def __init__(self, table: Table) -> None:
            _adopt(self, table)

        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
            self.table.begin(seed, options)
            self.agents = list(self.possible_agents)
            return {seat: self.table.sight(seat) for seat in self.agents}, self.table.told("info")

        def step(self, actions: dict[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
            self.table.move(actions)
            seen = {seat: self.table.sight(seat) for seat in self.possible_agents}
            over = self.table.told("terminated"), self.table.told("truncated")
            if self.table.play.env.stop is not None:
                self.agents = []
            return seen, self.table.told("reward"), *over, self.table.told("info")

    return WorldParallel
