"""Discs on pegs: a disc never lies on a smaller one, until all lie where the goal shows them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from quintain.ports import SOLO
from quintain.types import QuintainError
from quintain.worlds.engines.slide import art
from quintain.worlds.engines.slide.tower_solve import plan_of
from quintain.worlds.kernel import (
    Answer,
    Choices,
    Events,
    Facts,
    GenerationError,
    Move,
    Outcome,
    Plan,
    Unsolvable,
    View,
    check_level,
)
from quintain.worlds.knobs import check_knobs, overridable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene
from quintain.worlds.seats import seated
from quintain.worlds.splits import drawn

PEGS = "abcde"
MOST_DISCS = 9
WON = {SOLO: {"success": 1.0}}
ILLEGAL: Events = {SOLO: ("illegal",)}
ANSWER = "The peg to take the top disc from, then the peg to put it on, as two letters."
SAYINGS = {"illegal": "That peg is missing or empty, or the disc would lie on a smaller one; nothing moved."}


def _synonyms() -> dict[str, str]:
    out: dict[str, str] = {}
    for a, b in itertools.permutations(range(len(PEGS)), 2):
        move = PEGS[a] + PEGS[b]
        for x, y in ((PEGS[a], PEGS[b]), (f"peg {a + 1}", f"peg {b + 1}")):
            for gap in (" ", "->", " -> ", " to ", ",", ", ", "-", " > "):
                out[f"{x}{gap}{y}"] = move
            out[f"move {x} {y}"] = out[f"move {x} to {y}"] = move
        for x, y in ((PEGS[a], PEGS[b]), (str(a + 1), str(b + 1)), (f"peg {a + 1}", f"peg {b + 1}")):
            out[f"from {x} to {y}"] = out[f"move from {x} to {y}"] = move  # a number alone may be a disc's
    return out


_SAID = re.compile(
    r"(?:move |take )?(?:the )?(?:(?:top |smallest )?dis[ck] )?(?:\d:? )?(?:of |from |on )?(?:peg )?([a-z]),?"
    r" (?:to |onto |-> |(?:and )?put (?:it )?on )?(?:peg )?([a-z])"
)
_DISC = re.compile(
    r"(?:move |put |place |take )?(?:the )?(?:dis[ck] ([1-9])(?::|,)? (?:to|onto|->) (?:peg ([a-e1-5])|([a-e]))"
    r"|dis[ck] ([1-9]):? (?:of |from |on )?(?:peg )?([a-e]),? (?:to |onto |-> |(?:and )?put (?:it )?on )?(?:peg )?([a-e]))",
    re.ASCII,
)
CHOICES = Choices(*(a + b for a, b in itertools.permutations(PEGS, 2)), synonyms=_synonyms())


class Disc(NamedTuple):
    """A move that names the disc, the smallest 0, the peg that it goes to, and maybe the one that it leaves."""

    number: int
    peg: str
    left: str = ""


@dataclass(frozen=True)
class Rack:
    """What stays the same: how many pegs, each disc's peg in the goal (smallest disc first), and the turn budget."""

    pegs: int
    goal: str
    budget: int = 0


@dataclass(frozen=True, slots=True)
class Discs:
    """The state of the discs: the peg of each, smallest first. A peg's discs lie in order of size."""

    rack: Rack
    at: str


@seated
@dataclass(frozen=True, kw_only=True)
class TowerWorld:
    """A world of discs: what a declaration gives.

    Args:
        facts: rules and ceilings.
        levels: ten mappings of the knobs `discs` (2 to 9), `pegs` (3 to 5), `tower` (1: the goal is one tower, 0: the
            discs may lie anywhere), `low` and `high` (moves of the plan), `slack` (the turn budget is the plan and this
            share of it, at least two turns).
    """

    facts: Facts
    levels: Sequence[Mapping[str, Any]]
    schema: type[Discs] = Discs

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Discs:
        """See `World.start`."""
        chosen = check_knobs(knobs, self.levels, level)
        if not (2 <= chosen["discs"] <= MOST_DISCS and 3 <= chosen["pegs"] <= len(PEGS)):
            given = f"{chosen['discs']} discs on {chosen['pegs']} pegs"
            raise GenerationError(f"{given}; use 2 to {MOST_DISCS} discs and 3 to {len(PEGS)} pegs")
        return drawn(lambda r: scattered(r, chosen), layout_of, Rng(self.facts.name, seed, level, split), split)

    def view(self, state: Discs, seat: str) -> View[Discs]:
        return View(self, state, seat)

    def read(self, text: str, seat: str) -> Move | None:
        short = text[:64].strip().lower()
        if disc := _DISC.fullmatch(short):
            peg, number, left = disc[2] or disc[3] or disc[6], disc[1] or disc[4], disc[5] or ""
            peg = peg if peg in PEGS else PEGS[int(peg) - 1]
            return Move(f"disc {number}{f' from {left}' * bool(left)} to {peg}", Disc(int(number) - 1, peg, left), True)
        said = _SAID.fullmatch(short)
        return CHOICES.read(said[1] + said[2] if said else text)

    def turns(self, state: Discs) -> int:
        return state.rack.budget

    def words(self, level: int) -> tuple[str, ...]:
        knobs = self.levels[check_level(level)]
        pegs = PEGS[: knobs["pegs"]]
        moves = tuple(a + b for a, b in itertools.permutations(pegs, 2))
        discs = tuple(f"{disc}{peg}" for disc in range(1, knobs["discs"] + 1) for peg in pegs)
        return (*moves, *discs, *("T" + disc for disc in discs))

    def step(self, state: Discs, moves: Mapping[str, Move]) -> Outcome[Discs]:
        rack, at = state.rack, state.at
        move = moves[SOLO]
        if move.value is None:
            source, target = move.key
            disc = at.find(source)
        else:  # a disc can only be moved from the top
            disc, target, left = move.value
            disc = disc if disc < len(at) and at.find(at[disc]) == disc and left in ("", at[disc]) else -1
        if at == rack.goal or disc < 0 or target > PEGS[rack.pegs - 1] or -1 < at.find(target) <= disc:
            return Outcome(state, events=ILLEGAL)
        after = at[:disc] + target + at[disc + 1 :]
        return Outcome(Discs(rack, after), WON, True) if after == rack.goal else Outcome(Discs(rack, after))

    def solve(self, state: Discs, seat: str) -> Answer:
        rack = state.rack
        if state.at == rack.goal:
            return Unsolvable("the episode is over")
        plan, first = plan_of(state.at, rack.goal, PEGS[: rack.pegs])
        return Plan(tuple(CHOICES[move] for move in plan), first=tuple(CHOICES[move] for move in first))

    def legal(self, state: Discs, seat: str) -> tuple[Move, ...]:
        moves = (CHOICES[a + b] for a, b in itertools.permutations(PEGS[: state.rack.pegs], 2))
        return tuple(m for m in moves if not self.step(state, {SOLO: m}).events)

    def sample(self, state: Discs, seat: str, rng: Rng) -> Move:
        return rng.pick(self.legal(state, seat) or CHOICES.moves)

    def caption(self, state: Discs, seat: str, level: int) -> str:
        rack, at = state.rack, state.at
        if level == 1:
            home = sum(a == b for a, b in zip(at, rack.goal, strict=True))
            tops = (f"{peg} {at.find(peg) + 1 or '-'}" for peg in PEGS[: rack.pegs])
            return f"{home} of {len(at)} discs are in place. On top: {', '.join(tops)}."
        lines = [f"{peg}: {_stack(at, peg)}" for peg in PEGS[: rack.pegs]]
        return "\n".join([*lines, *(f"goal {peg}: {_stack(rack.goal, peg)}" for peg in PEGS[: rack.pegs])])

    def rebuild(self, caption: str, seat: str) -> Discs:
        """See `World.rebuild`."""
        now: dict[int, str] = {}
        goal: dict[int, str] = {}
        pegs = set()
        for line in caption.split("\n"):
            name, _, discs = line.partition(": ")
            where, peg = (goal, name[5:]) if name.startswith("goal ") else (now, name)
            pegs.add(peg)
            where.update({int(disc): peg for disc in discs.split() if disc.isdecimal()})
        if not now or now.keys() != goal.keys() or sorted(pegs) != list(PEGS[: len(pegs)]):
            raise QuintainError(f"this is no full caption of discs on pegs: {caption[:60]!r}")
        at, end = ("".join(where[disc] for disc in sorted(where)) for where in (now, goal))
        return Discs(Rack(len(pegs), end), at)

    def static(self, state: Discs, seat: str) -> tuple[str, ...]:
        return tuple([f"T{disc}{peg}" for disc, peg in enumerate(state.rack.goal, 1)])

    def moving(self, state: Discs, seat: str) -> tuple[str, ...]:
        return tuple([f"{disc}{peg}" for disc, peg in enumerate(state.at, 1)])

    def scene(self, state: Discs, seat: str) -> Scene:
        return art.rack_scene(state.at, state.rack.goal, PEGS[: state.rack.pegs])


def _stack(at: str, peg: str) -> str:
    """The discs of a peg from bottom to top, or a dash."""
    return " ".join([str(disc + 1) for disc in reversed(range(len(at))) if at[disc] == peg]) or "-"


def scattered(rng: Rng, knobs: Mapping[str, Any]) -> Discs | None:
    """Discs anywhere and a goal, or None if the plan between them is not of `low`..`high` moves."""
    pegs, discs = PEGS[: knobs["pegs"]], range(knobs["discs"])
    at = "".join([rng.pick(pegs) for _ in discs])
    goal = rng.pick(pegs) * len(discs) if knobs["tower"] else "".join([rng.pick(pegs) for _ in discs])
    if at == goal:
        return None
    length = len(plan_of(at, goal, pegs)[0])
    if not knobs["low"] <= length <= knobs["high"]:
        return None
    return Discs(Rack(len(pegs), goal, length + max(int(length * knobs["slack"]), 2)), at)


def layout_of(state: Discs) -> str:
    """Start and goal under the least renaming of the pegs, played in the direction that makes the lesser text."""
    both = (state.at + state.rack.goal, state.rack.goal + state.at)
    return min(_renamed(text) for text in both)


def _renamed(text: str) -> str:
    """The text with its letters renamed in the order in which they first appear.

    Example:
        >>> _renamed("cbca")
        'abac'
    """
    names: dict[str, str] = {}
    return "".join([names.setdefault(letter, PEGS[len(names)]) for letter in text])
