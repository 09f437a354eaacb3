"""A real file system of a few megabytes, in a mount namespace of its own: full, enlarged, and read-only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.chaos

FULL = """
import os, subprocess, sys
from pathlib import Path
from quintain.ledger import DiskFull, ReadOnlyRun, RunDir, audit
from quintain.ledger.doctor import verify
from quintain.types import Event

mount = sys.argv[1]
home = Path(mount, "run")

def event(kind, step, **payload):
    return Event(time=0.0, step=step, actor="full", kind=kind, payload=payload)

def save(folder):
    Path(folder, "weights.bin").write_bytes(os.urandom(400_000))

run = RunDir.create(home, "")
step = refused = saves_refused = 0
grown = False
while step < 60:
    run.append(event("issued", step, ticket=step), event("metrics", step, noise=os.urandom(60_000)))
    while True:
        try:
            run.commit()
            break
        except DiskFull as error:
            refused += 1
            assert "make space" in str(error)
            before = RunDir.open(home)  # readers go on
            assert audit(before).issued == step and audit(before).ok
            assert run.latest_checkpoint() is not None
            subprocess.run(["mount", "-o", "remount,size=12m", mount], check=True)
            grown = True
    step += 1
    if step % 5 == 0:
        good = run.latest_checkpoint()
        try:
            run.checkpoint(step, save)
        except DiskFull:
            saves_refused += 1
            assert run.latest_checkpoint() == good
            assert [p.name for p in run.checkpoints.folder.iterdir() if p.name.startswith(".")] == []
run.close()
assert grown and refused == 1 and saves_refused >= 1, (grown, refused, saves_refused)
with RunDir.open(home) as run:
    assert audit(run).issued == 60 and audit(run).ok
assert [f for f in verify(home) if f.level != "note"] == []

subprocess.run(["mount", "-o", "remount,ro", mount], check=True)
with RunDir.open(home) as run:  # reading needs no writable folder
    assert len(list(run.events(["issued"]))) == 60 and run.latest_checkpoint() is not None
for attempt in (lambda: RunDir.open(home, "a"), lambda: RunDir.create(Path(mount, "other"), "")):
    try:
        attempt()
    except ReadOnlyRun as error:
        assert "write permission" in str(error)
    else:
        raise SystemExit("a read-only folder was opened for writing")
print("all of it holds")
"""


def test_a_small_disk_fills_up_is_enlarged_and_becomes_read_only(tmp_path):
    if not shutil.which("unshare"):
        pytest.skip("unshare (util-linux) is not there to make a mount namespace")
    script = tmp_path / "full.py"
    script.write_text(FULL)
    disk = tmp_path / "disk"
    disk.mkdir()
    inside = f"mount -t tmpfs -o size=3m tmpfs {disk} || exit 77; exec {sys.executable} {script} {disk}"
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", inside],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"no mount namespace here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert "all of it holds" in done.stdout
