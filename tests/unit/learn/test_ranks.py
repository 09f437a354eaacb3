"""Two processes that share every step are one process that does it alone."""

from __future__ import annotations

import json
import runpy
import socket
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests import programs

from quintain.learn.ranks import RankError, Ranks
from quintain.types import InvariantError

WORKER = Path(__file__).with_name("rank_worker.py")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """What one rank tells (in this process) and what two tell, and the folder with their weights."""
    root = tmp_path_factory.mktemp("ranks")
    port = str(free_port())
    two = [[str(rank), "2", port, str(root / "two")] for rank in range(2)]
    programs.run(WORKER, *two, folder=root, timeout=120)
    runpy.run_path(str(WORKER))["main"](0, 1, 0, root / "one")
    return tell(root / "one", 1), tell(root / "two", 2), root


def tell(folder: Path, size: int) -> list[dict]:
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(size)]


def test_two_ranks_take_the_steps_of_one(played):
    (alone,), both, root = played
    for told in both:
        for mine, whole in zip(told["figures"], alone["figures"], strict=True):
            for key in ("loss", "entropy", "grad_norm", "clipped", "tokens", "sequences", "groups", "mismatch_mean"):
                assert mine.get(key, 0) == pytest.approx(whole.get(key, 0), rel=1e-6), key
            assert mine.get("grad_cosine") == pytest.approx(whole.get("grad_cosine"), abs=1e-6)
            assert mine["mismatch_max"] == pytest.approx(whole["mismatch_max"])
        assert told["state"] == alone["state"] and len(told["state"]) == 3
        assert told["warm"] == pytest.approx(alone["warm"], rel=1e-6)
        assert told["imitated"] == alone["imitated"], "ranks divide the demonstrations"
    weights = [load_file(root / f / "weights.safetensors") for f in ("one/rank0", "two/rank0", "two/rank1")]
    for name, whole in weights[0].items():
        torch.testing.assert_close(weights[1][name], whole, rtol=1e-6, atol=1e-7)
        assert torch.equal(weights[1][name], weights[2][name]), "ranks hold the same bits"
    assert both[0]["prints"] == both[1]["prints"]


def test_a_batch_that_one_rank_spoils_is_skipped_by_all(played):
    (alone,), both, _ = played
    for told in (alone, *both):
        assert [f["skipped"] for f in told["figures"]] == [0, 0, 1, 0]
    assert [entry["tickets"] for entry in both[0]["quarantined"]] == [[]]
    assert [entry["tickets"] for entry in both[1]["quarantined"]] == [[1]]


def test_rank_zero_ends_the_warm_start_for_all(played):
    (alone,), both, _ = played
    assert [len(told["warm"]) for told in (alone, *both)] == [4, 4, 4]


def test_disagreement_and_lateness_are_named(played):
    _, both, _ = played
    for told in both:
        assert "the answer: 40 to 41" in told["disagreement"]
        assert told["gathered"] == ["", "of one"], "whatever their length"
        assert told["largest"] == 1.0 and told["kind"] == "torch.float32"
    assert "rank 0 of 2: a barrier failed" in both[0]["late"]


def test_nobody_there_is_an_error_before_the_deadline_is_long_gone():
    with pytest.raises(RankError, match=r"rank 1 of 2 could not meet the others at 127\.0\.0\.1"):
        Ranks.join(1, 2, port=free_port(), deadline_s=1)


def test_who_did_not_come_is_named_and_the_wait_for_them_can_be_left():
    with pytest.raises(RankError, match=r"rank 0 of 3 could not meet .* rank 1, rank 2 did not come"):
        Ranks.join(0, 3, port=free_port(), deadline_s=0.3)
    looks = []

    def look():
        looks.append(None)
        if len(looks) == 3:
            raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        Ranks.join(0, 3, port=free_port(), deadline_s=60, check_in=look)
    looks[:] = [None, None]
    with pytest.raises(KeyError, match="stop"):
        Ranks.join(0, 1, port=1, check_in=look)


def test_one_rank_needs_nobody():
    ranks = Ranks.join(0, 1, port=1)
    values = {"a": 2.0, "b": torch.ones(2)}
    assert ranks.sums(values) == values and ranks.largest(values) == values and ranks.gathered(b"it") == [b"it"]
    assert ranks.share([1, 2, 3]) == [1, 2, 3] and ranks.agree(True)
    ranks.same("anything", 3)
    ranks.barrier()
    ranks.close()
    with pytest.raises(InvariantError, match="rank is 2"):
        Ranks(rank=2, size=2)
