"""Wrong answers earn no success, right ones stand nowhere to be read, and no seat's oracle knows more than its seat."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import pytest
from tests.judges import JUDGES, in_rows
from tests.looks import look

from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.registry import entries, names
from quintain.testing.mutants import mutants
from quintain.testing.worlds import acting, other_noise, shown, task_of, walk, with_noise_of
from quintain.worlds.kernel import LEVELS, Move, Plan, World
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Run

WORLDS = names("world")
PAGES = [e.name for e in entries("world") if e.tags["engine"] == "csp"]
AT_ONCE = pytest.mark.parametrize("name", [n for n in WORLDS if world_of(n).turns(world_of(n).start(0, 3)) == 1])
EXACT = pytest.mark.parametrize("name", [n for n in WORLDS if world_of(n).facts.proof != "policy"])
SECRET = (
    "Battleship",
    "FogMap",
    "Mastermines",
)  # what is hidden in them a caption leaves to `rebuild`, as in cards and words
HIDDEN = pytest.mark.parametrize(
    "name", [e.name for e in entries("world") if e.tags["engine"] in ("cards", "words") or e.name in SECRET]
)
INSIDE = pytest.mark.parametrize(  # MazeEye shows frames of a walk that is over
    "name", [e.name for e in entries("world") if e.tags["engine"] == "raycast" and e.name != "MazeEye"]
)
MIXED = (
    "HoldemFreeDuel",
    "HoldemLimitDuel",
    "KuhnDuel",
    "LeducDuel",
)  # their oracles draw from mixed strategies, by noise of their own
NOISY = pytest.mark.parametrize(
    "name", [n for n in WORLDS if n not in MIXED and other_noise(start := world_of(n).start(0, 1), 1) is not start]
)
MUTANTS = 20  # of each instance
ALIKE = 200  # seeds among which instances that look the same are met
LONG = 5  # letters of an answer that stands nowhere by accident, however it is parted
pytestmark = pytest.mark.worlds


def looks() -> list[tuple[int, int]]:
    """Levels and seeds that turn with every commit."""
    number = look()
    return [(1 + (number + gap) % (LEVELS - 1), 2 * number + i) for gap in (0, 4) for i in range(2)]


@AT_ONCE
def test_wrong_answers_are_refused(name: str) -> None:
    """Changed answers earn success where a judge of the rules, who knows only the caption, calls them right, and nowhere else."""
    world = world_of(name)
    seat, judge = world.facts.seats[0], JUDGES.get(name, in_rows if name in PAGES else None)
    for level, seed in looks():
        start, told = world.start(seed, level), f"level {level} seed {seed}"
        if world.turns(start) > 1:  # the first of two moves wins nothing yet
            continue
        plan = world.solve(start, seat)
        assert isinstance(plan, Plan), told
        (answer,), caption = plan.moves, world.view(start, seat).caption(2)
        assert judge is None or judge(caption, answer.key, answer.key), f"{told}: the oracle says {answer.key!r}"
        tried = list(mutants(world, start, answer, MUTANTS, Rng("wrong", name, seed)))
        assert len(tried) == MUTANTS, told
        for wrong in tried:
            right = wrong in plan.first if judge is None else judge(caption, wrong.key, answer.key)
            won = world.step(start, {seat: wrong}).rewards.get(seat, {})
            assert won.get("success", 0.0) == right and (right or sum(won.values()) < 1), (
                f"{told}: {wrong.key!r} instead of {answer.key!r} earns {won}"
            )
        for same in (f"  {answer.key}\n", answer.key.upper()):
            assert world.read(same, seat) == answer


@AT_ONCE
def test_what_looks_the_same_is_answered_the_same(name: str) -> None:
    """Instances with one caption and one picture take each other's answers: nothing hidden decides what is right."""
    world, alike = world_of(name), defaultdict[str, dict[Any, int]](dict)
    seat = world.facts.seats[0]
    for seed in range(ALIKE):
        start = world.start(seed, 0)
        if world.turns(start) == 1:
            alike[world.view(start, seat).caption(2)].setdefault(start, seed)
    for starts in [starts for starts in alike.values() if len(starts) > 1]:
        scenes = {start: world.view(start, seat).scene() for start in starts}
        for one, two in itertools.permutations(starts, 2):
            plan = world.solve(two, seat)
            if scenes[one] == scenes[two] and isinstance(plan, Plan):
                own, other = (world.step(start, {seat: plan.moves[0]}).rewards for start in (two, one))
                told = f"seeds {starts[one]} and {starts[two]} look the same"
                assert own == other, f"{told}; {plan.moves[0].key!r} earns {other} in the first"


def plainly(text: str) -> str:
    """The words and numbers of a text, whatever parts them."""
    return f" {' '.join(re.findall(r'[a-z]+|[0-9]+', text.lower()))} "


@EXACT
def test_the_answer_stands_in_no_observation(name: str) -> None:
    """Neither in a caption nor in words nor in the picture's text: small ones may do so by accident, not in most instances."""
    world, met, count = world_of(name), Counter[str](), 0
    seat, env = world.facts.seats[0], WorldEnv(world, Scaffold(caption=2, rules=False))
    for level, seed in itertools.product((3, 7), range(3)):
        opening = env.begin(task_of(name, seed, level))[seat].messages[-1].text
        plan, view = world.solve(env.state, seat), world.view(env.state, seat)
        if not isinstance(plan, Plan):
            continue
        count += 1
        answer = plainly(" ".join(move.key for move in plan.moves))
        close = answer.replace(" ", "")
        drawn = " ".join(shape.text for shape in view.scene().shapes if isinstance(shape, Run))
        texts = {"brief": view.caption(1), "full": view.caption(2), "opening": opening, "picture": drawn}
        texts |= {"static": " ".join(view.static()), "moving": " ".join(view.moving())}
        for where, text in texts.items():
            told = plainly(text)
            met[where] += answer in told or (len(close) >= LONG and close in told.replace(" ", ""))
    assert count >= 4 and all(times <= count / 2 for times in met.values()), f"{dict(met)} of {count} show {answer!r}"


def advice(world: World[Any], state: Any, seat: str) -> tuple[Move, ...] | None:
    """The oracle's next move and those that are as good; None where it has no plan."""
    answer = world.solve(state, seat)
    return (*answer.moves[:1], *answer.first) if isinstance(answer, Plan) else None


@NOISY
def test_no_oracle_knows_the_noise_to_come(name: str) -> None:
    """With other noise it gives the same advice. (What comes is no noise in worlds tagged `foresees`.)"""
    world, compared = world_of(name), 0
    for seed, level in itertools.product(range(2), (1, 4)):
        for state in walk(world, world.start(seed, level), Rng("chance", seed), 3):
            twin = other_noise(state, 0x5EED)
            for seat in acting(world, state) if twin is not state else ():
                compared += 1
                assert advice(world, twin, seat) == advice(world, state, seat), f"level {level} seed {seed}"
    assert compared


@HIDDEN
def test_the_oracle_sees_what_its_seat_sees(name: str) -> None:
    """From the caption alone it gives the same advice, whatever stands in for what is hidden, to each seat that is to move."""
    world, differ = world_of(name), 0
    for seed, level in itertools.product(range(3), (1, 3)):
        for state in walk(world, world.start(seed, level), Rng("seen", seed), 3):
            for seat, view in acting(world, state).items():
                twin = with_noise_of(state, world.rebuild(view.caption(2), seat))
                differ += twin != state
                known, seen = advice(world, state, seat), advice(world, twin, seat)
                assert seen == known, f"level {level} seed {seed}: {seat} from {view.caption(2)!r}"
    assert differ


@INSIDE
def test_an_oracle_that_explores_goes_by_cells_that_it_has_seen(name: str) -> None:
    """Walls and things where nothing has been seen may be others: while the view is the same, so is the next move."""
    world, differ = world_of(name), 0
    seat = world.facts.seats[0]
    for seed, level in itertools.product(range(3), (2, 5)):
        for state in walk(world, world.start(seed, level), Rng("inside", seed), 4):
            for draw in range(3):
                twin = elsewhere(state, Rng("elsewhere", seed, draw))
                if twin == state or shown(world, twin, seat) != shown(world, state, seat):
                    continue  # of a cell a part was in sight, too little to count as seen
                known, other = advice(world, state, seat), advice(world, twin, seat)
                if known is not None and other is not None:
                    differ += 1
                    assert other == known, f"level {level} seed {seed}: {world.view(state, seat).caption(2)}"
    assert differ >= 5, f"only {differ} states could be drawn anew"


def elsewhere(state: Any, rng: Rng) -> Any:
    """A first-person state with fewer walls where nothing has been seen, and with the things there at other places."""
    if not hasattr(state, "seen"):
        return replace(state, stand=elsewhere(state.stand, rng))
    floor, seen = state.place.floor, int.from_bytes(state.seen, "little")
    unseen = [i for i in range(len(floor.cells)) if not seen >> i & 1]
    cells = list(floor.cells)
    for i in unseen:
        cells[i] = "." if rng.below(4) == 0 else cells[i]
    free = [i for i in unseen if cells[i] == "." and i not in state.where]
    rng.shuffle(free)
    where = tuple(free.pop() if cell in unseen and free and rng.below(2) else cell for cell in state.where)
    return replace(state, place=replace(state.place, floor=replace(floor, cells="".join(cells))), where=where)
