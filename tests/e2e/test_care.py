"""Whole runs whose envs fail: races, quarantine, episodes left out; and nothing changes where nothing fails."""

from __future__ import annotations

import pytest
from tests.e2e.runs import start

from quintain import config as configs
from quintain.cli.train import run
from quintain.envs.world import WorldEnv
from quintain.ledger import RunDir, audit
from quintain.runtime.failures import EveryEpisodeFailed


def poisoned(monkeypatch, when):
    """Envs that raise at their first move where `when(task)` says so; the tasks for which they did."""
    step, hit = WorldEnv.step, set()

    async def failing(self, moves):
        if when(self.task):
            hit.add(self.task.key)
            raise OSError("poison")
        return await step(self, moves)

    monkeypatch.setattr(WorldEnv, "step", failing)
    return hit


def test_poison_is_quarantined_and_the_other_groups_are_trained(tmp_path, monkeypatch):
    hit = poisoned(monkeypatch, lambda task: task.seed % 4 == 0)
    path = start(tmp_path, "run.steps=4")
    with RunDir.open(path) as store:
        books = audit(store)
        dropped = {e.payload["ticket"]: e.payload["reason"] for e in store.events(["dropped"])}
        told = [e.payload for e in store.events(["quarantine"])]
        rows = [m for _, m in store.metrics()]
        issued = [e.payload for e in store.events(["issued"])]
    bad = {i["ticket"] for i in issued if i["task"]["key"] in hit}
    assert hit and books.ok and not books.pending and books.issued == 4 * 8
    assert bad == {t for t, why in dropped.items() if why == "failed"} == {t["ticket"] for t in told}
    assert {t["task"] for t in told} == hit and all("poison" in t["cause"] for t in told)
    assert rows[-1]["quarantined"] == len(hit) and sum(r["groups_trained"] for r in rows) <= 32 - len(bad)
    config = configs.make(path / "config.toml", overrides=["run.steps=5"])
    assert run(config, path, resume=True) == 0
    with RunDir.open(path) as store:
        assert [m for _, m in store.metrics()][-1]["quarantined"] >= len(hit), "the checkpoint keeps it"


def test_a_step_of_nothing_but_poison_is_taken(tmp_path, monkeypatch):
    healthy = iter(range(1500))
    poisoned(monkeypatch, lambda task: next(healthy, None) is None)
    path = start(tmp_path, "run.steps=20", "rollout.max_turns=4")
    with RunDir.open(path) as store:
        books, rows = audit(store), [m for _, m in store.metrics()]
    assert books.ok and len(rows) == 20 and rows[-1]["groups_trained"] == 0.0


def test_a_run_in_which_no_episode_gets_through_any_more_ends(tmp_path, monkeypatch):
    healthy = iter(range(200))
    poisoned(monkeypatch, lambda task: next(healthy, None) is None)
    why = "every episode of the last 10 steps failed.*the first was .*poison.*: mend the env or the agent$"
    with pytest.raises(EveryEpisodeFailed, match=why):
        start(tmp_path, "run.steps=30", "rollout.max_turns=4")
    with RunDir.open(tmp_path / "tiny") as store:
        books, rows, blamed = audit(store), [m for _, m in store.metrics()], list(store.events(["quarantine"]))
    assert books.ok and 10 < len(rows) < 20
    assert {e.step for e in blamed} <= {len(rows) - 11}, "the step amid which the env went, no later one"


def test_failed_episodes_are_left_out_where_asked(tmp_path, monkeypatch):
    calls = iter(range(10**9))
    poisoned(monkeypatch, lambda task: next(calls) % 7 == 0)
    path = start(tmp_path, "rollout.drop_failed=true", "run.steps=2")
    with RunDir.open(path) as store:
        rows = [m for _, m in store.metrics()]
        assert audit(store).ok
    assert all(r["stop/crashed"] > 0 and r["left_out"] > 0 for r in rows)


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_races_train_whole_groups_and_are_counted(tmp_path, processes):
    path = start(
        tmp_path, "rollout.redundancy=2", "rollout.options.meter=0.5", "run.steps=3", f"runtime.processes={processes}"
    )
    with RunDir.open(path) as store:
        rows = [m for _, m in store.metrics()]
        groups = [g for step in range(3) for g in store.packed(step=step)]
        assert audit(store).ok
    size = configs.make(path / "config.toml").rollout.group_size
    assert groups and all(len(g.rows) == size for g in groups), "losers that were played out are not trained"
    assert all(r["members_started"] == 8 * (size + 2) and r["members_lost"] == 8 * 2 for r in rows)
    assert 0 < rows[-1]["bias/groups"] < 24 and rows[-1]["bias/turns_low"] <= rows[-1]["bias/turns_high"]


@pytest.mark.slow
def test_actors_run_races_too(tmp_path):
    path = start(tmp_path, "rollout.redundancy=1", "runtime.actors=1", "run.max_lag=1", "run.steps=2")
    with RunDir.open(path) as store:
        rows = [m for _, m in store.metrics()]
        assert audit(store).ok
    first = rows[0]
    assert first["groups_played"] >= 8 and first["members_started"] == 5 * first["groups_played"]
    assert first["members_lost"] == first["groups_played"]


def test_a_rollout_of_ones_own_that_plays_too_few_is_told_of_once(tmp_path):
    (tmp_path / "few.py").write_text(
        "from quintain.registry import register\nfrom quintain.rollouts.episodes import episodes\n\n\n"
        "@register('rollout', 'few')\ndef few(group_size, **more):\n    return episodes(group_size=group_size - 1, **more)\n"
    )
    path = start(tmp_path, f"run.imports=['{tmp_path}/few.py']", "rollout.name=few", "run.steps=3")
    with RunDir.open(path) as store:
        said = [
            e.payload["what"] for e in store.events(["warning"]) if "rollout.group_size asks for" in e.payload["what"]
        ]
    assert len(said) == 1 and said[0].startswith("the rollout 'few' gave 3 of the 4 episodes")
