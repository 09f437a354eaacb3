"""What a walker's state looks like: captions, the way back from a caption, and the picture."""

from __future__ import annotations

import functools
import re

from quintain.types import QuintainError
from quintain.worlds.engines.grid import art
from quintain.worlds.engines.grid.board import (
    DOORS,
    FLOOR,
    GOAL,
    HELD,
    HOLE,
    KEYS,
    LYING,
    OPEN,
    STANDING,
    USED,
    WALL,
    Board,
    Walk,
)
from quintain.worlds.scene import Run, Scene

art.add()
_UNDER = {shown: under for under, shown in STANDING.items()}
_SLIPS = re.compile(r"Slips: (\S+) in 100 steps\.")
_STANDING = {ord(under): ord(shown) for under, shown in STANDING.items()}


@functools.cache
def hands(keys: tuple[int, ...]) -> str:
    """The line that says which keys are held, for a board with keys.

    Example:
        >>> hands((1, 0)), hands((0,))
        ('You hold: a.', 'You hold nothing.')
    """
    held = [KEYS[i] for i, status in enumerate(keys) if status == HELD]
    return f"You hold: {', '.join(held)}." if held else "You hold nothing."


def _last(state: Walk) -> list[str]:
    """The line below the map, where there is one: the keys that are held, or how slippery the ground is."""
    if state.keys:
        return [hands(state.keys)]
    return [f"Slips: {100 * state.board.slip:g} in 100 steps."] if state.board.slip else []


def full_caption(state: Walk) -> str:
    """The map, one character per cell, and the line below it."""
    board = state.board
    text = bytearray(board.text)
    keys = state.keys
    for i, status in enumerate(keys):
        text[2 * board.doors[i]] = 39 if status == USED else 65 + i  # ' or A, B, C
        if status == LYING:
            text[2 * board.keys[i]] = 97 + i  # a, b, c
    here = 2 * state.at
    text[here] = _STANDING.get(text[here], 80)
    return "\n".join([text.decode(), *_last(state)])


def brief_caption(state: Walk) -> str:
    """Where the walker and the things are, in words, without walls and holes."""
    board = state.board
    lines = [f"You are at {_place(board, state.at)} of a board with {board.height} rows and {board.width} columns."]
    for i, status in enumerate(state.keys):
        if status == LYING:
            lines.append(f"Key {KEYS[i]} is at {_place(board, board.keys[i])}.")
        if status != USED:
            lines.append(f"Door {DOORS[i]} is at {_place(board, board.doors[i])}, locked.")
    lines.extend(_last(state))
    lines.extend(f"The goal is at {_place(board, c)}." for c, sign in enumerate(board.cells) if sign == GOAL)
    return "\n".join(lines)


def _place(board: Board, cell: int) -> str:
    return f"row {cell // board.width + 1}, column {cell % board.width + 1}"


def parse_caption(caption: str) -> Walk:
    """A state with the given full caption. Keys that are gone lie outside the board, at cell -1."""
    rows = [line.split(" ") for line in caption.split("\n") if not line.startswith(("You hold", "Slips"))]
    slips = _SLIPS.search(caption)
    flat = [sign for row in rows for sign in row]
    here = [c for c, sign in enumerate(flat) if sign in _UNDER]
    if len(here) != 1 or len({len(row) for row in rows}) != 1:
        raise QuintainError(f"this is no full caption of a walker's board: {caption[:60]!r}")
    flat[here[0]] = _UNDER[flat[here[0]]]
    things = {sign: c for c, sign in enumerate(flat) if sign in KEYS + DOORS}
    opened = [c for c, sign in enumerate(flat) if sign == OPEN]
    keys, doors, status = [], [], []
    for i in range(len(opened) + sum(sign in DOORS for sign in things)):
        shut = DOORS[i] in things
        keys.append(things.get(KEYS[i], -1))
        doors.append(things[DOORS[i]] if shut else opened.pop())
        status.append(LYING if KEYS[i] in things else HELD if shut else USED)
    cells = "".join(sign if sign in (WALL, GOAL, HOLE) else FLOOR for sign in flat)
    slip = float(slips[1]) / 100 if slips else 0.0
    return Walk(Board(len(rows[0]), len(rows), cells, tuple(keys), tuple(doors), slip), here[0], tuple(status))


@functools.lru_cache(maxsize=512)
def _ground(board: Board) -> tuple[str, ...]:
    base = "ice" if board.icy else "floor"
    names = {FLOOR: base, WALL: "wall", GOAL: f"{base}+goal", HOLE: "ice+hole"}
    return tuple(names[sign] for sign in board.cells)


def scene_of(state: Walk) -> Scene:
    """The board as tiles; below it a tray with the keys that are held, or how slippery the ground is."""
    board = state.board
    cells = list(_ground(board))
    tray = []
    for i, status in enumerate(state.keys):
        cells[board.doors[i]] = "floor+door-open" if status == USED else f"floor+door-{i}"
        if status == LYING:
            cells[board.keys[i]] += f"+key-{i}"
        elif status == HELD:
            tray.append(f"tray+key-{i}")
    cells[state.at] += "+player"
    if not state.keys:
        wide, high = board.width, board.height
        told = [Run(text=line, x=wide / 2, y=high + 0.5, size=min(0.7, wide / 13)) for line in _last(state)]
        return Scene(width=wide, height=high + len(told), cells=tuple(cells), columns=wide, shapes=tuple(told))
    tray += ["tray"] * (len(state.keys) - len(tray)) + [""] * (board.width - len(state.keys))
    return Scene(width=board.width, height=board.height + 1, cells=(*cells, *tray), columns=board.width)
