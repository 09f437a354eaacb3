"""Charts: a small map with walls that is seen once and answered once: a whole route, the time of a spread, all distances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from quintain.types import QuintainError
from quintain.worlds.art import tiles
from quintain.worlds.cells import framed, names_of, unframed
from quintain.worlds.engines.grid.near import beside
from quintain.worlds.engines.turns import After
from quintain.worlds.kernel import Answer, GenerationError, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Disc, Polygon, Run, Scene
from quintain.worlds.splits import canonical

FLOOR, WALL, START, GOAL, SOURCE = ".", "#", "P", "G", "S"
NEAR = 0.2  # what an answer may earn short of success
SAID = "You said: "
_LIMIT = "Steps: at most "

tiles(
    {
        "ground": (
            Box(x=0, y=0, width=1, height=1, fill="seam"),
            Box(x=0.015, y=0.015, width=0.97, height=0.97, fill="white", radius=0.03),
        ),
        "rock": (
            Box(x=0, y=0, width=1, height=1, fill="slate"),
            Box(x=0.06, y=0.06, width=0.88, height=0.88, fill="stone", radius=0.1),
        ),
        "blaze": (
            Polygon(
                points=(
                    (0.5, 0.1),
                    (0.68, 0.36),
                    (0.78, 0.3),
                    (0.84, 0.62),
                    (0.68, 0.88),
                    (0.32, 0.88),
                    (0.16, 0.62),
                    (0.3, 0.34),
                ),
                fill="brick",
                line="rust",
                thick=0.04,
            ),
            Polygon(points=((0.5, 0.46), (0.64, 0.7), (0.58, 0.86), (0.42, 0.86), (0.36, 0.7)), fill="gold"),
        ),
        "beacon": (Disc(x=0.5, y=0.5, radius=0.34, fill="gold", line="bark", thick=0.06),),
        "ringed": (Disc(x=0.5, y=0.5, radius=0.32, line="blue", thick=0.12),),
        **{f"far-{n}": (Run(text=str(n), x=0.5, y=0.52, size=0.52, color="blue"),) for n in range(100)},
    }
)


@dataclass(frozen=True, slots=True)
class Chart:
    """The state: a map row by row; how many steps a route may have, 0 where none is asked for; the answer, once it is given."""

    width: int
    cells: str
    limit: int = 0
    said: str = ""


class Verdict(NamedTuple):
    """What an answer earns: rewards by name, and an event where it is wrong."""

    rewards: Mapping[str, float]
    event: str = ""


class Task(Protocol):
    """What is asked of a chart."""

    def draw(self, rng: Rng, knobs: Mapping[str, Any]) -> Chart | None:
        """A chart, or None to draw again."""
        ...

    def read(self, text: str) -> Move | None:
        """The answer that a short text in lower case spells, or None."""
        ...

    def truth(self, chart: Chart) -> Move:
        """A right answer."""
        ...

    def because(self, chart: Chart) -> str:
        """How that answer comes about; see `Plan`."""
        ...

    def judge(self, chart: Chart, value: Any) -> Verdict | None:
        """What an answer earns; None if it does not fit the map."""
        ...

    def guess(self, chart: Chart, rng: Rng) -> Move:
        """A random answer that fits the map."""
        ...

    def scene(self, chart: Chart, value: Any) -> Scene:
        """The map, and the answer once it is given (None before)."""
        ...

    def tokens(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        """Every word of answers, and of the map besides its cells."""
        ...


def waves(chart: Chart, *sources: int) -> list[int]:
    """For each cell the least number of steps from the nearest source, -1 for walls and where no way leads."""
    cells, near = chart.cells, beside(chart.width, len(chart.cells) // chart.width)
    out = [-1] * len(cells)
    ahead = list(sources)
    for cell in ahead:
        out[cell] = 0
    for cell in ahead:
        for to in near[cell]:
            if out[to] < 0 and cells[to] != WALL:
                out[to] = out[cell] + 1
                ahead.append(to)
    return out


def sources_of(chart: Chart) -> list[int]:
    """The cells on which a spread starts, or to which distances are measured."""
    return [i for i, sign in enumerate(chart.cells) if sign == SOURCE]


def scattered(rng: Rng, knobs: Mapping[str, Any]) -> Chart | None:
    """Walls at random on `side` x `side` cells, `walls` of them at least, and `sources` on floor that hangs together."""
    side = knobs["side"]
    if knobs["walls"] >= side * side:
        raise GenerationError(f"{knobs['walls']} walls leave no floor on a board of {side} x {side} cells")
    cells = [FLOOR] * (side * side)
    for cell in rng.sample(range(side * side), knobs["walls"]):
        cells[cell] = WALL
    start = rng.pick([i for i, sign in enumerate(cells) if sign == FLOOR])
    reached = [i for i, steps in enumerate(waves(Chart(side, "".join(cells)), start)) if steps >= 0]
    if len(reached) * 5 < (side * side - knobs["walls"]) * 4 or len(reached) < knobs["sources"]:
        return None
    signs = [WALL] * (side * side)
    for cell in reached:
        signs[cell] = FLOOR
    for cell in rng.sample(reached, knobs["sources"]):
        signs[cell] = SOURCE
    return Chart(side, "".join(signs))


@dataclass(frozen=True)
class ChartGame:
    """The game of one chart; knobs are those of its task, and `side`, the width and height of the map."""

    task: Task

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Chart | None:
        return self.task.draw(rng, knobs)

    def layout(self, state: Chart) -> str:
        return canonical(state.cells, state.width, len(state.cells) // state.width)

    def turns(self, state: Chart) -> int:
        return 1

    def mover(self, state: Chart) -> int:
        return -1 if state.said else 0

    def legal(self, state: Chart) -> tuple[Move, ...]:
        return ()

    def guess(self, state: Chart, rng: Rng) -> Move:
        return self.task.guess(state, rng)

    def read(self, text: str) -> Move | None:
        return self.task.read(text)

    def play(self, state: Chart, move: Move) -> After[Chart] | None:
        verdict = self.task.judge(state, move.value)
        if verdict is None:
            return None
        after = Chart(state.width, state.cells, state.limit, move.key)
        return After(after, (verdict.rewards,), True, ((verdict.event,) if verdict.event else (),))

    def advise(self, state: Chart) -> Answer:
        if state.said:
            return Unsolvable("the episode is over")
        return Plan((self.task.truth(state),), because=self.task.because(state))

    def caption(self, state: Chart, side: int, level: int) -> str:
        height = len(state.cells) // state.width
        if level == 1:
            marks = [
                f"{sign} at {name}"
                for sign, name in zip(state.cells, names_of(state.width, height), strict=True)
                if sign.isalpha()
            ]
            return f"A map of {state.width} columns and {height} rows with {state.cells.count(WALL)} walls; {', '.join(marks)}."
        lines = [framed(state.cells, state.width)]
        if state.limit:
            lines.append(f"{_LIMIT}{state.limit}")
        if state.said:
            lines.append(SAID + state.said)
        return "\n".join(lines)

    def rebuild(self, caption: str, side: int) -> Chart:
        """See `World.rebuild`."""
        lines = caption.split("\n")
        said = lines.pop().removeprefix(SAID) if lines[-1].startswith(SAID) else ""
        limit = int(lines.pop().removeprefix(_LIMIT)) if lines[-1].startswith(_LIMIT) else 0
        found = unframed(lines)
        if found is None:
            raise QuintainError(f"this is no full caption of a chart: {caption[:60]!r}")
        return Chart(found[1], found[0], limit, said)

    def static(self, state: Chart, side: int) -> tuple[str, ...]:
        names = names_of(state.width, len(state.cells) // state.width)
        marks = [sign + name for sign, name in zip(state.cells, names, strict=True) if sign != FLOOR]
        return (*marks, *((f"limit{state.limit}",) if state.limit else ()))

    def moving(self, state: Chart, side: int) -> tuple[str, ...]:
        return ("said", *state.said.split()) if state.said else ()

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        names = names_of(knobs["side"], knobs["side"])
        return ("said", *self.task.tokens(knobs), *[sign + n for n in names for sign in (WALL, START, GOAL, SOURCE)])

    def scene(self, state: Chart, side: int) -> Scene:
        move = self.task.read(state.said) if state.said else None
        return self.task.scene(state, move.value if move else None)
