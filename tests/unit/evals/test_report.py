"""The page of a run: its numbers are those of the run, and none that nobody measured."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from quintain.cli import main
from quintain.config import make
from quintain.envs.scaffold import Scaffold
from quintain.envs.world import WorldEnv, world_of
from quintain.evals.chart import lines
from quintain.evals.report import _by_place, _pictures, _sample, write_report
from quintain.learn.ranks import Ranks
from quintain.ledger import RunDir
from quintain.runtime.keeper import Keeper
from quintain.types import Event, Group, Kind, Message, Node, Role, Span, Stop, Task, Trajectory
from quintain.worlds.noise import Rng

STEP = {"success": 0.5, "reward": 0.5, "tokens_per_second": 100.0, "mismatch_mean": 0.0, "mismatch_max": 0.0}


@pytest.fixture
def run(tmp_path):
    """A run that took 40 s, was stopped, and took 10 s more after an hour; its second step trained no group."""
    home = tmp_path / "run"
    with RunDir.create(home, make("tiny").toml()) as store:
        begun = json.loads((home / "run.json").read_text())["created"]
        for step, entropy, groups in ((0, 1.5, 4.0), (1, 0.0, 0.0), (2, 1.25, 4.0)):
            row = {**STEP, "entropy": entropy, "groups_trained": groups, "seconds": 5.0, "tokens_context": 500.0}
            store.append(Event(time=begun + step, step=step, actor="run", kind="metrics", payload=row))
        for seconds, kind in ((30, "trained"), (40, "stopped"), (3640, "issued"), (3650, "stopped")):
            payload = {"trained": {"tickets": []}, "issued": {"ticket": 0}}.get(kind, {"reason": "drained"})
            store.append(Event(time=begun + seconds, step=2, actor="run", kind=kind, payload=payload))
    return home


def test_the_page_counts_the_seconds_of_the_run_and_not_its_breaks(run):
    page = write_report(run).read_text()
    assert " · 50 s</p>" in page and "tokens/s, last 10 steps" in page and "bands are one standard deviation" in page


def test_an_evaluation_that_a_resume_writes_again_begins_no_second_break_and_a_rate_is_of_all_tokens(run):
    begun = json.loads((run / "run.json").read_text())["created"]
    with RunDir.open(run, "a") as store:
        for seconds, kind in ((3651, "issued"), (3660, "eval"), (3661, "stopped"), (3660, "eval"), (9000, "issued")):
            payload = {"eval": {}, "issued": {"ticket": 9}}.get(kind, {"reason": "done"})
            store.append(Event(time=begun + seconds, step=3, actor="run", kind=kind, payload=payload))
        row = {**STEP, "groups_trained": 4.0, "seconds": 0.5, "tokens_context": 500.0, "tokens_per_second": 1000.0}
        store.append(Event(time=begun + 9000, step=3, actor="run", kind="metrics", payload=row))
    page = write_report(run).read_text()
    assert " · 60 s</p>" in page and "<b>129</b><span>tokens/s, last 10 steps" in page


def test_all_worlds_that_are_played_are_named_on_the_page_and_in_the_list(tmp_path, monkeypatch, capsys):
    two = {"name": "worlds", "env": ["FrozenLake", "NimGame"], "levels": [0, 1]}
    with RunDir.create(
        tmp_path / "runs" / "two", make("tiny", {"sampler": two, "run": {"name": "two"}}).toml()
    ) as store:
        store.append(Event(time=0.0, step=7, actor="run", kind="eval", payload={"eval/success": 0.25}))
        store.append(Event(time=0.0, step=7, actor="run", kind="metrics", payload=STEP))
    page = write_report(tmp_path / "runs" / "two").read_text()
    assert "<title>two: grpo on FrozenLake, NimGame</title>" in page
    assert "FrozenLake, NimGame level 0-1; evaluated in KeyDoor level 0 · seed" in page
    assert "</i>held out in KeyDoor level 0<" in page
    monkeypatch.chdir(tmp_path)
    assert main(["list", "runs"]) == 0
    told = capsys.readouterr().out
    assert "runs/two  FrozenLake, NimGame  0,1    grpo" in told and "0.250    step 7 in KeyDoor level 0\n" in told


def test_a_step_without_a_group_has_no_entropy_and_rewards_start_at_0(run):
    page = write_report(run).read_text()
    chart = {
        title: re.search(f'aria-label="{title}">.*?</svg>', page).group() for title in ("Entropy in nats", "Reward")
    }
    assert len(re.search(r'<polyline[^>]*points="([^"]*)"', chart["Entropy in nats"]).group(1).split()) == 2
    assert 'text-anchor="end">0</text>' in chart["Reward"]


def test_the_noise_of_an_update_is_told_beside_the_groups_that_it_was_trained_on(run):
    with RunDir.open(run, "a") as store:
        for step in range(3, 20):
            row = {**STEP, "entropy": 1.0, "groups_trained": 6.0, "grad_cosine": 0.5}
            store.append(Event(time=2e9 + step, step=step, actor="run", kind="metrics", payload=row))
        store.commit()
    assert "a noise scale of 3 groups at 2.9 an update" in write_report(run).read_text(), (
        "two minibatches; 8 are played"
    )


def test_success_elsewhere_is_not_told_as_gained_here(run):
    def evaluated(store: RunDir, seconds: float, success: float) -> None:
        store.append(Event(time=2e9 + seconds, step=3, actor="run", kind="eval", payload={"eval/success": success}))

    with RunDir.open(run, "a") as store:
        evaluated(store, 0, 0.9)
        for seconds, settings in ((1, {"run.steps": [9, 99]}), (2, {"env.levels": [[0], [3]], "lr": [1, 2]})):
            store.append(
                Event(time=2e9 + seconds, step=3, actor="main", kind="changed", payload={"settings": settings})
            )
        evaluated(store, 3, 0.1)
        evaluated(store, 4, 0.25)
        store.commit()
        for step, low in ((0, 0.5), (3, 0.75)):
            row = {"eval/success": 0.25, "eval/success:0": low, "eval/success:4": 0.0}
            store.append(Event(time=1e9, step=step, actor="run", kind="eval", payload=row))
        store.commit()
    page = write_report(run).read_text()
    chart = re.search('aria-label="Success held out, by level">.*?</figure>', page).group()
    assert chart.count("<polyline") == 2 and "</i>0<" in chart and "</i>4<" in chart
    assert "<b>0.10 → 0.25</b><span>success, held out" in page
    assert "· after step 3: env.levels [0] → [3]<" in page and "run.steps [9]" not in page


def test_games_of_two_seats_have_the_pictures_of_each(run):
    world, rng = world_of("NimDuel"), Rng("a game")
    env, task = WorldEnv(world, Scaffold.of({"style": "words"})), Task(key="t", env="NimDuel", seed=4, level=2)
    said: dict[str, list[str]] = {"first": [], "second": []}
    heard = env.begin(task)
    while env.stop is None:
        (seat,) = [name for name, told in heard.items() if told.acts]
        said[seat].append(world.view(env.state, seat).sample(rng).key)
        heard = env.advance({seat: Message.of("assistant", said[seat][-1])})

    def row(seat: str) -> Trajectory:
        spoken = [
            Node(
                role=Role.assistant,
                kind=Kind.sampled,
                tokens=(1,),
                text=text,
                logprobs=(0.0,),
                mask=(True,),
                parent=k - 1 if k else None,
                spans=(Span(start=0, stop=1, version=0),),
            )
            for k, text in enumerate(said[seat])
        ]
        return Trajectory(id=seat, nodes=tuple(spoken), stop=Stop.done, agent=seat)

    first, second = row("first"), row("second")
    both = Group(task=task, trajectories=(first, second))
    config = make("words", overrides=["world=NimDuel"])
    for t, texts in ((first, said["first"]), (second, said["second"])):
        pictures = _pictures(config, both, t)
        assert len(pictures) == len(texts) + 1 == len(set(pictures))
    assert _pictures(config, Group(task=task, trajectories=(first,)), first) == [], "nobody knows what the other did"
    assert "against" not in _sample(config, both, first)
    alone = Group(task=task, trajectories=(first,), tags={"against": "random"})
    assert "<small>against random · t · policy" in _sample(config, alone, first)


def test_a_page_that_cannot_be_written_into_the_run_folder_may_go_elsewhere(run, capsys, tmp_path):
    page = run / "report.html"
    page.mkdir()  # as good as a folder that is read only, which root can write to
    assert main(["report", str(run)]) == 1
    assert f"{page}: Is a directory; say where else it should be written: --out FILE.html" in capsys.readouterr().err
    elsewhere = tmp_path / "new" / "page.html"
    assert main(["report", str(run), "--out", str(elsewhere)]) == 0 and elsewhere.is_file()


def test_a_trajectory_that_is_not_there_is_no_list_of_fifty(run, capsys):
    assert main(["show", str(run), "9.9"]) == 1
    assert f"{run} has no trajectory: no episode is over yet" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["3.0"], ["--step", "1"], ["--list"]])
def test_a_run_that_keeps_no_trajectory_names_the_setting(words, run, capsys):
    (run / "config.toml").write_text(make("tiny", overrides=["run.record=none"]).toml())
    assert main(["show", str(run), *words]) == int("--list" not in words)
    told = "".join(capsys.readouterr())
    assert (
        f"no trajectory, as run.record is 'none'; this one keeps those of the steps to come: quintain train --resume {run} run"
        in told
    )


def test_a_step_without_a_trajectory_is_named(run, capsys):
    row = Trajectory(id="3.0", nodes=(), stop=Stop.done)
    with RunDir.open(run, "a") as store:
        keeper = Keeper(store, Ranks())
        group = Group(task=Task(key="t", env="KeyDoor"), trajectories=(row,), ticket=3)
        keeper.played(3, group)
        keeper.training([group])
        keeper.trained(3, STEP)
        keeper.commit()
        keeper.played(3, replace(group, trajectories=(replace(row, id="4.0"),), ticket=4))
        keeper.dropped(3, {4: "gate"})
        keeper.commit()
    assert main(["show", str(run), "3.0", "--step", "3"]) == 0 and capsys.readouterr().out.startswith("3.0 ")
    assert main(["show", str(run), "--step", "3", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["3.0", "4.0"], "what was dropped too"
    for words in ([], ["--list"]):
        assert main(["show", str(run), "--step", "1", *words]) == 1
        assert "step 1 has no trajectory: it trained and dropped no group" in capsys.readouterr().err
    assert main(["show", str(run), "--step", "9"]) == 1
    assert "there is no step 9; " in (said := capsys.readouterr().err) and "has the steps 0 to 3" in said


def test_a_band_goes_no_further_than_the_values_of_its_line():
    ys = [0.0] * 20 + [1.0, 0.0] + [0.0] * 38
    drawn = lines("Success", {"success": (range(60), ys)}, floor=0.0)
    bottom = max(float(y) for y in re.findall(r'<line class="grid"[^>]* y1="([\d.]+)"', drawn))
    band = re.search(r'<polygon[^>]*points="([^"]*)"', drawn).group(1).split()
    assert max(float(point.split(",")[1]) for point in band) == bottom


def test_the_ticks_of_an_axis_are_written_alike_and_nothing_but_0_is_no_noise():
    def told(*ys: float) -> list[str]:
        return re.findall(r'text-anchor="end">([^<]+)<', lines("t", {"n": ([0, 1], ys)}, floor=0.0))[:-1]

    assert told(0.0, 1e-3) == ["0", "0.0005", "0.001"] and told(0.0, 0.0) == ["0", "0.2", "0.4", "0.6", "0.8", "1"]


def test_a_clock_that_is_set_back_costs_a_run_no_time(run):
    begun = json.loads((run / "run.json").read_text())["created"]
    with RunDir.open(run, "a") as store:
        for seconds in (3650, 50, 55):
            store.append(Event(time=begun + seconds, step=3, actor="run", kind="issued", payload={"ticket": seconds}))
    assert " · 55 s</p>" in write_report(run).read_text()


@pytest.mark.parametrize("many", [1, 6, 7, 12, 13, 40])
def test_every_world_of_a_mixed_run_has_a_line_or_a_row(many):
    worlds = [f"World{n:02}" for n in range(many)]
    shares = [{f"success/{w}": min(1.0, n / 40 + step / 100) for n, w in enumerate(worlds)} for step in range(30)]
    rows = [(step, {"success": 0.5, "success/policy": 0.5, **each}) for step, each in enumerate(shares)]
    told = _by_place("Success by world", "success/", rows)
    assert [told.count(f">{w}<") for w in worlds] == [1] * many and "policy" not in told
    assert told.count("<polyline") == (many if many <= 12 else 0)
    assert ("<th>World01</th><td>0.07 → 0.27</td>" in told) == (many > 12), "lowest first, means of ten steps"
