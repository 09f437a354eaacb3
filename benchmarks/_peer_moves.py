"""Random legal moves in the games of GEM and TextArena, read off the state that their env objects hold."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

WAYS = ("up", "down", "left", "right")
STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
Listing = Callable[[Any, random.Random], list[str]]  # an env -> the moves that its rules allow now, as it reads them


def _board(env: Any) -> Any:
    return env.state.game_state["board"]


def _free(board: Any) -> list[int]:
    return [i for i, mark in enumerate(mark for row in board for mark in row) if mark == ""]


def _othello(env: Any, rng: random.Random) -> list[str]:
    moves = env._valid_moves("B" if env.state.current_player_id == 0 else "W")
    return [f"[{row}, {column}]" for row, column in moves] or ["[skip]"]  # whatever is said then, the turn is skipped


def _nim(env: Any, rng: random.Random) -> list[str]:
    return [f"[{i} {n + 1}]" for i, pile in enumerate(env.state.game_state["piles"]) for n in range(pile)]


def _slides(board: list[list[int]]) -> list[str]:
    """The ways in which a board of 2048 changes."""
    columns = [list(column) for column in zip(*board, strict=True)]
    lines = {"left": board, "right": [r[::-1] for r in board], "up": columns, "down": [c[::-1] for c in columns]}
    return [w for w, rows in lines.items() if any(b and a in (0, b) for row in rows for a, b in pairwise(row))]


def _lake(env: Any, rng: random.Random) -> list[str]:
    row, column = env.state.game_state["player_pos"]
    inside = range(env.size)
    return [f"[{way}]" for way, (down, right) in STEPS.items() if row + down in inside and column + right in inside]


def _unseen(env: Any) -> list[tuple[int, int]]:
    return [(r, c) for r in range(env.rows) for c in range(env.cols) if not env.revealed[r][c]]


def _hanoi(env: Any, rng: random.Random) -> list[str]:
    towers = env.state.game_state["towers"]
    top = {name: disks[-1] if disks else 99 for name, disks in towers.items()}
    return [f"[{a} {b}]" for a in towers for b in towers if top[a] < top[b]]


def _cars(env: Any, rng: random.Random) -> list[str]:
    grid, inside, found = env._occupied(), range(env.BOARD_SIZE), []
    for car in env.state.game_state["vehicles"].values():
        for forward in (True, False):
            row, column = car.front(forward)
            if row in inside and column in inside and grid[row][column] is None:
                found.append(f"[{car.vid}{'+' if forward else '-'}]")
    return found


def _jumps(env: Any, rng: random.Random) -> list[str]:
    board = _board(env)
    return [f"[{a} {b}]" for a, over, b in env.ALLOWED_MOVES if board[a] and board[over] and not board[b]]


def _guess(env: Any, rng: random.Random) -> list[str]:
    """One code that was not tried before."""
    state = env.state.game_state
    tried = [entry["guess"] for entry in state["history"]]
    return [f"[{' '.join(map(str, _untried(state['num_numbers'], state['code_length'], tried, rng)))}]"]


def _untried(numbers: int, length: int, tried: Any, rng: random.Random) -> list[int]:
    while (code := rng.sample(range(1, numbers + 1), length)) in tried:
        pass
    return code


def _tiles(env: Any, rng: random.Random) -> list[str]:
    """A word names the way in which a tile slides into the hole."""
    row, column = env._get_empty_position()
    inside = range(getattr(env, "num_rows", 4))  # TextArena's board has 4 rows and does not say so
    return [way for way, (down, right) in STEPS.items() if row - down in inside and column - right in inside]


TEXTARENA: dict[str, tuple[int, Listing]] = {  # players, and their legal moves
    "TicTacToe": (2, lambda env, rng: [f"[{i}]" for i in _free(_board(env))]),
    "WildTicTacToe": (2, lambda env, rng: [f"[{mark} {i}]" for i in _free(_board(env)) for mark in "XO"]),
    "ConnectFour": (2, lambda env, rng: [f"[col {i}]" for i, mark in enumerate(_board(env)[0]) if mark == "."]),
    "Othello": (2, _othello),
    "KuhnPoker": (2, lambda env, rng: [f"[{word}]" for word in env.state.game_state["current_legal_action_tree"]]),
    "Nim": (2, _nim),
    "2048": (1, lambda env, rng: [f"[{way}]" for way in _slides(_board(env))]),
    "FrozenLake": (1, _lake),
    "Sokoban": (1, lambda env, rng: [f"[{way}]" for way in WAYS if not env._would_collide_with_wall(way)]),
    "Minesweeper": (1, lambda env, rng: [f"[{row} {column}]" for row, column in _unseen(env)]),
    "FifteenPuzzle": (1, lambda env, rng: [f"[{way}]" for way in _tiles(env, rng)]),
    "LightsOut": (1, lambda env, rng: [f"[{r} {c}]" for r in range(env.size) for c in range(env.size)]),
    "TowerOfHanoi": (1, _hanoi),
    "RushHour": (1, _cars),
    "PegJump": (1, _jumps),
    "Mastermind": (1, _guess),
}


def _mines(env: Any, rng: random.Random) -> list[str]:
    """Reveal, or one time in ten flag, a cell that is neither revealed nor flagged."""
    word = "flag" if rng.random() < 0.1 else "reveal"
    return [f"{word} {row} {column}" for row, column in _unseen(env) if not env.flags[row][column]]


def _codes(env: Any, rng: random.Random) -> list[str]:
    tried = [list(code) for code in env.previous_guesses]
    return [" ".join(map(str, _untried(env.num_numbers, env.code_length, tried, rng)))]


GEM: dict[str, Listing] = {
    "Sokoban": lambda env, rng: [way for way in WAYS if not env._would_collide_with_wall(way)],
    "Minesweeper": _mines,
    "FifteenPuzzle": _tiles,
    "Game2048": lambda env, rng: _slides(env.board),
    "Mastermind": _codes,
}
