"""Whole runs as the command line makes them, and what two of them are compared by."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from quintain import config as configs
from quintain.cli.train import run
from quintain.ledger import RunDir
from quintain.runtime import forks
from quintain.runtime.children import Started
from quintain.runtime.children import begin as begin_process

QUIET = ["eval.instances=0", "run.steps=6", "run.checkpoint_every=2"]


def start(folder: Path, *overrides: str) -> Path:
    """The folder of a run of the recipe `tiny` of six steps without evaluations, unless overridden, played to its end."""
    config = configs.make("tiny", overrides=[*QUIET, f"run.folder={folder}", *overrides])
    path = folder / config.run.name
    RunDir.create(path, config.toml(full=True)).close()
    assert run(config, path, resume=False) == 0
    return path


def begin(out: Path, *words: str) -> Started:
    """`quintain WORDS` as a process that prints into the file `out`. It need not import what a test before has: it is forked."""
    forks.ready()
    with out.open("wb") as log:
        return begin_process("quintain.cli", *words, log=log)


@contextlib.contextmanager
def forking(modules: Sequence[str] = forks.PRELOADED) -> Iterator[forks.Server]:
    """A fork server with the environment of this moment, which processes are split off from until this ends."""
    with pytest.MonkeyPatch.context() as patch:
        server = forks.Server(modules)
        patch.setattr(forks._Known, "server", server)
        patch.setattr(forks._Known, "address", server.address)
        patch.setattr(forks._Known, "environ", server.environ)
        patch.setattr(forks._Known, "answered", False)
        try:
            yield server
        finally:
            server.close()
            server.process.kill()
            server.process.wait()


def prints(folder: Path) -> dict[str, str]:
    """Hashes of weights and optimizer of the newest checkpoint."""
    with RunDir.open(folder) as store:
        newest = store.latest_checkpoint()
    assert newest is not None
    files = sorted(p for p in newest.path.iterdir() if p.suffix == ".safetensors")
    assert {p.stem for p in files} == {"weights", "optimizer"}
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in files}
