"""Runs on a cluster that is running already: named, found, or from the environment; weights through a folder or as bytes."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from tests.ray.test_cluster_run import closed, finish, start, write

pytestmark = [pytest.mark.ray, pytest.mark.slow]

NOTES = """
from quintain.runtime import ray_workers

real = ray_workers._written

def noted(names, files):
    with open({mark!r}, "a") as file:
        print(*sorted(names), sum(map(len, files)), file=file)
    return real(names, files)

ray_workers._written = noted
"""


def noting(folder: Path) -> tuple[tuple[str, ...], Path]:
    """A file to import that notes the weights that an actor gets as bytes, and where it does."""
    mark, path = folder / "bytes", folder / "notes.py"
    path.write_text(NOTES.format(mark=str(mark)))
    return (str(path),), mark


def left_alone() -> None:
    """The head is still there."""
    psutil.Process(next(p.pid for p in psutil.process_iter(["name"]) if p.info["name"] == "gcs_server"))


@pytest.mark.parametrize("how", ["address", "auto", "environment"])
def test_a_run_on_a_running_cluster_sends_weights_through_its_folder_and_leaves_the_cluster_alone(how, head, tmp_path):
    address, token = head
    imports, mark = noting(tmp_path)
    named = f'address = "{address if how == "address" else "auto"}"\ntoken_file = "{token}"'
    write(tmp_path, cluster=named, imports=imports)
    more = {"auto": {"RAY_TMPDIR": str(token.parent)}, "environment": {"RAY_ADDRESS": address}}.get(how, {})
    status, said = finish(start(tmp_path, "train", "run.toml", **more))
    assert status == 0, said
    assert not closed(tmp_path / "runs" / "over", 3), "nobody died"
    assert not mark.exists(), "actors saw the folder, though the run was named by a relative path"
    assert not (tmp_path / "runs" / "over" / "published").exists(), "the published weights are gone"
    left_alone()


def test_actors_that_do_not_see_the_folder_of_the_run_get_weights_as_bytes(head, joined, tmp_path):
    imports, mark = noting(tmp_path)
    write(tmp_path, cluster=joined, imports=imports, play=2)
    folder = "run.folder=/proc/self/cwd/runs"  # every process sees another one there: an actor that of its raylet
    status, said = finish(start(tmp_path, "train", "run.toml", folder))
    assert status == 0, said
    assert not closed(tmp_path / "runs" / "over", 3), "nobody died"
    loads = mark.read_text().splitlines()
    assert len(loads) >= 2 * 2 and all("safetensors" in line for line in loads), (
        "each actor, each version that it plays"
    )
    assert not list(head[1].parent.glob("runs*"))


def test_the_address_in_the_environment_is_looked_at_before_anything_is_made(head, tmp_path, free_port):
    write(tmp_path, cluster=f'address = "auto"\ntoken_file = "{head[1]}"')
    status, said = finish(start(tmp_path, "train", "run.toml", RAY_ADDRESS=f"127.0.0.1:{free_port}"))
    assert status == 1 and f"ClusterError: nobody answers at cluster.address 127.0.0.1:{free_port}" in said, said
    assert not (tmp_path / "runs" / "over").exists()
