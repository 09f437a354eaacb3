"""Which rows of worlds stand for code that was not measured."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def honest(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool, with five worlds on record: what each has done and looked like then and now is in `then` and `now`."""
    spec = importlib.util.spec_from_file_location("honest_tool", ROOT / "tools" / "honest.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    tool.known = {name: {"digest": f"{name}1", "seconds": 3} for name in "ABCD"}
    tool.known["E"] = {"digest": "E1", "seconds": 3, "pace": {"picture": 5.0}, "slowness": 1.5}
    tool.then = {"A": ["A1", "same", ""], "B": ["B1", "this", ""], "C": ["C0", "same", ""], "E": ["E1", "same", "blue"]}
    tool.now = {name: [f"{name}2", "same", ""] for name in "ABCDE"}  # D did not run then
    monkeypatch.setattr(tool, "apart", lambda what, name: {"pace": {"picture": 7.0}})
    monkeypatch.setattr(tool, "rows", lambda: tool.known)
    monkeypatch.setattr(tool, "write", tool.known.update)
    monkeypatch.setattr(tool, "stale", lambda: [n for n, row in tool.known.items() if row["digest"] != f"{n}2"])
    monkeypatch.setattr(tool, "conducts", lambda names, root: tool.now if root == ROOT else tool.then)
    monkeypatch.setattr(tool.subprocess, "run", lambda words, **_: SimpleNamespace(returncode=0))
    return tool


def test_a_row_stands_only_for_a_world_that_does_as_it_did_where_it_was_measured(honest, capsys) -> None:
    assert honest.let_stand("abc") == 1
    assert honest.known["A"] == {"digest": "A2", "measured": "A1", "seconds": 3}
    assert [honest.known[name]["digest"] for name in "BCD"] == ["B1", "C1", "D1"]
    assert honest.known["E"] == {"digest": "E2", "measured": "E1", "seconds": 3, "pace": {"picture": 7.0}}
    said = capsys.readouterr().out
    assert (
        "B                    does otherwise than at abc" in said and "C                    has no row of abc" in said
    )
    assert "1 worlds look otherwise; their speed was measured anew: E" in said
    assert "2 rows stand, 3 are to be measured" in said
    honest.then, honest.now = {"A": ["A2", "same", ""]}, {"A": ["A3", "same", ""]}
    honest.stale = lambda: ["A"]
    honest.let_stand("abd")
    assert honest.known["A"]["measured"] == "A1", "what was measured, not what stood in between"


def test_no_row_stands_where_what_measures_has_changed_or_the_commit_is_none(honest, monkeypatch, capsys) -> None:
    monkeypatch.setattr(honest.subprocess, "run", lambda words, **_: SimpleNamespace(returncode=1))
    before = {name: dict(row) for name, row in honest.known.items()}
    assert honest.let_stand("abc") == 1 and honest.known == before
    assert "no such commit, or what measures has changed" in capsys.readouterr().out


def test_what_measures_is_there(honest) -> None:
    assert all((ROOT / name).is_file() for name in honest.MEASURES)
