"""Our worlds against the same games of Gym-V, MiniGrid, MiniWorld, GEM, TextArena and reasoning-gym: steps per second of one core,
resets included.

Runs in the environment of the peers (`make venv-peers`). Gym-V is in no package index: its pairs are measured where the environment
has it, and left out, which the row of all pairs tells, where it has not. Ours: `Env.step` with parse, world step, full caption and
Feedback, and a 256 px picture of every observation where the peer draws one. The peer: its own step and observation. Random legal moves
on both sides, and the clock stands while they are chosen. In turn, three times each, on seeds that no round before has had, after a
short warm-up on others; the median of each is compared. A single-answer world makes an instance for every step, and so does
reasoning-gym.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from _peer_pairs import NOTES, PAIRS, PICTURED, Pair

SECONDS, WARM, TIMES = 1.0, 0.3, 3
BLOCK = 1 << 20  # seeds of a round
TARGETS = {"picture": 10.0, "text": 2.0}
HAS_GYM_V = find_spec("gym_v") is not None
LACKS = "Gym-V was not installed, so its pairs are not among them"
ELSEWHERE = Path(__file__).parents[1] / ".venv-peers" / "bin" / "python"


def measured(pair: Pair) -> dict[str, Any]:
    """The row of one pair."""
    from _peer_worlds import PLAYERS, SIDE

    from quintain.testing.speed import pace

    peer, name, world, level, why = pair
    kind = "picture" if peer in PICTURED else "text"
    player = PLAYERS[peer](name)
    both = [
        (pace(world, level, SIDE if kind == "picture" else 0, seconds, seed), player.pace(seconds, seed))
        for seconds, seed in [(WARM, 0), *((SECONDS, BLOCK * (1 + i)) for i in range(TIMES))]
    ]
    mine, theirs = (statistics.median(side) for side in zip(*both[1:], strict=True))
    notes = [why or "slower, and not yet profiled"] if mine < theirs else []
    if player.ends["invalid"]:
        notes.append(
            f"{player.ends['invalid']} of the peer's {player.ends['episodes']} episodes end by an invalid move"
        )
    label = f"{world} (level {level}) / {peer} {name.removeprefix(peer + '-')}, steps/s per core, {kind}"
    row = {"name": label, "ours": mine, "peer": theirs, "ratio": mine / theirs, "target": None, "holds": None}
    return {**row, "note": "; ".join(notes)} if notes else row


def summed(kind: str, ratios: list[float]) -> dict[str, Any]:
    """The row of all pairs of one kind."""
    middle, target = statistics.median(ratios), TARGETS[kind]
    lacks = f"; {LACKS}" if kind == "picture" and not HAS_GYM_V else ""
    note = f"{sum(r < 1 for r in ratios)} of {len(ratios)} pairs slower than the peer; {NOTES[kind]}{lacks}"
    row = {"name": f"median of {len(ratios)} pairs with a peer, {kind}", "ours": middle, "peer": 1.0, "ratio": middle}
    return row | {"target": f">= {target:g}x", "holds": middle >= target, "note": note}


def main() -> None:
    """Measure every pair, print a table, and the rows for the page."""
    try:
        import reasoning_gym as _
        import textarena as _  # noqa: F401, F811
    except ImportError:
        if not ELSEWHERE.exists():
            sys.exit("the peers are not installed: make venv-peers")
        os.execv(ELSEWHERE, [str(ELSEWHERE), *sys.argv])
    rows, found = [], {"picture": [], "text": []}
    for pair in PAIRS:
        if pair[0] == "Gym-V" and not HAS_GYM_V:
            continue
        row = measured(pair)
        rows.append(row)
        found["picture" if pair[0] in PICTURED else "text"].append(row["ratio"])
        print(f"{row['name']:90} {row['ours']:>10,.0f} {row['peer']:>10,.0f} {row['ratio']:8.2f}", flush=True)
    rows += [summed(kind, ratios) for kind, ratios in found.items()]
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
