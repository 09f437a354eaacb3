"""How every world is won and lost: oracles earn what they promise, players who do not look earn next to nothing."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.looks import look

from quintain.codec import digest_of
from quintain.envs.course import shows_all
from quintain.envs.world import Reader, WorldEnv, world_of
from quintain.registry import names
from quintain.testing import fuzz, honest
from quintain.testing.worlds import shortest, walk
from quintain.types import Feedback, Message
from quintain.worlds.kernel import LEVELS, GenerationError, Move, Plan, Unknown, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.splits import SPLITS

WORLDS = names("world")
EVERY = pytest.mark.parametrize("name", WORLDS)
EXACT = pytest.mark.parametrize("name", [n for n in WORLDS if world_of(n).facts.proof != "policy"])
pytestmark = pytest.mark.worlds


@EVERY
def test_a_slice_that_turns_with_every_commit_shows_what_is_declared(name: str) -> None:
    """Oracles earn what they promise and know, players who do not look earn little, starts differ."""
    of = honest.turned(look())
    row = honest.measure(name, of)
    del row["starts_s"]  # of few starts, and beside other tests, the clock says nothing: whole measures hold it
    assert honest.broken(name, row, of.sigmas) == [], f"look {look()}"


def test_what_is_not_kept_is_told() -> None:
    row = honest.measure("FrozenLake", honest.turned(3))
    assert honest.broken("FrozenLake", row, 4.5) == []
    wrong = {
        **row,
        "lapses": [[0, 7]],
        "players": {"random": 0.9, "first": 0.9},
        "distinct": 100,
        "starts_s": [[4, 0.001, 0.001], [5, 9.0, 0.001]],
        "blind": 0.9,
        "unknown": 0.02,
        "effort": [3.0] * 9 + [4.0],
        "pace": {"text": 99.0, "picture": 51.0, "resets": 20.0},
        "slowness": 1.0,
    }
    told = honest.broken("FrozenLake", wrong, 4.5)
    assert len(told) == 10 and "(level, seed) [[0, 7]]" in told[0] and "0.900 in 30 episodes" in told[1]
    assert "makes 99 steps with text a second; 100 are due" in told[-2] and "20 starts a second" in told[-1]
    assert honest.broken("FrozenLake", {**row, "pace": {"text": 51.0}, "slowness": 2.0}, 4.5) == []
    assert "at level 5 takes 9.000 s" in told[-3] and len(honest.turned(3).starts) == row["starts"]
    assert honest.broken("NimGame", {"oracle": 0.4, "oracle_episodes": 24, "lapses": [], "players": {}})
    assert honest.digest("FrozenLake") != honest.digest("MiniSudoku")


@EVERY
def test_every_level_has_instances_of_every_split(name: str) -> None:
    """A run with instances at any level can be evaluated at that level; the seeds turn with every commit."""
    world, number = world_of(name), look()
    for level, split, seed in itertools.product(range(LEVELS), SPLITS, (0, 2 * number + 1, 2 * number + 2)):
        try:
            world.start(seed, level, split=split)
        except GenerationError as error:
            raise AssertionError(f"look {number}: level {level} {split} seed {seed}") from error


@EVERY
def test_splits_share_no_page(name: str) -> None:
    """What is shown at the start of training is not shown in an evaluation, if it is all there is; the level turns with every commit."""
    world, level = world_of(name), look() % LEVELS
    seat, pages, whole = world.facts.seats[0], dict[str, set[str]](), shows_all(world)
    for split, count in zip(SPLITS, (60, 30, 30), strict=True):
        starts = [world.start(seed, level, split=split) for seed in range(count)]
        told = {world.view(start, seat).caption(2): start for start in starts}
        pages[split] = {text for text, start in told.items() if whole or world.rebuild(text, seat) == start}
    if not world.facts.shared_starts:
        for one, other in itertools.combinations(SPLITS, 2):
            assert not pages[one] & pages[other], f"look {look()}: {one} and {other} share pages at level {level}"


@EVERY
def test_whatever_a_policy_says_a_world_answers(name: str) -> None:
    assert fuzz.trouble(name, 200, seed=look()) == [], f"look {look()}"


def test_trouble_with_odd_texts_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    reads, steps = Reader.read, WorldEnv.advance

    def fragile(self: Reader, message: Message, seat: str) -> Move | None:
        if "{" in message.text:
            raise ZeroDivisionError("no braces")
        return reads(self, message, seat)

    def generous(self: WorldEnv, moves: Mapping[str, Message]) -> dict[str, Feedback]:
        heard = steps(self, moves)
        return {seat: replace(f, reward={"luck": 0.4}) for seat, f in heard.items()}

    assert fuzz.trouble("KeyDoor", 300) == []
    with monkeypatch.context() as patch:
        patch.setattr(Reader, "read", fragile)
        (first, *more) = fuzz.trouble("KeyDoor", 300)
        assert first.startswith("KeyDoor: ") and "makes ZeroDivisionError: no braces" in first and len(more) < fuzz.TOLD
    monkeypatch.setattr(WorldEnv, "advance", generous)
    told_ = " ".join(fuzz.trouble("KeyDoor", 300))
    assert "cannot be read and has the reward {'luck': 0.4}" in told_ or "in one episode" in told_


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


@EVERY
def test_starts_of_a_level_differ(name: str) -> None:
    world = world_of(name)
    for level in (0, 4, 7):
        starts = [world.start(seed, level) for seed in range(700, 712)]
        different = len({digest_of(s) for s in starts})
        assert world.facts.shared_starts or different >= 9, f"{different} of 12 instances of level {level} differ"


@pytest.mark.parametrize("name", [n for n in WORLDS if len(world_of(n).facts.seats) == 1])
def test_nothing_happens_after_the_end(name: str) -> None:
    """No move changes anything or earns anything then, and the oracle has no plan."""
    world, rng = world_of(name), Rng("after", name, look())
    (seat,) = world.facts.seats
    for seed in range(
        look(), look() + 20
    ):  # where cards are hidden, an oracle may go round in circles until its turns are used up
        state, done, turns = world.start(seed, 0), False, 0
        while not done and turns < world.turns(state):
            plan = world.solve(state, seat)
            move = plan.moves[0] if isinstance(plan, Plan) and plan.moves else world.view(state, seat).sample(rng)
            outcome = world.step(state, {seat: move})
            state, done, turns = outcome.state, outcome.done, turns + 1
        if done:
            break
    assert done, "none of 20 episodes ends by itself"
    assert not isinstance(world.solve(state, seat), Plan)
    for again in (move, *(world.view(state, seat).sample(rng) for _ in range(8))):
        outcome = world.step(state, {seat: again})
        assert outcome.state == state and not outcome.rewards, f"{again.key!r} after the end"
