"""The painter: shapes land where the scene says, tiles are cached, what did not change is not touched."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from quintain.registry import UnknownName
from quintain.types import QuintainError
from quintain.worlds.art import shapes_of, tiles
from quintain.worlds.engines.grid.art import METALS, SHADES, add
from quintain.worlds.painter import HEAVY, Kept, Painter, _scratch, kept, painted, tile
from quintain.worlds.palette import COLORS, rgb
from quintain.worlds.scene import Box, Disc, Polygon, Run, Scene, Sprite

add()  # floors and keys
tiles({"test-red": (Box(x=0, y=0, width=1, height=1, fill="brick"),)})


def test_shapes_land_where_the_scene_says() -> None:
    shapes = (
        Box(x=0, y=0, width=1, height=1, fill="blue"),
        Disc(x=1.5, y=1.5, radius=0.4, fill="green"),
        Polygon(points=((2, 0), (3, 0), (3, 1), (2, 1)), fill="gold"),
        Sprite(tile="test-red", x=0, y=2),
        Run(text="8", x=2.5, y=2.5, size=0.8),
    )
    pixels = Painter(90).paint(Scene(width=3, height=3, shapes=shapes, background="white"))
    assert tuple(pixels[15, 15]) == rgb("blue")
    assert tuple(pixels[45, 45]) == rgb("green")
    assert tuple(pixels[15, 75]) == rgb("gold")
    assert tuple(pixels[75, 15]) == rgb("brick")
    assert tuple(pixels[15, 45]) == rgb("white") == tuple(pixels[75, 45])
    ink = (pixels[60:, 60:] < 80).all(axis=-1)
    rows, columns = np.nonzero(ink)
    assert 40 < ink.sum() < 300 and abs(rows.mean() - 15) < 2 and abs(columns.mean() - 15) < 2


def test_a_scene_that_is_not_square_is_centred() -> None:
    pixels = Painter(80).paint(Scene(width=2, height=1, cells=("test-red", "test-red"), columns=2, background="white"))
    assert (pixels[20:60] == rgb("brick")).all() and (pixels[:20] == 255).all() and (pixels[60:] == 255).all()


def test_pictures_are_read_only_and_old_ones_stay() -> None:
    painter = Painter(64)
    first = painter.paint(Scene(width=2, height=1, cells=("test-red", ""), columns=2))
    kept = first.copy()
    second = painter.paint(Scene(width=2, height=1, cells=("", "test-red"), columns=2))
    assert not np.array_equal(first, second) and np.array_equal(first, kept)
    with pytest.raises(ValueError, match="read-only"):
        second[0, 0] = 0
    assert painter.paint(Scene(width=2, height=1, cells=("", "test-red"), columns=2)) is second


def dots(*at: int) -> Scene:
    return Scene(width=40, height=1, shapes=tuple(Box(x=x, y=0, width=1, height=1, fill="ink") for x in at))


def test_a_scene_of_the_same_objects_is_not_painted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    painter, one, other = Painter(80), dots(1, 30), dots(*range(5, 38))
    first = painter.paint(one)
    assert (painter.paint(other) != first).any()
    assert painter.paint(one) is first and Painter(80).paint(one) is first
    changed = painter.paint(dots(2, 30))  # after a remembered one, a part is painted
    assert (changed == Painter(80).paint(dots(2, 30))).all()
    monkeypatch.setattr("quintain.worlds.painter.HEAVY", 10 * first.nbytes)
    for i in range(12):
        painter.paint(dots(i, 3, 39))
    again = painter.paint(one)
    assert again is not first and (again == first).all()  # forgotten meanwhile
    assert (Painter(40).paint(one).shape, Painter(80).paint(one).shape) == ((40, 40, 3), (80, 80, 3))
    other_ground = Scene(width=40, height=1, background="white", shapes=one.shapes)
    assert (painter.paint(other_ground)[0, 0] == rgb("white")).all() and (painter.paint(one)[0, 0] == first[0, 0]).all()


def test_large_pictures_are_remembered_up_to_a_size() -> None:
    painter, scenes = Painter(1024), [dots(i) for i in range(4)]
    pictures = [painter.paint(scene) for scene in scenes]
    assert painter.paint(scenes[3]) is pictures[3] and painter.paint(scenes[0]) is not pictures[0]
    held = kept().found.values()
    assert sum(picture.nbytes for picture, _, _ in held) < kept().size == sum(weight for _, _, weight in held) <= HEAVY


def test_a_part_that_looks_as_before_is_not_painted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(text: str, ground: str = "", x: float = 2.0, width: int = 4, red: int = 3) -> Scene:
        cells = [ground] * width * 4
        cells[red] = "test-red"
        return Scene(width=width, height=4, cells=tuple(cells), columns=width, shapes=(Run(text=text, x=x, y=3.5),))

    class Forgetful(Painter):
        _part = Painter._painted

    monkeypatch.setattr(_scratch, "kept", Kept(), raising=False)
    drawn, paint = [], Painter._painted
    monkeypatch.setattr(Painter, "_painted", lambda self, *part: drawn.append(part) or paint(self, *part))
    painter = Painter(120)
    for i, text in enumerate(["7 left", "6 left", "7 left", "6 left"]):
        painter.paint(told(text, red=i))
    assert len(drawn) == 2
    others = told("7 left", ground="test-red"), told("7 left", x=2.2), told("7 left", width=5), told("7 left", red=12)
    for scene in (*others, told("7 left"), *others):
        assert (painter.paint(scene) == Forgetful(120).paint(scene)).all()
        assert (Painter(90).paint(scene) == Forgetful(90).paint(scene)).all()
    area, dot = (9, 9, 60, 60), Disc(x=1, y=1, radius=0.5, fill="ink")
    for side, width in ((120, 4), (120, 5), (90, 4)):
        painter = Painter(side)
        painter.paint(told("", width=width))
        assert (painter._part(area, [dot]) == painter._painted(area, [dot])).all()
    count = len(drawn)
    for _ in range(2):
        Painter(1200).paint(told("W" * 9))
    assert len(drawn) == count + 2, "large parts are not remembered"


def test_layers_cover_each_other() -> None:
    plain, keyed = tile("floor", 40, "paper"), tile("floor+key-0", 40, "paper")
    assert plain.shape == (40, 40, 3) and 0.03 < (plain != keyed).any(axis=-1).mean() < 0.5


def test_unknown_and_double_tiles_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'floor'"):
        shapes_of("flor")
    with pytest.raises(QuintainError, match="drawn twice"):
        tiles({"floor": (Disc(x=0, y=0, radius=1),)})
    with pytest.raises(QuintainError, match="separates layers"):
        tiles({"a+b": ()})


def seen_by(matrix: tuple[tuple[float, ...], ...], name: str) -> np.ndarray:
    """A colour as a dichromat sees it (linear light)."""
    linear = (np.array(rgb(name)) / 255) ** 2.2
    return np.clip(np.array(matrix) @ linear, 0, 1) ** (1 / 2.2) * 255


# rows give R, G, B seen from R, G, B shown: red-blind and green-blind eyes
BLIND = (
    ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
)


@pytest.mark.parametrize("matrix", BLIND)
def test_things_that_matter_stay_apart_for_colour_blind_eyes(matrix: tuple[tuple[float, ...], ...]) -> None:
    groups = ([fill for fill, _ in METALS], ["brick", "green", "floor", "stone"], ["ice", "deep", "green", "brick"])
    for names in groups:
        for i, one in enumerate(names):
            for two in names[i + 1 :]:
                assert np.linalg.norm(seen_by(matrix, one) - seen_by(matrix, two)) > 40, (one, two)


def test_numbers_can_be_read_on_their_tiles() -> None:
    def light(name: str) -> float:
        return float(((np.array(COLORS[name]) / 255) ** 2.2) @ np.array([0.2126, 0.7152, 0.0722]))

    for fill, ink in SHADES:
        bright, dark = sorted((light(fill), light(ink)), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) > 3, (fill, ink)


def test_single_pictures_are_those_of_a_fresh_painter_and_stay_as_they_were() -> None:
    cells = (("floor", "test-red"), ("test-red", "floor"), ("floor", "floor"))
    scenes = [
        Scene(width=2, height=1, columns=2, cells=pair, shapes=shapes, background=ground)
        for pair in cells
        for shapes in ((), (Disc(x=1, y=0.5, radius=0.3, fill="blue"),))
        for ground in ("white", "paper")
    ]
    asked = [(scene, side) for side in (40, 40, 64, 40) for scene in scenes]
    painted(scenes[0], 40)
    with pytest.raises(UnknownName):
        painted(replace(scenes[-1], shapes=(*scenes[-1].shapes, Sprite(tile="none", x=0, y=0))), 40)
    asked.insert(0, (scenes[-1], 40))
    got = [painted(scene, side) for scene, side in asked]
    assert all(np.array_equal(one, Painter(side).paint(scene)) for one, (scene, side) in zip(got, asked, strict=True))
    with ThreadPoolExecutor(4) as pool:
        again = list(pool.map(lambda of: painted(*of), asked))
    assert all(map(np.array_equal, got, again))
