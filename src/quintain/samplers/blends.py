"""Several samplers as one, and a difficulty that follows success."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

from quintain.codec import encode
from quintain.given import next_of, numbers_of, seen_by, spread_out, whole
from quintain.parts import Sampler, State
from quintain.registry import UnknownName, build, entry, named, register, unknown
from quintain.samplers.draws import choice, mixed, uniform
from quintain.samplers.worlds import SEEDS, Place, SamplerError, Worlds, check_shard, task_of
from quintain.types import Group, Task

# tag of groups in which the policy played every seat of a contest: half of them win, however well they play
EVEN = "even"
# what runs hand to every sampler, whatever it takes
HANDED = ("env", "levels", "params", "split", "seed", "shard", "path", "columns", "epochs")


class Mixture:
    """Draws from the parts that `mixture` describes."""

    def __init__(
        self, parts: Sequence[Sampler], weights: Sequence[float], seed: int, shard: tuple[int, int] = (0, 1)
    ) -> None:
        self.parts, self.weights, self.seed, self.shard = tuple(parts), tuple(weights), seed, shard
        self.everyones = any(getattr(part, "everyones", True) for part in self.parts)

    @property
    def places(self) -> list[Place]:
        """What the parts draw from; nothing where one does not tell."""
        each = [getattr(part, "places", []) for part in self.parts]
        return [place for told in each for place in told] if all(each) else []

    def spread(self) -> Sampler:
        """The same mixture, whose parts draw from all their places alike."""
        return Mixture([spread_out(part) for part in self.parts], self.weights, self.seed, self.shard)

    def numbers(self, state: State) -> dict[str, float]:
        """Those of the parts."""
        each = [numbers_of(part, own) for part, own in zip(self.parts, state["parts"], strict=True)]
        return {name: value for numbers in each for name, value in numbers.items()}

    def init(self) -> State:
        """Nothing was drawn."""
        return {"drawn": 0, "over": [False] * len(self.parts), "parts": [p.init() for p in self.parts]}

    def draw(self, state: State) -> tuple[Task | None, State]:
        """The next task of a part chosen by weight; parts that are over are left out, and None ends the last."""
        over, states, (rank, ranks) = list(state["over"]), list(state["parts"]), self.shard
        while True:
            weights = [0.0 if o else w for w, o in zip(self.weights, over, strict=True)]
            if not any(weights):
                return None, {**state, "over": over, "parts": states}
            at = choice(weights, self.seed, state["drawn"] * ranks + rank)
            task, states[at] = next_of(self.parts[at], states[at])
            if task is not None:
                return task, {"drawn": state["drawn"] + 1, "over": over, "parts": states}
            over[at] = True

    def observe(self, state: State, group: Group) -> State:
        """Every part sees every group; each knows its own."""
        states = [seen_by(p, s, group) for p, s in zip(self.parts, state["parts"], strict=True)]
        return {**state, "parts": states}


@register(
    "sampler",
    "mixture",
    example={"parts": [{"kind": "sampler", "name": "worlds"}, {"kind": "sampler", "name": "worlds", "seed": 1}]},
)
def mixture(
    *parts: Sampler | Mapping[str, Any] | str, weights: Sequence[float] = (), seed: int = 0, **kwargs: Any
) -> Sampler:
    """Draw from several samplers, each in proportion to its weight.

    Args:
        parts: samplers, or their names and options.
        weights: one number >= 0 for each part; equal when left out.
        seed: chooses the order, and the instances of parts that are named without a seed.
        **kwargs: options for every part that is named, takes them and does not set them; `shard` (rank, ranks) also has each rank
            choose for itself.

    Raises:
        SamplerError: no part, or weights that do not fit.
        UnknownName: an option that no part takes.

    Example:
        >>> parts = [{"name": "worlds", "env": "KeyDoor"}, {"name": "worlds", "env": "Sokoban"}]
        >>> sampler = mixture(*parts, weights=[3, 1], levels=[2])
        >>> task, state = sampler.draw(sampler.init())
        >>> task.env in ("KeyDoor", "Sokoban"), task.level, state["drawn"]
        (True, 2, 1)
    """
    refuse_strays("mixture", mixture, parts, kwargs)
    shares = tuple(weights) or (1.0,) * len(parts)
    if not parts or len(shares) != len(parts) or min(shares) < 0 or not any(shares):
        raise SamplerError(f"mixture: {len(parts)} parts with weights {list(shares)}; give each part a weight >= 0")
    made = [part_of(p, {**kwargs, "seed": mixed(seed, i) % SEEDS}) for i, p in enumerate(parts)]
    return Mixture(made, shares, seed, check_shard(kwargs.get("shard", (0, 1))))


def part_of(part: Sampler | Mapping[str, Any] | str, shared: Mapping[str, Any]) -> Sampler:
    """A sampler, or the one of that name with its options and those of the shared ones that it takes."""
    if not isinstance(part, str | Mapping):
        return whole(part)
    spec, takes = {"name": part} if isinstance(part, str) else dict(part), options_of(part)
    return whole(build("sampler", {**{k: v for k, v in shared.items() if takes is None or k in takes}, **spec}))


def options_of(part: Sampler | Mapping[str, Any] | str) -> set[str] | None:
    """The options that a part takes where it is named, with those of the parts in it and what runs hand over; None for all there are."""
    if not isinstance(part, str | Mapping):
        return set()
    spec = {"name": part} if isinstance(part, str) else part
    takes = inspect.signature(entry("sampler", named("sampler", spec)).make).parameters
    own = {name for name, p in takes.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    if not any(p.kind is p.VAR_KEYWORD for p in takes.values()):
        return own
    inside = [options_of(p) for p in (*spec.get("parts", ()), *([spec["inner"]] if "inner" in spec else ()))]
    found = [each for each in inside if each is not None]
    within = takes.keys() & {"parts", "inner"} and len(found) == len(
        inside
    )  # what else it may hand its options to, nobody knows
    return own.union(HANDED, *found) if within else None


def refuse_strays(name: str, make: Any, parts: Sequence[Any], given: Mapping[str, Any]) -> None:
    """Refuse options for the parts of a sampler of that name that none of them takes.

    Raises:
        UnknownName: one is; the nearest name is told.
    """
    each = [options_of(part) for part in parts]
    known = dict.fromkeys([*inspect.signature(make).parameters, *HANDED]) | dict.fromkeys(
        name for names in each for name in sorted(names or ())
    )
    del known["kwargs"]
    for key in given if None not in each else ():
        if key not in known:
            raise UnknownName(unknown(f"option of sampler {name!r} and its parts:", key, known))


class Curriculum:
    """Draws the levels that `curriculum` describes."""

    def __init__(self, env: str, levels: Sequence[int], band: tuple[float, float], window: int) -> None:
        self.env, self.levels, self.band, self.window = env, tuple(levels), band, window
        self.seed: int = 0
        self.split: str = "train"
        self.shard: tuple[int, int] = (0, 1)
        self.params: Mapping[str, Any] = {}

    @property
    def places(self) -> list[Place]:
        """The world at all levels, as it may come to each."""
        return [(self.env, self.levels, self.params)]

    def spread(self) -> Sampler:
        """Instances of all levels alike, whatever was seen."""
        sampler = Worlds([self.env], self.levels, self.split, (self.seed, 0))
        sampler.shard, sampler.params = self.shard, self.params
        return sampler

    def numbers(self, state: State) -> dict[str, float]:
        """Where it is; the name has the knobs, as there may be several of one world."""
        knobs = "".join(f" {name}={json.dumps(value, separators=(',', ':'))}" for name, value in self.params.items())
        return {f"level/{self.env}{knobs}": float(self.levels[self._at(state)])}

    def init(self) -> State:
        """The first level, nothing seen."""
        return {"drawn": 0, "at": 0, "recent": []}

    def draw(self, state: State) -> tuple[Task, State]:
        """An instance of the current level, or, one time in five, of an earlier one."""
        rank, ranks = self.shard
        number, at = state["drawn"] * ranks + rank, self._at(state)
        if at and uniform(self.seed, number, 1) < 0.2:
            at = mixed(self.seed, number, 2) % at
        seed = mixed(self.seed, number) % SEEDS
        return task_of(self.env, self.levels[at], self.split, seed, self.params), {**state, "drawn": state["drawn"] + 1}

    def observe(self, state: State, group: Group) -> State:
        """Count the successes of the current level; after `window` groups of it, move up, down, or stay."""
        task = group.task
        other = task.env != self.env or task.level != self.levels[self._at(state)]
        if other or encode(task.params) != encode(self.params) or not group.trajectories or group.tags.get(EVEN):
            return state
        solved = sum(r > 0.5 for r in group.rewards) / len(group.rewards)
        recent = [*state["recent"], solved]
        if len(recent) < self.window:
            return {**state, "recent": recent}
        low, high = self.band
        mean = sum(recent) / len(recent)
        step = 1 if mean >= high else -1 if mean < low else 0
        at = min(max(self._at(state) + step, 0), len(self.levels) - 1)
        return {**state, "at": at, "recent": [] if step else recent[1:]}

    def _at(self, state: State) -> int:
        return min(state["at"], len(self.levels) - 1)  # a run may go on with fewer levels than it had climbed


@register("sampler", "curriculum")
def curriculum(
    env: str = "KeyDoor",
    levels: Sequence[int] = tuple(range(10)),
    split: str = "train",
    seed: int = 0,
    shard: Sequence[int] = (0, 1),
    params: Mapping[str, Any] | None = None,
    control: Mapping[str, float] | None = None,
) -> Sampler:
    """Raise the level of a world when it is mastered and lower it when it is hopeless.

    Use it for worlds whose hard levels give no signal at first.

    With p the share of episodes with a reward above 1/2 among the last `window` groups of the current level: p >=
    `high` moves one level up, p < `low` one down. One task in five is of an earlier level, so that nothing is
    forgotten. The metric `level/WORLD` (with knobs `level/WORLD knob=value`) is the current one; a warm start has demonstrations of all
    levels alike. Several processes climb together, by the groups of all. Where others play seats of a game in some groups
    (`rollout.opponents`), only those count.

    Args:
        env: name of the world.
        levels: difficulties in order.
        split: `train`, `validation` or `test`.
        seed: chooses the instances, >= 0.
        shard: (rank, ranks).
        params: knobs of the world, beside the level.
        control: `low` (0.2) and `high` (0.8), 0 <= low < high, and `window` (32 groups, >= 1).

    Raises:
        SamplerError: no level, or numbers out of range.
    """
    known = {"low": 0.2, "high": 0.8, "window": 32, **(control or {})}
    low, high, window = known.pop("low"), known.pop("high"), int(known.pop("window"))
    if known:
        raise SamplerError(unknown("entry of control:", next(iter(known)), ("low", "high", "window")))
    if not levels or window < 1 or not 0 <= low < high:
        raise SamplerError(
            f"curriculum: needs levels, window >= 1 and 0 <= low < high; got {list(levels)}, {window}, {low}, {high}"
        )
    sampler = Curriculum(env, levels, (low, high), window)
    sampler.seed, sampler.split, sampler.shard, sampler.params = seed, split, check_shard(shard), dict(params or {})
    return sampler
