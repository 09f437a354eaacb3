"""Runs whose episodes are played by processes of their own: lag, deaths, orphans, weights, poison."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import psutil
import pytest

from quintain import config as configs
from quintain.cli import main
from quintain.cli.train import run
from quintain.ledger import RunDir, audit
from quintain.runtime.crew import ActorError

QUIET = ["eval.instances=0", "run.steps=6", "run.checkpoint_every=2", "runtime.actors=2", "run.max_lag=2"]
MAIN = "quintain.runtime.actor"


def prepare(folder: Path, *overrides: str) -> tuple[configs.Config, Path]:
    config = configs.make("tiny", overrides=[*QUIET, f"run.folder={folder}", *overrides])
    path = folder / config.run.name
    RunDir.create(path, config.toml(full=True)).close()
    return config, path


def actors_of(path: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = process.info["cmdline"] or []
        if MAIN in line and str(path) in line:
            found.append(process)
    return found


@pytest.mark.slow
def test_a_run_with_actors_trains_within_its_lag_and_leaves_nobody_behind(tmp_path):
    config, path = prepare(tmp_path, "eval.instances=20")
    assert run(config, path, resume=False) == 0
    with RunDir.open(path) as store:
        books = audit(store)
        rows = [m for _, m in store.metrics()]
        groups = [g for step in range(6) for g in store.packed(step=step)]
        evals = [e.payload["eval/episodes"] for e in store.events(["eval"])]
    assert books.ok and books.issued == 6 * 8 and not books.pending and len(rows) == 6
    assert 0 < max(m["lag_max"] for m in rows) <= 2, "playing and learning overlap"
    assert max(row.newest for g in groups for row in g.rows) > 0, "actors play with what was published"
    assert evals == [20, 20]
    assert not actors_of(path)
    config = configs.make(path / "config.toml", overrides=["run.steps=8"])
    assert run(config, path, resume=True) == 0
    with RunDir.open(path) as store:
        assert audit(store).ok and len(list(store.metrics())) == 8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("update", "more"),
    [
        ("in_flight", ["run.over_limit=refill", "run.ahead=16", "run.look=16", "engine.during_update=pause"]),
        ("drain", ["run.over_limit=wait"]),
        ("pinned", ["run.over_limit=withhold", "run.ahead=16", "run.look=16"]),
    ],
)
def test_every_way_to_take_new_weights_and_what_comes_too_late(update, more, tmp_path):
    config, path = prepare(tmp_path, f"engine.update={update}", "run.steps=10", "engine.slots=8", *more)
    assert run(config, path, resume=False) == 0
    with RunDir.open(path) as store:
        books = audit(store)
        rows = [m for _, m in store.metrics()]
        played = [t for step in range(10) for g in store.groups(step=step) for t in g.trajectories]
    assert books.ok and not books.pending and books.trained + books.dropped == books.issued
    assert max(m["lag_max"] for m in rows) <= 2 and all("engine_carried" in m for m in rows[2:])
    late = sum(m["groups_withheld"] + m["groups_refilled_for_lag"] for m in rows)
    assert late <= books.reasons.get("withheld", 0) + books.reasons.get("lag", 0) <= late + 16  # of the last step
    assert sum(m["engine_discarded"] for m in rows) == 0
    versions = [{span.version for node in t.nodes for span in node.spans} for t in played]
    if update == "pinned":
        assert all(len(seen) == 1 for seen in versions) and len(set.union(*versions)) > 2
        assert max(m["engine_versions"] for m in rows) <= 3
    assert update != "drain" or all(len(node.spans) <= 1 for t in played for node in t.nodes)
    assert not actors_of(path)


@pytest.mark.slow
def test_an_actor_that_is_killed_is_replaced_and_nothing_is_lost(tmp_path):
    config, path = prepare(tmp_path, "run.steps=30")
    killed: list[int] = []

    def kill_one(stop: threading.Event) -> None:
        while not stop.wait(0.2) and len(killed) < 2:
            if not list((path / "checkpoints").glob("step-00000[2-9]*")):
                continue
            alive = [p for p in actors_of(path) if p.pid not in killed]
            if alive:
                os.kill(alive[0].pid, signal.SIGKILL)
                killed.append(alive[0].pid)

    stop = threading.Event()
    killer = threading.Thread(target=kill_one, args=(stop,))
    killer.start()
    try:
        assert run(config, path, resume=False) == 0
    finally:
        stop.set()
        killer.join()
    with RunDir.open(path) as store:
        books = audit(store)
        told = [e.payload for e in store.events(["actor"])]
    assert killed and [t["status"] for t in told[: len(killed)]] == [-signal.SIGKILL] * len(told[: len(killed)])
    assert books.ok and books.issued == 30 * 8 and books.trained + books.dropped == books.issued and not books.pending
    assert not actors_of(path)


@pytest.mark.slow
def test_actors_that_cannot_start_end_the_run_with_their_log(tmp_path):
    (tmp_path / "broken.py").write_text(
        "import os, sys\nif 'actor' in sys.argv[0]:\n    raise SystemExit('no luck today')\n"
    )
    config, path = prepare(tmp_path, f'run.imports=["{tmp_path / "broken.py"}"]')
    with pytest.raises(ActorError, match="no luck today"):
        run(config, path, resume=False)
    assert not actors_of(path)


def test_actors_and_ranks_are_not_both_asked_for(tmp_path, capsys):
    assert main(["train", "tiny", "runtime.actors=1", "runtime.processes=2", f"run.folder={tmp_path}"]) == 1
    assert "runtime.processes=1" in capsys.readouterr().err
