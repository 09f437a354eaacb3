"""The trajectory store: records of 50 KB, half of them compressible, through the run's own ledger with group commits of 16, one writer
process, every commit synced to disk; records/s."""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from pathlib import Path

from quintain.ledger import RunDir, audit
from quintain.ledger.doctor import verify
from quintain.types import Event, Group, Kind, Node, Role, Sampling, Span, Stop, Task, Trajectory

RECORDS, BATCH, SEED, NODES = 1600, 16, 0, 16


def trajectory(rng: random.Random, ticket: int) -> Trajectory:
    """About 50 KB as it lies in the ledger before compression: half noise (ids, logprobs), half text that repeats."""
    nodes = []
    for i in range(NODES):
        tokens = tuple(rng.randrange(150_000) for _ in range(200))
        logprobs = tuple(-rng.random() for _ in tokens)
        common = {"role": Role.assistant, "tokens": tokens, "logprobs": logprobs, "turn": i}
        spans = (Span(start=0, stop=len(tokens), version=0),)
        text = "the agent looks at the door and takes the key " * 34
        nodes.append(
            Node(
                parent=i - 1 if i else None,
                kind=Kind.sampled,
                mask=(True,) * 200,
                spans=spans,
                sampling=Sampling(),
                text=text,
                **common,
            )
        )
    return Trajectory(id=f"{ticket}.0", nodes=tuple(nodes), stop=Stop.done, rewards={"success": 1.0})


def main() -> None:
    """Write the records three times into a run of their own; the median counts. Every byte is read back and proved."""
    rng = random.Random(SEED)
    task = Task(key="t", env="x")
    made = [trajectory(rng, t) for t in range(64)]
    rates, sound, size = [], True, 0
    for _ in range(3):
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
            with RunDir.create(Path(folder) / "run", "seed = 0") as run:
                start = time.perf_counter()
                for ticket in range(RECORDS):
                    group = Group(task=task, trajectories=(made[ticket % 64],), ticket=ticket, version=0)
                    issued = {"ticket": ticket, "task": task, "version": 0}
                    run.append(
                        Event(time=0.0, step=0, actor="run", kind="issued", payload=issued),
                        Event(time=0.0, step=0, actor="run", kind="played", payload={"ticket": ticket, "group": group}),
                    )
                    if ticket % BATCH == BATCH - 1:
                        run.commit()
                rates.append(RECORDS / (time.perf_counter() - start))
                size = sum(p.stat().st_size for p in (Path(folder) / "run" / "segments").rglob("*.seg"))
            found = verify(Path(folder) / "run")
            with RunDir.open(Path(folder) / "run") as run:
                sound &= audit(run).played == RECORDS and not any(f.level == "error" for f in found)
    rate = statistics.median(rates)
    note = f"commits of {BATCH}; {size / RECORDS / 1000:.0f} KB a record on disk; every byte read back: {sound}; three times: "
    note += ", ".join(f"{r:,.0f}" for r in rates)
    row = {"name": "trajectory store: durable records of 50 KB a second", "ours": rate, "peer": None, "ratio": None}
    print(json.dumps(row | {"target": ">= 1,500", "holds": rate >= 1500 and sound, "note": note}))


if __name__ == "__main__":
    main()
