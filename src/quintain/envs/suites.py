"""Suites of held-out instances that stay the same: which worlds, levels and seeds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from quintain.codec import encode
from quintain.envs.world import world_of
from quintain.registry import UnknownName, entries, names, unknown
from quintain.types import Task

SPLIT = "test"
COUNT = 10  # seeds 0 to 9 of the split, at each level
LEVELS = (1, 4, 7)
QUICK_LEVELS = (2,)
QUICK: dict[str, tuple[str, ...]] = {
    "algorithmic": ("BlockCount", "SortNetwork"),
    "cognition": ("DotTally", "HueOrder"),
    "games": ("FrozenLake", "NimGame"),
    "geometry": ("MirrorPlace", "ReflectRay"),
    "graphs": ("CopsRobber", "ShortestWalk"),
    "logic": ("MiniSudoku", "Nonogram"),
    "puzzles": ("Sokoban", "WordLadder"),
    "spatial": ("KeyDoor", "Room3D"),
    "temporal": ("BrickBounce", "LaneCross"),
}  # two of each domain, one of them with several turns where the domain has such


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Worlds by domain, and the levels at which each is played, `COUNT` instances at each."""

    name: str
    domains: dict[str, tuple[str, ...]]
    levels: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.worlds:
            raise UnknownName(f"suite {self.name!r} has no world in it")

    @property
    def worlds(self) -> tuple[str, ...]:
        """All of them, domain by domain."""
        return tuple(world for there in self.domains.values() for world in there)

    def tasks(self, world: str) -> list[Task]:
        """The instances of one world: the first seeds of the test split, level by level."""
        return [
            Task(key=f"{world}/{level}/{SPLIT}/{seed}", env=world, seed=seed, level=level, split=SPLIT)
            for level in self.levels
            for seed in range(COUNT)
        ]

    def instances(self, world: str) -> str:
        """A hash of the first states of one world."""
        found = hashlib.sha256()
        for task in self.tasks(world):
            state = world_of(world).start(task.seed, task.level, split=task.split)
            found.update(json.dumps(encode(state), sort_keys=True).encode())
        return found.hexdigest()[:12]

    def digest(self) -> str:
        """A hash of every first state: where it is the same, the same instances were played, also between versions of Quintain."""
        return digest_of({world: self.instances(world) for world in self.worlds})


def digest_of(instances: Mapping[str, str]) -> str:
    """The hash of a suite whose worlds have instances of these hashes."""
    return hashlib.sha256(json.dumps(instances, sort_keys=True).encode()).hexdigest()[:12]


def suites() -> dict[str, Suite]:
    """Every suite: `quick`, two of each domain of the registry, and `full`; worlds with several seats are in none."""
    domains: dict[str, tuple[str, ...]] = {}
    for e in sorted(entries("world"), key=lambda e: (str(e.tags.get("domain", "")), e.name)):
        domain = str(e.tags.get("domain", ""))
        if domain and len(world_of(e.name).facts.seats) == 1:
            domains[domain] = (*domains.get(domain, ()), e.name)
    single = {name: Suite(name=name, domains={name: there}, levels=LEVELS) for name, there in domains.items()}
    return {
        "quick": Suite(name="quick", domains=QUICK, levels=QUICK_LEVELS),
        **single,
        "full": Suite(name="full", domains=domains, levels=LEVELS),
    }


def suite_of(name: str) -> Suite:
    """The suite of that name.

    Raises:
        UnknownName: there is none; the names are listed.
    """
    known = suites()
    if name not in known:
        raise UnknownName(unknown("suite", name, known))
    return known[name]


def worlds_named(name: str) -> tuple[str, ...]:
    """The world of that name alone, or else the worlds of the suite of that name.

    Raises:
        UnknownName: there is neither; the message has the nearest of both kinds, or all.

    Example:
        >>> worlds_named("KeyDoor"), len(worlds_named("quick"))
        (('KeyDoor',), 18)
    """
    worlds = names("world")
    if name in worlds:
        return (name,)
    known = suites()
    if name not in known:
        raise UnknownName(unknown("world or suite", name, [*worlds, *known]))
    return known[name].worlds
