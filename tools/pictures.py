"""Draw docs/pictures/worlds.png: every world at three levels, from its own painter. `make pictures` runs it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from quintain.registry import build, entries
from quintain.worlds.painter import Painter, font

OUT = Path(__file__).parents[1] / "docs" / "pictures" / "worlds.png"
SIDE, GAP, HEAD, LEVELS, ACROSS = 192, 12, 30, (0, 4, 8), 2


def main() -> None:
    """Draw the sheet and say how many worlds are on it."""
    names = [e.name for e in entries("world")]
    wide = len(LEVELS) * (SIDE + GAP) + GAP
    rows = -(-len(names) // ACROSS)
    sheet = Image.new("RGB", (ACROSS * wide, rows * (SIDE + HEAD + GAP) + GAP), (255, 255, 255))
    pen = ImageDraw.Draw(sheet)
    for i, name in enumerate(names):
        left, top = (i % ACROSS) * wide + GAP, (i // ACROSS) * (SIDE + HEAD + GAP) + GAP
        pen.text((left, top), f"{name}   levels {', '.join(map(str, LEVELS))}", fill=(33, 37, 46), font=font(18))
        world = build("world", name)
        for j, level in enumerate(LEVELS):
            state = world.start(1, level)
            pixels = Painter(SIDE).paint(world.view(state, world.facts.seats[0]).scene())
            sheet.paste(Image.fromarray(np.asarray(pixels)), (left + j * (SIDE + GAP), top + HEAD))
    OUT.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(OUT, optimize=True)
    print(f"{OUT}: {len(names)} worlds")


if __name__ == "__main__":
    main()
