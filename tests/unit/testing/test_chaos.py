"""Layer 0 of the chaos harness: kept plans stay sound, a failure is shrunk, kept and replayed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from quintain.runtime.crew import Crew
from quintain.runtime.members import Member
from quintain.testing import chaos, crew_schedules, schedules
from quintain.testing.crew_schedules import CrewFault, CrewPlan, Said
from quintain.window import Window

PLANS = sorted((Path(__file__).parents[2] / "chaos" / "plans").glob("*.json"))


@pytest.mark.parametrize("path", PLANS, ids=lambda p: p.stem)
def test_a_kept_plan_goes_well(path: Path) -> None:
    assert chaos.replay(path.read_text()) == []


def test_there_are_kept_plans_of_each_kind() -> None:
    assert {json.loads(p.read_text())["kind"] for p in PLANS} == set(chaos.FAMILIES)


def test_a_crew_schedule_is_plain_data_and_gives_its_log_again() -> None:
    plan = crew_schedules.plan(9)
    assert CrewPlan.read(plan.json()) == plan
    assert crew_schedules.play(plan) == crew_schedules.play(plan)


def test_schedules_meet_every_kind_of_fault() -> None:
    told, kinds = chaos.attack(0, 120, 1e9, None), set()
    for seed in range(40):
        kinds |= {line.what for line in crew_schedules.play(crew_schedules.plan(seed))}
    assert told["failed"] == [] and told["schedules"] == 120 and told["loop"] == 80 and told["crew"] == 40
    assert {"kill", "zombie", "asked", "got", "loaded", "published"} <= kinds


def test_a_failing_seed_is_shrunk_and_kept(monkeypatch, tmp_path, capsys) -> None:
    def one_step_too_far(self: Window) -> bool:
        ahead = (self.step + 2 + self.max_lag) * self.size + self.limit.ahead
        return self.index - len(self._again) - self.refilled < min(ahead, self.steps * self.size)

    monkeypatch.setattr(Window, "_open", one_step_too_far)
    told = chaos.attack(0, 60, 1e9, tmp_path, most=2)
    assert len(told["failed"]) == 2 and "goes wrong" in capsys.readouterr().err
    kept = sorted(tmp_path.glob("*.json"))
    assert len(kept) == 2
    for path in kept:
        plan = schedules.SchedulePlan.read(json.dumps(json.loads(path.read_text())["plan"]))
        whole = schedules.plan(plan.seed)
        assert plan.faults == () and plan.steps <= whole.steps and plan.size <= whole.size
        assert chaos.replay(path.read_text()) != []
    monkeypatch.undo()
    assert all(chaos.replay(path.read_text()) == [] for path in kept)


def test_shrinking_keeps_what_the_failure_needs() -> None:
    plan = replace(crew_schedules.plan(0), actors=4, groups=20, versions=5)
    faults = tuple(CrewFault(what=w, actor=1, after=1.0) for w in ("kill", "kill", "zombie"))
    plan = replace(plan, faults=faults)
    small = chaos.shrink(plan, lambda p: any(f.what == "zombie" for f in p.faults) and p.groups >= 3)
    assert [f.what for f in small.faults] == ["zombie"]
    assert (small.groups, small.actors, small.versions, small.play_s) == (3, 2, 1, 0.0)


def test_a_crew_that_believes_the_dead_is_seen(monkeypatch) -> None:
    async def believes(self: Crew, member: Member, job) -> None:
        from quintain.ledger import PackedGroup

        answer = await member.link.ask(job.message)
        if not job.future.done():
            job.future.set_result(PackedGroup(answer["group"]).open())

    monkeypatch.setattr(Crew, "_asked", believes)
    plan = CrewPlan(
        seed=1, actors=2, spares=0, groups=8, at_once=4, versions=1, play_s=5.0, load_s=0.1,
        faults=(CrewFault(what="zombie", actor=0, after=2.0),),
    )  # fmt: skip
    assert any("taken for dead" in w or "left" in w for w in chaos.judge("crew", plan))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([Said(0, "got", 0, 1, {"of": 0}), Said(1, "got", 0, 1, {"of": 0})], "2 answers"),
        ([], "0 answers"),
        ([Said(0, "got", 0, 1, {"of": 3})], "group of ticket 3"),
        ([Said(0, "published", 4), Said(1, "asked", 0, 1, {"version": 3, "message": ""})], "4 is published"),
        ([Said(0, "asked", 0, 1, {"version": 0, "message": w}) for w in "ab"], "other words"),
        ([Said(0, "loaded", 2, 1), Said(1, "loaded", 2, 1)], "loaded version 2"),
        ([Said(0, "failed", 0, more={"more": "why"})], "failed after 0 tries"),
        ([Said(0, "left", 1, more={"more": 2})], "1 groups"),
        ([Said(0, "running", 1)], "not ended"),
        ([Said(0, "zombie", -1, 1), Said(1, "got", 0, 1, {"of": 0})], "taken for dead"),
    ],
)
def test_each_thing_that_must_not_happen_is_told(lines: list[Said], said: str) -> None:
    plan = replace(crew_schedules.plan(0), groups=1)
    assert any(said in w for w in crew_schedules.wrong(plan, lines))
