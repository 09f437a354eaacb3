"""Every change that the ledger makes to a disk goes through one `Disk`, so that a test can let it fail at any point."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from quintain.ledger.errors import DiskFull, ReadOnlyRun

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_LOCKED_DOWN = {errno.EROFS, errno.EACCES, errno.EPERM}


class Disk:
    """Files and folders with explicit syncs. A rename is durable after `sync_folder` of its parent."""

    def open(self, path: Path, *, new: bool = False) -> int:
        """A descriptor for reading and writing; `new` demands that the file is not there yet."""
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if new else 0)
        return os.open(path, flags, 0o644)

    def write(self, fd: int, data: bytes, at: int) -> None:
        """Write all of `data` at byte `at`."""
        view = memoryview(data)
        while view:
            done = os.pwrite(fd, view, at)
            view, at = view[done:], at + done

    def sync(self, fd: int) -> None:
        """Return when the file's bytes and length survive a power cut."""
        os.fdatasync(fd)

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file to `size` bytes."""
        os.ftruncate(fd, size)

    def close(self, fd: int) -> None:
        """Give the descriptor back."""
        os.close(fd)

    def make_folder(self, path: Path) -> None:
        """Make `path` and its missing parents, durably."""
        missing = [p for p in (path, *path.parents) if not p.exists()]
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
            self.sync_folder(folder.parent)

    def sync_folder(self, path: Path) -> None:
        """Return when the names in the folder survive a power cut."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def sync_file(self, path: Path) -> None:
        """Sync a file that other code wrote."""
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def rename(self, old: Path, new: Path) -> None:
        """Give `old` the name `new` in one step; a file of that name is replaced."""
        os.rename(old, new)

    def remove(self, path: Path) -> None:
        """Delete a file, or a folder with all that is in it."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

    def put(self, path: Path, data: bytes) -> None:
        """Make the file `path` hold `data`: after a crash it is there whole, or not changed at all."""
        spare = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        spare.unlink(missing_ok=True)
        try:
            fd = self.open(spare, new=True)
            try:
                self.write(fd, data, 0)
                self.sync(fd)
            finally:
                self.close(fd)
            self.rename(spare, path)
        except OSError:
            spare.unlink(missing_ok=True)
            raise
        self.sync_folder(path.parent)


@contextlib.contextmanager
def explained(path: Path, doing: str) -> Iterator[None]:
    """Turn an operating system's refusal to write into an error that says what to do.

    Raises:
        DiskFull: no space, quota or file size left.
        ReadOnlyRun: the folder may not be written to.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull(
                f"{path}: {error.strerror} while {doing}; all that was committed is safe: make space and go on, "
                f"or stop and continue later with `quintain train --resume`"
            ) from error
        if error.errno in _LOCKED_DOWN:
            raise ReadOnlyRun(
                f"{path}: {error.strerror} while {doing}; give the folder write permission or choose another run folder"
            ) from error
        raise
