"""Splits share no layout, not even turned or mirrored."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintain.envs.world import world_of
from quintain.registry import entries
from quintain.worlds.engines.grid.board import layout_of
from quintain.worlds.kernel import GenerationError
from quintain.worlds.noise import Rng
from quintain.worlds.splits import ALL, SPLITS, Draft, canonical, drawn, split_of, symmetries


def turned(cells: str, width: int, height: int) -> str:
    """A quarter turn, written another way than in the library."""
    return "".join(cells[(height - 1 - x) * width + y] for y in range(width) for x in range(height))


@given(st.integers(1, 5).flatmap(lambda n: st.tuples(st.just(n), st.text("#.kG", min_size=n * n, max_size=n * n))))
def test_a_turned_or_mirrored_square_has_the_same_canonical_form(board: tuple[int, str]) -> None:
    side, cells = board
    mirrored = "".join(cells[i : i + side][::-1] for i in range(0, side * side, side))
    forms = {canonical(c, side, side) for c in (cells, turned(cells, side, side), mirrored)}
    assert len(forms) == 1 and sorted(forms.pop()) == sorted(cells)


def test_the_symmetries_are_all_different_and_keep_neighbours() -> None:
    for width, height in ((4, 4), (5, 3)):
        found = symmetries(width, height)
        assert len(set(found)) == (8 if width == height else 4)

        def beside(a: int, b: int, width: int = width) -> bool:
            return abs(a // width - b // width) + abs(a % width - b % width) == 1

        for p in found:
            for a, b in itertools.combinations(range(width * height), 2):
                assert beside(a, b) == beside(p[a], p[b])


def test_a_fifth_is_reserved() -> None:
    counts = {s: sum(split_of(str(i)) == s for i in range(5000)) / 5000 for s in SPLITS}
    assert abs(counts["train"] - 0.8) < 0.02 and abs(counts["test"] - 0.1) < 0.02


def test_key_door_splits_share_no_layout_class() -> None:
    world = world_of("KeyDoor")
    classes = {s: {canonical(layout_of(world.start(seed, 2, split=s)), 5, 5) for seed in range(60)} for s in SPLITS}
    assert not classes["train"] & classes["test"] and not classes["test"] & classes["validation"]
    assert len(classes["train"]) > 55
    mixed = {canonical(layout_of(world.start(seed, 2, split=ALL)), 5, 5) for seed in range(100)}
    assert {split_of(c) for c in mixed} == set(SPLITS)


def test_what_cannot_be_drawn_is_an_error() -> None:
    with pytest.raises(GenerationError, match="too few layouts"):
        drawn(lambda rng: "x", str, Rng(1), "test" if split_of("x") != "test" else "train", tries=10)
    with pytest.raises(GenerationError, match="20 draws: none could be made at all"):
        drawn(lambda rng: None, str, Rng(1), ALL, tries=20)


def test_only_drafts_of_the_split_are_proved() -> None:
    proved: list[int] = []

    def made(rng: Rng) -> Draft[int]:
        number = rng.below(1000)
        return Draft(number, lambda: proved.append(number) or (number if number % 3 else None))

    found = drawn(made, str, Rng(1), "test")
    assert found % 3 and proved[-1] == found and {split_of(str(n)) for n in proved} == {"test"}
    plain = drawn(lambda rng: n if (n := rng.below(1000)) % 3 else None, str, Rng(1), "test")
    assert found == plain
    with pytest.raises(GenerationError, match="20 draws: none could be made at all"):
        drawn(lambda rng: Draft(rng.below(1000), lambda: None), str, Rng(1), ALL, tries=20)
    with pytest.raises(GenerationError, match="too few layouts"):
        drawn(lambda rng: Draft("x", lambda: "x"), str, Rng(1), "test" if split_of("x") != "test" else "train", tries=9)


def test_drafts_of_games_have_their_layout_and_are_finished_without_a_draw() -> None:
    kinds = set()
    for entry in entries("world"):
        world = world_of(entry.name)
        rng = Rng("drafts", entry.name)
        made = world.game.deal(rng, world.levels[2]) if hasattr(world, "game") else None
        if isinstance(made, Draft):
            before = rng.uniform.__self__.getstate()
            done = made.finish()
            assert rng.uniform.__self__.getstate() == before, entry.name
            assert done is None or world.game.layout(done) == world.game.layout(made.instance), entry.name
            kinds.add(entry.tags["engine"])
    assert kinds == {"arcade", "board", "cards", "geometry", "grid", "raycast", "slide"}
