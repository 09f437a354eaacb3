"""One writer at a time; the lock of a dead process is taken over, that of a living one never."""

from __future__ import annotations

import fcntl
import json
import os
import socket

import pytest

from quintain.ledger.errors import RunLocked
from quintain.ledger.lock import Lock, alive, read_holder


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "run" / "segments" / "rank-0"
    folder.mkdir(parents=True)
    return folder / "lock"


def in_child(work):
    """Run `work` in a forked process and give its exit code."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = work() or 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_lock_excludes_others_until_it_is_released(path):
    lock = Lock(path)
    with pytest.raises(RunLocked, match=f"process {os.getpid()} on {socket.gethostname()}"):
        Lock(path)

    def try_it():
        try:
            Lock(path)
        except RunLocked:
            return 5

    assert in_child(try_it) == 5
    lock.release()
    assert read_holder(path) == {}
    Lock(path).release()


def test_the_lock_of_a_process_that_died_is_free(path):
    assert in_child(lambda: Lock(path) and 0) == 0
    holder = read_holder(path)
    assert holder["pid"] != os.getpid() and not alive(holder)
    Lock(path).release()


def test_a_lock_that_an_orphan_still_holds_is_taken_over_from_its_dead_parent(path):
    ready, done = os.pipe(), os.pipe()

    def parent():
        Lock(path)
        if os.fork() == 0:  # inherits the lock and lives on
            os.write(ready[1], b"x")
            os.read(done[0], 1)
            os._exit(0)

    assert in_child(parent) == 0
    os.read(ready[0], 1)
    with open(path) as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # it is held indeed
    lock = Lock(path)
    with pytest.raises(RunLocked):
        Lock(path)
    os.write(done[1], b"x")
    lock.release()
    for fd in (*ready, *done):
        os.close(fd)


def test_who_counts_as_alive(path):
    me = json.loads(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "started": "0"}))
    assert not alive(me)  # the number was used again by another process
    assert alive(me | {"host": "elsewhere"})  # cannot be known from here
    assert not alive({}) and not alive({"host": socket.gethostname(), "pid": 2**22 + 1, "started": "5"})
    path.write_text("no json")
    assert read_holder(path) == {}
