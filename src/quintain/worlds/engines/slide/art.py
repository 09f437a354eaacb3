"""The tiles of the slide engine, as shapes in the unit square; ground, walls and player are the grid engine's."""

from __future__ import annotations

import functools

from quintain.worlds.art import tiles
from quintain.worlds.engines.grid.art import WALKER
from quintain.worlds.scene import Box, Disc, Polygon, Run, Scene, Shape


def _box(fill: str, line: str) -> tuple[Shape, ...]:
    """A wooden crate seen from above: a frame, boards and a brace."""
    boards = tuple(Box(x=0.2, y=y, width=0.6, height=0.022, fill=line) for y in (0.385, 0.595))
    brace = Polygon(points=((0.22, 0.7), (0.3, 0.78), (0.78, 0.3), (0.7, 0.22)), fill=fill, line=line, thick=0.03)
    frame = Box(x=0.1, y=0.1, width=0.8, height=0.8, line=line, thick=0.05, radius=0.06)
    inner = Box(x=0.2, y=0.2, width=0.6, height=0.6, line=line, thick=0.03)
    return (Box(x=0.1, y=0.1, width=0.8, height=0.8, fill=fill, radius=0.06), *boards, brace, inner, frame)


def _number(number: int) -> tuple[Shape, ...]:
    """A sliding tile with its number."""
    fill, line = ("sand", "wood") if number % 2 else ("mint", "green")
    return (
        Box(x=0, y=0, width=1, height=1, fill="cloud"),
        Box(x=0.05, y=0.07, width=0.9, height=0.89, fill="slate", radius=0.1),
        Box(x=0.05, y=0.04, width=0.9, height=0.89, fill=fill, line=line, thick=0.03, radius=0.1),
        Run(text=str(number), x=0.5, y=0.48, size=0.5, color="ink"),
    )


CRATES: dict[str, tuple[Shape, ...]] = {
    "target": (
        Disc(x=0.5, y=0.5, radius=0.3, line="brick", thick=0.06),
        Disc(x=0.5, y=0.5, radius=0.12, fill="brick"),
    ),
    "box": _box("wood", "bark"),
    "box-home": (
        *_box("green", "forest"),
        Disc(x=0.5, y=0.5, radius=0.24, fill="white", line="forest", thick=0.04),
        Polygon(points=((0.38, 0.51), (0.47, 0.6), (0.63, 0.41)), line="forest", thick=0.07, closed=False),
    ),
}
NUMBERS: dict[str, tuple[Shape, ...]] = {
    "well": (Box(x=0, y=0, width=1, height=1, fill="cloud"),),
    **{f"number-{n}": _number(n) for n in range(1, 16)},
}
RAYS = ((0.5, 0.1), (0.78, 0.22), (0.9, 0.5), (0.78, 0.78), (0.5, 0.9), (0.22, 0.78), (0.1, 0.5), (0.22, 0.22))
LAMPS: dict[str, tuple[Shape, ...]] = {
    "panel": (
        Box(x=0, y=0, width=1, height=1, fill="stone"),
        Box(x=0.03, y=0.03, width=0.94, height=0.94, fill="slate", radius=0.1),
    ),
    "lamp-dark": (Disc(x=0.5, y=0.5, radius=0.26, fill="stone", line="cloud", thick=0.04),),
    "lamp-lit": (
        *(Polygon(points=(ray, (0.5, 0.5)), line="gold", thick=0.07, closed=False) for ray in RAYS),
        Disc(x=0.5, y=0.5, radius=0.28, fill="gold", line="amber", thick=0.05),
        Disc(x=0.43, y=0.42, radius=0.08, fill="white"),
    ),
}
HUES = (("sky", "blue"), ("gold", "amber"), ("plum", "wine"), ("mint", "green"), ("sand", "brick"), ("frost", "navy"))


def add() -> None:
    """Make the tiles known to painters."""
    tiles({name: WALKER[name] for name in ("floor", "wall", "player")})
    tiles({**CRATES, **NUMBERS, **LAMPS})


def rack_scene(at: str, goal: str, pegs: str) -> Scene:
    """Discs on their pegs, with the goal in small below."""
    wide = 2.0 * len(pegs)
    tallest = max(goal.count(peg) for peg in pegs)
    big = _rack(at, pegs, (0.0, 3.3), min(2.8 / (len(at) + 0.6), 0.6))
    small = _rack(goal, pegs, (4.0, 1.9), min(1.5 / (tallest + 0.6), 0.36))
    names = tuple(
        Run(text=peg, x=(i + 0.5) * wide / len(pegs), y=3.6, size=0.4, color="stone") for i, peg in enumerate(pegs)
    )
    shapes = (
        Box(x=0, y=3.9, width=wide, height=2.1, fill="white", line="seam", radius=0.1),
        Run(text="goal", x=0.44, y=4.14, size=0.34, color="forest"),
        *names,
        *small,
        *big,
    )
    return Scene(width=wide, height=6.0, shapes=shapes)


@functools.lru_cache(maxsize=1024)
def _rack(at: str, pegs: str, span: tuple[float, float], thick: float) -> tuple[Shape, ...]:
    """Pegs on a base, from y = `span[0]` down over `span[1]` cells, and the discs, smallest first in `at`."""
    share, count = 2.0, len(at)
    wide, floor = share * len(pegs), sum(span) - 0.2
    out: list[Shape] = [Box(x=0.08, y=floor, width=wide - 0.16, height=0.16, fill="bark", radius=0.06)]
    for i, peg in enumerate(pegs):
        middle = (i + 0.5) * share
        rod = floor - span[1] + 0.5
        out.append(Box(x=middle - 0.06, y=rod, width=0.12, height=floor - rod, fill="bark", radius=0.05))
        here = [disc for disc in reversed(range(count)) if at[disc] == peg]
        for level, disc in enumerate(here, 1):
            width = (share - 0.12) * (0.3 + 0.7 * (disc + 1) / count)
            fill, line = HUES[disc % len(HUES)]
            y = floor - level * thick
            out.append(
                Box(
                    x=middle - width / 2,
                    y=y + 0.01,
                    width=width,
                    height=thick - 0.02,
                    fill=fill,
                    line=line,
                    thick=0.035,
                    radius=min(thick, 0.5) * 0.35,
                )
            )
            out.append(Run(text=str(disc + 1), x=middle, y=y + thick / 2, size=thick * 0.72, color="ink"))
    return tuple(out)
