"""The oracle of sliding tiles: iterative deepening, and a hasty search where that takes too long.

Both are led by the walking distance: count for each row of the board how many of its tiles belong to each row, let one
tile at a time move into the row of the gap, and the fewest such moves to the counts of the goal never exceed the
vertical slides that are left; the same for columns. The two tables are made once for each size of board.
"""

from __future__ import annotations

import functools
import heapq
from collections import deque
from typing import NamedTuple

SHORTEST_NODES = 30_000
HASTES = ((2, 60_000), (3, 60_000), (6, 120_000))  # weight of the estimate while any plan will do, nodes

Counts = tuple[tuple[int, ...], ...]  # [line where the tile is][line where it belongs]


class Found(NamedTuple):
    """A plan as directions 0 up, 1 down, 2 left, 3 right (None: the limit was met), and the nodes looked at."""

    plan: tuple[int, ...] | None
    nodes: int


class Walking(NamedTuple):
    """One axis: `number` of each (counts, line of the gap), its `distance` to the goal, and the numbers that follow.

    `after[n][k]` is where a tile that belongs to line k leads when it comes from the next line, and
    `after[n][lines + k]` when it comes from the line before; -1 if there is no such tile.
    """

    number: dict[tuple[Counts, int], int]
    distance: tuple[int, ...]
    after: tuple[tuple[int, ...], ...]


@functools.cache
def walking(lines: int, length: int) -> Walking:
    """The table for `lines` rows of `length` tiles, by a wave from the goal."""
    full = tuple(tuple(length - (i == lines - 1) if i == j else 0 for j in range(lines)) for i in range(lines))
    number, distance, after = {(full, lines - 1): 0}, [0], []
    waiting = deque([(full, lines - 1)])
    while waiting:
        counts, gap = waiting.popleft()
        here = distance[len(after)]
        follow = []
        for line in (gap + 1, gap - 1):
            for k in range(lines):
                if not 0 <= line < lines or not counts[line][k]:
                    follow.append(-1)
                    continue
                rows = [list(row) for row in counts]
                rows[line][k] -= 1
                rows[gap][k] += 1
                key = (tuple(map(tuple, rows)), line)
                if key not in number:
                    number[key] = len(distance)
                    distance.append(here + 1)
                    waiting.append(key)
                follow.append(number[key])
        after.append(tuple(follow))
    return Walking(number, tuple(distance), tuple(after))


def _numbers(tiles: tuple[int, ...], width: int, height: int) -> tuple[int, int]:
    """The numbers of the walking distances of a board: of its rows, and of its columns."""
    rows = [[0] * height for _ in range(height)]
    columns = [[0] * width for _ in range(width)]
    for cell, tile in enumerate(tiles):
        if tile:
            rows[cell // width][(tile - 1) // width] += 1
            columns[cell % width][(tile - 1) % width] += 1
    gap = tiles.index(0)
    vertical, horizontal = walking(height, width), walking(width, height)
    return (
        vertical.number[tuple(map(tuple, rows)), gap // width],
        horizontal.number[tuple(map(tuple, columns)), gap % width],
    )


@functools.cache
def _slides(width: int, height: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    """[gap]: the (direction, cell of the tile) of each slide."""
    out = []
    for gap in range(width * height):
        y, x = divmod(gap, width)
        all_four = ((0, y < height - 1, width), (1, y > 0, -width), (2, x < width - 1, 1), (3, x > 0, -1))
        out.append(tuple((direction, gap + step) for direction, inside, step in all_four if inside))
    return tuple(out)


def shortest_plan(start: tuple[int, ...], width: int, height: int, limit: int = SHORTEST_NODES) -> Found:
    """The shortest plan by depth-first searches with a growing bound on slides done + walking distance."""
    vertical, horizontal, slides = walking(height, width), walking(width, height), _slides(width, height)
    far_v, far_h, after_v, after_h = vertical.distance, horizontal.distance, vertical.after, horizontal.after
    tiles, path, nodes = list(start), [], 0

    def deepen(gap: int, v: int, h: int, left: int, back: int) -> int:
        """0 if the goal was reached within `left` slides, else the least excess that was met; -1: out of nodes."""
        nonlocal nodes
        nodes += 1
        if nodes > limit:
            return -1
        excess = 1 << 30
        for direction, cell in slides[gap]:
            if direction == back:
                continue
            tile = tiles[cell]
            if direction < 2:
                nv, nh = after_v[v][direction * height + (tile - 1) // width], h
            else:
                nv, nh = v, after_h[h][(direction - 2) * width + (tile - 1) % width]
            over = far_v[nv] + far_h[nh] - left + 1
            if over > 0:
                excess = min(excess, over)
                continue
            path.append(direction)
            if not far_v[nv] + far_h[nh]:
                return 0
            tiles[gap], tiles[cell] = tile, 0
            deeper = deepen(cell, nv, nh, left - 1, direction ^ 1)
            tiles[gap], tiles[cell] = 0, tile
            if deeper <= 0:
                return deeper
            path.pop()
            excess = min(excess, deeper)
        return excess

    v, h = _numbers(start, width, height)
    bound = far_v[v] + far_h[h]
    while True:
        more = deepen(start.index(0), v, h, bound, -1)
        if more <= 0:
            return Found(tuple(path) if more == 0 else None, nodes)
        bound += more


def any_plan(start: tuple[int, ...], width: int, height: int) -> Found:
    """A plan by best-first searches, each led more by the walking distance; the first give nearly the shortest."""
    nodes = 0
    for haste, limit in HASTES:
        found = _hasty(start, width, height, haste, limit)
        nodes += found.nodes
        if found.plan is not None:
            break
    return Found(found.plan, nodes)


def _hasty(start: tuple[int, ...], width: int, height: int, haste: int, limit: int) -> Found:
    """A plan by best-first search on slides done + `haste` times the walking distance."""
    vertical, horizontal, slides = walking(height, width), walking(width, height), _slides(width, height)
    v, h = _numbers(start, width, height)
    made = [(start, start.index(0), v, h, -1, -1)]  # tiles, gap, numbers, parent, direction
    heap, spent, nodes = [(0, 0)], {start: 0}, 0
    while heap and nodes < limit:
        index = heapq.heappop(heap)[1]
        tiles, gap, v, h, _, _ = made[index]
        if not vertical.distance[v] + horizontal.distance[h]:
            return Found(_directions(made, index), nodes)
        nodes += 1
        total = spent[tiles] + 1
        for direction, cell in slides[gap]:
            tile, rest = tiles[cell], list(tiles)
            rest[gap], rest[cell] = tile, 0
            after = tuple(rest)
            if spent.get(after, 1 << 30) <= total:
                continue
            spent[after] = total
            if direction < 2:
                nv, nh = vertical.after[v][direction * height + (tile - 1) // width], h
            else:
                nv, nh = v, horizontal.after[h][(direction - 2) * width + (tile - 1) % width]
            made.append((after, cell, nv, nh, index, direction))
            heapq.heappush(heap, (total + haste * (vertical.distance[nv] + horizontal.distance[nh]), len(made) - 1))
    return Found(None, nodes)


def _directions(made: list[tuple[tuple[int, ...], int, int, int, int, int]], index: int) -> tuple[int, ...]:
    out = []
    while made[index][4] >= 0:
        out.append(made[index][5])
        index = made[index][4]
    return tuple(reversed(out))
