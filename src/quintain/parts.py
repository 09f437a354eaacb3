"""The one abstraction of Quintain, a pair `init/apply`, and what combines such pairs.

Advantage, Gate and Objective are all `Transform`s; a paper is one `chain(...)` of them.
"""

from __future__ import annotations

import inspect
import json
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from quintain.codec import kept
from quintain.ports import Engine, Env, Renderer
from quintain.registry import line_of, provenance, register, unknown
from quintain.types import Group, InvariantError, QuintainError, Sampling, Task, Terms, Weights

X = TypeVar("X")
State = Any  # JSON values and arrays: a part's state is checkpointed
Sums = Mapping[str, Any]
# column of the terms -> what an objective `needs` to have it
NEEDED = {c: c for c in ("ref", "old", "value", "turn", "hidden", "reward")} | {
    "old_value": "values",
    "returns": "values",
}


class PartError(QuintainError):
    """Parts were combined in a way that cannot work."""


class BadReward(QuintainError):
    """A reward is NaN or infinite: no advantage or gate can be computed from it."""


class Transform(NamedTuple, Generic[X]):
    """A pure step with explicit state: `apply(x, state) -> (x, state)`.

    `needs` names inputs that must be supplied or refused before a run starts (`ref`, `values`, `old`, `topk:20`, `hidden`,
    `entropy`). `measure(x)` returns sums over one piece of the step; the learner adds them over all micro-batches and ranks and
    hands them to `apply` in `x.totals`. It does so `rounds` times; each time `x.totals` holds the sums so far, so that a statistic
    may stand on another one. `place` orders objective chains (see `chain`). `idle` says of an objective that trajectories whose
    advantages are all 0 change what it does: it has a term beside the policy's, or statistics of the whole step. `apart` says of an
    advantage that it looks at each group by itself and keeps nothing of them, so that processes need not exchange theirs.
    """

    init: Callable[[], State]
    apply: Callable[[X, State], tuple[X, State]]
    needs: frozenset[str] = frozenset()
    measure: Callable[[X], Sums] | None = None
    place: str = ""
    rounds: int = 1
    idle: bool = False
    apart: bool = False


Groups = tuple[Group, ...]
Advantage = Transform[Groups]
Gate = Transform[Groups]  # drops groups; a group tagged {"refill": True} asks for a new task in its place
Objective = Transform[Terms]
Reward = Callable[[Group], Awaitable[Group]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who plays: an env factory, engines and renderers by role, default sampling, and the seed of the sampling noise.

    `role("agent")` falls back to the role `policy`, which every cast has.
    """

    env: Callable[[Task], Env]
    engines: Mapping[str, Engine]
    renderers: Mapping[str, Renderer]
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 0
    memory: Any = None
    samplings: Mapping[str, Sampling] = field(default_factory=dict)  # of roles that have another than the default
    steps: Mapping[str, int] = field(default_factory=dict)  # of roles that play a checkpoint of a run: its step
    frozen: frozenset[str] = frozenset()  # engines whose tokens are never trained (opponents, judges)
    prove: Callable[[Weights], Awaitable[None]] | None = None  # raises if an engine does not hold what it was given

    def engine(self, role: str) -> Engine:
        """The engine that plays `role`."""
        return self.engines.get(role) or self.engines["policy"]

    def renderer(self, role: str) -> Renderer:
        """The renderer of the engine that plays `role`."""
        return self.renderers.get(role) or self.renderers["policy"]

    async def load(self, weights: Weights) -> None:
        """Give new weights to every engine that is not frozen, and have it proved that they hold them."""
        for role, engine in self.engines.items():
            if role not in self.frozen:
                await engine.load(weights)
        if self.prove is not None:
            await self.prove(weights)


# (task, cast, ticket index); one that remembers has `state()`, which is JSON, and `restore(state)`: see `remembered`
Rollout = Callable[[Task, Cast, int], Awaitable[Group]]


class Sampler(Protocol):
    """Draws tasks. Its state is JSON and is checkpointed; drawing is a function of the state alone.

    In a run of several processes it observes the groups of all, those of others without the messages of their task; one that has
    an attribute `everyones` that is false observes those of its own process alone, which spares an exchange. One whose draws follow what
    it saw may have `spread()`, a sampler of the same tasks that needs to see nothing, and `numbers(state)`, which steps have as metrics.
    """

    def init(self) -> State:
        """The state before the first draw."""
        ...

    def draw(self, state: State) -> tuple[Task | None, State]:
        """The next task, or None when there is no more, and the state after it."""
        ...

    def observe(self, state: State, group: Group) -> State:
        """Learn from a finished group (curricula); plain samplers return `state`."""
        ...


class Memory(Protocol):
    """What agents remember between episodes."""

    def read(self, state: State, task: Task, agent: str) -> tuple[str, State]:
        """Text for the opening of an episode."""
        ...

    def write(self, state: State, group: Group) -> State:
        """Take in a finished group."""
        ...


def stateless(
    function: Callable[[X], X], *, needs: Sequence[str] = (), place: str = "", measure: Any = None, apart: bool = False
) -> Transform[X]:
    """Lift a pure function to a `Transform` without state.

    Example:
        >>> add = stateless(lambda x: x + 1)
        >>> add.apply(1, add.init())
        (2, None)
    """
    return Transform(lambda: None, lambda x, state: (function(x), state), frozenset(needs), measure, place, apart=apart)


def applied(part: Transform[X], x: X, state: State) -> tuple[X, State]:
    """What `part.apply` gives, looked at: Terms for Terms and groups for groups.

    Raises:
        PartError: it gives something else, reads a column that it does not say it `needs`, or is of a file of the user's and fails.

    Example:
        >>> applied(stateless(lambda groups: None), (), None)
        Traceback (most recent call last):
        quintain.parts.PartError: a part without a name gave None, a NoneType; it should give a tuple of groups
    """
    try:
        out = part.apply(x, state)
    except Exception as error:
        if isinstance(error, QuintainError) and not isinstance(error, InvariantError):
            raise
        what = f"{type(error).__name__}: {error}{line_of(error)}"
        if isinstance(x, Terms) and (lacks := _lacking(part, x, error)):
            needs = tuple(dict.fromkeys(NEEDED[name] for name in lacks))
            raise PartError(
                f"{told(part)} reads {' and '.join(lacks)}, which these terms lack ({what}); say {needs=} where the part is made"
            ) from error
        if line_of(error):
            raise PartError(f"{told(part)} fails: {what}") from error
        raise
    made, wants = out, "what it made of the input, and its state"
    if isinstance(out, tuple) and len(out) == 2:
        made, wants = out[0], ""
        if isinstance(x, Terms):
            wants = "" if isinstance(made, Terms) else "Terms: replace(terms, loss=...)"
        elif isinstance(x, tuple):
            right = isinstance(made, tuple | list) and all(isinstance(group, Group) for group in made)
            wants = "" if right else "a tuple of groups"
    if wants:
        raise PartError(f"{told(part)} gave {repr(made)[:80]}, a {type(made).__name__}; it should give {wants}")
    return out


def sums_of(part: Transform[X], x: X) -> Sums:
    """What `part.measure` gives, looked at: sums by name.

    Raises:
        PartError: it gives something else.
    """
    assert part.measure is not None
    made = part.measure(x)
    if isinstance(made, Mapping) and all(isinstance(v, int | float) or hasattr(v, "shape") for v in made.values()):
        return made
    raise PartError(f"{told(part)}: measure gave {made!r:.80}; it should give sums by name, such as {{'count': 3}}")


def _lacking(part: Transform[Any], terms: Terms, error: Exception) -> list[str]:
    """The columns that these terms lack, the part does not need, and the function that failed names."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    named = [name for name in NEEDED if name in frame.f_code.co_names and getattr(terms, name) is None]
    return [name for name in named if NEEDED[name] not in part.needs]


def told(part: Any) -> str:
    """Which part it is, for a message."""
    made = provenance(part)
    return f"the {made['kind']} {made['name']!r}" if made else "a part without a name"


def made_of(part: Any) -> Any:
    """How a part was made, as JSON to be kept beside its state; None where no registered factory made it."""
    return json.loads(json.dumps(provenance(part), default=lambda v: getattr(v, "__qualname__", type(v).__name__)))


def carried(what: str, part: Any, saved: State, made: Any, say: Callable[[str], None]) -> State:
    """The state with which `part` goes on where one made as `made` (see `made_of`; None is unknown) had left `saved`.

    It is `saved` where nothing has changed, and where the same parts have other options, as long as it has the form of a fresh one.
    Otherwise `part` begins anew, which is said where `saved` held anything.

    Example:
        >>> carried("the gate", Transform(dict, lambda x, s: (x, s)), [1, None], {"name": "count"}, print)
        from here on the gate begins anew: it has other parts, to which what was kept so far says nothing
        {}
    """
    if part is None:
        return None
    now, fresh = made_of(part), part.init()
    if made == now or ((made is None or _names(made) == _names(now)) and _fits(saved, fresh)):
        return saved
    if _holds(saved):
        say(f"from here on {what} begins anew: it has other parts, to which what was kept so far says nothing")
    return fresh


def remembering(rollout: Any) -> Any:
    """The part in a rollout that keeps something between groups, itself or one that it wraps; None where there is none."""
    found = inspect.unwrap(rollout, stop=lambda one: callable(getattr(one, "state", None)))
    return found if callable(getattr(found, "state", None)) else None


def remembered(rollout: Any) -> State:
    """What a checkpoint keeps of a rollout that remembers: what it gives as `state()`, and who it is; None of any other.

    Raises:
        PartError: the state holds what is no JSON.

    Example:
        >>> remembered(lambda task, cast, ticket: None)
    """
    if (one := remembering(rollout)) is None:
        return None
    try:
        return {"made": made_of(one), "state": kept(one.state())}
    except TypeError as error:
        raise PartError(
            f"{told(one)}: its state() is kept in checkpoints, and holds what cannot be: {error}"
        ) from error


def reminded(rollout: Any, saved: State, say: Callable[[str], None]) -> None:
    """Give a rollout back what `remembered` kept; another one begins anew, which is said."""
    if saved is None:
        return
    one = remembering(rollout)
    if one is not None and _names(saved["made"]) == _names(made_of(one)):
        one.restore(saved["state"])
    elif _holds(saved["state"]):
        say("from here on the rollout begins anew: it is another one, to which what was kept so far says nothing")


def _names(made: Any) -> list[Any]:
    inner = made.values() if isinstance(made, Mapping) else made if isinstance(made, list) else ()
    own = [made["name"]] if isinstance(made, Mapping) and "name" in made else []
    return own + [names for names in map(_names, inner) if names]


def _fits(saved: State, fresh: State) -> bool:
    if isinstance(fresh, Mapping):
        return isinstance(saved, Mapping) and all(k in saved and _fits(saved[k], v) for k, v in fresh.items())
    if isinstance(fresh, list | tuple):
        return isinstance(saved, list) and (not fresh or (len(saved) == len(fresh) and all(map(_fits, saved, fresh))))
    return fresh is None or not (saved is None or isinstance(saved, Mapping | list))


def _holds(state: State) -> bool:
    inner = state.values() if isinstance(state, Mapping) else state
    return any(map(_holds, inner)) if isinstance(state, Mapping | list) else state is not None


def reads_idle(objective: Transform[Any]) -> bool:
    """Whether trajectories whose advantages are all 0 change what an objective does: see `Transform.idle`.

    Example:
        >>> reads_idle(stateless(lambda terms: terms, needs=("ref",))), reads_idle(stateless(lambda terms: terms))
        (True, False)
    """
    beside = objective.place == "regulariser" or bool(objective.needs & {"entropy", "ref", "values", "value"})
    return objective.idle or objective.measure is not None or beside


# Order is meaning in an objective: a weight part before a penalty scales the policy term only.
PLACES = ("ratio", "surrogate", "weight", "regulariser", "mean")


@register("chain", "chain")
def chain(*parts: Transform[X]) -> Transform[X]:
    """Apply parts one after the other; the state is the list of theirs.

    Raises:
        PartError: one is no `Transform`, or parts of an objective stand out of the order of `PLACES`, or in none of them.

    Special cases: a chain inside a chain keeps its own state; `chain()` changes nothing.
    """
    last, said = 0, ""
    for part in parts:
        if not isinstance(part, Transform):
            raise PartError(f"{told(part)} is {part!r:.80}; it should be a Transform, such as stateless(function)")
        if part.place in PLACES:
            at = PLACES.index(part.place)
            if at < last:
                raise PartError(f"a {part.place} part stands after a {said} part; the order is {' -> '.join(PLACES)}")
            last, said = at, part.place
        elif part.place:
            raise PartError(unknown(f"place of {told(part)}:", part.place, PLACES))

    def apply(x: X, state: State) -> tuple[X, State]:
        after = []
        for part, own in zip(parts, state, strict=True):
            x, own = applied(part, x, own)
            after.append(own)
        return x, after

    measures = [p for p in parts if p.measure]

    def measure(x: X) -> Sums:
        return {k: v for p in measures for k, v in sums_of(p, x).items()}

    needs = frozenset().union(*(p.needs for p in parts))
    place = parts[-1].place if parts else ""
    rounds = max((p.rounds for p in parts), default=1)
    idle, apart = any(map(reads_idle, parts)), all(p.apart for p in parts)
    return Transform(
        lambda: [p.init() for p in parts], apply, needs, measure if measures else None, place, rounds, idle, apart
    )


def named(**parts: Transform[X]) -> Transform[X]:
    """Like `chain`, with the state under the given names."""
    joined = chain(*parts.values())

    def apply(x: X, state: State) -> tuple[X, State]:
        x, after = joined.apply(x, list(state.values()))
        return x, dict(zip(parts, after, strict=True))

    return joined._replace(init=lambda: dict(zip(parts, joined.init(), strict=True)), apply=apply)


def when(active: Callable[[int], bool], part: Transform[X]) -> Transform[X]:
    """Apply `part` only on the steps k = 0, 1, 2... for which `active(k)` holds; its state waits meanwhile."""

    def apply(x: X, state: State) -> tuple[X, State]:
        step, own = state
        if active(step):
            x, own = part.apply(x, own)
        return x, [step + 1, own]

    return part._replace(init=lambda: [0, part.init()], apply=apply)


def mix(first: Transform[Groups], second: Transform[Groups], share: float) -> Transform[Groups]:
    """The advantage (1 - share) * first + share * second, token by token.

    Raises:
        PartError: `share` lies outside [0, 1].
    """
    if not 0 <= share <= 1:
        raise PartError(f"mix: share is {share}; it must lie in [0, 1]")

    def apply(groups: Groups, state: State) -> tuple[Groups, State]:
        one, a = first.apply(groups, state[0])
        two, b = second.apply(groups, state[1])
        return tuple(_blend(x, y, share) for x, y in zip(one, two, strict=True)), [a, b]

    apart = first.apart and second.apart
    return Transform(lambda: [first.init(), second.init()], apply, first.needs | second.needs, apart=apart)


def _blend(one: Group, two: Group, share: float) -> Group:
    blended = []
    for a, b in zip(one.trajectories, two.trajectories, strict=True):
        rows = zip(a.streams["advantage"], b.streams["advantage"], strict=True)
        mixed = tuple(tuple((1 - share) * u + share * v for u, v in zip(x, y, strict=True)) for x, y in rows)
        blended.append(a.with_stream("advantage", mixed))
    return replace(one, trajectories=tuple(blended))
