"""The fork server: what it splits off is a process like any other, and who cannot have one gets a fresh process."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from tests.e2e.runs import forking

from quintain.runtime import forks
from quintain.runtime.children import begin
from quintain.runtime.forks import Forked, ForkError, fork

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are for Linux")
PROGRAM = '''
import json, os, random, sys, threading, time, atexit

import numpy as np


def main(words):
    """Tells of itself, reads its standard input, and ends with the status that the first word asks for."""
    told = {"argv": sys.argv, "cwd": os.getcwd(), "session": os.getsid(0) == os.getpid(), "pid": os.getpid()}
    told |= {"signals": [str(__import__("signal").getsignal(n)) for n in (2, 15, 17)], "env": os.environ.get("QUINTAIN_SEEN")}
    told |= {"plain": os.environ.get("SEEN"), "threads": os.environ["OMP_NUM_THREADS"], "draw": np.random.random()}
    told["files"] = [n for n in range(3, 100) if os.path.lexists(f"/proc/self/fd/{n}")]
    told["read"] = os.read(0, 100).decode()
    atexit.register(print, "at exit", flush=True)
    print(json.dumps(told))
    if words[0] == "raise":
        raise KeyError("no luck today")
    if words[0] == "sleep":
        print("asleep", flush=True)
        time.sleep(600)
    threading.Thread(target=lambda: (time.sleep(0.1), print("thread"))).start()
    return int(words[0])
'''


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server of its own that has imported only numpy, and the module that the tests start."""
    (tmp_path / "told.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    with forking(["numpy.random", "no_such_module"]) as made:
        yield made


def told(tmp_path: Path, *words: str, stdin: bool = True, said: bytes = b"hello") -> tuple[Forked, list[str]]:
    """A process that has ended, and its lines."""
    with (tmp_path / "log").open("wb") as log:
        process = fork("told", *words, log=log, stdin=stdin)
    if process.stdin is not None:
        process.stdin.write(said)
        process.stdin.close()
    process.wait(30)
    return process, (tmp_path / "log").read_text().splitlines()


def test_a_fork_is_a_program_of_its_own(server, tmp_path, monkeypatch):
    monkeypatch.setenv("SEEN", "yes")
    process, (first, *rest) = told(tmp_path, "7", "more")
    assert process.returncode == process.poll() == process.wait() == 7
    assert rest == ["thread", "at exit"], "threads are waited for, exit functions run, all is written"
    own = json.loads(first)
    assert own["argv"] == [str(tmp_path / "told.py"), "7", "more"] and own["cwd"] == str(tmp_path)
    assert own["session"] and own["pid"] == process.pid != os.getpid()
    assert own["signals"] == ["<built-in function default_int_handler>", "0", "0"]
    assert own["plain"] == "yes" and own["threads"] == "1" and own["read"] == "hello"
    assert own["files"] == [], "nothing of the server's is held"
    assert json.loads(told(tmp_path, "0")[1][0])["draw"] != own["draw"], "forks do not draw the same"
    assert json.loads(told(tmp_path, "0", stdin=False)[1][0])["read"] == ""


def test_ends_are_told_as_of_any_process(server, tmp_path):
    process, lines = told(tmp_path, "raise")
    assert process.returncode == 1 and "KeyError: 'no luck today'" in lines
    with (tmp_path / "log").open("wb") as log:
        sleeps = fork("told", "sleep", log=log)
    assert sleeps.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        sleeps.wait(0.05)
    seen = [w for w in psutil.Process(sleeps.pid).cmdline() if w]
    sleeps.send_signal(signal.SIGTERM)
    assert sleeps.wait(30) == -signal.SIGTERM
    sleeps.kill()  # nothing happens
    assert seen == [sys.executable, "-m", "told", "sleep"], "ps shows what runs"


def test_all_threads_that_ask_are_told_the_same(server, tmp_path, monkeypatch):
    real = forks.number
    monkeypatch.setattr(forks, "number", lambda line: (time.sleep(0.01), real(line))[1])  # the others come meanwhile
    with (tmp_path / "log").open("wb") as log, ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            process = fork("told", "6", log=log)
            assert {f.result() for f in [pool.submit(process.wait, 30) for _ in range(8)]} == {6}


def test_a_server_that_is_killed_takes_nobody_along_and_is_done_without(server, tmp_path):
    with (tmp_path / "log").open("wb") as log:
        orphan = fork("told", "3", log=log, stdin=True)
        server.process.kill()
        server.process.wait()
        assert orphan.poll() is None and orphan.stdin is not None
        orphan.stdin.close()
        assert orphan.wait(30) == forks.STATUS_LOST, "it ended; nobody could tell how"
        with pytest.raises(ForkError, match="does not answer"):
            fork("told", "3", log=log)
        again = begin("json.tool", "--help", log=log)
        assert isinstance(again, subprocess.Popen) and again.wait(30) == 0


def test_a_server_ends_with_its_starter_once_nobody_needs_it(server, tmp_path):
    with (tmp_path / "log").open("wb") as log:
        process = fork("told", "3", log=log, stdin=True)
    server.close()
    assert server.process.poll() is None, "it has a status to tell"
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(30) == 3 and server.process.wait(30) == 0


def test_another_environment_is_a_fresh_process(server, tmp_path, monkeypatch):
    monkeypatch.setenv("QUINTAIN_SEEN", "yes")
    with (tmp_path / "log").open("wb") as log, pytest.raises(ForkError, match="fits"):
        fork("told", "3", log=log)


def test_nothing_is_begun_for_who_waits_no_longer_and_who_hangs_is_asked_no_more(server, tmp_path, monkeypatch):
    address = forks._Known.address
    assert told(tmp_path, "4")[0].returncode == 4
    monkeypatch.setattr(forks, "_ANSWER_S", 0.2)  # it has imported, as it has answered
    server.process.send_signal(signal.SIGSTOP)
    with (tmp_path / "log").open("wb") as log:
        with pytest.raises(ForkError, match="no answer within 0.2 s"):
            fork("told", "sleep", log=log)
        with pytest.raises(ForkError, match="no fork server"):
            fork("told", "sleep", log=log)
    server.process.send_signal(signal.SIGCONT)
    monkeypatch.setattr(forks, "_ANSWER_S", 60.0)
    monkeypatch.setattr(forks._Known, "address", address)
    assert told(tmp_path, "4")[0].returncode == 4, "the request after it is answered"
    assert [w.cmdline() for w in psutil.Process(server.process.pid).children()] == []


def test_who_is_asked_to_stop_does_not_wait_for_imports(server, tmp_path, monkeypatch):
    monkeypatch.setattr(forks._Known, "answered", False)
    server.process.send_signal(signal.SIGSTOP)  # it imports for ever
    asked = iter([None, KeyboardInterrupt()])

    def check_in() -> None:
        if (stop := next(asked)) is not None:
            raise stop

    with (tmp_path / "log").open("wb") as log, pytest.raises(KeyboardInterrupt):
        fork("told", "sleep", log=log, check_in=check_in)
    server.process.send_signal(signal.SIGCONT)


def test_what_cannot_be_sent_begins_afresh(server, tmp_path, monkeypatch):
    with (tmp_path / "log").open("wb") as log:
        with monkeypatch.context() as with_path, pytest.raises(ForkError, match="cannot be asked"):
            with_path.setattr(sys, "path", [*sys.path, tmp_path])
            fork("told", "3", log=log)
        monkeypatch.setenv("SEEN", os.fsdecode(b"\xff"))
        with pytest.raises(ForkError, match="cannot be asked"):
            fork("told", "3", log=log)
        again = begin("json.tool", "--help", log=log)
        assert isinstance(again, subprocess.Popen) and again.wait(30) == 0


def test_descriptors_of_any_number_are_waited_for(server, tmp_path):
    first, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    ends = [os.pipe() for _ in range(min(600, (first - 100) // 2))]  # `select` takes none from 1,024 on
    try:
        assert max(map(max, ends)) > 1024
        assert told(tmp_path, "4")[0].returncode == 4
    finally:
        for end in ends:
            for fd in end:
                os.close(fd)


def test_a_process_with_threads_is_not_forked(monkeypatch):
    monkeypatch.setattr(forks._Known, "address", "")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    forks.ready()
    assert forks._Known.address == ""


def test_forks_share_the_server_they_came_from(server, tmp_path):
    (tmp_path / "parent.py").write_text(
        "import sys, told\nfrom quintain.runtime import forks\n"
        "def main(words):\n    forks.ready()\n    child = forks.fork('told', '5', log=sys.stdout.buffer)\n"
        "    return child.wait(30) + 10 * (forks._Known.server is None)\n"
    )
    with (tmp_path / "log").open("wb") as log:
        assert fork("parent", log=log).wait(30) == 15


def test_what_ranks_import_leaves_one_thread_and_the_environment_fit():
    code = (
        "import os\nfrom quintain.runtime import forks\nforks._Known.environ = forks._with_threads(os.environ)\n"
        "forks.load()\nassert len(os.listdir('/proc/self/task')) == 1\n"
        "assert forks._decides(forks._with_threads(os.environ)) == forks._decides(forks._Known.environ)\n"
        "import sys\nassert {'torch', 'transformers.modeling_utils', 'quintain.runtime.actor'} <= sys.modules.keys()\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_there_are_no_forks_where_there_is_a_gpu(monkeypatch):
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter([self / "nvidia0"] if "nvidia" in pattern else []))
    monkeypatch.setattr(forks._Known, "address", "")
    assert not forks.possible()
    forks.ready()
    assert forks._Known.address == ""


def test_there_are_no_forks_without_pidfds(monkeypatch):
    def refused(pid):
        raise OSError(38, "not here")

    monkeypatch.setattr(os, "pidfd_open", refused)
    assert not forks.possible()
