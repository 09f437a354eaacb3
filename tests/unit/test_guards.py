"""What the test set-up promises: one thread, no other machine, sockets on this one."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest


def test_another_machine_is_out_of_reach():
    with socket.socket() as client, pytest.raises(OSError, match="may not leave this machine"):
        client.connect(("192.0.2.1", 80))


async def test_another_machine_is_out_of_reach_of_asyncio():
    with pytest.raises(OSError, match="may not leave this machine"):
        await asyncio.open_connection("192.0.2.1", 80)


def test_this_machine_is_in_reach(free_port: int):
    with (
        socket.create_server(("127.0.0.1", free_port)) as server,
        socket.create_connection(("127.0.0.1", free_port)) as client,
        server.accept()[0] as served,
    ):
        served.sendall(b"hello")
        assert client.recv(5) == b"hello"


def test_one_thread():
    assert os.environ["OMP_NUM_THREADS"] == "1"
