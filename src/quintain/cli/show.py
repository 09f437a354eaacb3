"""`quintain show RUN [ID]`: a trajectory turn by turn, with the probability of what the policy said."""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quintain.types import Group, Kind, Node, QuintainError, Role, Stop, Trajectory
from quintain.worlds.kernel import Facts

STOPS = {
    Stop.done: "the env says that it is over",
    Stop.truncated_turns: "no turns were left",
    Stop.truncated_tokens: "no tokens were left, of the answer or of the context",
    Stop.parse_error: "an action could not be read, which ends episodes here",
    Stop.timeout: "env or engine missed the deadline",
    Stop.cancelled: "the run asked it to end",
    Stop.crashed: "the env failed",
    Stop.aborted: "an answer was interrupted",
}


def main(arguments: list[str]) -> int:
    """Print one trajectory, or list those that the run kept."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="quintain show", description=__doc__)
    parser.add_argument("run", type=Path, help="a run folder")
    parser.add_argument(
        "id", nargs="?", default="", help="trajectory id, such as 3.0 (ticket.member); the last one if left out"
    )
    parser.add_argument("--step", type=int, help="only what this step trained on or dropped")
    parser.add_argument("--list", action="store_true", help="list ids, rewards and stops")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_intermixed_args(arguments)
    from quintain import codec
    from quintain.registry import UnknownName

    kept, lacking = _kept(given.run, given.step)
    if given.list:
        kept.sort(key=lambda pair: pair[0].ticket)  # they are written as they are trained on
        print(json.dumps(_rows(kept), indent=1) if given.json else "\n".join(_listed(kept)) or lacking)
        return 0
    if not kept:
        raise UnknownName(lacking)
    found = [(g, t) for g, t in kept if t.id == given.id or not given.id]
    if not found:
        raise UnknownName(
            f"there is no trajectory {given.id!r}: the run kept {len(kept)}, such as {kept[-1][1].id}; --list names them"
        )
    group, trajectory = found[-1]
    if given.json:
        print(json.dumps({"task": codec.encode(group.task), "trajectory": codec.encode(trajectory)}))
        return 0
    colour = sys.stdout.isatty()
    for line in lines(group, trajectory, colour=colour):
        print(line)
    print()
    for line in legend(group, trajectory, words=_in_words(given.run)):
        print(f"\x1b[2m{line}\x1b[0m" if colour else line)
    return 0


def _kept(run: Path, only: int | None) -> tuple[list[tuple[Group, Trajectory]], str]:
    """The trajectories of a run, or of one of its steps, and what to say if there are none.

    Raises:
        UnknownName: there is no such step, or it has none where others may.
    """
    from quintain.ledger import RunDir
    from quintain.ledger.audit import ticket_of
    from quintain.registry import UnknownName

    with RunDir.open(run) as store:
        groups = list(store.groups(step=only))
        if only is not None:  # what a gate or the window left out is nowhere else to be seen
            groups += store.groups(
                tickets=[ticket_of(line.event.payload) for line in store.lines(["dropped"], step=only)]
            )
        kept = [(g, t) for g in groups for t in g.trajectories]
        steps = [step for step, _ in store.metrics()] if not kept and only is not None else []
        off = "" if kept else _off(store)
    if steps and only not in steps:
        raise UnknownName(f"there is no step {only}; {run} has the steps {min(steps)} to {max(steps)}")
    if steps and not off:
        raise UnknownName(
            f"step {only} has no trajectory: it trained and dropped no group, or run.record kept none of them; `quintain show "
            f"{shlex.quote(str(run))} --list` has those of other steps"
        )
    return kept, off or f"{run} has no trajectory: no episode is over yet"


def _in_words(run: Path) -> bool:
    """Whether a run is played in style words, as far as its config can be read."""
    from quintain import config as configs

    try:
        return configs.make(run / "config.toml").env.scaffold.get("style") == "words"
    except (QuintainError, OSError):
        return False


def _off(store: Any) -> str:
    """What to say of a run that keeps no trajectory, and what would keep some; "" where its config keeps them, or cannot be read."""
    from quintain import config as configs

    try:
        record = configs.make(store.path / "config.toml").run.record
    except (QuintainError, OSError):
        return ""
    if record != "none":
        return ""
    return (
        f"{store.path} has no trajectory, as run.record is 'none'; this one keeps those of the steps to come: "
        f"quintain train --resume {shlex.quote(str(store.path))} run.record=all"
    )


def _rows(kept: Sequence[tuple[Group, Trajectory]]) -> list[dict[str, Any]]:
    """What a list of trajectories tells of each."""
    return [
        {"id": t.id, "task": g.task.key, "reward": t.reward, "turns": t.turns, "stop": str(t.stop), **_rival(g)}
        for g, t in kept
    ]


def _listed(kept: Sequence[tuple[Group, Trajectory]]) -> Iterator[str]:
    for group, t in kept:
        against = "".join(f"   against {who}" for who in _rival(group).values())
        yield f"{t.id:<12} {group.task.key:<32} reward {t.reward:<6.3g} turns {t.turns:<3} {t.stop}{against}"


def _rival(group: Group) -> dict[str, str]:
    """Who played the other seats, if that was not the policy."""
    from quintain.runtime.opponents import AGAINST

    return {AGAINST: group.tags[AGAINST]} if AGAINST in group.tags else {}


def lines(group: Group, trajectory: Trajectory, colour: bool = False) -> Iterator[str]:
    """The trajectory as text: each message, and under what was sampled its probability, advantage and version."""
    t = trajectory
    parts = f" {dict(t.rewards)}" if t.rewards else ""
    against = "".join(f"   against {who}" for who in _rival(group).values())
    turns = f"{t.turns} turn{'' if t.turns == 1 else 's'}"
    yield f"{t.id}   task {group.task.key}   reward {t.reward:g}{parts}   {t.stop} after {turns}{against}"
    turn, turned = 0, turns_off(t)
    for i, node in enumerate(t.nodes):
        if i in turned:
            yield f"-- {turned[i]}"
        if node.kind is Kind.sampled:
            turn += 1
            chance = math.exp(sum(node.logprobs)) if node.tokens else 1.0
            version = node.spans[-1].version if node.spans else 0
            rows = t.streams.get("advantage")
            gain = f"  advantage {rows[i][0]:+.2f}" if rows and rows[i] else ""
            reward = (
                f"  reward {t.turn_rewards[turn - 1]:g}"
                if turn <= len(t.turn_rewards) and t.turn_rewards[turn - 1]
                else ""
            )
            said = f"\x1b[1;32m{node.text}\x1b[0m" if colour else node.text
            yield f"turn {turn}: {said}    (p {chance:.3f}, {len(node.tokens)} tokens, version {version}{gain}{reward})"
        else:
            yield _told(role_of(node, turned) + node.text)
    for event in t.events:
        yield f"event: {event}"


def turns_off(t: Trajectory) -> dict[int, str]:
    """The nodes that do not go on from the one before them, as in the tree of an agent's requests, and what they go on from.

    Special cases: empty where the nodes are one conversation.
    """
    said: list[int] = []  # the nodes of the turns
    after: dict[int, int] = {}  # the first turn that was said behind a node
    found: dict[int, str] = {}
    talks: dict[int, int] = {}  # the conversation of each node, by number
    for i, node in enumerate(t.nodes):
        up = node.parent
        talks[i] = talks[up] if up is not None else 1 + max(talks.values(), default=0)
        if up is None and i:
            found[i] = f"a new conversation, number {talks[i]}"
        elif up is not None and up != i - 1:
            turn = after.get(up)
            if up in said:
                found[i] = f"goes on from turn {1 + said.index(up)}"
            elif turn is None:
                found[i] = f"goes on in conversation {talks[i]}"
            elif node.kind is Kind.sampled and t.nodes[said[turn - 1]].parent == up:
                found[i] = f"another answer to what turn {turn} answers"
            else:
                found[i] = f"has the same opening as turn {turn}"
        if node.kind is Kind.sampled:
            said.append(i)
            for each in t.path(i):
                after.setdefault(each, len(said))
    return found


def role_of(node: Node, turned: Mapping[int, str]) -> str:
    """Whose message a node is that the policy did not say: of a tree (see `turns_off`), or where it stands for the policy's own."""
    own = node.role is Role.assistant and node.kind is not Kind.forced
    return f"{node.role}: " if turned or own else ""


def legend(group: Group, trajectory: Trajectory, *, words: bool = False) -> Iterator[str]:
    """What stands where in `lines`, as far as this trajectory has it, and what it does not hold: rules, and signs if it is in `words`."""
    t = trajectory
    yield f"{t.id}: ticket.member, of the group that tried the same task; {t.stop}: {STOPS[t.stop]}"
    yield "turn: what the policy said; p: how likely its tokens were, all together; version: step of the weights that drew them"
    if "advantage" in t.streams:
        yield "advantage: how much better than expected, by the rule of the algorithm: what the turn was trained on"
    if any(t.turn_rewards):
        yield "reward: what the turn earned; the first line has the sum, and its parts by name"
    if turns_off(t):
        yield "--: what follows does not go on from the lines above it, but as it says; before what was shown: whose message it was"
    yield "indented: what the policy was shown" + ("; event: what else happened, in order" if t.events else "")
    shown = next((node.text for node in t.nodes if node.kind is not Kind.sampled), "")
    facts = _facts(group.task.env)
    if facts is not None and facts.rules not in shown:
        yield "\n  ".join((f"{facts.name}, which this policy learnt without its rules:", *facts.rules.splitlines()))
        if words:
            yield "words: signs, most with their place (on a map row and column, from 0); first all of them, then what may have changed"


def _facts(world: str) -> Facts | None:
    """Those of a world of ours; one of the user's is known only where its file is imported."""
    from quintain.envs.world import world_of
    from quintain.registry import names

    return world_of(world).facts if world in names("world") else None


def _told(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines()) or "    (nothing)"
