"""Papers' parameter files: every value has a source, and the table in the docs reproduces itself, whatever it says."""

from __future__ import annotations

import pytest
import simulator

from quintain.registry import UnknownName
from quintain.simulate import charts, claims
from quintain.simulate.drawing import PictureError
from quintain.simulate.settings import ScenarioError


@pytest.mark.parametrize("name", sorted(claims.papers()))
def test_every_value_has_a_source_and_every_variant_is_a_scenario(name: str) -> None:
    paper = claims.load(name)
    assert set(paper.sources) == paper.leaves()
    assert paper.tolerance == 0.15 and paper.claims
    for variant in paper.variants:
        for case in paper.cases or ("",):
            assert paper.scenario(variant, case).gpus > 0
    for claim in paper.claims:
        assert {claim.baseline, claim.variant} <= set(paper.variants) and claim.source


def test_a_value_without_a_source_is_refused(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = claims.papers()["dart"].read_text()
    (tmp_path / "dart.toml").write_text(text.replace('"env.count" =', '"env.counted" ='))
    monkeypatch.setattr(claims, "FOLDERS", (tmp_path,))
    with pytest.raises(ScenarioError, match=r"no source is given for env\.count"):
        claims.load("dart")


def test_a_variant_and_a_case_change_what_they_name_only() -> None:
    paper = claims.load("areal")
    assert [paper.scenario(v, "r1_distill_7b").engines["sglang"].count for v in ("sync", "async")] == [24, 18]
    assert [paper.scenario(v, "r1_distill_1_5b").learner.gpus for v in ("sync", "async")] == [16, 4]
    assert paper.scenario("sync").task["math"].turn_tokens == {"p50": 5500, "p99": 31000, "max": 31744}
    with pytest.raises(UnknownName, match="did you mean 'async'"):
        paper.scenario("asyn")


def test_hit_and_miss_are_what_the_tolerance_says() -> None:
    paper = claims.load("dart")
    for simulated, hit in (
        (1.6, True),
        (1.6 * 1.149, True),
        (1.6 * 1.151, False),
        (1.6 * 0.86, True),
        (1.6 * 0.84, False),
    ):
        assert claims.Row(paper=paper, claim=paper.claims[0], simulated=simulated, by_case={}).hit == hit


@pytest.mark.parametrize(
    "name", [n if n == "dart" else pytest.param(n, marks=pytest.mark.slow) for n in sorted(claims.papers())]
)
def test_the_table_of_a_paper_reproduces_itself(name: str, capsys) -> None:
    assert simulator.check([name]) == 0, capsys.readouterr().out


def test_a_changed_table_is_seen(tmp_path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    rows = simulator.known(claims.load("dart"))
    monkeypatch.setattr(claims, "rows", lambda paper: rows)
    assert simulator.check(["dart"]) == 0
    page = tmp_path / "simulator.md"
    page.write_text(simulator.PAGE.read_text().replace("| dart |", "| dart  |").replace("[dart]", "[Dart]"))
    monkeypatch.setattr(simulator, "PAGE", page)
    assert simulator.check(["dart"]) == 1
    assert "does not have this row" in capsys.readouterr().out


def test_a_tornado_halves_and_doubles(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("tail of the environments", "number of environments", "rewards")
    monkeypatch.setattr(claims, "LEVERS", tuple(x for x in claims.LEVERS if x.name in names))
    paper = claims.load("dart")
    base, swings = claims.tornado(paper, paper.claims[1])
    assert [s.width for s in swings] == sorted((s.width for s in swings), reverse=True)
    assert swings[0].width > 0.05 and base > 1
    row = claims.Row(paper=paper, claim=paper.claims[1], simulated=base, by_case={})
    charts.tornado(tmp_path / "t.svg", row, base, swings)
    charts.scorecard(tmp_path / "s.png", [row])
    assert swings[0].lever in (tmp_path / "t.svg").read_text()
    with pytest.raises(PictureError):
        charts.scorecard(tmp_path / "s.gif", [row])
