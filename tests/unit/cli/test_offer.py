"""`quintain offer`: which words it takes."""

from __future__ import annotations

import pytest

from quintain.cli import main


@pytest.mark.parametrize("knob", ["level=3", "split=test", "sessions=3", "scaffold=3", "world=Sokoban"])
def test_openenv_takes_no_option_of_its_own_for_a_knob(capsys, knob):
    assert main(["offer", "openenv", "KeyDoor", f"env.params.{knob}"]) == 1
    assert "BadKnob" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["http KeyDoor --image 64", "http KeyDoor --seed 3", "mcp KeyDoor --grammar word"])
def test_offer_refuses_options_that_would_do_nothing(capsys, words):
    assert main(["offer", *words.split()]) == 1
    assert f"takes no {words.split()[2]}; that is for" in capsys.readouterr().err
