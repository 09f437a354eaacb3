"""One player, or two of them, on held-out instances: what `quintain eval` plays where no suite is named."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from quintain import config as configs
from quintain import registry
from quintain.cli.args import sources
from quintain.cli.places import worlds_in
from quintain.parts import Cast
from quintain.types import Group, QuintainError, Task
from quintain.waits import Paced


def evaluate(given: argparse.Namespace) -> dict[str, Any]:
    """Play at home, and where `--away` says; each of them also with `--over`, on the same instances."""
    from quintain.evals.players import refuse_unknown
    from quintain.evals.stats import generalisation

    for player in (given.player, given.over, given.against or ""):  # before anything is played
        own_setting(player, sources(worlds_in(given.items))[0])
    if given.over:
        refuse_unknown(given.over)
    home, gains = _beside(given, ())
    if not given.away:
        return home
    with _played_before(home):
        away, further = _beside(given, given.away)
    if not given.over:
        return {**home, "away": away}
    told = {"home": gains, "away": further, "generalisation": generalisation(gains, further)}
    numbers = {name: value if math.isfinite(value) else None for name, value in told.items()}
    return {**home, "away": away, "gains": {**_whose(home["compared"]), **numbers}}


def told(found: dict[str, Any]) -> None:
    """Print what `evaluate` found."""
    from quintain.evals.players import called
    from quintain.evals.stats import compared, table

    for one in [found, *([found["away"]] if "away" in found else [])]:
        print(table(f"{called(one['player'], one.get('step'))} in {one['where']}", one))
        print(f"  {one['episodes']} episode{'s' * (one['episodes'] != 1)} in {one['seconds']:.1f} s{spent(one)}")
        if pairs := one.get("compared"):
            print(f"  {compared(called(pairs['over'], pairs.get('over_step')), pairs)}")
    if gains := found.get("gains"):
        rows = {name: gains[name] for name in ("home", "away", "generalisation")}
        said = {name: "-" if value is None else f"{value:.3f}" for name, value in rows.items()}
        base = called(gains["over"], gains.get("over_step"))
        print(f"relative gains over {base}: " + "   ".join(f"{name} {value}" for name, value in said.items()))


def _whose(pairs: dict[str, Any]) -> dict[str, Any]:
    return {name: pairs[name] for name in ("over", "over_step") if name in pairs}


def _beside(given: argparse.Namespace, more: Sequence[str]) -> tuple[dict[str, Any], float]:
    """What came of the player with further words, compared with `--over`, and the relative gain over that player (NaN without one)."""
    from quintain.evals.stats import paired, relative_gain, shares
    from quintain.runtime.opponents import ITSELF

    words = [*given.items, *more]
    mine = _prepared(given, given.player, given.against or "", _placed(given.over, given.player, words))
    found, groups = _play(mine)
    if not given.over:
        return found, math.nan
    rival = found.get("against", ITSELF)
    with _played_before(found):
        theirs = _prepared(given, given.over, rival, _placed(given.player, given.over, words))
        if theirs.place() != mine.place():
            raise configs.ConfigError(
                f"{mine.name} played in {mine.where} and {theirs.name} would play in {theirs.where}, or with other knobs; "
                "name world and level for both"
            )
        before, others = _play(theirs)
    pairs = over(before, paired(shares(groups), shares(others)))
    return {**found, "compared": pairs}, relative_gain(before["success"], found["success"])


def over(other: dict[str, Any], pairs: dict[str, Any]) -> dict[str, Any]:
    """What is gained (see `paired`), with the other player, its step and its success."""
    steps = {"over_step": other["step"]} if "step" in other else {}
    return {"over": other["player"], **steps, "success": other["success"], **pairs}


@contextlib.contextmanager
def _played_before(found: dict[str, Any]) -> Iterator[None]:
    """Tell what one player came to where what is played after it comes to nothing."""
    from quintain.evals.players import called

    try:
        yield
    except (QuintainError, KeyboardInterrupt):
        low, high = found["interval"]
        warn(
            f"{called(found['player'], found.get('step'))} had played to its end in {found['where']}: success "
            f"{found['success']:.3f} ({low:.3f} to {high:.3f})"
        )
        raise


def _placed(other: str, player: str, words: Sequence[str]) -> list[str]:
    """The words for a player that is no run, beside a run: it plays in that run's setting, which the words change."""
    from quintain.evals.players import run_of

    there, own = run_of(other) if other else None, run_of(player)
    return [str(there[0] / "config.toml"), *words] if there and not own else [*words]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """Who plays what, before it is played."""

    given: argparse.Namespace
    name: str
    config: configs.Config
    casts: Sequence[Cast]
    drawn: Sequence[Task]
    where: str
    facing: dict[str, str]

    def place(self) -> tuple[Any, ...]:
        """What two players must share to be compared."""
        env = self.config.env
        return self.drawn, env.name, env.params, self.config.data


def _prepared(given: argparse.Namespace, player: str, against: str, items: Sequence[str]) -> _Prepared:
    from quintain.evals.players import called, held_out, named, opposed
    from quintain.runtime.check import check_playing
    from quintain.runtime.fits import cramped
    from quintain.runtime.stage import env_of
    from quintain.runtime.words import Place

    files, overrides = sources(worlds_in(list(items)))
    config = configs.make(*files, overrides=overrides)
    options = {"model": given.model, "key_env": given.key_env}
    if given.n < 1 or given.k < 1:
        raise configs.ConfigError(f"-n is {given.n} and -k is {given.k}; both must be at least 1")
    config, casts = opposed(player, against, config, overrides, options)
    modelled(given.model, player, against or config.eval.against, given.over, given.player)
    if given.greedy:
        casts = [calm(cast) for cast in casts]
    check_playing(config, config.eval.split)
    drawn = held_out(config, given.n, given.seed)
    if (renderer := casts[0].renderers.get("policy")) and env_of(config) in registry.names("world"):
        warn(cramped(config, renderer, [Place.played(config)], config.eval.split))
    rival = named(against or config.eval.against)
    where = _where(config, drawn)
    if casts[0].frozen:
        where += f" against {called(rival, steps_of(casts[0]).get('against_step'))}"
    where += ", greedy" * given.greedy
    return _Prepared(
        given=given,
        name=named(player),
        config=config,
        casts=casts,
        drawn=drawn,
        where=where,
        facing={"against": rival} if casts[0].frozen else {},
    )


def _play(one: _Prepared) -> tuple[dict[str, Any], list[Group]]:
    """Play and sum up."""
    from quintain.evals.stats import summary
    from quintain.runtime.evaluate import play
    from quintain.runtime.failures import cut_of, refuse_failures, too_few
    from quintain.runtime.playing import make_reward, make_rollout

    config, casts, k = one.config, one.casts, one.given.k
    start = time.perf_counter()
    rollout, reward, far = make_rollout(config, k), make_reward(config), Paced()
    tellers = [partial(_from_seat, far, cast, config) for cast in casts]
    kept: list[Group] = []
    plays = [
        partial(play, one.drawn, cast, rollout, reward, far=tell, kept=kept)
        for cast, tell in zip(casts, tellers, strict=True)
    ]
    try:
        groups = asyncio.run(_played(plays, casts))
    except (QuintainError, KeyboardInterrupt):
        _no_result(kept, len(one.drawn) * len(casts), casts[0])
        raise
    warn(refuse_failures(groups))
    warn(too_few(groups, config.rollout.name, k * len(casts)))
    warn(cut_of(t for group in groups for t in group.trajectories).told())
    found = {
        "player": one.name,
        **steps_of(casts[0]),
        "where": one.where,
        **one.facing,
        "seconds": time.perf_counter() - start,
        **summary(groups),
        **used(casts[0]),
    }
    return found, groups


async def _played(plays: Sequence[Callable[[], Awaitable[list[Group]]]], casts: Sequence[Cast]) -> list[Group]:
    """What was played from each seat, one after the other, task by task."""
    from quintain.runtime.opponents import joined
    from quintain.runtime.playing import close_engines

    try:
        return joined([await one() for one in plays])
    finally:
        await close_engines(casts[0])


def _from_seat(far: Paced, cast: Cast, config: configs.Config, text: str) -> None:
    from quintain.runtime.opponents import seats_of

    mine = [seat for seat in seats_of(config) if seat not in cast.frozen] if cast.frozen else []
    far(f"as {mine[0]}: {text}" if mine else text)


def _where(config: configs.Config, drawn: Sequence[Task]) -> str:
    """Data, or the world with those of its levels that were drawn: few instances are not of all."""
    from quintain.runtime.stage import rows_of

    if config.data:
        return f"{config.data} ({rows_of(config, config.eval.split)})"
    here = {task.level for task in drawn}
    levels = [level for level in config.env.levels if level in here] or config.env.levels
    return f"{config.env.name} level {','.join(map(str, levels))} ({config.eval.split})"


def own_setting(player: str, files: list[str]) -> None:
    """Refuse a recipe or file beside a run."""
    from quintain.evals.players import run_of

    if files and run_of(player):
        raise configs.ConfigError(
            f"a run is evaluated in its own setting, not that of {files[0]!r}; change it with key=value"
        )


def modelled(model: str, *players: str) -> None:
    """Refuse the name of a model where none of the players lacks one."""
    from quintain.evals.players import behind_url, nameless

    if not model or any(map(nameless, players)):
        return
    has = "none plays here; leave it out, or give the URL as the player"
    if any(map(behind_url, players)):
        has = "each URL here names its own; leave it out"
    raise configs.ConfigError(f"--model {model} names a model behind a URL, and {has}")


def warn(text: str) -> None:
    """Say it beside the result; "" says nothing."""
    if text:
        print(f"WARNING: {text}", file=sys.stderr)


def calm(cast: Cast) -> Cast:
    """At temperature 0."""
    return replace(cast, sampling=replace(cast.sampling, temperature=0.0))


def steps_of(cast: Cast) -> dict[str, int]:
    """Which checkpoint plays, as `step`, and for the other side, as `against_step`; nothing of players that are no run."""
    theirs = [step for role, step in cast.steps.items() if role in cast.frozen]
    own = {"step": cast.steps["policy"]} if "policy" in cast.steps else {}
    return own | ({"against_step": theirs[0]} if theirs else {})


def used(cast: Cast) -> dict[str, Any]:
    """What a server says of its use, as `used`, and that of the other side, as `used_against`; nothing of players without one."""
    from quintain.runtime.failures import Cut

    used = getattr(cast.engines.get("policy"), "used", {})
    if cut := used.get("cut_answers"):
        warn(Cut(int(cut), int(used["requests"]), cast.sampling.max_tokens).told())
    theirs = next((other for name in cast.frozen if (other := getattr(cast.engines.get(name), "used", {}))), {})
    return {
        # a cost has a fraction, tokens have none
        name: {what: int(v) if v == int(v) else round(v, 6) for what, v in sums.items()}
        for name, sums in (("used", used), ("used_against", theirs))
        if sums
    }


def spent(found: dict[str, Any]) -> str:
    """What servers say of their use, for people."""
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
        warn(
            f"ended after {len(kept)} of {count} instances ({told['episodes']} episodes){spent(used(cast))}; success of those "
            f"{told['success']:.3f} ({low:.3f} to {high:.3f}), malformed turns {100 * told['malformed']:.1f} %: this is no result, as "
            "short episodes end first, and nothing of it is kept: the same command plays all of them anew"
        )
