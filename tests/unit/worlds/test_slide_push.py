"""Crates: the rules, boards by reverse play, and the oracle against an exhaustive search."""

from __future__ import annotations

from collections import deque

import pytest

from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.engines.slide import push
from quintain.worlds.engines.slide.push_board import Crates, layout_of
from quintain.worlds.engines.slide.push_solve import Search, ground, lost
from quintain.worlds.kernel import GenerationError, Plan, Unknown, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.splits import canonical, split_of
from quintain.worlds.suite.puzzles.sokoban import sokoban

WORLD = sokoban()


def board(*rows: str) -> Crates:
    return WORLD.rebuild("\n".join(" ".join(row) for row in rows), SOLO)


def go(state: Crates, *names: str):
    for name in names:
        outcome = WORLD.step(state, {SOLO: push.CHOICES[name]})
        state = outcome.state
    return outcome


def wander(state: Crates, rng: Rng, steps: int) -> Crates:
    for _ in range(steps):
        outcome = WORLD.step(state, {SOLO: WORLD.sample(state, SOLO, rng)})
        if outcome.done:
            break
        state = outcome.state
    return state


def shortest(state: Crates) -> int | None:
    """The length of the shortest plan by trying everything; None if there is none."""
    seen, waiting = {(state.player, state.boxes)}, deque([(state, 0)])
    while waiting:
        here, count = waiting.popleft()
        for move in push.CHOICES.moves:
            outcome = WORLD.step(here, {SOLO: move})
            if outcome.done:
                return count + 1
            key = (outcome.state.player, outcome.state.boxes)
            if key not in seen:
                seen.add(key)
                waiting.append((outcome.state, count + 1))
    return None


def test_a_box_is_pushed_onto_its_target():
    outcome = go(board("######", "#.PBT#", "######"), "right")
    assert outcome.done and outcome.rewards == {SOLO: {"success": 1.0}} and not outcome.events
    assert WORLD.caption(outcome.state, SOLO, 2).split("\n")[1] == "# . . P b #"


def test_walking_pushes_nothing():
    outcome = go(board("######", "#.PBT#", "######"), "left")
    assert (outcome.state.player, outcome.state.boxes, outcome.done, outcome.events) == (7, (9,), False, {})


@pytest.mark.parametrize(
    "row, name", [("#PBB.T#", "right"), ("#TPB###", "right"), ("#PB.TT#", "left"), ("#.PbB##", "right")]
)
def test_what_blocks_changes_nothing(row: str, name: str):
    state = board("#######", row, "#######")
    outcome = go(state, name)
    assert outcome.state is state and outcome.events == {SOLO: ("blocked",)} and not outcome.rewards
    assert push.CHOICES[name] not in WORLD.legal(state, SOLO)


def test_all_boxes_must_be_home():
    state = board("#######", "#TBPBT#", "#######")
    assert not go(state, "left").done
    outcome = go(state, "left", "right", "right")
    assert outcome.done and outcome.rewards[SOLO] == {"success": 1.0}


def test_the_player_may_stand_on_a_target():
    state = go(board("######", "#PTBT#", "#..B.#", "######"), "right").state
    rows = WORLD.caption(state, SOLO, 2).split("\n")
    assert rows[1:3] == ["# . p B T #", "# . . B . #"]
    assert WORLD.rebuild("\n".join(rows), SOLO).boxes == state.boxes
    assert WORLD.scene(state, SOLO).cells[8] == "floor+target+player"


@pytest.mark.parametrize("text", ["", "# # #", "# P #\n# . . #", "# P P #", "# P x #"])
def test_what_is_no_caption_is_refused(text: str):
    with pytest.raises(QuintainError, match="no full caption"):
        WORLD.rebuild(text, SOLO)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_the_oracle_agrees_with_an_exhaustive_search(level: int):
    seen = set()
    for seed in range(24):
        rng = Rng("push", seed, level)
        state = wander(WORLD.start(seed, level), rng, rng.below(20))
        answer, truth = WORLD.solve(state, SOLO), shortest(state)
        seen.add(type(answer))
        if truth is None:
            assert isinstance(answer, Unsolvable) and answer.reason
            continue
        assert isinstance(answer, Plan) and answer.proof == "solver" and len(answer.moves) == truth
        assert go(state, *(m.key for m in answer.moves)).done
        if answer.first:
            after = {m: WORLD.step(state, {SOLO: m}) for m in push.CHOICES.moves}
            best = [m for m, o in after.items() if (0 if o.done else shortest(o.state)) == truth - 1]
            assert list(answer.first) == best and answer.moves[0] in best
    assert seen == {Plan, Unsolvable}


def test_the_best_first_moves_are_named_on_small_boards():
    answer = WORLD.solve(board("######", "#...T#", "#.B..#", "#P...#", "######"), SOLO)
    assert len(answer.moves) == 6 and [m.key for m in answer.first] == ["up", "right"]
    answer = WORLD.solve(board("######", "#P.BT#", "######"), SOLO)
    assert len(answer.moves) == 2 and [m.key for m in answer.first] == ["right"]


def test_positions_called_lost_are_lost():
    reasons = set()
    for seed in range(150):
        rng = Rng("lost", seed)
        state = wander(WORLD.start(seed, 2 + seed % 2), rng, 30)
        on = ground(state.board.width, state.board.cells)
        reason = lost(on, state.player, sum(1 << c for c in state.boxes))
        if reason:
            reasons.add(reason)
            assert shortest(state) is None, WORLD.caption(state, SOLO, 2)
    assert len(reasons) == 3


def test_a_box_held_by_a_box_that_may_leave_is_not_lost():
    state = board("########", "#......#", "#.BB...#", "#P.....#", "#....TT#", "########")
    assert not lost(ground(8, state.board.cells), state.player, sum(1 << c for c in state.boxes))
    stuck = board("########", "#.BB...#", "#......#", "#P.....#", "#TT....#", "########")
    assert "target" in lost(ground(8, stuck.board.cells), stuck.player, sum(1 << c for c in stuck.boxes))
    square = board("########", "#......#", "#..BB..#", "#..BB..#", "#P.....#", "#TTTT..#", "########")
    assert "block one another" in lost(ground(8, square.board.cells), square.player, sum(1 << c for c in square.boxes))


def test_the_kept_plan_answers_where_the_search_gives_up(monkeypatch: pytest.MonkeyPatch):
    start = WORLD.start(1, 7)
    monkeypatch.setattr(push, "SHORTEST_NODES", 1)
    monkeypatch.setattr(push, "ANY_NODES", 1)
    state = start
    for done in range(0, len(start.board.plan) // 2, 7):
        answer = WORLD.solve(state, SOLO)
        assert isinstance(answer, Plan) and answer.proof == "construction"
        assert len(answer.moves) == len(start.board.plan) - done
        state = go(state, *(m.key for m in answer.moves[:7])).state
    state = wander(start, Rng("off", 2), 4)
    assert WORLD.solve(state, SOLO) == Unknown(2)


def test_any_plan_will_do_where_the_shortest_takes_too_long(monkeypatch: pytest.MonkeyPatch):
    start = WORLD.start(3, 5)
    best = len(WORLD.solve(start, SOLO).moves)
    monkeypatch.setattr(push, "SHORTEST_NODES", 1)
    answer = WORLD.solve(start, SOLO)
    assert best <= len(answer.moves) <= len(start.board.plan) and go(start, *(m.key for m in answer.moves)).done


def test_the_shorter_of_the_kept_and_the_found_plan_answers(monkeypatch: pytest.MonkeyPatch):
    start = WORLD.start(1, 7)
    plan = start.board.plan
    for extra, proof in (("", "solver"), ("lr", "construction")):
        found = [Search(extra + plan, 5, False), Search(None, 5, False)]
        monkeypatch.setattr(push, "search", lambda *_, found=found: found.pop())
        answer = WORLD.solve(start, SOLO)
        assert (answer.proof, len(answer.moves)) == (proof, len(plan))


def test_a_cell_is_alive_if_there_is_room_to_push_from():
    tight = ground(4, "#####T.#####")
    assert tight.alive == 1 << 5 and tight.rows[5:7] == (((1, 0),), ())
    assert ground(5, "######T..######").alive == 1 << 6 | 1 << 7


def test_a_box_that_the_player_cannot_get_behind_is_lost():
    rows = ("#######", "#T.B.P#", "#######", "#######")
    inside, outside = board(*rows), board("#######", "#TP.B.#", "#######", "#######")
    assert not lost(ground(7, inside.board.cells), inside.player, 1 << inside.boxes[0])
    assert "target" in lost(ground(7, outside.board.cells), outside.player, 1 << outside.boxes[0])


@pytest.mark.parametrize("level", range(10))
def test_every_board_keeps_a_plan_that_fits_its_budget(level: int):
    knobs = WORLD.levels[level]
    for seed in range(6):
        state = WORLD.start(seed, level)
        plan = state.board.plan
        names = dict(zip("udlr", push.DIRECTIONS, strict=True))
        here = state
        for letter in plan:
            outcome = go(here, names[letter.lower()])
            assert (outcome.state.boxes != here.boxes) == letter.isupper() and not outcome.events
            here = outcome.state
        assert outcome.done and knobs["low"] <= len(plan) <= min(knobs["high"], WORLD.turns(state))
        assert len(state.boxes) == knobs["boxes"] and not set(state.boxes) & set(state.board.targets)
        inside = layout_of(state.board)
        assert knobs["walls"] <= inside.count("#") <= knobs["walls"] + knobs["more"]
        assert len(inside) == (knobs["size"] - 2) ** 2


def test_one_box_boards_keep_the_shortest_plan():
    for seed in range(20):
        state = WORLD.start(seed, 1)
        assert shortest(state) == len(state.board.plan)


@pytest.mark.parametrize("level", [0, 3, 7])
def test_splits_share_no_layout_however_turned(level: int):
    kinds = {}
    for split in ("train", "validation", "test"):
        states = [WORLD.start(seed, level, split=split) for seed in range(40)]
        side = states[0].board.width - 2
        kinds[split] = {canonical(layout_of(s.board), side, side) for s in states}
        assert {split_of(kind) for kind in kinds[split]} == {split}
    assert not kinds["train"] & kinds["test"] and not kinds["train"] & kinds["validation"]


def test_the_quick_start_boards_are_as_promised():
    states = [WORLD.start(seed, 0, split="test") for seed in range(300)]
    lengths = [len(s.board.plan) for s in states]
    assert {2, 8} <= set(lengths) <= set(range(2, 9)) and 4.6 < sum(lengths) / 300 < 5.4
    assert {WORLD.turns(s) for s in states} == {10}
    assert {layout_of(s.board).count("#") for s in states} == {1, 2}
    wins = 0
    for seed, state in enumerate(states):
        rng = Rng("quick", seed)
        for _ in range(10):
            outcome = WORLD.step(state, {SOLO: rng.pick(push.CHOICES.moves)})
            state = outcome.state
            wins += outcome.done
            if outcome.done:
                break
    assert wins / 300 < 0.1


def test_words_name_walls_and_targets_once_and_what_moves_always():
    state = board("######", "#P.#.#", "#.B..#", "#...T#", "#....#", "######")
    assert WORLD.static(state, SOLO) == ("#02", "T23")
    assert WORLD.moving(state, SOLO) == ("P00", "B11")
    lexicon = WORLD.words(0)
    assert len(lexicon) == len(set(lexicon)) == 4 + 4 * 16
    assert {"#02", "T23", "P00", "B11", "up", "down", "left", "right"} <= set(lexicon)


def test_knobs_override_the_level_and_are_checked():
    state = WORLD.start(0, 0, size=8, boxes=2, pulls=3, high=60, turns=9)
    assert (state.board.width, len(state.boxes), WORLD.turns(state)) == (8, 2, 9)
    with pytest.raises(QuintainError, match="boxes"):
        WORLD.start(0, 0, boxs=2)
    with pytest.raises(GenerationError, match="no instance"):
        WORLD.start(0, 0, boxes=5)
    with pytest.raises(GenerationError, match="no instance"):
        WORLD.start(0, 0, low=40, high=41)


def test_a_solved_board_has_no_plan():
    answer = WORLD.solve(go(board("######", "#.PBT#", "######"), "right").state, SOLO)
    assert isinstance(answer, Unsolvable) and "over" in answer.reason


def test_the_brief_caption_leaves_walls_out():
    text = WORLD.caption(board("######", "#PbBT#", "######"), SOLO, 1)
    assert text == (
        "You are at row 2, column 2 of a board with 3 rows and 6 columns.\n"
        "A box is at row 2, column 3, on a target.\nA box is at row 2, column 4.\nA target is at row 2, column 5."
    )
