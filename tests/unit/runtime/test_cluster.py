"""The cluster block without a cluster: what contradicts itself, what no node has, tokens, lost scorings."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tomllib

import pytest

from quintain.config import make
from quintain.ledger import plain
from quintain.ledger.groups import pack_group
from quintain.rewards.env import RewardError
from quintain.runtime import cluster, ray_rewards
from quintain.runtime.check import check
from quintain.types import Group, Task

POOL = "cluster.pools.play.count=2"


@pytest.mark.parametrize(
    ("overrides", "what"),
    [
        (["cluster.address=auto"], "cluster.pools is empty"),
        (["cluster.reward_tasks=2"], "cluster.pools is empty"),
        ([POOL, "runtime.actors=1"], "set runtime.actors=0"),
        ([POOL, "runtime.processes=2"], "set runtime.processes=1"),
        ([POOL, "runtime.actors=0", "runtime.spares=1"], "set runtime.spares=0"),
        (["cluster.pools.envs.label=cpu"], "no pool of cluster.pools plays"),
        ([POOL, "cluster.pools.envs.label=cpu", "env.workers=2"], "set env.workers=0, or remove the pool"),
        ([POOL, "cluster.pools.play.cpus=0"], "asks for no resource at all"),
        ([POOL, "cluster.address=ray://h:10001"], "not through a ray:// client"),
        ([POOL, "cluster.address=head"], "it must be empty"),
        ([POOL, "cluster.address=head:99999"], "it must be empty"),
        (["cluster.pools.play.label=gpu"], "cluster.pools.play.label"),
        (["cluster.strategy=CLOSE"], "cluster.strategy"),
        (["cluster.pools.play.gpu=1"], "gpus"),
    ],
)
def test_a_wrong_cluster_block_is_refused_by_name(overrides, what):
    with pytest.raises(Exception, match=what.replace(".", r"\.")) as caught:
        check(make("tiny", overrides=overrides))
    assert type(caught.value).__name__ in ("ConfigError", "UnknownName")


def test_without_a_block_nothing_changes_and_with_one_it_is_a_round_trip():
    assert not make("tiny").cluster.pools
    config = make("tiny", overrides=[POOL, "cluster.pools.play.label=prefill", "cluster.pools.play.gpus=0.5"])
    check(config)
    assert make(tomllib.loads(config.toml(full=True))) == config
    first, second = cluster.slots(config.cluster)
    assert first == second and first.label == "prefill" and first.bundle == {"CPU": 1.0, "GPU": 0.5}


def slot(**bundle: float) -> cluster.Slot:
    return cluster.Slot(pool="p", label="any", bundle=bundle)


def node(zone: str = "", **resources: float) -> dict:
    return {"resources": resources, "labels": {"zone": zone}}


@pytest.mark.parametrize(
    ("wanted", "nodes", "strategy", "what"),
    [
        ([slot(CPU=1)] * 2, [node(CPU=2)], "PACK", ""),
        ([slot(CPU=3)], [node(CPU=2), node(CPU=2)], "PACK", "the most that a node has is 2"),
        ([slot(CPU=2, GPU=1)], [node(CPU=2), node(CPU=1, GPU=1)], "PACK", "no single node has all of it"),
        ([slot(CPU=1)] * 3, [node(CPU=2)], "PACK", "all actors together want 3 CPU; the cluster has 2 CPU"),
        ([slot(CPU=2)] * 2, [node(CPU=2), node(CPU=2)], "STRICT_PACK", "no node holds all actors together"),
        ([slot(CPU=1)] * 2, [node(CPU=2)], "STRICT_SPREAD", "2 actors want a node each, and there are 1"),
        ([slot(memory=3 << 30)], [node(memory=2 << 30)], "PACK", "wants 3 GiB memory; the most that a node has is 2"),
    ],
)
def test_what_cannot_be_placed_is_said_before_anybody_waits_for_it(wanted, nodes, strategy, what):
    assert what in cluster.misfit(wanted, nodes, strategy) if what else not cluster.misfit(wanted, nodes, strategy)


def test_a_selector_is_held_against_the_labels_of_nodes():
    wanted = [cluster.Slot(pool="p", label="any", bundle={"CPU": 4.0}, selector={"zone": "a"})]
    nodes = [node("a", CPU=2), node("b", CPU=8)]
    assert "the most that a node has is 2" in cluster.misfit(wanted, nodes, "PACK")
    assert "zone=a; none of the 1 nodes" in cluster.misfit(wanted, nodes[1:], "PACK")


def test_tokens_are_new_private_or_refused(tmp_path, monkeypatch):
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    own = make("tiny", overrides=[POOL]).cluster
    path = cluster.token(own, tmp_path)
    assert path is not None and path.parent == tmp_path and path.stat().st_mode & 0o777 == 0o600
    first = path.read_text()
    assert len(first) == 64 and cluster.token(own, tmp_path) == path and path.read_text() != first
    other = make("tiny", overrides=[POOL, "cluster.address=h:1"]).cluster
    with pytest.raises(cluster.ClusterError, match="there is no token for it"):
        cluster.token(other, tmp_path)
    named = other.model_copy(update={"token_file": str(tmp_path / "mine")})
    with pytest.raises(cluster.ClusterError, match="is not there"):
        cluster.token(named, tmp_path)
    (tmp_path / "mine").write_text("")
    with pytest.raises(cluster.ClusterError, match="is empty"):
        cluster.token(named, tmp_path)
    (tmp_path / "mine").write_text("secret")
    (tmp_path / "mine").chmod(0o644)
    with pytest.raises(cluster.ClusterError, match="mode 0644, so that others can read it; run: chmod 600"):
        cluster.token(named, tmp_path)
    (tmp_path / "mine").chmod(0o600)
    assert cluster.token(named, tmp_path) == tmp_path / "mine"
    assert cluster.token(other.model_copy(update={"auth": False}), tmp_path) is None


def test_nobody_listens(free_port):
    with pytest.raises(cluster.ClusterError, match=f"nobody answers at cluster.address 127.0.0.1:{free_port}"):
        cluster.reachable(f"127.0.0.1:{free_port}")


GROUP = Group(task=Task(key="a", env="x"), trajectories=(), ticket=4)


def scored(outcomes: list, **spec: object) -> tuple[object, list]:
    """What the reward gives when scoring has these outcomes, and what was told."""
    told: list = []
    config = make("tiny", overrides=[POOL, "cluster.reward_tasks=1", "cluster.reward_retries=1"])
    config.reward = {"name": "exact", **spec}

    async def score(packed: bytes, deadline_s: float) -> bytes:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return plain.pack(outcome)

    return asyncio.run(ray_rewards.scored_by(score, config, told.append)(GROUP)), told


def test_a_lost_scoring_is_repeated_and_told_only_where_that_does_no_harm():
    lost, done = ray_rewards.LostScore("the worker died"), {"group": pack_group(GROUP)}
    group, told = scored([lost, done])
    assert group.task == GROUP.task and told == [
        {"reward": "exact", "tickets": [4], "status": "the worker died", "attempt": 1}
    ]
    with pytest.raises(ray_rewards.LostRewardError, match=r"ticket 4 was lost 2 time\(s\)"):
        scored([lost, lost, done])
    with pytest.raises(ray_rewards.LostRewardError, match=r"lost 1 time\(s\).*reward.idempotent=true"):
        scored([lost, done], name="mine.py:score")
    assert scored([lost, done], name="mine.py:score", idempotent=True)[1]
    with pytest.raises(RewardError, match="no such column"):
        scored([{"error": "no such column"}, done])


SCORING = """
import sys
from quintain.config import make
from quintain.ledger import plain
from quintain.ledger.groups import pack_group
from quintain.runtime.ray_workers import score
from quintain.types import Group, Kind, Node, Role, Stop, Task, Trajectory

said = Node.given(None, (), role=Role.assistant, kind=Kind.external, text="4")
row = Trajectory(id="0.0", nodes=(said,), stop=Stop.done)
group = Group(task=Task(key="k", env="data", params={"answer": "4"}), trajectories=(row,))
answer = plain.unpack(score(make(overrides=["reward=exact", "data=x.jsonl"]).toml(full=True), pack_group(group)))
assert "group" in answer, answer
assert not {"torch", "transformers"} & sys.modules.keys()
"""


def test_a_worker_that_scores_imports_no_pytorch_where_the_reward_does_not():
    done = subprocess.run([sys.executable, "-c", SCORING], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
