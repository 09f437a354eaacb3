"""Arcade games: rules tick by tick, and oracles against trying every sequence of moves."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.engines.arcade.loop import HIT, LATE, Frame, Stage, read_back
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import Plan, Unsolvable
from quintain.worlds.suite.temporal.lane_cross import lane_cross


def fewest(world: TurnWorld[Frame], frame: Frame, most: int) -> int:
    """Fewest moves to a win, by playing every sequence of up to `most` moves; -1 if none wins."""
    words = [m.key for m in world.legal(frame, SOLO)]
    for length in range(1, most + 1):
        for moves in itertools.product(words, repeat=length):
            state, rewards = frame, {}
            for word in moves:
                if state.over:
                    break
                state, rewards, *_ = world.step(state, {SOLO: world.read(word, SOLO)})
            if rewards:
                return length
    return -1


def follow(world: TurnWorld[Frame], frame: Frame, *words: str) -> Any:
    """The last outcome of some moves."""
    outcome = None
    for word in words:
        outcome = world.step(frame, {SOLO: world.read(word, SOLO)})
        frame = outcome.state
    return outcome


ROADS = lane_cross()


def road(*lanes: tuple[int, int, int], turns: int = 6, column: int = 0) -> Frame:
    """A board four cells wide with a home at the left."""
    data = ((0, 0, 0), *lanes, (0, 0, 0))
    stage = Stage(4, len(data), turns, cells="H###" + "." * 4 * (len(data) - 1), data=data)
    return Frame(stage, 0, (len(data) - 1, column))


def test_a_car_hits_on_every_cell_it_drives_over():
    lane = (1, 2, 0b0001)  # from column 0 over 1 to 2
    for column, over in enumerate((HIT, HIT, HIT, 0)):
        assert follow(ROADS, road(lane, column=column), "up").state.over == over
    later = road(lane, column=3)
    assert follow(ROADS, later, "wait", "up").state.over == HIT  # now from column 2 over 3 to 0
    assert follow(ROADS, later, "left", "left", "up").state.over == HIT


def test_hedges_stop_and_homes_win():
    assert follow(ROADS, road((1, 1, 0), column=1), "up", "up").state.at == (1, 1)
    won = follow(ROADS, road((1, 1, 0)), "up", "up")
    assert won.done and won.rewards == {SOLO: {"success": 1.0}} and won.events == {SOLO: ("won",)}
    assert isinstance(ROADS.solve(won.state, SOLO), Unsolvable)
    assert follow(ROADS, road((1, 1, 0), turns=2), "wait", "wait").state.over == LATE


@pytest.mark.parametrize("bits", range(16))
def test_the_way_through_traffic_is_the_shortest(bits: int):
    for way, speed in ((1, 1), (-1, 2)):
        frame = road((way, speed, bits), (-way, 1, 0b0110), turns=5, column=1)
        plan, least = ROADS.solve(frame, SOLO), fewest(ROADS, frame, 5)
        assert (len(plan.moves) if isinstance(plan, Plan) else -1) == least


def test_a_caption_that_is_none_is_refused():
    with pytest.raises(QuintainError, match="no full caption"):
        read_back("turns 3\n. .\n. . .")
