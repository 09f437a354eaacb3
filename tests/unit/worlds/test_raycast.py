"""First-person worlds: what is seen, what the rules do, and that the oracle goes by what was seen alone."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.ports import SOLO
from quintain.registry import entries
from quintain.types import Message, QuintainError, Task
from quintain.worlds.engines.raycast import explore, survive
from quintain.worlds.engines.raycast.explore import plan
from quintain.worlds.engines.raycast.fan import AT, BACK, CELLS, DEPTH, ENOUGH, RAYS, cast
from quintain.worlds.engines.raycast.floor import GONE, HELD, Floor, Place, Stand
from quintain.worlds.engines.raycast.look import behind, full_caption, in_sight, moving_words, parse_caption, scene_of
from quintain.worlds.engines.raycast.roam import CHOICES, RoamWorld
from quintain.worlds.engines.raycast.rules import (
    BESIDE,
    CHOOSE,
    COLLECT,
    DROP,
    FORWARD,
    LEFT,
    REACH,
    RIGHT,
    SURVIVE,
    TAKE,
    known,
    over,
    step,
    stood,
)
from quintain.worlds.engines.raycast.things import HEART, KINDS, SIGN
from quintain.worlds.kernel import Plan, Unknown, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.painter import Painter
from quintain.worlds.scene import Sprite
from quintain.worlds.suite.spatial.room_3d import room_3d

BOX, BALL, CONE = KINDS["blue box"], KINDS["green ball"], KINDS["white cone"]


def standing(rows: str, things: dict[str, int], task: str = REACH, **rest: int) -> Stand:
    """A state from a plan with the seat at ^, looking north, and letters for things."""
    lines = rows.split()
    flat = "".join(lines)
    cells = "".join("#" if sign == "#" else "." for sign in flat)
    where = tuple(flat.index(letter) for letter in things)
    health, clock = rest.pop("health", 0), rest.pop("clock", 0)
    place = Place(task, Floor(len(lines[0]), len(lines), cells), tuple(things.values()), **rest)
    return stood(Stand(place, flat.index("^"), 0, where, health=health, clock=clock), flat.index("^"), 0)


def go(state: Stand, *keys: str) -> tuple[Stand, float, bool]:
    """The last state, what was earned, and whether it is over."""
    total, done = 0.0, False
    for key in keys:
        outcome = step(state, key)
        state, done = outcome.state, outcome.done
        total += sum(outcome.rewards.get(SOLO, {}).values())
    return state, total, done


def marched(solid: np.ndarray) -> set[tuple[int, int]]:
    """The cells that rays reach, by exact steps from border to border."""
    back, seen = Fraction(BACK).limit_denominator(100), set()
    for ray in range(RAYS):
        slope = Fraction(2 * ray + 1 - RAYS, RAYS)
        far = DEPTH + Fraction(1, 2) + back
        borders = {d + Fraction(1, 2) + back for d in range(DEPTH)}
        borders |= {z for n in range(-2 * DEPTH, 2 * DEPTH) if 0 < (z := (n + Fraction(1, 2)) / slope) < far}
        edges = [Fraction(0), *sorted(borders), far]
        for near, end in itertools.pairwise(edges):
            z = (near + end) / 2
            cell = (round(z - back), round(z * slope))
            seen.add(cell)
            if solid[AT[cell]]:
                break
    return seen


@pytest.mark.parametrize("seed", range(6))
def test_the_fan_sees_what_marching_rays_see(seed: int) -> None:
    rng = Rng("fan", seed)
    solid = np.array([cell != (0, 0) and rng.uniform() < 0.05 * (seed + 1) for cell in CELLS])
    seen, middles = cast(solid)
    assert {CELLS[i] for i in seen} == marched(solid) and seen == sorted(seen)
    assert middles <= {*seen} and ENOUGH > 1


def test_the_four_headings_see_a_turned_board_alike() -> None:
    rng = Rng("turned")
    grid = np.array([[rng.uniform() < 0.2 for _ in range(9)] for _ in range(9)])
    grid[4, 4] = False
    for heading in range(4):
        turned = np.rot90(grid, heading)  # what lay to the east lies to the north after one quarter
        plain, other = (Floor(9, 9, "".join(".#"[int(c)] for c in g.flat)) for g in (grid, turned))
        one, two = plain.sight(40, heading), other.sight(40, 0)
        assert one.open == two.open and one.walls == two.walls
        assert set(one.middles.values()) == set(two.middles.values())


def test_a_thing_behind_a_wall_is_not_seen() -> None:
    state = standing("a.b .#. .^.", {"a": BOX, "b": BALL})
    assert in_sight(state) == []
    assert {kind for _, kind in in_sight(go(state, RIGHT, FORWARD, LEFT)[0])} == {BALL}


def test_a_thing_hides_what_is_straight_behind_it() -> None:
    """It is not told, not drawn and not known, and neither is that nothing lies there; from the side it is seen."""
    state = standing("a c b . ^", {"a": BOX, "b": BALL, "c": CONE})
    assert in_sight(state) == [((2, 0), BALL)] and full_caption(state).split("\n")[1:3] == ["# , #", "# , #"]
    assert "cone" not in " ".join(moving_words(state)) and ",@3,0" in moving_words(state)
    assert known(state) >> state.where[2] & 1 == 0 and known(state) >> state.where[1] & 1
    bare = standing(". . b . ^", {"b": BALL})
    assert scene_of(bare).shapes == scene_of(replace(state, place=replace(state.place, wanted=-1))).shapes
    beside = standing("..a. ..b. .... ^...", {"a": BOX, "b": BALL})
    assert len(in_sight(beside)) == 2


def test_whatever_is_half_hidden_still_shows() -> None:
    """On open floor, a box before a cone, the narrowest thing, near and far, straight ahead and aside."""
    painter, floor, shown = Painter(256), Floor(15, 8, "." * 120), 0
    cells = [(d, o) for d in range(1, 7) for o in range(4)]
    for (near, a), (far, b) in itertools.product(cells, cells):
        if not near < far <= near + 3 or abs(a / (near + BACK) - b / (far + BACK)) > 0.6 / (near + BACK):
            continue
        at = 7 * 15 + 7
        where = (at - 15 * near + a, at - 15 * far + b)
        state = Stand(Place(COLLECT, floor, (BOX, CONE), BALL), at, 0, where)
        if len(in_sight(state)) == 2:
            less = painter.paint(scene_of(replace(state, where=(where[0], GONE)))).astype(int)
            changed = np.abs(painter.paint(scene_of(state)).astype(int) - less).sum(axis=2) > 60
            assert changed.sum() >= 6, ((near, a), (far, b), changed.sum())
            shown += 1
    assert shown > 30


def test_what_is_hidden_hides_nothing() -> None:
    """Else a mark on the map, or a thing that lacks in it, would tell of one that is not seen."""
    floor = Floor(15, 9, "." * 135)
    at = 8 * 15 + 7
    places = [at - 15 * d - 1 for d in (5, 6, 7)]
    assert (7, -1) in behind((6, -1)) and (7, -1) not in behind((5, -1)) and (6, -1) in behind((5, -1))
    three = Stand(Place(COLLECT, floor, (BOX, BALL, CONE), BOX), at, 0, tuple(places))
    two = replace(three, where=(places[0], GONE, places[2]))
    assert in_sight(three) == in_sight(two) == [((5, -1), BOX), ((7, -1), CONE)]
    assert full_caption(three) == full_caption(two)


@pytest.mark.parametrize("name", [e.name for e in entries("world") if isinstance(world_of(e.name), RoamWorld)])
def test_wherever_one_walks_the_caption_is_whole_and_the_oracle_knows_a_way(name: str) -> None:
    world = world_of(name)
    for level, seed in itertools.product((2, 5, 8), range(6)):
        state, rng = world.start(seed, level), Rng("walk", seed)
        for _ in range(5):
            caption = world.caption(state, SOLO, 2)
            assert world.caption(world.rebuild(caption, SOLO), SOLO, 2) == caption
            if state.place.task != SURVIVE:
                assert isinstance(world.solve(state, SOLO), Plan)
            outcome = world.step(state, {SOLO: world.sample(state, SOLO, rng)})
            if outcome.done:
                break
            state = outcome.state


def test_what_was_hidden_is_seen_once_it_is_taken_away() -> None:
    state = standing("a b ^ . c", {"a": BOX, "b": BALL, "c": CONE}, BESIDE, wanted=BALL, other=CONE)
    assert [kind for _, kind in in_sight(state)] == [BALL]
    after = step(state, TAKE).state
    assert [kind for _, kind in in_sight(after)] == [BOX] and known(after) >> after.where[0] & 1


@pytest.mark.parametrize("name", [e.name for e in entries("world") if isinstance(world_of(e.name), RoamWorld)])
def test_every_thing_that_is_told_of_is_in_the_picture(name: str) -> None:
    """Without it the picture is another in at least 4 of 256 x 256 pixels; no mark tells of a thing that is not shown."""
    world, painter = world_of(name), Painter(256)
    for level, seed in itertools.product((1, 4, 7, 9), range(2)):
        state, rng = world.start(seed, level), Rng("walk", seed)
        for _ in range(6):
            whole = painter.paint(scene_of(state)).astype(int)
            places = state.place.floor.sight(state.at, state.heading).middles
            for cell, _ in in_sight(state):
                where = tuple(GONE if places.get(c) == cell else c for c in state.where)
                less = painter.paint(scene_of(replace(state, where=where))).astype(int)
                changed = np.abs(whole - less)[:220].sum(axis=2) > 60  # the bar below tells how many are left
                assert changed.sum() >= 4, (level, seed, cell)
            outcome = world.step(state, {SOLO: world.sample(state, SOLO, rng)})
            if outcome.done:
                break
            state = outcome.state


def test_reaching_and_what_is_in_the_way() -> None:
    state = standing("a b ^", {"a": BOX, "b": BALL}, wanted=BOX)
    assert step(state, FORWARD).state is state and step(state, FORWARD).events == {SOLO: ("blocked",)}
    assert go(standing("a . ^", {"a": BOX}, wanted=BOX), FORWARD, FORWARD)[1:] == (1.0, True)


def test_a_wrong_choice_ends_it_and_nothing_follows() -> None:
    state = standing("ab #^", {"a": BOX, "b": BALL}, CHOOSE, wanted=BOX, shown=False)
    after, total, done = go(state, FORWARD)
    assert (total, done) == (0.0, True) and step(after, LEFT).state is after
    assert world_of("SignPost3D").view(after, SOLO).legal() == () != world_of("SignPost3D").view(state, SOLO).legal()
    assert "\n^: " in full_caption(after) and "here" in [getattr(shape, "text", "") for shape in scene_of(after).shapes]
    assert go(state, FORWARD, LEFT, FORWARD)[1] == 0.0


def test_a_sign_is_read_from_near() -> None:
    rows = "a . . . . ^"
    far = standing(rows, {"a": SIGN + 1 + BOX}, CHOOSE, wanted=BOX, shown=False)
    assert in_sight(far) == [((5, 0), SIGN)] and not far.told
    near = go(far, FORWARD, FORWARD)[0]
    assert in_sight(near) == [((3, 0), SIGN + 1 + BOX)] and near.told
    other = replace(far, place=replace(far.place, kinds=(SIGN + 1 + CONE,), wanted=CONE))
    assert full_caption(other) == full_caption(far)


def test_collecting_needs_all() -> None:
    state = standing("c a b ^", {"a": BOX, "b": BOX, "c": BALL}, COLLECT, wanted=BOX)
    assert full_caption(state).endswith("Collect: blue box. Left: 2.")
    one, total, _ = go(state, FORWARD)
    assert total == 0 and one.where[1] == GONE
    assert go(one, FORWARD)[1:] == (1.0, True)


def test_health_runs_out_unless_a_heart_is_taken() -> None:
    rows = "a . ^"
    state = standing(rows, {"a": HEART}, SURVIVE, gain=3, health=3, clock=5)
    assert go(state, LEFT, LEFT, LEFT)[1:] == (0.0, True)
    assert go(state, FORWARD, FORWARD, LEFT, LEFT, LEFT)[1:] == (1.0, True)
    assert plan(state) == [FORWARD, FORWARD, LEFT, LEFT, LEFT]


def test_wherever_one_walks_a_way_to_stay_alive_is_found_or_there_is_none() -> None:
    """A search through `step` agrees, also where going by what was seen starves."""
    world, met = world_of("HealthWalk3D"), set[str]()
    for level, seed in itertools.product(range(3), range(25)):
        state, rng = world.start(seed, level), Rng("alive", seed, level)
        for _ in range(1 + seed % 4):
            state = world.step(state, {SOLO: world.sample(state, SOLO, rng)}).state
        answer = world.solve(state, SOLO)
        met.add(answer.proof if isinstance(answer, Plan) else "none")
        if isinstance(answer, Plan):
            assert go(state, *[move.key for move in answer.moves])[1:] == (1.0, True)
        else:
            assert isinstance(answer, Unsolvable) and not survives(state)
    assert met == {"policy", "solver", "none"}


def survives(state: Stand) -> bool:
    """Whether any moves win; whoever stands alike sooner with the same hearts taken is not worse off."""
    wave, met = [state], set[tuple[int, int, tuple[int, ...]]]()
    for here in wave:
        for key in (LEFT, RIGHT, FORWARD):
            outcome = step(here, key)
            after = outcome.state
            if outcome.rewards:
                return True
            pose = (after.at, after.heading, after.where)
            if not outcome.done and pose not in met:
                met.add(pose)
                wave.append(after)
    return False


def test_a_search_for_hearts_that_is_cut_short_tells_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    state = standing("a . . . . . ^ . . . b", {"a": HEART, "b": HEART}, SURVIVE, gain=5, health=6, clock=40)
    assert explore.answer(state, CHOICES) == Unsolvable("no way to the hearts keeps you alive")
    monkeypatch.setattr(survive, "NODES", 0)
    monkeypatch.setattr(explore, "NODES", 0)
    assert explore.answer(state, CHOICES) == Unknown(1)


def test_putting_one_thing_beside_another() -> None:
    state = standing("b.. a.. ^..", {"a": BOX, "b": BALL}, BESIDE, wanted=BOX, other=BALL)
    assert over(state)
    state = standing("..b a.. ^..", {"a": BOX, "b": BALL}, BESIDE, wanted=BOX, other=BALL)
    held = go(state, TAKE)[0]
    assert held.where[0] == HELD and "You hold: it." in full_caption(held)
    assert go(held, DROP)[0].where == state.where and not go(held, DROP)[2]
    assert go(held, FORWARD, FORWARD, RIGHT, DROP)[1:] == (1.0, True)


def test_the_oracle_goes_by_what_was_seen() -> None:
    """What lies where nothing has been seen yet does not change its moves before it is seen."""
    state = standing("a..b .##. .##. .^..", {"a": BOX, "b": BALL}, wanted=BOX)
    other = replace(state, where=state.where[::-1])
    one, two = plan(state), plan(other)
    assert one and two and one != two
    for key, same in zip(one, two, strict=False):
        if key != same:
            break
        assert full_caption(state) == full_caption(other)
        state, other = step(state, key).state, step(other, key).state
    assert full_caption(state) != full_caption(other), "plans part only where views do"


def test_what_is_seen_is_remembered() -> None:
    state = standing("... .^. ...", {})
    turned = go(state, LEFT, LEFT)[0]
    assert known(turned) & known(state) == known(state) != known(turned)


def test_a_caption_that_is_none_is_told() -> None:
    with pytest.raises(QuintainError, match="no full caption"):
        parse_caption("nothing to see", REACH)


def test_the_longest_way_to_see_is_still_drawn() -> None:
    state = standing("a " + ". " * (DEPTH - 1) + "^", {"a": BOX}, wanted=BOX)
    scene = room_3d().view(state, SOLO).scene()
    assert sum(isinstance(shape, Sprite) for shape in scene.shapes) == 2  # the thing, and that it is wanted


def test_plans_are_not_longer_than_their_budget() -> None:
    world = room_3d()
    for level in range(10):
        start = world.start(3, level)
        answer = world.solve(start, SOLO)
        assert isinstance(answer, Plan) and len(answer.moves) < world.turns(start)


def test_the_last_turn_wins_also_with_the_last_of_health() -> None:
    state = standing("... .^. ...", {}, SURVIVE, health=1, clock=1)
    after, total, done = go(state, LEFT)
    assert (total, done) == (1.0, True)
    assert full_caption(after).endswith("Health: 0. Turns to go: 0.")
    assert full_caption(parse_caption(full_caption(after), SURVIVE)) == full_caption(after)


def test_floor_of_which_the_middle_is_hidden_has_its_own_sign() -> None:
    """A thing beside the seat is out of sight, though an edge of its cell is in sight: the map must not call that cell free."""
    floor = Floor(3, 3, "...#..###")
    place = Place(REACH, floor, (BOX,), BOX)
    state = stood(Stand(place, 4, 0, (5,)), 4, 0)
    *rows, _ = full_caption(state).split("\n")
    row = rows[-1].split()
    assert row[row.index("^") + 1] == "," and not in_sight(state)
    assert ".@0,1" not in moving_words(state) and ",@0,1" in moving_words(state)
    ahead = stood(replace(state, where=(1,)), 4, 0)
    assert in_sight(ahead) == [((1, 0), BOX)]


def test_an_answer_that_cannot_be_read_does_not_lose_the_walk_of_health() -> None:
    env = WorldEnv(world_of("HealthWalk3D"), Scaffold(grammar="word"))
    for seed in (3, 4, 5):
        env.begin(Task(key="t", env="HealthWalk3D", seed=seed, level=0))
        said, reward = "???", 0.0
        while env.stop is None:
            reward += sum(env.advance({SOLO: Message.of("assistant", said)})[SOLO].reward.values())
            plan_ = env.world.solve(env.state, SOLO)
            said = plan_.moves[0].key if isinstance(plan_, Plan) else ""
        assert reward == 1.0


def test_hands_tell_why_they_do_nothing() -> None:
    floor = Floor(3, 3, "." * 9)
    state = stood(Stand(Place(BESIDE, floor, (BOX, BALL), BOX, other=BALL), 7, 0, (0, 2)), 7, 0)
    assert step(state, TAKE).events == {SOLO: ("missed",)} and step(state, DROP).events == {SOLO: ("empty",)}
    held = stood(replace(state, where=(HELD, 2)), 2 + 3, 0)
    assert step(held, DROP).events == {SOLO: ("barred",)}
