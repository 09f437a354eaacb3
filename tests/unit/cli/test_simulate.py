"""`quintain simulate`: what it prints, draws and refuses."""

from __future__ import annotations

import json

import pytest
from PIL import Image

from quintain.cli import main
from quintain.simulate import claims

SMALL = """
[run]
groups_per_step = 4
steps = 5
[rollout]
group_size = 2
[task.t]
turns = { low = 2, high = 5 }
turn_tokens = { p50 = 30, p99 = 200 }
[engines.e]
count = 2
slots = 4
gpu_hour = 2.0
[env]
step_s = { p50 = 0.5, p99 = 4 }
[learner]
fixed_s = 1.0
"""


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return str(path)


def test_it_tells_throughput_staleness_and_the_bottleneck(small, capsys) -> None:
    assert main(["simulate", small, "run.max_lag=1", "--seeds", "2"]) == 0
    said = capsys.readouterr().out
    for words in (
        "3 GPUs, 2 seeds",
        "trajectories/s",
        "engines busy",
        "staleness",
        "bottleneck",
        "for 1,000 trajectories",
    ):
        assert words in said


def test_json_holds_the_same(small, capsys) -> None:
    assert main(["simulate", small, "--seeds", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["metrics"]["throughput"]["mean"] > 0 and found["staleness"] == {"0": 1.0} and found["seeds"] == [0, 1]


def test_a_sweep_has_a_row_for_each_value(small, capsys) -> None:
    assert main(["simulate", small, "--sweep", "run.max_lag=0,2", "--seeds", "1"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows[2:]] == ["0", "2"]


def test_best_keeps_the_gpus_and_gains(small, capsys) -> None:
    assert main(["simulate", small, "--best", "--seeds", "1", "--json", "run.steps=4"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["gain"] >= 1 and found["before"]["gpus"] == found["after"]["gpus"]


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_timeline_is_drawn(small, tmp_path, ending) -> None:
    target = tmp_path / f"t.{ending}"
    more = ["run.max_lag=1", "failures.gpu_per_day=5000", "failures.repair_s=5"]
    assert main(["simulate", small, *more, "--timeline", str(target), "--seeds", "1"]) == 0
    if ending == "png":
        picture = Image.open(target).convert("RGB")
        assert {(213, 94, 0), (29, 36, 48)} <= {color for _, color in picture.getcolors(1 << 20)}  # learning; a failure
    else:
        assert "learning" in target.read_text() and target.read_text().count("<rect") > 20


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.toml"], "there is no file none.toml"),
        (["aprl"], "unknown scenario file or paper 'aprl'; did you mean 'april'?"),
        (["april", "run.max_lag=3"], "--variant"),
        (["april", "--variant", "asinc"], "unknown variant of april"),
        (["SMALL", "run.max_lagg=3"], "did you mean 'max_lag'"),
        (["SMALL", "--timeline", "x.jpg"], "end its name in .svg or .png"),
        (["SMALL", "--sweep", "run.max_lag"], "key=a,b,c"),
    ],
)
def test_what_cannot_be_is_explained(small, words, said, capsys) -> None:
    assert main(["simulate", *(small if w == "SMALL" else w for w in words), "--seeds", "1"]) == 1
    assert said in capsys.readouterr().err


def test_a_parameter_file_of_one_s_own_is_compared_not_a_shipped_one_of_its_name(tmp_path, capsys, monkeypatch) -> None:
    mine = tmp_path / "dart.toml"
    mine.write_text(claims.papers()["dart"].read_text().replace("Efficient Multi-turn RL", "Mine"))
    monkeypatch.setattr(claims, "rows", lambda paper: [])
    assert main(["simulate", str(mine)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Mine ") and f"see {mine}" in said


def test_a_variant_of_a_paper_is_a_scenario_like_any_other(capsys) -> None:
    asked = ["--variant", "dart", "--seeds", "1", "run.steps=4", "run.skip=1", "--json"]
    assert main(["simulate", "dart", *asked]) == 0
    assert json.loads(capsys.readouterr().out)["gpus"] == 12
