"""`quintain show RUN [ID]`: a trajectory turn by turn, with the probability of what the policy said."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path

from quintain.types import Group, Kind, Node, Trajectory


def main(arguments: list[str]) -> int:
    """Print one trajectory, or list those that the run kept."""
    parser = argparse.ArgumentParser(prog="quintain show", description=__doc__)
    parser.add_argument("run", type=Path, help="a run folder")
    parser.add_argument(
        "id", nargs="?", default="", help="trajectory id, such as 3.0 (ticket.member); the last one if left out"
    )
    parser.add_argument("--step", type=int, help="only this step")
    parser.add_argument("--list", action="store_true", help="list ids, rewards and stops")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_intermixed_args(arguments)
    from quintain import codec
    from quintain.ledger import RunDir
    from quintain.registry import UnknownName

    with RunDir.open(given.run) as store:
        kept = [(g, t) for g in store.groups(step=given.step) for t in g.trajectories]
    if given.list:
        for group, t in kept:
            print(f"{t.id:<12} {group.task.key:<32} reward {t.reward:<6.3g} turns {t.turns:<3} {t.stop}")
        return 0
    found = [(g, t) for g, t in kept if t.id == given.id or not given.id]
    if not found:
        there = (
            f"the run kept {len(kept)}, {kept[0][1].id} to {kept[-1][1].id}; --list names them"
            if kept
            else "none was kept"
        )
        raise UnknownName(f"there is no trajectory {given.id!r}: {there}")
    group, trajectory = found[-1]
    if given.json:
        print(json.dumps({"task": codec.encode(group.task), "trajectory": codec.encode(trajectory)}))
        return 0
    for line in lines(group, trajectory, colour=sys.stdout.isatty()):
        print(line)
    return 0


def lines(group: Group, trajectory: Trajectory, colour: bool = False) -> Iterator[str]:
    """The trajectory as text: each message, and under what was sampled its probability, advantage and version."""
    t = trajectory
    yield f"{t.id}   task {group.task.key}   reward {t.reward:g} {dict(t.rewards)}   {t.stop} after {t.turns} turns"
    turn = 0
    for i, node in enumerate(t.nodes):
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
            yield _told(node)
    for event in t.events:
        yield f"event: {event}"


def _told(node: Node) -> str:
    return "\n".join(f"    {line}" for line in node.text.splitlines()) or "    (nothing)"
