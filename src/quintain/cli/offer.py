"""`quintain offer mcp|http|openenv WORLD`: a world for other programs, over MCP on stdin and stdout or over HTTP on loopback."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import os
import sys
from typing import TextIO

from quintain.cli.places import place
from quintain.envs.adapters.play import Play
from quintain.registry import require_extra
from quintain.types import QuintainError

OPTIONS = {  # what each is if it is not given, and for which servers it means something
    "seed": (0, ("mcp",)),
    "image": (0, ("mcp", "openenv")),
    "port": (0, ("http", "openenv")),
    "grammar": ("free", ("http", "openenv")),
}


def main(arguments: list[str]) -> int:
    """Offer the world until stdin ends, or Ctrl-C."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="quintain offer", description=__doc__)
    parser.add_argument("how", choices=("mcp", "http", "openenv"), help="mcp: stdin and stdout; http: as AgentGym's")
    parser.add_argument(
        "items",
        nargs="+",
        metavar="WORLD|FILE.py|env.params.KNOB=VALUE",
        help="a world of one seat, or a file of yours that registers one; knobs of its levels table",
    )
    parser.add_argument("--level", type=int, default=0, help="0-9")
    parser.add_argument("--seed", type=int, help="mcp: of the first game (0)")
    parser.add_argument("--image", type=int, help="mcp, openenv: side of the picture in pixels, 0 for none (0)")
    parser.add_argument("--port", type=int, help="http, openenv: 0 takes a free one (0)")
    parser.add_argument("--grammar", help="http, openenv: how actions are written (free)")
    given = parser.parse_intermixed_args(arguments)
    for name, (usual, hows) in OPTIONS.items():
        if getattr(given, name) is None:
            setattr(given, name, usual)
        elif given.how not in hows:
            raise QuintainError(f"{given.how} takes no --{name}; that is for {' and '.join(hows)}")
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr if given.how == "mcp" else out):  # what a world prints is no message
        _offer(given, out)
    return 0


def _offer(given: argparse.Namespace, out: TextIO) -> None:
    there = place(given.items)
    given.world, given.params = there.worlds[0], there.params
    if given.how == "http":
        require_extra("serve", "starlette", "uvicorn")
        asyncio.run(_http(given))
        return
    if given.how == "openenv":
        _openenv(given)
        return
    from quintain.serve.mcp import WorldTools, serve

    play = Play(given.world, given.level, {"image": given.image}, knobs=given.params)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")  # a line of other bytes is no JSON, and ends nothing
    serve(WorldTools(play, given.seed), sys.stdin, out)


async def _http(given: argparse.Namespace) -> None:
    from quintain.serve.agentgym import Games
    from quintain.serve.http import Server

    def make() -> Play:
        return Play(given.world, given.level, {"grammar": given.grammar}, knobs=given.params)

    server = Server(Games(make, os.environ.get("QUINTAIN_SERVE_TOKEN", "")), port=given.port)
    await server.start()
    print(f"{given.world} level {given.level} at http://127.0.0.1:{server.port}; Ctrl-C ends it", flush=True)
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    await server.stop()


def _openenv(given: argparse.Namespace) -> None:
    from quintain.envs.adapters.openenv import app
    from quintain.envs.adapters.packages import peer
    from quintain.envs.world import world_of
    from quintain.serve.http import listening
    from quintain.worlds.knobs import started

    started(world_of(given.world), 0, given.level, "train", given.params)  # what is no knob may be an option of `app`
    made = app(given.world, given.level, scaffold={"image": given.image, "grammar": given.grammar}, **given.params)
    uvicorn = peer("uvicorn")
    with listening("127.0.0.1", given.port) as door:
        print(
            f"{given.world} level {given.level} at http://127.0.0.1:{door.getsockname()[1]}; Ctrl-C ends it", flush=True
        )
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(uvicorn.Config(made, log_level="warning")).run(sockets=[door])
