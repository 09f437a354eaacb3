"""How every world is won and lost: oracles earn what they promise, players who do not look earn next to nothing."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from quintain.codec import digest_of
from quintain.envs.world import world_of
from quintain.registry import names
from quintain.testing import honest
from quintain.testing.worlds import (
    oracle_player,
    play,
    replay_player,
    shortest,
    task_of,
    walk,
)
from quintain.worlds.kernel import LEVELS, Plan, Unknown, Unsolvable
from quintain.worlds.noise import Rng

WORLDS = names("world")
EVERY = pytest.mark.parametrize("name", WORLDS)
EXACT = pytest.mark.parametrize("name", [n for n in WORLDS if world_of(n).facts.proof != "policy"])
ROWS = Path(__file__).parents[2] / "claims" / "worlds" / "honest.json"


def commits() -> int:
    """How many there are; 0 outside a checkout."""
    command = ["git", "rev-list", "--count", "HEAD"]
    done = subprocess.run(command, cwd=ROWS.parent, capture_output=True, text=True, check=False)
    return int(done.stdout or 0)


def measured(name: str, of: honest.Slice) -> dict[str, Any]:
    """As `honest.measure`; how slow this machine is, which is never less than 1, is measured only where starts are late without it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(honest, "slowness", lambda: 1.0)
        row = honest.measure(name, of)
    if row.get("p99_s", 0.0) > honest.START_S:
        row["slowness"] = honest.slowness()
    return row


@EVERY
def test_a_slice_that_turns_with_every_commit_shows_what_is_declared(name: str) -> None:
    """Oracles earn what they promise, players who do not look earn little, and starts differ; QUINTAIN_LOOK=N repeats the N-th look."""
    look = int(os.environ.get("QUINTAIN_LOOK") or commits())
    of = honest.turned(look)
    assert honest.broken(name, measured(name, of), of.sigmas) == [], f"look {look}"


@EVERY
def test_the_whole_was_measured_of_this_code_and_shows_what_is_declared(name: str) -> None:
    row = json.loads(ROWS.read_text()).get(name, {})
    assert row.get("digest") == honest.digest(name), f"its code has changed since: make honest ARGS={name}"
    assert honest.broken(name, row) == [] and row["player_episodes"] == 320


def test_what_is_not_kept_is_told() -> None:
    row = measured("FrozenLake", honest.turned(3))
    assert honest.broken("FrozenLake", row, 4.5) == []
    wrong = {
        **row,
        "lapses": [[0, 7]],
        "players": {"random": 0.9, "first": 0.9},
        "distinct": 100,
        "p99_s": 9.0,
    }
    told = honest.broken("FrozenLake", wrong, 4.5)
    assert len(told) == 5 and "(level, seed) [[0, 7]]" in told[0] and "0.900 in 30 episodes" in told[1]
    assert honest.broken("NimGame", {"oracle": 0.4, "oracle_episodes": 24, "lapses": [], "players": {}})
    assert honest.digest("FrozenLake") != honest.digest("MiniSudoku")


@EXACT
def test_the_oracle_knows_at_least_99_in_100_up_to_level_7(name: str) -> None:
    world = world_of(name)
    answers = [world.solve(world.start(seed, level), world.facts.seats[0]) for level in range(8) for seed in range(13)]
    assert sum(isinstance(a, Unknown) for a in answers) <= len(answers) // 100


@EVERY
def test_the_oracle_answers_from_any_reachable_state(name: str) -> None:
    """A plan, followed from where a random player has ended up, earns its reward; the exact ones never promise too much."""
    world = world_of(name)
    seat = world.facts.seats[0]
    for seed in range(6):
        states = list(walk(world, world.start(seed, 1), Rng("astray", seed), 4))
        answer = world.solve(states[-1], seat)
        assert isinstance(answer, Plan | Unsolvable | Unknown)
        if isinstance(answer, Plan) and answer.proof != "policy" and world.facts.seats == (seat,):
            state, total = states[-1], 0.0
            for move in answer.moves:
                outcome = world.step(state, {seat: move})
                state, total = outcome.state, total + sum(outcome.rewards.get(seat, {}).values())
            assert total >= answer.value - 1e-9
            assert not answer.first or answer.moves[0] in answer.first


@EXACT
def test_a_second_solver_agrees(name: str) -> None:
    """Breadth-first search through `step` alone: no plan beats it, nothing unsolvable has a way, and ties are ties."""
    world = world_of(name)
    seat = world.facts.seats[0]
    for seed in range(4):
        for state in list(walk(world, world.start(seed, 0), Rng("second", seed), 4))[::2]:
            least = shortest(world, state, seat, 3000) if world.view(state, seat).legal() else None
            answer = world.solve(state, seat)
            if least is None or isinstance(answer, Unknown):
                continue
            if least < 0 or isinstance(answer, Unsolvable):
                assert isinstance(answer, Unsolvable) and least < 0
                continue
            assert len(answer.moves) >= least
            for move in answer.first:
                after = world.step(state, {seat: move})
                rest = 0 if after.done else shortest(world, after.state, seat, 3000)
                assert rest == least - 1 if len(answer.moves) == least else rest != -1, f"{move.key} is worse"


@EXACT
def test_part_of_a_plan_earns_nothing(name: str) -> None:
    world = world_of(name)
    seat = world.facts.seats[0]
    for seed in range(5):
        plan = world.solve(world.start(seed, 2), seat)
        assert isinstance(plan, Plan)
        state, total = world.start(seed, 2), 0.0
        for move in plan.moves[:-1]:
            outcome = world.step(state, {seat: move})
            state, total = outcome.state, total + outcome.rewards.get(seat, {}).get("success", 0.0)
        assert total < 1


@EXACT
def test_wrong_answers_are_refused(name: str) -> None:
    """Each mutation of a whole answer must fail, unless it is the answer."""
    world = world_of(name)
    seat, tried = world.facts.seats[0], 0
    for seed in range(4):
        start = world.start(seed, 3)
        plan = world.solve(start, seat)
        assert isinstance(plan, Plan)
        if len(plan.moves) > 1:
            pytest.skip("this world is not answered at once")
        answer, rng = plan.moves[0], Rng("wrong", seed)
        for _ in range(20):
            letters = list(answer.key)
            at = rng.pick([i for i, c in enumerate(letters) if c.isalnum()])
            letters[at] = rng.pick([c for c in answer.key if c.isalnum()])
            wrong = world.read("".join(letters), seat)
            if wrong is None or wrong == answer:
                continue
            tried += 1
            assert not world.step(start, {seat: wrong}).rewards.get(seat, {}).get("success")
        for same in (f"  {answer.key}\n", answer.key.upper()):
            assert world.read(same, seat) == answer
    assert tried >= 20


@EVERY
def test_the_plan_of_another_instance_earns_little(name: str) -> None:
    """A blind oracle: it knows the game and the level, and not this instance."""
    few = world_of(name).facts.proof == "policy"
    rewards = []
    for level in (1, 2) if few else (2, 4, 6):
        for seed in range(400, 406 if few else 408):
            plan = play(task_of(name, seed, level), oracle_player()).moves
            rewards += honest.earned(name, replay_player(plan), (level,), (seed + 1000, seed + 2000))
    row = {"lapses": [], "oracle": 1.0, "oracle_episodes": 1}
    row |= {"players": {"blind": statistics.mean(rewards)}, "player_episodes": len(rewards)}
    assert honest.broken(name, row) == []


def effort(name: str, level: int, seeds: Sequence[int]) -> float:
    """How much a level asks for: moves of the oracle's plan, blanks of a one-answer world, turns of an estimated one."""
    world, total = world_of(name), 0.0
    for seed in seeds:
        start = world.start(seed, level)
        plan = world.solve(start, world.facts.seats[0])
        assert isinstance(plan, Plan)
        if world.facts.proof == "policy":
            total += world.turns(start)
        elif len(plan.moves) > 1:
            total += len(plan.moves)
        else:
            total += world.view(start, world.facts.seats[0]).caption(2).count(".")
    return total / len(seeds)


@EVERY
def test_difficulty_rises_with_the_level(name: str) -> None:
    efforts = [effort(name, level, range(500, 504)) for level in range(LEVELS)]
    ranks = [sorted(efforts).index(e) for e in efforts]
    assert statistics.correlation(range(LEVELS), ranks) > 0.85, f"efforts by level: {efforts}"


@EVERY
def test_starting_is_fast_and_varied(name: str) -> None:
    world = world_of(name)
    for level in (0, 4, 7):
        begun = time.process_time()
        starts = [world.start(seed, level) for seed in range(700, 712)]
        assert (time.process_time() - begun) / len(starts) < 0.25, f"level {level}"  # some ms; slow machines need more
        different = len({digest_of(s) for s in starts})
        assert world.facts.shared_starts or different >= 9, f"{different} of 12 instances of level {level} differ"
