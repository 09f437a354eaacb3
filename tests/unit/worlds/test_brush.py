"""The brush and what is repainted: text set from letters, how far shapes reach, the same bytes whatever was painted before."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw

import quintain.worlds.painter as painter_module
from quintain.worlds.art import tiles
from quintain.worlds.brush import draw, font, reach, text_mask
from quintain.worlds.noise import Rng
from quintain.worlds.painter import CALL, Painter, merged, tile
from quintain.worlds.palette import COLORS, rgb
from quintain.worlds.scene import Box, Disc, Polygon, Run, Scene, Shape, Sprite

INKS = tuple(COLORS)

tiles(
    {
        "brush-plate": (Box(x=0, y=0, width=1, height=1, fill="white"),),
        "brush-letter": (Run(text="S", x=0.5, y=0.5, color="gold"),),
        "brush-knob": (Disc(x=0.5, y=0.5, radius=0.7, line="rust", thick=0.1), Run(text="R", x=0.3, y=0.5, size=0.8)),
    }
)


def at(rng: Rng, low: float = -1.0, high: float = 9.0) -> float:
    return low + (high - low) * rng.uniform()


def any_shape(rng: Rng) -> Shape:
    """A shape of any kind, partly outside of the picture at times."""
    fill, line, thick = rng.pick(("", *INKS)), rng.pick(INKS), rng.pick((0.02, 0.1, 0.4))
    kind = rng.below(5)
    if kind == 0:
        size = {"width": at(rng, 0.01, 3), "height": at(rng, 0.01, 3), "radius": rng.pick((0.0, 0.0, 0.2, 2.0))}
        return Box(x=at(rng), y=at(rng), **size, fill=fill, line=rng.pick((line, "")), thick=thick)
    if kind == 1:
        return Disc(x=at(rng), y=at(rng), radius=at(rng, 0.02, 2), fill=fill, line=line, thick=thick)
    if kind == 2:
        points = tuple((at(rng), at(rng)) for _ in range(2 + rng.below(4)))
        closed = rng.below(2) == 0
        return Polygon(points=points, fill=fill if closed else "", line=line, thick=thick, closed=closed)
    if kind == 3:
        return Run(
            text=rng.pick(("7", "AVe", "answer A-B", " ", "", "jgy·→")), x=at(rng), y=at(rng), size=at(rng, 0.1, 2)
        )
    return Sprite(tile=rng.pick(("brush-plate", "brush-knob")), x=at(rng), y=at(rng), size=at(rng, 0.2, 3))


def neighbour(scene: Scene, rng: Rng) -> Scene:
    """The scene after a small change, or one quite different."""
    shapes, i = scene.shapes, rng.below(max(len(scene.shapes), 1))
    kind = rng.below(7)
    if kind == 0:
        return replace(scene, shapes=(*shapes[:i], any_shape(rng), *shapes[i:]))
    if kind == 1:
        return replace(scene, shapes=shapes[:i] + shapes[i + 1 :])
    if kind == 2:
        return replace(scene, shapes=shapes[i:] + shapes[:i])
    if kind == 3:
        return replace(scene, shapes=tuple(any_shape(rng) for _ in range(rng.below(40))))
    if kind == 4 and scene.cells:
        cells = [*scene.cells]
        for _ in range(1 + rng.below(3)):
            cells[rng.below(len(cells))] = rng.pick(("", "brush-plate", "brush-plate+brush-knob"))
        return replace(scene, cells=tuple(cells))
    if kind == 5:
        return replace(scene, background=rng.pick(("paper", "sand")))
    return replace(scene, shapes=(*shapes[:i], any_shape(rng), *shapes[i + 1 :]))


def painted_anew(scene: Scene, side: int) -> np.ndarray:
    """The picture as a thread paints it that has painted nothing before."""
    with ThreadPoolExecutor(1) as fresh:
        return fresh.submit(Painter(side).paint, scene).result()


@pytest.mark.parametrize("columns", [0, 4])
@pytest.mark.parametrize("side", [64, 97])
def test_pictures_do_not_depend_on_what_was_painted_before(columns: int, side: int) -> None:
    rng, painter = Rng("walk", columns, side), Painter(side)
    scene = Scene(width=8, height=7, cells=("brush-plate",) * 3 * columns, columns=columns, left=1, top=2)
    seen = []
    for _ in range(120):
        scene = neighbour(scene, rng)
        pixels, anew = painter.paint(scene), painted_anew(scene, side)
        assert np.array_equal(pixels, anew) and not pixels.flags.writeable
        assert painter.paint(scene) is pixels and painter.paint(replace(scene)) is pixels
        seen.append((scene, pixels, pixels.tobytes()))
    for scene, pixels, was in rng.sample(seen, 60):
        assert pixels.tobytes() == was, "a picture handed out was painted over"
        assert painter.paint(scene).tobytes() == was


def test_a_small_change_leaves_the_rest_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    painter, areas = Painter(128), []
    shapes = tuple(Disc(x=x + 0.5, y=y + 0.5, radius=0.3, fill="blue") for x in range(8) for y in range(8))
    painter.paint(Scene(width=8, height=8, shapes=shapes))
    painted = painter._painted
    monkeypatch.setattr(painter, "_painted", lambda area, near: areas.append((area, [*near])) or painted(area, near))
    painter.paint(Scene(width=8, height=8, shapes=(replace(shapes[0], fill="gold"), *shapes[1:])))
    ((area, near),) = areas
    assert (area[2] - area[0]) * (area[3] - area[1]) < 400 and len(near) < 4 and near[0].fill == "gold"


def test_what_all_scenes_begin_with_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, drawn = Rng("begin"), []
    ground = tuple(any_shape(rng) for _ in range(20))
    scenes = [Scene(width=8, height=8, shapes=(*ground, *(any_shape(rng) for _ in range(30)))) for _ in range(5)]
    scenes.append(replace(scenes[0], shapes=(*ground[:12], *scenes[0].shapes[30:])))
    scenes += [replace(scenes[-1], background="sand"), replace(scenes[-1], width=9)]
    right = [painted_anew(scene, 80) for scene in scenes]
    brush = painter_module.draw
    monkeypatch.setattr(
        painter_module, "draw", lambda canvas, shapes, *at: drawn.append(len(shapes)) or brush(canvas, shapes, *at)
    )
    with ThreadPoolExecutor(1) as fresh:
        assert all(np.array_equal(a, b) for a, b in zip(fresh.map(Painter(80).paint, scenes), right, strict=True))
    assert drawn == [50, 20, 30, 30, 30, 30, 12, 20, 32, 32]


def test_a_thin_box_is_no_wider_than_it_is() -> None:
    """Pillow draws an outline thicker than its box on both sides of it."""
    image = Image.new("RGB", (64, 64), (1, 2, 3))
    draw(image, (Box(x=2, y=1, width=0.2, height=3, line="blue", thick=0.9),), 16, (0, 0))
    rows, columns = np.nonzero((np.asarray(image) == rgb("blue")).all(axis=-1))
    assert (columns.min(), columns.max(), rows.min()) == (32, 34, 16) and 62 <= rows.max() <= 63
    assert len(rows) == 3 * (rows.max() - 15)


@pytest.mark.parametrize("seed", range(150))
def test_shapes_stay_within_their_reach(seed: int) -> None:
    shape, unit, origin = any_shape(Rng("reach", seed)), 14 + seed % 7, (40.0, 40.5)
    image = Image.new("RGB", (240, 240), (1, 2, 3))
    draw(image, (shape,), unit, origin)
    rows, columns = np.nonzero((np.asarray(image) != (1, 2, 3)).any(axis=-1))
    left, top, right, bottom = reach(shape, unit, origin)
    if len(rows):
        assert left <= columns.min() and columns.max() + 1 <= right
        assert top <= rows.min() and rows.max() + 1 <= bottom
        assert (right - left) * (bottom - top) < 8 * (np.ptp(rows) + 9) * (np.ptp(columns) + 9), "far more than needed"


def test_areas_cover_the_places_and_lie_in_the_picture() -> None:
    places = [(0.0, 0.0, 21.0, 20.0), (-50.0, 390.0, 12.5, 900.0), (30.0, 0.0, 41.0, 9.0), (600.0, 0.0, 700.0, 9.0)]
    areas = [Painter(200).within((x0 / 2, y0 / 2, x1 / 2, y1 / 2)) for x0, y0, x1, y1 in places]
    assert areas == [(0, 0, 11, 10), (0, 195, 7, 200), (15, 0, 21, 5), None]
    assert merged([area for area in areas if area]) in ([(0, 195, 7, 200), (0, 0, 21, 10)], [(0, 0, 21, 200)])
    far = merged([(0, 0, 100, 100), (200, 200, 300, 300)])
    assert len(far) == (2 if 2 * 100**2 + CALL < 300**2 else 1)


@pytest.mark.parametrize("text", ["A", "12", "AVATAR To.", "from A · to D", "question 3/4: jgyQ", "→ x ≤ 7"])
@pytest.mark.parametrize("size", [9, 17, 28, 40])
def test_text_set_from_letters_looks_as_pillow_sets_it(text: str, size: int) -> None:
    mask, left, top = text_mask(text, size)
    ours, theirs = Image.new("L", (900, 80)), Image.new("L", (900, 80))
    ours.paste(mask, (450 + left, 40 + top))
    ImageDraw.Draw(theirs).text((450, 40), text, 255, font(size), anchor="mm")
    a, b = np.asarray(ours).astype(int), np.asarray(theirs).astype(int)
    shifts = [np.abs(np.roll(a, dx, axis=1) - b).sum() / b.sum() for dx in (-1, 0, 1)]
    assert min(shifts) < 0.01, f"{min(shifts):.3f} of the ink is elsewhere"


def test_edges_are_smooth() -> None:
    shapes = (
        Disc(x=2, y=2, radius=1.4, fill="ink"),
        Polygon(points=((4.2, 0.3), (7.6, 3.1)), line="ink", thick=0.3, closed=False),
        Run(text="S", x=2, y=6, size=3.2),
        Box(x=4.4, y=4.4, width=3, height=3, fill="ink", radius=1),
    )
    grey = Painter(128).paint(Scene(width=8, height=8, shapes=shapes, background="white"))[..., 1].astype(int)
    for y, x in ((0, 0), (0, 64), (64, 0), (64, 64)):
        part = grey[y : y + 64, x : x + 64]
        middle = ((part > 60) & (part < 230)).sum()
        assert middle > 25, f"the shape at {x}, {y} has {middle} pixels between ink and paper"
        assert part.min() == rgb("ink")[1] and part.max() == 255


def test_layers_have_no_dark_rims() -> None:
    """A letter drawn for itself and laid over a tile: where it is half there, so is the tile."""
    pixels = tile("brush-plate+brush-letter", 40, "ink").astype(int)
    low, high = np.minimum(rgb("gold"), 255), np.maximum(rgb("gold"), 255)
    assert (pixels >= low - 3).all() and (pixels <= high).all() and len(np.unique(pixels[..., 2])) > 6


def test_threads_do_not_paint_on_each_others_canvas() -> None:
    rng = Rng("threads")
    scenes = [Scene(width=8, height=8, shapes=tuple(any_shape(rng) for _ in range(30))) for _ in range(24)]
    right = [Painter(96).paint(scene).tobytes() for scene in scenes]
    with ThreadPoolExecutor(6) as pool:
        assert [p.tobytes() for p in pool.map(lambda s: Painter(96).paint(s), scenes * 3)] == right * 3
