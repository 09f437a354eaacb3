"""What the record of the papers says is so: every method is reached, pinned, tried and shown at work, and its command is accepted."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import re
import shlex
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from quintain import config as configs
from quintain.algorithms import Algorithm, assemble, preset
from quintain.cli.args import sources
from quintain.cli.list import main
from quintain.cli.papers import TITLES, papers
from quintain.learn.ranks import Ranks
from quintain.models import build_model
from quintain.registry import HOMES, build, entries, entry
from quintain.runtime import policy
from quintain.runtime.assemble import make_algorithm
from quintain.runtime.check import check
from quintain.testing.cases import NoRunner, find
from quintain.testing.exercises import EXERCISES

ROOT = Path(__file__).parents[2]
ROWS = papers()
CASES = {
    case.get("id") or case["name"]: case
    for name in ("objectives", "credit", "rollout")
    for case in json.loads((ROOT / "tests" / "cases" / f"{name}.json").read_text())
}
# cases of what no registered part is: a batch that others share, figures of evaluations, functions on whole models, pairs, memories
APART = {
    "shared_batch",
    "accuracy_weighting",
    "generalization_factor",
    "offpolicy_metrics",
    "policy_cliff",
    "ppo_outer_step_coscaling",
    "retroagent_simutil_ucb",
    "retroagent_utility_and_intrinsic",
    "scaling_inter",
    "scaling_inter_schedule",
    "simutil_ucb",
    "simutil_utility_ema",
    "variational",
}
APART_KINDS = {
    "precision": "tests/unit/learn/test_precision.py",
    "merge": "tests/unit/models/test_task_vectors.py",
}  # no part of a step: its own tests stand for a contract row
LEAST = 95


def runnable(case: dict[str, Any]) -> bool:
    try:
        find(case)
    except NoRunner:
        return False
    return True


@cache
def module(path: str) -> ModuleType:
    """A test module as Python has it, with its parametrised rows."""
    spec = importlib.util.spec_from_file_location(Path(path).stem + "_of_papers", ROOT / path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@cache
def tried() -> set[str]:
    """Every `kind name` for which the contract tests have a row."""
    found = set()
    for path in ("tests/contracts/test_parts.py", "tests/contracts/test_play.py"):
        for test in vars(module(path)).values():
            for mark in getattr(test, "pytestmark", ()):
                values = mark.args[1] if mark.name == "parametrize" and mark.args[0] == "entry" else ()
                each = [v.values[0] if hasattr(v, "values") and isinstance(v.values, tuple) else v for v in values]
                found |= {f"{e.kind} {e.name}" for e in each}
    return found


@cache
def model_of(arch: str, sizes: str) -> Any:
    """A model of a config's kind, small."""
    small = {"hidden": 16, "layers": 1, "heads": 2, "kv_heads": 2, "head_dim": 8, "ffn": 16}
    return build_model(arch, seed=0, vocab=32, context=64, **{**json.loads(sizes), **small})


def by_name() -> Any:
    return pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])


def test_there_are_as_many_methods_as_are_promised() -> None:
    names = [row["name"] for row in ROWS]
    assert len(names) == len(set(names)), "two methods have one name"
    assert len(names) >= LEAST
    reached = {row["by"].split(" ")[1] for row in ROWS if row["by"].startswith("algorithm ")}
    assert reached == {e.name for e in entries("algorithm")}, "an alias is no method: give it the tag `methods`"


@by_name()
def test_a_method_is_what_it_is_reached_by(
    row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "1 + 1?", "answer": "2"}\n')  # what an example reads
    monkeypatch.chdir(tmp_path)
    kind, name, *form = row["by"].split(" ")
    if form:
        assert isinstance(preset(name, form[-1], **entry(kind, name).tags.get("example", {})), Algorithm)
    elif kind != "precision":
        assert build(kind, {"name": name, **entry(kind, name).tags.get("example", {})}) is not None
    assert f"{kind} {name}" in tried() or (ROOT / APART_KINDS[kind]).exists()


@by_name()
def test_a_method_is_pinned_by_the_cases_that_there_are(row: dict[str, Any]) -> None:
    for beginning in row["cases"]:
        found = [case for name, case in CASES.items() if name.startswith(beginning)]
        assert found, f"no case begins with {beginning}"
        assert all(map(runnable, found)), f"{beginning}: a case has no runner"


def test_no_case_is_nobodys() -> None:
    claimed = tuple(beginning for row in ROWS for beginning in row["cases"])
    ours = {name for name, case in CASES.items() if runnable(case)}
    assert {name for name in ours if not name.startswith(claimed)} <= APART


@by_name()
def test_a_method_is_shown_at_work(row: dict[str, Any]) -> None:
    how, _, what = row["shown"].partition(" ")
    if how == "exercise":
        assert what in EXERCISES
        kind, name, *form = row["by"].split(" ")
        assert (kind, name, form[-1] if form else "") in [
            ("algorithm", e.name, said) for e, said in module("tests/learning/test_exercises.py").LEARNERS
        ]
        return
    path, _, test = row["shown"].partition("::")
    tree = ast.parse((ROOT / path).read_text())
    assert test in [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


@by_name()
def test_an_id_has_a_title_and_is_in_the_docstring(row: dict[str, Any]) -> None:
    assert bool(row["arxiv"]) == bool(row["title"])
    kind, name, *_ = row["by"].split(" ")
    found = entry(kind, name)
    if row["arxiv"]:
        assert re.fullmatch(r"\d{4}\.\d{4,5}", row["arxiv"])
    if row["arxiv"] == found.paper and kind != "precision":
        assert row["arxiv"] in (found.make.__doc__ or "")


def test_no_title_is_left_over() -> None:
    known = {e.paper for kind in HOMES if kind != "world" for e in entries(kind)} | {row["arxiv"] for row in ROWS}
    assert set(TITLES) == known - {""}


@by_name()
def test_a_command_is_accepted_or_the_row_says_what_is_wanted(row: dict[str, Any]) -> None:
    assert bool(row["recipe"]) != bool(row["wants"])
    if not row["recipe"]:
        if keys := set(re.findall(r"reward\.(\w+)", row["wants"])) - {"name"}:
            (name,) = re.findall(r"reward\.name=(\w+)", row["wants"]) or [row["by"].removeprefix("reward ")]
            assert keys <= set(inspect.signature(entry("reward", name).make).parameters)
        return
    program, verb, *words = shlex.split(row["recipe"])
    assert (program, verb) == ("quintain", "train")
    files, overrides = sources(words)
    config = configs.make(*files, overrides=overrides)
    check(config)
    made = make_algorithm(config)
    learner = policy.make_learner(
        config, model_of(config.model.arch, json.dumps(config.model.sizes)), made.needs, Ranks()
    )
    learner.check(
        made.needs - {"digests"}
    )  # as a run does before its first step; states are the rollout's to tell apart
    learner.close()
    kind, name, *form = row["by"].split(" ")
    if kind == "algorithm":
        assert (config.algorithm.name, config.algorithm.preset) == (name, form[-1] if form else "")
        assert made.expand() == assemble(name, config.algorithm.options, form=form[-1] if form else "").expand()
    elif kind == "precision":
        assert config.learner.precision == name
    elif kind == "rollout":
        assert config.rollout.name == name
    else:
        assert name in [link["name"] for links in made.expand().values() for link in links]


def test_the_list_is_json_and_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == ROWS
    assert main(["papers"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(ROWS) + 2 and max(map(len, lines)) <= 140  # a head and a count
