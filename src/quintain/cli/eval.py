"""`quintain eval PLAYER [RECIPE|FILE|key=value...]`: play held-out instances and print success, pass@k and stops."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from quintain import config as configs
from quintain.cli.args import agree, levels_of, sources
from quintain.cli.places import fixed_by, worlds_in
from quintain.parts import Cast
from quintain.registry import names
from quintain.types import Group, QuintainError, Task
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
    if given.over and not given.away:
        raise configs.ConfigError(
            "--over compares gains at home and away; say where else to play, such as --away level=6"
        )
    if given.suite is not None:
        return _suite(given)
    if given.out is not None:
        raise configs.ConfigError(f"--out {given.out} keeps evaluations of a suite; name one, such as --suite quick")
    given.n, given.seed = 200 if given.n is None else given.n, APART if given.seed is None else given.seed
    found = evaluate(given)
    if given.away:
        found = {**found, **_carried(given, found)}
    if given.json:
        print(json.dumps(found))
    else:
        _told(found)
    return 0


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
        "player", help="random, oracle, a run folder, a Hugging Face folder, or an OpenAI-compatible URL"
    )
    parser.add_argument(
        "items", nargs="*", metavar="RECIPE|FILE|key=value", help="where to play, such as world=Sokoban level=3"
    )
    parser.add_argument("-n", type=int, help="instances (default 200)")
    parser.add_argument("-k", type=int, default=1, help="episodes of each instance, for pass@k (default 1)")
    parser.add_argument("--levels", "--level", help="one level or a range, as level=3")
    parser.add_argument("--greedy", action="store_true", help="temperature 0")
    parser.add_argument("--seed", type=int, help="which held-out instances (default 7919)")
    parser.add_argument("--model", default="", help="model name behind a URL")
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
    parser.add_argument("--over", default="", metavar="PLAYER", help="with --away: what the player was trained from")
    parser.add_argument(
        "--suite",
        metavar="quick|DOMAIN|full",
        help="play the fixed instances of many worlds, told by domain",
    )
    parser.add_argument("--out", type=Path, help="with --suite: a folder that keeps evaluations and draws their page")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _suite(given: argparse.Namespace) -> int:
    """Play a suite, print its domains, and keep it where `--out` says."""
    from quintain.envs.suites import suite_of
    from quintain.evals import suite_page, suites

    own = {"-n": given.n, "--seed": given.seed, "--away": given.away, "--over": given.over, "--against": given.against}
    fixed = [name for name, value in own.items() if value not in (None, [], "")]
    files, overrides = sources(worlds_in(given.items))
    _own_setting(given.player, files)
    placed = [word for word in overrides if word.startswith(PLACES)] + fixed_by(files)
    if fixed or placed:
        raise configs.ConfigError(
            f"a suite has its own worlds, levels, seeds and rewards; leave out {', '.join([*fixed, *placed])}, or leave out --suite"
        )
    if given.k < 1:
        raise configs.ConfigError(f"-k is {given.k}; it must be at least 1")
    _modelled(given.model, given.player)
    suite = suite_of(given.suite)
    if given.out is not None:
        suite_page.ready(given.out, suite.name)  # before anything is played
    options = {"model": given.model, "key_env": given.key_env}
    casts = suites.casting(given.player, suite, files, overrides, options)
    start = time.perf_counter()
    whose = {"player": given.player, "setting": _setting(given, files, overrides), "digest": suite.digest()}
    part = _part(given, suite, whose, casts(suite.worlds[0])[1])
    calm = _calm if given.greedy else lambda cast: cast
    try:
        played = asyncio.run(suites.play_suite(suite, casts, given.k, calm, Paced(), _warn, part))
    except (QuintainError, KeyboardInterrupt) as error:
        _cut_off(given.player, suite, part, isinstance(error, KeyboardInterrupt))
        raise
    found = {
        "player": given.player,
        **_steps(casts(suite.worlds[0])[1]),
        "setting": whose["setting"],
        "seconds": time.perf_counter() - start,
        **suites.summed(suite, played),
        **_used(casts(suite.worlds[0])[1]),
    }
    if given.json:
        print(json.dumps(found))
    else:
        print(suites.table(found))
        print(f"  {found['seconds']:.1f} s{_spent(found)}")
    if given.out is not None:
        kept = suite_page.keep(found, given.out)
        print(f"  kept; see {kept}", file=sys.stderr if given.json else sys.stdout)
        if isinstance(part, suite_page.Unfinished):
            part.close()
    return 0


def _setting(given: argparse.Namespace, files: Sequence[str], overrides: Sequence[str]) -> str:
    """What sets evaluations of a player apart."""
    own = [f"model {given.model}"] * bool(given.model) + ["greedy"] * given.greedy + [f"k={given.k}"] * (given.k > 1)
    return ", ".join([*own, *files, *overrides])


def _part(given: argparse.Namespace, suite: Any, whose: dict[str, Any], cast: Cast) -> dict[str, Any]:
    """Where the worlds of a suite go as they end: with `--out` and a URL a file, which holds those of the same one that was cut off."""
    from quintain.evals import suite_page

    if given.out is None or not _behind_url(given.player):
        return {}  # others cost nothing, or are not the same the next time
    part = suite_page.Unfinished(given.out, suite.name, whose, cast.engines["policy"].used)  # pyrefly: ignore
    _warn(f"{len(part)} of {len(suite.worlds)} worlds were played before, and are not played again" * bool(part))
    return part


def _cut_off(player: str, suite: Any, part: dict[str, Any], asked: bool) -> None:
    """Say what the worlds that were played came to, and where an evaluation that ended early, as somebody `asked` for, goes on."""
    from quintain.evals import suite_page, suites

    if not part:
        _warn(f"ended in the first of {len(suite.worlds)} worlds; nothing of it is kept" * asked)
        return
    each = ", ".join(f"{world} {suites.score(rows)['success']:.2f}" for world, rows in part.items())
    way = "nothing of them is kept: the same command plays all of them anew"
    if _behind_url(player):
        way = "nothing of them is kept; with --out FOLDER they are, and the same command goes on after them"
    if isinstance(part, suite_page.Unfinished):
        way = f"they are kept in {part.path}, and the same command goes on after them"
    _warn(f"ended after {len(part)} of {len(suite.worlds)} worlds ({each}); {way}")


def _own_setting(player: str, files: list[str]) -> None:
    if files and Path(player, "run.json").is_file():
        raise configs.ConfigError(
            f"a run is evaluated in its own setting, not that of {files[0]!r}; change it with key=value"
        )


def _behind_url(player: str) -> bool:
    return player.startswith(("http://", "https://"))


def _modelled(model: str, *players: str) -> None:
    if model and not any(map(_behind_url, players)):
        raise configs.ConfigError(
            f"--model {model} names a model behind a URL, and none plays here; leave it out, or give the URL as the player"
        )


def _from_seat(far: Paced, cast: Cast, config: configs.Config, text: str) -> None:
    from quintain.runtime.opponents import seats_of

    mine = [seat for seat in seats_of(config) if seat not in cast.frozen] if cast.frozen else []
    far(f"as {mine[0]}: {text}" if mine else text)


def _warn(text: str) -> None:
    if text:
        print(f"WARNING: {text}", file=sys.stderr)


def _calm(cast: Cast) -> Cast:
    return replace(cast, sampling=replace(cast.sampling, temperature=0.0))


def _steps(cast: Cast) -> dict[str, int]:
    """Which checkpoint plays, as `step`, and for the other side, as `against_step`; nothing of players that are no run."""
    theirs = [step for role, step in cast.steps.items() if role in cast.frozen]
    own = {"step": cast.steps["policy"]} if "policy" in cast.steps else {}
    return own | ({"against_step": theirs[0]} if theirs else {})


def _told(found: dict[str, Any]) -> None:
    from quintain.evals.players import called
    from quintain.evals.stats import table

    for one in [found, *([found["away"]] if "away" in found else [])]:
        print(table(f"{called(one['player'], one.get('step'))} in {one['where']}", one))
        print(f"  {one['episodes']} episode{'s' * (one['episodes'] != 1)} in {one['seconds']:.1f} s{_spent(one)}")
    if gains := found.get("gains"):
        told = {name: gains[name] for name in ("home", "away", "generalisation")}
        said = {name: "-" if value is None else f"{value:.3f}" for name, value in told.items()}
        base = called(gains["over"], gains.get("over_step"))
        print(f"relative gains over {base}: " + "   ".join(f"{name} {value}" for name, value in said.items()))


def _used(cast: Cast) -> dict[str, Any]:
    """What a server says of its use, as `used`, and that of the other side, as `used_against`; nothing of players without one."""
    used = getattr(cast.engines.get("policy"), "used", {})
    if cut := used.get("cut_answers"):
        _warn(
            f"{cut:,.0f} of {used['requests']:,.0f} answers were cut at {cast.sampling.max_tokens:,} tokens, and count as they stand; "
            "rollout.max_tokens gives them more"
        )
    theirs = next((other for name in cast.frozen if (other := getattr(cast.engines.get(name), "used", {}))), {})
    return {
        # a cost has a fraction, tokens have none
        name: {what: int(v) if v == int(v) else round(v, 6) for what, v in sums.items()}
        for name, sums in (("used", used), ("used_against", theirs))
        if sums
    }


def _spent(found: dict[str, Any]) -> str:
    told = ""
    for name, by in (("used", ""), ("used_against", "by the other side ")):
        if sums := found.get(name):
            told += f"; {by}" + ", ".join(f"{value:,} {what.replace('_', ' ')}" for what, value in sums.items())
    return told


def _no_result(kept: list[Group], count: int, cast: Cast) -> None:
    """Say what the instances that were played came to before an evaluation ended early."""
    from quintain.evals.stats import summary

    if kept:
        told = summary(kept)
        low, high = told["interval"]
        _warn(
            f"ended after {len(kept)} of {count} instances ({told['episodes']} episodes){_spent(_used(cast))}; success of those "
            f"{told['success']:.3f} ({low:.3f} to {high:.3f}), malformed turns {100 * told['malformed']:.1f} %: this is no result, as "
            "short episodes end first, and nothing of it is kept: the same command plays all of them anew"
        )


def _carried(given: argparse.Namespace, home: dict[str, Any]) -> dict[str, Any]:
    """What was played away, and what was gained there and at home over the player that training began with."""
    from quintain.evals.stats import generalisation, relative_gain
    from quintain.runtime.opponents import ITSELF

    def played(player: str, rival: str | None, *more: str) -> dict[str, Any]:
        items = [*given.items, *more]
        return evaluate(argparse.Namespace(**{**vars(given), "player": player, "against": rival, "items": items}))

    away = played(given.player, given.against, *given.away)
    if not given.over:
        return {"away": away}
    gains, over = [], {"over": given.over}
    for after, more in ((home, ()), (away, given.away)):
        before = played(given.over, after.get("against", ITSELF), *more)
        if before["where"] != after["where"]:
            raise configs.ConfigError(
                f"{given.player} played in {after['where']} and {given.over} in {before['where']}; name world and level for both"
            )
        over |= {"over_step": before["step"]} if "step" in before else {}
        gains.append(relative_gain(before["success"], after["success"]))
    told = {"home": gains[0], "away": gains[1], "generalisation": generalisation(*gains)}
    numbers = {name: value if math.isfinite(value) else None for name, value in told.items()}
    return {"away": away, "gains": {**over, **numbers}}


async def _played(plays: Sequence[Callable[[], Awaitable[list[Group]]]], casts: Sequence[Cast]) -> list[Group]:
    """What was played from each seat, one after the other, task by task."""
    from quintain.runtime.opponents import joined
    from quintain.runtime.playing import close_engines

    try:
        return joined([await one() for one in plays])
    finally:
        await close_engines(casts[0])


def _where(config: configs.Config, drawn: Sequence[Task]) -> str:
    """Data, or the world with those of its levels that were drawn: few instances are not of all."""
    from quintain.runtime.stage import rows_of

    if config.data:
        return f"{config.data} ({rows_of(config, config.eval.split)})"
    here = {task.level for task in drawn}
    levels = [level for level in config.env.levels if level in here] or config.env.levels
    return f"{config.env.name} level {','.join(map(str, levels))} ({config.eval.split})"


def evaluate(given: argparse.Namespace) -> dict[str, Any]:
    """Play and sum up."""
    from quintain.evals.players import called, held_out, opposed
    from quintain.evals.stats import summary
    from quintain.runtime.check import check_playing
    from quintain.runtime.evaluate import play
    from quintain.runtime.failures import refuse_failures, too_few
    from quintain.runtime.playing import make_reward, make_rollout

    files, overrides = sources(worlds_in(given.items))
    config = configs.make(*files, overrides=overrides)
    options = {"model": given.model, "key_env": given.key_env}
    if given.n < 1 or given.k < 1:
        raise configs.ConfigError(f"-n is {given.n} and -k is {given.k}; both must be at least 1")
    config, casts = opposed(given.player, given.against or "", config, overrides, options)
    for player in (given.player, given.against or ""):
        _own_setting(player, files)
    _modelled(given.model, given.player, given.against or config.eval.against, given.over)
    if given.greedy:
        casts = [_calm(cast) for cast in casts]
    check_playing(config, config.eval.split)
    drawn = held_out(config, given.n, given.seed)
    start = time.perf_counter()
    rollout, reward, far = make_rollout(config, given.k), make_reward(config), Paced()
    tellers = [partial(_from_seat, far, cast, config) for cast in casts]
    kept: list[Group] = []
    plays = [
        partial(play, drawn, cast, rollout, reward, far=tell, kept=kept)
        for cast, tell in zip(casts, tellers, strict=True)
    ]
    try:
        groups = asyncio.run(_played(plays, casts))
    except (QuintainError, KeyboardInterrupt):
        _no_result(kept, len(drawn) * len(casts), casts[0])
        raise
    _warn(refuse_failures(groups))
    _warn(too_few(groups, config.rollout.name, given.k * len(casts)))
    rival = given.against or config.eval.against
    facing = {"against": rival} if casts[0].frozen else {}
    steps, where = _steps(casts[0]), _where(config, drawn)
    where += f" against {called(rival, steps.get('against_step'))}" * bool(facing) + ", greedy" * given.greedy
    return {
        "player": given.player,
        **steps,
        "where": where,
        **facing,
        "seconds": time.perf_counter() - start,
        **summary(groups),
        **_used(casts[0]),
    }
