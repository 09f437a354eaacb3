"""Names of cells, and boards written and drawn with them."""

from __future__ import annotations

import pytest

from quintain.worlds.art import shapes_of
from quintain.worlds.cells import framed, labelled, name_of, names_of, read_cell, unframed


def test_every_name_reads_back_in_every_spelling() -> None:
    for row in range(12):
        for column in range(12):
            name = name_of(row, column)
            spellings = (name, name.upper(), f" {name}\n", f"{name[0]} {name[1:]}", f"{row + 1} {column + 1}")
            spellings += (
                f"r{row + 1}c{column + 1}",
                f"({row + 1}, {column + 1})",
                f"row {row + 1}, column {column + 1}",
            )
            assert {read_cell(s) for s in spellings} == {(row, column)}


@pytest.mark.parametrize(
    "text", ["", "b", "3", "33", "b-3", "b3b", "b0", "0 1", "1 0", "1 27", "b3" + " " * 60 + "x", "ß3", "b³", "b٣"]
)
def test_other_texts_name_no_cell(text: str) -> None:
    assert read_cell(text) is None


def test_a_written_board_reads_back() -> None:
    for width, signs in ((2, "X.O."), (3, "...OXO"), (11, "?1" * 66)):
        assert unframed(framed(signs, width).split("\n")) == (signs, width)


@pytest.mark.parametrize("lines", [[], [""], ["a c", "1 . ."], ["a b", "2 . ."], ["a b", "1 ."], ["a b", "1 . . ."]])
def test_what_is_no_board_is_refused(lines: list[str]) -> None:
    assert unframed(lines) is None


def test_labels_stand_beside_the_cells_they_name() -> None:
    scene = labelled([str(i) for i in range(6)], 3, "corner")
    rows = [scene.cells[i : i + 4] for i in range(0, 12, 4)]
    assert rows[0] == ("corner", "label-a", "label-b", "label-c") and rows[2] == ("label-2", "3", "4", "5")
    assert (scene.width, scene.height, scene.columns) == (4, 3, 4)
    assert all(shapes_of(tile) for row in rows for tile in row if tile.startswith("label"))
    assert names_of(3, 2)[4] == "b2"  # the cell drawn in row 2 under label b
