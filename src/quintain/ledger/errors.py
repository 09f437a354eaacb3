"""What can go wrong with a run folder: each error names the file, the limit and the fix."""

from __future__ import annotations

from quintain.types import QuintainError


class NotARun(QuintainError):
    """The folder is not a run folder, or one is there already."""


class RunLocked(QuintainError):
    """Another process writes to this run."""


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
