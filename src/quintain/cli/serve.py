"""`quintain serve RUN`: an OpenAI-compatible endpoint of a run's policy, or of a model folder, that can write down every token."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import shlex
import signal
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

from quintain import config as configs
from quintain.cli.args import sources
from quintain.registry import UnknownName, require_extra

LOOPBACK = ("127.0.0.1", "localhost", "::1")
SWEEP_S = 5.0


def main(arguments: list[str]) -> int:
    """Serve until a signal comes."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="quintain serve", description=__doc__)
    parser.add_argument(
        "policy", type=Path, help="a run folder or one of its checkpoints, or a local Hugging Face folder"
    )
    parser.add_argument("items", nargs="*", metavar="key=value", help="such as rollout.temperature=0.7")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8700, help="port (default 8700; 0 takes a free one)")
    parser.add_argument("--allow-host", action="append", default=[], help="a further name that clients may call it by")
    parser.add_argument("--record", type=Path, help="run folder that ended episodes are written into")
    parser.add_argument("--name", default="", help="name of the model (default: that of the run or folder)")
    parser.add_argument("--any-model", action="store_true", help="answer whatever model is asked for")
    parser.add_argument(
        "--token-file", type=Path, help="where the token is written (default: ~/.quintain/serve-PORT.token)"
    )
    parser.add_argument("--idle-s", type=float, default=600.0, help="an episode ends after so many idle seconds (600)")
    given = parser.parse_intermixed_args(arguments)
    require_extra("serve", "starlette", "uvicorn")
    _check(given)
    return asyncio.run(_serve(given))


def _check(given: argparse.Namespace) -> None:
    """Refuse what cannot be done before a model is loaded for it."""
    from quintain.ledger import RunDir
    from quintain.serve.desk import check_record
    from quintain.serve.http import check_port

    check_port(given.port)
    if not given.idle_s > 0:
        raise configs.ConfigError(
            f"--idle-s {given.idle_s:g} is no time; give seconds > 0 (inf: no episode ends of it)"
        )
    if given.record is not None and (given.record / "run.json").is_file():
        with RunDir.open(given.record) as store:
            check_record(store)


async def _serve(given: argparse.Namespace) -> int:
    from quintain.rollouts.recorder import Bounds
    from quintain.serve.desk import Episodes
    from quintain.serve.door import facts_of
    from quintain.serve.gateway import LOOPBACK as NAMES
    from quintain.serve.gateway import Gateway
    from quintain.serve.http import Server

    config, cast, version = await _policy(given)
    engine = cast.engine("policy")
    book = _book(given.record, config)
    bounds = Bounds(own=True, context=min(config.model.context, getattr(engine, "context", config.model.context)))
    desk = Episodes(cast, bounds, book)
    token = os.environ.get("QUINTAIN_SERVE_TOKEN") or secrets.token_urlsafe(32)
    facts = facts_of(cast.renderer("policy"), given.name or _name(given.policy), any_model=given.any_model)
    own = f"[{given.host}]" if ":" in given.host else given.host
    gateway = Gateway(
        facts=facts, token=token, desk=desk, hosts=(*NAMES, own.lower(), *map(str.lower, given.allow_host))
    )
    desk.ended = gateway.expel
    gateway.failed = traceback.print_exception
    server = Server(gateway, given.host, given.port)
    await server.start()
    file = given.token_file or Path.home() / ".quintain" / f"serve-{server.port}.token"
    _write_token(file, token)
    _tell(given, f"http://{own}:{server.port}/v1", file, (facts.model, version, await _opening(config, cast)))
    try:
        await _until_signal(desk, given.idle_s)
    finally:
        file.unlink(missing_ok=True)
        await server.stop()
        await desk.close()
        if book is not None:
            book.close()
    print(f"stopped: {gateway.load.answered} answered, {gateway.load.refused} refused", flush=True)
    return 0


async def _policy(given: argparse.Namespace) -> tuple[Any, Any, int]:
    """Config and cast of what is served, with the step of its checkpoint as the version of its tokens."""
    from quintain.evals.players import of_folder, of_run, run_of
    from quintain.types import Weights

    files, overrides = sources(given.items)
    if files:
        raise configs.ConfigError(f"{files[0]!r} is no key=value; a policy is served in its own setting")
    version = 0
    if own := run_of(str(given.policy)):
        config, cast, version = of_run(own[0], overrides, own[1])
    elif (given.policy / "config.json").is_file():
        config = configs.make(overrides=overrides)
        cast = of_folder(given.policy, config)
    else:
        raise UnknownName(
            f"{given.policy} is neither a run folder, a checkpoint of a run, nor a local Hugging Face folder"
        )
    engine: Any = cast.engine("policy")
    if hasattr(engine, "model"):  # tokens are stamped with the step of the checkpoint
        await engine.load(Weights(version=version, kind="pointer", source=engine.model))
    longest = config.rollout.max_tokens or (config.model.context if config.model.folder else 1)
    heat = config.rollout.temperature
    return config, replace(cast, sampling=replace(cast.sampling, max_tokens=longest, temperature=heat)), version


def _name(policy: Path) -> str:
    from quintain.evals.players import named

    return Path(named(str(policy))).resolve().name or "policy"


def _book(folder: Path | None, config: Any) -> Any:
    from quintain.cli.paths import absolute
    from quintain.ledger import RunDir
    from quintain.serve.desk import ACTOR, Book

    if folder is None:
        return None
    if (folder / "run.json").is_file():
        return Book(RunDir.open(folder, "a"))
    return Book(RunDir.create(folder, absolute(config).toml(full=True), about={"actor": ACTOR}))


def _write_token(file: Path, token: str) -> None:
    """A file that only its owner can read; never through a link that somebody else put there."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.unlink(missing_ok=True)
    handle = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w") as out:
        out.write(token + "\n")


async def _opening(config: Any, cast: Any) -> str:
    """What a client may begin with: a policy of whole words is shown its world, as no other text can be spelled in its words."""
    from quintain.evals.players import held_out

    if not hasattr(cast.renderer("policy"), "words"):
        return "hello"
    (task,) = held_out(config, 1, 0)
    env = cast.env(task)
    shown = await env.reset(task)
    await env.close()
    return next(m.text for said in shown.values() if said.acts for m in said.messages)


def _tell(given: argparse.Namespace, url: str, file: Path, policy: tuple[str, int, str]) -> None:
    model, version, opening = policy
    body = shlex.quote(json.dumps({"model": model, "messages": [{"role": "user", "content": opening}]}))
    print(f"base URL  {url}")
    print(f"token in  {file}")
    print(f"policy    {model}, version {version}")
    print(f"records   {given.record or 'nothing (--record FOLDER keeps every token)'}")
    print(
        f'try       curl {url}/chat/completions -H "Authorization: Bearer $(cat {shlex.quote(str(file))})" '
        f"-H 'Content-Type: application/json' -d {body}"
    )
    if given.host not in LOOPBACK:
        print(
            "NOTE: this address is reached from other machines, and what is said travels unencrypted", file=sys.stderr
        )
    sys.stdout.flush()


async def _until_signal(desk: Any, idle_s: float) -> None:
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(sign, asked.set)
    full = False
    while not asked.is_set():
        full = await _sweep(desk, idle_s, full)
        try:
            async with asyncio.timeout(SWEEP_S):
                await asked.wait()
        except TimeoutError:
            continue


async def _sweep(desk: Any, idle_s: float, told: bool) -> bool:
    """End idle episodes; true where the disk is full, which is said once until there is room again."""
    from quintain.ledger import DiskFull

    try:
        await desk.sweep(idle_s)
    except DiskFull as error:
        if not told:
            print(f"ended episodes wait to be written, tried every {SWEEP_S:g} s: {error}", file=sys.stderr, flush=True)
        return True
    if told:
        print("there is room again: what waited is written", file=sys.stderr, flush=True)
    return False
