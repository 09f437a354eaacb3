"""Training an agent that somebody already has: it runs unchanged, with another base URL and key."""

from __future__ import annotations

import asyncio
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from quintain.codec import encode
from quintain.parts import Cast, Rollout
from quintain.registry import build, register, user_object
from quintain.rollouts.episode import together
from quintain.rollouts.episodes import PlanError
from quintain.rollouts.outside import AgentError, AgentFailed, Result, result_of, run_command, run_function
from quintain.rollouts.recorder import REFUSED, Bounds, Recorder
from quintain.types import Group, Role, Stop, Task, Trajectory

MANNERS: dict[str, Any] = {"at_once": 32, "hide": ("answer",), "gateway": {"name": "openai"}}


class Access(NamedTuple):
    """What an agent needs to reach the policy of its episode."""

    base_url: str
    key: str
    model: str


class Gateway(Protocol):
    """Lets the requests of episodes in; what `build("gateway", ...)` makes."""

    async def open(self, recorder: Recorder) -> Access:
        """From here on requests with this key are answered by the recorder."""
        ...

    async def close(self, recorder: Recorder) -> None:
        """From here on they are refused."""
        ...


@register("rollout", "agent", example={"agent": ["true"], "group_size": 2})
def agent(
    agent: str | Sequence[str] | Callable[..., Any] = (),
    group_size: int = 8,
    max_turns: int = 0,
    context: int = 0,
    deadline_s: float = 600.0,
    digests: bool = False,
    manners: Mapping[str, Any] | None = None,
) -> Rollout:
    """Let an agent of somebody else's play `group_size` episodes, each with a base URL and key of its own.

    Use it to train a program that talks to an OpenAI-compatible API, unchanged. What it asks is answered by the policy and
    written down token by token. An agent is a command, which finds `OPENAI_BASE_URL` and `OPENAI_API_KEY` in its environment
    and the task as a JSON object on its standard input; or a function, sync or async, that is given what its parameters are
    named after: `task` (that object), `prompt`, `messages`, `base_url`, `api_key`, `model`, `episode`, and the task's columns.
    It runs in a thread of its own. Temperature and cuts are the run's own, whatever the agent asks for; `max_tokens` and
    stop strings of a request count.

    A string that it returns is its answer; a number the reward `agent`; a mapping has `answer`, `reward`, `rewards`, or
    named rewards. Of a command that is the last line it prints, if that is a JSON object.

    Args:
        agent: `FILE.py:function`, `package.module:function`, or a command as a list of words.
        group_size: episodes of one task, >= 1.
        max_turns: answers of an episode, 0 for no limit; later requests are refused.
        context: tokens of one path, 0 for no limit; requests that would fill it are refused.
        deadline_s: seconds of an episode, 0 for no limit.
        digests: refused: the states of an agent's world are unknown.
        manners: `at_once` (32 agents), `hide` (columns of the task that the agent is not told: `answer`), `gateway`.

    Raises:
        PlanError: a number is out of range, or an algorithm needs digests.
        AgentError: there is no such command, or the function asks for what is not given.
        UnknownName: no such file or function.
        MissingExtra: the extra `serve` is not installed.

    Special cases: an agent that raises or ends with another status than 0 ends its episode with `Stop.crashed`, a late one
    with `Stop.timeout`, one that fails after it has spent its turns or context with `truncated_turns` or `truncated_tokens`;
    what it had asked until then is kept. An error of the engine ends the rollout.
    """
    chosen = {**MANNERS, **(manners or {})}
    if unknown := set(chosen) - set(MANNERS):
        raise PlanError(f"agent: unknown manners {sorted(unknown)}; there are {', '.join(MANNERS)}")
    if digests:
        raise PlanError(
            "this algorithm needs digests of states, which an agent does not give; choose another algorithm"
        )
    numbers = {"max_turns": max_turns, "context": context, "deadline_s": deadline_s}
    for name, value in {**numbers, "group_size": group_size, "at_once": chosen["at_once"]}.items():
        least = 0 if name in numbers else 1
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < math.inf:
            raise PlanError(f"agent: {name} is {value!r}; it must be a number >= {least}, and finite")
    player = Player(
        _runner(agent), Bounds(max_turns=max_turns, context=context), deadline_s, build("gateway", chosen["gateway"])
    )
    player.hide = frozenset(chosen["hide"])
    crowd = Crowd(chosen["at_once"])

    async def play_group(task: Task, cast: Cast, ticket: int) -> Group:
        async def one(member: int) -> Trajectory:
            async with crowd.place():
                return await player.episode(task, cast, (ticket, member))

        done = await together([one(member) for member in range(group_size)])
        return Group(task=task, trajectories=tuple(done), ticket=ticket)

    return play_group


Runner = Callable[[Mapping[str, Any], Access, str], Any]


def _runner(agent: str | Sequence[str] | Callable[..., Any]) -> Runner:
    """What runs the agent once: given the task, where the policy is, and the episode's name."""
    if isinstance(agent, str):
        where = agent
        agent = user_object(where) if ":" in where or where.endswith(".py") else [where]
        if not callable(agent) and ":" in where:
            raise AgentError(
                f"{where} is a {type(agent).__name__}; an agent is a function, or a command as a list of words"
            )
    if callable(agent):
        function = agent

        def call(task: Mapping[str, Any], access: Access, episode: str) -> Any:
            own = {"task": task, "prompt": task["prompt"], "messages": task["messages"], "episode": episode}
            there = {"base_url": access.base_url, "api_key": access.key, "model": access.model}
            return run_function(function, {**task["params"], **own, **there})

        return call
    command = [str(word) for word in agent]
    if not command:
        raise AgentError(
            "no agent is named: set rollout.options.agent to FILE.py:function, or to a command as a list of words"
        )
    if shutil.which(command[0]) is None:
        raise AgentError(f"there is no command {command[0]!r}; name a program on the PATH, or FILE.py:function")

    def start(task: Mapping[str, Any], access: Access, episode: str) -> Any:
        more = {"OPENAI_BASE_URL": access.base_url, "OPENAI_API_BASE": access.base_url, "OPENAI_API_KEY": access.key}
        return run_command(command, task, {**more, "QUINTAIN_EPISODE": episode, "QUINTAIN_MODEL": access.model})

    return start


class Crowd:
    """How many agents run at once, in whichever event loop runs now."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._gate: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None

    def place(self) -> asyncio.Semaphore:
        """To be entered while an agent runs."""
        loop = asyncio.get_running_loop()
        if self._gate is None or self._gate[0] is not loop:
            self._gate = (loop, asyncio.Semaphore(self.size))
        return self._gate[1]


@dataclass(slots=True, eq=False)
class Player:
    """Plays single episodes of an agent."""

    run: Runner
    bounds: Bounds
    deadline_s: float
    gateway: Gateway
    hide: frozenset[str] = frozenset()

    async def episode(self, task: Task, cast: Cast, place: tuple[int, int]) -> Trajectory:
        """One episode, from the opening of its base URL to its end."""
        name = f"{place[0]}.{place[1]}"
        recorder = Recorder(name, cast, (cast.seed, *place), self.bounds)
        stop, result = Stop.done, Result()
        access = await self.gateway.open(recorder)
        try:
            async with asyncio.timeout(self.deadline_s or None):
                result = _checked(result_of(await self.run(self.told(task), access, name)))
        except TimeoutError:
            stop = Stop.timeout
            recorder.events.append(f"timeout: no end within {self.deadline_s:g} s")
        except AgentFailed as error:
            stop = recorder.stop or Stop.crashed
            recorder.events.append(f"crashed: {error}"[:600])
        finally:
            await recorder.close()
            await self.gateway.close(recorder)
        if recorder.failure is not None:
            raise recorder.failure
        if not recorder.turn:
            asked = any(event.startswith(REFUSED) for event in recorder.events)
            recorder.events.append(f"silent: the agent asked for nothing{' that was answered' * asked}")
        return recorder.trajectory(stop, rewards=result.rewards, answer=result.answer, episode=place[1])

    def told(self, task: Task) -> dict[str, Any]:
        """The task as the agent may see it."""
        messages = [{"role": str(m.role), "content": m.text} for m in task.messages]
        asked = [m["content"] for m in messages if m["role"] == Role.user]
        facts = {"key": task.key, "env": task.env, "seed": task.seed, "level": task.level, "split": task.split}
        params = {n: v for n, v in encode(task.params).items() if n not in self.hide}
        return {**facts, "params": params, "messages": messages, "prompt": asked[-1] if asked else ""}


def _checked(result: Result) -> Result:
    for name, value in result.rewards.items():
        if not math.isfinite(value):
            raise AgentFailed(f"its reward {name!r} is {value}; rewards are finite numbers")
    return result
