"""The tiles that all arcade games share: the bar of counters, the night sky, the player's marks."""

from __future__ import annotations

from quintain.worlds.art import tiles
from quintain.worlds.scene import Box, Disc, Polygon, Run, Shape

MOST = 999  # the largest number a counter shows


def _value(text: str) -> tuple[Shape, ...]:
    size = 0.66 if len(text) < 3 else 0.5
    return (Run(text=text, x=0.42, y=0.52, size=size, color="white"),)


BAR: dict[str, tuple[Shape, ...]] = {
    "hud": (Box(x=0, y=0, width=1, height=1, fill="slate"),),
    "icon-turns": (
        Disc(x=0.52, y=0.52, radius=0.34, fill="paper", line="cloud", thick=0.07),
        Polygon(points=((0.52, 0.3), (0.52, 0.54), (0.68, 0.62)), line="ink", thick=0.07, closed=False),
    ),
    "icon-goal": (
        Box(x=0.26, y=0.16, width=0.08, height=0.7, fill="white"),
        Polygon(points=((0.34, 0.18), (0.84, 0.34), (0.34, 0.52)), fill="green", line="mint", thick=0.04),
    ),
    **{
        f"over-{word}": (Run(text=word, x=0.5, y=0.52, size=0.46, color=color),)
        for word, color in (("won", "mint"), ("lost", "amber"), ("late", "amber"))
    },
    **{f"value-{n}": _value(str(n)) for n in range(MOST + 1)},
}


def add() -> None:
    """Make the tiles known to painters."""
    tiles(BAR)
