"""A cluster that is nobody's of ours."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.ray.test_cluster_run import left


@pytest.fixture
def joined(head: tuple[str, Path]) -> str:
    """The block `cluster` of a run that joins that head: to start a Ray of its own takes seconds."""
    return f'address = "{head[0]}"\ntoken_file = "{head[1]}"'


@pytest.fixture(scope="session")
def head() -> Iterator[tuple[str, Path]]:
    """The address of a head with four CPUs and the file with its token; beside that file, in `ray`, Ray's own files of it."""
    with tempfile.TemporaryDirectory(prefix="head-") as room:
        token = Path(room) / "token"
        token.touch(mode=0o600)
        token.write_text(secrets.token_hex(32))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        env = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
        env |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_USAGE_STATS_ENABLED": "0"}
        env |= {"HOME": room, "RAY_worker_niceness": "0"}
        ray = str(Path(sys.executable).with_name("ray"))
        options = ["--head", "--block", f"--port={port}", "--num-cpus=4", "--include-dashboard=false"]
        log = Path(room) / "log"
        with log.open("w") as out:
            process = subprocess.Popen(
                [ray, "start", *options, f"--temp-dir={room}/ray"],
                env=env,
                cwd=room,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        limit = time.monotonic() + 120
        while "Ray runtime started" not in log.read_text():
            assert process.poll() is None and time.monotonic() < limit, log.read_text()
            threading.Event().wait(0.1)
        ours = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        yield f"127.0.0.1:{port}", token
        process.send_signal(signal.SIGTERM)
        for stray in left(ours):
            stray.kill()
        process.wait(30)
