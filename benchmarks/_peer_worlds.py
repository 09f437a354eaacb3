"""Players of other people's environments for `peer_worlds.py`: each steps one environment with random actions, anew when it ends."""

from __future__ import annotations

import io
import random
import re
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout

warnings.simplefilter("ignore")
Stepper = Callable[[float], float]  # seconds of processor time -> steps a second


def minigrid(name: str) -> Stepper:
    """An environment of MiniGrid with the whole grid drawn at (about) 256 pixels after every step, as ours is."""
    import gymnasium as gym
    import minigrid

    assert minigrid  # its import registers the environments
    env = gym.make(name, render_mode="rgb_array").unwrapped

    def run(seconds: float) -> float:
        rng, steps, seed, over = random.Random(0), 0, 0, True
        begun = time.process_time()
        while time.process_time() - begun < seconds:
            if over:
                env.reset(seed=seed)
                seed += 1
            _, _, ended, cut, _ = env.step(rng.randrange(7))
            env.get_frame(tile_size=256 // max(env.width, env.height), highlight=False)
            over, steps = ended or cut, steps + 1
        return steps / (time.process_time() - begun)

    return run


def gem(name: str) -> Stepper:
    """A game of GEM with its own random actions."""
    from gem.envs.registration import make

    env = make(name)

    def run(seconds: float) -> float:
        steps, seed, over = 0, 0, True
        begun = time.process_time()
        while time.process_time() - begun < seconds:
            if over:
                env.reset(seed=seed)
                seed += 1
            said = env.sample_random_action()
            _, _, ended, cut, _ = env.step(said if "boxed" in said else f"\\boxed{{{said}}}")
            over, steps = ended or cut, steps + 1
        return steps / (time.process_time() - begun)

    return run


def _listed(pattern: str) -> Callable[[str, random.Random], str]:
    """A random one of the actions that the last observation lists."""
    find = re.compile(pattern)
    return lambda text, rng: rng.choice(find.findall(text[-600:]) or ["[0]"])


def _pairs(high: int) -> Callable[[str, random.Random], str]:
    return lambda text, rng: f"[{rng.randrange(high)} {rng.randrange(high)}]"


def _of(*words: str) -> Callable[[str, random.Random], str]:
    return lambda text, rng: f"[{rng.choice(words)}]"


def _nim(text: str, rng: random.Random) -> str:
    piles = re.findall(r"pile (\d): [1-9]", text[-200:])
    return f"[{rng.choice(piles or ['0'])} 1]"


WAYS = _of("up", "down", "left", "right")
ACTIONS: dict[str, tuple[int, Callable[[str, random.Random], str]]] = {
    "TicTacToe": (2, _listed(r"'(\[\d\])'")),
    "WildTicTacToe": (2, _listed(r"\[[XO] \d\]")),
    "ConnectFour": (2, lambda text, rng: f"[col {rng.randrange(7)}]"),
    "Othello": (2, _listed(r"'(\[\d, \d\])'")),
    "KuhnPoker": (2, _listed(r"'(\[\w+\])'")),
    "Nim": (2, _nim),
    "2048": (1, WAYS),
    "FrozenLake": (1, WAYS),
    "Sokoban": (1, WAYS),
    "Minesweeper": (1, _pairs(8)),
    "LightsOut": (1, _pairs(5)),
    "TowerOfHanoi": (1, _of("A B", "A C", "B A", "B C", "C A", "C B")),
    "RushHour": (1, lambda text, rng: f"[{rng.choice(re.findall(r'[A-Z]', text[-80:]) or ['A'])}{rng.choice('+-')}]"),
    "PegJump": (1, lambda text, rng: f"[{rng.randrange(1, 16)} {rng.randrange(1, 16)}]"),
    "Mastermind": (1, lambda text, rng: "[" + " ".join(map(str, rng.sample(range(1, 7), 4))) + "]"),
}


def textarena(name: str) -> Stepper:
    """A game of TextArena that says only what is new (`-raw`), with random actions that are mostly legal."""
    import textarena as ta

    players, act = ACTIONS[name]
    with redirect_stdout(io.StringIO()):
        env = ta.make(f"{name}-v0-raw")

    def run(seconds: float) -> float:
        rng, steps, seed, over = random.Random(0), 0, 0, True
        begun = time.process_time()
        with redirect_stdout(io.StringIO()):
            while time.process_time() - begun < seconds:
                if over:
                    env.reset(num_players=players, seed=seed)
                    seed += 1
                _, seen = env.get_observation()
                text = seen if isinstance(seen, str) else " ".join([str(item[1]) for item in seen])
                over, _ = env.step(action=act(text, rng))
                steps += 1
        return steps / (time.process_time() - begun)

    return run


def reasoning_gym(name: str) -> Stepper:
    """A dataset of reasoning-gym: an item made, and one answer scored, is a step."""
    import reasoning_gym as rg

    data = rg.create_dataset(name, seed=1, size=1 << 20)

    def run(seconds: float) -> float:
        steps = 0
        begun = time.process_time()
        while time.process_time() - begun < seconds:
            item = data[steps]
            data.score_answer("1 2 3", item)
            steps += 1
        return steps / (time.process_time() - begun)

    return run


PLAYERS: dict[str, Callable[[str], Stepper]] = {
    "MiniGrid": minigrid,
    "GEM": gem,
    "TextArena": textarena,
    "reasoning-gym": reasoning_gym,
}
