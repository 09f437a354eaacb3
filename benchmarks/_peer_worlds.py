"""Players of other people's environments for `peer_worlds.py`: each plays random legal moves, anew when an episode ends."""

from __future__ import annotations

import io
import json
import os
import random
import time
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from typing import Any

from _peer_moves import GEM, TEXTARENA

warnings.simplefilter("ignore")
SIDE = 256  # pixels of a picture
SCENE = {"obs_width": SIDE, "obs_height": SIDE}  # of what is seen in first person
GYM_V: dict[
    str, tuple[str, dict[str, int]]
] = {  # the game of TextArena below it, and what makes its picture about as large as ours
    "Games/Sokoban": ("Sokoban", {"tile_size": SIDE // 6}),
    "Games/Game2048": ("2048", {"tile_size": SIDE // 4}),
    "Games/Minesweeper": ("Minesweeper", {"cell_size": SIDE // 8}),
    "Games/FrozenLake": ("FrozenLake", {"tile_size": SIDE // 4}),
    "Games/FifteenPuzzle": ("FifteenPuzzle", {"tile_size": SIDE // 4}),
    "Games/LightsOut": ("LightsOut", {"cell_size": SIDE // 5}),
    "Games/RushHour": ("RushHour", {"cell_size": SIDE // 6}),
    "Games/PegJump": ("PegJump", {"peg_size": SIDE // 11}),
    "Games/TowerOfHanoiMultiTurn": ("TowerOfHanoi", {}),
    "Spatial/OneRoom": ("", SCENE),
    "Spatial/Maze": ("", SCENE),
    "Spatial/ThreeRooms": ("", SCENE),
    "Spatial/TMaze": ("", SCENE),
    "Spatial/YMaze": ("", SCENE),
    "Spatial/Hallway": ("", SCENE),
    "Spatial/Sign": ("", SCENE),
    "Spatial/PutNext": ("", SCENE),
    "Spatial/CollectHealth": ("", SCENE),
    "Spatial/PickupObjects": ("", SCENE),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """One environment of a peer: `begin` an episode of a seed, `choose` a move, `play` it and say whether the episode is over.

    Whatever `ends` counts is counted over all episodes.
    """

    begin: Callable[[int], Any]
    choose: Callable[[random.Random], Any]
    play: Callable[[Any], bool]
    ends: Counter[str] = field(default_factory=Counter)

    def pace(self, seconds: float, seed: int) -> float:
        """Steps a second of processor time, resets included; choosing the move is not counted, as for our worlds."""
        clock, rng = time.process_time, random.Random(seed)
        spent, steps, over = 0.0, 0, True
        with redirect_stdout(io.StringIO()):
            while spent < seconds or not steps:
                if over:
                    at = clock()
                    self.begin(seed)
                    spent, seed = spent + clock() - at, seed + 1
                move = self.choose(rng)
                at = clock()
                over = self.play(move)
                spent, steps = spent + clock() - at, steps + 1
        return steps / spent


def minigrid(name: str) -> Player:
    """An environment of MiniGrid with the whole grid drawn at (about) 256 pixels for every observation, as ours is."""
    import gymnasium as gym
    import minigrid

    assert minigrid  # its import registers the environments
    env: Any = gym.make(name, render_mode="rgb_array").unwrapped

    def drawn() -> None:
        env.get_frame(tile_size=SIDE // max(env.width, env.height), highlight=False)

    def begin(seed: int) -> None:
        env.reset(seed=seed)
        drawn()

    def play(move: int) -> bool:
        _, _, ended, cut, _ = env.step(move)
        drawn()
        return ended or cut

    return Player(begin=begin, choose=lambda rng: rng.randrange(int(env.action_space.n)), play=play)


def miniworld(name: str) -> Player:
    """An environment of MiniWorld, whose observation is what the agent sees, at 256 pixels; drawn without a window."""
    os.environ.setdefault("LP_NUM_THREADS", "1")  # Mesa's renderer on processors: one core, as all here
    import gymnasium as gym
    import pyglet

    pyglet.options["headless"] = True
    import miniworld

    assert miniworld
    with redirect_stdout(io.StringIO()):
        env: Any = gym.make(name, obs_width=SIDE, obs_height=SIDE).unwrapped

    def play(move: int) -> bool:
        _, _, ended, cut, _ = env.step(move)
        return ended or cut

    def choose(rng: random.Random) -> int:
        return rng.randrange(int(env.action_space.n))

    return Player(begin=lambda seed: env.reset(seed=seed), choose=choose, play=play)


def gym_v(name: str) -> Player:
    """An environment of Gym-V, whose every observation has a picture: of about 256 pixels where one can choose, else as it draws it.

    Its checker is off. Games stand on TextArena's, whose state says which moves are legal; rooms take any of their actions.
    """
    os.environ.setdefault("LP_NUM_THREADS", "1")
    with suppress(ImportError):
        import pyglet

        pyglet.options["headless"] = True
    import gym_v

    gym_v.set_level("ERROR")
    game, sizes = GYM_V.get(name, ("", {}))
    with redirect_stdout(io.StringIO()):
        env: Any = gym_v.make(f"{name}-v0", disable_env_checker=True, **sizes)
    bare = env.unwrapped
    (agent,) = bare._agent_ids

    def begin(seed: int) -> None:
        with suppress(ZeroDivisionError):  # as TextArena's LightsOut
            env.reset(seed=seed)
            return
        begin(seed + (1 << 30))

    def play(move: str) -> bool:
        _, _, ended, cut, _ = env.step({agent: move})
        return ended["__all__"] or cut["__all__"]

    def choose(rng: random.Random) -> str:
        if game:
            return rng.choice(TEXTARENA[game][1](bare._ta_env, rng) or ["[none]"])
        return rng.choice(bare.get_available_actions() if sizes is SCENE else [*bare._action_map])

    return Player(begin=begin, choose=choose, play=play)


def gem(name: str) -> Player:
    """A game of GEM."""
    from gem.envs.registration import make

    env: Any = make(name)
    moves = GEM[name.removeprefix("game:").partition("-")[0]]

    def play(move: str) -> bool:
        _, _, ended, cut, _ = env.step(move)
        return ended or cut

    def choose(rng: random.Random) -> str:
        return f"\\boxed{{{rng.choice(moves(env, rng) or ['up'])}}}"

    return Player(begin=lambda seed: env.reset(seed=seed), choose=choose, play=play)


def textarena(name: str) -> Player:
    """A game of TextArena that says only what is new (`-raw`); `ends` counts episodes and those that an invalid move ended."""
    import textarena as ta

    players, moves = TEXTARENA[name]
    with redirect_stdout(io.StringIO()):
        env: Any = ta.make(f"{name}-v0-raw")
    ends: Counter[str] = Counter()

    def begin(seed: int) -> None:
        with suppress(ZeroDivisionError):  # LightsOut, where all lights happen to be off at the start
            env.reset(num_players=players, seed=seed)
            env.get_observation()
            return
        begin(seed + (1 << 30))

    def play(move: str) -> bool:
        over, _ = env.step(action=move)
        if not over:
            env.get_observation()
            return False
        ends["episodes"] += 1
        told = env.state.game_info.values()  # a mine is called an invalid move too
        ends["invalid"] += any(i.get("invalid_move") and "hit a mine" not in str(i.get("reason")) for i in told)
        return True

    def choose(rng: random.Random) -> str:
        return rng.choice(moves(env, rng) or ["[none]"])

    return Player(begin=begin, choose=choose, play=play, ends=ends)


def reasoning_gym(name: str) -> Player:
    """A dataset of reasoning-gym: an item made, and an answer scored, is a step; the answer has the form of one and is another's."""
    import reasoning_gym as rg

    data: Any = rg.create_dataset(name, seed=1, size=1 << 23)
    items: list[Any] = [data[len(data) - 1]]

    def begin(seed: int) -> None:
        items[:] = [items[-1], data[seed]]

    def play(answer: str) -> bool:
        data.score_answer(answer, items[-1])
        return True

    return Player(begin=begin, choose=lambda rng: _answer(items[0], items[-1], rng), play=play)


def _answer(other: Any, item: Any, rng: random.Random) -> str:
    """What another item's answer is; where items hold none, a random colour for each vertex."""
    if other["answer"] is not None:
        return str(other["answer"])
    puzzle = item["metadata"]["puzzle"]
    return json.dumps({str(vertex): rng.choice(puzzle["color_options"]) for vertex in puzzle["vertices"]})


PLAYERS: dict[str, Callable[[str], Player]] = {
    "MiniGrid": minigrid,
    "MiniWorld": miniworld,
    "Gym-V": gym_v,
    "GEM": gem,
    "TextArena": textarena,
    "reasoning-gym": reasoning_gym,
}
