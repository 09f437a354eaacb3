"""Text in pictures can be read: no two runs of a scene overlap, none leaves the sheet, none leaves its tile."""

from __future__ import annotations

import functools
import itertools

import pytest

from quintain.envs.world import world_of
from quintain.registry import names
from quintain.worlds.art import shapes_of
from quintain.worlds.brush import Reach, reach
from quintain.worlds.scene import Run, Scene

LEVELS, SEEDS = (0, 5, 9), (1, 2, 3)
SIDE = 256  # pixels of a picture
SLACK = 2.0  # pixels that `reach` is too far
FINE = 100  # pixels of a tile that is measured


def written(scene: Scene) -> list[tuple[str, Reach]]:
    """Texts of a scene, and the rectangles that they fill, in pixels."""
    unit = SIDE / max(scene.width, scene.height)
    runs = [shape for shape in scene.shapes if isinstance(shape, Run) and shape.text.strip()]
    return [(run.text, ink(run, unit)) for run in runs]


def ink(run: Run, unit: float) -> Reach:
    """The rectangle that a text fills."""
    left, top, right, bottom = reach(run, unit * 2, (0.0, 0.0))  # drawn twice as large, as painters do
    return (left + SLACK) / 2, (top + SLACK) / 2, (right - SLACK) / 2, (bottom - SLACK) / 2


def check_runs(scene: Scene) -> None:
    """No two texts over the tiles overlap, and all lie within the sheet."""
    unit, found = SIDE / max(scene.width, scene.height), written(scene)
    for text, (left, top, right, bottom) in found:
        inside = min(left, top) >= -1 and right <= scene.width * unit + 1 and bottom <= scene.height * unit + 1
        assert inside, f"{text!r} leaves the sheet"
    for (one, a), (two, b) in itertools.combinations(found, 2):
        wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
        assert wide <= 0 or high <= 0, f"{one!r} and {two!r} share {wide:.0f} x {high:.0f} pixels"


@functools.lru_cache(maxsize=8192)
def check_tile(layer: str) -> None:
    """No text leaves its tile: painters cut it off there. A wide one fills two, of which each shows its half."""
    first, last = (0, 1) if not layer.startswith("wide-") else (-1, 1) if layer.endswith("-2") else (0, 2)
    for run in [shape for shape in shapes_of(layer) if isinstance(shape, Run) and shape.text]:
        left, top, right, bottom = ink(run, FINE)
        across = left >= (first - 0.03) * FINE and right <= (last + 0.03) * FINE
        assert across and top >= -0.03 * FINE and bottom <= 1.03 * FINE, f"{run.text!r} leaves {layer}"


@pytest.mark.parametrize("name", names("world"))
def test_text_stands_apart_and_within_tiles_and_the_picture(name: str) -> None:
    world = world_of(name)
    for level, seed in itertools.product(LEVELS, SEEDS):
        scene = world.view(world.start(seed, level), world.facts.seats[0]).scene()
        check_runs(scene)
        beside = {pair[0]: pair[1] for pair in itertools.pairwise(scene.cells) if pair[0].startswith("wide-")}
        assert all(right == f"{left}-2" for left, right in beside.items() if not left.endswith("-2"))
        for cell in set(scene.cells):
            for layer in cell.split("+") if cell else ():
                check_tile(layer)
