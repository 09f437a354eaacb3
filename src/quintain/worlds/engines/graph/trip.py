"""Trips over drawn maps, move by move: what stands where is a few words beside the graph, and rules say what a move makes of them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.engines.graph.look import FOOT_Y, PLAIN, Style, scene_of
from quintain.worlds.engines.graph.page import NAMES, Graph, canonical, parse_graph
from quintain.worlds.kernel import Answer, Events, Facts, Move, Outcome, Plan, Unsolvable, View, check_level
from quintain.worlds.knobs import check_knobs, overridable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Run, Scene, Shape
from quintain.worlds.seats import seated
from quintain.worlds.splits import drawn

NOW = "now "
STAY = "stay"  # names the first words again: where those are who move
WON = {SOLO: {"success": 1.0}}
ILLEGAL: Events = {SOLO: ("illegal",)}
LOST: Events = {SOLO: ("lost",)}
DONE: Events = {SOLO: ("won",)}


@dataclass(frozen=True, slots=True)
class Trip:
    """A map and what holds on it now, as (name, words) pairs; `turns` is the budget of the episode."""

    graph: Graph
    now: tuple[tuple[str, str], ...]
    turns: int = 0

    def get(self, key: str) -> str:
        """The words of that name."""
        return dict(self.now)[key]


class After(NamedTuple):
    """What a move leads to: the new words, and whether that wins or loses."""

    now: tuple[tuple[str, str], ...]
    won: bool = False
    lost: bool = False


@seated
@dataclass(frozen=True, kw_only=True)
class TripWorld:
    """A world of trips: what a declaration gives.

    Args:
        facts: rules and ceilings.
        levels: ten mappings of knobs; `n` is the most vertices, `top` the highest number shown.
        make: draws one start from the knobs, or None to draw again.
        options: (graph, now) -> move -> what it leads to; nothing once the episode is over.
        plan: (graph, now) -> the moves of a shortest way to win and all first moves that are as good, or None.
        pieces: (graph, now) -> shapes over the map.
        marks: words beside vertices, edges and numbers.
        style: how the map is drawn.
    """

    facts: Facts
    levels: Sequence[Mapping[str, Any]]
    make: Callable[[Rng, Mapping[str, Any]], Trip | None]
    options: Callable[[Graph, tuple[tuple[str, str], ...]], Mapping[str, After]]
    plan: Callable[[Graph, tuple[tuple[str, str], ...]], tuple[list[str], list[str]] | None]
    pieces: Callable[[Graph, Mapping[str, str]], Iterator[Shape]]
    marks: Sequence[str] = ()
    style: Style = PLAIN
    schema: type[Trip] = Trip

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Trip:
        """See `World.start`."""
        chosen = check_knobs(knobs, self.levels, level)
        rng = Rng(self.facts.name, seed, level, split)
        return drawn(lambda r: self.make(r, chosen), layout_of, rng, split)

    def view(self, state: Trip, seat: str) -> View[Trip]:
        return View(self, state, seat)

    def read(self, text: str, seat: str) -> Move | None:
        return read_places(text)

    def turns(self, state: Trip) -> int:
        return state.turns

    def words(self, level: int) -> tuple[str, ...]:
        knobs = self.levels[check_level(level)]
        names = NAMES[: knobs["n"]]
        pairs = [f"{a}{sign}{b}" for a in names for b in names if a != b for sign in "->"]
        return tuple(dict.fromkeys((*names, *pairs, *map(str, range(knobs.get("top", 9) + 1)), *self.marks)))

    def step(self, state: Trip, moves: Mapping[str, Move]) -> Outcome[Trip]:
        key, ends = moves[SOLO].key, moves[SOLO].value
        if ends:  # where each comes from may be told
            stand = state.now[0][1].split()
            fits = [end for (start, end), at in zip(ends, stand, strict=False) if start in ("", at)]
            key = " ".join(fits) if len(fits) == len(ends) else ""
        after = self.options(state.graph, state.now).get(state.now[0][1] if key == STAY else key)
        if after is None:
            return Outcome(state, events=ILLEGAL)
        new = Trip(state.graph, after.now, state.turns)
        if after.won:
            return Outcome(new, WON, True, DONE)
        return Outcome(new, done=True, events=LOST) if after.lost else Outcome(new)

    def solve(self, state: Trip, seat: str) -> Answer:
        found = self.plan(state.graph, state.now)
        if found is None:
            return Unsolvable("there is no way to win from here")
        moves, firsts = found
        return Plan(tuple(map(place, moves)), first=tuple(map(place, firsts)))

    def legal(self, state: Trip, seat: str) -> tuple[Move, ...]:
        return tuple(map(place, self.options(state.graph, state.now)))

    def sample(self, state: Trip, seat: str, rng: Rng) -> Move:
        return rng.pick(self.legal(state, seat) or (place(state.graph.names[0]),))

    def caption(self, state: Trip, seat: str, level: int) -> str:
        here = [f"{NOW}{key}: {value}" for key, value in state.now]
        return "\n".join([state.graph.caption if level == 2 else state.graph.brief, *here])

    def rebuild(self, caption: str, seat: str) -> Trip:
        """See `World.rebuild`."""
        rows = caption.split("\n")
        here = [row.removeprefix(NOW).partition(": ") for row in rows if row.startswith(NOW)]
        if not here:
            raise QuintainError(f"this is no full caption of a trip: {caption[:60]!r}")
        graph = parse_graph("\n".join(row for row in rows if not row.startswith(NOW)))
        return Trip(graph, tuple((key, value) for key, _, value in here))

    def static(self, state: Trip, seat: str) -> tuple[str, ...]:
        return state.graph.things

    def moving(self, state: Trip, seat: str) -> tuple[str, ...]:
        return tuple(word for key, value in state.now for word in (key, *value.split()))

    def scene(self, state: Trip, seat: str) -> Scene:
        here = dict(state.now)
        under = scene_of(state.graph, "", self.style)
        told = " · ".join(f"{key} {value}" for key, value in (*state.graph.asks, *state.now))
        said = Run(text=told, x=under.width / 2, y=FOOT_Y, size=min(0.95, 29 / len(told)), color="stone")
        return Scene(
            width=under.width, height=under.height, shapes=(*under.shapes, *self.pieces(state.graph, here), said)
        )


@functools.lru_cache(maxsize=4096)
def place(key: str) -> Move:
    """The move with that key."""
    return Move(key)


_GOES = re.compile(  # where one piece goes, maybe with where it stands
    r"(?:move )?(?:the )?(?:cop ?([12])?:? )?(?:(?:goes|moves|stays?) )?"
    r"(?:([a-r]) \(?from ([a-r])\)?|(?:(?:from )?([a-r]) ?(?:to|-*>|→|-) ?)?(?:(?:to|at|on) )?([a-r]))",
    re.ASCII,
)


@functools.lru_cache(maxsize=4096)
def read_places(text: str) -> Move | None:
    """The move that names one vertex or two, or stays.

    Example:
        >>> read_places(" d, f ").key, read_places("go to d"), read_places("X")
        ('D F', None, None)
    """
    if text.strip().lower() == STAY:
        return place(STAY)
    named = (
        [_GOES.fullmatch(part.strip()) for part in re.split(r",|;|\band\b", text.lower())] if len(text) <= 80 else []
    )
    if 0 < len(named) < 3 and all(named):
        if [found[1] or str(i) for i, found in enumerate(named, 1) if found] == ["1", "2"][: len(named)]:
            ends = [((found[3] or found[4] or "").upper(), (found[2] or found[5]).upper()) for found in named if found]
            if not any(start for start, _ in ends):
                return place(" ".join(end for _, end in ends))
            return Move(", ".join(f"{start}-{end}" if start else end for start, end in ends), tuple(ends))
        return None
    parts = text[:40].upper().replace(",", " ").split()
    if not 0 < len(parts) < 3 or len(text) > 40 or any(p not in NAMES or len(p) > 1 for p in parts):
        return None
    return place(" ".join(parts))


def layout_of(trip: Trip) -> str:
    """The map without names or places."""
    return canonical(trip.graph)
