"""Questions about a figure: it is seen once, answered once, and the answer is checked against the figure itself."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.ports import SOLO
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.canvas import Canvas, answered
from quintain.worlds.engines.geometry.figure import SAID, Figure, Things, Words, brief_text, full_text, layout, parse
from quintain.worlds.kernel import Answer, Events, Facts, Move, Outcome, Plan, Unsolvable, View, check_level
from quintain.worlds.knobs import check_knobs, overridable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene
from quintain.worlds.seats import seated
from quintain.worlds.splits import drawn

NEAR = 0.2  # what all entries but none wrong would earn short of success
WON = {SOLO: {"success": 1.0}}
WRONG: Events = {SOLO: ("wrong",)}
ILLEGAL: Events = {SOLO: ("illegal",)}
SAYINGS = {"wrong": "That is not right.", "illegal": "That was answered already, or names what is not there."}
PARTIAL = f" A wrong answer earns {NEAR} times the share of entries that are right, if as many are given as asked for."


@seated
@dataclass(frozen=True, kw_only=True)
class AskWorld:
    """A world of questions: what a declaration gives.

    Args:
        facts: rules and ceilings.
        levels: ten mappings of knobs.
        make: draws a figure, or None to draw again.
        truth: the right answer, found from the figure alone.
        why: how it is found, in sentences that a reader of the figure can check.
        form: how answers are written.
        lexicon: all words that figures and answers are made of.
        paint: draws the figure on a canvas, or as a whole scene.
        guess: a random answer to a figure, well formed.
        side: figures live in the square 0..side, and splits hold its symmetries apart; 0 for figures without points.
        check: whether an answer is right, where `truth` is one of several.
        labels: what may stand before each entry of an answer; what the heads of the form say may stand there in any order.
        near: a wrong answer earns by the share of its entries that are right.
    """

    facts: Facts
    levels: Sequence[Mapping[str, Any]]
    make: Callable[[Rng, Mapping[str, Any]], Things | None]
    truth: Callable[[Things], Words]
    why: Callable[[Things], str]
    form: Form
    lexicon: Sequence[str]
    paint: Callable[[Things], Canvas | Scene]
    guess: Callable[[Things, Rng], Words]
    side: int = 0
    check: Callable[[Things, Words], bool] | None = None
    labels: Callable[[Things], Words] = lambda things: ()
    near: bool = False
    schema: type[Figure] = Figure

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Figure:
        """See `World.start`."""
        chosen = check_knobs(knobs, self.levels, level)
        rng = Rng(self.facts.name, seed, level, split)
        return Figure(drawn(lambda r: self.make(r, chosen), self._layout, rng, split))

    def _layout(self, things: Things) -> str:
        return layout(things, self.side)

    def view(self, state: Figure, seat: str) -> View[Figure]:
        return View(self, state, seat)

    def read(self, text: str, seat: str) -> Move | None:
        return self.form.read(text)

    def turns(self, state: Figure) -> int:
        return 1

    def words(self, level: int) -> tuple[str, ...]:
        check_level(level)
        return _unique(SAID, *self.lexicon)

    def step(self, state: Figure, moves: Mapping[str, Move]) -> Outcome[Figure]:
        if state.said:
            return Outcome(state, events=ILLEGAL)
        said = moves[SOLO].value
        labels = self.labels(state.things)
        if self.form.heads and not said[0].isdecimal():
            counts = dict(zip(said[::2], said[1::2], strict=True))
            if sorted(said[::2]) != sorted(labels):
                return Outcome(state, events=ILLEGAL)
            said = tuple([counts[label] for label in labels])
        elif len(said) == 2 * len(labels) and sorted(said[::2]) == sorted(labels):
            said = tuple([dict(zip(said[::2], said[1::2], strict=True))[label] for label in labels])
        if self.form.of == "name" and not {*said} <= {word for thing in state.things for word in thing}:
            return Outcome(state, events=ILLEGAL)
        after = Figure(state.things, said)
        if self.right(state.things, said):
            return Outcome(after, WON, True)
        right = _truth(self.truth, state.things)
        if self.near and len(said) == len(right):
            many = 1 + self.form.pairs  # entries whose order does not matter
            parts = zip(zip(*[iter(said)] * many, strict=True), zip(*[iter(right)] * many, strict=True), strict=True)
            share = sum([len({*a} & {*b}) for a, b in parts]) / len(right)
            return Outcome(after, {SOLO: {"near": NEAR * share}}, True, WRONG)
        return Outcome(after, {}, True, WRONG)

    def right(self, things: Things, said: Words) -> bool:
        """Whether an answer to a figure is right."""
        return self.check(things, said) if self.check else said == _truth(self.truth, things)

    def solve(self, state: Figure, seat: str) -> Answer:
        if state.said:
            return Unsolvable("the episode is over")
        move = self.form.move(_truth(self.truth, state.things))
        return Plan((move,), because=f"{_why(self.why, state.things)} So {move.key}.")

    def legal(self, state: Figure, seat: str) -> tuple[Move, ...]:
        return ()

    def sample(self, state: Figure, seat: str, rng: Rng) -> Move:
        return self.form.move(tuple(self.guess(state.things, rng)))

    def caption(self, state: Figure, seat: str, level: int) -> str:
        text = full_text(state.things) if level == 2 else brief_text(state.things)
        return f"{text}\n{SAID} {' '.join(state.said)}." if state.said else text

    def rebuild(self, caption: str, seat: str) -> Figure:
        """See `World.rebuild`."""
        return parse(caption)

    def static(self, state: Figure, seat: str) -> tuple[str, ...]:
        return tuple([word for thing in state.things for word in thing])

    def moving(self, state: Figure, seat: str) -> tuple[str, ...]:
        return (SAID, *state.said) if state.said else ()

    def scene(self, state: Figure, seat: str) -> Scene:
        scene = _scene(self.paint, state.things)
        return answered(scene, " ".join(state.said)) if state.said else scene


@functools.lru_cache(maxsize=64)
def _unique(*words: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


@functools.lru_cache(maxsize=4096)
def _truth(truth: Callable[[Things], Words], things: Things) -> Words:
    return truth(things)


@functools.lru_cache(maxsize=1024)
def _why(why: Callable[[Things], str], things: Things) -> str:
    return why(things)


@functools.lru_cache(maxsize=256)
def _scene(paint: Callable[[Things], Canvas | Scene], things: Things) -> Scene:
    drawing = paint(things)
    return drawing if isinstance(drawing, Scene) else drawing.scene()
