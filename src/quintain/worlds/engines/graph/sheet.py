"""Pages to answer at once: a generator draws a graph, the answer is checked against what is best, never against a kept one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from quintain.ports import SOLO
from quintain.worlds.cells import names_of
from quintain.worlds.engines.graph.answer import CELL, NONE, Form
from quintain.worlds.engines.graph.look import PLAIN, Style, scene_of
from quintain.worlds.engines.graph.page import NAMES, Graph, Page, canonical, full_caption, parse_caption
from quintain.worlds.kernel import NOTHING, Answer, Events, Facts, Move, Outcome, Plan, Unsolvable, View, check_level
from quintain.worlds.knobs import check_knobs, overridable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene
from quintain.worlds.seats import seated
from quintain.worlds.splits import Draft, drawn

WON = {SOLO: {"success": 1.0}}
WRONG: Events = {SOLO: ("wrong",)}
PARTIAL: Events = {SOLO: ("partial",)}
ILLEGAL: Events = {SOLO: ("illegal",)}
SAYINGS = {"wrong": "That is not right.", "partial": "That is allowed, but it is not the best."}
LEGEND = """Text: each vertex with its place in the picture in brackets (which means nothing for the task), then the edges, one per
sentence: A-B joins both ways, A>B leads from A to B"""
CEILINGS = {"random": 0.03, "constant": 0.03, "first": 0.02, "blind": 0.05}

Make = Callable[[Rng, Mapping[str, Any]], Graph | None]
Guess = Callable[[Graph, Rng, int], Any]


@seated
@dataclass(frozen=True, kw_only=True)
class GraphWorld:
    """A world of pages: what a declaration gives.

    Args:
        facts: rules and ceilings.
        levels: ten mappings of knobs; `top` is the highest number printed or answered (9 without it).
        form: how an answer is written.
        make: draws one graph from the knobs, or None to draw again.
        truth: graph -> what answers are checked with; None rejects the graph.
        answer: (graph, truth) -> the values of one right answer, in vertex numbers; None is `none`.
        check: (graph, truth, values in vertex numbers) -> 1 for a right answer, less for what it is worth otherwise.
        why: (graph, truth) -> in a line, how that answer comes about.
        style: how the graph is drawn.
        words_of: further words of the captions, beside vertices, edges and numbers.
        guess: values of a random answer, where those of `guessed` do not fit.
        layout: graph -> the text by which it belongs to a split.
        size: knobs -> the most vertices.
    """

    facts: Facts
    levels: Sequence[Mapping[str, Any]]
    form: Form
    make: Make
    truth: Callable[[Graph], Any]
    answer: Callable[[Graph, Any], tuple[Any, ...] | None]
    check: Callable[..., float]
    why: Callable[[Graph, Any], str]
    style: Style = PLAIN
    words_of: Sequence[str] = ()
    guess: Callable[[Graph, Rng], tuple[Any, ...]] | None = None
    layout: Callable[[Graph], str] = canonical
    size: Callable[[Mapping[str, Any]], int] = itemgetter("n")
    schema: type[Page] = Page

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Page:
        """See `World.start`."""
        chosen = check_knobs(knobs, self.levels, level)
        rng = Rng(self.facts.name, seed, level, split)
        return Page(drawn(lambda r: self._drawn(r, chosen), self.layout, rng, split))

    def _drawn(self, rng: Rng, knobs: Mapping[str, Any]) -> Draft[Graph] | None:
        graph = self.make(rng, knobs)
        return None if graph is None else Draft(graph, lambda: graph if _truth(self.truth, graph) is not None else None)

    def view(self, state: Page, seat: str) -> View[Page]:
        return View(self, state, seat)

    def read(self, text: str, seat: str) -> Move | None:
        return self.form.read(text)

    def turns(self, state: Page) -> int:
        return 1

    def words(self, level: int) -> tuple[str, ...]:
        knobs = self.levels[check_level(level)]
        return lexicon(self.form, self.size(knobs), knobs.get("top", 9), tuple(self.words_of))

    def step(self, state: Page, moves: Mapping[str, Move]) -> Outcome[Page]:
        if state.answer:
            return Outcome(state, events=ILLEGAL)
        move, graph = moves[SOLO], state.graph
        after, worth = Page(graph, move.key), self._worth(graph, move)
        if worth >= 1:
            return Outcome(after, WON, True)
        if worth > 0:
            return Outcome(after, {SOLO: {"partial": worth}}, True, PARTIAL)
        return Outcome(after, NOTHING, True, WRONG)

    def _worth(self, graph: Graph, move: Move) -> float:
        truth = _truth(self.truth, graph)
        if move.key == NONE:
            return 1.0 if self.answer(graph, truth) is None else 0.0
        try:
            values = numbered(move.value, graph.index)
        except KeyError:  # a vertex that is not there
            return 0.0
        return self.check(graph, truth, *values)

    def solve(self, state: Page, seat: str) -> Answer:
        if state.answer:
            return Unsolvable("the episode is over")
        graph, truth = state.graph, _truth(self.truth, state.graph)
        values = self.answer(graph, truth)
        right = self.form.write(None if values is None else _named(self.form.parts, values, graph.names))
        return Plan((right,), because=self.why(graph, truth))

    def legal(self, state: Page, seat: str) -> tuple[Move, ...]:
        return ()

    def sample(self, state: Page, seat: str, rng: Rng) -> Move:
        graph = state.graph
        if self.form.none and rng.below(10) == 0:
            return self.form.write(None)
        if self.guess is not None:
            values = self.guess(graph, rng)
        else:
            values = tuple(guessed(kind, graph, rng) for kind in self.form.parts)
        return self.form.write(_named(self.form.parts, values, graph.names))

    def caption(self, state: Page, seat: str, level: int) -> str:
        return full_caption(state) if level == 2 else state.graph.brief

    def rebuild(self, caption: str, seat: str) -> Page:
        """See `World.rebuild`."""
        return parse_caption(caption)

    def static(self, state: Page, seat: str) -> tuple[str, ...]:
        return state.graph.things

    def moving(self, state: Page, seat: str) -> tuple[str, ...]:
        return tuple(state.answer.split())

    def scene(self, state: Page, seat: str) -> Scene:
        return scene_of(state.graph, state.answer, self.style)


@functools.lru_cache(maxsize=1024)
def _truth(truth: Callable[[Graph], Any], graph: Graph) -> Any:
    return truth(graph)


def numbered(value: Any, index: Mapping[str, int]) -> Any:
    """The value with vertex numbers in place of names.

    Raises:
        KeyError: there is no such vertex.
    """
    if isinstance(value, str):
        return index[value]
    return tuple([numbered(v, index) for v in value]) if isinstance(value, tuple) else value


_FLAT = ("path", "order", "set")


def _named(kinds: Sequence[str], values: tuple[Any, ...], names: Sequence[str]) -> tuple[Any, ...]:
    """The values of an answer with names in place of vertex numbers."""
    out: list[Any] = []
    for kind, value in zip(kinds, values, strict=True):
        if kind in _FLAT:
            out.append([names[v] for v in value])
        elif kind == "flow":
            out.append([(names[a], names[b], n) for a, b, n in value])
        elif kind in ("edges", "arcs", "groups", "map"):
            out.append([tuple(names[v] for v in part) for part in value])
        else:
            out.append(value)
    return tuple(out)


def guessed(kind: str, graph: Graph, rng: Rng) -> Any:
    """A random value of a kind of answer, as somebody might give it who knows the form and the names alone."""
    n, ends = len(graph.names), [(a, b) for a, b, _ in graph.edges]
    if kind == "path":
        at = graph.vertex("from") if "from" in graph.ask else rng.below(n)
        walk = [at]
        while at != graph.index.get(graph.ask.get("to", "")):
            ahead = [v for v in graph.near[at] if v not in walk]
            if not ahead:
                break
            at = rng.pick(ahead)
            walk.append(at)
        return walk if len(walk) > 1 else [at, (at + 1) % n]
    if kind == "order":
        return rng.sample(range(n), n)
    if kind == "set":
        return rng.sample(range(n), 1 + rng.below(max(n // 2, 1)))
    if kind in ("edges", "arcs"):
        return rng.sample(ends, 1 + rng.below(len(ends)))
    if kind == "groups":
        hues = [rng.below(3) for _ in range(n)]
        return [[v for v in range(n) if hues[v] == h] for h in sorted(set(hues))]
    if kind == "flow":
        return [(a, b, 1 + rng.below(9)) for a, b in rng.sample(ends, 1 + rng.below(len(ends)))]
    return [rng.below(10), rng.below(10)] if kind == "numbers" else rng.below(10)


@functools.lru_cache(maxsize=1024)
def lexicon(form: Form, n: int, top: int, more: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a level: vertices, the pairs of them with either sign, numbers, and what is further named."""
    if form.vertex == CELL:
        return tuple(dict.fromkeys((*names_of(n, n), *map(str, range(top + 1)), "/", ";", NONE, *more)))
    names = NAMES[:n]
    pairs = [f"{a}{sign}{b}" for a in names for b in names if a != b for sign in "->"]
    maps = [f"{a}={b}" for a in NAMES[:n] for b in range(1, n + 1)] if "map" in form.parts else []
    return tuple(dict.fromkeys((*names, *pairs, *map(str, range(top + 1)), *maps, "/", ";", NONE, *more)))


def facts_of(
    name: str, task: str, answer: str, example: str, labels: str = ".", *, legend: str = LEGEND, **more: Any
) -> Facts:
    """The facts of a world of pages: its task, then the legend, whose last sentence is finished by `labels`."""
    given: dict[str, Any] = {"ceilings": CEILINGS, "sayings": SAYINGS, **more}
    rules = f"{task}\n{legend}{labels}" if legend else task
    return Facts(name=name, rules=rules, answer=answer, example=example, **given)
