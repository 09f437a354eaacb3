"""What a world declares of itself, measured: what its oracle earns, what players earn who do not look, how many starts differ.

`measure` plays, `broken` compares with the declaration. Tests measure a slice, `make honest` all, and keeps a row per world.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import math
import statistics
import sys
import time
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
    task_of,
)
from quintain.types import Stop
from quintain.worlds.kernel import LEVELS, Plan

PLAYERS = ("random", "first", "constant")
START_S = 0.05  # of a core that makes a million additions in 40 ms: the slowest hundredth of starts


class Slice(NamedTuple):
    """Which instances are played.

    Attributes:
        oracle: seeds for an exact oracle.
        policy: seeds for the oracle of a game, which takes long.
        levels: of both.
        players: seeds for those who do not look.
        judged: levels of those.
        starts: how many seeds are begun at level 5.
        sigmas: standard errors by which a mean may miss what is declared.
    """

    oracle: Sequence[int]
    policy: Sequence[int]
    levels: Sequence[int]
    players: Sequence[int]
    judged: Sequence[int]
    starts: Sequence[int]
    sigmas: float


WHOLE = Slice(
    range(200, 400), range(200, 208), (0, 5, 9), range(1000, 1040), range(2, LEVELS), range(10_000), sigmas=2.3
)


def turned(number: int) -> Slice:
    """The slice of the `number`-th look: other seeds and levels each time, few, so that chance is given more room."""
    begin = 1_000 * (number % 1_000)
    levels = [(number + i) % LEVELS for i in (0, 3, 6)]
    judged = [2 + (number + i) % (LEVELS - 2) for i in (0, 3, 6)]
    ten = range(begin, begin + 10)
    return Slice(ten, ten[:3], levels, ten, judged, range(begin, begin + 300), sigmas=4.5)


def measure(name: str, of: Slice = WHOLE) -> dict[str, Any]:
    """Figures of one world: `oracle` (mean reward), `kept` (share of episodes in which an exact one earned what it promised, or
    `lapses`: level and seed of those in which it did not), `players` (the highest mean reward of each), `distinct` and `p99_s` of starts.
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
    row = {"oracle": statistics.mean(rewards), "oracle_episodes": len(rewards), "lapses": lapses}
    row |= {"players": players, "player_episodes": len(of.judged) * len(of.players)}
    return row | (_starts(name, of.starts) if not world.facts.shared_starts else {})


def broken(name: str, row: Mapping[str, Any], sigmas: float = WHOLE.sigmas) -> list[str]:
    """What a row of `measure` shows that its world does not keep, in words; nothing when all is kept."""
    facts, found = world_of(name).facts, []
    if row["lapses"]:
        found.append(f"the oracle of {name} does not earn what it promises at (level, seed) {row['lapses'][:5]}")
    least = facts.floor - sigmas * math.sqrt(facts.floor * (1 - facts.floor) / row["oracle_episodes"])
    if facts.proof == "policy" and row["oracle"] < least:
        found.append(f"the oracle of {name} earns {row['oracle']:.3f}; declared {facts.floor}")
    for kind, mean in row["players"].items():
        ceiling, n = facts.ceilings[kind], row["player_episodes"]
        if mean > ceiling + sigmas * math.sqrt(ceiling * (1 - ceiling) / n) + 1 / n:
            found.append(f"the {kind} player earns {mean:.3f} in {n} episodes of {name}; declared {ceiling}")
    if "distinct" in row and row["distinct"] < _least(facts.variety / 10_000, row["starts"], sigmas):
        found.append(
            f"{row['distinct']} of {row['starts']:,} instances of {name} differ; declared {facts.variety} of 10,000"
        )
    if row.get("p99_s", 0.0) > START_S * row.get("slowness", 1.0):
        found.append(
            f"the slowest hundredth of the starts of {name} takes {row['p99_s']:.3f} s; {START_S} s is due on a quick core"
        )
    return found


def earned(name: str, player: Player, levels: Sequence[int], seeds: Sequence[int]) -> list[float]:
    """Rewards of one player over instances."""
    return [play(task_of(name, seed, level), player).reward for level in levels for seed in seeds]


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
    """Players who do not look: random, the first move, and constant moves that are legal somewhere."""
    world = world_of(name)
    yield "random", random_player(name)
    yield "first", first_player
    starts = [world.view(world.start(seed, 4), world.facts.seats[0]) for seed in range(6)]
    said = {m.key: m for view in starts for m in view.legal()[:6]}
    for move in (*list(said.values())[:3], example_move(world, world.facts.seats[0])):
        yield "constant", constant_player(move)


def _starts(name: str, seeds: Sequence[int]) -> dict[str, Any]:
    world, times, seen = world_of(name), [], set()
    for seed in seeds:
        begun = time.process_time()
        seen.add(digest_of(world.start(seed, 5)))
        times.append(time.process_time() - begun)
    late = sorted(times)[len(times) * 99 // 100]
    return {"distinct": len(seen), "starts": len(times), "p99_s": late, "slowness": slowness()}


def _least(share: float, starts: int, sigmas: float) -> float:
    """How many of some starts must differ: the declared share, of fewer than 10,000 what chance leaves of it."""
    return share * starts - (sigmas * math.sqrt(share * starts) if starts < 10_000 else 0.0)


def _sources(module: str) -> set[Path]:
    """The files of a module and of the worlds' modules that it imports, directly or not."""
    found: set[Path] = set()
    waiting = [module]
    while waiting:
        spec = importlib.util.find_spec(waiting.pop())
        path = Path(spec.origin) if spec is not None and spec.origin else None
        if path is None or path in found:
            continue
        found.add(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("quintain.worlds"):
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                waiting += [node.module or "", *(m for m in inner if m in sys.modules)]
    return found
