"""Draw the pictures of the worlds for the docs, from their own painter: `python tools/pictures.py [WORLD...]`; `make pictures` runs it.

In docs/pictures, worlds/NAME.png is a world at levels 0, 5 and 9, worlds/DOMAIN.png all worlds of a domain, worlds.png a few of each.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw

from quintain.envs.world import world_of
from quintain.registry import entries
from quintain.worlds.brush import font
from quintain.worlds.painter import Painter

OUT = Path(__file__).parents[1] / "docs" / "pictures" / "worlds"
LEVELS, MIDDLE, SEED = (0, 5, 9), 5, 1
STRIP, TILE, GAP, HEAD, ACROSS, SHOWN = 256, 176, 14, 26, 5, 20
INK, PAPER = (33, 37, 46), (255, 255, 255)


def picture(name: str, level: int, side: int) -> Image.Image:
    """A start of a world, as its first seat sees it."""
    world = world_of(name)
    scene = world.view(world.start(SEED, level), world.facts.seats[0]).scene()
    return Image.fromarray(Painter(side).paint(scene))


def strip(name: str) -> Image.Image:
    """A world at three levels, side by side."""
    sheet = Image.new("RGB", (len(LEVELS) * (STRIP + GAP) - GAP, STRIP), PAPER)
    for i, level in enumerate(LEVELS):
        sheet.paste(picture(name, level, STRIP), (i * (STRIP + GAP), 0))
    return sheet


def contact(names: Sequence[str]) -> Image.Image:
    """Worlds at the middle level, with their names."""
    rows = -(-len(names) // ACROSS)
    across = min(ACROSS, len(names))
    sheet = Image.new("RGB", (across * (TILE + GAP) + GAP, rows * (TILE + HEAD + GAP) + GAP), PAPER)
    pen = ImageDraw.Draw(sheet)
    for i, name in enumerate(names):
        left, top = GAP + i % ACROSS * (TILE + GAP), GAP + i // ACROSS * (TILE + HEAD + GAP)
        pen.text((left, top + HEAD // 2), name, fill=INK, font=font(16), anchor="lm")
        sheet.paste(picture(name, MIDDLE, TILE), (left, top + HEAD))
    return sheet


def some(domains: dict[str, list[str]]) -> list[str]:
    """Up to `SHOWN` worlds, the domains in turn."""
    found: list[str] = []
    for i in range(max(map(len, domains.values()))):
        found += [names[i * 7 % len(names)] for names in domains.values() if i < len(names)]
    return list(dict.fromkeys(found))[:SHOWN]


def save(image: Image.Image, path: Path) -> None:
    """Write a picture with few colours, which the worlds' pictures have anyway."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image.quantize(128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    """Draw what was asked for, or all, and remove pictures of worlds that are gone."""
    domains: dict[str, list[str]] = {}
    for e in entries("world"):
        domains.setdefault(str(e.tags["domain"]), []).append(e.name)
    every = [name for names in domains.values() for name in names]
    for name in sys.argv[1:] or every:
        save(strip(name), OUT / f"{name}.png")
    for domain, names in domains.items():
        save(contact(names), OUT / f"{domain}.png")
    save(contact(some(domains)), OUT.with_suffix(".png"))
    for path in OUT.glob("*.png"):
        if path.stem not in {*every, *domains}:
            path.unlink()
    print(f"{OUT}: {len(every)} worlds of {len(domains)} domains")


if __name__ == "__main__":
    main()
