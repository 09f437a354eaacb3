"""What a world declares of itself, measured: what its oracle earns and knows, what players earn who do not look, how many starts
differ, how much each level asks for.

`measure` plays, `broken` compares with the declaration. Tests measure a slice, `make honest` all, and keeps a row per world.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import hashlib
import importlib.util
import math
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quintain.codec import digest_of
from quintain.envs.world import world_of
from quintain.registry import entry
from quintain.testing.worlds import (
    Player,
    constant_player,
    example_move,
    first_player,
    oracle_player,
    play,
    random_player,
    replay_player,
    task_of,
)
from quintain.types import Stop
from quintain.worlds.kernel import LEVELS, Move, Plan, Unknown

UNKNOWN = 0.01  # share of starts on which an exact oracle may give up
RISE = 0.85  # correlation of level and effort, by ranks
PLAYED_RISE = 0.7  # the same where effort is what was played, in which luck and the opponent have their part
START_LEVEL = 5  # at which starts are counted
CLOCKED = 200  # starts of each other level
PACES = {"text": 100, "picture": 50, "resets": 60}  # a second on the same core, at level 5: what is due of every world
START_S = 0.05  # of a core that makes a million additions in 40 ms: the slowest hundredth of starts


class Slice(NamedTuple):
    """Which instances are played.

    Attributes:
        oracle: seeds for an exact oracle.
        policy: seeds for the oracle of a game, which takes long.
        levels: of both.
        players: seeds for those who do not look.
        judged: levels of those.
        starts: seeds begun at level 5, which must differ.
        clocked: levels whose starts are timed.
        known: seeds of each level up to 7 for what the oracle knows.
        others: seeds whose plans a blind oracle plays elsewhere.
        sigmas: standard errors by which a mean may miss what is declared; 0 for the whole, on which declarations are made.
    """

    oracle: Sequence[int]
    policy: Sequence[int]
    levels: Sequence[int]
    players: Sequence[int]
    judged: Sequence[int]
    starts: Sequence[int]
    clocked: Sequence[int]
    known: Sequence[int]
    others: Sequence[int]
    sigmas: float


WHOLE = Slice(
    range(200, 400),
    range(200, 400),
    (0, 5, 9),
    range(1000, 1040),
    range(2, LEVELS),
    range(10_000),
    range(8),
    range(13),
    range(400, 408),
    sigmas=0.0,
)


def turned(number: int) -> Slice:
    """The slice of the `number`-th look: other seeds and levels each time, few, so that chance is given more room."""
    begin = 1_000 * (number % 1_000)
    levels = [(number + i) % LEVELS for i in (0, 3, 6)]
    judged = [2 + (number + i) % (LEVELS - 2) for i in (0, 3, 6)]
    ten = range(begin, begin + 10)
    return Slice(
        ten, ten[:3], levels, ten, judged, range(begin, begin + 300), (START_LEVEL,), ten[:1], ten[:2], sigmas=4.5
    )


def measure(name: str, of: Slice = WHOLE) -> dict[str, Any]:
    """Figures of one world.

    Returns:
        `oracle` (mean reward), `lapses` (level and seed where an exact oracle did not earn what it promised), `unknown` (share of
        starts up to level 7 on which it gave up), `players` (the highest mean reward of each), `effort` of each level, `distinct`
        starts, and `starts_s`: of levels, how long the slowest hundredth of starts and the mean one takes.
    """
    world = world_of(name)
    exact = world.facts.proof != "policy"
    rewards, lapses = [], []
    for level in of.levels:
        for seed in of.oracle if exact else of.policy:
            played = play(task_of(name, seed, level), oracle_player())
            rewards.append(played.reward)
            plan = world.solve(played.states[0], world.facts.seats[0]) if exact else None
            if exact and not (
                isinstance(plan, Plan) and plan.value == 1.0 <= played.reward + 1e-9 and played.stop is Stop.done
            ):
                lapses.append([level, seed])
    players: dict[str, float] = {}
    for kind, player in _blind(name):
        mean = statistics.mean(earned(name, player, of.judged, of.players))
        players[kind] = max(mean, players.get(kind, 0.0))
    elsewhere = list(_elsewhere(name, of.others))
    row = {"oracle": statistics.mean(rewards), "oracle_episodes": len(rewards), "lapses": lapses}
    row |= {"players": players, "player_episodes": len(of.judged) * len(of.players)}
    row |= {"blind": statistics.mean(elsewhere), "blind_episodes": len(elsewhere)}
    row |= {"unknown": _unknown(name, of.known)} if exact else {}
    seeds = of.known[:4] if exact else of.known[:12]
    row |= {"effort": [effort(name, level, seeds) for level in range(LEVELS)]} if len(of.known) > 3 else {}
    return row | _starts(name, of)


def broken(name: str, row: Mapping[str, Any], sigmas: float = WHOLE.sigmas) -> list[str]:
    """What a row of `measure` shows that its world does not keep, in words; nothing when all is kept."""
    facts, found = world_of(name).facts, []
    if row["lapses"]:
        found.append(f"the oracle of {name} does not earn what it promises at (level, seed) {row['lapses'][:5]}")
    least = facts.floor - sigmas * math.sqrt(facts.floor * (1 - facts.floor) / row["oracle_episodes"])
    if facts.proof == "policy" and row["oracle"] < least:
        found.append(f"the oracle of {name} earns {row['oracle']:.3f}; declared {facts.floor}")
    judged = [(kind, mean, row["player_episodes"]) for kind, mean in row["players"].items()]
    for kind, mean, n in [*judged, ("blind", row.get("blind", 0.0), row.get("blind_episodes", 1))]:
        ceiling = facts.ceilings[kind]
        room = sigmas * math.sqrt(ceiling * (1 - ceiling) / n) + 1 / n if sigmas else 1e-9
        if mean > ceiling + room:
            found.append(f"the {kind} player earns {mean:.3f} in {n} episodes of {name}; declared {ceiling}")
    if row.get("unknown", 0.0) > UNKNOWN:
        found.append(
            f"the oracle of {name} gives up on {row['unknown']:.1%} of its starts up to level 7; {UNKNOWN:.0%} is the most"
        )
    due = RISE if facts.proof != "policy" else PLAYED_RISE
    if "effort" in row and (rise := rises(row["effort"])) < due:
        found.append(
            f"what {name} asks for does not rise with the level (correlation {rise:.2f}, {due} is due): {row['effort']}"
        )
    if "distinct" in row and row["distinct"] < _least(facts.variety / 10_000, row["starts"], sigmas):
        found.append(
            f"{row['distinct']} of {row['starts']:,} instances of {name} differ; declared {facts.variety} of 10,000"
        )
    for level, late, _ in row.get("starts_s", ()):
        if late > START_S * row.get("slowness", 1.0):
            found.append(
                f"the slowest hundredth of the starts of {name} at level {level} takes {late:.3f} s; {START_S} s is due on a quick core"
            )
    return found + _slow(name, row)


def earned(name: str, player: Player, levels: Sequence[int], seeds: Sequence[int]) -> list[float]:
    """Rewards of one player over instances."""
    return [play(task_of(name, seed, level), player).reward for level in levels for seed in seeds]


def effort(name: str, level: int, seeds: Sequence[int]) -> float:
    """How much a level asks for: moves of the oracle's plan, blanks of a one-answer world, choices of an oracle that estimates."""
    world, total = world_of(name), 0.0
    for seed in seeds:
        if world.facts.proof == "policy":
            total += _choices(name, level, seed)
            continue
        start = world.start(seed, level)
        plan = world.solve(start, world.facts.seats[0])
        if isinstance(plan, Plan) and len(plan.moves) > 1:
            total += len(plan.moves)
        else:
            total += world.view(start, world.facts.seats[0]).caption(2).count(".")
    return total / len(seeds)


def _choices(name: str, level: int, seed: int) -> int:
    """Legal moves that the oracle chose among in an episode in which all seats play as it does; its moves, where none are listed."""
    world = world_of(name)
    first = world.facts.seats[0]
    played = play(task_of(name, seed, level), oracle_player(), others=oracle_player())
    views = [world.view(state, first) for state in played.states[:-1]]
    return sum([max(1, len(view.legal())) for view in views if view.acts])


def _slow(name: str, row: Mapping[str, Any]) -> list[str]:
    """Which paces of a row lie below what is due, in words; a slice has none."""
    slow = row.get("slowness", 1.0)
    return [
        f"{name} makes {had:g} {'starts' if kind == 'resets' else f'steps with {kind}'} a second; {PACES[kind]} are due on a quick core"
        for kind, had in row.get("pace", {}).items()
        if had * slow < PACES[kind]
    ]


def rises(efforts: Sequence[float]) -> float:
    """Correlation of levels and the ranks of what they ask for; 0 where all ask for the same."""
    ranks = [sorted(efforts).index(e) for e in efforts]
    return statistics.correlation(range(len(ranks)), ranks) if len(set(ranks)) > 1 else 0.0


def slowness() -> float:
    """How much longer a million additions take here than the 40 ms of the core that starts are promised for; at least 1."""
    best = float("inf")
    for _ in range(5):
        begun, total = time.process_time(), 0
        for i in range(1_000_000):
            total += i
        best = min(best, time.process_time() - begun)
    return max(1.0, best / 0.04)


def digest(name: str) -> str:
    """A hash of all code that a world stands on, and of what it is measured with."""
    found = hashlib.sha256()
    modules = entry("world", name).make.__module__, __name__, "quintain.testing.worlds"
    for path in sorted(set[Path]().union(*map(_sources, modules))):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def _blind(name: str) -> Iterator[tuple[str, Player]]:
    """Players who do not look: random, the first move, and constant moves: some that are legal somewhere, and the commonest answer."""
    world = world_of(name)
    yield "random", random_player(name)
    yield "first", first_player
    starts = [world.view(world.start(seed, 4), world.facts.seats[0]) for seed in range(6)]
    said = {m.key: m for view in starts for m in view.legal()[:6]}
    for move in (*list(said.values())[:3], example_move(world, world.facts.seats[0]), *_commonest(name)):
        yield "constant", constant_player(move)


def _commonest(name: str, seeds: Sequence[int] = range(5)) -> list[Move]:
    """The first move that the oracle says most often over all levels; none where it says each only once."""
    world = world_of(name)
    if world.facts.proof == "policy":
        return []
    plans = [
        world.solve(world.start(seed, level), world.facts.seats[0]) for level in range(2, LEVELS) for seed in seeds
    ]
    first = {p.moves[0].key: p.moves[0] for p in plans if isinstance(p, Plan) and p.moves}
    told = Counter(p.moves[0].key for p in plans if isinstance(p, Plan) and p.moves).most_common(1)
    return [first[key] for key, times in told if times > 1]


def _elsewhere(name: str, seeds: Sequence[int]) -> Iterator[float]:
    """What plans of other instances earn: a blind oracle knows the game and the level, and not this instance."""
    few = world_of(name).facts.proof == "policy"
    for level in (1, 2) if few else (2, 4, 6):
        for seed in seeds[:6] if few else seeds:
            plan = play(task_of(name, seed, level), oracle_player()).moves
            yield from earned(name, replay_player(plan), (level,), (seed + 1000, seed + 2000))


def _unknown(name: str, seeds: Sequence[int]) -> float:
    """Share of starts up to level 7 on which the oracle gives up."""
    world = world_of(name)
    answers = [world.solve(world.start(seed, level), world.facts.seats[0]) for level in range(8) for seed in seeds]
    return sum(isinstance(a, Unknown) for a in answers) / len(answers)


@contextlib.contextmanager
def _young() -> Iterator[None]:
    """Garbage is looked for only among what is made inside: what else a process holds is not a world's to look through."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _starts(name: str, of: Slice) -> dict[str, Any]:
    world, seen = world_of(name), set()
    found: dict[str, Any] = {"starts_s": []}
    count = not world.facts.shared_starts
    with _young():
        for level in of.clocked:
            times = []
            for seed in of.starts if level == START_LEVEL and count else of.starts[:CLOCKED]:
                begun = time.process_time()
                state = world.start(seed, level)
                times.append(time.process_time() - begun)
                if level == START_LEVEL and count:
                    seen.add(digest_of(state))
            late = sorted(times)[len(times) * 99 // 100]
            found["starts_s"].append([level, late, statistics.mean(times)])
    if any(late > START_S for _, late, _ in found["starts_s"]):
        found["slowness"] = slowness()
    return found | ({"distinct": len(seen), "starts": len(of.starts)} if count else {})


def _least(share: float, starts: int, sigmas: float) -> float:
    """How many of some starts must differ: the declared share, of fewer than 10,000 what chance leaves of it."""
    return share * starts - (sigmas * math.sqrt(share * starts) if starts < 10_000 else 0.0)


def _sources(module: str) -> set[Path]:
    """The files of a module and of the worlds' modules that it imports, directly or not."""
    found: set[Path] = set()
    waiting, seen = [module], set()
    while waiting:
        if (now := waiting.pop()) in seen:
            continue
        seen.add(now)
        path, inner = _imports(now)
        if path is not None:
            found.add(path)
            waiting += inner
    return found


@functools.cache
def _imports(module: str) -> tuple[Path | None, list[str]]:
    """The file of a module, and the worlds' modules among what it imports."""
    spec = importlib.util.find_spec(module)
    path = Path(spec.origin) if spec is not None and spec.origin else None
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if path else ():
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("quintain.worlds"):
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [node.module or "", *(m for m in inner if m in sys.modules)]
    return path, found
