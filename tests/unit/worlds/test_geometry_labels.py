"""Numbers of angles and arcs are clear of each other, of names and of all lines."""

from __future__ import annotations

import itertools
import math

import pytest

from quintain.envs.world import world_of
from quintain.ports import SOLO
from quintain.worlds.brush import reach
from quintain.worlds.engines.geometry.canvas import Canvas
from quintain.worlds.engines.geometry.labels import (
    AWAY,
    TURNS,
    Angle,
    Labels,
    Rect,
    _spots,
    crosses,
    on_ring,
    rect_of,
)
from quintain.worlds.kernel import LEVELS
from quintain.worlds.scene import Box, Disc, Polygon, Run, Scene

UNIT, SEEDS = 64, 12


def texts(scene: Scene) -> list[tuple[str, Rect]]:
    """Texts and the rectangles that they fill, in cells."""
    out = []
    for run in [shape for shape in scene.shapes if isinstance(shape, Run)]:
        left, top, right, bottom = reach(run, UNIT, (0.0, 0.0))
        out.append((run.text, ((left + 2) / UNIT, (top + 2) / UNIT, (right - 2) / UNIT, (bottom - 2) / UNIT)))
    return out


def meets(one: Rect, two: Rect) -> bool:
    """Whether two rectangles overlap."""
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


def struck(rect: Rect, shape: object) -> bool:
    """Whether the line of a shape runs through a rectangle."""
    if isinstance(shape, Polygon):
        return any(crosses(rect, (*p, *q)) for p, q in itertools.pairwise(shape.points))
    return isinstance(shape, Disc) and on_ring(rect, (shape.x, shape.y, shape.radius))


@pytest.mark.parametrize("level", range(LEVELS))
@pytest.mark.parametrize("name", ["CircleTheorem", "AngleChase"])
def test_numbers_are_clear_of_lines_and_of_each_other(name: str, level: int) -> None:
    world = world_of(name)
    for seed in range(SEEDS):
        scene = world.view(world.start(seed, level), SOLO).scene()
        found = texts(scene)
        for (one, a), (two, b) in itertools.combinations(found, 2):
            assert not meets(a, b), f"seed {seed}: {one} and {two} overlap"
        for text, rect in found:
            through = [shape for shape in scene.shapes if struck(rect, shape)]
            assert not through, f"seed {seed}: {text} is struck through by {through[0]}"


@pytest.mark.parametrize("name", ["CircleTheorem", "AngleChase"])
def test_every_size_that_is_given_is_written(name: str) -> None:
    world = world_of(name)
    for seed, level in itertools.product(range(3), range(LEVELS)):
        start = world.start(seed, level)
        given = sorted(thing[-1] for thing in start.things if thing[0] not in ("point", "line", "ask"))
        seen = [text for text, _ in texts(world.view(start, SOLO).scene())]
        assert sorted(text for text in seen if text.isdigit()) == given and "?" in seen


def test_a_number_without_room_gets_a_plate() -> None:
    canvas = Canvas(28, axes=False)
    for k in range(80):  # lines everywhere
        canvas.stroke((k / 10, 0.0), (k / 10, 8.0))
    Labels(canvas).angles([Angle((4.0, 4.0), (0.0,), 1.0, "50", "blue")])
    (run,) = [shape for shape in canvas.shapes if isinstance(shape, Run)]
    (plate,) = [shape for shape in canvas.shapes if isinstance(shape, Box)]
    left, _, right, _ = rect_of("50", run.x, run.y)
    assert plate.fill == "paper" and plate.x <= left + 0.001 and plate.x + plate.width >= right - 0.001
    assert canvas.shapes.index(plate) < canvas.shapes.index(run)


def test_a_narrow_angle_has_a_leader_to_its_number() -> None:
    canvas = Canvas(28, axes=False)
    for end in (4.0, 4.4):
        canvas.stroke((0.5, 4.0), (7.5, end))
    Labels(canvas).angles([Angle((0.5, 4.0), (0.0,), 0.057, "3", "blue")])
    lines = [shape for shape in canvas.shapes if isinstance(shape, Polygon) and shape.line == "blue"]
    assert len(lines) == 2, "an arc and a leader"


def test_beside_a_full_angle_a_number_is_tried_in_every_direction_the_nearest_to_the_angle_first() -> None:
    angle = Angle((4.0, 4.0), (0.5,), 1.0, "50", "blue")
    (x, y), around = angle.on(0.5, 0.5, 0.4), [spot for spot in _spots(angle) if spot.leader == angle.on(0.5, 0.5, 0.4)]
    nearest = [spot for spot in around if math.dist((spot.x, spot.y), (x, y)) < AWAY[0] + 1e-6][-TURNS:]
    turns = [math.remainder(math.atan2(spot.y - y, spot.x - x) - 1.0, math.tau) for spot in nearest]
    steps = [round(turn / (math.tau / TURNS), 6) for turn in turns]
    assert sorted(step % TURNS for step in steps) == list(range(TURNS)), "each once"
    assert [abs(step) for step in steps] == sorted(abs(step) for step in steps), (
        "from the middle of the angle to behind it"
    )


@pytest.mark.parametrize("name", ["Tangram", "PackBoxes"])
def test_no_outline_runs_through_the_letter_of_a_piece(name: str) -> None:
    world = world_of(name)
    for level, seed in itertools.product((5, 7, 9), range(SEEDS)):
        scene = world.view(world.start(seed, level), SOLO).scene()
        edges = [shape for shape in scene.shapes if isinstance(shape, Polygon) and shape.line == "ink"]
        for text, rect in texts(scene):
            through = [edge for edge in edges if struck(rect, edge)]
            assert not through, f"level {level}, seed {seed}: {text} is struck through by {through[0]}"
