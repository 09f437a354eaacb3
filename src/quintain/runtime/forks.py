"""A fork server: one process that has imported what ranks and actors need, and splits one off for each that is to begin.

Importing torch and transformers takes seconds of a core, forking what has imported them some milliseconds. The server is started
while the first process still imports for itself; it runs nothing else, has one thread, and ends with the process that started it.
Who asks keeps a connection open, over which it is told the id and then the status of the process it asked for. Only on Linux, and
only without a GPU, which a process that was forked after its driver was looked at cannot use.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

from quintain.ledger import plain
from quintain.runtime.fork_line import HEAD, ForkError, await_answer, check_peer, exactly, gave_up, number, readable

PRELOADED = (
    "quintain.runtime.assemble",
    "quintain.runtime.rank",
    "quintain.runtime.actor",
    "transformers.modeling_utils",
    "transformers.models.auto.modeling_auto",
    "transformers.conversion_mapping",
)
READ_AT_IMPORT = (
    "PYTHON",
    "OMP_",
    "MKL_",
    "OPENBLAS_",
    "TORCH_",
    "PYTORCH_",
    "CUDA_",
    "HF_",
    "TRANSFORMERS_",
    "QUINTAIN_",
)
OTHER_GPUS = ("/dev/kfd", "/dev/dxg")  # of AMD, and in a Linux under Windows
ROOM = " " * 2000  # the last argument of a server: where a process that it splits off writes its own command line
PROGRAM = "import sys; from quintain.runtime import forks; forks.main(sys.argv[1:])"
STATUS_LOST = 255  # of a process whose server was killed before it could tell
_TELL_S = 5.0  # how long the status of a process that has ended may take to arrive
_IMPORT_S = 120.0  # how long a server may take to import and answer
_ANSWER_S = 10.0  # and to answer once it has


class Forked:
    """A process that a fork server split off: what the owners of a `subprocess.Popen` use of it.

    Args:
        line: the connection to the server.
    """

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self.stdin: IO[bytes] | None = None  # our end of its standard input, if that is a pipe
        self.returncode: int | None = None
        self._asking = threading.Lock()  # the status comes once, and several threads may ask
        self.pid = number(line)
        self._end = os.pidfd_open(self.pid)

    def poll(self) -> int | None:
        """Its status, negative for a signal; None while it runs."""
        with self._asking:
            if self.returncode is None and readable(self._end):
                self._line.settimeout(_TELL_S)
                try:
                    self.returncode = number(self._line)
                except OSError:
                    self.returncode = STATUS_LOST
                self._line.close()
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its status, once it has ended.

        Raises:
            TimeoutExpired: of `subprocess`; it runs on.
        """
        if self.returncode is None and not readable(self._end, timeout):
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        status = self.poll()
        assert status is not None
        return status

    def send_signal(self, sign: int) -> None:
        """Send a signal; nothing happens to one that has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._end, sign)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def __del__(self) -> None:
        if (end := getattr(self, "_end", None)) is not None:
            os.close(end)
        self._line.close()


class Server:
    """The fork server as its starter holds it.

    Args:
        modules: what it imports before it takes requests.
    """

    def __init__(self, modules: Sequence[str] = PRELOADED) -> None:
        self.environ = _with_threads(os.environ)
        self.address = f"\0quintain-{os.urandom(16).hex()}"
        alive, self._alive = os.pipe()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.address)
            listener.listen(64)
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *map(str, (listener.fileno(), alive)), *modules, ROOM],
                env=self.environ,
                stdin=subprocess.DEVNULL,
                pass_fds=[listener.fileno(), alive],
                start_new_session=True,
            )
        os.close(alive)

    def close(self) -> None:
        """Let it end as soon as nobody waits for the status of a process of it; at once if it has split off none."""
        if self._alive >= 0:
            if not (self.address == _Known.address and _Known.answered):
                self.process.kill()
            os.close(self._alive)
            self._alive = -1
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(1)


class _Known:
    """What this process knows of fork servers: one that it started, or the one that it was split off from."""

    server: Server | None = None
    address: str = ""
    environ: Mapping[str, str] = {}  # of that server
    answered = False  # it has imported, and answers at once


def possible() -> bool:
    """Whether processes of this machine may be forked: Linux with pidfds, and no GPU."""
    if sys.platform != "linux" or any(Path("/dev").glob("nvidia[0-9c]*")) or any(map(os.path.exists, OTHER_GPUS)):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


def load(modules: Sequence[str] = PRELOADED) -> None:
    """Import what ranks and actors need; a module that is not installed is left for who needs it."""
    for module in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)


def ready() -> None:
    """Have a fork server start, where there may be one and there is none; returns at once."""
    living = _Known.address and (_Known.server is None or _Known.server.process.poll() is None)
    if (
        living or not possible() or _with_threads(os.environ)["OMP_NUM_THREADS"] != "1"
    ):  # a process with threads cannot be forked
        return
    if _Known.server is not None:
        _Known.server.close()
    _Known.server = Server()
    atexit.register(_Known.server.close)
    _Known.address, _Known.environ, _Known.answered = _Known.server.address, _Known.server.environ, False


def fork(
    module: str, *words: str, log: IO[bytes], stdin: bool = False, check_in: Callable[[], None] = lambda: None
) -> Forked:
    """Split off a process that calls `main(words)` of a module and prints into `log`; it has a session of its own.

    Args:
        module: whose `main` gives a status, or None.
        words: its arguments.
        log: an open file.
        stdin: whether its standard input is a pipe, with our end in `stdin` of what is returned.
        check_in: called again and again while the server still imports; what it raises ends the wait.

    Raises:
        ForkError: there is no server, or it is gone or hangs (it is asked no more then), or this process's environment has changed
            since in what modules read when they are imported, or what is asked for cannot be sent.
    """
    environ = _with_threads(os.environ)
    if not _Known.address or _decides(environ) != _decides(_Known.environ):
        raise ForkError("no fork server that fits")
    line = socket.socket(socket.AF_UNIX)
    theirs, ours = os.pipe() if stdin else (None, None)
    begun = False
    try:
        line.settimeout(_ANSWER_S)  # a connection is made while the server imports; it is answered afterwards
        line.connect(_Known.address)
        check_peer(line)
        asked = {"module": module, "words": list(words), "environ": environ, "folder": os.getcwd(), "path": sys.path}
        data = plain.pack(asked)
        socket.send_fds(line, [HEAD.pack(len(data))], [log.fileno(), *([] if theirs is None else [theirs])])
        line.sendall(data)
        await_answer(line, _ANSWER_S if _Known.answered else _IMPORT_S, check_in)
        made = Forked(line)
        begun = _Known.answered = True
    except OSError as error:
        _Known.address = ""
        raise ForkError(f"the fork server does not answer: {error}") from error
    except (ValueError, TypeError) as error:  # words or variables that are no UTF-8, a path that is no text
        raise ForkError(f"the fork server cannot be asked for this: {error}") from error
    finally:
        if theirs is not None:
            os.close(theirs)
        if not begun:
            line.close()
            if ours is not None:
                os.close(ours)
    made.stdin = None if ours is None else os.fdopen(ours, "wb", buffering=0)
    return made


def main(arguments: list[str]) -> NoReturn:
    """Import, then split off what is asked for: the program of the server, with words LISTENER ALIVE MODULE... ROOM."""
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, signal.SIG_IGN)  # it ends with its starter
    load(arguments[2:-1])
    if (threads := len(os.listdir("/proc/self/task"))) > 1:
        sys.exit(f"fork server: {threads} threads after its imports; a fork would lack them")
    gc.collect()
    gc.freeze()  # so that collections in the forks leave shared pages alone
    asked = _Loop(int(arguments[0]), int(arguments[1])).serve()
    if asked is None:
        os._exit(0)  # at once: nothing was begun here
    sys.exit(_begin(**asked))


class _Loop:
    """The server's side: a connection for each process, told its id at once and its status at the end."""

    def __init__(self, listener: int, alive: int) -> None:
        self.listener, self.alive = socket.socket(fileno=listener), alive
        self.wake, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.lines: dict[int, socket.socket] = {}
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)

    def serve(self) -> dict[str, Any] | None:
        """Take requests until the starter is gone and every process has ended. In a new process: what it is to do."""
        with selectors.DefaultSelector() as selector:
            for thing in (self.listener, self.alive, self.wake):
                selector.register(thing, selectors.EVENT_READ)
            orphaned = False
            while not (orphaned and not self.lines):
                for key, _ in selector.select():
                    if key.fileobj == self.alive:
                        orphaned = True
                        selector.unregister(self.alive)
                    elif key.fileobj == self.wake:
                        self._reap()
                    elif (asked := self._take()) is not None:
                        return asked
        return None

    def _take(self) -> dict[str, Any] | None:
        line, _ = self.listener.accept()
        given: list[int] = []
        try:
            check_peer(line)
            line.settimeout(_TELL_S)
            head, given, _, _ = socket.recv_fds(line, HEAD.size, 2)
            asked = plain.unpack(exactly(line, *HEAD.unpack(head)))
            if gave_up(line):
                raise ForkError("who asked waits no longer")
            pid = os.fork()
            if not pid:
                return self._split(line, given, asked)
            self.lines[pid] = line
            line.sendall(HEAD.pack(pid))
        except (OSError, struct.error, ValueError):  # who asked is gone, or is no client of ours
            line.close()
        for fd in given:
            os.close(fd)
        return None

    def _split(self, line: socket.socket, given: list[int], asked: dict[str, Any]) -> dict[str, Any]:
        """In the new process: let go of all that is the server's."""
        signal.set_wakeup_fd(-1)
        for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(sign, signal.default_int_handler if sign == signal.SIGINT else signal.SIG_DFL)
        _Known.address, _Known.environ, _Known.answered = self.listener.getsockname().decode(), dict(os.environ), True
        for thing in (line, self.listener, *self.lines.values()):
            thing.close()
        for fd in (self.alive, self.wake, self._wake):
            os.close(fd)
        return {**asked, "given": given}

    def _reap(self) -> None:
        os.read(self.wake, 4096)
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                line = self.lines.pop(found[0], None)
                if line is not None:
                    with contextlib.suppress(OSError):  # nobody waits for it
                        line.sendall(HEAD.pack(os.waitstatus_to_exitcode(found[1]) & 0xFFFFFFFF))
                    line.close()


def _begin(
    *, module: str, words: list[str], environ: dict[str, str], folder: str, path: list[str], given: list[int]
) -> Any:
    """In the new process: become the program that was asked for."""
    os.setsid()
    log, *stdin = given
    for target in (1, 2):
        os.dup2(log, target)
    if stdin:
        os.dup2(stdin[0], 0)
    for fd in given:
        os.close(fd)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.path[:] = path
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()  # or all forks would draw the same
    _entitle([sys.executable, "-m", module, *words])
    main = importlib.import_module(module)
    sys.argv = [str(main.__file__), *words]
    return main.main(words)


def _entitle(words: Sequence[str]) -> None:
    """Let `ps` and whoever looks for a process by its words find these, not those of the server; their room is not left."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    begin, end = int(fields[45]), int(fields[46])  # arg_start and arg_end of proc(5)
    if not begin:  # a kernel that does not tell
        return
    text = b"".join(os.fsencode(word) + b"\0" for word in words)[: end - begin - 1]
    ctypes.memmove(begin, text.ljust(end - begin, b"\0"), end - begin)


def _with_threads(environ: Mapping[str, str]) -> dict[str, str]:
    """One thread for matrix products unless the user says otherwise."""
    return {"OMP_NUM_THREADS": "1", **environ}


def _decides(environ: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in environ.items() if k.startswith(READ_AT_IMPORT)}
