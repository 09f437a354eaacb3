"""Pictures say what they show: sizes of type, edges of boards, signs that are told apart."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from quintain.envs.world import world_of
from quintain.testing.worlds import walk
from quintain.worlds import painter
from quintain.worlds.art import shapes_of
from quintain.worlds.brush import reach
from quintain.worlds.engines.geometry.figure import LETTERS
from quintain.worlds.engines.raycast.things import COLOURS, SHAPES
from quintain.worlds.noise import Rng
from quintain.worlds.painter import painted
from quintain.worlds.palette import COLORS, ink_on, lightness, rgb
from quintain.worlds.scene import Box, Disc, Polygon, Run, Scene, Sprite
from quintain.worlds.suite.cognition.dot_tally import FILLS as DOTS
from quintain.worlds.suite.cognition.occluded import FILLS

SIDE = 256  # pixels of a picture


def scene_of(name: str, level: int, seed: int = 1) -> Scene:
    """A start as the first seat sees it."""
    world = world_of(name)
    return world.view(world.start(seed, level), world.facts.seats[0]).scene()


def pixels(scene: Scene, run: Run) -> float:
    """The height of letters."""
    return run.size * SIDE / max(scene.width, scene.height)


def runs(scene: Scene) -> list[Run]:
    return [shape for shape in scene.shapes if isinstance(shape, Run)]


@pytest.mark.parametrize(("name", "least"), [("KnightsKnaves", 9.5), ("ZebraHouses", 10), ("PackBoxes", 8)])
def test_type_is_large_enough_to_read(name: str, least: float) -> None:
    for seed in range(4):
        scene = scene_of(name, 9, seed)
        read = [run for run in runs(scene) if name != "PackBoxes" or run.text.isupper()]
        assert min(pixels(scene, run) for run in read) >= least


def test_letters_of_pieces_with_cut_cells_stay_small() -> None:
    for seed in range(4):
        scene = scene_of("Tangram", 9, seed)
        whole = [run for run in runs(scene) if run.text.isupper()]
        assert all(run.size <= 0.95 for run in whole) and min(run.size for run in whole) < 0.7


def lines(tile: str) -> set[tuple[float, float]]:
    """Where the lines of a point lead."""
    shapes = [shape for shape in shapes_of(tile.split("+")[0]) if isinstance(shape, Polygon)]
    return {point for shape in shapes for point in shape.points if point != (0.5, 0.5)}


def test_lines_of_go_end_at_the_edge() -> None:
    scene = scene_of("GoBoard", 0)
    size = scene.columns - 1
    board = [scene.cells[(row + 1) * scene.columns + column + 1] for row in range(size) for column in range(size)]
    assert lines(board[0]) == {(1.0, 0.5), (0.5, 1.0)} and lines(board[-1]) == {(0.0, 0.5), (0.5, 0.0)}
    assert len(lines(board[size + 1])) == 4


@pytest.mark.parametrize("unit", [25, 31, 32, 37])
def test_lines_of_points_are_straight(unit: int) -> None:
    world_of("GoBoard")
    for pixels in (painter.tile("go-ns", unit, "paper"), painter.tile("go-ew", unit, "paper").transpose(1, 0, 2)):
        assert (pixels == pixels[0]).all()


def test_walls_end_lines_of_go() -> None:
    scene = scene_of("Tsumego", 5)
    wide, met = scene.columns, 0
    for at, tile in enumerate(scene.cells):
        beside = scene.cells[at + 1] if (at + 1) % wide else "go-wall"
        if "go-" in tile and at > wide and at % wide and tile != "go-wall" and beside == "go-wall":
            met += 1
            assert (1.0, 0.5) not in lines(tile)
    assert met


def test_signs_of_go_are_stones_in_pictures() -> None:
    for name in ("GoBoard", "Tsumego"):
        for level in (0, 2, 5):
            scene = scene_of(name, level)
            assert scene.cells[0].startswith(("go-X-", "go-O-"))
            assert not any(word in {"X", "O"} for run in runs(scene) for word in run.text.split())


def test_the_bar_of_counters_is_as_wide_as_the_board() -> None:
    scene = scene_of("BeatTap", 5)
    bar = [tile for tile in scene.cells if tile.startswith("hud")]
    assert scene.columns == 4 and len(bar) == 8 and all(scene.cells)


def test_a_counter_of_invaders_is_no_invader() -> None:
    assert "hud+icon-march" in scene_of("InvaderRow", 5).cells
    assert shapes_of("icon-march") != shapes_of("raid-invader")


def test_names_of_rows_stand_apart_from_gates() -> None:
    scene = scene_of("MirrorPlace", 9)
    names = [run for run in runs(scene) if run.color == "ink"]
    gates = [run for run in runs(scene) if run.color != "ink"]
    nearest = min(math.dist((a.x, a.y), (b.x, b.y)) for a in names for b in gates)
    assert nearest > 0.8, "cells"


@pytest.mark.parametrize("name", ["TreeColours", "IndepTree"])
def test_plates_stand_by_their_own_vertex(name: str) -> None:
    for seed in (*range(12), 78, 100, 188):
        shapes = scene_of(name, 9, seed).shapes
        discs = [shape for shape in shapes if isinstance(shape, Disc) and shape.radius > 0.6]
        plates = [shape for shape in shapes if isinstance(shape, Box) and shape.fill == "sand"]
        assert plates
        for plate in plates:
            gaps = sorted(
                math.hypot(
                    max(abs(plate.x + plate.width / 2 - disc.x) - plate.width / 2, 0),
                    max(abs(plate.y + plate.height / 2 - disc.y) - plate.height / 2, 0),
                )
                for disc in {(disc.x, disc.y): disc for disc in discs}.values()
            )
            assert gaps[1] - gaps[0] > 0.2, "cells"
        for a, b in itertools.combinations(plates, 2):
            assert a.x + a.width <= b.x or b.x + b.width <= a.x or a.y + a.height <= b.y or b.y + b.height <= a.y


def test_a_printed_cell_of_a_path_is_no_end_of_it() -> None:
    world = world_of("FlowLinks")
    page = world.start(0, 7).page
    tiles = [tile for tile in scene_of("FlowLinks", 7, 0).cells if "hue-" in tile]
    assert sum("hue-end" in tile for tile in tiles) == len(page.labels)
    assert len(tiles) == len(page.given) - len(page.blanks) > len(page.labels)


def check_text(scene: Scene) -> None:
    """No two texts over the tiles overlap, all lie within the sheet, and no box that is painted later covers one."""
    unit = 2 * SIDE / max(scene.width, scene.height)  # drawn twice as large, as painters do
    found: list[tuple[int, tuple[float, ...], str]] = []
    for at, run in enumerate(scene.shapes):
        if isinstance(run, Run) and run.text:
            left, top, right, bottom = reach(run, unit, (0.0, 0.0))
            found.append((at, (left + 3, top + 3, right - 3, bottom - 3), run.text))
            assert min(left, top) >= -2 and right <= scene.width * unit + 2, f"{run.text!r} leaves the sheet"
            assert bottom <= scene.height * unit + 2, f"{run.text!r} leaves the sheet"
    plates = [(at, box, "a box") for at, box in enumerate(scene.shapes) if isinstance(box, Box) and box.fill]
    over = [
        (at, (box.x * unit, box.y * unit, (box.x + box.width) * unit, (box.y + box.height) * unit), said)
        for at, box, said in plates
    ]
    for (i, a, one), (j, b, two) in itertools.product(found, (*found, *over)):
        apart = min(a[2], b[2]) <= max(a[0], b[0]) or min(a[3], b[3]) <= max(a[1], b[1])
        assert j <= i or apart, f"{two!r} lies on {one!r}"


def answered(name: str, level: int, seed: int) -> Scene:
    """The picture at the end of what an oracle does."""
    world, (seat, *_) = world_of(name), world_of(name).facts.seats
    state = world.start(seed, level)
    for move in world.solve(state, seat).moves:
        state = world.step(state, {seat: move}).state
    return world.view(state, seat).scene()


@pytest.mark.parametrize(
    "name",
    [
        *(
            "MentalMap",
            "SwapAttack",
            "ReflectRay",
            "MinCircle",
            "CircleTheorem",
            "CoinStrip",
            "CutPolygon",
            "PileIntervals",
        ),
        *("DotTally", "RectTally", "UnionArea", "VoronoiAsk", "AdjacencyRead", "GridIslands", "SpanMin"),
    ],
)
def test_an_answer_lies_on_no_other_text(name: str) -> None:
    for level, seed in itertools.product((0, 5, 9), (1, 2, 3)):
        scene = answered(name, level, seed)
        assert scene != scene_of(name, level, seed)
        check_text(scene)


def test_long_answers_about_graphs_are_whole_and_what_is_asked_stays() -> None:
    for name, seed in itertools.product(("AdjacencyRead", "FlowMax", "GridIslands", "SpanMin", "EulerTour"), range(3)):
        world, scene = world_of(name), answered(name, 9, seed)
        said = " ".join(run.text for run in runs(scene) if run.color == "blue")
        right = world.solve(world.start(seed, 9), world.facts.seats[0]).moves[0].key
        assert said.replace(" ", "") == f"answer {right}".replace(" ", ""), name
        assert min(pixels(scene, run) for run in runs(scene) if run.color == "blue") > 7.5, name
        asked = [run.text for run in runs(scene_of(name, 9, seed)) if run.color == "stone" and run.y > 15]
        assert asked == [run.text for run in runs(scene) if run.color == "stone" and run.y > 15]


def test_hands_and_rims_of_dials_leave_numbers_free() -> None:
    for level, seed in itertools.product((0, 3, 6, 9), range(8)):
        scene = scene_of("ClockDial", level, seed)
        hands = [s for s in scene.shapes if isinstance(s, Polygon) and s.line == "brick" and s.thick == 0.07]
        rulers = [s for s in scene.shapes if isinstance(s, Box) and s.fill == "sand"]
        for run in [run for run in runs(scene) if run.text.isdigit()]:
            left, top, right, bottom = (edge / 64 for edge in reach(run, 64, (0.0, 0.0)))
            for (ax, ay), (bx, by) in [hand.points for hand in hands]:
                along = [(ax + (bx - ax) * k / 20, ay + (by - ay) * k / 20) for k in range(21)]
                assert not any(left < x < right and top < y < bottom for x, y in along), (level, seed, run.text)
            for box in rulers:
                if box.y < run.y < box.y + box.height and box.x < run.x < box.x + box.width:
                    assert box.x + 0.04 < left and right < box.x + box.width - 0.04


def test_killers_have_boxes_with_thick_lines_and_cages_with_dashed_ones() -> None:
    starts = [(world_of("SudokuVariant").start(seed, 0).page, scene_of("SudokuVariant", 0, seed)) for seed in range(6)]
    page, scene = next(start for start in starts if start[0].notes == ("killer",))
    for c, sign in enumerate(page.ground):
        tile = scene.cells[(c // 6 + 1) * 7 + c % 6 + 1].split("+")
        assert ("rim-right" in tile) == (c % 3 == 2) and ("rim-bottom" in tile) == (c // 6 % 2 == 1)
        assert ("cage-right" in tile) == (c % 6 == 5 or page.ground[c + 1] != sign)


def test_who_stands_on_a_portal_leaves_its_letter_free() -> None:
    world, (seat, *_) = world_of("TeleportHall"), world_of("TeleportHall").facts.seats
    state, seen = world.start(3, 4), set()
    for move in world.solve(state, seat).moves:
        state = world.step(state, {seat: move}).state
        seen |= {tile for tile in world.view(state, seat).scene().cells if "portal" in tile and "player" in tile}
    assert seen and all(tile.endswith("+player-corner") for tile in seen)


def test_start_and_walker_of_a_route_leave_names_free() -> None:
    for level, seed in itertools.product((0, 4, 9), range(6)):
        scene = scene_of("RouteMap", level, seed)
        ring = next(s for s in scene.shapes if isinstance(s, Disc) and s.line == "green")
        walker = next(s for s in scene.shapes if isinstance(s, Disc) and s.fill == "blue")
        for run in runs(scene):
            left, top, right, bottom = (edge / 64 for edge in reach(run, 64, (0.0, 0.0)))
            for disc in (walker, *([ring] if run.color == "stone" else [])):
                gap = math.hypot(max(left - disc.x, disc.x - right, 0), max(top - disc.y, disc.y - bottom, 0))
                assert gap > disc.radius - 0.05, f"level {level}, seed {seed}: {run.text}"


def test_cells_of_floors_can_be_counted() -> None:
    tile = painted(Scene(width=16, height=16, cells=("floor",) * 256, columns=16), SIDE)
    rows = sorted(((tile[24] / 255.0) ** 2.2 @ (0.2126, 0.7152, 0.0722)).tolist())
    assert 1.1 < (rows[-1] + 0.05) / (rows[0] + 0.05) < 1.3


def test_what_pictures_name_and_part() -> None:
    for seed in range(4):
        scene, things = scene_of("DotTally", 9, seed), world_of("DotTally").start(seed, 9).things
        swatches = {shape.fill for shape in scene.shapes if isinstance(shape, Box)}
        used = {thing[1] for thing in things if thing[0] != "count"}
        assert used <= {run.text for run in runs(scene)} and {DOTS[color] for color in used} <= swatches
        rays = [thing[1] for thing in world_of("ReflectRay").start(seed, 9).things if thing[0] == "ray"]
        assert f"rays: {', '.join(rays)}" in [run.text for run in runs(scene_of("ReflectRay", 9, seed))]
    ships = [shape for shape in scene_of("Battleships", 9).shapes if isinstance(shape, Box)]
    assert min(ship.height for ship in ships) * SIDE / 11 > 9, "pixels"
    for name in ("Nonogram", "Skyscraper", "Tents"):
        assert {"part-names", "part-letters"} <= {part for tile in scene_of(name, 4).cells for part in tile.split("+")}
    assert "You see 2 cells far" in [run.text for run in runs(scene_of("FogMap", 9))]
    scene = scene_of("PolygonArea", 5)
    for run, dot in itertools.product(runs(scene), [shape for shape in scene.shapes if isinstance(shape, Disc)]):
        right = reach(run, 64, (0.0, 0.0))[2] / 64
        assert run.color != "stone" or abs(run.y - dot.y) > 0.3 or run.x > dot.x or right < dot.x, (
            "on a number of an axis"
        )
    assert scene_of("ZebraHouses", 9).left > 0.2, "the grid stands over the middle of the clues"
    assert scene_of("MissionRoom", 9).top < 0.3 * scene_of("MissionRoom", 9).height
    first, last = (shapes_of(f"miss-{which}")[0] for which in ("first", "last"))
    assert first.radius == last.radius > 0.2 and first.thick > last.thick


def test_a_step_into_a_wall_is_seen() -> None:
    world, (seat, *_) = world_of("MazePlan"), world_of("MazePlan").facts.seats
    after = world.step(world.start(1, 4), {seat: world.read("llllllllllll", seat)}).state
    assert [s for s in world.view(after, seat).scene().shapes if isinstance(s, Polygon) and s.line == "brick"]


def test_wrong_places_are_told_within_the_picture_of_a_walk() -> None:
    world = world_of("MentalMap")
    seat, state = world.facts.seats[0], world.start(944285749, 5, kinds=6, rooms=3)
    every = ", ".join(f"{c} {s} -40 -40" for s in SHAPES for c in COLOURS)
    for text in ("blue box 3 -1", "blue box 12 -10, white box -3 0", every):
        scene = world.view(world.step(state, {seat: world.read(text, seat)}).state, seat).scene()
        check_text(scene)
        assert sum("," in run.text for run in runs(scene)) == len(text.split(", "))


def test_letters_of_overlapping_shapes_lie_on_their_own() -> None:
    for level, seed in itertools.product((1, 3, 5, 7, 9), range(12)):
        scene = scene_of("Occluded", level, seed)
        letters = [run for run in runs(scene) if len(run.text) == 1]
        bare = painted(replace(scene, shapes=tuple(s for s in scene.shapes if not isinstance(s, Run))), 512)
        for run in letters:
            left, top, right, bottom = map(int, reach(run, 512 / scene.width, (0.0, 0.0)))
            under = bare[top + 2 : bottom - 2, left + 2 : right - 2]
            own = (under == rgb(FILLS[LETTERS.index(run.text)])).all(axis=2)
            assert np.mean(own) > 0.85, f"level {level}, seed {seed}: {run.text}"
            assert run.color == ink_on(FILLS[LETTERS.index(run.text)])


def test_ink_on_a_fill_is_what_stands_out_more() -> None:
    assert (ink_on("blue"), ink_on("brick"), ink_on("gold"), ink_on("navy")) == ("white", "ink", "ink", "white")
    for name in COLORS:
        ground, letter = sorted((lightness(name), lightness(ink_on(name))))
        assert (letter + 0.05) / (ground + 0.05) > 3.9


@pytest.mark.parametrize("level", range(10))
def test_frames_of_a_walk_are_wide_enough_to_see_side_passages(level: int) -> None:
    scene = scene_of("MazeEye", level, 0)
    unit = int(SIDE / max(scene.width, scene.height))
    frames = [shape for shape in scene.shapes if isinstance(shape, Box) and shape.line and not shape.fill]
    assert len(frames) == len(world_of("MazeEye").start(0, level).frames)
    for frame in frames:
        assert frame.width * unit >= 80, "pixels"
        assert frame.x + frame.width <= scene.width and frame.y + frame.height <= scene.height


def test_colours_that_are_counted_or_joined_bear_marks() -> None:
    scene, page = scene_of("BlockCount", 9), world_of("BlockCount").start(1, 9).things
    signs = "".join(["".join(thing[2:]) for thing in page if thing[0] == "row"]).replace(".", "")
    marks = [shape.tile for shape in scene.shapes if isinstance(shape, Sprite)]
    asked = [f"field-{sign.upper()}" for sign in next(thing for thing in page if thing[0] == "count")[1:]]
    assert sorted(marks) == sorted([*(f"mark-{sign.upper()}" for sign in signs), *asked])
    assert len({shapes_of(f"mark-{sign}") for sign in "RGBYP"}) == 5
    ribbons = shapes_of("ribbon-r-gb")
    assert [shape.tile for shape in ribbons if isinstance(shape, Sprite)] == ["mark-R", "mark-G", "mark-B"]
    for run in runs(scene):
        left, _, right, _ = reach(run, 64, (0.0, 0.0))
        assert left > 0 and right < 64 * scene.width


def test_fills_of_dots_differ_in_shade_where_hues_fall_together() -> None:
    assert len(set(DOTS.values())) == len(DOTS)
    assert lightness(DOTS["plum"]) > 2.5 * lightness(DOTS["green"]), "for eyes without green they are one hue"


def small(scene: Scene) -> float:
    """The height of the smallest letters in the tiles, in pixels."""
    tiles = {layer for tile in scene.cells if tile for layer in tile.split("+")}
    sizes = [shape.size for tile in tiles for shape in shapes_of(tile) if isinstance(shape, Run)]
    return min(sizes) * int(SIDE / max(scene.width, scene.height))


@pytest.mark.parametrize(
    "name",
    [
        "Klondike", "SpiderDeal", "FreeCell", "Mastermind", "Nonogram", "NQueens", "DotsBoxes", "ConnectK", "UltimateTTT",
        "CrossFill",
    ],
)  # fmt: skip
def test_type_in_tiles_is_large_enough_to_read(name: str) -> None:
    for level, seed in itertools.product((0, 5, 9), range(3)):
        assert small(scene_of(name, level, seed)) >= 7.5, f"level {level}, seed {seed}"


@pytest.mark.parametrize("name", ["Klondike", "SpiderDeal", "FreeCell"])
def test_a_card_that_nothing_lies_on_has_a_lower_edge(name: str) -> None:
    scene, state = scene_of(name, 9), world_of(name).start(1, 9)
    lone = len(state.stock) + len(state.waste)  # in rows, each by itself
    assert sum(tile.endswith("+footl") for tile in scene.cells) == lone + sum(map(bool, state.piles))
    for at, tile in list(enumerate(scene.cells))[scene.cells.index("col-1") :]:
        assert not tile.endswith(("+footl", "+footr")) or not any(
            scene.cells[at + scene.columns : at + scene.columns + 1]
        )


def test_hanabi_shows_how_far_fireworks_go() -> None:
    for level in (0, 3, 9):
        ranks = world_of("Hanabi2").start(1, level).rules.ranks
        assert f"to-{ranks}" in scene_of("Hanabi2", level).cells
        assert {"wide-points", "wide-points-2"} <= set(scene_of("Hanabi2", level).cells)


def test_words_of_the_foot_of_liars_dice_stand_apart() -> None:
    cells = scene_of("LiarsDice", 9).cells
    assert cells[cells.index("tag-won") + 1] == ""


def test_numbers_of_places_stand_apart_from_the_word_before() -> None:
    world = world_of("CrossFill")
    (seat, *_), state = world.facts.seats, world.start(8, 9)
    for move in world.solve(state, seat).moves:
        state = world.step(state, {seat: move}).state
    scene = world.view(state, seat).scene()
    cells, beside = (
        scene.cells,
        [pair for i, pair in enumerate(itertools.pairwise(scene.cells), 1) if i % scene.columns],
    )
    assert any(tile.startswith("done-") for tile in cells)
    assert not any(b.startswith("slot-") for a, b in beside if a.startswith(("done-", "plain-")))


def test_letters_of_a_ladder_stay_as_large() -> None:
    world = world_of("WordLadder")
    (seat, *_), state = world.facts.seats, world.start(8, 9)
    begun = world.view(state, seat).scene()
    for _ in range(40):
        state = world.step(state, {seat: world.legal(state, seat)[0]}).state
    scene = world.view(state, seat).scene()
    assert max(scene.width, scene.height) == max(begun.width, begun.height)
    seen = "".join(tile[-1] for tile in scene.cells if "found-" in tile)
    assert seen.endswith(state.way[-1]) and f"n-{len(state.way) - len(seen) // len(state.goal)}" in scene.cells


@pytest.mark.parametrize("name", ["JumpRunner", "BeatTap", "BrickBounce", "PaddleDuel", "InvaderRow", "ChainMarbles"])
def test_the_end_of_an_arcade_game_stands_in_place_of_the_clock(name: str) -> None:
    world = world_of(name)
    (seat, *_), state = world.facts.seats, world.start(1, 0)
    while not state.over:
        assert world.view(state, seat).scene().cells[0] == "hud+icon-turns"
        state = world.step(state, {seat: world.legal(state, seat)[0]}).state
    over = world.view(state, seat).caption(2).rpartition("over: ")[2]
    assert over in {"won", "lost", "late"} and world.view(state, seat).scene().cells[0] == f"hud+over-{over}"


@pytest.mark.parametrize(("name", "counters"), [("PaddleMatch", 3), ("ChainMarbles", 2)])
def test_lines_of_counters_are_as_full_as_each_other(name: str, counters: int) -> None:
    scene = scene_of(name, 4)
    lines = [scene.cells[at : at + scene.columns] for at in (0, scene.columns)]
    assert [sum("+icon-" in tile for tile in line) for line in lines] == [counters, counters]


@pytest.mark.parametrize(
    ("name", "marks"),
    [
        ("KuhnPoker", ["wide-hand", "wide-hand-2", "wide-score", "wide-score-2", "wide-first-2", "wide-calls-2"]),
        ("LiarsDuel", ["sign-mine", "tag-1st", "wide-faces", "wide-faces-2"]),
    ],
)
def test_words_of_a_table_of_cards_have_the_room_of_two_cells(name: str, marks: list[str]) -> None:
    assert set(marks) <= set(scene_of(name, 0, 0).cells)


def test_who_bids_first_is_in_the_picture() -> None:
    world = world_of("LiarsDuel")
    seen = [world.view(replace(world.start(0, 0), opener=side), world.facts.seats[0]).scene() for side in (0, 1)]
    assert [next(t for t in scene.cells if t.startswith("sign-")) for scene in seen] == ["sign-mine", "sign-theirs"]


def test_the_end_of_hands_of_gin_is_in_the_picture() -> None:
    world = world_of("GinRummy")
    (seat, *_), state = world.facts.seats, world.start(0, 0)
    ended = replace(state, hand=state.match.hands)
    assert [world.view(s, seat).scene().cells.count("mark-over") for s in (state, ended)] == [0, 1]


def test_letters_of_kings_stand_out() -> None:
    world_of("Checkers")
    for name in ("men-X-king", "men-O-king"):
        (letter,) = [shape for shape in shapes_of(name) if isinstance(shape, Run)]
        assert letter.color == ink_on(next(s.fill for s in reversed(shapes_of(name)) if isinstance(s, Disc)))


def test_the_way_of_a_march_stands_beside_its_dots() -> None:
    world_of("InvaderRow")
    for way, wait in itertools.product(("left", "right"), (1, 3)):
        chevron, *dots = shapes_of(f"value-{way}-{wait}-of-3")
        assert max(x for x, _ in chevron.points) < min(dot.x - dot.radius for dot in dots)


def test_signs_of_what_falls_stay_apart_from_the_bar_of_counters() -> None:
    world_of("SkyDodge")
    assert all(shape.y >= 0.1 for shape in shapes_of("sky-star-3") if isinstance(shape, Box))
    assert shapes_of("icon-stars")[0] not in shapes_of("sky-star-1")


def test_ghosts_look_to_the_edge_of_their_eyes() -> None:
    world_of("PelletMaze")
    for heading in range(4):
        one, two, *pupils = [shape for shape in shapes_of(f"maze-ghost-0-{heading}") if isinstance(shape, Disc)]
        gaps = [math.dist((eye.x, eye.y), (p.x, p.y)) for eye, p in zip((one, two), pupils, strict=True)]
        assert min(gaps) + pupils[0].radius >= one.radius


def test_a_mark_that_closes_a_loop_has_a_thick_frame_of_a_colour_of_its_own() -> None:
    world = world_of("QuantumTTTDuel")
    seen = []
    for state in walk(world, world.start(0, 0), Rng("loop"), 8):
        loop = "closes a loop" in world.caption(state, "X", 2)
        shapes = world.scene(state, "X").shapes
        seen.append(loop)
        assert any(shape.line == "plum" for shape in shapes if isinstance(shape, Box | Disc)) == loop
    assert any(seen)


def test_a_bishop_is_much_taller_than_a_pawn() -> None:
    world_of("ChessGame")
    pawn, bishop = ([p for s in shapes_of(f"men-white-{k}") if isinstance(s, Polygon) for p in s.points] for k in "pb")
    assert min(y for _, y in bishop) + 0.3 < min(y for _, y in pawn)
