"""The rules of first-person worlds: what a turn does to a state."""

from __future__ import annotations

from dataclasses import replace

from quintain.ports import SOLO
from quintain.worlds.engines.raycast.floor import GONE, HELD, Place, Stand
from quintain.worlds.engines.raycast.look import hidden, in_sight
from quintain.worlds.engines.raycast.things import HEART, SIGN, named
from quintain.worlds.kernel import Events, Outcome

LEFT, RIGHT, FORWARD, TAKE, DROP = "left", "right", "forward", "take", "drop"
REACH, CHOOSE, COLLECT, SURVIVE, BESIDE = "reach", "choose", "collect", "survive", "beside"
WON = {SOLO: {"success": 1.0}}
BLOCKED: Events = {SOLO: ("blocked",)}


def enters(place: Place, kind: int) -> bool:
    """Whether the cell of a thing can be stepped into."""
    if place.task == CHOOSE:
        return kind < SIGN
    return kind == HEART if place.task == SURVIVE else kind == place.wanted and place.task != BESIDE


def over(state: Stand) -> bool:
    """Whether the episode has ended in this state."""
    place = state.place
    if place.task in (REACH, CHOOSE):
        return state.at in state.where
    if place.task == COLLECT:
        return not any(kind == place.wanted and cell >= 0 for kind, cell in zip(place.kinds, state.where, strict=True))
    if place.task == SURVIVE:
        return state.clock <= 0 or state.health <= 0
    one, two = (state.where[place.kinds.index(kind)] for kind in (place.wanted, place.other))
    return one >= 0 and one in [row[two] for row in place.floor.over]


def ahead(state: Stand) -> tuple[int, int]:
    """The floor ahead and the number of the thing on it, or -1."""
    to = state.place.floor.ahead[state.heading][state.at]
    return to, state.where.index(to) if to >= 0 and to in state.where else -1


def known(state: Stand) -> int:
    """The cells seen so far, as bits."""
    return int.from_bytes(state.seen, "little")


def stood(state: Stand, at: int, heading: int) -> Stand:
    """The state with its seat at a place, having seen what is seen from there."""
    place = state.place
    learnt = place.floor.learnt(at, heading, hidden(place, state.where, at, heading))
    seen = (int.from_bytes(state.seen, "little") | learnt).to_bytes(len(place.floor.cells) // 8 + 1, "little")
    after = Stand(place, at, heading, state.where, seen, state.told, state.health, state.clock)
    if not place.shown and not state.told and any(kind > SIGN for _, kind in in_sight(after)):
        return replace(after, told=1)
    return after


def step(state: Stand, key: str) -> Outcome[Stand]:
    """What a turn does; nothing once the episode is over."""
    if over(state):
        return Outcome(state, done=True)
    if key in (LEFT, RIGHT):
        return _timed(stood(state, state.at, (state.heading + (1 if key == RIGHT else 3)) % 4))
    to, thing = ahead(state)
    if key == TAKE:
        return _take(state, thing)
    if key == DROP:
        return _drop(state, to, thing)
    if to < 0 or (thing >= 0 and not enters(state.place, state.place.kinds[thing])):
        return _timed(state, BLOCKED)
    after = stood(state, to, state.heading)
    return _timed(after) if thing < 0 else _meet(after, thing)


def _meet(after: Stand, thing: int) -> Outcome[Stand]:
    """Having stepped into the cell of a thing."""
    place, kind = after.place, after.place.kinds[thing]
    if place.task in (REACH, CHOOSE):
        right = kind == place.wanted
        return Outcome(after, WON if right else {}, True, {} if right else {SOLO: (f"wrong:{named(kind)}",)})
    after = replace(after, where=_moved(after, thing, GONE))
    took: Events = {SOLO: (f"took:{named(kind)}",)}
    if place.task == SURVIVE:
        return _timed(replace(after, health=after.health + place.gain), took)
    return Outcome(after, WON, True, took) if over(after) else Outcome(after, events=took)


def _timed(after: Stand, events: Events | None = None) -> Outcome[Stand]:
    """What a turn costs where health counts."""
    events = events or {}
    if after.place.task != SURVIVE:
        return Outcome(after, events=events)
    after = replace(after, health=after.health - 1, clock=after.clock - 1)
    if after.clock <= 0:
        return Outcome(after, WON, True, events)
    return (
        Outcome(after, done=True, events={SOLO: ("starved",)}) if after.health <= 0 else Outcome(after, events=events)
    )


def _take(state: Stand, thing: int) -> Outcome[Stand]:
    place = state.place
    if thing < 0 or place.kinds[thing] != place.wanted:
        return Outcome(state, events={SOLO: ("missed",)})
    after = stood(replace(state, where=_moved(state, thing, HELD)), state.at, state.heading)  # and see what it hid
    return Outcome(after, events={SOLO: (f"took:{named(place.wanted)}",)})


def _drop(state: Stand, to: int, thing: int) -> Outcome[Stand]:
    if HELD not in state.where:
        return Outcome(state, events={SOLO: ("empty",)})
    if thing >= 0 or to < 0:
        return Outcome(state, events={SOLO: ("barred",)})
    after = replace(state, where=_moved(state, state.where.index(HELD), to))
    put: Events = {SOLO: (f"dropped:{named(state.place.wanted)}",)}
    return Outcome(after, WON, True, put) if over(after) else Outcome(after, events=put)


def _moved(state: Stand, thing: int, to: int) -> tuple[int, ...]:
    return (*state.where[:thing], to, *state.where[thing + 1 :])
