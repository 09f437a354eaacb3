"""What every test gets: one thread, no network beyond this machine, the same examples each time."""

from __future__ import annotations

import os

# Before any test imports numpy or torch: two threads on a busy machine can fall a hundredfold to spinning.
os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", HF_DATASETS_OFFLINE="1", WANDB_MODE="offline")

import ipaddress
import random
import socket
from collections.abc import Iterator
from typing import Any

import hypothesis
import numpy as np
import pytest

hypothesis.settings.register_profile("quintain", derandomize=True, deadline=None, print_blob=True, database=None)
hypothesis.settings.load_profile("quintain")


def _is_local(address: Any) -> bool:
    if not isinstance(address, tuple):  # a unix socket
        return True
    try:
        return address[0] == "localhost" or ipaddress.ip_address(address[0]).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True, scope="session")
def only_this_machine() -> Iterator[None]:
    """A connection to another machine fails at once and says where it was going."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if not _is_local(address):
            raise OSError(f"tests may not leave this machine: {address}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield


@pytest.fixture(autouse=True)
def no_global_randomness() -> Iterator[None]:
    """A test that leaves another global random state than it found is drawing from it: name your generator."""
    before = random.getstate(), np.random.get_state()[2]
    yield
    after = random.getstate(), np.random.get_state()[2]
    assert before == after, "global random state was used: draw from a generator with a seed of its own"


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator seeded by the test's own name: the same each run, different for each test."""
    return np.random.default_rng(list(request.node.nodeid.encode()))


@pytest.fixture(scope="session", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Any:
    """Where the models of a test live: on the CPU, and in `make gpu` on a GPU, set as runs set it."""
    import torch

    from quintain.learn.precision import set_device

    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.fail(f"torch {torch.__version__} sees no CUDA device; leave out the mark gpu")
    return set_device(torch.device(request.param))


@pytest.fixture
def free_port() -> int:
    """A port that was free a moment ago, on the loopback interface."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def registered_for_now() -> Iterator[None]:
    """Worlds that a test registers are taken out again, as other tests go through the registry."""
    from quintain import registry
    from quintain.envs import course
    from quintain.envs.world import world_of

    before = {e.name for e in registry.entries("world")}
    yield
    for name in {e.name for e in registry.entries("world")} - before:
        del registry._entries["world", name]
        course._open.pop(name, None)
    world_of.cache_clear()
    course.tagged.cache_clear()
