"""The reaper knows the processes of one private folder, by their environment or by what they write, and leaves all others alone."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil

from quintain.runtime import reaper

HANG = "import sys; f = open(sys.argv[1], 'w') if sys.argv[1:] else None; print(flush=True); sys.stdin.read()"


def start(name: str, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    command = [name, "-c", HANG, *arguments]
    process = subprocess.Popen(
        command,
        executable=sys.executable,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **environment},
    )
    process.stdout.readline()  # it is up
    return process


def test_the_processes_of_a_room_are_known_and_ended_and_no_others(tmp_path):
    room = tmp_path / "room"
    room.mkdir()
    by_mark = start("ray::IDLE", **{reaper.MARK: str(room)})
    by_file = start("ray::DashboardAgent", str(room / "log"))
    other_room = start("ray::IDLE", **{reaper.MARK: f"{room}2"})
    no_ray = start("tracker", **{reaper.MARK: str(room)})
    all_of_them = [by_mark, by_file, other_room, no_ray]
    try:
        assert {p.pid for p in reaper.of_room(room)} == {by_mark.pid, by_file.pid}
        assert reaper.reap(room, patience_s=0.1) == 2
        assert not any(psutil.pid_exists(p.pid) and p.poll() is None for p in (by_mark, by_file))
        assert other_room.poll() is None and no_ray.poll() is None
    finally:
        for process in all_of_them:
            process.kill()
            process.communicate()
