"""Players without a model, and casts in which somebody else than the policy plays some seats."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from quintain.config import Config, ConfigError
from quintain.engines.scripted import Player
from quintain.envs.course import Way
from quintain.envs.grammar import GRAMMARS
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import world_of
from quintain.parts import Cast, Rollout
from quintain.ports import Engine
from quintain.registry import UnknownName, names
from quintain.render import toolcalls
from quintain.runtime.drawn import drawn_places
from quintain.runtime.stage import env_of, world_sampler
from quintain.samplers.blends import EVEN, Curriculum
from quintain.types import Group, Message, Request, Task
from quintain.worlds.kernel import Plan
from quintain.worlds.noise import Rng

ITSELF = "policy"  # who plays the other seats where nobody else does
AGAINST = "against"  # tag of groups in which somebody else played them: who
Move = Callable[[Any, Any, str, Request], str]  # (world, state, seat, request) -> action
# share of the groups, seat of the policy (empty: each of the task's world as often), `random` or `oracle` for the others
Cases = Sequence[tuple[float, str, str]]


def random_move(world: Any, state: Any, seat: str, request: Request) -> str:
    """A uniformly drawn legal move."""
    return world.view(state, seat).sample(Rng("random player", *request.key)).key


class Oracle:
    """The oracle's moves, a random one where it has no plan; it keeps to its way through each session."""

    def __init__(self) -> None:
        self.ways: dict[tuple[str, str], Way] = {}  # by world and session

    def __call__(self, world: Any, state: Any, seat: str, request: Request) -> str:
        key = (world.facts.name, request.session)
        way = self.ways.pop(key, None) or Way(world)
        plan = way.ask(state, seat)
        if way.rest:
            self.ways[key] = way
        if len(self.ways) > SESSIONS:  # some were given up; whoever is forgotten is asked anew
            del self.ways[next(iter(self.ways))]
        if isinstance(plan, Plan) and (plan.first or plan.moves):
            return random.Random(str(request.key)).choice(plan.first or plan.moves[:1]).key
        return random_move(world, state, seat, request)


SESSIONS = 4096
oracle_move = Oracle()
PLAYERS: dict[str, Move] = {"random": random_move, "oracle": oracle_move}


def scripted(name: str, config: Config, where: str = "") -> Player:
    """The random player or the oracle in the world of a config, or in another; its noise is that of the request, so it plays any number
    of episodes.
    """
    world, move = world_of(where or config.env.name), PLAYERS[name]
    write, seats = GRAMMARS[Scaffold.of(config.env.scaffold).grammar].write, world.facts.seats

    def act(messages: Sequence[Message], state: Any, request: Request) -> str:
        said = write(move(world, state, seats[request.key[4]], request))
        return said.text or toolcalls.write(said.tool_calls)

    return Player(act)


def seats_of(config: Config) -> tuple[str, ...]:
    """The seats of the world of a config; none where it plays no world."""
    return seats_in(env_of(config))


def seats_in(name: str) -> tuple[str, ...]:
    """The seats of a world; none of what is no world."""
    try:
        return world_of(name).facts.seats
    except UnknownName:
        return ()


def rival(config: Config) -> str:
    """Who evaluations of a config have play the other seats; empty where the policy plays all that there are."""
    return config.eval.against if config.eval.against != ITSELF and len(seats_of(config)) > 1 else ""


def heeded(config: Config, overrides: Sequence[str], opponent: str = "") -> Config:
    """A config in which the opponent who is asked for can play; a recipe's `eval.against` may be meant for other worlds.

    Raises:
        ConfigError: the world has one seat.
    """
    who = opponent or (config.eval.against if any(word.startswith("eval.against=") for word in overrides) else ITSELF)
    if who != ITSELF and len(seats_of(config)) < 2:
        raise ConfigError(
            f"nobody can play {config.data or config.env.name} against {who}: {_alone(config, 'has no second seat')}; `quintain list "
            "worlds` has a column of how many there are"
        )
    return config


def _alone(config: Config, one: str) -> str:
    """Why nobody else can play a seat there: it has `one`, or is no world, whatever seats it has."""
    world = config.data or config.env.name in names("world")
    return f"it {one}" if world else "only worlds take other players, and the policy plays every seat of another env"


def facing(cast: Cast, seats: Sequence[str], mine: str, engine: Engine, like: Cast | None = None) -> Cast:
    """A cast of which the policy plays the seat `mine` and `engine` the others, whose episodes are left out of groups.

    Its noise is that of the seat, else players that are alike would play the same game from each.

    Args:
        cast: of the policy.
        seats: all that there are.
        mine: one of them.
        engine: of the others.
        like: whose renderer and sampling it has; None for one that needs none.
    """
    rest = [seat for seat in seats if seat != mine]
    own: dict[str, Any] = {"engines": {**cast.engines, **dict.fromkeys(rest, engine)}}
    own |= {"frozen": cast.frozen | frozenset(rest), "seed": cast.seed + seats.index(mine)}
    if like is not None:
        if renderer := like.renderers.get("policy"):
            own["renderers"] = {**cast.renderers, **dict.fromkeys(rest, renderer)}
        own["samplings"] = {**cast.samplings, **dict.fromkeys(rest, like.sampling)}
        own["steps"] = {**cast.steps, **(dict.fromkeys(rest, like.steps["policy"]) if like.steps else {})}
    return replace(cast, **own)


def against(config: Config, rollout: Rollout, cases: Cases) -> Rollout:
    """A rollout in which others play some seats of some groups; the ticket says which. Their groups have the tag `against`, the other
    groups of a contest `even`.

    Args:
        config: of the run.
        rollout: what plays a group.
        cases: see `Cases`; groups of none, and those of worlds of one seat, are played as they were.
    """
    player = functools.cache(lambda name, where: scripted(name, config, where))

    async def play(task: Task, cast: Cast, ticket: int) -> Group:
        if len(seats := seats_in(task.env)) < 2:
            return await rollout(task, cast, ticket)
        per_case = [(share, [mine] if mine else seats, name) for share, mine, name in cases]
        each = [(share / len(those), mine, name) for share, those, name in per_case for mine in those]
        drawn, ends = Rng("opponents", cast.seed, ticket).uniform(), itertools.accumulate(share for share, *_ in each)
        case = next((case for end, case in zip(ends, each, strict=True) if drawn < end), None)
        if case is None:
            group = await rollout(task, cast, ticket)
            return replace(group, tags={**group.tags, EVEN: True}) if world_of(task.env).facts.forfeits else group
        _, mine, name = case
        group = await rollout(task, facing(cast, seats, mine, player(name, task.env)), ticket)
        return replace(group, tags={**group.tags, AGAINST: name})

    return functools.update_wrapper(play, rollout, (), ())  # what the rollout keeps is asked of it


def mixture(config: Config) -> Cases:
    """Who plays the other seats in training, in the worlds that have some; the policy takes each seat as often.

    Raises:
        ConfigError: somebody is to play the other seats of what has one, or a curriculum can never climb.
    """
    shares = {name: share for name, share in config.rollout.opponents.items() if share}
    if not shares:
        _check_climbs(config)
    worlds = list(dict.fromkeys(place.world for place in drawn_places(config))) if shares else []
    if shares and not any(len(seats_in(name)) > 1 for name in worlds):
        there = config.data or " and ".join(worlds) or config.env.name
        raise ConfigError(
            f"rollout.opponents: {', '.join(sorted(shares))} cannot play the other seats of {there}: {_alone(config, 'has one')}; "
            "set rollout.opponents={}, or choose a world of several (`quintain list worlds` has a column of how many there are)"
        )
    return [(share, "", name) for name, share in sorted(shares.items())]


def _check_climbs(config: Config) -> None:
    """Refuse a curriculum of a game against equals: one seat of each match wins, however well they play."""
    if env_of(config) not in names("world"):
        return
    sampler = world_sampler(config, "train", config.run.seed, (0, 1))
    for part in getattr(sampler, "parts", (sampler,)):
        if not isinstance(part, Curriculum) or len(part.levels) < 2 or not (facts := world_of(part.env).facts).forfeits:
            continue
        most, high = 1 / len(facts.seats), part.band[1]
        if most < high:
            raise ConfigError(
                f"the curriculum of {part.env} climbs at a success of {high:g}, and the policy against itself has at most {most:.3g}: let "
                "others play in some groups, by which it then climbs (rollout.opponents={random=0.5}), or set sampler.control.high below it"
            )


def sides(config: Config) -> list[dict[str, Any]]:
    """Options of the rollouts of an evaluation: one in which the policy plays every seat, or one for each seat that it takes."""
    who = rival(config)
    return [{"others": [(1.0, mine, who)]} for mine in seats_of(config)] if who else [{}]


def joined(found: Sequence[Sequence[Group]]) -> list[Group]:
    """The groups of the same tasks that were played from each seat, task by task; games are numbered on."""
    out = []
    for groups in zip(*found, strict=True):
        rows, games = [], 0
        for group in groups:
            rows += [replace(t, episode=t.episode + games) for t in group.trajectories]
            games += 1 + max((t.episode for t in group.trajectories), default=-1)
        out.append(replace(groups[0], trajectories=tuple(rows)))
    return out
