"""The task of rl_step.py: Sokoban level 0 shown as 16 cell tokens and `?` on every turn, answered by a move and `<end>`.

The world is Sokoban itself; only its words differ: the whole inner board on each turn, nothing else.
"""

from __future__ import annotations

from typing import Any

from quintain import config as configs
from quintain.config import Config
from quintain.registry import register
from quintain.worlds.engines.slide.push import Crates, CrateWorld
from quintain.worlds.engines.slide.push_board import DIRECTIONS
from quintain.worlds.suite.puzzles.sokoban import sokoban

SIGNS = ("#", ".", "T", "P", "p", "B", "b")  # wall, floor, target, player, player and box on a target
ASK = "?"
PROMPTS, MEMBERS, LR, SEED = 16, 8, 1e-4, 0
TREE = {
    "run": {"seed": SEED, "groups_per_step": PROMPTS, "imports": [__file__], "checkpoint_every": 0},
    "model": {"sizes": {"hidden": 128, "layers": 4, "heads": 4, "kv_heads": 4, "head_dim": 32, "ffn": 384}},
    "env": {"name": "SokobanCells", "levels": [0], "scaffold": {"style": "words", "strict": False}},
    "rollout": {"group_size": MEMBERS, "max_tokens": 2},
    "algorithm": {"name": "grpo", "options": {"low": 0.2, "high": 0.28, "mean": "token_mean"}},
    "learner": {"optimizer": "adamw", "lr": LR, "schedule": "constant", "warmup_steps": 0, "minibatches": 1},
    "engine": {"slots": PROMPTS * MEMBERS},
    "eval": {"instances": 0},
}


class CellWorld(CrateWorld):
    """Boxes on a board that is shown whole on every turn, one token a cell."""

    def words(self, level: int) -> tuple[str, ...]:
        """Moves, signs of cells, and the mark that ends an observation."""
        return (*DIRECTIONS, *SIGNS, ASK)

    def static(self, state: Crates, seat: str) -> tuple[str, ...]:
        """Nothing: every turn shows all."""
        return ()

    def moving(self, state: Crates, seat: str) -> tuple[str, ...]:
        """The cells inside the rim, row by row, then the mark."""
        rows = [line.split(" ") for line in self.caption(state, seat, 2).split("\n")]
        return (*[sign for row in rows[1:-1] for sign in row[1:-1]], ASK)


@register("world", "SokobanCells", domain="puzzles", engine="slide")
def sokoban_cells() -> CellWorld:
    """Sokoban, shown as the inner board on every turn."""
    plain = sokoban()
    return CellWorld(facts=plain.facts, levels=plain.levels)


def config(**run: Any) -> Config:
    """The config of the benchmark, with further keys of its section `run`."""
    return configs.make(TREE, {"run": run})
