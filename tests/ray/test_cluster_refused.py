"""What a cluster refuses, quickly and by name, before anything is trained; and what is refused to strangers."""

from __future__ import annotations

import secrets
import time

import pytest
from tests.ray.test_cluster_run import finish, start, write

pytestmark = [pytest.mark.ray, pytest.mark.slow]


def test_a_client_without_the_token_or_with_another_is_refused_before_anything_is_made(head, tmp_path):
    address, _ = head
    other = tmp_path / "other"
    other.touch(mode=0o600)
    other.write_text(secrets.token_hex(32))
    for cluster, what in (
        (f'token_file = "{other}"', "refuses the token in"),
        ("auth = false", "refuses a client without a token"),
        ("", "there is no token for it"),
        (f'token_file = "{tmp_path}/none"', "is not there"),
    ):
        write(tmp_path, cluster=f'address = "{address}"\n{cluster}')
        begun = time.monotonic()
        status, said = finish(start(tmp_path, "train", "run.toml"))
        assert status == 1 and "ClusterError" in said and what in said, said
        assert time.monotonic() - begun < 60 and not (tmp_path / "runs" / "over").exists()


def test_an_address_where_nobody_listens_and_one_that_is_no_head(head, tmp_path, free_port):
    write(tmp_path, cluster=f'address = "127.0.0.1:{free_port}"\ntoken_file = "{head[1]}"')
    status, said = finish(start(tmp_path, "train", "run.toml"))
    assert status == 1 and "ClusterError: nobody answers at cluster.address" in said, said
    assert not (tmp_path / "runs" / "over").exists()


@pytest.mark.parametrize(
    ("pools", "what"),
    [
        ("gpus = 8", "an actor of cluster.pools.play wants 8 GPU; the most that a node has is 0"),
        ("cpus = 5", "wants 5 CPU; the most that a node has is 4"),
        ('selector = {zone = "moon"}', "a node with zone=moon; none of the 1 nodes"),
    ],
)
def test_what_no_node_has_is_refused_by_name(pools, what, joined, tmp_path):
    write(tmp_path, cluster=joined, pools=pools)
    status, said = finish(start(tmp_path, "train", "run.toml"))
    assert status == 1 and "ClusterError" in said and what in said, said
    assert not (tmp_path / "runs" / "over").exists()
