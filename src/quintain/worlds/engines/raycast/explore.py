"""An oracle that knows what its seat knows: it remembers the cells seen so far, goes for what it has seen, and else looks for news.

Each of its moves follows from what was seen before it, so its plans are not the shortest, but a seat can find them. It looks for
news where a look along a row of known floor meets a cell not seen yet, at the place that takes the fewest turns to get to.

Where health runs out on such a walk, all hearts are searched for a way that keeps it up. Its moves may rest on what was not seen, so
the plan is one of the class `policy`; it still begins with the move that what was seen speaks for, unless that move loses.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from quintain.worlds.engines.grid.board import WALL
from quintain.worlds.engines.raycast.fan import DEPTH
from quintain.worlds.engines.raycast.floor import HELD, Stand
from quintain.worlds.engines.raycast.rules import (
    BESIDE,
    COLLECT,
    DROP,
    FORWARD,
    LEFT,
    RIGHT,
    SURVIVE,
    TAKE,
    enters,
    known,
    over,
    step,
)
from quintain.worlds.engines.raycast.survive import NODES, stops
from quintain.worlds.engines.raycast.things import SIGN
from quintain.worlds.kernel import Answer, Choices, Plan, Unknown, Unsolvable
from quintain.worlds.noise import spend

LIMIT = 2000  # moves
LOOK = 40  # draws that a look for the next moves counts for, where they are counted
Pose = tuple[int, int]  # cell and heading
Aim = Callable[[int, int], bool]


def answer(state: Stand, choices: Choices) -> Answer:
    """The moves of the oracle from here to the end."""
    if over(state):
        return Unsolvable("the episode is over")
    keys = plan(state)
    if keys is None:
        return _rescue(state, choices) if state.place.gain else Unknown(LIMIT)
    moves = tuple([choices[key] for key in keys])
    return Plan(moves, "solver", moves[:1]) if moves else Unsolvable("it cannot be reached")


def _rescue(state: Stand, choices: Choices) -> Answer:
    """The moves of one who knows where all hearts are."""
    found, nodes = stops(state)
    if found is None:
        return Unknown(nodes) if nodes > NODES else Unsolvable("no way to the hearts keeps you alive")
    keys = _leg(state)[1][:1]  # what was seen speaks for it
    after = step(state, keys[0]).state
    other = None if over(after) else stops(after)[0]
    if other is None:
        keys, after, other = [], state, found
    after, rows = replace(after, seen=b"\xff" * len(after.seen)), state.place.floor.ahead
    for cell, heading in other:
        leg = _way(after, lambda at, to, pose=(cell, heading): (rows[to][at], to) == pose) or []
        keys += [*leg, FORWARD]
        after = replace(after, at=cell, heading=heading)
    keys += [LEFT] * (state.clock - len(keys))
    return Plan(tuple([choices[key] for key in keys]), "policy", (choices[keys[0]],))


def plan(state: Stand) -> list[str] | None:
    """The moves of the oracle; none where there is no way, None where it gives up or loses."""
    keys: list[str] = []
    while len(keys) < LIMIT:
        spend(LOOK)
        goal, leg = _leg(state)
        if not leg:
            return []
        for key in leg:
            after = step(state, key)
            keys.append(key)
            state = after.state
            if after.done:
                return keys if after.rewards else None
            if _goal(state) != goal:  # something was seen
                break
    return None


def _goal(state: Stand) -> tuple[str, frozenset[int]]:
    """What to do next, and the cells where it can be done; no cells where they must be looked for."""
    place, seen = state.place, known(state)
    lying = [
        (kind, cell) for kind, cell in zip(place.kinds, state.where, strict=True) if cell >= 0 and seen >> cell & 1
    ]
    if place.task == BESIDE and HELD in state.where:
        other = [cell for kind, cell in lying if kind == place.other]
        taken = {cell for _, cell in lying}
        beside = [row[cell] for cell in other for row in place.floor.ahead]
        return DROP, frozenset(c for c in beside if c >= 0 and seen >> c & 1 and c not in taken)
    if place.task == SURVIVE:
        return FORWARD, frozenset(cell for kind, cell in lying if enters(place, kind))
    if not place.shown and not state.told:
        return "read", frozenset(cell for kind, cell in lying if kind > SIGN)
    key = TAKE if place.task == BESIDE else FORWARD
    return key, frozenset(cell for kind, cell in lying if kind == place.wanted)


def _leg(state: Stand) -> tuple[tuple[str, frozenset[int]], list[str]]:
    """What to do next, and the moves that do it."""
    goal = _goal(state)
    key, cells = goal
    if cells:
        over_ = state.place.floor.over
        leg = _way(state, lambda at, heading: over_[heading][at] in cells)
        if leg is not None:
            return goal, [*leg, *(() if key == "read" else (key,))]
    idle = [LEFT] if state.place.task == SURVIVE else []
    return goal, news(state) or idle


def news(state: Stand) -> list[str] | None:
    """The fewest turns and steps to a look along a row of known floor at a cell not seen yet, or None."""
    floor, seen, things = state.place.floor, known(state), set(state.where)

    def ends_unseen(at: int, heading: int) -> bool:
        row = floor.over[heading]
        for _ in range(DEPTH):
            at = row[at]
            if at < 0:
                return False
            if not seen >> at & 1:
                return True
            if floor.cells[at] == WALL or at in things:  # a thing hides what is behind it
                return False
        return False

    return _way(state, ends_unseen)


def _way(state: Stand, aim: Aim) -> list[str] | None:
    """The fewest turns and steps over floor seen so far to a place that `aim` accepts, or None."""
    place, seen = state.place, known(state)
    taken = set(state.where)
    if place.task == COLLECT or place.task == SURVIVE:
        taken -= {cell for kind, cell in zip(place.kinds, state.where, strict=True) if enters(place, kind)}
    rows = place.floor.ahead
    begin = (state.at, state.heading)
    came: dict[Pose, tuple[Pose, str]] = {begin: (begin, "")}
    waiting = deque([begin])
    while waiting:
        here = at, heading = waiting.popleft()
        if aim(at, heading):
            keys: list[str] = []
            while here != begin:
                here, key = came[here]
                keys.append(key)
            return keys[::-1]
        to = rows[heading][at]
        if to >= 0 and seen >> to & 1 and to not in taken:
            _add(came, waiting, here, (to, heading), FORWARD)
        _add(came, waiting, here, (at, (heading + 3) % 4), LEFT)
        _add(came, waiting, here, (at, (heading + 1) % 4), RIGHT)
    return None


def _add(came: dict[Pose, tuple[Pose, str]], waiting: deque[Pose], here: Pose, there: Pose, key: str) -> None:
    if there not in came:
        came[there] = (here, key)
        waiting.append(there)
