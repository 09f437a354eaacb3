"""Demonstrations: what they show is what the env shows, what they say earns the reward."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import pytest

from quintain.envs.course import shows_all
from quintain.envs.demos import CannotDemonstrate, Manner, NoDemonstration, _stray, demonstrate, demonstrations, seated
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.ports import SOLO
from quintain.registry import entries
from quintain.testing.worlds import task_of
from quintain.types import Task
from quintain.worlds.kernel import Plan
from quintain.worlds.noise import Rng

WORDS = Scaffold.of({"style": "words"})
FORESEEING = [e.name for e in entries("world") if e.tags.get("foresees")]


@pytest.mark.parametrize("grammar", ["word", "tagged", "json", "tool"])
def test_a_demonstration_replays_to_the_reward(grammar: str) -> None:
    scaffold = Scaffold(grammar=grammar, rules=False)
    task = task_of("KeyDoor", 5, 2)
    turns = demonstrate(WorldEnv(world_of("KeyDoor"), scaffold), task)
    env = WorldEnv(world_of("KeyDoor"), scaffold)
    heard = env.begin(task)[SOLO]
    for turn in turns:
        assert turn.messages == heard.messages and heard.stop is None
        heard = env.advance({SOLO: turn.answer})[SOLO]
    assert heard.reward == {"success": 1.0}


def test_seeds_choose_among_equally_short_plans() -> None:
    env = WorldEnv(world_of("EmptyRoom"), WORDS)
    task = task_of("EmptyRoom", 0, 9)
    plans = {tuple(t.text for t in demonstrate(env, task, Manner(seed=seed))) for seed in range(20)}
    assert len(plans) >= 8 and len({tuple(sorted(p)) for p in plans}) == 1
    assert demonstrate(env, task, Manner(seed=3)) == demonstrate(env, task, Manner(seed=3))


def test_unlucky_walks_over_ice_are_passed_over() -> None:
    env = WorldEnv(world_of("FrozenLake"), WORDS)
    tasks = (task_of("FrozenLake", seed, 5) for seed in range(200))
    tried: list[str] = []
    made = list(demonstrations(env, (tried.append(t.key) or t for t in tasks), 40))
    assert len(made) == 40 < len(tried) < 60


def test_what_has_no_plan_is_an_error() -> None:
    env = WorldEnv(world_of("FrozenLake"), WORDS)
    with pytest.raises(NoDemonstration, match="earned 1 of 2"):
        demonstrate(env, task_of("FrozenLake", 1, 0), Manner(reward=2.0))
    unlucky = next(t for t in (task_of("FrozenLake", seed, 4) for seed in range(100)) if not _succeeds(env, t))
    with pytest.raises(NoDemonstration, match="0 of 11 tasks"):
        next(demonstrations(env, iter([unlucky] * 50), 5), None)


def test_the_least_reward_of_a_demonstration_can_be_chosen() -> None:
    env, tasks = WorldEnv(world_of("KuhnPoker"), WORDS), [task_of("KuhnPoker", seed, 3) for seed in range(20)]
    every = list(demonstrations(env, iter(tasks), 20, Manner(reward=0.0)))
    totals = [sum(turn.earned for turn in turns) for _, turns in every]
    assert [task for task, _ in every] == tasks and min(totals) < 0.5 < max(totals) <= 1.0
    good = [task for (task, _), total in zip(every, totals, strict=True) if total >= 0.5]
    assert [task for task, _ in demonstrations(env, iter(tasks), 20, Manner(reward=0.5))] == good
    with pytest.raises(NoDemonstration, match="take a lower reward than 1.5 or other levels"):
        next(demonstrations(env, iter(tasks), 5, Manner(reward=1.5)), None)


@pytest.mark.parametrize("name", ["NimDuel", "KuhnDuel", "PaddleMatch", "TicTacToeDuel"])
def test_each_seat_has_a_demonstration_of_its_own(name: str) -> None:
    """What each seat was told and said, in the order of the episode, and what it earned there, whoever moved last."""
    env, seats = WorldEnv(world_of(name)), world_of(name).facts.seats
    for seed in range(4):
        made = seated(env, task_of(name, seed, 3))
        assert made == seated(env, task_of(name, seed, 3)) and list(made) == list(seats)
        heard = env.begin(task_of(name, seed, 3))
        told = {seat: heard[seat].messages for seat in seats}
        left, earned = {seat: list(turns) for seat, turns in made.items()}, dict.fromkeys(seats, 0.0)
        while any(said.acts for said in heard.values()):
            turns = {seat: left[seat].pop(0) for seat in seats if heard[seat].acts}
            for seat, turn in turns.items():
                plan = env.world.solve(env.state, seat)
                good = {env.reader.grammar.write(move.key).text for move in (plan.first or plan.moves[:1])}
                assert turn.text in good, f"{seat} played {turn.text}, and its oracle one of {good}"
            assert all(turn.messages == told[seat] and turn.seat == seat for seat, turn in turns.items())
            heard = env.advance({seat: turn.answer for seat, turn in turns.items()})
            for seat, said in heard.items():
                told[seat] = (() if seat in turns else told[seat]) + said.messages
                earned[seat] += sum(said.reward.values())
        assert not any(left.values()) and {s: sum(turn.earned for turn in made[s]) for s in seats} == pytest.approx(
            earned
        )


def test_a_seat_draws_among_equally_good_moves() -> None:
    env, task = WorldEnv(world_of("TicTacToeDuel")), task_of("TicTacToeDuel", 4, 0)
    first = {seated(env, task, Manner(seed=seed))["X"][0].text for seed in range(20)}
    state = env.world.start(task.seed, task.level)
    assert len(first) > 1 and {f"<action>{move.key}</action>" for move in env.world.solve(state, "X").first} >= first


def test_seats_that_earn_too_little_are_left_out_and_a_count_may_end_between_two() -> None:
    env, tasks = WorldEnv(world_of("NimDuel")), [task_of("NimDuel", seed, 2) for seed in range(9)]
    winners = [(task, turns[0].seat) for task, turns in demonstrations(env, iter(tasks), 9)]
    assert [task for task, _ in winners] == tasks and {seat for _, seat in winners} <= {"first", "second"}
    both = [(task, turns[0].seat) for task, turns in demonstrations(env, iter(tasks), 5, Manner(reward=0.0))]
    assert both == [(task, seat) for task in tasks[:3] for seat in ("first", "second")][:5]
    with pytest.raises(CannotDemonstrate, match="take `seated`"):
        demonstrate(env, tasks[0])


def _succeeds(env: WorldEnv, task: Task) -> bool:
    try:
        return bool(demonstrate(env, task))
    except NoDemonstration:
        return False


def test_no_slip_leads_to_where_only_what_was_not_seen_helps() -> None:
    env, how = WorldEnv(world_of("HealthWalk3D")), Manner(slips=0.3, why=True)
    turns = [turn for seed in range(12) for turn in demonstrate(env, task_of("HealthWalk3D", seed, 0), how)]
    assert any(turn.slip for turn in turns) and not any("By estimate" in turn.text for turn in turns)


def test_slips_are_mended_by_the_oracle_and_told_apart() -> None:
    env = WorldEnv(world_of("KeyDoor"), WORDS)
    slipped = 0
    for seed in range(10):
        task = task_of("KeyDoor", seed, 2)
        turns = demonstrate(env, task, Manner(slips=0.3))
        slipped += sum(turn.slip for turn in turns)
        env.begin(task)
        for turn in turns:
            plan = env.world.solve(env.state, SOLO)
            assert isinstance(plan, Plan)
            assert (turn.text in {m.key for m in plan.first}) is not turn.slip
            heard = env.advance({SOLO: turn.answer})[SOLO]
        assert heard.reward == {"success": 1.0}
        assert demonstrate(env, task, Manner(slips=0.3)) == turns != demonstrate(env, task)
    assert 10 < slipped < 50


@pytest.mark.parametrize("grammar", ["free", "tagged", "json"])
@pytest.mark.parametrize("name", ["KeyDoor", "MiniSudoku", "Game2048"])
def test_reasons_stand_before_answers_that_still_read(name: str, grammar: str) -> None:
    env = WorldEnv(world_of(name), Scaffold(grammar=grammar))
    turns = demonstrate(env, task_of(name, 3, 1), Manner(reward=0.0, why=True))
    env.begin(task_of(name, 3, 1))
    told = []
    for turn in turns:
        told.append(turn.text.partition("\n")[0])
        env.advance({SOLO: turn.answer})
    assert env.stop is not None and env.turn == len(turns)
    if name == "KeyDoor":
        assert [int(line.split()[0]) for line in told] == list(range(len(turns), 0, -1))
    assert name != "Game2048" or all("By estimate: " in line for line in told)


@pytest.mark.parametrize("name", ["KeyDoor", "EmptyRoom", "Sokoban", "WordSearch", "LightsOut"])
def test_what_is_announced_is_done(name: str) -> None:
    env = WorldEnv(world_of(name), Scaffold(grammar="free"))
    for seed in range(8):
        turns = demonstrate(env, task_of(name, seed, 2), Manner(why=True))
        said = [turn.text.partition("\n") for turn in turns]
        done = [answer for _, _, answer in said]
        for i, (reason, _, _) in enumerate(said):
            count, _, plan = reason.partition(" to go: ")
            left, named = len(turns) - i, plan.removesuffix(", ...").split(", ")
            assert count == f"{left} move{'s' if left > 1 else ''}" and named == done[i : i + min(4, left)]
            assert plan.endswith(", ...") == (left > 4)


@pytest.mark.parametrize("name", ["SudokuStep", "MiniSudokuSteps", "Nonogram"])
def test_a_page_solved_step_by_step_is_explained_cell_by_cell(name: str) -> None:
    """How many are to go, and last the value that is written; the easiest cell comes first, with or without slips on the way."""
    env = WorldEnv(world_of(name), Scaffold(grammar="free"))
    for seed, slips in ((1, 0.0), (2, 0.0), (3, 0.4)):
        turns = [t for t in demonstrate(env, task_of(name, seed, 3), Manner(slips=slips, why=True)) if not t.slip]
        counts = []
        for turn in turns:
            reason, _, answer = turn.text.partition("\n")
            count, last = re.fullmatch(r"(\d+) moves? to go\. .*?([a-z]\d (?:\d|yes|no))\.", reason).groups()
            cell, _, value = answer.partition("=")
            assert last.split() == [cell, value] if value else last.split()[0] == cell
            counts.append(int(count))
        assert slips or counts == list(range(len(turns), 0, -1))


OTHERWISE = {
    "Hidato",
    "Numbrix",
    "CircuitSat",
    "ZebraHouses",
}  # their solvers do not look for cells one after the other
PAGES = [
    e.name
    for e in entries("world")
    if e.tags["engine"] == "csp"
    and e.name not in OTHERWISE
    and (world := world_of(e.name)).turns(world.start(1, 2)) == 1
]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_explained_by_what_its_solver_finds(name: str) -> None:
    """What is settled last of each cell that is named is its value in the answer."""
    env = WorldEnv(world_of(name), Scaffold(grammar="free"))
    for seed in range(3):
        task = task_of(name, seed, 4)
        (turn,) = demonstrate(env, task, Manner(why=True))
        reason, _, answer = turn.text.partition("\n")
        cells = dict(
            re.findall(r"([a-z]\d*) ([A-Z]|\d+|yes|no|is a kn\w+)(?=[.,]|$)", re.sub(r"Try .*? fails\. ", "", reason))
        )
        assert re.fullmatch(r"(Left by each rule: .+\. ?)?(By trial: [^.]+\.)?", reason) and cells
        if "/" in answer:
            rows = [row.split() for row in answer.split(" / ")]
            assert {rows[int(cell[1:]) - 1][ord(cell[0]) - 97] == said for cell, said in cells.items()} == {True}
        else:
            on = {cell for cell, said in cells.items() if said in ("yes", "is a knave")}
            assert on == set(answer.removeprefix("only ").split())


def test_answers_are_the_same_with_and_without_reasons() -> None:
    env = WorldEnv(world_of("KeyDoor"), Scaffold(grammar="free"))
    for seed in range(8):
        task = task_of("KeyDoor", seed, 3)
        bare = [turn.text for turn in demonstrate(env, task)]
        assert bare == [turn.text.partition("\n")[2] for turn in demonstrate(env, task, Manner(why=True))]


SINGLE = [e.name for e in entries("world") if world_of(e.name).facts.seats == (SOLO,)]


@pytest.mark.parametrize("name", SINGLE)
def test_what_has_been_shown_alike_is_reasoned_about_alike(name: str) -> None:
    """After equal histories the same move has the same reason, which names no move but itself, where not all is shown."""
    if shows_all(world_of(name)):  # asked here, as it takes a while to find out
        return
    env = WorldEnv(world_of(name), Scaffold(caption=2, rules=False, grammar="free"))
    heard: dict[tuple[str, ...], str] = {}
    for seed in range(12):
        try:
            turns = demonstrate(env, task_of(name, seed, seed % 4), Manner(reward=-1.0, why=True))
        except NoDemonstration:
            continue
        past: tuple[str, ...] = ()
        for turn in turns:
            reason, _, answer = turn.text.rpartition("\n")
            past = (*past, *(m.text for m in turn.messages), answer)
            assert heard.setdefault(past, reason) == reason
            known = reason.endswith((f"So {answer} safe.", f" {answer} safe."))  # of a mine field; see test_csp_reasons
            assert env.limit == 1 or known or reason in (f"Next: {answer}.", f"By estimate: {answer}.")
    assert heard


def test_worlds_that_hide_something_are_found_out() -> None:
    drawn = {e.name for e in entries("world") if e.tags.get("engine") == "raycast" and len(e.make().facts.seats) == 1}
    hiding = (drawn | {*FORESEEING, "Mastermines", "BeatTap", "FogMap", "Battleship"}) - {"MazeEye"}
    assert hiding <= set(SINGLE) and not any(shows_all(world_of(name)) for name in hiding)
    assert all(shows_all(world_of(name)) for name in ("KeyDoor", "Sokoban", "BrickBounce", "MissionRoom", "MiniSudoku"))


def test_identical_first_sights_of_different_mazes_have_one_reason() -> None:
    env = WorldEnv(world_of("TJunction3D"), Scaffold(caption=2))
    sights: dict[str, set[str]] = {}
    lengths: dict[str, set[int]] = {}
    for seed in range(60):
        turns = demonstrate(env, task_of("TJunction3D", seed, 3), Manner(why=True))
        sight = turns[0].messages[0].text.partition("You have")[2].partition("\n")[2]  # the turns tell the size
        sights.setdefault(sight, set()).add(turns[0].text)
        lengths.setdefault(sight, set()).add(len(turns))
    assert max(map(len, lengths.values())) >= 3, "alike at first, and not alike"
    assert all(len(said) == 1 for said in sights.values())


def test_a_stray_move_does_not_rest_on_what_is_still_to_come() -> None:
    """Where all futures look alike the same stray is chosen: the state behind what is shown is never asked."""
    env = WorldEnv(world_of("SnakeRun"), Scaffold(caption=2, grammar="word"))
    env.begin(task_of("SnakeRun", 1, 3))
    shown = env.world.rebuild(env.world.view(env.state, SOLO).caption(2), SOLO)
    asked: list[object] = []

    class Heard:
        def __getattr__(self, name: str):
            return getattr(world_of("SnakeRun"), name)

        def solve(self, state, seat):
            asked.append(state)
            return world_of("SnakeRun").solve(state, seat)

    env.world = Heard()
    _stray(env, Rng("stray"))
    assert asked[0] == shown != env.state and env.state not in asked


@pytest.mark.parametrize(
    ("name", "options", "asked", "told"),
    [
        ("KeyDoor", {"grammar": "word"}, {"why": True}, "'word' has no room .* take free, tagged, json"),
        ("KeyDoor", {}, {"slips": 1.0}, "slips is 1.0"),
        ("KeyDoor", {}, {"reward": float("nan")}, "reward is nan; .* a finite number, 1 for all"),
        ("KeyDoor", {}, {"reward": float("inf")}, "reward is inf"),
    ],
)
def test_what_can_never_be_demonstrated_is_told_at_once(name, options, asked, told) -> None:
    env = WorldEnv(world_of(name), Scaffold(**options))
    for call in (
        lambda: demonstrate(env, task_of(name, 0, 0), Manner(**asked)),
        lambda: next(demonstrations(env, iter([]), 1, Manner(**asked))),
    ):
        with pytest.raises(CannotDemonstrate, match=told):
            call()


def test_slips_are_for_one_player() -> None:
    with pytest.raises(CannotDemonstrate, match="slips are for one player: take none .`--slips 0`"):
        next(demonstrations(WorldEnv(world_of("NimDuel")), iter([]), 1, Manner(slips=0.1)))


def test_where_slips_cost_too_much_a_few_tries_end_it_and_it_is_told_what_to_change() -> None:
    env, tried = WorldEnv(world_of("Blackjack")), []

    def tasks() -> Iterator[Task]:
        for seed in itertools.count():
            tried.append(seed)
            yield task_of("Blackjack", seed, 2 + seed % 6)

    made = demonstrations(env, tasks(), 8, Manner(slips=0.3))
    with pytest.raises(
        NoDemonstration,
        match=r"2 of 31 tasks .* 8 are .* fewer slips than 0.3, a lower reward than 1 or other levels, or ask for 2",
    ):
        list(made)
    assert len(tried) == 31


@pytest.mark.parametrize("name", FORESEEING)
def test_an_oracle_that_foresees_is_asked_about_what_is_shown_alone(name: str) -> None:
    """Two states that look alike are answered alike, whatever is still to come; and that is enough to win."""
    world = world_of(name)
    env = WorldEnv(world, Scaffold(caption=2, grammar="word"))
    made = list(demonstrations(env, (task_of(name, seed, 3) for seed in range(40)), 6))
    assert len(made) == 6
    for task, turns in made:
        state = world.start(task.seed, task.level, split=task.split)
        for turn in turns:
            shown = world.view(state, SOLO).caption(2)
            plan = world.solve(world.rebuild(shown, SOLO), SOLO)
            assert isinstance(plan, Plan) and turn.text == plan.moves[0].key
            state = world.step(state, {SOLO: plan.moves[0]}).state


def test_worlds_that_foresee_are_known() -> None:
    assert {"SkyDodge", "SnakeRun", "BlockFall"} <= set(FORESEEING)
