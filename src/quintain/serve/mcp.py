"""A world as a server of the Model Context Protocol over stdin and stdout: `quintain offer mcp KeyDoor --level 2`.

JSON-RPC in lines, as MCP's stdio transport has it; nothing is needed beside the base package. Tools: `new_game`, `look`, and one tool for
each action where the world has a short fixed list of them that can be names of tools, else `act`. What a tool answers is text, the picture
where the scaffold has one, and `structuredContent`: `reward`, `over`, `events`, `legal`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from quintain import __version__
from quintain.envs.adapters.play import AdapterError, Heard, Play
from quintain.messages import png_of
from quintain.ports import SOLO
from quintain.types import QuintainError

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MOST_TOOLS = 16  # actions that get a tool each
LINE = 1 << 20  # characters of a request
NO_METHOD, BAD_PARAMS, BAD_REQUEST, NO_JSON = -32601, -32602, -32600, -32700
OWN = ("new_game", "look")  # tools of ours
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")  # of a tool, as MCP and models that call tools take them
NONE: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


class BadCall(QuintainError):
    """A tool was called that is not there, or with arguments that it does not take; the message goes to the caller."""


class WorldTools:
    """The tools of one world and the game that they play.

    Args:
        play: a world of one seat.
        seed: of the first game; later ones count on from it unless told.

    Raises:
        AdapterError: the world has several seats.

    Example:
        >>> tools = WorldTools(Play("KeyDoor", level=2), seed=1)
        >>> [tool["name"] for tool in tools.listed()]
        ['new_game', 'look', 'up', 'down', 'left', 'right']
        >>> tools.call("up", {})["structuredContent"]["over"]
        False
    """

    def __init__(self, play: Play, seed: int = 0) -> None:
        if play.seats != (SOLO,):
            raise AdapterError(
                f"{play.name} has the seats {', '.join(play.seats)}, and an MCP server one; use adapters.pettingzoo"
            )
        self.play, self.seed = play, seed
        self.heard: Heard = play.begin(seed)[SOLO]
        try:
            words = play.words()
        except AdapterError:
            words = ()
        fit = len(words) <= MOST_TOOLS and all(NAME.fullmatch(word) and word not in OWN for word in words)
        self.words: tuple[str, ...] = words if fit else ()

    def listed(self) -> list[dict[str, Any]]:
        """The tools as `tools/list` gives them."""
        facts = self.play.env.facts
        whole = {"type": "integer", "minimum": 0, "description": "the instance; another each time unless told"}
        new = {"type": "object", "properties": {"seed": whole}, "additionalProperties": False}
        said = {"type": "string", "description": f"{facts.answer} Example: {facts.example}"}
        act = {"type": "object", "properties": {"action": said}, "required": ["action"], "additionalProperties": False}
        tools = [("new_game", f"Begin a game. {facts.rules}", new), ("look", "See the present state again.", NONE)]
        tools += [(word, f"Take the action {word}.", NONE) for word in self.words] or [("act", "Take one action.", act)]
        return [{"name": name, "description": told, "inputSchema": schema} for name, told, schema in tools]

    def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run a tool; an action that cannot be read or taken is an event in the answer, no error.

        Raises:
            BadCall: there is no such tool, or the arguments do not fit.
        """
        own = {"new_game": {"seed"}, "look": set()} | ({w: set() for w in self.words} or {"act": {"action"}})
        if name not in own:
            raise BadCall(f"there is no tool {name!r}; there are {', '.join(own)}")
        if extra := set(arguments) - own[name]:
            raise BadCall(f"{name} takes {', '.join(own[name]) or 'no arguments'}, not {', '.join(sorted(extra))}")
        if name == "new_game":
            seed = arguments.get("seed", (self.seed + 1) % 2**63)
            if type(seed) is not int or not 0 <= seed < 2**63:
                raise BadCall(f"seed is {seed!r:.40}; it is a whole number from 0 to {2**63 - 1}")
            self.seed, self.heard = seed, self.play.begin(seed)[SOLO]
        elif name == "look":  # what was earned and happened was told when it was
            self.heard = self.heard._replace(reward=0.0, info={**self.heard.info, "events": ()})
        else:
            action = name if name in self.words else arguments.get("action")
            if not isinstance(action, str):
                raise BadCall(f"act needs the argument action, a string; it is {action!r:.40}")
            if self.play.env.stop is not None:
                raise BadCall("the game is over; call new_game")
            self.heard = self.play.say({SOLO: self.play.env.reader.grammar.write(action).text})[SOLO]
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        heard = self.heard
        facts = {"reward": heard.reward, "over": heard.terminated or heard.truncated}
        facts |= {"events": list(heard.info["events"]), "legal": list(heard.info["legal"])}
        content: list[dict[str, Any]] = [{"type": "text", "text": heard.text}]
        if heard.image is not None:
            content.append({"type": "image", "data": png_of(heard.image), "mimeType": "image/png"})
        return {"content": content, "structuredContent": facts, "isError": False}


def answered(tools: WorldTools, line: str) -> dict[str, Any] | None:
    """The answer to one line of JSON-RPC; None to a notification, which gets none. It never raises."""
    try:
        if len(line) > LINE:
            return _wrong(None, NO_JSON, f"a line of {len(line)} characters; at most {LINE}")
        message = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        return _wrong(None, NO_JSON, f"no JSON: {error}"[:200])
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        return _wrong(None, BAD_REQUEST, "a request is an object with a method")
    number, method, params = message.get("id"), message["method"], message.get("params") or {}
    if number is None:
        return None
    if not isinstance(number, str | int) or isinstance(number, bool):
        return _wrong(None, BAD_REQUEST, f"id is {number!r:.80}; it is a string or a whole number")
    if not isinstance(params, dict):
        return _wrong(number, BAD_PARAMS, "params must be an object")
    if method == "initialize":
        asked = params.get("protocolVersion")
        info = {"name": f"quintain {tools.play.name}", "version": __version__}
        version = asked if asked in VERSIONS else VERSIONS[0]
        return _right(number, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
    if method == "tools/list":
        return _right(number, {"tools": tools.listed()})
    if method == "tools/call":
        name, arguments = params.get("name"), params.get("arguments") or {}
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return _wrong(number, BAD_PARAMS, "tools/call needs a name and an object of arguments")
        try:
            return _right(number, tools.call(name, arguments))
        except QuintainError as error:  # for the policy to read; knobs may admit no instance of some seed
            return _right(number, {"content": [{"type": "text", "text": str(error)}], "isError": True})
    return _right(number, {}) if method == "ping" else _wrong(number, NO_METHOD, f"no method {method[:80]!r}")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _right(number: Any, result: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def _wrong(number: Any, code: int, text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}


def serve(tools: WorldTools, lines: Iterable[str], out: TextIO) -> None:
    """Answer requests line by line until there are no more."""
    for line in lines:
        if line.strip() and (reply := answered(tools, line)) is not None:
            print(json.dumps(reply, allow_nan=False), file=out, flush=True)
