"""A function of yours as a reward."""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from quintain.parts import BadReward, Reward
from quintain.registry import register, unknown, user_object
from quintain.rewards.env import RewardError, rewarded
from quintain.rewards.said import answer_of, conversation
from quintain.rewards.worker import Worker
from quintain.types import Group, QuintainError, Role, Trajectory
from quintain.waits import waiting


def given(group: Group, trajectory: Trajectory) -> dict[str, Any]:
    """Everything that a scoring function may ask for by the names of its parameters."""
    messages = conversation(trajectory)
    asked = [m["content"] for m in messages[: _opening(messages)] if m["role"] == Role.user]
    text = answer_of(trajectory)
    own = {
        "text": text,
        "completion": text,
        "messages": messages,
        "prompt": asked[-1] if asked else "",
        "task": group.task,
        "trajectory": trajectory,
        "group": group,
    }
    return {"answer": None, **group.task.params, **own}


def _opening(messages: list[dict[str, str]]) -> int:
    return next((i for i, m in enumerate(messages) if m["role"] == Role.assistant), len(messages))


def arguments(score: Callable[..., Any], there: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """What a scoring function asks for, of what there is and of its options.

    Raises:
        RewardError: nothing provides one.
    """
    known = {**there, **options}
    parameters = inspect.signature(score).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return known
    missing = [n for n, p in parameters.items() if n not in known and p.default is p.empty]
    if missing:
        raise RewardError(unknown("argument of a reward function:", missing[0], known))
    return {n: known[n] for n in parameters if n in known}


@register("reward", "function", example={"path": "quintain.rewards.answers:number", "on_error": 0.0})
def function(
    path: str | Callable[..., Any],
    label: str = "",
    options: Mapping[str, Any] | None = None,
    on_error: float | None = None,
    timeout_s: float = 60.0,
    thread: bool = True,
    idempotent: bool = False,
) -> Reward:
    """Score every trajectory with a function of yours, sync or async: the way to bring your own reward.

    The function is given what its parameters are named after: `text` (what the policy said last; also `completion`),
    `answer` and every other column of the task, `prompt`, `messages` (dicts with `role` and `content`), `task`,
    `trajectory`, `group`, and the `options`; with `**kwargs` it gets all. It returns a number, a bool, or a dict of
    named numbers.

    Args:
        path: `FILE.py:name`, `package.module:name`, or the function itself.
        label: name of the reward; the function's own name when empty.
        options: further arguments of the function.
        on_error: the reward of a trajectory whose scoring fails (event `reward_error`); None stops the run with the
            error.
        timeout_s: seconds that the function may take for one trajectory, 0 for no limit. A sync function that takes
            longer cannot be ended: it is left behind in its thread, and the next call gets a new one.
        thread: call a sync function in a thread of its own, one trajectory after the other in order, so that a slow
            one holds up nothing else and one that never returns does not keep the process from ending; False calls it
            between everything else in the main thread, without a timeout, for functions that set alarm signals.
        idempotent: declares that scoring an episode twice does no harm, so that a cluster may repeat a scoring whose
            worker died.

    Raises:
        UnknownName: no such file or function.
        RewardError: (when scoring) the function raised (SystemExit too), was late, or asks for an argument that nothing provides.
        BadReward: (when scoring) it returned NaN or infinity.

    Example:
        >>> async def main():
        ...     from quintain.types import Node, Role, Kind, Stop, Task
        ...     said = Node.given(None, (), role=Role.assistant, kind=Kind.external, text="It is 4.")
        ...     group = Group(
        ...         task=Task(key="q", env="data", params={"answer": "4"}),
        ...         trajectories=(Trajectory(id="0", nodes=(said,), stop=Stop.done),),
        ...     )
        ...     return (await function(lambda text, answer: answer in text, label="right")(group)).rewards
        >>> asyncio.run(main())
        (1.0,)
    """
    score = user_object(path) if isinstance(path, str) else path
    if not callable(score):
        raise RewardError(f"{path!r} is a {type(score).__name__}; a reward is a function")
    name = label or getattr(score, "__name__", type(score).__name__)
    extra = dict(options or {})
    own = Worker("reward") if thread and not _is_async(score) else None

    def call(group: Group, trajectory: Trajectory) -> tuple[Any, BaseException | None]:
        try:
            return score(**arguments(score, given(group, trajectory), extra)), None
        except (Exception, SystemExit) as error:  # no future can carry a StopIteration, and no task a SystemExit
            return None, error

    async def value_of(group: Group, trajectory: Trajectory) -> tuple[Any, BaseException | None]:
        with waiting("score", group.ticket, f"the reward {name!r} of episode {trajectory.id}", timeout_s):
            return await called(group, trajectory)

    async def called(group: Group, trajectory: Trajectory) -> tuple[Any, BaseException | None]:
        if own is None:
            value, error = call(group, trajectory)
        else:
            value, error = await own.call(partial(call, group, trajectory), timeout_s)
        if error is None and inspect.isawaitable(value):
            return await _awaited(value, timeout_s)
        return value, error

    async def one(group: Group, trajectory: Trajectory) -> Trajectory:
        try:
            value, error = await value_of(group, trajectory)
            if error is None:
                named = value if isinstance(value, Mapping) else {name: float(value)}
                return rewarded(group, trajectory, named)
        except Exception as caught:  # the function is not ours
            error = caught
        return _failed(group, trajectory, name, on_error, error)

    async def score_group(group: Group) -> Group:
        done = await asyncio.gather(*(one(group, t) for t in group.trajectories))
        return replace(group, trajectories=tuple(done))

    return score_group


def _is_async(score: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(score) or inspect.iscoroutinefunction(type(score).__call__)


async def _awaited(value: Awaitable[Any], timeout_s: float) -> tuple[Any, BaseException | None]:
    try:
        async with asyncio.timeout(timeout_s or None):
            return await value, None
    except SystemExit as error:  # would end the event loop
        return None, error


def _failed(
    group: Group, trajectory: Trajectory, name: str, on_error: float | None, error: BaseException
) -> Trajectory:
    late = isinstance(error, TimeoutError) and not str(error)
    cause = "took longer than timeout_s" if late else f"{type(error).__name__}: {error}"
    if on_error is not None and not isinstance(error, RewardError):
        marked = replace(trajectory, events=(*trajectory.events, f"reward_error: {cause}"[:300]))
        return rewarded(group, marked, {name: on_error})
    if isinstance(error, BadReward | QuintainError):
        raise error
    raise RewardError(
        f"reward {name!r} failed on trajectory {trajectory.id} (task {group.task.key}): {cause}{'' if late else _line(error)}; "
        "mend the function, or set reward.on_error to the reward of such trajectories"
    ) from error


def _line(error: BaseException) -> str:
    """Where the function of the user failed: the innermost line outside of this package."""
    home = str(Path(__file__).parent)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith((home, "<"))]
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
