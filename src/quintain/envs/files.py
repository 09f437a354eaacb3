"""Files that are there whole or not at all, and a full disk in words."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from quintain.types import QuintainError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class CannotWrite(QuintainError):
    """There is no room for what must be written, or something else lies where it should be."""


@contextlib.contextmanager
def whole(path: Path) -> Iterator[TextIO]:
    """A new text file that gets its name once all is written and synced; what is interrupted leaves none of that name.

    Raises:
        CannotWrite: the disk is full, or a file of that name is there.

    Example:
        >>> path = Path(tempfile.mkdtemp()) / "new" / "rows.jsonl"
        >>> with whole(path) as file:
        ...     count = file.write("one"), path.exists()
        >>> count, path.read_text()
        ((3, False), 'one')
    """
    absent(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, spare = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with room_for(path), open(fd, "w", encoding="utf-8") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), 0o666 & ~_umask())  # a temporary file is its owner's alone
            os.fsync(file.fileno())
        absent(path)
        os.replace(spare, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(spare)
        raise


def absent(path: Path) -> None:
    """Refuse a path where something lies.

    Raises:
        CannotWrite: it is taken.
    """
    if os.path.lexists(path):
        raise CannotWrite(f"{path} is there already; choose another file")


@contextlib.contextmanager
def room_for(path: Path | str) -> Iterator[None]:
    """Turn a refusal for want of space into an error that says what to do.

    Raises:
        CannotWrite: no space, quota or file size is left.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise CannotWrite(f"{path}: {error.strerror}; nothing is kept: make space, or write elsewhere") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
