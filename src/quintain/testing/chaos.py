"""Layer 0 of the chaos harness: thousands of seeded schedules on a virtual clock, judged, and shrunk where one goes wrong.

`tools/chaos.py` is the program around it.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from quintain.testing import crew_schedules, schedules
from quintain.types import QuintainError


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of schedules: the plan of a seed, its text, and what is wrong with it."""

    plan: Callable[[int], Any]
    read: Callable[[str], Any]
    judge: Callable[[Any], list[str]]


def judge(kind: str, plan: Any) -> list[str]:
    """Everything that is wrong with a plan's schedule; an exception of any kind is wrong too."""
    try:
        return FAMILIES[kind].judge(plan)
    except Exception as error:  # deadlock, broken bound, or a plain bug: each is a finding
        return [f"{type(error).__name__}: {error}"]


def _loop(plan: schedules.SchedulePlan) -> list[str]:
    log = schedules.play(plan)
    return [*schedules.wrong(plan, log), *_legal(plan, log), *_bounded(plan, log), *_same_order(plan, log)]


def _legal(plan: schedules.SchedulePlan, log: Sequence[schedules.Entry]) -> Iterator[str]:
    """In each life a ticket is played once, trained after that at most once; a step's tickets rise; time does not go back."""
    seen: dict[tuple[int, int], str] = {}
    before = {"playing": (None, "issued"), "played": ("playing",)}
    at, reached, began = 0.0, 0, dict[int, int]()
    for entry in log:
        reached = entry.which if entry.what == "saved" else reached
        first = began.setdefault(entry.life, reached)
        if entry.at < at:
            yield f"time went back from {at} to {entry.at}"
        at = entry.at
        rows = entry.more["tickets"] if entry.what == "trained" else ()
        if entry.what in before:
            key = (entry.life, entry.which)
            if seen.get(key) not in before[entry.what]:
                yield f"life {entry.life}: ticket {entry.which} is {entry.what} after it was {seen.get(key)}"
            seen[key] = entry.what
        for ticket, _, version in rows:
            if version < first:
                yield f"life {entry.life} begins at {first} and trains ticket {ticket} as one of version {version}"
            if seen.get((entry.life, ticket)) != "played":
                yield f"life {entry.life}: ticket {ticket} is trained after it was {seen.get((entry.life, ticket))}"
            seen[entry.life, ticket] = "trained"
        if [row[0] for row in rows] != sorted(row[0] for row in rows):
            yield f"step {entry.which} trains tickets {[row[0] for row in rows]}; they are to rise"


def _bounded(plan: schedules.SchedulePlan, log: Sequence[schedules.Entry]) -> Iterator[str]:
    """No more tickets are open at once than the window has slots for."""
    slots = (1 + plan.max_lag) * plan.size + plan.ahead
    again = bool(plan.refill) or plan.policy != "wait"  # given back before the log tells of it
    open_: dict[int, set[int]] = {}
    for entry in log:
        now = open_.setdefault(entry.life, set())
        if entry.what == "playing":
            now.add(entry.which)
        elif entry.what == "dropped" or (entry.what == "played" and again):
            now.discard(entry.which)
        elif entry.what == "trained":
            now.difference_update(row[0] for row in entry.more["tickets"])
        if len(now) > slots:
            yield f"life {entry.life}: {len(now)} tickets are open at once; there are {slots} slots"
            return


def _same_order(plan: schedules.SchedulePlan, log: Sequence[schedules.Entry]) -> Iterator[str]:
    """A synchronous run trains the same tickets in the same steps, whatever was slow or killed."""
    if plan.max_lag or not plan.faults:
        return
    calm = replace(plan, faults=(), rollout_s=(0.0, 0.0), learner_s=(0.0, 0.0))
    orders = [
        [(e.which, e.more["tickets"]) for e in schedules.effective(which) if e.what == "trained"]
        for which in (log, schedules.play(calm))
    ]
    if orders[0] != orders[1]:
        yield f"faults change the order of consumption: {orders[0]} instead of {orders[1]}"


def _crew(plan: crew_schedules.CrewPlan) -> list[str]:
    return crew_schedules.wrong(plan, crew_schedules.play(plan))


FAMILIES: Mapping[str, Family] = {
    "loop": Family(schedules.plan, schedules.SchedulePlan.read, _loop),
    "crew": Family(crew_schedules.plan, crew_schedules.CrewPlan.read, _crew),
}


def shrink(plan: Any, fails: Callable[[Any], bool], *, rounds: int = 200) -> Any:
    """A smaller plan that still fails: faults are taken out one by one, then every number is made smaller as long as that holds.

    Args:
        plan: a dataclass with a tuple `faults`; `fails(plan)` holds.
        fails: whether a plan goes wrong; one that cannot be played at all does not count.
        rounds: plans that are tried at most.
    """
    tries = iter(range(rounds))
    again = True
    while again:
        again = False
        for smaller in _smaller(plan):
            if next(tries, None) is None:
                return plan
            if fails(smaller):
                plan, again = smaller, True
                break
    return plan


def _smaller(plan: Any) -> Iterator[Any]:
    for i in range(len(plan.faults)):
        yield replace(plan, faults=plan.faults[:i] + plan.faults[i + 1 :])
    for field in fields(plan):
        value = getattr(plan, field.name)
        if field.name == "seed" or isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        least = 0 if isinstance(value, float) else {"max_lag": 0, "look": 0, "ahead": 0, "spares": 0}.get(field.name, 1)
        if field.name == "actors":
            least = 2
        for less in (least, value // 2, value - 1) if isinstance(value, int) else (0.0, round(value, 1)):
            if least <= less < value:
                yield replace(plan, **{field.name: less})


def regression(kind: str, plan: Any, why: Sequence[str]) -> str:
    """The text of a file that keeps a plan."""
    return json.dumps({"kind": kind, "why": list(why)[:3], "plan": json.loads(plan.json())}, indent=1) + "\n"


def replay(text: str) -> list[str]:
    """What is wrong with the plan of a file that `regression` made."""
    kept = json.loads(text)
    return judge(kept["kind"], FAMILIES[kept["kind"]].read(json.dumps(kept["plan"])))


def attack(first: int, count: int, seconds: float, keep: Path | None, *, most: int = 5) -> dict[str, Any]:
    """Play seeds from `first` on, of each family in turn, and say what came of it.

    Args:
        first: the first seed.
        count: schedules at most.
        seconds: wall time after which no further one is begun.
        keep: a folder for the shrunk plans of what fails.
        most: failures after which it ends; 1 does not shrink.
    """
    begin, done, failed = time.perf_counter(), Counter[str](), list[str]()
    for number in range(count):
        if time.perf_counter() - begin > seconds or len(failed) >= most:
            break
        seed = first + number
        kind = ("loop", "loop", "crew")[seed % 3]
        plan = FAMILIES[kind].plan(seed)
        done[kind] += 1
        if found := judge(kind, plan):
            failed.append(f"{kind} {seed}")
            _tell(kind, seed, plan, found, keep, small=most > 1)
    spent = time.perf_counter() - begin
    return {"schedules": done.total(), **done, "failed": failed, "first": first, "seconds": round(spent, 1)}


def _tell(kind: str, seed: int, plan: Any, found: Sequence[str], keep: Path | None, *, small: bool) -> None:
    if small:
        plan = shrink(plan, lambda p: bool(_fails_alike(kind, p)))
        found = judge(kind, plan) or found
    text = regression(kind, plan, found)
    print(f"{kind} schedule of seed {seed} goes wrong: {found[0]}\n{text}", file=sys.stderr, flush=True)
    if keep is not None:
        (keep / f"{kind}-{seed}.json").write_text(text)


def _fails_alike(kind: str, plan: Any) -> list[str]:
    """What is wrong, unless the plan itself is refused."""
    return [w for w in judge(kind, plan) if not w.startswith(QuintainError.__name__)]
