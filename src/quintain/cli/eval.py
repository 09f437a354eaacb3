"""`quintain eval PLAYER [RECIPE|FILE|key=value...]`: play held-out instances and print success, pass@k and stops."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import time
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

from quintain import config as configs
from quintain.cli.args import sources
from quintain.parts import Cast
from quintain.types import Group


def main(arguments: list[str]) -> int:
    """Evaluate one player."""
    parser = argparse.ArgumentParser(prog="quintain eval", description=__doc__)
    parser.add_argument(
        "player", help="random, oracle, a run folder, a Hugging Face folder, or an OpenAI-compatible URL"
    )
    parser.add_argument(
        "items", nargs="*", metavar="RECIPE|FILE|key=value", help="where to play, such as world=Sokoban level=3"
    )
    parser.add_argument("-n", type=int, default=200, help="instances (default 200)")
    parser.add_argument("-k", type=int, default=1, help="episodes of each instance, for pass@k (default 1)")
    parser.add_argument("--greedy", action="store_true", help="temperature 0")
    parser.add_argument("--seed", type=int, default=7919, help="which held-out instances")
    parser.add_argument("--model", default="", help="model name behind a URL")
    parser.add_argument("--key-env", default="OPENAI_API_KEY", help="environment variable that holds the API key")
    parser.add_argument(
        "--away",
        action="append",
        default=[],
        metavar="key=value",
        help="play there too, such as --away level=6 (repeatable)",
    )
    parser.add_argument("--over", default="", metavar="PLAYER", help="with --away: what the player was trained from")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_intermixed_args(arguments)
    if given.over and not given.away:
        raise configs.ConfigError(
            "--over compares gains at home and away; say where else to play, such as --away level=6"
        )
    found = evaluate(given)
    if given.away:
        found = {**found, **_carried(given, found)}
    if given.json:
        print(json.dumps(found))
    else:
        _told(given.player, found)
    return 0


def _told(player: str, found: dict[str, Any]) -> None:
    from quintain.evals.stats import table

    for one in [found, *([found["away"]] if "away" in found else [])]:
        print(table(f"{player} in {one['where']}", one))
        print(f"  {one['episodes']} episodes in {one['seconds']:.1f} s")
    if gains := found.get("gains"):
        said = {name: "-" if value is None else f"{value:.3f}" for name, value in gains.items() if name != "over"}
        print(f"relative gains over {gains['over']}: " + "   ".join(f"{name} {value}" for name, value in said.items()))


def _carried(given: argparse.Namespace, home: dict[str, Any]) -> dict[str, Any]:
    """What was played away, and what was gained there and at home over the player that training began with."""
    from quintain.evals.stats import generalisation, relative_gain

    def played(player: str, *more: str) -> dict[str, Any]:
        return evaluate(argparse.Namespace(**{**vars(given), "player": player, "items": [*given.items, *more]}))

    away = played(given.player, *given.away)
    if not given.over:
        return {"away": away}
    gains = []
    for after, more in ((home, ()), (away, given.away)):
        before = played(given.over, *more)
        if before["where"] != after["where"]:
            raise configs.ConfigError(
                f"{given.player} played in {after['where']} and {given.over} in {before['where']}; name world and level for both"
            )
        gains.append(relative_gain(before["success"], after["success"]))
    told = {"home": gains[0], "away": gains[1], "generalisation": generalisation(*gains)}
    numbers = {name: value if math.isfinite(value) else None for name, value in told.items()}
    return {"away": away, "gains": {"over": given.over, **numbers}}


def _worlds(items: list[str]) -> list[str]:
    """The words of the command line, where the bare name of a world means `world=NAME`, as it does for `play`."""
    from quintain.registry import names

    known = set(names("world")) - set(configs.recipes())
    return [f"world={item}" if item in known else item for item in items]


async def _played(episodes: Coroutine[Any, Any, list[Group]], cast: Cast) -> list[Group]:
    from quintain.runtime.playing import close_engines

    try:
        return await episodes
    finally:
        await close_engines(cast)


def evaluate(given: argparse.Namespace) -> dict[str, Any]:
    """Play and sum up."""
    from quintain.evals.players import cast_of, held_out
    from quintain.evals.stats import summary
    from quintain.runtime.check import check_playing
    from quintain.runtime.evaluate import play
    from quintain.runtime.failures import refuse_failures
    from quintain.runtime.playing import make_reward, make_rollout
    from quintain.runtime.stage import rows_of

    files, overrides = sources(_worlds(given.items))
    config = configs.make(*files, overrides=overrides)
    options = {"model": given.model, "key_env": given.key_env}
    if given.n < 1 or given.k < 1:
        raise configs.ConfigError(f"-n is {given.n} and -k is {given.k}; both must be at least 1")
    config, cast = cast_of(given.player, config, overrides, options)
    if files and Path(given.player, "run.json").is_file():
        raise configs.ConfigError(
            f"a run is evaluated in its own setting, not that of {files[0]!r}; change it with key=value"
        )
    if given.greedy:
        cast = replace(cast, sampling=replace(cast.sampling, temperature=0.0))
    check_playing(config)
    drawn = held_out(config, given.n, given.seed)
    start = time.perf_counter()
    groups = asyncio.run(_played(play(drawn, cast, make_rollout(config, given.k), make_reward(config)), cast))
    refuse_failures(groups)
    split = rows_of(config, config.eval.split) if config.data else config.eval.split
    where = f"{config.data or f'{config.env.name} level ' + ','.join(map(str, config.env.levels))} ({split})"
    return {"player": given.player, "where": where, "seconds": time.perf_counter() - start, **summary(groups)}
