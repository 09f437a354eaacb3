"""Environments of verifiers (0.4) trained here: their program drives the episode, the rollout `agent` serves the policy to it."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from quintain.envs.adapters.game import PeerError
from quintain.envs.adapters.packages import peer

KEY = "QUINTAIN_VERIFIERS_KEY"  # verifiers takes keys from the environment only
_LOOPS: dict[int, asyncio.AbstractEventLoop] = {}  # by process: a fork has no threads
_STARTING = threading.Lock()


def write(env: str | Mapping[str, Any], path: str | Path, count: int = 1000) -> int:
    """Write the tasks of an environment as data for `data=FILE`: a line each with `prompt` and `index`.

    Args:
        env: the id of a taskset, or verifiers' own `[env]` block with its options.
        path: of the JSONL file.
        count: most tasks, at least 1.

    Returns:
        How many were written.

    Raises:
        MissingExtra: verifiers is not installed.
        PeerError: there is no such taskset, or it has no tasks; or fewer than one is asked for.
    """
    if not hasattr(count, "__index__") or count < 1:
        raise PeerError(f"count is {count!r}; it is a whole number of at least 1")
    rows = []
    for index, task in enumerate(_made(env).taskset.take(count)):
        rows.append({"prompt": _text(task.data.prompt) or task.data.name or str(index), "index": index})
    if not rows:
        raise PeerError(f"the taskset {_id(env)} has no tasks")
    Path(path).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return len(rows)


def agent(env: str | Mapping[str, Any]) -> Callable[..., Awaitable[dict[str, Any]]]:
    """The agent of `rollout.name=agent` that plays the tasks of an environment: `play = agent("gsm8k-v1")` in a file `my.py`, then
    `rollout.options.agent=my.py:play` with the data that `write` wrote.

    An episode is one of verifiers', with its harness, runtime, tools and other roles; every role without an endpoint of its own is the
    policy. Each of its rewards, times its weight, is a named reward of the episode, summed over the traces.

    Args:
        env: the id of a taskset, or verifiers' own `[env]` block with its options.

    Raises:
        MissingExtra: verifiers is not installed.
        PeerError: there is no such taskset; or, from the agent, the episode failed in their program.
    """
    tasks = iter(_made(env).taskset)
    seen: list[Any] = []

    def at(index: int) -> Any:
        while len(seen) <= index:
            task = next(tasks, None)
            if task is None:
                raise PeerError(
                    f"the taskset {_id(env)} has {len(seen)} tasks, and {index} is asked for; write its data anew"
                )
            seen.append(task)
        return seen[index]

    async def play(base_url: str, api_key: str, model: str, index: int) -> dict[str, Any]:
        """One episode of the task with that index, against the policy at `base_url`."""
        one = asyncio.run_coroutine_threadsafe(episode_of(base_url, api_key, model, index), _loop())
        return await asyncio.wrap_future(one)

    async def episode_of(base_url: str, api_key: str, model: str, index: int) -> dict[str, Any]:
        vf, made, name = peer("verifiers.v1"), _made(env), f"{KEY}_{abs(hash(api_key))}"  # one serves one episode
        os.environ[name] = api_key
        try:
            client = vf.EvalClientConfig(base_url=base_url, api_key_var=name)
            context = vf.ModelContext(model=model, client=client, sampling=vf.SamplingConfig())
            async with made.serving():
                episode = await made.run_episode(at(index), context)
        finally:
            os.environ.pop(name, None)
        failed = [error for trace in episode.traces for error in trace.errors] + list(episode.errors)
        if failed:
            raise PeerError(f"{_id(env)} task {index}: {failed[0].type}: {failed[0].message}"[:500])
        rewards: dict[str, float] = {}
        for trace in episode.traces:
            for reward, earned in trace.rewards.items():
                rewards[reward] = rewards.get(reward, 0.0) + earned.score * earned.weight
        return {"rewards": rewards}

    return play


def _loop() -> asyncio.AbstractEventLoop:
    """Where all episodes of a process run: locks of verifiers are shared by episodes, and every agent here has a loop of its own."""
    with _STARTING:
        if os.getpid() not in _LOOPS:
            loop = _LOOPS[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, daemon=True, name="quintain-verifiers").start()
        return _LOOPS[os.getpid()]


def _made(env: str | Mapping[str, Any]) -> Any:
    loaders = peer("verifiers.v1.utils.loaders")
    block = {"taskset": {"id": env}} if isinstance(env, str) else dict(env)
    try:
        return loaders.load_environment(loaders.resolve_env_config(block))
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise PeerError(f"verifiers has no environment {_id(env)!r}: {error}"[:500]) from error


def _id(env: str | Mapping[str, Any]) -> str:
    return env if isinstance(env, str) else str(dict(env.get("taskset", {})).get("id", ""))


def _text(prompt: Any) -> str:
    if isinstance(prompt, str) or prompt is None:
        return prompt or ""
    said = [getattr(message, "content", "") for message in prompt]
    return "\n\n".join(content if isinstance(content, str) else "" for content in said).strip()
