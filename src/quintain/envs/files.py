"""Files that are there whole or not at all, and a full disk in words."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO, TypeVar

from quintain.types import QuintainError

T = TypeVar("T")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class CannotWrite(QuintainError):
    """There is no room for what must be written, its folder takes no files, or something else lies where it should be."""


@contextlib.contextmanager
def whole(path: Path) -> Iterator[TextIO]:
    """A new text file that gets its name once all is written and synced; what is interrupted leaves none of that name.

    Raises:
        CannotWrite: the disk is full, the folder cannot be written, or a file of that name is there.

    Example:
        >>> path = Path(tempfile.mkdtemp()) / "new" / "rows.jsonl"
        >>> with whole(path) as file:
        ...     count = file.write("one"), path.exists()
        >>> count, path.read_text()
        ((3, False), 'one')
    """
    absent(path)
    fd, spare = beside(path, tempfile.mkstemp)
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


def beside(path: Path, make: Callable[..., T]) -> T:
    """What `make` of `tempfile` makes beside `path`; the folder is made if need be.

    Raises:
        CannotWrite: the folder cannot be made or written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return make(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise CannotWrite(
            f"{path}: the folder {path.parent} cannot be written ({error.strerror}); write elsewhere"
        ) from error


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
