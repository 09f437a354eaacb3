"""What can go wrong with a run folder: each error names the file, the limit and the fix."""

from __future__ import annotations

import difflib
import json
from pathlib import Path

from quintain.types import QuintainError


class NotARun(QuintainError):
    """The folder is not a run folder, or one is there already."""


class RunLocked(QuintainError):
    """Another process writes to this run."""


class RunMoved(QuintainError):
    """The folder of a run is no longer where it was when the run began or went on."""


class CorruptLedger(QuintainError):
    """Bytes that were durable have changed or are gone; the message names segment and offset."""


class CorruptCheckpoint(QuintainError):
    """A finished checkpoint cannot be read; the message names the file and a step to continue from."""


class DiskFull(QuintainError):
    """There is no room for what must be written; nothing committed is lost, and the same call may be repeated."""


class ReadOnlyRun(QuintainError):
    """The run was opened for reading, or its folder cannot be written to."""


class MissingBlob(QuintainError):
    """No readable blob has this hash."""


def no_run(path: str | Path, marker: str, error: Exception) -> NotARun:
    """The error for a path whose `marker` could not be read: it is damaged or gone, or there never was one."""
    home = Path(path).absolute()
    if (there := (home / marker).exists()) or (home / "segments").is_dir():
        least = json.dumps({"format": 1, "created": int(min(p.stat().st_mtime for p in home.iterdir()))})
        return NotARun(
            f"{home / marker} {f'cannot be read ({error})' if there else 'is gone'}; restore it from a copy, or, where there is none and "
            f"nobody has edited config.toml since the run last began, write {least} into it: `doctor --repair` does not, as the settings "
            "and the words that the run began with were there alone, and a resume no longer sees that they have changed"
        )
    near = nearest_run(path, marker)
    lacking = f"it has no {marker}" if home.is_dir() else "there is no such folder"
    return NotARun(
        f"{home} is not a run folder: {lacking}; {f'did you mean {near}?' if near else '`quintain train` makes one'}"
    )


def nearest_run(path: str | Path, marker: str = "run.json") -> Path | None:
    """The run that is most likely meant by a path that is none: its folder for a file in it, else one that is spelled alike.

    Args:
        path: as it was given; a bare name is also looked for in the folder `runs`.
        marker: the file that makes a folder a run.
    """
    path = Path(path)
    if (path.parent / marker).is_file():
        return path.parent
    places = [path.parent, *([Path("runs")] if path.parent == Path() else [])]
    runs = {found.parent.name.lower(): found.parent for place in places for found in sorted(place.glob(f"*/{marker}"))}
    near = difflib.get_close_matches(path.name.lower(), runs, n=1, cutoff=0.5)
    return runs[near[0]] if near else None
