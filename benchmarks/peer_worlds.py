"""Our worlds against the same games of MiniGrid, GEM, TextArena and reasoning-gym: steps per second of one core, resets included.

Runs in the environment of the peers (`make venv-peers`). Ours: `Env.step` with parse, world step, full caption and Feedback, and the 256 px
picture where the peer draws one. The peer: its own step and observation. Random actions on both sides; in turn, three times
each; the median of each is compared. A single-answer world makes an instance for every step, and so does reasoning-gym.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from pathlib import Path

PAIRS = (  # peer, its name, our world, our level (boards of about the same size)
    ("MiniGrid", "MiniGrid-Empty-8x8-v0", "EmptyRoom", 2),
    ("MiniGrid", "MiniGrid-DoorKey-8x8-v0", "KeyDoor", 3),
    ("MiniGrid", "MiniGrid-FourRooms-v0", "FourRooms", 7),
    ("MiniGrid", "MiniGrid-LavaGapS7-v0", "LavaGap", 3),
    ("MiniGrid", "MiniGrid-MultiRoom-N4-S5-v0", "MultiRoom", 6),
    ("MiniGrid", "MiniGrid-UnlockPickup-v0", "UnlockPick", 4),
    ("MiniGrid", "MiniGrid-Dynamic-Obstacles-8x8-v0", "MovingWalls", 3),
    ("GEM", "game:Sokoban-v0-easy", "Sokoban", 2),
    ("GEM", "game:Minesweeper-v0-easy", "Mastermines", 2),
    ("GEM", "game:FifteenPuzzle-v0-easy", "FifteenTiles", 2),
    ("GEM", "game:Game2048-v0-easy", "Game2048", 5),
    ("GEM", "game:Mastermind-v0-easy", "Mastermind", 2),
    ("TextArena", "TicTacToe", "TicTacToeDuel", 0),
    ("TextArena", "WildTicTacToe", "WildTTTDuel", 0),
    ("TextArena", "ConnectFour", "ConnectKDuel", 7),
    ("TextArena", "Othello", "OthelloDuel", 8),
    ("TextArena", "KuhnPoker", "KuhnDuel", 2),
    ("TextArena", "Nim", "NimDuel", 3),
    ("TextArena", "2048", "Game2048", 5),
    ("TextArena", "FrozenLake", "FrozenLake", 1),
    ("TextArena", "Sokoban", "Sokoban", 2),
    ("TextArena", "Minesweeper", "Mastermines", 6),
    ("TextArena", "LightsOut", "LightsOut", 5),
    ("TextArena", "TowerOfHanoi", "Hanoi", 1),
    ("TextArena", "RushHour", "RushHour", 5),
    ("TextArena", "PegJump", "PegJump", 5),
    ("TextArena", "Mastermind", "Mastermind", 5),
    ("reasoning-gym", "mini_sudoku", "MiniSudoku", 2),
    ("reasoning-gym", "futoshiki", "Futoshiki", 3),
    ("reasoning-gym", "kakurasu", "Kakurasu", 3),
    ("reasoning-gym", "survo", "Survo", 3),
    ("reasoning-gym", "n_queens", "NQueens", 5),
    ("reasoning-gym", "knights_knaves", "KnightsKnaves", 1),
    ("reasoning-gym", "zebra_puzzles", "ZebraHouses", 4),
    ("reasoning-gym", "circuit_logic", "CircuitRead", 4),
    ("reasoning-gym", "graph_color", "ColourMin", 5),
    ("reasoning-gym", "largest_island", "GridIslands", 5),
    ("reasoning-gym", "rotten_oranges", "SpreadTime", 8),
    ("reasoning-gym", "shortest_path", "MazePlan", 3),
    ("reasoning-gym", "course_schedule", "TopoOrder", 2),
    ("reasoning-gym", "rectangle_count", "RectTally", 3),
    ("reasoning-gym", "sokoban", "SokobanPlan", 4),
)
SECONDS, TIMES = 1.0, 3
WHY = {
    "picture": "",
    "text": "; ours writes the whole board each turn, reads with a grammar, and keeps a frozen state that forks and restores, where peers "
    "change one board in place and say what is new; a single-answer world proves its answer unique and draws its instance from a "
    "split; next: captions kept where the board has not changed, faster provers for NQueens, ColourMin, TopoOrder and Mastermines",
}
TARGETS = {"picture": 10.0, "text": 2.0}
ELSEWHERE = Path(__file__).parents[1] / ".venv-peers" / "bin" / "python"


def ours(world: str, level: int, picture: bool) -> float:
    """Our steps a second."""
    from quintain.testing.speed import pace

    return pace(world, level, 256 if picture else 0, SECONDS)


def main() -> None:
    """Measure every pair, print a table, and the rows for the page."""
    try:
        import reasoning_gym as _
        import textarena as _  # noqa: F401, F811
    except ImportError:
        if not ELSEWHERE.exists():
            sys.exit("the peers are not installed: make venv-peers")
        os.execv(ELSEWHERE, [str(ELSEWHERE), *sys.argv])
    from _peer_worlds import PLAYERS

    found: dict[str, list[float]] = {"picture": [], "text": []}
    rows = []
    for peer, name, world, level in PAIRS:
        kind = "picture" if peer == "MiniGrid" else "text"
        step = PLAYERS[peer](name)
        both = [(ours(world, level, kind == "picture"), step(SECONDS)) for _ in range(TIMES)]
        mine, theirs = (statistics.median(side) for side in zip(*both, strict=True))
        found[kind].append(mine / theirs)
        print(
            f"{world:16} level {level} {mine:>10,.0f}   {peer} {name:34} {theirs:>10,.0f}   {mine / theirs:8.2f}",
            flush=True,
        )
        label = f"{world} (level {level}) / {peer} {name.removeprefix('MiniGrid-')}, steps/s per core, {kind}"
        rows.append(
            {"name": label, "ours": mine, "peer": theirs, "ratio": mine / theirs, "target": None, "holds": None}
        )
    for kind, ratios in found.items():
        middle, target = statistics.median(ratios), TARGETS[kind]
        note = f"{sum(r < 1 for r in ratios)} of {len(ratios)} pairs slower than the peer{WHY[kind]}"
        rows.append(
            {"name": f"median of {len(ratios)} pairs with a peer, {kind}", "ours": middle, "peer": 1.0, "ratio": middle}
            | {"target": f">= {target:g}x", "holds": middle >= target, "note": note}
        )
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
