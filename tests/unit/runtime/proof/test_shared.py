"""Ranks that share the layers read canaries together; what one of them finds ends all of them in the same words."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest
from tests import programs

WORKER = Path(__file__).with_name("shared_worker.py")
SIZE = 2


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each rank tells of every run."""
    folder = tmp_path_factory.mktemp("shared")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    each = [[str(rank), str(SIZE), str(port), str(folder)] for rank in range(SIZE)]
    programs.run(WORKER, *each, folder=folder, timeout=600)
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(SIZE)]


def test_healthy_syncs_pass_and_every_one_is_asked_about(told):
    for mine in (rank["none"] for rank in told):
        assert mine["kind"] == "" and not mine["facts"] and mine["version"] == 4
        assert 0 <= mine["row"]["canary_gap_max"] < 1e-4 and mine["row"]["audit_gap_max"] < 1e-4
        assert mine["row"]["proof_seconds"] > 0


@pytest.mark.parametrize(
    ("fault", "finder", "kind", "phrase"),
    [
        ("stale", 1, "SyncRefused", r"version 3 is refused: .*model\.layers\.1\.\* is stale .*still of version 2\)"),
        ("lost", 0, "SyncRefused", r"version 3 is refused: .*model\.layers\.0\.\* is stale .*still of version 2\)"),
        ("permuted", 0, "SyncRefused", r"up_proj\.weight is permuted: the same rows"),
        ("mute", 1, "SyncRefused", "the sync changed nothing: its scores are still those of version 2"),
        ("masked", 1, "BatchRefused", r"the batch of version 2 is refused: mask: trajectory .* trained tokens of 9"),
        ("edited", 0, "BatchRefused", "the batch of version 2 is refused: .*recorded logprobs differ"),
    ],
)
def test_what_one_rank_finds_ends_all_with_its_name(fault, finder, kind, phrase, told):
    ends = [rank[fault] for rank in told]
    assert [end["kind"] for end in ends] == [kind] * SIZE
    assert len({end["told"] for end in ends}) == 1 and ends[0]["told"].endswith(f"(rank {finder})")
    assert re.search(phrase, ends[0]["told"])
    assert [len(end["facts"]) for end in ends] == [int(rank == finder) for rank in range(SIZE)]


def test_a_rank_whose_proof_breaks_ends_the_others_too(told):
    assert told[1]["crashed"]["kind"] == "ValueError"
    assert told[0]["crashed"] | {"facts": []} == {
        "kind": "RankError",
        "told": "rank 1 ended: ValueError: no such thing",
        "facts": [],
        "version": 2,
    }
