"""Puzzles of one player whose positions are short texts: what they share as games, and searches through their positions."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from quintain.worlds.engines.turns import WON, After
from quintain.worlds.kernel import Answer, Move, Plan, Unsolvable
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Scene
from quintain.worlds.splits import Draft

Node = TypeVar("Node", bound=Hashable)
SAYINGS = {"illegal": "The rules do not allow that now; nothing changed.", "stuck": "No move is left."}


@dataclass(frozen=True, slots=True)
class Pose:
    """The state: what stays and what changes, both as text, and the turn budget."""

    board: str
    now: str
    budget: int = 0


class Rules(Protocol):
    """One puzzle. It is hashable, and all its methods are functions of their arguments."""

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Pose | Draft[Pose] | None:
        """See `Game.deal`."""
        ...

    def layout(self, pose: Pose) -> str:
        """See `Game.layout`."""
        ...

    def solved(self, board: str, now: str) -> bool:
        """Whether this is the end."""
        ...

    def options(self, board: str, now: str) -> Iterable[tuple[str, str]]:
        """Each legal move with the position that it leads to."""
        ...

    def answer(self, board: str, now: str) -> Answer:
        """The oracle, from a position that is not solved and has moves."""
        ...

    def spell(self, text: str) -> str:
        """The key of the move that a text in lower case says, or nothing."""
        ...

    def caption(self, board: str, now: str, level: int) -> str:
        """See `Lens.caption`."""
        ...

    def parse(self, caption: str) -> Pose:
        """See `World.rebuild`."""
        ...

    def static(self, board: str, now: str) -> tuple[str, ...]:
        """See `Lens.static`."""
        ...

    def moving(self, board: str, now: str) -> tuple[str, ...]:
        """See `Lens.moving`."""
        ...

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        """See `World.words`."""
        ...

    def scene(self, board: str, now: str) -> Scene:
        """See `Lens.scene`."""
        ...


@functools.lru_cache(maxsize=1 << 14)
def said(key: str) -> Move:
    """The move with this key."""
    return Move(key)


@functools.lru_cache(maxsize=1 << 15)
def ways(rules: Rules, board: str, now: str) -> Mapping[Move, str]:
    """Each legal move with the position that it leads to; none at the end."""
    return {} if rules.solved(board, now) else {said(key): after for key, after in rules.options(board, now)}


@functools.lru_cache(maxsize=1 << 13)
def answered(rules: Rules, board: str, now: str) -> Answer:
    """The oracle."""
    return rules.answer(board, now) if ways(rules, board, now) else Unsolvable("the episode is over")


@dataclass(frozen=True)
class PoseGame:
    """A puzzle as `turns.Game`: it ends when it is solved or no move is left; `example` is a move that can be said at any level."""

    rules: Rules
    example: str

    def deal(self, rng: Rng, knobs: Mapping[str, Any]) -> Pose | Draft[Pose] | None:
        return self.rules.deal(rng, knobs)

    def layout(self, state: Pose) -> str:
        return self.rules.layout(state)

    def turns(self, state: Pose) -> int:
        return state.budget

    def mover(self, state: Pose) -> int:
        return 0 if ways(self.rules, state.board, state.now) else -1

    def legal(self, state: Pose) -> tuple[Move, ...]:
        return tuple(ways(self.rules, state.board, state.now))

    def guess(self, state: Pose, rng: Rng) -> Move:
        return said(self.example)

    def read(self, text: str) -> Move | None:
        key = self.rules.spell(text)
        return said(key) if key else None

    def play(self, state: Pose, move: Move) -> After[Pose] | None:
        now = ways(self.rules, state.board, state.now)[move]
        after = Pose(state.board, now, state.budget)
        if self.rules.solved(state.board, now):
            return After(after, (WON,), True)
        return After(after) if ways(self.rules, state.board, now) else After(after, (), True, (("stuck",),))

    def advise(self, state: Pose) -> Answer:
        """The oracle."""
        return answered(self.rules, state.board, state.now)

    def caption(self, state: Pose, side: int, level: int) -> str:
        return self.rules.caption(state.board, state.now, level)

    def rebuild(self, caption: str, side: int) -> Pose:
        """See `World.rebuild`."""
        return self.rules.parse(caption)

    def static(self, state: Pose, side: int) -> tuple[str, ...]:
        return self.rules.static(state.board, state.now)

    def moving(self, state: Pose, side: int) -> tuple[str, ...]:
        return self.rules.moving(state.board, state.now)

    def words(self, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        return self.rules.words(knobs)

    def scene(self, state: Pose, side: int) -> Scene:
        return self.rules.scene(state.board, state.now)


def budget(length: int) -> int:
    """The turns that a plan of so many moves is given: half as many again, and four."""
    return length * 3 // 2 + 4


def along(rules: Rules, board: str, now: str, path: Iterable[Node], node: Callable[[str], Node]) -> Plan:
    """The plan that leads through these nodes, the first of which is that of `now`; `node` tells a position's node."""
    out = []
    for there in list(path)[1:]:
        move, now = next((m, after) for m, after in ways(rules, board, now).items() if node(after) == there)
        out.append(move)
    return Plan(tuple(out))


def spread(
    start: Iterable[Node], near: Callable[[Node], Iterable[Node]], limit: int, end: Callable[[Node], bool] | None = None
) -> tuple[dict[Node, Node | None], Node | None, bool]:
    """Breadth first from all of `start`: (node -> the one before, in order of distance; the first for which `end` holds; whether
    all that can be reached was seen). It stops at that node, or once more than `limit` nodes were met.
    """
    came: dict[Node, Node | None] = dict.fromkeys(start)
    queue = deque(came)
    if end is not None:
        for node in came:
            if end(node):
                return came, node, False
    while queue:
        here = queue.popleft()
        for there in near(here):
            if there not in came:
                came[there] = here
                if end is not None and end(there):
                    return came, there, False
                queue.append(there)
        if len(came) > limit:
            return came, None, False
    return came, None, True


def trail(came: Mapping[Node, Node | None], node: Node | None) -> list[Node]:
    """The nodes from a start to `node`."""
    out = []
    while node is not None:
        out.append(node)
        node = came[node]
    return out[::-1]


def meet(start: Node, goal: Node, near: Callable[[Node], Iterable[Node]], limit: int) -> tuple[list[Node], bool]:
    """(a shortest way, whether the search came to an end) where all moves can be taken back, by two waves; [] if none was found."""
    came: tuple[dict[Node, Node | None], ...] = ({start: None}, {goal: None})
    waves = [[start], [goal]]
    while waves[0] and waves[1] and start != goal:
        side = len(waves[0]) > len(waves[1])
        mine, other, after = came[side], came[not side], []
        for here in waves[side]:
            for there in near(here):
                if there not in mine:
                    mine[there] = here
                    if there in other:
                        return trail(came[0], there) + trail(came[1], there)[-2::-1], True
                    after.append(there)
        waves[side] = after
        if len(came[0]) + len(came[1]) > limit:
            return [], False
    return ([start], True) if start == goal else ([], True)
