"""What `quintain doctor` says of a run that is going on, in the words of its own status, and of one that was cut off."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quintain.ledger import RunDir
from quintain.ledger.lock import alive, read_holder
from quintain.ledger.stream import lock_path, ranks
from quintain.runtime.chain import BLOCKED_S, SILENT_S, Chain, fold, span
from quintain.runtime.watch import go_on, read_live, told_of
from quintain.serve.desk import recorded

STILL_S = 30.0  # without progress for longer, a run seems stuck
OLD_S = 5.0  # a status that is older is no longer written


def living(folder: Path) -> dict[int, dict[str, Any]]:
    """The ranks whose process holds the lock of its stream: rank to pid, host and start."""
    holders = {rank: read_holder(lock_path(folder.absolute(), rank)) for rank in ranks(folder.absolute())}
    return {rank: holder for rank, holder in holders.items() if alive(holder)}


def look(folder: Path, holders: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """The findings on a living run, in the order in which they are read; the last one says what to do."""
    states = {rank: read_live(folder, rank) for rank in holders}
    states = {rank: s if s and s["pid"] == holders[rank]["pid"] else None for rank, s in states.items()}
    first = min(states)
    found: dict[str, Any] = {"ok": True, "run": [_process(folder, r, holders[r], s) for r, s in states.items()]}
    state = states[first]
    if state is None and (served := _served(folder)) is not None:
        told = f"it is being served: `quintain serve --record` has written {served} ended episodes into it, and ends with Ctrl-C"
        return found | {"likely": told}
    if state is None:
        fix = "it has written no status yet; look again in a few seconds"
        return found | {"likely": f"the run has just begun, or was started by another version: {fix}"}
    chain = fold(state)
    found["step"] = _step(state)
    found["moves"] = _moves(state)
    found["actor"] = [_actor(a) for a in state.get("actors", [])]
    if state.get("learner"):
        found["learner"] = [_rank_of_group(r) for r in state["learner"]]
    found["waits"] = _links(chain)
    for rank, other in states.items():
        if rank != first and other is not None:
            found[f"rank {rank}"] = [_moves(other), *_links(fold(other))]
    verdict, ok = _verdict({r: s for r, s in states.items() if s is not None}, holders)
    return {**found, "ok": ok, "likely": verdict, "status": {"chain": told_of(chain)["chain"], **state}}


def last_words(folder: Path) -> dict[str, Any]:
    """What a run that ended without a word was doing when it was last heard of."""
    state = read_live(folder)
    if state is None or state["state"] == "ended":
        return {}
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(state["time"]))
    if state["state"] == "failed":
        words = f"{when}, step {state.get('step', 0)}: it ended with {state['reason']}"
        return {"end": f"an error: {state['reason'].partition(':')[0]}", "last": words}
    chain = fold(state)
    words = f"{when}, step {state.get('step', 0)}, process {state['pid']}: it was cut off while {chain.line()}"
    return {"last": [words, go_on(folder)]}


def _served(folder: Path) -> int | None:
    with RunDir.open(folder) as store:
        return recorded(store)


def _process(folder: Path, rank: int, holder: Mapping[str, Any], state: Mapping[str, Any] | None) -> str:
    who = f"{folder}" if rank == 0 else f"rank {rank}"
    age = f", for {span(time.time() - state['began'])}" if state else ""
    return f"{who}: process {holder['pid']} on {holder['host']} is alive{age}{_stopped(holder)}"


def _stopped(holder: Mapping[str, Any]) -> str:
    try:
        stat = Path(f"/proc/{holder['pid']}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
    return ", but STOPPED by a signal" if stat in "Tt" else ""


def _step(state: Mapping[str, Any]) -> str:
    if state.get("step") is None:
        return "none yet: the run begins"
    window = state["window"]
    held = f"{window['playing']} groups are played, {window['pending'] - window['playing']} are finished and wait"
    lag = f"max_lag {window['max_lag']}" if window["max_lag"] else "synchronous"
    return f"{state['step']} of {state['steps']} done; {held}; {window['groups_per_step']} make a step ({lag})"


def _moves(state: Mapping[str, Any]) -> str:
    names = {
        "env": "env answers",
        "engine": "turns of the policy",
        "actor": "groups",
        "reward": "groups scored",
        "update": "updates",
    }
    rates = state.get("rates", {})
    told = [f"{_rate(rates[kind])} {name}" for kind, name in names.items() if rates.get(kind)]
    late = time.time() - state["time"]
    idle = state["idle_s"] + (late if late > OLD_S else 0.0)
    last = f"last progress {span(idle)} ago"
    return f"{last}; a second: {', '.join(told)}" if told else last


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def _actor(actor: Mapping[str, Any]) -> str:
    plays = actor["plays"]
    what = (
        f"plays {len(plays)} groups, the oldest (ticket {plays[0]}) since {span(actor['since_s'])}" if plays else "idle"
    )
    number = "spare" if actor["state"] == "spare" else f"{actor['number']}"
    if "pid" not in actor:  # over a cluster it tells of its pool alone
        return f"{number}: of pool {actor.get('pool')}, {actor['state']}; {what}"
    heard = f"heard {span(actor['silent_s'])} ago" if actor["state"] != "starting" else f"since {span(actor['up_s'])}"
    version = "" if actor["version"] is None else f", version {actor['version']}"
    return f"{number}: process {actor['pid']}, {actor['state']}{version}, {heard}; {what}"


def _rank_of_group(rank: Mapping[str, Any]) -> str:
    who = f"process {rank['pid']} on {rank['host']}" if "pid" in rank else "not up yet"
    device = f", {rank['device']}" if "device" in rank else ""
    what = f"{rank['doing']} since {span(rank['since_s'])}" if rank["doing"] else "idle"
    return f"rank {rank['rank']} of pool {rank['pool']}: {who}{device}, {rank['state']}; {what}"


def _links(chain: Chain) -> list[str]:
    return [("   " * depth + ("because " if depth else "")) + str(link) for depth, link in enumerate(chain.links)]


def _advice(chain: Chain) -> str:
    return f"{chain.cause}. What helps: {chain.fix}"


def _verdict(states: Mapping[int, Mapping[str, Any]], holders: Mapping[int, Mapping[str, Any]]) -> tuple[str, bool]:
    """The last line, and whether the run is well."""
    for rank, state in states.items():
        late = time.time() - state["time"]
        if _stopped(holders[rank]):
            pid = holders[rank]["pid"]
            return f"process {pid} was stopped by a signal (SIGSTOP, Ctrl-Z): kill -CONT {pid} lets it go on", False
        if late > OLD_S:
            what = f"the status of rank {rank} is {span(late)} old"
            return f"{what}: its process holds the interpreter in native code, or its disk is full: py-spy dump", False
    state = min(states.values(), key=lambda s: s["rank"])
    chain = fold(state)
    silent = any(a.get("silent_s", 0.0) > SILENT_S for a in state.get("actors", []) if a["state"] != "starting")
    held = state["loop"]["lag_s"] > BLOCKED_S and any(link.who == "the event loop" for link in chain.links)
    others = [s for s in states.values() if s is not state and not any(w["kind"] == "collective" for w in s["waits"])]
    if chain.links[-1].what.startswith("waits for the other ranks") and others:
        chain = fold(others[0])
        told = f"rank {others[0]['rank']} is the one that the others wait for: {_advice(chain)}"
        return told, state["idle_s"] < STILL_S
    if state["idle_s"] < STILL_S and not silent and not held:
        window = state.get("window", {"pending": 0, "playing": 0})  # a run that begins has none yet
        waits = window["pending"] > window["playing"] and not window["playing"]
        slow = " (the window is full: the learner is the slower side)" if waits else ""
        return f"nothing is stuck; most of the time goes to the waits above{slow}", True
    return _advice(chain), state["idle_s"] < STILL_S and not silent
