"""Players, playouts and fingerprints: the pieces of which honest tests of a world are made.

`python -m quintain.testing.worlds NAME...` prints the fingerprint of each world as JSON.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.codec import digest_of
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import Reader, WorldEnv, world_of
from quintain.types import Stop, Task
from quintain.worlds.kernel import Move, Plan, View, World
from quintain.worlds.noise import Noise, Rng

Player = Callable[[World[Any], View[Any]], Move]
PLAIN = Scaffold(caption=1, rules=False, feedback=False, grammar="word")


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One episode of one seat: its total reward, why it ended, the moves of the seat, and the states from first to last."""

    reward: float
    stop: Stop | None
    moves: tuple[Move, ...]
    states: tuple[Any, ...]


def task_of(name: str, seed: int, level: int, split: str = "train") -> Task:
    """The task of one instance."""
    return Task(key=f"{name}/{level}/{split}/{seed}", env=name, seed=seed, level=level, split=split)


def random_player(*key: Any) -> Player:
    """Draws among the legal moves, or any well-formed answer where they cannot be listed."""
    rng = Rng("random player", *key)
    return lambda world, view: view.sample(rng)


def constant_player(move: Move) -> Player:
    """Says the same thing each turn."""
    return lambda world, view: move


def first_player(world: World[Any], view: View[Any]) -> Move:
    """Takes the first legal move, or the declared example where they cannot be listed."""
    return next(iter(view.legal()), None) or example_move(world, view.seat)


def replay_player(moves: Sequence[Move]) -> Player:
    """Plays the given moves without looking, over and over."""
    turns = iter(range(1 << 30))
    return lambda world, view: moves[next(turns) % len(moves)]


def oracle_player() -> Player:
    """Asks the oracle; keeps to an exact plan, asks again after each step of an estimated one."""
    queue: deque[Move] = deque()

    def choose(world: World[Any], view: View[Any]) -> Move:
        if not queue:
            plan = world.solve(view.state, view.seat)
            if not isinstance(plan, Plan) or not plan.moves:
                return first_player(world, view)
            queue.extend(plan.moves if plan.proof != "policy" else plan.moves[:1])
        return queue.popleft()

    return choose


def example_move(world: World[Any], seat: str) -> Move:
    """The move of the declared example.

    Raises:
        AssertionError: the world cannot read its own example.
    """
    move = world.read(world.facts.example, seat)
    assert move is not None, f"{world.facts.name} cannot read its own example {world.facts.example!r}"
    return move


@functools.cache
def _reader(name: str) -> Reader:
    return Reader(world_of(name), PLAIN)


def play(task: Task, player: Player, *, seat: str = "", others: Player | None = None) -> Played:
    """Play a task through its env, with every move written out as text and read back.

    Args:
        task: what is played.
        player: moves for `seat`.
        seat: the first seat of the world unless told.
        others: moves for all other seats; random unless told.
    """
    reader = _reader(task.env)
    world, env = reader.world, WorldEnv(reader.world, PLAIN, reader)
    mine = seat or world.facts.seats[0]
    others = others or random_player("others", task.seed)
    heard = env.begin(task)
    total, moves, states = 0.0, [], [env.state]
    while heard[mine].stop is None:
        said = {}
        for name in (n for n in world.facts.seats if heard[n].acts):
            move = (player if name == mine else others)(world, world.view(env.state, name))
            said[name] = env.reader.grammar.write(move.key)
            if name == mine:
                moves.append(move)
        heard = env.advance(said)
        total += sum(heard[mine].reward.values())
        states.append(env.state)
    return Played(reward=total, stop=heard[mine].stop, moves=tuple(moves), states=tuple(states))


def walk(world: World[Any], state: Any, rng: Rng, turns: int) -> Iterator[Any]:
    """The states of a random playout from `state` on, `state` included, until the end or for `turns` turns."""
    yield state
    for _ in range(turns):
        moves = {seat: view.sample(rng) for seat, view in acting(world, state).items()}
        outcome = world.step(state, moves)
        state = outcome.state
        yield state
        if outcome.done:
            return


def acting(world: World[Any], state: Any) -> dict[str, View[Any]]:
    """The views of the seats that are to move."""
    views = {seat: world.view(state, seat) for seat in world.facts.seats}
    return {seat: view for seat, view in views.items() if view.acts}


def shown(world: World[Any], state: Any, seat: str) -> dict[str, Any]:
    """All that a seat can see of a state."""
    view = world.view(state, seat)
    return {
        "acts": view.acts,
        "brief": view.caption(1),
        "full": view.caption(2),
        "legal": [m.key for m in view.legal()],
        "static": view.static(),
        "moving": view.moving(),
        "scene": view.scene(),
    }


def fingerprint(name: str, seeds: int = 5, levels: Sequence[int] = (0, 5, 9), turns: int = 8) -> str:
    """A digest of what the first states of random playouts are and look like: equal on every machine."""
    world = world_of(name)
    parts = []
    for level in levels:
        for seed in range(seeds):
            for state in walk(world, world.start(seed, level), Rng("fingerprint", seed, level), turns):
                parts.append([digest_of(state), *(digest_of(shown(world, state, s)) for s in world.facts.seats)])
    return digest_of(parts)


def other_noise(state: Any, seed: int) -> Any:
    """The state with other noise to come, wherever it holds some; the same object where it holds none."""
    if isinstance(state, Noise):
        return dataclasses.replace(state, seed=state.seed ^ seed)
    if not dataclasses.is_dataclass(state) or isinstance(state, type):
        return state
    old = {f.name: getattr(state, f.name) for f in dataclasses.fields(state)}
    new = {name: other_noise(value, seed) for name, value in old.items()}
    changed = {name: value for name, value in new.items() if value is not old[name]}
    return dataclasses.replace(state, **changed) if changed else state


def with_noise_of(state: Any, other: Any) -> Any:
    """`other` with the noise to come that `state` holds at the same places; the same object where it holds none."""
    if isinstance(state, Noise) and isinstance(other, Noise | None):
        return state
    if not dataclasses.is_dataclass(other) or isinstance(other, type) or type(other) is not type(state):
        return other
    old = {f.name: getattr(other, f.name) for f in dataclasses.fields(other)}
    new = {name: with_noise_of(getattr(state, name), value) for name, value in old.items()}
    changed = {name: value for name, value in new.items() if value is not old[name]}
    return dataclasses.replace(other, **changed) if changed else other


def shortest(world: World[Any], state: Any, seat: str, limit: int) -> int | None:
    """Fewest moves to a reward, by breadth-first search through `step` alone; -1 if there is no way, None at `limit` states.

    Use it against the world's own oracle; it fits worlds of one seat, without chance, whose moves can be listed.
    """
    seen, wave, depth = {state}, [state], 0
    while wave:
        depth += 1
        after = []
        for at in wave:
            for move in world.view(at, seat).legal():
                outcome = world.step(at, {seat: move})
                if sum(outcome.rewards.get(seat, {}).values()) > 0:
                    return depth
                if not outcome.done and outcome.state not in seen:
                    seen.add(outcome.state)
                    after.append(outcome.state)
            if len(seen) > limit:
                return None
        wave = after
    return -1


if __name__ == "__main__":
    json.dump({name: fingerprint(name) for name in sys.argv[1:]}, sys.stdout)
