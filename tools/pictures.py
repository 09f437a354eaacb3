"""Draw the pictures of the worlds for the docs, from their own painter: `python tools/pictures.py [WORLD...]`; `make pictures` runs it.

In docs/pictures, worlds/NAME.png is a world at every level, worlds/DOMAIN.png, DOMAIN-2.png and so on are all worlds of a domain,
worlds.png a few of each. All are drawn as policies see them, 256 pixels wide and high.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw

from quintain.envs.world import world_of
from quintain.registry import entries
from quintain.worlds.brush import font
from quintain.worlds.kernel import LEVELS
from quintain.worlds.painter import Painter

OUT = Path(__file__).parents[1] / "docs" / "pictures" / "worlds"
MIDDLE, SEED = 5, 1
SIDE, GAP, HEAD = 256, 14, 26
STRIP, ACROSS, SHOWN = 5, 4, 20  # pictures in a row of levels and of worlds; worlds on a sheet
INK, PAPER = (33, 37, 46), (255, 255, 255)


def picture(name: str, level: int) -> Image.Image:
    """A start of a world, as its first seat sees it."""
    world = world_of(name)
    scene = world.view(world.start(SEED, level), world.facts.seats[0]).scene()
    return Image.fromarray(Painter(SIDE).paint(scene))


def arranged(cells: Sequence[tuple[str, str, int]], across: int) -> Image.Image:
    """Pictures in rows: what is written above each, its world and its level."""
    rows = -(-len(cells) // across)
    sheet = Image.new("RGB", (across * (SIDE + GAP) + GAP, rows * (SIDE + HEAD + GAP) + GAP), PAPER)
    pen = ImageDraw.Draw(sheet)
    for i, (head, name, level) in enumerate(cells):
        left, top = GAP + i % across * (SIDE + GAP), GAP + i // across * (SIDE + HEAD + GAP)
        pen.text((left, top + HEAD // 2), head, fill=INK, font=font(20), anchor="lm")
        sheet.paste(picture(name, level), (left, top + HEAD))
    return sheet


def strip(name: str) -> Image.Image:
    """A world at all levels."""
    return arranged([(f"level {level}", name, level) for level in range(LEVELS)], STRIP)


def contact(names: Sequence[str]) -> Image.Image:
    """Worlds at the middle level, with their names."""
    return arranged([(name, name, MIDDLE) for name in names], ACROSS)


def sheets(domain: str, names: Sequence[str]) -> dict[str, list[str]]:
    """The worlds of a domain by the pictures that show them: `DOMAIN`, `DOMAIN-2` and so on."""
    parts = [list(names[i : i + SHOWN]) for i in range(0, len(names), SHOWN)]
    return {domain if i == 1 else f"{domain}-{i}": part for i, part in enumerate(parts, 1)}


def some(domains: dict[str, list[str]]) -> list[str]:
    """Up to `SHOWN` worlds, the domains in turn."""
    found: list[str] = []
    for i in range(max(map(len, domains.values()))):
        found += [names[i * 7 % len(names)] for names in domains.values() if i < len(names)]
    return list(dict.fromkeys(found))[:SHOWN]


def save(image: Image.Image, path: Path) -> None:
    """Write a picture with few colours, which the worlds' pictures have anyway."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    """Draw what was asked for, or all, and remove pictures of worlds that are gone."""
    domains: dict[str, list[str]] = {}
    for e in entries("world"):
        domains.setdefault(str(e.tags["domain"]), []).append(e.name)
    every = [name for names in domains.values() for name in names]
    for name in sys.argv[1:] or every:
        save(strip(name), OUT / f"{name}.png")
    drawn = {part: names for domain in domains for part, names in sheets(domain, domains[domain]).items()}
    for part, names in drawn.items():
        save(contact(names), OUT / f"{part}.png")
    save(contact(some(domains)), OUT.with_suffix(".png"))
    for path in OUT.glob("*.png"):
        if path.stem not in {*every, *drawn}:
            path.unlink()
    print(f"{OUT}: {len(every)} worlds of {len(domains)} domains")


if __name__ == "__main__":
    main()
