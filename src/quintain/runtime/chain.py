"""Who waits for whom: the waits of a run folded into a chain of sentences, with the likely cause and what to do about it.

It reads the status that a run writes about itself (`live.json`), so it works on a living run, on one that was killed, and on
several processes at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

APART = 1 << 40  # ticket numbers from here on are those of evaluations
BLOCKED_S = 1.0  # an event loop that is late by more is held up
SILENT_S = 5.0  # an actor without a pulse for longer does not answer
MAIN = (  # what the first line of a chain may be, the outer one of two that are open at once
    "build",
    "warm start",
    "evaluation",
    "load",
    "checkpoint",
    "learner score",
    "update",
    "publish",
    "take",
    "commit",
    "collective",
)

State = Mapping[str, Any]


class Link(NamedTuple):
    """`who` waits for `what`, since `since_s` seconds, for at most `left_s` more (None: without end)."""

    who: str
    what: str
    since_s: float
    left_s: float | None = None

    def __str__(self) -> str:
        until = "" if self.left_s is None else f", given up in {span(max(0.0, self.left_s))}"
        return f"{self.who} {self.what}, since {span(self.since_s)}{until}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Links from the run down to what it waits for in the end; `cause` and `fix` in plain words."""

    links: tuple[Link, ...]
    cause: str
    fix: str

    def line(self) -> str:
        """The chain in one line."""
        return " <- ".join(f"{link.who} {link.what} ({span(link.since_s)})" for link in self.links)


def span(seconds: float) -> str:
    """Seconds as people say them.

    Example:
        >>> [span(s) for s in (0.42, 7.0, 231.0, 7320.0)]
        ['0.4 s', '7 s', '3 min 51 s', '2 h 2 min']
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 2 else f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def fold(state: State) -> Chain:
    """The chain of a status."""
    links: list[Link] = []
    last: tuple[str, Mapping[str, Any]] = ("", {})
    top = _top(state)
    if top is None:
        where = "begins or ends" if state.get("step") is None else "is between two waits"
        links.append(Link("the run", where, 0.0))
    else:
        links.append(Link(*_told(top, state)))
        last = (top["kind"], top)
        for wait in _below(top, state):
            links.append(Link(*_told(wait, state)))
            last = (wait["kind"], wait)
    blocked = float(state.get("loop", {}).get("lag_s", 0.0))
    if blocked > BLOCKED_S and last[0] not in ("collective", "commit", "checkpoint", "build"):
        stack = state["loop"].get("stack", [])
        links.append(Link("the event loop", f"is held by {_where(stack)}", blocked))
        last = ("blocked", {"stack": stack})
    cause, fix = _CAUSES.get(last[0], _unknown)(last[1], state)
    return Chain(links=tuple(links), cause=cause, fix=fix)


def _top(state: State) -> Mapping[str, Any] | None:
    waits = state.get("waits", [])
    found = [w for w in waits if w["kind"] in MAIN] or [w for w in waits if w["kind"] == "come up"]
    return max(found, key=lambda w: w["since_s"]) if found else None


def _below(top: Mapping[str, Any], state: State) -> list[Mapping[str, Any]]:
    """The waits that `top` depends on, one below the other."""
    kind, waits = top["kind"], state.get("waits", [])
    if kind == "take":
        return _of_tickets(lambda t: t in top["on"], state)
    if kind == "evaluation":
        return _of_tickets(lambda t: t >= APART, state)
    own = {
        "load": ("actor load", "proof", "come up", "publish"),
        "update": ("proof", "collective", "commit"),
        "build": (),
    }
    inner = own.get(kind, ("collective", "commit"))
    found = [w for w in waits if w["kind"] in inner and w is not top]
    below = [max(found, key=lambda w: w["since_s"])] if found else []
    if below and below[0]["kind"] in ("actor load", "proof"):
        below += _silent(int(str(below[0]["on"]).split()[-1]), state)
    return below


def _of_tickets(wanted: Callable[[int], bool], state: State) -> list[Mapping[str, Any]]:
    """What the ticket that has waited longest waits for: its actor, and there its env or engine; or its reward."""
    own = [w for w in state.get("waits", []) if _ticket(w) is not None and wanted(_ticket(w) or 0)]
    if not own:
        return []
    first = max(own, key=lambda w: w["since_s"])
    if first["kind"] != "actor":
        kind = {"reward": "score", "env": "server"}.get(first["kind"])
        inner = [w for w in state["waits"] if w["kind"] == kind and _ticket(w) in (None, _ticket(first))]
        return [first, *inner[:1]]
    silent = _silent(first["on"], state)
    if silent:
        return [first, *silent]
    actor = _actor(first["on"], state)
    inside = [_wait(w) for w in actor.get("waits", [])]
    inside = [w for w in inside if _ticket(w) == _ticket(first)]
    below = [max(inside, key=lambda w: w["since_s"])] if inside else []
    if actor.get("lag_s", 0.0) > BLOCKED_S:
        below.append({"kind": "actor blocked", "on": actor, "since_s": actor["lag_s"], "limit_s": 0.0, "who": ""})
    return [first, *below]


def _silent(number: Any, state: State) -> list[Mapping[str, Any]]:
    actor = _actor(number, state)
    if actor.get("silent_s", 0.0) <= SILENT_S:
        return []
    limit = float(state.get("heartbeat_s", 0.0))
    return [{"kind": "silent", "on": actor, "since_s": actor["silent_s"], "limit_s": limit, "who": ""}]


def _wait(row: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(("kind", "who", "on", "since_s", "limit_s"), row, strict=True))


def _actor(number: Any, state: State) -> Mapping[str, Any]:
    return next((a for a in state.get("actors", []) if a["number"] == number), {})


def _ticket(wait: Mapping[str, Any]) -> int | None:
    if wait["kind"] not in ("env", "engine", "reward", "score", "actor"):
        return None
    who = wait["who"]
    return who if isinstance(who, int) else int(who[0]) if who and not isinstance(who, str) else None


# -- sentences ----------------------------------------------------------------------------------------------------------


def _told(wait: Mapping[str, Any], state: State) -> tuple[str, str, float, float | None]:
    kind, since, limit = wait["kind"], float(wait["since_s"]), float(wait["limit_s"])
    who, what = _WORDS.get(kind, lambda w, s: (f"{w['who']}", f"waits: {kind} {w['on']}".strip()))(wait, state)
    return who, what, since, limit - since if limit else None


def name(ticket: int) -> str:
    """What a ticket is called: those of evaluations are counted from 0."""
    return f"evaluation task {ticket - APART}" if ticket >= APART else f"ticket {ticket}"


def _episode(who: Any, state: State) -> str:
    ticket, member = (int(who[0]), int(who[1])) if not isinstance(who, int) and len(who) > 1 else (int(who), 0)
    return f"episode {ticket}.{member}" if ticket < APART else f"the episode of {name(ticket)}"


def _task(ticket: int, state: State) -> str:
    known = state.get("tickets", {})
    return f" ({known[str(ticket)]})" if str(ticket) in known else ""


def _take(wait: Mapping[str, Any], state: State) -> tuple[str, str]:
    on = list(wait["on"]) if not isinstance(wait["on"], str) else []
    some = ", ".join(map(str, on[:6])) + (f" and {len(on) - 6} more" if len(on) > 6 else "")
    tickets = f"waits for ticket{'s' * (len(on) != 1)} {some} to be played" if on else "waits for its groups"
    return f"step {wait['who']}", tickets


def _played(wait: Mapping[str, Any], state: State) -> tuple[str, str]:
    ticket, actor = int(wait["who"]), _actor(wait["on"], state)
    where = f"process {actor['pid']}" if "pid" in actor else f"of pool {actor.get('pool')}"  # the latter over a cluster
    by = f"actor {wait['on']} ({where})" if actor else ""
    return f"{name(ticket)}{_task(ticket, state)}", f"is played by {by}" if by else "waits for an actor to come up"


def _in_env(wait: Mapping[str, Any], state: State) -> tuple[str, str]:
    who = wait["who"]
    return f"{_episode(who, state)}{_task(int(who[0]), state)}", f"waits for its env to answer `{wait['on']}`"


_WORDS: dict[str, Callable[[Mapping[str, Any], State], tuple[str, str]]] = {
    "build": lambda w, s: ("the run", "builds model, engine and learner"),
    "warm start": lambda w, s: ("the run", "takes its supervised steps"),
    "evaluation": lambda w, s: (f"the evaluation after step {w['who']}", "waits for its episodes"),
    "load": lambda w, s: (f"version {w['who']}", "is published and taken over by the engines"),
    "actor load": lambda w, s: (f"version {w['who']}", f"waits for {w['on']} to take it over"),
    "proof": lambda w, s: (f"the proof of version {w['who']}", f"waits for {w['on']} to answer"),
    "come up": lambda w, s: (f"{w['who']}", "comes up (it imports torch and builds its model)"),
    "checkpoint": lambda w, s: (f"the checkpoint of step {w['who']}", "is written to disk"),
    "commit": lambda w, s: ("the ledger", "waits for the disk"),
    "learner score": lambda w, s: ("the learner", "scores the groups of the step"),
    "update": lambda w, s: ("the learner", "computes an update"),
    "publish": lambda w, s: ("the learner", "writes the new version"),
    "collective": lambda w, s: (f"{w['who']}", f"waits for the other ranks in {w['on']}"),
    "take": _take,
    "actor": _played,
    "env": _in_env,
    "server": lambda w, s: (f"the server {w['who']}", "is away, and is asked again"),
    "engine": lambda w, s: (_episode(w["who"], s), f"waits for tokens of the engine {w['on']!r}"),
    "reward": lambda w, s: (f"{name(int(w['who']))}{_task(int(w['who']), s)}", "waits for its reward"),
    "score": lambda w, s: (f"{name(int(w['who']))}", f"waits for {w['on']}"),
    "silent": lambda w, s: (f"actor {w['on']['number']} (process {w['on']['pid']})", "gives no sign of life"),
    "actor blocked": lambda w, s: (
        f"the event loop of actor {w['on']['number']}",
        f"is held by {_where(w['on']['stack'])}",
    ),
}


def _where(stack: Sequence[str]) -> str:
    """The innermost frame that is not Python's own library, else the innermost."""
    own = [f for f in stack if "/lib/python3" not in f and "<" not in f]
    return (own or list(stack) or ["code that gives no way"])[-1]


# -- causes -------------------------------------------------------------------------------------------------------------

Cause = Callable[[Mapping[str, Any], State], tuple[str, str]]


def _unknown(wait: Mapping[str, Any], state: State) -> tuple[str, str]:
    return "nothing in particular is waited for", "look again in a few seconds"


def _env(wait: Mapping[str, Any], state: State) -> tuple[str, str]:
    who = _episode(wait["who"], state)
    if wait["limit_s"]:
        return (
            f"the env of {who} takes long to answer; its deadline ends the episode after {span(wait['limit_s'])}",
            "nothing to do; a lower rollout.options.deadline_s gives slow envs up earlier",
        )
    return (
        f"the env of {who} does not answer, and rollout.options.deadline_s=0 lets it take for ever",
        "mend the env, or stop the run and go on with a deadline: rollout.options.deadline_s=60",
    )


def _engine(wait: Mapping[str, Any], state: State) -> tuple[str, str]:
    engine = state.get("engine", {})
    busy, queue = engine.get("running", 0), engine.get("waiting", 0)
    if queue:
        return (
            f"the engine has all its slots in use: {busy} requests run, {queue} wait for a slot",
            "more engine.slots, if memory allows, or fewer episodes at once",
        )
    where = _thread(state, "quintain-engine")
    return (
        f"the engine computes{f': {where}' if where else ''}",
        "shorter turns (rollout.max_tokens) or a smaller model are faster",
    )


def _score(wait: Mapping[str, Any], state: State) -> tuple[str, str]:
    where = _thread(state, "reward")
    end = (
        f"; it is given up after {span(wait['limit_s'])}"
        if wait["limit_s"]
        else ", and nothing limits how long it may take"
    )
    return (
        f"{wait['on']} has not come back{f' from {where}' if where else ''}{end}",
        "mend the reward function, or set reward.timeout_s and reward.on_error",
    )


def _is_silent(wait: Mapping[str, Any], state: State) -> tuple[str, str]:
    actor = wait["on"]
    rest = (
        f"it is replaced after {span(wait['limit_s'])} (runtime.heartbeat_s)"
        if wait["limit_s"]
        else "runtime.heartbeat_s=0 lets it be"
    )
    return (
        f"process {actor['pid']} (actor {actor['number']}) is stopped, swapped out or stuck in native code; {rest}",
        f"if somebody stopped it: kill -CONT {actor['pid']}; its log is actor{actor['number']}.log",
    )


def _held(wait: Mapping[str, Any], state: State) -> tuple[str, str]:
    stack = wait.get("stack") or (wait.get("on") or {}).get("stack", [])
    return (
        f"{_where(stack)} runs in the main thread without giving way, so nothing else moves",
        "let that code await, or move it to a thread or process of its own",
    )


def _collective(wait: Mapping[str, Any], state: State) -> tuple[str, str]:
    return (
        f"another rank is not where {wait['who']} waits for it; the wait ends with an error after {span(wait['limit_s'])}",
        "see what the other ranks do, below, and rankN.log",
    )


def _take_only(wait: Mapping[str, Any], state: State) -> tuple[str, str]:
    if state.get("actors") and not any(a["state"] == "up" for a in state["actors"]):
        return "no actor is up yet", "wait for them, or look into actor0.log"
    return "its groups are between two turns", "look again in a few seconds"


def _thread(state: State, prefix: str) -> str:
    stacks = [s for n, s in state.get("threads", {}).items() if n.startswith(prefix) and s]
    return _where(stacks[0]) if stacks else ""


_CAUSES: dict[str, Cause] = {
    "env": _env,
    "server": lambda w, s: (
        f"the server {w['who']} answered before and is away; its episodes fail after {span(w['limit_s'])}",
        "start it again there",
    ),
    "engine": _engine,
    "score": _score,
    "reward": lambda w, s: ("the reward part has not come back", "mend the reward; rewards may await, but must end"),
    "silent": _is_silent,
    "blocked": _held,
    "actor blocked": _held,
    "collective": _collective,
    "take": _take_only,
    "evaluation": _take_only,
    "actor": lambda w, s: ("its actor plays", "look again in a few seconds; its log is in the run folder"),
    "come up": lambda w, s: (f"{w['who']} imports torch and builds its model", "it has a deadline, and a log in the run folder"),
    "actor load": lambda w, s: (f"{w['on']} takes over new weights", "it has a deadline, and a log in the run folder"),
    "proof": lambda w, s: (f"{w['on']} scores and continues the canaries", "it has a deadline, and a log in the run folder"),
    "update": lambda w, s: ("the learner works", "smaller batches: run.groups_per_step, rollout.group_size"),
    "learner score": lambda w, s: ("the learner works", "smaller batches, or an algorithm without a reference or values"),
    "build": lambda w, s: ("the model is read and tested", "a large model takes its time; nothing else has begun"),
    "warm start": lambda w, s: ("supervised steps before the first step of reinforcement learning", "fewer of them: warm_start.steps"),
    "commit": lambda w, s: ("the disk is slow or full", "look at free space and load of the disk that holds the run folder"),
    "checkpoint": lambda w, s: ("a checkpoint is written", "rarer ones: run.checkpoint_every; or a faster disk"),
    "load": lambda w, s: ("the engines take over a new version", "look again in a few seconds"),
    "publish": lambda w, s: ("the new version is written to shared memory", "look at free space in /dev/shm"),
}  # fmt: skip
