"""The only queue of a run: tickets in flight and finished groups, in the order in which they are trained.

Every call costs O(1) on average, and a `take` O(groups a step + look): a simulated run may hold thousands of tickets.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from quintain import faults
from quintain.line import Line, Place
from quintain.parts import Gate, PartError, applied, told
from quintain.types import Group, QuintainError, Ticket
from quintain.waits import waiting

WITHHELD = "withheld"  # tag of a group that the baseline sees and that is never trained


class LagError(QuintainError):
    """A group is older than `max_lag` allows, or a step asked for more refills than `max_refills`."""


class Drained(QuintainError):
    """The run was asked to stop while it waited for groups; the last completed step stands."""


class OverLimit(NamedTuple):
    """What becomes of a group that would be trained more than `max_lag` versions after it was begun.

    `wait` admits so few tickets, and takes those that are due in time, that there is no such group. The others admit `ahead`
    tickets more, so that engines are never idle, and pay with groups that come too late: `withhold` shows them to the baseline,
    `refill` throws them away; either way a fresh ticket takes the place and nothing over the limit is trained.
    """

    policy: str = "wait"
    ahead: int = 0

    @property
    def exact(self) -> bool:
        """Whether no group can come too late."""
        return self.policy == "wait"

    def check(self, max_lag: int) -> None:
        """Refuse what no window can do.

        Raises:
            QuintainError: there is no such policy, or tickets beyond a bound that leaves room for none.
        """
        if self.policy not in ("wait", "withhold", "refill"):
            raise QuintainError(f"over_limit is {self.policy!r}; it must be wait, withhold or refill")
        if self.ahead < 0 or (self.ahead and (self.exact or not max_lag)):
            raise QuintainError(
                f"ahead is {self.ahead} with over_limit={self.policy!r} and max_lag={max_lag}: tickets beyond the bound need "
                "over_limit=withhold or refill, and max_lag >= 1"
            )


EXACT = OverLimit()


class Window:
    """Tickets in flight and finished groups, in the order in which they are trained.

    Policy version v trains step v, so a ticket admitted under version v may be consumed at steps v, v+1 ... v+max_lag.
    With G = `size` and s the current step, ticket slots 0 .. (s + 1 + max_lag) G - 1 are open, so at most (s + 1) G tickets must be
    consumed by step s: a step that never leaves more of them than later steps can take keeps every group within `max_lag`.
    With `look=0` consumption is in ticket order; else up to `look` tickets beyond the first G may overtake an older one.

    The early gate judges a group when it is finished. With `max_lag=0` it waits until all groups of the step are, and judges them in
    ticket order; the refills that they ask for are then issued together, so nothing depends on who finished first.

    Args:
        size: groups a step, G >= 1.
        max_lag: hard cap on (version at consumption - version at admission), >= 0; 0 is synchronous.
        look: how many tickets beyond the oldest G may be consumed out of order, >= 0.
        gate: early gate on one finished group: keep, drop (the step trains on fewer) or refill (tag `refill`).
        steps: total steps of the run; no ticket is admitted beyond them.
        max_refills: refills that gates may ask for in one step.
        over: what becomes of groups that come too late, and how many more tickets are admitted.

    Special cases: unless `over` is exact, a step takes the oldest finished groups and does not wait for tickets that are due; a
    ticket that is too old before it is finished is passed over, and one that finishes within the limit after all is trained.
    """

    def __init__(
        self,
        size: int,
        max_lag: int = 0,
        look: int = 0,
        gate: Gate | None = None,
        *,
        steps: int,
        max_refills: int = 0,
        over: OverLimit = EXACT,
    ) -> None:
        if size < 1 or max_lag < 0 or look < 0:
            raise QuintainError(f"a window needs size >= 1, max_lag >= 0, look >= 0; got {size}, {max_lag}, {look}")
        over.check(max_lag)
        self.size, self.max_lag, self.look, self.gate, self.steps = size, max_lag, look, gate, steps
        self.max_refills, self.limit = max_refills, over
        self.step = 0
        self.index = 0  # tickets issued so far
        self.refilled = 0  # slots given back, all steps; a restart sets it anew
        self.gate_state = gate.init() if gate else None
        self.dropped: list[tuple[Ticket, str]] = []  # until the run has written them down
        self.concluded: list[
            int
        ] = []  # tickets that were consumed or whose slot was given back, until the run has counted them
        self._refills = 0
        self._places: dict[int, Place] = {}
        self._line = Line(size + look)
        self._late: dict[int, Place] = {}  # too old before they are finished: nobody waits for them
        self._withheld: list[Group] = []
        self._handed: list[int] = []  # finished and not judged yet
        self._judged = 0
        self._again: list[Ticket] = []
        self._waiters: list[asyncio.Future[None]] = []
        self._counts: defaultdict[str, float] = defaultdict(float)
        self._most = 0  # finished groups that waited at once
        self._closed = False
        self._dry = False  # the sampler has no more tasks
        self.shared = False  # other ranks may go on when there is nothing to take here: `take` gives none then
        self.over = False  # the step has nothing to consume, and no later one will

    # -- what is in it ---------------------------------------------------------------------------------------------

    @property
    def pending(self) -> list[Ticket]:
        """Tickets issued and neither consumed nor dropped, in order; those that are yet to be played again too."""
        here = [p.ticket for p in self._places.values() if p.group is not None or not p.judged]
        return sorted([*here, *self._again], key=lambda t: t.index)

    @property
    def void(self) -> list[Ticket]:
        """Tickets whose groups the gate dropped, and whose slots are held until their step, in order."""
        return sorted((p.ticket for p in self._places.values() if p.judged and p.group is None), key=lambda t: t.index)

    @property
    def unfinished(self) -> list[int]:
        """The tickets that are being played or scored now, in order; any thread may ask."""
        return sorted(i for i, place in list(self._places.items()) if place.group is None and not place.judged)

    @property
    def held(self) -> int:
        """Finished groups that wait for their step."""
        return sum(p.group is not None for p in self._places.values())

    def counts(self) -> dict[str, float]:
        """What happened since the last call, for the metrics of a step.

        Groups `withheld` and `refilled_lag` because they came too late, seconds that admission waited for a slot, and the largest
        number of finished groups that waited at once.
        """
        found, self._counts = self._counts, defaultdict(float)
        most, self._most = self._most, self.held
        names = {"withheld": "groups_withheld", "refill": "groups_refilled_for_lag", "wait": "seconds_admission_waited"}
        return {name: found[key] for key, name in names.items()} | {"groups_waiting_max": float(most)}

    def restart(self, step: int, index: int, pending: Sequence[Ticket] = (), void: Sequence[Ticket] = ()) -> None:
        """Continue at `step` with `index` the next new ticket; `pending` tickets are played again first, as slots open.

        Each step so far has used G slots, of whatever size its own was, and the `void` tickets hold theirs; all others are free.
        """
        self.step, self.index, self._again = step, index, sorted(pending, key=lambda t: t.index)
        self.refilled = index - len(pending) - len(void) - step * self.size
        for ticket in void:
            self._places[ticket.index] = place = Place(ticket, judged=True)
            self._line.add(place)
            self._judged += 1

    # -- producers -------------------------------------------------------------------------------------------------

    async def admit(self, issue: Callable[[int], Ticket | None]) -> Ticket | None:
        """Wait for an open slot, then issue a ticket into it; None when the run needs no more or is closed.

        Raises:
            LagError: there are no more tasks, so that the gate judges the step, which asks for too many refills.
        """
        if self.max_lag:
            await asyncio.sleep(0)  # a ticket a turn of the loop: those that play go on while many slots open at once
        clock = asyncio.get_running_loop().time
        began = clock()
        with waiting("admit", self.step):
            await self._until(lambda: self._closed or self._open() or self._complete())
        self._counts["wait"] += clock() - began
        if self._closed or not self._open():
            return None
        if self._again:
            ticket: Ticket | None = replace(self._again.pop(0), version=self.step)
        else:
            ticket = issue(self.index)
            self.index += ticket is not None
            self._dry = ticket is None
        if ticket is None:
            self._judge()
            self._wake()
        else:
            self._places[ticket.index] = place = Place(ticket)
            self._line.add(place)
        return ticket

    def _open(self) -> bool:
        ahead = (self.step + 1 + self.max_lag) * self.size + self.limit.ahead
        return self.index - len(self._again) - self.refilled < min(ahead, self.steps * self.size)

    def _complete(self) -> bool:  # nothing more to admit, now or later
        return self.step >= self.steps or (
            self.limit.exact and self.step + 1 + self.max_lag >= self.steps and not self._open() and not self.gate
        )

    async def put(self, ticket: Ticket, group: Group) -> None:
        """Hand in the finished group of a ticket; the early gate answers keep, drop or refill, at once or with the whole step.

        Raises:
            LagError: the step asked for more refills than `max_refills`.
        """
        place = self._places[ticket.index]
        place.group = replace(group, ticket=ticket.index, version=ticket.version)
        if self._late.pop(ticket.index, None):
            self._line.insert(place)
        self._handed.append(ticket.index)
        self._judge()
        self._most = max(self._most, len(self._places) - self._playing())
        self._wake()

    def _playing(self) -> int:
        return len(self._places) - self._judged - len(self._handed)

    def _judge(self) -> None:
        """Let the gate judge what is finished, in ticket order; a synchronous window waits until all that can be is."""
        if self.gate and not self.max_lag and (self._playing() or (self._open() and not self._dry)):
            return
        handed, self._handed = sorted(self._handed), []
        for index in handed:
            place = self._places[index]
            verdict = place.group
            if self.gate and verdict is not None:
                kept, self.gate_state = applied(self.gate, (verdict,), self.gate_state)
                if len(kept) > 1:
                    raise PartError(
                        f"{told(self.gate)} gave {len(kept)} groups for one; it should give that one, or none to drop it"
                    )
                verdict = kept[0] if kept else None
            if verdict is not None and verdict.tags.get("refill"):
                self._refill()
                self._drop(place, "refill")
                continue
            if verdict is None:
                self.dropped.append((place.ticket, "gate"))
            place.group = verdict
            self._line.judged(place)
            self._judged += 1
            self._expire(place)

    def _refill(self) -> None:
        self._refills += 1
        if self._refills > self.max_refills:
            raise LagError(
                f"step {self.step} asked for {self._refills} refills; max_refills is {self.max_refills}: "
                "raise it, or make tasks easier or harder so that groups carry a signal"
            )

    def _drop(self, place: Place, why: str) -> None:
        """Give the slot of a place back."""
        del self._places[place.ticket.index]
        self._line.remove(place)
        self._judged -= place.judged
        self.refilled += 1
        self.dropped.append((place.ticket, why))
        self.concluded.append(place.ticket.index)

    def _expire(self, place: Place) -> None:
        """Take a finished group out that is too old to be trained now, where the window admits more than it can use."""
        group = place.group
        if self.limit.exact or group is None or self.step - group.oldest <= self.max_lag:
            return
        seen = self.limit.policy == "withhold"
        self._counts["withheld" if seen else "refill"] += 1
        if seen:
            self._withheld.append(replace(group, tags={**group.tags, WITHHELD: True}))
        self._drop(place, WITHHELD if seen else "lag")

    # -- the consumer ----------------------------------------------------------------------------------------------

    async def take(self) -> tuple[Group, ...]:
        """Wait for the G groups of this step, in ticket order; dropped ones are missing from the result.

        Returns:
            The groups to train, after those tagged `withheld`, which are to be shown to the baseline only.

        Raises:
            Drained: the window was closed, or there are no more tasks; a shared one gives no groups then.
            LagError: a group is older than `max_lag` (an engine or a producer broke the protocol).
        """
        with waiting("take", self.step, lambda: self.unfinished):
            await self._until(lambda: self._closed or self._ready())
        faults.point("window.take")
        ready = self._ready() and not (self._closed and self.shared)  # ranks agree to stop where they next meet
        chosen = self._line.first(self.size) if ready else []
        self.over = not chosen
        if not self.shared and (self._closed or self.over):
            raise Drained(f"stopped at step {self.step}: {'no more tasks' if self._dry else 'asked to'}")
        for place in chosen:
            del self._places[place.ticket.index]
            self._line.remove(place)
            self._judged -= 1
            self.concluded.append(place.ticket.index)
        groups = [place.group for place in chosen if place.group is not None]
        for group in groups:
            if self.step - group.oldest > self.max_lag:
                raise LagError(
                    f"ticket {group.ticket} holds tokens of version {group.oldest} at step {self.step}; max_lag is {self.max_lag}"
                )
        withheld, self._withheld = sorted(self._withheld, key=lambda g: g.ticket), []
        return (*withheld, *groups)

    def _ready(self) -> bool:
        """Whether the step can be taken: the oldest finished groups of the head.

        A ticket is due at its version + max_lag. Of those due by step d, all but (d - s) G must go now, or a later step could not
        take them all; the earliest finished ones, as many as a step takes, are enough where that holds.
        """
        line = self._line
        if self.limit.exact:
            by_then = ripe = 0
            for version in sorted(line.count):
                by_then += line.count[version]
                ripe += line.ripe[version]
                if by_then - (version + self.max_lag - self.step) * self.size > ripe:
                    return False
        return line.ready >= self.size or (self._dry and self._judged == len(self._places))

    def release(self) -> None:
        """The step is done: its slots open for the next version."""
        self.step += 1
        self._refills = 0
        if not self.limit.exact:
            self._age()
        self._wake()

    def _age(self) -> None:
        for place in list(self._places.values()):
            if place.judged:
                self._expire(place)
            elif self.step - place.ticket.version > self.max_lag and place.ticket.index not in self._late:
                self._late[place.ticket.index] = place
                self._line.remove(place)

    # -- waiting ---------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Stop admitting; `take` does not wait any longer: it raises `Drained`, or gives no groups where it is shared."""
        self._closed = True
        self._wake()

    async def _until(self, ready: Callable[[], bool]) -> None:
        while not ready():
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            finally:
                if waiter in self._waiters:  # cancelled
                    self._waiters.remove(waiter)

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
