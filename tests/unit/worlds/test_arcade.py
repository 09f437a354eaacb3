"""Arcade games: rules tick by tick, and oracles against trying every sequence of moves."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from quintain.envs.adapters.play import Play
from quintain.envs.asking import every_move, grade_moves, question_of_moves
from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.engines.arcade.falling import shower
from quintain.worlds.engines.arcade.loop import HIT, LATE, Frame, Stage, read_back
from quintain.worlds.engines.turns import TurnWorld
from quintain.worlds.kernel import GenerationError, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.suite.temporal.beat_tap import beat_tap
from quintain.worlds.suite.temporal.brick_bounce import brick_bounce
from quintain.worlds.suite.temporal.chain_marbles import chain_marbles
from quintain.worlds.suite.temporal.invader_row import invader_row
from quintain.worlds.suite.temporal.lane_cross import lane_cross
from quintain.worlds.suite.temporal.sky_dodge import sky_dodge


def said(world: TurnWorld[Frame], word: str) -> Move:
    """The move that a word spells."""
    move = world.read(word, SOLO)
    assert move is not None
    return move


def fewest(world: TurnWorld[Frame], frame: Frame, most: int) -> int:
    """Fewest moves to a win, by playing every sequence of up to `most` moves; -1 if none wins."""
    words = [m.key for m in world.legal(frame, SOLO)]
    for length in range(1, most + 1):
        for moves in itertools.product(words, repeat=length):
            state, rewards = frame, {}
            for word in moves:
                if state.over:
                    break
                state, rewards, *_ = world.step(state, {SOLO: said(world, word)})
            if rewards:
                return length
    return -1


def follow(world: TurnWorld[Frame], frame: Frame, *words: str) -> Any:
    """The last outcome of some moves."""
    outcome = None
    for word in words:
        outcome = world.step(frame, {SOLO: said(world, word)})
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


SKY = sky_dodge()


def sky(*things: tuple[int, ...], goal: int = 1, turns: int = 7, column: int = 1) -> Frame:
    """A sky three cells wide and five high."""
    return Frame(Stage(3, 5, turns, goal, data=things), 0, (column,))


@pytest.mark.parametrize("speed, turn", [(1, 3), (2, 1), (3, 1)])
def test_a_thing_lands_in_the_turn_in_which_it_reaches_the_last_row(speed: int, turn: int):
    for column, hit in ((0, False), (1, True)):
        frame = sky((column, 0, speed, 0))
        overs = [follow(SKY, frame, *["wait"] * n).state.over for n in range(1, 6)]
        assert (HIT in overs) is hit and (not hit or overs.index(HIT) == turn)
        won = follow(SKY, sky((column, 0, speed, 1)), *["wait"] * (turn + 1))
        assert bool(won.rewards) is hit


def test_the_first_thing_that_lands_decides():
    rock_and_star = sky((1, 0, 2, 0), (0, 0, 2, 1))
    assert follow(SKY, rock_and_star, "wait", "wait").state.over == HIT
    assert follow(SKY, rock_and_star, "wait", "left").rewards == {SOLO: {"success": 1.0}}
    assert follow(SKY, rock_and_star, "right", "wait").state.over == 0


@pytest.mark.parametrize("seed", range(12))
def test_the_way_through_the_sky_is_the_shortest(seed: int):
    things = shower(Rng("sky", seed), {"width": 3, "height": 5, "speed": 2, "dense": 24, "stars": 40}, 5)
    frame = sky(*things, goal=2)
    plan, least = SKY.solve(frame, SOLO), fewest(SKY, frame, 7)
    assert (len(plan.moves) if isinstance(plan, Plan) else -1) == least


BEAT = beat_tap()


def beat(*notes: tuple[int, int, int], misses: int = 0, goal: int = 2, turns: int = 3) -> Frame:
    """Notes (lane, turn of entry, speed) two cells above the line."""
    return Frame(Stage(4, 3, turns, goal, data=tuple((*n, 0) for n in notes)), 0, (misses,))


def test_only_the_lanes_of_the_notes_are_to_be_pressed():
    chord = beat((0, -1, 1), (2, 0, 2), misses=1)  # both land in turn 0
    assert follow(BEAT, chord, "tap13").rewards == {SOLO: {"success": 1.0}}
    for word, misses in (("tap1", 0), ("tap3", 0)):
        after = follow(BEAT, chord, word).state
        assert (after.score, after.at[0], after.over) == (1, misses, 0)
    assert follow(BEAT, chord, "tap134").rewards == {SOLO: {"success": 1.0}}  # one press for nothing is allowed
    assert follow(BEAT, beat((0, -1, 1), (2, 0, 2)), "tap134").state.over == HIT
    assert follow(BEAT, chord, "tap24").state.over == HIT and follow(BEAT, chord, "wait").state.over == HIT


@pytest.mark.parametrize(
    "text, key",
    [
        ("tap 13", "tap13"),
        ("Tap 1 3", "tap13"),
        ("tap 1,3", "tap13"),
        ("tap 1+3", "tap13"),
        ("tap31", "tap13"),
        ("WAIT", "wait"),
    ],
)
def test_chords_are_read(text: str, key: str):
    assert BEAT.read(text, SOLO) == BEAT.read(key, SOLO) is not None
    assert all(BEAT.read(other, SOLO) is None for other in ("tap5", "tap11", "tap131", "tap"))


@pytest.mark.parametrize("misses", range(3))
def test_the_chart_is_played_in_the_fewest_turns(misses: int):
    frame = beat((0, -1, 1), (1, 0, 1), (3, 0, 2), (2, 1, 2), misses=misses, goal=3, turns=3)
    plan, least = BEAT.solve(frame, SOLO), fewest(BEAT, frame, 3)
    assert isinstance(plan, Plan) and len(plan.moves) == least > 0
    for number, move in enumerate(plan.moves):  # every first move that it names is the exact one
        now = BEAT.solve(frame, SOLO)
        assert isinstance(now, Plan) and now.first == (move,) == now.moves[:1], number
        frame = follow(BEAT, frame, move.key).state
        assert frame.at[0] == misses, "and none of the misses is spent"


COURT = brick_bounce()


def court(ball: tuple[int, int, int, int], bricks: str, goal: int = 1, turns: int = 9, ticks: int = 1) -> Frame:
    """A court five cells wide and six high with the paddle in the middle; `bricks` are the names of columns in row 1."""
    bits = sum(1 << 5 + int(c) for c in bricks)
    return Frame(Stage(5, 6, turns, goal, data=((ticks,),)), 0, (2,), (ball, (bits,)))


def test_a_ball_leaves_a_paddle_by_where_it_was_met():
    for x, way in ((1, -1), (2, 0), (3, 1)):
        assert follow(COURT, court((x, 4, 0, 1), "0"), "wait").state.things[0] == (x, 4, way, -1)
    lost = follow(COURT, court((0, 4, 0, 1), "0"), "wait").state
    assert lost.over == HIT and lost.things[0][:2] == (0, 5)


def test_walls_turn_a_ball_and_bricks_are_struck():
    assert follow(COURT, court((0, 3, -1, -1), ""), "wait").state.things[0] == (1, 2, 1, -1)
    assert follow(COURT, court((2, 0, 0, -1), ""), "wait").state.things[0] == (2, 1, 0, 1)
    struck = follow(COURT, court((2, 2, 0, -1), "12", goal=2), "wait").state
    assert struck.score == 1 and struck.things == ((2, 2, 0, 1), (1 << 6,))
    assert follow(COURT, court((2, 2, 0, -1), "2"), "wait").rewards == {SOLO: {"success": 1.0}}


@pytest.mark.parametrize("seed", range(16))
def test_what_no_flight_can_reach_is_called_so(seed: int):
    """The search from meeting to meeting finds a way exactly where trying every sequence of moves does."""
    rng = Rng("court", seed)
    ball = (rng.below(5), 3, rng.pick((-1, 0, 1)), 1)
    frame = court(ball, str(rng.below(5)), turns=7, ticks=1 + seed % 2)
    plan, least = COURT.solve(frame, SOLO), fewest(COURT, frame, 7)
    assert isinstance(plan, Plan) == (least > 0)
    if isinstance(plan, Plan):
        assert follow(COURT, frame, *(m.key for m in plan.moves)).rewards and len(plan.moves) >= least


def test_marbles_are_shot_at_places_of_the_chain() -> None:
    """The places that can be named are those that the rules tell: of the chain, and the one behind it."""
    world = chain_marbles()
    state = world.start(3, 3)
    many = len(state.things[0])
    assert [m.key for m in world.view(state, SOLO).legal()] == ["swap", *(f"shoot{n}" for n in range(1, many + 2))]
    assert world.step(state, {SOLO: said(world, f"shoot{many + 2}")}).events == {SOLO: ("illegal",)}
    behind = world.step(state, {SOLO: said(world, f"shoot{many + 1}")}).state
    if len(behind.things[0]) > many:  # it vanished with nothing: the rest has moved one cell on
        assert behind.at[0] - state.at[0] in (1, 2)


def test_invaders_fit_their_board() -> None:
    with pytest.raises(GenerationError, match="across=7 columns does not fit a board of width=6"):
        invader_row().start(336, 0, across=7)


def test_whoever_names_one_action_of_several_that_do_the_same_has_named_all() -> None:
    play = Play("PelletMaze", level=2)
    heard = play.begin(3)[SOLO]
    assert "of several that would do the same one is enough" in question_of_moves(play, heard).text
    words = every_move(play).split()
    by_effect = {play.env.world.step(play.env.state, {SOLO: said(play.env.world, w)}).state: w for w in words}
    assert len(by_effect) < len(words)
    assert grade_moves(play, "\n".join(by_effect.values())) == grade_moves(play, "\n".join(words)) == 1.0
    some = list(by_effect.values())[1:]
    assert grade_moves(play, "\n".join(some)) == pytest.approx(1 - 1 / len(by_effect))
