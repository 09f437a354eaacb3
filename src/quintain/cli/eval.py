"""`quintain eval PLAYER [RECIPE|FILE|key=value...]`: play held-out instances and print success, pass@k and stops."""

from __future__ import annotations

import argparse
import asyncio
import json
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
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_intermixed_args(arguments)
    found = evaluate(given)
    if given.json:
        print(json.dumps(found))
    else:
        from quintain.evals.stats import table

        print(table(f"{given.player} in {found['where']}", found))
        print(f"  {found['episodes']} episodes in {found['seconds']:.1f} s")
    return 0


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
