"""What the proof of weight syncs and the audit of batches cost, as a share of the step, on KeyDoor 5x5: in one process, and with two
actors whose every sync is asked about. No sync of these runs is at fault, so an alarm ends the benchmark with an error.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from quintain import config as configs
from quintain.cli.train import run
from quintain.ledger import RunDir

STEPS, TARGET = 48, 0.02
COMMON = [f"run.steps={STEPS}", "eval.instances=0", "run.record=none", "runtime.processes=1"]
SETTINGS = {"one process": [], "two actors": ["runtime.actors=2", "run.max_lag=2"]}


def rows(folder: Path, more: list[str]) -> list[dict[str, float]]:
    """The metrics of a run; its first steps, which warm up, are left out."""
    config = configs.make("keydoor", overrides=[*COMMON, *more, f"run.folder={folder}"])
    path = folder / config.run.name
    RunDir.create(path, config.toml(full=True)).close()
    assert run(config, path, resume=False) == 0
    with RunDir.open(path) as store:
        return [dict(m) for _, m in store.metrics()][4:]


def main() -> None:
    """Run each setting once and print the shares."""
    results = []
    for name, more in SETTINGS.items():
        with tempfile.TemporaryDirectory() as folder:
            found = rows(Path(folder), more)
        share = sum(r.get("proof_seconds", 0.0) for r in found) / sum(r["seconds"] for r in found)
        gap = max(r.get("canary_gap_max", 0.0) for r in found)
        results.append(
            {
                "name": f"proof of weight syncs, share of a step, {name}",
                "ours": round(share, 4),
                "peer": None,
                "ratio": None,
                "target": TARGET,
                "holds": share <= TARGET,
                "note": f"{len(found)} steps, 4 canaries, widest gap of healthy canaries {gap:.1e} nats, no alarm",
            }
        )
    print(json.dumps(results))


if __name__ == "__main__":
    main()
