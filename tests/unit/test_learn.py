"""The tool that repeats the exercises goes on where it was, and never mixes in rows of other code."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "learn.py"))
HERE = TOOL["run"].__globals__  # where its functions look their names up


def measured(cell: Any, **more: Any) -> dict[str, Any]:
    return {
        **cell._asdict(),
        "first": 0.1,
        "last": 0.6,
        "passed": True,
        "asked": 0.25,
        "seconds": 1.0,
        "machine": "here",
        **more,
    }


def test_every_form_that_the_learning_tests_try_is_repeated_seed_after_seed() -> None:
    learners = runpy.run_path(str(Path(__file__).parents[1] / "learning" / "test_exercises.py"))["LEARNERS"]
    wanted = list(TOOL["cells"]([7, 8]))
    half = len(wanted) // 2
    assert [(c.alias, c.preset) for c in wanted[:half]] == [(e.name, form) for e, form in learners]
    assert {c.seed for c in wanted[:half]} == {7} and {c.seed for c in wanted[half:]} == {8}


def test_it_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, seen = tmp_path / "rows.jsonl", []
    monkeypatch.setitem(HERE, "measure", lambda cell: seen.append(cell) or measured(cell))
    wanted = list(TOOL["cells"]([1]))[:3]
    assert TOOL["run"](wanted[:2], rows, 1.0) == 0 and seen == wanted[:2]
    rows.write_text(rows.read_text()[:-20])  # it was ended within the last line
    assert TOOL["run"](wanted, rows, 1.0) == 0 and seen == [*wanted[:2], *wanted[1:]]
    assert set(TOOL["known"](rows)) == set(wanted)
    assert TOOL["run"](list(TOOL["cells"]([2])), rows, 0.0) == 0 and len(seen) == 4, "no run is begun when time is up"


def test_rows_of_other_code_are_left_out(tmp_path: Path) -> None:
    rows, target = tmp_path / "rows.jsonl", tmp_path / "results.json"
    today = next(TOOL["cells"]([1]))
    other = today._replace(digest="0" * 12)
    rows.write_text("".join(json.dumps(measured(cell)) + "\n" for cell in (other, today)))
    assert TOOL["collect"](rows, target) == 0
    found = json.loads(target.read_text())
    assert [row["digest"] for row in found["rows"]] == [today.digest] and found["stale"] == 1


def test_rows_on_record_are_not_measured_again_and_keep_their_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, record, seen = tmp_path / "rows.jsonl", tmp_path / "results.json", []
    monkeypatch.setitem(HERE, "measure", lambda cell: seen.append(cell) or measured(cell, machine="there"))
    first, second = list(TOOL["cells"]([1]))[:2]
    rows.write_text(json.dumps(measured(first)) + "\n")
    assert TOOL["collect"](rows, record) == 0
    rows.unlink()  # as in a fresh clone
    assert TOOL["run"]([first, second], rows, 1.0, record) == 0 and seen == [second]
    assert TOOL["collect"](rows, record) == 0
    found = json.loads(record.read_text())
    assert [found["machines"][row["machine"]] for row in found["rows"]] == ["here", "there"] and found["stale"] == 0
