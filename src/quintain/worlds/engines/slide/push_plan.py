"""Boards of crates whose whole plan is one answer: it is replayed, and all boxes must end on targets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.directions import planned
from quintain.worlds.engines.slide.push import WON, CrateWorld
from quintain.worlds.engines.slide.push_board import LETTERS, Crates
from quintain.worlds.engines.slide.push_solve import ground, pushes_left
from quintain.worlds.kernel import Answer, Facts, Move, Outcome, Plan, Unsolvable, View
from quintain.worlds.knobs import overridable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Box, Run, Scene
from quintain.worlds.seats import seated

ILLEGAL = {SOLO: ("illegal",)}
SAYINGS = {"wrong": "After these moves not every box is on a target.", "barred": "Move {} was not possible."}
LONGEST = 600  # moves in an answer
CHARACTERS = 4 * LONGEST
WORDS = {"u": "up", "d": "down", "l": "left", "r": "right"}
SHOWN = 48  # letters of a plan in pictures
GUESS = (8, 20)  # moves in a random answer, at least and fewer than
_ONE = re.compile(r"(up|down|left|right|[udlr])(\d{0,2})", re.ASCII)
_BEFORE = re.compile(
    r"(?:(?:(?<![a-z])\d{1,2}[x×]?)?(?:up|down|left|right|[udlr])[\s,;./>\-]*)+", re.ASCII
)  # `u 3l`, not `u 3l d2`
_COUNTED = re.compile(r"(\d{1,2})[x×]?(up|down|left|right|[udlr])", re.ASCII)
_ALL = re.compile(r"(?:(?:up|down|left|right|[udlr])\d{0,2}[\s,;./>\-]*)+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Planned:
    """A board with crates, and the plan that was given, empty before."""

    crates: Crates
    plan: str = ""


@seated
@dataclass(frozen=True, kw_only=True)
class PlanWorld:
    """A world of crates that is answered at once: what a declaration gives.

    Args:
        facts: rules and ceilings.
        levels: ten mappings of knobs, as those of `CrateWorld`.
    """

    facts: Facts
    levels: Sequence[Mapping[str, Any]]
    schema: type[Planned] = Planned

    @property
    def inner(self) -> CrateWorld:
        """The world in which the plan is played."""
        return CrateWorld(facts=self.facts, levels=self.levels)

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Planned:
        """See `World.start`."""
        return Planned(self.inner.start(seed, level, split=split, **knobs))

    def view(self, state: Planned, seat: str) -> View[Planned]:
        return View(self, state, seat)

    def read(self, text: str, seat: str) -> Move | None:
        """Letters or words, each with a count or none, with or without spaces and commas between them."""
        text = planned(text[: CHARACTERS + 1].strip())
        if len(text) <= CHARACTERS and not _ALL.fullmatch(text) and _BEFORE.fullmatch(text):
            text = _COUNTED.sub(r"\2\1", text)
        if not text or len(text) > CHARACTERS or not _ALL.fullmatch(text):
            return None
        found = "".join([word[0] * int(count or 1) for word, count in _ONE.findall(text)])
        return _move(found) if 0 < len(found) <= LONGEST else None

    def turns(self, state: Planned) -> int:
        return 1

    def words(self, level: int) -> tuple[str, ...]:
        return (*LETTERS, *self.inner.words(level))

    def step(self, state: Planned, moves: Mapping[str, Move]) -> Outcome[Planned]:
        """Play the plan; what follows the end does not count, and a move that is not possible ends it."""
        plan = moves[SOLO].value
        if state.plan:
            return Outcome(state, events=ILLEGAL)
        after, inner, at = Planned(state.crates, plan), self.inner, state.crates
        for i, letter in enumerate(plan, 1):
            outcome = inner.step(at, {SOLO: Move(WORDS[letter])})
            if outcome.done:
                return Outcome(after, WON, True)
            if outcome.events:
                return Outcome(after, done=True, events={SOLO: (f"barred:{i} ({WORDS[letter]})",)})
            at = outcome.state
        return Outcome(after, done=True, events={SOLO: ("wrong",)})

    def solve(self, state: Planned, seat: str) -> Answer:
        """What the oracle of the played world says, as one answer."""
        if state.plan:
            return Unsolvable("the episode is over")
        answer = self.inner.solve(state.crates, seat)
        if not isinstance(answer, Plan):
            return answer
        plan = "".join([move.key[0] for move in answer.moves])
        return Plan((_move(plan),), answer.proof, because=_told(state.crates, plan))

    def legal(self, state: Planned, seat: str) -> tuple[Move, ...]:
        return ()

    def sample(self, state: Planned, seat: str, rng: Rng) -> Move:
        return _move("".join([rng.pick(LETTERS) for _ in range(GUESS[0] + rng.below(GUESS[1] - GUESS[0]))]))

    def caption(self, state: Planned, seat: str, level: int) -> str:
        text = self.inner.caption(state.crates, seat, level)
        return f"{text}\nplan: {' '.join(state.plan)}" if state.plan else text

    def rebuild(self, caption: str, seat: str) -> Planned:
        """See `World.rebuild`."""
        text, _, plan = caption.partition("\nplan: ")
        if set(plan) - {*LETTERS, " "}:
            raise QuintainError(f"this is no plan: {plan[:60]!r}")
        return Planned(self.inner.rebuild(text, seat), plan.replace(" ", ""))

    def static(self, state: Planned, seat: str) -> tuple[str, ...]:
        return self.inner.static(state.crates, seat)

    def moving(self, state: Planned, seat: str) -> tuple[str, ...]:
        return (*self.inner.moving(state.crates, seat), *state.plan)

    def scene(self, state: Planned, seat: str) -> Scene:
        """The board; the plan, if one was given, lies over its lower rim."""
        board = self.inner.scene(state.crates, seat)
        if not state.plan:
            return board
        text = state.plan if len(state.plan) <= SHOWN else state.plan[: SHOWN - 3] + "..."
        wide, y = board.width, board.height - 0.8
        shapes = (
            Box(x=0.1, y=y, width=wide - 0.2, height=0.6, fill="white", line="slate", thick=0.05, radius=0.1),
            Run(text=text, x=wide / 2, y=y + 0.3, size=min(0.45, 1.7 * (wide - 0.6) / len(text))),
        )
        return replace(board, shapes=shapes)


def _told(crates: Crates, plan: str) -> str:
    """The pushes of a plan: where the player stands, which way a box goes and how far; and how many there must be."""
    board, player, boxes = crates.board, crates.player, set(crates.boxes)
    names = [f"({c // board.width + 1},{c % board.width + 1})" for c in range(len(board.cells))]
    out, last, place, count = list[str](), "", -1, 0  # the last push, "" after a walk, and where it left its box
    for letter in plan:
        to = player + board.steps[WORDS[letter]]
        beyond, push = 2 * to - player, to in boxes
        if push and letter == last:
            out.pop()
        elif push:
            out.append(f"{', then' if to == place else f'; box {names[to]}'} from {names[player]} {letter}")
        if push:
            out.append(f" to {names[beyond]}{', a target' * (beyond in board.targets)}")
            boxes, place, count = boxes ^ {to, beyond}, beyond, count + 1
        player, last = to, letter if push else ""
    least = pushes_left(ground(board.width, board.cells), sum([1 << box for box in crates.boxes]))
    bound = f"{count} in all; to targets of their own the boxes need at least {least}"
    return f"Cells are (row,column) from the top left. Pushes in order: {''.join(out)[2:]}. That is {bound}."


def _move(letters: str) -> Move:
    return Move(" ".join(letters), letters)
