"""One RL step on multi-turn Sokoban: ours against TRL's GRPOTrainer with a hand-written rollout function.

Same world, texts and tokens (16 cells and a mark, then a move and an end: 19 tokens a turn, 10 turns, the whole history
kept), same 0.86M model and start weights (a short imitation of the oracle), same 16 tasks x 8 episodes a step in the
same order, T=1, AdamW at one rate, GRPO with a token mean, one update a step, one thread. Each side is a process of its
own; they take turns. The first step of a process warms it and is not counted. Each side is as its users have it: a run of ours
keeps freed memory and freezes what the garbage collector need not look at, TRL does neither.

Ours: `all` trains every group, as TRL does; `shipped` leaves out groups whose rewards are all equal, as our recipes do.
TRL: `turns` calls `model.generate` once a turn on the episodes that still run; `cache` carries the keys and values over
turns by hand, which TRL does not do by itself; each with 128 and with 32 rows a device batch. Each figure is compared with
the better of the two, for step, rollout and peak each on its own.
Arguments: counted steps of a process, rounds.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
STEPS, ROUNDS = 5, 2
SIDES = {
    "all": ["_rl_ours.py", "all"],
    "shipped": ["_rl_ours.py", "shipped"],
}
PEERS = {f"{how}-{rows}": ["_rl_trl.py", how, str(rows)] for how in ("turns", "cache") for rows in (128, 32)}
HOW = {"turns": "TRL calling generate once a turn", "cache": "TRL with a KV cache carried by hand"}
WHY = {
    "peak": "0.35 GiB of either peak are imports, 0.13 GiB of ours keys and values of 128 slots; next: let go of them while "
    "the learner works, smaller forward passes (learner.micro_tokens)",
    "cache": "a cache carried by hand does what our slots do, and matrix products run at the processor's speed on both sides; "
    "the rest is packing, equal prefixes and the last layer; next: share the attention of equal prefixes",
}
Line = dict[str, float]


def child(arguments: Sequence[str]) -> list[Line]:
    """Run one side and read its lines."""
    env = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TRL_EXPERIMENTAL_SILENCE": "1"}
    done = subprocess.run(
        [sys.executable, HERE / arguments[0], *arguments[1:]], stdout=subprocess.PIPE, text=True, env=env
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed with status {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def measure(steps: int, rounds: int) -> dict[str, list[Line]]:
    """The lines of every side: counted steps, each with the peak memory of its process."""
    out: dict[str, list[Line]] = {side: [] for side in [*SIDES, *PEERS]}
    with tempfile.TemporaryDirectory() as folder:
        child(["_rl_ours.py", "warm", folder])
        for number in range(rounds):
            for side, command in (SIDES | PEERS).items():
                *lines, last = child([*command, folder, str(steps + 1)])
                assert len(lines) == steps + 1, f"{side} took {len(lines)} steps"
                out[side] += [line | last for line in lines[1:]]
                print(json.dumps({"round": number, "side": side, **summary(lines[1:]), **last}), flush=True)
    return out


def summary(lines: list[Line]) -> Line:
    """Medians over steps."""
    names = ("step_s", "step_cpu", "rollout_s", "tokens_context", "reward")
    return {name: statistics.median(line[name] for line in lines) for name in names}


def compared(s: dict[str, Line], how: str, told: str) -> list[dict[str, object]]:
    """The figures against one kind of rollout function."""
    rows: list[dict[str, object]] = []
    for name, side, what, least in (
        ("RL step on multi-turn Sokoban, s, same groups trained", "all", "step_s", 2.5),
        ("rollout of that step, s", "all", "rollout_s", 5.0),
        ("peak memory of that run, MiB", "all", "peak", 2.0),
        ("RL step as shipped (groups of equal rewards dropped), s", "shipped", "step_s", None),
    ):
        best = min((p for p in PEERS if p.startswith(how)), key=lambda peer, w=what: s[peer][w])
        ours, peer = s[side][what], s[best][what]
        row = {"name": f"{name}, against {told}", "ours": ours, "peer": peer, "ratio": peer / ours}
        holds = peer >= (least or 0) * ours
        why = "" if holds else f"; missed: {WHY['peak' if what == 'peak' else how]}"
        rows.append(row | {"target": f">= {least:g}x" if least else "given", "holds": holds, "note": f"{best}{why}"})
    return rows


def main() -> None:
    """Measure and print the figures."""
    if importlib.util.find_spec("trl") is None:
        raise SystemExit("the peer is missing: pip install 'quintain[bench]', or `make setup-bench`")
    steps, rounds = (int(a) for a in (sys.argv[1:] + [str(STEPS), str(ROUNDS)][len(sys.argv) - 1 :]))
    found = measure(steps, rounds)
    s = {side: summary(lines) | {"peak": max(line["peak_mib"] for line in lines)} for side, lines in found.items()}
    facts = [
        f"{side}: {v['step_s']:.2f} s ({v['rollout_s']:.2f} rollout; {v['step_cpu']:.2f} processor s), "
        f"{v['tokens_context']:,.0f} tokens, reward {v['reward']:.2f}, {v['peak']:,.0f} MiB"
        for side, v in s.items()
    ]
    note = f"medians of {rounds} x {steps} steps, largest peaks; " + "; ".join(facts)
    rows = [row for how, told in HOW.items() for row in compared(s, how, told)]
    rows[0]["note"] += f"; {note}"
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
