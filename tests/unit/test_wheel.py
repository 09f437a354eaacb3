"""What a checkout has beside the package travels in the wheel, to where an installed package looks for it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import quintain
from quintain import config
from quintain.simulate import claims

ROOT = Path(__file__).parents[2]
PACKAGE = Path(quintain.__file__).parent


def test_recipes_and_parameter_files_are_in_the_wheel():
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    sent = {ROOT / source: PACKAGE.parent / target for source, target in wheel["force-include"].items()}
    for installed, checkout in (config.RECIPES, claims.FOLDERS):
        assert sent[checkout] == installed and list(checkout.glob("*.toml"))
