"""40 kills -9 at seeded random points of a synchronous run: prompts lost, prompts trained twice, and whether the last weights and
optimizer state equal those of the uninterrupted run, byte for byte.

A kill comes 0 to 4 s after the process has begun to load its checkpoint, so it meets start-up, rollouts, updates and saves.
"""

from __future__ import annotations

import hashlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from quintain.ledger import RunDir, audit

KILLS, SEED, STEPS = 40, 0, 600
RECIPE = ["tiny", f"run.steps={STEPS}", "run.checkpoint_every=5", "eval.instances=0", "run.record=none"]


def command(folder: Path, *words: str) -> list[str]:
    """The command line of a start."""
    return [sys.executable, "-m", "quintain", "train", *words, f"run.folder={folder}"]


def prints(run: Path) -> dict[str, str]:
    """Hashes of the tensors of the newest checkpoint."""
    with RunDir.open(run) as store:
        newest = store.latest_checkpoint()
    assert newest is not None and newest.step == STEPS
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(newest.path.glob("*.safetensors"))}


def straight(folder: Path) -> Path:
    """The uninterrupted run."""
    subprocess.run(command(folder, *RECIPE), check=True, stdout=subprocess.DEVNULL)
    return folder / "tiny"


def killed(folder: Path) -> tuple[Path, int]:
    """The run that is killed, and how many kills hit a live process."""
    rng, run, hits = random.Random(SEED), folder / "tiny", 0
    words = command(folder, *RECIPE)
    while True:
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            process.stdout.readline()  # "run folder ...": the imports are done
            if hits < KILLS:
                try:
                    process.wait(timeout=rng.uniform(0.0, 4.0))
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    hits += 1
            process.stdout.read()
            status = process.wait()
        print(f"kills {hits}, status {status}", file=sys.stderr, flush=True)
        if status == 0:
            return run, hits
        words = [sys.executable, "-m", "quintain", "train", "--resume", str(run)]


def main() -> None:
    """Run both and compare."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        whole = straight(Path(folder) / "straight")
        run, hits = killed(Path(folder) / "killed")
        with RunDir.open(run) as store:
            books = audit(store)
        with RunDir.open(whole) as store:
            chain = audit(store).chain
        same = prints(whole) == prints(run) and chain == books.chain
    good = hits == KILLS and books.ok and same
    note = (
        f"{hits} kills; lost {len(books.lost)}, trained twice {len(books.duplicated)}; weights and optimizer bitwise "
    )
    note += f"{'equal' if same else 'DIFFERENT'}; {time.perf_counter() - begin:.0f} s"
    row = {"name": "40 kills -9: prompts lost or trained twice", "ours": len(books.lost) + len(books.duplicated)}
    print(json.dumps(row | {"peer": None, "ratio": None, "target": "0, bitwise equal", "holds": good, "note": note}))


if __name__ == "__main__":
    main()
