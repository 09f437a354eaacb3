"""The tables for those who come from another library name keys and parts that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from quintain.config import ELSEWHERE, FORM
from quintain.config.tree import split
from quintain.registry import UnknownName, names

PAGE = Path(__file__).parents[2] / "docs" / "coming-from.md"
PARTS = ("algorithm", "objective", "advantage", "gate", "reward", "sampler", "engine")


def ours() -> list[str]:
    """What stands between backticks in the middle column of every table."""
    rows = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [said for row in rows[1:] for said in re.findall(r"`([^`]+)`", row[1])]


def test_every_key_of_the_tables_is_a_key_of_the_configuration():
    keys = [said.split("=")[0] for said in ours() if re.match(r"[a-z]+\.[a-z_.]+", said)]
    assert len(keys) > 50
    for key in keys:
        split(f"{key}=0", FORM)
    with pytest.raises(Exception, match="no_such"):
        split("run.no_such=0", FORM)


def test_what_others_call_a_key_is_answered_with_one_that_there_is():
    for name, key in ELSEWHERE.items():
        if not key.startswith("`"):
            split(f"{key}=0", FORM)
        with pytest.raises(UnknownName, match=re.escape(f"unknown config key 'their.{name}'; here it is {key}")):
            split(f"their.{name}=0", FORM)


def test_every_part_of_the_tables_is_registered():
    words = {said for said in ours() if re.fullmatch(r"[a-z]+_[a-z_]+", said)}
    words -= {"warmup_steps", "weight_decay", "group_size", "lora_alpha", "target_modules", "top_p", "top_k", "min_p"}
    known = {name for kind in PARTS for name in names(kind)}
    assert words <= known and {"truncate_mismatch", "dual_clip"} <= words
