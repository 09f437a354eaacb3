"""Mirrors are put into a box one by one until the ray that comes in leaves by the wanted gate."""

from __future__ import annotations

import functools
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.cells import framed, name_of, names_of, read_cell, unframed
from quintain.worlds.engines.geometry.mirror_look import OWN, box_scene, numbers, ray
from quintain.worlds.engines.geometry.mirrors import BACK, FREE, SLASH, STEP, WALL, Place, entry, gates, trace, turned
from quintain.worlds.kernel import Answer, Events, Facts, Move, Outcome, Plan, Unknown, Unsolvable, View, check_level
from quintain.worlds.knobs import check_knobs, overridable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene
from quintain.worlds.seats import seated
from quintain.worlds.splits import canonical, drawn

NODES = 20_000
WON = {SOLO: {"success": 1.0}}
ILLEGAL: Events = {SOLO: ("illegal",)}
OFF = "off"
SIGNS = {
    SLASH: SLASH,
    BACK: BACK,
    "slash": SLASH,
    "backslash": BACK,
    OFF: FREE,
    "clear": FREE,
    "empty": FREE,
    "none": FREE,
}
_MOVE = re.compile(
    r"(?:put\s+|set\s+)?([a-z]\s*\d{1,2}|\(?\d{1,2}\s*,\s*\d{1,2}\)?)\s*[:=]?\s*(/|\\\\?|backslash|slash|off|clear|empty|none)",
    re.ASCII,
)

_LAID = re.compile(  # the sign before its cell
    r"(?:(?:put|place|set)\s+)?(?:a\s+)?(?:mirror\s+)?(/|\\\\?|backslash|slash)\s*(?:mirror\s+)?(?:(?:at|in|on|into)\s+)?(?:cell\s+)?([a-z]\s*\d{1,2})"
    r"|(?:remove|clear|take\s+away)\s+(?:(?:the\s+)?mirror\s+)?(?:(?:at|from|in)\s+)?([a-z]\s*\d{1,2})",
    re.ASCII,
)


@dataclass(frozen=True)
class Box:
    """What stays: side, walls (`#`) among free cells (`.`) row by row, the gate in, the gate out, the turn budget."""

    size: int
    walls: str
    source: int
    target: int
    budget: int = 0


@dataclass(frozen=True, slots=True)
class Mirrors:
    """The state: the box, and its cells with the mirrors that were put in."""

    box: Box
    cells: str


@functools.lru_cache(maxsize=4096)
def put(cell: tuple[int, int], sign: str) -> Move:
    """The move that puts a mirror (or, with `.`, nothing) into a cell."""
    return Move(f"{name_of(*cell)} {OFF if sign == FREE else sign}", (*cell, sign))


def _table(cells: str, walls: str, size: int, target: int) -> dict[Place, int]:
    """For each entered cell and direction a lower bound of the cells to change until the ray leaves by `target`."""
    row, column, way = entry(target, size)
    begin = (row, column, (way + 2) % 4)  # as it leaves
    cost: dict[Place, int] = {}
    queue: deque[tuple[int, Place]] = deque([(0, begin)])
    done: dict[Place, int] = {}
    while queue:
        spent, leaving = queue.popleft()
        row, column, out = leaving
        at = row * size + column
        if walls[at] == WALL or done.get(leaving, 99) <= spent:
            continue
        done[leaving] = spent
        for sign in (FREE, SLASH, BACK):
            way = next(w for w in range(4) if turned(sign, w) == out)
            more = spent + (sign != cells[at])
            if cost.get((row, column, way), 99) > more:
                cost[row, column, way] = more
                before = row - STEP[way][0], column - STEP[way][1], way
                if 0 <= before[0] < size and 0 <= before[1] < size:
                    (queue.append if more > spent else queue.appendleft)((more, before))
    return cost


class _Search:
    """Looks for the fewest changes, cell by cell along the ray."""

    def __init__(self, state: Mirrors) -> None:
        box = state.box
        self.size, self.cells, self.walls, self.target = box.size, state.cells, box.walls, box.target
        self.table = _table(state.cells, box.walls, box.size, box.target)
        self.start = entry(box.source, box.size)
        self.nodes = 0

    def least(self) -> dict[int, str] | int | None:
        """The changes, cell -> sign; None if there are none; the nodes spent if it gave up."""
        bound = self.table.get(self.start)
        if bound is None:
            return None
        for limit in range(bound, bound + 12):
            found = self._along(self.start, limit, {}, {})
            if found is not None:
                return found
            if self.nodes > NODES:
                return self.nodes
        return None

    def _along(self, at: Place, left: int, chosen: dict[int, str], changed: dict[int, str]) -> dict[int, str] | None:
        self.nodes += 1
        row, column, way = at
        if (
            not (0 <= row < self.size and 0 <= column < self.size)
            or self.table.get(at, 99) > left
            or self.nodes > NODES
        ):
            return None
        cell = row * self.size + column
        if self.walls[cell] == WALL:
            return None
        now = self.cells[cell]
        signs = (chosen[cell],) if cell in chosen else (now, *(s for s in (FREE, SLASH, BACK) if s != now))
        for sign in signs:
            cost = 0 if cell in chosen else sign != now
            if cost > left:
                continue
            out = turned(sign, way)
            after = {**changed, cell: sign} if cost else changed
            leaves = gates(self.size).get((row, column, out))
            if leaves == self.target:
                return after
            if leaves:
                continue
            found = self._along(
                (row + STEP[out][0], column + STEP[out][1], out), left - cost, {**chosen, cell: sign}, after
            )
            if found is not None:
                return found
        return None


@functools.lru_cache(maxsize=4096)
def fewest(state: Mirrors) -> dict[int, str] | int | None:
    """The fewest changes with which the ray hits; see `_Search.least`."""
    return _Search(state).least()


@seated
@dataclass(frozen=True, kw_only=True)
class MirrorWorld:
    """A world of mirrors to place: what a declaration gives.

    Args:
        facts: rules and ceilings.
        levels: ten mappings of the knobs `size`, `walls` (how many) and `mirrors` (the fewest that do).
    """

    facts: Facts
    levels: Sequence[Mapping[str, Any]]
    schema: type[Mirrors] = Mirrors

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Mirrors:
        """See `World.start`."""
        chosen = check_knobs(knobs, self.levels, level)
        return drawn(lambda r: _boxed(r, chosen), _layout, Rng(self.facts.name, seed, level, split), split)

    def view(self, state: Mirrors, seat: str) -> View[Mirrors]:
        return View(self, state, seat)

    def read(self, text: str, seat: str) -> Move | None:
        low = text[:64].strip().lower()
        if laid := _LAID.fullmatch(low):
            low = f"{laid[2] or laid[3]} {laid[1] or OFF}"
        found = _MOVE.fullmatch(low)
        cell = read_cell(found[1]) if found else None
        return put(cell, SIGNS[found[2].replace("\\\\", "\\")]) if found and cell and max(cell) < 9 else None

    def turns(self, state: Mirrors) -> int:
        return state.box.budget

    def words(self, level: int) -> tuple[str, ...]:
        size = self.levels[check_level(level)]["size"]
        signs = [sign + name for name in names_of(size, size) for sign in (WALL, SLASH, BACK)]
        ports = [f"{kind}{gate}" for kind in ("in", "out") for gate in range(1, 4 * size + 1)]
        return (*names_of(size, size), SLASH, BACK, OFF, *signs, *ports)

    def step(self, state: Mirrors, moves: Mapping[str, Move]) -> Outcome[Mirrors]:
        row, column, sign = moves[SOLO].value
        box = state.box
        at = row * box.size + column
        if max(row, column) >= box.size or box.walls[at] == WALL or state.cells[at] == sign or _hit(state):
            return Outcome(state, events=ILLEGAL)
        after = Mirrors(box, f"{state.cells[:at]}{sign}{state.cells[at + 1 :]}")
        return Outcome(after, WON, True) if _hit(after) else Outcome(after)

    def solve(self, state: Mirrors, seat: str) -> Answer:
        if _hit(state):
            return Unsolvable("the episode is over")
        found = fewest(state)
        if isinstance(found, int):
            return Unknown(found)
        if not found:
            return Unsolvable("no mirrors lead the ray there")
        return Plan(tuple(put(divmod(at, state.box.size), sign) for at, sign in found.items()))

    def legal(self, state: Mirrors, seat: str) -> tuple[Move, ...]:
        return () if _hit(state) else self._moves(state)

    def _moves(self, state: Mirrors) -> tuple[Move, ...]:
        size = state.box.size
        free = [i for i, sign in enumerate(state.box.walls) if sign == FREE]
        return tuple([put(divmod(i, size), s) for i in free for s in (SLASH, BACK, FREE) if s != state.cells[i]])

    def sample(self, state: Mirrors, seat: str, rng: Rng) -> Move:
        return rng.pick(self._moves(state))

    def caption(self, state: Mirrors, seat: str, level: int) -> str:
        box = state.box
        ports = f"The ray comes in by gate {box.source} and must leave by gate {box.target}."
        return f"{framed(state.cells, box.size)}\n{ports}" if level == 2 else ports

    def rebuild(self, caption: str, seat: str) -> Mirrors:
        """See `World.rebuild`."""
        *rows, last = caption.split("\n")
        found, ports = unframed(rows), re.findall(r"\d+", last)
        if not found or len(ports) != 2:
            raise QuintainError(f"this is no full caption of a box of mirrors: {caption[:60]!r}")
        walls = found[0].replace(SLASH, FREE).replace(BACK, FREE)
        return Mirrors(Box(found[1], walls, int(ports[0]), int(ports[1])), found[0])

    def static(self, state: Mirrors, seat: str) -> tuple[str, ...]:
        box = state.box
        names = names_of(box.size, box.size)
        return (
            f"in{box.source}",
            f"out{box.target}",
            *(WALL + n for n, sign in zip(names, box.walls, strict=True) if sign == WALL),
        )

    def moving(self, state: Mirrors, seat: str) -> tuple[str, ...]:
        names = names_of(state.box.size, state.box.size)
        return tuple([sign + n for n, sign in zip(names, state.cells, strict=True) if sign in (SLASH, BACK)])

    def scene(self, state: Mirrors, seat: str) -> Scene:
        box = state.box
        way = trace(state.cells, box.size, box.source)
        labels = numbers(box.size, ((box.source, "brick"), (box.target, "green")), box.target)
        return box_scene(
            [OWN[s] for s in state.cells], box.size, (*labels, ray(way.cells, box.size, box.source, way.gate)), 0.75
        )


def _hit(state: Mirrors) -> bool:
    """Whether the ray leaves by the wanted gate."""
    return trace(state.cells, state.box.size, state.box.source).gate == state.box.target


def _boxed(rng: Rng, knobs: Mapping[str, Any]) -> Mirrors | None:
    """A box with walls at random and two gates that need so many mirrors; the budget is one more than twice as many."""
    size, wanted = knobs["size"], knobs["mirrors"]
    cells = [FREE] * (size * size)
    for at in rng.sample(range(size * size), knobs["walls"]):
        cells[at] = WALL
    walls = "".join(cells)
    source = 1 + rng.below(4 * size)
    table = _table(walls, walls, size, source)  # ways can be gone backwards
    targets = [g for g in range(1, 4 * size + 1) if g != source and table.get(entry(g, size)) == wanted]
    if not targets:
        return None
    state = Mirrors(Box(size, walls, source, rng.pick(targets), 2 * wanted + 1), walls)
    found = fewest(state)
    return state if isinstance(found, dict) and len(found) == wanted else None


def _layout(state: Mirrors) -> str:
    box = state.box
    size = box.size + 2
    sheet = [FREE] * (size * size)
    for i, sign in enumerate(box.walls):
        sheet[(i // box.size + 1) * size + i % box.size + 1] = sign
    for gate, sign in ((box.source, "i"), (box.target, "o")):
        row, column, way = entry(gate, box.size)
        sheet[(row + 1 - STEP[way][0]) * size + column + 1 - STEP[way][1]] = sign
    return canonical(sheet, size, size)
