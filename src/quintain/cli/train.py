"""`quintain train [RECIPE|FILE.toml] [key=value...]`: train an agent; `--resume RUN` continues one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from quintain import config as configs
from quintain.cli.args import sources
from quintain.registry import require_extra


def main(arguments: list[str]) -> int:
    """Start or continue a run and show it."""
    parser = argparse.ArgumentParser(prog="quintain train", description=__doc__)
    parser.add_argument(
        "items", nargs="*", metavar="RECIPE|FILE|key=value", help="`quintain list recipes` names recipes"
    )
    parser.add_argument("--resume", metavar="RUN", type=Path, help="continue the run in this folder")
    parser.add_argument(
        "--from", dest="step", type=int, help="with --resume: continue from the checkpoint of this step"
    )
    parser.add_argument("--fresh", action="store_true", help="delete a run of the same name first")
    given = parser.parse_intermixed_args(arguments)
    require_extra("train", "torch", "transformers", "safetensors")
    from quintain.ledger import RunDir

    if given.resume:
        with RunDir.open(given.resume, "a") as store:
            store.rewind(store.latest_checkpoint(given.step))  # what came after it is played again
            config = configs.make(store.path / "config.toml", overrides=sources(given.items)[1])
        return run(config, given.resume, resume=True)
    files, overrides = sources(given.items)
    config = configs.make(*files, overrides=overrides)
    folder = Path(config.run.folder) / config.run.name
    if given.fresh and (folder / "run.json").exists():
        import shutil

        shutil.rmtree(folder)
    folder = unused(folder)
    config.run.name = folder.name
    RunDir.create(folder, config.toml(full=True)).close()
    return run(config, folder, resume=False)


def unused(folder: Path) -> Path:
    """`folder`, or folder-2, folder-3... if a run is there already: a new run never touches an old one."""
    number, free = 1, folder
    while (free / "run.json").exists():
        number += 1
        free = folder.with_name(f"{folder.name}-{number}")
    return free


def run(config: configs.Config, folder: Path, *, resume: bool) -> int:
    """Train in this process and the ranks that the config asks for, with the live table and the config's sinks."""
    from quintain.cli.live import screen
    from quintain.cli.track import trackers
    from quintain.runtime.assemble import play
    from quintain.runtime.launch import ranks
    from quintain.runtime.signals import DRAINED, Drain

    shown = screen(config.run.steps, f"{config.env.name}  {config.algorithm.name}  {folder}")
    sinks: list[Any] = [shown, *trackers(config.track.sinks, folder)]
    say = shown.say
    count = config.runtime.processes
    say(f"run folder {folder}; {count} process{'es' if count > 1 else ''}")
    running: list[Any] = []

    def drain(reason: str) -> None:
        for one in running:
            one.drain()

    try:
        with (
            Drain(call=drain),
            ranks(folder, count, resume=resume) as place,
        ):
            end = play(config, folder, place, resume=resume, sinks=sinks, say=say, ready=running.append)
        for name, value in end["scores"].items():
            say(f"{name} {value:.3f}")
        drained = end["reason"] == "drained"
        say(f"{'stopped' if drained else 'done'} at step {end['step']}: {folder}")
        if drained:
            say(f"continue with: quintain train --resume {folder}")
        else:
            say(f"look at it with: quintain report {folder}")
    finally:
        for sink in sinks:
            sink.close()
        sys.stdout.flush()
    return DRAINED if drained else 0
