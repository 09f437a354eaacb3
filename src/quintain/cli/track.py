"""Sinks beside the ledger: TensorBoard and Weights & Biases, each imported only when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quintain.ports import Sink
from quintain.registry import UnknownName, require_extra, unknown


class TensorBoard:
    """Event files in `RUN/tensorboard`."""

    def __init__(self, folder: Path) -> None:
        require_extra("track", "tensorboard")
        from tensorboard.summary import Writer

        self.writer: Any = Writer(str(folder / "tensorboard"))

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """One scalar per number."""
        for name, value in metrics.items():
            self.writer.add_scalar(name, float(value), step)

    def close(self) -> None:
        """Flush the files."""
        self.writer.close()


class Wandb:
    """A Weights & Biases run; `WANDB_MODE=offline` keeps it on this machine."""

    def __init__(self, folder: Path) -> None:
        require_extra("track", "wandb")
        import wandb  # pyrefly: ignore

        self.run: Any = wandb.init(project="quintain", name=folder.name, dir=str(folder))

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """One log call per step."""
        self.run.log(dict(metrics), step=step)

    def close(self) -> None:
        """Finish the run."""
        self.run.finish()


SINKS = {"tensorboard": TensorBoard, "wandb": Wandb}


def trackers(names: Sequence[str], folder: Path) -> list[Sink]:
    """The sinks of the config.

    Raises:
        UnknownName: no such sink; the nearest match is named.
        MissingExtra: its package is not installed.
    """
    for name in names:
        if name not in SINKS:
            raise UnknownName(unknown("sink in track.sinks:", name, SINKS))
    return [SINKS[name](folder) for name in names]
