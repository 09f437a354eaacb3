"""Suites played: by whom, how, and what is summed up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from quintain import config as configs
from quintain.config import Config
from quintain.envs.suites import COUNT, SPLIT, Suite
from quintain.envs.world import world_of
from quintain.evals.players import PLAYERS, builtin, called, cast_of
from quintain.evals.stats import compared, effective, interval, paired, passes, told_levels, told_passes
from quintain.parts import Cast
from quintain.registry import build
from quintain.runtime.evaluate import play, succeeded
from quintain.runtime.failures import Cut, cut_of, refuse_failures, too_few
from quintain.runtime.playing import close_engines, make_reward, make_rollout
from quintain.types import Group, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of one instance: share of its episodes that succeeded, how many, mean reward, turns, malformed turns."""

    share: float
    tries: int
    reward: float
    turns: int
    malformed: int


Casting = Callable[[str], tuple[Config, Cast]]  # who plays in a world


def casting(player: str, suite: Suite, files: Sequence[str], overrides: Sequence[str], options: Any) -> Casting:
    """Who plays where: a scripted player anew in each world, a policy the same everywhere, with the scaffold of its run.

    Raises:
        ConfigError: the policy is a model of words that lacks those of a world of the suite.
    """

    def of(world: str) -> Config:
        return configs.make(*files, overrides=[*overrides, f"world={world}", f"level={suite.levels[0]}"])

    if player in PLAYERS:
        return lambda world: (config := of(world), builtin(player, config))
    first = suite.worlds[0]
    config, cast = cast_of(player, of(first), overrides, options)
    words = set(getattr(cast.renderers.get("policy"), "words", ()))
    for world in suite.worlds if words else ():
        lacking = {w for level in suite.levels for w in world_of(world).words(level)} - words
        if lacking:
            raise configs.ConfigError(
                f"{player} is a model of words, and {world} of the suite {suite.name!r} has {len(lacking)} that it lacks, such as "
                f"{min(lacking)!r}: a suite needs a model with a tokenizer (quintain new model), a URL, random or oracle"
            )
    cast = replace(
        cast, env=build("env", {"name": "world", "scaffold": config.env.scaffold})
    )  # whatever it was trained in
    return lambda world: (config, cast)


async def play_suite(
    suite: Suite,
    casts: Casting,
    tries: int = 1,
    change: Callable[[Cast], Cast] = lambda cast: cast,
    far: Callable[[str], None] = lambda text: None,
    warn: Callable[[str], None] = lambda text: None,
    found: MutableMapping[str, list[Played]] | None = None,
) -> Mapping[str, list[Played]]:
    """Play world after world, so that no more than one world's episodes are held; engines are closed at the end.

    Args:
        suite: what is played.
        casts: who plays in a world.
        tries: episodes of each instance.
        change: what becomes of a cast before it plays.
        far: is told after each instance how far it is.
        warn: is told after each world of its episodes that failed, and at the end of answers that were cut, "" where there are none.
        found: takes each world as it ends; those that it has are not played.
    """
    found = {} if found is None else found
    cast: Cast | None = None
    cut = Cut()
    try:
        for world in [world for world in suite.worlds if world not in found]:
            config, cast = casts(world)
            where = f"{world}, {len(found) + 1} of {len(suite.worlds)} worlds"
            groups = await _world(suite.tasks(world), config, change(cast), tries, partial(_told, far, where))
            warn(refuse_failures(groups))
            warn(too_few(groups, config.rollout.name, tries))
            cut = cut.plus(cut_of(t for group in groups for t in group.trajectories))
            found[world] = [_of(group) for group in groups]
        warn(cut.told())
    finally:
        if cast is not None:
            await close_engines(cast)
    return found


def _told(far: Callable[[str], None], where: str, text: str) -> None:
    far(f"{where}: {text}")


async def _world(
    tasks: Sequence[Task], config: Config, cast: Cast, tries: int, far: Callable[[str], None]
) -> list[Group]:
    own = make_reward(configs.make())  # the world's, whatever the player was trained for
    return await play(tasks, cast, make_rollout(config, tries), own, far=far)


def _of(group: Group) -> Played:
    rows = group.trajectories
    n = max(1, len(rows))
    return Played(
        share=sum(succeeded(t.rewards, t.reward) for t in rows) / n,
        tries=len(rows),
        reward=sum(t.reward for t in rows) / n,
        turns=sum(max(1, len(t.turn_rewards), t.turns) for t in rows),
        malformed=sum(e.startswith("malformed") for t in rows for e in t.events),
    )


def score(played: Sequence[Played]) -> dict[str, Any]:
    """Success with its 95 % interval, pass@k, reward and share of malformed turns of instances, each of which counts the same.

    Example:
        >>> one = Played(share=1.0, tries=1, reward=1.0, turns=3, malformed=0)
        >>> none = Played(share=0.0, tries=1, reward=0.5, turns=1, malformed=1)
        >>> found = score([one, none])
        >>> found["success"], found["reward"], found["malformed"], found["episodes"]
        (0.5, 0.75, 0.25, 2)
    """
    n, tries = max(1, len(played)), sum(p.tries for p in played)
    share = sum(p.share for p in played) / n
    worth = effective([p.share for p in played], share, tries)
    return {
        "instances": len(played),
        "episodes": tries,
        "success": share,
        "interval": list(interval(share * worth, worth)),
        "pass": passes([(p.tries, round(p.share * p.tries)) for p in played if p.tries]),
        "reward": sum(p.reward for p in played) / n,
        "malformed": sum(p.malformed for p in played) / max(1, sum(p.turns for p in played)),
    }


def summed(suite: Suite, found: Mapping[str, list[Played]]) -> dict[str, Any]:
    """The whole suite, each domain, each world and, where there are several, each level, as JSON values."""
    levels = {
        str(level): score([p for w in suite.worlds for p in found[w][at * COUNT : (at + 1) * COUNT]])
        for at, level in enumerate(suite.levels)
    }
    worlds = {name: score(found[name]) for name in suite.worlds}
    domains = {domain: [p for w in there for p in found[w]] for domain, there in suite.domains.items()}
    return {
        "suite": suite.name,
        "levels": list(suite.levels),
        "seeds": [0, COUNT - 1],
        "split": SPLIT,
        "digest": suite.digest(),
        **score([p for rows in found.values() for p in rows]),
        "domains": {name: {"worlds": len(suite.domains[name]), **score(rows)} for name, rows in domains.items()},
        "worlds": {name: row["success"] for name, row in worlds.items()},
        "intervals": {name: row["interval"] for name, row in worlds.items()},
        **({"by_level": levels} if len(levels) > 1 else {}),
    }


def gained(suite: Suite, mine: Mapping[str, list[Played]], theirs: Mapping[str, list[Played]]) -> dict[str, Any]:
    """What a player gains over another (see `paired`) in the whole suite, and in `domains` in each."""

    def pairs(worlds: Sequence[str]) -> dict[str, Any]:
        both = [[p.share if p.tries else None for world in worlds for p in found[world]] for found in (mine, theirs)]
        return paired(*both)

    return {**pairs(suite.worlds), "domains": {domain: pairs(there) for domain, there in suite.domains.items()}}


def gains(found: Mapping[str, Any]) -> str:
    """What `gained` found, as lines for people."""
    pairs = found["compared"]
    wide = max(len(name) for name in pairs["domains"])
    lines = [
        f"{called(found['player'], found.get('step'))} {compared(called(pairs['over'], pairs.get('over_step')), pairs)}",
        f"  {'domain':<{wide}}  gained   95 % interval     better  worse",
    ]
    for name, row in pairs["domains"].items():
        low, high = row["interval"]
        lines.append(
            f"  {name:<{wide}}  {row['difference']:+.3f}  {low:+.3f} to {high:+.3f}  {row['better']:>6}  {row['worse']:>5}"
        )
    return "\n".join(lines)


def table(found: Mapping[str, Any]) -> str:
    """The result as lines for people."""
    low, high = found["interval"]
    player = called(found["player"], found.get("step"))
    levels = ", ".join(map(str, found["levels"]))
    lines = [
        f"{player} on suite {found['suite']} (instances {found['digest']}): success {found['success']:.3f}  "
        f"(95 % interval {low:.3f} to {high:.3f})",
        f"  {found['episodes']} episodes of {found['instances']} instances: {len(found['worlds'])} worlds, level {levels}, "
        f"seeds {found['seeds'][0]} to {found['seeds'][1]} of the split {found['split']}",
    ]
    if told := told_passes(found["pass"]):
        lines.append(f"  {told}")
    if levels := found.get("by_level"):
        lines.append(told_levels({level: row["success"] for level, row in levels.items()}))
    wide, most = max(len(name) for name in found["domains"]), [*found["pass"]][1:][-1:]
    head = "".join(f"  pass@{k}" for k in most)
    lines.append(f"  {'domain':<{wide}}  worlds  success   95 % interval {head}  reward  malformed turns")
    for name, row in found["domains"].items():
        low, high = row["interval"]
        lines.append(
            f"  {name:<{wide}}  {row['worlds']:>6}  {row['success']:>7.3f}  {low:.3f} to {high:.3f}"
            + "".join(f"  {row['pass'][k]:>{5 + len(k)}.3f}" for k in most)
            + f"  {row['reward']:>7.3f}  {100 * row['malformed']:>13.1f} %"
        )
    return "\n".join(lines)
