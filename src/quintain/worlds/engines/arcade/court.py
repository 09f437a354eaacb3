"""A ball on a court: it flies one cell per tick, bounces off walls and bricks, and leaves a paddle by where it was met.

All is counted in cells. A ball has a column, a row, a sideways and a lengthwise step, each sideways step -1, 0 or 1.
"""

from __future__ import annotations

from typing import NamedTuple

from quintain.worlds.scene import Box, Disc, Polygon, Shape

WAYS = {
    (-1, -1): "up-left",
    (0, -1): "up",
    (1, -1): "up-right",
    (-1, 1): "down-left",
    (0, 1): "down",
    (1, 1): "down-right",
}
STEPS = {name: step for step, name in WAYS.items()}
REACH = 1  # a paddle covers its middle and so many cells to either side


class Ball(NamedTuple):
    """Where a ball is, in column x and row y, and its steps per tick."""

    x: int
    y: int
    dx: int
    dy: int


class Flight(NamedTuple):
    """What a tick does: the ball after it, and the cell of the brick that it struck, -1 for none."""

    ball: Ball
    struck: int = -1


def flown(ball: Ball, width: int, bricks: int) -> Flight:
    """One tick of a ball between side walls and among bricks, which are bits of cells; the ends are the caller's.

    A brick in the way, or one beside it diagonally, is struck and turns the ball back lengthwise; it goes on next tick.

    Example:
        >>> flown(Ball(0, 3, -1, -1), 5, 0).ball
        Ball(x=1, y=2, dx=1, dy=-1)
        >>> flown(Ball(2, 3, 0, -1), 5, 1 << 12)
        Flight(ball=Ball(x=2, y=3, dx=0, dy=1), struck=12)
    """
    x, y, dx, dy = ball
    if not 0 <= x + dx < width:
        dx = -dx
    cell = (y + dy) * width + x + dx
    if cell >= 0 and bricks >> cell & 1:
        return Flight(Ball(x, y, dx, -dy), cell)
    return Flight(Ball(x + dx, y + dy, dx, dy))


def met(ball: Ball, paddle: int, width: int) -> Ball | None:
    """The ball after a paddle in the row that it would enter next, or None if the paddle is elsewhere.

    The paddle's left cell sends it left, its middle straight back, its right cell right.

    Example:
        >>> met(Ball(3, 6, 1, 1), 4, 9), met(Ball(3, 6, 0, 1), 4, 9), met(Ball(2, 6, -1, 1), 4, 9)
        (Ball(x=3, y=6, dx=0, dy=-1), Ball(x=3, y=6, dx=-1, dy=-1), None)
    """
    to = ball.x + ball.dx
    to = to if 0 <= to < width else ball.x - ball.dx
    off = to - paddle
    return Ball(ball.x, ball.y, off, -ball.dy) if abs(off) <= REACH else None


def moved(paddle: int, step: int, width: int) -> int:
    """The middle of a paddle after a step; it stays on the court.

    Example:
        >>> moved(1, -1, 9), moved(6, 1, 9), moved(7, 1, 9)
        (1, 7, 7)
    """
    return min(max(paddle + step, REACH), width - 1 - REACH)


def arrow(way: tuple[int, int]) -> tuple[Shape, ...]:
    """An arrow that points along a step, for the bar of counters."""
    dx, dy = way
    x, y = (0.3 * dx, 0.3 * dy) if dx else (0.0, 0.36 * dy)
    tip = (0.45 + x, 0.5 + y)
    side = (-y * 0.8, x * 0.8)
    neck = (0.45 + x * 0.05, 0.5 + y * 0.05)
    head = (tip, (neck[0] + side[0], neck[1] + side[1]), (neck[0] - side[0], neck[1] - side[1]))
    shaft = Polygon(points=((0.45 - x, 0.5 - y), (0.45, 0.5)), line="white", thick=0.12, closed=False)
    return shaft, Polygon(points=head, fill="white")


def paddle_part(side: str, fill: str, line: str) -> tuple[Shape, ...]:
    """The left, middle or right cell of a paddle; its ends are marked, since they send the ball aside."""
    x, width = {"left": (0.1, 0.9), "middle": (0.0, 1.0), "right": (0.0, 0.9)}[side]
    plate = Box(x=x, y=0.26, width=width, height=0.48, fill=fill, radius=0.0)
    mark = {"left": (0.1, 0.2), "middle": (0.0, 0.0), "right": (0.7, 0.2)}[side]
    return (plate, Box(x=mark[0], y=0.26, width=mark[1], height=0.48, fill=line)) if mark[1] else (plate,)


COURT: dict[str, tuple[Shape, ...]] = {
    "court": (
        Box(x=0, y=0, width=1, height=1, fill="ink"),
        Box(x=0.015, y=0.015, width=0.97, height=0.97, fill="slate"),
    ),
    "court-ball": (Disc(x=0.5, y=0.5, radius=0.28, fill="white", line="gold", thick=0.08),),
    "icon-ball": (Disc(x=0.52, y=0.52, radius=0.28, fill="white", line="gold", thick=0.08),),
    **{f"value-{name}": arrow(way) for way, name in WAYS.items()},
    **{f"paddle-{side}": paddle_part(side, "sky", "blue") for side in ("left", "middle", "right")},
}
