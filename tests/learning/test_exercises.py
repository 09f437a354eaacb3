"""Every alias improves its starting policy on the exercise of its family; planted wrong forms of a method do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from quintain.algorithms import Algorithm, assemble
from quintain.registry import Entry, build, entries
from quintain.testing.exercises import EXERCISES, Exercise, Learned
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


def learned(make: Callable[[], Algorithm], exercise: Exercise) -> list[Learned]:
    """What a method learns with the first seed, and where that is too little with two more: rounding differs between processors,
    so that the same seed goes another way on each. All but one are to pass.
    """
    found = [practise(make(), exercise, seed=1)]
    if not found[0].passes(exercise):
        found += [practise(make(), exercise, seed=seed) for seed in (2, 3)]
    return found


def enough(found: list[Learned], exercise: Exercise) -> bool:
    return sum(one.passes(exercise) for one in found) > len(found) / 2


@pytest.mark.parametrize(("entry", "form"), LEARNERS, ids=lambda v: v if isinstance(v, str) else v.name)
def test_an_alias_improves_its_starting_policy(entry: Entry, form: str) -> None:
    exercise = EXERCISES[chosen(entry)]
    found = learned(partial(made, entry, form), exercise)
    gains = ", ".join(f"{one.first:.3f} -> {one.last:.3f}" for one in found)
    assert enough(found, exercise), f"{entry.name} {form} on {chosen(entry)}: {gains}, {exercise.gain} asked"


def plain(name: str) -> Algorithm:
    apart = {"advantage": {"name": "normalise", "key": ["prompt", "agent"]}}
    return build("algorithm", {"name": "grpo", **(apart if name == "seats" else {})})


@pytest.mark.parametrize("name", EXERCISES)
def test_the_right_form_of_what_is_bent_learns(name: str) -> None:
    assert enough(learned(partial(plain, name), EXERCISES[name]), EXERCISES[name])


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", EXERCISES)
def test_a_wrong_form_does_not(name: str, wrong: str) -> None:
    assert not practise(WRONG[wrong](plain(name)), EXERCISES[name], seed=1).passes(EXERCISES[name])


def test_an_exercise_repeats_itself() -> None:
    one, two = (practise(build("algorithm", {"name": "grpo"}), EXERCISES["modes"], seed=3) for _ in range(2))
    assert one == two
