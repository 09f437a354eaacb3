"""Walkers: one piece steps over a board to its goal, past walls, locked doors and holes, on firm or slippery ground."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quintain.ports import SOLO
from quintain.worlds.directions import CHOICES, DIRECTIONS
from quintain.worlds.engines.grid.board import (
    DIGITS,
    DOORS,
    GOAL,
    HELD,
    HOLE,
    KEYS,
    LYING,
    PLAYER,
    SIDES,
    USED,
    Walk,
    mixed,
    slip_words,
)
from quintain.worlds.engines.grid.look import brief_caption, full_caption, parse_caption, scene_of
from quintain.worlds.kernel import Answer, Events, Facts, Move, Outcome, Plan, Unsolvable, View, check_level
from quintain.worlds.knobs import check_knobs, overridable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene
from quintain.worlds.seats import seated
from quintain.worlds.splits import canonical, drawn

INDEX = {name: i for i, name in enumerate(DIRECTIONS)}
WON = {SOLO: {"success": 1.0}}
ENDS = (GOAL, HOLE)  # signs of cells on which an episode is over
BLOCKED: Events = {SOLO: ("blocked",)}
LOCKED: tuple[Events, ...] = tuple({SOLO: (f"locked:{d}",)} for d in DOORS)
TOOK: tuple[Events, ...] = tuple({SOLO: (f"took:{k}",)} for k in KEYS)
OPENED: tuple[Events, ...] = tuple({SOLO: (f"opened:{d}",)} for d in DOORS)
FELL: Events = {SOLO: ("fell",)}
SLIPPED: Events = {SOLO: ("slipped",)}
ANSWER = "One of: up, down, left, right."
SAYINGS = {
    "blocked": "Something solid is in the way; nothing moved.",
    "locked": "Door {} is locked: its key is not in your hands.",
    "took": "You picked up key {}.",
    "opened": "The key turned: door {} is open.",
    "fell": "You fell into a hole.",
    "slipped": "The ice carried you sideways.",
    "home": "You reached the goal.",
}


@seated
@dataclass(frozen=True, kw_only=True)
class WalkWorld:
    """A world of the walker's engine: what a declaration gives.

    Args:
        facts: rules and ceilings.
        levels: ten mappings of knobs.
        make: draws one instance from the knobs, or None to draw again.
        layout: the characters of an instance that splits keep apart.
        signs: the roles of board words that the world uses, beside those of keys and doors.
    """

    facts: Facts
    levels: Sequence[Mapping[str, Any]]
    make: Callable[[Rng, Mapping[str, Any]], Walk | None]
    layout: Callable[[Walk], str]
    signs: str = "P#G"
    schema: type[Walk] = Walk

    @overridable
    def start(self, seed: int, level: int, *, split: str = "train", **knobs: Any) -> Walk:
        """See `World.start`."""
        chosen = check_knobs(knobs, self.levels, level)
        rng = Rng(self.facts.name, seed, level, split)
        return drawn(lambda r: self.make(r, chosen), self._canonical, rng, split)

    def _canonical(self, state: Walk) -> str:
        return canonical(self.layout(state), state.board.width, state.board.height)

    def view(self, state: Walk, seat: str) -> View[Walk]:
        return View(self, state, seat)

    def read(self, text: str, seat: str) -> Move | None:
        return CHOICES.read(text)

    def turns(self, state: Walk) -> int:
        return state.board.budget

    def words(self, level: int) -> tuple[str, ...]:
        knobs = self.levels[check_level(level)]
        side, doors = knobs["size"], knobs.get("doors", 0)
        signs = self.signs + KEYS[:doors] + DOORS[:doors]
        cells = [DIGITS[y] + DIGITS[x] for y in range(side) for x in range(side)]
        slips = slip_words(knobs.get("slip", 0.0))
        return (*DIRECTIONS, *(sign + cell for sign in signs for cell in cells), *slips)

    def step(self, state: Walk, moves: Mapping[str, Move]) -> Outcome[Walk]:
        board, noise = state.board, state.noise
        if board.cells[state.at] in ENDS:
            return Outcome(state, events=BLOCKED)
        direction = INDEX[moves[SOLO].key]
        events: Events = {}
        if noise is not None:
            chance = noise.uniform()
            if chance < board.slip:
                direction = SIDES[direction][chance < board.slip / 2]
                events = SLIPPED
            noise = noise.after()
        to = board.next[direction][state.at]
        if to < 0:
            return Outcome(
                state if noise is None else Walk(board, state.at, state.keys, noise), events=events or BLOCKED
            )
        found = board.special.get(to)
        if found is None:
            return Outcome(Walk(board, to, state.keys, noise), events=events)
        what, i = found
        if what == "goal":
            events = {SOLO: (*events.get(SOLO, ()), "home")} if board.icy else events
            return Outcome(Walk(board, to, state.keys, noise), WON, True, events)
        if what == "hole":
            return Outcome(Walk(board, to, state.keys, noise), done=True, events=FELL)
        keys = state.keys
        if what == "key" and keys[i] == LYING:
            return Outcome(Walk(board, to, (*keys[:i], HELD, *keys[i + 1 :]), noise), events=TOOK[i])
        if what == "door" and keys[i] == LYING:
            return Outcome(state, events=LOCKED[i])
        if what == "door" and keys[i] == HELD:
            return Outcome(Walk(board, to, (*keys[:i], USED, *keys[i + 1 :]), noise), events=OPENED[i])
        return Outcome(Walk(board, to, keys, noise), events=events)

    def solve(self, state: Walk, seat: str) -> Answer:
        if state.board.cells[state.at] in ENDS:
            return Unsolvable("the episode is over")
        return _shortest(self, state) if state.noise is None else _likeliest(state, state.noise.step)

    def legal(self, state: Walk, seat: str) -> tuple[Move, ...]:
        board, out = state.board, []
        if board.cells[state.at] in ENDS:
            return ()
        for move, targets in zip(CHOICES.moves, board.next, strict=True):
            to = targets[state.at]
            found = board.special.get(to)
            if to >= 0 and not (found and found[0] == "door" and state.keys[found[1]] == LYING):
                out.append(move)
        return CHOICES.moves if board.icy else tuple(out)

    def sample(self, state: Walk, seat: str, rng: Rng) -> Move:
        return rng.pick(self.legal(state, seat) or CHOICES.moves)

    def caption(self, state: Walk, seat: str, level: int) -> str:
        return full_caption(state) if level == 2 else brief_caption(state)

    def rebuild(self, caption: str, seat: str) -> Walk:
        """See `World.rebuild`."""
        return parse_caption(caption)

    def static(self, state: Walk, seat: str) -> tuple[str, ...]:
        return state.board.fixed_words

    def moving(self, state: Walk, seat: str) -> tuple[str, ...]:
        board, names = state.board, state.board.names
        out = [PLAYER + names[state.at]]
        for i, status in enumerate(state.keys):
            if status == LYING:
                out.append(KEYS[i] + names[board.keys[i]])
            if status != USED:
                out.append(DOORS[i] + names[board.doors[i]])
        return tuple(out)

    def scene(self, state: Walk, seat: str) -> Scene:
        return scene_of(state)


def _shortest(world: WalkWorld, state: Walk) -> Answer:
    """Go down the exact distances; every move of a plan lowers them by one."""
    routes = state.board.routes
    left = routes[state.keys][state.at]
    if left < 0:
        return Unsolvable("the goal cannot be reached")
    moves, firsts = [], ()
    while left > 0:
        best = []
        for move in CHOICES.moves:
            after = world.step(state, {SOLO: move})
            if (after.done and after.rewards) or routes[after.state.keys][after.state.at] == left - 1:
                best.append((move, after.state))
        firsts = firsts or tuple(move for move, _ in best)
        move, state = best[0]
        moves.append(move)
        left -= 1
    return Plan(tuple(moves), "solver", firsts)


def _likeliest(state: Walk, step: int) -> Answer:
    """The steps with the best chance within the turns that are left; the noise to come is not looked at."""
    board = state.board
    left = board.budget - step
    chance = float(board.odds[left][state.at]) if left > 0 else 0.0
    if chance <= 0.0:
        return Unsolvable("the goal cannot be reached in the turns that are left")
    landing = (to[state.at] for to in board.next)
    ahead = [board.odds[left - 1][cell if cell >= 0 else state.at] for cell in landing]
    worth = [mixed(ahead, action, board.slip) for action in range(4)]
    best = tuple(m for m, w in zip(CHOICES.moves, worth, strict=True) if w >= max(worth) - 1e-12)
    return Plan(best[:1], "policy", best, chance)
