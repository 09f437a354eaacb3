"""Folders of runs in shared memory: what a killed run left is removed by the next, what lives stays."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path

from quintain.runtime.rooms import PREFIX, SOCKET, clear, deserted, make_room


def bound(shared: Path, name: str, *, listening: bool, age_s: float = 60.0) -> tuple[Path, socket.socket]:
    room = shared / f"{PREFIX}{name}"
    (room / "weights" / "version-3").mkdir(parents=True)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(room / SOCKET))
    if listening:
        server.listen(1)
    then = time.time() - age_s
    os.utime(room / SOCKET, (then, then))
    return room, server


def test_what_a_killed_run_left_is_removed_and_what_lives_stays(tmp_path):
    dead, gone = bound(tmp_path, "dead", listening=True)
    gone.close()
    alive, here = bound(tmp_path, "alive", listening=True)
    new, soon = bound(tmp_path, "new", listening=False, age_s=0.0)
    other = tmp_path / f"{PREFIX}vllm-weights"
    other.mkdir()
    made = make_room(tmp_path)
    assert not dead.exists()
    assert all(folder.exists() for folder in (alive, new, other, made))
    here.close()
    soon.close()


def test_a_socket_that_nobody_accepts_at_is_not_deserted(tmp_path):
    room, server = bound(tmp_path, "busy", listening=True)
    waiting = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(4)]
    for one in waiting:
        one.setblocking(False)
        one.connect_ex(str(room / SOCKET))  # fills the queue of the listener
    assert not deserted(room / SOCKET)
    for one in (*waiting, server):
        one.close()
    assert deserted(room / SOCKET)
    assert deserted(tmp_path / "never")


def test_a_room_whose_socket_closes_late_is_cleared_and_one_that_lives_is_not(tmp_path):
    room, server = bound(tmp_path, "closing", listening=True)
    assert not clear(room / SOCKET, patience_s=0.1)
    assert room.exists()
    timer = threading.Timer(0.2, server.close)
    timer.start()
    assert clear(room / SOCKET, patience_s=30.0)
    assert not room.exists()
    timer.join()
