"""Env workers of a cluster, in real runs: what dies there is played again elsewhere, and counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ray.test_cluster_run import closed, finish, left, named, start, until, write

from quintain.ledger import RunDir

pytestmark = [pytest.mark.ray, pytest.mark.slow]

SLOW = """
import asyncio
from quintain.envs.world import WorldEnv

real = WorldEnv.step

async def slow(self, moves):
    await asyncio.sleep(0.03)
    return await real(self, moves)

WorldEnv.step = slow
"""
ENVS = '[cluster.pools.envs]\nlabel = "cpu"\ncpus = 0.25\ncount = 2'


def rows(run: Path) -> list[dict[str, float]]:
    with RunDir.open(run) as store:
        return [row for _, row in store.metrics()]


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_a_killed_or_hanging_env_worker_costs_no_episode_and_is_counted_once(how, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)  # so that episodes are always under way
    write(tmp_path, steps=10, pools=ENVS, imports=(str(tmp_path / "slow.py"),), play=2)
    process = start(tmp_path, "train", "run.toml", "rollout.options.deadline_s=6")
    run = tmp_path / "runs" / "over"
    until(lambda: list((run / "checkpoints").glob("step-00000[1-9]*")), process)
    victim = next(iter(named(process, "ray::EnvWorker")))
    victim.kill() if how == "killed" else victim.suspend()
    status, said = finish(process)
    assert status == 0, said
    assert not closed(run, 10), "no actor died"
    metrics = rows(run)
    assert metrics[-1]["env_deaths"] == 1 and not any(r.get("stop/crashed") for r in metrics)
    if how == "killed":
        assert sum(r.get("rebuilt", 0.0) for r in metrics) > 0 and not any(r.get("stop/timeout") for r in metrics)
    else:
        assert any(r.get("stop/timeout") for r in metrics), "whoever waited for an answer of it"
    with RunDir.open(run) as store:
        told = [e.payload for e in store.events(["env_worker"])]
    assert {t["actor"] for t in told} <= {0, 1} and len({t["host"] for t in told}) == 1 and told[0]["status"]
    assert not left([victim])


def test_groups_go_to_the_pool_that_fits_and_it_is_counted(joined, tmp_path):
    pools = '[cluster.pools.reads]\nlabel = "prefill"\n[cluster.pools.writes]\nlabel = "decode"'
    text = write(tmp_path, steps=4, pools=pools, cluster=joined).read_text()
    (tmp_path / "run.toml").write_text(text.replace('[cluster.pools.play]\nlabel = "any"\ncount = 1\n', ""))
    status, said = finish(start(tmp_path, "train", "run.toml"))
    assert status == 0, said
    run = tmp_path / "runs" / "over"
    assert not closed(run, 4), "nobody died"
    metrics = rows(run)
    fit, other = (sum(r.get(name, 0.0) for r in metrics) for name in ("groups_fitting", "groups_elsewhere"))
    assert fit > 0 and other > 0, "prefill has its share of the groups, and decode is not idle"
    assert fit + other <= 16 + 4
