"""Every alias improves its starting policy on the exercise of its family; planted wrong forms of a method do not."""

from __future__ import annotations

import pytest

from quintain.algorithms import Algorithm
from quintain.registry import Entry, build, entries
from quintain.testing.exercises import EXERCISES
from quintain.testing.learning import flipped, inverted, practise, shuffled

pytestmark = pytest.mark.learning
LEARNERS = [e for e in entries("algorithm") if e.tags.get("learns", "pick") != "none"]
WRONG = {"sign": flipped, "member": shuffled, "anchor": inverted}


def made(entry: Entry) -> Algorithm:
    return build("algorithm", {"name": entry.name, **entry.tags.get("example", {})})


def chosen(entry: Entry) -> str:
    return entry.tags.get("learns", "pick")


@pytest.mark.parametrize("entry", LEARNERS, ids=lambda e: e.name)
def test_an_alias_improves_its_starting_policy(entry: Entry) -> None:
    exercise = EXERCISES[chosen(entry)]
    found = practise(made(entry), exercise, seed=1)
    assert found.passes(exercise), f"{entry.name} on {chosen(entry)}: {found}"


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", EXERCISES)
def test_a_wrong_form_does_not(name: str, wrong: str) -> None:
    apart = {"advantage": {"name": "normalise", "key": ["prompt", "agent"]}}
    exercise, options = EXERCISES[name], apart if name == "seats" else {}
    right = build("algorithm", {"name": "grpo", **options})
    assert not practise(WRONG[wrong](right), exercise, seed=1).passes(exercise)
    assert practise(right, exercise, seed=1).passes(exercise), "and the right form does, on the same seed"


def test_an_exercise_repeats_itself() -> None:
    one, two = (practise(build("algorithm", {"name": "grpo"}), EXERCISES["modes"], seed=3) for _ in range(2))
    assert one == two
