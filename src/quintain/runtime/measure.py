"""What is measured of a step besides the learner's own metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from quintain.config import Config
from quintain.given import numbers_of
from quintain.parts import Cast, Sampler, State
from quintain.runtime.drawn import told_places
from quintain.runtime.failures import cut_of
from quintain.runtime.opponents import AGAINST, ITSELF, PLAYERS, mixture, seats_in
from quintain.types import Group, Kind, Stop

EPISODES, GROUPS = "tally/episodes", "tally/groups"  # what the means of a step are over, here
TALLIES = ("tally/", "won/")  # how counts begin that add up over ranks and become shares
NEWEST = ("engine_versions",)  # counts of engines that are states: the largest counts


class Apart(NamedTuple):
    """What the success of a run is told by, besides: who plays the other seats where others than the policy may, and where it is played.

    `places` are names of worlds, or of the levels of one: `KeyDoor:2`.
    """

    rivals: bool = False
    places: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        """All there may be in a step."""
        return (*((ITSELF, *sorted(PLAYERS)) if self.rivals else ()), *self.places)

    def of(self, group: Group) -> tuple[str, ...]:
        """Those that a group counts for."""
        task, who = group.task, group.tags.get(AGAINST, ITSELF)
        against = (who,) if self.rivals and len(seats_in(task.env)) > 1 else ()
        return (*against, *(place for place in (task.env, f"{task.env}:{task.level}") if place in self.places))


WHOLE = Apart()  # by nothing


class Seen(NamedTuple):
    """What the metrics of a step need of a group: taken when it is finished, so that the end of a step has little to add up."""

    rewards: tuple[float, ...]  # by trajectory, as the next four
    successes: tuple[bool, ...]
    turns: tuple[int, ...]
    malformed: tuple[int, ...]  # events
    stops: tuple[Stop, ...]
    sampled: int  # tokens
    context: int  # tokens of all nodes
    retries: int
    rebuilt: int
    unscored: int
    tags: Mapping[str, Any]
    apart: tuple[str, ...]  # what its success is told by, besides
    cut: int  # answers, at the token limit of a turn


def apart(config: Config) -> Apart:
    """What the success of a run is told by, besides: its opponents, its worlds where there are several, else the levels of the one.

    Example:
        >>> from quintain import config as configs
        >>> two = {"name": "worlds", "env": ["KeyDoor", "FourRooms"], "levels": [0, 2]}
        >>> apart(configs.make({"sampler": two})).places, apart(configs.make(overrides=["level=1-2"])).places
        (('KeyDoor', 'FourRooms'), ('KeyDoor:1', 'KeyDoor:2'))
    """
    places = told_places(config)
    worlds = dict.fromkeys(place.world for place in places)
    at = dict.fromkeys(f"{place.world}:{level}" for place in places for level in place.levels)
    return Apart(bool(mixture(config)), tuple(worlds if len(worlds) > 1 else at if len(at) > 1 else ()))


def seen(group: Group, apart: Apart = WHOLE) -> Seen:
    """What `played` needs of a finished group."""
    each = group.trajectories
    events = [e for t in each for e in t.events]
    return Seen(
        rewards=group.rewards,
        successes=tuple(t.rewards.get("success", t.reward) >= 1.0 for t in each),
        turns=tuple(t.turns for t in each),
        malformed=tuple(sum(e.startswith("malformed") for e in t.events) for t in each),
        stops=tuple(t.stop for t in each),
        sampled=sum(t.length for t in each),
        context=sum(len(node.tokens) for t in each for node in t.nodes),
        retries=sum(e.startswith("retry ") for e in events),
        rebuilt=sum(e.startswith("rebuilt") for e in events),
        unscored=sum(not t.rewards and t.nodes[-1].kind is Kind.forced for t in each if t.nodes),
        tags=group.tags,
        apart=apart.of(group),
        cut=cut_of(each).count,
    )


def played(
    finished: Sequence[Seen], shown: Sequence[Seen], trained: Sequence[Group], version: int, apart: Apart = WHOLE
) -> dict[str, float]:
    """Sums and means over the groups of one step: reward, success, lag, turns, tokens, stops.

    Means are over the tickets of the step, whenever they were played: over what happened to finish meanwhile they would show
    short episodes first, and steps of a few groups as large as others.

    What is rare is there only where it happened: `retries`, envs `rebuilt` on another worker, the largest learned `deadline_s`,
    `busy_s` that episodes had their slots, members started in races, those that lost, and their tokens, members that were added to
    groups or forked from others; answers of agents that nothing scored (`unscored`), and that were cut at the token limit of a turn
    (`answers_cut`).

    Args:
        finished: what was played since the last step; sums are theirs.
        shown: the groups of the tickets that this step concluded, also what a gate dropped; means are theirs.
        trained: what the step trained on; the lag is theirs.
        version: the policy version at consumption.
        apart: what episodes and successes are counted by, besides, as `told_apart` takes them.
    """
    stops = Counter(stop for g in shown for stop in g.stops)
    n = max(1, stops.total())
    lags = [version - g.oldest for g in trained]
    out = {
        "reward": sum(r for g in shown for r in g.rewards) / n,
        "success": sum(sum(g.successes) for g in shown) / n,
        "solved_some": sum(any(r >= 1.0 for r in g.rewards) for g in shown) / max(1, len(shown)),
        "episodes": float(sum(len(g.stops) for g in finished)),
        "groups_played": float(len(finished)),
        "groups_trained": float(len(trained)),
        "turns": sum(sum(g.turns) for g in shown) / n,
        "tokens_sampled": float(sum(g.sampled for g in finished)),
        "tokens_context": float(sum(g.context for g in finished)),
        "lag_mean": sum(lags) / max(1, len(lags)),
        "lag_max": float(max(lags, default=0)),
        "malformed": sum(sum(g.malformed) for g in shown) / n,
    }
    out |= _tallies(shown, apart.names()) | {EPISODES: float(stops.total()), GROUPS: float(len(shown))}
    out |= {f"stop/{stop}": stops[stop] / n for stop in Stop if stops[stop]}
    return out | {name: value for name, value in _cared(finished).items() if value}


def counted_by(name: str) -> str:
    """The count that a mean of `played` is over; "" for what is none of its means.

    Example:
        >>> counted_by("stop/done"), counted_by("lag_mean"), counted_by("episodes")
        ('tally/episodes', 'groups_trained', '')
    """
    over = {"solved_some": GROUPS, "lag_mean": "groups_trained"}
    over |= dict.fromkeys(("reward", "success", "turns", "malformed"), EPISODES)
    return EPISODES if name.startswith("stop/") else over.get(name, "")


def _tallies(groups: Sequence[Seen], names: Sequence[str]) -> dict[str, float]:
    """Episodes and successes by each of `names`; as counts, which add up over ranks, of which all give the same."""
    out = Counter({f"{what}{name}": 0 for what in TALLIES for name in names})
    for group in groups:
        for name in group.apart:
            out.update({f"tally/{name}": len(group.successes), f"won/{name}": sum(group.successes)})
    return {name: float(count) for name, count in out.items()}


def told_apart(row: Mapping[str, float], apart: Apart = WHOLE) -> dict[str, float]:
    """A row with `success/NAME` in place of its tallies, for the names that had an episode.

    Example:
        >>> told_apart({"reward": 0.5, "tally/random": 4.0, "won/random": 3.0, "tally/policy": 0.0}, Apart(rivals=True))
        {'reward': 0.5, 'success/random': 0.75}
    """
    kept = {name: value for name, value in row.items() if not name.startswith(TALLIES)}
    counts = {name: row.get(f"tally/{name}", 0.0) for name in apart.names()}
    return kept | {f"success/{name}": row[f"won/{name}"] / count for name, count in counts.items() if count}


def _cared(groups: Sequence[Seen]) -> dict[str, float]:
    """Second tries, moved envs and races: what is 0 in most runs."""
    races = [g.tags["race"] for g in groups if "race" in g.tags]
    return {
        "retries": float(sum(g.retries for g in groups)),
        "rebuilt": float(sum(g.rebuilt for g in groups)),
        "unscored": float(sum(g.unscored for g in groups)),
        "answers_cut": float(sum(g.cut for g in groups)),
        "deadline_s": max((g.tags.get("deadline_s", 0.0) for g in groups), default=0.0),
        "busy_s": sum(g.tags.get("busy_s", 0.0) for g in groups),
        "members_added": float(sum(g.tags.get("added", 0) for g in groups)),
        "members_forked": float(sum(g.tags.get("forks", 0) for g in groups)),
        "members_started": float(sum(r["started"] for r in races)),
        "members_lost": float(sum(r["lost"] for r in races)),
        "tokens_lost": float(sum(r["tokens"] for r in races)),
    }


def timing(laps: Mapping[str, float], of: Mapping[str, float]) -> dict[str, float]:
    """Seconds by phase, tokens per second, and where slots are counted the episodes that had one, of one step."""
    total = sum(laps.values())
    rates = {"seconds": total, "tokens_per_second": of.get("tokens_context", 0.0) / total if total else 0.0}
    if busy := of.get("busy_s"):
        rates["episodes_at_once"] = busy / total if total else 0.0  # those that had a slot, on average
    return {f"seconds/{name}": seconds for name, seconds in laps.items()} | rates


def summed(counts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Counts of several engines together.

    Example:
        >>> summed([{"engine_carried": 2.0, "engine_versions": 3.0}, {"engine_carried": 1.0, "engine_versions": 2.0}])
        {'engine_carried': 3.0, 'engine_versions': 3.0}
    """
    out: dict[str, float] = {}
    for each in counts:
        for name, value in each.items():
            before = out.get(name, 0.0)
            out[name] = max(before, value) if name in NEWEST else before + value
    return out


def engines(cast: Cast) -> dict[str, float]:
    """What the engines that learn have counted since the last call, as far as they count."""
    learning = [engine for role, engine in cast.engines.items() if role not in cast.frozen]
    return summed([engine.counters() for engine in learning if hasattr(engine, "counters")])  # pyrefly: ignore


def counted(cast: Cast, sampler: Sampler, state: State) -> dict[str, float]:
    """What engines have counted (see `engines`), and what the sampler adds."""
    return engines(cast) | numbers_of(sampler, state)
