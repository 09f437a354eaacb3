"""Multi-turn tasks with tools made of plain Python functions."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quintain.envs.data import NoOpening
from quintain.envs.schema import ToolError, check_arguments, tool_of
from quintain.ports import SOLO, Env
from quintain.registry import register, unknown, user_object
from quintain.render.toolcalls import OPEN, find
from quintain.types import Feedback, Message, Role, Stop, Task, Tool, ToolCall, ToolResult

SHOWN = 4000  # characters of a result that the policy sees


class ToolEnv:
    """Runs the tool calls of the policy until it answers without one.

    Args:
        functions: the tools by name.
        limits: turns of an episode, and seconds that an async function may take for one call.
        penalty: added to the reward `malformed` for each call that cannot be run.
    """

    def __init__(
        self, functions: Mapping[str, Callable[..., Any]], limits: tuple[int, float] = (8, 30.0), penalty: float = 0.0
    ) -> None:
        self.functions = dict(functions)
        self.tools: dict[str, Tool] = {name: tool_of(f) for name, f in self.functions.items()}
        self.max_turns, self.timeout_s = limits
        self.penalty = penalty
        self.turn = 0
        self.calls: list[dict[str, Any]] = []
        self.ends: tuple[type[Exception], ...] = ()  # what a function raises that no call is to blame for

    async def reset(self, task: Task) -> Mapping[str, Feedback]:
        """The task's opening messages, and the tools on offer.

        Raises:
            NoOpening: the task has no messages.
        """
        if not task.messages:
            raise NoOpening(f"task {task.key} has no messages; draw data tasks with the sampler `dataset`")
        self.turn, self.calls = 0, []
        return {SOLO: Feedback(messages=task.messages, tools=tuple(self.tools.values()), state=self.snapshot())}

    async def step(self, moves: Mapping[str, Message]) -> Mapping[str, Feedback]:
        """Run the calls of a message in order and answer with their results; without a call the episode ends."""
        move = moves[SOLO]
        self.turn += 1
        calls, broken = move.tool_calls, find(move.text)[1] if OPEN in move.text else []
        if not calls and not broken:
            return {SOLO: Feedback(stop=Stop.done, acts=False, action="answer", state=self.snapshot())}
        results: list[ToolResult] = []
        events: list[str] = []
        for call in calls:
            result = await self._run(call)
            results.append(result)
            events.append(f"tool_error:{call.name}" if result.error else f"tool:{call.name}")
        for body in broken:
            text = f'this is no tool call: {body[:80]!r}; write {{"name": ..., "arguments": {{...}}}}'
            results.append(ToolResult(text=text, error=True))
            events.append("malformed")
        wrong = sum(r.error for r in results)
        over = self.turn >= self.max_turns
        feedback = Feedback(
            messages=(Message(Role.tool, tuple(results)),),
            reward={"malformed": self.penalty * wrong} if wrong and self.penalty else {},
            stop=Stop.truncated_turns if over else None,
            acts=not over,
            events=tuple(events),
            action=" ".join(call.name for call in calls) or "malformed",
            state=self.snapshot(),
        )
        return {SOLO: feedback}

    async def _run(self, call: ToolCall) -> ToolResult:
        try:
            function = self.functions.get(call.name)
            if function is None:
                raise ToolError(unknown("tool", call.name, self.functions))
            value = function(**check_arguments(self.tools[call.name], call.arguments))
            if inspect.isawaitable(value):
                async with asyncio.timeout(self.timeout_s or None):
                    value = await value
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            result = ToolResult(text=text[:SHOWN], id=call.id)
        except self.ends:
            raise
        except ToolError as error:
            result = ToolResult(text=str(error), id=call.id, error=True)
        except Exception as error:  # a tool that fails is something that the policy should learn from
            text = f"{type(error).__name__}: {error}"[:SHOWN]
            result = ToolResult(text=text, id=call.id, error=True)
        self.calls.append({"name": call.name, "arguments": dict(call.arguments), "result": result.text})
        return result

    def snapshot(self) -> Any:
        """Turn and calls so far. Functions with a state of their own are not covered."""
        return {"turn": self.turn, "calls": list(self.calls)}

    def restore(self, snapshot: Any) -> None:
        """Go back to a snapshot."""
        self.turn, self.calls = snapshot["turn"], list(snapshot["calls"])

    async def close(self) -> None:
        """There is nothing to free."""


@register("env", "tools", example={"functions": ["quintain.rewards.length:overlong_cost"]})
def tools(
    functions: Sequence[str | Callable[..., Any]],
    max_turns: int = 8,
    timeout_s: float = 30.0,
    penalty: float = 0.0,
) -> Callable[[Task], Env]:
    """Tasks in which the policy may call Python functions: calculators, searches, databases, interpreters.

    The policy sees each function as a tool (name, first line of the docstring, JSON schema of the annotated
    parameters), writes calls as JSON, and gets each result as a tool message. Its first message without a call is the
    answer, which a reward part judges. A call that is malformed, unknown or fails is answered with an error text and
    an event, never with an exception.

    Args:
        functions: `FILE.py:name` or the functions themselves, sync or async.
        max_turns: messages of the policy, >= 1.
        timeout_s: seconds that an async function may take for one call, 0 for no limit; sync ones run to their end.
        penalty: reward of each call that cannot be run, <= 0.

    Raises:
        ToolError: a function has a signature that JSON cannot hold, or a number is out of range.
    """
    found = [user_object(f) if isinstance(f, str) else f for f in functions]
    by_name = {f.__name__: f for f in found}
    if not found or len(by_name) < len(found) or max_turns < 1 or penalty > 0:
        raise ToolError(f"tools: needs functions of different names, max_turns >= 1, penalty <= 0; got {list(by_name)}")
    ToolEnv(by_name)  # refuse unfit signatures before the run starts
    return lambda task: ToolEnv(by_name, (max_turns, timeout_s), penalty)
