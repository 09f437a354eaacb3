"""Every alias improves its starting policy on the exercise of its family; planted wrong forms of a method do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from quintain.algorithms import Algorithm, assemble
from quintain.registry import Entry, build, entries
from quintain.testing.exercises import EXERCISES
from quintain.testing.learning import flipped, inverted, practise, shuffled

pytestmark = pytest.mark.learning


def learners() -> Iterator[tuple[Entry, str]]:
    """Every alias, and every preset of one that is a method of its own."""
    for e in entries("algorithm"):
        forms = [f.get("preset", "") for f in e.tags.get("methods", {}).values() if "shown" not in f]
        yield from ((e, form) for form in dict.fromkeys(["", *forms]) if e.tags.get("learns", "pick") != "none")


LEARNERS = list(learners())
WRONG = {"sign": flipped, "member": shuffled, "anchor": inverted}


def made(entry: Entry, form: str) -> Algorithm:
    said = entry.tags.get("presets", {}).get(form, {})  # what a preset says is not bent by the example
    return assemble(entry.name, {k: v for k, v in entry.tags.get("example", {}).items() if k not in said}, form=form)


def chosen(entry: Entry) -> str:
    return entry.tags.get("learns", "pick")


@pytest.mark.parametrize(("entry", "form"), LEARNERS, ids=lambda v: v if isinstance(v, str) else v.name)
def test_an_alias_improves_its_starting_policy(entry: Entry, form: str) -> None:
    exercise = EXERCISES[chosen(entry)]
    found = practise(made(entry, form), exercise, seed=1)
    told = f"{entry.name} {form} on {chosen(entry)}: {found.first:.3f} -> {found.last:.3f}, {exercise.gain} asked"
    assert found.passes(exercise), told


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
