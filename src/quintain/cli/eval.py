"""`quintain eval PLAYER [RECIPE|FILE|key=value...]`: play held-out instances and print success, pass@k and stops."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quintain import config as configs
from quintain.cli.args import agree, levels_of, sources
from quintain.cli.evaluation import calm, evaluate, modelled, over, own_setting, spent, steps_of, told, used, warn
from quintain.cli.places import fixed_by, worlds_in
from quintain.parts import Cast
from quintain.registry import names
from quintain.types import QuintainError
from quintain.waits import Paced

APART = 7919  # the seed of held-out instances, unless said
# Words that say where is played, and for what reward.
PLACES = ("world=", "level=", "env.name=", "env.level", "env.params", "eval.split=", "data=", "reward=", "reward.")


def main(arguments: list[str]) -> int:
    """Evaluate one player."""
    given = _parser().parse_intermixed_args(arguments)
    _agree(given)
    if given.levels is not None:
        given.items += [f"env.levels={levels_of(given.levels)}"]
    if given.suite is not None:
        return _suite(given)
    if given.out is not None:
        raise configs.ConfigError(f"--out {given.out} keeps evaluations of a suite; name one, such as --suite quick")
    given.n, given.seed = 200 if given.n is None else given.n, APART if given.seed is None else given.seed
    with _quiet(given):
        found = evaluate(given)
    if given.json:
        print(json.dumps(found))
    else:
        told(found)
    return 0


def _quiet(given: argparse.Namespace) -> contextlib.AbstractContextManager[Any]:
    """What a world or a reward prints is no part of the JSON that is asked for."""
    return contextlib.redirect_stdout(sys.stderr if given.json else sys.stdout)


def _agree(given: argparse.Namespace) -> None:
    """Refuse words that say twice, and not alike, where and how is played, or that the player cannot heed."""
    from quintain.runtime.opponents import PLAYERS

    if given.greedy and given.player in PLAYERS:
        raise configs.ConfigError(
            f"--greedy sets the temperature of a model, and {given.player} plays without one; leave it out"
        )
    if given.levels is not None:
        agree(f"--levels {given.levels}", levels_of(given.levels), "env.levels", given.items)
    if given.against is not None:
        agree(f"--against {given.against}", given.against, "eval.against", given.items)
    if given.greedy:
        agree("--greedy", 0, "eval.temperature", given.items)
    for word in given.items:
        if "=" not in word:  # the name of a world, or of something that is none
            agree(word, word, "env.name", given.items if word in names("world") else ())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="quintain eval", description=__doc__)
    parser.add_argument(
        "player",
        help="random, oracle, a run folder or one of its checkpoints, a Hugging Face folder, or an OpenAI-compatible URL (URL#MODEL)",
    )
    parser.add_argument(
        "items", nargs="*", metavar="RECIPE|FILE|key=value", help="where to play, such as world=Sokoban level=3"
    )
    parser.add_argument("-n", type=int, help="instances (default 200)")
    parser.add_argument("-k", type=int, default=1, help="episodes of each instance, for pass@k (default 1)")
    parser.add_argument("--levels", "--level", help="one level or a range, as level=3")
    parser.add_argument("--greedy", action="store_true", help="temperature 0")
    parser.add_argument("--seed", type=int, help="which held-out instances (default 7919)")
    parser.add_argument("--model", default="", help="model behind URLs that do not name theirs")
    parser.add_argument("--key-env", default="OPENAI_API_KEY", help="environment variable that holds the API key")
    parser.add_argument(
        "--away",
        action="append",
        default=[],
        metavar="key=value",
        help="play there too, such as --away level=6 (repeatable)",
    )
    parser.add_argument(
        "--against",
        metavar="PLAYER",
        help="who plays the other seats in worlds of several: policy (the player itself), or a player as above",
    )
    parser.add_argument(
        "--over", default="", metavar="PLAYER", help="play it on the same instances, and tell what is gained over it"
    )
    parser.add_argument(
        "--suite",
        metavar="quick|DOMAIN|full",
        help="play the fixed instances of many worlds, told by domain",
    )
    parser.add_argument("--out", type=Path, help="with --suite: a folder that keeps evaluations and draws their page")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _suite(given: argparse.Namespace) -> int:
    """Play a suite, print its domains, and keep it where `--out` says; the same with `--over`, and what is gained over it."""
    from quintain.envs.suites import suite_of
    from quintain.evals import suite_page, suites
    from quintain.evals.players import refuse_unknown

    files, overrides = sources(worlds_in(given.items))
    if given.over:
        refuse_unknown(given.over)
    _unbent(given, files, overrides)
    suite = suite_of(given.suite)
    if given.out is not None:
        suite_page.ready(given.out, suite.name)  # before anything is played
    with _quiet(given):
        found, mine = _played(given, given.player, suite, files, overrides)
        other, theirs = _played(given, given.over, suite, files, overrides) if given.over else (found, mine)
    if given.over:
        found = {**found, "compared": over(other, suites.gained(suite, mine, theirs))}
        print(end="" if given.json else f"{suites.gains(found)}\n")
    if given.json:
        print(json.dumps(found))
    return 0


def _played(
    given: argparse.Namespace, player: str, suite: Any, files: Sequence[str], overrides: Sequence[str]
) -> tuple[dict[str, Any], Any]:
    """What came of a suite that one player played, told and kept, and each instance of each world."""
    from quintain.evals import suite_page, suites
    from quintain.evals.players import named

    casts = suites.casting(player, suite, files, overrides, {"model": given.model, "key_env": given.key_env})
    start, cast = time.perf_counter(), casts(suite.worlds[0])[1]
    whose = {
        "player": named(player),
        "setting": _setting(given, player, files, overrides),
        "digest": suite.digest(),
    }
    part = _part(given, player, suite, whose, cast)
    change = calm if given.greedy else lambda cast: cast
    try:
        played = asyncio.run(suites.play_suite(suite, casts, given.k, change, Paced(), warn, part))
    except (QuintainError, KeyboardInterrupt) as error:
        _cut_off(player, suite, part, isinstance(error, KeyboardInterrupt))
        raise
    found = {
        "player": whose["player"],
        **steps_of(cast),
        "setting": whose["setting"],
        "seconds": time.perf_counter() - start,
        **suites.summed(suite, played),
        **used(cast),
    }
    if not given.json:
        print(suites.table(found))
        print(f"  {found['seconds']:.1f} s{spent(found)}")
    if given.out is not None:
        kept = suite_page.keep(found, given.out)
        print(f"  kept; see {kept}", file=sys.stderr if given.json else sys.stdout)
        if isinstance(part, suite_page.Unfinished):
            part.close()
    return found, played


def _unbent(given: argparse.Namespace, files: list[str], overrides: Sequence[str]) -> None:
    """Refuse words that would change what a suite fixes, or that its player cannot heed."""
    own = {"-n": given.n, "--seed": given.seed, "--away": given.away, "--against": given.against}
    fixed = [name for name, value in own.items() if value not in (None, [], "")]
    for player in (given.player, given.over):
        own_setting(player, files)
    placed = [word for word in overrides if word.startswith(PLACES)] + fixed_by(files)
    if fixed or placed:
        raise configs.ConfigError(
            f"a suite has its own worlds, levels, seeds and rewards; leave out {', '.join([*fixed, *placed])}, or leave out --suite"
        )
    if given.k < 1:
        raise configs.ConfigError(f"-k is {given.k}; it must be at least 1")
    modelled(given.model, given.player, given.over)


def _setting(given: argparse.Namespace, player: str, files: Sequence[str], overrides: Sequence[str]) -> str:
    """What sets evaluations of a player apart."""
    from quintain.evals.players import PLAYERS, nameless

    own = [f"model {given.model}"] * (bool(given.model) and nameless(player))
    own += ["greedy"] * (given.greedy and player not in PLAYERS) + [f"k={given.k}"] * (given.k > 1)
    return ", ".join([*own, *files, *overrides])


def _part(given: argparse.Namespace, player: str, suite: Any, whose: dict[str, Any], cast: Cast) -> dict[str, Any]:
    """Where the worlds of a suite go as they end: with `--out` and a URL a file, which holds those of the same one that was cut off."""
    from quintain.evals import suite_page
    from quintain.evals.players import behind_url

    if given.out is None or not behind_url(player):
        return {}  # others cost nothing, or are not the same the next time
    part = suite_page.Unfinished(given.out, suite.name, whose, cast.engines["policy"].used)  # pyrefly: ignore
    warn(f"{len(part)} of {len(suite.worlds)} worlds were played before, and are not played again" * bool(part))
    return part


def _cut_off(player: str, suite: Any, part: dict[str, Any], asked: bool) -> None:
    """Say what the worlds that were played came to, and where an evaluation that ended early, as somebody `asked` for, goes on."""
    from quintain.evals import suite_page, suites
    from quintain.evals.players import behind_url

    if not part:
        warn(f"ended in the first of {len(suite.worlds)} worlds; nothing of it is kept" * asked)
        return
    each = ", ".join(f"{world} {suites.score(rows)['success']:.2f}" for world, rows in part.items())
    way = "nothing of them is kept: the same command plays all of them anew"
    if behind_url(player):
        way = "nothing of them is kept; with --out FOLDER they are, and the same command goes on after them"
    if isinstance(part, suite_page.Unfinished):
        way = f"they are kept in {part.path}, and the same command goes on after them"
    warn(f"ended after {len(part)} of {len(suite.worlds)} worlds ({each}); {way}")
