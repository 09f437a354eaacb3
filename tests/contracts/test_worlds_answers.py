"""Wrong answers earn nothing, right ones stand nowhere to be read, and no seat's oracle knows more than its seat."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter

import pytest
from tests.contracts.test_worlds_play import commits
from tests.judges import JUDGES, in_rows

from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.registry import entries, names
from quintain.testing.mutants import mutants
from quintain.testing.worlds import task_of
from quintain.worlds.kernel import LEVELS, Plan
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Run

WORLDS = names("world")
PAGES = [e.name for e in entries("world") if e.tags["engine"] == "csp"]
AT_ONCE = pytest.mark.parametrize("name", [n for n in WORLDS if world_of(n).turns(world_of(n).start(0, 3)) == 1])
EXACT = pytest.mark.parametrize("name", [n for n in WORLDS if world_of(n).facts.proof != "policy"])
MUTANTS = 20  # of each instance
LONG = 5  # letters of an answer that stands nowhere by accident, however it is parted
pytestmark = pytest.mark.worlds


def looks() -> list[tuple[int, int]]:
    """Levels and seeds that turn with every commit; QUINTAIN_LOOK=N repeats a look."""
    look = int(os.environ.get("QUINTAIN_LOOK") or commits())
    return [(1 + (look + gap) % (LEVELS - 1), 2 * look + i) for gap in (0, 4) for i in range(2)]


@AT_ONCE
def test_wrong_answers_are_refused(name: str) -> None:
    """Changed answers earn success where a judge of the rules, who knows only the caption, calls them right, and nowhere else."""
    world = world_of(name)
    seat, judge = world.facts.seats[0], JUDGES.get(name, in_rows if name in PAGES else None)
    for level, seed in looks():
        start, told = world.start(seed, level), f"level {level} seed {seed}"
        plan = world.solve(start, seat)
        assert isinstance(plan, Plan), told
        (answer,), caption = plan.moves, world.view(start, seat).caption(2)
        assert judge is None or judge(caption, answer.key, answer.key), f"{told}: the oracle says {answer.key!r}"
        tried = list(mutants(world, start, answer, MUTANTS, Rng("wrong", name, seed)))
        assert len(tried) == MUTANTS, told
        for wrong in tried:
            right = wrong in plan.first if judge is None else judge(caption, wrong.key, answer.key)
            won = world.step(start, {seat: wrong}).rewards.get(seat, {}).get("success", 0.0)
            assert (won == 1) == right, f"{told}: {wrong.key!r} instead of {answer.key!r} earns {won}"
        for same in (f"  {answer.key}\n", answer.key.upper()):
            assert world.read(same, seat) == answer


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
