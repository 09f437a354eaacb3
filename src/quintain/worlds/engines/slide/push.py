"""Crates: the player pushes boxes, one at a time and never pulls, until each stands on a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.directions import CHOICES, DIRECTIONS
from quintain.worlds.engines.slide import art
from quintain.worlds.engines.slide.push_board import (
    BOX,
    DIGITS,
    FLOOR,
    LETTERS,
    PLAYER,
    TARGET,
    WALL,
    Board,
    Crates,
    layout_of,
)
from quintain.worlds.engines.slide.push_make import played, room
from quintain.worlds.engines.slide.push_solve import ANY_NODES, HASTE, SHORTEST_NODES, Search, ground, lost, search
from quintain.worlds.kernel import (
    Answer,
    Events,
    Facts,
    GenerationError,
    Move,
    Outcome,
    Plan,
    Unknown,
    Unsolvable,
    View,
    check_level,
)
from quintain.worlds.knobs import check_knobs, overridable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene
from quintain.worlds.seats import seated
from quintain.worlds.splits import canonical, drawn

art.add()
WON = {SOLO: {"success": 1.0}}
BLOCKED: Events = {SOLO: ("blocked",)}
ANSWER = "One of: up, down, left, right."
SAYINGS = {"blocked": "A wall, or a box that cannot move, is in the way; nothing moved."}
ON_TARGET = {PLAYER: "p", BOX: "b"}  # how a thing is shown when it stands on a target
_SIGNS = {s: (s, FLOOR) for s in (PLAYER, BOX)} | {small: (s, TARGET) for s, small in ON_TARGET.items()}
FIRST_NODES = 100  # the oracle names all best first moves if the shortest plan was found within so many nodes
_TRIES = 2_000


@seated
@dataclass(frozen=True, kw_only=True)
class CrateWorld:
    """A world of the crates engine: what a declaration gives.

    Args:
        facts: rules and ceilings.
        levels: ten mappings of the knobs `size` (rim included), `boxes`, `walls` and `more` (loose walls: walls to
            walls + more), `pulls` (fewest pushes of the kept plan, with two boxes or more), `low` and `high` (moves of
            the kept plan; with one box it is the shortest), `turns` (turn budget; 0: half as many again as the plan).
    """

    facts: Facts
    levels: Sequence[Mapping[str, Any]]
    schema: type[Crates] = Crates

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Crates:
        """See `World.start`."""
        chosen = check_knobs(knobs, self.levels, level)
        rng = Rng(self.facts.name, seed, level, split)
        for _ in range(_TRIES):
            board = drawn(lambda r: room(r, chosen), _canonical, rng, split)
            made = played(board, rng, chosen)
            if made is not None:
                return Crates(made, made.begin[0], made.begin[1:])
        raise GenerationError(f"{self.facts.name} level {level}: no instance in {_TRIES} rooms with the knobs {chosen}")

    def view(self, state: Crates, seat: str) -> View[Crates]:
        return View(self, state, seat)

    def read(self, text: str, seat: str) -> Move | None:
        return CHOICES.read(text)

    def turns(self, state: Crates) -> int:
        return state.board.budget

    def words(self, level: int) -> tuple[str, ...]:
        side = self.levels[check_level(level)]["size"] - 2
        cells = [DIGITS[y] + DIGITS[x] for y in range(side) for x in range(side)]
        return (*DIRECTIONS, *(sign + cell for sign in (PLAYER, BOX, WALL, TARGET) for cell in cells))

    def step(self, state: Crates, moves: Mapping[str, Move]) -> Outcome[Crates]:
        board, boxes = state.board, state.boxes
        step = board.steps[moves[SOLO].key]
        to = state.player + step
        if board.cells[to] == WALL or boxes == board.targets:
            return Outcome(state, events=BLOCKED)
        if to not in boxes:
            return Outcome(Crates(board, to, boxes))
        beyond = to + step
        if board.cells[beyond] == WALL or beyond in boxes:
            return Outcome(state, events=BLOCKED)
        pushed = tuple(sorted([beyond if box == to else box for box in boxes]))
        if pushed == board.targets:
            return Outcome(Crates(board, to, pushed), WON, True)
        return Outcome(Crates(board, to, pushed))

    def solve(self, state: Crates, seat: str) -> Answer:
        board = state.board
        if state.boxes == board.targets:
            return Unsolvable("the episode is over")
        on, boxes = ground(board.width, board.cells), sum(1 << c for c in state.boxes)
        reason = lost(on, state.player, boxes)
        if reason:
            return Unsolvable(reason)
        found = search(on, state.player, boxes, SHORTEST_NODES)
        if found.complete and found.plan is None:
            return Unsolvable("every way to push was tried")
        if found.plan is not None:
            return _plan(found.plan, first=self._equals(state, found) if found.nodes <= FIRST_NODES else ())
        kept = board.kept.get((state.player, *state.boxes))
        rest = None if kept is None else board.plan[kept:]
        quick = search(on, state.player, boxes, ANY_NODES, HASTE)
        if quick.plan is not None and (rest is None or len(quick.plan) <= len(rest)):
            return _plan(quick.plan)
        if rest is not None:
            return _plan(rest, "construction")
        return Unsolvable("every way to push was tried") if quick.complete else Unknown(found.nodes + quick.nodes)

    def _equals(self, state: Crates, found: Search) -> tuple[Move, ...]:
        """Every first move after which the shortest plan is one move shorter; the search from there is as small."""
        board, plan, out = state.board, found.plan or "", []
        on = ground(board.width, board.cells)
        for move, letter in zip(CHOICES.moves, LETTERS, strict=True):
            if letter == plan[0].lower():
                out.append(move)
            elif move in self.legal(state, SOLO):
                after = self.step(state, {SOLO: move}).state
                boxes = sum(1 << c for c in after.boxes)
                other = search(on, after.player, boxes, SHORTEST_NODES) if not lost(on, after.player, boxes) else None
                if other and other.plan is not None and len(other.plan) < len(plan):
                    out.append(move)
        return tuple(out)

    def legal(self, state: Crates, seat: str) -> tuple[Move, ...]:
        board, boxes, out = state.board, state.boxes, []
        for move in CHOICES.moves if boxes != board.targets else ():
            step = board.steps[move.key]
            to = state.player + step
            if board.cells[to] != WALL and (
                to not in boxes or (board.cells[to + step] != WALL and to + step not in boxes)
            ):
                out.append(move)
        return tuple(out)

    def sample(self, state: Crates, seat: str, rng: Rng) -> Move:
        return rng.pick(self.legal(state, seat) or CHOICES.moves)

    def caption(self, state: Crates, seat: str, level: int) -> str:
        if level == 1:
            return _brief(state)
        text = bytearray(state.board.text)
        for box in state.boxes:
            text[2 * box] = 98 if text[2 * box] == 84 else 66  # b on T, else B
        here = 2 * state.player
        text[here] = 112 if text[here] == 84 else 80  # p on T, else P
        return text.decode()

    def rebuild(self, caption: str, seat: str) -> Crates:
        """See `World.rebuild`."""
        rows = [line.split(" ") for line in caption.split("\n")]
        shown = [sign for row in rows for sign in row]
        things = [_SIGNS.get(sign, ("", sign)) for sign in shown]
        players = [c for c, (thing, _) in enumerate(things) if thing == PLAYER]
        cells = "".join(under for _, under in things)
        if len(players) != 1 or len({len(row) for row in rows}) != 1 or set(cells) - {FLOOR, WALL, TARGET}:
            raise QuintainError(f"this is no full caption of a board with boxes: {caption[:60]!r}")
        boxes = tuple(c for c, (thing, _) in enumerate(things) if thing == BOX)
        return Crates(Board(len(rows[0]), len(rows), cells), players[0], boxes)

    def static(self, state: Crates, seat: str) -> tuple[str, ...]:
        return state.board.fixed_words

    def moving(self, state: Crates, seat: str) -> tuple[str, ...]:
        names = state.board.names
        return (PLAYER + names[state.player], *[BOX + names[box] for box in state.boxes])

    def scene(self, state: Crates, seat: str) -> Scene:
        board = state.board
        cells = list(board.tiles)
        for box in state.boxes:
            cells[box] = "floor+box" if cells[box] == "floor" else "floor+target+box-home"
        cells[state.player] += "+player"
        return Scene(width=board.width, height=board.height, cells=tuple(cells), columns=board.width)


def _canonical(board: Board) -> str:
    return canonical(layout_of(board), board.width - 2, board.height - 2)


def _plan(letters: str, proof: str = "solver", first: tuple[Move, ...] = ()) -> Plan:
    return Plan(tuple([CHOICES.moves[LETTERS.index(letter)] for letter in letters.lower()]), proof, first)


def _brief(state: Crates) -> str:
    """Where the player, the boxes and the targets are, in words, without the walls."""
    width = state.board.width

    def place(cell: int) -> str:
        return f"row {cell // width + 1}, column {cell % width + 1}"

    lines = [f"You are at {place(state.player)} of a board with {state.board.height} rows and {width} columns."]
    for box in state.boxes:
        home = ", on a target" if box in state.board.targets else ""
        lines.append(f"A box is at {place(box)}{home}.")
    lines.extend(f"A target is at {place(c)}." for c in state.board.targets if c not in state.boxes)
    return "\n".join(lines)
