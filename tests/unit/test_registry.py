"""Provenance, building from data, nearest matches."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from quintain.registry import (
    TRAIN,
    BadOption,
    MissingExtra,
    MissingOption,
    UnknownName,
    build,
    entries,
    import_file,
    names,
    provenance,
    register,
    require_extra,
    unknown,
)
from quintain.types import QuintainError


class Part:
    def __init__(self, *values) -> None:
        self.values = values


@register("test_part", "leaf", paper="0000.00000", status="test")
def leaf(size: int = 1, rate: float = 0.5) -> Part:
    """A leaf.

    More text.
    """
    return Part(size, rate)


@register("test_part", "tree")
def tree(*parts: Part, depth: int = 2) -> Part:
    """A tree of parts."""
    return Part(*parts, depth)


def test_calling_a_factory_stamps_what_it_made():
    assert provenance(leaf(3)) == {"kind": "test_part", "name": "leaf", "size": 3}
    assert provenance(Part()) is None


def test_code_to_data_to_code_is_a_round_trip():
    data = provenance(tree(leaf(3), tree(leaf(rate=0.1)), depth=4))
    again = build("test_part", data)
    assert provenance(again) == data
    assert again.values[0].values == (3, 0.5) and again.values[2] == 4


def test_the_stamp_does_not_outlive_its_value():
    value = leaf(9)
    key = id(value)
    del value
    assert all(provenance(Part()) is None for _ in range(3)), f"an old stamp at {key} was taken over"


def test_unknown_names_and_options_name_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'leaf'"):
        build("test_part", "laef")
    with pytest.raises(UnknownName, match="did you mean 'size'"):
        build("test_part", {"name": "leaf", "sise": 1})
    assert unknown("thing", "zzz", ["a", "b"]) == "unknown thing 'zzz'; there are: a, b"


def test_entries_tell_summary_paper_and_tags():
    found = {e.name: e for e in entries("test_part")}
    assert names("test_part") == ["leaf", "tree"]
    assert found["leaf"].summary == "A leaf." and found["leaf"].paper == "0000.00000"
    assert found["leaf"].tags == {"status": "test"}


def test_a_name_is_taken_once():
    with pytest.raises(QuintainError, match="registered twice"):

        @register("test_part", "leaf")
        def other() -> Part:
            return Part()


def test_a_missing_extra_says_how_to_install_it():
    with pytest.raises(MissingExtra, match=r"pip install 'quintain\[vllm\]'"):
        require_extra("vllm", "a_module_that_does_not_exist")
    with pytest.raises(MissingExtra, match="this needs no_module, nor_this, which are not installed;"):
        require_extra("vllm", "no_module", "nor_this")
    require_extra("train", "json")


def test_parts_load_without_what_others_of_their_kind_need():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert set(TRAIN) == {re.match(r"\w+", line)[0] for line in project["optional-dependencies"]["train"]}
    code = f"""
import sys; sys.modules.update(dict.fromkeys({TRAIN}))
from quintain.registry import MissingExtra, build
build("engine", dict(name="openai", url="http://127.0.0.1:1/v1", model="m", key_env=""))
for kind, name in (("engine", "torch"), ("objective", "clip")):
    try: build(kind, name)
    except MissingExtra as error: print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    engine, objective = done.stdout.splitlines()
    assert re.search("no engine 'torch' among .*openai.*pip install 'quintain.train.'", engine)
    assert "pip install 'quintain[train]'" in objective


@pytest.mark.parametrize("option", ["kind", "name"])
def test_an_option_that_a_written_part_says_of_itself_is_refused(option):
    scope: dict = {}
    exec(f"def factory({option}=1):\n    return ({option},)", scope)
    with pytest.raises(QuintainError, match=f"option '{option}'"):
        register("example", f"taken_{option}")(scope["factory"])


def test_an_option_without_a_default_that_is_not_given_is_named():
    with pytest.raises(BadOption, match="objective 'clip' cannot be made of low='abc'.*quintain list"):
        build("objective", {"name": "clip", "low": "abc"})
    with pytest.raises(MissingOption, match="algorithm 'drpo' needs the option limit"):
        build("algorithm", "drpo")


@pytest.mark.parametrize("whole", [{"kind": "sampler", "name": "mixture"}, {"kind": "reward", "name": "all"}])
def test_a_nested_part_without_a_name_is_told_of(whole):
    with pytest.raises(MissingOption, match=f"{whole['kind']} of levels=.0. has no name"):
        build(whole["kind"], {**whole, "parts": [{"levels": [0]}]})


def test_a_factory_that_forgets_to_return_its_part_is_named():
    @register("example", "forgot")
    def forgot():
        pass

    with pytest.raises(QuintainError, match="the factory of example 'forgot' gave None; let it return the part"):
        build("example", "forgot")


def test_a_part_that_no_list_has_is_told_with_its_line_and_no_list(tmp_path):
    code = (
        "from quintain.registry import register\n@register('gate', 'half')\ndef half(share=1):\n    return share / 2\n"
    )
    (tmp_path / "half.py").write_text(code)
    import_file(tmp_path / "half.py")
    with pytest.raises(BadOption, match=r"share='a': unsupported .* \(half, .*half.py:4\)$"):
        build("gate", {"name": "half", "share": "a"})
