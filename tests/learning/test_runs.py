"""Every alias trains in a whole run: played by the engine, audited, credited, learned from, proved, written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from quintain.config import make
from quintain.ledger import RunDir
from quintain.registry import Entry, entries
from quintain.runtime.assemble import play

pytestmark = pytest.mark.learning

TWO_STEPS = ("run.steps=2", "run.groups_per_step=4", "eval.instances=0")
HINT = ("rollout.options.hint.text=up", "rollout.options.hint.share=0.5", "rollout.options.hint.critique=left")


@pytest.mark.parametrize("entry", entries("algorithm"), ids=lambda e: e.name)
def test_two_steps_of_a_whole_run(entry: Entry, tmp_path: Path) -> None:
    algorithm = {"name": entry.name, "options": entry.tags.get("example", {})}
    hints = HINT if "rewrites" in entry.tags else ()
    config = make("tiny", {"algorithm": algorithm}, overrides=[*TWO_STEPS, *hints])
    RunDir.create(tmp_path / "run", config.toml(full=True)).close()
    assert play(config, tmp_path / "run")["step"] == 2
